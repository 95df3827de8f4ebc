#include "server/bridge_adapters.hpp"

#include "core/sha256.hpp"
#include "server/addressed.hpp"
#include "server/fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace dw::server {
namespace {

constexpr std::size_t longest_adapter = 128;
constexpr std::size_t longest_idempotency_key = 255;
constexpr std::size_t longest_shown_key = 80;
constexpr std::size_t digits_in_a_name = 32;

// What is told about an event in every answer: neither what it carried, nor what nobody here knows.
struct BridgeEvent {
  std::string adapter = {};
  std::string action = {};
  std::string key = {};
  Value::Map target = {};
  Value correlation = {};
  std::string name_field = {};    // where the target names the signal or update
  bool existing_is_fine = false;  // of a start: a workflow that is there is no reason to refuse
};

// As in workflow ids, which it becomes a part of.
bool is_adapter_name(std::string_view name) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == ':' || c == '-';
  };
  return !name.empty() && name.size() <= longest_adapter && std::ranges::all_of(name, fits);
}

std::string short_digest(std::string_view text) {
  return sha256_hex(text).substr(0, digits_in_a_name);
}

std::string text_in(const Value& body, std::string_view key) {
  const Value* value = body.find(key);
  return value && value->if_string() ? *value->if_string() : std::string{};
}

bool is_set_in(const Value& body, std::string_view key) {
  const Value* value = body.find(key);
  return value && value->if_boolean() && *value->if_boolean();
}

// ---- what is answered

Answer bridge_outcome(const BridgeEvent& event, int status, std::string_view outcome,
                      Value::Map more) {
  Answer answer{status,
                {{"schema", bridge_outcome_schema},
                 {"version", 1},
                 {"adapter", event.adapter},
                 {"action", event.action.empty() ? Value{} : Value{event.action}},
                 {"accepted", outcome == "accepted"},
                 {"outcome", outcome},
                 {"idempotency_key", event.key.empty() ? Value{} : Value{event.key}},
                 {"target", event.target},
                 {"correlation", event.correlation}}};
  std::ranges::move(more, std::back_inserter(answer.body));
  return answer;
}

Answer bridge_rejection(const BridgeEvent& event, std::string_view reason, std::string message,
                        Value::Map more = {}) {
  more.insert(more.begin(), {{"reason", reason}, {"message", std::move(message)}});
  return bridge_outcome(event, 422, "rejected", std::move(more));
}

Answer malformed(const BridgeEvent& event, Value::Map errors) {
  std::string message = "the event is malformed";
  if (!errors.empty()) message += ": see " + errors.front().first;
  const Value copy{errors};
  return bridge_rejection(event, "malformed_payload", std::move(message),
                          {{"errors", copy}, {"validation_errors", std::move(errors)}});
}

// The control plane speaks of its own fields; in an event all but the input lie in the target.
Value::Map errors_within(const BridgeEvent& event, const Value::Map& errors) {
  Value::Map renamed;
  for (const auto& [field, texts] : errors) {
    const bool of_input = field == "input" || field.starts_with("input.");
    const std::string& name = field == "name" ? event.name_field : field;
    renamed.emplace_back(of_input ? field : "target." + name, texts);
  }
  return renamed;
}

// In the words of the published contract, where it has one.
std::string_view bridge_reason(int status, std::string_view reason) {
  if (status == 404) return "unknown_target";
  if (reason == "duplicate_not_allowed") return "instance_already_started";
  if (reason.starts_with("invalid_")) return "malformed_payload";
  return reason;
}

// Whom the event has reached.
Value::Map bridged_to(const Value& body) {
  Value::Map facts;
  for (const auto key : {"workflow_id", "run_id", "workflow_type"}) {
    if (auto text = text_in(body, key); !text.empty()) facts.emplace_back(key, std::move(text));
  }
  return facts;
}

Answer refused_by_control(const BridgeEvent& event, int status, const Value& body) {
  const std::string reason = text_in(body, "reason");
  const Value* errors = body.find("errors");
  const Value::Map* fields = errors ? errors->if_map() : nullptr;
  if (fields && (reason == "validation_failed" || reason.ends_with("_payload_framing") ||
                 reason.starts_with("unsupported_payload_"))) {
    return malformed(event, errors_within(event, *fields));
  }
  Value::Map more = bridged_to(body);
  more.emplace_back("rejection_reason", reason);
  if (auto outcome = text_in(body, "outcome"); !outcome.empty()) {
    more.emplace_back("control_plane_outcome", std::move(outcome));
  }
  if (fields) {
    more.emplace_back("errors", *errors);
    more.emplace_back("validation_errors", *errors);
  }
  return bridge_rejection(event, bridge_reason(status, reason), text_in(body, "message"),
                          std::move(more));
}

Answer told_by_bridge(const BridgeEvent& event, const Answer& answer) {
  const int status = answer.status;
  const Value body{answer.body};
  if (status == 429 || status >= 500 || is_set_in(body, "retryable")) return answer;
  const std::string outcome = text_in(body, "outcome");
  const bool command_again = is_set_in(body, "repeated");
  const bool start_again =
      event.existing_is_fine &&
      (outcome == "returned_existing_active" ||
       (outcome == "rejected_duplicate" && text_in(body, "rejection_reason") != type_mismatch));
  if (status >= 300 && !command_again && !start_again) {
    return refused_by_control(event, status, body);
  }
  Value::Map facts = bridged_to(body);
  if (start_again) facts.emplace_back("reason", "duplicate_start");
  if (command_again) {
    facts.emplace_back("control_plane_outcome", "deduped_existing_command");
  } else if (!outcome.empty()) {
    facts.emplace_back("control_plane_outcome", outcome);
  }
  const bool again = command_again || start_again;
  return bridge_outcome(event, again ? 200 : 202, again ? "duplicate" : "accepted",
                        std::move(facts));
}

