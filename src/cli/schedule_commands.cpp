// Schedules: make them, look at them, change them, let them fire by hand.
#include "cli/schedule_commands.hpp"

#include "cli/catalogue.hpp"
#include "cli/given.hpp"
#include "cli/lookup.hpp"
#include "cli/schedule_times.hpp"
#include "cli/task.hpp"
#include "schedule/words.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dw::cli {
namespace {

// ---- list

Outcome<Value::Map> no_blank_filter(const Given& given, Value::Map body) {
  for (const std::string_view name : {"type", "status", "query", "limit", "next-page-token"}) {
    if (given.was_said(name) && given.text(name).find_first_not_of(" \t") == std::string::npos) {
      return invalid_input(fmt::format("schedule:list: --{} must not be empty", name));
    }
  }
  return body;
}

Value only_overdue(const Task& task, Value answer) {
  if (!task.given.flag("overdue") || !answer.if_map()) return answer;
  Value::Array late;
  for (const Value& schedule : list_of(answer, "schedules")) {
    if (is_overdue(schedule, task.io.now())) late.push_back(schedule);
  }
  set_entry(answer, "schedules", std::move(late));
  return answer;
}

Command list_schedules_command() {
  return {.name = "schedule:list",
          .summary = "List schedules",
          .options = {{.name = "type",
                       .help = "Only of this workflow type",
                       .key = "workflow_type",
                       .letter = 't'},
                      {.name = "status",
                       .help = "Only with this status",
                       .key = "status",
                       .choices = {"active", "paused"}},
                      {.name = "query",
                       .help = "Field = literal, joined by AND: 'TaskQueue = \"orders\"'",
                       .key = "query"},
                      {.name = "limit",
                       .help = "At most so many on a page",
                       .kind = Kind::whole,
                       .key = "page_size",
                       .letter = 'l',
                       .most = 200},
                      {.name = "next-page-token",
                       .help = "Go on where a list ended",
                       .key = "next_page_token"},
                      {.name = "all", .help = "Every page", .kind = Kind::flag},
                      {.name = "overdue",
                       .help = "Of all pages those whose next fire has passed",
                       .kind = Kind::flag}},
          .method = "GET",
          .path = "/schedules",
          .view = {.list = "schedules",
                   .things = "schedules",
                   .columns = {{"Schedule ID", "schedule_id"},
                               {"Workflow Type", "workflow_type|action.workflow_type"},
                               {"Status", "status|state.status", Format::status},
                               {"Next Fire", "next_fire|next_fire_at"},
                               {"Last Fire", "last_fire|last_fired_at"}}},
          .examples = {"dw schedule:list --status=paused",
                       "dw schedules list --all --output=jsonl | jq -r .schedule_id"},
          .shape = no_blank_filter,
          .enrich = only_overdue,
          .run = run_list};
}

// ---- describe

// Its times in words, and the next five with what will come of them. Both are extras: a server that
// has no previews is no reason to fail.
Value with_times(const Task& task, Value answer) {
  if (!answer.if_map()) return answer;
  if (const Value* spec = look_up(answer, "spec")) {
    if (const auto known = spec_in(*spec, task.io.now())) {
      set_entry(answer, "words", schedule::in_words(*known));
    }
  }
  const auto preview = task.session.ask(
      {.target = fill_path("/schedules/{schedule-id}/preview?next=5", task.given)});
  if (preview && look_up(*preview, "ticks")) {
    set_entry(answer, "next_fires", *look_up(*preview, "ticks"));
  }
  return answer;
}

std::string runs_left(const Value& answer) {
  if (!look_up(answer, "max_runs")) return "unlimited";
  return fmt::format("{} ({} remaining)", words_of(answer, "max_runs"),
                     words_of(answer, "remaining_actions"));
}

void draw_schedule_spec(Page& page, const Value& answer) {
  const Value* spec = look_up(answer, "spec");
  if (!spec) return;
  page.lines({{"When", "words"}, {"Cron", "spec.cron_expressions"}}, answer);
  if (!list_of(*spec, "intervals").empty()) page.line("Intervals", intervals_in_words(*spec));
  page.lines({{"Timezone", "spec.timezone"}, {"Jitter (s)", "jitter_seconds"}}, answer);
}

void draw_schedule(Page& page, const Value& answer) {
  page.heading(fmt::format("Schedule {}", words_of(answer, "schedule_id")));
  page.lines({{"Namespace", "namespace"},
              {"Status", "status|state.status", Format::status},
              {"Blocked", "blocked_reason"},
              {"Note", "note|state.note"}},
             answer);
  draw_schedule_spec(page, answer);
  page.lines({{"Workflow Type", "action.workflow_type|workflow_type"},
              {"Task Queue", "action.task_queue"},
              {"Input", "action.input", Format::json},
              {"Execution Timeout (s)", "action.execution_timeout_seconds"},
              {"Run Timeout (s)", "action.run_timeout_seconds"},
              {"Overlap Policy", "overlap_policy"},
              {"Calendars", "calendar_ids"},
              {"Condition", "condition", Format::json},
              {"Rotation", "rotation", Format::json},
              {"Missed Fires", "missed_fire_policy.mode"},
              {"Labels", "labels", Format::json},
              {"Memo", "memo", Format::json},
              {"Search Attributes", "search_attributes", Format::json}},
             answer);
  page.line("Max Runs", runs_left(answer));
  page.line("Buffered", std::to_string(list_of(answer, "info.buffered_actions").size()));
  page.lines({{"Fires", "fires_count|info.fires_count"},
              {"Failures", "failures_count|info.failures_count"},
              {"Skipped", "skipped_trigger_count|info.skipped_trigger_count"},
              {"Last Skip", "last_skip_reason|info.last_skip_reason"},
              {"Latest Workflow", "latest_workflow_instance_id"},
              {"Last Fire", "last_fired_at|last_fire|info.last_fire"},
              {"Next Fire", "next_fire_at|next_fire|info.next_fire"},
              {"Created", "created_at"},
              {"Updated", "updated_at"}},
             answer);
  const auto& next = list_of(answer, "next_fires");
  if (next.empty()) return;
  page.gap();
  page.table({{"Next Fires", "tick_at"},
              {"Local", "local"},
              {"Decision", "decision", Format::status},
              {"Reason", "reason"}},
             next);
}

// ---- create and update

std::vector<Option> definition_of_a_schedule() {
  return {
      {.name = "workflow-type",
       .help = "Which workflow it starts",
       .key = "action.workflow_type",
       .letter = 't'},
      {.name = "cron",
       .help = "When, as '15 7 * * 1-5'; may be repeated",
       .kind = Kind::list,
       .key = "spec.cron_expressions",
       .letter = 'c'},
      {.name = "interval",
       .help = "Every so often, as PT30M; may be repeated",
       .kind = Kind::list,
       .key = "intervals"},
      {.name = "offset",
       .help = "Shifts an interval, the first the first; may be repeated",
       .kind = Kind::list,
       .key = "offsets"},
      {.name = "timezone", .help = "The zone of cron expressions", .key = "timezone"},
      {.name = "task-queue", .help = "Who works on it", .key = "action.task_queue"},
      {.name = "execution-timeout",
       .help = "Seconds for all runs of a workflow together",
       .kind = Kind::whole,
       .key = "action.execution_timeout_seconds"},
      {.name = "run-timeout",
       .help = "Seconds for one run",
       .kind = Kind::whole,
       .key = "action.run_timeout_seconds"},
      schedule_overlap("When the last run is still open"),
      {.name = "jitter",
       .help = "Up to so many seconds later, by chance",
       .kind = Kind::whole,
       .key = "jitter_seconds",
       .least = 0,
       .most = 3600},
      {.name = "max-runs",
       .help = "It is deleted after so many",
       .kind = Kind::whole,
       .key = "max_runs"},
      {.name = "note", .help = "For whoever looks at it", .key = "note"},
      {.name = "calendar",
       .help = "Only on days that this one allows; may be repeated",
       .kind = Kind::list,
       .key = "calendar_ids"},
      {.name = "condition-file",
       .help = "Only when the condition in this JSON file holds",
       .kind = Kind::file,
       .key = "condition"},
      {.name = "rotation-file",
       .help = "Inputs that take turns: a JSON array in this file",
       .kind = Kind::content,
       .key = "rotation"},
      {.name = "label", .help = "key=value; may be repeated", .kind = Kind::pairs, .key = "labels"},
      {.name = "search-attr",
       .help = "key=value; may be repeated",
       .kind = Kind::pairs,
       .key = "search_attributes"},
      {.name = "memo", .help = "A JSON object", .kind = Kind::object, .key = "memo"},
      {.name = "connection", .help = "Start over this connection", .key = "connection"},
      {.name = "queue", .help = "Start on this queue", .key = "queue"},
      {.name = "missed-fire",
       .help = "Of what was missed while nobody looked",
       .key = "missed_fire_policy.mode",
       .choices = {"fire_once", "skip", "catch_up"}}};
}

Command create_schedule_command() {
  Command create{
      .name = "schedule:create",
      .summary = "Make a schedule that starts a workflow again and again",
      .options = definition_of_a_schedule(),
      .method = "POST",
      .path = "/schedules",
      .input = InputAs::arguments,
      .input_key = "action.input",
      .view = {.draw = draw_changed_schedule},
      .examples = {"dw schedule:create --schedule-id=nightly -t shop.close_day -c '30 2 * * *' "
                   "--timezone=Europe/Istanbul",
                   "dw schedule create -t shop.sync --interval=PT30M --dry-run"},
      .exits = "2 when the times make no sense: where and why is said.",
      .shape = new_schedule,
      .run = run_schedule_create};
  for (Option& option : create.options) {
    if (option.name == "workflow-type") option.required = true;
    if (option.name == "timezone") option.fallback = "UTC";
    if (option.name == "overlap-policy") option.fallback = "skip";
  }
  create.options.insert(create.options.begin(), {.name = "schedule-id",
                                                 .help = "Its id; without one the server makes one",
                                                 .key = "schedule_id"});
  create.options.push_back(
      {.name = "paused", .help = "Nothing fires yet", .kind = Kind::flag, .key = "paused"});
  create.options.push_back({.name = "dry-run",
                            .help = "Tell the times in words and the next five; make nothing",
                            .kind = Kind::flag});
  return create;
}

Command update_schedule_command() {
  Command update{.name = "schedule:update",
                 .summary = "Change a schedule; what is not given stays",
                 .arguments = {which_schedule()},
                 .options = definition_of_a_schedule(),
                 .method = "PUT",
                 .path = "/schedules/{schedule-id}",
                 .input = InputAs::arguments,
                 .input_key = "action.input",
                 .view = {.draw = draw_changed_schedule},
                 .examples = {"dw schedule:update nightly -c '0 3 * * *' --note='after the backup'",
                              "dw schedule:update nightly --clear=max_runs --json"},
                 .shape = changed_schedule,
                 .run = run_schedule_update};
  update.options.push_back({.name = "clear",
                            .help = "Take away max_runs, note, condition, …; may be repeated",
                            .kind = Kind::list,
                            .key = "clear_fields"});
  return update;
}

// ---- its life

Command pause_or_resume(std::string_view name, std::string_view summary, std::string_view path,
                        std::vector<std::string_view> examples) {
  return {.name = name,
          .summary = summary,
          .arguments = {which_schedule()},
          .options = {{.name = "note", .help = "Why", .key = "note"}},
          .method = "POST",
          .path = path,
          .view = {.draw = draw_changed_schedule},
          .examples = std::move(examples)};
}

Command delete_schedule_command() {
  return {.name = "schedule:delete",
          .summary = "Delete a schedule; what it started goes on",
          .arguments = {which_schedule()},
          .options = {{.name = "force", .help = "The same as --yes", .kind = Kind::flag}},
          .method = "DELETE",
          .path = "/schedules/{schedule-id}",
          .view = {.draw = draw_changed_schedule},
          .asks_first = true,
          .examples = {"dw schedule:delete nightly", "dw schedule:delete nightly --yes --json"},
          .run = run_schedule_delete};
}

}  // namespace

