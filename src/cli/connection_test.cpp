#include "cli/connection.hpp"

#include "cli/catalogue.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dw::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

using Variables = std::map<std::string, std::string, std::less<>>;

Environment variables(Variables values) {
  return [values](std::string_view name) -> std::optional<std::string> {
    const auto found = values.find(name);
    return found == values.end() ? std::nullopt : std::optional{found->second};
  };
}

Given flags(std::vector<std::string> words) {
  return *parse_given(*find_command("namespace:list"), words);
}

Profiles one_profile() {
  Profiles profiles;
  profiles.envs["prod"] = {.server = "https://profile",
                           .ns = "profile-ns",
                           .token = TokenSource{TokenSource::Kind::literal, "profile-token"},
                           .tls_verify = false,
                           .output = "json"};
  return profiles;
}

// Four sources, the nearer one first; each row takes the nearest away.
TEST(Connection, FlagBeforeEnvironmentBeforeProfileBeforeDefault) {
  const Variables said{{"DURABLE_WORKFLOW_SERVER_URL", "http://environment"},
                       {"DURABLE_WORKFLOW_NAMESPACE", "environment-ns"},
                       {"DURABLE_WORKFLOW_AUTH_TOKEN", "environment-token"},
                       {"DURABLE_WORKFLOW_TLS_VERIFY", "no"}};
  const auto by_flag =
      resolve_connection(flags({"--server=http://flag", "--namespace=flag-ns", "--token=flag-token",
                                "--tls-verify=true", "--env=prod"}),
                         variables(said), one_profile());
  ASSERT_TRUE(by_flag);
  EXPECT_EQ(by_flag->server, "http://flag");
  EXPECT_EQ(by_flag->ns, "flag-ns");
  EXPECT_EQ(by_flag->token, "flag-token");
  EXPECT_TRUE(by_flag->tls_verify);
  EXPECT_EQ(by_flag->token_source, "flag");

  const auto by_environment =
      resolve_connection(flags({"--env=prod"}), variables(said), one_profile());
  EXPECT_EQ(by_environment->server, "http://environment");
  EXPECT_EQ(by_environment->ns, "environment-ns");
  EXPECT_EQ(by_environment->token, "environment-token");
  EXPECT_FALSE(by_environment->tls_verify);
  EXPECT_EQ(by_environment->server_source, "DURABLE_WORKFLOW_SERVER_URL");

  const auto by_profile = resolve_connection(flags({"--env=prod"}), variables({}), one_profile());
  EXPECT_EQ(by_profile->server, "https://profile");
  EXPECT_EQ(by_profile->ns, "profile-ns");
  EXPECT_EQ(by_profile->token, "profile-token");
  EXPECT_FALSE(by_profile->tls_verify);
  EXPECT_EQ(by_profile->token_source, "profile_literal");

  const auto by_default = resolve_connection(flags({}), variables({}), one_profile());
  EXPECT_EQ(by_default->server, "http://localhost:8080");
  EXPECT_EQ(by_default->ns, "default");
  EXPECT_EQ(by_default->token, "");
  EXPECT_TRUE(by_default->tls_verify);
  EXPECT_EQ(by_default->tls_source, "default");
}

TEST(Connection, TheProfileIsChosenByFlagThenVariableThenFile) {
  Profiles profiles = one_profile();
  profiles.envs["dev"] = {.server = "http://dev"};
  profiles.envs["test"] = {.server = "http://test"};
  profiles.current = "prod";
  const auto chosen = [&](std::vector<std::string> words, Variables said) {
    return resolve_connection(flags(std::move(words)), variables(std::move(said)), profiles)
        ->profile;
  };
  EXPECT_EQ(chosen({"--env=dev"}, {{"DW_ENV", "test"}}), "dev");
  EXPECT_EQ(chosen({}, {{"DW_ENV", "test"}}), "test");
  EXPECT_EQ(chosen({}, {}), "prod");
}

TEST(Connection, AMissingProfileIsAMistakeAndNoFallback) {
  Profiles profiles = one_profile();
  profiles.current = "gone";
  for (const auto& connection :
       {resolve_connection(flags({"--env=gone"}), variables({}), one_profile()),
        resolve_connection(flags({}), variables({{"DW_ENV", "gone"}}), one_profile()),
        resolve_connection(flags({}), variables({}), profiles)}) {
    ASSERT_FALSE(connection);
    EXPECT_EQ(connection.error().exit, Exit::invalid);
    EXPECT_THAT(connection.error().message, HasSubstr("'gone'"));
    EXPECT_THAT(connection.error().message, HasSubstr("prod"));
  }
}

TEST(Connection, ATokenMayBeNamedAndKeptElsewhere) {
  Profiles profiles;
  profiles.envs["p"] = {.token = TokenSource{TokenSource::Kind::environment, "PROD_TOKEN"}};
  const auto connection =
      resolve_connection(flags({"--env=p"}), variables({{"PROD_TOKEN", "secret"}}), profiles);
  EXPECT_EQ(connection->token, "secret");
  EXPECT_EQ(connection->token_variable, "PROD_TOKEN");
}

TEST(Connection, TheTokenIsNeverShown) {
  const auto connection =
      resolve_connection(flags({"--token=very-secret"}), variables({}), one_profile());
  EXPECT_THAT(to_json(effective_config(*connection)), Not(HasSubstr("very-secret")));
}

TEST(Connection, AnAddressMayEndInApi) {
  for (const char* url : {"http://h:1", "http://h:1/", "http://h:1/api", "http://h:1/api/"}) {
    EXPECT_EQ(
        resolve_connection(flags({std::string{"--server="} + url}), variables({}), {})->server,
        "http://h:1");
  }
}

TEST(Connection, NonsenseInTheEnvironmentIsRefused) {
  EXPECT_FALSE(
      resolve_connection(flags({}), variables({{"DURABLE_WORKFLOW_TLS_VERIFY", "x"}}), {}));
}

TEST(Connection, TheOutputFollowsTheFlagThenTheProfile) {
  EXPECT_EQ(*resolve_output(flags({"--output=table"}), "json"), OutputMode::table);
  EXPECT_EQ(*resolve_output(flags({"--json"}), "jsonl"), OutputMode::json);
  EXPECT_EQ(*resolve_output(flags({}), "jsonl"), OutputMode::jsonl);
  EXPECT_EQ(*resolve_output(flags({}), std::nullopt), OutputMode::table);
  EXPECT_FALSE(resolve_output(flags({}), "yaml"));
}

}  // namespace
}  // namespace dw::cli
