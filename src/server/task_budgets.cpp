#include "server/task_budgets.hpp"

#include "core/assert.hpp"
#include "server/waiting_offers.hpp"

#include <dw/value.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace dw::server {
namespace {

// As settings and operators call a limit, and where it is kept. Of two that leave the same, the
// first is named as the reason.
struct LimitEntry {
  std::string_view name;
  std::optional<std::int64_t> BudgetLimits::*limit;
  BudgetStanding::Use BudgetStanding::*use;
  bool of_leases = false;
};
constexpr LimitEntry limit_table[] = {
    {"max_active_leases_per_queue", &BudgetLimits::leases_per_queue, &BudgetStanding::queue_leases,
     true},
    {"max_active_leases_per_namespace", &BudgetLimits::leases_per_namespace,
     &BudgetStanding::namespace_leases, true},
    {"max_dispatches_per_minute", &BudgetLimits::dispatches_per_minute,
     &BudgetStanding::queue_dispatches},
    {"max_dispatches_per_minute_per_namespace", &BudgetLimits::dispatches_per_minute_per_namespace,
     &BudgetStanding::namespace_dispatches},
    {"max_dispatches_per_minute_per_budget_group", &BudgetLimits::dispatches_per_minute_per_group,
     &BudgetStanding::group_dispatches},
};

constexpr std::string_view group_key = "dispatch_budget_group";
constexpr std::string_view queries_key = "max_pending_per_queue";
constexpr std::int64_t usual_pending_queries = 1'024;
constexpr std::int64_t highest_limit = 1'000'000'000;
// More queries than that would find no room while they wait.
constexpr auto most_kept_queries = static_cast<std::int64_t>(WaitingOffers::most);

// ---- reading

// Goes through the JSON of the overrides; `path` is where it is: "orders.workflow_tasks".
class OverrideReader {
 public:
  static Result<std::map<std::string, QueueBudgets, std::less<>>> read(std::string_view text) {
    const auto parsed = parse_json(text);
    constexpr std::string_view an_object = R"(write {"queue": {"workflow_tasks": {…}}})";
    if (!parsed) return wrong(parsed.error().message, an_object);
    const auto* queues = parsed->if_map();
    if (!queues) return wrong("this is no object", an_object);
    std::map<std::string, QueueBudgets, std::less<>> overrides;
    for (const auto& [key, said] : *queues) {
      if (key.empty()) {
        return wrong("a key is empty", "write namespace:queue, namespace:*, queue or *");
      }
      const auto [budgets, is_new] = overrides.try_emplace(key);
      if (!is_new) return twice(key);
      DW_TRY_VOID(read_queue(key, said, budgets->second));
    }
    return overrides;
  }

 private:
  static Error wrong(std::string_view what, std::string_view instead) {
    return {ErrorCode::invalid_argument,
            fmt::format("admission.overrides (DW_TASK_QUEUE_ADMISSION_OVERRIDES): {}; {}", what,
                        instead)};
  }
  static Error twice(std::string_view path) {
    return wrong(fmt::format("{} is there twice", path), "keep one of them");
  }
  static Error unknown(std::string_view path, std::string_view key,
                       std::span<const std::string_view> known) {
    const auto close = nearest(key, known);
    return wrong(fmt::format("{} is not known", path),
                 close ? fmt::format("did you mean {}?", *close)
                       : fmt::format("there are {}", fmt::join(known, ", ")));
  }
  static Result<const Value::Map*> object(std::string_view path, const Value& value) {
    if (const auto* map = value.if_map()) return map;
    return wrong(fmt::format("{} must be an object", path), "write {} where nothing is said");
  }

  static Result<void> read_queue(const std::string& path, const Value& value,
                                 QueueBudgets& budgets) {
    std::set<std::string> seen;
    const Value::Map* entries = DW_TRY(object(path, value));
    for (const auto& [key, said] : *entries) {
      const std::string at = fmt::format("{}.{}", path, key);
      if (!seen.insert(key).second) return twice(at);
      if (key == "workflow_tasks") {
        DW_TRY_VOID(read_limits(at, said, budgets.workflow));
      } else if (key == "activity_tasks") {
        DW_TRY_VOID(read_limits(at, said, budgets.activity));
      } else if (key == "query_tasks") {
        DW_TRY_VOID(read_queries(at, said, budgets.pending_queries));
      } else {
        static constexpr std::string_view kinds[] = {"workflow_tasks", "activity_tasks",
                                                     "query_tasks"};
        return unknown(at, key, kinds);
      }
    }
    return {};
  }