std::vector<Command> schedule_life_commands() {
  return {list_schedules_command(),
          create_schedule_command(),
          {.name = "schedule:describe",
           .summary = "Show a schedule and its next five fires",
           .aliases = {"schedule:inspect"},
           .arguments = {which_schedule()},
           .method = "GET",
           .path = "/schedules/{schedule-id}",
           .view = {.draw = draw_schedule},
           .examples = {"dw schedule:describe nightly",
                        "dw schedule inspect nightly --json | jq .next_fire_at"},
           .enrich = with_times},
          update_schedule_command(),
          pause_or_resume("schedule:pause", "Let a schedule fire no more, for now",
                          "/schedules/{schedule-id}/pause",
                          {"dw schedule:pause nightly --note='stock-taking'",
                           "dw schedule pause nightly --json"}),
          pause_or_resume(
              "schedule:resume", "Let a paused schedule fire again, from now on",
              "/schedules/{schedule-id}/resume",
              {"dw schedule:resume nightly", "dw schedule:resume nightly --note=done --json"}),
          delete_schedule_command()};
}

const Argument& which_schedule() {
  static const Argument argument{.name = "schedule-id", .help = "The schedule"};
  return argument;
}

Option schedule_overlap(std::string_view help) {
  return {.name = "overlap-policy",
          .help = help,
          .key = "overlap_policy",
          .choices = {"skip", "buffer_one", "buffer_all", "cancel_other", "terminate_other",
                      "allow_all"}};
}

