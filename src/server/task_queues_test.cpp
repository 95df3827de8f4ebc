// A queue is what waits for its workers, what they hold, and who they are.
#include "server/task_queues.hpp"

#include "core/random.hpp"
#include "machine/scheduler.hpp"
#include "store/memory_store.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace dw::server {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::SizeIs;

const Namespace town{"town"};
const Timestamp midday = *parse_timestamp("2026-04-22T12:00:00.000000Z");

engine::Task queue_row(std::string id, std::string queue = "orders") {
  engine::Task row;
  row.key = {midday - 45s, TaskId{std::move(id)}};
  row.type = engine::TaskType::workflow;
  row.ns = town;
  row.instance_id = InstanceId{"order-1"};
  row.run_id = RunId{"run-1"};
  row.queue = std::move(queue);
  return row;
}

engine::Task activity_row(std::string id) {
  engine::Task row = queue_row(std::move(id));
  row.type = engine::TaskType::activity;
  row.subject = "a1";
  return row;
}

engine::Task leased_row(std::string id, std::string owner, Timestamp until) {
  engine::Task row = activity_row(std::move(id));
  row.status = engine::TaskStatus::leased;
  row.lease_owner = std::move(owner);
  row.lease_expires_at = until;
  return row;
}

dispatch::HeldTask held_task(std::string id, Timestamp until, Namespace ns = town) {
  return {{{std::move(ns), InstanceId{"order-1"}}, RunId{"run-1"}},
          TaskId{std::move(id)},
          "orders",
          "w-1",
          2,
          "E1",
          engine::WorkerHabit::waits,
          until};
}

SeenWorker poller(std::string id, std::string status, std::int64_t slots = 10) {
  SeenWorker seen{{}, std::move(status)};
  seen.worker.worker_id = std::move(id);
  seen.worker.ns = town;
  seen.worker.queue = "orders";
  seen.worker.runtime = "python";
  seen.worker.heard_at = midday;
  seen.worker.max_workflow_tasks = seen.worker.max_activity_tasks = slots;
  return seen;
}

// Where a path of keys leads, as JSON.
std::string at_path(const Value::Map& map, std::initializer_list<std::string_view> path) {
  Value value{map};
  for (const auto key : path) {
    const Value* found = value.find(key);
    if (!found) return "(absent)";
    value = Value{*found};
  }
  return to_json(value);
}

// ---- counting

TEST(QueueCensus, WhatIsDueIsReadyUntilSomebodyHasIt) {
  QueueCensus census{town, midday, {}};
  census.count(queue_row("r.1"));
  census.count(queue_row("r.2"));
  census.count(activity_row("r.3"));
  census.count(leased_row("r.4", "w-1", midday + 60s));
  census.count(leased_row("r.5", "w-2", midday));
  const QueueTally tally = census.of("orders");
  EXPECT_EQ(tally.workflow_tasks.ready, 2);
  EXPECT_EQ(tally.workflow_tasks.leased, 0);
  EXPECT_EQ(tally.activity_tasks.ready, 1);
  EXPECT_EQ(tally.activity_tasks.leased, 2);
  EXPECT_EQ(tally.activity_tasks.expired, 1);
  EXPECT_EQ(tally.waiting_since, midday - 45s);
}

TEST(QueueCensus, OfWorkflowTasksDispatchKnowsWhoHasThem) {
  const std::vector held{held_task("r.1", midday + 60s), held_task("r.9", midday - 1s),
                         held_task("r.7", midday + 60s, Namespace{"elsewhere"})};
  QueueCensus census{town, midday, held};
  census.count(queue_row("r.1"));
  census.count(queue_row("r.2"));
  const QueueTally tally = census.of("orders");
  EXPECT_EQ(tally.workflow_tasks.ready, 1) << "a held task is not counted twice";
  EXPECT_EQ(tally.workflow_tasks.leased, 2);
  EXPECT_EQ(tally.workflow_tasks.expired, 1);
}

