// Runs workflow code of one shard on fibers. Everything but stuck() happens on that shard's thread;
// a fiber never leaves it.
#pragma once
#include "dispatch/hosts.hpp"
#include "runtime/execution.hpp"
#include "runtime/stack_pool.hpp"

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

namespace dw::worker {

class FiberHost final : public dispatch::WorkflowHost {
 public:
  FiberHost(const Registry& registry, Random& random,
            std::size_t stack_bytes = runtime::StackPoolOptions{}.stack_bytes);
  ~FiberHost() override;

  bool knows(std::string_view workflow_type) const override;
  bool warm(const RunId& run) const override { return executions_.contains(run); }
  engine::Progress run(const RunId& run, std::span<const history::Event> events,
                       Timestamp now) override;
  Result<Payload> query_warm(const RunId& run, std::span<const history::Event> unseen,
                             std::string_view name, const Payload& arguments) override;
  Result<Payload> query_replayed(const RunId& run, std::span<const history::Event> history,
                                 std::string_view name, const Payload& arguments) override;
  void forget(const RunId& run) override;
  std::size_t bytes_per_run() const override;

  // Code that has been computing for that long without a step: it holds up every other workflow of
  // this thread. Named once for each time it happens. Any thread may ask.
  struct Stuck {
    std::string run_id;
    std::chrono::milliseconds so_far;
  };
  std::optional<Stuck> stuck(std::chrono::milliseconds patience);

 private:
  using SteadyTime = std::chrono::steady_clock::time_point;

  const Registry& registry_;
  Random& random_;
  runtime::StackPool stacks_;
  std::unordered_map<RunId, std::unique_ptr<runtime::Execution>> executions_;

  std::mutex busy_mutex_;
  const RunId* busy_with_ = nullptr;  // guarded by busy_mutex_
  SteadyTime busy_since_;             // guarded by busy_mutex_
  bool named_ = false;                // guarded by busy_mutex_
};

}  // namespace dw::worker
