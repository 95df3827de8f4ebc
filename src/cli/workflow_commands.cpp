// Start workflows, speak to them, end them.
#include "bundle/canonical.hpp"
#include "cli/catalogue.hpp"
#include "cli/given.hpp"
#include "cli/lookup.hpp"
#include "cli/page.hpp"
#include "cli/request.hpp"

#include <fmt/format.h>

namespace dw::cli {
namespace {

const Argument which_workflow{.name = "workflow-id", .help = "The workflow"};
const Option which_run{.name = "run-id", .help = "This run, not the current one"};

std::vector<Column> command_lines() {
  return {{"Workflow ID", "workflow_id"},
          {"Namespace", "namespace"},
          {"Run ID", "run_id"},
          {"Signal", "signal_name"},
          {"Update", "update_name"},
          {"Update ID", "update_id"},
          {"Outcome", "outcome", Format::status},
          {"Reason", "reason"},
          {"Update Status", "update_status", Format::status},
          {"Command Status", "command_status", Format::status},
          {"Command ID", "command_id"},
          {"Wait For", "wait_for"},
          {"Wait Timed Out", "wait_timed_out"},
          {"Result", "result", Format::json}};
}

void draw_query_result(Page& page, const Value& answer) {
  page.heading("Query result");
  page.line("Namespace", words_of(answer, "namespace"));
  page.line("Query", words_of(answer, "query_name"));
  const Value* result = look_up(answer, "result");
  page.text(result ? printable_lines(bundle::pretty_json(*result)) : "null");
}

// One of a workflow and a query for many; each has options that make no sense for the other.
Outcome<Value::Map> cancel_one_or_many(const Given& given, Value::Map body) {
  const bool many = given.was_said("all-matching");
  if (many && given.was_said("workflow-id")) {
    return invalid_input("workflow:cancel: name one workflow or --all-matching, not both");
  }
  if (!many && !given.was_said("workflow-id")) {
    return invalid_input("workflow:cancel: name a workflow, or many with --all-matching");
  }
  if (many && given.text("all-matching").find_first_not_of(" \t") == std::string::npos) {
    return invalid_input("workflow:cancel: --all-matching must not be empty");
  }
  if (many && given.was_said("run-id")) {
    return invalid_input("workflow:cancel: --run-id and --all-matching do not go together");
  }
  return body;
}

Outcome<Value::Map> signal_with_its_input(const Given& given, Value::Map body) {
  if (given.was_said("signal-input") && given.text("signal").empty()) {
    return invalid_input("workflow:start: --signal-input needs --signal");
  }
  if (!given.text("signal-input").empty()) {
    DW_TRY(parse_payload(given.text("signal-input"), "json", "--signal-input"));
  }
  return body;
}

Outcome<Value::Map> wait_timeout_of_completion(const Given& given, Value::Map body) {
  if (given.was_said("wait-timeout") && given.text("wait") != "completed") {
    return invalid_input("workflow:update: --wait-timeout needs --wait=completed");
  }
  return body;
}

Command start_command() {
  return {
      .name = "workflow:start",
      .summary = "Start a workflow",
      .options = {{.name = "type",
                   .help = "Which workflow",
                   .key = "workflow_type",
                   .letter = 't',
                   .required = true},
                  {.name = "workflow-id",
                   .help = "Its id; without one the server makes one",
                   .key = "workflow_id",
                   .letter = 'w'},
                  {.name = "business-key", .help = "A key of your own", .key = "business_key"},
                  {.name = "task-queue",
                   .help = "Who works on it",
                   .key = "task_queue",
                   .fallback = "default"},
                  {.name = "duplicate-policy",
                   .help = "When the id is taken",
                   .key = "duplicate_policy",
                   .choices = {"fail", "use-existing"},
                   .contract = "start.duplicate_policy"},
                  {.name = "memo", .help = "A JSON object", .kind = Kind::object, .key = "memo"},
                  {.name = "search-attr",
                   .help = "key=value; may be repeated",
                   .kind = Kind::pairs,
                   .key = "search_attributes"},
                  {.name = "label",
                   .help = "key=value; may be repeated",
                   .kind = Kind::pairs,
                   .key = "labels"},
                  {.name = "execution-timeout",
                   .help = "Seconds for all of its runs together",
                   .kind = Kind::whole,
                   .key = "execution_timeout_seconds"},
                  {.name = "run-timeout",
                   .help = "Seconds for one run",
                   .kind = Kind::whole,
                   .key = "run_timeout_seconds"},
                  {.name = "priority",
                   .help = "0 to 9, lower first",
                   .kind = Kind::whole,
                   .key = "priority",
                   .least = 0,
                   .most = 9},
                  {.name = "fairness-key", .help = "Its class among others", .key = "fairness_key"},
                  {.name = "fairness-weight",
                   .help = "Its share among classes",
                   .kind = Kind::whole,
                   .key = "fairness_weight",
                   .most = 1000},
                  {.name = "signal", .help = "Send this signal along; joins a run that is open"},
                  {.name = "signal-input", .help = "The signal's arguments, JSON"},
                  {.name = "wait", .help = "Until it has ended", .kind = Kind::flag}},
      .method = "POST",
      .path = "/workflows",
      .input = InputAs::arguments,
      .view = {.heading = "Workflow started",
               .lines = {{"Workflow ID", "workflow_id"},
                         {"Namespace", "namespace"},
                         {"Run ID", "run_id"},
                         {"Business Key", "business_key"},
                         {"Payload Codec", "payload_codec"},
                         {"Outcome", "outcome", Format::status},
                         {"Signal", "signal_name"},
                         {"Signal Outcome", "signal_outcome"}}},
      .examples = {"dw workflow:start -t sample.tally -w tally-1 -i '[10]'",
                   "echo '[{\"customer\":\"ada\"}]' | "
                   "dw workflow:start -t shop.place_order --input-file - --wait --json"},
      .exits = "With --wait: 0 it completed, 1 it ended in any other way.",
      .shape = signal_with_its_input,
      .run = run_start};
}

Command list_command() {
  return {.name = "workflow:list",
          .summary = "List workflows, newest first",
          .options =
              {{.name = "type", .help = "Only of this type", .key = "workflow_type", .letter = 't'},
               {.name = "status",
                .help = "Only in this state",
                .key = "status",
                .choices = {"running", "completed", "failed"},
                .contract = "list.status"},
               {.name = "query", .help = "A visibility query", .key = "query"},
               {.name = "limit",
                .help = "How many on a page",
                .kind = Kind::whole,
                .key = "page_size",
                .letter = 'l',
                .fallback = "20",
                .most = 200},
               {.name = "next-page-token",
                .help = "Where the last page ended",
                .key = "next_page_token"},
               {.name = "all", .help = "Every page", .kind = Kind::flag}},
          .method = "GET",
          .path = "/workflows",
          .view = {.list = "workflows",
                   .things = "workflows",
                   .columns = {{"Workflow ID", "workflow_id"},
                               {"Type", "workflow_type"},
                               {"Business Key", "business_key"},
                               {"Status", "status", Format::status},
                               {"Started", "started_at"},
                               {"Closed", "closed_at"}}},
          .examples = {"dw workflow:list --status=running --limit=50",
                       "dw workflows list --all --output=jsonl | jq -r .workflow_id"},
          .run = run_list};
}

// Signal, query and update: a name, and arguments for it.
Command speaking_command(std::string_view name, std::string_view summary, std::string_view path,
                         Argument called) {
  return {.name = name,
          .summary = summary,
          .arguments = {which_workflow, called},
          .options = {which_run},
          .method = "POST",
          .path = path,
          .input = InputAs::arguments};
}

Command signal_command() {
  Command command =
      speaking_command("workflow:signal", "Send a signal",
                       "/workflows/{workflow-id}[/runs/{run-id}]/signal/{signal-name}",
                       {.name = "signal-name", .help = "Which signal"});
  command.view = {.heading = "Signal sent", .lines = command_lines()};
  command.examples = {
      "dw workflow:signal order-42 approve -i '[\"ada\"]'",
      "echo '{\"by\":\"ada\"}' | dw workflow signal order-42 approve --input-file -"};
  return command;
}

Command query_command() {
  Command command = speaking_command("workflow:query", "Ask a workflow",
                                     "/workflows/{workflow-id}[/runs/{run-id}]/query/{query-name}",
                                     {.name = "query-name", .help = "Which query"});
  command.view = {.draw = draw_query_result};
  command.patience = Patience::query;
  command.examples = {"dw workflow:query order-42 status",
                      "dw workflow:query order-42 items -i '[10]' --json | jq .result"};
  return command;
}

Command update_command() {
  Command command =
      speaking_command("workflow:update", "Send an update, and wait for it",
                       "/workflows/{workflow-id}[/runs/{run-id}]/update/{update-name}",
                       {.name = "update-name", .help = "Which update"});
  command.options.push_back({.name = "wait",
                             .help = "Until when",
                             .key = "wait_for",
                             .fallback = "accepted",
                             .choices = {"accepted", "completed"},
                             .contract = "update.wait_for"});
  command.options.push_back({.name = "wait-timeout",
                             .help = "Seconds that the server waits for completion",
                             .kind = Kind::whole,
                             .key = "wait_timeout_seconds",
                             .most = 3600});
  command.options.push_back(
      {.name = "request-id", .help = "The same id again is the same update", .key = "request_id"});
  command.view = {.heading = "Update sent", .lines = command_lines()};
  command.patience = Patience::query;
  command.examples = {"dw workflow:update order-42 set_address -i '[\"Main St 1\"]'",
                      "dw workflow:update order-42 add -i '[3]' --wait=completed --json"};
  command.shape = wait_timeout_of_completion;
  command.enrich = describe_update;
  command.enrich_failure = describe_failed_update;
  return command;
}

Command cancel_command() {
  return {
      .name = "workflow:cancel",
      .summary = "Cancel one workflow, or all that a query finds",
      .arguments = {{.name = "workflow-id", .help = "The workflow", .required = false}},
      .options = {{.name = "reason", .help = "Why", .key = "reason"},
                  which_run,
                  {.name = "all-matching", .help = "A visibility query: cancel what it finds"},
                  {.name = "type", .help = "With --all-matching: only of this type", .letter = 't'},
                  {.name = "status",
                   .help = "With --all-matching: only in this state",
                   .fallback = "running",
                   .choices = {"running", "completed", "failed"},
                   .contract = "list.status"},
                  {.name = "limit",
                   .help = "With --all-matching: at most so many",
                   .kind = Kind::whole,
                   .letter = 'l',
                   .fallback = "100"},
                  yes_option()},
      .method = "POST",
      .path = "/workflows/{workflow-id}[/runs/{run-id}]/cancel",
      .view = {.heading = "Cancellation requested", .lines = command_lines()},
      .examples = {"dw workflow:cancel order-42 --reason 'the customer called'",
                   "dw workflow:cancel --all-matching 'WorkflowType=\"shop.place_order\"' --yes"},
      .exits = "With --all-matching: 1 when one of them could not be cancelled.",
      .check = check_cancel,
      .shape = cancel_one_or_many,
      .run = run_cancel};
}

Command closing_command(std::string_view name, std::string_view summary, std::string_view path,
                        std::string_view heading, bool reason) {
  Command command{.name = name,
                  .summary = summary,
                  .arguments = {which_workflow},
                  .method = "POST",
                  .path = path,
                  .view = {.heading = heading, .lines = command_lines()}};
  if (reason) command.options.push_back({.name = "reason", .help = "Why", .key = "reason"});
  return command;
}

}  // namespace

std::vector<Command> workflow_commands() {
  Command terminate = closing_command("workflow:terminate", "End a workflow at once",
                                      "/workflows/{workflow-id}[/runs/{run-id}]/terminate",
                                      "Termination requested", true);
  terminate.options.push_back(which_run);
  terminate.asks_first = true;
  terminate.examples = {"dw workflow:terminate order-42 --reason 'stuck since Monday'",
                        "dw workflow:terminate order-42 --yes --json"};
  Command repair = closing_command("workflow:repair", "Bring back tasks that a workflow has lost",
                                   "/workflows/{workflow-id}/repair", "Repair requested", false);
  repair.examples = {"dw workflow:repair order-42", "dw workflow:repair order-42 --json"};
  Command archive = closing_command("workflow:archive", "Mark a workflow that has ended as filed",
                                    "/workflows/{workflow-id}/archive", "Archive requested", true);
  archive.examples = {"dw workflow:archive order-42",
                      "dw workflow:archive order-42 --reason audited"};
  return {start_command(),  list_command(), signal_command(), query_command(), update_command(),
          cancel_command(), terminate,      repair,           archive};
}

}  // namespace dw::cli
