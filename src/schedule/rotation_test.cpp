// Inputs take turns.
#include "schedule/rotation.hpp"

#include "schedule/guard_story.hpp"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

namespace dw::schedule {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::Optional;

constexpr auto audiences = R"([{"audience": "tech", "tone": "punchy"},
                               {"audience": "business", "tone": "measured"},
                               {"audience": "research", "tone": "neutral"}])";

Rotation rotation_of(std::string_view inputs, RotationFor used_for = RotationFor::workflow) {
  auto rotation = check_rotation(json_of(inputs), used_for);
  EXPECT_TRUE(rotation) << inputs;
  return rotation ? *std::move(rotation) : Rotation{};
}

std::vector<GuardProblem> problems_of_inputs(const Value& inputs,
                                             RotationFor used_for = RotationFor::workflow) {
  return check_rotation(inputs, used_for).problems;
}
auto refused_at(const std::string& field) {
  return ElementsAre(::testing::AllOf(Field(&GuardProblem::code, "invalid_rotation"),
                                      Field(&GuardProblem::field, field)));
}

// proves: S-112, S-140, S-141, S-143
TEST(Rotation, TakesTurnsAndStartsOverAfterTheLast) {
  auto rotation = rotation_of(audiences);
  std::vector<std::size_t> indexes;
  std::vector<std::string> picked;
  for (int run = 0; run < 4; ++run) {
    const auto [index, input] = pick(rotation);
    indexes.push_back(index);
    picked.push_back(text_of(input, "audience"));
    advance(rotation);
  }
  EXPECT_THAT(picked, ElementsAre("tech", "business", "research", "tech"));
  EXPECT_THAT(indexes, ElementsAre(0, 1, 2, 0));
  EXPECT_EQ(rotation.next_index, 4u) << "it counts turns";
}

TEST(Rotation, PickingCostsNoTurn) {
  const auto rotation = rotation_of(audiences);
  EXPECT_EQ(pick(rotation).index, pick(rotation).index);
  EXPECT_EQ(rotation.next_index, 0u);
}

TEST(Rotation, SettingItAgainStartsOver) {
  auto rotation = rotation_of(audiences);
  advance(rotation);
  rotation = rotation_of(R"(["one", "two"])");
  EXPECT_EQ(pick(rotation).input, Value{"one"});
}

TEST(Rotation, IsReadAsItWasWritten) {
  auto rotation = rotation_of(audiences);
  for (int turn = 0; turn < 5; ++turn) advance(rotation);
  const auto again = read_rotation(to_value(rotation), RotationFor::workflow);
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, rotation);
  for (const auto* stored : {R"({"inputs": [1], "next_index": -1})",
                             R"({"inputs": [1], "next_index": "1"})", R"({"inputs": [1]})"}) {
    EXPECT_THAT(read_rotation(json_of(stored), RotationFor::workflow).problems,
                refused_at("next_index"))
        << stored;
  }
  EXPECT_THAT(read_rotation(json_of("7"), RotationFor::workflow).problems, refused_at("inputs"));
}

TEST(Rotation, NeedsAtLeastOneInputAndHasRoomForSoMany) {
  for (const auto* inputs : {"[]", "{}", "null", R"("one")", "1"}) {
    EXPECT_THAT(problems_of_inputs(json_of(inputs)), refused_at("inputs")) << inputs;
  }
  EXPECT_THAT(problems_of_inputs(Value::Array(most_rotation_inputs, Value{1})), ElementsAre());
  EXPECT_THAT(problems_of_inputs(Value::Array(most_rotation_inputs + 1, Value{1})),
              refused_at("inputs"));
  const auto of_bytes = [](std::size_t bytes) {
    return problems_of_inputs(Value::Array{std::string(bytes - 4, 'x')});
  };
  EXPECT_THAT(of_bytes(longest_rotation), ElementsAre());
  EXPECT_THAT(of_bytes(longest_rotation + 1), refused_at("inputs"));
}

// ---- what an input becomes

// proves: S-141
TEST(RotationInput, OfAWorkflowAnArrayIsItsArgumentsAndAnythingElseItsOnlyOne) {
  EXPECT_EQ(arguments_of(json_of("[1, [2]]")), (Value::Array{1, Value::Array{2}}));
  EXPECT_EQ(arguments_of(json_of("[]")), Value::Array{});
  EXPECT_EQ(arguments_of(json_of(R"({"tone": "punchy"})")),
            (Value::Array{Value::Map{{"tone", "punchy"}}}));
  EXPECT_EQ(arguments_of(json_of("null")), (Value::Array{nullptr}));
}

TEST(RotationInput, OfAPromptATextOrAnObjectWithOne) {
  EXPECT_THAT(find_prompt("hello"), Optional(RotatedPrompt{"hello"}));
  EXPECT_THAT(find_prompt(json_of(R"({"prompt": "hello", "metadata": {"tone": "dry"}})")),
              Optional(RotatedPrompt{"hello", Value::Map{{"tone", "dry"}}}));
  EXPECT_THAT(find_prompt(json_of(R"({"prompt": "hello", "metadata": null})")),
              Optional(RotatedPrompt{"hello"}));
  for (const auto* input :
       {R"({"text": "hello"})", R"({"prompt": 7})", R"(["hello"])", "7", R"("")",
        R"({"prompt": ""})", R"({"prompt": "hello", "metadata": "dry"})"}) {
    EXPECT_EQ(find_prompt(json_of(input)), std::nullopt) << input;
  }
}

TEST(RotationInput, APromptThatIsNoneIsFoundWhenItIsSet) {
  EXPECT_THAT(problems_of_inputs(json_of(R"(["hello", {"text": "hello"}])"), RotationFor::prompt),
              refused_at("inputs[1]"));
  EXPECT_THAT(problems_of_inputs(json_of(R"([{"text": "hello"}])")), ElementsAre());
}

RC_GTEST_PROP(RotationProperty, EveryInputHasItsTurnInEveryRound, ()) {
  const auto count = *rc::gen::inRange<std::size_t>(1, 10);
  Rotation rotation;
  for (std::size_t n = 0; n < count; ++n) rotation.inputs.emplace_back(static_cast<int>(n));
  rotation.next_index = count * *rc::gen::inRange<std::uint64_t>(0, 1'000'000'000);
  for (std::size_t turn = 0; turn < 2 * count; ++turn, advance(rotation)) {
    RC_ASSERT(pick(rotation).index == turn % count);
    RC_ASSERT(pick(rotation).input == rotation.inputs[turn % count]);
  }
}

}  // namespace
}  // namespace dw::schedule
