#include "views/account.hpp"

#include "history/fold.hpp"

#include <algorithm>

namespace dw::views {
namespace {

using namespace dw::history;

// One event's place in the account. The fold has accepted it before, so what it speaks of is there.
class Enter {
 public:
  Enter(Account& account, const Event& event) : a_(account), event_(event) {}

  void operator()(const WorkflowStarted& e) {
    if (!e.lineage) return;
    for (const InheritedChild& child : e.lineage->inherited_children) {
      ChildAccount inherited;
      inherited.scheduled.call_id = child.call_id;
      inherited.scheduled.instance_id = child.instance_id;
      inherited.scheduled.policy = child.policy;
      inherited.opened_at = event_.recorded_at;
      inherited.run_id = child.run_id;
      inherited.source_status = "started";
      a_.children.push_back(std::move(inherited));
    }
  }

  // ---- activities

  void operator()(const ActivityScheduled& e) {
    by_code();
    ActivityAccount activity;
    activity.scheduled = e;
    activity.created_at = activity.available_at = event_.recorded_at;
    activity.status = "pending";
    activity.task = e.task;
    a_.activities.push_back(std::move(activity));
    note(a_.activities.back());
  }
  void operator()(const ActivityStarted& e) {
    ActivityAccount& activity = find(e.activity_id);
    end_attempt(activity, "expired");
    activity.status = "running";
    if (!activity.started_at) activity.started_at = event_.recorded_at;
    activity.attempts.push_back({e.attempt_id,
                                 e.attempt_number,
                                 activity.task,
                                 "running",
                                 e.lease_owner,
                                 event_.recorded_at,
                                 {},
                                 e.lease_expires_at,
                                 {}});
  }
  void operator()(const ActivityHeartbeatRecorded& e) {
    ActivityAccount& activity = find(e.activity_id);
    activity.last_heartbeat_at = event_.recorded_at;
    if (e.progress) activity.progress = e.progress;
    activity.attempts.back().last_heartbeat_at = event_.recorded_at;
    activity.attempts.back().lease_expires_at = e.lease_expires_at;
  }
  void operator()(const ActivityRetryScheduled& e) {
    ActivityAccount& activity = find(e.activity_id);
    end_attempt(activity, "failed");
    activity.status = "pending";
    activity.retry = e;
    activity.retry_of_task = std::exchange(activity.task, e.task);
    activity.available_at = later(event_.recorded_at, e.backoff_seconds);
  }
  void operator()(const ActivityCompleted& e) {
    end(find(e.activity_id), "completed").result = e.result;
  }
  void operator()(const ActivityFailed& e) {
    end(find(e.activity_id), "failed");
    raised(e.failure_id, "activity_execution", e.activity_id.str(), "activity",
           std::string{history::activity_failure_category(e.failure)}, e.failure);
  }
  void operator()(const ActivityTimedOut& e) {
    end(find(e.activity_id), "failed");
    raised(e.failure_id, "activity_execution", e.activity_id.str(), "timeout", "timeout",
           {"dw::ActivityTimedOut", "timeout", e.message, false});
  }
  void operator()(const ActivityCancelled& e) { end(find(e.activity_id), "cancelled"); }

  // ---- timers

  void operator()(const TimerScheduled& e) {
    by_code();
    TimerAccount timer{
        e, event_.recorded_at, later(event_.recorded_at, e.delay_seconds), "pending", {}, {}, {}};
    if (auto* wait = condition(e)) {
      wait->timer = e.timer_id;
      wait->deadline_at = timer.fire_at;
    }
    if (auto* wait = signal_wait(e)) {
      wait->timer = e.timer_id;
      wait->deadline_at = timer.fire_at;
    }
    a_.timers.push_back(std::move(timer));
    note(a_.timers.back());
  }
  void operator()(const TimerFired& e) {
    TimerAccount& timer = find(e.timer_id);
    timer.status = "fired";
    timer.fired_at = event_.recorded_at;
    if (auto* wait = condition(timer.scheduled)) {
      wait->source_status = "timeout_fired";
      wait->timeout_fired_at = event_.recorded_at;
    }
    if (auto* wait = signal_wait(timer.scheduled)) {
      wait->timeout_fired_at = event_.recorded_at;
      wait->fired_sequence = event_.sequence;
      // A signal that came before still wins.
      if (wait->open()) resolve(*wait, "timed_out");
    }
  }
  void operator()(const TimerCancelled& e) {
    TimerAccount& timer = find(e.timer_id);
    timer.status = "cancelled";
    timer.cancelled_at = event_.recorded_at;
    if (auto* wait = signal_wait(timer.scheduled); wait && wait->open()) {
      wait->source_status = "timeout_cancelled";
    }
  }

  // ---- signals, updates, conditions

