// Which run is meant by a workflow's id, while the workflow goes on.
#include "server/run_look.hpp"

#include "store/memory_store.hpp"

#include <gmock/gmock.h>

#include <functional>

namespace dw::server {
namespace {

const store::InstanceKey order{Namespace{"default"}, InstanceId{"order"}};

// Lets something happen right behind a look at the instance.
class Interrupted final : public store::MemoryStore {
 public:
  Result<std::optional<store::InstanceRow>> find_instance(const store::InstanceKey& key) override {
    auto found = MemoryStore::find_instance(key);
    if (meanwhile) std::exchange(meanwhile, nullptr)();
    return found;
  }
  std::function<void()> meanwhile;
};

class FindRunOf : public ::testing::Test {
 protected:
  static store::RunRow run(const std::string& id, std::string closed_reason = {}) {
    store::RunRow row;
    row.run_id = RunId{id};
    row.ns = order.ns;
    row.instance_id = order.id;
    row.closed_reason = std::move(closed_reason);
    row.status =
        row.closed_reason.empty() ? history::RunStatus::pending : history::RunStatus::completed;
    return row;
  }
  void write(std::vector<store::RunRow> runs, const std::string& current) {
    store::Transition transition;
    transition.id = CommitId{"c" + std::to_string(++commits_)};
    transition.runs = std::move(runs);
    transition.instances = {{order, "order", RunId{current}, {}}};
    store.commit({&transition, 1});
  }
  std::string found(const std::optional<RunId>& named = {}) {
    const auto run = find_run_of(store, order, named).value();
    return run.loaded ? run.loaded->row.run_id.str() + " of " + run.current->str() : "none";
  }

  Interrupted store;

 private:
  int commits_ = 0;
};

TEST_F(FindRunOf, GivesTheCurrentRunOrTheOneThatIsNamed) {
  EXPECT_EQ(found(), "none");
  write({run("r1", "continued"), run("r2")}, "r2");
  EXPECT_EQ(found(), "r2 of r2");
  EXPECT_EQ(found(RunId{"r1"}), "r1 of r2");
  EXPECT_FALSE(find_run_of(store, order, RunId{"r9"}).value().loaded);
}

TEST_F(FindRunOf, ARunThatContinuesAsNewMeanwhileIsNotTakenForTheEnd) {
  write({run("r1")}, "r1");
  store.meanwhile = [&] { write({run("r1", "continued"), run("r2")}, "r2"); };
  EXPECT_EQ(found(), "r2 of r2");
  store.meanwhile = [&] { write({run("r2", "continued"), run("r3", "completed")}, "r3"); };
  EXPECT_EQ(found(), "r3 of r3") << "that is its end";
}

TEST_F(FindRunOf, OneThatGoesOnSeveralTimesIsFollowed) {
  write({run("r1")}, "r1");
  store.meanwhile = [&] {
    write({run("r1", "continued"), run("r2")}, "r2");
    store.meanwhile = [&] { write({run("r2", "continued"), run("r3")}, "r3"); };
  };
  EXPECT_EQ(found(), "r3 of r3");
}

TEST_F(FindRunOf, WhoeverNamesARunGetsThatOne) {
  write({run("r1")}, "r1");
  store.meanwhile = [&] { write({run("r1", "continued"), run("r2")}, "r2"); };
  EXPECT_EQ(found(RunId{"r1"}), "r1 of r1");
}

// What follows it went missing: better the last that is there than none, or looking for ever.
TEST_F(FindRunOf, ARunThatContinuedAsNobodyKnowsWhatIsShown) {
  write({run("r1", "continued")}, "r1");
  EXPECT_EQ(found(), "r1 of r1");
}

}  // namespace
}  // namespace dw::server
