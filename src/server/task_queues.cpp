#include "server/task_queues.hpp"

#include "server/addressed.hpp"
#include "server/worker_tasks.hpp"
#include "views/row_value.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dw::server {
namespace {

constexpr std::size_t rows_of_a_page = 500;
constexpr std::size_t most_leases_shown = 1'000;

std::string queue_called(std::string_view queue) {
  return std::string{queue.empty() ? "default" : queue};
}

Value tally_view(const TaskTally& tally) {
  return Value::Map{{"ready_count", tally.ready},
                    {"leased_count", tally.leased},
                    {"expired_lease_count", tally.expired}};
}

// "45s": how long the oldest task has been waiting.
Value backlog_age(const QueueTally& tally, Timestamp now) {
  if (!tally.waiting_since) return {};
  const auto age = std::max(now - *tally.waiting_since, Duration{0});
  return fmt::format("{}s", std::chrono::duration_cast<std::chrono::seconds>(age).count());
}

std::int64_t workers_that_are(std::string_view status, const QueueSeen& queue) {
  return std::ranges::count(queue.workers, status, &SeenWorker::status);
}

Value stats_view(const QueueSeen& queue, Timestamp now) {
  const QueueTally& tally = queue.tally;
  return Value::Map{
      {"approximate_backlog_count", tally.workflow_tasks.ready + tally.activity_tasks.ready},
      {"approximate_backlog_age", backlog_age(tally, now)},
      {"workflow_tasks", tally_view(tally.workflow_tasks)},
      {"activity_tasks", tally_view(tally.activity_tasks)},
      {"pollers", Value::Map{{"active_count", workers_that_are("active", queue)},
                             {"stale_count", workers_that_are("stale", queue)}}}};
}

// A budget that is used up is the reason for whatever else there is to say: more workers would not
// help.
std::string_view admission_status(const BudgetStanding& budgets, std::int64_t active_workers,
                                  bool slots_left) {
  if (budgets.room() == 0) return "throttled";
  if (active_workers == 0) return "no_active_workers";
  return slots_left ? "accepting" : "saturated";
}

// Three keys for each: what is used, what may be, what is left.
void add_server_budgets(Value::Map& view, const BudgetStanding& budgets) {
  const auto add = [&view](std::string_view count, std::string_view limit, std::string_view left,
                           const BudgetStanding::Use& use) {
    view.emplace_back(count, views::cell(use.used));
    view.emplace_back(limit, views::cell(use.limit));
    view.emplace_back(left, views::cell(use.left()));
  };
  add("server_active_lease_count", "server_max_active_leases_per_queue",
      "server_remaining_active_lease_capacity", budgets.queue_leases);
  add("server_namespace_active_lease_count", "server_max_active_leases_per_namespace",
      "server_remaining_namespace_active_lease_capacity", budgets.namespace_leases);
  add("server_dispatch_count_this_minute", "server_max_dispatches_per_minute",
      "server_remaining_dispatch_capacity", budgets.queue_dispatches);
  add("server_namespace_dispatch_count_this_minute",
      "server_max_dispatches_per_minute_per_namespace",
      "server_remaining_namespace_dispatch_capacity", budgets.namespace_dispatches);
  if (budgets.group.empty()) return;
  view.emplace_back("server_dispatch_budget_group", budgets.group);
  add("server_budget_group_dispatch_count_this_minute",
      "server_max_dispatches_per_minute_per_budget_group",
      "server_remaining_budget_group_dispatch_capacity", budgets.group_dispatches);
}

// Workers take what they have slots for, and no more than the server's own budgets let go out.
Value task_admission(const QueueSeen& queue, const TaskTally& tally, std::string_view kind,
                     std::int64_t Worker::*slots, BudgetStanding budgets) {
  const std::int64_t active = workers_that_are("active", queue);
  std::int64_t configured = 0;
  for (const SeenWorker& seen : queue.workers) {
    if (seen.status == "active") configured += seen.worker.*slots;
  }
  const auto source = budgets.tightest();
  Value::Map view{
      {"status", admission_status(budgets, active, tally.leased < configured)},
      {"budget_source", fmt::format("worker_registration.max_concurrent_{}", kind)},
      {"active_worker_count", active},
      {"configured_slot_count", configured},
      {"leased_count", tally.leased},
      {"ready_count", tally.ready},
      {"available_slot_count", std::max<std::int64_t>(0, configured - tally.leased)},
      {"server_budget_source",
       source.empty() ? Value{} : Value{fmt::format("server.admission.{}.{}", kind, source)}}};
  // While the server counts nothing, the table knows.
  if (!budgets.queue_leases.used) budgets.queue_leases.used = tally.leased;
  add_server_budgets(view, budgets);
  return view;
}

Value query_admission(std::size_t pending, std::size_t most) {
  const bool full = pending >= most;
  const auto left = full ? 0 : most - pending;
  return Value::Map{{"status", full ? "full" : "accepting"},
                    {"approximate_pending_count", static_cast<std::int64_t>(pending)},
                    {"max_pending_per_queue", static_cast<std::int64_t>(most)},
                    {"remaining_pending_capacity", static_cast<std::int64_t>(left)},
                    {"lock_required", false},
                    {"lock_supported", true},
                    {"budget_source", "server.query_tasks.max_pending_per_queue"}};
}

Value lease_view(const QueueLease& lease, Timestamp now) {
  return Value::Map{{"task_id", lease.task_id},
                    {"task_type", lease.kind == WorkKind::activity ? "activity" : "workflow"},
                    {"workflow_id", lease.workflow_id},
                    {"lease_owner", lease.owner},
                    {"lease_expires_at", format_timestamp(lease.expires_at)},
                    {"is_expired", lease.expires_at <= now},
                    {"workflow_task_attempt", views::cell(lease.attempt)}};
}

Value poller_view(const SeenWorker& seen) {
  return Value::Map{{"worker_id", seen.worker.worker_id},
                    {"runtime", seen.worker.runtime},
                    {"build_id", views::cell(seen.worker.build_id)},
                    {"last_heartbeat_at", format_timestamp(seen.worker.heard_at)},
                    {"status", seen.status},
                    {"is_stale", seen.status == "stale"}};
}

}  // namespace

