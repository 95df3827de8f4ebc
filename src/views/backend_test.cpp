#include "views/backend.hpp"

#include "history/event_builders.hpp"
#include "views/looking.hpp"

#include <gmock/gmock.h>

namespace dw::story {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using views::backend_snapshot;
using views::BackendConfig;

BackendConfig embedded() {
  BackendConfig config;
  config.database = {"shop.db", "sqlite", {}};
  config.queue = {"inproc", "inproc", {}};
  config.cache = {"shop.db.lock", "lock_file"};
  config.codec = "avro";
  return config;
}

// "error queue queue_sync_unsupported"
std::vector<std::string> issues_of(const BackendConfig& config) {
  std::vector<std::string> found;
  for (const auto& issue : backend_snapshot(config, at("09:00")).issues) {
    found.push_back(std::string{to_string(issue.severity)} + " " + issue.component + " " +
                    issue.code);
    EXPECT_FALSE(issue.message.empty()) << issue.code;
  }
  return found;
}
std::string severity_of(const BackendConfig& config) {
  return std::string{to_string(backend_snapshot(config, at("09:00")).severity())};
}

TEST(Backend, OfAnEmbeddedEngineIsSupportedAndSaysWhatSqliteIs) {
  EXPECT_THAT(issues_of(embedded()), ElementsAre("info database sqlite_concurrency_note"));
  EXPECT_EQ(severity_of(embedded()), "info");
  EXPECT_TRUE(backend_snapshot(embedded(), at("09:00")).supported());
  auto forgetful = embedded();
  forgetful.database = {":memory:", "memory", {}};
  forgetful.cache = {"process", "memory"};
  EXPECT_THAT(issues_of(forgetful), IsEmpty());
  EXPECT_EQ(severity_of(forgetful), "ok");
}

// proves: E-195
TEST(Backend, NamesEachThingThatIsMissing) {
  auto config = embedded();
  config.database = {};
  config.queue = {};
  config.cache = {};
  config.codec = "pickle";
  EXPECT_THAT(issues_of(config),
              ElementsAre("error database database_connection_missing",
                          "error queue queue_connection_missing",
                          "warning cache cache_store_missing", "error codec codec_unknown"));
  EXPECT_FALSE(backend_snapshot(config, at("09:00")).supported());
}

// proves: E-195
TEST(Backend, NamesEachThingThatCannotDoItsWork) {
  auto config = embedded();
  config.database.driver = "oracle";
  config.queue = {"sync", "sync", {}};
  config.cache = {"array", "array"};
  EXPECT_THAT(issues_of(config), ElementsAre("error database database_driver_unsupported",
                                             "error queue queue_sync_unsupported",
                                             "warning cache cache_locks_unsupported"));
  config = embedded();
  config.database.problem = "there is no such directory";
  config.queue.max_delay_seconds = 900;
  EXPECT_THAT(issues_of(config), ElementsAre("error database database_connection_missing",
                                             "info queue queue_max_delay_constraint"));
}

TEST(Backend, AWarningDoesNotStopIt) {
  auto config = embedded();
  config.cache = {};
  EXPECT_EQ(severity_of(config), "warning");
  EXPECT_TRUE(backend_snapshot(config, at("09:00")).supported());
}

// proves: E-196
TEST(Backend, WithoutATransportIsGoodEnoughForWorkersThatPoll) {
  auto config = embedded();
  config.polls = true;
  config.queue = {};
  EXPECT_THAT(issues_of(config), ElementsAre("info database sqlite_concurrency_note",
                                             "info queue queue_connection_missing"));
  config.queue = {"sync", "sync", {}};
  EXPECT_THAT(issues_of(config), ElementsAre("info database sqlite_concurrency_note",
                                             "info queue queue_sync_unsupported"));
  EXPECT_TRUE(backend_snapshot(config, at("09:00")).supported());
  config.database = {};
  EXPECT_FALSE(backend_snapshot(config, at("09:00")).supported()) << "a store is always needed";
}

// proves: E-195
TEST(Backend, HasOneShapeForCommandLineAndMetrics) {
  const Value value = to_value(backend_snapshot(embedded(), at("09:00")));
  EXPECT_EQ(text_at(value, "generated_at"), "2026-04-10T09:00:00.000000Z");
  EXPECT_EQ(text_at(value, "supported"), "true");
  EXPECT_EQ(text_at(value, "severity"), "info");
  const Value& database = *value.find("database");
  EXPECT_EQ(text_at(database, "driver"), "sqlite");
  EXPECT_EQ(text_at(database, "capabilities"),
            R"({"transactions":true,"after_commit_callbacks":true,"durable_ordering":true,)"
            R"("row_locks":false})");
  EXPECT_EQ(*database.find("issues"), *value.find("issues"));
  EXPECT_EQ(to_json(*value.find("queue")),
            R"({"connection":"inproc","driver":"inproc","supported":true,"capabilities":)"
            R"({"async_delivery":true,"delayed_delivery":true,"requires_worker":false,)"
            R"("max_delay_seconds":null,"after_commit_option":true},"issues":[]})");
  EXPECT_EQ(to_json(*value.find("cache")),
            R"({"store":"shop.db.lock","driver":"lock_file","supported":true,"capabilities":)"
            R"({"atomic_locks":true},"issues":[]})");
  EXPECT_EQ(to_json(*value.find("codec")),
            R"({"configured":"avro","canonical":"avro","universal":true,"supported":true,)"
            R"("issues":[]})");
  const Value& limits = *value.find("structural_limits");
  EXPECT_EQ(text_at(*limits.find("effective"), "payload_size"), "2097152");
  EXPECT_EQ(*limits.find("configured"), *limits.find("effective"));
  EXPECT_EQ(text_at(limits, "backend_adjustments"), "{}");
  EXPECT_EQ(text_at(*value.find("issues")->if_array()->begin(), "code"), "sqlite_concurrency_note");
}

}  // namespace
}  // namespace dw::story
