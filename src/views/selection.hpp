// What a run waits for, of all that is open: the one wait that lists and repair speak of.
#pragma once
#include "views/account.hpp"
#include "views/sight.hpp"

namespace dw::views {

struct SelectedWait {
  std::string kind;  // update, activity, signal, timer, condition, workflow-task, child; or empty
  std::string id;
  std::string reason;
  std::string resume_source_kind;
  std::string resume_source_id;
  std::optional<Timestamp> started_at;
  std::optional<Timestamp> deadline_at;
};
SelectedWait select_wait(const Account& account, const Sight& sight);

// What workflow code has to look at, and why: the payload of its task, the same when the task is
// written first and when it is put back. Empty kind: nothing in particular.
struct Provenance {
  std::string wait_kind;
  std::string open_wait_id;
  std::string resume_source_kind;
  std::string resume_source_id;
  std::int64_t step = 0;
  std::string update_id;
  std::string signal_id;
  std::string signal_name;
  std::string signal_wait_id;
  std::string command_id;
  std::string timer_id;
  std::string condition_wait_id;
  std::string condition_key;
  std::string condition_fingerprint;
  std::string child_call_id;
  std::string child_run_id;
  std::string missing_id;                 // of the row that stands for a lost task
  std::optional<Timestamp> available_at;  // when there was something to look at
};
// Only what code has not seen; a generic one when nothing is open at all. Absent: it may wait. That
// there is something to see does not yet mean that repair could tell: see wants_workflow_task().
std::optional<Provenance> unseen_by_code(const Account& account);

// ---- the parts both are made of; null when there is none

const UpdateAccount* accepted_update(const Account& account);
// One that is pending and has no delivery row comes first: nobody is going to run it.
const ActivityAccount* open_activity(const Account& account, const Sight& sight);
// Received, and something waits for it. One that came early waits in peace.
const SignalAccount* applicable_signal(const Account& account);
const TimerAccount* pending_timer(const Account& account);  // a pure one
const ConditionAccount* open_condition(const Account& account);
const SignalWaitAccount* open_signal_wait(const Account& account);
// Its time is up, the code has not seen it, and nothing else is open.
const SignalWaitAccount* timed_out_signal_wait(const Account& account);
const ChildAccount* resolved_child(const Account& account);  // likewise
const ChildAccount* open_child(const Account& account);
const TimerAccount* find_timer(const Account& account, const TimerId& id);

}  // namespace dw::views
