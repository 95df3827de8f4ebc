// Upkeep of a running server, by its administrator.
#include "cli/catalogue.hpp"
#include "cli/given.hpp"
#include "cli/lookup.hpp"
#include "cli/page.hpp"
#include "cli/task.hpp"

#include <fmt/format.h>

namespace dw::cli {
namespace {

// Sections as they come: a server may count more than this client has heard of.
void draw_operator_metrics(Page& page, const Value& answer) {
  page.line("Namespace", words_of(answer, "namespace"), 0);
  const Value* metrics = look_up(answer, "operator_metrics");
  const Value& all = metrics ? *metrics : answer;
  if (!all.if_map()) return;
  for (const auto& [section, content] : *all.if_map()) {
    if (!content.if_map()) continue;
    page.gap();
    page.heading(label_of(section));
    const auto& fleet = list_of(content, "fleet");
    for (const auto& [key, value] : *content.if_map()) {
      if (key != "fleet" || fleet.empty()) page.facts(label_of(key), value);
    }
    if (!fleet.empty()) {
      page.table({{"Worker ID", "worker_id"},
                  {"Task Queue", "queue"},
                  {"Host", "host"},
                  {"Builds", "supported"},
                  {"Heard At", "recorded_at"},
                  {"Expires At", "expires_at"}},
                 fleet);
    }
  }
}

void draw_repair_status(Page& page, const Value& answer) {
  page.heading("Repair");
  page.lines({{"Redispatch After (s)", "policy.redispatch_after_seconds"},
              {"Loop Throttle (s)", "policy.loop_throttle_seconds"},
              {"Scan Limit", "policy.scan_limit"},
              {"Scan Strategy", "policy.scan_strategy"},
              {"Backoff Max (s)", "policy.failure_backoff_max_seconds"},
              {"Candidates", "candidates.total_candidates"},
              {"Existing Tasks", "candidates.existing_task_candidates"},
              {"Missing Tasks", "candidates.missing_task_candidates"},
              {"Scan Pressure", "candidates.scan_pressure"},
              {"Oldest Task", "candidates.oldest_task_candidate_created_at"},
              {"Oldest Missing Run", "candidates.oldest_missing_run_started_at"}},
             answer);
  const auto& scopes = list_of(answer, "candidates.scopes");
  if (scopes.empty()) return;
  page.table({{"Scope", "scope_key"},
              {"Existing", "existing_task_candidates"},
              {"Missing", "missing_task_candidates"},
              {"Total", "total_candidates"},
              {"Selected", "selected_total_candidates"},
              {"Scan Limited", "scan_limited_by_global_policy"}},
             scopes);
}

constexpr std::string_view failure_lists[] = {"existing_task_failures", "missing_run_failures",
                                              "command_contract_failures"};

void draw_repair_pass(Page& page, const Value& answer) {
  if (is_true(answer, "throttled")) {
    return page.warning("Repair pass skipped: the last one is too recent.");
  }
  page.heading("Repair pass completed");
  page.lines({{"Existing Task Candidates", "selected_existing_task_candidates"},
              {"Missing Task Candidates", "selected_missing_task_candidates"},
              {"Repaired Existing", "repaired_existing_tasks"},
              {"Repaired Missing", "repaired_missing_tasks"},
              {"Dispatched", "dispatched_tasks"}},
             answer);
  for (const std::string_view list : failure_lists) {
    for (const Value& failure : list_of(answer, list)) {
      page.line("Failed", fmt::format("{}: {}", words_of(failure, "candidate_id|run_id"),
                                      words_of(failure, "message")));
    }
  }
}

Exit no_repair_failed(const Value& answer) {
  for (const std::string_view list : failure_lists) {
    if (!list_of(answer, list).empty()) return Exit::failure;
  }
  return Exit::success;
}

void draw_pass(Page& page, const Value& answer) {
  page.heading("Pass completed");
  page.lines({{"Processed", "processed"},
              {"Enforced", "enforced"},
              {"Pruned", "pruned"},
              {"Skipped", "skipped"},
              {"Failed", "failed"}},
             answer);
  const auto& results = list_of(answer, "results");
  if (results.empty()) return;
  page.table({{"ID", "execution_id|run_id"},
              {"Outcome", "outcome", Format::status},
              {"Reason", "reason|error"}},
             results);
}

Exit no_row_failed(const Value& answer) {
  if (whole_of(answer, "failed") > 0) return Exit::failure;
  for (const Value& row : list_of(answer, "results")) {
    const auto outcome = text_of(row, "outcome");
    if (outcome == "error" || outcome == "failed") return Exit::failure;
  }
  return Exit::success;
}

Option pass_limit() {
  return {.name = "limit", .help = "At most so many", .kind = Kind::whole, .key = "limit"};
}

Command repair_pass_command() {
  return {.name = "system:repair-pass",
          .summary = "Bring back tasks that were lost, now",
          .options = {{.name = "run-id",
                       .help = "Only this run; may be repeated",
                       .kind = Kind::list,
                       .key = "run_ids"},
                      {.name = "instance-id", .help = "Only this workflow", .key = "instance_id"},
                      {.name = "respect-throttle",
                       .help = "Do nothing if the last pass is too recent",
                       .kind = Kind::flag,
                       .key = "respect_throttle"},
                      {.name = "connection", .help = "Only this connection", .key = "connection"},
                      {.name = "queue", .help = "Only this queue", .key = "queue"}},
          .method = "POST",
          .path = "/system/repair/pass",
          .view = {.draw = draw_repair_pass},
          .examples = {"dw system:repair-pass", "dw system:repair-pass --run-id=01J8… --json"},
          .exits = "1 when something could not be repaired.",
          .verdict = no_repair_failed};
}

Command pass_command(std::string_view name, std::string_view summary, std::string_view path,
                     Option which, std::vector<std::string_view> examples) {
  return {.name = name,
          .summary = summary,
          .options = {which, pass_limit()},
          .method = "POST",
          .path = path,
          .view = {.draw = draw_pass},
          .examples = std::move(examples),
          .exits = "1 when a row failed.",
          .verdict = no_row_failed};
}

}  // namespace

std::vector<Command> system_commands() {
  return {
      {.name = "system:operator-metrics",
       .summary = "What the server counts, section by section",
       .method = "GET",
       .path = "/system/operator-metrics",
       .view = {.draw = draw_operator_metrics},
       .examples = {"dw system:operator-metrics",
                    "dw system:operator-metrics --json | jq .operator_metrics.backlog"}},
      {.name = "system:metrics",
       .summary = "Counters for a monitoring system, as Prometheus reads them; a few with --json",
       .method = "GET",
       .path = "/system/metrics",
       .asks = "GET /metrics; with --json GET /api/system/metrics",
       .examples = {"dw system:metrics", "dw system:metrics | grep dw_runs"},
       .run = run_metrics},
      {.name = "system:repair-status",
       .summary = "What a repair pass would look at",
       .method = "GET",
       .path = "/system/repair",
       .view = {.draw = draw_repair_status},
       .examples = {"dw system:repair-status", "dw system:repair-status --json"}},
      repair_pass_command(),
      {.name = "system:activity-timeout-status",
       .summary = "Activities that ran out of time",
       .method = "GET",
       .path = "/system/activity-timeouts",
       .view = {.heading = "Activity timeouts",
                .lines = {{"Expired", "expired_count"},
                          {"Execution IDs", "expired_execution_ids"},
                          {"Scan Limit", "scan_limit"},
                          {"Scan Pressure", "scan_pressure"}}},
       .examples = {"dw system:activity-timeout-status",
                    "dw system:activity-timeout-status --json"}},
      pass_command(
          "system:activity-timeout-pass", "Time out activities that ran out of time, now",
          "/system/activity-timeouts/pass",
          {.name = "execution-id",
           .help = "Only this execution; may be repeated",
           .kind = Kind::list,
           .key = "execution_ids"},
          {"dw system:activity-timeout-pass", "dw system:activity-timeout-pass --limit=50 --json"}),
      {.name = "system:retention-status",
       .summary = "Runs that ended long ago; with --store those in a file",
       .method = "GET",
       .path = "/system/retention",
       .view = {.heading = "Retention",
                .lines = {{"Namespace", "namespace"},
                          {"Retention (days)", "retention_days"},
                          {"Cutoff", "cutoff"},
                          {"Expired Runs", "expired_run_count"},
                          {"Run IDs", "expired_run_ids"},
                          {"Scan Limit", "scan_limit"},
                          {"Scan Pressure", "scan_pressure"}}},
       .examples = {"dw system:retention-status", "dw system:retention-status --store shop.db"}},
      pass_command("system:retention-pass",
                   "Let go of runs that ended long ago; with --store those in a file",
                   "/system/retention/pass",
                   {.name = "run-id",
                    .help = "Only this run; may be repeated",
                    .kind = Kind::list,
                    .key = "run_ids"},
                   {"dw system:retention-pass --limit=50",
                    "dw system:retention-pass --store shop.db --retention-days 90"})};
}

Outcome<Exit> run_metrics(Task& task) {
  const Request request = DW_TRY(request_of(task));
  if (!task.output.for_machines()) {
    task.output.print_raw(
        DW_TRY(task.session.ask_text({.target = "/metrics", .for_monitoring = true})));
    return Exit::success;
  }
  const std::string text = DW_TRY(task.session.ask_text(request));
  const auto document = parse_json(text);
  const Value answer = document ? *document : Value{Value::Map{{"metrics", text}}};
  task.output.print(with_namespace(answer, task.command, task.ns()));
  return Exit::success;
}

}  // namespace dw::cli
