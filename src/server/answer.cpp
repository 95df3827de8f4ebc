#include "server/answer.hpp"

#include "core/json_writer.hpp"
#include "server/cluster_info.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace dw::server {
namespace {

// What a client may count on: fields of the envelope that are never empty, and those that are there
// when the operation succeeded.
struct Promise {
  Operation operation;
  std::string_view name;
  std::string_view name_field;
  std::vector<std::string_view> required;
  std::vector<std::string_view> on_success;
};

const std::vector<Promise>& promises() {
  static const std::vector<Promise> all{
      {Operation::list, "list", "", {}, {}},
      {Operation::start, "start", "", {}, {"workflow_id", "outcome"}},
      {Operation::describe, "describe", "", {"workflow_id"}, {}},
      {Operation::list_runs, "list_runs", "", {"workflow_id"}, {}},
      {Operation::describe_run, "describe_run", "", {"workflow_id"}, {"run_id"}},
      {Operation::debug, "debug_workflow", "", {"workflow_id"}, {"run_id", "diagnostic_status"}},
      {Operation::history, "history", "", {"workflow_id", "run_id"}, {"next_page_token"}},
      {Operation::result, "result", "", {"workflow_id"}, {"run_id"}},
      {Operation::signal,
       "signal",
       "signal_name",
       {"workflow_id", "operation_name", "operation_name_field"},
       {"outcome"}},
      {Operation::query,
       "query",
       "query_name",
       {"workflow_id", "operation_name", "operation_name_field"},
       {"result"}},
      {Operation::update,
       "update",
       "update_name",
       {"workflow_id", "operation_name", "operation_name_field"},
       {"outcome"}},
      {Operation::cancel, "cancel", "", {"workflow_id"}, {"outcome"}},
      {Operation::terminate, "terminate", "", {"workflow_id"}, {"outcome"}},
      {Operation::repair, "repair", "", {"workflow_id"}, {"outcome"}},
      {Operation::archive, "archive", "", {"workflow_id"}, {"outcome"}},
      {Operation::import_workflows, "import", "", {}, {}},
  };
  return all;
}

constexpr std::string_view projected[] = {"run_id",
                                          "workflow_type",
                                          "namespace",
                                          "business_key",
                                          "status",
                                          "status_bucket",
                                          "is_terminal",
                                          "task_queue",
                                          "run_number",
                                          "run_count",
                                          "workflow_count",
                                          "is_current_run",
                                          "compatibility",
                                          "started_at",
                                          "closed_at",
                                          "last_progress_at",
                                          "wait_kind",
                                          "wait_reason",
                                          "next_page_token",
                                          "command_id",
                                          "command_status",
                                          "command_source",
                                          "target_scope",
                                          "outcome",
                                          "reason",
                                          "rejection_reason",
                                          "validation_errors",
                                          "result",
                                          "result_envelope",
                                          "update_id",
                                          "update_status",
                                          "wait_for",
                                          "wait_timed_out",
                                          "wait_timeout_seconds",
                                          "blocked_reason",
                                          "message",
                                          "diagnostic_status"};

const Promise& promise_of(Operation operation) {
  static const Promise unnamed{operation, "", "", {}, {}};
  const auto found = std::ranges::find(promises(), operation, &Promise::operation);
  return found == promises().end() ? unnamed : *found;
}

Value::Array texts(const std::vector<std::string_view>& list) {
  return {list.begin(), list.end()};
}

const Value* find(const Value::Map& map, std::string_view key) {
  for (const auto& [name, value] : map) {
    if (name == key) return &value;
  }
  return nullptr;
}

Value::Map contract() {
  return {{"schema", "durable-workflow.v2.control-plane-response.contract"},
          {"version", 1},
          {"legacy_field_policy", "reject_non_canonical"},
          {"legacy_fields", Value::Map{{"query", "query_name"},
                                       {"signal", "signal_name"},
                                       {"update", "update_name"},
                                       {"wait_policy", "wait_for"}}}};
}

bool is_projected(std::string_view key) {
  static const std::unordered_set<std::string_view> keys(std::begin(projected),
                                                         std::end(projected));
  return keys.contains(key);
}

// The contract of an operation, as JSON.
const std::string& terms_of(const Promise& promise) {
  static const auto all = [] {
    std::unordered_map<std::string_view, std::string> texts_by_name;
    for (const Promise& each : promises()) {
      Value::Map terms = contract();
      terms.emplace_back("required_fields", texts(each.required));
      terms.emplace_back("success_fields", texts(each.on_success));
      texts_by_name.emplace(each.name, to_json(Value{std::move(terms)}));
    }
    Value::Map nothing = contract();
    nothing.emplace_back("required_fields", Value::Array{});
    nothing.emplace_back("success_fields", Value::Array{});
    texts_by_name.emplace("", to_json(Value{std::move(nothing)}));
    return texts_by_name;
  }();
  return all.at(promise.name);
}

}  // namespace

