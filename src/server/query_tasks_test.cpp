// A query waits for a worker's word: it gets one, or is told why there is none, and a worker whose
// word does not count learns why.
#include "server/query_tasks.hpp"

#include "machine/scheduler.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace dw::server {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const Namespace kitchen{"kitchen"};

class AskingWorkers : public ::testing::Test {
 protected:
  void ask(std::string queue = "orders",
           std::optional<std::weak_ptr<const void>> asker = std::nullopt) {
    queries.ask({.ns = kitchen,
                 .queue = std::move(queue),
                 .workflow_type = "order",
                 .compatibility = {},
                 .asker = std::move(asker)},
                [this](const QueryTasks::Outcome& outcome) {
                  told.push_back(outcome.result ? "answered" : outcome.reason);
                });
  }
  // The task that a worker is given now; empty when there is none.
  std::string take(const std::string& worker, std::string queue = "orders") {
    Poll asking;
    asking.ns = kitchen;
    asking.queue = std::move(queue);
    asking.kind = WorkKind::query;
    asking.types = {"order"};
    while (const auto offer = matching.take(asking)) {
      if (queries.claim(offer->task.id.str(), worker)) return offer->task.id.str();
    }
    return {};
  }
  // "status outcome" or "status reason".
  std::string complete(const std::string& task, const std::string& worker, std::int64_t nth = 1,
                       Namespace ns = kitchen) {
    Call call;
    call.ns = std::move(ns);
    call.match.captured.emplace_back("task", task);
    call.body = {{"lease_owner", worker}, {"query_task_attempt", nth}, {"result", 42}};
    const Answer answer = queries.complete(call);
    const Value body{answer.body};
    const Value* said = body.find(answer.status >= 300 ? "reason" : "outcome");
    return fmt::format("{} {}", answer.status, *said->if_string());
  }
  void pass(Duration span) {
    const Timestamp until = clock.now() + span;
    while (scheduler.step(until)) {
    }
    clock.set(until);
  }

  machine::SimClock clock{*parse_timestamp("2026-04-22T09:45:00.000000Z")};
  SeededRandom random{1};
  machine::Scheduler scheduler{clock, random, Duration{0}};
  machine::SimExecutor time{scheduler, "time"};
  Matching matching{time, clock};
  QueryTasks queries{matching, time, clock, random};
  std::vector<std::string> told;
};

TEST_F(AskingWorkers, WhatADeregisteredWorkerHoldsGoesToAnother) {
  ask();
  const auto task = take("w-1");
  queries.release(Namespace{"elsewhere"}, "w-1");
  queries.release(kitchen, "w-2");
  EXPECT_EQ(take("w-2"), "") << "they held nothing";
  queries.release(kitchen, "w-1");
  EXPECT_EQ(complete(task, "w-1"), "409 lease_expired");
  EXPECT_EQ(take("w-2"), task);
  EXPECT_EQ(complete(task, "w-2", 2), "200 completed");
  EXPECT_THAT(told, ElementsAre("answered"));
  EXPECT_EQ(take("w-2"), "") << "nothing is left on offer";
}

TEST_F(AskingWorkers, WhoTakesLongIsHeardUntilAnotherHasTakenIt) {
  ask();
  const auto slow = take("w-1");
  pass(query_second_chance);
  EXPECT_EQ(complete(slow, "w-2"), "409 lease_owner_mismatch");
  EXPECT_EQ(complete(slow, "w-1", 2), "409 query_task_attempt_mismatch");
  EXPECT_EQ(complete(slow, "w-1"), "200 completed");
  EXPECT_EQ(take("w-2"), "") << "it has its answer";

  ask();
  const auto lost = take("w-1");
  pass(query_second_chance);
  EXPECT_EQ(take("w-2"), lost);
  EXPECT_EQ(complete(lost, "w-1"), "409 lease_owner_mismatch");
  EXPECT_EQ(complete(lost, "w-2", 2), "200 completed");
  EXPECT_THAT(told, ElementsAre("answered", "answered"));
}

TEST_F(AskingWorkers, WhoeverAnswersTooLateLearnsForAWhileThatTheCallerGaveUp) {
  ask();
  const auto task = take("w-1");
  pass(30s);
  EXPECT_THAT(told, ElementsAre("query_worker_execution_timeout"));
  EXPECT_EQ(complete(task, "w-1"), "409 query_task_timed_out");
  EXPECT_EQ(complete(task, "w-1", 1, Namespace{"elsewhere"}), "404 query_task_not_found");
  pass(given_up_for - 1s);
  EXPECT_EQ(complete(task, "w-1"), "409 query_task_timed_out");
  pass(1s);
  EXPECT_EQ(complete(task, "w-1"), "404 query_task_not_found");
}

TEST_F(AskingWorkers, AQueryWhoseCallerHungUpIsNobodysAndTakesNoRoom) {
  auto caller = std::make_shared<const int>(1);
  ask("orders", caller);
  const auto taken = take("w-1");
  EXPECT_NE(taken, "") << "it still waits";
  EXPECT_EQ(complete(taken, "w-1"), "200 completed");

  for (std::size_t i = 0; i < most_queries_per_queue; ++i) ask("orders", caller);
  told.clear();
  ask();
  EXPECT_THAT(told, ElementsAre("query_task_queue_full"));
  caller.reset();
  ask();
  EXPECT_EQ(queries.pending(kitchen, "orders"), 1u);
  EXPECT_EQ(complete(take("w-1"), "w-1"), "200 completed");
  EXPECT_EQ(take("w-1"), "");

  caller = std::make_shared<const int>(2);
  ask("orders", caller);
  caller.reset();
  EXPECT_EQ(take("w-1"), "");
  EXPECT_EQ(queries.pending(kitchen, "orders"), 0u);
}

TEST_F(AskingWorkers, OnlySoManyWhoseCallersGaveUpAreRemembered) {
  ask();
  const auto first = take("w-1");
  pass(1s);
  std::string last;
  for (std::size_t i = 0; i < most_given_up; ++i) {
    const auto queue = std::to_string(i / most_queries_per_queue);
    ask(queue);
    last = take("w-1", queue);
  }
  pass(30s);
  EXPECT_EQ(complete(last, "w-1"), "409 query_task_timed_out");
  EXPECT_EQ(complete(first, "w-1"), "404 query_task_not_found");
}

}  // namespace
}  // namespace dw::server
