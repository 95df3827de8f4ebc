#include "views/fleet.hpp"

#include "views/looking.hpp"

#include <gmock/gmock.h>

namespace dw::story {
namespace {

using ::testing::ElementsAre;
using views::compatibility_detail;
using views::Fleet;
using views::Sight;

Looking marked(std::string compatibility = "build-7") {
  auto started = workflow_started("invoice");
  started.compatibility = std::move(compatibility);
  started.connection = "fast";
  started.queue = "orders";
  return looking_at({started});
}
Looking seen_by(const Looking& run, const Fleet& fleet) {
  return run.seen([&](Sight& sight) { sight.fleet = fleet; });
}
Value detail_of(const Looking& run) {
  return to_value(compatibility_detail(run.account(), run.sight()));
}
std::vector<std::string> workers_of(const Looking& run) {
  std::vector<std::string> ids;
  for (const auto& worker : compatibility_detail(run.account(), run.sight()).fleet) {
    ids.push_back(worker.worker_id);
  }
  return ids;
}
std::vector<std::string> keys_of(const Value& row) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : *row.if_map()) keys.push_back(key);
  return keys;
}

// proves: E-103
TEST(CompatibilityDetail, NamesTheFleetAndWhatEachWorkerOfItTakes) {
  Fleet fleet = fleet_supporting({"build-6", "build-7"});
  fleet.local = engine::compatibility_of("build-6", "", "shop");
  for (auto& worker : fleet.workers) worker.ns = "shop";
  fleet.workers[1].host = "box";
  fleet.workers[1].process_id = 42;
  fleet.workers[1].queue = "orders";
  const Value detail = detail_of(seen_by(marked(), fleet));

  EXPECT_EQ(text_at(detail, "compatibility"), "build-7");
  EXPECT_EQ(text_at(detail, "compatibility_namespace"), "shop");
  EXPECT_EQ(text_at(detail, "compatibility_supported"), "false");
  EXPECT_EQ(text_at(detail, "compatibility_reason"),
            "the run needs build-7; this process supports build-6");
  EXPECT_EQ(text_at(detail, "compatibility_supported_in_fleet"), "true");
  EXPECT_EQ(text_at(detail, "compatibility_fleet_reason"), "null");
  const auto& rows = *detail.find("compatibility_fleet")->if_array();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(text_at(rows[0], "supports_required"), "false");
  EXPECT_EQ(to_json(rows[1]),
            R"({"worker_id":"w2","namespace":"shop","host":"box","process_id":42,)"
            R"("connection":null,"queue":"orders","supported":["build-7"],)"
            R"("supports_required":true,"recorded_at":"2026-04-10T09:00:00.000000Z",)"
            R"("expires_at":"2026-04-10T21:00:00.000000Z","source":"database"})");
}

TEST(CompatibilityDetail, SaysWhyNobodyTakesTheRun) {
  const auto old = detail_of(seen_by(marked(), fleet_supporting({"build-6", "build-5"})));
  EXPECT_EQ(text_at(old, "compatibility_supported_in_fleet"), "false");
  EXPECT_EQ(text_at(old, "compatibility_fleet_reason"),
            "the run needs build-7; none of 2 live workers in scope supports it");
  EXPECT_EQ(text_at(old, "compatibility_reason"),
            "the run needs build-7; this process supports no marker");
  const auto alone = detail_of(seen_by(marked(), Fleet{}));
  EXPECT_EQ(text_at(alone, "compatibility_fleet_reason"),
            "the run needs build-7; no worker in scope is alive");
}

TEST(CompatibilityDetail, HasTheSameKeysForARunThatIsNotMarkedOrNotLookedAtTwice) {
  const auto open_to_all = detail_of(seen_by(marked(""), fleet_supporting({"build-6"})));
  EXPECT_EQ(text_at(open_to_all, "compatibility"), "null");
  EXPECT_EQ(text_at(open_to_all, "compatibility_supported"), "true");
  EXPECT_EQ(text_at(open_to_all, "compatibility_supported_in_fleet"), "true");
  EXPECT_EQ(keys_of(open_to_all), keys_of(detail_of(marked())));
}

// proves: E-104
TEST(CompatibilityDetail, LeavesOutWorkersOfOtherNamespacesQueuesAndTimes) {
  Fleet fleet = fleet_supporting({"build-7", "build-7", "build-7", "build-7"});
  fleet.local.ns = "shop";
  for (auto& worker : fleet.workers) worker.ns = "shop";
  EXPECT_THAT(workers_of(seen_by(marked(), fleet)), ElementsAre("w1", "w2", "w3", "w4"));
  fleet.workers[0].ns = "bank";
  fleet.workers[1].queue = "mail";
  fleet.workers[2].expires_at = at("09:00");
  EXPECT_THAT(workers_of(seen_by(marked(), fleet)), ElementsAre("w4"));
  fleet.workers[3].connection = "slow";
  EXPECT_EQ(seen_by(marked(), fleet).liveness(), "workflow_task_waiting_for_compatible_worker");
}

TEST(Liveness, CountsOnWhoeverLooksIfItTakesWork) {
  Fleet fleet;
  fleet.local = engine::compatibility_of("build-7", "", "");
  EXPECT_EQ(seen_by(marked(), fleet).liveness(), "workflow_task_ready");
  fleet.local_works = false;
  EXPECT_EQ(seen_by(marked(), fleet).liveness(), "workflow_task_waiting_for_compatible_worker");
}

}  // namespace
}  // namespace dw::story
