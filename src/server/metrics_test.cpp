// What a scraper reads.
#include "server/metrics.hpp"

#include "dispatch/run_tally.hpp"
#include "server/process_stats.hpp"

#include <gmock/gmock.h>

#include <thread>

namespace dw::server {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

const Endpoint& listing() {
  return endpoint_of({"GET", "/api/workflows", {}, {}});
}

TEST(Metrics, SayWhatRunsHere) {
  EXPECT_THAT(Metrics{"1.2.3"}.text({}), HasSubstr("version=\"1.2.3\"} 1"));
}

TEST(Metrics, DurationsAreSortedIntoBuckets) {
  Metrics metrics{"1"};
  metrics.answered(listing(), 200, 400us, 10);
  metrics.answered(listing(), 200, 3ms, 10);
  metrics.answered(listing(), 503, 1min, 10);
  const auto text = metrics.text({});
  const std::string labels = R"({method="GET",route="/api/workflows")";
  const std::string bucket = "dw_http_request_duration_seconds_bucket" + labels;
  EXPECT_THAT(text, HasSubstr(bucket + R"(,le="0.0005"} 1)"));
  EXPECT_THAT(text, HasSubstr(bucket + R"(,le="0.005"} 2)"));
  EXPECT_THAT(text, HasSubstr(bucket + R"(,le="10"} 2)"));
  EXPECT_THAT(text, HasSubstr(bucket + R"(,le="+Inf"} 3)"));
  EXPECT_THAT(text, HasSubstr("dw_http_requests_total" + labels + R"(,status="2xx"} 2)"));
  EXPECT_THAT(text, HasSubstr("dw_http_requests_total" + labels + R"(,status="5xx"} 1)"));
  EXPECT_THAT(text, HasSubstr("dw_http_response_bytes_total 30"));
}

TEST(Metrics, AStatusNobodyKnowsHasAClassToo) {
  Metrics metrics{"1"};
  metrics.answered(listing(), 42, 1ms, 0);
  metrics.answered(listing(), 1000, 1ms, 0);
  EXPECT_THAT(metrics.text({}), HasSubstr(R"(status="other"} 2)"));
}

TEST(Metrics, NobodyIsMissedWhenManyCountAtOnce) {
  Metrics metrics{"1"};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 1000; ++n) metrics.answered(listing(), 200, 1ms, 1);
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_THAT(metrics.text({}), HasSubstr(R"(status="2xx"} 4000)"));
}

TEST(Metrics, WhatOthersCountIsReadWhenAsked) {
  Readings readings;
  readings.open_connections = 7;
  readings.queued_commits = 3;
  readings.store = store::StoreCounters{1, 2, 3, 4, 5};
  readings.runs_started = 9;
  readings.runs_closed = {{"completed", 6}, {"failed", 1}};
  const auto text = Metrics{"1"}.text(readings);
  for (const char* line :
       {"dw_http_connections 7", "dw_commit_queue 3", "dw_store_commits_total 1",
        "dw_store_transitions_total 2", "dw_store_rows_total 3", "dw_store_history_bytes_total 4",
        "dw_store_fsyncs_total 5", "dw_runs_started_total 9",
        "dw_runs_closed_total{outcome=\"completed\"} 6",
        "dw_runs_closed_total{outcome=\"failed\"} 1", "# TYPE dw_runs_closed_total counter"}) {
    EXPECT_THAT(text, HasSubstr(std::string{line} + "\n"));
  }
}

