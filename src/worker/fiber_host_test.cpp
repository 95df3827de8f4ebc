#include "worker/fiber_host.hpp"

#include "core/random.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace dw::worker {
namespace {

using namespace std::chrono_literals;

std::atomic<bool> go_on{false};
int spins() {
  while (!go_on) std::this_thread::yield();
  return 1;
}

history::Event started(std::string type) {
  history::WorkflowStarted event;
  event.instance_id = InstanceId{"busy"};
  event.workflow_type = std::move(type);
  event.arguments = *encode(Value::Array{});
  return {1, Timestamp{}, std::move(event)};
}

TEST(FiberHost, NamesCodeThatComputesWithoutAStepWhileItStillRuns) {
  Registry registry;
  registry.workflow("spins", spins);
  registry.freeze();
  SeededRandom random{1};
  FiberHost host{registry, random, 256 * 1024};
  const RunId run{"01RUN"};
  EXPECT_FALSE(host.stuck(0ms)) << "an idle thread is not stuck";

  go_on = false;
  std::optional<FiberHost::Stuck> seen;
  std::thread watcher{[&] {
    const auto deadline = std::chrono::steady_clock::now() + 30s;
    while (!seen && std::chrono::steady_clock::now() < deadline) seen = host.stuck(5ms);
    EXPECT_FALSE(host.stuck(5ms)) << "once is enough";
    go_on = true;
  }};
  const auto events = std::vector{started("spins")};
  const auto progress = host.run(run, events, {});
  watcher.join();
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->run_id, "01RUN");
  EXPECT_EQ(progress.commands.size(), 1u);
}

TEST(FiberHost, ForgettingARunMakesItCold) {
  Registry registry;
  registry.workflow(
      "sleeps", +[] { sleep(1h); });
  registry.freeze();
  SeededRandom random{1};
  FiberHost host{registry, random, 256 * 1024};
  const RunId run{"01RUN"};
  const auto events = std::vector{started("sleeps")};
  EXPECT_EQ(host.run(run, events, {}).commands.size(), 1u);
  EXPECT_TRUE(host.warm(run));
  host.forget(run);
  EXPECT_FALSE(host.warm(run));
  EXPECT_EQ(host.run(run, events, {}).commands.size(), 1u) << "replayed from the beginning";
}

}  // namespace
}  // namespace dw::worker
