// An update waits for its validator's word: it gets one, or is told why there is none, and a word
// that comes too late changes nothing.
#include "server/update_validation.hpp"

#include "machine/scheduler.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace dw::server {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const Namespace shop_floor{"floor"};

class AskingValidators : public ::testing::Test {
 protected:
  AskingValidators() {
    enlist("w-1");
    enlist("w-2");
  }
  void enlist(const std::string& id) {
    Call call;
    call.ns = shop_floor;
    call.body = {{"worker_id", id}, {"task_queue", "orders"}, {"runtime", "python"}};
    EXPECT_EQ(workers.register_worker(call, id).status, 201);
  }
  void leave(const std::string& id) {
    Call call;
    call.ns = shop_floor;
    call.match.captured.emplace_back("worker", id);
    EXPECT_EQ(workers.remove(call).status, 200);
    validations.release(shop_floor, id);
  }

  // What its caller is told is noted under that name.
  void ask(const std::string& caller, std::string request, Value::Array arguments = {"ada"},
           std::string update = "rename") {
    ValidationQuestion question;
    question.target = {shop_floor, "orders", "order", {}, std::move(update)};
    question.workflow_id = "order-1";
    question.run_id = "run-1";
    question.last_sequence = last_sequence;
    question.request_id = std::move(request);
    question.arguments = *encode(Value{std::move(arguments)});
    question.task = {{"task_kind", "update_validation"}, {"workflow_id", "order-1"}};
    question.history = R"([{"sequence":1}])";
    validations.ask(std::move(question), [this, caller](const UpdateValidations::Verdict& no) {
      told.push_back(no ? fmt::format("{}: {} {}{}", caller, no->status, no->reason,
                                      no->retryable ? " (retryable)" : "")
                        : fmt::format("{}: approved", caller));
      last = no.value_or(ValidationRefusal{});
      EXPECT_EQ(last.message.empty(), !no) << "a refusal says what is wrong";
    });
  }
  void ask(const std::string& caller) { ask(caller, "r-1"); }

  // The task that a worker is given now; empty when there is none.
  std::string take(const std::string& worker) {
    Poll poll;
    poll.ns = shop_floor;
    poll.queue = "orders";
    poll.kind = WorkKind::update_validation;
    poll.types = {validator_key("order", "rename")};
    while (const auto offer = matching.take(poll)) {
      const auto answer = validations.claim(offer->task.id.str(), worker);
      if (!answer) continue;
      given = *parse_json(answer->written.at(0).second);
      return offer->task.id.str();
    }
    return {};
  }
  std::int64_t attempt() const { return *given.find("update_validation_attempt")->if_integer(); }

