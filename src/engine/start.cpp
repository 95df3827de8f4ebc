// Starts, alone or with a signal.
#include "engine/parts.hpp"
#include "engine/standalone.hpp"

namespace dw::engine {
namespace {

// The first run of its instance, or the one after `before`.
void open_new(StartDecision& start, const StartCommand& command, const Run* before, Command facts,
              const Context& context) {
  start.opens_run = true;
  start.run_id = command.run_id.empty() ? RunId{context.ids.ulid()} : command.run_id;
  start.reply = accepted(facts, "started_new");

  WorkflowStarted event;
  event.ns = command.ns;
  event.instance_id = command.instance_id;
  event.run_number = before ? before->state.start.run_number + 1 : 1;
  event.workflow_type = command.workflow_type;
  event.workflow_class = command.workflow_class;
  event.fingerprint = command.fingerprint;
  event.declared = command.declared;
  event.arguments = command.arguments;
  event.connection = command.connection;
  event.queue = command.queue;
  event.compatibility = command.compatibility;
  event.business_key = command.business_key;
  event.labels = command.labels;
  event.memo = command.memo;
  event.search_attributes = command.search_attributes;
  event.execution_timeout = command.execution_timeout;
  event.run_timeout = command.run_timeout;
  event.precedence = command.precedence;
  if (before) event.answered_requests = answered_requests(*before);

  if (event.execution_timeout || event.run_timeout) {
    Run opened{start.run_id, {}, {}};
    opened.state.start = event;
    opened.state.started_at = context.now;
    Task deadline = task_for(opened, *deadline_key(opened), TaskType::workflow);
    deadline.subject = deadline_subject;
    start.decision.tasks.push_back(put(std::move(deadline)));
  }
  note_if_nearly_full(command.hosted ? command.hosted->arguments : command.arguments,
                      start.decision, context);
  start.decision.events.emplace_back(StartAccepted{std::move(facts), start.reply.outcome});
  if (command.hosted) return schedule_hosted(*command.hosted, std::move(event), start, context);
  start.decision.events.emplace_back(std::move(event));
  if (command.triggered) start.decision.events.emplace_back(*command.triggered);
  start.decision.wake = true;
}

// Why no run may be opened; nothing when one may. There is no run to number the command by.
std::optional<CommandOutcome> refusal_to_open(const StartCommand& command, const Command& facts,
                                              const Context& context) {
  std::optional<CommandOutcome> refused;
  const bool hosts = command.hosted.has_value();
  const Payload& arguments = hosts ? command.hosted->arguments : command.arguments;
  if (hosts != (command.workflow_type == standalone_type)) {
    refused = rejected(facts, "rejected_reserved_workflow_type", "reserved_workflow_type");
  } else if (command.compatibility_blocked) {
    refused = rejected(facts, "rejected_compatibility_blocked", "compatibility_blocked");
  } else if (const auto full = size_limit(arguments, context)) {
    refused = rejected(facts, *full);
  }
  if (refused) refused->sequence = 0;
  return refused;
}

}  // namespace

StartDecision decide_start(const Run* current, const StartCommand& command,
                           const Context& context) {
  StartDecision start;
  const auto last = current ? current->state.last_command_sequence : 0;
  Command facts = next_command(last, command.source, context);
  if (!current) {
    if (auto refused = refusal_to_open(command, facts, context)) {
      start.refusal = refusal_record("start", *refused);
      start.reply = *std::move(refused);
      return start;
    }
    open_new(start, command, nullptr, std::move(facts), context);
    return start;
  }
  start.run_id = current->id;
  if (command.duplicate_start_policy == DuplicateStartPolicy::return_existing_active &&
      current->state.open()) {
    start.reply = accepted(facts, "returned_existing_active");
    start.decision.events.emplace_back(StartAccepted{std::move(facts), start.reply.outcome});
  } else {
    start.reply = rejected(facts, "rejected_duplicate", "instance_already_started");
    start.decision.events.emplace_back(
        StartRejected{std::move(facts), start.reply.rejection_reason});
  }
  return start;
}

SignalWithStart decide_signal_with_start(const Run* current, const StartCommand& start,
                                         const SignalCommand& signal, const Context& context) {
  SignalWithStart both;
  CommandContext group;
  group.intake_mode = "signal_with_start";
  group.intake_group = context.ids.ulid();
  const Shared<CommandContext> shared{std::move(group)};

  // The signal is judged against the run it will meet, which may not be there yet.
  const bool joins = current && current->state.open();
  StartDecision& begun = both.start;
  Run run;
  if (joins) {
    run = *current;
    begun.run_id = run.id;
    Command facts = next_command(run.state.last_command_sequence, start.source, context);
    facts.context = shared;
    begun.reply = accepted(facts, "returned_existing_active");
    begun.decision.events.emplace_back(StartAccepted{std::move(facts), begun.reply.outcome});
  } else {
    Command facts = next_command(0, start.source, context);
    facts.context = shared;
    if (auto refused = refusal_to_open(start, facts, context)) {
      begun.reply = both.signal = *std::move(refused);
      if (current) both.signal.sequence = current->state.last_command_sequence + 1;
      both.refusal = refusal_record("start", both.signal);
      return both;
    }
    open_new(begun, start, current, std::move(facts), context);
    run.id = begun.run_id;
  }
  Run staged = run;
  stage(staged, begun.decision, context.now);

  SignalCommand grouped = signal;
  grouped.context = shared;
  auto received = decide_signal(staged, grouped, context);
  both.signal = std::move(received.reply);
  if (!both.signal.accepted) {
    // Nothing was started, so the start took no number.
    both.signal.sequence = current ? current->state.last_command_sequence + 1 : 0;
    both.refusal =
        refusal_record("signal", both.signal, signal.name,
                       too_large(signal.arguments, context) ? nullptr : &signal.arguments);
    begun = {};
    if (current) begun.run_id = current->id;
    return both;
  }
  for (EventBody& event : received.decision.events) {
    begun.decision.events.push_back(std::move(event));
  }
  for (const FullLimit& limit : received.decision.nearly_full) {
    note_if_nearly_full(limit, begun.decision);
  }
  begun.decision.wake = true;
  return both;
}

}  // namespace dw::engine
