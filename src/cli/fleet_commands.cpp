// Task queues, and the workers that poll them.
#include "cli/catalogue.hpp"
#include "cli/given.hpp"
#include "cli/lookup.hpp"
#include "cli/page.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dw::cli {
namespace {

const Argument which_queue{.name = "task-queue", .help = "The queue"};

// "throttled (0 leases left)"
std::string admission_of(const Value& queue, std::string_view kind) {
  const Value* admission = look_up(queue, fmt::format("admission.{}", kind));
  if (!admission) return "-";
  const std::string status = words_of(*admission, "status");
  const Value* left = look_up(*admission,
                              "remaining_pending_capacity|server_remaining_active_lease_capacity|"
                              "server_remaining_dispatch_capacity|available_slot_count");
  return left && status != "no_active_workers"
             ? fmt::format("{} ({} left)", status, in_words(*left))
             : status;
}

void draw_queues(Page& page, const Value& answer) {
  const auto& queues = list_of(answer, "task_queues");
  const std::string ns = words_of(answer, "namespace");
  if (queues.empty()) return page.text(fmt::format("No task queues found in namespace {}.", ns));
  page.text(fmt::format("Namespace: {}", ns));
  std::vector<Page::Row> rows;
  for (const Value& queue : queues) {
    rows.push_back({words_of(queue, "name"), admission_of(queue, "workflow_tasks"),
                    admission_of(queue, "activity_tasks"), admission_of(queue, "query_tasks")});
  }
  page.table({"Task Queue", "Workflow Admission", "Activity Admission", "Query Admission"}, rows,
             {1, 2, 3});
}

std::string of_limit(const Value& admission, std::string_view used, std::string_view limit) {
  if (!look_up(admission, used) && !look_up(admission, limit)) return "-";
  return fmt::format("{}/{}", words_of(admission, used), words_of(admission, limit));
}

void draw_admission(Page& page, const Value& answer) {
  if (!look_up(answer, "admission")) return;
  std::vector<Page::Row> rows;
  for (const auto& [label, key] :
       {std::pair{"Workflow Tasks", "workflow_tasks"},
        std::pair{"Activity Tasks", "activity_tasks"}, std::pair{"Query Tasks", "query_tasks"}}) {
    const Value* admission = look_up(answer, fmt::format("admission.{}", key));
    if (!admission) continue;
    rows.push_back(
        {label, words_of(*admission, "status"),
         of_limit(*admission, "leased_count|server_active_lease_count|approximate_pending_count",
                  "server_max_active_leases_per_queue|configured_slot_count|"
                  "max_pending_per_queue"),
         of_limit(*admission, "server_dispatch_count_this_minute",
                  "server_max_dispatches_per_minute"),
         words_of(*admission, "server_budget_source|budget_source")});
  }
  page.gap();
  page.text("Admission:");
  page.table({"Kind", "Status", "Capacity", "Dispatch", "Source"}, rows, {1});
}

void draw_queue(Page& page, const Value& answer) {
  page.heading(fmt::format("Task Queue: {}", words_of(answer, "name")));
  page.line("Namespace", words_of(answer, "namespace"), 0);
  page.lines({{"Backlog", "stats.approximate_backlog_count"},
              {"Backlog Age", "stats.approximate_backlog_age"},
              {"Workflow Ready", "stats.workflow_tasks.ready_count"},
              {"Workflow Leased", "stats.workflow_tasks.leased_count"},
              {"Workflow Expired Leases", "stats.workflow_tasks.expired_lease_count"},
              {"Activity Ready", "stats.activity_tasks.ready_count"},
              {"Activity Leased", "stats.activity_tasks.leased_count"},
              {"Activity Expired Leases", "stats.activity_tasks.expired_lease_count"},
              {"Active Pollers", "stats.pollers.active_count"},
              {"Stale Pollers", "stats.pollers.stale_count"}},
             answer);
  draw_admission(page, answer);
  const auto& leases = list_of(answer, "current_leases");
  if (!leases.empty()) {
    page.gap();
    page.text("Current leases:");
    page.table({{"Task ID", "task_id"},
                {"Type", "task_type"},
                {"Workflow ID", "workflow_id"},
                {"Lease Owner", "lease_owner"},
                {"Lease Expires", "lease_expires_at"},
                {"Expired", "is_expired"}},
               leases);
  }
  page.gap();
  const auto& pollers = list_of(answer, "pollers");
  if (pollers.empty()) {
    const bool worked_on = std::ranges::any_of(
        leases, [](const Value& lease) { return !is_true(lease, "is_expired"); });
    return page.text(worked_on ? "No active pollers: code in the server's process works on it."
                               : "No active pollers.");
  }
  page.text("Pollers:");
  page.table({{"Worker ID", "worker_id"},
              {"Runtime", "runtime"},
              {"Build ID", "build_id"},
              {"Last Heartbeat", "last_heartbeat_at"},
              {"Status", "status", Format::status}},
             pollers);
}

void draw_worker(Page& page, const Value& answer) {
  page.heading("Worker");
  page.lines({{"Worker ID", "worker_id"},
              {"Namespace", "namespace"},
              {"Task Queue", "task_queue"},
              {"Runtime", "runtime"},
              {"SDK Version", "sdk_version"},
              {"Build ID", "build_id"},
              {"Status", "status", Format::status},
              {"Max Workflow Tasks", "max_concurrent_workflow_tasks"},
              {"Max Activity Tasks", "max_concurrent_activity_tasks"},
              {"Slots", "task_slots", Format::facts},
              {"Process", "process_metrics", Format::facts},
              {"Last Heartbeat", "last_heartbeat_at"},
              {"Heartbeat Every (s)", "heartbeat_interval_seconds"},
              {"Registered", "registered_at"},
              {"Workflow Types", "supported_workflow_types"},
              {"Activity Types", "supported_activity_types"},
              {"Capabilities", "capabilities"}},
             answer);
}

// "3/100": free and at most. Servers that do not say how many are free say how many there are.
std::string slots_of(const Value& worker) {
  return fmt::format(
      "wf {}, act {}",
      of_limit(worker, "task_slots.workflow_available", "max_concurrent_workflow_tasks"),
      of_limit(worker, "task_slots.activity_available", "max_concurrent_activity_tasks"));
}

void draw_workers(Page& page, const Value& answer) {
  const auto& workers = list_of(answer, "workers");
  const std::string ns = words_of(answer, "namespace");
  if (workers.empty()) return page.text(fmt::format("No workers found in namespace {}.", ns));
  page.text(fmt::format("Namespace: {}", ns));
  std::vector<Page::Row> rows;
  for (const Value& worker : workers) {
    rows.push_back({words_of(worker, "worker_id"), words_of(worker, "task_queue"),
                    words_of(worker, "runtime"), words_of(worker, "build_id"),
                    words_of(worker, "status"), slots_of(worker),
                    words_of(worker, "last_heartbeat_at")});
  }
  page.table(
      {"Worker ID", "Task Queue", "Runtime", "Build ID", "Status", "Slots", "Last Heartbeat"}, rows,
      {4});
}

// Null is the cohort of workers without a build id; the server wants one or the other.
Outcome<Value::Map> one_cohort(const Given& given, Value::Map body) {
  const std::string build = given.text("build-id");
  if (build.empty() == !given.flag("unversioned")) {
    return invalid_input("name a cohort: --build-id=… or --unversioned, one of them");
  }
  body.emplace_back("build_id", build.empty() ? Value{} : Value{build});
  return body;
}

Command cohort_command(std::string_view name, std::string_view summary, std::string_view path,
                       std::string_view heading, std::vector<std::string_view> examples) {
  return {.name = name,
          .summary = summary,
          .arguments = {which_queue},
          .options = {{.name = "build-id", .help = "Workers of this build"},
                      {.name = "unversioned",
                       .help = "Workers without a build id",
                       .kind = Kind::flag}},
          .method = "POST",
          .path = path,
          .view = {.heading = heading,
                   .lines = {{"Task Queue", "task_queue"},
                             {"Namespace", "namespace"},
                             {"Build ID", "build_id"},
                             {"Drain Intent", "drain_intent", Format::status},
                             {"Drained At", "drained_at"},
                             {"Promoted At", "promoted_at"},
                             {"New Starts", "new_start_selected"}}},
          .examples = std::move(examples),
          .shape = one_cohort};
}

Exit registered_or_not(const Value& answer) {
  return is_true(answer, "registered") ? Exit::success : Exit::failure;
}

Command register_command() {
  return {
      .name = "worker:register",
      .summary = "Put a worker on the list, for diagnosis",
      .arguments = {{.name = "worker-id",
                     .help = "Its id; without one the server makes one",
                     .required = false,
                     .key = "worker_id"}},
      .options =
          {{.name = "task-queue",
            .help = "The queue it would poll",
            .key = "task_queue",
            .fallback = "default"},
           {.name = "runtime", .help = "Its language", .key = "runtime", .fallback = "external"},
           {.name = "sdk-version", .help = "Its SDK", .key = "sdk_version", .fallback = "dw-cli"},
           {.name = "build-id", .help = "Its build", .key = "build_id"},
           {.name = "workflow-type",
            .help = "A type it runs; may be repeated",
            .kind = Kind::list,
            .key = "supported_workflow_types"},
           {.name = "activity-type",
            .help = "A type it runs; may be repeated",
            .kind = Kind::list,
            .key = "supported_activity_types"},
           {.name = "capability",
            .help = "What else it does, as query_tasks; may be repeated",
            .kind = Kind::list,
            .key = "capabilities"},
           {.name = "max-workflow-tasks",
            .help = "How many at once",
            .kind = Kind::whole,
            .key = "max_concurrent_workflow_tasks"},
           {.name = "max-activity-tasks",
            .help = "How many at once",
            .kind = Kind::whole,
            .key = "max_concurrent_activity_tasks"}},
      .method = "POST",
      .path = "/worker/register",
      .view = {.heading = "Worker registered",
               .lines = {{"Worker ID", "worker_id"},
                         {"Namespace", "namespace"},
                         {"Task Queue", "task_queue"},
                         {"Runtime", "runtime"},
                         {"Status", "status", Format::status}}},
      .worker_protocol = true,
      .examples = {"dw worker:register probe --workflow-type=shop.place_order",
                   "dw worker:register probe --workflow-type=shop.place_order "
                   "--capability=query_tasks --json"},
      .exits = "1 when the server did not confirm it.",
      .verdict = registered_or_not};
}

std::vector<Command> queue_commands() {
  return {{.name = "task-queue:list",
           .summary = "List task queues",
           .method = "GET",
           .path = "/task-queues",
           .view = {.list = "task_queues", .draw = draw_queues},
           .examples = {"dw task-queue:list", "dw task-queues list --output=jsonl"}},
          {.name = "task-queue:describe",
           .summary = "Show a queue: backlog, admission, leases, pollers",
           .arguments = {which_queue},
           .method = "GET",
           .path = "/task-queues/{task-queue}",
           .view = {.draw = draw_queue},
           .examples = {"dw task-queue:describe orders", "dw task-queue:describe orders --json"}},
          {.name = "task-queue:build-ids",
           .summary = "List the builds that poll a queue",
           .arguments = {which_queue},
           .method = "GET",
           .path = "/task-queues/{task-queue}/build-ids",
           .view = {.list = "build_ids",
                    .things = "build ids",
                    .columns = {{"Build ID", "build_id"},
                                {"Rollout", "rollout_status", Format::status},
                                {"Active", "active_worker_count"},
                                {"Draining", "draining_worker_count"},
                                {"Stale", "stale_worker_count"},
                                {"Total", "total_worker_count"},
                                {"New Starts", "new_start_selected"},
                                {"Promoted At", "promoted_at"},
                                {"Definition Conflicts", "definition_conflicts"},
                                {"Runtimes", "runtimes"},
                                {"SDK Versions", "sdk_versions"},
                                {"Last Heartbeat", "last_heartbeat_at"},
                                {"First Seen", "first_seen_at"}}},
           .examples = {"dw task-queue:build-ids orders", "dw task-queue:build-ids orders --json"}},
          cohort_command("task-queue:promote", "Give new workflows to a build",
                         "/task-queues/{task-queue}/build-ids/promote", "Build promoted",
                         {"dw task-queue:promote orders --build-id=2026.08.1",
                          "dw task-queue:promote orders --unversioned"}),
          cohort_command("task-queue:drain", "Give no new tasks to a build",
                         "/task-queues/{task-queue}/build-ids/drain", "Build draining",
                         {"dw task-queue:drain orders --build-id=2026.07.9",
                          "dw task-queue:drain orders --unversioned --json"}),
          cohort_command("task-queue:resume", "Give tasks to a build again",
                         "/task-queues/{task-queue}/build-ids/resume", "Build resumed",
                         {"dw task-queue:resume orders --build-id=2026.07.9",
                          "dw task-queue:resume orders --unversioned --json"})};
}

}  // namespace

