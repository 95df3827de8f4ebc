// What docs/schedules-calendars.md shows is so.
#include "schedule/condition.hpp"
#include "schedule/ics_story.hpp"
#include "schedule/rotation.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace dw::schedule {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(GuardExamples, TheCalendarOfTheDocs) {
  const CompiledCalendar calendar{calendar_of(schedule_vectors("examples/company_days.json")),
                                  2026};
  for (const auto* day_off :
       {"2026-06-12 09:00", "2026-12-31 13:00", "2027-01-01 09:00", "2026-09-07 09:00",
        "2026-04-03 09:00", "2026-04-06 09:00", "2026-06-06 09:00", "2026-08-14 09:00",
        "2026-03-20 09:00", "2027-03-11 09:00"}) {
    EXPECT_FALSE(calendar.allows(at_wall(day_off))) << day_off;
  }
  for (const auto* working_day : {"2026-12-31 12:59", "2026-08-10 09:00", "2026-04-07 09:00"}) {
    EXPECT_TRUE(calendar.allows(at_wall(working_day))) << working_day;
  }
  EXPECT_THAT(exhausted_tables(calendar.calendar(), 2028), ElementsAre("Ramazan Bayramı"));
}

TEST(GuardExamples, TheProblemsOfTheDocs) {
  const auto calendar = check_calendar(schedule_vectors("examples/problems.json"), is_known_zone);
  std::string told;
  for (const auto& [code, field, message] : calendar.problems) {
    told += fmt::format("{:<17} {:<15} {}\n", code, field, message);
  }
  EXPECT_EQ(told, schedule_file("examples/problems.txt"));
}

TEST(GuardExamples, TheFileOfTheDocs) {
  const auto import = import_ics(schedule_file("examples/holidays.ics"), {}, between_five_zones);
  EXPECT_THAT(import.findings, IsEmpty());
  ASSERT_TRUE(import.calendar);
  EXPECT_EQ(import.calendar->timezone, "Europe/Istanbul");
  EXPECT_THAT(texts_of(import.calendar->dates),
              ElementsAre("2026-03-20", "2026-03-21", "2026-03-22"));
  EXPECT_THAT(import.calendar->rules, SizeIs(2));
  EXPECT_THAT(texts_of(import.calendar->except), ElementsAre("2026-01-10"));
}

TEST(GuardExamples, TheConditionOfTheDocs) {
  const auto filter = schedule_vectors("examples/condition.json");
  const auto context = schedule_vectors("examples/context.json");
  EXPECT_TRUE(evaluate_filter(filter, context).holds());
  EXPECT_EQ(
      condition_context(PriorRun{"completed", Value::Map{{"status", "completed"}, {"items", 3}}},
                        {.succeeded = 3, .failed = 1, .total = 4}),
      context);
}

TEST(GuardExamples, TheRotationOfTheDocs) {
  const auto rotation =
      check_rotation(schedule_vectors("examples/rotation.json"), RotationFor::workflow);
  ASSERT_TRUE(rotation);
  EXPECT_THAT(rotation->inputs, SizeIs(3));
}

}  // namespace
}  // namespace dw::schedule
