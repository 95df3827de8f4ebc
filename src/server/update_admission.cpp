#include "server/update_admission.hpp"

#include "history/fold.hpp"
#include "history/render.hpp"
#include "server/addressed.hpp"
#include "store/derived.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dw::server {
namespace {

// A decision that is only looked at needs no names.
class NoNames final : public engine::Ids {
 public:
  std::string ulid() override { return {}; }
  std::string task_suffix() override { return {}; }
};

// The run that an update would be decided on.
struct Outlook {
  std::vector<history::Event> events;
  engine::Run run;
  ValidationTarget target;
};

Result<Outlook> look_at_run(const store::LoadedRun& loaded, const Call& call) {
  Outlook outlook;
  outlook.events = DW_TRY(store::events_of(loaded.commits));
  outlook.run.id = loaded.row.run_id;
  outlook.run.state = DW_TRY(history::fold(outlook.events));
  const history::WorkflowStarted& start = outlook.run.state.start;
  outlook.target = {call.ns, start.queue.empty() ? "default" : start.queue, start.workflow_type,
                    start.compatibility, std::string{call.match["name"]}};
  return outlook;
}

// Decisions are pure, so that this one may be tried out. What only holds for the moment (a signal
// before it, too much at once) is left for the one that counts.
engine::CommandDecision try_out(const Outlook& outlook, const engine::UpdateCommand& command,
                                Timestamp now) {
  engine::Settings settings;
  settings.limits.pending_updates = 0;
  settings.limits.payload_bytes = 0;
  settings.updates_queue_behind_signals = true;
  NoNames ids;
  return engine::decide_update(outlook.run, command, {now, ids, settings});
}

const history::UpdateAccepted* accepted_in(std::span<const history::Event> events,
                                           std::string_view update_id) {
  for (const history::Event& event : events) {
    const auto* accepted = std::get_if<history::UpdateAccepted>(&event.body);
    if (accepted && accepted->update_id.view() == update_id) return accepted;
  }
  return nullptr;
}

// The update with this id, if it was another than the one that now comes under its name.
bool asked_for_another(const Outlook& outlook, const engine::UpdateCommand& command,
                       std::string_view update_id) {
  const auto* before = accepted_in(outlook.events, update_id);
  if (!before) return false;
  if (before->name != command.name) return true;
  // Bound as they were then: by the contract, or by none where nothing is declared.
  const auto& declared = outlook.run.state.start.declared;
  Contract contract;
  if (declared) {
    const auto found = std::ranges::find(declared->updates, command.name, &Contract::name);
    if (found != declared->updates.end()) contract = *found;
  }
  const auto bound = engine::check_arguments(contract, command.arguments, command.whole_if_unnamed);
  return !same_arguments(before->arguments, bound.arguments);
}

// The same of an update that was answered before, by this run or by an earlier one.
Result<bool> means_another(store::Store& store, const Call& call, const Outlook& current,
                           const engine::UpdateCommand& command,
                           const engine::CommandOutcome& before) {
  if (before.run_id.empty()) return asked_for_another(current, command, before.subject);
  const auto earlier = DW_TRY(store.load_run(before.run_id));
  if (!earlier) return false;
  const Outlook then = DW_TRY(look_at_run(*earlier, call));
  return asked_for_another(then, command, before.subject);
}

Result<std::string> rendered_history(const store::LoadedRun& loaded) {
  history::Renderer renderer{loaded.row.run_id, history::Reader::worker};
  std::string list = "[";
  for (const store::StoredCommit& commit : loaded.commits) {
    const auto facts = DW_TRY(store::events_of({&commit, 1}));
    for (const std::string& text : DW_TRY(renderer.render(commit.id, facts))) {
      if (list.size() > 1) list += ',';
      list += text;
    }
  }
  return list + ']';
}

Result<ValidationQuestion> ask_about(const Outlook& outlook, const store::LoadedRun& loaded,
                                     const engine::UpdateCommand& command, Payload arguments) {
  ValidationQuestion question;
  question.target = outlook.target;
  question.workflow_id = loaded.row.instance_id.str();
  question.run_id = loaded.row.run_id.str();
  question.last_sequence = loaded.row.last_sequence;
  question.request_id = command.request_id;
  question.history = DW_TRY(rendered_history(loaded));
  question.task = {{"task_kind", "update_validation"},
                   {"workflow_id", loaded.row.instance_id.view()},
                   {"run_id", loaded.row.run_id.view()},
                   {"workflow_type", outlook.target.workflow_type},
                   {"update_name", command.name},
                   {"payload_codec", avro_codec},
                   {"workflow_arguments", envelope_of(outlook.run.state.start.arguments)},
                   {"update_arguments", envelope_of(arguments)},
                   {"run_status", history::to_string(loaded.row.status)},
                   {"last_history_sequence", loaded.row.last_sequence},
                   {"task_queue", outlook.target.queue}};
  question.arguments = std::move(arguments);
  return question;
}

ValidationRefusal no_request_id(const ValidationTarget& target) {
  return {.reason = "update_validation_request_id_required",
          .message = fmt::format("update '{}' of workflow type '{}' has a validator: send a "
                                 "request_id with it, so that sending it again is safe",
                                 target.update_name, target.workflow_type)};
}

}  // namespace

