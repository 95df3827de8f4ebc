// A spec explained: words, times, and what somebody should know before using it.
#include "schedule/explain.hpp"

#include "schedule/calendar_seeds.hpp"
#include "schedule/local_text.hpp"
#include "schedule/zone_story.hpp"

#include <gmock/gmock.h>

namespace dw::schedule {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

ExplainQuestion asking(std::vector<std::string> crons, std::string_view zone, std::string_view from,
                       std::size_t count = 3) {
  ExplainQuestion question;
  question.spec = {.cron_expressions = std::move(crons), .timezone = std::string{zone}};
  question.zone = shared_zone(zone);
  question.from = instant(from);
  question.count = count;
  return question;
}

ExplainQuestion with_seed(ExplainQuestion question, std::string_view seed) {
  question.calendar = std::make_shared<CompiledCalendar>(*find_seed_calendar(seed), 2026);
  question.calendar_zone = shared_zone(question.calendar->calendar().timezone);
  return question;
}

std::vector<std::string_view> codes(const Explanation& explanation) {
  std::vector<std::string_view> found;
  for (const auto& warning : explanation.warnings) found.push_back(warning.code);
  return found;
}

TEST(Explain, SaysEverythingAboutASpec) {
  const auto explanation =
      explain(asking({"30 2 * * *"}, "Europe/Berlin", "2026-03-27T12:00:00Z", 3));
  EXPECT_EQ(to_json(to_value(explanation)),
            R"-({"valid":true,"words":"at 02:30 every day (Europe/Berlin)",)-"
            R"("canonical":{"cron_expressions":["30 2 * * *"],"intervals":[],)"
            R"("timezone":"Europe/Berlin"},"next_fires":[)"
            R"({"utc":"2026-03-28T01:30:00Z","local":"2026-03-28T02:30:00","offset":"+01:00",)"
            R"("zone_abbrev":"CET","calendar":"allow","dst":null},)"
            R"({"utc":"2026-03-29T01:00:00Z","local":"2026-03-29T03:00:00","offset":"+02:00",)"
            R"("zone_abbrev":"CEST","calendar":"allow","dst":"gap"},)"
            R"({"utc":"2026-03-30T00:30:00Z","local":"2026-03-30T02:30:00","offset":"+02:00",)"
            R"("zone_abbrev":"CEST","calendar":"allow","dst":null}],)"
            R"("interval_seconds_min":84600,"warnings":[)"
            R"({"code":"dst_gap","path":"cron_expressions.0","text":"on 2026-03-29 the clocks of )"
            R"(Europe/Berlin skip a time it names: it fires when they go on"},)"
            R"({"code":"dst_fold","path":"cron_expressions.0","text":"on 2026-10-25 the clocks of )"
            R"(Europe/Berlin show a time it names twice: it fires the first time only"}],)"
            R"("errors":[]})");
}

TEST(Explain, TheFirstTimeIsStrictlyAfterTheOneAsked) {
  const auto explanation = explain(asking({"0 * * * *"}, "UTC", "2026-01-01T10:00:00Z", 1));
  EXPECT_EQ(written(explanation.next_fires.at(0).at), "2026-01-01T11:00:00Z");
}

TEST(Explain, EveryMistakeIsToldWithItsPlace) {
  auto question = asking({"0 0 * * *", "61 * * * *"}, "UTC", "2026-01-01T00:00:00Z");
  question.spec.intervals = {{"PT0S"}};
  question.spec.timezone = "Mars/Olympus";
  question.zone = nullptr;
  const auto explanation = explain(question);
  EXPECT_FALSE(explanation.valid);
  EXPECT_THAT(explanation.next_fires, IsEmpty());
  const auto value = to_value(explanation);
  EXPECT_TRUE(value.find("words")->is_null());
  EXPECT_TRUE(value.find("canonical")->is_null());
  std::vector<std::string> told;
  for (const Value& error : *value.find("errors")->if_array()) {
    told.push_back(text_in(error, "path") + " " + text_in(error, "code"));
    EXPECT_NE(text_in(error, "text"), "");
  }
  EXPECT_THAT(told,
              ElementsAre("cron_expressions.1 invalid_cron_expression",
                          "intervals.0.every interval_not_positive", "timezone invalid_timezone"));
  EXPECT_EQ(text_in((*value.find("errors")->if_array())[0], "field"), "minute");
}