// ---- counting

QueueCensus::QueueCensus(Namespace ns, Timestamp now, std::span<const dispatch::HeldTask> held)
    : ns_(std::move(ns)), now_(now) {
  for (const dispatch::HeldTask& task : held) {
    if (task.run.instance.ns != ns_) continue;
    held_.insert(task.task);
    QueueTally& queue = queues_[queue_called(task.queue)];
    queue.workflow_tasks.add_lease(task.expires_at, now_);
    add(queue, {wire_task_id(task), WorkKind::workflow, task.run.instance.id.str(), task.owner,
                task.expires_at, task.attempt});
  }
}

void QueueCensus::count(const engine::Task& row) {
  const bool code = engine::runs_code(row);
  if (row.ns != ns_ || (!code && row.type != engine::TaskType::activity)) return;
  if (row.status == engine::TaskStatus::blocked || row.key.available_at > now_) return;
  if (code && held_.contains(row.key.id)) return;  // no row of a workflow task says who has it
  QueueTally& queue = queues_[queue_called(row.queue)];
  TaskTally& tally = code ? queue.workflow_tasks : queue.activity_tasks;
  if (row.status == engine::TaskStatus::leased) {
    tally.add_lease(row.lease_expires_at, now_);
    return add(queue, {row.key.id.str(), code ? WorkKind::workflow : WorkKind::activity,
                       row.instance_id.str(), row.lease_owner, row.lease_expires_at});
  }
  tally.ready += 1;
  const Timestamp since = row.key.available_at;
  queue.waiting_since = std::min(queue.waiting_since.value_or(since), since);
}

void QueueCensus::add(QueueTally& queue, QueueLease lease) const {
  if (queue.leases.size() < most_leases_shown) queue.leases.push_back(std::move(lease));
}

QueueTally QueueCensus::of(const std::string& queue) const {
  const auto found = queues_.find(queue);
  return found == queues_.end() ? QueueTally{} : found->second;
}

// ---- what is said of a queue

Value::Map queue_item(const QueueSeen& queue, Timestamp now) {
  const QueueTally& tally = queue.tally;
  return {
      {"name", queue.name},
      {"namespace", queue.ns.view()},
      {"stats", stats_view(queue, now)},
      {"admission",
       Value::Map{
           {"workflow_tasks", task_admission(queue, tally.workflow_tasks, "workflow_tasks",
                                             &Worker::max_workflow_tasks, queue.workflow_budgets)},
           {"activity_tasks", task_admission(queue, tally.activity_tasks, "activity_tasks",
                                             &Worker::max_activity_tasks, queue.activity_budgets)},
           {"query_tasks", query_admission(queue.pending_queries, queue.most_queries)}}}};
}

