// Activities that workers elsewhere run, on simulated time.
#include "dispatch/lone_node.hpp"
#include "engine/standalone.hpp"
#include "store/derived.hpp"
#include "store/memory_store.hpp"

#include <gtest/gtest.h>

namespace dw::dispatch {
namespace {

using namespace std::chrono_literals;

// What a kill destroys.
struct Process {
  Process(machine::Scheduler& scheduler, store::Store& store, const Clock& clock,
          OfferListener& offers)
      : writer(scheduler, "writer"),
        reader(scheduler, "reader"),
        time(scheduler, "time"),
        shard(scheduler, "shard"),
        dispatch(DispatchParts{.store = store,
                               .clock = clock,
                               .writer = writer,
                               .reader = reader,
                               .time = time,
                               .activities = activities,
                               .shards = {{shard, workflows, random}},
                               .settings = {},
                               .limits = {},
                               .owner = "server",
                               .elsewhere = &offers}) {
    dispatch.begin();
  }
  ~Process() {
    for (auto* executor : {&writer, &reader, &time, &shard}) executor->clear();
  }

  machine::SimExecutor writer, reader, time, shard;
  SeededRandom random{7};
  NoWorkflows workflows;
  NoActivities activities;
  Dispatch dispatch;
};

// A disk that fills up, and is cleared.
class Disk final : public store::MemoryStore {
 public:
  std::vector<store::CommitOutcome> commit(std::span<const store::Transition> batch) override {
    if (!full) return MemoryStore::commit(batch);
    const store::Failed failed{{ErrorCode::store_full, "no space left"}};
    return std::vector<store::CommitOutcome>(batch.size(), failed);
  }
  bool full = false;
};

class RemoteActivity : public ::testing::Test, public OfferListener {
 protected:
  void restart() {
    process_.reset();
    process_ = std::make_unique<Process>(scheduler_, store_, clock_, *this);
  }

  Disk& disk() { return store_; }
  Offer take_offer() { return std::exchange(offered_, {}); }

  void pass(Duration time) {
    const Timestamp until = clock_.now() + time;
    while (scheduler_.step(until)) {
    }
    clock_.set(until);
  }

  // A worker's first attempt at an activity that stands alone.
  ClaimedActivity taken(history::Seconds heartbeat_timeout, std::int64_t max_attempts = 1) {
    restart();
    engine::HostedActivity hosted{"resize", *encode(Value::Array{}), {}};
    hosted.retry_policy.heartbeat_timeout = heartbeat_timeout;
    hosted.retry_policy.max_attempts = max_attempts;
    engine::StartCommand start;
    start.instance_id = InstanceId{"picture"};
    start.workflow_type = engine::standalone_type;
    start.arguments = hosted.arguments;
    start.hosted = std::move(hosted);
    process_->dispatch.start(std::move(start), [](const Result<StartReply>&) {});
    pass(0s);
    std::optional<ClaimedActivity> claimed;
    ClaimActivityJob job;
    job.activity_id = offered_.activity;
    job.owner = "w1";
    job.reply = [&](Result<std::optional<ClaimedActivity>> reply) { claimed = *reply; };
    process_->dispatch.claim_activity(offered_.run, std::move(job));
    pass(0s);
    return claimed.value();
  }

  HeartbeatAnswer beat(const ClaimedActivity& work, std::optional<Value> progress = {}) {
    HeartbeatAnswer heard;
    HeartbeatJob job;
    job.attempt_id = work.activity.attempt_id;
    job.progress = std::move(progress);
    job.task = work.task;
    job.owner = "w1";
    job.answer = [&](Result<HeartbeatAnswer> answer) { heard = *answer; };
    process_->dispatch.heartbeat(work.run, std::move(job));
    pass(0s);
    return heard;
  }

  Result<AttemptAnswer> finish(const ClaimedActivity& work) {
    return std::move(finish_at_once(work, 1).front());
  }

  // The same report, more than once before the first is durable.
  std::vector<Result<AttemptAnswer>> finish_at_once(const ClaimedActivity& work, int times) {
    std::vector<Result<AttemptAnswer>> heard;
    for (int i = 0; i < times; ++i) {
      FinishActivityJob job;
      job.outcome.attempt_id = work.activity.attempt_id;
      job.outcome.outcome = *encode(Value{"done"});
      job.task = work.task;
      job.owner = "w1";
      job.answer = [&](Result<AttemptAnswer> answer) { heard.push_back(std::move(answer)); };
      process_->dispatch.finish_activity(work.run, std::move(job));
    }
    pass(0s);
    if (heard.empty()) heard.emplace_back(Error{ErrorCode::internal, "no answer"});
    return heard;
  }