  void operator()(const SignalReceived& e) {
    const WaitId wait = e.wait.empty() ? buffered_wait(e.command.id) : WaitId{e.wait};
    a_.signals.push_back({e, wait, event_.recorded_at, "received", {}});
    for (SignalWaitAccount& open : a_.signal_waits) {
      if (open.open() && open.opened.name == e.name) take(open, a_.signals.back());
    }
  }
  void operator()(const SignalWaitOpened& e) {
    by_code();
    SignalWaitAccount wait;
    wait.opened = e;
    wait.opened_at = event_.recorded_at;
    wait.source_status = "waiting";
    a_.signal_waits.push_back(std::move(wait));
    for (const SignalAccount& signal : a_.signals) {
      if (signal.source_status == "received" && signal.received.name == e.name) {
        take(a_.signal_waits.back(), signal);
        break;
      }
    }
  }
  void operator()(const SignalApplied& e) {
    by_code();
    SignalAccount& signal = *std::ranges::find(
        a_.signals, e.signal_id, [](const SignalAccount& s) { return s.received.signal_id; });
    resolve(signal, "applied");
    for (SignalWaitAccount& wait : a_.signal_waits) {
      if (wait.opened.wait_id != e.wait_id) continue;
      wait.signal = e.signal_id;
      resolve(wait, "applied");
    }
  }

  void operator()(const UpdateAccepted& e) {
    a_.updates.push_back({e, event_.recorded_at, "accepted", {}});
  }
  void operator()(const UpdateApplied&) { by_code(); }
  void operator()(const UpdateCompleted& e) {
    if (e.terminal_reason.empty()) by_code();
    for (UpdateAccount& update : a_.updates) {
      if (update.accepted.update_id != e.update_id) continue;
      update.source_status = e.failure ? "failed" : "completed";
      update.closed_at = event_.recorded_at;
      if (e.failure) {
        raised(e.failure_id, "workflow_command", update.accepted.command.id.str(), "update",
               e.category, *e.failure);
      }
    }
  }

  void operator()(const ConditionWaitOpened& e) {
    by_code();
    a_.conditions.push_back({e, event_.recorded_at, "waiting", {}, {}, {}, {}});
  }
  void operator()(const ConditionWaitSatisfied& e) { close(e.wait_id, "satisfied"); }
  void operator()(const ConditionWaitTimedOut& e) { close(e.wait_id, "timed_out"); }

  // ---- children

  void operator()(const ChildWorkflowScheduled& e) {
    by_code();
    ChildAccount child;
    child.scheduled = e;
    child.opened_at = event_.recorded_at;
    child.source_status = "scheduled";
    a_.children.push_back(std::move(child));
  }
  void operator()(const ChildRunStarted& e) {
    ChildAccount& child = find(e.call_id);
    child.run_id = e.run_id;
    child.run_number = e.run_number;
    child.source_status = "started";
  }
  void operator()(const ChildRunCompleted& e) {
    end(find(e.call_id), e.run_id, "completed", "completed");
  }
  void operator()(const ChildRunFailed& e) {
    end(find(e.call_id), e.run_id, "failed", e.closed_reason);
    raised(e.failure_id, "child_workflow_run", e.run_id.str(), "child", "child_workflow",
           e.failure);
  }
  void operator()(const ChildRunCancelled& e) {
    end(find(e.call_id), e.run_id, "cancelled", "cancelled");
    raised(e.failure_id, "child_workflow_run", e.run_id.str(), "cancelled", "cancelled",
           {"WorkflowCancelled", {}, e.message, false});
  }
  void operator()(const ChildRunTerminated& e) {
    end(find(e.call_id), e.run_id, "terminated", "terminated");
    raised(e.failure_id, "child_workflow_run", e.run_id.str(), "terminated", "terminated",
           {"WorkflowTerminated", {}, e.message, false});
  }
  void operator()(const ParentClosePolicyApplied& e) {
    ChildAccount& child = find(e.call_id);
    child.policy_outcome = "applied";
    child.policy_reason = e.reason;
  }
  void operator()(const ParentClosePolicyFailed& e) {
    ChildAccount& child = find(e.call_id);
    child.policy_outcome = "failed";
    child.policy_reason = e.reason;
    child.policy_error = e.error;
  }

  void operator()(const FailureHandled& e) {
    by_code();
    std::ranges::find(a_.failures, e.failure_id, &FailureAccount::id)->handled = true;
  }

  // ---- the end

  void operator()(const WorkflowCompleted&) { closed("closed"); }
  void operator()(const WorkflowContinuedAsNew&) { closed("continued"); }
  void operator()(const WorkflowFailed& e) {
    closed("closed");
    terminal(e.failure_id, "terminal", e.category, e.failure);
  }
  void operator()(const WorkflowTimedOut& e) {
    closed("closed");
    terminal(e.failure_id, "timeout", "timeout", failure_of(e));
  }
  void operator()(const WorkflowCancelled& e) {
    closed("cancelled");
    terminal(e.failure_id, "cancelled", "cancelled", failure_of(e));
  }
  void operator()(const WorkflowTerminated& e) {
    closed("terminated");
    terminal(e.failure_id, "terminated", "terminated", failure_of(e));
  }

  // ---- what is nobody's work

