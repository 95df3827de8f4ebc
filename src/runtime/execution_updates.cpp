// Updates: applied between two steps, where history says so or where it ends.
#include "runtime/execution.hpp"
#include "runtime/failures.hpp"

#include <fmt/format.h>

namespace dw::runtime {

using namespace dw::history;

// Does history end here? A wait that timed out and a barrier that failed are passed although not
// all of their steps were resolved: what comes after them tells.
bool Execution::at_frontier(std::int64_t number) {
  const Step* step = find(number);
  if (!step) return number > last_recorded_step_;
  const auto last =
      step->group.empty() ? number : step->group.front().base + step->group.front().size - 1;
  if (last < last_recorded_step_) return false;
  for (auto leaf = number; leaf <= last; ++leaf) {
    const Step* part = find(leaf);
    if (part && !part->resolved) return true;
  }
  return false;
}

void Execution::settle_updates(std::int64_t number) {
  while (!recorded_.empty() && recorded_.front().step <= number) {
    const Update update = std::move(recorded_.front());
    recorded_.pop_front();
    try {
      run_update(update);
    } catch (const Abandoned&) {
      throw;
    } catch (...) {
      const auto failure = describe_current_exception(registry_);
      block(
          {"history_shape_mismatch",
           number,
           fmt::format("update:{}", update.name),
           {"UpdateApplied"},
           fmt::format("update '{}' ({}) was applied at step {} of workflow '{}' (instance '{}') "
                       "and fails now: {}; deploy code that still applies it, then repair the run",
                       update.name, update.id.str(), update.step, workflow_type_, instance_id_,
                       failure.message)});
    }
  }
  if (at_frontier(number) && !replay_only_) apply_pending(number);
}

void Execution::apply_pending(std::int64_t number) {
  while (!pending_.empty()) {
    const Update update = std::move(pending_.front());
    pending_.erase(pending_.begin());
    std::optional<Failure> failed;
    std::string category = "application";
    Payload result;
    try {
      result = run_update(update);
    } catch (const Abandoned&) {
      throw;
    } catch (const EngineError&) {
      failed = describe_current_exception(registry_);
      category = "task_failure";
    } catch (...) {
      failed = describe_current_exception(registry_);
    }
    if (dropping_) fiber_->yield();
    if (failed) {
      // What it changed before it threw is not to be seen by anybody: replay forgets it.
      commands_.emplace_back(engine::FailUpdate{update.id, category, *std::move(failed)});
      spoiled_ = true;
      park_for_good();
    }
    applied_.push_back(update.id);
    commands_.emplace_back(engine::ApplyUpdate{update.id, number, std::move(result)});
  }
}

Payload Execution::run_update(const Update& update) {
  meet(update.accepted);
  const auto* member = dw::detail::find_member(&definition_->updates, update.name);
  if (!member) {
    throw EngineError{
        {ErrorCode::not_found, fmt::format("update '{}' is not declared by workflow '{}' as it is "
                                           "registered here",
                                           update.name, workflow_type_)}};
  }
  const NoSteps quiet{no_steps_in_, "an update"};
  return (*member)(object_.get(), update.arguments);
}

}  // namespace dw::runtime
