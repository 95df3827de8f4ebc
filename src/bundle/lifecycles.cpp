#include "bundle/lifecycles.hpp"

#include "bundle/tree.hpp"
#include "core/base64.hpp"
#include "core/external_payload.hpp"
#include "views/row_value.hpp"

#include <algorithm>
#include <unordered_map>

namespace dw::bundle {
namespace {

using namespace dw::history;
using views::RowValue;

// One command from its acceptance or refusal to the end of what it caused.
struct Asked {
  Command command;
  std::string type;
  std::string target_name;
  std::string status = "accepted";
  std::string outcome;
  std::string rejection_reason;
  std::string reason;
  std::optional<Payload> arguments;
  std::optional<Value> validation_errors;
  Timestamp at;

  // Of a signal or an update.
  std::string subject_id;
  std::string wait_id;
  std::string subject_status;
  std::optional<std::int64_t> step;
  std::optional<Payload> result;
  FailureId failure_id;
  std::optional<Failure> failure;
  std::optional<Timestamp> applied_at;
  std::optional<Timestamp> closed_at;

  bool rejected() const { return status == "rejected"; }
};

class Reader {
 public:
  explicit Reader(const views::Account& account) : account_(account) {
    for (const auto& wait : account_.signal_waits) {
      steps_.emplace(wait.opened.wait_id.str(), wait.opened.step);
    }
  }

  void read(const Event& event) {
    at_ = event.recorded_at;
    std::visit(
        overloaded{
            [&](const StartAccepted& e) { started(e); },
            [&](const StartRejected& e) {
              refused(add("start", e.command), "rejected_duplicate", e.rejection_reason);
            },
            [&](const SignalReceived& e) { received(e); },
            [&](const SignalApplied& e) { applied(e); },
            [&](const UpdateAccepted& e) {
              subject(add("update", e.command), e.update_id.str(), e.name, e.arguments, "accepted");
            },
            [&](const UpdateRejected& e) { rejected(e); },
            [&](const UpdateApplied& e) { applied(e); },
            [&](const UpdateCompleted& e) { completed(e); },
            [&](const RepairRequested& e) { add("repair", e.command).outcome = e.outcome; },
            [&](const CancelRequested& e) { closes("cancel", "cancelled", e.command, e.reason); },
            [&](const TerminateRequested& e) {
              closes("terminate", "terminated", e.command, e.reason);
            },
            [&](const ArchiveRequested& e) { closes("archive", e.outcome, e.command, e.reason); },
            // Nobody asked for these: they follow from what was asked.
            [](const auto&) {}},
        event.body);
  }

  Result<void> read(const Refusal& refusal) {
    const Value record = DW_TRY(parse_json(refusal.record));
    const Value* sequence = record.find("command_sequence");
    if (text_at(record, "type") != "CommandRecorded" || !sequence || !sequence->if_integer()) {
      return Error{ErrorCode::invalid_argument,
                   "a refusal of run " + account_.run_id.str() + " is no CommandRecorded"};
    }
    at_ = refusal.recorded_at;
    const Command command{CommandId{text_at(record, "id")}, *sequence->if_integer(),
                          text_at(record, "source")};
    Asked& asked = add(text_at(record, "command_type"), command);
    refused(asked, text_at(record, "outcome"), text_at(record, "rejection_reason"));
    asked.target_name = text_at(record, "target_name");
    asked.subject_id = text_at(record, "signal_id");
    asked.subject_status = asked.subject_id.empty() ? "" : "rejected";
    if (const Value* arguments = record.find("arguments")) asked.arguments = envelope(*arguments);
    if (const Value* errors = record.find("validation_errors")) asked.validation_errors = *errors;
    return {};
  }

  std::vector<Asked> take() {
    // A signal that was never applied shares the end of its run.
    for (const auto& signal : account_.signals) {
      Asked* asked = find(signal.received.signal_id.str());
      asked->subject_status = signal.source_status;
      asked->closed_at = signal.resolved_at;
    }
    for (const auto& update : account_.updates) {
      Asked* asked = find(update.accepted.update_id.str());
      asked->subject_status = update.source_status;
      asked->closed_at = update.closed_at;
    }
    std::ranges::stable_sort(asked_, {}, [](const Asked& a) { return a.command.sequence; });
    return std::move(asked_);
  }

