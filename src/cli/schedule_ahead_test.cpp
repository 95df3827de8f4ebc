// Commands about schedules that look far ahead.
#include "cli/client_story.hpp"

#include <gmock/gmock.h>

namespace dw::cli {
namespace {

using testing::HasSubstr;

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

}  // namespace
}  // namespace dw::cli
