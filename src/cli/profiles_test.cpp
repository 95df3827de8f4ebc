#include "cli/profiles.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace dw::cli {
namespace {

using testing::HasSubstr;

class ProfilesOnDisk : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "dw-cli-XXXXXX").string();
    ASSERT_TRUE(::mkdtemp(pattern.data()));
    directory = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(directory); }

  static unsigned mode_of(const std::filesystem::path& path) {
    struct stat about {};
    return ::stat(path.c_str(), &about) == 0 ? about.st_mode & 0777 : 0;
  }

  std::filesystem::path directory;
};

TEST_F(ProfilesOnDisk, WhatIsSavedIsLoadedAgain) {
  const std::string path = directory / "dw" / "config.json";
  Profiles profiles;
  profiles.current = "dev";
  profiles.envs["dev"] = {.server = "http://localhost:8080", .ns = "default"};
  profiles.envs["prod"] = {.server = "https://a",
                           .token = TokenSource{TokenSource::Kind::environment, "PROD"},
                           .tls_verify = false,
                           .output = "json"};
  ASSERT_FALSE(save_profiles(profiles, path));
  const auto loaded = load_profiles(path);
  ASSERT_TRUE(loaded);
  EXPECT_EQ(profiles_text(*loaded), profiles_text(profiles));
  EXPECT_EQ(loaded->current, "dev");
  EXPECT_EQ(loaded->envs.at("prod").token->value, "PROD");
}

TEST_F(ProfilesOnDisk, NobodyElseMayReadThem) {
  const std::string path = directory / "dw" / "config.json";
  ASSERT_FALSE(save_profiles({}, path));
  EXPECT_EQ(mode_of(path), 0600u);
  EXPECT_EQ(mode_of(directory / "dw"), 0700u);
  std::filesystem::permissions(path, std::filesystem::perms::all);
  ASSERT_FALSE(save_profiles({}, path));
  EXPECT_EQ(mode_of(path), 0600u) << "also when somebody opened it up";
}

TEST_F(ProfilesOnDisk, TheFileIsReplacedWholeAndLeavesNothingBehind) {
  const std::string path = directory / "config.json";
  ASSERT_FALSE(save_profiles({}, path));
  Profiles profiles;
  profiles.envs["a"] = {};
  ASSERT_FALSE(save_profiles(profiles, path));
  const auto count = std::distance(std::filesystem::directory_iterator{directory}, {});
  EXPECT_EQ(count, 1);
}

TEST_F(ProfilesOnDisk, AFileThatCannotBeReadIsNamed) {
  const std::string path = directory / "config.json";
  std::ofstream{path} << "{ not json";
  const auto loaded = load_profiles(path);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().exit, Exit::invalid);
  EXPECT_THAT(loaded.error().message, HasSubstr(path));
}

TEST(Profiles, NoFileIsNoProfiles) {
  EXPECT_TRUE(load_profiles("/nowhere/at/all/config.json")->envs.empty());
}

TEST(Profiles, TheExampleOfTheReferenceIsUnderstood) {
  const auto profiles = parse_profiles(
      R"({"schema":"durable-workflow.cli.config","version":1,"current_env":"dev",
          "envs":{"dev":{"server":"http://localhost:8080","namespace":"default","tls_verify":true},
                  "prod":{"server":"https://api.example.com","namespace":"orders","output":"json",
                          "token_source":{"type":"env","value":"PROD_DW_TOKEN"},"tls_verify":true}}})",
      "config.json");
  ASSERT_TRUE(profiles);
  EXPECT_EQ(profiles->current, "dev");
  EXPECT_EQ(profiles->envs.at("prod").ns, "orders");
  EXPECT_EQ(profiles->envs.at("prod").token->kind, TokenSource::Kind::environment);
}

TEST(Profiles, WhereTheFileIsFollowsTheEnvironment) {
  const auto path = [](std::map<std::string, std::string, std::less<>> said) {
    return config_path([said](std::string_view name) -> std::optional<std::string> {
      const auto found = said.find(name);
      return found == said.end() ? std::nullopt : std::optional{found->second};
    });
  };
  EXPECT_EQ(path({{"DW_CONFIG_HOME", "/a/"}, {"HOME", "/h"}}), "/a/config.json");
  EXPECT_EQ(path({{"XDG_CONFIG_HOME", "/x"}, {"HOME", "/h"}}), "/x/dw/config.json");
  EXPECT_EQ(path({{"HOME", "/h"}}), "/h/.config/dw/config.json");
  EXPECT_EQ(path({}), "");
}

TEST(Profiles, LiteralTokensAreRedactedUnlessAskedFor) {
  const Profile profile{.token = TokenSource{TokenSource::Kind::literal, "secret"}};
  EXPECT_THAT(to_json(Value{describe_profile("p", profile, false)}), HasSubstr("redacted"));
  EXPECT_THAT(to_json(Value{describe_profile("p", profile, true)}), HasSubstr("secret"));
}

TEST(Profiles, NamesAreSimple) {
  for (const char* good : {"dev", "prod-1", "a.b_c", "7"}) EXPECT_TRUE(is_profile_name(good));
  for (const char* bad : {"", "-dev", ".x", "a b", "a/b", "ä"}) EXPECT_FALSE(is_profile_name(bad));
}

}  // namespace
}  // namespace dw::cli
