// What callers ask of a run that is there: signal, update, cancel, terminate, archive.
#include "engine/parts.hpp"

#include <fmt/format.h>

namespace dw::engine {
namespace {

// Of a run whose code has declared nothing: any name, and arguments by position.
const Contract undeclared{};

const Contract* find(const std::vector<Contract>& contracts, std::string_view name) {
  const auto found = std::ranges::find(contracts, name, &Contract::name);
  return found == contracts.end() ? nullptr : &*found;
}

const Contract* find_signal(const Declarations& declared, std::string_view name) {
  const Contract* contract = find(declared.signals, name);
  return contract ? contract : find(declared.signals, any_signal);
}

// A request that was made before.
struct Earlier {
  CommandOutcome answer;
  bool another = false;  // of something else: its answer is not about what is asked now
};
std::optional<Earlier> asked_before(const RunState& state, const std::string& request_id,
                                    history::NamedRequest::Kind kind, std::string_view name,
                                    std::string outcome) {
  if (request_id.empty()) return std::nullopt;
  const auto known =
      std::ranges::find_if(state.requests, [&](const history::NamedRequest& request) {
        return request.request_id == request_id && request.kind == kind;
      });
  if (known == state.requests.end()) return std::nullopt;
  Earlier earlier{{true, std::move(outcome), {}, known->sequence, known->command}};
  earlier.answer.subject = known->subject;
  earlier.answer.run_id = known->run_id;
  earlier.answer.repeated = true;
  earlier.another = !known->name.empty() && known->name != name;
  return earlier;
}

// Why these arguments cannot be taken as well as what waits already; nothing when they can.
std::optional<FullLimit> no_room(const Payload& arguments, FullLimit waiting,
                                 const Context& context) {
  if (auto size = size_limit(arguments, context)) return size;
  if (waiting.configured > 0 && waiting.current >= waiting.configured) return waiting;
  return std::nullopt;
}

// It was taken; how far is it to the limit now?
void note_room(const Payload& arguments, FullLimit waiting, Decision& decision,
               const Context& context) {
  note_if_nearly_full(arguments, decision, context);
  ++waiting.current;
  note_if_nearly_full(waiting, decision);
}

}  // namespace

CheckedArguments check_arguments(const Contract& contract, const Payload& given,
                                 bool whole_if_unnamed) {
  const auto value = decode(given);
  if (!contract.parameters && (!value || value->if_array())) return {given, {}};
  if (!value) return {given, {{"arguments", {value.error().message}}}};
  const bool whole = whole_if_unnamed && !contract.parameters && value->if_map();
  auto bound = bind_arguments(contract, whole ? Value{Value::Array{*value}} : *value);
  if (!bound.ok()) return {given, std::move(bound.errors)};
  Value normal{std::move(bound.arguments)};
  if (normal == *value) return {given, {}};
  auto encoded = encode(normal, given.codec);
  if (!encoded) return {given, {{"arguments", {encoded.error().message}}}};
  return {*std::move(encoded), {}};
}

Value errors_value(const ValidationErrors& errors) {
  Value::Map map;
  for (const auto& [field, messages] : errors) {
    Value::Array list;
    for (const std::string& message : messages) list.emplace_back(message);
    map.emplace_back(field, std::move(list));
  }
  return map;
}

CommandDecision refuse_not_started(std::string_view command_type, const Context& context) {
  const Command facts{CommandId{context.ids.ulid()}, 0, {}};
  return refused(command_type, rejected(facts, "rejected_not_started", "instance_not_started"));
}

CommandDecision decide_signal(const Run& run, const SignalCommand& command,
                              const Context& context) {
  CommandDecision result;
  const RunState& state = run.state;
  using Kind = history::NamedRequest::Kind;
  auto before =
      asked_before(state, command.request_id, Kind::signal, command.name, "signal_received");
  if (before && !before->another) {
    result.reply = std::move(before->answer);
    return result;
  }
  Command facts = next_command(state.last_command_sequence, command.source, context);
  facts.request_id = command.request_id;
  if (!command.command_id.empty()) facts.id = command.command_id;
  facts.on_run = command.requested_run.has_value();
  facts.context = command.context;
  const std::string signal_id = context.ids.ulid();

  const auto refuse = [&](CommandOutcome why, ValidationErrors errors = {}) {
    result.reply = std::move(why);
    result.reply.subject = signal_id;
    result.reply.errors = std::move(errors);
    result.refusal =
        refusal_record("signal", result.reply, command.name,
                       too_large(command.arguments, context) ? nullptr : &command.arguments);
    return result;
  };
  if (before) {
    return refuse(rejected(facts, "rejected_request_id_conflict", "request_id_conflict"));
  }
  if (auto why = not_addressed(run, command.requested_run)) {
    return refuse(rejected(facts, why->first, why->second));
  }
  const auto& declared = state.start.declared;
  const Contract* contract = declared ? find_signal(*declared, command.name) : &undeclared;
  if (!contract) return refuse(rejected(facts, "rejected_unknown_signal", "unknown_signal"));
  auto checked = check_arguments(*contract, command.arguments, command.whole_if_unnamed);
  if (!checked.errors.empty()) {
    return refuse(rejected(facts, "rejected_invalid_arguments", "invalid_signal_arguments"),
                  std::move(checked.errors));
  }
  const FullLimit waiting{"pending_signal_count", std::ssize(state.signals),
                          context.settings.limits.pending_signals};
  if (const auto full = no_room(checked.arguments, waiting, context)) {
    return refuse(rejected(facts, *full));
  }

  note_room(checked.arguments, waiting, result.decision, context);
  SignalReceived event{facts, SignalId{signal_id}, command.name, std::move(checked.arguments), {}};
  const bool queued =
      std::ranges::find(state.signals, command.name, &PendingSignal::name) != state.signals.end();
  if (!queued) {
    for (const history::OpenSignalWait& wait : state.signal_waits) {
      if (wait.name == command.name) event.wait = wait.id.str();
    }
  }
  result.reply = accepted(facts, "signal_received");
  result.reply.subject = signal_id;
  result.decision.events.emplace_back(std::move(event));
  result.decision.wake = true;
  return result;
}

bool signal_is_unapplied(const RunState& state, const std::optional<TaskKey>& task,
                         bool code_elsewhere) {
  if (!code_elsewhere) return !state.signals.empty();
  return task && std::ranges::any_of(state.signals, [&](const PendingSignal& signal) {
           return signal.received_at >= task->available_at;
         });
}

CommandDecision decide_update(const Run& run, const UpdateCommand& command,
                              const Context& context) {
  CommandDecision result;
  const RunState& state = run.state;
  using Kind = history::NamedRequest::Kind;
  auto before = asked_before(state, command.request_id, Kind::update, command.name, {});
  if (before && !before->another) {
    result.reply = std::move(before->answer);
    return result;
  }
  Command facts = next_command(state.last_command_sequence, command.source, context);
  facts.request_id = command.request_id;
  facts.on_run = command.requested_run.has_value();
  const UpdateId id{context.ids.ulid()};

  // On a run that is there, a refusal is an event of it.
  const auto refuse = [&](CommandOutcome why, ValidationErrors errors = {}) {
    UpdateRejected event{
        facts, id, command.name, command.arguments, why.outcome, why.rejection_reason, {}};
    // What is too large to be accepted is too large to be kept: an empty list stands for it.
    if (too_large(command.arguments, context)) {
      event.arguments = encode(Value::Array{}).value();
    }
    if (!errors.empty()) event.validation_errors = errors_value(errors);
    result.decision.events.emplace_back(std::move(event));
    result.reply = std::move(why);
    result.reply.subject = id.str();
    result.reply.errors = std::move(errors);
    return result;
  };
  if (before) {
    return refuse(rejected(facts, "rejected_request_id_conflict", "request_id_conflict"));
  }
  if (auto why = not_addressed(run, command.requested_run)) {
    return refuse(rejected(facts, why->first, why->second));
  }
  const auto& declared = state.start.declared;
  const Contract* contract = declared           ? find(declared->updates, command.name)
                             : command.any_name ? &undeclared
                                                : nullptr;
  if (!contract) return refuse(rejected(facts, "rejected_unknown_update", "unknown_update"));
  auto checked = check_arguments(*contract, command.arguments, command.whole_if_unnamed);
  if (!checked.errors.empty()) {
    return refuse(rejected(facts, "rejected_invalid_arguments", "invalid_update_arguments"),
                  std::move(checked.errors));
  }
  if (!command.definition_available) {
    return refuse(rejected(facts, "rejected_workflow_definition_unavailable",
                           "workflow_definition_unavailable"));
  }
  if (!context.settings.updates_queue_behind_signals &&
      signal_is_unapplied(state, run.workflow_task, command.code_elsewhere)) {
    return refuse(rejected(facts, "rejected_pending_signal", "earlier_signal_pending"));
  }
  const FullLimit waiting{"pending_update_count", std::ssize(state.updates),
                          context.settings.limits.pending_updates};
  if (const auto full = no_room(checked.arguments, waiting, context)) {
    return refuse(rejected(facts, *full));
  }
  note_room(checked.arguments, waiting, result.decision, context);
  result.decision.events.emplace_back(
      UpdateAccepted{facts, id, command.name, std::move(checked.arguments)});
  result.decision.wake = true;
  result.reply = accepted(facts, {});
  result.reply.subject = id.str();
  return result;
}

CommandDecision decide_close(const Run& run, const CloseCommand& command, const Context& context) {
  CommandDecision result;
  const bool cancel = command.kind == CloseCommand::Kind::cancel;
  using Kind = history::NamedRequest::Kind;
  if (auto before =
          asked_before(run.state, command.request_id, cancel ? Kind::cancel : Kind::terminate, {},
                       cancel ? "cancelled" : "terminated")) {
    result.reply = std::move(before->answer);
    return result;
  }
  Command facts = next_command(run.state.last_command_sequence, command.source, context);
  facts.request_id = command.request_id;
  facts.on_run = command.requested_run.has_value();
  facts.context = command.context;
  if (auto why = not_addressed(run, command.requested_run)) {
    return refused(cancel ? "cancel" : "terminate", rejected(facts, why->first, why->second));
  }
  const FailureId failure{context.ids.ulid()};
  if (cancel) {
    result.reply = accepted(facts, "cancelled");
    result.decision.events.emplace_back(CancelRequested{std::move(facts), command.reason});
    close_run(run, {}, WorkflowCancelled{failure, command.reason}, result.decision, context);
  } else {
    result.reply = accepted(facts, "terminated");
    result.decision.events.emplace_back(TerminateRequested{std::move(facts), command.reason});
    close_run(run, {}, WorkflowTerminated{failure, command.reason}, result.decision, context);
  }
  result.reply.subject = command.reason;
  return result;
}

CommandDecision decide_archive(const Run& run, const ArchiveCommand& command,
                               const Context& context) {
  CommandDecision result;
  Command facts = next_command(run.state.last_command_sequence, command.source, context);
  if (!is_terminal(run.state.status)) {
    return refused("archive", rejected(facts, "rejected_run_not_closed", "run_not_closed"));
  }
  const bool first = !run.state.archived_at.has_value();
  const CommandId id = facts.id;
  result.reply = accepted(facts, first ? "archived" : "archive_not_needed");
  result.reply.subject = first ? command.reason : run.state.archive_reason;
  result.decision.events.emplace_back(
      ArchiveRequested{std::move(facts), result.reply.outcome, command.reason});
  if (first) result.decision.events.emplace_back(WorkflowArchived{id, command.reason});
  return result;
}

}  // namespace dw::engine
