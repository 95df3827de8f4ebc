#include "worker/activity_runner.hpp"

#include "runtime/execution.hpp"

#include <fmt/format.h>
#include <dw/activity.hpp>

namespace dw {
namespace {

thread_local const ActivityInfo* current_activity = nullptr;

}  // namespace

const ActivityInfo& activity_info() {
  if (!current_activity) {
    throw UsageError{"activity_info() was called outside an activity; only activity code may ask"};
  }
  return *current_activity;
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
  current_activity = &info;
  try {
    outcome.outcome = definition->invoke(work.arguments);
  } catch (const EngineError&) {
    // Arguments or a result that do not convert will not convert next time either.
    auto failure = runtime::describe_current_exception();
    failure.non_retryable = true;
    outcome.outcome = std::move(failure);
  } catch (...) {
    outcome.outcome = runtime::describe_current_exception();
  }
  current_activity = nullptr;
  return outcome;
}

}  // namespace worker
}  // namespace dw
