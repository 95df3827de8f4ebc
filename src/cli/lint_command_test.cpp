// What is odd about a schedule, asked of a server or of nobody.
#include "cli/client_story.hpp"

#include <gmock/gmock.h>

namespace dw::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class LintCommand : public testing::Test {
 protected:
  Ran lint(std::vector<std::string> more) {
    std::vector<std::string> words{"schedule:lint"};
    words.insert(words.end(), more.begin(), more.end());
    return story.run(std::move(words));
  }
  static std::vector<std::string> codes(const Ran& ran) {
    std::vector<std::string> found;
    const Value answer = ran.document();
    if (!answer.find("findings")) return {ran.out + ran.err};
    for (const Value& finding : *answer.find("findings")->if_array()) {
      found.push_back(*finding.find("code")->if_string());
    }
    return found;
  }

  ClientStory story;
};

TEST_F(LintCommand, ASpecIsLookedAtWithoutAServer) {
  story.cannot_be_reached(Error{ErrorCode::unavailable, "nobody there"});
  const Ran fine = lint({"--local", "--cron=0 9 * * *"});
  EXPECT_EQ(fine.code, 0) << fine.err;
  EXPECT_EQ(fine.out, "Nothing odd was found.\n");
  const Ran odd = lint({"--local", "--cron=30 2 * * *", "--timezone=Europe/Berlin", "--json"});
  EXPECT_EQ(odd.code, 0) << "warnings are no failure";
  EXPECT_THAT(codes(odd), ElementsAre("dst_gap", "dst_fold"));
  EXPECT_EQ(story.connected_to, "");
}

TEST_F(LintCommand, EverythingThatBelongsToASpecMayBeSaid) {
  EXPECT_THAT(codes(lint({"--interval=PT1M", "--jitter=90", "--run-length=PT2M", "--json"})),
              ElementsAre("jitter_exceeds_period", "will_overlap"));
  EXPECT_THAT(
      codes(lint({"--interval=PT1M", "--run-length=PT2M", "--overlap-policy=allow_all", "--json"})),
      IsEmpty());
  EXPECT_THAT(codes(lint({"--interval=P1M", "--offset=PT5M", "--json"})),
              ElementsAre("interval_calendar_unit_approximated"));
}

TEST_F(LintCommand, WhatNeverStartsAnythingIsAFailure) {
  const Ran ran = lint({"--local", "--cron=0 9 * * 1", "--calendar=weekends", "--output=jsonl"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.out, HasSubstr(R"({"code":"calendar_blocks_all","severity":"error")"));
  const Ran shown = lint({"--local", "--cron=0 9 * * 1", "--calendar=weekends"});
  EXPECT_THAT(shown.out, HasSubstr("What To Do"));
}

TEST_F(LintCommand, AMistakeIsPointedAt) {
  const Ran ran = lint({"--local", "--cron=*/5 25 * * *"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("^"));
}

TEST_F(LintCommand, AScheduleIsAskedAboutAtItsServer) {
  story.answers(R"({"schedule_id":"nightly","error_count":1,"warning_count":0,"run_seconds":300,
    "findings":[{"code":"never_fires","severity":"error","path":"spec",
                 "message":"no occurrence is left","hint":"let it end later",
                 "example_at":null}]})");
  const Ran ran = lint({"nightly", "--run-length=PT5M"});
  EXPECT_EQ(ran.code, 1) << ran.err;
  EXPECT_EQ(story.sent.at(0).target, "/api/schedules/nightly/lint?run_seconds=300");
  EXPECT_THAT(ran.out, HasSubstr("never_fires"));
  EXPECT_THAT(ran.out, HasSubstr("let it end later"));
}

TEST_F(LintCommand, ACalendarOfTheServerIsAskedFor) {
  story.answers(R"({"id":"01J","name":"ours","namespace":"default","kind":"only_dates",
    "timezone":"UTC","dates":[],"is_seed":false})");
  EXPECT_THAT(codes(lint({"--cron=0 9 * * *", "--calendar=ours", "--json"})),
              ElementsAre("calendar_blocks_all"));
  EXPECT_EQ(story.sent.at(0).target, "/api/calendars/ours");
  EXPECT_EQ(lint({"--local", "--cron=0 9 * * *", "--calendar=ours"}).code, 2);
}

TEST_F(LintCommand, ItIsAboutAScheduleOrAboutASpec) {
  EXPECT_EQ(lint({}).code, 2);
  EXPECT_EQ(lint({"nightly", "--cron=0 9 * * *"}).code, 2);
  EXPECT_EQ(lint({"nightly", "--local"}).code, 2);
  EXPECT_EQ(lint({"nightly", "--run-length=5 minutes"}).code, 2);
  EXPECT_THAT(story.sent, IsEmpty());
}

}  // namespace
}  // namespace dw::cli
