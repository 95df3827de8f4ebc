#include "engine/visibility.hpp"

#include <gmock/gmock.h>

namespace dw::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

Value map(Value::Map entries) {
  return Value{std::move(entries)};
}

template <typename T>
std::string why(const Result<T>& refused) {
  return refused ? "accepted" : refused.error().message;
}

TEST(BusinessKey, IsTrimmedAndHasRoomFor191Bytes) {
  EXPECT_EQ(*business_key("  invoice 7\n"), "invoice 7");
  EXPECT_EQ(*business_key(" \t "), "");
  EXPECT_EQ(business_key(std::string(191, 'k'))->size(), 191u);
  EXPECT_EQ(why(business_key(std::string(192, 'k'))), "business_key may have 191 bytes, not 192");
}

TEST(VisibilityLabels, AreTextInTheOrderOfTheirKeysAndNullIsNone) {
  const auto labels =
      visibility_labels(map({{"team", " billing "}, {"gone", Value{}}, {"tier", 3}, {"eu", true}}));
  EXPECT_THAT(*labels, ElementsAre(Pair("eu", "true"), Pair("team", "billing"), Pair("tier", "3")));
}

TEST(VisibilityLabels, OfAnyOtherFormAreRefusedByName) {
  EXPECT_EQ(why(visibility_labels("billing")), "labels must be an object, not string");
  EXPECT_THAT(why(visibility_labels(map({{"a b", "x"}}))), HasSubstr("labels has the key 'a b'"));
  EXPECT_THAT(why(visibility_labels(map({{std::string(65, 'k'), "x"}}))), HasSubstr("1 to 64"));
  EXPECT_THAT(why(visibility_labels(map({{"a", "  "}}))), HasSubstr("has 0 bytes under 'a'"));
  EXPECT_THAT(why(visibility_labels(map({{"a", std::string(192, 'v')}}))), HasSubstr("192 bytes"));
  EXPECT_THAT(why(visibility_labels(map({{"a", map({})}}))), HasSubstr("has map under 'a'"));
  EXPECT_EQ(why(visibility_labels(map({{"a", "x"}, {"a", "y"}}))), "labels has the key 'a' twice");
}

TEST(Memo, IsSortedAtEveryLevelAndEmptyIsNone) {
  const auto sorted = memo(map({{"z", Value::Array{map({{"b", 1}, {"a", Value{}}})}}, {"a", "x"}}));
  EXPECT_EQ(to_json(**sorted), R"({"a":"x","z":[{"a":null,"b":1}]})");
  EXPECT_FALSE(memo(map({}))->has_value());
}

TEST(Memo, ThatIsTooBigOrHasNoProperKeysIsRefused) {
  EXPECT_EQ(why(memo(1)), "memo must be an object, not integer");
  EXPECT_THAT(why(memo(map({{"a", map({{"", 1}})}}))), HasSubstr("a key of 0 bytes"));
  Value::Map many;
  for (int i = 0; i < 101; ++i) many.emplace_back(std::to_string(i), i);
  EXPECT_EQ(why(memo(map(many))), "memo may have 100 entries, not 101");
  const auto holding = [](std::size_t bytes) {
    return memo(map({{"a", std::string(bytes - to_json(map({{"a", ""}})).size(), 'x')}}));
  };
  EXPECT_TRUE(holding(max_memo_bytes));
  EXPECT_EQ(why(holding(max_memo_bytes + 1)), "memo may have 262144 bytes, not 262145");
}

TEST(SearchAttributes, AreScalarsAndListsOfText) {
  const auto found = search_attributes(
      map({{"region", "eu"}, {"tags", Value::Array{"a", "b"}}, {"total", 1.5}, {"gone", Value{}}}));
  EXPECT_EQ(to_json(**found), R"({"region":"eu","tags":["a","b"],"total":1.5})");
  EXPECT_FALSE(search_attributes(map({{"gone", Value{}}}))->has_value());
}

TEST(SearchAttributes, OfAnyOtherFormAreRefusedByName) {
  for (const Value& bad : {map({}), Value{Value::Array{1}}, Value{std::string(2049, 'x')}}) {
    EXPECT_THAT(why(search_attributes(map({{"a", bad}}))), HasSubstr("no attribute under 'a'"));
  }
  EXPECT_THAT(why(search_attributes(map({{"ä", 1}}))), HasSubstr("has the key 'ä'"));
  EXPECT_THAT(why(search_attributes(map({{std::string(129, 'k'), 1}}))), HasSubstr("1 to 128"));
  EXPECT_TRUE(search_attributes(map({{std::string(128, 'k'), std::string(2048, 'x')}})));
}

}  // namespace
}  // namespace dw::engine
