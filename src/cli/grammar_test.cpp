#include "cli/grammar.hpp"

#include "cli/catalogue.hpp"
#include "cli/client_commands.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dw::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> known_names() {
  auto names = client_names();
  for (const char* local : {"demo", "server:dev", "run:list", "system:retention-pass"}) {
    names.emplace_back(local);
  }
  return names;
}

Outcome<Spoken> spoken(std::vector<std::string> words, bool interactive = false) {
  return read_words(words, known_names(), interactive);
}

std::string plural_of(const std::string& group) {
  return group.ends_with("y") ? group.substr(0, group.size() - 1) + "ies" : group + "s";
}

TEST(Grammar, EveryCommandIsUnderstoodWithColonGroupedAndPlural) {
  for (const std::string& name : client_names()) {
    EXPECT_EQ(spoken({name})->name, name);
    const auto colon = name.find(':');
    if (colon == std::string::npos) continue;
    const std::string group = name.substr(0, colon), verb = name.substr(colon + 1);
    EXPECT_EQ(spoken({group, verb})->name, name);
    EXPECT_EQ(spoken({plural_of(group), verb})->name, name);
    EXPECT_EQ(spoken({plural_of(group) + ":" + verb})->name, name);
  }
}

TEST(Grammar, OptionsBeforeTheGroupAndBeforeTheVerbAreKept) {
  const auto line = spoken({"--server", "http://a", "-q", "workflow", "--json", "list", "-t", "x"});
  ASSERT_TRUE(line);
  EXPECT_EQ(line->name, "workflow:list");
  EXPECT_THAT(line->rest, ElementsAre("--server", "http://a", "-q", "--json", "-t", "x"));
}

TEST(Grammar, AWordThatIsACommandIsNoGroup) {
  const auto line = spoken({"demo", "crash"});
  ASSERT_TRUE(line);
  EXPECT_EQ(line->name, "demo");
  EXPECT_THAT(line->rest, ElementsAre("crash"));
}

TEST(Grammar, AWrongNameIsAnsweredWithTheThreeNearest) {
  const auto line = spoken({"workflow:lits"});
  ASSERT_FALSE(line);
  EXPECT_EQ(line.error().exit, Exit::invalid);
  EXPECT_THAT(line.error().message, HasSubstr("workflow:list"));
  EXPECT_EQ(nearest("workflow:lits", known_names()).size(), 3u);
  EXPECT_EQ(nearest("workflow:lits", known_names()).front(), "workflow:list");
}

TEST(Grammar, NotEveryWordIsNearToAName) {
  EXPECT_EQ(near_miss("qiuet", {"bucket", "quiet"}), "quiet");
  EXPECT_EQ(near_miss("bucket", {"quiet"}), std::nullopt);
}

TEST(Grammar, AGroupAloneNamesItsCommands) {
  const auto line = spoken({"env"});
  ASSERT_FALSE(line);
  EXPECT_THAT(line.error().message, HasSubstr("env:use"));
}

TEST(Grammar, UpdateIsNotTakenForAnUpgrade) {
  for (const char* word : {"update", "self-update", "upgrade"}) {
    const auto line = spoken({word});
    ASSERT_FALSE(line);
    EXPECT_THAT(line.error().message, HasSubstr("does not replace itself"));
  }
}

TEST(Grammar, BeginningsOfNamesAreForPeopleOnly) {
  EXPECT_EQ(spoken({"namespace:c"}, true)->name, "namespace:create");
  EXPECT_FALSE(spoken({"namespace:c"}, false));
  EXPECT_FALSE(spoken({"namespace:de"}, true)) << "describe or delete?";
}

TEST(Grammar, OptionsAloneNameNoCommand) {
  const auto line = spoken({"--version"});
  ASSERT_TRUE(line);
  EXPECT_EQ(line->name, "");
  EXPECT_THAT(line->rest, ElementsAre("--version"));
}

Understood understood(std::vector<const char*> words) {
  words.insert(words.begin(), "dw");
  return understand(static_cast<int>(words.size()), words.data(),
                    {"demo", "server:dev", "system:retention-pass"}, false);
}

TEST(Understanding, LocalCommandsStayWithMain) {
  EXPECT_FALSE(understood({"server", "dev", "--port", "0"}).for_client);
  EXPECT_THAT(understood({"server", "dev", "--port", "0"}).words,
              ElementsAre("server:dev", "--port", "0"));
  EXPECT_FALSE(understood({"--version"}).for_client);
  EXPECT_FALSE(understood({}).for_client);
}

TEST(Understanding, AStoreMeansTheLocalCommandOfThatName) {
  EXPECT_TRUE(understood({"system:retention-pass", "--limit", "3"}).for_client);
  EXPECT_FALSE(understood({"system:retention-pass", "--store", "shop.db"}).for_client);
  EXPECT_FALSE(understood({"system", "retention-pass", "--store=shop.db"}).for_client);
}

TEST(Understanding, HelpIsAskedOfWhoeverHasTheCommand) {
  EXPECT_THAT(understood({"help", "server", "dev"}).words, ElementsAre("server:dev", "--help"));
  EXPECT_FALSE(understood({"help", "server:dev"}).for_client);
  EXPECT_TRUE(understood({"help", "workflow:list"}).for_client);
  EXPECT_THAT(understood({"help"}).words, ElementsAre("--help"));
  EXPECT_TRUE(understood({"help", "nonsense"}).refusal);
}

}  // namespace
}  // namespace dw::cli
