#include "server/control_plane.hpp"

#include "core/assert.hpp"
#include "server/addressed.hpp"
#include "server/bridge_adapters.hpp"
#include "server/fields.hpp"
#include "server/worker_tasks.hpp"
#include "store/derived.hpp"
#include "views/row_value.hpp"

#include <fmt/format.h>

namespace dw::server {
namespace {

constexpr std::size_t longest_request_id = 255;
constexpr auto update_patience = std::chrono::seconds{10};

void replace(Value::Map& body, std::string_view key, Value value) {
  const auto found = std::ranges::find(body, key, &Value::Map::value_type::first);
  DW_ASSERT(found != body.end(), "only what every answer has is replaced");
  found->second = std::move(value);
}

Value::Map outcome_body(const Call& call, const engine::CommandOutcome& outcome) {
  const auto requested = run_of(call);
  Value::Map body{
      {"workflow_id", call.match["workflow"]},
      {"run_id", requested ? Value{requested->view()} : views::cell(outcome.run_id.view())},
      {"workflow_type", views::cell(outcome.workflow_type)},
      {"outcome", views::cell(outcome.outcome)},
      {"command_id", outcome.command_id.view()},
      {"command_sequence", outcome.sequence},
      {"command_status", outcome.accepted ? "accepted" : "rejected"},
      {"command_source", "control_plane"},
      {"target_scope", requested ? "run" : "instance"},
      {"requested_run_id", requested ? Value{requested->view()} : Value{}},
      {"resolved_run_id", views::cell(outcome.run_id.view())},
      {"reason", outcome.accepted ? Value{} : Value{wire_reason(outcome.rejection_reason)}},
      {"rejection_reason", views::cell(outcome.rejection_reason)}};
  if (outcome.repeated) body.emplace_back("repeated", true);
  if (!outcome.accepted) {
    body.emplace_back("message", fmt::format("{} of workflow '{}' was refused: {}",
                                             name_of(call.operation()), call.match["workflow"],
                                             words_of_rejection(outcome.rejection_reason)));
  }
  std::ranges::move(limit_facts(outcome), std::back_inserter(body));
  if (outcome.errors.empty()) {
    body.emplace_back("validation_errors", Value{});
  } else {
    std::ranges::move(errors_of_arguments(engine::errors_value(outcome.errors)),
                      std::back_inserter(body));
  }
  return body;
}

Answer outcome_answer(const Call& call, const engine::CommandOutcome& outcome, int accepted) {
  const int status = outcome.accepted ? accepted : status_of_rejection(outcome.rejection_reason);
  return {status, outcome_body(call, outcome)};
}

// Of a command that is given a reason: the one that is recorded.
Answer with_reason(const Call& call, const engine::CommandOutcome& outcome) {
  Answer answer = outcome_answer(call, outcome, 200);
  if (outcome.accepted) replace(answer.body, "reason", views::cell(outcome.subject));
  return answer;
}

Answer query_answer(const Call& call, const RunId& run, const Payload& result) {
  return {200,
          {{"workflow_id", call.match["workflow"]},
           {"run_id", run.view()},
           {"query_name", call.match["name"]},
           {"result", projection_of(result)},
           {"result_envelope", envelope_of(result)}}};
}

Answer update_answer(const Call& call, const dispatch::UpdateReply& update,
                     const UpdateWish& wish) {
  Answer answer = outcome_answer(call, update.outcome, 202);
  const auto add = [&](std::string_view key, Value value) {
    answer.body.emplace_back(std::string{key}, std::move(value));
  };
  add("update_name", call.match["name"]);
  add("wait_for", wish.until_completed ? "completed" : "accepted");
  add("wait_timed_out", update.wait_timed_out);
  add("wait_timeout_seconds", wish.until_completed ? Value{wish.seconds} : Value{});
  const engine::CommandOutcome& outcome = update.outcome;
  const auto began = update.accepted_at ? update.accepted_at : outcome.decided_at;
  add("update_id", outcome.subject);
  add("update_status", !outcome.accepted   ? "rejected"
                       : !update.completed ? "accepted"
                       : update.failure    ? "failed"
                                           : "completed");
  add("workflow_sequence", update.step > 0 ? Value{update.step} : Value{});
  add("result", update.result ? projection_of(*update.result) : Value{});
  add("result_envelope", update.result ? envelope_of(*update.result) : Value{});
  add("failure_id", views::cell(update.failure_id.view()));
  add("failure_message", update.failure ? Value{update.failure->message} : Value{});
  add("accepted_at", outcome.accepted ? views::cell(began) : Value{});
  add("applied_at", update.completed && !update.failure ? views::cell(update.ended_at) : Value{});
  add("rejected_at", outcome.accepted ? Value{} : views::cell(began));
  add("closed_at", outcome.accepted ? views::cell(update.ended_at) : views::cell(began));
  if (!outcome.accepted) return answer;
  if (!update.completed) {
    replace(answer.body, "outcome", Value{});
  } else if (update.failure) {
    answer.status = 422;
    replace(answer.body, "outcome", "update_failed");
    replace(answer.body, "reason", "update_failed");
    add("message", update.failure->message);
  } else {
    answer.status = 200;
    replace(answer.body, "outcome", "update_completed");
  }
  return answer;
}

Answer bad_arguments(const Call& call, Value errors) {
  const auto kind = name_of(call.operation());
  return refusal(422, fmt::format("invalid_{}_arguments", kind),
                 fmt::format("{} '{}' of workflow '{}' was asked for with wrong arguments: {}",
                             kind, call.match["name"], call.match["workflow"], to_json(errors)),
                 errors_of_arguments(errors));
}

// Names are for plain JSON: an envelope holds a list. What is kept elsewhere is for its reader.
std::optional<Answer> not_a_list(const Call& call, const Payload& arguments) {
  const Value* input = call.field("input");
  if (!input || !is_envelope(*input) || holds_list(arguments)) return std::nullopt;
  return bad_arguments(call, Value::Map{{"input", Value::Array{no_list_inside}}});
}

// Names are said in the path; anything printable of a sensible length will do.
std::optional<Answer> bad_name(const Call& call) {
  if (is_operation_name(call.match["name"])) return std::nullopt;
  return invalid({{"name", Value::Array{no_operation_name}}});
}

}  // namespace

ControlPlane::ControlPlane(ControlPlaneParts parts)
    : parts_(std::move(parts)), reads_(parts_.reader), ulids_(parts_.random) {}

void ControlPlane::serve(Call call, Reply reply) {
  switch (call.operation()) {
    case Operation::health:
    case Operation::ready:
      return parts_.probes.post(
          [this, call = std::move(call), reply = std::move(reply)] { reply(health(call)); });
    case Operation::list_namespaces:
      return reply(parts_.namespaces.list());
    case Operation::describe_namespace:
      return reply(parts_.namespaces.describe(call));
    case Operation::create_namespace:
      return parts_.namespaces.create(call, std::move(reply));
    case Operation::update_namespace:
      return parts_.namespaces.update(call, std::move(reply));
    case Operation::remove_namespace:
      return parts_.namespaces.remove(call, std::move(reply));
    case Operation::set_namespace_storage:
      return parts_.namespaces.set_storage(call, std::move(reply));
    case Operation::test_storage:
      return parts_.storage.test(call, std::move(reply));
    case Operation::list:
      return reading(call, std::move(reply), &ControlPlane::list);
    case Operation::describe:
    case Operation::describe_run:
      return reading(call, std::move(reply), &ControlPlane::describe);
    case Operation::debug:
      return parts_.debug.serve(std::move(call), std::move(reply));
    case Operation::list_runs:
      return reading(call, std::move(reply), &ControlPlane::list_runs);
    case Operation::history:
      return parts_.histories.serve(std::move(call), std::move(reply));
    case Operation::result:
      return parts_.results.serve(call, std::move(reply));
    case Operation::export_history:
      return reading(call, std::move(reply), &ControlPlane::export_history);
    case Operation::start:
      return start(call, std::move(reply));
    case Operation::signal:
      return signal(call, std::move(reply));
    case Operation::query:
      return query(call, std::move(reply));
    case Operation::update:
      return update(call, std::move(reply));
    case Operation::cancel:
      return close(call, engine::CloseCommand::Kind::cancel, std::move(reply));
    case Operation::terminate:
      return close(call, engine::CloseCommand::Kind::terminate, std::move(reply));
    case Operation::repair:
      return repair(call, std::move(reply));
    case Operation::archive:
      return archive(std::move(call), std::move(reply));
    case Operation::import_workflows:
      return reply(refusal(501, "not_implemented",
                           "histories of other engines cannot be imported; start the workflows "
                           "anew, or let them end where they are"));
    case Operation::start_activity:
    case Operation::list_activities:
    case Operation::describe_activity:
      return parts_.activities.serve(std::move(call), std::move(reply));
    case Operation::list_search_attributes:
      return reply(parts_.attributes.list(call));
    case Operation::create_search_attribute:
      return parts_.attributes.create(call, std::move(reply));
    case Operation::remove_search_attribute:
      return parts_.attributes.remove(call, std::move(reply));
    case Operation::list_calendars:
    case Operation::create_calendar:
    case Operation::import_calendar:
    case Operation::describe_calendar:
    case Operation::update_calendar:
    case Operation::remove_calendar:
    case Operation::clone_calendar:
    case Operation::expand_calendar:
      return parts_.calendars.serve(std::move(call), std::move(reply));
    case Operation::bridge_webhook:
      return bridge_webhook(call, *this, std::move(reply));
    case Operation::list_workers:
      return reply(parts_.workers.list(call));
    case Operation::describe_worker:
      return reply(parts_.workers.describe(call));
    case Operation::remove_worker:
      return parts_.worker_plane.serve(std::move(call), std::move(reply));
    case Operation::list_task_queues:
    case Operation::describe_task_queue:
    case Operation::list_build_ids:
    case Operation::drain_build_id:
    case Operation::resume_build_id:
    case Operation::promote_build_id:
      return parts_.task_queues.serve(std::move(call), std::move(reply));
    case Operation::list_schedules:
    case Operation::create_schedule:
    case Operation::describe_schedule:
    case Operation::update_schedule:
    case Operation::delete_schedule:
    case Operation::pause_schedule:
    case Operation::resume_schedule:
    case Operation::trigger_schedule:
    case Operation::backfill_schedule:
    case Operation::schedule_history:
    case Operation::schedule_actions:
    case Operation::preview_schedule:
    case Operation::lint_schedule:
    case Operation::attach_calendar:
    case Operation::detach_calendar:
    case Operation::read_condition:
    case Operation::set_condition:
    case Operation::clear_condition:
    case Operation::read_rotation:
    case Operation::set_rotation:
    case Operation::clear_rotation:
    case Operation::tick_schedules:
    case Operation::schedule_control:
    case Operation::freeze_schedules:
    case Operation::unfreeze_schedules:
    case Operation::purge_schedules:
      return parts_.schedules.serve(std::move(call), std::move(reply));
    case Operation::repair_status:
    case Operation::repair_pass:
    case Operation::activity_timeout_status:
    case Operation::activity_timeout_pass:
    case Operation::retention_status:
    case Operation::retention_pass:
    case Operation::system_health:
    case Operation::operator_metrics:
    case Operation::system_metrics:
      return parts_.system.serve(std::move(call), std::move(reply));
    default:
      break;  // answered at the desk, or by the worker plane
  }
  reply(refusal(404, "not_found", "nobody here does that"));
}

void ControlPlane::reading(const Call& call, Reply reply,
                           Answer (ControlPlane::*read)(const Call&)) {
  reads_.post(call, std::move(reply),
              [this, call, read](const Reply& answer) { answer((this->*read)(call)); });
}

// A run that is named must be one of this workflow's; nobody else is asked, and nothing recorded.
void ControlPlane::if_there(const Call& call, Reply reply, std::function<void(Reply reply)> then) {
  if (!run_of(call)) return then(std::move(reply));
  reads_.post(call, std::move(reply), [this, call = call.without_body(), then](Reply answer) {
    const auto instance = parts_.store.find_instance(instance_of(call));
    if (!instance) return answer(failed(instance.error(), call));
    if (!*instance) return answer(no_such_instance(call));
    const auto row = parts_.store.find_run(*run_of(call));
    if (!row) return answer(failed(row.error(), call));
    if (!*row || store::InstanceKey{(*row)->ns, (*row)->instance_id} != instance_of(call)) {
      return answer(no_such_run(call));
    }
    then(std::move(answer));
  });
}

// ---- commands

void ControlPlane::signal(const Call& call, Reply reply) {
  if (auto no = bad_name(call)) return reply(*std::move(no));
  Fields fields{call};
  engine::SignalCommand command;
  command.name = call.match["name"];
  command.arguments = fields.arguments(Named::as_map);
  command.whole_if_unnamed = call.is_event;
  command.requested_run = run_of(call);
  command.source = "control_plane";
  command.request_id = fields.text("request_id", longest_request_id);
  if (!fields.fine()) return reply(fields.errors());
  if (auto no = not_a_list(call, command.arguments)) return reply(*std::move(no));
  if_there(call, std::move(reply),
           [this, call = call.without_body(), command = std::move(command)](Reply answer) mutable {
             parts_.dispatch.signal(instance_of(call), std::move(command),
                                    [call, answer](Result<engine::CommandOutcome> outcome) {
                                      if (!outcome) return answer(failed(outcome.error(), call));
                                      answer(outcome_answer(call, *outcome, 202));
                                    });
           });
}

void ControlPlane::query(const Call& call, Reply reply) {
  if (auto no = bad_name(call)) return reply(*std::move(no));
  Fields fields{call};
  auto arguments = fields.arguments(Named::as_map);
  if (!fields.fine()) return reply(fields.errors());
  if (auto no = not_a_list(call, arguments)) return reply(*std::move(no));
  if_there(call, std::move(reply), [this, call, arguments = std::move(arguments)](Reply answer) {
    ask(call, arguments, std::move(answer));
  });
}

void ControlPlane::ask(const Call& call, Payload arguments, Reply reply) {
  parts_.dispatch.query(
      instance_of(call), run_of(call), std::string{call.match["name"]}, arguments,
      [this, call, arguments, reply = std::move(reply)](Result<dispatch::QueryReply> answered) {
        if (answered && answered->errors.empty()) {
          return reply(query_answer(call, answered->run_id, answered->result));
        }
        if (answered) return reply(bad_arguments(call, engine::errors_value(answered->errors)));
        const Error& error = answered.error();
        switch (error.code) {
          case ErrorCode::unknown_query:
            return reply(refusal(404, "rejected_unknown_query", error.message));
          case ErrorCode::code_unavailable:
            return ask_worker(call, arguments, reply);
          case ErrorCode::invalid_argument:
          case ErrorCode::conversion_failed:
            return reply(refusal(422, "invalid_query_arguments", error.message));
          case ErrorCode::query_failed:
          case ErrorCode::replay_blocked:
            return reply(refusal(409, "query_rejected", error.message));
          default:
            return reply(failed(error, call));
        }
      });
}

// Better told at once than after a while in which nobody came.
std::optional<Answer> ControlPlane::nobody_to_ask(const Namespace& ns,
                                                  const QueryQuestion& question) const {
  const auto help = parts_.workers.help_with(
      ns, {question.queue, question.workflow_type, "query_tasks", question.compatibility});
  if (help == Workers::Help::there) return std::nullopt;
  const auto sought =
      fmt::format("no live worker of queue '{}' answers queries of workflow type '{}'",
                  question.queue, question.workflow_type);
  if (help == Workers::Help::none) return refusal(409, "query_worker_unavailable", sought);
  return refusal(409, "query_worker_incompatible",
                 fmt::format("{} with build '{}', which the run is bound to; start one", sought,
                             question.compatibility));
}

// The run's code is elsewhere: a worker is shown its history and answers from that.
void ControlPlane::ask_worker(const Call& call, Payload arguments, Reply reply) {
  parts_.reader.post([this, call, arguments = std::move(arguments), reply = std::move(reply)] {
    const auto instance = parts_.store.find_instance(instance_of(call));
    if (!instance) return reply(failed(instance.error(), call));
    if (!*instance || !(*instance)->current_run) return reply(no_such_instance(call));
    const auto loaded = parts_.store.load_run(run_of(call).value_or(*(*instance)->current_run));
    if (!loaded) return reply(failed(loaded.error(), call));
    if (!*loaded) return reply(no_such_instance(call));
    auto question = question_about(**loaded, call, arguments);
    if (!question) return reply(failed(question.error(), call));
    question->asker = call.client;
    if (auto nobody = nobody_to_ask(call.ns, *question)) return reply(*std::move(nobody));
    parts_.queries.ask(*std::move(question),
                       [call, run = (*loaded)->row.run_id, reply](QueryTasks::Outcome outcome) {
                         if (outcome.result) {
                           return reply(query_answer(call, run, *outcome.result));
                         }
                         reply(refusal(outcome.status, outcome.reason, std::move(outcome.message),
                                       std::move(outcome.more)));
                       });
  });
}

void ControlPlane::update(const Call& call, Reply reply) {
  if (auto no = bad_name(call)) return reply(*std::move(no));
  Fields fields{call};
  engine::UpdateCommand command;
  command.name = call.match["name"];
  command.arguments = fields.arguments(Named::as_map);
  command.whole_if_unnamed = call.is_event;
  command.requested_run = run_of(call);
  command.source = "control_plane";
  command.request_id = fields.text("request_id", longest_request_id);
  command.any_name = true;
  UpdateWish wish;
  wish.until_completed = fields.word("wait_for", {"accepted", "completed"}) == "completed";
  wish.seconds =
      fields.whole("wait_timeout_seconds", 1, INT32_MAX).value_or(update_patience.count());
  fields.refuse({"wait_policy"});
  if (!fields.fine()) return reply(fields.errors());
  if (auto no = not_a_list(call, command.arguments)) return reply(*std::move(no));
  if_there(call, std::move(reply),
           [this, call, wish, command = std::move(command)](const Reply& answer) mutable {
             parts_.admission.admit(
                 call, std::move(command),
                 [this, call = call.without_body(), wish, answer](engine::UpdateCommand admitted) {
                   send_update(call, std::move(admitted), wish, answer);
                 },
                 answer);
           });
}

void ControlPlane::send_update(const Call& call, engine::UpdateCommand command, UpdateWish wish,
                               Reply reply) {
  const std::optional<Duration> patience =
      wish.until_completed ? std::optional<Duration>{std::chrono::seconds{wish.seconds}}
                           : std::nullopt;
  const auto decided_on = command.requested_run;
  parts_.dispatch.update(
      instance_of(call), std::move(command), wish.until_completed,
      [this, call, decided_on, wish,
       reply = std::move(reply)](Result<dispatch::UpdateReply> update) {
        if (!update) return reply(failed(update.error(), call));
        if (auto stale = stale_approval(call, decided_on, update->outcome)) {
          return reply(*std::move(stale));
        }
        if (!update->outcome.repeated) return reply(update_answer(call, *update, wish));
        // Asked for before: history knows when, and how it ended if it has since.
        parts_.reader.post([this, call, wish, update = *update, reply]() mutable {
          if (auto read = read_update(update); !read) {
            return reply(failed(read.error(), call));
          }
          reply(update_answer(call, update, wish));
        });
      },
      patience);
}

Result<void> ControlPlane::read_update(dispatch::UpdateReply& update) {
  const auto loaded = DW_TRY(parts_.store.load_run(update.outcome.run_id));
  if (!loaded) return {};
  // Whoever waited knows the end, or was told that there is none yet.
  const bool waited = update.completed || update.wait_timed_out;
  for (const history::Event& event : DW_TRY(store::events_of(loaded->commits))) {
    const auto& id = update.outcome.subject;
    const auto* accepted = std::get_if<history::UpdateAccepted>(&event.body);
    if (accepted && accepted->update_id.view() == id) update.accepted_at = event.recorded_at;
    if (waited) continue;
    const auto* applied = std::get_if<history::UpdateApplied>(&event.body);
    if (applied && applied->update_id.view() == id) update.step = applied->step;
    const auto* ended = std::get_if<history::UpdateCompleted>(&event.body);
    if (!ended || ended->update_id.view() != id) continue;
    update.completed = true;
    update.result = ended->result;
    update.failure = ended->failure;
    update.failure_id = ended->failure_id;
    update.ended_at = event.recorded_at;
  }
  return {};
}

void ControlPlane::close(const Call& call, engine::CloseCommand::Kind kind, Reply reply) {
  Fields fields{call};
  engine::CloseCommand command;
  command.kind = kind;
  command.reason = fields.text("reason", 1000);
  command.requested_run = run_of(call);
  command.source = "control_plane";
  command.request_id = fields.text("request_id", longest_request_id);
  if (!fields.fine()) return reply(fields.errors());
  if_there(call, std::move(reply),
           [this, call = call.without_body(), command = std::move(command)](const Reply& tell) {
             parts_.dispatch.close(instance_of(call), command,
                                   [call, tell](Result<engine::CommandOutcome> outcome) {
                                     if (!outcome) return tell(failed(outcome.error(), call));
                                     tell(with_reason(call, *outcome));
                                   });
           });
}

void ControlPlane::repair(const Call& call, Reply reply) {
  parts_.dispatch.repair(instance_of(call), {.source = "control_plane"},
                         [call = call.without_body(),
                          reply = std::move(reply)](Result<engine::CommandOutcome> outcome) {
                           if (!outcome) return reply(failed(outcome.error(), call));
                           reply(outcome_answer(call, *outcome, 200));
                         });
}

// Of the instance's current run, which the store knows.
void ControlPlane::archive(Call call, Reply reply) {
  Fields fields{call};
  engine::ArchiveCommand command{.reason = fields.text("reason", 1000), .source = "control_plane"};
  if (!fields.fine()) return reply(fields.errors());
  parts_.reader.post([this, call = std::move(call), reply = std::move(reply),
                      command = std::move(command)]() mutable {
    const auto instance = parts_.store.find_instance(instance_of(call));
    if (!instance) return reply(failed(instance.error(), call));
    if (!*instance || !(*instance)->current_run) return reply(no_such_instance(call));
    parts_.dispatch.archive({instance_of(call), *(*instance)->current_run}, std::move(command),
                            [call = call.without_body(),
                             reply = std::move(reply)](Result<engine::CommandOutcome> outcome) {
                              if (!outcome) return reply(failed(outcome.error(), call));
                              reply(with_reason(call, *outcome));
                            });
  });
}

}  // namespace dw::server