 private:
  Asked& add(std::string type, Command command) {
    Asked& asked = asked_.emplace_back();
    asked.command = std::move(command);
    asked.type = std::move(type);
    asked.at = at_;
    return asked;
  }
  Asked* find(const std::string& subject_id) {
    const auto found = by_subject_.find(subject_id);
    return found == by_subject_.end() ? nullptr : &asked_[found->second];
  }
  static void refused(Asked& asked, std::string outcome, std::string reason) {
    asked.status = "rejected";
    asked.outcome = std::move(outcome);
    asked.rejection_reason = std::move(reason);
  }
  // Of the command that was added last.
  void subject(Asked& asked, std::string id, std::string name, Payload arguments,
               std::string status) {
    by_subject_.emplace(id, asked_.size() - 1);
    asked.subject_id = std::move(id);
    asked.target_name = std::move(name);
    asked.arguments = std::move(arguments);
    asked.subject_status = std::move(status);
  }

  void started(const StartAccepted& e) {
    Asked& asked = add("start", e.command);
    asked.outcome = e.outcome;
    // Of a start that found the run open, the arguments were not taken.
    if (e.outcome == "started_new") asked.arguments = account_.state.start.arguments;
  }
  void received(const SignalReceived& e) {
    Asked& asked = add("signal", e.command);
    asked.outcome = "signal_received";
    asked.wait_id = e.wait.empty() ? buffered_wait(e.command.id).str() : e.wait;
    subject(asked, e.signal_id.str(), e.name, e.arguments, "received");
  }
  void applied(const SignalApplied& e) {
    Asked* asked = find(e.signal_id.str());
    asked->applied_at = at_;
    asked->wait_id = e.wait_id.str();
    const auto step = steps_.find(asked->wait_id);
    if (step != steps_.end()) asked->step = step->second;
  }
  void rejected(const UpdateRejected& e) {
    Asked& asked = add("update", e.command);
    subject(asked, e.update_id.str(), e.name, e.arguments, "rejected");
    refused(asked, e.outcome, e.rejection_reason);
    asked.validation_errors = e.validation_errors;
    asked.closed_at = at_;
  }
  void applied(const UpdateApplied& e) {
    Asked* asked = find(e.update_id.str());
    asked->applied_at = at_;
    if (e.step > 0) asked->step = e.step;  // workers elsewhere apply it without one
  }
  void completed(const UpdateCompleted& e) {
    Asked* asked = find(e.update_id.str());
    asked->outcome = e.failure ? "update_failed" : "update_completed";
    asked->result = e.result;
    asked->failure_id = e.failure_id;
    asked->failure = e.failure;
  }
  void closes(std::string type, std::string outcome, const Command& by, std::string reason) {
    Asked& asked = add(std::move(type), by);
    asked.outcome = std::move(outcome);
    asked.reason = std::move(reason);
  }

