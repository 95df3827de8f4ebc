#include "remote/worker_life.hpp"

#include "core/clock.hpp"
#include "core/json_writer.hpp"
#include "core/random.hpp"
#include "core/ulid.hpp"
#include "history/declarations.hpp"

#include <fmt/format.h>
#include <unistd.h>

namespace dw::remote {
namespace {

// What the routes it uses need, and no more: an older server answers as well.
constexpr std::string_view protocol_version = "1.15";

std::string made_up_id() {
  SeededRandom random{system_seed()};
  return fmt::format("dw-{}", UlidSource{random}.next(SystemClock{}.now()));
}

Value contracts_of(const Declarations& declared) {
  return Value::Map{{"queries", history::declared_names(declared.queries)},
                    {"signals", history::declared_names(declared.signals)},
                    {"updates", history::declared_names(declared.updates)},
                    {"query_contracts", history::declared_contracts(declared.queries)},
                    {"signal_contracts", history::declared_contracts(declared.signals)},
                    {"update_contracts", history::declared_contracts(declared.updates)}};
}

}  // namespace

client::HttpHeaders worker_headers(const WorkerOptions& options) {
  client::HttpHeaders headers{
      {"Content-Type", "application/json"},
      {"X-Durable-Workflow-Protocol-Version", std::string{protocol_version}}};
  if (!options.token.empty()) headers.emplace_back("Authorization", "Bearer " + options.token);
  if (!options.ns.empty()) headers.emplace_back("X-Namespace", options.ns);
  return headers;
}

Registration registration_for(const WorkerOptions& options, const Counts& capacity) {
  return {{options.worker_id.empty() ? made_up_id() : options.worker_id, options.task_queue,
           options.build_id},
          capacity.workflow,
          capacity.activity,
          options.heartbeat_interval};
}

std::string registration_body(const Registration& registration, const Registry& registry) {
  Value::Array workflows, activities;
  Value::Map fingerprints, contracts;
  for (const auto type : registry.workflow_types()) {
    const auto& definition = *registry.find_workflow(type);
    workflows.emplace_back(type);
    fingerprints.emplace_back(type, definition.fingerprint);
    contracts.emplace_back(type, contracts_of(definition.declared));
  }
  for (const auto type : registry.activity_types()) activities.emplace_back(type);
  const auto& [worker_id, task_queue, build_id] = registration.worker;
  Value::Map body{{"worker_id", worker_id},
                  {"task_queue", task_queue},
                  {"runtime", "cpp"},
                  {"supported_workflow_types", std::move(workflows)},
                  {"supported_activity_types", std::move(activities)},
                  {"workflow_definition_fingerprints", std::move(fingerprints)},
                  {"workflow_command_contracts", std::move(contracts)},
                  {"capabilities", Value::Array{"query_tasks", "exchange"}},
                  {"max_concurrent_workflow_tasks", registration.max_workflow_tasks},
                  {"max_concurrent_activity_tasks", registration.max_activity_tasks},
                  {"process_metrics", Value::Map{{"process_id", std::int64_t{::getpid()}}}}};
  if (!build_id.empty()) body.emplace_back("build_id", build_id);
  if (registration.heartbeat_interval) {
    body.emplace_back("heartbeat_interval_seconds",
                      std::int64_t{registration.heartbeat_interval->count()});
  }
  return to_json(body);
}

Result<Registered> parse_registered(std::string_view body) {
  const auto value = DW_TRY(parse_json(body));
  Registered registered;
  if (const auto* interval = value.find("heartbeat_interval_seconds");
      interval && interval->if_integer() && *interval->if_integer() > 0) {
    registered.heartbeat_interval = std::chrono::seconds{*interval->if_integer()};
  }
  const auto* capabilities = value.find("server_capabilities");
  const auto* exchange = capabilities ? capabilities->find("exchange") : nullptr;
  registered.exchanges = exchange && exchange->if_map();
  return registered;
}

std::string worker_heartbeat_body(std::string_view worker_id, const Counts& free) {
  std::string body;
  JsonWriter out{body};
  out.begin_object().field("worker_id", worker_id).key("task_slots");
  out.begin_object()
      .field("workflow_available", free.workflow)
      .field("activity_available", free.activity)
      .end_object();
  out.end_object();
  return body;
}

// ---- one activity's signs of life

std::string attempt_heartbeat_body(std::string_view worker_id, const AttemptId& attempt,
                                   const std::optional<Value>& progress) {
  // What is known about progress stands beside the rest: message, current, total, unit, details.
  Value::Map body{{"lease_owner", worker_id}, {"activity_attempt_id", attempt.str()}};
  if (const auto* known = progress ? progress->if_map() : nullptr) {
    body.insert(body.end(), known->begin(), known->end());
  }
  return to_json(body);
}

bool still_wanted(std::string_view heartbeat_reply) {
  const auto value = parse_json(heartbeat_reply);
  const auto says = [&](std::string_view key, bool otherwise) {
    const auto* found = value ? value->find(key) : nullptr;
    return found && found->if_boolean() ? *found->if_boolean() : otherwise;
  };
  return !says("cancel_requested", false) && says("can_continue", true);
}

// ---- refusals

Refusal parse_refusal(std::string_view body) {
  const auto value = parse_json(body);
  const auto text = [&](std::string_view key) {
    const auto* found = value ? value->find(key) : nullptr;
    return found && found->if_string() ? *found->if_string() : std::string{};
  };
  auto message = text("message");
  if (message.empty()) message = text("error");
  return {text("reason"), std::move(message)};
}

std::string refusal_text(const client::HttpReply& reply) {
  const auto refusal = parse_refusal(reply.body);
  return fmt::format("status {} {} {}", reply.status, refusal.reason, refusal.message);
}

}  // namespace dw::remote
