// Two stores, the same random batches, the same answers: what nobody thought of writing down.
#include "random_schedules.hpp"

#include "core/random.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <map>
#include <set>

namespace dw::conformance {
namespace {

using namespace store;

// Makes batches that a busy engine could make, and some that only a confused one would: stale and
// staged reads, runs that do not exist, chains, two runs at once, tasks that come and go, schedules
// that are created, fired, deleted and created anew.
class BatchMaker {
 public:
  explicit BatchMaker(std::uint64_t seed) : random_(seed), schedules_(random_) {}

  std::vector<Transition> next() {
    std::vector<Transition> batch;
    const auto size = 1 + random_.below(12);
    for (std::uint64_t i = 0; i < size; ++i) batch.push_back(make());
    return batch;
  }

  // What the stores answered: later batches build on what is really there, mostly.
  void learn(const std::vector<Transition>& batch, const std::vector<CommitOutcome>& outcomes) {
    staged_.clear();
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (!std::holds_alternative<Won>(outcomes[i])) continue;
      for (const RunRow& run : batch[i].runs) known_[run.run_id.str()] = {batch[i].id.str(), run};
      for (const PrunedRun& run : batch[i].prunes) known_.erase(run.run_id.str());
      for (const InstanceRow& row : batch[i].instances) instances_[row.key] = batch[i].id;
    }
    schedules_.learn(batch, outcomes);
  }

  std::vector<InstanceKey> instance_keys() const {
    std::vector<InstanceKey> keys;
    for (int i = 0; i < 6; ++i) {
      for (const char* ns : {"", "default"}) {
        keys.push_back({Namespace{ns}, InstanceId{fmt::format("i{}", i)}});
      }
    }
    return keys;
  }
  const std::set<std::string>& run_ids() const { return run_ids_; }
  const RandomSchedules& schedules() const { return schedules_; }

 private:
  struct Known {
    std::string version;
    RunRow row;
  };

  bool chance(std::uint64_t percent) { return random_.below(100) < percent; }
  InstanceKey any_instance() {
    const auto keys = instance_keys();
    return keys[random_.below(keys.size())];
  }

  // Where the batch under way will have brought the run, if its links win.
  Known stand(const std::string& run) {
    if (const auto found = staged_.find(run); found != staged_.end()) return found->second;
    if (const auto found = known_.find(run); found != known_.end()) return found->second;
    Known fresh;
    const InstanceKey key = any_instance();
    fresh.row = run_row(run);
    fresh.row.ns = key.ns;
    fresh.row.instance_id = key.id;
    fresh.row.last_sequence = 0;
    return fresh;
  }

  void touch(Transition& transition, const std::string& run) {
    run_ids_.insert(run);
    Known known = stand(run);
    const bool starts = known.version.empty();
    CommitId seen{known.version};
    if (chance(8)) seen = CommitId{"stale"};
    if (chance(3)) seen = CommitId{};
    transition.reads.push_back({known.row.run_id, seen});
    RunRow& row = known.row;
    const std::int64_t first = row.last_sequence + 1;
    row.last_sequence += static_cast<std::int64_t>(1 + random_.below(3));
    row.history_bytes += 100;
    row.status = chance(10) ? history::RunStatus::completed : history::RunStatus::waiting;
    if (row.status == history::RunStatus::completed) row.closed_at = at(commits_);
    if (chance(30)) row.workflow_task = TaskKey{at(commits_), TaskId{run + ".w"}};
    if (chance(20)) row.answered = run + ".w#1@w";
    transition.appends.push_back(
        {row.run_id, first, row.last_sequence,
         fmt::format(R"([{{"type":"Step","text":"{}"}}])",
                     std::string(random_.below(chance(2) ? 20000 : 200), 'x'))});
    transition.runs.push_back(row);
    if (starts || chance(2)) {
      const InstanceKey key{row.ns, row.instance_id};
      transition.reads.push_back({key, chance(90) ? instances_[key] : CommitId{"stale"}});
      transition.instances.push_back(instance_row(row));
    }
    staged_[run] = {transition.id.str(), row};
  }

  // A run goes, whole; whoever still builds on it in this batch loses.
  void prune(Transition& transition, const std::string& run) {
    const auto known = known_.find(run);
    if (known == known_.end() || staged_.contains(run)) return;
    const auto& [version, row] = known->second;
    transition.reads.push_back({row.run_id, CommitId{chance(80) ? version : "stale"}});
    transition.prunes.push_back({row.run_id, {row.ns, row.instance_id}});
  }

  Transition make() {
    Transition transition;
    transition.id = CommitId{fmt::format("c{:06}", ++commits_)};
    transition.recorded_at = at(commits_);
    const auto any_run = [&] { return fmt::format("run-{:02}", random_.below(20)); };
    if (chance(5)) {
      prune(transition, any_run());
    } else if (!chance(10)) {
      const std::string run = any_run();
      touch(transition, run);
      if (const std::string other = any_run(); other != run && chance(15)) touch(transition, other);
    }
    if (chance(30)) schedules_.touch(transition, commits_);
    for (std::uint64_t i = random_.below(3); i > 0; --i) {
      Task change = task(any_run(), fmt::format("t{}", random_.below(4)),
                         at(static_cast<std::int64_t>(random_.below(5))));
      change.status = chance(30) ? engine::TaskStatus::leased : engine::TaskStatus::ready;
      change.lease_owner = change.status == engine::TaskStatus::leased ? "w" : "";
      transition.tasks.push_back(chance(40) ? engine::remove(change.key) : engine::put(change));
    }
    if (chance(10)) {
      const auto of_run = chance(50) ? std::optional{RunId{any_run()}} : std::nullopt;
      transition.intake.push_back({any_instance(), of_run, transition.recorded_at,
                                   fmt::format(R"({{"commit":"{}"}})", transition.id.view())});
    }
    return transition;
  }

