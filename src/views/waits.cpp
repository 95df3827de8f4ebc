#include "views/waits.hpp"

#include "views/row_value.hpp"
#include "views/transport.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dw::views {
namespace {

class WaitRows {
 public:
  WaitRows(const Account& account, const Sight& sight)
      : account_(account), sight_(sight), code_(open_workflow_task(sight)) {}

  std::vector<WaitRow> take() {
    for (const auto& activity : account_.activities) add(activity);
    for (const auto& timer : account_.timers) {
      if (timer.scheduled.kind.empty()) add(timer);
    }
    for (const auto& wait : account_.conditions) add(wait);
    for (const auto& wait : account_.signal_waits) add(wait);
    for (const auto& signal : account_.signals) add(signal);
    for (const auto& update : account_.updates) add(update);
    for (const auto& child : account_.children) {
      if (child.scheduled.step != 0) add(child);
    }
    for (const auto& row : sight_.foreign.activities) foreign(row);
    for (const auto& row : sight_.foreign.timers) foreign(row);
    for (const auto& row : sight_.foreign.children) foreign(row);
    std::ranges::stable_sort(rows_, {}, [](const WaitRow& row) {
      return std::tuple{rank(row.status), row.opened_at, row.id};
    });
    return std::move(rows_);
  }

 private:
  static int rank(std::string_view status) {
    return status == "open" ? 0 : status == "resolved" ? 1 : status == "cancelled" ? 2 : 3;
  }
  static std::string status_of(std::string_view source) {
    static constexpr std::string_view open[] = {"pending",           "running",       "waiting",
                                                "timeout_cancelled", "timeout_fired", "accepted",
                                                "scheduled",         "started"};
    static constexpr std::string_view cancelled[] = {"cancelled", "terminated", "continued",
                                                     "closed"};
    if (std::ranges::find(open, source) != std::end(open)) return "open";
    return std::ranges::find(cancelled, source) != std::end(cancelled) ? "cancelled" : "resolved";
  }

  WaitRow& row(std::string_view kind, std::string id, std::int64_t step, std::string source_status,
               Timestamp opened_at, std::optional<Timestamp> resolved_at) {
    WaitRow& added = rows_.emplace_back();
    added.id = std::move(id);
    added.kind = kind;
    added.step = step;
    added.status = status_of(source_status);
    added.source_status = std::move(source_status);
    added.opened_at = opened_at;
    added.resolved_at = resolved_at;
    return added;
  }
  void resumes(WaitRow& wait, std::string_view kind, std::string id) {
    wait.resume_source_kind = kind;
    wait.resume_source_id = std::move(id);
  }
  // The delivery that history names; it may be long gone.
  void backed_by(WaitRow& wait, std::string_view suffix, std::string_view type) {
    if (suffix.empty()) return;
    wait.task_id = account_.task_id(suffix);
    wait.task_type = type;
    if (const Delivery* task = find_delivery(sight_, wait.task_id)) {
      wait.task_status = to_string(task->task.status);
      wait.task_backed = wait.status == "open" && task->open();
    }
  }
  void backed_by_code(WaitRow& wait) {
    if (wait.status != "open" || !code_) return;
    wait.task_id = code_->task.key.id.str();
    wait.task_type = "workflow";
    wait.task_status = to_string(code_->task.status);
    wait.task_backed = true;
  }
  void commanded(WaitRow& wait, const history::Command& command, std::string outcome) {
    wait.command_id = command.id.str();
    wait.command_sequence = command.sequence;
    wait.command_status = "accepted";
    wait.command_outcome = std::move(outcome);
  }
  void bounded(WaitRow& wait, const TimerId& timer_id) {
    const TimerAccount* timer = find_timer(account_, timer_id);
    if (!timer) return;
    wait.timer_id = timer_id.str();
    resumes(wait, "timer", wait.timer_id);
    if (timer->status == "fired") {
      backed_by_code(wait);
    } else {
      backed_by(wait, timer->scheduled.task, "timer");
    }
  }

