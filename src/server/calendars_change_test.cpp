// Operators make, change, copy, import and delete calendars; the store has it before they are told.
#include "server/calendars_story.hpp"

#include <gmock/gmock.h>

namespace dw::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class ChangingCalendars : public CalendarStory {
 protected:
  static std::string quoted(std::string_view text) { return to_json(Value{text}); }
  Answer import(std::string_view ics, std::string_view more = "") {
    return ask(
        "POST", "calendars/import",
        fmt::format(R"({{"name":"imported","kind":"skip_dates","timezone":"Europe/Istanbul",)"
                    R"("ics":{}{}}})",
                    quoted(ics), more));
  }
};

TEST_F(ChangingCalendars, NobodyIsToldBeforeItIsKept) {
  std::optional<Answer> answer;
  calendars.serve(
      call_of("POST", "calendars",
              R"({"name":"a","kind":"skip_dates","timezone":"UTC","dates":[]})", "default"),
      [&](Answer given) { answer = std::move(given); });
  EXPECT_FALSE(answer);
  EXPECT_EQ(calendars.find(Namespace{"default"}, "a"), nullptr);
  work_off();
  EXPECT_EQ(answer.value().status, 201);
  EXPECT_THAT(kept(), SizeIs(1));
}

TEST_F(ChangingCalendars, EveryMistakeIsNamedWithItsCodeAndPlace) {
  const auto mistaken = ask("POST", "calendars", R"({"name":"x","kind":"skip","timezone":"+03:00",
    "dates":["2026-02-30"],"partial_dates":[{"date":"2026-01-01","from":"25:00"}],
    "rules":[{"type":"fixed","month":13,"day":1}]})");
  EXPECT_THAT(problems_in(mistaken),
              ElementsAre("invalid_kind kind", "invalid_timezone timezone", "invalid_date dates[0]",
                          "invalid_partial partial_dates[0].from", "invalid_rule rules[0].month"));
  EXPECT_THAT(json_at(mistaken, "validation_errors"), HasSubstr(R"("dates[0]":[)"))
      << "clients show what is wrong by field";
  EXPECT_THAT(
      problems_in(ask("POST", "calendars", R"({"name":"x","kind":"skip_dates","timezone":"UTC"})")),
      ElementsAre("calendar_empty "));
  EXPECT_THAT(
      problems_in(ask("POST", "calendars", R"({"kind":"skip_dates","timezone":"UTC","dates":[]})")),
      ElementsAre("invalid_value name"));
  EXPECT_THAT(problems_in(ask("POST", "calendars", R"({"name":"a\nb","kind":"skip_dates",
                              "timezone":"UTC","dates":[],"colour":"red"})")),
              ElementsAre("invalid_value colour", "invalid_value name"));
  EXPECT_THAT(kept(), IsEmpty());
}

TEST_F(ChangingCalendars, ANameIsTakenOnceInANamespace) {
  const auto id = make("company");
  make("company", R"(["2026-05-05"])", "elsewhere");
  const auto again = [&](std::string_view name) {
    return ask(
        "POST", "calendars",
        fmt::format(R"({{"name":"{}","kind":"skip_dates","timezone":"UTC","dates":[]}})", name));
  };
  expect_refused(again("company"), 409, "calendar_already_exists");
  expect_refused(again(id), 409, "calendar_already_exists");
  expect_refused(again("weekends"), 409, "calendar_already_exists");
  make("other");
  expect_refused(ask("PUT", "calendars/other", R"({"name":"company"})"), 409,
                 "calendar_already_exists");
  EXPECT_EQ(ask("PUT", "calendars/other", R"({"name":"other"})").status, 200);
}

TEST_F(ChangingCalendars, AChangeLeavesTheRestAsItWas) {
  const auto id = make("company", R"(["2026-12-24","2026-12-31"])");
  clock.set(clock.now() + std::chrono::hours{1});
  const auto changed =
      ask("PUT", "calendars/company", R"({"name":"holidays","except":["2026-12-31"]})");
  EXPECT_EQ(changed.status, 200) << text_of(changed);
  EXPECT_EQ(text_at(changed, "id"), id);
  EXPECT_EQ(json_at(changed, "dates"), R"(["2026-12-24","2026-12-31"])");
  EXPECT_EQ(json_at(changed, "except"), R"(["2026-12-31"])");
  EXPECT_EQ(text_at(changed, "created_at"), "2026-04-10T12:00:00.000000Z");
  EXPECT_EQ(text_at(changed, "updated_at"), "2026-04-10T13:00:00.000000Z");
  EXPECT_THAT(listed(), ElementsAre("holidays"));
  expect_refused(ask("GET", "calendars/company"), 404, "calendar_not_found");

  EXPECT_THAT(problems_in(ask("PUT", "calendars/holidays", R"({"timezone":"Nowhere/Else"})")),
              ElementsAre("invalid_timezone timezone"));
  EXPECT_THAT(problems_in(ask("PUT", "calendars/holidays", R"({"name":""})")),
              ElementsAre("invalid_value name"));
  EXPECT_EQ(json_at(ask("PUT", "calendars/holidays", R"({"except":null})"), "except"), "[]");
}

