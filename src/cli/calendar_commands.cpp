// Calendars: which days schedules may fire on.
#include "cli/catalogue.hpp"
#include "cli/given.hpp"
#include "cli/lookup.hpp"
#include "cli/page.hpp"
#include "cli/task.hpp"
#include "schedule/calendar_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace dw::cli {
namespace {

const Argument which_calendar{.name = "calendar", .help = "Its id or its name"};
const Option calendar_name{.name = "name", .help = "Its name", .key = "name"};
const Option calendar_kind_option{.name = "kind",
                                  .help = "Forbid its days, or all others",
                                  .key = "kind",
                                  .choices = {"skip_dates", "only_dates"}};
const Option calendar_zone{
    .name = "timezone", .help = "The zone whose days are meant", .key = "timezone"};
const Option calendar_description{
    .name = "description", .help = "What it is for", .key = "description", .letter = 'd'};

// ---- what was given

// Days, by comma or white space; a line may end in a # remark.
void add_days(std::string_view text, Value::Array& days) {
  std::string day;
  bool remark = false;
  const auto finish = [&] {
    if (!day.empty()) days.emplace_back(std::exchange(day, {}));
  };
  for (const char c : text) {
    remark = (remark || c == '#') && c != '\n';
    if (remark || c == ',' || c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      finish();
    } else {
      day += c;
    }
  }
  finish();
}

Value take_entry(Value::Map& body, std::string_view key) {
  const auto found = std::ranges::find(body, key, &Value::Map::value_type::first);
  if (found == body.end()) return {};
  Value value = std::move(found->second);
  body.erase(found);
  return value;
}

void take_days(Value::Map& body, std::string_view list, std::string_view file) {
  const Value written = take_entry(body, list);
  const Value filed = file.empty() ? Value{} : take_entry(body, file);
  if (written.is_null() && filed.is_null()) return;
  Value::Array days;
  if (const auto* items = written.if_array()) {
    for (const Value& item : *items) add_days(*item.if_string(), days);
  }
  if (const auto* text = filed.if_string()) add_days(*text, days);
  body.emplace_back(std::string{list}, std::move(days));
}

// A list of rules, or a whole definition, of which the other options change parts.
std::optional<Failure> take_rules(Value::Map& body) {
  const Value text = take_entry(body, "rules_file");
  if (text.is_null()) return std::nullopt;
  auto rules = parse_json(*text.if_string());
  if (!rules) return invalid_input("--rules-file: " + rules.error().message);
  if (rules->if_array()) {
    body.emplace_back("rules", *std::move(rules));
    return std::nullopt;
  }
  if (!rules->if_map()) return invalid_input("--rules-file must be a list of rules, or an object");
  for (auto& [key, value] : *rules->if_map()) {
    const auto said = std::ranges::find(body, key, &Value::Map::value_type::first);
    if (said == body.end()) body.emplace_back(key, std::move(value));
  }
  return std::nullopt;
}

Outcome<Value::Map> calendar_definition(const Given&, Value::Map body) {
  take_days(body, "dates", "dates_file");
  take_days(body, "except", "");
  if (auto wrong = take_rules(body)) return *std::move(wrong);
  return body;
}

bool names_days(const Given& given) {
  return std::ranges::any_of(
      std::initializer_list<std::string_view>{"dates", "dates-file", "rules-file"},
      [&](std::string_view name) { return given.was_said(name); });
}

Outcome<Value::Map> new_calendar(const Given& given, Value::Map body) {
  if (given.was_said("ics") && names_days(given)) {
    return invalid_input("calendar:create: days come from --ics or from the others, not from both");
  }
  if (!given.was_said("ics") && !names_days(given)) {
    return invalid_input(
        "calendar:create: which days? Give --dates, --dates-file, --rules-file or --ics");
  }
  return calendar_definition(given, std::move(body));
}

Outcome<Value::Map> changed_calendar(const Given& given, Value::Map body) {
  if (body.empty()) return invalid_input("calendar:update: nothing was given that would change");
  return calendar_definition(given, std::move(body));
}

Outcome<Value::Map> one_side_of_the_list(const Given& given, Value::Map body) {
  if (given.flag("seeds-only") && given.flag("mine-only")) {
    return invalid_input("calendar:list: --seeds-only or --mine-only, not both");
  }
  return body;
}

// ---- what is shown

Value with_calendar_id(const Task&, Value answer) {
  if (const Value* id = look_up(answer, "id")) set_entry(answer, "calendar_id", *id);
  return answer;
}

std::vector<Column> calendar_lines() {
  return {{"Calendar ID", "id"},
          {"Name", "name"},
          {"Namespace", "namespace"},
          {"Kind", "kind"},
          {"Timezone", "timezone"},
          {"Description", "description"},
          {"Seed", "is_seed", Format::yes_no},
          {"Dates", "dates"},
          {"Partial Dates", "partial_dates"},
          {"Rules", "rules"},
          {"Except", "except"},
          {"Findings", "findings"},
          {"Attached To", "attached_schedules"},
          {"Updated", "updated_at"}};
}

std::string weekday_of(const std::string& date) {
  constexpr std::string_view names[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                        "Thursday", "Friday", "Saturday"};
  const auto day = schedule::find_date(date);
  return day ? std::string{names[std::chrono::weekday{*day}.c_encoding()]} : "-";
}

void draw_year(Page& page, const Value& answer) {
  page.heading(fmt::format("{} in {}", words_of(answer, "name"), words_of(answer, "year")));
  page.line("Kind", words_of(answer, "kind"));
  page.line("Timezone", words_of(answer, "timezone"));
  std::multimap<std::string, std::string> windows;
  for (const Value& day : list_of(answer, "dates")) windows.emplace(in_words(day), "all day");
  for (const Value& part : list_of(answer, "partial_dates")) {
    windows.emplace(text_of(part, "date"),
                    fmt::format("{}-{}", words_of(part, "from"), words_of(part, "until")));
  }
  std::vector<Page::Row> rows;
  for (const auto& [date, window] : windows) {
    const Value* labels = look_up(answer, "labels");
    const Value* label = labels ? labels->find(date) : nullptr;
    rows.push_back({date, weekday_of(date), window, label ? in_words(*label) : "-"});
  }
  if (rows.empty()) {
    page.text("No days in that year.");
  } else {
    page.table({"Date", "Day", "Time", "Label"}, rows);
  }
  for (const Value& table : list_of(answer, "exhausted_tables")) {
    page.warning(fmt::format("The table {} says nothing about that year.", in_words(table)));
  }
  if (is_true(answer, "provisional")) page.warning("Some of these days are a forecast.");
}

// ---- commands

std::vector<Option> definition_options() {
  return {calendar_name,
          calendar_kind_option,
          calendar_zone,
          calendar_description,
          {.name = "dates",
           .help = "Days as YYYY-MM-DD, separated by commas",
           .kind = Kind::list,
           .key = "dates"},
          {.name = "dates-file",
           .help = "A file of days, one a line; # begins a remark",
           .kind = Kind::content,
           .key = "dates_file"},
          {.name = "rules-file",
           .help = "A JSON file: a list of rules, or a whole calendar",
           .kind = Kind::content,
           .key = "rules_file"},
          {.name = "except",
           .help = "Days that do not belong to it, whatever else is said",
           .kind = Kind::list,
           .key = "except"}};
}

Command list_calendars_command() {
  return {.name = "calendar:list",
          .summary = "List calendars",
          .aliases = {"schedule:calendar:list"},
          .options = {{.name = "seeds-only",
                       .help = "Only those that ship with the server",
                       .kind = Kind::flag,
                       .key = "seeds_only"},
                      {.name = "mine-only",
                       .help = "Only those of the namespace",
                       .kind = Kind::flag,
                       .key = "mine_only"}},
          .method = "GET",
          .path = "/calendars",
          .view = {.list = "calendars",
                   .things = "calendars",
                   .columns = {{"Calendar ID", "id"},
                               {"Name", "name"},
                               {"Kind", "kind"},
                               {"Dates", "date_count"},
                               {"Rules", "rule_count"},
                               {"Timezone", "timezone"},
                               {"Seed", "is_seed", Format::yes_no}}},
          .examples = {"dw calendar:list", "dw schedule calendar list --mine-only --json"},
          .shape = one_side_of_the_list};
}

Command create_calendar_command() {
  Command create{.name = "calendar:create",
                 .summary = "Make a calendar",
                 .aliases = {"schedule:calendar:create"},
                 .options = definition_options(),
                 .method = "POST",
                 .path = "/calendars",
                 .view = {.heading = "Calendar created", .lines = calendar_lines()},
                 .examples = {"dw calendar:create --name=closed --kind=skip_dates "
                              "--timezone=Europe/Istanbul --dates=2026-12-24,2026-12-31",
                              "dw calendar create --name=holidays --timezone=UTC --ics=days.ics"},
                 .shape = new_calendar,
                 .enrich = with_calendar_id};
  create.options.push_back({.name = "ics",
                            .help = "An iCalendar file with the days",
                            .kind = Kind::content,
                            .key = "ics"});
  return create;
}

Command import_calendar_command() {
  return {.name = "calendar:import",
          .summary = "Make a calendar from an iCalendar file",
          .aliases = {"schedule:calendar:import"},
          .arguments = {{.name = "file",
                         .help = "The .ics file, - for standard input",
                         .key = "ics",
                         .kind = Kind::content}},
          .options = {calendar_name,
                      calendar_kind_option,
                      calendar_zone,
                      {.name = "take-what-is-understood",
                       .help = "Leave out events that are not understood",
                       .kind = Kind::flag,
                       .key = "take_what_is_understood"}},
          .method = "POST",
          .path = "/calendars/import",
          .view = {.heading = "Calendar imported", .lines = calendar_lines()},
          .examples = {"dw calendar:import holidays.ics --name=holidays --timezone=Europe/Istanbul",
                       "dw calendar:import - --name=holidays --json"},
          .enrich = with_calendar_id};
}

Command about_calendar(std::string_view command_name, std::string_view other_name,
                       std::string_view summary, std::string_view method,
                       std::string_view heading) {
  return {.name = command_name,
          .summary = summary,
          .aliases = {other_name},
          .arguments = {which_calendar},
          .method = method,
          .path = "/calendars/{calendar}",
          .view = {.heading = heading, .lines = calendar_lines()},
          .enrich = with_calendar_id};
}

Command update_calendar_command() {
  Command update = about_calendar("calendar:update", "schedule:calendar:update",
                                  "Change a calendar", "PUT", "Calendar updated");
  update.options = definition_options();
  update.examples = {"dw calendar:update closed --dates=2026-12-24,2026-12-31,2027-01-01",
                     "dw calendar:update closed --name=closing-days --json"};
  update.shape = changed_calendar;
  return update;
}

Command delete_calendar_command() {
  Command remove = about_calendar("calendar:delete", "schedule:calendar:delete",
                                  "Delete a calendar", "DELETE", "Calendar deleted");
  remove.options = {{.name = "force",
                     .help = "Detach it from the schedules that use it",
                     .kind = Kind::flag,
                     .key = "force"}};
  remove.asks_first = true;
  remove.needs_yes = true;
  remove.examples = {"dw calendar:delete closed --yes",
                     "dw calendar:delete closed --force --yes --json"};
  return remove;
}

Command clone_calendar_command() {
  Command clone = about_calendar("calendar:clone", "schedule:calendar:clone",
                                 "Copy a calendar, to change the copy", "POST", "Calendar cloned");
  clone.path = "/calendars/{calendar}/clone";
  Option name = calendar_name;
  name.help = "Name of the copy";
  name.required = true;
  clone.options = {name, calendar_kind_option, calendar_zone, calendar_description};
  clone.examples = {"dw calendar:clone us-federal-holidays --name=our-holidays",
                    "dw calendar:clone weekends --name=our-weekends --timezone=Asia/Tokyo --json"};
  return clone;
}

Command expand_calendar_command() {
  Command expand = about_calendar("calendar:expand", "schedule:calendar:expand",
                                  "Show the days that a calendar has in a year", "GET", "");
  expand.path = "/calendars/{calendar}/expand";
  expand.options = {{.name = "year",
                     .help = "This year when not given",
                     .kind = Kind::whole,
                     .key = "year",
                     .most = 9999}};
  expand.view = {.draw = draw_year};
  expand.examples = {"dw calendar:expand us-federal-holidays --year=2027",
                     "dw calendar:expand weekends --json"};
  return expand;
}

}  // namespace

std::vector<Command> calendar_commands() {
  Command show = about_calendar("calendar:show", "schedule:calendar:show", "Show a calendar", "GET",
                                "Calendar");
  show.examples = {"dw calendar:show us-federal-holidays-2026", "dw calendar show closed --json"};
  return {list_calendars_command(),  create_calendar_command(), show,
          update_calendar_command(), delete_calendar_command(), clone_calendar_command(),
          expand_calendar_command(), import_calendar_command()};
}

}  // namespace dw::cli
