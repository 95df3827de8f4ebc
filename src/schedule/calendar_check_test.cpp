// Whoever sends a calendar that is none is told all that is wrong with it, and where.
#include "schedule/calendar_seeds.hpp"
#include "schedule/calendar_value.hpp"
#include "schedule/guard_story.hpp"

#include <gmock/gmock.h>

namespace dw::schedule {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::SizeIs;

std::vector<GuardProblem> problems_of(const Value& definition) {
  return check_calendar(definition, is_known_zone).problems;
}
// Of a calendar that is fine but for these fields.
std::vector<GuardProblem> problems_with(std::string_view fields) {
  return problems_of(
      json_of(R"({"kind": "skip_dates", "timezone": "UTC", )" + std::string{fields} + "}"));
}
auto problem(const std::string& code, const std::string& field) {
  return ::testing::AllOf(Field("code", &GuardProblem::code, code),
                          Field("field", &GuardProblem::field, field));
}

TEST(CalendarCheck, NamesEveryMistakeAtOnce) {
  EXPECT_THAT(problems_of(json_of(R"({"kind": "skip", "dates": ["2026-02-30", "2026-03-01", 7],
                  "partial_dates": [{"date": "2026-01-05", "from": "25:00"}],
                  "rules": [{"type": "fixed", "month": 13, "day": 1}]})")),
              ElementsAre(problem("invalid_kind", "kind"), problem("invalid_timezone", "timezone"),
                          problem("invalid_date", "dates[0]"), problem("invalid_date", "dates[2]"),
                          problem("invalid_partial", "partial_dates[0].from"),
                          problem("invalid_rule", "rules[0].month")));
}

TEST(CalendarCheck, StopsCountingAtSomePoint) {
  Value::Array dates(1000, Value{"tomorrow"});
  EXPECT_THAT(
      problems_of(Value::Map{{"kind", "skip_dates"}, {"timezone", "UTC"}, {"dates", dates}}),
      SizeIs(most_guard_problems));
}

TEST(CalendarCheck, FieldsThatNobodyKnowsAreMistakes) {
  EXPECT_THAT(problems_with(R"("dates": [], "excpet": ["2026-01-01"])"),
              ElementsAre(problem("invalid_value", "excpet")));
  EXPECT_THAT(problems_with(R"("rules": [{"type": "easter", "ofset_days": 1}])"),
              ElementsAre(problem("invalid_rule", "rules[0].ofset_days")));
  EXPECT_THAT(problems_with(R"("rules": [{"type": "easter", "": 1}])"),
              ElementsAre(problem("invalid_rule", "rules[0]")));
  EXPECT_THAT(problems_with(R"("partial_dates": [{"date": "2026-01-01", "form": "13:00"}])"),
              ElementsAre(problem("invalid_partial", "partial_dates[0].form")));
}

TEST(CalendarCheck, ListsHaveToBeLists) {
  EXPECT_THAT(problems_with(R"("dates": "2026-01-01", "partial_dates": {}, "rules": 7,
                               "except": false, "labels": [])"),
              ElementsAre(problem("invalid_date", "dates"), problem("invalid_date", "except"),
                          problem("invalid_partial", "partial_dates"),
                          problem("invalid_rule", "rules"), problem("invalid_value", "labels")));
  EXPECT_THAT(problems_of(json_of("[]")), ElementsAre(problem("invalid_value", "")));
}

TEST(CalendarCheck, AnEmptyListIsACalendarAndNoListIsNone) {
  EXPECT_THAT(problems_with(R"("dates": [])"), SizeIs(0));
  EXPECT_THAT(problems_with(R"("rules": [])"), SizeIs(0));
  EXPECT_THAT(problems_with(R"("except": [])"), ElementsAre(problem("calendar_empty", "")));
  EXPECT_THAT(problems_with(R"("dates": null)"), ElementsAre(problem("calendar_empty", "")));
}

TEST(CalendarCheck, ThereIsAnEndToLists) {
  const auto with = [](const char* key, std::size_t count, const Value& item) {
    return problems_of(
        Value::Map{{"kind", "skip_dates"}, {"timezone", "UTC"}, {key, Value::Array(count, item)}});
  };
  const Value rule = Value::Map{{"type", "easter"}};
  EXPECT_THAT(with("dates", most_calendar_dates, "2026-01-01"), SizeIs(0));
  EXPECT_THAT(with("dates", most_calendar_dates + 1, "2026-01-01"),
              ElementsAre(problem("too_large", "dates")));
  EXPECT_THAT(with("rules", most_calendar_rules, rule), SizeIs(0));
  EXPECT_THAT(with("rules", most_calendar_rules + 1, rule),
              ElementsAre(problem("too_large", "rules")));
}

TEST(CalendarCheck, TextsAreTextsAndNotTooLong) {
  EXPECT_THAT(problems_with(R"("dates": [], "name": 7, "description": [], "provisional_note": {},
                               "confirmed_through": "2026")"),
              ElementsAre(problem("invalid_value", "name"), problem("invalid_value", "description"),
                          problem("invalid_value", "provisional_note"),
                          problem("invalid_value", "confirmed_through")));
  EXPECT_THAT(problems_with(R"("dates": [], "labels": {"2026-13-01": "x", "2026-12-01": 7})"),
              ElementsAre(problem("invalid_date", "labels.2026-13-01"),
                          problem("invalid_value", "labels.2026-12-01")));
  const std::string long_name(longest_calendar_name + 1, 'x');
  EXPECT_THAT(problems_with(R"("dates": [], "name": ")" + long_name + '"'),
              ElementsAre(problem("invalid_value", "name")));
}

TEST(CalendarCheck, RulesAreCheckedFieldByField) {
  const std::pair<const char*, const char*> mistakes[] = {
      {R"({})", "type"},
      {R"("weekends")", "type"},
      {R"({"type": "fixed", "month": 2, "day": 30})", "day"},
      {R"({"type": "fixed", "month": "2", "day": 3})", "month"},
      {R"({"type": "fixed", "month": 2.0, "day": 3})", "month"},
      {R"({"type": "fixed", "month": 2, "day": 3, "observed": "someday"})", "observed"},
      {R"({"type": "nth_weekday", "month": 2, "weekday": 8, "n": 1})", "weekday"},
      {R"({"type": "nth_weekday", "month": 2, "weekday": 1, "n": 0})", "n"},
      {R"({"type": "nth_weekday", "month": 2, "weekday": 1})", "n"},
      {R"({"type": "weekly"})", "weekdays"},
      {R"({"type": "weekly", "weekdays": ["monday"]})", "weekdays"},
      {R"({"type": "easter", "offset_days": 181})", "offset_days"},
      {R"({"type": "easter", "span_days": 0})", "span_days"},
      {R"({"type": "easter", "from_year": 0})", "from_year"},
      {R"({"type": "easter", "from_year": 2027, "to_year": 2026})", "to_year"},
      {R"({"type": "easter", "label": 7})", "label"},
      {R"({"type": "table"})", "starts"},
      {R"({"type": "table", "starts": {"26": ["2026-03-20"]}})", "starts"},
      {R"({"type": "table", "starts": {"2026": "2026-03-20"}})", "starts"},
      {R"({"type": "table", "starts": {"2026": ["2027-03-20"]}})", "starts"},
      {R"({"type": "range", "from": "2026-01-01"})", "to"},
      {R"({"type": "range", "from": "2026-01-02", "to": "2026-01-01"})", "to"},
  };
  for (const auto& [rule, field] : mistakes) {
    EXPECT_THAT(problems_with(R"("rules": [)" + std::string{rule} + "]"),
                ElementsAre(problem("invalid_rule", std::string{"rules[0]."} + field)))
        << rule;
  }
  EXPECT_THAT(problems_with(R"("rules": [{"type": "easter", "partial": {"from": "24:00"}}])"),
              ElementsAre(problem("invalid_partial", "rules[0].partial.until")));
  EXPECT_THAT(problems_with(R"("rules": [{"type": "easter", "partial": "13:00"}])"),
              ElementsAre(problem("invalid_partial", "rules[0].partial")));
}

TEST(CalendarCheck, AProblemCanBeHandedUpAsAnError) {
  const auto error = to_error(problems_with(R"("dates": ["x", "y"])"));
  EXPECT_EQ(error.code, ErrorCode::invalid_argument);
  EXPECT_THAT(error.message, HasSubstr("invalid_date at dates[0]"));
  EXPECT_THAT(error.message, HasSubstr("and 1 more"));
}

TEST(CalendarRecords, AreReadAsTheyWereWritten) {
  for (const Calendar& seed : seed_calendars()) {
    const CalendarRecord record{.id = "01J00000000000000000000042",
                                .namespace_name = seed.name == "weekdays"
                                                      ? std::nullopt
                                                      : std::optional<std::string>{"orders"},
                                .calendar = seed,
                                .is_seed = true,
                                .created_at = from_micros(1),
                                .updated_at = from_micros(2)};
    const auto again = read_calendar_record(to_value(record), is_known_zone);
    ASSERT_TRUE(again) << seed.name;
    EXPECT_EQ(*again, record);
  }
}

TEST(CalendarRecords, ADefinitionMayBeSentBackAsItWasShown) {
  const CalendarRecord record{.id = "01J00000000000000000000042",
                              .calendar = *find_seed_calendar("tr-public-holidays")};
  EXPECT_EQ(calendar_of(to_value(record)), record.calendar);
}

TEST(CalendarRecords, WhatIsStoredHasAnIdAndItsTimes) {
  const auto record = read_calendar_record(
      json_of(R"({"kind": "skip_dates", "timezone": "UTC", "dates": [], "created_at": "now"})"),
      is_known_zone);
  EXPECT_THAT(record.problems,
              ElementsAre(problem("invalid_value", "id"), problem("invalid_value", "created_at")));
}

}  // namespace
}  // namespace dw::schedule
