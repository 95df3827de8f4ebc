#include "engine/progress.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace dw::engine {
namespace {

std::string normal(std::string_view json) {
  const auto result = normalize_progress(parse_json(json).value());
  return result ? to_json(*result) : result.error().message;
}
bool refused(const Value& progress) {
  const auto result = normalize_progress(progress);
  return !result && result.error().code == ErrorCode::invalid_argument;
}
std::string detail(std::string_view key, std::string_view value) {
  std::string json = R"({"details":{")";
  json.append(key).append("\":").append(value).append("}}");
  return json;
}

// proves: E-64
TEST(Progress, IsTrimmedCountedAndSorted) {
  EXPECT_EQ(normal(R"({"message":"  half way ","current":50.0,"total":99.5,"unit":" files ",)"
                   R"("details":{"z":" x ","a":1,"b":null,"c":true,"d":0.5}})"),
            R"({"message":"half way","current":50,"total":99.5,"unit":"files",)"
            R"("details":{"a":1,"b":null,"c":true,"d":0.5,"z":"x"}})");
  EXPECT_EQ(normal("{}"), "{}");
}

TEST(Progress, LengthsAreCountedInCharacters) {
  std::string umlauts;
  for (int i = 0; i < 280; ++i) umlauts += "ü";
  EXPECT_FALSE(refused(Value::Map{{"message", umlauts}}));
  EXPECT_TRUE(refused(Value::Map{{"message", umlauts + "u"}}));
}

TEST(Progress, HasRoomForThisMuchAndNoMore) {
  const auto map = [](int entries) {
    Value::Map details;
    for (int i = 0; i < entries; ++i) details.emplace_back("k" + std::to_string(i), i);
    return Value::Map{{"details", details}};
  };
  EXPECT_FALSE(refused(map(20)));
  EXPECT_TRUE(refused(map(21)));
  const auto unit = [](std::size_t size) {
    return Value::Map{{"current", 1}, {"unit", std::string(size, 'u')}};
  };
  EXPECT_FALSE(refused(unit(64)));
  EXPECT_TRUE(refused(unit(65)));
  const auto key = [](std::size_t size) {
    return Value::Map{{"details", Value::Map{{std::string(size, 'k'), 1}}}};
  };
  EXPECT_FALSE(refused(key(64)));
  EXPECT_TRUE(refused(key(65)));
  const auto text = [](std::size_t size) {
    return Value::Map{{"details", Value::Map{{"k", std::string(size, 't')}}}};
  };
  EXPECT_FALSE(refused(text(191)));
  EXPECT_TRUE(refused(text(192)));
}

TEST(Progress, SaysWhichKeyIsWrong) {
  EXPECT_EQ(
      normal(R"({"percent":5})"),
      "heartbeat progress: 'percent' is unknown; use message, current, total, unit or details");
  EXPECT_EQ(normal(R"({"unit":"files"})"),
            "heartbeat progress: 'unit' says nothing without 'current' or 'total'");
  EXPECT_EQ(normal(R"([1])"), "heartbeat progress must be an object");
}

TEST(Progress, TakesOnlyWhatAPersonCanRead) {
  for (const auto& json : {std::string{R"({"message":" "})"}, std::string{R"({"message":5})"},
                           std::string{R"({"current":-1})"}, std::string{R"({"total":"5"})"},
                           std::string{R"({"current":1,"unit":""})"},
                           std::string{R"({"details":[1]})"}, detail("", "1"), detail("a b", "1"),
                           detail("a", "[1]"), detail("a", "{}"), detail("a", R"("")")}) {
    EXPECT_TRUE(refused(parse_json(json).value())) << json;
  }
  const double infinite = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(refused(Value::Map{{"current", infinite}}));
  EXPECT_TRUE(refused(Value::Map{{"details", Value::Map{{"a", infinite}}}}));
}

}  // namespace
}  // namespace dw::engine