TEST(QueueCensus, WhatIsNoWorkForWorkersIsLeftOut) {
  QueueCensus census{town, midday, {}};
  engine::Task timer = queue_row("r.1");
  timer.type = engine::TaskType::timer;
  engine::Task deadline = queue_row("r.2");
  deadline.subject = "deadline";
  engine::Task blocked = queue_row("r.3");
  blocked.status = engine::TaskStatus::blocked;
  engine::Task later = queue_row("r.4");
  later.key.available_at = midday + 1s;
  engine::Task foreign = queue_row("r.5");
  foreign.ns = Namespace{"elsewhere"};
  for (const auto& row : {timer, deadline, blocked, later, foreign}) census.count(row);
  EXPECT_TRUE(census.queues().empty());
}

TEST(QueueCensus, ATaskWithoutAQueueIsOnTheDefaultOne) {
  QueueCensus census{town, midday, {}};
  census.count(queue_row("r.1", ""));
  EXPECT_EQ(census.of("default").workflow_tasks.ready, 1);
}

// ---- what is said

TEST(QueueDetail, AQueueNobodyUsesIsEmptyNotUnknown) {
  EXPECT_EQ(
      to_json(Value{queue_detail({"orders", town}, midday)}),
      R"({"name":"orders","namespace":"town","stats":{"approximate_backlog_count":0,)"
      R"("approximate_backlog_age":null,)"
      R"("workflow_tasks":{"ready_count":0,"leased_count":0,"expired_lease_count":0},)"
      R"("activity_tasks":{"ready_count":0,"leased_count":0,"expired_lease_count":0},)"
      R"("pollers":{"active_count":0,"stale_count":0}},"admission":{)"
      R"("workflow_tasks":{"status":"no_active_workers",)"
      R"("budget_source":"worker_registration.max_concurrent_workflow_tasks",)"
      R"("active_worker_count":0,"configured_slot_count":0,"leased_count":0,"ready_count":0,)"
      R"("available_slot_count":0,"server_budget_source":null,"server_active_lease_count":0,)"
      R"("server_max_active_leases_per_queue":null,"server_remaining_active_lease_capacity":null,)"
      R"("server_namespace_active_lease_count":null,"server_max_active_leases_per_namespace":null,)"
      R"("server_remaining_namespace_active_lease_capacity":null,)"
      R"("server_dispatch_count_this_minute":null,"server_max_dispatches_per_minute":null,)"
      R"("server_remaining_dispatch_capacity":null,)"
      R"("server_namespace_dispatch_count_this_minute":null,)"
      R"("server_max_dispatches_per_minute_per_namespace":null,)"
      R"("server_remaining_namespace_dispatch_capacity":null},)"
      R"("activity_tasks":{"status":"no_active_workers",)"
      R"("budget_source":"worker_registration.max_concurrent_activity_tasks",)"
      R"("active_worker_count":0,"configured_slot_count":0,"leased_count":0,"ready_count":0,)"
      R"("available_slot_count":0,"server_budget_source":null,"server_active_lease_count":0,)"
      R"("server_max_active_leases_per_queue":null,"server_remaining_active_lease_capacity":null,)"
      R"("server_namespace_active_lease_count":null,"server_max_active_leases_per_namespace":null,)"
      R"("server_remaining_namespace_active_lease_capacity":null,)"
      R"("server_dispatch_count_this_minute":null,"server_max_dispatches_per_minute":null,)"
      R"("server_remaining_dispatch_capacity":null,)"
      R"("server_namespace_dispatch_count_this_minute":null,)"
      R"("server_max_dispatches_per_minute_per_namespace":null,)"
      R"("server_remaining_namespace_dispatch_capacity":null},)"
      R"("query_tasks":{"status":"accepting","approximate_pending_count":0,)"
      R"("max_pending_per_queue":1024,"remaining_pending_capacity":1024,"lock_required":false,)"
      R"("lock_supported":true,"budget_source":"server.query_tasks.max_pending_per_queue"}},)"
      R"("current_leases":[],"pollers":[]})");
}

