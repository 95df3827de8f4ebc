#include "worker/activity_runner.hpp"

#include "engine/progress.hpp"
#include "runtime/failures.hpp"

#include <fmt/format.h>
#include <dw/activity.hpp>

namespace dw {
namespace {

thread_local const ActivityInfo* current_activity = nullptr;
thread_local const dispatch::ActivityWork* current_work = nullptr;

const dispatch::ActivityWork& work_of(std::string_view caller) {
  if (!current_work) {
    throw UsageError{
        fmt::format("{}() was called outside an activity; only activity code may do so", caller)};
  }
  return *current_work;
}

// Is anybody still waiting for what comes of it?
bool wanted(const dispatch::ActivityWork& work) {
  return !work.cancelled || !*work.cancelled;
}

}  // namespace

const ActivityInfo& activity_info() {
  if (!current_activity) {
    throw UsageError{"activity_info() was called outside an activity; only activity code may ask"};
  }
  return *current_activity;
}

bool heartbeat() {
  const auto& work = work_of("heartbeat");
  if (work.listener) work.listener->activity_alive(work, std::nullopt);
  return wanted(work);
}

bool heartbeat(const Value& progress) {
  const auto& work = work_of("heartbeat");
  auto normal = engine::normalize_progress(progress);
  if (!normal) throw EngineError{std::move(normal).error()};
  if (work.listener) work.listener->activity_alive(work, *std::move(normal));
  return wanted(work);
}

bool activity_cancelled() {
  return !wanted(work_of("activity_cancelled"));
}

namespace worker {

engine::ActivityOutcome run_activity(const Registry& registry, const dispatch::ActivityWork& work) {
  const auto* definition = registry.find_activity(work.type);
  if (definition) return run_activity(registry, work, definition->invoke);
  return {work.activity_id, work.attempt_id,
          history::Failure{"dw::UsageError",
                           {},
                           fmt::format("activity '{}' is not registered here", work.type),
                           false}};
}

engine::ActivityOutcome run_activity(const Registry& registry, const dispatch::ActivityWork& work,
                                     const dw::detail::Invoke& code) {
  engine::ActivityOutcome outcome{work.activity_id, work.attempt_id, Payload{}};
  const ActivityInfo info{work.activity_id.str(),
                          work.attempt_id.str(),
                          static_cast<int>(work.attempt_number),
                          work.type,
                          work.instance_id.str(),
                          work.run_id.str()};
  // A stub may drive the test environment it runs in, and so run others before it returns.
  const auto* outer_activity = std::exchange(current_activity, &info);
  const auto* outer_work = std::exchange(current_work, &work);
  try {
    outcome.outcome = code(work.arguments);
  } catch (const EngineError&) {
    // Arguments or a result that do not convert will not convert next time either.
    auto failure = runtime::describe_current_exception(registry);
    failure.non_retryable = true;
    outcome.outcome = std::move(failure);
  } catch (...) {
    outcome.outcome = runtime::describe_current_exception(registry);
  }
  current_activity = outer_activity;
  current_work = outer_work;
  return outcome;
}

}  // namespace worker
}  // namespace dw
