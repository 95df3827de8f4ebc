// What has become of schedules: what was done to them, what they decided, what they started, and
// whether they are late.
#include "cli/catalogue.hpp"
#include "cli/given.hpp"
#include "cli/lookup.hpp"
#include "cli/schedule_commands.hpp"
#include "cli/schedule_times.hpp"
#include "cli/task.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dw::cli {
namespace {

// Reads pages until there is no more, or the one that was asked for. `cursor` is what the next
// request names its predecessor by.
Outcome<Value> read_pages(Task& task, std::string_view cursor) {
  const std::string_view list = task.command.view.list;
  const Request first = DW_TRY(request_of(task));
  Value::Array items;
  for (Request request = first;;) {
    Value page = DW_TRY(answer_to(task, request));
    const bool last = !task.given.flag("all") || !is_true(page, "has_more");
    if (task.output.by_line()) {
      show_answer(task, page);
    } else {
      std::ranges::copy(list_of(page, list), std::back_inserter(items));
    }
    if (last) {
      set_entry(page, list, std::move(items));
      return page;
    }
    Given next = task.given;
    next.say(cursor, words_of(page, "next_cursor"));
    request = DW_TRY(build_request(task.command, next, task.read));
  }
}

Outcome<Exit> run_pages(Task& task, std::string_view cursor) {
  const Value answer = DW_TRY(read_pages(task, cursor));
  if (!task.output.by_line()) show_answer(task, answer);
  return Exit::success;
}

const Option every_page{.name = "all", .help = "Every page", .kind = Kind::flag};

void say_what_follows(Page& page, const Value& answer, std::string_view option) {
  if (!is_true(answer, "has_more")) return;
  page.text(fmt::format("More {} available. Re-run with --{}={} (or --all).",
                        option == "after-sequence" ? "events" : "actions", option,
                        words_of(answer, "next_cursor")));
}

// ---- history

std::string workflow_refs(const Value& event) {
  std::string refs;
  if (look_up(event, "workflow_instance_id")) {
    refs = "wf=" + words_of(event, "workflow_instance_id");
  }
  if (look_up(event, "workflow_run_id")) {
    refs += (refs.empty() ? "run=" : " run=") + words_of(event, "workflow_run_id");
  }
  return refs.empty() ? "-" : refs;
}

void draw_schedule_history(Page& page, const Value& answer) {
  std::vector<Page::Row> rows;
  for (const Value& event : list_of(answer, "events")) {
    rows.push_back({words_of(event, "sequence"), words_of(event, "event_type"),
                    words_of(event, "recorded_at"), workflow_refs(event)});
  }
  if (rows.empty()) {
    return page.text(fmt::format("No events found of schedule {} in namespace {}.",
                                 words_of(answer, "schedule_id"), words_of(answer, "namespace")));
  }
  page.text(fmt::format("Namespace: {}", words_of(answer, "namespace")));
  page.table({"Seq", "Event", "Recorded At", "Workflow Refs"}, rows);
  say_what_follows(page, answer, "after-sequence");
}

Command history_of_schedule_command() {
  return {.name = "schedule:history",
          .summary = "List what happened to a schedule, also when it is deleted",
          .arguments = {which_schedule()},
          .options = {{.name = "limit",
                       .help = "At most so many on a page; 100 when not given",
                       .kind = Kind::whole,
                       .key = "limit",
                       .most = 500},
                      {.name = "after-sequence",
                       .help = "Only what came after this one",
                       .kind = Kind::whole,
                       .key = "after_sequence",
                       .least = 0},
                      every_page},
          .method = "GET",
          .path = "/schedules/{schedule-id}/history",
          .view = {.list = "events", .things = "events", .draw = draw_schedule_history},
          .examples = {"dw schedule:history nightly --limit=20",
                       "dw schedule history nightly --all --output=jsonl | jq -r .event_type"},
          .run = [](Task& task) { return run_pages(task, "after-sequence"); }};
}

// ---- actions

void draw_actions(Page& page, const Value& answer) {
  const auto& actions = list_of(answer, "actions");
  if (actions.empty()) {
    return page.text(fmt::format("No actions found of schedule {} in namespace {}.",
                                 words_of(answer, "schedule_id"), words_of(answer, "namespace")));
  }
  page.text(fmt::format("Namespace: {}", words_of(answer, "namespace")));
  page.table({{"Recorded At", "recorded_at"},
              {"Action", "action_type"},
              {"Result", "result", Format::status},
              {"Reason", "payload.reason|payload.error"},
              {"Scheduled For", "payload.scheduled_for"},
              {"Mode", "payload.trigger_mode"},
              {"Run ID", "run_id|payload.run_id"}},
             actions);
  say_what_follows(page, answer, "cursor");
}

Command actions_command() {
  return {.name = "schedule:actions",
          .summary = "List what a schedule decided at each occurrence, and why",
          .arguments = {which_schedule()},
          .options = {{.name = "type",
                       .help = "Only of this kind",
                       .key = "action_type",
                       .choices = {"schedule_skipped", "dispatch_schedule", "schedule_buffered"}},
                      {.name = "reason", .help = "Only for this reason", .key = "reason"},
                      {.name = "limit",
                       .help = "At most so many on a page; 100 when not given",
                       .kind = Kind::whole,
                       .key = "limit",
                       .most = 500},
                      {.name = "cursor", .help = "Go on where a list ended", .key = "cursor"},
                      every_page},
          .method = "GET",
          .path = "/schedules/{schedule-id}/actions",
          .view = {.list = "actions", .things = "actions", .draw = draw_actions},
          .examples = {"dw schedule:actions nightly --reason=calendar",
                       "dw schedule actions nightly --type=schedule_skipped --all --output=jsonl"},
          .run = [](Task& task) { return run_pages(task, "cursor"); }};
}

// ---- runs

Value run_started_by(Task& task, const Value& action) {
  const auto workflow = text_of(action, "workflow_id|payload.workflow_id");
  const auto run = text_of(action, "run_id|payload.run_id");
  Value row{Value::Map{{"workflow_id", workflow},
                       {"run_id", run},
                       {"namespace", task.ns()},
                       {"trigger_mode", text_of(action, "payload.trigger_mode")},
                       {"scheduled_for", text_of(action, "payload.scheduled_for")},
                       {"started_at", Value{}},
                       {"closed_at", Value{}},
                       {"status", "gone"},
                       {"duration_ms", Value{}}}};
  const auto found =
      task.session.ask({.target = fmt::format("/workflows/{}/runs/{}", escape_segment(workflow),
                                              escape_segment(run))});
  // Retention let go of it, which is no reason to hide the others.
  if (!found) return row;
  set_entry(row, "status", text_of(*found, "status"));
  for (const char* key : {"started_at", "closed_at"}) {
    if (const Value* at = look_up(*found, key)) set_entry(row, key, *at);
  }
  const auto began = instant_of(*found, "started_at"), ended = instant_of(*found, "closed_at");
  if (began && ended) {
    const auto took = std::chrono::floor<std::chrono::milliseconds>(*ended - *began);
    set_entry(row, "duration_ms", static_cast<std::int64_t>(took.count()));
  }
  return row;
}

Outcome<Exit> run_runs(Task& task) {
  const Request request = DW_TRY(request_of(task));
  const Value log = DW_TRY(answer_to(task, request));
  Value::Array runs;
  for (const Value& action : list_of(log, "actions")) {
    if (text_of(action, "result") == "success") runs.push_back(run_started_by(task, action));
  }
  show_answer(task, Value::Map{{"schedule_id", task.given.text("schedule-id")},
                               {"namespace", task.ns()},
                               {"runs", std::move(runs)}});
  return Exit::success;
}

Outcome<Value::Map> dispatches_only(const Given&, Value::Map body) {
  body.emplace_back("action_type", "dispatch_schedule");
  return body;
}

Command runs_command() {
  return {
      .name = "schedule:runs",
      .summary = "List the runs that a schedule started, the newest first",
      .arguments = {which_schedule()},
      .options = {{.name = "limit",
                   .help = "At most so many",
                   .kind = Kind::whole,
                   .key = "limit",
                   .letter = 'l',
                   .fallback = "20",
                   .most = 50}},
      .method = "GET",
      .path = "/schedules/{schedule-id}/actions",
      .view = {.list = "runs",
               .things = "runs",
               .columns = {{"Run ID", "run_id"},
                           {"Workflow ID", "workflow_id"},
                           {"Started", "started_at"},
                           {"Completed", "closed_at"},
                           {"Status", "status", Format::status},
                           {"Duration (ms)", "duration_ms"}}},
      .examples = {"dw schedule:runs nightly", "dw schedule runs nightly --limit=5 --output=jsonl"},
      .shape = dispatches_only,
      .run = run_runs};
}

// ---- health

Value with_health(const Value& schedule, Timestamp now) {
  Value::Map row;
  for (const char* key : {"schedule_id", "namespace", "workflow_type", "status", "spec",
                          "jitter_seconds", "last_fired_at", "next_fire_at", "last_skip_reason"}) {
    const Value* value = look_up(schedule, key);
    row.emplace_back(key, value ? *value : Value{});
  }
  const Value* spec = look_up(schedule, "spec");
  row.emplace_back("interval", spec ? intervals_in_words(*spec) : "-");
  row.emplace_back("health", to_string(health_of(schedule, now)));
  return row;
}

Outcome<Exit> run_health(Task& task) {
  const Request first = DW_TRY(request_of(task));
  Value::Array rows;
  std::int64_t missed = 0;
  for (Request request = first;;) {
    const Value page = DW_TRY(answer_to(task, request));
    for (const Value& schedule : list_of(page, "schedules")) {
      const Value& row = rows.emplace_back(with_health(schedule, task.io.now()));
      if (text_of(row, "health") == to_string(Health::missed)) ++missed;
    }
    const auto token = text_of(page, "next_page_token");
    if (token.empty()) break;
    request.target = with_query(first.target, "next_page_token", token);
  }
  show_answer(task, Value::Map{{"namespace", task.ns()},
                               {"schedules", std::move(rows)},
                               {"missed_count", missed}});
  return missed > 0 ? Exit::failure : Exit::success;
}

Outcome<Value::Map> large_pages(const Given&, Value::Map body) {
  body.emplace_back("page_size", 200);
  return body;
}

Command health_command() {
  return {
      .name = "schedule:health",
      .summary = "Tell which schedules are late",
      .options = {{.name = "workflow-type",
                   .help = "Only of this workflow type",
                   .key = "workflow_type",
                   .letter = 't'}},
      .method = "GET",
      .path = "/schedules",
      .view = {.list = "schedules",
               .things = "schedules",
               .columns = {{"ID", "schedule_id"},
                           {"Type", "workflow_type"},
                           {"Cron", "spec.cron_expressions"},
                           {"Interval", "interval"},
                           {"Last Run", "last_fired_at"},
                           {"Next Run", "next_fire_at"},
                           {"Health", "health", Format::status}}},
      .examples = {"dw schedule:health", "dw schedules health --workflow-type=shop.sync --json"},
      .exits = "1 when a schedule is MISSED: two occurrences passed and nothing was done.",
      .shape = large_pages,
      .run = run_health};
}

}  // namespace

std::vector<Command> schedule_record_commands() {
  return {history_of_schedule_command(), runs_command(), actions_command(), health_command()};
}

}  // namespace dw::cli