// ---- what is asked

BridgeEvent read_bridge_event(const Call& call, Fields& fields) {
  BridgeEvent event;
  event.adapter = call.match["adapter"];
  event.action = fields.required_text("action", 64);
  event.key = fields.required_text("idempotency_key", longest_idempotency_key);
  if (!fields.field("target")) fields.wrong("target", "is required");
  const auto target = fields.object("target");
  for (const auto name : {"workflow_id", "workflow_type", "signal_name", "update_name",
                          "task_queue", "business_key", "duplicate_policy"}) {
    const Value* given = target ? target->find(name) : nullptr;
    if (given && given->if_string()) event.target.emplace_back(name, *given);
  }
  if (auto correlation = fields.object("correlation")) event.correlation = *std::move(correlation);
  return event;
}

// The same call, had its sender spoken to the control plane.
Call control_call(const Call& call, std::vector<std::string> path, Value::Map body) {
  Call asked;
  asked.match = match("POST", {std::move(path), {}});
  asked.ns = call.ns;
  asked.client = call.client;
  asked.is_event = true;
  asked.body = std::move(body);
  if (const Value* input = call.field("input")) asked.body.emplace_back("input", *input);
  return asked;
}

Call start_asked_for(const Call& call, BridgeEvent& event, Fields& target) {
  Value::Map body{{"workflow_type", target.required_text("workflow_type", 255)}};
  std::string id = target.text("workflow_id", 191);
  const auto policy =
      target.word("duplicate_policy", {"use_existing", "use-existing", "fail", "reject_duplicate"});
  // One that is named after the event can only have been started by it.
  event.existing_is_fine = id.empty() || policy.starts_with("use");
  if (id.empty()) id = bridged_workflow_id(event.adapter, event.key);
  body.emplace_back("workflow_id", std::move(id));
  body.emplace_back("duplicate_policy", event.existing_is_fine ? "use-existing" : "fail");
  for (const auto name : {"task_queue", "business_key"}) {
    if (const Value* given = target.field(name)) body.emplace_back(name, *given);
  }
  return control_call(call, {"workflows"}, std::move(body));
}

Call command_asked_for(const Call& call, BridgeEvent& event, Fields& target, std::string verb) {
  event.name_field = verb + "_name";
  std::string id = target.required_text("workflow_id", 191);
  std::string name = target.required_text(event.name_field, 256);
  Value::Map body{{"request_id", bridged_request_id(event.adapter, event.key, name)}};
  return control_call(call, {"workflows", std::move(id), std::move(verb), std::move(name)},
                      std::move(body));
}

// Absent: no such action.
std::optional<Call> asked_for(const Call& call, BridgeEvent& event, Fields& target) {
  if (event.action == "start_workflow") return start_asked_for(call, event, target);
  if (event.action == "signal_workflow") return command_asked_for(call, event, target, "signal");
  if (event.action == "update_workflow") return command_asked_for(call, event, target, "update");
  return std::nullopt;
}

}  // namespace

std::string bridged_workflow_id(std::string_view adapter, std::string_view idempotency_key) {
  // No adapter has a line break in its name, so no two pairs read alike.
  return fmt::format("bridge-{}-{}", adapter,
                     short_digest(fmt::format("{}\n{}", adapter, idempotency_key)));
}

std::string bridged_request_id(std::string_view adapter, std::string_view idempotency_key,
                               std::string_view name) {
  // The key is shown for those who look for an event in a history; the digest tells them apart.
  const bool shown = idempotency_key.size() <= longest_shown_key;
  return fmt::format("bridge/{}/{}/{}", adapter, shown ? idempotency_key : "…",
                     short_digest(fmt::format("{}\n{}\n{}", adapter, name, idempotency_key)));
}

void bridge_webhook(const Call& call, Service& control, Reply reply) {
  Fields fields{call};
  BridgeEvent event = read_bridge_event(call, fields);
  if (!is_adapter_name(event.adapter)) {
    return reply(bridge_rejection(event, "unsupported_routing",
                                  fmt::format("'{}' cannot be an adapter: its name has up to {} "
                                              "letters, digits and . _ : -",
                                              event.adapter, longest_adapter)));
  }
  if (!fields.fine()) return reply(malformed(event, fields.take_errors()));
  const Value target_object = *fields.object("target");
  Fields target{*target_object.if_map(), "target"};
  auto asked = asked_for(call, event, target);
  if (!asked) {
    return reply(bridge_rejection(event, "unsupported_action",
                                  fmt::format("'{}' is no action; start_workflow, signal_workflow "
                                              "and update_workflow are",
                                              event.action)));
  }
  if (!target.fine()) return reply(malformed(event, target.take_errors()));
  control.serve(*std::move(asked),
                [event = std::move(event), reply = std::move(reply)](const Answer& answer) {
                  reply(told_by_bridge(event, answer));
                });
}

}  // namespace dw::server
