#include <dw/ids.hpp>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <regex>
#include <unordered_set>

namespace dw {
namespace {

TEST(InstanceIdRules, AcceptTheWholeAlphabetUpToTheLimit) {
  EXPECT_EQ(parse_instance_id("Order-42:retry_1.final").value().str(), "Order-42:retry_1.final");
  EXPECT_TRUE(parse_instance_id(std::string(191, 'x')).has_value());
}

TEST(InstanceIdRules, RefuseWhatAUrlWouldMangle) {
  for (const auto* text : {"", "a b", "a/b", "a%20", "käse", "a\n", "a?b", "a#b"}) {
    const auto id = parse_instance_id(text);
    ASSERT_FALSE(id.has_value()) << text;
    EXPECT_EQ(id.error().code, ErrorCode::invalid_argument);
  }
  EXPECT_FALSE(parse_instance_id(std::string(192, 'x')).has_value());
  EXPECT_FALSE(parse_instance_id(std::string("a\0b", 3)).has_value());
}

TEST(NamespaceRules, LowerCaseFirstAndThenJudge) {
  EXPECT_EQ(parse_namespace("Billing.EU-1").value().str(), "billing.eu-1");
}

TEST(NamespaceRules, LeaveTheEmptyNamespaceUnset) {
  EXPECT_TRUE(parse_namespace("").value().empty());
}

TEST(NamespaceRules, RefuseColonsAndExcess) {
  EXPECT_TRUE(parse_namespace(std::string(128, 'n')).has_value());
  for (const auto& text : {std::string(129, 'n'), std::string("a:b"), std::string("a b")}) {
    const auto name = parse_namespace(text);
    ASSERT_FALSE(name.has_value()) << text;
    EXPECT_EQ(name.error().code, ErrorCode::invalid_argument);
  }
}

TEST(StrongId, SortsAndHashesAsItsText) {
  const RunId first{"01A"};
  const RunId second{"01B"};
  EXPECT_LT(first, second);
  EXPECT_EQ((std::unordered_set<RunId>{first, second, first}.size()), 2u);
}

// Text near the rules: mostly good characters, now and then a bad one, around the length limits.
rc::Gen<std::string> almost_an_id() {
  return rc::gen::resize(
      220, rc::gen::container<std::string>(rc::gen::weightedOneOf<char>(
               {{200, rc::gen::element('a', 'z', 'A', 'Z', '0', '9', '.', '_', '-')},
                {1, rc::gen::element(':', '/', ' ', '@', '[', '`', '{', '\x7f', '\0')}})));
}

RC_GTEST_PROP(IdProperty, InstanceIdsAreWhatTheExpressionSays, ()) {
  static const std::regex rule{"[A-Za-z0-9._:-]{1,191}"};
  const auto text = *almost_an_id();
  RC_ASSERT(parse_instance_id(text).has_value() == std::regex_match(text, rule));
}

RC_GTEST_PROP(IdProperty, NamespacesAreWhatTheExpressionSays, ()) {
  static const std::regex rule{"[A-Za-z0-9._-]{0,128}"};
  const auto text = *almost_an_id();
  const auto name = parse_namespace(text);
  RC_ASSERT(name.has_value() == std::regex_match(text, rule));
  if (name) RC_ASSERT(parse_namespace(name->str()).value() == *name);
}

}  // namespace
}  // namespace dw
