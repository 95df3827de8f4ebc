#include "cli/given.hpp"

#include "cli/catalogue.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dw::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Outcome<Given> given_to(std::string_view command, std::vector<std::string> words) {
  return parse_given(*find_command(command), words);
}

TEST(Given, ValuesComeWithAnEqualsSignOrAsTheNextWord) {
  const auto given = given_to("workflow:list", {"--type=shop", "--query", "a = 1", "-l", "5"});
  ASSERT_TRUE(given);
  EXPECT_EQ(given->text("type"), "shop");
  EXPECT_EQ(given->text("query"), "a = 1");
  EXPECT_EQ(given->whole("limit"), 5);
}

TEST(Given, ShortFlagsMayBeJoinedAndValuesFollowTheirLetter) {
  const auto given = given_to("workflow:list", {"-qvtshop"});
  ASSERT_TRUE(given);
  EXPECT_TRUE(given->flag("quiet"));
  EXPECT_TRUE(given->flag("verbose"));
  EXPECT_EQ(given->text("type"), "shop");
}

TEST(Given, TwoDashesEndTheOptions) {
  const auto given = given_to("workflow:describe", {"--json", "--", "--odd-id"});
  ASSERT_TRUE(given);
  EXPECT_EQ(given->text("workflow-id"), "--odd-id");
}

TEST(Given, RepeatedValuesAccumulate) {
  const auto given =
      given_to("workflow:start", {"-t", "x", "--search-attr", "a=1", "--search-attr=b=2"});
  ASSERT_TRUE(given);
  EXPECT_THAT(given->all("search-attr"), ElementsAre("a=1", "b=2"));
}

TEST(Given, WhatIsNotGivenIsAssumed) {
  EXPECT_EQ(given_to("workflow:list", {})->whole("limit"), 20);
  EXPECT_FALSE(given_to("workflow:list", {})->was_said("limit"));
  EXPECT_EQ(given_to("workflow:list", {"--limit="})->whole("limit"), 20) << "nothing is nothing";
}

struct Mistake {
  const char* command;
  std::vector<std::string> words;
  const char* said;
};

TEST(Given, MistakesAreNamedBeforeAnythingIsSent) {
  const Mistake mistakes[] = {
      {"workflow:start", {}, "--type is missing"},
      {"workflow:describe", {}, "<workflow-id> is missing"},
      {"workflow:describe", {"a", "b"}, "one argument too many"},
      {"workflow:describe", {""}, "must not be empty"},
      {"workflow:list", {"--limt=3"}, "did you mean --limit?"},
      {"workflow:list", {"--bucket=x"}, "there is no option --bucket; `dw help"},
      {"workflow:list", {"--limit=0"}, "from 1 to 200"},
      {"workflow:list", {"--limit=many"}, "from 1 to 200"},
      {"workflow:list", {"--limit"}, "needs a value"},
      {"workflow:list", {"--json=yes"}, "takes no value"},
      {"workflow:list", {"--output=xml"}, "one of table, json, jsonl"},
      {"workflow:list", {"-X"}, "no option -X"},
      {"workflow:start", {"-t", "x", "--search-attr", "tier"}, "key=value"},
      {"workflow:start", {"-t", "x", "--priority", "10"}, "from 0 to 9"},
      {"workflow-task:complete", {"task", "zero"}, "<attempt> must be"},
  };
  for (const Mistake& mistake : mistakes) {
    const auto given = given_to(mistake.command, mistake.words);
    ASSERT_FALSE(given) << mistake.said;
    EXPECT_EQ(given.error().exit, Exit::invalid);
    EXPECT_THAT(given.error().message, HasSubstr(mistake.said));
  }
}

TEST(Given, HelpIsGivenOnALineThatIsWrongOtherwise) {
  EXPECT_TRUE(given_to("workflow:start", {"--nonsense", "--help"})->flag("help"));
}

TEST(Given, YesAndNoHaveManySpellings) {
  for (const char* yes : {"true", "YES", "on", "1"}) EXPECT_EQ(parse_yes_no(yes), true);
  for (const char* no : {"false", "no", "Off", "0"}) EXPECT_EQ(parse_yes_no(no), false);
  EXPECT_EQ(parse_yes_no("perhaps"), std::nullopt);
}

}  // namespace
}  // namespace dw::cli