  void add(const ActivityAccount& activity) {
    const auto& scheduled = activity.scheduled;
    const auto& id = scheduled.activity_id.str();
    auto& wait = row("activity", "activity:" + id, scheduled.step, activity.status,
                     activity.created_at, activity.closed_at);
    wait.summary = fmt::format("activity {}", scheduled.activity_type);
    wait.target_name = wait.target_type = scheduled.activity_type;
    wait.group = scheduled.group;
    if (activity.running()) wait.deadline_at = activity.attempts.back().lease_expires_at;
    resumes(wait, "activity_execution", id);
    backed_by(wait, activity.task, scheduled.local ? "workflow" : "activity");
    for (const auto& other : sight_.foreign.activities) {
      if (other.id == scheduled.activity_id) wait.authority.row_status = other.status;
    }
  }
  void add(const TimerAccount& timer) {
    const auto& id = timer.scheduled.timer_id.str();
    auto& wait = row("timer", "timer:" + id, timer.scheduled.step, timer.status, timer.created_at,
                     timer.fired_at ? timer.fired_at : timer.cancelled_at);
    wait.summary = fmt::format("timer of {} seconds", timer.scheduled.delay_seconds);
    wait.deadline_at = timer.fire_at;
    wait.timer_id = id;
    resumes(wait, "timer", id);
    backed_by(wait, timer.scheduled.task, "timer");
    for (const auto& other : sight_.foreign.timers) {
      if (other.id == timer.scheduled.timer_id) wait.authority.row_status = other.status;
    }
  }
  void add(const ConditionAccount& condition) {
    const auto& opened = condition.opened;
    auto& wait = row("condition", opened.wait_id.str(), opened.step, condition.source_status,
                     condition.opened_at, condition.resolved_at);
    wait.summary = opened.key.empty() ? "condition" : "condition " + opened.key;
    wait.target_name = opened.key;
    wait.external_only = true;
    wait.condition_wait_id = opened.wait_id.str();
    wait.condition_key = opened.key;
    wait.condition_fingerprint = opened.fingerprint;
    wait.timeout_seconds = opened.timeout;
    wait.deadline_at = condition.deadline_at;
    wait.timeout_fired_at = condition.timeout_fired_at;
    resumes(wait, "external_input", {});
    bounded(wait, condition.timer);
  }
  void add(const SignalWaitAccount& account) {
    const auto& opened = account.opened;
    auto& wait = row("signal", opened.wait_id.str(), opened.step, account.source_status,
                     account.opened_at, account.resolved_at);
    wait.summary = "signal " + opened.name;
    wait.target_name = opened.name;
    wait.external_only = account.timer.empty();
    wait.signal_wait_id = opened.wait_id.str();
    wait.signal_id = account.signal.str();
    wait.timeout_seconds = opened.timeout;
    wait.deadline_at = account.deadline_at;
    wait.timeout_fired_at = account.timeout_fired_at;
    resumes(wait, "signal", {});
    bounded(wait, account.timer);
    for (const auto& signal : account_.signals) {
      if (signal.received.signal_id == account.signal) {
        commanded(wait, signal.received.command, "signal_received");
      }
    }
  }
  // Received and not yet applied is a wait of its own: for the code.
  void add(const SignalAccount& signal) {
    const auto& id = signal.received.signal_id.str();
    auto& wait = row("signal", "signal-application:" + id, 0, signal.source_status,
                     signal.received_at, signal.resolved_at);
    if (!signal.resolved_at) wait.status = "open";
    wait.summary = fmt::format("application of signal {}", signal.received.name);
    wait.target_name = signal.received.name;
    wait.signal_id = id;
    wait.signal_wait_id = signal.wait.str();
    resumes(wait, "workflow_signal", id);
    commanded(wait, signal.received.command, "signal_received");
    backed_by_code(wait);
  }
  void add(const UpdateAccount& update) {
    const auto& id = update.accepted.update_id.str();
    auto& wait = row("update", "update:" + id, 0, update.source_status, update.accepted_at,
                     update.closed_at);
    wait.summary = "update " + update.accepted.name;
    wait.target_name = update.accepted.name;
    wait.update_id = id;
    resumes(wait, "workflow_update", id);
    commanded(wait, update.accepted.command,
              update.source_status == "completed" ? "update_completed"
              : update.source_status == "failed"  ? "update_failed"
                                                  : "");
    backed_by_code(wait);
  }
  void add(const ChildAccount& child) {
    const auto& scheduled = child.scheduled;
    auto& wait = row("child", "child:" + scheduled.call_id.str(), scheduled.step,
                     child.source_status, child.opened_at, child.resolved_at);
    // The parent's end closes the wait, not the child.
    if (wait.status == "open" && !account_.state.open()) {
      wait.status = "cancelled";
      wait.resolved_at = account_.state.closed_at;
    }
    wait.summary = fmt::format("child {}", scheduled.workflow_type);
    wait.target_name = scheduled.instance_id.str();
    wait.target_type = scheduled.workflow_type;
    wait.group = scheduled.group;
    wait.child_call_id = scheduled.call_id.str();
    wait.child_run_id = child.run_id.str();
    resumes(wait, "child_workflow_run", wait.child_run_id);
    for (const auto& other : sight_.foreign.children) {
      if (other.call_id == scheduled.call_id) wait.authority.row_status = other.status;
    }
  }

