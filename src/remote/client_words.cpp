#include "remote/client_words.hpp"

#include "core/base64.hpp"
#include "core/payload_blob.hpp"
#include "core/unwrap.hpp"

#include <fmt/format.h>

namespace dw::remote {
namespace {

std::string text_in(const Value& object, std::string_view field) {
  const Value* value = object.find(field);
  const auto* text = value ? value->if_string() : nullptr;
  return text ? *text : std::string{};
}

std::int64_t number_in(const Value& object, std::string_view field, std::int64_t otherwise) {
  const Value* value = object.find(field);
  const auto* number = value ? value->if_integer() : nullptr;
  return number ? *number : otherwise;
}

bool flag_in(const Value& object, std::string_view field) {
  const Value* value = object.find(field);
  const auto* flag = value ? value->if_boolean() : nullptr;
  return flag && *flag;
}

Error unreadable(std::string_view what) {
  return {ErrorCode::internal,
          fmt::format("the server's answer is not to be understood: {}; is it a dw server of this "
                      "version or a newer one?",
                      what)};
}

Value envelope(const Payload& payload) {
  return Value::Map{{"codec", payload.codec}, {"blob", encode_base64(payload.bytes)}};
}

// Absent and null are none.
Result<std::optional<Payload>> payload_in(const Value& object, std::string_view field) {
  const Value* value = object.find(field);
  if (!value || value->is_null()) return std::optional<Payload>{};
  const std::string codec = text_in(*value, "codec"), blob = text_in(*value, "blob");
  if (codec.empty()) return unreadable(fmt::format("'{}' is no envelope", field));
  return std::optional{DW_TRY(payload_from_blob(codec, blob))};
}

Value::Map start_fields(const engine::StartCommand& command) {
  const bool rejects =
      command.duplicate_start_policy == engine::DuplicateStartPolicy::reject_duplicate;
  Value::Map fields{{"workflow_type", command.workflow_type},
                    {"workflow_id", command.instance_id.view()},
                    {"input", envelope(command.arguments)},
                    {"duplicate_policy", rejects ? "fail" : "use-existing"}};
  const auto add = [&](std::string_view name, Value value) {
    fields.emplace_back(std::string{name}, std::move(value));
  };
  if (!command.queue.empty()) add("task_queue", command.queue);
  if (!command.business_key.empty()) add("business_key", command.business_key);
  if (!command.labels.empty()) {
    add("labels", Value::Map{command.labels.begin(), command.labels.end()});
  }
  if (command.memo) add("memo", *command.memo);
  if (command.search_attributes) add("search_attributes", *command.search_attributes);
  if (command.execution_timeout) add("execution_timeout_seconds", *command.execution_timeout);
  if (command.run_timeout) add("run_timeout_seconds", *command.run_timeout);
  return fields;
}

ErrorCode code_of_status(int status) {
  switch (status) {
    case 408:
    case 504:
      return ErrorCode::timed_out;
    case 409:
      return ErrorCode::conflict;
    case 429:
      return ErrorCode::overloaded;
    case 404:  // no route: another server, or an older one
    case 501:
    case 502:
    case 503:
      return ErrorCode::unavailable;
    default:
      return status >= 400 && status < 500 ? ErrorCode::invalid_argument : ErrorCode::internal;
  }
}

ErrorCode code_of(const Said& said) {
  constexpr std::pair<std::string_view, ErrorCode> by_reason[] = {
      {"instance_not_found", ErrorCode::not_found},
      {"run_not_found", ErrorCode::not_found},
      {"namespace_not_found", ErrorCode::not_found},
      {"rejected_unknown_query", ErrorCode::unknown_query},
      {"query_worker_unavailable", ErrorCode::code_unavailable},
      {"query_worker_incompatible", ErrorCode::code_unavailable},
      {"query_rejected", ErrorCode::query_failed},
      {"query_workflow_state_unavailable", ErrorCode::query_failed}};
  const std::string reason = said.text("reason");
  for (const auto& [known, code] : by_reason) {
    if (known == reason) return code;
  }
  return code_of_status(said.status);
}

std::string_view next_step(const Said& said) {
  switch (said.status) {
    case 401:
      return "; give the client a token that the server knows";
    case 403:
      return "; use the token of another role";
    case 404:
      return said.text("reason") == "not_found" ? "; is it a dw server of this version or newer?"
                                                : "";
    case 429:
      return "; ask again, more slowly";
    default:
      return "";
  }
}

std::string complaints(const Value& body) {
  const Value* errors = body.find("validation_errors");
  return errors && !errors->is_null() ? " " + to_json(*errors) : std::string{};
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '.' || c == '_' || c == '~';
    if (plain) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

std::string path_of(const detail::RunRef& run) {
  return "/workflows/" + escaped(run.instance_id);
}

std::string start_body(const engine::StartCommand& command) {
  return to_json(start_fields(command));
}

std::string start_body(const engine::StartCommand& command, const SignalCall& signal) {
  auto fields = start_fields(command);
  fields.emplace_back("signal_name", signal.name);
  fields.emplace_back("signal_input", envelope(signal.arguments));
  return to_json(std::move(fields));
}

std::string query_body(const Payload& arguments) {
  return to_json(Value::Map{{"input", envelope(arguments)}});
}

std::string signal_body(const Payload& arguments, std::string_view request_id) {
  return to_json(Value::Map{{"input", envelope(arguments)}, {"request_id", request_id}});
}

std::string update_body(const Payload& arguments, std::string_view request_id,
                        std::optional<std::chrono::seconds> wait_for) {
  Value::Map fields{{"input", envelope(arguments)},
                    {"request_id", request_id},
                    {"wait_for", wait_for ? "completed" : "accepted"}};
  if (wait_for) fields.emplace_back("wait_timeout_seconds", std::int64_t{wait_for->count()});
  return to_json(std::move(fields));
}

std::string command_body(std::string_view reason, std::string_view request_id) {
  Value::Map fields{{"request_id", request_id}};
  if (!reason.empty()) fields.emplace_back("reason", reason);
  return to_json(std::move(fields));
}

Error refusal(const Said& said, std::string_view about) {
  auto why = said.text("message");
  if (why.empty()) why = fmt::format("the server answered with status {}", said.status);
  const auto reason = said.text("reason");
  return {code_of(said), fmt::format("cannot {}: {}{}{}{}", about, why,
                                     reason.empty() ? "" : fmt::format(" ({})", reason),
                                     complaints(said.body), next_step(said))};
}

Error start_refusal(const Said& said, const std::string& instance_id) {
  const auto reason = said.text("reason");
  if (reason == "structural_limit_exceeded") {
    return {ErrorCode::invalid_argument,
            fmt::format("cannot start '{}': its arguments are larger than a payload may be ({}); "
                        "pass a reference to them instead",
                        instance_id, reason)};
  }
  if (reason == "duplicate_not_allowed" &&
      said.text("rejection_reason") != "workflow_type_mismatch") {
    return {ErrorCode::conflict,
            fmt::format("instance '{}' was already started ({}); pick another id or pass "
                        "DuplicateStart::return_existing{}",
                        instance_id, reason,
                        said.repeated ? ". An attempt of this very call got no answer before, and "
                                        "may have been the one that started it"
                                      : "")};
  }
  return refusal(said, fmt::format("start '{}'", instance_id));
}

Error start_with_refusal(const Said& said, const std::string& instance_id,
                         const std::string& signal) {
  const auto reason = said.text("reason");
  Error error = refusal(said, fmt::format("start '{}' with signal '{}'", instance_id, signal));
  // Nothing was started, so it is the caller's signal that is wrong, not the workflow that is
  // missing.
  if (reason == "unknown_signal" || reason == "invalid_signal_arguments" ||
      reason == "structural_limit_exceeded") {
    error.code = ErrorCode::invalid_argument;
  }
  return error;
}

Result<detail::RunRef> run_in(const Said& said, std::string_view about) {
  detail::RunRef run{said.text("namespace"), said.text("workflow_id"), said.text("run_id")};
  if (run.instance_id.empty() || run.run_id.empty()) {
    return unreadable(fmt::format("it names no run ({})", about));
  }
  return run;
}

Result<RunInfo> run_info(const Value& description) {
  RunInfo info;
  info.instance_id = text_in(description, "workflow_id");
  info.run_id = text_in(description, "run_id");
  info.ns = text_in(description, "namespace");
  info.workflow_type = text_in(description, "workflow_type");
  info.status = text_in(description, "status");
  info.closed_reason = text_in(description, "closed_reason");
  info.run_number = static_cast<int>(number_in(description, "run_number", 1));
  info.history_events = number_in(description, "history_event_count", 0);
  info.started_at = DW_TRY(parse_timestamp(text_in(description, "started_at")));
  if (const auto closed_at = text_in(description, "closed_at"); !closed_at.empty()) {
    info.closed_at = DW_TRY(parse_timestamp(closed_at));
  }
  return info;
}

Result<CommandReply> command_reply(const Said& said, std::string_view about) {
  const auto status = said.text("command_status");
  if (status.empty()) {
    return said.fine() ? unreadable(fmt::format("no command_status ({})", about))
                       : refusal(said, about);
  }
  return CommandReply{status == "accepted", said.text("outcome"), said.text("rejection_reason")};
}

Result<UpdateInfo> update_reply(const Said& said, std::string_view update, std::string_view about) {
  const auto taken = DW_TRY(command_reply(said, about));
  UpdateInfo info;
  info.update_id = said.text("update_id");
  info.name = std::string{update};
  if (!taken.accepted) {
    info.status = "rejected";
    info.rejection_reason = taken.rejection_reason;
    info.message = taken.rejection_reason + complaints(said.body);
    return info;
  }
  info.status = said.text("update_status");
  info.wait_timed_out = flag_in(said.body, "wait_timed_out");
  if (info.status == "failed") info.message = said.text("failure_message");
  info.result = DW_TRY(payload_in(said.body, "result_envelope"));
  if (info.status == "completed" && !info.result) {
    return unreadable(fmt::format("a completed update without a result ({})", about));
  }
  return info;
}

Result<Payload> query_result(const Said& said, std::string_view about) {
  if (!said.fine()) return refusal(said, about);
  auto result = DW_TRY(payload_in(said.body, "result_envelope"));
  if (!result) return unreadable(fmt::format("no result_envelope ({})", about));
  return *std::move(result);
}

Result<detail::Closed> closed_run(const Said& said, std::string_view about) {
  detail::Closed closed;
  closed.closed_reason = said.text("closed_reason");
  if (closed.closed_reason.empty()) {
    return unreadable(fmt::format("a closed run without a reason ({})", about));
  }
  closed.output = DW_TRY(payload_in(said.body, "output_envelope"));
  if (const Value* failure = said.body.find("failure")) {
    closed.exception_class = text_in(*failure, "exception_class");
    closed.message = text_in(*failure, "message");
  }
  return closed;
}

void UpdateStory::hear(const Value& event) {
  const auto type = text_in(event, "event_type");
  const Value* payload = event.find("payload");
  if (!payload) return;
  if (type == "WorkflowStarted") continued_from_ = text_in(*payload, "continued_from_run_id");
  if (text_in(*payload, "update_id") != update_id_) return;
  const auto name = text_in(*payload, "update_name");
  if (type == "UpdateAccepted") {
    info_ = UpdateInfo{update_id_, name, "accepted", {}, {}};
  } else if (type == "UpdateRejected") {
    const auto reason = text_in(*payload, "rejection_reason");
    info_ = UpdateInfo{update_id_, name, "rejected", reason, reason};
  } else if (type == "UpdateCompleted" && info_) {
    info_->result = unwrap(payload_in(*payload, "result"));
    info_->status = info_->result ? "completed" : "failed";
    if (!info_->result) info_->message = text_in(*payload, "message");
  }
}

}  // namespace dw::remote
