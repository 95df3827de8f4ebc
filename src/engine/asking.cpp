#include "engine/asking.hpp"

namespace dw::story {

FireTimer fire_timer(std::string id) {
  return {TimerId{std::move(id)}};
}

BeginAttempt begin_attempt(std::string id, std::string owner) {
  return {ActivityId{std::move(id)}, std::move(owner)};
}

engine::ActivityOutcome complete_attempt(std::string id, std::string attempt, std::string result) {
  return {ActivityId{std::move(id)}, AttemptId{std::move(attempt)}, json(std::move(result))};
}

engine::ActivityOutcome fail_attempt(std::string id, std::string attempt, history::Failure why) {
  return {ActivityId{std::move(id)}, AttemptId{std::move(attempt)}, std::move(why)};
}

CheckDeadline check_deadline() {
  return {};
}

ActivityDeadline activity_deadline(std::string id, std::optional<Timestamp> last_seen) {
  return {ActivityId{std::move(id)}, last_seen};
}

Heartbeat heartbeat(std::string id, std::string attempt, std::optional<Value> progress) {
  return {ActivityId{std::move(id)}, AttemptId{std::move(attempt)}, std::move(progress)};
}

Heartbeat unrecorded(Heartbeat beat) {
  beat.record = false;
  return beat;
}

Hear hear(history::EventBody says) {
  return {std::move(says)};
}

engine::StartCommand start(std::string type) {
  engine::StartCommand command;
  command.instance_id = InstanceId{type + "-1"};
  command.workflow_type = std::move(type);
  command.arguments = json("[]");
  return command;
}

engine::StartCommand start_or_join(std::string type) {
  auto command = start(std::move(type));
  command.duplicate_start_policy = engine::DuplicateStartPolicy::return_existing_active;
  return command;
}

engine::CloseCommand cancel(std::string reason) {
  return {engine::CloseCommand::Kind::cancel, std::move(reason), std::nullopt};
}

engine::CloseCommand terminate(std::string reason) {
  return {engine::CloseCommand::Kind::terminate, std::move(reason), std::nullopt};
}

engine::RepairCommand repair() {
  return {};
}

engine::ArchiveCommand archive(std::string reason) {
  return {std::move(reason)};
}

engine::SignalCommand signal(std::string name, std::string arguments) {
  return {std::move(name), json(std::move(arguments))};
}

engine::UpdateCommand update(std::string name, std::string arguments) {
  return {std::move(name), json(std::move(arguments))};
}

SignalWithStart signal_with_start(engine::StartCommand start, engine::SignalCommand signal) {
  return {std::move(start), std::move(signal)};
}

history::WorkflowStarted declaring(Declarations declared, history::WorkflowStarted started) {
  started.declared = std::move(declared);
  return started;
}

Declarations approve_and_rename() {
  return {.queries = {},
          .signals = {{.name = "approve",
                       .parameters = {{{.name = "who", .type = "string"},
                                       {.name = "level", .type = "int", .default_value = 1}}}}},
          .updates = {{.name = "rename", .parameters = {{{.name = "name", .type = "string"}}}}}};
}

std::vector<Told> and_then(std::vector<Told> before, std::vector<Told> more) {
  before.insert(before.end(), more.begin(), more.end());
  return before;
}

std::vector<Told> declared_run(std::vector<Told> more) {
  return and_then({start_accepted(command("c1", 1)),
                   declaring(approve_and_rename(), workflow_started("invoice"))},
                  std::move(more));
}

WorkflowTask workflow_task(std::vector<engine::WorkflowCommand> commands) {
  return {std::move(commands)};
}

WorkflowTask workflow_task_at(Timestamp code_time, std::vector<engine::WorkflowCommand> commands) {
  return {std::move(commands), code_time};
}

engine::ScheduleActivity schedule_activity(std::string type, history::RetryPolicy policy) {
  engine::ScheduleActivity command;
  command.activity_type = std::move(type);
  command.arguments = json("[]");
  command.retry_policy = std::move(policy);
  return command;
}

engine::StartTimer start_timer(std::chrono::seconds delay) {
  return {0, delay.count()};
}

engine::RecordSideEffect record_side_effect(std::string result) {
  return {0, json(std::move(result))};
}

engine::HandleFailure handle_failure(std::string id, std::int64_t step) {
  return {FailureId{std::move(id)}, step};
}

engine::RecordVersion record_version(std::string change_id, std::int64_t version) {
  return {0, std::move(change_id), version, -1, version};
}

engine::UpsertMemo upsert_memo(Value entries) {
  return {0, std::move(entries)};
}

engine::UpsertSearchAttributes upsert_search_attributes(Value attributes) {
  return {0, std::move(attributes)};
}

engine::OpenCondition open_condition(std::string key, std::optional<history::Seconds> timeout) {
  return {0, std::move(key), {}, timeout, false};
}

engine::OpenCondition condition_that_holds(std::string key,
                                           std::optional<history::Seconds> timeout) {
  return {0, std::move(key), {}, timeout, true};
}

engine::CloseCondition condition_holds(std::int64_t step) {
  return {step, true};
}

engine::CloseCondition condition_timed_out(std::int64_t step) {
  return {step, false};
}

engine::OpenSignalWait open_signal_wait(std::string name, std::optional<history::Seconds> timeout) {
  return {0, std::move(name), timeout};
}

engine::ApplySignal apply_signal(std::string id, std::int64_t step) {
  return {step, SignalId{std::move(id)}};
}

engine::ApplyUpdate apply_update(std::string id, std::string result) {
  return {UpdateId{std::move(id)}, 0, json(std::move(result))};
}

engine::FailUpdate fail_update(std::string id, history::Failure why) {
  return {UpdateId{std::move(id)}, "application", std::move(why)};
}

engine::StartChild start_child(std::string type, history::ParentClosePolicy policy) {
  engine::StartChild command;
  command.definition.workflow_type = std::move(type);
  command.arguments = json("[]");
  command.policy = policy;
  return command;
}

engine::SignalChild signal_child(std::string call, std::string command, std::string name,
                                 std::string arguments) {
  return {ChildCallId{std::move(call)}, CommandId{std::move(command)}, std::move(name),
          json(std::move(arguments))};
}

engine::ContinueAsNew continue_as_new(std::string type, std::string arguments) {
  return {0, {.workflow_type = std::move(type)}, json(std::move(arguments))};
}

engine::CompleteWorkflow complete_workflow(std::string output) {
  return {json(std::move(output))};
}

engine::FailWorkflow fail_workflow(history::Failure why, std::string category) {
  return {std::move(category), std::move(why)};
}

}  // namespace dw::story