  // A row that no event speaks of: shown, so that somebody can wonder; nothing resumes from it.
  WaitRow* unknown(std::string_view kind, std::string id, std::int64_t step,
                   const std::string& row_status, std::optional<Timestamp> opened_at) {
    for (const WaitRow& known : rows_) {
      if (known.id == id) return nullptr;
    }
    WaitRow& wait = rows_.emplace_back();
    wait.id = std::move(id);
    wait.kind = kind;
    wait.step = step;
    wait.authority = foreign_authority(kind, row_status);
    const bool unsupported = wait.authority.unsupported();
    wait.status = unsupported ? "unsupported" : "open";
    wait.source_status = unsupported ? "unsupported" : row_status;
    wait.opened_at = opened_at;
    wait.summary = fmt::format("{} known only from a row", kind);
    return &wait;
  }
  void foreign(const ForeignActivity& other) {
    auto* wait = unknown("activity", "activity:" + other.id.str(), other.step, other.status,
                         other.created_at);
    if (wait) wait->target_name = wait->target_type = other.type;
  }
  void foreign(const ForeignTimer& other) {
    auto* wait =
        unknown("timer", "timer:" + other.id.str(), other.step, other.status, other.created_at);
    if (!wait) return;
    wait->timer_id = other.id.str();
    if (!wait->authority.unsupported()) wait->deadline_at = other.fire_at;
  }
  void foreign(const ForeignChild& other) {
    auto* wait = unknown("child", "child:" + other.call_id.str(), other.step, other.status,
                         other.created_at);
    if (!wait) return;
    wait->target_name = other.instance_id.str();
    wait->target_type = other.workflow_type;
    wait->child_call_id = other.call_id.str();
    wait->child_run_id = other.run_id.str();
  }

  const Account& account_;
  const Sight& sight_;
  const Delivery* code_;
  std::vector<WaitRow> rows_;
};

}  // namespace

std::vector<WaitRow> wait_rows(const Account& account, const Sight& sight) {
  return WaitRows{account, sight}.take();
}

std::int64_t open_wait_count(std::span<const WaitRow> rows) {
  return std::ranges::count(rows, "open", &WaitRow::status);
}

Value to_value(const WaitRow& w) {
  RowValue row;
  row("id", w.id)("kind", w.kind);
  row("sequence", w.step ? std::optional{w.step} : std::nullopt)("status", w.status);
  row("source_status", w.source_status)("summary", w.summary)("opened_at", w.opened_at);
  row("deadline_at", w.deadline_at)("resolved_at", w.resolved_at);
  row("target_name", w.target_name)("target_type", w.target_type)("task_backed", w.task_backed);
  row("external_only", w.external_only)("resume_source_kind", w.resume_source_kind);
  row("resume_source_id", w.resume_source_id)("task_id", w.task_id)("task_type", w.task_type);
  row("task_status", w.task_status)("command_id", w.command_id);
  row("command_sequence", w.command_sequence)("command_status", w.command_status);
  row("command_outcome", w.command_outcome);
  row("history_authority", w.authority.history_authority);
  row("history_unsupported_reason", w.authority.unsupported_reason);
  row("row_status", w.authority.row_status)("diagnostic_only", !w.authority.typed());
  add_group(row, w.group);
  row("condition_wait_id", w.condition_wait_id)("condition_key", w.condition_key);
  row("condition_definition_fingerprint", w.condition_fingerprint);
  row("timeout_seconds", w.timeout_seconds)("timeout_fired_at", w.timeout_fired_at);
  row("timer_id", w.timer_id)("signal_wait_id", w.signal_wait_id)("signal_id", w.signal_id);
  row("child_call_id", w.child_call_id)("child_workflow_run_id", w.child_run_id);
  row("update_id", w.update_id);
  return row.take();
}

}  // namespace dw::views
