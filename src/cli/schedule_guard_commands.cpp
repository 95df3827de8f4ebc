// What may keep a schedule from firing, what it fires with, and what will come of it.
#include "cli/catalogue.hpp"
#include "cli/given.hpp"
#include "cli/lookup.hpp"
#include "cli/schedule_commands.hpp"
#include "cli/schedule_times.hpp"
#include "cli/spec_given.hpp"
#include "schedule/condition.hpp"

#include <fmt/format.h>

namespace dw::cli {
namespace {

// ---- preview

Outcome<Value::Map> preview_wanted(const Given& given, Value::Map body) {
  constexpr std::string_view name = "schedule:preview";
  if (given.was_said("run-length")) {
    const auto length = DW_TRY(duration_given(name, "run-length", given));
    body.emplace_back("run_seconds", static_cast<std::int64_t>(length.count()));
  }
  if (given.text("from").empty()) return body;
  if (given.flag("simulate")) {
    return invalid_input("schedule:preview: what --simulate plays begins now, so leave out --from");
  }
  taken(body, "from");
  body.emplace_back("from", DW_TRY(instant_given(name, "from", given)));
  return body;
}

std::string remark_on(const Value& tick) {
  std::string remark = text_of(tick, "dst");
  if (is_true(tick, "may_overlap")) remark += remark.empty() ? "may overlap" : ", may overlap";
  return remark.empty() ? "-" : remark;
}

void draw_simulation(Page& page, const Value& answer) {
  page.text(fmt::format("As if every run took {} s, from {} on.", words_of(answer, "run_seconds"),
                        words_of(answer, "snapshot_at")));
  const auto& rows = list_of(answer, "rows");
  if (rows.empty()) return page.text("Nothing happens.");
  page.table({{"At", "at"},
              {"Scheduled For", "scheduled_for"},
              {"Outcome", "outcome", Format::status},
              {"Reason", "reason"},
              {"Workflow ID", "instance_id"},
              {"Ended For It", "closed"},
              {"Waiting", "buffer_depth"}},
             rows);
}

void draw_ticks(Page& page, const Value& answer) {
  page.text(fmt::format("Namespace: {}", words_of(answer, "namespace")));
  const auto& ticks = list_of(answer, "ticks");
  std::vector<Page::Row> rows;
  for (const Value& tick : ticks) {
    rows.push_back({words_of(tick, "tick_at"), words_of(tick, "local"), words_of(tick, "decision"),
                    words_of(tick, "reason"), cell_of({"", "inputs", Format::json}, tick),
                    remark_on(tick)});
  }
  if (!rows.empty()) {
    page.table({"Tick At", "Local", "Decision", "Reason", "Inputs", "Remark"}, rows, {2});
  } else {
    page.text(fmt::format("Schedule {} has no tick within {} days.",
                          words_of(answer, "schedule_id"), words_of(answer, "window_days")));
  }
}

void draw_preview(Page& page, const Value& answer) {
  look_up(answer, "rows") ? draw_simulation(page, answer) : draw_ticks(page, answer);
  if (is_true(answer, "truncated")) {
    page.text(fmt::format("Looked {} days ahead; --horizon-days looks further.",
                          words_of(answer, "window_days")));
  }
}

Outcome<Exit> run_preview(Task& task) {
  const Request request = DW_TRY(request_of(task));
  const Value answer = DW_TRY(answer_to(task, request));
  if (task.output.by_line() && task.given.flag("simulate")) {
    for (const Value& row : list_of(answer, "rows")) task.output.print(row);
  } else {
    show_answer(task, answer);
  }
  return Exit::success;
}

Command preview_command() {
  return {.name = "schedule:preview",
          .summary = "Tell what the next ticks of a schedule will do",
          .arguments = {which_schedule()},
          .options = {{.name = "next",
                       .help = "So many ticks",
                       .kind = Kind::whole,
                       .key = "next",
                       .fallback = "10",
                       .most = 200},
                      {.name = "from", .help = "From this instant or day on", .key = "from"},
                      {.name = "horizon-days",
                       .help = "Look so far ahead; 31 when not given",
                       .kind = Kind::whole,
                       .key = "horizon_days",
                       .most = 3660},
                      {.name = "simulate",
                       .help = "Play runs, buffers and conditions forward",
                       .kind = Kind::flag,
                       .key = "simulate"},
                      {.name = "run-length",
                       .help = "How long a run takes, such as PT5M; else as the last ones did"}},
          .method = "GET",
          .path = "/schedules/{schedule-id}/preview",
          .view = {.list = "ticks", .things = "ticks", .draw = draw_preview},
          .examples = {"dw schedule:preview nightly --from=2026-12-01 --output=jsonl",
                       "dw schedule preview nightly --simulate --run-length=PT90M"},
          .exits = "0 also when every tick will be skipped.",
          .shape = preview_wanted,
          .run = run_preview};
}

// ---- conditions

// JSON in an option or in a file; null when there is neither.
Outcome<Value> json_given(std::string_view command, std::string_view option, const Given& given,
                          Value::Map& body) {
  const Value filed = taken(body, "file");
  const Value written = taken(body, option);
  if (!filed.is_null() && given.was_said(option)) {
    return invalid_input(fmt::format("{}: --{} or --file, not both", command, option));
  }
  if (filed.is_null()) return written;
  auto parsed = parse_json(*filed.if_string());
  if (parsed) return *std::move(parsed);
  return invalid_input(fmt::format("{}: --file: {}", command, parsed.error().message));
}

Outcome<Value::Map> condition_given(const Given& given, Value::Map body) {
  constexpr std::string_view name = "schedule:condition:set";
  Value filter = DW_TRY(json_given(name, "filter", given, body));
  if (filter.is_null()) {
    if (given.was_said("test-context")) return body;  // what is there is tested
    return invalid_input(
        "schedule:condition:set: which condition? Give --filter or --file; "
        "schedule:condition:clear takes it away");
  }
  const auto checked = schedule::check_condition(filter);
  if (!checked) {
    std::string wrong;
    for (const auto& problem : checked.problems) {
      wrong += fmt::format("{}{}{}{} ({})", wrong.empty() ? "" : "; ", problem.field,
                           problem.field.empty() ? "" : ": ", problem.message, problem.code);
    }
    return invalid_input(
        fmt::format(R"({}: {}. Write {{"/pointer": {{"eq": …}}}} with eq, neq, gt, lt or contains)",
                    name, wrong));
  }
  body.emplace_back("filter", std::move(filter));
  return body;
}

void draw_condition(Page& page, const Value& answer) {
  const auto id = words_of(answer, "schedule_id");
  if (const Value* holds = look_up(answer, "result")) {
    const auto* yes = holds->if_boolean();
    if (yes && *yes) return page.heading("The condition holds.");
    return page.warning(
        fmt::format("The condition does not hold: {}.", words_of(answer, "failed_pointer")));
  }
  const Value* filter = look_up(answer, "filter|condition");
  if (!filter) return page.text(fmt::format("Schedule {} has no condition.", id));
  page.heading(fmt::format("Condition of {}", id));
  if (!filter->if_map()) return page.text(in_words(*filter));
  for (const auto& [pointer, clause] : *filter->if_map()) {
    page.line(pointer.empty() ? "(all)" : printable(pointer), printable(to_json(clause)));
  }
}

Exit holds_or_not(const Value& answer) {
  const Value* result = look_up(answer, "result");
  const auto* holds = result ? result->if_boolean() : nullptr;
  return !holds || *holds ? Exit::success : Exit::failure;
}

Outcome<Exit> run_condition_set(Task& task) {
  Request request = DW_TRY(request_of(task));
  if (task.given.was_said("test-context")) {
    request.target = with_query(request.target, "dry_run", "true");
  }
  const Value answer = DW_TRY(answer_to(task, request));
  show_answer(task, answer);
  return holds_or_not(answer);
}

// ---- calendars

// Named by itself or after --calendar.
Outcome<Value::Map> calendar_to_attach(const Given& given, Value::Map body) {
  const auto named = given.text("calendar-id"), chosen = given.text("calendar");
  if (named.empty() == chosen.empty()) {
    return invalid_input("schedule:calendar:attach: name one calendar; calendar:list shows them");
  }
  body.emplace_back("calendar_id", named.empty() ? chosen : named);
  if (given.flag("add")) body.emplace_back("mode", "add");
  return body;
}

void draw_calendars(Page& page, const Value& answer) {
  const auto id = words_of(answer, "schedule_id");
  if (list_of(answer, "calendar_ids").empty()) {
    return page.text(fmt::format("Schedule {} has no calendar.", id));
  }
  page.heading(fmt::format("Calendars of {}: {}", id, words_of(answer, "calendar_ids")));
  draw_schedule_warnings(page, answer);
}

void draw_attached(Page& page, const Value& answer) {
  page.heading(fmt::format("Attached calendar to {}", words_of(answer, "schedule_id")));
  draw_calendars(page, answer);
}

std::vector<Command> attach_commands() {
  const Argument which{.name = "calendar-id", .help = "The calendar", .required = false};
  return {{.name = "schedule:calendar:attach",
           .summary = "Let a schedule fire only on days that a calendar allows",
           .arguments = {which_schedule(), which},
           .options = {{.name = "calendar", .help = "The same as <calendar-id>"},
                       {.name = "add",
                        .help = "Beside those it has, not instead of them",
                        .kind = Kind::flag}},
           .method = "PUT",
           .path = "/schedules/{schedule-id}/calendar",
           .view = {.draw = draw_attached},
           .examples = {"dw schedule calendar attach nightly weekends",
                        "dw schedule:calendar attach nightly --calendar=weekends --add --json"},
           .shape = calendar_to_attach},
          {.name = "schedule:calendar:detach",
           .summary = "Take calendars away from a schedule: one, or all",
           .arguments = {which_schedule()},
           .options = {{.name = "calendar", .help = "Only this one", .key = "calendar_id"}},
           .method = "DELETE",
           .path = "/schedules/{schedule-id}/calendar",
           .view = {.draw = draw_calendars},
           .examples = {"dw schedule calendar detach nightly",
                        "dw schedule:calendar detach nightly --calendar=weekends --json"}}};
}

// ---- rotations

Outcome<Value::Map> rotation_given(const Given& given, Value::Map body) {
  constexpr std::string_view name = "schedule:rotation:set";
  Value inputs = DW_TRY(json_given(name, "inputs", given, body));
  if (!inputs.if_array() || inputs.if_array()->empty()) {
    return invalid_input(fmt::format(
        "{}: --inputs or --file must be a JSON array with at least one input, as [[\"a\"],[\"b\"]]",
        name));
  }
  body.emplace_back("inputs", std::move(inputs));
  return body;
}

void draw_rotation(Page& page, const Value& answer) {
  const auto id = words_of(answer, "schedule_id");
  const auto& inputs = list_of(answer, "rotation.inputs");
  if (inputs.empty()) return page.text(fmt::format("Schedule {} has no rotation.", id));
  const auto count = static_cast<std::int64_t>(inputs.size());
  const auto next = whole_of(answer, "rotation.next_index") % count;
  page.heading(fmt::format("Rotation of {}", id));
  page.line("Next Index", std::to_string(next));
  std::vector<Page::Row> rows;
  for (std::int64_t i = 0; i < count; ++i) {
    rows.push_back({std::to_string(i), i == next ? "next" : "",
                    printable(to_json(inputs[static_cast<std::size_t>(i)]))});
  }
  page.table({"#", "", "Input"}, rows);
}

// ---- both

struct GuardVerb {
  std::string_view name;
  std::string_view summary;
  std::string_view method;
  std::vector<std::string_view> examples;
};

Command about_guard(const GuardVerb& verb, std::string_view path,
                    void (*draw)(Page& page, const Value& answer)) {
  return {.name = verb.name,
          .summary = verb.summary,
          .arguments = {which_schedule()},
          .method = verb.method,
          .path = path,
          .view = {.draw = draw},
          .examples = verb.examples};
}

Option guard_file(std::string_view help) {
  return {.name = "file", .help = help, .kind = Kind::content, .key = "file"};
}

std::vector<Command> condition_commands() {
  constexpr std::string_view path = "/schedules/{schedule-id}/condition";
  Command set = about_guard({"schedule:condition:set",
                             "Let a schedule fire only when a condition holds",
                             "PUT",
                             {"dw schedule condition set nightly "
                              R"(--filter '{"/prior_run_result/status":{"neq":"failed"}}')",
                              "dw schedule:condition set nightly --file=when.json "
                              R"(--test-context '{"last_24h_stats":{"failed":0}}')"}},
                            path, draw_condition);
  set.options = {{.name = "filter",
                  .help = "JSON pointer → one of eq, neq, gt, lt, contains; all must hold",
                  .kind = Kind::json,
                  .key = "filter"},
                 guard_file("The same in a JSON file; - is standard input"),
                 {.name = "test-context",
                  .help = "Save nothing: does it, or what is there, hold for this JSON?",
                  .kind = Kind::json,
                  .key = "context"}};
  set.exits = "With --test-context: 0 it holds, 1 it does not.";
  set.shape = condition_given;
  set.run = run_condition_set;
  return {set,
          about_guard({"schedule:condition:show",
                       "Show the condition of a schedule",
                       "GET",
                       {"dw schedule condition show nightly",
                        "dw schedule:condition show nightly --json | jq .filter"}},
                      path, draw_condition),
          about_guard({"schedule:condition:clear",
                       "Take the condition of a schedule away",
                       "DELETE",
                       {"dw schedule condition clear nightly",
                        "dw schedule:condition clear nightly --json"}},
                      path, draw_condition)};
}

std::vector<Command> rotation_commands() {
  constexpr std::string_view path = "/schedules/{schedule-id}/rotation";
  Command set =
      about_guard({"schedule:rotation:set",
                   "Let inputs take turns, from the first on",
                   "PUT",
                   {R"(dw schedule rotation set nightly --inputs '[["north"],["south"]]')",
                    "dw schedule:rotation set nightly --file=shops.json --json"}},
                  path, draw_rotation);
  set.options = {{.name = "inputs",
                  .help = "A JSON array; an array in it is one list of arguments",
                  .kind = Kind::json,
                  .key = "inputs"},
                 guard_file("The same in a JSON file; - is standard input")};
  set.shape = rotation_given;
  return {set,
          about_guard({"schedule:rotation:show",
                       "Show the inputs of a schedule that take turns, and whose turn it is",
                       "GET",
                       {"dw schedule rotation show nightly",
                        "dw schedule:rotation show nightly --json | jq .rotation.next_index"}},
                      path, draw_rotation),
          about_guard(
              {"schedule:rotation:clear",
               "Let no inputs take turns any more",
               "DELETE",
               {"dw schedule rotation clear nightly", "dw schedule:rotation clear nightly --json"}},
              path, draw_rotation)};
}

}  // namespace

std::vector<Command> schedule_guard_commands() {
  std::vector<Command> all{preview_command()};
  for (Command& command : attach_commands()) all.push_back(std::move(command));
  for (Command& command : condition_commands()) all.push_back(std::move(command));
  for (Command& command : rotation_commands()) all.push_back(std::move(command));
  return all;
}

}  // namespace dw::cli
