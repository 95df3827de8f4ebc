// What matching had no room for is found in the task table.
#include "server/table_search.hpp"

#include "core/random.hpp"
#include "machine/scheduler.hpp"
#include "store/memory_store.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace dw::server {
namespace {

using ::testing::ElementsAre;

constexpr Timestamp nine = from_micros(1'775'000'000'000'000);

class TableSearchTest : public ::testing::Test {
 protected:
  static engine::Task workflow_task(const std::string& id) {
    engine::Task task;
    task.key = {nine, TaskId{id}};
    task.ns = Namespace{"default"};
    task.instance_id = InstanceId{"order-42"};
    task.run_id = RunId{id};
    task.queue = "orders";
    return task;
  }
  void put(std::vector<engine::Task> tasks) {
    store::Transition transition;
    transition.id = CommitId{fmt::format("commit-{}", ++commits)};
    for (engine::Task& task : tasks) transition.tasks.push_back(engine::put(std::move(task)));
    ASSERT_TRUE(std::holds_alternative<store::Won>(store.commit(std::vector{transition}).front()));
  }
  // Where it stopped, after as many as that.
  std::string look(std::size_t most, std::optional<engine::TaskKey> from = {}) {
    std::string stopped = "nowhere";
    search.look(
        {Namespace{"default"}, "orders", kind}, std::move(from), most,
        [&](std::optional<engine::TaskKey> at) { stopped = at ? at->id.str() : "the end"; });
    while (scheduler.step(nine)) {
    }
    return stopped;
  }

  machine::SimClock clock{nine};
  SeededRandom random{1};
  machine::Scheduler scheduler{clock, random, Duration::zero()};
  machine::SimExecutor reader{scheduler, "reader"};
  store::MemoryStore store;
  int commits = 0;
  WorkKind kind = WorkKind::workflow;
  std::vector<std::string> offered;
  TableSearch search{{store, reader, clock, [this](engine::Task task, std::function<void()> done) {
                        offered.push_back(task.key.id.str());
                        done();
                      }}};
};

TEST_F(TableSearchTest, FindsWhatIsReadyInItsLaneAndNothingElse) {
  auto activity = workflow_task("activity");
  activity.type = engine::TaskType::activity;
  activity.subject = "a1";
  auto elsewhere = workflow_task("elsewhere");
  elsewhere.ns = Namespace{"other"};
  auto unnamed = workflow_task("unnamed");
  unnamed.queue = "";
  auto leased = workflow_task("leased");
  leased.status = engine::TaskStatus::leased;
  auto blocked = workflow_task("blocked");
  blocked.status = engine::TaskStatus::blocked;
  auto later = workflow_task("later");
  later.key.available_at += std::chrono::seconds{1};
  auto timer = workflow_task("timer");
  timer.type = engine::TaskType::timer;
  put({activity, elsewhere, unnamed, leased, blocked, later, timer, workflow_task("ready")});
  EXPECT_EQ(look(10), "the end");
  EXPECT_THAT(offered, ElementsAre("ready"));
  kind = WorkKind::activity;
  EXPECT_EQ(look(10), "the end");
  EXPECT_THAT(offered, ElementsAre("ready", "activity"));
}

TEST_F(TableSearchTest, StopsWhenItHasFoundEnoughAndGoesOnFromThere) {
  put({workflow_task("a"), workflow_task("b"), workflow_task("c")});
  EXPECT_EQ(look(2), "b");
  EXPECT_EQ(look(2, engine::TaskKey{nine, TaskId{"b"}}), "the end");
  EXPECT_THAT(offered, ElementsAre("a", "b", "c"));
}

TEST_F(TableSearchTest, ReadsTheTableInPagesHoweverLongItIs) {
  std::vector<engine::Task> many;
  for (int i = 0; i < 1'200; ++i) many.push_back(workflow_task(fmt::format("t{:04}", i)));
  put(std::move(many));
  EXPECT_EQ(look(1'100), "t1099");
  EXPECT_EQ(offered.size(), 1'100U);
}

}  // namespace
}  // namespace dw::server
