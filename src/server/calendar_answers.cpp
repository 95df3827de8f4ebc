#include "server/calendar_answers.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace dw::server {
namespace {

constexpr std::array<std::string_view, 5> only_in_answers{
    "date_count", "partial_date_count", "rule_count", "attached_schedules", "findings"};

Value counted(std::size_t number) {
  return static_cast<std::int64_t>(number);
}

void add_counts(Value::Map& entries, const schedule::Calendar& calendar) {
  entries.emplace_back("date_count", counted(calendar.dates.size()));
  entries.emplace_back("partial_date_count", counted(calendar.partial_dates.size()));
  entries.emplace_back("rule_count", counted(calendar.rules.size()));
}

}  // namespace

Value::Map shown_calendar(const schedule::CalendarRecord& record) {
  Value value = schedule::to_value(record);
  Value::Map entries = std::move(*value.if_map());
  add_counts(entries, record.calendar);
  return entries;
}

Value::Map calendar_row(const schedule::CalendarRecord& record) {
  const auto& calendar = record.calendar;
  Value::Map entries{{"id", record.id},
                     {"namespace", record.namespace_name ? Value{*record.namespace_name} : Value{}},
                     {"name", calendar.name},
                     {"kind", schedule::to_string(calendar.kind)},
                     {"timezone", calendar.timezone},
                     {"description", calendar.description},
                     {"is_seed", record.is_seed},
                     {"created_at", format_timestamp(record.created_at)},
                     {"updated_at", format_timestamp(record.updated_at)}};
  add_counts(entries, calendar);
  return entries;
}

Value::Map definition_in(const Value::Map& body) {
  Value::Map definition = body;
  std::erase_if(definition, [](const auto& entry) {
    return std::ranges::find(only_in_answers, entry.first) != only_in_answers.end();
  });
  return definition;
}

Value::Map merged_definition(const schedule::Calendar& calendar, const Value::Map& changes) {
  Value before = schedule::to_value(calendar);
  Value::Map merged = definition_in(changes);
  for (auto& [key, value] : *before.if_map()) {
    const auto changed = std::ranges::find(merged, key, &Value::Map::value_type::first);
    if (changed == merged.end()) merged.emplace_back(key, std::move(value));
  }
  return merged;
}

Answer refused_calendar(std::span<const schedule::GuardProblem> problems) {
  Value::Map errors;
  Value::Array details;
  for (const auto& [code, field, message] : problems) {
    auto found = std::ranges::find(errors, field, &Value::Map::value_type::first);
    if (found == errors.end()) found = errors.insert(found, {field, Value::Array{}});
    found->second.if_array()->emplace_back(message);
    details.emplace_back(Value::Map{{"path", field}, {"code", code}, {"message", message}});
  }
  return refusal(
      422, "validation_failed",
      "The calendar is not valid: " + schedule::to_error(problems).message,
      {{"errors", errors}, {"validation_errors", errors}, {"problems", std::move(details)}});
}

Value findings_value(std::span<const schedule::IcsFinding> findings) {
  Value::Array items;
  for (const auto& finding : findings) {
    items.emplace_back(Value::Map{{"line", counted(finding.line)},
                                  {"kind", schedule::to_string(finding.kind)},
                                  {"message", finding.message}});
  }
  return items;
}

Answer refused_ics(std::span<const schedule::IcsFinding> findings) {
  Value::Array details;
  Value::Array texts;
  for (const auto& finding : findings) {
    if (finding.kind != schedule::IcsFinding::Kind::refused) continue;
    details.emplace_back(Value::Map{{"path", "ics"},
                                    {"code", "invalid_ics"},
                                    {"message", finding.message},
                                    {"line", counted(finding.line)}});
    texts.emplace_back(fmt::format("line {}: {}", finding.line, finding.message));
  }
  const Value errors{Value::Map{{"ics", std::move(texts)}}};
  return refusal(422, "validation_failed",
                 "Not all of the file is understood; take_what_is_understood leaves the rest out",
                 {{"errors", errors},
                  {"validation_errors", errors},
                  {"problems", std::move(details)},
                  {"findings", findings_value(findings)}});
}

Answer no_such_calendar(std::string_view ns, std::string_view id_or_name) {
  return refusal(404, "calendar_not_found",
                 fmt::format("namespace '{}' has no calendar '{}'; GET /api/calendars lists those "
                             "it has",
                             ns, id_or_name),
                 {{"calendar_id", id_or_name}});
}

Answer calendar_is_seed(std::string_view name) {
  return refusal(403, "calendar_is_seed",
                 fmt::format("calendar '{}' ships with the server and stays as it is; clone it and "
                             "change the clone",
                             name),
                 {{"calendar_id", name}});
}

Answer calendar_exists(std::string_view ns, const schedule::CalendarRecord& taken) {
  return refusal(
      409, "calendar_already_exists",
      fmt::format("{} has a calendar '{}'; choose another name, or PUT to change that",
                  taken.is_seed ? std::string{"the server"} : fmt::format("namespace '{}'", ns),
                  taken.calendar.name),
      {{"calendar_id", taken.id}, {"name", taken.calendar.name}});
}

Answer calendar_in_use(const schedule::CalendarRecord& record,
                       std::span<const std::string> schedules) {
  Value::Array ids;
  for (const auto& id : schedules) ids.emplace_back(id);
  return refusal(409, "calendar_in_use",
                 fmt::format("calendar '{}' is attached to {}; detach it first, or delete it with "
                             "force",
                             record.calendar.name, fmt::join(schedules, ", ")),
                 {{"calendar_id", record.id}, {"attached_schedules", std::move(ids)}});
}

}  // namespace dw::server
