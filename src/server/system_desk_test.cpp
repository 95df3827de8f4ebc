// What administrators ask of the whole engine, over a store whose runs are told as stories; what
// dispatch and upkeep would do is played by the test.
#include "server/system_desk.hpp"

#include "core/random.hpp"
#include "history/codec.hpp"
#include "history/event_builders.hpp"
#include "history/fold.hpp"
#include "machine/scheduler.hpp"
#include "store/derived.hpp"
#include "store/memory_store.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace dw::server {
namespace {

using namespace std::chrono_literals;
using story::Told;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const Namespace mill{"mill"};

class AtTheSystemDesk : public ::testing::Test {
 protected:
  Answer ask(std::string_view method, std::string target, std::string_view json = "{}") {
    const auto path = parse_path("/api/system/" + target);
    Call call;
    call.ns = mill;
    call.match = match(method, *path);
    call.body = *parse_json(json)->if_map();
    std::optional<Answer> answer;
    desk.serve(std::move(call), [&](Answer given) { answer = std::move(given); });
    while (!answer && scheduler.step()) {
    }
    EXPECT_TRUE(answer) << target;
    return answer.value_or(Answer{});
  }
  std::string told(std::string_view method, std::string target, std::string_view json = "{}") {
    return to_json(Value{ask(method, std::move(target), json).body});
  }

  // A run that went like this, one commit for each event.
  void keep(const std::string& id, std::vector<Told> list, Namespace ns = mill) {
    engine::Run run;
    run.id = RunId{id};
    CommitId last;
    for (const history::Event& event : story::told(std::move(list))) {
      last = append(run, event, last, ns);
    }
  }
  CommitId append(engine::Run& run, const history::Event& event, const CommitId& last,
                  const Namespace& ns = mill) {
    EXPECT_TRUE(history::apply(run.state, event));
    store::Transition transition;
    transition.id = CommitId{fmt::format("c{:06}", ++commits)};
    transition.recorded_at = event.recorded_at;
    transition.reads.push_back({run.id, last});
    store::StreamAppend append{run.id, event.sequence, event.sequence, {}};
    history::append_events(append.events, {&event.body, 1});
    transition.appends.push_back(std::move(append));
    auto row = store::row_of(run, 100, transition.id);
    row.ns = ns;
    row.instance_id = InstanceId{"of-" + run.id.str()};
    transition.runs.push_back(std::move(row));
    EXPECT_EQ(store.commit({&transition, 1}).front(), store::CommitOutcome{store::Won{}});
    return transition.id;
  }
  void put(engine::Task row) {
    store::Transition transition;
    transition.id = CommitId{fmt::format("c{:06}", ++commits)};
    transition.tasks.push_back(engine::put(std::move(row)));
    EXPECT_EQ(store.commit({&transition, 1}).front(), store::CommitOutcome{store::Won{}});
  }
  // The row that watches an activity's deadlines.
  engine::Task watch_on(std::string activity, std::string run, Timestamp due) {
    engine::Task row;
    row.key = {due, TaskId{fmt::format("{}.{}-watch", run, activity)}};
    row.type = engine::TaskType::timer;
    row.ns = mill;
    row.run_id = RunId{std::move(run)};
    row.subject = "timeout:" + activity;
    return row;
  }
  void pass(Duration time) { clock.set(clock.now() + time); }

  machine::SimClock clock{story::at("10:00")};
  SeededRandom random{1};
  machine::Scheduler scheduler{clock, random, Duration{0}};
  machine::SimExecutor reader{scheduler, "reader"};
  store::MemoryStore store;
  void keep_schedule(const std::string& ulid, const std::string& ns, const std::string& status,
                     std::optional<Timestamp> due_at) {
    store::Transition transition;
    transition.id = CommitId{ulid};
    transition.schedules = {
        {ScheduleUlid{ulid}, Namespace{ns}, ulid, status, due_at, {}, clock.now(), {}, "{}"}};
    store.commit({&transition, 1});
  }

  Workers workers{clock};
  std::vector<dispatch::HeldTask> held;
  std::vector<dispatch::RepairScope> repaired;
  dispatch::RepairReport repair_report;
  std::vector<std::string> delivered;
  std::function<void(const engine::Task& task)> on_delivery = [](const engine::Task&) {};
  std::vector<upkeep::RetentionScope> pruned;
  upkeep::RetentionReport prune_report;
  dispatch::ScheduleTally::Counts fired;
  Value backend = Value::Map{{"severity", "info"}};

