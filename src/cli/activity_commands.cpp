// Activities that stand alone or are reported on by hand, and the webhook bridge.
#include "cli/catalogue.hpp"
#include "cli/given.hpp"
#include "cli/lookup.hpp"
#include "cli/page.hpp"

#include <fmt/format.h>

namespace dw::cli {
namespace {

const Option reporting_owner{.name = "lease-owner",
                             .help = "Whoever leased the task",
                             .key = "lease_owner",
                             .fallback = "cli"};

void draw_activity(Page& page, const Value& answer) {
  page.heading("Activity");
  page.lines({{"Activity ID", "activity_id"},
              {"Namespace", "namespace"},
              {"Type", "activity_type"},
              {"Status", "activity_status|status", Format::status},
              {"Task Queue", "task_queue"},
              {"Run ID", "workflow_run_id"},
              {"Attempts", "attempt_count"},
              {"Current Attempt", "current_attempt_id"},
              {"Started", "started_at"},
              {"Closed", "closed_at"},
              {"Closed Reason", "closed_reason"},
              {"Last Heartbeat", "last_heartbeat_at"},
              {"Retry Policy", "retry_policy", Format::json}},
             answer);
  if (const Value* result = look_up(answer, "result")) {
    page.line("Result", printable(to_json(opened(*result))));
  }
  page.lines({{"Failure", "failure", Format::json}}, answer);
  const auto& attempts = list_of(answer, "attempts");
  if (attempts.empty()) return;
  page.table({{"Attempt ID", "activity_attempt_id|attempt_id|id"},
              {"Number", "attempt_number|number"},
              {"Status", "status", Format::status},
              {"Lease Owner", "lease_owner"},
              {"Started", "started_at"},
              {"Closed", "closed_at"}},
             attempts);
}

Outcome<Value::Map> retryable_or_not(const Given& given, Value::Map body) {
  if (given.flag("retryable") && given.flag("non-retryable")) {
    return invalid_input("activity:fail: --retryable and --non-retryable contradict each other");
  }
  return body;
}

std::vector<Column> report_lines() {
  return {{"Task ID", "task_id"},
          {"Attempt ID", "activity_attempt_id"},
          {"Outcome", "outcome", Format::status},
          {"Recorded", "recorded"},
          {"Reason", "reason"},
          {"Next Task ID", "next_task_id"}};
}

std::vector<Argument> task_and_attempt() {
  return {{.name = "task-id", .help = "The task"},
          {.name = "attempt-id", .help = "The leased attempt", .key = "activity_attempt_id"}};
}

Command fail_activity_command() {
  return {.name = "activity:fail",
          .summary = "Report that an activity's attempt failed",
          .arguments = task_and_attempt(),
          .options = {reporting_owner,
                      {.name = "message",
                       .help = "What went wrong",
                       .key = "failure.message",
                       .letter = 'm',
                       .required = true},
                      {.name = "type",
                       .help = "Its type, as retry policies name it",
                       .key = "failure.type",
                       .letter = 't'},
                      {.name = "failure-kind",
                       .help = "What kind of failure",
                       .key = "failure.kind",
                       .choices = {"application", "timeout", "cancellation", "malformed_output",
                                   "handler_crash", "decode_failure", "unsupported_payload"}},
                      {.name = "retryable",
                       .help = "Another try may help",
                       .kind = Kind::flag,
                       .key = "failure.retryable"},
                      {.name = "non-retryable",
                       .help = "No other try will help",
                       .kind = Kind::flag,
                       .key = "failure.non_retryable"},
                      {.name = "timeout-type",
                       .help = "Which time ran out",
                       .key = "failure.timeout_type",
                       .choices = {"schedule_to_start", "start_to_close", "schedule_to_close",
                                   "heartbeat", "deadline_exceeded"}},
                      {.name = "cancelled",
                       .help = "It was told to stop",
                       .kind = Kind::flag,
                       .key = "failure.cancelled"},
                      {.name = "malformed-output",
                       .help = "It answered with nonsense",
                       .kind = Kind::flag,
                       .key = "failure.malformed_output"}},
          .method = "POST",
          .path = "/worker/activity-tasks/{task-id}/fail",
          .view = {.heading = "Activity failed", .lines = report_lines()},
          .worker_protocol = true,
          .examples = {"dw activity:fail task-7 attempt-7 -m 'the bank said no' --non-retryable",
                       "dw activity:fail task-7 attempt-7 -m gone -t Timeout --json"},
          .shape = retryable_or_not};
}

Command webhook_command() {
  return {.name = "bridge:webhook",
          .summary = "Hand an event from outside to a workflow",
          .arguments = {{.name = "adapter", .help = "Where it comes from"}},
          .options = {{.name = "action",
                       .help = "What it does",
                       .key = "action",
                       .choices = {"start_workflow", "signal_workflow", "update_workflow"},
                       .required = true},
                      {.name = "idempotency-key",
                       .help = "The same key again is the same event",
                       .key = "idempotency_key",
                       .required = true},
                      {.name = "target",
                       .help = "Which workflow, a JSON object",
                       .kind = Kind::object,
                       .key = "target",
                       .required = true},
                      {.name = "correlation",
                       .help = "What it belongs to, a JSON object",
                       .kind = Kind::object,
                       .key = "correlation"}},
          .method = "POST",
          .path = "/bridge-adapters/webhook/{adapter}",
          .input = InputAs::value,
          .view = {.heading = "Webhook bridged",
                   .lines = {{"Adapter", "adapter"},
                             {"Action", "action"},
                             {"Outcome", "outcome", Format::status},
                             {"Reason", "reason"},
                             {"Workflow ID", "workflow_id"},
                             {"Run ID", "run_id"}}},
          .examples = {"dw bridge:webhook stripe --action=start_workflow --idempotency-key=evt-1 "
                       "--target '{\"workflow_type\":\"shop.place_order\"}' -i '{\"order\":42}'",
                       "dw bridge:webhook stripe --action=signal_workflow --idempotency-key=evt-2 "
                       "--target '{\"workflow_id\":\"order-42\",\"signal_name\":\"paid\"}' --json"},
          .exits = "0 when it was accepted, now or before; 2 when it was rejected."};
}

}  // namespace

std::vector<Command> activity_commands() {
  return {{.name = "activity:list",
           .summary = "List activities that stand alone",
           .options = {{.name = "status",
                        .help = "Only in this state",
                        .key = "status",
                        .choices = {"running", "completed", "failed"}},
                       {.name = "limit",
                        .help = "How many on a page",
                        .kind = Kind::whole,
                        .key = "page_size",
                        .letter = 'l',
                        .fallback = "50",
                        .most = 200},
                       {.name = "next-page-token",
                        .help = "Where the last page ended",
                        .key = "next_page_token"}},
           .method = "GET",
           .path = "/activities",
           .view = {.list = "activities",
                    .things = "activities",
                    .columns = {{"Activity ID", "activity_id"},
                                {"Type", "activity_type"},
                                {"Status", "activity_status|status", Format::status},
                                {"Attempt", "attempt_count"},
                                {"Attempt ID", "current_attempt_id"},
                                {"Task Queue", "task_queue"},
                                {"Started", "started_at"},
                                {"Closed", "closed_at"}}},
           .examples = {"dw activity:list --status=running", "dw activities list --output=jsonl"}},
          {.name = "activity:describe",
           .summary = "Show an activity and its attempts",
           .arguments = {{.name = "activity-id", .help = "The activity"}},
           .method = "GET",
           .path = "/activities/{activity-id}",
           .view = {.draw = draw_activity},
           .examples = {"dw activity:describe charge-42", "dw activity:describe charge-42 --json"}},
          {.name = "activity:complete",
           .summary = "Report that an activity's attempt succeeded",
           .arguments = task_and_attempt(),
           .options = {reporting_owner},
           .method = "POST",
           .path = "/worker/activity-tasks/{task-id}/complete",
           .input = InputAs::value,
           .input_key = "result",
           .view = {.heading = "Activity completed", .lines = report_lines()},
           .worker_protocol = true,
           .examples = {"dw activity:complete task-7 attempt-7 -i '{\"receipt\":\"r-1\"}'",
                        "dw activity:complete task-7 attempt-7 --lease-owner=w1 --json"}},
          fail_activity_command(),
          webhook_command()};
}

}  // namespace dw::cli