void UpdateAdmission::admit(const Call& call, engine::UpdateCommand command, GoOn go_on,
                            Reply reply) {
  if (!parts_.validators.anywhere(call.ns, command.name)) return go_on(std::move(command));
  parts_.reader.post(
      [this, call = call.without_body(), command = std::move(command), go_on = std::move(go_on),
       reply = std::move(reply)]() mutable { look(call, std::move(command), go_on, reply); });
}

void UpdateAdmission::look(const Call& call, engine::UpdateCommand command, const GoOn& go_on,
                           const Reply& reply) {
  const auto instance = parts_.store.find_instance(instance_of(call));
  if (!instance) return reply(failed(instance.error(), call));
  // Whoever decides says that there is none.
  if (!*instance || !(*instance)->current_run) return go_on(std::move(command));
  const auto loaded = parts_.store.load_run(*(*instance)->current_run);
  if (!loaded) return reply(failed(loaded.error(), call));
  if (!*loaded) return go_on(std::move(command));
  const auto outlook = look_at_run(**loaded, call);
  if (!outlook) return reply(failed(outlook.error(), call));
  if (!parts_.validators.required(outlook->target)) return go_on(std::move(command));

  auto decided = try_out(*outlook, command, parts_.clock.now());
  const RunId run = outlook->run.id;
  const auto refuse = [&](ValidationRefusal why) {
    reply(validation_answer(call, run, std::move(why)));
  };
  if (!command.requested_run) command.requested_run = run;
  if (decided.reply.repeated) {
    const auto another = means_another(parts_.store, call, *outlook, command, decided.reply);
    if (!another) return reply(failed(another.error(), call));
    if (*another) return refuse(other_arguments(outlook->target, command.request_id));
  }
  // Answered before, or refused in any case.
  if (decided.reply.repeated || !decided.reply.accepted) return go_on(std::move(command));
  if (command.request_id.empty()) return refuse(no_request_id(outlook->target));
  if (auto nobody = parts_.validators.refusal_of(outlook->target)) {
    return refuse(*std::move(nobody));
  }
  auto& accepted = std::get<history::UpdateAccepted>(decided.decision.events.front());
  auto question = ask_about(*outlook, **loaded, command, std::move(accepted.arguments));
  if (!question) return reply(failed(question.error(), call));
  parts_.validations.ask(*std::move(question), [call, run, command = std::move(command), go_on,
                                                reply](const UpdateValidations::Verdict& no) {
    if (!no) return go_on(command);
    reply(validation_answer(call, run, *no));
  });
}

Answer validation_answer(const Call& call, const RunId& run, ValidationRefusal why) {
  const bool rejected = why.reason == "update_validator_rejected";
  Value::Map about{{"workflow_id", call.match["workflow"]},
                   {"run_id", run.view()},
                   {"update_name", call.match["name"]},
                   {"outcome", rejected ? "rejected_by_validator" : "update_validation_failed"},
                   {"rejection_reason", why.reason},
                   {"retryable", why.retryable}};
  if (rejected) {
    about.emplace_back("command_status", "rejected");
    about.emplace_back("update_status", "rejected");
  }
  std::ranges::move(why.more, std::back_inserter(about));
  return refusal(why.status, why.reason, std::move(why.message), std::move(about));
}

std::optional<Answer> stale_approval(const Call& call, const std::optional<RunId>& decided_on,
                                     const engine::CommandOutcome& outcome) {
  const bool pinned = decided_on && !run_of(call);
  if (!pinned || outcome.rejection_reason != "selected_run_not_current") return std::nullopt;
  return validation_answer(
      call, *decided_on,
      {.reason = "stale_update_validation_completion",
       .message = fmt::format("workflow '{}' has gone on with another run since the validator "
                              "looked at run {}; send update '{}' again",
                              call.match["workflow"], decided_on->view(), call.match["name"]),
       .retryable = true});
}

}  // namespace dw::server