  static Call report(const std::string& task, const std::string& worker, std::int64_t attempt) {
    Call call;
    call.ns = shop_floor;
    call.match.captured.emplace_back("task", task);
    call.body = {{"lease_owner", worker}, {"update_validation_attempt", attempt}};
    return call;
  }
  // "status outcome" or "status reason".
  static std::string said(const Answer& answer) {
    const Value body{answer.body};
    const Value* reason = body.find("reason");
    const bool refused = answer.status >= 300;
    const auto& text = refused ? reason : body.find("outcome");
    return fmt::format("{} {}", answer.status, *text->if_string());
  }
  std::string approve(const std::string& task, const std::string& worker, std::int64_t nth = 1) {
    return said(validations.approve(report(task, worker, nth)));
  }
  Answer reject(const std::string& task, const std::string& failure,
                const std::string& worker = "w-1") {
    Call call = report(task, worker, 1);
    call.body.emplace_back("failure", *parse_json(failure));
    return validations.reject(call);
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
  Workers workers{clock};
  UpdateValidations validations{matching, workers, time, clock, random};
  std::int64_t last_sequence = 2;
  std::vector<std::string> told;
  ValidationRefusal last;
  Value given;
};

// ---- verdicts

TEST_F(AskingValidators, AnApprovedUpdateMayGoOn) {
  ask("ada");
  const auto task = take("w-1");
  EXPECT_THAT(told, IsEmpty());
  EXPECT_EQ(to_json(given),
            fmt::format(R"({{"task_kind":"update_validation","workflow_id":"order-1",)"
                        R"("update_validation_task_id":"{}","update_validation_attempt":1,)"
                        R"("lease_owner":"w-1","lease_expires_at":"2026-04-22T09:45:10.000000Z",)"
                        R"("history_events":[{{"sequence":1}}]}})",
                        task));
  EXPECT_EQ(approve(task, "w-1"), "200 approved");
  EXPECT_THAT(told, ElementsAre("ada: approved"));
}

TEST_F(AskingValidators, ARejectedOneComesBackWithTheValidatorsWords) {
  ask("ada");
  EXPECT_EQ(said(reject(take("w-1"), R"({"message":"no such name","type":"ValueError",
                                         "stack_trace":"at line 3",
                                         "validation_errors":{"name":["unknown"]}})")),
            "200 rejected");
  EXPECT_THAT(told, ElementsAre("ada: 422 update_validator_rejected"));
  EXPECT_EQ(last.message, "no such name");
  EXPECT_EQ(to_json(Value{last.more}),
            R"({"failure_type":"ValueError","validation_errors":{"name":["unknown"]}})");
}

TEST_F(AskingValidators, AValidatorThatCouldNotRunIsNoRejection) {
  ask("ada");
  EXPECT_EQ(said(reject(take("w-1"), R"({"message":"replay failed",
                                         "reason":"update_validation_worker_failed"})")),
            "200 failed");
  EXPECT_THAT(told, ElementsAre("ada: 409 update_validation_worker_failed"));
}

TEST_F(AskingValidators, AVerdictThatCannotBeReadLeavesTheTaskOpen) {
  ask("ada");
  const auto task = take("w-1");
  EXPECT_EQ(said(reject(task, "3")), "422 validation_failed");
  EXPECT_EQ(said(reject(task, "{}")), "422 validation_failed") << "no message";
  EXPECT_EQ(said(reject(task, R"({"message":"no","reason":"because"})")), "422 validation_failed");
  EXPECT_EQ(approve(task, "", 1), "422 validation_failed");
  EXPECT_EQ(approve(task, "w-1", 0), "422 validation_failed");
  EXPECT_THAT(told, IsEmpty());
  EXPECT_EQ(approve(task, "w-1"), "200 approved");
}

// ---- who may speak

TEST_F(AskingValidators, AWordAboutNothingIsNotHeard) {
  EXPECT_EQ(approve("01J", "w-1"), "404 update_validation_task_not_found");
  ask("ada");
  const auto task = take("w-1");
  Call elsewhere = report(task, "w-1", 1);
  elsewhere.ns = Namespace{"other"};
  EXPECT_EQ(said(validations.approve(elsewhere)), "404 update_validation_task_not_found");
  EXPECT_EQ(approve(task, "w-1"), "200 approved");
  EXPECT_EQ(said(validations.approve(elsewhere)), "404 update_validation_task_not_found");
}

TEST_F(AskingValidators, NobodySpeaksBeforeItIsTaken) {
  ask("ada");
  Poll poll;
  poll.ns = shop_floor;
  poll.queue = "orders";
  poll.kind = WorkKind::update_validation;
  poll.types = {validator_key("order", "rename")};
  const auto offer = matching.take(poll);
  ASSERT_TRUE(offer);
  EXPECT_EQ(approve(offer->task.id.str(), "w-1"), "409 update_validation_task_not_leased");
}

TEST_F(AskingValidators, TheSameWordTwiceIsHeardOnce) {
  ask("ada");
  const auto task = take("w-1");
  EXPECT_EQ(approve(task, "w-1"), "200 approved");
  EXPECT_EQ(approve(task, "w-1"), "409 duplicate_update_validation_completion");
  EXPECT_EQ(said(reject(task, R"({"message":"no"})")),
            "409 duplicate_update_validation_completion");
  EXPECT_EQ(approve(task, "w-2"), "409 stale_update_validation_completion");
  EXPECT_EQ(told.size(), 1u);
  pass(2min);
  EXPECT_EQ(approve(task, "w-1"), "404 update_validation_task_not_found") << "long ago";
}

TEST_F(AskingValidators, AnotherWorkerOrAnotherAttemptIsStale) {
  ask("ada");
  const auto task = take("w-1");
  EXPECT_EQ(approve(task, "w-2"), "409 stale_update_validation_completion");
  EXPECT_EQ(approve(task, "w-1", 2), "409 stale_update_validation_completion");
  EXPECT_EQ(approve(task, "w-1"), "200 approved");
}

TEST_F(AskingValidators, ALeaseThatRanOutIsOverAndTheNextOneCounts) {
  ask("ada");
  const auto task = take("w-1");
  EXPECT_EQ(take("w-2"), "") << "it is with w-1";
  pass(validation_lease);
  EXPECT_EQ(approve(task, "w-1"), "409 update_validation_lease_expired");
  EXPECT_EQ(take("w-2"), task);
  EXPECT_EQ(attempt(), 2);
  EXPECT_EQ(approve(task, "w-1"), "409 stale_update_validation_completion");
  EXPECT_EQ(approve(task, "w-2", 2), "200 approved");
  EXPECT_THAT(told, ElementsAre("ada: approved"));
}

TEST_F(AskingValidators, WhatADeregisteredWorkerHoldsGoesToAnother) {
  ask("ada");
  const auto task = take("w-1");
  leave("w-1");
  EXPECT_EQ(approve(task, "w-1"), "409 update_validator_worker_lost");
  EXPECT_EQ(take("w-2"), task);
  EXPECT_EQ(approve(task, "w-2", 2), "200 approved");
  EXPECT_EQ(take("w-2"), "") << "nothing is left on offer";
}

// ---- callers whose patience ends

TEST_F(AskingValidators, NobodyTakesIt) {
  ask("ada");
  pass(validation_patience);
  EXPECT_THAT(told, ElementsAre("ada: 504 update_validation_task_not_claimed (retryable)"));
  EXPECT_EQ(take("w-1"), "");
}

TEST_F(AskingValidators, WhoeverTookItDoesNotAnswer) {
  ask("ada");
  const auto task = take("w-1");
  pass(validation_lease);
  EXPECT_EQ(take("w-2"), task);
  pass(validation_lease);
  EXPECT_THAT(told, ElementsAre("ada: 504 update_validation_execution_timeout (retryable)"));
  EXPECT_EQ(approve(task, "w-2", 2), "409 duplicate_update_validation_completion");
  EXPECT_EQ(take("w-1"), "");
}

TEST_F(AskingValidators, WhoeverTookItIsGone) {
  ask("ada");
  const auto task = take("w-1");
  leave("w-1");
  pass(validation_patience);
  EXPECT_THAT(told, ElementsAre("ada: 409 update_validator_worker_lost (retryable)"));
  EXPECT_EQ(approve(task, "w-1"), "409 update_validator_worker_lost");
}

TEST_F(AskingValidators, TooManyAtOnceAreRefused) {
  for (std::size_t i = 0; i < most_validations_per_queue; ++i) {
    ask("first", fmt::format("r-{}", i));
  }
  EXPECT_THAT(told, IsEmpty());
  ask("ada", "one more");
  EXPECT_THAT(told, ElementsAre("ada: 409 update_validator_worker_unavailable (retryable)"));
  EXPECT_EQ(approve(take("w-1"), "w-1"), "200 approved");
  ask("ada", "one more");
  EXPECT_EQ(told.back(), "first: approved") << "there is room again";
}

// ---- the same request again

TEST_F(AskingValidators, TheSameRequestJoinsTheOneUnderWay) {
  ask("ada");
  const auto task = take("w-1");
  ask("ada again");
  EXPECT_EQ(take("w-2"), "") << "one task for both";
  EXPECT_EQ(approve(task, "w-1"), "200 approved");
  EXPECT_THAT(told, ElementsAre("ada: approved", "ada again: approved"));
}

TEST_F(AskingValidators, TheSameRequestForSomethingElseIsAConflict) {
  ask("ada");
  ask("grace", "r-1", {"grace"});
  ask("linus", "r-1", {"ada"}, "touch");
  EXPECT_THAT(told, ElementsAre("grace: 409 update_validation_idempotency_conflict",
                                "linus: 409 update_validation_idempotency_conflict"));
  EXPECT_THAT(last.message, HasSubstr("r-1"));
  EXPECT_EQ(approve(take("w-1"), "w-1"), "200 approved");
  EXPECT_EQ(told.back(), "ada: approved");
}

// Its caller may send it again before the update is in the history.
TEST_F(AskingValidators, WhatWasApprovedStaysApprovedAsLongAsTheRunStandsWhereItStood) {
  ask("ada");
  EXPECT_EQ(approve(take("w-1"), "w-1"), "200 approved");
  ask("ada again");
  EXPECT_THAT(told, ElementsAre("ada: approved", "ada again: approved"));
  EXPECT_EQ(take("w-1"), "");
  ask("grace", "r-1", {"grace"});
  EXPECT_EQ(told.back(), "grace: 409 update_validation_idempotency_conflict");
  last_sequence += 1;
  ask("ada later");
  EXPECT_NE(take("w-1"), "") << "something has happened to the run";
  EXPECT_EQ(told.size(), 3u);
}

TEST_F(AskingValidators, WhatWasApprovedIsForgottenAfterAWhile) {
  ask("ada");
  EXPECT_EQ(approve(take("w-1"), "w-1"), "200 approved");
  pass(2min);
  ask("ada much later");
  EXPECT_NE(take("w-1"), "");
}

TEST_F(AskingValidators, AfterARejectionTheSameRequestIsJudgedAnew) {
  ask("ada");
  reject(take("w-1"), R"({"message":"not yet"})");
  ask("ada");
  EXPECT_EQ(approve(take("w-1"), "w-1"), "200 approved");
  EXPECT_THAT(told, ElementsAre("ada: 422 update_validator_rejected", "ada: approved"));
}

TEST(SameArguments, AreThoseThatSayTheSame) {
  const Value list{Value::Array{"ada", 3}};
  EXPECT_TRUE(same_arguments(*encode(list), *encode(list, json_codec)));
  EXPECT_FALSE(same_arguments(*encode(list), *encode(Value{Value::Array{"ada", 4}})));
  EXPECT_FALSE(same_arguments({"unknown", "a"}, {"unknown", "b"}));
}

TEST_F(AskingValidators, NobodyIsLeftWaitingWhenTheServerStops) {
  ask("first");
  ask("second");
  const auto task = take("w-1");
  validations.stop();
  EXPECT_THAT(told, ElementsAre("first: 503 unavailable (retryable)",
                                "second: 503 unavailable (retryable)"));
  ask("third", "r-3");
  EXPECT_EQ(told.back(), "third: 503 unavailable (retryable)");
  EXPECT_EQ(validations.approve(report(task, "w-1", 1)).status, 409);
}

}  // namespace
}  // namespace dw::server