std::string body_text(Answer answer) {
  if (!answer.document.empty()) return std::move(answer.document);
  constexpr std::size_t usual_field = 48;
  std::size_t length = 2 + usual_field * answer.body.size();
  const auto count = [&](const auto& fields) {
    for (const auto& [name, json] : fields) length += name.size() + json.size() + 4;
  };
  count(answer.written);
  count(answer.constants);
  std::string text;
  text.reserve(length);
  JsonWriter writer{text};
  writer.any(Value{std::move(answer.body)});
  text.pop_back();
  const auto add = [&](const auto& fields) {
    for (const auto& [name, json] : fields) {
      if (text.size() > 1) text += ',';
      text.append(1, '"').append(name).append("\":").append(json);
    }
  };
  add(answer.written);
  add(answer.constants);
  text += '}';
  return text;
}

Answer refusal(int status, std::string_view reason, std::string message, Value::Map more) {
  Answer answer{status, {{"message", std::move(message)}, {"reason", reason}}};
  std::ranges::move(more, std::back_inserter(answer.body));
  return answer;
}

namespace {

// A payload that nobody can read is told by its code, here too when nothing else is wrong.
std::string_view reason_for(const Value::Map& errors) {
  constexpr ErrorCode codes[] = {ErrorCode::unsupported_payload_codec,
                                 ErrorCode::invalid_payload_framing,
                                 ErrorCode::unsupported_payload_schema};
  const auto all_begin_with = [&](std::string_view code) {
    return std::ranges::all_of(errors, [&](const auto& error) {
      const auto* texts = error.second.if_array();
      return texts && std::ranges::all_of(*texts, [&](const Value& text) {
               return text.if_string() && text.if_string()->starts_with(code);
             });
    });
  };
  for (const ErrorCode code : codes) {
    if (!errors.empty() && all_begin_with(to_string(code))) return to_string(code);
  }
  return "validation_failed";
}

}  // namespace

Answer broke_down(std::string_view request_id, const std::exception& failure) {
  spdlog::error("a request's handler threw: {} request={}", failure.what(), request_id);
  return refusal(500, "server_error", "the server failed; its log says why");
}

Answer invalid(Value::Map errors) {
  std::string message = "The request is not valid";
  if (!errors.empty()) message += ": " + errors.front().first;
  const Value copy{errors};
  const auto reason = reason_for(errors);
  return refusal(422, reason, std::move(message),
                 {{"errors", copy}, {"validation_errors", std::move(errors)}});
}

std::string_view name_of(Operation operation) {
  return promise_of(operation).name;
}

// Every answer has it, so it is written straight into text; what never changes was written before.
void with_envelope(Answer& answer, const Subject& subject) {
  const Promise& promise = promise_of(subject.operation);
  Value::Map& body = answer.body;
  const auto put = [&](std::string_view key, std::string_view value) {
    if (!value.empty() && !find(body, key)) body.emplace_back(std::string{key}, value);
  };
  put("workflow_id", subject.workflow_id);
  put("run_id", subject.run_id);
  put(promise.name_field, promise.name_field.empty() ? std::string_view{} : subject.name);

  constexpr std::size_t usual_length = 1024;
  std::string text;
  text.reserve(usual_length);
  JsonWriter about{text};
  about.begin_object()
      .field("schema", "durable-workflow.v2.control-plane-response")
      .field("version", 1)
      .field("operation", promise.name);
  if (const Value* id = find(body, "workflow_id")) about.key("workflow_id").any(*id);
  if (!promise.name_field.empty()) {
    about.field("operation_name", std::string_view{subject.name})
        .field("operation_name_field", promise.name_field);
  }
  for (const auto& [key, value] : body) {
    if (is_projected(key)) about.key(key).any(value);
  }
  about.key("contract").raw(terms_of(promise)).end_object();
  answer.written.emplace_back("control_plane", std::move(text));
}

void with_worker_envelope(Answer& answer, bool compression) {
  const Value* message = find(answer.body, "message");
  const Value* error = find(answer.body, "error");
  if (message && !error) {
    answer.body.emplace_back("error", Value{*message});
  } else if (error && !message) {
    answer.body.emplace_back("message", Value{*error});
  }
  answer.body.emplace_back("protocol_version", worker_protocol_version);
  answer.constants.emplace_back("server_capabilities", worker_capabilities(compression));
}

Value response_contract() {
  Value::Map operations;
  for (const Promise& promise : promises()) {
    operations.emplace_back(
        std::string{promise.name},
        Value::Map{{"operation_name_field",
                    promise.name_field.empty() ? Value{} : Value{promise.name_field}},
                   {"required_fields", texts(promise.required)},
                   {"success_fields", texts(promise.on_success)}});
  }
  return Value::Map{{"schema", "durable-workflow.v2.control-plane-response"},
                    {"version", 1},
                    {"contract", contract()},
                    {"projected_fields", Value::Array(std::begin(projected), std::end(projected))},
                    {"operations", std::move(operations)}};
}

}  // namespace dw::server