  SystemDesk desk{{.store = store,
                   .reader = reader,
                   .clock = clock,
                   .workers = workers,
                   .held_tasks = [this](const auto& reply) { reply(held); },
                   .repair_pass =
                       [this](dispatch::RepairScope scope, const auto& reply) {
                         repaired.push_back(std::move(scope));
                         reply(repair_report);
                       },
                   .deliver =
                       [this](const engine::Task& task, const auto& done) {
                         delivered.push_back(task.key.id.str());
                         on_delivery(task);
                         done();
                       },
                   .prune =
                       [this](const upkeep::RetentionScope& scope) {
                         pruned.push_back(scope);
                         return Result{prune_report};
                       },
                   .retention = [](std::string_view) { return std::chrono::days{30}; },
                   .schedules = [this] { return fired; },
                   .backend = [this] { return backend; }}};
  int commits = 0;
};

// ---- repair

TEST_F(AtTheSystemDesk, ItSaysHowRepairGoesAboutItAndWhatItWouldFind) {
  EXPECT_EQ(told("GET", "repair"),
            R"({"policy":{"redispatch_after_seconds":3,"loop_throttle_seconds":5,"scan_limit":25,)"
            R"("scan_strategy":"scope_fair_round_robin","failure_backoff_max_seconds":60,)"
            R"("failure_backoff_strategy":"exponential_by_repair_count"},)"
            R"("candidates":{"total_candidates":0,"existing_task_candidates":0,)"
            R"("missing_task_candidates":0,"scan_pressure":false,)"
            R"("oldest_task_candidate_created_at":null,"oldest_missing_run_started_at":null,)"
            R"("scopes":[]}})");
}

TEST_F(AtTheSystemDesk, RunsThatLostATaskAreFoundOnEveryPage) {
  for (int i = 0; i < 120; ++i) {
    keep(fmt::format("run-{:03}", i), story::run_with(story::timer_scheduled("t1", 60s)));
  }
  keep("elsewhere", story::run_with(story::timer_scheduled("t1", 60s)), Namespace{"other"});
  keep("done", story::run_with(story::workflow_completed()));
  const auto answer = told("GET", "repair");
  EXPECT_THAT(answer, HasSubstr(R"("missing_task_candidates":120)"));
  EXPECT_THAT(answer, HasSubstr(R"("scan_pressure":true)"));
  EXPECT_THAT(answer, HasSubstr(R"("selected_total_candidates":25)"));
}

TEST_F(AtTheSystemDesk, ARepairPassStaysInItsNamespace) {
  repair_report.existing_candidates = 2;
  repair_report.missing_candidates = 1;
  repair_report.repaired_existing = 2;
  repair_report.repaired_missing = 1;
  const Answer answer = ask("POST", "repair/pass",
                            R"({"run_ids":["r1","r2"],"instance_id":"order-1","queue":"orders"})");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(to_json(Value{answer.body}),
            R"({"throttled":false,"selected_existing_task_candidates":2,)"
            R"("selected_missing_task_candidates":1,"repaired_existing_tasks":2,)"
            R"("repaired_missing_tasks":1,"dispatched_tasks":3,)"
            R"("selected_command_contract_candidates":0,"backfilled_command_contracts":0,)"
            R"("command_contract_backfill_unavailable":0,"command_contract_failures":[],)"
            R"("existing_task_failures":[],"missing_run_failures":[]})");
  ASSERT_EQ(repaired.size(), 1u);
  EXPECT_EQ(repaired[0].ns, mill);
  EXPECT_THAT(repaired[0].run_ids, ElementsAre(RunId{"r1"}, RunId{"r2"}));
  EXPECT_EQ(repaired[0].instance, (store::InstanceKey{mill, InstanceId{"order-1"}}));
  EXPECT_EQ(repaired[0].queue, "orders");
}

TEST_F(AtTheSystemDesk, ARepairThatFailedForSomeSaysForWhich) {
  repair_report.existing_failures = {{"t1", "lost"}};
  repair_report.missing_failures = {{"r1", "damaged"}};
  const Answer answer = ask("POST", "repair/pass");
  EXPECT_EQ(answer.status, 207);
  EXPECT_THAT(to_json(Value{answer.body}),
              HasSubstr(R"("existing_task_failures":[{"candidate_id":"t1","message":"lost"}],)"
                        R"("missing_run_failures":[{"run_id":"r1","message":"damaged"}])"));
}

TEST_F(AtTheSystemDesk, WhoeverRespectsTheThrottleWaitsItsTurn) {
  EXPECT_THAT(told("POST", "repair/pass", R"({"respect_throttle":true})"),
              HasSubstr(R"("throttled":false)"));
  pass(4s);
  EXPECT_THAT(told("POST", "repair/pass", R"({"respect_throttle":true})"),
              HasSubstr(R"("throttled":true)"));
  EXPECT_EQ(repaired.size(), 1u);
  EXPECT_THAT(told("POST", "repair/pass"), HasSubstr(R"("throttled":false)"))
      << "others do not have to";
  pass(5s);
  EXPECT_THAT(told("POST", "repair/pass", R"({"respect_throttle":true})"),
              HasSubstr(R"("throttled":false)"));
}

TEST_F(AtTheSystemDesk, WhatCannotBeMeantIsRefused) {
  std::string many = R"({"run_ids":["r")";
  for (int i = 0; i < 100; ++i) many += R"(,"r")";
  many += "]}";
  for (const auto& [target, body] : std::vector<std::pair<std::string, std::string>>{
           {"repair/pass", many},
           {"repair/pass", R"({"run_ids":"r1"})"},
           {"repair/pass", R"({"instance_id":"no spaces"})"},
           {"retention/pass", R"({"limit":0})"},
           {"retention/pass", R"({"run_ids":[7]})"},
           {"activity-timeouts/pass", R"({"limit":1001})"},
           {"activity-timeouts/pass", R"({"execution_ids":{}})"}}) {
    EXPECT_EQ(ask("POST", target, body).status, 422) << target << ' ' << body;
  }
  EXPECT_THAT(repaired, IsEmpty());
  EXPECT_THAT(pruned, IsEmpty());
}

// ---- activities that have passed their deadlines

TEST_F(AtTheSystemDesk, ADeadlineThatHasPassedIsShownUntilItIsEnforced) {
  put(watch_on("a1", "r1", story::at("09:59")));
  put(watch_on("a2", "r1", story::at("10:01")));
  engine::Task foreign = watch_on("a3", "r2", story::at("09:00"));
  foreign.ns = Namespace{"other"};
  put(foreign);
  EXPECT_EQ(told("GET", "activity-timeouts"),
            R"({"expired_count":1,"expired_execution_ids":["a1"],"scan_limit":100,)"
            R"("scan_pressure":false})");
}

TEST_F(AtTheSystemDesk, APassDeliversWhatIsDueAndSaysWhatCameOfIt) {
  engine::Run run;
  run.id = RunId{"r1"};
  CommitId last;
  const auto events = story::told(
      story::run_with(story::activity_scheduled("a1", "charge", story::tries(2)),
                      story::activity_started("a1", "x1"), story::activity_scheduled("a2"),
                      story::activity_started("a2", "y1"), story::activity_scheduled("a3")));
  for (const auto& event : events) last = append(run, event, last);
  put(watch_on("a1", "r1", story::at("09:58")));
  put(watch_on("a2", "r1", story::at("09:59")));
  put(watch_on("a3", "r1", story::at("09:59:30")));
  on_delivery = [&](const engine::Task& task) {
    const auto next = static_cast<std::int64_t>(run.state.last_sequence + 1);
    if (task.subject == "timeout:a1") {
      last = append(
          run, {next, clock.now(), story::retry_after_timeout("a1", "x1", 1, "heartbeat", "again")},
          last);
    } else if (task.subject == "timeout:a2") {
      last = append(
          run, {next, clock.now(), story::activity_timed_out("a2", "f1", "start_to_close", "late")},
          last);
    }
  };
  EXPECT_EQ(told("POST", "activity-timeouts/pass"),
            R"({"processed":3,"enforced":2,"skipped":1,"failed":0,"results":[)"
            R"({"execution_id":"a1","outcome":"enforced","has_retry":true},)"
            R"({"execution_id":"a2","outcome":"enforced","has_retry":false},)"
            R"({"execution_id":"a3","outcome":"skipped","reason":"no_deadline_expired"}]})");
  EXPECT_THAT(delivered, ElementsAre("r1.a1-watch", "r1.a2-watch", "r1.a3-watch"));
}

TEST_F(AtTheSystemDesk, APassMayBeToldWhichAndHowMany) {
  keep("r1", story::run_with(story::activity_scheduled("a1"), story::activity_scheduled("a2")));
  put(watch_on("a1", "r1", story::at("09:58")));
  put(watch_on("a2", "r1", story::at("09:59")));
  EXPECT_THAT(told("POST", "activity-timeouts/pass", R"({"execution_ids":["a2","nobody"]})"),
              HasSubstr(R"("results":[{"execution_id":"a2","outcome":"skipped",)"
                        R"("reason":"no_deadline_expired"},{"execution_id":"nobody",)"
                        R"("outcome":"skipped","reason":"no_deadline_expired"}])"));
  EXPECT_THAT(told("POST", "activity-timeouts/pass", R"({"limit":1})"),
              HasSubstr(R"("processed":1)"));
  EXPECT_THAT(delivered, ElementsAre("r1.a2-watch", "r1.a1-watch"));
}

TEST(TimeoutVerdict, WhatHappenedBeforeThePassIsNotItsDoing) {
  const auto list = [](auto... events) { return story::told(story::run_with(events...)); };
  const ActivityId a1{"a1"};
  const auto retried = list(story::activity_scheduled("a1", "charge", story::tries(2)),
                            story::activity_started("a1", "x1"),
                            story::retry_after_timeout("a1", "x1", 1, "heartbeat", "again"));
  EXPECT_EQ(judge_timeout(a1, retried, 3).outcome, "enforced");
  EXPECT_EQ(judge_timeout(a1, retried, 4).reason, "no_deadline_expired");
  const auto timed_out = list(story::activity_scheduled("a1"),
                              story::activity_timed_out("a1", "f1", "schedule_to_start", "late"));
  EXPECT_FALSE(judge_timeout(a1, timed_out, 2).has_retry);
  EXPECT_EQ(judge_timeout(a1, timed_out, 3).reason, "execution_already_terminal");
  EXPECT_EQ(judge_timeout(a1, list(story::workflow_completed()), 0).reason, "run_already_terminal");
  EXPECT_EQ(judge_timeout(a1, {}, 0).reason, "execution_not_found");
}

// ---- retention

TEST_F(AtTheSystemDesk, RunsOlderThanTheNamespaceKeepsThemAreShown) {
  keep("old", story::run_with(story::workflow_completed()));
  keep("open", story::run_with(story::timer_scheduled("t1", 60s)));
  keep("foreign", story::run_with(story::workflow_completed()), Namespace{"other"});
  clock.set(story::at("09:00") + std::chrono::days{30});
  EXPECT_THAT(told("GET", "retention"), HasSubstr(R"("expired_run_count":0)"));
  pass(1s);
  const auto cutoff = format_timestamp(story::at("09:00:01"));
  EXPECT_EQ(told("GET", "retention"),
            fmt::format(R"({{"namespace":"mill","retention_days":30,"cutoff":"{}",)"
                        R"("expired_run_count":1,"expired_run_ids":["old"],"scan_limit":100,)"
                        R"("scan_pressure":false}})",
                        cutoff));
}

TEST_F(AtTheSystemDesk, ARetentionPassSaysWhatBecameOfEach) {
  prune_report.pruned = prune_report.skipped = prune_report.failed = 1;
  prune_report.results = {{RunId{"r1"}, "pruned", {}, 12, 4},
                          {RunId{"r2"}, "skipped", "run_not_closed"},
                          {RunId{"r3"}, "failed", "the disk is full"}};
  EXPECT_EQ(told("POST", "retention/pass", R"({"limit":50})"),
            R"({"processed":3,"pruned":1,"skipped":1,"failed":1,"results":[)"
            R"({"run_id":"r1","outcome":"pruned","history_events_deleted":12,"tasks_deleted":4,)"
            R"("deleted":true},)"
            R"({"run_id":"r2","outcome":"skipped","reason":"run_not_closed"},)"
            R"({"run_id":"r3","outcome":"error","reason":"the disk is full"}]})");
  ASSERT_EQ(pruned.size(), 1u);
  EXPECT_EQ(pruned[0].ns, mill);
  EXPECT_EQ(pruned[0].limit, 50u);
  EXPECT_EQ(pruned[0].before, clock.now() - std::chrono::days{30});
}

TEST_F(AtTheSystemDesk, RunsOfOtherNamespacesAreNotFound) {
  keep("ours", story::run_with(story::workflow_completed()));
  keep("theirs", story::run_with(story::workflow_completed()), Namespace{"other"});
  EXPECT_THAT(told("POST", "retention/pass", R"({"run_ids":["theirs","ours"]})"),
              HasSubstr(R"({"run_id":"theirs","outcome":"error","reason":"run_not_found"})"));
  EXPECT_THAT(pruned[0].run_ids, ElementsAre(RunId{"ours"}));
  EXPECT_THAT(told("POST", "retention/pass", R"({"run_ids":["theirs"]})"),
              HasSubstr(R"("processed":1,"pruned":0)"));
  EXPECT_EQ(pruned.size(), 1u) << "naming nobody's runs must not mean all of them";
}

// ---- the whole

// proves: E-105
TEST_F(AtTheSystemDesk, OperatorMetricsTellOfOneNamespace) {
  keep("r1", story::run_with(story::activity_scheduled("a1")));
  keep("r2", story::run_with(story::workflow_completed()));
  keep("r3", story::run_with(story::workflow_completed()), Namespace{"other"});
  const auto answer = ask("GET", "operator-metrics");
  EXPECT_EQ(answer.status, 200);
  const Value body{answer.body};
  EXPECT_EQ(*body.find("namespace"), Value{"mill"});
  const Value* metrics = body.find("operator_metrics");
  EXPECT_EQ(*metrics->find("runs")->find("total"), Value{2});
  EXPECT_EQ(*metrics->find("activities")->find("open"), Value{1});
  for (const auto* group :
       {"generated_at", "runs", "tasks", "activities", "backlog", "repair", "starts", "history",
        "workers", "schedules", "backend", "repair_policy", "matching_role"}) {
    EXPECT_NE(metrics->find(group), nullptr) << group;
  }
}

TEST_F(AtTheSystemDesk, OperatorMetricsTellOfTheNamespacesSchedules) {
  keep_schedule("s1", "mill", "active", clock.now() - 61s);
  keep_schedule("s2", "mill", "active", clock.now() - 59s);
  keep_schedule("s3", "mill", "active", clock.now() + 1h);
  keep_schedule("s4", "mill", "paused", {});
  keep_schedule("s5", "other", "active", clock.now() - 1h);
  fired.fires = 12;
  fired.skips = {{"calendar", 3}};
  const Value body{ask("GET", "operator-metrics").body};
  EXPECT_EQ(to_json(*body.find("operator_metrics")->find("schedules")),
            R"({"active":3,"paused":1,"missed":1,"oldest_overdue_at":")" +
                format_timestamp(clock.now() - 61s) +
                R"(","max_overdue_ms":61000,"buffered":0,"fires_total":12,"failures_total":0,)"
                R"("dropped_total":0,"skips_total":{"calendar":3}})");
}

TEST_F(AtTheSystemDesk, HealthIsAsGoodAsItsWorstCheck) {
  const auto status = [this] {
    const Answer answer = ask("GET", "health");
    return fmt::format("{} {}", answer.status, *Value{answer.body}.find("status")->if_string());
  };
  EXPECT_EQ(status(), "200 ok");
  keep("stuck", story::run_with(story::timer_scheduled("t1", 60s)));
  EXPECT_EQ(status(), "200 warning");
  backend = Value::Map{{"severity", "error"}};
  EXPECT_EQ(status(), "503 error");
}

TEST_F(AtTheSystemDesk, MetricsCountWhatIsCheapToCount) {
  keep("r1", story::run_with());
  const auto answer = told("GET", "metrics");
  EXPECT_THAT(answer, HasSubstr(R"({"namespace":"mill","metrics":{"generated_at":)"));
  EXPECT_THAT(answer, HasSubstr(R"("store":{"commits":1,)"));
  EXPECT_THAT(answer, HasSubstr(R"("workers":{"active":0,"draining":0,"stale":0})"));
}

}  // namespace
}  // namespace dw::server