TEST(QueueDetail, TheBacklogIsAsOldAsItsOldestTask) {
  QueueCensus census{town, midday, {}};
  census.count(queue_row("r.1"));
  census.count(activity_row("r.2"));
  const auto item = queue_item({"orders", town, census.of("orders")}, midday);
  EXPECT_EQ(at_path(item, {"stats", "approximate_backlog_count"}), "2");
  EXPECT_EQ(at_path(item, {"stats", "approximate_backlog_age"}), R"("45s")");
}

TEST(QueueDetail, WhoHoldsWhatIsListedByWhenItsLeaseEnds) {
  const std::vector held{held_task("r.1", midday + 60s)};
  QueueCensus census{town, midday, held};
  census.count(leased_row("r.2", "w-2", midday - 1s));
  const auto detail = queue_detail({"orders", town, census.of("orders")}, midday);
  EXPECT_EQ(at_path(detail, {"current_leases"}),
            R"([{"task_id":"r.2","task_type":"activity","workflow_id":"order-1",)"
            R"("lease_owner":"w-2","lease_expires_at":"2026-04-22T11:59:59.000000Z",)"
            R"("is_expired":true,"workflow_task_attempt":null},)"
            R"({"task_id":"r.1~wE1","task_type":"workflow","workflow_id":"order-1",)"
            R"("lease_owner":"w-1","lease_expires_at":"2026-04-22T12:01:00.000000Z",)"
            R"("is_expired":false,"workflow_task_attempt":2}])");
}

