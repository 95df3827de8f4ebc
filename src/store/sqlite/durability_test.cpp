// Won means durable, on a disk that loses power, tears writes, fails to sync and fills up.
#include "store/memory_store.hpp"
#include "store/sqlite/fault_vfs.hpp"
#include "store/sqlite/sqlite_store.hpp"
#include "store/sqlite/test_support.hpp"

#include <gmock/gmock.h>
#include <sqlite3.h>

#include <algorithm>
#include <map>
#include <vector>

namespace dw::sqlite {
namespace {

using namespace test;
using store::CommitOutcome;
using store::MemoryStore;
using store::Store;
using store::Transition;
using ::testing::HasSubstr;

SqliteOptions on(const FaultVfs& disk) {
  // A short log, so that checkpoints are hit as well as commits.
  return {.path = "s.db",
          .vfs = disk.name(),
          .read_connections = 1,
          .checkpoint_thread = false,
          .checkpoint_pages = 20};
}

class Durability : public ::testing::Test {
 protected:
  void open() { store_ = open_sqlite(on(disk_)).value(); }
  void lose_power() {
    disk_.crash();
    store_.reset();
    disk_.restart();
    open();
  }

  FaultVfs disk_{"durability"};
  std::unique_ptr<Store> store_;
};

// ---- one fault at a time

TEST_F(Durability, WhatWonSurvivesPowerLoss) {
  open();
  for (int i = 1; i <= 30; ++i) ASSERT_TRUE(won(commit_one(*store_, step("r1", i))));
  lose_power();
  EXPECT_EQ(last_sequence(*store_, "r1"), 30);
  EXPECT_TRUE(won(commit_one(*store_, step("r1", 31))));
}

TEST_F(Durability, AFailedSyncIsNeverTakenForASuccess) {
  open();
  ASSERT_TRUE(won(commit_one(*store_, step("r1", 1))));
  EXPECT_EQ(last_sequence(*store_, "r1"), 1);  // and a reader is open, too
  disk_.fail_sync_after(0);
  const bool answered_won = won(commit_one(*store_, step("r1", 2)));
  EXPECT_EQ(last_sequence(*store_, "r1"), answered_won ? 2 : 1);
  lose_power();
  EXPECT_EQ(last_sequence(*store_, "r1"), answered_won ? 2 : 1);
}

TEST_F(Durability, LaterCommitsDoNotStandOnAnUnsyncedOne) {
  open();
  ASSERT_TRUE(won(commit_one(*store_, step("r1", 1))));
  disk_.fail_sync_after(0);
  const std::int64_t next = won(commit_one(*store_, step("r1", 2))) ? 3 : 2;
  ASSERT_TRUE(won(commit_one(*store_, step("r1", next))));
  lose_power();
  EXPECT_EQ(last_sequence(*store_, "r1"), next);
}

TEST_F(Durability, ANewOwnerDoesNotTrustALogWhoseSyncFailed) {
  open();
  ASSERT_TRUE(won(commit_one(*store_, step("r1", 1))));
  store_.reset();
  // Somebody whose sync failed dies before finding out what came of it.
  sqlite3* dying = nullptr;
  const auto execute = [&](const char* sql) {
    return sqlite3_exec(dying, sql, nullptr, nullptr, nullptr);
  };
  ASSERT_EQ(sqlite3_open_v2("s.db", &dying, SQLITE_OPEN_READWRITE, disk_.name().c_str()),
            SQLITE_OK);
  sqlite3_db_config(dying, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  ASSERT_EQ(execute("PRAGMA synchronous = FULL; UPDATE meta SET value = 'a'"), SQLITE_OK);
  disk_.fail_sync_after(0);
  ASSERT_EQ(execute("UPDATE meta SET value = 'b'"), SQLITE_IOERR);
  sqlite3_close(dying);

  open();
  ASSERT_TRUE(won(commit_one(*store_, step("r1", 2))));
  lose_power();
  EXPECT_EQ(last_sequence(*store_, "r1"), 2);
}

TEST_F(Durability, AFailedWriteFailsItsBatchAndNoOther) {
  for (const bool torn : {false, true}) {
    SCOPED_TRACE(torn ? "torn" : "failed");
    const std::string run = torn ? "torn" : "failed";
    open();
    ASSERT_TRUE(won(commit_one(*store_, step(run, 1))));
    torn ? disk_.tear_write_after(0) : disk_.fail_write_after(0);
    const Error error = error_of(commit_one(*store_, step(run, 2)));
    EXPECT_EQ(error.code, ErrorCode::unavailable);
    EXPECT_THAT(error.message, HasSubstr("trying again is safe"));
    EXPECT_EQ(last_sequence(*store_, run), 1);
    EXPECT_TRUE(won(commit_one(*store_, step(run, 2))));
    lose_power();
    EXPECT_EQ(last_sequence(*store_, run), 2);
    store_.reset();
  }
}

TEST_F(Durability, AFullDiskRefusesAndLosesNothing) {
  open();
  ASSERT_TRUE(won(commit_one(*store_, step("r1", 1))));
  disk_.set_capacity(disk_.used_bytes() + 20'000);
  const std::vector batch{step("r1", 2, 100'000), step("r2", 1)};
  for (const CommitOutcome& outcome : store_->commit(batch)) {
    EXPECT_EQ(error_of(outcome).code, ErrorCode::store_full);
    EXPECT_THAT(error_of(outcome).message, HasSubstr("Free some space"));
  }
  EXPECT_EQ(last_sequence(*store_, "r1"), 1);
  EXPECT_EQ(last_sequence(*store_, "r2"), 0);
  disk_.set_capacity(std::nullopt);
  EXPECT_TRUE(won(commit_one(*store_, step("r1", 2, 100'000))));
  lose_power();
  EXPECT_EQ(last_sequence(*store_, "r1"), 2);
}

TEST_F(Durability, AHeartbeatThatFailsTakesNoCommitWithIt) {
  open();
  store::WorkerHeartbeat row;
  row.worker_id = "w1";
  row.expires_at = at(30);
  const auto beat = [&] { return store_->put_worker("w1", {&row, 1}, at(0)).has_value(); };
  ASSERT_TRUE(won(commit_one(*store_, step("r1", 1))));
  disk_.fail_sync_after(0);
  EXPECT_FALSE(beat());
  EXPECT_TRUE(won(commit_one(*store_, step("r1", 2))));
  disk_.fail_write_after(0);
  EXPECT_FALSE(beat());
  EXPECT_TRUE(beat());
  EXPECT_TRUE(won(commit_one(*store_, step("r1", 3))));
  lose_power();
  EXPECT_EQ(last_sequence(*store_, "r1"), 3);
  EXPECT_EQ(store_->live_workers(at(0)).value().size(), 1u);
}

TEST_F(Durability, ADeadDiskAnswersUnavailableUntilItIsBack) {
  open();
  ASSERT_TRUE(won(commit_one(*store_, step("r1", 1))));
  EXPECT_EQ(last_sequence(*store_, "r1"), 1);
  disk_.crash();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(error_of(commit_one(*store_, step("r1", 2))).code, ErrorCode::unavailable);
    EXPECT_EQ(store_->find_run(RunId{"r1"}).error().code, ErrorCode::unavailable);
    EXPECT_EQ(store_->due_tasks({}, at(9), 9).error().code, ErrorCode::unavailable);
  }
  disk_.restart();
  // Reads wait for a commit to open the file again.
  EXPECT_EQ(store_->find_run(RunId{"r1"}).error().code, ErrorCode::unavailable);
  EXPECT_TRUE(won(commit_one(*store_, step("r1", 2))));
  EXPECT_EQ(last_sequence(*store_, "r1"), 2);
}

TEST_F(Durability, TasksAndIntakeAloneAreFoundAgainToo) {
  open();
  ASSERT_TRUE(won(commit_one(*store_, step("r1", 1))));
  Transition renew;
  renew.id = CommitId{"renew"};
  renew.tasks = step("r1", 1).tasks;
  renew.tasks.front().task.lease_owner = "worker-7";
  disk_.fail_sync_after(0);
  const bool renewed = won(commit_one(*store_, renew));
  lose_power();
  const auto tasks = store_->due_tasks({}, at(100), 10).value();
  ASSERT_EQ(tasks.size(), 1);
  EXPECT_EQ(tasks.front().lease_owner == "worker-7", renewed);

  Transition intake;
  intake.id = CommitId{"intake"};
  intake.intake = {{{Namespace{"default"}, InstanceId{"i"}}, std::nullopt, at(1), "{}"}};
  disk_.fail_sync_after(0);
  const bool recorded = won(commit_one(*store_, intake));
  lose_power();
  EXPECT_EQ(store_->load_intake(intake.intake.front().instance).value().size(), recorded ? 1 : 0);
}

TEST_F(Durability, APrunedRunIsGoneOrThereAsAWhole) {
  open();
  for (int i = 1; i <= 8; ++i) ASSERT_TRUE(won(commit_one(*store_, step("r1", i))));
  Transition prune;
  prune.id = CommitId{"prune"};
  prune.reads = {{RunId{"r1"}, commit_id("r1", 8)}};
  prune.tasks = {engine::remove(step("r1", 8).tasks.back().task.key)};
  prune.prunes = {{RunId{"r1"}, {Namespace{"default"}, InstanceId{"i-r1"}}}};
  disk_.fail_sync_after(0);
  const bool pruned = won(commit_one(*store_, prune));
  const auto check = [&](bool gone) {
    EXPECT_EQ(last_sequence(*store_, "r1"), gone ? 0 : 8);
    EXPECT_EQ(store_->load_history(RunId{"r1"}).value().size(), gone ? 0u : 8u);
    EXPECT_EQ(store_->due_tasks({}, at(100), 10).value().size(), gone ? 0u : 1u);
  };
  check(pruned);
  lose_power();
  check(pruned);
  if (pruned) return;
  ASSERT_TRUE(won(commit_one(*store_, prune)));
  lose_power();
  check(true);
}

// ---- any fault at any moment

// Everything a store says, to compare by.
std::string dump(Store& store) {
  std::string text;
  const auto runs = store.list_runs({.limit = 1000}).value();
  for (const auto& row : runs) {
    text +=
        fmt::format("run {} at {}/{}:", row.run_id.view(), row.version.view(), row.last_sequence);
    const auto loaded = store.load_run(row.run_id).value();
    for (const auto& commit : loaded->commits) {
      text += fmt::format(" {}[{}]", commit.id.view(), commit.events.size());
    }
    const auto instance = store.find_instance({row.ns, row.instance_id}).value();
    text += fmt::format(" instance {}\n", instance ? instance->version.view() : "absent");
  }
  const auto tasks = store.due_tasks({}, Timestamp::max(), 1000).value();
  for (const auto& task : tasks) text += fmt::format("task {}\n", task.key.id.view());
  return text;
}

// Feeds a store random batches while the disk misbehaves, and keeps beside it a model of what it
// said. Where an answer was "unavailable" the batch may be there or not, but nothing in between.
class Ordeal {
 public:
  explicit Ordeal(std::uint64_t seed) : random_(seed), disk_(fmt::format("ordeal-{}", seed)) {}

  void run() {
    for (int life = 0; life < 4 && !::testing::Test::HasFailure(); ++life) live();
  }

 private:
  void live() {
    SCOPED_TRACE(fmt::format("life {}", ++lives_));
    // Sometimes the power goes while the store is being opened, created even.
    disk_.crash_after(static_cast<int>(random_.below(300)), random_.next());
    auto opened = open_sqlite(on(disk_));
    if (opened) {
      for (int i = 0; i < 40 && uncertain_.empty() && !disk_.crashed(); ++i) {
        maybe_break_something();
        commit(**opened);
      }
    }
    if (!disk_.crashed()) disk_.crash(random_);
    if (opened) *std::move(opened) = nullptr;
    disk_.restart();
    check();
  }

  void maybe_break_something() {
    const int after = static_cast<int>(random_.below(6));
    switch (random_.below(12)) {
      case 0:
        return disk_.fail_sync_after(after % 2);
      case 1:
        return disk_.fail_write_after(after);
      case 2:
        return disk_.tear_write_after(after);
      case 3:
        return disk_.set_capacity(disk_.used_bytes() + 8192 * after);
      default:
        return disk_.set_capacity(std::nullopt);
    }
  }

  void commit(Store& store) {
    std::vector<Transition> batch;
    auto ahead = sequences_;
    for (auto left = 1 + random_.below(6); left > 0; --left) {
      const std::string run = fmt::format("r{}", random_.below(5));
      const std::int64_t stale = random_.below(8) == 0 ? 1 : 0;
      const std::int64_t sequence = ahead[run] + 1 + stale;
      batch.push_back(step(run, sequence, random_.below(3000)));
      if (stale == 0) ahead[run] = sequence;
    }
    const auto outcomes = store.commit(batch);
    ASSERT_EQ(outcomes.size(), batch.size());
    const bool failed = std::ranges::any_of(outcomes, [](const auto& outcome) {
      return std::holds_alternative<store::Failed>(outcome);
    });
    if (!failed) {
      EXPECT_EQ(model_.commit(batch), outcomes);
      learn();
      return;
    }
    for (const CommitOutcome& outcome : outcomes) {
      EXPECT_THAT(to_string(error_of(outcome).code), ::testing::AnyOf("unavailable", "store_full"));
    }
    // A store that could not find out says so; any other failure means that nothing is there.
    if (error_of(outcomes.front()).message.find("is unknown") != std::string::npos) {
      uncertain_ = batch;
    }
  }

  void check() {
    const auto store = open_sqlite(on(disk_));
    ASSERT_TRUE(store) << store.error().message;
    const std::string found = dump(**store);
    if (found != dump(model_)) {
      // Only the batch that the power loss interrupted may be there besides, and then all of it.
      model_.commit(uncertain_);
      EXPECT_EQ(found, dump(model_));
    }
    uncertain_.clear();
    learn();
    EXPECT_EQ(run_sql("s.db", "PRAGMA integrity_check", disk_.name()), "ok");
  }

  void learn() {
    sequences_.clear();
    const auto runs = model_.list_runs({.limit = 1000}).value();
    for (const auto& row : runs) sequences_[row.run_id.str()] = row.last_sequence;
  }

  SeededRandom random_;
  FaultVfs disk_;
  MemoryStore model_;
  std::vector<Transition> uncertain_;
  std::map<std::string, std::int64_t> sequences_;
  int lives_ = 0;
};

// Ten at a time, so that the tests can run side by side.
class DurabilityOrdeal : public ::testing::TestWithParam<std::uint64_t> {};

INSTANTIATE_TEST_SUITE_P(Seeds, DurabilityOrdeal, ::testing::Range<std::uint64_t>(1, 251, 10));

TEST_P(DurabilityOrdeal, WonIsThereAndNothingIsHalfThere) {
  const char* chosen = std::getenv("DW_SEED");
  const std::uint64_t first = chosen != nullptr ? std::strtoull(chosen, nullptr, 10) : GetParam();
  const std::uint64_t last = chosen != nullptr ? first : first + 9;
  for (std::uint64_t seed = first; seed <= last && !HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("replay: DW_SEED={}", seed));
    Ordeal{seed}.run();
  }
}

}  // namespace
}  // namespace dw::sqlite
