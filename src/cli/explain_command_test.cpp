// A spec explained on the command line, without a server wherever that can be.
#include "cli/client_story.hpp"

#include <gmock/gmock.h>

namespace dw::cli {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class ExplainCommand : public testing::Test {
 protected:
  Ran explain(std::vector<std::string> more) {
    std::vector<std::string> words{"schedule:explain", "--from=2026-10-24T12:00:00Z"};
    words.insert(words.end(), more.begin(), more.end());
    return story.run(std::move(words));
  }

  ClientStory story;
};

TEST_F(ExplainCommand, ShowsWordsTimesAndWhatClocksDo) {
  const Ran ran =
      explain({"--local", "--cron=30 2 * * *", "--timezone=Europe/Berlin", "--count=2"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out,
            "at 02:30 every day (Europe/Berlin)\n"
            "UTC                   Local                Offset  Zone  Daylight Saving\n"
            "2026-10-25T00:30:00Z  2026-10-25T02:30:00  +02:00  CEST  clocks show it twice: first\n"
            "2026-10-26T01:30:00Z  2026-10-26T02:30:00  +01:00  CET   -\n"
            "Warning: cron_expressions.0: on 2027-03-28 the clocks of Europe/Berlin skip a time it "
            "names: it fires when they go on (dst_gap)\n"
            "Warning: cron_expressions.0: on 2026-10-25 the clocks of Europe/Berlin show a time it "
            "names twice: it fires the first time only (dst_fold)\n");
  EXPECT_THAT(story.sent, IsEmpty());
  EXPECT_EQ(story.connected_to, "");
}

TEST_F(ExplainCommand, AsksNobodyUnlessItMust) {
  story.cannot_be_reached(Error{ErrorCode::unavailable, "nobody there"});
  EXPECT_EQ(explain({"--cron=0 9 * * *"}).code, 0);
  EXPECT_EQ(explain({"--cron=0 9 * * *", "--calendar=weekends"}).code, 0);
  EXPECT_EQ(story.connected_to, "");
  EXPECT_EQ(explain({"--local", "--cron=0 9 * * *", "--calendar=ours"}).code, 2);
  EXPECT_EQ(explain({"--cron=0 9 * * *", "--calendar=ours"}).code, 3);
}

TEST_F(ExplainCommand, ACalendarOfTheServerIsAskedFor) {
  story.answers(R"({"id":"01J","name":"ours","namespace":"default","kind":"skip_dates",
    "timezone":"UTC","dates":["2026-10-25"],"is_seed":false,"date_count":1,"of_tomorrow":[]})");
  const Ran ran = explain({"--cron=0 9 * * *", "--calendar=ours", "--count=2"});
  EXPECT_EQ(story.sent.at(0).target, "/api/calendars/ours");
  EXPECT_EQ(ran.out,
            "at 09:00 every day (UTC)\n"
            "UTC                   Local                Offset  Zone  Calendar  Daylight Saving\n"
            "2026-10-25T09:00:00Z  2026-10-25T09:00:00  +00:00  UTC   skip      -\n"
            "2026-10-26T09:00:00Z  2026-10-26T09:00:00  +00:00  UTC   allow     -\n");
}

TEST_F(ExplainCommand, ForMachinesItIsOneDocumentOrOneTimeALine) {
  const Ran json = explain({"--local", "--interval=PT1H", "--offset=PT5M", "--json"});
  const Value answer = json.document();
  EXPECT_EQ(*answer.find("valid"), Value{true});
  EXPECT_EQ(*answer.find("words"), Value{"every hour, shifted by 5 minutes"});
  EXPECT_EQ(answer.find("next_fires")->if_array()->size(), 5u);
  const Ran lines = explain({"--local", "--interval=PT1H", "--count=2", "--output=jsonl"});
  EXPECT_EQ(lines.out,
            R"({"utc":"2026-10-24T13:00:00Z","local":"2026-10-24T13:00:00","offset":"+00:00",)"
            R"("zone_abbrev":"UTC","calendar":"allow","dst":null})"
            "\n"
            R"({"utc":"2026-10-24T14:00:00Z","local":"2026-10-24T14:00:00","offset":"+00:00",)"
            R"("zone_abbrev":"UTC","calendar":"allow","dst":null})"
            "\n");
}

TEST_F(ExplainCommand, AMistakeIsPointedAt) {
  const Ran ran = explain({"--local", "--cron=*/5 25 * * *", "--timezone=Mars/Olympus"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(ran.out, "");
  EXPECT_THAT(ran.err, HasSubstr("  cron_expressions.0, hour: "));
  EXPECT_THAT(ran.err, HasSubstr("\n    */5 25 * * *\n        ^\n"));
  EXPECT_THAT(ran.err, HasSubstr("  timezone: "));
  const Ran json = explain({"--local", "--cron=*/5 25 * * *", "--json"});
  EXPECT_EQ(json.code, 2);
  const Value answer = json.document();
  EXPECT_EQ(*answer.find("valid"), Value{false});
  const Value& error = answer.find("errors")->if_array()->at(0);
  EXPECT_EQ(*error.find("position"), Value{4});
  EXPECT_EQ(*error.find("problem"), Value{"value_out_of_range"});
}

TEST_F(ExplainCommand, WhatMakesNoSenseIsRefused) {
  EXPECT_EQ(explain({"--local"}).code, 2) << "neither an expression nor an interval";
  EXPECT_THAT(explain({"--local", "--offset=PT5M"}).err, HasSubstr("needs an --interval"));
  EXPECT_EQ(explain({"--local", "--cron=* * * * *", "--count=51"}).code, 2);
  EXPECT_THAT(explain({"--local", "--cron=* * * * *", "--from=tomorrow"}).err,
              HasSubstr("--from must be"));
}

TEST_F(ExplainCommand, ADayBeginsAtMidnight) {
  const Ran ran = explain({"--local", "--cron=0 * * * *", "--from=2026-01-01", "--count=1"});
  EXPECT_THAT(ran.out, HasSubstr("2026-01-01T01:00:00Z"));
}

}  // namespace
}  // namespace dw::cli
