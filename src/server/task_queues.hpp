// Queues as operators see them: what waits for a queue's workers, what they hold, who they are, and
// which of their builds come and go.
#pragma once
#include "dispatch/requests.hpp"
#include "server/query_tasks.hpp"
#include "server/rollouts.hpp"
#include "server/task_budgets.hpp"

namespace dw::server {

// ---- counting, row by row

struct TaskTally {
  std::int64_t ready = 0;
  std::int64_t leased = 0;
  std::int64_t expired = 0;  // of those: the lease ran out, and nobody has taken it over

  void add_lease(Timestamp expires_at, Timestamp now) {
    leased += 1;
    if (expires_at <= now) expired += 1;
  }
};

struct QueueLease {
  std::string task_id;  // as the worker knows it
  WorkKind kind = WorkKind::workflow;
  std::string workflow_id;
  std::string owner;
  Timestamp expires_at;
  std::optional<std::int64_t> attempt = {};  // of a workflow task
};

struct QueueTally {
  TaskTally workflow_tasks = {};
  TaskTally activity_tasks = {};
  std::optional<Timestamp> waiting_since = {};  // the oldest task that nobody has taken
  std::vector<QueueLease> leases = {};          // as many as anybody would look at
};

// The open tasks of a namespace at one moment, by queue. Workflow tasks that workers hold are told
// by dispatch, all else by the rows of the task table.
class QueueCensus {
 public:
  QueueCensus(Namespace ns, Timestamp now, std::span<const dispatch::HeldTask> held);

  void count(const engine::Task& row);
  const std::map<std::string, QueueTally>& queues() const { return queues_; }
  QueueTally of(const std::string& queue) const;
  Timestamp now() const { return now_; }

 private:
  void add(QueueTally& queue, QueueLease lease) const;

  const Namespace ns_;
  const Timestamp now_;
  std::set<TaskId> held_;
  std::map<std::string, QueueTally> queues_;
};

// ---- what is said of a queue

struct QueueSeen {
  std::string name;
  Namespace ns;
  QueueTally tally = {};
  std::vector<SeenWorker> workers = {};
  std::size_t pending_queries = 0;
  std::size_t most_queries = most_queries_per_queue;
  // How much of what the server lets go out is used. Empty while it limits nothing.
  BudgetStanding workflow_budgets = {};
  BudgetStanding activity_budgets = {};
};
// {name, namespace, stats, admission}
Value::Map queue_item(const QueueSeen& queue, Timestamp now);
// The same with {current_leases, pollers}.
Value::Map queue_detail(const QueueSeen& queue, Timestamp now);

// ---- looking through the task table

// A page at a time: between two of them others get their turn at the reader.
struct TaskWalk {
  store::Store& store;
  Executor& reader;
  Timestamp until;                                 // tasks that are due later are left out
  std::function<bool(const engine::Task&)> visit;  // false: enough
  std::function<void(Result<void>)> done;
  std::optional<engine::TaskKey> after = {};
};
void walk_tasks(std::shared_ptr<TaskWalk> walk);

// ---- the routes

using HeldTasksOf = std::function<void(dispatch::Reply<std::vector<dispatch::HeldTask>> reply)>;

struct TaskQueuesParts {
  store::Store& store;
  Executor& reader;
  const Clock& clock;
  Workers& workers;
  QueryTasks& queries;
  Rollouts& rollouts;
  HeldTasksOf held_tasks;  // dispatch's
  // Both may be empty: then there are no budgets but the workers' own slots.
  std::function<TaskBudgets::Standing(const LaneName& lane)> budgets = {};
  std::function<std::int64_t(const Namespace& ns, std::string_view queue)> most_queries = {};
};

class TaskQueues final : public Service {
 public:
  explicit TaskQueues(TaskQueuesParts parts) : parts_(std::move(parts)) {}

  void serve(Call call, Reply reply) override;

 private:
  void look(Call call, Reply reply);
  Answer answer(const Call& call, const QueueCensus& census) const;
  QueueSeen seen(const Namespace& ns, std::string name, const QueueCensus& census) const;

  const TaskQueuesParts parts_;
};

}  // namespace dw::server
