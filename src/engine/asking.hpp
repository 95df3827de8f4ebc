// For tests: what can be asked of a run, in as few words as a story needs. See engine/given.hpp.
#pragma once
#include "engine/commands.hpp"
#include "history/event_builders.hpp"

namespace dw::story {

struct FireTimer {
  TimerId id;
};
struct BeginAttempt {
  ActivityId id;
  std::string owner;
};
struct WorkflowTask {
  std::vector<engine::WorkflowCommand> commands;
  std::optional<Timestamp> code_time = {};
};
struct CheckDeadline {};
// The workflow task cannot run here and now: it gets a row.
struct ParkWorkflowTask {
  bool blocked = false;
};

// The row that watches an activity's deadlines comes due; `last_seen` is a heartbeat that history
// does not hold.
struct ActivityDeadline {
  ActivityId id;
  std::optional<Timestamp> last_seen;
};
struct Heartbeat {
  ActivityId id;
  AttemptId attempt;
  std::optional<Value> progress;
  bool record = true;
};
struct SignalWithStart {
  engine::StartCommand start;
  engine::SignalCommand signal;
};
// Another run's word reaches this one.
struct Hear {
  history::EventBody says;
};

FireTimer fire_timer(std::string id);
BeginAttempt begin_attempt(std::string id, std::string owner = "worker-1");
engine::ActivityOutcome complete_attempt(std::string id, std::string attempt,
                                         std::string result = "null");
engine::ActivityOutcome fail_attempt(std::string id, std::string attempt,
                                     history::Failure why = failure("declined"));
CheckDeadline check_deadline();

ActivityDeadline activity_deadline(std::string id,
                                   std::optional<Timestamp> last_seen = std::nullopt);
Heartbeat heartbeat(std::string id, std::string attempt,
                    std::optional<Value> progress = std::nullopt);
// One that only renews the lease.
Heartbeat unrecorded(Heartbeat beat);
Hear hear(history::EventBody says);

engine::StartCommand start(std::string type);
engine::StartCommand start_or_join(std::string type);
engine::CloseCommand cancel(std::string reason = {});
engine::CloseCommand terminate(std::string reason = {});
engine::RepairCommand repair();
engine::ArchiveCommand archive(std::string reason = {});
engine::SignalCommand signal(std::string name, std::string arguments = "[]");
engine::UpdateCommand update(std::string name, std::string arguments = "[]");
// The same, of one run and no other.
template <typename Request>
Request on_run(std::string run, Request request) {
  request.requested_run = RunId{std::move(run)};
  return request;
}
SignalWithStart signal_with_start(engine::StartCommand start, engine::SignalCommand signal);

// The same run, answering to these.
history::WorkflowStarted declaring(Declarations declared, history::WorkflowStarted started);
// approve(string who, int level = 1) as a signal, rename(string name) as an update.
Declarations approve_and_rename();

// What came before, and then more.
std::vector<Told> and_then(std::vector<Told> before, std::vector<Told> more);
// A run that answers to these two, and then more.
std::vector<Told> declared_run(std::vector<Told> more = {});

// What workflow code did since it last parked; steps number themselves.
WorkflowTask workflow_task(std::vector<engine::WorkflowCommand> commands);
// The same elsewhere: for the code it was that time.
WorkflowTask workflow_task_at(Timestamp code_time, std::vector<engine::WorkflowCommand> commands);
engine::ScheduleActivity schedule_activity(std::string type = "charge",
                                           history::RetryPolicy policy = {});
engine::StartTimer start_timer(std::chrono::seconds delay);
engine::RecordSideEffect record_side_effect(std::string result);
engine::HandleFailure handle_failure(std::string id, std::int64_t step);
engine::RecordVersion record_version(std::string change_id, std::int64_t version = 1);
engine::UpsertMemo upsert_memo(Value entries);
engine::UpsertSearchAttributes upsert_search_attributes(Value attributes);
engine::OpenCondition open_condition(std::string key = {},
                                     std::optional<history::Seconds> timeout = {});
engine::OpenCondition condition_that_holds(std::string key = {},
                                           std::optional<history::Seconds> timeout = {});
// Of the condition that is waited for, unless told otherwise.
engine::CloseCondition condition_holds(std::int64_t step = 0);
engine::CloseCondition condition_timed_out(std::int64_t step = 0);
engine::OpenSignalWait open_signal_wait(std::string name,
                                        std::optional<history::Seconds> timeout = {});
// At the step that waits for it, or else at a new one.
engine::ApplySignal apply_signal(std::string id, std::int64_t step = 0);
engine::ApplyUpdate apply_update(std::string id, std::string result = "null");
engine::FailUpdate fail_update(std::string id, history::Failure why);
engine::StartChild start_child(
    std::string type = "payment",
    history::ParentClosePolicy policy = history::ParentClosePolicy::abandon);
engine::SignalChild signal_child(std::string call, std::string command, std::string name,
                                 std::string arguments = "[]");
engine::ContinueAsNew continue_as_new(std::string type = "invoice", std::string arguments = "[]");
engine::CompleteWorkflow complete_workflow(std::string output = "null");
engine::FailWorkflow fail_workflow(history::Failure why, std::string category = "application");

}  // namespace dw::story
