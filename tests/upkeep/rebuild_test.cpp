// Rows are disposable: whatever is left of a store but its truth, the rest follows from it.
#include "upkeep/rebuild.hpp"
#include "engine/receipts.hpp"
#include "engine/tasks.hpp"
#include "picture.hpp"
#include "store/sqlite/sqlite_store.hpp"
#include "workload.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <spdlog/spdlog.h>
#include <stdlib.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>

namespace dw::upkeep::test {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

// The engine warns about every activity that dies, as it should; here they die by the dozen.
class Quiet : public ::testing::Environment {
 public:
  void SetUp() override { spdlog::set_level(spdlog::level::off); }
};
const auto* const quiet = ::testing::AddGlobalTestEnvironment(new Quiet);

class TemporaryStore {
 public:
  TemporaryStore() {
    std::string name = (std::filesystem::temp_directory_path() / "dw-upkeep-XXXXXX").string();
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    directory_ = name;
    store_ = sqlite::open_sqlite({.path = (directory_ / "store.db").string()}).value();
  }
  ~TemporaryStore() {
    store_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }
  store::Store& operator*() { return *store_; }

 private:
  std::filesystem::path directory_;
  std::unique_ptr<store::Store> store_;
};

RebuildReport report_of(store::Store& store, Timestamp now, const RebuildScope& scope = {}) {
  SeededRandom random{7};
  const Commit commit = [&](const store::Transition& transition) {
    return store.commit({&transition, 1}).front();
  };
  auto report = rebuild({store, commit, now, random}, scope);
  EXPECT_TRUE(report) << (report ? "" : report.error().message);
  return *std::move(report);
}
RebuildReport rebuilt(store::Store& store, Timestamp now, const RebuildScope& scope = {}) {
  auto report = report_of(store, now, scope);
  for (const auto& failure : report.failures) {
    ADD_FAILURE() << failure.id << ": " << failure.message;
  }
  return report;
}

std::int64_t changes(const RebuildReport& report) {
  return report.runs.rebuilt + report.runs.pruned + report.instances.rebuilt +
         report.tasks.rebuilt + report.tasks.pruned;
}

// ---- after random workloads, in the middle of whatever was going on

class LostRows : public ::testing::TestWithParam<int> {};

INSTANTIATE_TEST_SUITE_P(Seeds, LostRows, ::testing::Range(1, 6));

void check_rebuilt(Workload& workload, store::Store& bare) {
  copy_truth(workload.store(), bare);
  rebuilt(bare, workload.now());
  ASSERT_EQ(difference(picture_of(workload.store(), workload.now(), Unseen::asked_once_more),
                       picture_of(bare, workload.now())),
            "");
  ASSERT_EQ(difference(workload.store(), bare, workload.now()), "");
  EXPECT_EQ(changes(rebuilt(bare, workload.now(), {.prune_stale = true})), 0)
      << "there was nothing left to do";
}

// proves: E-65, E-109, E-127
TEST_P(LostRows, AllComeBackFromHistoryAsTheyWere) {
  const char* chosen = std::getenv("DW_SEED");
  const auto seed =
      chosen ? std::strtoull(chosen, nullptr, 10) : static_cast<std::uint64_t>(GetParam());
  SCOPED_TRACE(fmt::format("replay: DW_SEED={}", seed));
  Workload workload{seed};
  for (int i = 0; i < 6; ++i) {
    SCOPED_TRACE(fmt::format("look {}", i));
    workload.go_on(1 + static_cast<int>(workload.random().below(120)));
    // Nothing is lost yet: what is there is what history says.
    const auto report =
        rebuilt(workload.store(), workload.now(), {.prune_stale = true, .dry_run = true});
    ASSERT_EQ(changes(report), 0) << fmt::format("runs {} instances {} tasks {}, stale tasks {}",
                                                 report.runs.rebuilt, report.instances.rebuilt,
                                                 report.tasks.rebuilt, report.tasks.pruned);
    store::MemoryStore bare;
    ASSERT_NO_FATAL_FAILURE(check_rebuilt(workload, bare));
  }
  TemporaryStore on_disk;
  check_rebuilt(workload, *on_disk);
}

TEST_P(LostRows, WhatRunsHaveToSayToEachOtherIsSaidAgain) {
  Workload workload{static_cast<std::uint64_t>(GetParam())};
  std::set<std::string> said;
  for (int looks = 0, pieces = 0; looks < 3 && pieces < 5000; ++pieces) {
    workload.go_on(1);
    const auto intents = intents_of(workload.store());
    const auto news = [&](const store::Task& task) {
      return said.insert(task.key.id.str()).second;
    };
    if (std::ranges::count_if(intents, news) == 0) continue;
    ++looks;
    store::MemoryStore bare;
    ASSERT_NO_FATAL_FAILURE(check_rebuilt(workload, bare));
  }
  EXPECT_GE(said.size(), 3u) << "nobody had anything to say: this test sees too little";
}

// ---- one thing at a time

// A store with a hundred runs or so, all its rows in order.
class Rebuild : public ::testing::Test {
 protected:
  Rebuild() {
    workload_.go_on(400);
    copy_truth(workload_.store(), store_);
    rebuilt(store_, now_ = workload_.now());
  }
  store::RunRow some_row(bool closed) {
    const auto rows = store_.list_runs({.limit = 1000}).value();
    const auto found = std::ranges::find_if(
        rows, [&](const store::RunRow& row) { return row.closed_at.has_value() == closed; });
    EXPECT_NE(found, rows.end());
    return *found;
  }
  void write(store::Transition transition) {
    transition.id = CommitId{fmt::format("c{}", ++commits_)};
    transition.recorded_at = now_;
    ASSERT_EQ(store_.commit({&transition, 1}).front(), store::CommitOutcome{store::Won{}});
  }