TEST_F(ChangingCalendars, WhatWasShownMayBeSentBack) {
  const auto id = make("company");
  const auto shown = ask("GET", "calendars/company");
  const auto sent_back = ask("PUT", "calendars/company", to_json(Value{shown.body}));
  EXPECT_EQ(sent_back.status, 200) << text_of(sent_back);
  EXPECT_EQ(json_at(sent_back, "dates"), json_at(shown, "dates"));
}

// proves: S-123, S-127
TEST_F(ChangingCalendars, ThoseThatShipStayAsTheyAre) {
  for (const std::string method : {"PUT", "DELETE"}) {
    const auto refused = ask(method, "calendars/weekends?force=true", R"({"dates":[]})");
    expect_refused(refused, 403, "calendar_is_seed");
    EXPECT_THAT(text_at(refused, "message"), HasSubstr("clone"));
  }
  EXPECT_THAT(kept(), IsEmpty());
}

// proves: S-128
TEST_F(ChangingCalendars, ACloneIsOnesOwn) {
  const auto cloned = ask("POST", "calendars/weekends/clone",
                          R"({"name":"our-weekends","timezone":"Europe/Istanbul"})");
  ASSERT_EQ(cloned.status, 201) << text_of(cloned);
  EXPECT_EQ(json_at(cloned, "is_seed"), "false");
  EXPECT_EQ(text_at(cloned, "timezone"), "Europe/Istanbul");
  EXPECT_EQ(text_at(cloned, "kind"), "only_dates");
  EXPECT_EQ(text_at(cloned, "cloned_from"), "weekends");
  EXPECT_EQ(json_at(cloned, "rules"), json_at(ask("GET", "calendars/weekends"), "rules"));
  EXPECT_EQ(ask("PUT", "calendars/our-weekends", R"({"except":["2026-08-15"]})").status, 200);

  EXPECT_THAT(problems_in(ask("POST", "calendars/weekends/clone")),
              ElementsAre("invalid_value name"));
  expect_refused(ask("POST", "calendars/weekends/clone", R"({"name":"our-weekends"})"), 409,
                 "calendar_already_exists");
  expect_refused(ask("POST", "calendars/nowhere/clone", R"({"name":"x"})"), 404,
                 "calendar_not_found");
}

TEST_F(ChangingCalendars, OneInUseIsDeletedOnlyByForce) {
  const auto id = make("company");
  attached[{"default", id}] = {"nightly", "weekly"};
  const auto refused = ask("DELETE", "calendars/company");
  expect_refused(refused, 409, "calendar_in_use");
  EXPECT_EQ(json_at(refused, "attached_schedules"), R"(["nightly","weekly"])");
  EXPECT_EQ(text_at(refused, "calendar_id"), id);
  EXPECT_THAT(listed(), ElementsAre("company"));

  detach_fails = true;
  expect_refused(ask("DELETE", "calendars/company?force=true"), 503, "unavailable");
  EXPECT_THAT(listed(), ElementsAre("company")) << "schedules would name one that is gone";

  detach_fails = false;
  const auto gone = ask("DELETE", "calendars/company", R"({"force":true})");
  EXPECT_EQ(text_of(gone),
            fmt::format(R"(200 {{"id":"{}","name":"company","outcome":"deleted"}})", id));
  EXPECT_THAT(attached, IsEmpty());
  EXPECT_THAT(kept(), IsEmpty());
}

TEST_F(ChangingCalendars, OneThatNobodyUsesIsDeletedAndItsNameIsFree) {
  make("company");
  EXPECT_EQ(ask("DELETE", "calendars/company").status, 200);
  expect_refused(ask("DELETE", "calendars/company"), 404, "calendar_not_found");
  make("company");
}

