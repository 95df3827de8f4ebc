// Starting workflows, with a signal that comes along if so wished.
#include "engine/standalone.hpp"
#include "engine/visibility.hpp"
#include "server/addressed.hpp"
#include "server/control_plane.hpp"
#include "server/fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace dw::server {
namespace {

template <typename R, typename T>
void take_checked(Fields& fields, std::string_view field, R result, T& into) {
  if (result) {
    into = *std::move(result);
  } else {
    fields.wrong(field, result.error().message);
  }
}

void read_visibility(Fields& fields, engine::StartCommand& command) {
  take_checked(fields, "business_key", engine::business_key(fields.text("business_key", 191)),
               command.business_key);
  if (auto memo = fields.object("memo")) {
    take_checked(fields, "memo", engine::memo(*memo), command.memo);
  }
  if (auto attributes = fields.object("search_attributes")) {
    take_checked(fields, "search_attributes", engine::search_attributes(*attributes),
                 command.search_attributes);
  }
  if (auto labels = fields.object("labels")) {
    take_checked(fields, "labels", engine::visibility_labels(*labels), command.labels);
  }
}

history::Precedence read_precedence(Fields& fields) {
  history::Precedence precedence;
  precedence.priority = fields.whole("priority", 0, 9).value_or(precedence.priority);
  precedence.fairness_key = fields.text("fairness_key", 64);
  precedence.fairness_weight =
      fields.whole("fairness_weight", 1, 1000).value_or(precedence.fairness_weight);
  const bool plain = std::ranges::all_of(precedence.fairness_key, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view{"._:-"}.find(c) != std::string_view::npos;
  });
  if (!plain) fields.wrong("fairness_key", "may hold letters, digits and . _ : - only");
  return precedence;
}

engine::StartCommand read_start(Fields& fields, const Namespace& ns) {
  engine::StartCommand command;
  command.ns = ns;
  command.source = "control_plane";
  command.workflow_type = fields.required_text("workflow_type", 255);
  if (command.workflow_type == engine::standalone_type) {
    fields.wrong("workflow_type", "is reserved for activities that stand alone: POST /activities");
  }
  command.queue = fields.text("task_queue", 255);
  command.arguments = fields.arguments(Named::in_order);
  command.compatibility = fields.text("build_id", 255);
  if (command.compatibility.empty()) command.compatibility = fields.text("compatibility", 255);
  command.execution_timeout = fields.whole("execution_timeout_seconds", 1, INT32_MAX);
  command.run_timeout = fields.whole("run_timeout_seconds", 1, INT32_MAX);
  command.precedence = read_precedence(fields);
  fields.word("payload_codec", {"avro"});
  if (fields.word("duplicate_policy", {"fail", "use-existing"}) == "use-existing") {
    command.duplicate_start_policy = engine::DuplicateStartPolicy::return_existing_active;
  }
  fields.refuse({"workflow_execution_timeout", "workflow_run_timeout", "workflow_task_timeout",
                 "retry_policy", "idempotency_key", "request_id"});
  read_visibility(fields, command);
  return command;
}

// An extension: `signal_name`, and `signal_input` as `input` is on the signal's own route.
std::optional<engine::SignalCommand> read_signal(Fields& fields) {
  if (!fields.field("signal_name") && !fields.field("signal_input")) return std::nullopt;
  engine::SignalCommand signal;
  signal.name = fields.required_text("signal_name", longest_operation_name);
  if (!is_operation_name(signal.name)) fields.wrong("signal_name", no_operation_name);
  signal.source = "control_plane";
  signal.arguments = fields.arguments(Named::as_map, "signal_input");
  const Value* input = fields.field("signal_input");
  if (input && is_envelope(*input) && !holds_list(signal.arguments)) {
    fields.wrong("signal_input", no_list_inside);
  }
  return signal;
}

// What was asked for, or what was there already.
struct StartFacts {
  std::string id;
  std::string workflow_type;
  std::string ns;
  std::string queue;
  std::string business_key;
  std::string_view status = "pending";

  explicit StartFacts(const engine::StartCommand& command)
      : id(command.instance_id.str()),
        workflow_type(command.workflow_type),
        ns(command.ns.str()),
        queue(command.queue),
        business_key(command.business_key) {}

  void met(const dispatch::ExistingRun& run) {
    queue = run.queue;
    business_key = run.business_key;
    status = to_string(run.status);
  }
  Value::Map body() const {
    return {{"workflow_id", id},
            {"workflow_type", workflow_type},
            {"namespace", ns},
            {"task_queue", queue.empty() ? "default" : queue},
            {"status", status},
            {"business_key", business_key.empty() ? Value{} : Value{business_key}},
            {"payload_codec", avro_codec}};
  }
};