TEST(Metrics, SchedulesAreCountedAndMeasured) {
  Readings readings;
  readings.schedules.emplace();
  readings.schedules->fires = 5;
  readings.schedules->failures = 1;
  readings.schedules->dropped = 7;
  readings.schedules->buffered = 2;
  readings.schedules->skips = {{"calendar", 3}};
  for (const int ms : {0, 1, 3, 700'000}) readings.schedules->fire_lag.add(ms);
  readings.schedules->ticks.add(12);
  const Timestamp now = *parse_timestamp("2026-04-10T12:00:00Z");
  readings.schedule_standing = {{10, 4, 1, now - 90s}, now};
  const auto text = Metrics{"1"}.text(readings);
  for (const char* line :
       {"dw_schedules_active 10", "dw_schedules_paused 4", "dw_schedules_missed 1",
        "dw_schedules_max_overdue_ms 90000", "dw_schedules_oldest_overdue_at 1775822310",
        "dw_schedules_fires_total 5", "dw_schedules_failures_total 1",
        "dw_schedules_dropped_total 7", "dw_schedules_buffered 2",
        "dw_schedules_skips_total{reason=\"calendar\"} 3", "# TYPE dw_schedules_tick_ms histogram",
        "dw_schedules_fire_lag_ms_bucket{le=\"1\"} 2",
        "dw_schedules_fire_lag_ms_bucket{le=\"5\"} 3",
        "dw_schedules_fire_lag_ms_bucket{le=\"600000\"} 3",
        "dw_schedules_fire_lag_ms_bucket{le=\"+Inf\"} 4", "dw_schedules_fire_lag_ms_count 4",
        "dw_schedules_fire_lag_ms_sum 700004", "dw_schedules_tick_ms_bucket{le=\"10\"} 0",
        "dw_schedules_tick_ms_bucket{le=\"25\"} 1"}) {
    EXPECT_THAT(text, HasSubstr(std::string{line} + "\n"));
  }
}

TEST(Metrics, NobodyIsOverdueWhenNothingIsDue) {
  Readings readings;
  readings.schedule_standing = {{3, 0, 0, {}}, *parse_timestamp("2026-04-10T12:00:00Z")};
  const auto text = Metrics{"1"}.text(readings);
  EXPECT_THAT(text, HasSubstr("dw_schedules_max_overdue_ms 0\n"));
  EXPECT_THAT(text, Not(HasSubstr("dw_schedules_oldest_overdue_at")));
}

TEST(Metrics, WhatNobodyCountsIsNotShownAsZero) {
  const auto text = Metrics{"1"}.text({});
  EXPECT_THAT(text, Not(HasSubstr("dw_store")));
  EXPECT_THAT(text, Not(HasSubstr("dw_runs")));
  EXPECT_THAT(text, Not(HasSubstr("dw_http_connections")));
}

TEST(ProcessStats, AreThisProcesss) {
  const auto stats = read_process_stats();
  ASSERT_TRUE(stats);
  EXPECT_GT(stats->resident_bytes, 1'000'000);
  EXPECT_GE(stats->virtual_bytes, stats->resident_bytes);
  EXPECT_GE(stats->threads, 1);
  EXPECT_GE(stats->open_files, 3);
  EXPECT_GT(stats->max_files, stats->open_files);
  EXPECT_GT(stats->started_at, 1'600'000'000);
  EXPECT_GE(stats->cpu_seconds, 0);
  EXPECT_THAT(Metrics{"1"}.text({}), HasSubstr("process_open_fds "));
}

// A decision on run 01J8 that writes its row and one event.
store::Transition transition(std::string_view recorded_at, std::int64_t sequence) {
  store::Transition transition;
  transition.recorded_at = *parse_timestamp(recorded_at);
  store::RunRow row;
  row.run_id = RunId{"01J8"};
  transition.runs.push_back(row);
  transition.appends.push_back({row.run_id, sequence, sequence, "[]"});
  return transition;
}

TEST(RunTally, CountsARunOnceThoughItIsWrittenOften) {
  dispatch::RunTally tally;
  tally.count(transition("2026-04-10T12:00:00.000000Z", 1));
  auto second = transition("2026-04-10T12:00:01.000000Z", 2);
  tally.count(second);
  second.runs[0].closed_at = second.recorded_at;
  second.runs[0].closed_reason = "completed";
  tally.count(second);
  // Archived later: the row is written again, the run was closed before.
  second.recorded_at += 1s;
  tally.count(second);
  EXPECT_EQ(tally.started(), 1);
  for (const auto& [outcome, count] : tally.closed()) {
    EXPECT_EQ(count, outcome == "completed" ? 1 : 0) << outcome;
  }
}

}  // namespace
}  // namespace dw::server