void draw_schedule_warnings(Page& page, const Value& answer) {
  for (const Value& warning : list_of(answer, "warnings")) {
    page.warning(fmt::format("  Warning: {}: {}", words_of(warning, "path|code"),
                             words_of(warning, "message|text|code")));
  }
}

void draw_changed_schedule(Page& page, const Value& answer) {
  page.heading(
      fmt::format("Schedule {}: {}", words_of(answer, "outcome"), words_of(answer, "schedule_id")));
  page.lines({{"Namespace", "namespace"},
              {"Status", "status", Format::status},
              {"Note", "note"},
              {"Next Fire", "next_fire_at"},
              {"Created", "created_at"},
              {"Updated", "updated_at"},
              {"Paused", "paused_at"},
              {"Deleted", "deleted_at"}},
             answer);
  draw_schedule_warnings(page, answer);
}

Value taken(Value::Map& body, std::string_view key) {
  const auto found = std::ranges::find(body, key, &Value::Map::value_type::first);
  if (found == body.end()) return {};
  Value value = std::move(found->second);
  body.erase(found);
  return value;
}

std::string with_query(std::string target, std::string_view name, std::string_view value) {
  target += target.find('?') == std::string::npos ? '?' : '&';
  return target + fmt::format("{}={}", name, escape_segment(value));
}

}  // namespace dw::cli
