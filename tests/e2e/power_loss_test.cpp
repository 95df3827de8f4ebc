// Pulls the plug. Killing a process proves nothing about fsync, because the page cache outlives it;
// here the whole engine runs on a disk that forgets what was not synced, and loses power at random
// moments, in the middle of commits and checkpoints included.
//
//   DW_SEED=7 DW_SEEDS=1 dw_power_loss_test
#include "support.hpp"

#include "core/random.hpp"
#include "embed/engine_access.hpp"
#include "store/sqlite/fault_vfs.hpp"
#include "store/sqlite/sqlite_store.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <iostream>
#include <thread>

namespace dw::e2e {
namespace {

using namespace std::chrono_literals;

std::string step(std::string text) {
  return text + ".";
}
void fail(std::string why) {
  throw std::runtime_error(why);
}

std::string chain(int steps) {
  std::string text;
  for (int i = 0; i < steps; ++i) {
    text = dw::activity(step, text);
    if (i % 2 == 1) dw::sleep(0s);
    text = dw::side_effect([&] { return text + "-"; });
  }
  return text;
}

std::string saga(std::string name) {
  try {
    dw::activity(fail, name);
  } catch (const ActivityError& error) {
    return dw::activity(step, error.message());
  }
  return "no failure";
}

std::string expected(int kind) {
  if (kind % 3 == 0) return fmt::format("saga-{}.", kind);
  std::string text;
  for (int i = 0; i < 1 + kind % 4; ++i) text += ".-";
  return text;
}

Registry load() {
  Registry registry;
  registry.activity("step", step).tries(0).backoff({0s});
  registry.activity("fail", fail);
  registry.workflow("chain", chain);
  registry.workflow("saga", saga);
  return registry;
}

class PowerLoss {
 public:
  explicit PowerLoss(std::uint64_t seed) : random_(seed), vfs_(fmt::format("power-{}", seed)) {}

  void run() {
    const auto outages = 1 + random_.below(2);
    for (std::uint64_t i = 0; i < outages; ++i) {
      // The first few dozen operations create the store, a workflow takes about ten.
      vfs_.crash_after(static_cast<int>(random_.below(200)), random_.next());
      session();
      if (vfs_.crashed()) {
        ++interrupted_;
      } else {
        vfs_.crash(random_);
      }
      vfs_.restart();
      check();
      if (::testing::Test::HasFailure()) return;
    }
    session();
    check();
    for (const auto& [id, run] : auditor_.runs()) {
      EXPECT_EQ(run.row.status, history::RunStatus::completed) << id;
    }
  }

  std::size_t acknowledged() const { return started_.size(); }
  std::size_t interrupted() const { return interrupted_; }

 private:
  std::unique_ptr<Engine> open() {
    sqlite::SqliteOptions options;
    options.path = path_;
    options.vfs = vfs_.name();
    auto store = sqlite::open_sqlite(options);
    if (!store) {
      EXPECT_TRUE(vfs_.crashed()) << store.error().message;
      return nullptr;
    }
    return detail::EngineAccess::open(load(), {.workflow_threads = 1}, *std::move(store));
  }

