#include "worker/fiber_host.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

namespace dw::worker {
namespace {

// What a suspended workflow keeps resident: a touched piece of its stack, its state and its place
// in the maps. An allowance, not a measurement: it only has to err on the large side.
constexpr std::size_t resident_bytes = 24 * 1024;

runtime::StackPoolOptions stack_options(std::size_t stack_bytes) {
  runtime::StackPoolOptions options;
  options.stack_bytes = stack_bytes;
  options.on_leak = [](std::string_view label, runtime::LeakReason) {
    spdlog::error(
        "a dropped workflow would not unwind and its stack is lost: let dw's exceptions "
        "pass through catch (...) and keep steps out of destructors workflow={}",
        label);
  };
  return options;
}

}  // namespace

FiberHost::FiberHost(const Registry& registry, Random& random, std::size_t stack_bytes)
    : registry_(registry), random_(random), stacks_(stack_options(stack_bytes)) {}

FiberHost::~FiberHost() = default;

bool FiberHost::knows(std::string_view workflow_type) const {
  return registry_.find_workflow(workflow_type) != nullptr;
}

engine::Progress FiberHost::run(const RunId& run, std::span<const history::Event> events,
                                Timestamp now) {
  runtime::install_overflow_handler();
  auto& execution = executions_[run];
  if (!execution)
    execution = std::make_unique<runtime::Execution>(registry_, stacks_, random_, run);
  execution->feed(events);
  {
    const std::lock_guard lock{busy_mutex_};
    busy_with_ = &run;
    busy_since_ = std::chrono::steady_clock::now();
    named_ = false;
  }
  auto progress = execution->run(now);
  const std::lock_guard lock{busy_mutex_};
  busy_with_ = nullptr;
  return progress;
}

namespace {

// What a query throws is its caller's, not the workflow's.
Result<Payload> ask(runtime::Execution& execution, std::string_view name,
                    const Payload& arguments) {
  try {
    return execution.query(name, arguments);
  } catch (const EngineError& e) {
    return Error{e.code(), e.what()};
  } catch (const std::exception& e) {
    return Error{ErrorCode::query_failed, fmt::format("query '{}' failed: {}", name, e.what())};
  } catch (...) {
    return Error{ErrorCode::query_failed, fmt::format("query '{}' failed", name)};
  }
}

}  // namespace

Result<Payload> FiberHost::query_warm(const RunId& run, std::span<const history::Event> unseen,
                                      std::string_view name, const Payload& arguments) {
  auto& execution = *executions_.at(run);
  execution.feed(unseen);
  return ask(execution, name, arguments);
}

Result<Payload> FiberHost::query_replayed(const RunId& run, std::span<const history::Event> history,
                                          std::string_view name, const Payload& arguments) {
  runtime::install_overflow_handler();
  runtime::Execution execution{registry_, stacks_, random_, run};
  execution.feed(history);
  if (const auto blocked = execution.replay()) {
    return Error{ErrorCode::replay_blocked,
                 fmt::format("query '{}' on run {}: {}", name, run.str(), blocked->message)};
  }
  return ask(execution, name, arguments);
}

std::optional<FiberHost::Stuck> FiberHost::stuck(std::chrono::milliseconds patience) {
  const std::lock_guard lock{busy_mutex_};
  if (!busy_with_ || named_) return std::nullopt;
  const auto so_far = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now() - busy_since_);
  if (so_far < patience) return std::nullopt;
  named_ = true;
  return Stuck{busy_with_->str(), so_far};
}

void FiberHost::forget(const RunId& run) {
  executions_.erase(run);
}

std::size_t FiberHost::bytes_per_run() const {
  return resident_bytes;
}

}  // namespace dw::worker
