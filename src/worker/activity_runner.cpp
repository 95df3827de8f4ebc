#include "worker/activity_runner.hpp"

#include "engine/progress.hpp"
#include "runtime/failures.hpp"

#include <fmt/format.h>
#include <dw/activity.hpp>

namespace dw {
namespace {

thread_local const ActivityInfo* current_activity = nullptr;
thread_local dispatch::Lifeline* current_line = nullptr;

dispatch::Lifeline& line(std::string_view caller) {
  if (!current_activity || !current_line) {
    throw UsageError{
        fmt::format("{}() was called outside an activity; only activity code may do so", caller)};
  }
  return *current_line;
}

}  // namespace

const ActivityInfo& activity_info() {
  if (!current_activity) {
    throw UsageError{"activity_info() was called outside an activity; only activity code may ask"};
  }
  return *current_activity;
}

bool heartbeat() {
  auto& connection = line("heartbeat");
  if (connection.heartbeat) connection.heartbeat(std::nullopt);
  return !connection.cancelled;
}

bool heartbeat(const Value& progress) {
  auto& connection = line("heartbeat");
  auto normal = engine::normalize_progress(progress);
  if (!normal) throw EngineError{std::move(normal).error()};
  if (connection.heartbeat) connection.heartbeat(*std::move(normal));
  return !connection.cancelled;
}

bool activity_cancelled() {
  return line("activity_cancelled").cancelled;
}

namespace worker {

engine::ActivityOutcome run_activity(const Registry& registry, const dispatch::ActivityWork& work) {
  engine::ActivityOutcome outcome{work.activity_id, work.attempt_id, Payload{}};
  const auto* definition = registry.find_activity(work.type);
  if (!definition) {
    outcome.outcome =
        history::Failure{"dw::UsageError",
                         {},
                         fmt::format("activity '{}' is not registered here", work.type),
                         false};
    return outcome;
  }
  const ActivityInfo info{work.activity_id.str(),
                          work.attempt_id.str(),
                          static_cast<int>(work.attempt_number),
                          work.type,
                          work.instance_id.str(),
                          work.run_id.str()};
  static dispatch::Lifeline loose;  // of an attempt that nobody can reach
  current_activity = &info;
  current_line = work.line ? work.line.get() : &loose;
  try {
    outcome.outcome = definition->invoke(work.arguments);
  } catch (const EngineError&) {
    // Arguments or a result that do not convert will not convert next time either.
    auto failure = runtime::describe_current_exception(registry);
    failure.non_retryable = true;
    outcome.outcome = std::move(failure);
  } catch (...) {
    outcome.outcome = runtime::describe_current_exception(registry);
  }
  current_activity = nullptr;
  current_line = nullptr;
  return outcome;
}

}  // namespace worker
}  // namespace dw