  // Starts a few runs and waits for all there are, or for the lights to go out.
  void session() {
    auto engine = open();
    if (!engine) return;
    auto listed = [&]() -> std::vector<RunInfo> {
      try {
        return engine->runs(10'000);
      } catch (const EngineError&) {
        EXPECT_TRUE(vfs_.crashed());
        return {};
      }
    }();
    for (const auto& run : listed) {
      try {
        expect_close(engine->attach(run.instance_id));
      } catch (const EngineError&) {
        EXPECT_TRUE(vfs_.crashed());
      }
    }
    for (int i = 0; i < 8; ++i) {
      const int kind = next_++;
      const StartOptions options{.id = fmt::format("run-{}", kind)};
      const bool is_saga = kind % 3 == 0;
      auto arguments = *encode(is_saga ? to_arguments(fmt::format("saga-{}", kind))
                                       : to_arguments(1 + kind % 4));
      {
        const std::lock_guard lock{mutex_};
        ++starting_;
      }
      engine->start_async(is_saga ? "saga" : "chain", options, std::move(arguments),
                          [this, kind](Result<WorkflowHandle> started) {
                            if (started) {
                              acknowledge_start(kind, *started);
                              expect_close(*started);
                            }
                            const std::lock_guard lock{mutex_};
                            --starting_;
                            changed_.notify_all();
                          });
    }
    wait_for_the_end();
    engine.reset();
    // Nobody answers any more; what this session was waiting for is forgotten.
    const std::lock_guard lock{mutex_};
    open_.clear();
    starting_ = 0;
  }

  void acknowledge_start(int kind, const WorkflowHandle& run) {
    const std::lock_guard lock{mutex_};
    started_[run.id()] = {run.run_id(), kind};
  }

  void expect_close(const WorkflowHandle& run) {
    {
      const std::lock_guard lock{mutex_};
      open_.insert(run.id());
    }
    run.on_closed([this, id = run.id()] {
      const std::lock_guard lock{mutex_};
      open_.erase(id);
      closed_.insert(id);
      changed_.notify_all();
    });
  }

  void wait_for_the_end() {
    const auto deadline = std::chrono::steady_clock::now() + patience;
    std::unique_lock lock{mutex_};
    while (!(open_.empty() && starting_ == 0) && !vfs_.crashed()) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "runs do not finish";
      changed_.wait_for(lock, 1ms);  // the disk does not call when it dies
    }
  }

  // What survived must hold everything that was said before the lights went out.
  void check() {
    sqlite::SqliteOptions options;
    options.path = path_;
    options.vfs = vfs_.name();
    const auto store = sqlite::open_sqlite(options);
    ASSERT_TRUE(store) << store.error().message;
    ASSERT_EQ(integrity_check(path_, vfs_.name()), "ok");
    ASSERT_EQ(auditor_.look_at(**store), std::vector<std::string>{});
    for (const auto& [id, acknowledged] : started_) {
      const auto run = auditor_.runs().find(id);
      ASSERT_NE(run, auditor_.runs().end()) << id << " was acknowledged and is lost";
      EXPECT_EQ(run->second.row.run_id.str(), acknowledged.run_id);
    }
    for (const auto& id : closed_) {
      EXPECT_TRUE(auditor_.runs().at(id).output) << id << " had closed and is open again";
    }
    for (const auto& [id, run] : auditor_.runs()) {
      const int kind = std::stoi(id.substr(4));
      if (run.output) {
        EXPECT_EQ(*from_value<std::string>(*decode(*run.output)), expected(kind)) << id;
      }
    }
  }

  struct Acknowledged {
    std::string run_id;
    int kind;
  };

  SeededRandom random_;
  sqlite::FaultVfs vfs_;
  const std::string path_ = "power.db";
  Auditor auditor_;
  int next_ = 0;
  std::size_t interrupted_ = 0;  // sessions that lost power in the middle of something

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::map<std::string, Acknowledged> started_;
  std::set<std::string> closed_;
  std::set<std::string> open_;
  int starting_ = 0;
};

TEST(PowerLoss, LosesNothingItAcknowledged) {
  spdlog::set_level(spdlog::level::off);
  const auto first = number_from_environment("DW_SEED", 1);
  const auto seeds =
      number_from_environment("DW_SEEDS", (long_test() ? 10 : 1) * DW_POWER_LOSS_SEEDS);
  std::size_t acknowledged = 0;
  std::size_t interrupted = 0;
  for (auto seed = first; seed < first + seeds; ++seed) {
    SCOPED_TRACE(fmt::format("replay: DW_SEED={} DW_SEEDS=1", seed));
    PowerLoss loss{seed};
    loss.run();
    acknowledged += loss.acknowledged();
    interrupted += loss.interrupted();
    if (HasFailure()) break;
  }
  EXPECT_GE(interrupted, seeds / 2) << "most outages come too late to hurt";
  std::cout << fmt::format("{} seeds from {}, {} outages in the middle, {} starts acknowledged\n",
                           seeds, first, interrupted, acknowledged);
}

}  // namespace
}  // namespace dw::e2e