  static Result<void> read_limits(const std::string& path, const Value& value,
                                  BudgetLimits& limits) {
    const Value::Map* entries = DW_TRY(object(path, value));
    for (const auto& [written, said] : *entries) {
      const std::string at = fmt::format("{}.{}", path, written);
      // Shorter names that the contract knows, too.
      const std::string_view key = written == "max_active_leases" ? "max_active_leases_per_queue"
                                   : written == "budget_group"    ? group_key
                                                                  : std::string_view{written};
      if (key == group_key) {
        const auto* name = said.if_string();
        if (!name || name->empty()) {
          return wrong(fmt::format("{} must be a text", at), "write what the group is called");
        }
        if (!limits.group.empty()) return twice(at);
        limits.group = *name;
        continue;
      }
      const auto entry = std::ranges::find(limit_table, key, &LimitEntry::name);
      if (entry == std::end(limit_table)) {
        std::vector<std::string_view> known{group_key};
        for (const LimitEntry& each : limit_table) known.push_back(each.name);
        return unknown(at, key, known);
      }
      DW_TRY_VOID(read_number(at, said, limits.*entry->limit));
    }
    return {};
  }

  static Result<void> read_queries(const std::string& path, const Value& value,
                                   std::optional<std::int64_t>& pending) {
    const Value::Map* entries = DW_TRY(object(path, value));
    for (const auto& [key, said] : *entries) {
      const std::string at = fmt::format("{}.{}", path, key);
      if (key != queries_key) return unknown(at, key, {&queries_key, 1});
      DW_TRY_VOID(read_number(at, said, pending));
    }
    return {};
  }

  // None is the absence of a limit, which is written by leaving it out: nobody should have to know
  // whether 0 stands for nothing or for everything.
  static Result<void> read_number(const std::string& path, const Value& value,
                                  std::optional<std::int64_t>& limit) {
    const auto* number = value.if_integer();
    if (!number || *number < 1 || *number > highest_limit) {
      return wrong(fmt::format("{} must be a whole number from 1 to {}, not {}", path,
                               highest_limit, to_json(value)),
                   "leave it out for no limit of its own");
    }
    if (limit) return twice(path);
    limit = *number;
    return {};
  }
};

void read_usual(const Settings& settings, std::string_view kind, BudgetLimits& limits) {
  for (const LimitEntry& entry : limit_table) {
    const std::string name = fmt::format("admission.{}_{}", kind, entry.name);
    // A group is named by overrides alone, and so is its limit.
    if (!find_setting(name) || !settings.given(name)) continue;
    limits.*entry.limit = settings.number(name);
  }
}

// ---- limits

const BudgetLimits& limits_in(const QueueBudgets& budgets, WorkKind kind) {
  return kind == WorkKind::activity ? budgets.activity : budgets.workflow;
}

bool sets_any(const QueueBudgets& budgets, bool of_leases) {
  return std::ranges::any_of(limit_table, [&](const LimitEntry& entry) {
    return entry.of_leases == of_leases &&
           (budgets.workflow.*entry.limit || budgets.activity.*entry.limit);
  });
}

}  // namespace

Result<BudgetSettings> parse_budgets(const Settings& settings) {
  BudgetSettings budgets;
  read_usual(settings, "workflow_task", budgets.usual.workflow);
  read_usual(settings, "activity_task", budgets.usual.activity);
  budgets.usual.pending_queries = settings.number("admission.query_task_max_pending_per_queue");
  const std::string& overrides = settings.text("admission.overrides");
  if (!overrides.empty()) budgets.overrides = DW_TRY(OverrideReader::read(overrides));
  return budgets;
}

// ---- how it stands

std::optional<std::int64_t> BudgetStanding::Use::left() const {
  if (!limit) return std::nullopt;
  return std::max<std::int64_t>(0, *limit - used.value_or(0));
}

