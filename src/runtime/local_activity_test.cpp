// Activities that run where the workflow runs, from the code's side.
#include "runtime/execution_story.hpp"

#include <gmock/gmock.h>

namespace dw::runtime {
namespace {

using ::testing::HasSubstr;

int parse(std::string text) {
  return static_cast<int>(text.size());
}
int parses_here() {
  return local_activity(parse, {.max_attempts = 4, .start_to_close = 10s}, "abc") + 1;
}
int parses_anywhere() {
  return activity(parse, "abc") + 1;
}

Registry parser(int (*workflow)()) {
  Registry registry;
  registry.activity("parse", parse).queue("far-away");
  registry.workflow("parser", workflow);
  registry.freeze();
  return registry;
}

TEST(LocalActivity, IsAStepThatIsReplayed) {
  const auto registry = parser(parses_here);
  Story story{registry, "parser"};
  story.go();
  const auto open = story.state().activities.at(0);
  EXPECT_TRUE(open.local);
  EXPECT_EQ(open.queue, "") << "a queue is for activities that are sent away";
  EXPECT_EQ(open.retry_policy.max_attempts, 4);
  EXPECT_EQ(open.retry_policy.start_to_close_timeout, 10);
  story.crash();
  story.complete(3);
  story.go();
  EXPECT_EQ(story.output(), Value{4});
  EXPECT_EQ(story.count("ActivityScheduled"), 1);
}

TEST(LocalActivity, IsNotTheSameStepAsOneThatIsSentAway) {
  const auto here = parser(parses_here), anywhere = parser(parses_anywhere);
  Story story{anywhere, "parser"};
  story.go();
  story.deploy(here);
  const auto blocked = story.go().blocked;
  ASSERT_TRUE(blocked);
  EXPECT_EQ(blocked->reason, "history_shape_mismatch");
  EXPECT_EQ(blocked->expected, "local activity:parse");
  EXPECT_THAT(blocked->message, HasSubstr("was recorded as activity:parse"));
}

}  // namespace
}  // namespace dw::runtime
