// What schedule:create and schedule:update send.
#include "cli/given.hpp"
#include "cli/lookup.hpp"
#include "cli/schedule_commands.hpp"
#include "cli/schedule_times.hpp"
#include "cli/task.hpp"
#include "schedule/explain.hpp"

#include <fmt/format.h>

namespace dw::cli {
namespace {

constexpr std::size_t fires_of_a_dry_run = 5;

Value& map_entry(Value::Map& body, std::string_view key) {
  for (auto& [name, value] : body) {
    if (name == key) return value;
  }
  return body.emplace_back(std::string{key}, Value::Map{}).second;
}

// The n-th --offset shifts the n-th --interval.
std::optional<Failure> take_intervals(std::string_view command, Value::Map& body) {
  const Value every = taken(body, "intervals");
  const Value offsets = taken(body, "offsets");
  const auto* lengths = every.if_array();
  const auto* shifts = offsets.if_array();
  const std::size_t shifted = shifts ? shifts->size() : 0;
  if (shifted > (lengths ? lengths->size() : 0)) {
    return invalid_input(
        fmt::format("{}: every --offset needs an --interval that it shifts", command));
  }
  if (!lengths) return std::nullopt;
  Value::Array intervals;
  for (std::size_t i = 0; i < lengths->size(); ++i) {
    Value::Map interval{{"every", (*lengths)[i]}};
    if (i < shifted) interval.emplace_back("offset", (*shifts)[i]);
    intervals.emplace_back(std::move(interval));
  }
  set_entry(map_entry(body, "spec"), "intervals", std::move(intervals));
  return std::nullopt;
}

// Where times are given, their zone belongs to them; alone it changes the zone of those there are.
void place_zone(Value::Map& body) {
  Value zone = taken(body, "timezone");
  if (zone.is_null()) return;
  for (auto& [key, value] : body) {
    if (key == "spec") return set_entry(value, "timezone", std::move(zone));
  }
  body.emplace_back("timezone", std::move(zone));
}

std::optional<Failure> take_rotation(std::string_view command, Value::Map& body) {
  const Value text = taken(body, "rotation");
  if (text.is_null()) return std::nullopt;
  auto inputs = parse_json(*text.if_string());
  if (!inputs) {
    return invalid_input(fmt::format("{}: --rotation-file: {}", command, inputs.error().message));
  }
  if (!inputs->if_array() || inputs->if_array()->empty()) {
    return invalid_input(
        fmt::format("{}: --rotation-file must be a JSON array with at least one input", command));
  }
  body.emplace_back("rotation", Value::Map{{"inputs", *std::move(inputs)}});
  return std::nullopt;
}

Outcome<Value::Map> defined(std::string_view command, Value::Map body) {
  if (auto wrong = take_intervals(command, body)) return *std::move(wrong);
  if (auto wrong = take_rotation(command, body)) return *std::move(wrong);
  place_zone(body);
  return body;
}

// ---- dry runs

std::string told_mistakes(const Value& explained) {
  std::string text;
  for (const Value& mistake : list_of(explained, "errors")) {
    text += fmt::format("{}{}: {} ({}, position {})", text.empty() ? "" : "; ",
                        words_of(mistake, "path"), words_of(mistake, "text"),
                        words_of(mistake, "code"), words_of(mistake, "position"));
  }
  return text;
}

void show_plan(Task& task, const Value& plan) {
  if (task.output.for_machines()) return task.output.print(plan);
  Page page = task.output.page();
  page.heading(fmt::format("Would fire {}", words_of(plan, "words")));
  page.table({{"UTC", "utc"}, {"Local", "local"}, {"Offset", "offset"}, {"DST", "dst"}},
             list_of(plan, "next_fires"));
  if (task.given.was_said("calendar")) page.text("Calendars are not looked at here.");
  draw_schedule_warnings(page, plan);
  page.text("Nothing was created.");
  task.output.show(page);
}

Outcome<Exit> plan_schedule(Task& task, const Value& body) {
  schedule::ExplainQuestion question{.spec = spec_text_in(*look_up(body, "spec")), .zone = {}};
  question.spec.jitter_seconds = whole_of(body, "jitter_seconds");
  question.zone = zone_here(question.spec.timezone);
  question.from = task.io.now();
  question.count = fires_of_a_dry_run;
  const Value explained = to_value(schedule::explain(question));
  if (!is_true(explained, "valid")) {
    return invalid_input(fmt::format("schedule:create: {}", told_mistakes(explained)));
  }
  Value plan{Value::Map{{"outcome", "dry_run"}}};
  for (const char* key : {"words", "next_fires", "warnings"}) {
    set_entry(plan, key, *explained.find(key));
  }
  set_entry(plan, "request", body);
  show_plan(task, with_namespace(std::move(plan), task.command, task.ns()));
  return Exit::success;
}

}  // namespace

Outcome<Value::Map> new_schedule(const Given& given, Value::Map body) {
  if (given.all("cron").empty() && given.all("interval").empty()) {
    return invalid_input(
        "schedule:create: when? Give --cron='15 7 * * *' or --interval=PT30M, or both");
  }
  return defined("schedule:create", std::move(body));
}

Outcome<Value::Map> changed_schedule(const Given&, Value::Map body) {
  if (body.empty()) {
    return invalid_input("schedule:update: nothing was given that would change the schedule");
  }
  return defined("schedule:update", std::move(body));
}

Outcome<Exit> run_schedule_create(Task& task) {
  const Request request = DW_TRY(request_of(task));
  if (task.given.flag("dry-run")) return plan_schedule(task, *request.body);
  show_answer(task, DW_TRY(answer_to(task, request)));
  return Exit::success;
}

// New times replace the old ones with their zone, which nobody who names none wants to lose.
Outcome<Exit> run_schedule_update(Task& task) {
  Request request = DW_TRY(request_of(task));
  if (look_up(*request.body, "spec") && !look_up(*request.body, "spec.timezone")) {
    const Value present =
        DW_TRY(task.session.ask({.target = fill_path(task.command.path, task.given)}));
    if (const auto zone = text_of(present, "spec.timezone"); !zone.empty()) {
      set_entry(map_entry(*request.body->if_map(), "spec"), "timezone", zone);
    }
  }
  show_answer(task, DW_TRY(answer_to(task, request)));
  return Exit::success;
}

}  // namespace dw::cli
