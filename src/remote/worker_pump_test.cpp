#include "remote/worker_pump.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace dw::remote {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const Timestamp worker_pump_noon = from_micros(1'770'000'000'000'000);

WorkflowReport ran_task(std::string id, std::size_t bytes = 2) {
  return {id, 1, RunId{"run-" + id}, 7, RanCode{worker_pump_noon, std::string(bytes, '['), false}};
}
ActivityReport ran_activity(std::string id) {
  return {id, AttemptId{"attempt-" + id}, Payload{"json", "1"}};
}

std::vector<std::string> ids_in(const Exchange& exchange) {
  std::vector<std::string> ids;
  for (const Report& report : exchange.reports) {
    if (const auto* task = std::get_if<WorkflowReport>(&report)) ids.push_back(task->task_id);
    if (const auto* task = std::get_if<ActivityReport>(&report)) ids.push_back(task->task_id);
    if (const auto* task = std::get_if<QueryReport>(&report)) ids.push_back(task->query_task_id);
  }
  return ids;
}

// What a server says that has recorded everything and gives so many tasks.
ExchangeAnswer all_recorded(const Exchange& exchange, Counts gives = {}) {
  ExchangeAnswer answer;
  for (const Report& report : exchange.reports) {
    auto& verdicts = std::holds_alternative<WorkflowReport>(report)   ? answer.workflow
                     : std::holds_alternative<ActivityReport>(report) ? answer.activity
                                                                      : answer.query;
    verdicts.push_back({true});
  }
  answer.tasks.workflow.resize(static_cast<std::size_t>(gives.workflow));
  for (std::int64_t i = 0; i < gives.activity; ++i) {
    answer.tasks.activity.emplace_back().attempt_id = AttemptId{fmt::format("given-{}", i)};
  }
  answer.tasks.query.resize(static_cast<std::size_t>(gives.query));
  return answer;
}

class WorkerPump : public ::testing::Test {
 protected:
  // Everything that is to be sent by now.
  std::vector<const Exchange*> sent(Timestamp now = worker_pump_noon) {
    std::vector<const Exchange*> all;
    while (const Exchange* next = pump.next(now)) all.push_back(next);
    return all;
  }
  // A registered worker that waits for work, and the exchange in which it does.
  const Exchange* waiting_for_work() {
    pump.registered();
    const auto all = sent();
    EXPECT_THAT(all, SizeIs(1));
    return all.front();
  }
  void hold(Counts tasks) {
    const Exchange& parked = *waiting_for_work();
    EXPECT_TRUE(pump.answered(parked.id, all_recorded(parked, tasks), worker_pump_noon));
  }

  PumpLimits limits{.capacity = {8, 8, 2}, .lanes = 2, .reports_per_exchange = 3};
  Pump pump{limits};
};

TEST_F(WorkerPump, SaysNothingBeforeItIsRegistered) {
  pump.report(ran_task("t"));
  EXPECT_THAT(sent(), IsEmpty());
  EXPECT_FALSE(pump.idle());
}

TEST_F(WorkerPump, WaitsForWorkInOneRequestAtATime) {
  const Exchange& parked = *waiting_for_work();
  EXPECT_TRUE(parked.parked());
  EXPECT_EQ(parked.wait, 30s);
  EXPECT_EQ(parked.want, (Counts{4, 2, 1})) << "the rest is for what reports lead to";
  ASSERT_TRUE(pump.answered(parked.id, {}, worker_pump_noon));
  EXPECT_THAT(sent(), SizeIs(1));
}

TEST_F(WorkerPump, SendsReportsAtOnceAndThenTogether) {
  hold({8, 0, 0});
  for (const char* id : {"a", "b", "c", "d", "e", "f", "g", "h"}) pump.report(ran_task(id));
  const auto first = sent();
  ASSERT_THAT(first, SizeIs(2)) << "two lanes, which ask for all there is room for";
  EXPECT_THAT(ids_in(*first[0]), ElementsAre("a", "b", "c"));
  EXPECT_THAT(ids_in(*first[1]), ElementsAre("d", "e", "f"));
  EXPECT_EQ(first[0]->wait, 0ms);

  ASSERT_TRUE(pump.answered(first[0]->id, all_recorded(*first[0]), worker_pump_noon));
  const auto second = sent();
  ASSERT_FALSE(second.empty());
  EXPECT_THAT(ids_in(*second[0]), ElementsAre("g", "h"));
}