std::vector<Command> fleet_commands() {
  std::vector<Command> all = queue_commands();
  all.push_back(
      {.name = "worker:list",
       .summary = "List workers",
       .options = {{.name = "task-queue", .help = "Only of this queue", .key = "task_queue"},
                   {.name = "status",
                    .help = "Only in this state",
                    .key = "status",
                    .choices = {"active", "stale", "draining"}}},
       .method = "GET",
       .path = "/workers",
       .view = {.list = "workers", .draw = draw_workers},
       .examples = {"dw worker:list", "dw workers list --status=stale --output=jsonl"}});
  all.push_back({.name = "worker:describe",
                 .summary = "Show a worker",
                 .arguments = {{.name = "worker-id", .help = "The worker"}},
                 .method = "GET",
                 .path = "/workers/{worker-id}",
                 .view = {.draw = draw_worker},
                 .examples = {"dw worker:describe w1", "dw worker:describe w1 --json"}});
  all.push_back(register_command());
  all.push_back({.name = "worker:deregister",
                 .summary = "Take a worker off the list",
                 .arguments = {{.name = "worker-id", .help = "The worker"}},
                 .method = "DELETE",
                 .path = "/workers/{worker-id}",
                 .view = {.heading = "Worker deregistered",
                          .lines = {{"Worker ID", "worker_id"}, {"Outcome", "outcome"}}},
                 .asks_first = true,
                 .examples = {"dw worker:deregister w1", "dw worker:deregister w1 --yes --json"}});
  return all;
}

}  // namespace dw::cli
