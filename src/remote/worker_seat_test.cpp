#include "remote/worker_seat.hpp"

#include "engine/command_codec.hpp"
#include "history/codec.hpp"
#include "history/event_builders.hpp"

#include <gmock/gmock.h>

#include <map>
#include <set>

namespace dw::remote {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const Timestamp worker_seat_noon = from_micros(1'770'000'000'000'000);
const RunId run_a{"run-a"}, run_b{"run-b"};

// Code that writes down what it is shown, and does what the test says.
class PlayedHost final : public dispatch::WorkflowHost {
 public:
  bool knows(std::string_view) const override { return true; }
  bool warm(const RunId& run) const override { return suspended.contains(run); }
  engine::Progress run(const RunId& run, std::span<const history::Event> events,
                       Timestamp) override {
    suspended.insert(run);
    see(run, events);
    if (throws) throw std::runtime_error{"out of stacks"};
    return next;
  }
  Result<Payload> query_warm(const RunId& run, std::span<const history::Event> unseen,
                             std::string_view, const Payload&) override {
    see(run, unseen);
    return answer;
  }
  Result<Payload> query_replayed(const RunId&, std::span<const history::Event> history,
                                 std::string_view, const Payload&) override {
    replayed = history.size();
    return answer;
  }
  void forget(const RunId& run) override {
    suspended.erase(run);
    seen.erase(run);
  }
  std::size_t bytes_per_run() const override { return 0; }

  engine::Progress next = {};
  bool throws = false;
  Result<Payload> answer = Payload{"json", "7"};
  std::size_t replayed = 0;
  std::set<RunId> suspended;
  std::map<RunId, std::vector<std::int64_t>> seen;  // sequences, since the code was begun

 private:
  void see(const RunId& run, std::span<const history::Event> events) {
    for (const auto& event : events) seen[run].push_back(event.sequence);
  }
};

HistoryPiece piece(std::int64_t first, std::size_t count) {
  std::vector<history::EventBody> events(count, history::SideEffectRecorded{1, {"json", "1"}});
  HistoryPiece made{first, worker_seat_noon, {}};
  history::append_events(made.events, events);
  return made;
}

class WorkerSeat : public ::testing::Test {
 protected:
  static WorkflowTask task(const RunId& run, std::vector<HistoryPiece> history) {
    return {"task", 1, run, worker_seat_noon, std::move(history)};
  }
  static QueryTask query(const RunId& run, std::vector<HistoryPiece> history) {
    return {"query", 1, run, "balance", {"json", "[]"}, std::move(history)};
  }
  const WorkflowReport& last_report() const { return std::get<WorkflowReport>(reports.back()); }
  void confirm(bool recorded = true) {
    seat.settle({last_report().run_id, last_report().serial, {recorded}});
  }

  PlayedHost host;
  std::vector<Report> reports;
  std::vector<WorkflowTask> wanting_history;
  Seat seat{host,
            2,
            {[this](Report report) { reports.push_back(std::move(report)); },
             [this](WorkflowTask task) { wanting_history.push_back(std::move(task)); },
             [this] { return now; }}};
  Timestamp now = worker_seat_noon + std::chrono::hours{3};  // clocks differ

  // Code that waits for one activity, which was given to this worker.
  void waits_for_activity() {
    seat.take(task(run_a, {piece(1, 2)}));
    seat.settle({run_a, last_report().serial, {.recorded = true, .news = {piece(3, 2)}}});
  }
  const ActivityReport& finish(decltype(ActivityReport::outcome) outcome = Payload{"json", "9"}) {
    seat.finished(run_a, ActivityId{"activity"},
                  {"activity-task", AttemptId{"attempt"}, std::move(outcome)});
    return std::get<ActivityReport>(reports.back());
  }
};

TEST_F(WorkerSeat, RunsCodeFromItsFirstEventAndReportsWhatItAsksFor) {
  host.next.commands = {engine::StartTimer{1, 60}};
  seat.take(task(run_a, {piece(1, 2)}));
  EXPECT_THAT(host.seen[run_a], ElementsAre(1, 2));
  ASSERT_THAT(reports, SizeIs(1));
  EXPECT_EQ(last_report().run_id, run_a);
  const auto& ran = std::get<RanCode>(last_report().outcome);
  EXPECT_EQ(ran.now, worker_seat_noon);
  EXPECT_FALSE(ran.spoiled);
  const auto commands = engine::parse_commands(ran.commands);
  ASSERT_TRUE(commands);
  EXPECT_EQ(std::get<engine::StartTimer>(commands->front()).delay_seconds, 60);
}

TEST_F(WorkerSeat, ShowsSuspendedCodeOnlyWhatItHasNotSeen) {
  seat.take(task(run_a, {piece(1, 2)}));
  confirm();
  seat.take(task(run_a, {piece(3, 1)}));
  confirm();
  seat.take(task(run_a, {piece(1, 2), piece(3, 1), piece(4, 1)}));
  EXPECT_THAT(host.seen[run_a], ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(wanting_history, IsEmpty());
}

TEST_F(WorkerSeat, RunsSuspendedCodeThoughNothingNewIsShown) {
  seat.take(task(run_a, {piece(1, 2)}));
  confirm();
  seat.take(task(run_a, {}));
  EXPECT_THAT(reports, SizeIs(2));
}

TEST_F(WorkerSeat, AsksForAllHistoryWhenTheCodeIsNotHere) {
  seat.take(task(run_a, {piece(3, 1)}));
  ASSERT_THAT(wanting_history, SizeIs(1));
  EXPECT_THAT(reports, IsEmpty());
  seat.take_whole(wanting_history.front(), std::vector{piece(1, 2), piece(3, 1)});
  EXPECT_THAT(host.seen[run_a], ElementsAre(1, 2, 3));
  EXPECT_THAT(reports, SizeIs(1));
}

TEST_F(WorkerSeat, AsksForAllHistoryWhenEventsAreMissingInBetween) {
  seat.take(task(run_a, {piece(1, 2)}));
  confirm();
  seat.take(task(run_a, {piece(4, 1)}));
  EXPECT_THAT(wanting_history, SizeIs(1));
  EXPECT_THAT(host.suspended, IsEmpty());
}

TEST_F(WorkerSeat, SaysThatItCouldNotRunWhatItHasNoHistoryOf) {
  seat.take_whole(task(run_a, {}), Error{ErrorCode::unavailable, "nobody there"});
  EXPECT_EQ(std::get<CouldNotRun>(last_report().outcome).message, "nobody there");
  seat.take_whole(task(run_a, {}), std::vector<HistoryPiece>{});
  EXPECT_TRUE(std::holds_alternative<CouldNotRun>(last_report().outcome));
  seat.take(task(run_a, {piece(1, 2), piece(4, 1)}));
  EXPECT_TRUE(std::holds_alternative<CouldNotRun>(last_report().outcome));
  seat.take(task(run_a, {{1, worker_seat_noon, "[{"}}));
  EXPECT_TRUE(std::holds_alternative<CouldNotRun>(last_report().outcome));
  EXPECT_THAT(host.suspended, IsEmpty());
}

// The report may never have arrived: then history goes on without what the code has done.
TEST_F(WorkerSeat, BeginsAnewWithCodeWhoseReportNobodyConfirmed) {
  seat.take(task(run_a, {piece(1, 2)}));
  seat.take(task(run_a, {piece(1, 2)}));
  EXPECT_THAT(host.seen[run_a], ElementsAre(1, 2)) << "once, by new code";
  EXPECT_THAT(reports, SizeIs(2));
  seat.take(task(run_a, {piece(3, 1)}));
  EXPECT_THAT(wanting_history, SizeIs(1));
}

TEST_F(WorkerSeat, DropsCodeWhoseReportWasNotRecorded) {
  seat.take(task(run_a, {piece(1, 2)}));
  confirm(false);
  EXPECT_THAT(host.suspended, IsEmpty());
}

TEST_F(WorkerSeat, IgnoresWhatIsSaidOfAnEarlierReport) {
  seat.take(task(run_a, {piece(1, 2)}));
  const Settled refused{run_a, last_report().serial, {false, "workflow_task_attempt_mismatch"}};
  seat.take(task(run_a, {piece(1, 2)}));
  seat.settle(refused);
  EXPECT_THAT(host.suspended, ElementsAre(run_a));
  confirm();
  seat.take(task(run_a, {piece(3, 1)}));
  EXPECT_THAT(host.seen[run_a], ElementsAre(1, 2, 3));
}

TEST_F(WorkerSeat, KeepsNoCodeOfARunThatEnds) {
  host.next.commands = {engine::CompleteWorkflow{{"json", "1"}}};
  seat.take(task(run_a, {piece(1, 2)}));
  EXPECT_THAT(host.suspended, IsEmpty());
  EXPECT_EQ(seat.warm(), 0u);
}

TEST_F(WorkerSeat, KeepsNoCodeThatIsNotWhatHistorySays) {
  host.next.spoiled = true;
  seat.take(task(run_a, {piece(1, 2)}));
  EXPECT_TRUE(std::get<RanCode>(last_report().outcome).spoiled);
  EXPECT_THAT(host.suspended, IsEmpty());
}

TEST_F(WorkerSeat, ReportsWhyCodeAndHistoryDoNotFit) {
  host.next.blocked = engine::Blocked{"history_shape_mismatch", 3, "timer", {"activity"}, "no"};
  seat.take(task(run_a, {piece(1, 2)}));
  EXPECT_EQ(std::get<engine::Blocked>(last_report().outcome), *host.next.blocked);
  EXPECT_THAT(host.suspended, IsEmpty());
}

TEST_F(WorkerSeat, SurvivesAWorkerThatCannotRunIt) {
  host.throws = true;
  seat.take(task(run_a, {piece(1, 2)}));
  EXPECT_THAT(std::get<CouldNotRun>(last_report().outcome).message,
              ::testing::HasSubstr("out of stacks"));
  EXPECT_THAT(host.suspended, IsEmpty());
}

TEST_F(WorkerSeat, DropsTheCodeThatWasUsedLongestAgo) {
  seat.take(task(run_a, {piece(1, 1)}));
  seat.take(task(run_b, {piece(1, 1)}));
  confirm();
  seat.settle({run_a, 1, {true}});
  seat.take(task(run_a, {piece(2, 1)}));
  seat.take(task(RunId{"run-c"}, {piece(1, 1)}));
  EXPECT_THAT(host.suspended, ElementsAre(run_a, RunId{"run-c"}));
  seat.forget_all();
  EXPECT_THAT(host.suspended, IsEmpty());
}

// ---- going ahead

TEST_F(WorkerSeat, LetsCodeGoOnWithAResultAndReportsBoth) {
  waits_for_activity();
  now += std::chrono::milliseconds{250};
  host.next.commands = {engine::StartTimer{2, 60}};
  const auto& ahead = finish().ahead;
  EXPECT_THAT(host.seen[run_a], ElementsAre(1, 2, 3, 4, 5)) << "its result last";
  ASSERT_TRUE(ahead);
  EXPECT_EQ(ahead->seen, 4);
  EXPECT_EQ(ahead->now, worker_seat_noon + std::chrono::milliseconds{250}) << "the server's clock";
  EXPECT_EQ(engine::parse_commands(ahead->commands)->size(), 1u);

  seat.settle({run_a, ahead->serial, {.recorded = true, .news = {piece(5, 3)}}});
  EXPECT_EQ(finish().ahead->seen, 7) << "and so on, from one activity to the next";
}

TEST_F(WorkerSeat, DropsCodeThatWentAheadInVain) {
  waits_for_activity();
  const auto serial = finish().ahead->serial;
  seat.settle({run_a, serial, {.recorded = false}});
  EXPECT_THAT(host.suspended, IsEmpty());
}

TEST_F(WorkerSeat, LeavesCodeWhereItIsWhenAnActivityFails) {
  waits_for_activity();
  EXPECT_FALSE(finish(history::Failure{"Error", {}, "no", false}).ahead);
  seat.take(task(run_a, {piece(5, 1)}));
  EXPECT_THAT(host.seen[run_a], ElementsAre(1, 2, 3, 4, 5))
      << "what it was told does not come again";
}

TEST_F(WorkerSeat, GoesAheadOnlyWhereItWasToldThatItMay) {
  seat.take(task(run_a, {piece(1, 2)}));
  confirm();
  EXPECT_FALSE(finish().ahead);
  EXPECT_THAT(host.suspended, ElementsAre(run_a));
}

TEST_F(WorkerSeat, SaysNothingForCodeThatCannotGoOn) {
  waits_for_activity();
  host.next.blocked = engine::Blocked{"history_shape_mismatch", 3, "timer", {"activity"}, "no"};
  EXPECT_FALSE(finish().ahead) << "it is asked again, once the result is recorded";
  EXPECT_THAT(host.suspended, IsEmpty());
}

TEST_F(WorkerSeat, MayEndTheRunAhead) {
  waits_for_activity();
  host.next.commands = {engine::CompleteWorkflow{{"json", "1"}}};
  EXPECT_TRUE(finish().ahead);
  EXPECT_THAT(host.suspended, IsEmpty());
}

// ---- queries

TEST_F(WorkerSeat, AsksSuspendedCodeAfterShowingItWhatIsNew) {
  seat.take(task(run_a, {piece(1, 2)}));
  confirm();
  seat.take(query(run_a, {piece(1, 2), piece(3, 1)}));
  EXPECT_THAT(host.seen[run_a], ElementsAre(1, 2, 3));
  EXPECT_EQ(std::get<Payload>(std::get<QueryReport>(reports.back()).outcome), *host.answer);
  seat.take(task(run_a, {piece(3, 1), piece(4, 1)}));
  EXPECT_THAT(host.seen[run_a], ElementsAre(1, 2, 3, 4));
}

TEST_F(WorkerSeat, ReplaysARunToAskItWhenItsCodeIsNotHereOrNotConfirmed) {
  seat.take(query(run_b, {piece(1, 5)}));
  EXPECT_EQ(host.replayed, 5u);
  seat.take(task(run_a, {piece(1, 2)}));
  seat.take(query(run_a, {piece(1, 3)}));
  EXPECT_EQ(host.replayed, 3u);
}

TEST_F(WorkerSeat, SaysWhyAQueryHasNoAnswer) {
  const auto reason_for = [&](ErrorCode code) {
    host.answer = Error{code, "why"};
    seat.take(query(run_a, {piece(1, 2)}));
    const auto& refusal = std::get<QueryRefusal>(std::get<QueryReport>(reports.back()).outcome);
    EXPECT_EQ(refusal.message, "why");
    return refusal.reason;
  };
  EXPECT_EQ(reason_for(ErrorCode::unknown_query), "rejected_unknown_query");
  EXPECT_EQ(reason_for(ErrorCode::conversion_failed), "invalid_query_arguments");
  EXPECT_EQ(reason_for(ErrorCode::query_failed), "query_rejected");
}

}  // namespace
}  // namespace dw::remote
