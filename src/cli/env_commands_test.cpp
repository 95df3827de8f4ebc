// Profiles are made, chosen and removed on the command line, and commands go where they point.
#include "cli/client_story.hpp"
#include "cli/lookup.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace dw::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

class EnvCommands : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "dw-env-XXXXXX").string();
    ASSERT_TRUE(::mkdtemp(pattern.data()));
    directory = pattern;
    story.environment("DW_CONFIG_HOME", directory.string());
  }
  void TearDown() override { std::filesystem::remove_all(directory); }

  std::filesystem::path directory;
  ClientStory story;
};

TEST_F(EnvCommands, AProfileIsMadeUsedAndRemoved) {
  EXPECT_EQ(story.run({"env:set", "dev", "--server=http://dev:1", "--namespace=shop"}).code, 0);
  EXPECT_EQ(story.run({"env:use", "dev"}).code, 0);
  story.answers(R"({"workflows":[]})");
  EXPECT_THAT(story.run({"workflow:list"}).out, HasSubstr("namespace shop"));
  EXPECT_EQ(story.connected_to, "http://dev:1");
  const Value gone = story.run({"env:delete", "dev", "--json"}).document();
  EXPECT_TRUE(is_true(gone, "cleared_current_env"));
  story.run({"workflow:list"});
  EXPECT_EQ(story.connected_to, "http://localhost:8080");
}

TEST_F(EnvCommands, TheProfileThatIsShownIsTheOneThatIsSelected) {
  story.run({"env:set", "dev", "--make-default"});
  story.run({"env:set", "prod"});
  const auto shown = [&](std::vector<std::string> words) {
    words.push_back("--json");
    return text_of(story.run(words).document(), "name");
  };
  EXPECT_EQ(shown({"env:show"}), "dev");
  EXPECT_EQ(shown({"env:show", "--env=prod"}), "prod");
  story.environment("DW_ENV", "prod");
  EXPECT_EQ(shown({"env:show"}), "prod");
  EXPECT_EQ(story.run({"env:show", "--env=nope"}).code, 2);
  EXPECT_EQ(story.run({"env:show", "dev", "--env=nope"}).code, 2);
}

TEST_F(EnvCommands, ChangingOneSettingKeepsTheOthersAndNothingClears) {
  story.run({"env:set", "p", "--server=http://a", "--token-env=MY_TOKEN", "--profile-output=json"});
  story.run({"env:set", "p", "--namespace=shop", "--server="});
  const Value shown = story.run({"env:show", "p", "--json"}).document();
  EXPECT_EQ(look_up(shown, "server"), nullptr);
  EXPECT_EQ(text_of(shown, "namespace"), "shop");
  EXPECT_EQ(text_of(shown, "token_source.env"), "MY_TOKEN");
  EXPECT_EQ(text_of(shown, "output"), "json");
}

TEST_F(EnvCommands, LiteralTokensAreShownToThoseWhoAsk) {
  story.run({"env:set", "p", "--token=secret"});
  for (const char* command : {"env:list", "env:show"}) {
    std::vector<std::string> words{command};
    if (command == std::string_view{"env:show"}) words.push_back("p");
    EXPECT_THAT(story.run(words).out, Not(HasSubstr("secret")));
    words.push_back("--show-token");
    EXPECT_THAT(story.run(words).out, HasSubstr("secret"));
  }
}

TEST_F(EnvCommands, PasswordsOfUrlsAreNotShown) {
  std::ofstream{directory / "config.json"}
      << R"({"envs":{"dev":{"server":"https://me:s3cr3t@host"}}})";
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"env:set", "dev", "--namespace=shop", "--json"},
        std::vector<std::string>{"env:show", "dev"}, std::vector<std::string>{"env:list"},
        std::vector<std::string>{"env:list", "--json"}}) {
    const Ran ran = story.run(words);
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_THAT(ran.out, Not(HasSubstr("s3cr3t"))) << words.front();
  }
}

TEST_F(EnvCommands, AServerThatNoCommandCouldUseIsNotKept) {
  for (const char* url :
       {"https://me:s3cr3t@host", "ftp://host", "nonsense", "http://host:99999"}) {
    const Ran ran = story.run({"env:set", "p", std::string{"--server="} + url});
    EXPECT_EQ(ran.code, 2) << url;
    EXPECT_THAT(ran.out + ran.err, Not(HasSubstr("s3cr3t")));
  }
  EXPECT_FALSE(std::filesystem::exists(directory / "config.json"));
}

TEST_F(EnvCommands, MistakesAreRefused) {
  EXPECT_EQ(story.run({"env:set", "no good"}).code, 2);
  EXPECT_EQ(story.run({"env:set", "p", "--token=a", "--token-env=B"}).code, 2);
  EXPECT_EQ(story.run({"env:set", "p", "--token-env=no-name"}).code, 2);
  EXPECT_EQ(story.run({"env:use", "nowhere"}).code, 2);
  EXPECT_EQ(story.run({"env:delete", "nowhere"}).code, 2);
  EXPECT_EQ(story.run({"env:show"}).code, 2) << "no env is current";
}

TEST_F(EnvCommands, AProfileSaysHowItsCommandsPrint) {
  story.run({"env:set", "p", "--profile-output=json", "--make-default"});
  story.answers(R"({"workflows":[]})");
  EXPECT_EQ(text_of(story.run({"workflow:list"}).document(), "namespace"), "default");
  EXPECT_THAT(story.run({"workflow:list", "--output=table"}).out, HasSubstr("No workflows"));
}

}  // namespace
}  // namespace dw::cli