TEST_F(ChangingCalendars, ANamespaceHasRoomForAThousand) {
  for (std::size_t i = 0; i < most_calendars; ++i) make(fmt::format("c{}", i), "[]");
  const auto one_more = ask("POST", "calendars",
                            R"({"name":"more","kind":"skip_dates","timezone":"UTC","dates":[]})");
  expect_refused(one_more, 422, "calendar_limit_reached");
  make("more", "[]", "elsewhere");
  ask("DELETE", "calendars/c7");
  make("more", "[]");
}

// ---- .ics files

constexpr std::string_view holidays =
    "BEGIN:VCALENDAR\nVERSION:2.0\nX-WR-CALNAME:Holidays\n"
    "BEGIN:VEVENT\nDTSTART;VALUE=DATE:20260320\nDTEND;VALUE=DATE:20260323\n"
    "SUMMARY:Bayram\nEND:VEVENT\n"
    "BEGIN:VEVENT\nDTSTART:20261028T100000Z\nDTEND:20261028T210000Z\nSUMMARY:Eve\nEND:VEVENT\n"
    "END:VCALENDAR\n";
constexpr std::string_view with_a_riddle =
    "BEGIN:VCALENDAR\nVERSION:2.0\n"
    "BEGIN:VEVENT\nDTSTART;VALUE=DATE:20260320\nEND:VEVENT\n"
    "BEGIN:VEVENT\nDTSTART;VALUE=DATE:20260321\nRRULE:FREQ=DAILY\nEND:VEVENT\n"
    "END:VCALENDAR\n";

TEST_F(ChangingCalendars, AFileBecomesACalendarInItsZone) {
  const auto made = import(holidays);
  ASSERT_EQ(made.status, 201) << text_of(made);
  EXPECT_EQ(text_at(made, "name"), "imported");
  EXPECT_EQ(json_at(made, "dates"), R"(["2026-03-20","2026-03-21","2026-03-22"])");
  EXPECT_EQ(json_at(made, "partial_dates"),
            R"([{"date":"2026-10-28","from":"13:00","until":"24:00"}])")
      << "10:00 UTC is 13:00 in Istanbul";
  EXPECT_EQ(json_at(made, "findings"), "[]");
  EXPECT_THAT(kept(), SizeIs(1));
  expect_refused(import(holidays), 409, "calendar_already_exists");
}

TEST_F(ChangingCalendars, WhatIsNotUnderstoodIsRefusedWithItsLineUnlessItMayBeLeftOut) {
  const auto refused = import(with_a_riddle);
  EXPECT_THAT(problems_in(refused), ElementsAre("invalid_ics ics"));
  EXPECT_THAT(json_at(refused, "findings"), HasSubstr(R"("line":8)"));
  EXPECT_THAT(kept(), IsEmpty());
  const auto taken = import(with_a_riddle, R"(,"take_what_is_understood":true)");
  ASSERT_EQ(taken.status, 201) << text_of(taken);
  EXPECT_EQ(json_at(taken, "dates"), R"(["2026-03-20"])");
  EXPECT_THAT(json_at(taken, "findings"), HasSubstr("refused"));
}

TEST_F(ChangingCalendars, AFileMayComeWithAnOrdinaryCreate) {
  const auto made =
      ask("POST", "calendars",
          fmt::format(R"({{"timezone":"Europe/Istanbul","ics":{}}})", quoted(holidays)));
  ASSERT_EQ(made.status, 201) << text_of(made);
  EXPECT_EQ(text_at(made, "name"), "Holidays") << "what the file calls itself";
}

TEST_F(ChangingCalendars, AnImportIsCheckedLikeEverythingElse) {
  expect_refused(ask("POST", "calendars/import", R"({"name":"x"})"), 422, "validation_failed");
  expect_refused(import("no calendar at all"), 422, "validation_failed");
  EXPECT_THAT(problems_in(ask("POST", "calendars/import",
                              fmt::format(R"({{"timezone":"Mars/Olympus","ics":{}}})",
                                          quoted("BEGIN:VCALENDAR\nVERSION:2.0\nX-WR-CALNAME:x\n"
                                                 "BEGIN:VEVENT\nDTSTART;VALUE=DATE:20260320\n"
                                                 "END:VEVENT\nEND:VCALENDAR\n")))),
              ElementsAre("invalid_timezone timezone"));
  EXPECT_THAT(kept(), IsEmpty());
}

}  // namespace
}  // namespace dw::server
