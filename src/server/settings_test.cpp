// One table says what can be set, and who wins when several set it.
#include "server/settings.hpp"

#include "server/env_audit.hpp"
#include "server/settings_file.hpp"

#include <gmock/gmock.h>

#include <fstream>
#include <set>
#include <sstream>

namespace dw::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Origin = Settings::Origin;

SettingsFile settings_from(std::string_view toml) {
  auto parsed = parse_settings_file(toml, "dw.toml");
  EXPECT_TRUE(parsed) << parsed.error().message;
  return parsed ? *parsed : SettingsFile{};
}

std::string refusal_of(std::string_view toml) {
  const auto parsed = parse_settings_file(toml, "dw.toml");
  return parsed ? "(taken)" : parsed.error().message;
}

TEST(SettingsTable, NothingIsCalledTwice) {
  std::set<std::string_view> names, variables, flags;
  for (const Setting& setting : settings()) {
    EXPECT_TRUE(names.insert(setting.name).second) << setting.name;
    EXPECT_FALSE(setting.help.empty()) << setting.name;
    if (!setting.variable.empty()) {
      EXPECT_TRUE(variables.insert(setting.variable).second) << setting.variable;
    }
    if (!setting.flag.empty()) {
      EXPECT_TRUE(flags.insert(setting.flag).second) << setting.flag;
    }
  }
}

TEST(SettingsTable, DefaultsAreWhatTheyMayBe) {
  for (const Setting& setting : settings()) {
    if (setting.fallback.empty()) continue;
    EXPECT_TRUE(check_value(setting, setting.fallback)) << setting.name;
  }
}

TEST(SettingsTable, SecretsAreNeitherInFilesNorOnCommandLines) {
  for (const Setting& setting : settings()) {
    if (setting.kind != SettingKind::secret) continue;
    EXPECT_FALSE(setting.in_file) << setting.name;
    EXPECT_TRUE(setting.flag.empty()) << setting.name;
    EXPECT_TRUE(setting.fallback.empty()) << setting.name;
  }
}

TEST(SettingsTable, IsWhatTheDocumentationShows) {
  std::ifstream page{std::string{DW_DOCS_DIR} + "/configuration.md"};
  std::ostringstream text;
  text << page.rdbuf();
  EXPECT_THAT(text.str(), HasSubstr(settings_in_markdown()))
      << "docs/configuration.md should have this table:\n"
      << settings_in_markdown();
}

TEST(Settings, TheFlagGoesFirstThenTheVariableThenTheFile) {
  const GivenSettings flags{{"log.level", "debug"}};
  const Environment environment{{"DW_LOG_LEVEL", "warn"}, {"DW_LOG_FORMAT", "json"}};
  const auto toml = settings_from("[log]\nlevel = 'error'\nformat = 'text'\naccess = 'all'\n");
  const auto settled = resolve(flags, environment, toml);
  ASSERT_TRUE(settled);
  EXPECT_EQ(settled->text("log.level"), "debug");
  EXPECT_EQ(settled->origin("log.level"), Origin::flag);
  EXPECT_EQ(settled->text("log.format"), "json");
  EXPECT_EQ(settled->origin("log.format"), Origin::environment);
  EXPECT_EQ(settled->text("log.access"), "all");
  EXPECT_EQ(settled->origin("log.access"), Origin::file);
  EXPECT_EQ(settled->text("server.listen"), "127.0.0.1:8080");
  EXPECT_FALSE(settled->given("server.listen"));
}

TEST(Settings, AnEmptyVariableIsNotSet) {
  const auto settled = resolve({}, {{"DW_LISTEN", ""}}, settings_from("server.listen = '[::1]:1'"));
  ASSERT_TRUE(settled);
  EXPECT_EQ(settled->text("server.listen"), "[::1]:1");
}

TEST(Settings, NumbersAndSwitchesAreRead) {
  const auto settled = resolve({{"server.threads", "8"}}, {{"DW_COMPRESSION_ENABLED", "Off"}}, {});
  ASSERT_TRUE(settled);
  EXPECT_EQ(settled->number("server.threads"), 8);
  EXPECT_EQ(settled->number("server.shutdown_timeout"), 30);
  EXPECT_FALSE(settled->on("server.compression"));
  EXPECT_TRUE(settled->on("auth.backward_compatible"));
}

TEST(Settings, TheirOlderNamesAreUnderstood) {
  const Environment both{{"WORKFLOW_V2_HISTORY_EXPORT_SIGNING_KEY_ID", "old"},
                         {"DW_V2_HISTORY_EXPORT_SIGNING_KEY_ID", "new"}};
  EXPECT_EQ(resolve({}, both, {})->text("history_export.signing_key_id"), "new");
  const Environment old{{"WORKFLOW_V2_HISTORY_EXPORT_SIGNING_KEY_ID", "old"}};
  EXPECT_EQ(resolve({}, old, {})->text("history_export.signing_key_id"), "old");
}