  const views::Account& account_;
  Timestamp at_;
  std::vector<Asked> asked_;
  std::unordered_map<std::string, std::size_t> by_subject_;  // where in asked_ it is
  std::unordered_map<std::string, std::int64_t> steps_;      // by the signal wait
};

// ---- rows

Value context_value(const CommandContext& context) {
  Value::Map map;
  if (!context.parent_run_id.empty()) {
    RowValue workflow;
    workflow("parent_instance_id", context.parent_instance_id);
    workflow("parent_run_id", context.parent_run_id)("sequence", context.parent_step);
    workflow("child_call_id", context.child_call_id);
    map.emplace_back("workflow", workflow.take());
  }
  if (!context.intake_mode.empty()) {
    RowValue intake;
    intake("mode", context.intake_mode)("group_id", context.intake_group);
    map.emplace_back("intake", intake.take());
  }
  return map;
}

Value payload_cell(const std::optional<Payload>& payload) {
  return payload ? payload_text(*payload) : Value{};
}
std::string codec_of(const std::optional<Payload>& payload) {
  return payload ? payload->codec : std::string{};
}

void add_target(RowValue& row, const Asked& asked, const RunId& run) {
  row("target_scope", asked.command.on_run ? "run" : "instance");
  row("requested_run_id", asked.command.on_run ? run : RunId{})("resolved_run_id", run);
}
void add_verdict(RowValue& row, const Asked& asked) {
  row("outcome", asked.outcome)("source", asked.command.source);
  row("rejection_reason", asked.rejection_reason);
  row("validation_errors", asked.validation_errors);
}

// How much of it a row shows.
enum class Depth { whole, glance };

Value command_value(const Asked& asked, const RunId& run, Depth depth) {
  const bool signal = asked.type == "signal", update = asked.type == "update";
  const auto only = [](bool shown, const std::string& text) { return shown ? text : ""; };
  RowValue row;
  row("id", asked.command.id)("sequence", asked.command.sequence)("type", asked.type);
  add_target(row, asked, run);
  row("target_name", asked.target_name)("status", asked.status);
  add_verdict(row, asked);
  row("reason", asked.reason)("payload_codec", codec_of(asked.arguments));
  if (depth == Depth::whole) row("payload", payload_cell(asked.arguments));
  row("context", asked.command.context ? context_value(*asked.command.context) : Value{});
  row("signal_id", only(signal, asked.subject_id));
  row("signal_status", only(signal, asked.subject_status));
  row("signal_wait_id", only(signal, asked.wait_id));
  row("update_id", only(update, asked.subject_id));
  row("update_status", only(update, asked.subject_status));
  row("accepted_at", asked.rejected() ? std::nullopt : std::optional{asked.at});
  row("applied_at", asked.applied_at);
  row("rejected_at", asked.rejected() ? std::optional{asked.at} : std::nullopt);
  return row.take();
}

// The task that brings a signal or an update to the code, if one does.
void add_tasks(RowValue& row, const Asked& asked, std::span<const views::TaskRow> tasks) {
  const views::TaskRow* current = nullptr;
  Value::Array ids;
  for (const auto& task : tasks) {
    if (!task.workflow) continue;
    if (task.workflow->signal_id != asked.subject_id &&
        task.workflow->update_id != asked.subject_id) {
      continue;
    }
    current = &task;
    if (!task.synthetic) ids.emplace_back(task.id);
  }
  row("current_task_id", current && !current->synthetic ? current->id : std::string{});
  row("current_task_status", current ? current->status : std::string{});
  row("task_transport_state", current ? current->transport_state : std::string{});
  row("task_ids", Value{std::move(ids)})("task_missing", current && current->synthetic);
}

RowValue subject_row(const Asked& asked, const RunId& run, Depth depth) {
  RowValue row;
  row("id", asked.subject_id)("command_id", asked.command.id);
  row("command_sequence", asked.command.sequence)("workflow_sequence", asked.step);
  row("name", asked.target_name);
  add_target(row, asked, run);
  row("status", asked.subject_status);
  add_verdict(row, asked);
  row("payload_codec", codec_of(asked.arguments));
  row("arguments_available", asked.arguments.has_value());
  if (depth == Depth::whole) row("arguments", payload_cell(asked.arguments));
  return row;
}
void add_times(RowValue& row, const Asked& asked, std::string_view taken) {
  row(taken, asked.rejected() ? std::nullopt : std::optional{asked.at});
  row("applied_at", asked.applied_at);
  row("rejected_at", asked.rejected() ? std::optional{asked.at} : std::nullopt);
  row("closed_at", asked.rejected() ? std::optional{asked.at} : asked.closed_at);
}

Value signal_value(const Asked& asked, const RunId& run, std::span<const views::TaskRow> tasks) {
  RowValue row = subject_row(asked, run, Depth::whole);
  row("signal_wait_id", asked.wait_id);
  add_times(row, asked, "received_at");
  add_tasks(row, asked, tasks);
  return row.take();
}

Value update_value(const Asked& asked, const RunId& run, std::span<const views::TaskRow> tasks,
                   Depth depth) {
  const Failure none;
  const Failure& failure = asked.failure ? *asked.failure : none;
  RowValue row = subject_row(asked, run, depth);
  row("result_available", asked.result.has_value());
  row("result_payload_codec", codec_of(asked.result));
  if (depth == Depth::whole) row("result", payload_cell(asked.result));
  row("failure_id", asked.failure_id)("failure_message", failure.message);
  row("exception_type", failure.exception_type)("exception_class", failure.exception_class);
  add_times(row, asked, "accepted_at");
  if (depth == Depth::whole) add_tasks(row, asked, tasks);
  return row.take();
}

// ---- commands that one request made together

const std::string* group_of(const Asked& asked) {
  const auto& context = asked.command.context;
  return context && !context->intake_group.empty() ? &context->intake_group : nullptr;
}

Value linked_intake(std::span<const Asked* const> members) {
  const auto of_type = [&](std::string_view type) -> const Asked* {
    const auto found =
        std::ranges::find_if(members, [&](const Asked* a) { return a->type == type; });
    return found == members.end() ? nullptr : *found;
  };
  Value::Array ids, sequences, missing, commands;
  for (const Asked* member : members) {
    ids.emplace_back(member->command.id.str());
    sequences.emplace_back(member->command.sequence);
    RowValue row;  // without its payload: that is in the list of all commands
    row("id", member->command.id)("sequence", member->command.sequence)("type", member->type);
    row("target_name", member->target_name)("status", member->status)("outcome", member->outcome);
    commands.push_back(row.take());
  }
  for (const auto expected : {"start", "signal"}) {
    if (!of_type(expected)) missing.emplace_back(expected);
  }
  const Asked none;
  const auto& context = *members.front()->command.context;
  RowValue row;
  row("group_id", context.intake_group)("mode", context.intake_mode);
  row("source", "workflow_commands.context.intake")("complete", missing.empty());
  row("missing_expected_command_types", Value{std::move(missing)});
  row("command_count", static_cast<std::int64_t>(members.size()));
  row("command_ids", Value{std::move(ids)})("command_sequences", Value{std::move(sequences)});
  for (const auto& [name, type] : {std::pair{"start", "start"}, std::pair{"primary", "signal"}}) {
    const Asked* member = of_type(type);
    const Asked& m = member ? *member : none;
    const std::string prefix{name};
    row(prefix + "_command_id", m.command.id);
    row(prefix + "_command_sequence", member ? std::optional{m.command.sequence} : std::nullopt);
    if (prefix == "primary") row("primary_command_type", m.type);
    row(prefix + "_command_status", member ? m.status : "")(prefix + "_outcome", m.outcome);
  }
  row("commands", Value{std::move(commands)});
  return row.take();
}

Value::Array linked_intakes(std::span<const Asked> all) {
  std::vector<std::pair<std::string, std::vector<const Asked*>>> groups;
  for (const Asked& asked : all) {
    const auto* group = group_of(asked);
    if (!group) continue;
    auto found = std::ranges::find(groups, *group, [](const auto& entry) { return entry.first; });
    if (found == groups.end()) found = groups.insert(groups.end(), {*group, {}});
    found->second.push_back(&asked);
  }
  Value::Array rows;
  for (const auto& [group, members] : groups) rows.push_back(linked_intake(members));
  return rows;
}

}  // namespace

Value payload_text(const Payload& payload) {
  if (auto reference = find_external_reference(payload)) {
    return Value::Map{{"codec", payload.codec}, {"external_storage", *std::move(reference)}};
  }
  return payload.codec == json_codec ? payload.bytes : encode_base64(payload.bytes);
}

Result<Lifecycles> lifecycles_of(const views::Account& account, std::span<const Event> events,
                                 std::span<const Refusal> refusals,
                                 std::span<const views::TaskRow> tasks) {
  Reader reader{account};
  for (const Event& event : events) reader.read(event);
  for (const Refusal& refusal : refusals) DW_TRY_VOID(reader.read(refusal));
  const auto all = reader.take();
  Lifecycles lives;
  for (const Asked& asked : all) {
    lives.commands.push_back(command_value(asked, account.run_id, Depth::whole));
    if (asked.type == "signal") lives.signals.push_back(signal_value(asked, account.run_id, tasks));
    if (asked.type == "update") {
      lives.updates.push_back(update_value(asked, account.run_id, tasks, Depth::whole));
    }
  }
  lives.linked_intakes = linked_intakes(all);
  return lives;
}

Glance glance_at(const views::Account& account, std::span<const Event> events, std::size_t most) {
  Reader reader{account};
  for (const Event& event : events) reader.read(event);
  auto all = reader.take();
  Glance glance;
  for (auto asked = all.rbegin(); asked != all.rend(); ++asked) {
    if (glance.commands.size() < most) {
      glance.commands.push_back(command_value(*asked, account.run_id, Depth::glance));
    }
    if (asked->type == "update" && glance.updates.size() < most) {
      glance.updates.push_back(update_value(*asked, account.run_id, {}, Depth::glance));
    }
  }
  std::ranges::reverse(glance.commands);
  std::ranges::reverse(glance.updates);
  return glance;
}

}  // namespace dw::bundle