TEST(QueueDetail, OnlyTheFirstThousandLeasesAreListed) {
  QueueCensus census{town, midday, {}};
  for (int i = 0; i < 1'100; ++i)
    census.count(leased_row(fmt::format("r.{}", i), "w", midday + 1s));
  EXPECT_EQ(census.of("orders").activity_tasks.leased, 1'100);
  EXPECT_THAT(census.of("orders").leases, SizeIs(1'000));
}

TEST(QueueDetail, SlotsOfActiveWorkersAreTheBudget) {
  QueueSeen queue{"orders", town};
  queue.workers = {poller("w-1", "active", 2), poller("w-2", "draining"), poller("w-3", "stale")};
  queue.tally.workflow_tasks = {.ready = 5, .leased = 2, .expired = 0};
  queue.tally.activity_tasks = {.ready = 0, .leased = 1, .expired = 0};
  const auto item = queue_item(queue, midday);
  EXPECT_EQ(at_path(item, {"stats", "pollers"}), R"({"active_count":1,"stale_count":1})");
  EXPECT_EQ(at_path(item, {"admission", "workflow_tasks", "status"}), R"("saturated")");
  EXPECT_EQ(at_path(item, {"admission", "workflow_tasks", "available_slot_count"}), "0");
  EXPECT_EQ(at_path(item, {"admission", "activity_tasks", "status"}), R"("accepting")");
  EXPECT_EQ(at_path(item, {"admission", "activity_tasks", "available_slot_count"}), "1");
  EXPECT_EQ(at_path(item, {"admission", "activity_tasks", "server_active_lease_count"}), "1");
}

TEST(QueueDetail, PollersAreShownAsTheyStand) {
  QueueSeen queue{"orders", town};
  queue.workers = {poller("w-1", "active"), poller("w-2", "stale")};
  queue.workers[0].worker.build_id = "v1";
  EXPECT_EQ(at_path(queue_detail(queue, midday), {"pollers"}),
            R"([{"worker_id":"w-1","runtime":"python","build_id":"v1",)"
            R"("last_heartbeat_at":"2026-04-22T12:00:00.000000Z","status":"active",)"
            R"("is_stale":false},)"
            R"({"worker_id":"w-2","runtime":"python","build_id":null,)"
            R"("last_heartbeat_at":"2026-04-22T12:00:00.000000Z","status":"stale",)"
            R"("is_stale":true}])");
}

TEST(QueueDetail, AQueueFullOfQueriesSaysSo) {
  QueueSeen queue{"orders", town};
  queue.pending_queries = most_queries_per_queue + 1;
  const auto item = queue_item(queue, midday);
  EXPECT_EQ(at_path(item, {"admission", "query_tasks", "status"}), R"("full")");
  EXPECT_EQ(at_path(item, {"admission", "query_tasks", "remaining_pending_capacity"}), "0");
}

TEST(QueueDetail, ASettingMayLetFewerQueriesWait) {
  QueueSeen queue{"orders", town};
  queue.pending_queries = 4;
  queue.most_queries = 4;
  EXPECT_EQ(at_path(queue_item(queue, midday), {"admission", "query_tasks"}),
            R"({"status":"full","approximate_pending_count":4,"max_pending_per_queue":4,)"
            R"("remaining_pending_capacity":0,"lock_required":false,"lock_supported":true,)"
            R"("budget_source":"server.query_tasks.max_pending_per_queue"})");
}

TEST(QueueDetail, TheServersBudgetsAreShownBesideTheSlotsOfWorkers) {
  QueueSeen queue{"orders", town};
  queue.workers = {poller("w-1", "active", 20)};
  queue.tally.workflow_tasks = {.ready = 5, .leased = 10, .expired = 0};
  queue.workflow_budgets = {.queue_leases = {10, 10},
                            .namespace_leases = {26, 30},
                            .queue_dispatches = {48, 60},
                            .namespace_dispatches = {220, 300},
                            .group_dispatches = {58, 60},
                            .group = "orders-ai"};
  queue.activity_budgets = {.queue_leases = {5, 10},
                            .namespace_leases = {18, {}},
                            .queue_dispatches = {30, 120},
                            .namespace_dispatches = {160, {}}};
  const auto item = queue_item(queue, midday);
  EXPECT_EQ(at_path(item, {"admission", "workflow_tasks"}),
            R"({"status":"throttled",)"
            R"("budget_source":"worker_registration.max_concurrent_workflow_tasks",)"
            R"("active_worker_count":1,"configured_slot_count":20,"leased_count":10,)"
            R"("ready_count":5,"available_slot_count":10,)"
            R"("server_budget_source":)"
            R"("server.admission.workflow_tasks.max_active_leases_per_queue",)"
            R"("server_active_lease_count":10,"server_max_active_leases_per_queue":10,)"
            R"("server_remaining_active_lease_capacity":0,)"
            R"("server_namespace_active_lease_count":26,)"
            R"("server_max_active_leases_per_namespace":30,)"
            R"("server_remaining_namespace_active_lease_capacity":4,)"
            R"("server_dispatch_count_this_minute":48,"server_max_dispatches_per_minute":60,)"
            R"("server_remaining_dispatch_capacity":12,)"
            R"("server_namespace_dispatch_count_this_minute":220,)"
            R"("server_max_dispatches_per_minute_per_namespace":300,)"
            R"("server_remaining_namespace_dispatch_capacity":80,)"
            R"("server_dispatch_budget_group":"orders-ai",)"
            R"("server_budget_group_dispatch_count_this_minute":58,)"
            R"("server_max_dispatches_per_minute_per_budget_group":60,)"
            R"("server_remaining_budget_group_dispatch_capacity":2})");
  const auto activities = [&](std::string_view key) {
    return at_path(item, {"admission", "activity_tasks", key});
  };
  EXPECT_EQ(activities("status"), R"("accepting")");
  EXPECT_EQ(activities("server_budget_source"),
            R"("server.admission.activity_tasks.max_active_leases_per_queue")");
  EXPECT_EQ(activities("server_namespace_active_lease_count"), "18");
  EXPECT_EQ(activities("server_max_active_leases_per_namespace"), "null");
  EXPECT_EQ(activities("server_remaining_namespace_active_lease_capacity"), "null");
  EXPECT_EQ(activities("server_dispatch_budget_group"), "(absent)");
}

TEST(QueueDetail, AUsedUpBudgetIsToldThoughNobodyPolls) {
  QueueSeen queue{"orders", town};
  queue.activity_budgets.queue_dispatches = {60, 60};
  const auto item = queue_item(queue, midday);
  EXPECT_EQ(at_path(item, {"admission", "activity_tasks", "status"}), R"("throttled")");
  EXPECT_EQ(at_path(item, {"admission", "workflow_tasks", "status"}), R"("no_active_workers")");
}

// ---- the routes

class AmongQueues : public ::testing::Test {
 protected:
  Answer ask(std::string_view method, std::string target, std::string_view json = "{}") {
    return ask(queues, method, std::move(target), json);
  }
  Answer ask(TaskQueues& whom, std::string_view method, std::string target,
             std::string_view json = "{}") {
    const auto path = parse_path(target);
    Call call;
    call.ns = town;
    call.match = match(method, *path);
    call.body = *parse_json(json)->if_map();
    std::optional<Answer> answer;
    whom.serve(std::move(call), [&](Answer given) { answer = std::move(given); });
    while (!answer && scheduler.step()) {
    }
    EXPECT_TRUE(answer) << target;
    return answer.value_or(Answer{});
  }
  void enlist(std::string_view id, std::string_view queue) {
    Call call;
    call.ns = town;
    call.body =
        *parse_json(
             fmt::format(R"({{"worker_id":"{}","task_queue":"{}","runtime":"python"}})", id, queue))
             ->if_map();
    EXPECT_EQ(workers.register_worker(call, "fresh").status, 201);
  }
  void put(engine::Task row) {
    store::Transition transition;
    transition.id = CommitId{fmt::format("c{}", ++commits)};
    transition.tasks.push_back(engine::put(std::move(row)));
    EXPECT_EQ(store.commit({&transition, 1}).front(), store::CommitOutcome{store::Won{}});
  }
  static std::vector<std::string> names_in(const Answer& answer) {
    const Value body{answer.body};
    std::vector<std::string> names;
    for (const Value& queue : *body.find("task_queues")->if_array()) {
      names.push_back(*queue.find("name")->if_string());
    }
    return names;
  }

  machine::SimClock clock{midday};
  SeededRandom random{1};
  machine::Scheduler scheduler{clock, random, Duration{0}};
  machine::SimExecutor reader{scheduler, "reader"};
  machine::SimExecutor writer{scheduler, "writer"};
  store::MemoryStore store;
  Matching matching{writer, clock};
  Rollouts rollouts{{store, writer, clock}};
  Workers workers{clock, [this](const Namespace& ns, std::string_view queue, std::string_view id) {
                    return rollouts.draining(ns, queue, id);
                  }};
  QueryTasks queries{matching, writer, clock, random};
  std::vector<dispatch::HeldTask> held;
  TaskQueues queues{{store, reader, clock, workers, queries, rollouts,
                     [this](const auto& reply) { reply(held); }}};
  int commits = 0;
};

TEST_F(AmongQueues, AQueueExistsOnceAnybodySpeaksOfIt) {
  EXPECT_TRUE(names_in(ask("GET", "/api/task-queues")).empty());
  enlist("w-1", "with-worker");
  put(queue_row("r.1", "with-task"));
  held = {held_task("r.2", midday + 60s)};
  ask("POST", "/api/task-queues/with-drain/build-ids/drain", R"({"build_id":"v1"})");
  EXPECT_THAT(names_in(ask("GET", "/api/task-queues")),
              ElementsAre("orders", "with-drain", "with-task", "with-worker"));
}

TEST_F(AmongQueues, EveryPageOfTheTaskTableIsRead) {
  for (int i = 0; i < 1'203; ++i) put(queue_row(fmt::format("r.{}", i)));
  const Answer answer = ask("GET", "/api/task-queues/orders");
  EXPECT_EQ(at_path(answer.body, {"stats", "approximate_backlog_count"}), "1203");
}

TEST_F(AmongQueues, BudgetsAreThoseOfTheQueueThatIsLookedAt) {
  BudgetSettings settings;
  settings.overrides["town:orders"].workflow.leases_per_queue = 1;
  settings.overrides["town:orders"].pending_queries = 4;
  TaskBudgets budgets{std::move(settings)};
  TaskQueues limited{{store, reader, clock, workers, queries, rollouts,
                      [this](const auto& reply) { reply(held); },
                      [&](const LaneName& lane) { return budgets.standing(lane, clock.now()); },
                      [&](const Namespace& ns, std::string_view queue) {
                        return budgets.most_pending_queries(ns, queue);
                      }}};
  const LaneName orders{town, "orders", WorkKind::workflow};
  ASSERT_TRUE(budgets.reserve(orders, midday));
  budgets.bind(orders, TaskId{"r.1"}, 60s, midday);
  const auto seen = ask(limited, "GET", "/api/task-queues/orders").body;
  EXPECT_EQ(at_path(seen, {"admission", "workflow_tasks", "status"}), R"("throttled")");
  EXPECT_EQ(at_path(seen, {"admission", "activity_tasks", "status"}), R"("no_active_workers")");
  EXPECT_EQ(at_path(seen, {"admission", "activity_tasks", "server_active_lease_count"}), "0");
  EXPECT_EQ(at_path(seen, {"admission", "query_tasks", "max_pending_per_queue"}), "4");
  const auto other = ask(limited, "GET", "/api/task-queues/refunds").body;
  EXPECT_EQ(at_path(other, {"admission", "workflow_tasks", "status"}), R"("no_active_workers")");
  EXPECT_EQ(at_path(other, {"admission", "workflow_tasks", "server_namespace_active_lease_count"}),
            "1");
  EXPECT_EQ(at_path(other, {"admission", "query_tasks", "max_pending_per_queue"}), "1024");
}

TEST_F(AmongQueues, WorkersOfADrainingBuildAreToldAndSoAreOperators) {
  enlist("w-1", "orders");
  ask("POST", "/api/task-queues/orders/build-ids/drain", R"({"build_id":null})");
  Call poll;
  poll.ns = town;
  poll.body = *parse_json(R"({"worker_id":"w-1","task_queue":"orders"})")->if_map();
  const auto admitted = workers.admit(poll);
  ASSERT_TRUE(std::holds_alternative<Answer>(admitted));
  EXPECT_EQ(std::get<Answer>(admitted).status, 409);
  EXPECT_EQ(to_json(Value{std::get<Answer>(admitted).body}),
            R"({"message":"the worker's build is draining and gets nothing new; stop the worker )"
            R"(when it is done, or resume the build","reason":"worker_draining","task":null,)"
            R"("poll_status":"draining","worker_status":"draining","drain_intent":"draining"})");
  EXPECT_EQ(at_path(workers.heartbeat(poll).body, {"status"}), R"("draining")");
  EXPECT_EQ(at_path(ask("GET", "/api/task-queues/orders").body,
                    {"admission", "workflow_tasks", "status"}),
            R"("no_active_workers")");
  const Answer rollout = ask("GET", "/api/task-queues/orders/build-ids");
  EXPECT_NE(to_json(Value{rollout.body}).find(R"("rollout_status":"draining")"), std::string::npos);

  ask("POST", "/api/task-queues/orders/build-ids/resume", R"({"build_id":null})");
  EXPECT_TRUE(std::holds_alternative<Worker>(workers.admit(poll)));
}

}  // namespace
}  // namespace dw::server
