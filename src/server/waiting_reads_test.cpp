#include "server/waiting_reads.hpp"

#include <gtest/gtest.h>

namespace dw::server {
namespace {

// Reads when it is told to.
class SlowReader final : public Executor {
 public:
  void post(Work work) override { kept_.push_back(std::move(work)); }
  void post_at(Timestamp, Work work) override { kept_.push_back(std::move(work)); }
  void read_all() {
    for (auto& work : std::exchange(kept_, {})) work();
  }

 private:
  std::vector<Work> kept_;
};

class WaitingReadsTest : public ::testing::Test {
 protected:
  void ask() {
    reads_.post(
        {}, [this](const Answer& answer) { ++answers_[answer.status]; },
        [](const Reply& reply) { reply({200}); });
  }

  SlowReader reader_;
  WaitingReads reads_{reader_};
  std::map<int, std::size_t> answers_;
};

TEST_F(WaitingReadsTest, OneTooManyIsToldToComeBackAndNobodyElse) {
  for (std::size_t i = 0; i < WaitingReads::most; ++i) ask();
  EXPECT_TRUE(answers_.empty());
  ask();
  EXPECT_EQ(answers_, (std::map<int, std::size_t>{{429, 1}}));
  reader_.read_all();
  EXPECT_EQ(answers_, (std::map<int, std::size_t>{{200, WaitingReads::most}, {429, 1}}));
}

TEST_F(WaitingReadsTest, ThereIsRoomAgainOnceTheyHaveBeenReadFor) {
  for (std::size_t i = 0; i < WaitingReads::most; ++i) ask();
  ask();
  reader_.read_all();
  answers_.clear();
  ask();
  reader_.read_all();
  EXPECT_EQ(answers_, (std::map<int, std::size_t>{{200, 1}}));
}

TEST_F(WaitingReadsTest, AReadThatThrowsEndsThatRequestAndNothingElse) {
  reads_.post(
      {}, [this](const Answer& answer) { ++answers_[answer.status]; },
      [](const Reply&) { throw std::runtime_error{"out of memory"}; });
  ask();
  reader_.read_all();
  EXPECT_EQ(answers_, (std::map<int, std::size_t>{{200, 1}, {500, 1}}));
}

TEST_F(WaitingReadsTest, WhoeverHungUpIsNotReadFor) {
  auto connection = std::make_shared<int>(0);
  Call call;
  call.client = std::weak_ptr<const void>{connection};
  bool read = false;
  reads_.post(
      call, [this](const Answer& answer) { ++answers_[answer.status]; },
      [&](const Reply&) { read = true; });
  connection.reset();
  reader_.read_all();
  EXPECT_FALSE(read);
  EXPECT_EQ(answers_, (std::map<int, std::size_t>{{503, 1}}));
}

}  // namespace
}  // namespace dw::server
