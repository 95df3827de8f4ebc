// What workers upsert is held to the limits that a start is held to.
#include "server/upsert_fields.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace dw::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

template <auto read>
std::vector<std::string> wrong_with(const Value::Map& command) {
  Fields fields{command, {}};
  read(fields);
  std::vector<std::string> names;
  for (const auto& [name, texts] : fields.take_errors()) names.push_back(name);
  return names;
}

std::vector<std::string> wrong_with_attributes(Value attributes) {
  return wrong_with<read_search_attribute_upsert>({{"attributes", std::move(attributes)}});
}

std::vector<std::string> wrong_with_types(Value types) {
  return wrong_with<read_search_attribute_upsert>(
      {{"attributes", Value::Map{{"a", 1}}}, {"attribute_types", std::move(types)}});
}

std::vector<std::string> wrong_with_memo(Value entries) {
  return wrong_with<read_memo_upsert>({{"entries", std::move(entries)}});
}

Value one_too_many() {
  Value::Map many;
  for (int i = 0; i <= 100; ++i) many.emplace_back(fmt::format("key{}", i), i);
  return many;
}

TEST(UpsertFields, SearchAttributesAreAsFewAndShortAsThoseOfAStart) {
  EXPECT_THAT(wrong_with_attributes(one_too_many()), ElementsAre("attributes"));
  EXPECT_THAT(wrong_with_attributes(Value::Map{{std::string(129, 'k'), 1}}),
              ElementsAre("attributes"));
  EXPECT_THAT(wrong_with_attributes(Value::Map{{"a", std::string(3'000, 'x')}}),
              ElementsAre("attributes"));
  EXPECT_THAT(wrong_with_attributes(Value::Map{{"a", Value::Map{{"nested", 1}}}}),
              ElementsAre("attributes"));
  EXPECT_THAT(wrong_with_attributes(Value::Map{{std::string(128, 'k'), std::string(2'048, 'x')}}),
              IsEmpty());
}

TEST(UpsertFields, TheTypesOfAttributesAreKnownOnes) {
  EXPECT_THAT(wrong_with_types(Value::Map{{"a", "int"}, {"b", "float"}, {"c", "keyword_list"}}),
              IsEmpty());
  EXPECT_THAT(wrong_with_types(5), ElementsAre("attribute_types"));
  EXPECT_THAT(wrong_with_types(Value::Map{{"a", "nope"}, {"b", 7}}),
              ElementsAre("attribute_types.a", "attribute_types.b"));
}

TEST(UpsertFields, AMemoIsAsSmallAsThatOfAStart) {
  EXPECT_THAT(wrong_with_memo(one_too_many()), ElementsAre("entries"));
  EXPECT_THAT(wrong_with_memo(Value::Map{{std::string(65, 'k'), 1}}), ElementsAre("entries"));
  EXPECT_THAT(wrong_with_memo(Value::Map{{"a", std::string(256 * 1024, 'x')}}),
              ElementsAre("entries"));
  EXPECT_THAT(wrong_with_memo(Value::Map{{"a", Value{}}}), IsEmpty());
}

}  // namespace
}  // namespace dw::server
