#include "main/repair_commands.hpp"

#include "core/json_writer.hpp"

#include <fmt/format.h>

#include <csignal>
#include <ctime>

namespace dw::app {
namespace {

// In the words of the server's answer to the same question.
void write_failures(JsonWriter& json, std::string_view list, std::string_view id_key,
                    const std::vector<RepairPassReport::Failure>& failures) {
  json.key(list).begin_array();
  for (const auto& failure : failures) {
    json.begin_object()
        .field(id_key, std::string_view{failure.id})
        .field("message", std::string_view{failure.message})
        .end_object();
  }
  json.end_array();
}

void write_named(JsonWriter& json, std::string_view key, const std::optional<std::string>& value) {
  if (value) {
    json.field(key, std::string_view{*value});
  } else {
    json.key(key).raw("null");
  }
}

std::string to_json(const RepairOptions& options, const RepairPassReport& report) {
  std::string text;
  JsonWriter json{text};
  json.begin_object();
  write_named(json, "connection", options.pass.connection);
  write_named(json, "queue", options.pass.queue);
  json.key("run_ids").begin_array();
  for (const auto& run : options.pass.run_ids) json.value(std::string_view{run});
  json.end_array();
  write_named(
      json, "instance_id",
      options.pass.instance_id.empty() ? std::nullopt : std::optional{options.pass.instance_id});
  const auto selected = report.existing_task_candidates + report.missing_task_candidates;
  const auto repaired = report.repaired_existing_tasks + report.repaired_missing_tasks;
  json.field("respect_throttle", options.pass.respect_throttle)
      .field("throttled", report.throttled)
      .field("scanned_runs", report.scanned_runs)
      .field("selected_existing_task_candidates", report.existing_task_candidates)
      .field("selected_missing_task_candidates", report.missing_task_candidates)
      .field("selected_total_candidates", selected)
      .field("repaired_existing_tasks", report.repaired_existing_tasks)
      .field("repaired_missing_tasks", report.repaired_missing_tasks)
      .field("dispatched_tasks", repaired);
  write_failures(json, "existing_task_failures", "candidate_id", report.existing_task_failures);
  write_failures(json, "missing_run_failures", "run_id", report.missing_run_failures);
  json.end_object();
  return text;
}

void print(const RepairOptions& options, const RepairPassReport& report) {
  if (options.json) return fmt::print("{}\n", to_json(options, report));
  if (report.throttled) return fmt::print("Nothing done: the last pass is too recent.\n");
  fmt::print(
      "Looked at {} open runs.\n"
      "  expired leases   {:>5} found  {:>5} delivered again\n"
      "  missing tasks    {:>5} found  {:>5} brought back\n",
      report.scanned_runs, report.existing_task_candidates, report.repaired_existing_tasks,
      report.missing_task_candidates, report.repaired_missing_tasks);
  for (const auto* failures : {&report.existing_task_failures, &report.missing_run_failures}) {
    for (const auto& failure : *failures) {
      fmt::print("  failed: {}: {}\n", failure.id, failure.message);
    }
  }
}

// SIGTERM and SIGINT end a loop between two passes.
class StopSignals {
 public:
  StopSignals() {
    sigemptyset(&wanted_);
    sigaddset(&wanted_, SIGTERM);
    sigaddset(&wanted_, SIGINT);
    pthread_sigmask(SIG_BLOCK, &wanted_, nullptr);
  }
  // True when one came before the time was over.
  bool wait(int seconds) const {
    const timespec patience{seconds, 0};
    return sigtimedwait(&wanted_, nullptr, &patience) > 0;
  }

 private:
  sigset_t wanted_{};
};

}  // namespace

int run_repair_pass(const RepairOptions& options) {
  const StopSignals signals;  // before the engine: its threads leave them to us
  // It has no code, so nobody should count on it as a worker.
  Engine engine{Registry{}, {.store = options.store, .task_dispatch_mode = TaskDispatchMode::poll}};
  bool clean = true;
  for (int pass = 1;; ++pass) {
    const auto report = engine.repair_pass(options.pass);
    print(options, report);
    clean = clean && report.clean();
    if (!options.loop || pass == options.max_iterations) break;
    if (signals.wait(options.sleep_seconds)) break;
  }
  return clean ? 0 : 1;
}

}  // namespace dw::app