TEST_F(WorkerPump, NeverAsksForMoreThanItCanHold) {
  hold({6, 5, 0});
  std::int64_t workflows = 6, activities = 5;
  for (const Exchange* parked : sent()) workflows += parked->want.workflow;
  EXPECT_LE(workflows, 8);
  for (const char* id : {"a", "b", "c"}) pump.report(ran_task(id));
  for (const Exchange* reporting : sent()) {
    workflows += reporting->want.workflow - 3;  // those three are given back
    activities += reporting->want.activity;
    EXPECT_GE(reporting->want.workflow, 1) << "what its own reports lead to";
  }
  EXPECT_LE(workflows, 8);
  EXPECT_LE(activities, 8);
}

TEST_F(WorkerPump, WaitsForNothingWhileItHoldsAllItCan) {
  hold({8, 8, 2});
  EXPECT_THAT(sent(), IsEmpty());
  EXPECT_EQ(pump.free(), Counts{});
  pump.report(ran_activity("a"));
  const auto all = sent();
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0]->want, (Counts{0, 1, 0}));
}

TEST_F(WorkerPump, TellsWhatBecameOfEachReportOfWorkflowCode) {
  hold({2, 1, 0});
  pump.report(ran_task("a"));
  pump.report(ran_activity("x"));
  pump.report(ran_task("b"));
  const Exchange& exchange = *sent().front();
  ExchangeAnswer answer;
  answer.workflow = {{true}, {false, "overtaken", "a signal came"}};
  answer.activity = {{true}};
  const auto heard = pump.answered(exchange.id, answer, worker_pump_noon);
  ASSERT_TRUE(heard);
  const auto& settled = heard->settled;
  ASSERT_THAT(settled, SizeIs(2));
  EXPECT_EQ(settled[0].run_id, RunId{"run-a"});
  EXPECT_EQ(settled[0].serial, 7u);
  EXPECT_TRUE(settled[0].verdict.recorded);
  EXPECT_EQ(settled[1].run_id, RunId{"run-b"});
  EXPECT_EQ(settled[1].verdict.reason, "overtaken");
  EXPECT_EQ(pump.held(), Counts{});
}

TEST_F(WorkerPump, RepeatsWhatGotNoAnswerAfterGrowingPauses) {
  hold({1, 0, 0});
  pump.report(ran_task("a"));
  Timestamp now = worker_pump_noon;
  const Exchange* reporting = sent(now).front();
  for (const auto pause : {100ms, 200ms, 400ms, 800ms, 1600ms, 3200ms, 5000ms, 5000ms}) {
    EXPECT_THAT(ids_in(*reporting), ElementsAre("a"));
    pump.lost(reporting->id, now);
    EXPECT_THAT(sent(now), IsEmpty());
    EXPECT_EQ(pump.paused_until(), now + pause);
    now += pause;
    reporting = pump.next(now);
    ASSERT_TRUE(reporting);
    EXPECT_THAT(sent(now), IsEmpty()) << "one finds out whether it is over";
  }
  ASSERT_TRUE(pump.answered(reporting->id, all_recorded(*reporting), now));
  EXPECT_FALSE(pump.paused_until());
  EXPECT_TRUE(pump.idle());
}

TEST_F(WorkerPump, RepeatsWhatTheServerCouldNotRecordJustThen) {
  hold({2, 1, 0});
  pump.report(ran_task("a"));
  pump.report(ran_activity("x"));
  pump.report(ran_task("b"));
  Timestamp now = worker_pump_noon;
  const auto all = sent(now);
  const Exchange* exchange = all[0];
  const std::uint64_t parked = all[1]->id;
  const Verdict busy{.reason = "overloaded", .again = true};
  for (const auto pause : {100ms, 200ms}) {
    ExchangeAnswer answer = all_recorded(*exchange);
    answer.activity = {busy};
    answer.workflow.back() = busy;
    const auto others = exchange->reports.size() - 2;
    const auto heard = pump.answered(exchange->id, answer, now);
    ASSERT_TRUE(heard);
    EXPECT_THAT(heard->settled, SizeIs(others)) << "what is recorded is settled";
    EXPECT_EQ(heard->trouble, "overloaded");
    EXPECT_EQ(pump.held(), (Counts{1, 1, 0}));
    if (others > 0) {
      ASSERT_TRUE(pump.answered(parked, {}, now)) << "which says nothing about reports";
    }
    EXPECT_EQ(pump.paused_until(), now + pause);
    now += pause;
    exchange = pump.next(now);
    ASSERT_TRUE(exchange);
    EXPECT_THAT(ids_in(*exchange), ElementsAre("x", "b"));
  }
  ASSERT_TRUE(pump.answered(exchange->id, all_recorded(*exchange), now));
  EXPECT_FALSE(pump.paused_until());
  EXPECT_TRUE(pump.idle());
}

