// Firing by hand: now, for a time that has passed, or whatever is due.
#include "cli/catalogue.hpp"
#include "cli/given.hpp"
#include "cli/lookup.hpp"
#include "cli/schedule_commands.hpp"
#include "cli/schedule_times.hpp"
#include "cli/task.hpp"

#include <fmt/format.h>

namespace dw::cli {
namespace {

// ---- trigger

void draw_triggered(Page& page, const Value& answer) {
  const auto id = words_of(answer, "schedule_id");
  const auto outcome = text_of(answer, "outcome");
  if (outcome == "triggered") {
    page.heading(fmt::format("Schedule triggered: {}", id));
    return page.lines({{"Workflow ID", "workflow_id"}, {"Run ID", "run_id"}}, answer);
  }
  if (outcome == "buffered") {
    return page.text(fmt::format("Schedule {} is busy: buffered, {} waiting.", id,
                                 words_of(answer, "buffer_depth")));
  }
  if (outcome == "buffer_full") {
    return page.warning(fmt::format("Schedule {} is busy and its buffer is full: {}.", id,
                                    words_of(answer, "reason")));
  }
  page.warning(fmt::format("Schedule {}: {} ({}).", id, words_of(answer, "outcome"),
                           words_of(answer, "reason")));
}

Command trigger_command() {
  return {.name = "schedule:trigger",
          .summary = "Let a schedule fire now",
          .arguments = {which_schedule()},
          .options = {schedule_overlap("This once, when the last run is still open"),
                      {.name = "respect-guards",
                       .help = "Ask its calendars and its condition, too",
                       .kind = Kind::flag,
                       .key = "respect_guards"}},
          .method = "POST",
          .path = "/schedules/{schedule-id}/trigger",
          .input = InputAs::arguments,
          .view = {.draw = draw_triggered},
          .examples = {"dw schedule:trigger nightly",
                       "dw schedule trigger nightly --overlap-policy=allow_all -i '[\"again\"]'"},
          .exits = "0 also when it was buffered or skipped; 1 when the start failed.",
          .run = run_schedule_trigger};
}

Exit verdict_of_trigger(const Value& answer) {
  const auto outcome = text_of(answer, "outcome");
  const bool known = outcome == "triggered" || outcome == "buffered" || outcome == "buffer_full" ||
                     outcome == "skipped";
  return known ? Exit::success : Exit::failure;
}

// ---- backfill

// Both ends, or --since and now. Where it ends is known when it is sent.
Outcome<Value::Map> backfill_window_given(const Given& given, Value::Map body) {
  constexpr std::string_view name = "schedule:backfill";
  const bool ends = given.was_said("start-time") && given.was_said("end-time");
  const bool an_end = given.was_said("start-time") || given.was_said("end-time");
  if (given.was_said("since") ? an_end : !ends) {
    return invalid_input(
        "schedule:backfill: which time? Give --start-time and --end-time, or --since alone");
  }
  const auto set = [&](std::string key, std::string at) {
    taken(body, key);
    body.emplace_back(std::move(key), std::move(at));
  };
  if (given.was_said("since")) {
    set("start_time", DW_TRY(instant_given(name, "since", given)));
  } else {
    set("start_time", DW_TRY(instant_given(name, "start-time", given)));
    set("end_time", DW_TRY(instant_given(name, "end-time", given)));
  }
  return body;
}

struct BackfillCount {
  std::int64_t started = 0;
  std::int64_t there_before = 0;
  std::int64_t skipped = 0;
  std::int64_t failed = 0;
};

BackfillCount count_rows(const Value::Array& rows) {
  BackfillCount count;
  for (const Value& row : rows) {
    const auto outcome = text_of(row, "outcome");
    if (outcome == "skipped") {
      ++(text_of(row, "reason") == "schedule_slot_exists" ? count.there_before : count.skipped);
    } else {
      ++(outcome == "failed" ? count.failed : count.started);
    }
  }
  return count;
}

void draw_backfill(Page& page, const Value& answer) {
  const auto& rows = list_of(answer, "results");
  const auto count = count_rows(rows);
  if (is_true(answer, "dry_run")) {
    page.heading(fmt::format("Would dispatch {} run(s).", count.started));
  } else {
    page.heading(fmt::format("Backfill started for {}", words_of(answer, "schedule_id")));
    page.text(fmt::format("Dispatched {} run(s) (skipped {} already-backfilled).", count.started,
                          count.there_before));
  }
  if (count.skipped > 0) page.text(fmt::format("Skipped by a guard: {}.", count.skipped));
  if (count.failed > 0) page.warning(fmt::format("Failed: {}.", count.failed));
  std::vector<Page::Row> shown;
  for (const Value& row : rows) {
    shown.push_back({std::to_string(shown.size() + 1), words_of(row, "fire_time"),
                     words_of(row, "outcome"), words_of(row, "workflow_id|reason")});
  }
  if (!shown.empty()) page.table({"#", "Fire At", "Status", "Workflow / Reason"}, shown, {2});
}

Command backfill_command() {
  return {.name = "schedule:backfill",
          .summary = "Let a schedule fire for a time that has passed",
          .arguments = {which_schedule()},
          .options = {{.name = "start-time", .help = "From this instant or day on"},
                      {.name = "end-time", .help = "Before this one"},
                      {.name = "since", .help = "From this one until now"},
                      schedule_overlap("When an earlier run is still open"),
                      {.name = "dry-run",
                       .help = "Tell what would be started; start nothing",
                       .kind = Kind::flag,
                       .key = "dry_run"},
                      {.name = "ignore-calendar",
                       .help = "Also on days that a calendar forbids",
                       .kind = Kind::flag,
                       .key = "ignore_calendar"},
                      {.name = "apply-condition",
                       .help = "Only if its condition holds now",
                       .kind = Kind::flag,
                       .key = "apply_condition"},
                      {.name = "force",
                       .help = "Start again what was started before",
                       .kind = Kind::flag,
                       .key = "force"}},
          .method = "POST",
          .path = "/schedules/{schedule-id}/backfill",
          .view = {.list = "results", .things = "occurrences", .draw = draw_backfill},
          .examples = {"dw schedule:backfill nightly --since=2026-04-18 --dry-run",
                       "dw schedule backfill nightly --start-time=2026-04-18T00:00:00Z "
                       "--end-time=2026-04-21T00:00:00Z --json"},
          .shape = backfill_window_given,
          .run = run_schedule_backfill};
}

// ---- whatever is due

std::string told_row(const Value& row) {
  if (look_up(row, "error")) return "failed: " + words_of(row, "error");
  if (look_up(row, "instance_id")) return words_of(row, "instance_id");
  const auto outcome = words_of(row, "outcome");
  return look_up(row, "reason") ? fmt::format("{} ({})", outcome, words_of(row, "reason"))
                                : outcome;
}

void draw_rows(Page& page, const Value& answer) {
  for (const Value& row : list_of(answer, "rows")) {
    page.text(fmt::format("[{}] → {}", words_of(row, "schedule_id"), told_row(row)));
  }
}

void draw_tick(Page& page, const Value& answer) {
  const auto count = list_of(answer, "rows").size();
  draw_rows(page, answer);
  page.text(count == 0 ? "No schedules due." : fmt::format("Processed {} schedule(s).", count));
}

// A script gets the rows themselves, not what they came in.
Outcome<Exit> run_tick(Task& task) {
  const Request request = DW_TRY(request_of(task));
  const Value answer = DW_TRY(answer_to(task, request));
  if (task.output.for_machines() && !task.output.by_line()) {
    task.output.print(Value{list_of(answer, "rows")});
  } else {
    show_answer(task, answer);
  }
  return Exit::success;
}

Value count_evaluated(const Task&, Value answer) {
  if (!answer.if_map()) return answer;
  std::int64_t fired = 0, buffered = 0, skipped = 0, failed = 0;
  for (const Value& row : list_of(answer, "rows")) {
    const auto outcome = text_of(row, "outcome");
    const bool started = outcome == "triggered" || outcome == "drained";
    ++(look_up(row, "error")   ? failed
       : started               ? fired
       : outcome == "buffered" ? buffered
                               : skipped);
  }
  for (const auto& [key, count] : {std::pair{"fired", fired}, std::pair{"buffered", buffered},
                                   std::pair{"skipped", skipped}, std::pair{"failed", failed}}) {
    set_entry(answer, key, count);
  }
  return answer;
}

void draw_evaluated(Page& page, const Value& answer) {
  draw_rows(page, answer);
  if (whole_of(answer, "buffered") > 0) {
    page.text(fmt::format("Buffered: {}.", whole_of(answer, "buffered")));
  }
  page.text(fmt::format("Done: {} fired, {} skipped, {} failed.", whole_of(answer, "fired"),
                        whole_of(answer, "skipped"), whole_of(answer, "failed")));
}

Exit none_failed(const Value& answer) {
  return whole_of(answer, "failed") > 0 ? Exit::failure : Exit::success;
}

// ---- holding everything back

void draw_control(Page& page, const Value& answer) {
  const bool held = is_true(answer, "queue_frozen") || is_true(answer, "kill_switch");
  page.heading(held ? "Schedules are held back: nothing fires by itself."
                    : "Schedules fire again.");
  page.lines({{"Reason", "reason"}}, answer);
  if (held) page.lines({{"Triggers And Backfills Too", "kill_switch"}}, answer);
  page.lines({{"Changed By", "changed_by"}, {"Changed At", "changed_at"}}, answer);
}

// ---- making room

Outcome<Value::Map> purge_wanted(const Given& given, Value::Map body) {
  taken(body, "deleted_before");
  body.emplace_back("deleted_before",
                    DW_TRY(instant_given("schedule:purge", "deleted-before", given)));
  return body;
}

void draw_purged(Page& page, const Value& answer) {
  const auto& gone = list_of(answer, "schedules");
  page.heading(fmt::format("Purged {} schedule(s){}.", gone.size(),
                           is_true(answer, "with_history") ? " with their history" : ""));
  if (gone.empty()) return;
  page.table({{"Namespace", "namespace"},
              {"Schedule ID", "schedule_id"},
              {"Deleted", "deleted_at"},
              {"ULID", "schedule_ulid"}},
             gone);
}

Outcome<Exit> run_purge(Task& task) {
  const Request request = DW_TRY(request_of(task));
  if (!task.may_ask && !task.given.flag("yes")) {
    return invalid_input("schedule:purge needs --yes where nobody can be asked");
  }
  const std::string question = fmt::format(
      "Remove every schedule deleted before {} for good{}?", task.given.text("deleted-before"),
      task.given.flag("with-history") ? ", with its history" : "");
  if (!confirmed(task, question)) {
    task.output.show("Nothing was done.");
    return Exit::success;
  }
  show_answer(task, DW_TRY(answer_to(task, request)));
  return Exit::success;
}

Command purge_command() {
  return {.name = "schedule:purge",
          .summary = "Remove schedules that were deleted, of every namespace",
          .options = {{.name = "deleted-before",
                       .help = "Only those deleted before this instant or day",
                       .key = "deleted_before",
                       .required = true},
                      {.name = "with-history",
                       .help = "Their audit streams, too",
                       .kind = Kind::flag,
                       .key = "with_history"}},
          .method = "POST",
          .path = "/system/schedules/purge",
          .scope = Scope::nothing,
          .view = {.list = "schedules", .things = "schedules", .draw = draw_purged},
          .asks_first = true,
          .needs_yes = true,
          .examples = {"dw schedule:purge --deleted-before=2026-01-01 --yes",
                       "dw schedule purge --deleted-before=2026-01-01T00:00:00Z --with-history "
                       "--yes --json"},
          .shape = purge_wanted,
          .run = run_purge};
}

std::vector<Command> dispatch_commands() {
  return {{.name = "schedule:tick",
           .summary = "Fire every schedule that is due, now",
           .aliases = {"workflow:v2:schedule-tick"},
           .method = "POST",
           .path = "/system/schedules/tick",
           .scope = Scope::nothing,
           .view = {.list = "rows", .things = "schedules", .draw = draw_tick},
           .examples = {"dw schedule:tick", "dw schedule tick --json | jq length"},
           .run = run_tick},
          {.name = "schedule:evaluate",
           .summary = "Fire schedules that are due, and tell how that went",
           .options = {{.name = "limit",
                        .help = "At most so many",
                        .kind = Kind::whole,
                        .key = "limit",
                        .fallback = "100"}},
           .method = "POST",
           .path = "/system/schedules/tick",
           .scope = Scope::nothing,
           .view = {.list = "rows", .things = "schedules", .draw = draw_evaluated},
           .examples = {"dw schedule:evaluate", "dw schedule:evaluate --limit=10 --json"},
           .exits = "1 when a schedule failed.",
           .enrich = count_evaluated,
           .verdict = none_failed},
          {.name = "schedule:freeze",
           .summary = "Let no schedule of any namespace fire, until unfrozen",
           .options = {{.name = "reason",
                        .help = "Why; whoever wonders is told",
                        .key = "reason",
                        .required = true},
                       {.name = "kill-switch",
                        .help = "Refuse triggers and backfills by hand, too",
                        .kind = Kind::flag,
                        .key = "kill_switch"}},
           .method = "POST",
           .path = "/system/schedules/freeze",
           .scope = Scope::nothing,
           .view = {.draw = draw_control},
           .examples = {"dw schedule:freeze --reason='database moves'",
                        "dw schedule freeze --reason=incident --kill-switch --json"}},
          {.name = "schedule:unfreeze",
           .summary = "Let schedules fire again",
           .method = "DELETE",
           .path = "/system/schedules/freeze",
           .scope = Scope::nothing,
           .view = {.draw = draw_control},
           .examples = {"dw schedule:unfreeze", "dw schedule unfreeze --json"}}};
}

}  // namespace

std::vector<Command> schedule_fire_commands() {
  std::vector<Command> all{trigger_command(), backfill_command(), purge_command()};
  for (Command& command : dispatch_commands()) all.push_back(std::move(command));
  return all;
}

Outcome<Exit> run_schedule_delete(Task& task) {
  const Request request = DW_TRY(request_of(task));
  const std::string question =
      fmt::format("{}: {}?", task.command.summary, task.given.text("schedule-id"));
  if (!task.given.flag("force") && !confirmed(task, question)) {
    task.output.show("Nothing was done.");
    return Exit::success;
  }
  show_answer(task, DW_TRY(answer_to(task, request)));
  return Exit::success;
}

// A start that fails is the schedule's failure, not the server's.
Outcome<Exit> run_schedule_trigger(Task& task) {
  const Request request = DW_TRY(request_of(task));
  const auto answer = answer_to(task, request);
  if (!answer) {
    Failure failure = answer.error();
    if (text_of(failure.response, "reason") == "trigger_failed") failure.exit = Exit::failure;
    return failure;
  }
  show_answer(task, *answer);
  return verdict_of_trigger(*answer);
}

Outcome<Exit> run_schedule_backfill(Task& task) {
  Request request = DW_TRY(request_of(task));
  if (task.given.was_said("since")) {
    set_entry(*request.body, "end_time", format_timestamp(task.io.now()));
  }
  Value answer = DW_TRY(answer_to(task, request));
  if (task.given.flag("dry-run") && answer.if_map()) set_entry(answer, "dry_run", true);
  show_answer(task, answer);
  return Exit::success;
}

}  // namespace dw::cli