  SeededRandom random_;
  RandomSchedules schedules_;
  std::int64_t commits_ = 0;
  std::map<std::string, Known> known_;
  std::map<std::string, Known> staged_;
  std::map<InstanceKey, CommitId> instances_;
  std::set<std::string> run_ids_;
};

void compare_reads(Store& expected, Store& actual, const BatchMaker& maker) {
  for (const std::string& id : maker.run_ids()) {
    const auto want = expected.load_run(RunId{id}).value();
    const auto got = actual.load_run(RunId{id}).value();
    ASSERT_EQ(want.has_value(), got.has_value()) << id;
    if (!want) continue;
    EXPECT_EQ(want->row, got->row) << id;
    EXPECT_EQ(want->commits, got->commits) << id;
    const std::int64_t middle = want->row.last_sequence / 2;
    EXPECT_EQ(expected.load_run(RunId{id}, middle).value()->commits,
              actual.load_run(RunId{id}, middle).value()->commits);
  }
  EXPECT_EQ(expected.runs_with_history({}, 1000).value(),
            actual.runs_with_history({}, 1000).value());
  EXPECT_EQ(expected.instances_with_intake({}, 1000).value(),
            actual.instances_with_intake({}, 1000).value());
  EXPECT_EQ(expected.closed_runs({.before = at(600)}).value(),
            actual.closed_runs({.before = at(600)}).value());
  for (const InstanceKey& key : maker.instance_keys()) {
    EXPECT_EQ(expected.find_instance(key).value(), actual.find_instance(key).value());
    EXPECT_EQ(expected.load_intake(key).value(), actual.load_intake(key).value());
    for (const auto& status :
         {std::optional<history::RunStatus>{}, std::optional{history::RunStatus::completed}}) {
      const RunFilter filter{.ns = key.ns, .instance_id = key.id, .status = status};
      EXPECT_EQ(expected.list_runs(filter).value(), actual.list_runs(filter).value());
    }
  }
  EXPECT_EQ(expected.list_runs({.limit = 7}).value(), actual.list_runs({.limit = 7}).value());
  for (std::int64_t second = 0; second < 6; ++second) {
    EXPECT_EQ(expected.due_tasks({}, at(second), 1000).value(),
              actual.due_tasks({}, at(second), 1000).value());
    EXPECT_EQ(expected.due_tasks(TaskKey{at(second), TaskId{"run-07.t1"}}, at(9), 3).value(),
              actual.due_tasks(TaskKey{at(second), TaskId{"run-07.t1"}}, at(9), 3).value());
  }
  maker.schedules().compare(expected, actual);
  for (const char* ns : {"", "default"}) {
    EXPECT_EQ(expected.recent_runs_of_type(Namespace{ns}, "order", at(-1)).value(),
              actual.recent_runs_of_type(Namespace{ns}, "order", at(-1)).value());
  }
}

class StoresAgree : public ::testing::TestWithParam<std::uint64_t> {};

INSTANTIATE_TEST_SUITE_P(Seeds, StoresAgree, ::testing::Range<std::uint64_t>(1, 13));

TEST_P(StoresAgree, OnRandomBatches) {
  const char* chosen = std::getenv("DW_SEED");
  const std::uint64_t seed = chosen != nullptr ? std::strtoull(chosen, nullptr, 10) : GetParam();
  SCOPED_TRACE(fmt::format("replay: DW_SEED={}", seed));
  const auto backends = all_backends();
  TemporaryDirectory directory;
  const auto reference = backends.front().open(directory.path());
  std::vector<std::unique_ptr<Store>> others;
  for (std::size_t i = 1; i < backends.size(); ++i) {
    others.push_back(backends[i].open(directory.path()));
  }
  BatchMaker maker{seed};
  int won_total = 0;
  int lost_total = 0;
  for (int round = 0; round < 100; ++round) {
    const auto batch = maker.next();
    const auto outcomes = reference->commit(batch);
    for (const auto& other : others) {
      ASSERT_EQ(other->commit(batch), outcomes) << "round " << round;
    }
    maker.learn(batch, outcomes);
    for (const auto& outcome : outcomes) {
      std::holds_alternative<Won>(outcome) ? ++won_total : ++lost_total;
    }
  }
  for (const auto& other : others) compare_reads(*reference, *other, maker);
  // A test that never loses, or never wins, compares nothing.
  EXPECT_GT(won_total, 100);
  EXPECT_GT(lost_total, 20);
  EXPECT_GT(reference->list_schedules({}).value().size(), 4u);
}

}  // namespace
}  // namespace dw::conformance