  void operator()(const SideEffectRecorded&) { by_code(); }
  void operator()(const VersionMarkerRecorded&) { by_code(); }
  void operator()(const SearchAttributesUpserted&) { by_code(); }
  void operator()(const MemoUpserted&) { by_code(); }
  void operator()(const ScheduleTriggered&) {}
  void operator()(const StartAccepted&) {}
  void operator()(const StartRejected&) {}
  void operator()(const UpdateRejected&) {}
  void operator()(const RepairRequested&) {}
  void operator()(const CancelRequested&) {}
  void operator()(const TerminateRequested&) {}
  void operator()(const ArchiveRequested&) {}
  void operator()(const WorkflowArchived&) {}

 private:
  void by_code() { a_.last_code_sequence = event_.sequence; }
  template <typename Work>
  void note(Work& work) {
    work.event_types.emplace_back(type_name(event_.body));
  }

  ActivityAccount& find(const ActivityId& id) {
    auto& found = *std::ranges::find(
        a_.activities, id, [](const ActivityAccount& a) { return a.scheduled.activity_id; });
    note(found);
    return found;
  }
  TimerAccount& find(const TimerId& id) {
    auto& found = *std::ranges::find(a_.timers, id,
                                     [](const TimerAccount& t) { return t.scheduled.timer_id; });
    note(found);
    return found;
  }
  ChildAccount& find(const ChildCallId& id) {
    return *std::ranges::find(a_.children, id,
                              [](const ChildAccount& c) { return c.scheduled.call_id; });
  }
  ConditionAccount* condition(const TimerScheduled& timer) {
    if (timer.kind != history::condition_timeout_kind) return nullptr;
    return &*std::ranges::find(a_.conditions, timer.wait, [](const ConditionAccount& wait) {
      return wait.opened.wait_id.str();
    });
  }
  SignalWaitAccount* signal_wait(const TimerScheduled& timer) {
    if (timer.kind != history::signal_timeout_kind) return nullptr;
    return &*std::ranges::find(a_.signal_waits, timer.wait, [](const SignalWaitAccount& wait) {
      return wait.opened.wait_id.str();
    });
  }

  void end_attempt(ActivityAccount& activity, std::string_view status) {
    if (!activity.running()) return;
    activity.attempts.back().status = status;
    activity.attempts.back().closed_at = event_.recorded_at;
  }
  ActivityAccount& end(ActivityAccount& activity, std::string_view status) {
    end_attempt(activity, status);
    activity.status = status;
    activity.closed_at = event_.recorded_at;
    return activity;
  }
  void end(ChildAccount& child, const RunId& run, std::string_view status,
           std::string_view reason) {
    child.run_id = run;
    child.source_status = status;
    child.closed_reason = reason;
    child.resolved_at = event_.recorded_at;
    child.resolved_sequence = event_.sequence;
  }
  template <typename Wait>
  void resolve(Wait& wait, std::string_view status) {
    wait.source_status = status;
    wait.resolved_at = event_.recorded_at;
  }
  void take(SignalWaitAccount& wait, const SignalAccount& signal) {
    wait.signal = signal.received.signal_id;
    resolve(wait, "received");
  }
  void close(const WaitId& id, std::string_view status) {
    by_code();
    for (ConditionAccount& wait : a_.conditions) {
      if (wait.opened.wait_id == id) resolve(wait, status);
    }
  }

  void closed(std::string_view as) {
    for (ConditionAccount& wait : a_.conditions) {
      if (!wait.resolved_at) resolve(wait, as);
    }
    for (SignalWaitAccount& wait : a_.signal_waits) {
      if (wait.open() || wait.source_status == "received") resolve(wait, as);
    }
    for (SignalAccount& signal : a_.signals) {
      if (!signal.resolved_at) resolve(signal, as);
    }
    if (as != "continued") return;
    // Updates that were meant for the instance go on with it; others fail in an event of their own.
    for (UpdateAccount& update : a_.updates) {
      if (update.closed_at || update.accepted.command.on_run) continue;
      update.source_status = as;
      update.closed_at = event_.recorded_at;
    }
  }

  void terminal(const FailureId& id, std::string_view propagation, std::string_view category,
                Failure failure) {
    raised(id, "workflow_run", a_.run_id.str(), propagation, category, std::move(failure));
  }
  void raised(const FailureId& id, std::string_view source_kind, std::string source_id,
              std::string_view propagation, std::string_view category, Failure failure) {
    a_.failures.push_back({id, std::string{source_kind}, std::move(source_id),
                           std::string{propagation}, std::string{category}, std::move(failure),
                           false, event_.recorded_at, event_.sequence});
  }

  Account& a_;
  const Event& event_;
};

}  // namespace

std::string Account::task_id(std::string_view suffix) const {
  if (suffix.empty()) return {};
  return run_id.str() + "." + std::string{suffix};
}

Result<Account> account_of(RunId run, std::span<const Event> events) {
  Account account;
  account.run_id = std::move(run);
  for (const Event& event : events) {
    DW_TRY_VOID(apply(account.state, event));
    std::visit(Enter{account, event}, event.body);
  }
  return account;
}

}  // namespace dw::views
