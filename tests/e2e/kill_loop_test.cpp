// kill -9, again and again, under load. A child process runs an engine and says on its standard
// output what the engine confirmed; we kill it at random moments and hold the store to its word.
//
//   DW_KILLS=200 DW_SEED=7 dw_kill_loop_test
#include "support.hpp"

#include "core/random.hpp"
#include "store/sqlite/sqlite_store.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <fstream>
#include <iostream>
#include <sstream>
#include <thread>

namespace dw::e2e {
namespace {

using namespace std::chrono_literals;

// ---- the child: an engine under load

std::string witness_directory;

void say(const std::string& line) {
  // One write, shorter than PIPE_BUF: a line is in the pipe or it is not, killed or not.
  const std::string text = line + "\n";
  if (write(STDOUT_FILENO, text.data(), text.size()) != static_cast<ssize_t>(text.size())) _exit(3);
}

// A side effect that can be seen from outside: a line in a file named by the idempotency key.
std::string touch(std::string what) {
  std::ofstream file{witness_directory + "/" + activity_info().idempotency_key, std::ios::app};
  file << activity_info().instance_id << ' ' << what << std::endl;
  return what;
}

void refuse(std::string what) {
  touch(what);
  throw std::runtime_error("refused " + what);
}

// An attempt dies with the process, and after five in a row the engine gives up on the step. We
// kill more often than that, so the workflow asks again, in a step of its own.
std::string insist(const std::string& what) {
  for (;;) {
    try {
      return dw::activity(touch, what);
    } catch (const ActivityError& error) {
      if (error.exception_type() != "timeout") throw;
    }
  }
}

std::string chain(int steps) {
  std::string text;
  for (int i = 0; i < steps; ++i) text += insist(std::to_string(i));
  return text;
}

std::string saga(std::string name) {
  insist("reserve " + name);
  try {
    dw::activity(refuse, "ship " + name);
  } catch (const ActivityError&) {
    insist("release " + name);
    return "undone " + name;
  }
  return "shipped " + name;
}

std::string wait_a_second() {
  const auto token = dw::uuid4();
  insist("before " + token);
  dw::sleep(1s);
  return insist("after " + token);
}

Registry load() {
  Registry registry;
  registry.activity("touch", touch).tries(0).backoff({0s});
  registry.activity("refuse", refuse);
  registry.workflow("chain", chain);
  registry.workflow("saga", saga);
  registry.workflow("wait_a_second", wait_a_second);
  return registry;
}

Handle<std::string> start_one(Engine& engine, const std::string& id, std::uint64_t kind) {
  const StartOptions options{.id = id};
  if (kind % 8 == 0) return engine.start(wait_a_second, options);
  if (kind % 3 == 0) return engine.start(saga, options, id);
  return engine.start(chain, options, static_cast<int>(1 + kind % 6));
}

// Starts work without end, each client waiting for its own.
[[noreturn]] void work(Engine& engine, const std::string& round) {
  constexpr int clients = 12;
  std::vector<std::thread> threads;
  for (int client = 0; client < clients; ++client) {
    threads.emplace_back([&engine, round, client] {
      for (std::uint64_t i = 0;; ++i) {
        const auto id = fmt::format("{}-{}-{}", round, client, i);
        const auto run = start_one(engine, id, i + static_cast<std::uint64_t>(client));
        say("started " + id + " " + run.run_id());
        say("result " + id + " " + run.result());
      }
    });
  }
  for (auto& thread : threads) thread.join();
  std::abort();
}

// Starts nothing and stays until everything is done.
int finish(Engine& engine) {
  for (const auto& run : engine.runs(1'000'000)) {
    if (!run.closed_at) engine.attach(run.instance_id).wait();
  }
  return 0;
}

int run_child(const std::vector<std::string>& arguments) {
  spdlog::set_level(spdlog::level::off);
  witness_directory = arguments.at(1);
  Engine engine{load(), {.store = arguments.at(0), .max_concurrent_activities = 16}};
  say("ready");
  if (arguments.at(2) == "finish") return finish(engine);
  work(engine, arguments.at(2));
}

// ---- the parent

class KillLoop {
 public:
  explicit KillLoop(std::uint64_t seed) : random_(seed) {}

  void kill_once(int round) {
    ChildProcess child{{"--child", store_, witnesses_.file(""), fmt::format("r{}", round)}};
    const auto now = [] { return std::chrono::steady_clock::now(); };
    // Every fifth dies while it opens the store and picks up what was left open.
    if (random_.below(5) == 0) {
      listen(child.read_lines(now() + std::chrono::milliseconds{random_.below(80)}, "ready"));
    } else {
      listen(child.read_lines(now() + patience, "ready"));
    }
    // By what it has done rather than by the clock, so that slow machines get as far as fast ones;
    // and then a moment more, so that it dies in the middle of the next thing.
    const auto enough = acknowledgements_ + random_.below(60);
    const auto deadline = now() + 2s;
    while (acknowledgements_ < enough && now() < deadline) listen(child.read_lines(now() + 5ms));
    listen(child.read_lines(now() + std::chrono::milliseconds{random_.below(40)}));
    child.kill_hard();
    ASSERT_EQ(child.wait(), SIGKILL) << "the child did not wait for us to kill it";
    listen(child.read_lines(now() + patience));  // what it had said before it died
    check();
  }

