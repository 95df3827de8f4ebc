// How much a server lets go out to workers: so many leases at a time and so many dispatches in a
// minute, of a queue, of all queues of a namespace, and of those that share a budget group. Where
// nothing is said there is no limit.
//
// Pure: settings and the time go in, yes or no comes out. It keeps count in memory alone, and
// whoever owns it holds a lock around each call.
#pragma once
#include "server/matching.hpp"
#include "server/settings.hpp"

#include <map>
#include <unordered_map>

namespace dw::server {

// ---- what may be said

struct BudgetLimits {
  std::optional<std::int64_t> leases_per_queue = {};
  std::optional<std::int64_t> leases_per_namespace = {};
  std::optional<std::int64_t> dispatches_per_minute = {};
  std::optional<std::int64_t> dispatches_per_minute_per_namespace = {};
  std::optional<std::int64_t> dispatches_per_minute_per_group = {};
  std::string group = {};  // queues of a namespace that name the same one share its dispatches

  friend bool operator==(const BudgetLimits&, const BudgetLimits&) = default;
};

struct QueueBudgets {
  BudgetLimits workflow = {};
  BudgetLimits activity = {};
  std::optional<std::int64_t> pending_queries = {};

  friend bool operator==(const QueueBudgets&, const QueueBudgets&) = default;
};

struct BudgetSettings {
  QueueBudgets usual = {};
  // By "namespace:queue", "namespace:*", "queue" or "*". They are asked in this order, for each
  // limit anew: what the first does not say, the next may, and in the end `usual`.
  std::map<std::string, QueueBudgets, std::less<>> overrides = {};

  friend bool operator==(const BudgetSettings&, const BudgetSettings&) = default;
};

// The settings of the section `admission`. Fails with invalid_argument, naming the key that cannot
// be and what to write there.
Result<BudgetSettings> parse_budgets(const Settings& settings);

// ---- how it stands

// What one kind of a queue's tasks has used, and may use. Everything is absent while nobody counts.
struct BudgetStanding {
  struct Use {
    std::optional<std::int64_t> used = {};
    std::optional<std::int64_t> limit = {};
    std::optional<std::int64_t> left() const;
  };
  Use queue_leases = {};
  Use namespace_leases = {};
  Use queue_dispatches = {};  // all of these in this minute
  Use namespace_dispatches = {};
  Use group_dispatches = {};
  std::string group = {};

  // The limit that leaves least, as settings call it ("max_active_leases_per_queue"); of those that
  // leave the same, the first of the above. Empty when there is none.
  std::string_view tightest() const;
  // How many more may go out; without any limit, as many as there are numbers for.
  std::int64_t room() const;
};

// ---- the count

// A task that goes out is reserved first, at the moment when it is given to somebody. What became
// of that must be told once: it is bound when the lease is there, or cancelled. Every call that is
// told the time lets go of leases that have run out by then.
class TaskBudgets {
 public:
  using Standing = BudgetStanding;

  explicit TaskBudgets(BudgetSettings settings);

  // Is anything at all limited for workflow or activity tasks? If not, everything may go out and
  // nothing is counted. Queries and validations of updates always may, and never are.
  bool limited() const { return limits_leases_ || limits_dispatches_; }

  // May one more go out? If so it counts from now on, as a lease and as a dispatch of this minute.
  bool reserve(const LaneName& lane, Timestamp now);
  // How many times reserve() would say yes.
  std::int64_t room(const LaneName& lane, Timestamp now);
  // Nobody took it after all: neither the lease nor the dispatch has happened.
  void cancel(const LaneName& lane);
  // The reservation has become this lease, for that long unless it is renewed. A task that is bound
  // already, and went out again, is one lease and another dispatch.
  void bind(const LaneName& lane, const TaskId& task, Duration span, Timestamp now);
  // Its holder was heard of: it has as long again.
  void renew(const TaskId& task, Timestamp now);
  // The lease has ended; tells where there is more room for that. Nothing for an id that is not
  // bound: it ran out before, or was never counted.
  std::optional<LaneName> release(const TaskId& task);

  // When there may be more room without anybody's doing: the next lease runs out, or the next
  // minute begins.
  std::optional<Timestamp> next_change(Timestamp now);

  Standing standing(const LaneName& lane, Timestamp now);
  // Needs no lock: it is a setting, and nothing is counted.
  std::int64_t most_pending_queries(const Namespace& ns, std::string_view queue) const;

  // Nobody holds anything, and nothing has gone out in this minute: nothing is remembered.
  bool empty() const { return leases_.empty() && reserved_.empty() && dispatch_counts_.empty(); }

 private:
  // What is counted together.
  enum class Over { queue, whole_namespace, group };
  struct Scope {
    Over over = Over::queue;
    WorkKind kind = WorkKind::workflow;
    Namespace ns;
    std::string name = {};  // of the queue or the group
    friend auto operator<=>(const Scope&, const Scope&) = default;
  };
  // No count is zero: names come from outside, and nobody else would remove what they leave behind.
  using Counts = std::map<Scope, std::int64_t>;
  struct Lease {
    LaneName lane;
    Duration span;
    Timestamp expires_at;
  };
  using Leases = std::unordered_map<TaskId, Lease>;
  // That are neither bound nor cancelled yet, and how many of them were made in this minute.
  struct Reserved {
    std::int64_t all = 0;
    std::int64_t this_minute = 0;
  };

  bool counted(WorkKind kind) const;
  std::vector<const QueueBudgets*> said_about(const Namespace& ns, std::string_view queue) const;
  BudgetLimits limits_of(const LaneName& lane) const;
  static Scope queue_of(const LaneName& lane) {
    return {Over::queue, lane.kind, lane.ns, lane.queue};
  }
  static Scope namespace_of(const LaneName& lane) {
    return {Over::whole_namespace, lane.kind, lane.ns};
  }
  static Scope group_of(const LaneName& lane, const std::string& group) {
    return {Over::group, lane.kind, lane.ns, group};
  }
  static std::int64_t count_of(const Counts& counts, const Scope& scope);
  static void add(Counts& counts, const Scope& scope, std::int64_t by);
  void count_lease(const LaneName& lane, std::int64_t by);
  void count_dispatch(const LaneName& lane, std::int64_t by);
  void drop(Leases::iterator lease);
  void pass_time(Timestamp now);

  const BudgetSettings settings_;
  bool limits_leases_ = false;
  bool limits_dispatches_ = false;
  std::chrono::sys_time<std::chrono::minutes> minute_ = {};
  Counts dispatch_counts_;  // of that minute
  Counts lease_counts_;     // bound or reserved
  std::map<LaneName, Reserved> reserved_;
  Leases leases_;
  std::set<std::pair<Timestamp, TaskId>> by_expiry_;
};

}  // namespace dw::server