std::string_view BudgetStanding::tightest() const {
  std::string_view name;
  std::optional<std::int64_t> least;
  for (const LimitEntry& entry : limit_table) {
    const auto left = (this->*entry.use).left();
    if (!left || (least && *left >= *least)) continue;
    least = left;
    name = entry.name;
  }
  return name;
}

std::int64_t BudgetStanding::room() const {
  auto least = std::numeric_limits<std::int64_t>::max();
  for (const LimitEntry& entry : limit_table) {
    least = std::min(least, (this->*entry.use).left().value_or(least));
  }
  return least;
}

// ---- the count

TaskBudgets::TaskBudgets(BudgetSettings settings) : settings_(std::move(settings)) {
  const auto note = [this](const QueueBudgets& budgets) {
    limits_leases_ |= sets_any(budgets, true);
    limits_dispatches_ |= sets_any(budgets, false);
  };
  note(settings_.usual);
  for (const auto& [key, budgets] : settings_.overrides) note(budgets);
}

bool TaskBudgets::counted(WorkKind kind) const {
  return limited() && (kind == WorkKind::workflow || kind == WorkKind::activity);
}

std::vector<const QueueBudgets*> TaskBudgets::said_about(const Namespace& ns,
                                                         std::string_view queue) const {
  std::vector<const QueueBudgets*> said;
  const auto look = [&](std::string_view key) {
    const auto found = settings_.overrides.find(key);
    if (found != settings_.overrides.end()) said.push_back(&found->second);
  };
  if (!settings_.overrides.empty()) {
    look(fmt::format("{}:{}", ns.view(), queue));
    look(fmt::format("{}:*", ns.view()));
    look(queue);
    look("*");
  }
  said.push_back(&settings_.usual);
  return said;
}

BudgetLimits TaskBudgets::limits_of(const LaneName& lane) const {
  BudgetLimits limits;
  for (const QueueBudgets* budgets : said_about(lane.ns, lane.queue)) {
    const BudgetLimits& said = limits_in(*budgets, lane.kind);
    if (limits.group.empty()) limits.group = said.group;
    for (const LimitEntry& entry : limit_table) {
      if (!(limits.*entry.limit)) limits.*entry.limit = said.*entry.limit;
    }
  }
  // A limit for groups is none for a queue that is in no group.
  if (limits.group.empty()) limits.dispatches_per_minute_per_group.reset();
  return limits;
}

std::int64_t TaskBudgets::count_of(const Counts& counts, const Scope& scope) {
  const auto found = counts.find(scope);
  return found == counts.end() ? 0 : found->second;
}

void TaskBudgets::add(Counts& counts, const Scope& scope, std::int64_t by) {
  const auto count = counts.try_emplace(scope, 0).first;
  count->second += by;
  DW_ASSERT(count->second >= 0, "nothing is given back that was not counted");
  if (count->second == 0) counts.erase(count);
}

void TaskBudgets::count_lease(const LaneName& lane, std::int64_t by) {
  add(lease_counts_, queue_of(lane), by);
  add(lease_counts_, namespace_of(lane), by);
}

void TaskBudgets::count_dispatch(const LaneName& lane, std::int64_t by) {
  add(dispatch_counts_, queue_of(lane), by);
  add(dispatch_counts_, namespace_of(lane), by);
  const std::string group = limits_of(lane).group;
  if (!group.empty()) add(dispatch_counts_, group_of(lane, group), by);
}

void TaskBudgets::pass_time(Timestamp now) {
  while (!by_expiry_.empty() && by_expiry_.begin()->first <= now) {
    drop(leases_.find(by_expiry_.begin()->second));
  }
  const auto minute = std::chrono::floor<std::chrono::minutes>(now);
  // Somebody who looked at the clock just before the minute ended may be late to tell: that is no
  // reason to begin anew. A clock that was set back by more is.
  if (minute == minute_ || minute == minute_ - std::chrono::minutes{1}) return;
  minute_ = minute;
  dispatch_counts_.clear();
  for (auto& [lane, reserved] : reserved_) reserved.this_minute = 0;
}

bool TaskBudgets::reserve(const LaneName& lane, Timestamp now) {
  if (!counted(lane.kind)) return true;
  if (room(lane, now) == 0) return false;
  count_lease(lane, 1);
  count_dispatch(lane, 1);
  Reserved& reserved = reserved_[lane];
  reserved.all += 1;
  reserved.this_minute += 1;
  return true;
}