  void finish() {
    ChildProcess child{{"--child", store_, witnesses_.file(""), "finish"}};
    const auto deadline = std::chrono::steady_clock::now() + 2 * patience;
    child.read_lines(deadline);
    if (std::chrono::steady_clock::now() >= deadline) child.kill_hard();
    ASSERT_EQ(child.wait(), 0) << "not every run finished";
    auditor_.read_all_again();
    check();
    for (const auto& [id, run] : auditor_.runs()) {
      EXPECT_EQ(run.row.status, history::RunStatus::completed) << id;
      for (const auto& activity : run.completed_activities) check_witness(id, activity);
    }
    EXPECT_EQ(integrity_check(store_), "ok");
    EXPECT_FALSE(started_.empty());
    EXPECT_FALSE(results_.empty())
        << "nothing was finished between the kills, so nothing was proved";
  }

  void report() const {
    int attempts = 0;
    std::size_t activities = 0;
    for (const auto& [id, run] : auditor_.runs()) {
      attempts += run.attempts;
      activities += run.completed_activities.size();
    }
    std::cout << fmt::format(
        "{} starts and {} results were acknowledged; {} runs, {} completed activities, {} "
        "attempts\n",
        started_.size(), results_.size(), auditor_.runs().size(), activities, attempts);
  }

 private:
  void listen(const std::vector<std::string>& lines) {
    for (const auto& line : lines) {
      std::istringstream words{line};
      std::string verb;
      std::string id;
      std::string rest;
      words >> verb >> id >> std::ws;
      std::getline(words, rest);
      if (verb == "started") started_[id] = rest;
      if (verb == "result") results_[id] = rest;
      ++acknowledgements_;
    }
  }

  void check() {
    if (!std::filesystem::exists(store_)) {
      EXPECT_TRUE(started_.empty());
      return;
    }
    const auto store = sqlite::open_sqlite_read_only(store_);
    if (!store) {
      // Killed before the tables were there, which is fine while nothing was promised.
      EXPECT_TRUE(started_.empty()) << store.error().message;
      return;
    }
    EXPECT_EQ(auditor_.look_at(**store), std::vector<std::string>{});
    for (const auto& [id, run_id] : started_) {
      const auto run = auditor_.runs().find(id);
      ASSERT_NE(run, auditor_.runs().end()) << id << " was acknowledged and is lost";
      EXPECT_EQ(run->second.row.run_id.str(), run_id);
    }
    for (const auto& [id, result] : results_) {
      const auto& run = auditor_.runs().at(id);
      ASSERT_TRUE(run.output) << id << " had a result and lost it";
      EXPECT_EQ(*from_value<std::string>(*decode(*run.output)), result) << id;
    }
  }

  // A completed activity has left its mark, and under its own name only.
  void check_witness(const std::string& instance, const std::string& activity) {
    std::ifstream file{witnesses_.file(activity)};
    std::string owner;
    ASSERT_TRUE(file >> owner) << activity << " of " << instance << " completed without running";
    std::string rest;
    do {
      EXPECT_EQ(owner, instance);
      std::getline(file, rest);
    } while (file >> owner);
  }

  SeededRandom random_;
  TempDir directory_;
  TempDir witnesses_;
  const std::string store_ = directory_.file("kill.db");
  Auditor auditor_;
  std::map<std::string, std::string> started_;  // instance id to run id
  std::map<std::string, std::string> results_;
  std::uint64_t acknowledgements_ = 0;
};

// proves: E-163, E-164
TEST(KillLoop, LosesNothingItAcknowledged) {
  const auto kills = static_cast<int>(number_from_environment("DW_KILLS", long_test() ? 200 : 25));
  const auto seed = number_from_environment("DW_SEED", system_seed() % 1'000'000);
  std::cout << fmt::format("seed {}, {} kills; again: DW_SEED={} DW_KILLS={}\n", seed, kills, seed,
                           kills);
  KillLoop loop{seed};
  for (int round = 0; round < kills && !::testing::Test::HasFailure(); ++round) {
    SCOPED_TRACE(fmt::format("kill {}", round));
    loop.kill_once(round);
  }
  if (!::testing::Test::HasFailure()) loop.finish();
  loop.report();
}

}  // namespace
}  // namespace dw::e2e

int main(int argc, char** argv) {
  std::vector<std::string> arguments{argv + 1, argv + argc};
  if (!arguments.empty() && arguments.front() == "--child") {
    arguments.erase(arguments.begin());
    return dw::e2e::run_child(arguments);
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
