#include "bundle/redaction.hpp"

#include "bundle/tree.hpp"

#include <exception>

namespace dw::bundle {
namespace {

struct Redacted {
  std::string_view path;
  std::string_view category;
};

// Everything that people or their code wrote, wherever a bundle repeats it. What names and counts
// things (types, signal names, labels, ids) stays: without it a bundle says nothing.
constexpr Redacted everything_written[] = {
    {"workflow.memo", "workflow_payload"},
    {"workflow.archive_reason", "command_reason"},
    {"payloads.arguments.data", "workflow_payload"},
    {"payloads.output.data", "workflow_payload"},
    {"summary.archive_reason", "command_reason"},
    {"history_events.*.payload", "history_event"},
    {"timeline.*.message", "failure_diagnostic"},
    {"timeline.*.command.payload", "command_payload"},
    {"timeline.*.command.context", "command_context"},
    {"timeline.*.activity.arguments", "activity_payload"},
    {"timeline.*.activity.result", "activity_payload"},
    {"timeline.*.activity.exception", "failure_diagnostic"},
    {"timeline.*.activity.last_heartbeat_progress", "activity_payload"},
    {"timeline.*.failure.message", "failure_diagnostic"},
    {"timeline.*.failure.file", "failure_diagnostic"},
    {"commands.*.payload", "command_payload"},
    {"commands.*.context", "command_context"},
    {"commands.*.reason", "command_reason"},
    {"signals.*.arguments", "signal_payload"},
    {"updates.*.arguments", "update_payload"},
    {"updates.*.result", "update_payload"},
    {"updates.*.failure_message", "failure_diagnostic"},
    {"tasks.*.payload", "task_payload"},
    {"tasks.*.last_error", "failure_diagnostic"},
    {"activities.*.arguments", "activity_payload"},
    {"activities.*.result", "activity_payload"},
    {"activities.*.last_heartbeat_progress", "activity_payload"},
    {"failures.*.message", "failure_diagnostic"},
    {"failures.*.file", "failure_diagnostic"},
    {"failures.*.trace_preview", "failure_diagnostic"},
    {"failures.*.exception_payload", "failure_diagnostic"},
};

void set(Value& bundle, std::string_view path, Value value) {
  if (Value* at = find_at(bundle, path)) *at = std::move(value);
}

// What was told again in other words must go with it.
void follow(Value& bundle, const std::string& path, Redaction& redaction) {
  const auto parent = path.substr(0, path.rfind('.'));
  if (path.starts_with("history_events.")) {
    set(bundle, parent + ".facts", {});
    redaction.changed.insert(parent + ".facts");
  }
  if (path.starts_with("timeline.") && path == parent + ".message") {
    const Value* row = find_at(bundle, parent);
    set(bundle, parent + ".summary", text_at(*row, "type"));
  }
}

}  // namespace

bool Redaction::covers(std::string_view path) const {
  while (true) {
    if (changed.contains(std::string{path})) return true;
    const auto dot = path.rfind('.');
    if (dot == std::string_view::npos) return false;
    path = path.substr(0, dot);
  }
}

Result<Redaction> redact(Value& bundle, const Redactor& redactor, Slot whose) {
  Redaction redaction;
  for (const Redacted& pattern : everything_written) {
    whose.category = pattern.category;
    for (auto& path : paths_of(bundle, pattern.path)) {
      whose.path = path;
      Value* slot = find_at(bundle, path);
      try {
        Value replaced = redactor(*slot, whose);
        if (replaced != *slot) {
          *slot = std::move(replaced);
          redaction.changed.insert(path);
          follow(bundle, path, redaction);
        }
      } catch (const std::exception& thrown) {
        return Error{ErrorCode::invalid_argument, "the redactor failed at " + path + " of run " +
                                                      whose.run_id.str() + ": " + thrown.what() +
                                                      "; nothing was exported"};
      } catch (...) {
        return Error{ErrorCode::invalid_argument, "the redactor failed at " + path + " of run " +
                                                      whose.run_id.str() +
                                                      "; nothing was exported"};
      }
      redaction.paths.push_back(std::move(path));
    }
  }
  return redaction;
}

}  // namespace dw::bundle
