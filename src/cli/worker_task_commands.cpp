// The worker protocol by hand: what a worker would send, for those who look for a fault in one.
#include "cli/catalogue.hpp"
#include "cli/given.hpp"
#include "cli/lookup.hpp"
#include "cli/page.hpp"
#include "core/base64.hpp"

#include <fmt/format.h>
#include <dw/payload.hpp>

#include <algorithm>

namespace dw::cli {
namespace {

const Option task_owner{.name = "lease-owner",
                        .help = "Whoever leased the task",
                        .key = "lease_owner",
                        .fallback = "cli"};
const Option failure_message{.name = "message",
                             .help = "What went wrong",
                             .key = "failure.message",
                             .letter = 'm',
                             .required = true};
const Option failure_type{.name = "type", .help = "Its type", .key = "failure.type", .letter = 't'};
const Option failure_trace{
    .name = "stack-trace", .help = "Where it happened", .key = "failure.stack_trace"};

void draw_workflow_task(Page& page, const Value& answer) {
  const Value* task = look_up(answer, "task");
  if (!task) return page.text("No workflow task available.");
  page.heading("Workflow task leased");
  page.lines({{"Task ID", "task_id"},
              {"Workflow ID", "workflow_id"},
              {"Run ID", "run_id"},
              {"Type", "workflow_type"},
              {"Attempt", "workflow_task_attempt"},
              {"Lease Owner", "lease_owner"},
              {"Lease Expires", "lease_expires_at"}},
             *task);
  page.line("History Events", fmt::to_string(list_of(*task, "history_events").size()));
  if (const auto token = text_of(*task, "next_history_page_token"); !token.empty()) {
    page.line("Next History Page Token", printable(token));
  }
}

void draw_query_task(Page& page, const Value& answer) {
  const Value* task = look_up(answer, "task");
  if (!task) return page.text("No query task available.");
  page.heading("Query task leased");
  page.lines({{"Task ID", "query_task_id"},
              {"Workflow ID", "workflow_id"},
              {"Run ID", "run_id"},
              {"Query", "query_name"},
              {"Attempt", "query_task_attempt"},
              {"Lease Owner", "lease_owner"},
              {"Lease Expires", "lease_expires_at"}},
             *task);
}

// What is one already stays as it is.
Outcome<Value> enveloped(Value value) {
  if (is_payload_envelope(value)) return value;
  const auto payload = encode(value);
  if (!payload) return invalid_input(payload.error().message);
  return Value{Value::Map{{"codec", payload->codec}, {"blob", encode_base64(payload->bytes)}}};
}

// The commands as they are, or the one that completes the workflow.
Outcome<Value::Map> commands_or_result(const Given& given, Value::Map body) {
  const auto& raw = given.all("command");
  const std::string result = given.text("complete-result");
  if (!raw.empty() && !result.empty()) {
    return invalid_input("workflow-task:complete: --command or --complete-result, not both");
  }
  Value::Array commands;
  for (const std::string& text : raw) {
    auto command = parse_json(text);
    if (!command || !command->if_map()) {
      return invalid_input("workflow-task:complete: --command must be a JSON object");
    }
    commands.push_back(*std::move(command));
  }
  if (raw.empty()) {
    Value::Map completion{{"type", "complete_workflow"}};
    if (!result.empty()) {
      auto value = parse_json(result);
      if (!value) return invalid_input("workflow-task:complete: --complete-result is not JSON");
      completion.emplace_back("result", DW_TRY(enveloped(*std::move(value))));
    }
    commands.emplace_back(std::move(completion));
  }
  body.emplace_back("commands", std::move(commands));
  return body;
}

std::vector<Column> workflow_task_lines() {
  return {{"Task ID", "task_id"},
          {"Attempt", "workflow_task_attempt"},
          {"Outcome", "outcome", Format::status},
          {"Run Status", "run_status", Format::status},
          {"Created Tasks", "created_task_ids"},
          {"Reason", "reason"}};
}

std::vector<Column> query_task_lines() {
  return {{"Task ID", "query_task_id"},
          {"Attempt", "query_task_attempt"},
          {"Outcome", "outcome", Format::status}};
}

std::vector<Argument> workflow_task_and_attempt() {
  return {{.name = "task-id", .help = "The task"},
          {.name = "attempt",
           .help = "Which attempt was leased",
           .key = "workflow_task_attempt",
           .kind = Kind::whole}};
}

std::vector<Argument> query_task_and_attempt() {
  return {{.name = "query-task-id", .help = "The task"},
          {.name = "attempt",
           .help = "Which attempt was leased",
           .key = "query_task_attempt",
           .kind = Kind::whole}};
}

constexpr std::int64_t longest_poll = 60;  // that a server takes

// The server answers before the caller gives up: that there is no task is an answer, not a failure.
Outcome<Value::Map> answered_in_time(const Given& given, Value::Map body) {
  if (const auto patience = given.whole("timeout")) {
    const auto margin = std::max<std::int64_t>(1, *patience / 5);
    body.emplace_back("timeout_seconds",
                      std::clamp<std::int64_t>(*patience - margin, 0, longest_poll));
  }
  return body;
}

std::vector<Option> poll_options() {
  return {{.name = "task-queue",
           .help = "The queue that the worker registered for",
           .key = "task_queue",
           .fallback = "default"}};
}

Command poll_command() {
  Command command{.name = "workflow-task:poll",
                  .summary = "Lease a workflow task, as a registered worker",
                  .arguments = {{.name = "worker-id", .help = "The worker", .key = "worker_id"}},
                  .options = poll_options(),
                  .method = "POST",
                  .path = "/worker/workflow-tasks/poll",
                  .view = {.draw = draw_workflow_task},
                  .worker_protocol = true,
                  .patience = Patience::poll,
                  .examples = {"dw workflow-task:poll probe --task-queue=orders",
                               "dw workflow-task:poll probe --history-page-size=100 --json"},
                  .shape = answered_in_time};
  command.options.push_back({.name = "build-id", .help = "Its build", .key = "build_id"});
  command.options.push_back({.name = "poll-request-id",
                             .help = "The same id again gets the same task",
                             .key = "poll_request_id"});
  command.options.push_back({.name = "history-page-size",
                             .help = "Events on the first page",
                             .kind = Kind::whole,
                             .key = "history_page_size",
                             .most = 1000});
  command.options.push_back({.name = "accept-history-encoding",
                             .help = "A compression that the caller reads",
                             .key = "accept_history_encoding"});
  return command;
}

std::vector<Command> workflow_task_commands() {
  return {poll_command(),
          {.name = "workflow-task:complete",
           .summary = "Report what a workflow asks for next",
           .arguments = workflow_task_and_attempt(),
           .options = {task_owner,
                       {.name = "complete-result",
                        .help = "The workflow's result, JSON; without it and commands: null"},
                       {.name = "command",
                        .help = "A command, JSON; may be repeated",
                        .kind = Kind::list}},
           .method = "POST",
           .path = "/worker/workflow-tasks/{task-id}/complete",
           .view = {.heading = "Workflow task completed", .lines = workflow_task_lines()},
           .worker_protocol = true,
           .examples = {"dw workflow-task:complete task-7 1 --complete-result='{\"paid\":true}'",
                        "dw workflow-task:complete task-7 1 --command "
                        "'{\"type\":\"start_timer\",\"delay_seconds\":5}'"},
           .shape = commands_or_result},
          {.name = "workflow-task:fail",
           .summary = "Report that a workflow task failed",
           .arguments = workflow_task_and_attempt(),
           .options = {task_owner, failure_message, failure_type, failure_trace},
           .method = "POST",
           .path = "/worker/workflow-tasks/{task-id}/fail",
           .view = {.heading = "Workflow task failed", .lines = workflow_task_lines()},
           .worker_protocol = true,
           .examples = {"dw workflow-task:fail task-7 1 -m 'cannot replay'",
                        "dw workflow-task:fail task-7 1 -m 'cannot replay' -t NonDeterminism"}},
          {.name = "workflow-task:history",
           .summary = "Fetch the next page of a leased task's history",
           .arguments = {{.name = "task-id", .help = "The task"},
                         {.name = "page-token",
                          .help = "Where the last page ended",
                          .key = "next_history_page_token"}},
           .options = {task_owner,
                       {.name = "attempt",
                        .help = "Which attempt was leased",
                        .kind = Kind::whole,
                        .key = "workflow_task_attempt",
                        .fallback = "1"}},
           .method = "POST",
           .path = "/worker/workflow-tasks/{task-id}/history",
           .view = {.lines = {{"Next History Page Token", "next_history_page_token"}},
                    .list = "history_events",
                    .things = "history events",
                    .columns = {{"#", "sequence|event_id"},
                                {"Event Type", "event_type"},
                                {"Details", "payload", Format::json}}},
           .worker_protocol = true,
           .examples = {"dw workflow-task:history task-7 MjAw --lease-owner=probe",
                        "dw workflow-task:history task-7 MjAw --attempt=2 --output=jsonl"}}};
}

std::vector<Command> query_task_commands() {
  return {
      {.name = "query-task:poll",
       .summary = "Lease a query, as a registered worker",
       .arguments = {{.name = "worker-id", .help = "The worker", .key = "worker_id"}},
       .options = poll_options(),
       .method = "POST",
       .path = "/worker/query-tasks/poll",
       .view = {.draw = draw_query_task},
       .worker_protocol = true,
       .patience = Patience::poll,
       .examples = {"dw query-task:poll probe --task-queue=orders",
                    "dw query-task:poll probe --json"},
       .shape = answered_in_time},
      {.name = "query-task:complete",
       .summary = "Answer a query",
       .arguments = query_task_and_attempt(),
       .options =
           {task_owner,
            {.name = "result", .help = "The answer, JSON", .kind = Kind::json, .key = "result"}},
       .method = "POST",
       .path = "/worker/query-tasks/{query-task-id}/complete",
       .view = {.heading = "Query task completed", .lines = query_task_lines()},
       .worker_protocol = true,
       .examples = {"dw query-task:complete q-7 1 --result '{\"state\":\"paid\"}'",
                    "dw query-task:complete q-7 1 --lease-owner=probe --result 3 --json"}},
      {.name = "query-task:fail",
       .summary = "Report that a query could not be answered",
       .arguments = query_task_and_attempt(),
       .options = {task_owner,
                   failure_message,
                   {.name = "reason",
                    .help = "For programs",
                    .key = "failure.reason",
                    .fallback = "query_rejected"},
                   failure_type,
                   failure_trace},
       .method = "POST",
       .path = "/worker/query-tasks/{query-task-id}/fail",
       .view = {.heading = "Query task failed", .lines = query_task_lines()},
       .worker_protocol = true,
       .examples = {"dw query-task:fail q-7 1 -m 'no such query'",
                    "dw query-task:fail q-7 1 -m 'no such query' "
                    "--reason=rejected_unknown_query"}}};
}

}  // namespace

std::vector<Command> worker_task_commands() {
  std::vector<Command> all = workflow_task_commands();
  for (Command& command : query_task_commands()) all.push_back(std::move(command));
  return all;
}

}  // namespace dw::cli
