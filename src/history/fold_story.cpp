#include "history/fold_story.hpp"

#include "history/fold.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dw::story {

history::RunState state_after(std::vector<Told> list) {
  auto state = history::fold(told(std::move(list)));
  EXPECT_TRUE(state) << state.error().message;
  return state ? *std::move(state) : history::RunState{};
}

void expect_corrupt(std::vector<Told> list, std::string_view why) {
  const auto state = history::fold(told(std::move(list)));
  ASSERT_FALSE(state) << "expected: " << why;
  EXPECT_EQ(state.error().code, ErrorCode::corrupt_history);
  EXPECT_THAT(state.error().message, ::testing::HasSubstr(std::string{why}));
}

}  // namespace dw::story
