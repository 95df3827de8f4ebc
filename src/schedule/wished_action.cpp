#include "schedule/wishes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

namespace dw::schedule {
namespace {

constexpr std::size_t longest_workflow_type = 255;

// Aliases that clients send are kept under the canonical name.
std::string_view canonical_key(std::string_view key) {
  if (key == "workflow_execution_timeout") return "execution_timeout_seconds";
  if (key == "workflow_run_timeout") return "run_timeout_seconds";
  return key;
}

// What was given over what is there; null leaves it as it is.
Value merged_action(const Value::Map& given, Value::Map over) {
  for (const auto& [key, value] : given) {
    if (value.is_null()) continue;
    const auto name = canonical_key(key);
    const auto there = std::ranges::find(over, name, &Value::Map::value_type::first);
    if (there == over.end()) {
      over.emplace_back(name, value);
    } else {
      there->second = value;
    }
  }
  return over;
}

std::string action_text(Wish& wish, const Value& action, std::string_view key) {
  const auto* value = action.find(key);
  if (value == nullptr) return {};
  if (const auto* text = value->if_string()) return *text;
  wish.refuse(fmt::format("action.{}", key), "invalid_value", "is no text", "must be a text");
  return {};
}

std::optional<std::int64_t> action_seconds(Wish& wish, const Value& action, std::string_view key) {
  const auto* value = action.find(key);
  if (value == nullptr) return std::nullopt;
  const auto* number = value->if_integer();
  if (number != nullptr && *number >= 1) return *number;
  wish.refuse(fmt::format("action.{}", key), "invalid_value", "is no number of seconds",
              "must be a whole number of 1 or more");
  return std::nullopt;
}

void warn_of_unknown_keys(Wish& wish, const Value& action,
                          std::initializer_list<std::string_view> known) {
  for (const auto& [key, value] : *action.if_map()) {
    if (std::ranges::find(known, key) != known.end()) continue;
    wish.warnings.push_back(
        {"action." + key, "unknown_field", "means nothing here and is not kept"});
  }
}

StartWorkflow read_start_workflow(Wish& wish, const Value& action) {
  StartWorkflow start;
  start.workflow_type = action_text(wish, action, "workflow_type");
  if (start.workflow_type.empty() || start.workflow_type.size() > longest_workflow_type) {
    wish.refuse("action.workflow_type", "invalid_value", "names no workflow",
                fmt::format("must be a text of 1 to {} bytes", longest_workflow_type));
  }
  start.workflow_class = action_text(wish, action, "workflow_class");
  start.task_queue = action_text(wish, action, "task_queue");
  if (start.task_queue.size() > longest_queue) {
    wish.refuse("action.task_queue", "invalid_value", "is too long",
                fmt::format("may have {} bytes, as those of workers", longest_queue));
  }
  if (const auto* input = action.find("input")) start.input = *input;
  start.execution_timeout_seconds = action_seconds(wish, action, "execution_timeout_seconds");
  start.run_timeout_seconds = action_seconds(wish, action, "run_timeout_seconds");
  warn_of_unknown_keys(wish, action,
                       {"kind", "workflow_type", "workflow_class", "task_queue", "input",
                        "execution_timeout_seconds", "run_timeout_seconds"});
  return start;
}

SendPrompt read_send_prompt(Wish& wish, const Value& action) {
  SendPrompt send;
  send.workspace_id = action_text(wish, action, "workspace_id");
  send.prompt = action_text(wish, action, "prompt");
  std::erase(send.prompt, '\r');
  for (const auto& [key, text] :
       {std::pair{"workspace_id", &send.workspace_id}, std::pair{"prompt", &send.prompt}}) {
    if (!text->empty()) continue;
    wish.refuse(fmt::format("action.{}", key), "invalid_value", "is empty",
                "must be a text that is not empty");
  }
  if (const auto* metadata = action.find("metadata")) send.metadata = *metadata;
  send.timeout_seconds =
      action_seconds(wish, action, "timeout_seconds").value_or(send.timeout_seconds);
  warn_of_unknown_keys(wish, action,
                       {"kind", "workspace_id", "prompt", "metadata", "timeout_seconds"});
  return send;
}

// Of another kind nothing of what is there is worth keeping.
bool is_a_new_kind(const Value& given, const Action& there) {
  const auto* kind = given.find("kind");
  const auto* word = kind != nullptr ? kind->if_string() : nullptr;
  const bool prompts = std::holds_alternative<SendPrompt>(there);
  return word != nullptr && (*word == "send_prompt") != prompts;
}

}  // namespace

void apply_action(Wish& wish, const ScheduleChange& change) {
  if (!change.action) return;
  const auto* given = change.action->if_map();
  if (given == nullptr) {
    wish.refuse("action", "invalid_value",
                fmt::format("is of type {}", dw::to_string(change.action->kind())),
                R"(must be an object such as {"workflow_type": "…"})");
    return;
  }
  const bool over = change.merge_action && !is_a_new_kind(*change.action, wish.schedule.action);
  const auto there = over ? to_value(wish.schedule.action) : Value{Value::Map{}};
  const auto action = merged_action(*given, *there.if_map());
  const auto kind =
      action.find("kind") != nullptr ? action_text(wish, action, "kind") : "start_workflow";
  if (kind == "start_workflow") {
    wish.schedule.action = read_start_workflow(wish, action);
  } else if (kind == "send_prompt") {
    wish.schedule.action = read_send_prompt(wish, action);
  } else {
    wish.refuse("action.kind", "invalid_value", fmt::format("there is no kind {}", kind),
                "must be start_workflow or send_prompt");
  }
}

}  // namespace dw::schedule