Value::Map queue_detail(const QueueSeen& queue, Timestamp now) {
  auto leases = queue.tally.leases;
  std::ranges::sort(leases, {}, [](const QueueLease& lease) {
    return std::tie(lease.expires_at, lease.task_id);
  });
  Value::Array current;
  for (const QueueLease& lease : leases) current.push_back(lease_view(lease, now));
  Value::Array pollers;
  for (const SeenWorker& seen : queue.workers) pollers.push_back(poller_view(seen));
  Value::Map detail = queue_item(queue, now);
  detail.emplace_back("current_leases", std::move(current));
  detail.emplace_back("pollers", std::move(pollers));
  return detail;
}

// ---- looking through the task table

void walk_tasks(std::shared_ptr<TaskWalk> walk) {
  walk->reader.post([walk] {
    const auto page = walk->store.due_tasks(walk->after, walk->until, rows_of_a_page);
    if (!page) return walk->done(page.error());
    for (const engine::Task& task : *page) {
      if (!walk->visit(task)) return walk->done({});
    }
    if (page->size() < rows_of_a_page) return walk->done({});
    walk->after = page->back().key;
    walk_tasks(walk);
  });
}

// ---- the routes

void TaskQueues::serve(Call call, Reply reply) {
  switch (call.operation()) {
    case Operation::list_task_queues:
    case Operation::describe_task_queue:
      return look(std::move(call), std::move(reply));
    case Operation::list_build_ids:
      return reply(
          parts_.rollouts.build_ids(call, parts_.workers.seen(call.ns, call.match["queue"])));
    case Operation::drain_build_id:
      return parts_.rollouts.drain(call, std::move(reply));
    case Operation::resume_build_id:
      return parts_.rollouts.resume(call, std::move(reply));
    case Operation::promote_build_id:
      return parts_.rollouts.promote(call, std::move(reply));
    default:
      return reply(refusal(404, "not_found", "nobody here does that"));
  }
}

void TaskQueues::look(Call call, Reply reply) {
  parts_.held_tasks([this, call = std::move(call),
                     reply = std::move(reply)](Result<std::vector<dispatch::HeldTask>> held) {
    if (!held) return reply(failed(held.error(), call));
    const Timestamp now = parts_.clock.now();
    auto census = std::make_shared<QueueCensus>(call.ns, now, *held);
    walk_tasks(std::make_shared<TaskWalk>(
        TaskWalk{parts_.store, parts_.reader, now,
                 [census, call](const engine::Task& row) {
                   census->count(row);
                   return !call.hung_up();
                 },
                 [this, census, call, reply](const Result<void>& walked) {
                   reply(walked ? answer(call, *census) : failed(walked.error(), call));
                 }}));
  });
}

Answer TaskQueues::answer(const Call& call, const QueueCensus& census) const {
  if (call.operation() == Operation::describe_task_queue) {
    const std::string name{call.match["queue"]};
    return {200, queue_detail(seen(call.ns, name, census), census.now())};
  }
  std::set<std::string> names;
  for (const auto& [name, tally] : census.queues()) names.insert(name);
  for (const SeenWorker& worker : parts_.workers.seen(call.ns)) names.insert(worker.worker.queue);
  for (std::string& name : parts_.rollouts.queues(call.ns)) names.insert(std::move(name));
  Value::Array listed;
  for (const std::string& name : names) {
    listed.emplace_back(queue_item(seen(call.ns, name, census), census.now()));
  }
  return {200, {{"namespace", call.ns.view()}, {"task_queues", std::move(listed)}}};
}

QueueSeen TaskQueues::seen(const Namespace& ns, std::string name, const QueueCensus& census) const {
  QueueSeen queue{std::move(name), ns};
  queue.tally = census.of(queue.name);
  queue.workers = parts_.workers.seen(ns, queue.name);
  queue.pending_queries = parts_.queries.pending(ns, queue.name);
  if (parts_.most_queries) {
    queue.most_queries = static_cast<std::size_t>(parts_.most_queries(ns, queue.name));
  }
  if (parts_.budgets) {
    queue.workflow_budgets = parts_.budgets({ns, queue.name, WorkKind::workflow});
    queue.activity_budgets = parts_.budgets({ns, queue.name, WorkKind::activity});
  }
  return queue;
}

}  // namespace dw::server
