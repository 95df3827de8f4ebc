#include "server/control_plane.hpp"

#include "engine/visibility.hpp"
#include "server/addressed.hpp"
#include "server/fields.hpp"
#include "server/worker_tasks.hpp"

#include <fmt/format.h>

namespace dw::server {
namespace {

constexpr std::size_t longest_operation_name = 256;
constexpr auto update_patience = std::chrono::seconds{10};

int status_of_rejection(std::string_view reason) {
  if (reason == "instance_not_started" || reason.starts_with("unknown_")) return 404;
  if (reason.starts_with("invalid_") || reason == "structural_limit_exceeded") return 422;
  return 409;
}

// The reason as callers of this API know it.
std::string_view wire_reason(std::string_view reason) {
  if (reason == "instance_already_started") return "duplicate_not_allowed";
  if (reason == "instance_not_started") return "instance_not_found";
  if (reason == "selected_run_not_current") return "historical_run_command_rejected";
  if (reason == "earlier_signal_pending") return "update_rejected";
  return reason;
}

Value::Map outcome_body(const Call& call, const engine::CommandOutcome& outcome) {
  const auto run = run_of(call);
  Value::Map body{{"workflow_id", call.match["workflow"]},
                  {"outcome", outcome.outcome.empty() ? Value{} : Value{outcome.outcome}},
                  {"command_id", outcome.command_id.view()},
                  {"command_sequence", outcome.sequence},
                  {"command_status", outcome.accepted ? "accepted" : "rejected"},
                  {"command_source", "control_plane"},
                  {"target_scope", run ? "run" : "instance"}};
  if (run) {
    body.emplace_back("run_id", run->view());
    body.emplace_back("requested_run_id", run->view());
  }
  if (!outcome.accepted) {
    body.emplace_back("reason", wire_reason(outcome.rejection_reason));
    body.emplace_back("rejection_reason", outcome.rejection_reason);
    body.emplace_back("message", fmt::format("'{}' was refused: {}", name_of(call.operation()),
                                             outcome.rejection_reason));
  }
  if (!outcome.errors.empty()) {
    body.emplace_back("validation_errors", engine::errors_value(outcome.errors));
    body.emplace_back("errors", engine::errors_value(outcome.errors));
  }
  return body;
}

Answer outcome_answer(const Call& call, const engine::CommandOutcome& outcome, int accepted) {
  const int status = outcome.accepted ? accepted : status_of_rejection(outcome.rejection_reason);
  return {status, outcome_body(call, outcome)};
}

Answer query_answer(const Call& call, const Payload& result) {
  return {200,
          {{"workflow_id", call.match["workflow"]},
           {"query_name", call.match["name"]},
           {"result", projection_of(result)},
           {"result_envelope", envelope_of(result)}}};
}

// Names are said in the path; anything printable of a sensible length will do.
std::optional<Answer> bad_name(const Call& call) {
  const auto name = call.match["name"];
  const bool control = std::ranges::any_of(
      name, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
  if (name.size() <= longest_operation_name && !control) return std::nullopt;
  return invalid({{"name", Value::Array{"must be at most 256 bytes without control characters"}}});
}

}  // namespace

ControlPlane::ControlPlane(ControlPlaneParts parts)
    : parts_(std::move(parts)), ulids_(parts_.random) {}

void ControlPlane::serve(Call call, Reply reply) {
  switch (call.operation()) {
    case Operation::health:
    case Operation::ready:
      return reading(std::move(call), std::move(reply), &ControlPlane::health);
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
    case Operation::list:
      return reading(std::move(call), std::move(reply), &ControlPlane::list);
    case Operation::describe:
    case Operation::describe_run:
      return reading(std::move(call), std::move(reply), &ControlPlane::describe);
    case Operation::list_runs:
      return reading(std::move(call), std::move(reply), &ControlPlane::list_runs);
    case Operation::history:
      return reading(std::move(call), std::move(reply), &ControlPlane::history);
    case Operation::export_history:
      return reading(std::move(call), std::move(reply), &ControlPlane::export_history);
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
    case Operation::list_workers:
      return reply(parts_.workers.list(call));
    case Operation::describe_worker:
      return reply(parts_.workers.describe(call));
    case Operation::remove_worker:
      return reply(parts_.workers.remove(call));
    default:
      break;  // answered at the desk, or by the worker plane
  }
  reply(refusal(404, "not_found", "nobody here does that"));
}

void ControlPlane::reading(Call call, Reply reply, Answer (ControlPlane::*read)(const Call&)) {
  parts_.reader.post([this, call = std::move(call), reply = std::move(reply), read] {
    reply((this->*read)(call));
  });
}

// ---- commands

void ControlPlane::start(const Call& call, Reply reply) {
  Fields fields{call};
  engine::StartCommand command;
  command.ns = call.ns;
  command.source = "control_plane";
  command.workflow_type = fields.required_text("workflow_type", 255);
  command.queue = fields.text("task_queue", 255);
  command.arguments = fields.arguments(Named::in_order);
  command.compatibility = fields.text("build_id", 255);
  if (command.compatibility.empty()) command.compatibility = fields.text("compatibility", 255);
  command.execution_timeout = fields.whole("execution_timeout_seconds", 1, INT32_MAX);
  command.run_timeout = fields.whole("run_timeout_seconds", 1, INT32_MAX);
  fields.whole("priority", 0, 9);
  fields.text("fairness_key", 64);
  fields.whole("fairness_weight", 1, 1000);
  fields.word("payload_codec", {"avro"});
  if (fields.word("duplicate_policy", {"fail", "use-existing"}) == "use-existing") {
    command.duplicate_start_policy = engine::DuplicateStartPolicy::return_existing_active;
  }
  fields.refuse({"workflow_execution_timeout", "workflow_run_timeout", "workflow_task_timeout",
                 "retry_policy", "idempotency_key", "request_id"});

  std::string id = fields.text("workflow_id", 191);
  if (id.empty()) {
    const std::lock_guard lock{mutex_};
    id = ulids_.next(parts_.clock.now());
  }
  const auto take = [&](std::string_view field, auto result, auto& into) {
    if (result) {
      into = *std::move(result);
    } else {
      fields.wrong(field, result.error().message);
    }
  };
  take("workflow_id", parse_instance_id(id), command.instance_id);
  take("business_key", engine::business_key(fields.text("business_key", 191)),
       command.business_key);
  if (auto memo = fields.object("memo")) take("memo", engine::memo(*memo), command.memo);
  if (auto attributes = fields.object("search_attributes")) {
    take("search_attributes", engine::search_attributes(*attributes), command.search_attributes);
  }
  if (const auto* definition = parts_.registry.find_workflow(command.workflow_type)) {
    command.workflow_class = definition->implementation;
    command.fingerprint = definition->fingerprint;
    command.declared = definition->snapshot;
    command.connection = definition->connection;
    if (command.queue.empty()) command.queue = definition->queue;
    if (auto fits = definition->check_arguments(command.arguments); fields.fine() && !fits) {
      fields.wrong("input", fits.error().message);
    }
  } else {
    command.declared = parts_.workers.declared(call.ns, command.queue, command.workflow_type);
  }
  if (!fields.fine()) return reply(fields.errors());

  Value::Map about{
      {"workflow_id", command.instance_id.view()},
      {"workflow_type", command.workflow_type},
      {"namespace", command.ns.view()},
      {"task_queue", command.queue.empty() ? "default" : command.queue},
      {"status", "pending"},
      {"business_key", command.business_key.empty() ? Value{} : Value{command.business_key}},
      {"payload_codec", avro_codec}};
  parts_.dispatch.start(
      std::move(command), [call, about = std::move(about),
                           reply = std::move(reply)](Result<dispatch::StartReply> started) mutable {
        if (!started) return reply(failed(started.error(), call));
        const engine::CommandOutcome& outcome = started->outcome;
        about.emplace_back("run_id", started->run_id.view());
        about.emplace_back("outcome", outcome.outcome);
        if (outcome.accepted) {
          return reply({outcome.outcome == "started_new" ? 201 : 200, std::move(about)});
        }
        about.emplace_back("reason", wire_reason(outcome.rejection_reason));
        about.emplace_back("message",
                           fmt::format("workflow '{}' has been started before; pick another id, or "
                                       "duplicate_policy use-existing while it is open",
                                       started->instance_id.view()));
        reply({status_of_rejection(outcome.rejection_reason), std::move(about)});
      });
}

void ControlPlane::signal(const Call& call, Reply reply) {
  if (auto no = bad_name(call)) return reply(*std::move(no));
  Fields fields{call};
  engine::SignalCommand command;
  command.name = call.match["name"];
  command.arguments = fields.arguments(Named::as_map);
  command.requested_run = run_of(call);
  command.source = "control_plane";
  if (!fields.fine()) return reply(fields.errors());
  parts_.dispatch.signal(instance_of(call), std::move(command),
                         [call, reply = std::move(reply)](Result<engine::CommandOutcome> outcome) {
                           if (!outcome) return reply(failed(outcome.error(), call));
                           reply(outcome_answer(call, *outcome, 202));
                         });
}

void ControlPlane::query(const Call& call, Reply reply) {
  if (auto no = bad_name(call)) return reply(*std::move(no));
  Fields fields{call};
  auto arguments = fields.arguments(Named::as_map);
  if (!fields.fine()) return reply(fields.errors());
  parts_.dispatch.query(instance_of(call), run_of(call), std::string{call.match["name"]}, arguments,
                        [this, call, arguments, reply = std::move(reply)](Result<Payload> result) {
                          if (result) return reply(query_answer(call, *result));
                          const Error& error = result.error();
                          switch (error.code) {
                            case ErrorCode::unknown_query:
                              return reply(refusal(404, "rejected_unknown_query", error.message));
                            case ErrorCode::code_unavailable:
                              return ask_worker(call, arguments, reply);
                            case ErrorCode::invalid_argument:
                              return reply(refusal(422, "invalid_query_arguments", error.message));
                            case ErrorCode::query_failed:
                            case ErrorCode::replay_blocked:
                              return reply(refusal(409, "query_rejected", error.message));
                            default:
                              return reply(failed(error, call));
                          }
                        });
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
    if (!parts_.workers.anyone(call.ns, question->queue, question->workflow_type, "query_tasks")) {
      return reply(
          refusal(409, "query_worker_unavailable",
                  fmt::format("no live worker of queue '{}' answers queries of workflow type '{}'",
                              question->queue, question->workflow_type)));
    }
    parts_.queries.ask(*std::move(question),
                       [call, run = (*loaded)->row.run_id, reply](QueryTasks::Outcome outcome) {
                         if (outcome.result) {
                           Answer answer = query_answer(call, *outcome.result);
                           answer.body.emplace_back("run_id", run.view());
                           return reply(std::move(answer));
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
  command.requested_run = run_of(call);
  command.source = "control_plane";
  const std::string wait_for = fields.word("wait_for", {"accepted", "completed"});
  const auto patience = fields.whole("wait_timeout_seconds", 1, 3600);
  fields.refuse({"wait_policy"});
  if (!fields.fine()) return reply(fields.errors());
  const auto seconds = patience.value_or(update_patience.count());
  const bool until_completed = wait_for == "completed";
  parts_.dispatch.update(
      instance_of(call), std::move(command), until_completed,
      [call, wait_for, seconds, reply = std::move(reply)](Result<dispatch::UpdateReply> update) {
        if (!update) return reply(failed(update.error(), call));
        const engine::CommandOutcome& outcome = update->outcome;
        Answer answer = outcome_answer(call, outcome, 202);
        const auto add = [&](std::string_view key, Value value) {
          answer.body.emplace_back(std::string{key}, std::move(value));
        };
        add("update_name", call.match["name"]);
        add("wait_for", wait_for);
        add("wait_timed_out", update->wait_timed_out);
        add("wait_timeout_seconds", wait_for == "completed" ? Value{seconds} : Value{});
        if (!outcome.accepted) return reply(std::move(answer));
        add("update_id", outcome.subject);
        add("update_status", !update->completed ? "accepted"
                             : update->failure  ? "failed"
                                                : "completed");
        if (update->completed && update->failure) {
          answer.status = 422;
          add("reason", "update_failed");
          add("message", update->failure->message);
          add("failure_message", update->failure->message);
        } else if (update->completed) {
          answer.status = 200;
          add("result", update->result ? projection_of(*update->result) : Value{});
          add("result_envelope", update->result ? envelope_of(*update->result) : Value{});
        }
        for (auto& [key, value] : answer.body) {
          if (key != "outcome") continue;
          value = !update->completed ? Value{}
                  : update->failure  ? Value{"update_failed"}
                                     : Value{"update_completed"};
        }
        reply(std::move(answer));
      },
      until_completed ? std::optional<Duration>{std::chrono::seconds{seconds}} : std::nullopt);
}

void ControlPlane::close(const Call& call, engine::CloseCommand::Kind kind, Reply reply) {
  Fields fields{call};
  engine::CloseCommand command;
  command.kind = kind;
  command.reason = fields.text("reason", 1000);
  command.requested_run = run_of(call);
  command.source = "control_plane";
  if (!fields.fine()) return reply(fields.errors());
  parts_.dispatch.close(instance_of(call), command,
                        [call, reason = command.reason,
                         reply = std::move(reply)](Result<engine::CommandOutcome> outcome) {
                          if (!outcome) return reply(failed(outcome.error(), call));
                          Answer answer = outcome_answer(call, *outcome, 200);
                          if (outcome->accepted) answer.body.emplace_back("reason", reason);
                          reply(std::move(answer));
                        });
}

void ControlPlane::repair(const Call& call, Reply reply) {
  parts_.dispatch.repair(instance_of(call), {.source = "control_plane"},
                         [call, reply = std::move(reply)](Result<engine::CommandOutcome> outcome) {
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
    parts_.dispatch.archive(
        {instance_of(call), *(*instance)->current_run}, std::move(command),
        [call, reply = std::move(reply)](Result<engine::CommandOutcome> outcome) {
          if (!outcome) return reply(failed(outcome.error(), call));
          reply(outcome_answer(call, *outcome, 200));
        });
  });
}

}  // namespace dw::server