std::int64_t TaskBudgets::room(const LaneName& lane, Timestamp now) {
  return standing(lane, now).room();
}

// Which of several reservations it was is not told. It is taken to be the oldest, and what is bound
// to be the newest: where they straddle the end of a minute, a dispatch may count that did not
// happen, but none goes uncounted that did.
void TaskBudgets::cancel(const LaneName& lane) {
  if (!counted(lane.kind)) return;
  const auto reserved = reserved_.find(lane);
  DW_ASSERT(reserved != reserved_.end(), "only what is reserved is cancelled");
  count_lease(lane, -1);
  if (reserved->second.this_minute == reserved->second.all) {
    count_dispatch(lane, -1);
    reserved->second.this_minute -= 1;
  }
  if (--reserved->second.all == 0) reserved_.erase(reserved);
}

void TaskBudgets::bind(const LaneName& lane, const TaskId& task, Duration span, Timestamp now) {
  if (!counted(lane.kind)) return;
  const auto reserved = reserved_.find(lane);
  DW_ASSERT(reserved != reserved_.end(), "only what is reserved is bound");
  if (reserved->second.this_minute > 0) reserved->second.this_minute -= 1;
  if (--reserved->second.all == 0) reserved_.erase(reserved);
  // What was reserved counts on, as this lease; one that the task had before does not.
  if (const auto before = leases_.find(task); before != leases_.end()) drop(before);
  leases_.emplace(task, Lease{lane, span, now + span});
  by_expiry_.emplace(now + span, task);
}

void TaskBudgets::drop(Leases::iterator lease) {
  count_lease(lease->second.lane, -1);
  by_expiry_.erase({lease->second.expires_at, lease->first});
  leases_.erase(lease);
}

void TaskBudgets::renew(const TaskId& task, Timestamp now) {
  const auto lease = leases_.find(task);
  if (lease == leases_.end()) return;
  by_expiry_.erase({lease->second.expires_at, task});
  lease->second.expires_at = now + lease->second.span;
  by_expiry_.emplace(lease->second.expires_at, task);
}

std::optional<LaneName> TaskBudgets::release(const TaskId& task) {
  const auto lease = leases_.find(task);
  if (lease == leases_.end()) return std::nullopt;
  LaneName lane = lease->second.lane;
  drop(lease);
  return lane;
}

std::optional<Timestamp> TaskBudgets::next_change(Timestamp now) {
  pass_time(now);
  std::optional<Timestamp> next;
  if (limits_leases_ && !by_expiry_.empty()) next = by_expiry_.begin()->first;
  if (limits_dispatches_ && !dispatch_counts_.empty()) {
    const Timestamp minute_ends = minute_ + std::chrono::minutes{1};
    next = std::min(next.value_or(minute_ends), minute_ends);
  }
  return next;
}

BudgetStanding TaskBudgets::standing(const LaneName& lane, Timestamp now) {
  if (!counted(lane.kind)) return {};
  pass_time(now);
  BudgetLimits limits = limits_of(lane);
  BudgetStanding standing;
  for (const LimitEntry& entry : limit_table) (standing.*entry.use).limit = limits.*entry.limit;
  standing.queue_leases.used = count_of(lease_counts_, queue_of(lane));
  standing.namespace_leases.used = count_of(lease_counts_, namespace_of(lane));
  standing.queue_dispatches.used = count_of(dispatch_counts_, queue_of(lane));
  standing.namespace_dispatches.used = count_of(dispatch_counts_, namespace_of(lane));
  standing.group = std::move(limits.group);
  if (!standing.group.empty()) {
    standing.group_dispatches.used = count_of(dispatch_counts_, group_of(lane, standing.group));
  }
  return standing;
}

std::int64_t TaskBudgets::most_pending_queries(const Namespace& ns, std::string_view queue) const {
  for (const QueueBudgets* budgets : said_about(ns, queue)) {
    if (budgets->pending_queries) return std::min(*budgets->pending_queries, most_kept_queries);
  }
  return usual_pending_queries;
}

}  // namespace dw::server