TEST(Explain, OneOfTwoKindsOfDaysIsEnough) {
  const auto either = explain(asking({"0 9 1 * 1"}, "UTC", "2026-01-01T00:00:00Z"));
  EXPECT_THAT(codes(either), ElementsAre("dom_dow_or"));
  EXPECT_THAT(codes(explain(asking({"0 9 1 * *"}, "UTC", "2026-01-01T00:00:00Z"))), IsEmpty());
}

TEST(Explain, ACalendarSaysWhichTimesItSkips) {
  const auto july =
      explain(with_seed(asking({"0 12 * * *"}, "America/New_York", "2026-07-02T00:00:00Z", 3),
                        "us-federal-holidays-2026"));
  std::vector<bool> allowed;
  for (const auto& fire : july.next_fires) allowed.push_back(fire.allowed);
  EXPECT_THAT(allowed, ElementsAre(true, false, true)) << "the 3rd is observed";

  const auto saturdays =
      with_seed(asking({"0 12 * * 1"}, "UTC", "2026-01-01T00:00:00Z"), "weekends");
  EXPECT_THAT(codes(explain(saturdays)), Contains("calendar_blocks_all"));
  const auto later =
      with_seed(asking({"0 12 * * *"}, "UTC", "2060-01-01T00:00:00Z"), "tr-public-holidays");
  EXPECT_THAT(codes(explain(later)), Contains("calendar_table_exhausted"));
  EXPECT_THAT(codes(explain(later)), Not(Contains("calendar_blocks_all")));
}

TEST(Explain, ACalendarWhoseZoneIsGoneSkipsEverything) {
  auto question = with_seed(asking({"0 12 * * *"}, "UTC", "2026-01-01T00:00:00Z"), "weekends");
  question.calendar_zone = nullptr;
  const auto explanation = explain(question);
  for (const auto& fire : explanation.next_fires) EXPECT_FALSE(fire.allowed);
  EXPECT_THAT(codes(explanation), Contains("calendar_blocks_all"));
}

TEST(Explain, WhatIsOverNeverFires) {
  const auto explanation = explain(asking({"0 0 1 1 *"}, "UTC", "9999-06-01T00:00:00Z"));
  EXPECT_TRUE(explanation.valid);
  EXPECT_THAT(codes(explanation), ElementsAre("never_fires"));
  EXPECT_TRUE(to_value(explanation).find("interval_seconds_min")->is_null());
}

TEST(ZoneAbbreviation, IsTheOneOfThatTime) {
  const auto winter = second_of("2026-01-01T00:00:00Z");
  const auto summer = second_of("2026-07-01T00:00:00Z");
  const auto of = [](std::string_view zone, chrono::sys_seconds at) {
    return zone_abbreviation(zone_named(zone), at);
  };
  EXPECT_EQ(of("America/New_York", winter), "EST");
  EXPECT_EQ(of("America/New_York", summer), "EDT");
  EXPECT_EQ(of("Europe/Dublin", winter), "GMT");
  EXPECT_EQ(of("Europe/Dublin", summer), "IST");
  EXPECT_EQ(of("Europe/Istanbul", summer), "+03");
  EXPECT_EQ(of("Asia/Kolkata", summer), "IST");
  EXPECT_EQ(zone_abbreviation(Zone::utc(), summer), "UTC");
  EXPECT_EQ(of("Europe/Istanbul", second_of("2010-07-01T00:00:00Z")), "+03");
  EXPECT_EQ(of("Europe/Istanbul", second_of("2010-01-01T00:00:00Z")), "+02:00")
      << "a name that its rule has forgotten";
}

TEST(OffsetText, HasASignAndTwoParts) {
  EXPECT_EQ(offset_text(chrono::hours{0}), "+00:00");
  EXPECT_EQ(offset_text(chrono::minutes{330}), "+05:30");
  EXPECT_EQ(offset_text(chrono::minutes{-210}), "-03:30");
}

}  // namespace
}  // namespace dw::schedule