TEST(Settings, ARefusalSaysWhereAndWhatWouldDo) {
  EXPECT_EQ(resolve({{"server.threads", "900"}}, {}, {}).error().message,
            "--threads: '900' is not a number from 1 to 64");
  EXPECT_EQ(resolve({}, {{"DW_LOG_LEVEL", "loud"}}, {}).error().message,
            "DW_LOG_LEVEL: 'loud' is none of trace, debug, info, warn, error, off");
  EXPECT_EQ(resolve({}, {{"DW_METRICS_OPEN", "maybe"}}, {}).error().message,
            "DW_METRICS_OPEN: 'maybe' is neither true nor false");
  EXPECT_EQ(resolve({}, {}, settings_from("\n[server]\nthreads = 0\n")).error().message,
            "dw.toml:3: server.threads: '0' is not a number from 1 to 64");
}

TEST(SettingsFile, AnUnknownKeyIsRefusedAndTheNearestNamed) {
  EXPECT_EQ(refusal_of("[server]\nlistn = ':80'\n"),
            "dw.toml:2: there is no setting server.listn; did you mean server.listen?");
  EXPECT_THAT(refusal_of("xyzzy = 1"), HasSubstr("docs/configuration.md lists"));
  EXPECT_THAT(refusal_of("log = 'json'"), HasSubstr("there is no setting log;"));
}

TEST(SettingsFile, ValuesHaveTheirType) {
  EXPECT_EQ(refusal_of("server.threads = '4'"), "dw.toml:1: server.threads must be a whole number");
  EXPECT_EQ(refusal_of("server.compression = 1"),
            "dw.toml:1: server.compression must be true or false");
  EXPECT_EQ(refusal_of("log.level = 3"), "dw.toml:1: log.level must be a text in quotes");
  EXPECT_EQ(refusal_of("server.listen = ['a']"),
            "dw.toml:1: server.listen must be a text in quotes");
}

TEST(SettingsFile, IsNoPlaceForSecretsAndDoesNotRepeatThem) {
  const auto message = refusal_of("[auth]\nadmin_token = 's3cr3t'\n");
  EXPECT_THAT(message, HasSubstr("dw.toml:2: auth.admin_token is a secret"));
  EXPECT_THAT(message, HasSubstr("DW_ADMIN_TOKEN"));
  EXPECT_THAT(message, Not(HasSubstr("s3cr3t")));
  EXPECT_THAT(refusal_of("config = 'other.toml'"), HasSubstr("cannot be set in a file"));
}

TEST(SettingsFile, WhatIsNotTomlIsRefusedWithItsLine) {
  EXPECT_THAT(refusal_of("[server]\nlisten = \n"), HasSubstr("dw.toml:2: this is not TOML: "));
}

TEST(Nearest, IsTheOneWithTheFewestEdits) {
  constexpr std::string_view names[] = {"DW_LISTEN", "DW_STORE", "DW_THREADS"};
  EXPECT_EQ(nearest("DW_LISTN", names), "DW_LISTEN");
  EXPECT_EQ(nearest("DW_THREAD", names), "DW_THREADS");
  EXPECT_EQ(nearest("DW_SOTRE", names), "DW_STORE");
  EXPECT_FALSE(nearest("DW_QUETZALCOATL", names));
}

std::vector<std::string> audited(const Environment& environment) {
  std::vector<std::string> lines;
  for (const auto& finding : audit_environment(environment)) lines.push_back(describe(finding));
  return lines;
}

TEST(EnvAudit, FindsWhatNobodyReads) {
  EXPECT_THAT(audited({{"DW_ADMIN_TOKN", "s3cr3t"}, {"WATERLINE_XYZZY_PLUGH", "1"}}),
              ElementsAre("DW_ADMIN_TOKN is not known; did you mean DW_ADMIN_TOKEN?",
                          "WATERLINE_XYZZY_PLUGH is not known; docs/configuration.md lists what "
                          "there is"));
}

TEST(EnvAudit, APrefixIsNoResemblance) {
  EXPECT_THAT(audited({{"DW_MODE", "1"}}), ElementsAre(HasSubstr("docs/configuration.md lists")));
}

TEST(EnvAudit, NobodyMeantWhatOnlyOurTestsRead) {
  const auto lines = audited({{"DW_E2E_OPTIONL", "1"}, {"DW_KILL", "1"}});
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_THAT(lines[0], Not(HasSubstr("DW_E2E_OPTIONAL")));
  EXPECT_THAT(lines[1], Not(HasSubstr("DW_KILLS")));
}

TEST(EnvAudit, IsSilentAboutWhatIsReadAndWhatIsNotOurs) {
  Environment environment{{"PATH", "/bin"},
                          {"DWARF", "1"},
                          {"DW_SEED", "7"},
                          {"WORKFLOW_V2_HISTORY_EXPORT_SIGNING_KEY", "k"}};
  for (const Setting& setting : settings()) environment[std::string{setting.variable}] = "x";
  EXPECT_THAT(audited(environment), IsEmpty());
}

TEST(EnvAudit, SaysWhatThisVersionDoesNotRead) {
  EXPECT_THAT(audited({{"DW_V2_LIMIT_PENDING_TIMER_COUNT", "5"},
                       {"DW_V2_HISTORY_EVENT_WARNING_THRESHOLD", "5"},
                       {"WORKFLOW_V2_LIMITS", "5"}}),
              ElementsAre("DW_V2_HISTORY_EVENT_WARNING_THRESHOLD has no effect in this version",
                          "DW_V2_LIMIT_PENDING_TIMER_COUNT has no effect in this version",
                          HasSubstr("WORKFLOW_V2_LIMITS is not known")));
}

}  // namespace
}  // namespace dw::server
