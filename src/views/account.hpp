// All that a run's events say about its work, finished or not. RunState forgets what is closed,
// because no decision needs it; operators ask about just that. Pure: same events, same account.
#pragma once
#include "history/run_state.hpp"

#include <span>

namespace dw::views {

struct AttemptAccount {
  AttemptId id;
  std::int64_t number = 0;
  std::string task;    // suffix of the task that delivered it
  std::string status;  // running, completed, failed, cancelled, expired
  std::string lease_owner;
  Timestamp started_at;
  std::optional<Timestamp> last_heartbeat_at;
  Timestamp lease_expires_at;
  std::optional<Timestamp> closed_at;
};

struct ActivityAccount {
  history::ActivityScheduled scheduled;
  Timestamp created_at;
  std::string status;                                    // pending, running, completed, …
  std::string task;                                      // suffix of the last delivery
  Timestamp available_at;                                // of that one
  std::optional<history::ActivityRetryScheduled> retry;  // the latest
  std::string retry_of_task;                             // suffix of the delivery before it
  std::optional<Timestamp> started_at;
  std::optional<Timestamp> closed_at;
  std::optional<Timestamp> last_heartbeat_at;
  std::optional<Value> progress;
  std::optional<Payload> result;
  std::vector<AttemptAccount> attempts;
  std::vector<std::string> event_types;

  bool open() const { return !closed_at; }
  bool running() const { return status == "running"; }
};

struct TimerAccount {
  history::TimerScheduled scheduled;
  Timestamp created_at;
  Timestamp fire_at;
  std::string status;  // pending, fired, cancelled
  std::optional<Timestamp> fired_at;
  std::optional<Timestamp> cancelled_at;
  std::vector<std::string> event_types;
};

struct ConditionAccount {
  history::ConditionWaitOpened opened;
  Timestamp opened_at;
  std::string source_status;  // waiting, timeout_fired, satisfied, timed_out, cancelled, …
  TimerId timer;              // that bounds it, or did
  std::optional<Timestamp> deadline_at;
  std::optional<Timestamp> timeout_fired_at;
  std::optional<Timestamp> resolved_at;
};

struct SignalWaitAccount {
  history::SignalWaitOpened opened;
  Timestamp opened_at;
  std::string source_status;  // waiting, received, applied, timed_out, …
  TimerId timer;
  std::optional<Timestamp> deadline_at;
  std::optional<Timestamp> timeout_fired_at;
  std::int64_t fired_sequence = 0;
  std::optional<Timestamp> resolved_at;
  SignalId signal;  // the one it got, or will get

  bool open() const { return source_status == "waiting" || source_status == "timeout_cancelled"; }
};

struct SignalAccount {
  history::SignalReceived received;
  WaitId wait;
  Timestamp received_at;
  std::string source_status;  // received, applied, cancelled, …
  std::optional<Timestamp> resolved_at;
};

struct UpdateAccount {
  history::UpdateAccepted accepted;
  Timestamp accepted_at;
  std::string source_status;  // accepted, completed, failed, continued
  std::optional<Timestamp> closed_at;
};

struct ChildAccount {
  history::ChildWorkflowScheduled scheduled;  // of an inherited one: no step, no type
  Timestamp opened_at;
  RunId run_id;
  std::int64_t run_number = 1;
  std::string source_status;  // scheduled, started, completed, failed, cancelled, …
  std::string closed_reason;
  std::optional<Timestamp> resolved_at;
  std::int64_t resolved_sequence = 0;
  std::string policy_outcome;  // applied, failed
  std::string policy_reason;
  std::string policy_error;
};

struct FailureAccount {
  FailureId id;
  std::string source_kind;
  std::string source_id;
  std::string propagation_kind;
  std::string category;
  history::Failure failure;
  bool handled = false;
  Timestamp created_at;
  std::int64_t sequence = 0;  // of the event
};

struct Account {
  RunId run_id;
  history::RunState state;
  std::vector<ActivityAccount> activities;  // each list in the order of its events
  std::vector<TimerAccount> timers;
  std::vector<ConditionAccount> conditions;
  std::vector<SignalWaitAccount> signal_waits;
  std::vector<SignalAccount> signals;
  std::vector<UpdateAccount> updates;
  std::vector<ChildAccount> children;
  std::vector<FailureAccount> failures;
  std::int64_t last_code_sequence = 0;  // of the last event that workflow code caused

  std::string task_id(std::string_view suffix) const;  // empty for an empty suffix
};

// Fails with corrupt_history where the fold does.
Result<Account> account_of(RunId run, std::span<const history::Event> events);

}  // namespace dw::views
