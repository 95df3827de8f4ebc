// What every backend keeps of the workers that are alive.
#include "store_conformance.hpp"

namespace dw::conformance {
namespace {

using namespace store;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class WorkerConformance : public OnEachBackend {
 protected:
  void put(const std::string& worker, std::vector<WorkerHeartbeat> rows, Timestamp now) {
    const auto put = store().put_worker(worker, rows, now);
    ASSERT_TRUE(put) << put.error().message;
  }
  std::vector<WorkerHeartbeat> live(Timestamp now) { return store().live_workers(now).value(); }
  // "w1 *:orders"
  std::vector<std::string> names(Timestamp now) {
    std::vector<std::string> names;
    for (const auto& row : live(now)) names.push_back(row.worker_id + " " + row.scope_key);
    return names;
  }
};

INSTANTIATE_TEST_SUITE_P(Stores, WorkerConformance, ::testing::ValuesIn(all_backends()),
                         [](const auto& test) { return test.param.name; });

// Alive for thirty seconds.
WorkerHeartbeat heartbeat(std::string worker, std::string queue, Timestamp now) {
  WorkerHeartbeat row;
  row.worker_id = std::move(worker);
  row.queue = std::move(queue);
  row.scope_key = engine::scope_key("", row.queue);
  row.recorded_at = now;
  row.expires_at = now + std::chrono::seconds{30};
  return row;
}

TEST_P(WorkerConformance, AHeartbeatReadsBackAsItWasWritten) {
  EXPECT_THAT(live(at(0)), IsEmpty());
  WorkerHeartbeat row = heartbeat("host:7", "orders", at(0));
  row.ns = "shop";
  row.host = "host";
  row.process_id = 7;
  row.connection = "fast";
  row.supported = {"build-1", "say \"2\", or, 3"};
  put("host:7", {row}, at(0));
  EXPECT_THAT(live(at(1)), ElementsAre(row));
  if (!GetParam().persists) return;
  reopen();
  EXPECT_THAT(live(at(1)), ElementsAre(row));
}

TEST_P(WorkerConformance, AllRowsOfAWorkerAreReplacedTogetherAndNobodyElses) {
  put("w1", {heartbeat("w1", "mail", at(0)), heartbeat("w1", "orders", at(0))}, at(0));
  put("w2", {heartbeat("w2", "", at(0))}, at(0));
  EXPECT_THAT(names(at(1)), ElementsAre("w1 *:mail", "w1 *:orders", "w2 *:*"));
  put("w1", {heartbeat("w1", "orders", at(10))}, at(10));
  EXPECT_THAT(names(at(11)), ElementsAre("w1 *:orders", "w2 *:*"));
  EXPECT_EQ(live(at(11)).front().recorded_at, at(10));
  put("w1", {}, at(12));
  EXPECT_THAT(names(at(12)), ElementsAre("w2 *:*"));
}

TEST_P(WorkerConformance, ExpiredRowsAreNotReadAndGoWithTheNextWrite) {
  put("w1", {heartbeat("w1", "", at(0))}, at(0));
  EXPECT_THAT(names(at(29)), ElementsAre("w1 *:*"));
  EXPECT_THAT(names(at(30)), IsEmpty());
  put("w2", {heartbeat("w2", "", at(30))}, at(30));
  EXPECT_THAT(names(at(29)), ElementsAre("w2 *:*")) << "the row itself is gone";
}

TEST_P(WorkerConformance, HeartbeatsAreNoCommits) {
  const StoreCounters before = store().counters();
  put("w1", {heartbeat("w1", "", at(0))}, at(0));
  EXPECT_EQ(store().counters().commits, before.commits);
  EXPECT_EQ(store().counters().rows, before.rows);
}

}  // namespace
}  // namespace dw::conformance
