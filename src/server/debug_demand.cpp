#include "server/debug_demand.hpp"

#include "views/row_value.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace dw::server {
namespace {

using Severity = Finding::Severity;
using Crowd = std::vector<const Worker*>;

constexpr std::size_t most_workers_named = 5;

std::string build_called(std::string_view build_id) {
  return build_id.empty() ? "without a build" : fmt::format("of build '{}'", build_id);
}

std::string called(const Demand& demand) {
  return fmt::format("{} '{}'", demand.of_activity() ? "activity" : "workflow type", demand.type);
}

bool knows_type(const Worker& worker, const Demand& demand) {
  const Poll poll = poll_of(worker, demand.kind);
  return poll.any_type || poll.types.contains(demand.type);
}
bool has_build(const Worker& worker, const Demand& demand) {
  return demand.build.empty() || worker.build_id == demand.build;
}

Crowd workers_standing(std::string_view status, const QueueSeen& queue) {
  Crowd crowd;
  for (const SeenWorker& seen : queue.workers) {
    if (seen.status == status) crowd.push_back(&seen.worker);
  }
  return crowd;
}

Finding nobody_polls(const Demand& demand, const QueueSeen& queue, Timestamp now) {
  std::string last;
  const auto heard = [](const SeenWorker& seen) { return seen.worker.heard_at; };
  if (const auto newest = std::ranges::max_element(queue.workers, {}, heard);
      newest != queue.workers.end()) {
    last = fmt::format(" The last one heard of was '{}', {} ago.", newest->worker.worker_id,
                       whole_seconds(now - newest->worker.heard_at));
  }
  return {
      Severity::error,
      demand.of_activity() ? "pending_activity_queue_without_active_pollers" : "no_active_pollers",
      fmt::format("{} waits on task queue '{}', and no worker polls it.{} Start one that knows "
                  "this type",
                  called(demand), demand.queue, last),
      demand.about};
}

Finding all_drain(const Demand& demand, const std::string& build_id) {
  const std::string selected =
      build_id.empty() ? "--unversioned" : fmt::format("--build-id={}", build_id);
  Finding finding{
      Severity::error, "task_queue_draining",
      fmt::format(
          "{} waits on task queue '{}', whose workers {} are draining and take nothing "
          "new. Start workers of {}, or let these go on: {}",
          called(demand), demand.queue, build_called(build_id),
          demand.build.empty() ? "another build" : "that build elsewhere",
          shell_line(demand.ns, fmt::format("task-queue:resume {} {}", demand.queue, selected))),
      demand.about};
  finding.about.emplace_back("build_id", views::cell(build_id));
  return finding;
}

Finding other_builds(const Demand& demand, const Crowd& active) {
  std::set<std::string> builds;
  for (const Worker* worker : active) builds.insert(build_called(worker->build_id));
  Finding finding{
      Severity::error, "no_compatible_worker",
      fmt::format("the run belongs to build '{}', and task queue '{}' has only workers {}. Start a "
                  "worker of that build",
                  demand.build, demand.queue, fmt::join(builds, ", ")),
      demand.about};
  finding.about.emplace_back("compatibility", demand.build);
  return finding;
}

Finding other_types(const Demand& demand, const Crowd& active) {
  std::vector<std::string_view> names;
  for (const Worker* worker : active) names.push_back(worker->worker_id);
  if (names.size() > most_workers_named) names.resize(most_workers_named);
  return {
      Severity::error,
      demand.of_activity() ? "pending_activity_type_unsupported"
                           : "pending_workflow_type_unsupported",
      fmt::format("{} waits on task queue '{}', and none of its {} workers ({}) registered that "
                  "type. Types are compared letter by letter; register it and start the worker "
                  "again",
                  called(demand), demand.queue, active.size(), fmt::join(names, ", ")),
      demand.about};
}

// The server lets nothing more of this kind go out.
std::optional<Finding> throttled(const Demand& demand, const QueueSeen& queue) {
  const BudgetStanding& budgets =
      demand.of_activity() ? queue.activity_budgets : queue.workflow_budgets;
  if (budgets.tightest().empty() || budgets.room() > 0) return std::nullopt;
  const auto kind = demand.of_activity() ? "activity_tasks" : "workflow_tasks";
  const std::string limit = fmt::format("server.admission.{}.{}", kind, budgets.tightest());
  Finding finding{
      Severity::warning, "task_queue_throttled",
      fmt::format("{} waits on task queue '{}', which may have no more now: {} is used up. It goes "
                  "on when a lease ends or the next minute begins; how much is used: {}",
                  called(demand), demand.queue, limit,
                  shell_line(demand.ns, "task-queue:describe " + demand.queue)),
      demand.about};
  finding.about.emplace_back("server_budget_source", limit);
  return finding;
}

// Somebody takes such work and will take this: when?
std::optional<Finding> backlog(const Demand& demand, const QueueSeen& queue, Timestamp now) {
  const TaskTally& tally =
      demand.of_activity() ? queue.tally.activity_tasks : queue.tally.workflow_tasks;
  std::int64_t slots = 0;
  for (const Worker* worker : workers_standing("active", queue)) {
    slots += demand.of_activity() ? worker->max_activity_tasks : worker->max_workflow_tasks;
  }
  const bool full = tally.leased >= slots;
  if (!full && tally.ready < 2) return std::nullopt;
  const auto since = queue.tally.waiting_since;
  Finding finding{
      full ? Severity::warning : Severity::info, "task_queue_backlog",
      fmt::format(
          "{} waits its turn on task queue '{}': {} tasks are ready{}, and its workers hold "
          "{} in {} slots. {}",
          called(demand), demand.queue, tally.ready,
          since ? ", the oldest for " + whole_seconds(now - *since) : "", tally.leased, slots,
          full ? "Start more workers, or give these more slots"
               : "If the first number grows, start more workers"),
      demand.about};
  finding.about.emplace_back("ready_count", tally.ready);
  finding.about.emplace_back("leased_count", tally.leased);
  finding.about.emplace_back("slot_count", slots);
  return finding;
}

}  // namespace

std::string whole_seconds(Duration duration) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(duration).count();
  return fmt::format("{} s", std::max<std::int64_t>(0, seconds));
}

std::string shell_line(const Namespace& ns, std::string_view command) {
  const bool named = !ns.view().empty() && ns.view() != "default";
  return fmt::format("`dw {}{}`", command, named ? fmt::format(" --namespace={}", ns.view()) : "");
}

// The order is what a worker goes through: it is there, it may take the run, it knows the type, it
// is given more.
std::optional<Finding> unmet_demand(const Demand& demand, const QueueSeen& queue, Timestamp now) {
  Crowd active = workers_standing("active", queue);
  const Crowd draining = workers_standing("draining", queue);
  const auto may = [&](const Worker* worker) { return has_build(*worker, demand); };
  if (std::ranges::none_of(active, may)) {
    const auto leaving = std::ranges::find_if(draining, may);
    if (leaving != draining.end()) return all_drain(demand, (*leaving)->build_id);
    if (active.empty()) return nobody_polls(demand, queue, now);
    return other_builds(demand, active);
  }
  std::erase_if(active, [&](const Worker* worker) { return !may(worker); });
  const auto can = [&](const Worker* worker) { return knows_type(*worker, demand); };
  if (std::ranges::none_of(active, can)) return other_types(demand, active);
  if (auto finding = throttled(demand, queue)) return finding;
  return backlog(demand, queue, now);
}

}  // namespace dw::server