  Workload workload_{4711};
  store::MemoryStore store_;
  Timestamp now_;
  int commits_ = 0;
};

TEST_F(Rebuild, ARowThatIsWrongIsFoundAndPutRight) {
  const auto before = picture_of(store_, now_);
  for (const bool closed : {false, true}) {
    store::RunRow wrong = some_row(closed);
    wrong.status = history::RunStatus::failed;
    wrong.closed_reason = "who knows";
    wrong.last_sequence += 3;
    wrong.history_bytes = 0;
    store::Transition transition;
    transition.runs = {wrong};
    write(std::move(transition));
  }
  EXPECT_NE(difference(before, picture_of(store_, now_)), "");
  EXPECT_EQ(rebuilt(store_, now_, {.missing = true}).runs_matched, 0);
  const RebuildScope drifted{.needs_rebuild = true};
  const auto report = rebuilt(store_, now_, drifted);
  EXPECT_EQ(report.runs_matched, 2);
  EXPECT_EQ(report.runs.rebuilt, 2);
  EXPECT_EQ(difference(before, picture_of(store_, now_)), "");
  EXPECT_EQ(rebuilt(store_, now_, drifted).runs_matched, 0);
}

TEST_F(Rebuild, WhatWorkersWereAnsweredIsNoMistakeAndStays) {
  store::RunRow row = some_row(true);
  row.answered = engine::with_receipt({}, "completed task 1 by w1", row.status);
  store::Transition transition;
  transition.runs = {row};
  write(std::move(transition));
  EXPECT_EQ(rebuilt(store_, now_, {.needs_rebuild = true}).runs_matched, 0);

  store::RunRow wrong = row;
  wrong.last_sequence += 3;
  transition.runs = {wrong};
  write(std::move(transition));
  EXPECT_EQ(rebuilt(store_, now_).runs.rebuilt, 1);
  EXPECT_EQ(store_.find_run(row.run_id).value()->answered, row.answered);
}

TEST_F(Rebuild, AnInstanceThatPointsAtTheWrongRunIsPutRight) {
  const auto before = picture_of(store_, now_);
  const auto row = some_row(false);
  auto instance = *store_.find_instance({row.ns, row.instance_id}).value();
  instance.current_run = RunId{"another"};
  store::Transition transition;
  transition.instances = {instance};
  write(std::move(transition));
  EXPECT_EQ(rebuilt(store_, now_).instances.rebuilt, 1);
  EXPECT_EQ(difference(before, picture_of(store_, now_)), "");
}

TEST_F(Rebuild, OnlyRunsWithoutARowIfSoAsked) {
  store::MemoryStore bare;
  copy_truth(workload_.store(), bare);
  const auto all = bare.runs_with_history({}, 1000).value();
  const auto one = rebuilt(bare, now_, {.run_ids = {all.front()}});
  EXPECT_EQ(one.runs_matched, 1);
  EXPECT_EQ(one.instances.rebuilt, 0) << "whether it is current, others know";
  const auto rest = rebuilt(bare, now_, {.missing = true});
  EXPECT_EQ(rest.runs_matched, std::ssize(all) - 1);
  EXPECT_EQ(rest.runs.rebuilt, std::ssize(all) - 1);
}

TEST_F(Rebuild, OnlyOneInstanceOrOneNamespaceIfSoAsked) {
  const auto row = some_row(true);
  const auto of_instance =
      store_.list_runs({.ns = row.ns, .instance_id = row.instance_id}).value().size();
  EXPECT_EQ(rebuilt(store_, now_, {.instance_id = row.instance_id}).runs_matched,
            static_cast<std::int64_t>(of_instance));
  const auto of_namespace =
      store_.list_runs({.ns = Namespace{"other"}, .limit = 1000}).value().size();
  EXPECT_EQ(rebuilt(store_, now_, {.ns = Namespace{"other"}}).runs_matched,
            static_cast<std::int64_t>(of_namespace));
}

TEST_F(Rebuild, WhatNoHistoryAsksForGoesOnlyIfSoAsked) {
  const auto before = picture_of(store_, now_);
  store::Transition transition;
  const auto row = some_row(true);
  store::RunRow nobody = row;
  nobody.run_id = RunId{"no-history"};
  transition.runs = {nobody};
  for (const RunId& run : {row.run_id, nobody.run_id, RunId{"unheard-of"}}) {
    engine::Task task;
    task.key = {now_, engine::task_id(run, "left-over")};
    task.type = engine::TaskType::timer;
    task.run_id = run;
    task.instance_id = row.instance_id;
    transition.tasks.push_back(engine::put(task));
  }
  write(std::move(transition));
  EXPECT_EQ(changes(rebuilt(store_, now_)), 0);
  const auto dry = rebuilt(store_, now_, {.prune_stale = true, .dry_run = true});
  EXPECT_EQ(dry.runs.pruned, 1);
  EXPECT_EQ(dry.tasks.pruned, 3);
  EXPECT_TRUE(store_.find_run(nobody.run_id).value()) << "a dry run only counts";
  EXPECT_EQ(changes(rebuilt(store_, now_, {.prune_stale = true})), 4);
  EXPECT_EQ(difference(before, picture_of(store_, now_)), "");
}

TEST_F(Rebuild, ADamagedHistoryIsReportedAndTheOthersAreRebuilt) {
  store::MemoryStore bare;
  copy_truth(workload_.store(), bare);
  store::Transition damage;
  damage.id = CommitId{"damage"};
  damage.appends = {{RunId{"broken"}, 1, 1, R"([{"type":"Nonsense"}])"}};
  ASSERT_EQ(bare.commit({&damage, 1}).front(), store::CommitOutcome{store::Won{}});
  const auto report = report_of(bare, now_, {.prune_stale = true});
  ASSERT_THAT(report.failures, SizeIs(1));
  EXPECT_EQ(report.failures[0].id, "broken");
  EXPECT_EQ(report.runs.rebuilt, std::ssize(bare.runs_with_history({}, 1000).value()) - 1);
  EXPECT_THAT(bare.load_history(RunId{"broken"}).value(), SizeIs(1)) << "history is never removed";
  const auto none = report_of(bare, now_, {.run_ids = {RunId{"nobody"}}});
  ASSERT_THAT(none.failures, SizeIs(1));
  EXPECT_EQ(none.failures[0].id, "nobody");
}

// proves: E-5
TEST_F(Rebuild, BusinessKeyAndLabelsFollowFromTheStartAlone) {
  const auto bundles = picture_of(store_, now_);
  int found = 0;
  for (const auto& [name, text] : bundles) {
    if (!name.starts_with("bundle of") || text.find("\"w-1\"") == std::string::npos) continue;
    ++found;
    // In the start event, as the run's own, and in its summary.
    for (const char* said : {R"("business_key":"order-1")", R"("shop":"south")"}) {
      const auto first = text.find(said);
      ASSERT_NE(first, std::string::npos) << text;
      const auto second = text.find(said, first + 1);
      ASSERT_NE(second, std::string::npos) << text;
      EXPECT_NE(text.find(said, second + 1), std::string::npos) << text;
    }
  }
  EXPECT_GT(found, 0);
}

}  // namespace
}  // namespace dw::upkeep::test