TEST_F(WorkerPump, TakesSeveralLostTogetherForOneTrouble) {
  hold({6, 0, 0});
  for (const char* id : {"a", "b", "c", "d", "e", "f"}) pump.report(ran_task(id));
  for (const Exchange* each : sent()) pump.lost(each->id, worker_pump_noon);
  EXPECT_EQ(pump.paused_until(), worker_pump_noon + 100ms);
}

TEST_F(WorkerPump, ReportsWhileAnOldRequestStillWaits) {
  hold({1, 0, 0});
  const Exchange* parked = sent().front();
  pump.report(ran_task("a"));
  const Exchange* reporting = sent().front();
  pump.lost(reporting->id, worker_pump_noon);
  const auto again = sent(worker_pump_noon + 1s);
  ASSERT_THAT(again, SizeIs(1));
  EXPECT_THAT(ids_in(*again[0]), ElementsAre("a"));
  EXPECT_NE(again[0]->id, parked->id);
}

TEST_F(WorkerPump, TakesAnAnswerAboutSomethingElseForNone) {
  hold({1, 0, 0});
  pump.report(ran_task("a"));
  const Exchange* reporting = sent().front();
  EXPECT_FALSE(pump.answered(reporting->id, {}, worker_pump_noon));
  ASSERT_FALSE(sent(worker_pump_noon + 1s).empty());
}

TEST_F(WorkerPump, KeepsItsReportsUntilItIsRegisteredAgain) {
  hold({1, 0, 0});
  pump.report(ran_task("a"));
  pump.not_registered(sent().front()->id);
  EXPECT_FALSE(pump.is_registered());
  EXPECT_THAT(sent(), IsEmpty());
  pump.registered();
  EXPECT_THAT(ids_in(*sent().front()), ElementsAre("a"));
}

TEST_F(WorkerPump, FindsTheOneReportThatTheServerDoesNotUnderstand) {
  hold({2, 0, 0});
  pump.report(ran_task("good"));
  pump.report(ran_task("bad"));
  EXPECT_FALSE(pump.not_understood(sent().front()->id, worker_pump_noon));

  auto alone = sent();
  ASSERT_THAT(ids_in(*alone[0]), ElementsAre("good"));
  ASSERT_THAT(ids_in(*alone[1]), ElementsAre("bad"));
  ASSERT_TRUE(pump.answered(alone[0]->id, all_recorded(*alone[0]), worker_pump_noon));
  EXPECT_FALSE(pump.not_understood(alone[1]->id, worker_pump_noon));

  const Exchange* shorter = sent().front();
  const auto& report = std::get<WorkflowReport>(shorter->reports.front());
  EXPECT_EQ(report.task_id, "bad");
  EXPECT_TRUE(std::holds_alternative<CouldNotRun>(report.outcome));
  EXPECT_EQ(pump.not_understood(shorter->id, worker_pump_noon), "bad") << "and then it gives up";
  EXPECT_TRUE(pump.idle());
}

TEST_F(WorkerPump, DoesNotAskInALoopForWhatIsRefused) {
  const Exchange* parked = waiting_for_work();
  EXPECT_FALSE(pump.not_understood(parked->id, worker_pump_noon));
  EXPECT_THAT(sent(), IsEmpty());
  EXPECT_THAT(sent(worker_pump_noon + 1s), SizeIs(1));
}

TEST_F(WorkerPump, KeepsRequestsBelowWhatAServerTakes) {
  hold({3, 0, 0});
  for (const char* id : {"a", "b", "c"}) pump.report(ran_task(id, 700'000));
  const auto all = sent();
  EXPECT_THAT(ids_in(*all[0]), ElementsAre("a"));
  EXPECT_THAT(ids_in(*all[1]), ElementsAre("b"));
}

TEST_F(WorkerPump, DrainsByReportingWhatItHoldsAndAskingForNothing) {
  hold({1, 1, 0});
  pump.drain();
  EXPECT_THAT(sent(), IsEmpty());
  EXPECT_FALSE(pump.idle());
  pump.report(ran_task("a"));
  pump.report(ran_activity("x"));
  const auto all = sent();
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0]->want, Counts{});
  ASSERT_TRUE(pump.answered(all[0]->id, all_recorded(*all[0]), worker_pump_noon));
  EXPECT_TRUE(pump.idle());
  EXPECT_THAT(sent(), IsEmpty());
}

