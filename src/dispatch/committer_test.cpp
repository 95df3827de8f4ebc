#include "dispatch/committer.hpp"

#include "store/memory_store.hpp"

#include <gmock/gmock.h>

#include <deque>

namespace dw::dispatch {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// A thread that runs when the test says so.
class Hand final : public Executor {
 public:
  void post(Work work) override { waiting_.push_back(std::move(work)); }
  void post_at(Timestamp, Work work) override { post(std::move(work)); }
  bool alone() const override { return waiting_.empty(); }
  void step() {
    const Work work = std::move(waiting_.front());
    waiting_.pop_front();
    work();
  }
  void run() {
    while (!waiting_.empty()) step();
  }
  bool idle() const { return waiting_.empty(); }

 private:
  std::deque<Work> waiting_;
};

class Decider final : public CommitListener {
 public:
  Decider(Committer& committer, Hand& hand) : committer_(committer), hand_(hand) {}
  Executor& executor() override { return hand_; }
  void committed(std::vector<Answer> answers) override {
    std::vector<std::string> ids;
    for (const Answer& answer : answers) ids.push_back(answer.commit.str());
    told.push_back(std::move(ids));
  }
  void decides(std::vector<std::string> ids) {
    hand_.post([this, ids] {
      for (const auto& id : ids) {
        store::Transition transition;
        transition.id = CommitId{id};
        committer_.post(std::move(transition), *this);
      }
    });
  }

  std::vector<std::vector<std::string>> told;  // in the batches in which it was told

 private:
  Committer& committer_;
  Hand& hand_;
};

class CommitterTest : public ::testing::Test {
 protected:
  store::MemoryStore store_;
  Hand writer_, here_;
  Committer committer_{store_, writer_, 100};
  Decider decider_{committer_, here_};
};

TEST_F(CommitterTest, WhoeverIsAloneCommitsWhereItDecided) {
  decider_.decides({"c1"});
  here_.run();
  EXPECT_THAT(decider_.told, ElementsAre(ElementsAre("c1")));
  EXPECT_TRUE(writer_.idle());
}

TEST_F(CommitterTest, WhatOneJobDecidesSharesABatch) {
  decider_.decides({"c1", "c2", "c3"});
  here_.run();
  EXPECT_THAT(decider_.told, ElementsAre(ElementsAre("c1", "c2", "c3")));
}

TEST_F(CommitterTest, WhileMoreIsToBeDecidedTheWriterCommits) {
  decider_.decides({"c1"});
  decider_.decides({"c2"});
  here_.run();
  EXPECT_THAT(decider_.told, IsEmpty());
  writer_.run();
  here_.run();
  EXPECT_THAT(decider_.told, ElementsAre(ElementsAre("c1", "c2")));
}

TEST_F(CommitterTest, WhatCameMeanwhileIsLeftToTheWriter) {
  decider_.decides({"c1"});
  here_.step();              // would commit next
  decider_.decides({"c2"});  // but somebody waits
  here_.run();
  EXPECT_THAT(decider_.told, IsEmpty());
  writer_.run();
  here_.run();
  EXPECT_THAT(decider_.told, ElementsAre(ElementsAre("c1", "c2")));
}

TEST_F(CommitterTest, ManyAtOnceAreLeftToTheWriter) {
  decider_.decides({"c1", "c2", "c3", "c4", "c5"});
  here_.run();
  EXPECT_THAT(decider_.told, IsEmpty());
  writer_.run();
  here_.run();
  EXPECT_THAT(decider_.told, ElementsAre(ElementsAre("c1", "c2", "c3", "c4", "c5")));
}

// A lull between two large batches is no quiet time.
TEST_F(CommitterTest, AfterALargeBatchTheWriterCommitsASmallOne) {
  decider_.decides({"c1", "c2", "c3", "c4", "c5"});
  here_.run();
  writer_.run();
  here_.run();
  decider_.decides({"c6"});
  here_.run();
  EXPECT_THAT(decider_.told, SizeIs(1));
  writer_.run();
  here_.run();
  decider_.decides({"c7"});
  here_.run();
  EXPECT_THAT(decider_.told, SizeIs(3)) << "by now it is quiet";
}

TEST_F(CommitterTest, NothingIsForgottenWhateverTheOrder) {
  decider_.decides({"c1"});
  here_.run();
  decider_.decides({"c2"});
  decider_.decides({"c3"});
  here_.step();
  writer_.run();  // c2
  here_.run();
  writer_.run();
  here_.run();
  EXPECT_THAT(decider_.told, ElementsAre(ElementsAre("c1"), ElementsAre("c2"), ElementsAre("c3")));
  EXPECT_EQ(committer_.queued(), 0u);
}

}  // namespace
}  // namespace dw::dispatch