// One id, one workflow type: whoever holds it, it is taken.
Answer taken_by_another_type(const StartFacts& facts, const Error& error) {
  return refusal(409, "duplicate_not_allowed", error.message,
                 {{"workflow_id", facts.id},
                  {"workflow_type", facts.workflow_type},
                  {"outcome", "rejected_duplicate"},
                  {"rejection_reason", type_mismatch}});
}

Answer not_started(const StartFacts& facts, const Error& error, const Call& call) {
  return error.code == ErrorCode::conflict ? taken_by_another_type(facts, error)
                                           : failed(error, call);
}

Answer start_answer(StartFacts facts, const std::optional<dispatch::ExistingRun>& existing,
                    const RunId& run, const engine::CommandOutcome& outcome) {
  if (existing) facts.met(*existing);
  Value::Map about = facts.body();
  about.emplace_back("run_id", run.view());
  about.emplace_back("outcome", outcome.outcome);
  if (outcome.accepted) return {outcome.outcome == "started_new" ? 201 : 200, std::move(about)};
  about.emplace_back("reason", wire_reason(outcome.rejection_reason));
  std::ranges::move(limit_facts(outcome), std::back_inserter(about));
  const bool taken = outcome.outcome == "rejected_duplicate";
  about.emplace_back(
      "message", taken ? fmt::format("workflow '{}' has been started before; pick another id, or "
                                     "duplicate_policy use-existing while it is open",
                                     facts.id)
                       : fmt::format("workflow '{}' was not started: {}", facts.id,
                                     words_of_rejection(outcome.rejection_reason)));
  return {status_of_rejection(outcome.rejection_reason), std::move(about)};
}

}  // namespace

void ControlPlane::start(const Call& call, Reply reply) {
  Fields fields{call};
  engine::StartCommand command = read_start(fields, call.ns);
  auto signal = read_signal(fields);
  std::string id = fields.text("workflow_id", 191);
  if (id.empty()) {
    const std::lock_guard lock{mutex_};
    id = ulids_.next(parts_.clock.now());
  }
  take_checked(fields, "workflow_id", parse_instance_id(id), command.instance_id);
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
    describe_start(command);
  }
  if (!fields.fine()) return reply(fields.errors());

  if (signal) {
    return start_with(call, std::move(command), *std::move(signal), std::move(reply));
  }
  StartFacts facts{command};
  const store::InstanceKey instance{command.ns, command.instance_id};
  parts_.dispatch.start(
      std::move(command), [this, call = call.without_body(), instance, facts = std::move(facts),
                           reply = std::move(reply)](Result<dispatch::StartReply> started) {
        if (!started) return reply(not_started(facts, started.error(), call));
        if (started->outcome.accepted) parts_.results.note({instance, started->run_id});
        reply(start_answer(facts, started->existing, started->run_id, started->outcome));
      });
}

void ControlPlane::describe_start(engine::StartCommand& command) const {
  auto known = parts_.workers.definition(command.ns, command.queue, command.workflow_type);
  command.declared = std::move(known.declared);
  command.fingerprint = std::move(known.fingerprint);
  // Code in this process is of no build; what runs elsewhere begins with the one promoted there.
  if (!command.compatibility.empty()) return;
  const std::string queue = command.queue.empty() ? "default" : command.queue;
  command.compatibility = parts_.rollouts.promoted(command.ns, queue).value_or("");
}

// The signal is there before the workflow takes its first step, or nothing happens at all.
void ControlPlane::start_with(const Call& call, engine::StartCommand command,
                              engine::SignalCommand signal, Reply reply) {
  StartFacts facts{command};
  command.duplicate_start_policy = engine::DuplicateStartPolicy::return_existing_active;
  parts_.dispatch.signal_with_start(
      std::move(command), std::move(signal),
      [call = call.without_body(), facts = std::move(facts),
       reply = std::move(reply)](Result<dispatch::SignalWithStartReply> both) {
        if (!both) return reply(not_started(facts, both.error(), call));
        const engine::CommandOutcome& sent = both->signal;
        if (sent.accepted) {
          Answer answer = start_answer(facts, both->existing, both->run_id, both->start);
          answer.body.emplace_back("signal_outcome", sent.outcome);
          return reply(std::move(answer));
        }
        Answer no = refusal(
            status_of_rejection(sent.rejection_reason), wire_reason(sent.rejection_reason),
            fmt::format("workflow '{}' was not started: its signal was refused ({})", facts.id,
                        sent.rejection_reason),
            {{"signal_outcome", sent.outcome}, {"rejection_reason", sent.rejection_reason}});
        std::ranges::move(limit_facts(sent), std::back_inserter(no.body));
        if (!sent.errors.empty()) {
          std::ranges::move(errors_of_arguments(engine::errors_value(sent.errors)),
                            std::back_inserter(no.body));
        }
        reply(std::move(no));
      });
}

}  // namespace dw::server