// Until it is answered, what waits for work may yet bring some.
TEST_F(WorkerPump, HasWhatWaitsForWorkAnsweredBeforeItIsDrained) {
  const Exchange& parked = *waiting_for_work();
  EXPECT_TRUE(pump.idle());
  pump.drain();
  EXPECT_FALSE(pump.idle());
  const auto word = sent();
  ASSERT_THAT(word, SizeIs(1));
  EXPECT_TRUE(word[0]->draining);
  EXPECT_FALSE(word[0]->parked());
  EXPECT_EQ(word[0]->want, Counts{});
  ASSERT_TRUE(pump.answered(word[0]->id, {}, worker_pump_noon));
  EXPECT_THAT(sent(), IsEmpty()) << "once is enough";
  EXPECT_FALSE(pump.idle());

  ASSERT_TRUE(pump.answered(parked.id, all_recorded(parked, {0, 1, 0}), worker_pump_noon));
  EXPECT_FALSE(pump.idle()) << "a task that was on its way is done as well";
  pump.report(ran_activity("x"));
  const auto last = sent();
  ASSERT_THAT(last, SizeIs(1));
  ASSERT_TRUE(pump.answered(last[0]->id, all_recorded(*last[0]), worker_pump_noon));
  EXPECT_TRUE(pump.idle());
  EXPECT_THAT(sent(), IsEmpty());
}

TEST_F(WorkerPump, SaysThatItDrainsUntilItIsHeard) {
  const Exchange& parked = *waiting_for_work();
  pump.drain();
  pump.lost(sent().front()->id, worker_pump_noon);
  const auto again = sent(worker_pump_noon + 1s);
  ASSERT_THAT(again, SizeIs(1));
  EXPECT_TRUE(again[0]->draining);
  EXPECT_FALSE(pump.not_understood(again[0]->id, worker_pump_noon + 1s));
  pump.told_to_drain(parked.id, worker_pump_noon + 1s);
  EXPECT_THAT(sent(worker_pump_noon + 9s), IsEmpty()) << "nothing waits any more";
  EXPECT_TRUE(pump.idle());
}

TEST_F(WorkerPump, DrainsWhenTheServerSaysSo) {
  hold({1, 0, 0});
  pump.told_to_drain(sent().front()->id, worker_pump_noon);
  EXPECT_THAT(sent(), IsEmpty());
  pump.report(ran_task("a"));
  const Exchange* last = sent().front();
  EXPECT_EQ(last->want, Counts{});
  pump.told_to_drain(last->id, worker_pump_noon);
  EXPECT_THAT(sent(), IsEmpty()) << "it is not repeated in a loop";
  EXPECT_THAT(sent(worker_pump_noon + 1s), SizeIs(1));
}

TEST_F(WorkerPump, HoldsMoreThanItAskedForIfThatIsWhatItGot) {
  hold({12, 0, 0});
  EXPECT_EQ(pump.free().workflow, 0);
  for (const Exchange* parked : sent()) EXPECT_EQ(parked->want.workflow, 0);
}

// What the code did with a result may come to nothing, though the result itself is recorded.
TEST_F(WorkerPump, TellsWhatBecameOfCodeThatWentAhead) {
  hold({0, 2, 0});
  for (const bool went_on : {true, false}) {
    auto report = ran_activity(went_on ? "one" : "two");
    report.ahead = {RunId{"run"}, 5, 4, worker_pump_noon, "[]"};
    pump.report(std::move(report));
  }
  const auto all = sent();
  ExchangeAnswer answer = all_recorded(*all[0]);
  answer.activity[0].went_on = true;
  const auto heard = pump.answered(all[0]->id, answer, worker_pump_noon);
  ASSERT_TRUE(heard);
  ASSERT_THAT(heard->settled, SizeIs(2));
  EXPECT_TRUE(heard->settled[0].verdict.recorded);
  EXPECT_FALSE(heard->settled[1].verdict.recorded);
  EXPECT_EQ(heard->settled[0].serial, 5u);
}

// The server cannot know which of its answers were heard.
TEST_F(WorkerPump, TakesAnActivityOnceHoweverOftenItComes) {
  const Exchange& parked = *waiting_for_work();
  ExchangeAnswer answer;
  answer.tasks.activity.resize(2);
  answer.tasks.activity[0].attempt_id = AttemptId{"one"};
  answer.tasks.activity[1].attempt_id = AttemptId{"one"};
  const auto heard = pump.answered(parked.id, answer, worker_pump_noon);
  ASSERT_TRUE(heard);
  EXPECT_THAT(heard->tasks.activity, SizeIs(1));
  EXPECT_EQ(pump.held(), (Counts{0, 1, 0}));
}

}  // namespace
}  // namespace dw::remote
