#include "remote/attempt_beats.hpp"

#include <gmock/gmock.h>

namespace dw::remote {
namespace {

using namespace std::chrono_literals;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const Timestamp attempt_beats_noon = from_micros(1'770'000'000'000'000);
const AttemptId beating{"attempt-1"};
const Value halfway = Value::Map{{"current", 50}};
const Value nearly = Value::Map{{"current", 99}};

class Beats : public ::testing::Test {
 protected:
  void begin(std::optional<std::chrono::seconds> heartbeat_timeout = {}) {
    ActivityTask task;
    task.task_id = "task-1";
    task.attempt_id = beating;
    task.lease_expires_at = attempt_beats_noon + 300s;
    task.heartbeat_timeout = heartbeat_timeout;
    beats.begin(task, cancelled, attempt_beats_noon);
  }

  AttemptBeats beats;
  AttemptBeats::Flag cancelled = std::make_shared<std::atomic<bool>>(false);
};

TEST_F(Beats, PassOnASignOfLifeOnceASecond) {
  begin();
  EXPECT_FALSE(beats.alive(beating, {}, attempt_beats_noon + 500ms)) << "it was given out just now";
  const auto beat = beats.alive(beating, {}, attempt_beats_noon + 1s);
  ASSERT_TRUE(beat);
  EXPECT_EQ(beat->task_id, "task-1");
  EXPECT_EQ(beat->attempt_id, beating);
  EXPECT_FALSE(beats.heard(beating, true, attempt_beats_noon + 1s));
  EXPECT_FALSE(beats.alive(beating, {}, attempt_beats_noon + 1500ms));
  EXPECT_TRUE(beats.alive(beating, {}, attempt_beats_noon + 2s));
}

TEST_F(Beats, PassOnProgressAtOnceButOneAtATime) {
  begin();
  const auto first = beats.alive(beating, halfway, attempt_beats_noon + 1ms);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->progress, halfway);
  EXPECT_FALSE(beats.alive(beating, nearly, attempt_beats_noon + 2ms)) << "the first is under way";
  const auto next = beats.heard(beating, true, attempt_beats_noon + 3ms);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->progress, nearly);
  EXPECT_FALSE(beats.heard(beating, true, attempt_beats_noon + 4ms));
  EXPECT_FALSE(beats.alive(beating, nearly, attempt_beats_noon + 5ms)) << "which is known already";
}

TEST_F(Beats, KeepTheLeaseOfAnActivityThatSaysNothing) {
  begin();
  EXPECT_THAT(beats.due(attempt_beats_noon + 29s), IsEmpty());
  EXPECT_THAT(beats.due(attempt_beats_noon + 30s), SizeIs(1));
  EXPECT_THAT(beats.due(attempt_beats_noon + 61s), IsEmpty()) << "the first is under way";
  beats.heard(beating, true, attempt_beats_noon + 61s);
  EXPECT_THAT(beats.due(attempt_beats_noon + 62s), SizeIs(1));
}

TEST_F(Beats, LetAnActivityTimeOutThatPromisedToSpeak) {
  begin(10s);
  EXPECT_THAT(beats.due(attempt_beats_noon + 299s), IsEmpty());
}

TEST_F(Beats, KeepUpWithShortTimeouts) {
  begin(1s);
  EXPECT_TRUE(beats.alive(beating, {}, attempt_beats_noon + 334ms));
}

TEST_F(Beats, TryAgainWhatTheServerDidNotHear) {
  begin();
  ASSERT_TRUE(beats.alive(beating, halfway, attempt_beats_noon));
  beats.not_heard(beating);
  const auto again = beats.due(attempt_beats_noon + 1s);
  ASSERT_THAT(again, SizeIs(1));
  EXPECT_EQ(again[0].progress, halfway);
}

TEST_F(Beats, TellTheActivityThatNobodyWaitsForIt) {
  begin();
  ASSERT_TRUE(beats.alive(beating, halfway, attempt_beats_noon));
  beats.alive(beating, nearly, attempt_beats_noon);
  EXPECT_FALSE(beats.heard(beating, false, attempt_beats_noon)) << "and nothing more is said";
  EXPECT_TRUE(*cancelled);
}

TEST_F(Beats, ForgetAnAttemptThatHasEnded) {
  begin();
  beats.end(beating);
  EXPECT_FALSE(beats.alive(beating, halfway, attempt_beats_noon + 5s));
  EXPECT_FALSE(beats.heard(beating, false, attempt_beats_noon));
  EXPECT_THAT(beats.due(attempt_beats_noon + 300s), IsEmpty());
  EXPECT_FALSE(*cancelled);
}

TEST_F(Beats, CancelWhateverIsLeft) {
  begin();
  beats.cancel_all();
  EXPECT_TRUE(*cancelled);
}

}  // namespace
}  // namespace dw::remote
