// Commands about schedules that look far ahead, and one that tidies up behind them.
#include "cli/client_story.hpp"

#include <gmock/gmock.h>

namespace dw::cli {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* played = R"({"schedule_id":"s","run_seconds":5400,"truncated":false,
  "snapshot_at":"2026-04-10T09:00:00Z","rows":[
    {"at":"2026-04-10T10:00:00Z","scheduled_for":"2026-04-10T10:00:00Z","outcome":"triggered",
     "instance_id":"schedule:s:1","buffer_depth":0},
    {"at":"2026-04-10T11:00:00Z","scheduled_for":"2026-04-10T11:00:00Z","outcome":"skipped",
     "reason":"overlap_policy_skip","buffer_depth":0}]})";

TEST(ScheduleSimulation, PlaysWithTheRunLengthThatIsSaid) {
  ClientStory story;
  story.answers(played);
  const auto ran = story.run({"schedule:preview", "s", "--simulate", "--run-length=PT90M"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(story.sent.at(0).target,
            "/api/schedules/s/preview?next=10&simulate=true&run_seconds=5400");
  EXPECT_THAT(ran.out, HasSubstr("As if every run took 5400 s"));
  EXPECT_THAT(ran.out, HasSubstr("overlap_policy_skip"));
  const auto lines = story.run({"schedule:preview", "s", "--simulate", "--output=jsonl"});
  EXPECT_EQ(std::count(lines.out.begin(), lines.out.end(), '\n'), 2);
  EXPECT_EQ(story.run({"schedule:preview", "s", "--simulate", "--from=2026-05-01"}).code, 2);
  EXPECT_EQ(story.run({"schedule:preview", "s", "--simulate", "--run-length=90"}).code, 2);
}

TEST(SchedulePurge, RemovesWhatWasDeletedBeforeADay) {
  ClientStory story;
  story.answers(R"({"outcome":"purged","purged":1,"with_history":true,"schedules":[
    {"namespace":"default","schedule_id":"old","schedule_ulid":"01J",
     "deleted_at":"2025-12-01T00:00:00Z"}]})");
  const auto ran =
      story.run({"schedule:purge", "--deleted-before=2026-01-01", "--with-history", "--yes"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(story.sent.at(0).method + " " + story.sent.at(0).target,
            "POST /api/system/schedules/purge");
  EXPECT_EQ(*parse_json(story.sent.at(0).body),
            *parse_json(R"({"with_history":true,"deleted_before":"2026-01-01T00:00:00Z"})"));
  EXPECT_THAT(ran.out, HasSubstr("Purged 1 schedule(s) with their history."));
  EXPECT_THAT(ran.out, HasSubstr("old"));
}

TEST(SchedulePurge, NothingGoesUnlessSomebodyIsSure) {
  ClientStory script;
  EXPECT_EQ(script.run({"schedule:purge", "--deleted-before=2026-01-01"}).code, 2);
  EXPECT_EQ(script.run({"schedule:purge", "--yes"}).code, 2);
  EXPECT_EQ(script.run({"schedule:purge", "--deleted-before=soon", "--yes"}).code, 2);
  EXPECT_THAT(script.sent, IsEmpty());
  ClientStory terminal;
  terminal.on_a_terminal("n\n");
  const auto ran = terminal.run({"schedule:purge", "--deleted-before=2026-01-01"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_THAT(ran.err, HasSubstr("deleted before 2026-01-01 for good?"));
  EXPECT_THAT(terminal.sent, IsEmpty());
}

}  // namespace
}  // namespace dw::cli
