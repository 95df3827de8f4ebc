// What workflow:update adds to a server's answer, be it a refusal: one state to look at, the
// request it answers, and where in the history it stands.
#include "cli/catalogue.hpp"
#include "cli/given.hpp"
#include "cli/lookup.hpp"
#include "cli/request.hpp"
#include "cli/task.hpp"

#include <fmt/format.h>

namespace dw::cli {
namespace {

// accepted, completed, failed or refused.
std::string state_of(const Value& answer, bool failed) {
  if (text_of(answer, "command_status") == "rejected") return "refused";
  const std::string outcome = text_of(answer, "outcome");
  if (outcome.starts_with("rejected") || outcome.find("refused") != std::string::npos) {
    return "refused";
  }
  if (const auto status = text_of(answer, "update_status"); !status.empty()) return status;
  for (const char* word : {"failed", "completed", "accepted"}) {
    if (outcome.find(word) != std::string::npos) return word;
  }
  return failed ? "refused" : "accepted";
}

void keep(Value& document, std::string_view key, Value value) {
  if (!look_up(document, key)) set_entry(document, key, std::move(value));
}

Value entries_of(const Value& document, std::initializer_list<std::string_view> keys) {
  Value::Map found;
  for (const std::string_view key : keys) {
    if (const Value* value = document.find(key)) found.emplace_back(std::string{key}, *value);
  }
  return found;
}

Value request_value(const Given& given, const Value& input) {
  Value::Map request{{"workflow_id", given.text("workflow-id")},
                     {"update_name", given.text("update-name")},
                     {"wait_for", given.text("wait")}};
  for (const auto& [key, option] :
       {std::pair{"run_id", "run-id"}, std::pair{"request_id", "request-id"}}) {
    if (const auto text = given.text(option); !text.empty()) request.emplace_back(key, text);
  }
  if (!input.is_null()) request.emplace_back("input", input);
  return request;
}

Value error_details(const Value& document, const std::string& state) {
  Value::Map details;
  for (const auto& [key, from] :
       {std::pair{"status_code", "status_code"}, std::pair{"message", "message|error"},
        std::pair{"reason", "reason"}, std::pair{"validation_errors", "validation_errors"},
        std::pair{"failure_message", "failure_message"}}) {
    if (const Value* value = look_up(document, from)) details.emplace_back(key, *value);
  }
  details.emplace_back("outcome", fmt::format("update_{}", state));
  return details;
}

Value cli_fields(const Value& document) {
  Value::Array present;
  for (const auto& [key, value] : *document.if_map()) {
    present.emplace_back(fmt::format("workflow:update.{}", key));
  }
  Value::Map fields{{"surface", "workflow:update --json"}, {"fields_present", std::move(present)}};
  for (const auto& [key, from] :
       {std::pair{"state", "state"}, std::pair{"request_id", "request_id"},
        std::pair{"update_id", "update_id"}, std::pair{"outcome", "outcome"},
        std::pair{"reason", "reason|rejection_reason"}, std::pair{"payload", "payload"},
        std::pair{"result", "result"}, std::pair{"error", "error_details"},
        std::pair{"history_references", "history_references"}}) {
    const Value* value = look_up(document, from);
    fields.emplace_back(key, value ? *value : Value{});
  }
  return fields;
}

Value complete(const Given& given, Value document, const Value& input, bool failed) {
  const std::string state = state_of(document, failed);
  keep(document, "workflow_id", given.text("workflow-id"));
  keep(document, "update_name", given.text("update-name"));
  keep(document, "wait_for", given.text("wait"));
  if (const auto id = given.text("request-id"); !id.empty()) keep(document, "request_id", id);
  set_entry(document, "request", request_value(given, input));
  if (!input.is_null()) keep(document, "payload", input);
  set_entry(document, "state", state);
  set_entry(document, "update_state", state);
  keep(document, "outcome", fmt::format("update_{}", state));
  if (failed || state == "failed" || state == "refused") {
    keep(document, "error_details", error_details(document, state));
  }
  keep(document, "history_references",
       entries_of(document, {"workflow_sequence", "command_sequence", "accepted_at", "applied_at",
                             "rejected_at", "closed_at"}));
  for (const char* key :
       {"update_id", "request_id", "reason", "result", "result_envelope", "error_details"}) {
    if (!document.find(key)) set_entry(document, key, Value{});
  }
  keep(document, "update_diagnostics",
       entries_of(document, {"state",
                             "namespace",
                             "workflow_id",
                             "run_id",
                             "update_name",
                             "update_id",
                             "request_id",
                             "outcome",
                             "reason",
                             "rejection_reason",
                             "command_status",
                             "command_id",
                             "command_sequence",
                             "update_status",
                             "wait_for",
                             "wait_timed_out",
                             "wait_timeout_seconds",
                             "failure_message",
                             "request",
                             "payload",
                             "history_references",
                             "result",
                             "error_details"}));
  keep(document, "cli_fields", cli_fields(document));
  return document;
}

// The arguments that were sent, for the record; a file is not read again for that.
Value sent_input(const Given& given) {
  const auto no_files = [](const std::string&) -> Outcome<std::string> {
    return invalid_input("not read again");
  };
  const auto input = read_input(given, InputAs::arguments, no_files);
  return input && *input ? **input : Value{};
}

}  // namespace

Value describe_update(const Task& task, Value answer) {
  return complete(task.given, std::move(answer), sent_input(task.given), false);
}

Value describe_failed_update(const Given& given, Value document) {
  const Value* said = look_up(document, "server_response");
  const Value response = said ? *said : Value{};
  for (const char* key : {"outcome", "command_status", "command_id", "command_sequence", "run_id",
                          "update_id", "update_status", "failure_message", "message", "wait_for"}) {
    if (const Value* value = response.find(key)) keep(document, key, *value);
  }
  return complete(given, std::move(document), sent_input(given), true);
}

}  // namespace dw::cli
