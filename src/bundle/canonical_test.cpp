#include "bundle/canonical.hpp"

#include "bundle/bundled.hpp"
#include "bundle/integrity.hpp"
#include "core/arbitrary_value.hpp"
#include "core/sha256.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace dw::story {
namespace {

// Computed with the verifier of the published Python SDK.
// proves: E-117
TEST(Canonical, IsToTheByteWhatThePublishedVerifierComputes) {
  const auto cases = parse_json(read_vector("history_bundle/canonical.json"));
  ASSERT_TRUE(cases && cases->if_array());
  ASSERT_FALSE(cases->if_array()->empty());
  for (const Value& one : *cases->if_array()) {
    SCOPED_TRACE(text_at(one, "name"));
    const auto value = parse_json(text_at(one, "json"));
    ASSERT_TRUE(value);
    const auto bytes = bundle::signed_bytes(*value);
    EXPECT_EQ(bytes, text_at(one, "canonical"));
    EXPECT_EQ(sha256_hex(bytes), text_at(one, "sha256"));
  }
}

TEST(Canonical, TextThatIsNotUtf8IsHashedAsItIsWritten) {
  const Value broken{std::string{"a\xff"}};
  EXPECT_EQ(bundle::canonical_json(broken), R"("a\ufffd")");
  EXPECT_EQ(bundle::canonical_json(*parse_json(to_json(broken))), R"("a\ufffd")");
}

TEST(Pretty, PutsEveryEntryOnALineAndKeepsTheOrderOfKeys) {
  const Value value = Value::Map{
      {"b", Value::Array{1, Value::Map{{"x", "y"}}}}, {"a", Value::Map{}}, {"c", Value::Array{}}};
  EXPECT_EQ(bundle::pretty_json(value),
            "{\n  \"b\": [\n    1,\n    {\n      \"x\": \"y\"\n    }\n  ],\n"
            "  \"a\": {},\n  \"c\": []\n}\n");
}

RC_GTEST_PROP(Canonical, DoesNotDependOnHowTheTextWasWritten, ()) {
  const Value value = *arbitrary_value();
  const auto compact = parse_json(to_json(value));
  const auto pretty = parse_json(bundle::pretty_json(value));
  RC_ASSERT(compact && pretty);
  RC_ASSERT(bundle::canonical_json(*compact) == bundle::canonical_json(value));
  RC_ASSERT(bundle::canonical_json(*pretty) == bundle::canonical_json(value));
  const auto again = parse_json(bundle::canonical_json(value));
  RC_ASSERT(again && bundle::canonical_json(*again) == bundle::canonical_json(value));
}

}  // namespace
}  // namespace dw::story
