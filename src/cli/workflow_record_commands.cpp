// What is known about workflows: one run, all runs, their histories.
#include "cli/catalogue.hpp"
#include "cli/lookup.hpp"
#include "cli/page.hpp"

#include <fmt/format.h>

namespace dw::cli {
namespace {

const Option following{
    .name = "follow", .help = "Until the run has ended", .kind = Kind::flag, .letter = 'f'};

std::string seconds_text(const Value& answer, std::string_view path) {
  const auto* seconds = look_up(answer, path);
  return seconds ? fmt::format("{} s", in_words(*seconds)) : "-";
}

void draw_run(Page& page, const Value& run) {
  page.heading("Workflow Execution");
  page.lines({{"Workflow ID", "workflow_id"},
              {"Run ID", "run_id"},
              {"Type", "workflow_type"},
              {"Namespace", "namespace"},
              {"Business Key", "business_key"},
              {"Status", "status", Format::status},
              {"Status Bucket", "status_bucket", Format::status},
              {"Run Number", "run_number"},
              {"Run Count", "run_count"},
              {"Current Run", "is_current_run"},
              {"Task Queue", "task_queue"},
              {"Compatibility", "compatibility"},
              {"Payload Codec", "payload_codec"}},
             run);
  for (const auto& [label, path] : {std::pair{"Execution Timeout", "execution_timeout_seconds"},
                                    std::pair{"Run Timeout", "run_timeout_seconds"}}) {
    if (look_up(run, path)) page.line(label, seconds_text(run, path));
  }
  page.lines({{"Execution Deadline", "execution_deadline_at"},
              {"Run Deadline", "run_deadline_at"},
              {"Started", "started_at"},
              {"Closed", "closed_at"},
              {"Last Progress", "last_progress_at"},
              {"Closed Reason", "closed_reason"},
              {"Reason", "reason"},
              {"Error", "error"},
              {"Wait Kind", "wait_kind"},
              {"Wait Reason", "wait_reason"},
              {"Input", "input", Format::json},
              {"Output", "output", Format::json},
              {"Memo", "memo", Format::json},
              {"Search Attributes", "search_attributes", Format::json}},
             run);
  const Value* actions = look_up(run, "actions");
  if (!actions || !actions->if_map()) return;
  std::string allowed;
  for (const auto& [name, granted] : *actions->if_map()) {
    if (!granted.if_boolean() || !*granted.if_boolean()) continue;
    allowed +=
        (allowed.empty() ? "" : ", ") + printable(name.starts_with("can_") ? name.substr(4) : name);
  }
  page.line("Actions", allowed.empty() ? "-" : allowed);
}

void draw_migrated(Page& page, const Value& answer) {
  page.heading("Waterline v1 projection");
  page.lines({{"Status", "status"},
              {"Source", "identity.waterline.source_id"},
              {"Waterline ID", "identity.waterline.qualified_workflow_id"},
              {"Workflow ID", "identity.standalone.workflow_id"},
              {"Run ID", "identity.standalone.run_id"},
              {"Namespace", "identity.standalone.namespace|namespace"}},
             answer);
  page.line("Read Only", "yes");
  for (const Value& field : list_of(answer, "unsupported_fields")) {
    page.line("Unsupported",
              fmt::format("{}: {} ({})", words_of(field, "field"), words_of(field, "reason"),
                          words_of(field, "remediation")));
  }
}

// What the console's API puts around a workflow is not part of it.
Outcome<Value::Map> unwrap_projection(const Given&, Value::Map body) {
  for (auto& [key, value] : body) {
    if (key != "workflow") continue;
    if (const Value* data = value.find("data"); data && data->if_map()) value = Value{*data};
  }
  return body;
}

Command describe_command() {
  return {.name = "workflow:describe",
          .summary = "Show a workflow: state, wait, input, output",
          .arguments = {{.name = "workflow-id", .help = "The workflow"}},
          .options = {{.name = "run-id", .help = "This run, not the current one", .letter = 'r'},
                      following},
          .method = "GET",
          .path = "/workflows/{workflow-id}[/runs/{run-id}]",
          .view = {.draw = draw_run},
          .examples = {"dw workflow:describe order-42", "dw workflow describe order-42 --follow"},
          .run = run_describe};
}

Command show_run_command() {
  return {.name = "workflow:show-run",
          .summary = "Show one run of a workflow",
          .arguments = {{.name = "workflow-id", .help = "The workflow"},
                        {.name = "run-id", .help = "The run"}},
          .options = {following},
          .method = "GET",
          .path = "/workflows/{workflow-id}/runs/{run-id}",
          .view = {.draw = draw_run},
          .examples = {"dw workflow:show-run order-42 01J8ZK3V6S8Q3N4T5W6X7Y8Z9A",
                       "dw workflow:show-run order-42 01J8ZK3V6S8Q3N4T5W6X7Y8Z9A --json"},
          .run = run_describe};
}

Command list_runs_command() {
  return {.name = "workflow:list-runs",
          .summary = "List the runs of a workflow, oldest first",
          .arguments = {{.name = "workflow-id", .help = "The workflow"}},
          .method = "GET",
          .path = "/workflows/{workflow-id}/runs",
          .view = {.list = "runs",
                   .things = "runs",
                   .columns = {{"Run ID", "run_id"},
                               {"#", "run_number"},
                               {"Type", "workflow_type"},
                               {"Status", "status", Format::status},
                               {"Task Queue", "task_queue"},
                               {"Started", "started_at"},
                               {"Closed", "closed_at"}}},
          .examples = {"dw workflow:list-runs order-42",
                       "dw workflow:list-runs order-42 --output=jsonl"},
          .run = run_list_runs};
}

Command history_command() {
  return {.name = "workflow:history",
          .summary = "Show what happened in a run, event by event",
          .arguments = {{.name = "workflow-id", .help = "The workflow"},
                        {.name = "run-id", .help = "The run"}},
          .options = {following,
                      {.name = "page-size",
                       .help = "Events per request",
                       .kind = Kind::whole,
                       .key = "page_size",
                       .most = 1000}},
          .method = "GET",
          .path = "/workflows/{workflow-id}/runs/{run-id}/history",
          .view = {.list = "events",
                   .things = "history events",
                   .columns = {{"#", "sequence"},
                               {"Event Type", "event_type"},
                               {"Time", "timestamp"},
                               {"Details", "payload", Format::json}}},
          .patience = Patience::poll,
          .examples = {"dw workflow:history order-42 01J8ZK3V6S8Q3N4T5W6X7Y8Z9A",
                       "dw workflow:history order-42 01J8ZK3V6S8Q3N4T5W6X7Y8Z9A -f --output=jsonl"},
          .run = run_history};
}

Command history_export_command() {
  return {.name = "workflow:history-export",
          .summary = "Fetch a run as one verifiable document",
          .arguments = {{.name = "workflow-id", .help = "The workflow"},
                        {.name = "run-id", .help = "The run"}},
          .options = {{.name = "output-file", .help = "Write it to this file", .letter = 'o'}},
          .method = "GET",
          .path = "/workflows/{workflow-id}/runs/{run-id}/history/export",
          .examples = {"dw workflow:history-export order-42 01J8ZK3V6S8Q3N4T5W6X7Y8Z9A -o run.json",
                       "dw workflow:history-export order-42 01J8ZK3V6S8Q3N4T5W6X7Y8Z9A | dw "
                       "replay:verify -"},
          .run = run_history_export};
}

Command import_command() {
  return {.name = "workflow:import",
          .summary = "Bring an exported run to a server",
          .arguments = {{.name = "bundle",
                         .help = "The exported document; - is standard input",
                         .key = "bundle",
                         .kind = Kind::file}},
          .options = {{.name = "dry-run",
                       .help = "Only say what would be done",
                       .kind = Kind::flag,
                       .key = "dry_run"},
                      {.name = "import-id",
                       .help = "The same id again is the same import",
                       .key = "import_id"},
                      {.name = "signing-key",
                       .help = "Check the signature with this key",
                       .key = "signing_key"},
                      {.name = "require-signature",
                       .help = "Refuse a document without one",
                       .kind = Kind::flag,
                       .key = "require_signature"}},
          .method = "POST",
          .path = "/workflows/import",
          .view = {.heading = "Import",
                   .lines = {{"Status", "status", Format::status},
                             {"Run ID", "run_id"},
                             {"Events", "events"},
                             {"Verified", "verified"},
                             {"Dedupe Key", "dedupe_key"}}},
          .examples = {"dw workflow:import run.json --dry-run",
                       "dw workflow:import run.json --namespace=archive"}};
}

Command migrate_command() {
  return {.name = "workflow:migrate-v1",
          .summary = "Show a workflow of a version 1 installation, read only",
          .arguments = {{.name = "projection",
                         .help = "The workflow as its console has it; - is standard input",
                         .key = "workflow",
                         .kind = Kind::file}},
          .options = {{.name = "source-id",
                       .help = "Which installation it comes from",
                       .key = "source_id",
                       .required = true},
                      {.name = "dry-run",
                       .help = "Only say what would be done",
                       .kind = Kind::flag,
                       .key = "dry_run"}},
          .method = "POST",
          .path = "/workflows/import/waterline-v1",
          .view = {.draw = draw_migrated},
          .examples = {"dw workflow:migrate-v1 flow-42.json --source-id=legacy --dry-run",
                       "dw workflow:migrate-v1 - --source-id=legacy --json < flow-42.json"},
          .shape = unwrap_projection};
}

}  // namespace

std::vector<Command> workflow_record_commands() {
  return {describe_command(),       show_run_command(), list_runs_command(), history_command(),
          history_export_command(), import_command(),   migrate_command()};
}

}  // namespace dw::cli