  // "recorded", with ", retried" where it will be tried again, or why not.
  std::string report(const ClaimedActivity& work, bool failed, std::string owner = "w1",
                     std::string task = {}) {
    std::string told;
    FinishActivityJob job;
    job.outcome.attempt_id = work.activity.attempt_id;
    job.outcome.outcome = *encode(Value{"done"});
    if (failed) job.outcome.outcome = history::Failure{"Declined", {}, "no money"};
    job.task = task.empty() ? work.task : TaskId{std::move(task)};
    job.owner = std::move(owner);
    job.answer = [&](Result<AttemptAnswer> answer) {
      told = !answer->recorded ? answer->reason
             : answer->retried ? "recorded, retried"
                               : "recorded";
    };
    process_->dispatch.finish_activity(work.run, std::move(job));
    pass(0s);
    return told;
  }

  std::size_t recorded_beats(const ClaimedActivity& work) {
    const auto loaded = store_.load_run(work.run.run_id, 0).value();
    const auto events = store::events_of(loaded->commits).value();
    std::size_t beats = 0;
    for (const auto& event : events) {
      beats += std::holds_alternative<history::ActivityHeartbeatRecorded>(event.body);
    }
    return beats;
  }

 private:
  void offered(Offer offer) override { offered_ = std::move(offer); }

  machine::SimClock clock_{from_micros(1'770'000'000'000'000)};
  SeededRandom random_{1};
  machine::Scheduler scheduler_{clock_, random_, Duration::zero()};
  Disk store_;
  Offer offered_;
  std::unique_ptr<Process> process_;
};

TEST_F(RemoteActivity, IsNotTimedOutForHeartbeatsThatOnlyTheProcessBeforeHasHeard) {
  const auto work = taken(20);
  pass(15s);
  EXPECT_TRUE(beat(work).recorded);
  EXPECT_EQ(recorded_beats(work), 0u) << "the lease is renewed in memory";
  restart();
  pass(15s);
  EXPECT_TRUE(beat(work).recorded);
  pass(21s);
  EXPECT_FALSE(beat(work).recorded) << "silence counts as before";
}

TEST_F(RemoteActivity, WhoeverReportsToAFullStoreIsToldAndMayReportAgain) {
  const auto work = taken(3600);
  disk().full = true;
  for (int i = 0; i < 3; ++i) {
    const auto answer = finish(work);
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, ErrorCode::store_full);
  }
  disk().full = false;
  const auto answer = finish(work);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_TRUE(answer->recorded);
}

TEST_F(RemoteActivity, WhoseResultAFullStoreCouldNotTakeIsGivenOutAgain) {
  const auto work = taken(3600);
  disk().full = true;
  // Its worker is impatient: the second comes while the first is on its way to the disk.
  const auto answers = finish_at_once(work, 2);
  EXPECT_EQ(answers.size(), 2u);
  for (const auto& answer : answers) EXPECT_FALSE(answer);
  disk().full = false;
  take_offer();
  pass(299s);
  EXPECT_EQ(take_offer().activity, ActivityId{});
  pass(6s);
  EXPECT_EQ(take_offer().activity, work.activity.id) << "its worker has not come back in time";
}

TEST_F(RemoteActivity, IsAnsweredAgainOnlyToWhoeverReported) {
  const auto work = taken(3600);
  EXPECT_EQ(report(work, false), "recorded");
  EXPECT_EQ(report(work, false), "recorded");
  EXPECT_EQ(report(work, false, "w2"), "lease_owner_mismatch");
  EXPECT_EQ(report(work, false, "w1", work.run.run_id.str() + ".other"), "task_not_found");
  EXPECT_EQ(report(work, true), "run_closed");
}

TEST_F(RemoteActivity, ThatIsTriedAgainAfterItsReportIsToldSoEachTime) {
  const auto work = taken(3600, 2);
  EXPECT_EQ(report(work, true), "recorded, retried");
  EXPECT_EQ(report(work, true), "recorded, retried");
  EXPECT_EQ(report(work, false), "stale_attempt");
}

TEST_F(RemoteActivity, ThatTimedOutBeforeItsReportHasNotHeardIt) {
  const auto work = taken(20, 2);
  pass(30s);
  EXPECT_EQ(report(work, true), "stale_attempt");
  EXPECT_EQ(report(work, false), "stale_attempt");
}

TEST_F(RemoteActivity, IsRecordedSoonerOnlyWhenItGotOn) {
  const auto work = taken(60);
  const auto beats_after = [&](std::int64_t current) {
    pass(6s);
    EXPECT_TRUE(beat(work, Value::Map{{"current", current}}).recorded);
    return recorded_beats(work);
  };
  EXPECT_EQ(beats_after(1), 1u);
  EXPECT_EQ(beats_after(1), 1u);
  EXPECT_EQ(beats_after(2), 2u);
}

}  // namespace
}  // namespace dw::dispatch
