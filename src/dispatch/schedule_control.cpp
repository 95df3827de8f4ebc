#include "dispatch/schedule_control.hpp"

namespace dw::dispatch {
namespace {

bool is_set(const Value& body, std::string_view key) {
  const Value* found = body.find(key);
  return found && found->if_boolean() && *found->if_boolean();
}

std::string word_in(const Value& body, std::string_view key) {
  const Value* found = body.find(key);
  return found && found->if_string() ? *found->if_string() : std::string{};
}

ScheduleControl control_in(const store::Document& document) {
  const auto body = parse_json(document.body);
  if (!body || !body->if_map()) {
    return {.frozen = true, .killed = true, .reason = "what was said about it cannot be read"};
  }
  ScheduleControl control{.frozen = is_set(*body, "queue_frozen"),
                          .killed = is_set(*body, "kill_switch"),
                          .reason = word_in(*body, "reason"),
                          .changed_by = word_in(*body, "changed_by")};
  if (const auto at = parse_timestamp(word_in(*body, "changed_at"))) control.changed_at = *at;
  return control;
}

Value word_or_null(const std::string& word) {
  return word.empty() ? Value{} : Value{word};
}

}  // namespace

Value to_value(const ScheduleControl& control) {
  return Value::Map{
      {"queue_frozen", control.frozen},
      {"kill_switch", control.killed},
      {"reason", word_or_null(control.reason)},
      {"changed_at", control.changed_at ? Value{format_timestamp(*control.changed_at)} : Value{}},
      {"changed_by", word_or_null(control.changed_by)}};
}

store::Document document_of(const ScheduleControl& control) {
  return {std::string{schedule_control_kind}, Namespace{"default"}, "schedules",
          to_json(to_value(control))};
}

Result<ScheduleControl> load_schedule_control(store::Store& store) {
  const auto documents = DW_TRY(store.documents(schedule_control_kind));
  return documents.empty() ? ScheduleControl{} : control_in(documents.front());
}

}  // namespace dw::dispatch
