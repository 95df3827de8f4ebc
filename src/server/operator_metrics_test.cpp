// Numbers that operators go by: what is counted, and what is left at null because nobody knows.
#include "server/operator_metrics.hpp"

#include "views/looking.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace dw::server {
namespace {

using namespace std::chrono_literals;
using story::at;
using ::testing::ElementsAre;

RunSeen seen_as(const story::Looking& run, bool misses_a_task = false) {
  return {run.account(), run.summary(), misses_a_task};
}

// A group's keys, each as JSON.
std::string in_group(const Value::Map& metrics, std::string_view group, std::string_view key) {
  const Value all{metrics};
  const Value* found = all.find(group);
  const Value* value = found ? found->find(key) : nullptr;
  return value ? to_json(*value) : "(absent)";
}

engine::Task row_due(std::string id, Timestamp when, std::string queue = {}) {
  engine::Task row;
  row.key = {when, TaskId{std::move(id)}};
  row.queue = std::move(queue);
  return row;
}

engine::Task row_leased(std::string id, Timestamp until, std::string queue = {}) {
  engine::Task row = row_due(std::move(id), at("08:00"), std::move(queue));
  row.type = engine::TaskType::activity;
  row.status = engine::TaskStatus::leased;
  row.lease_expires_at = until;
  return row;
}

SeenWorker at_work(std::string id, std::string queue, std::string build_id, std::string status) {
  SeenWorker seen{{}, std::move(status)};
  seen.worker.worker_id = std::move(id);
  seen.worker.queue = std::move(queue);
  seen.worker.build_id = std::move(build_id);
  return seen;
}

class Counting : public ::testing::Test {
 protected:
  std::string in(std::string_view group, std::string_view key) {
    return in_group(census.metrics(workers), group, key);
  }
  OperatorCensus census{at("09:10"), {}, {}};
  std::vector<SeenWorker> workers;
};

TEST_F(Counting, RunsAreCountedByHowTheyEnded) {
  const auto row = [](history::RunStatus status, std::string closed_reason) {
    store::RunRow run;
    run.status = status;
    run.closed_reason = std::move(closed_reason);
    if (history::is_terminal(status)) run.closed_at = at("09:05");
    return run;
  };
  census.count(row(history::RunStatus::waiting, ""));
  census.count(row(history::RunStatus::completed, "completed"));
  census.count(row(history::RunStatus::completed, "continued"));
  census.count(row(history::RunStatus::failed, "timed_out"));
  EXPECT_EQ(in("runs", "total"), "4");
  EXPECT_EQ(in("runs", "current"), "3") << "a run that went on as another is not current";
  EXPECT_EQ(in("runs", "running"), "1");
  EXPECT_EQ(in("runs", "completed"), "2");
  EXPECT_EQ(in("runs", "failed"), "1");
  EXPECT_EQ(in("runs", "archived"), "null");
}

TEST_F(Counting, ARunThatLostItsTaskNeedsRepair) {
  const auto run = story::looking_at(story::run_with(story::timer_scheduled("t1", 60s)));
  census.count(seen_as(run));
  census.count(seen_as(run.without("t1-task"), true));
  EXPECT_EQ(in("runs", "repair_needed"), "1");
  EXPECT_EQ(in("runs", "oldest_repair_needed_at"),
            fmt::format(R"("{}")", format_timestamp(at("09:00"))));
  EXPECT_EQ(in("runs", "max_repair_needed_age_ms"), "600000");
  EXPECT_EQ(in("backlog", "repair_needed_runs"), "1");
  EXPECT_EQ(in("repair", "missing_task_candidates"), "1");
  EXPECT_EQ(in("repair", "max_missing_run_age_ms"), "600000");
}

TEST_F(Counting, ActivitiesAreCountedByHowTheyAreDoing) {
  history::RetryPolicy hurried = story::tries(3);
  hurried.start_to_close_timeout = 60;
  census.count(seen_as(story::looking_at(story::run_with(
      story::activity_scheduled("a1"), story::activity_scheduled("a2", "charge", hurried),
      story::activity_started("a2", "x1"), story::activity_scheduled("a3", "charge", hurried),
      story::activity_started("a3", "y1"),
      story::activity_retry_scheduled("a3", "y1", 900, story::failure("declined"), "again")))));
  EXPECT_EQ(in("activities", "open"), "3");
  EXPECT_EQ(in("activities", "pending"), "2");
  EXPECT_EQ(in("activities", "running"), "1");
  EXPECT_EQ(in("activities", "retrying"), "1");
  EXPECT_EQ(in("activities", "failed_attempts"), "1");
  EXPECT_EQ(in("activities", "max_attempt_count"), "1");
  EXPECT_EQ(in("activities", "timeout_overdue"), "1") << "a2 should have been done by 09:01";
  EXPECT_EQ(in("activities", "max_timeout_overdue_age_ms"), "540000");
}

TEST_F(Counting, TasksAreDueOrDelayedOrWithSomebody) {
  dispatch::HeldTask taken;
  taken.task = TaskId{"r.held"};
  taken.expires_at = at("09:09");
  const std::vector held{taken};
  OperatorCensus tasks{at("09:10"), {}, held};
  tasks.count(row_due("r.held", at("09:00")));
  tasks.count(row_due("r.1", at("09:08")));
  tasks.count(row_due("r.2", at("09:30")));
  tasks.count(row_leased("r.3", at("09:30")));
  tasks.count(row_leased("r.4", at("09:05")));
  engine::Task watch = row_due("r.5", at("09:00"));
  watch.type = engine::TaskType::timer;
  watch.subject = "timeout:a1";
  tasks.count(watch);
  const auto metrics = tasks.metrics(workers);
  const auto of_tasks = [&](std::string_view key) { return in_group(metrics, "tasks", key); };
  EXPECT_EQ(of_tasks("open"), "5");
  EXPECT_EQ(of_tasks("ready"), "2");
  EXPECT_EQ(of_tasks("ready_due"), "1");
  EXPECT_EQ(of_tasks("max_ready_due_age_ms"), "120000");
  EXPECT_EQ(of_tasks("delayed"), "1");
  EXPECT_EQ(of_tasks("leased"), "3");
  EXPECT_EQ(of_tasks("lease_expired"), "2");
  EXPECT_EQ(of_tasks("max_lease_expired_age_ms"), "300000");
  EXPECT_EQ(of_tasks("unhealthy"), "2");
  EXPECT_EQ(in_group(metrics, "backlog", "tasks_added_last_minute"), "null")
      << "nobody counts those";
}

TEST_F(Counting, OnlyWorkersThatTakeWorkAreTheFleet) {
  workers = {at_work("w-1", "orders", "v1", "active"), at_work("w-2", "orders", "", "active"),
             at_work("w-3", "billing", "v1", "draining"), at_work("w-4", "billing", "v1", "stale")};
  EXPECT_EQ(in("workers", "active_workers"), "2");
  EXPECT_EQ(in("workers", "active_worker_scopes"), "1");
  EXPECT_THAT(fleet_of(workers).workers[0].supported, ElementsAre("v1"));
  EXPECT_TRUE(fleet_of(workers).workers[1].supported.empty());
}

TEST_F(Counting, ARunWhoseBuildNobodyHasWaitsForOne) {
  history::WorkflowStarted start = story::workflow_started("invoice");
  start.compatibility = "v9";
  const auto run = story::looking_at({start}).with(story::workflow_task_row());
  census.count(seen_as(run.seen([](views::Sight& sight) { sight.fleet = fleet_of({}); })));
  EXPECT_EQ(in("runs", "compatibility_blocked"), "1");
  EXPECT_EQ(in("backlog", "compatibility_blocked_runs"), "1");
}

// ---- what a look at the numbers finds

std::vector<std::string> not_fine(const Value::Array& checks) {
  std::vector<std::string> found;
  for (const Value& check : checks) {
    if (*check.find("status") == Value{"ok"}) continue;
    found.push_back(*check.find("name")->if_string() + " " + *check.find("status")->if_string());
  }
  return found;
}

TEST_F(Counting, NothingToSayIsHealthy) {
  EXPECT_TRUE(not_fine(census.checks(workers)).empty());
}

TEST_F(Counting, EachTroubleHasItsCheck) {
  census.count(row_leased("r.1", at("09:05")));
  census.count(seen_as(
      story::looking_at(story::run_with(story::timer_scheduled("t1", 60s))).without("t1-task"),
      true));
  census.count_unreadable();
  EXPECT_THAT(not_fine(census.checks(workers)),
              ElementsAre("task_transport warning", "durable_resume_paths warning"));
}

// ---- candidates for repair

// proves: E-191
TEST(RepairCensus, ScopesComeWithTheirShareOfTheNextPass) {
  RepairCensus census{{.scan_limit = 3}, at("09:10")};
  for (int i = 0; i < 4; ++i) {
    census.count(row_leased(fmt::format("r.{}", i), at("09:05"), "busy"));
  }
  census.count(row_leased("r.9", at("09:05"), "quiet"));
  census.count(row_leased("r.10", at("09:11"), "quiet"));
  const Value all{census.candidates()};
  EXPECT_EQ(to_json(*all.find("total_candidates")), "5");
  EXPECT_EQ(to_json(*all.find("existing_task_candidates")), "5");
  EXPECT_EQ(to_json(*all.find("missing_task_candidates")), "0");
  EXPECT_EQ(to_json(*all.find("scan_pressure")), "true");
  EXPECT_EQ(to_json(*all.find("oldest_missing_run_started_at")), "null");
  EXPECT_EQ(to_json(*all.find("scopes")),
            R"([{"scope_key":"default:busy:any","connection":null,"queue":"busy",)"
            R"("compatibility":null,"existing_task_candidates":4,"missing_task_candidates":0,)"
            R"("total_candidates":4,"selected_total_candidates":2,)"
            R"("scan_limited_by_global_policy":true},)"
            R"({"scope_key":"default:quiet:any","connection":null,"queue":"quiet",)"
            R"("compatibility":null,"existing_task_candidates":1,"missing_task_candidates":0,)"
            R"("total_candidates":1,"selected_total_candidates":1,)"
            R"("scan_limited_by_global_policy":false}])");
}

TEST(RepairCensus, WhereNothingIsWrongNothingIsListed) {
  EXPECT_EQ(to_json(Value{RepairCensus{{}, at("09:00")}.candidates()}),
            R"({"total_candidates":0,"existing_task_candidates":0,"missing_task_candidates":0,)"
            R"("scan_pressure":false,"oldest_task_candidate_created_at":null,)"
            R"("oldest_missing_run_started_at":null,"scopes":[]})");
}

}  // namespace
}  // namespace dw::server
