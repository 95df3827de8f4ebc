// An event from outside becomes one request to the control plane, and the answer to it becomes one
// of three outcomes. The control plane is played by the test; that the engine does nothing twice
// under one name is its own story, told over HTTP in tests/interop/bridge_test.py.
#include "server/bridge_adapters.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace dw::server {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

class PlayedControl final : public Service {
 public:
  void serve(Call call, Reply reply) override {
    asked.push_back(std::move(call));
    reply(answer);
  }
  std::vector<Call> asked;
  Answer answer{201, {{"outcome", "started_new"}, {"run_id", "run-1"}}};
};

class AtTheBridge : public ::testing::Test {
 protected:
  Value hand_over(std::string_view event, const std::string& adapter = "stripe") {
    Call call;
    call.ns = Namespace{"shop"};
    call.match.captured = {{"adapter", adapter}};
    call.body = *parse_json(event)->if_map();
    Answer given{0};
    bridge_webhook(call, control, [&](Answer answer) { given = std::move(answer); });
    status = given.status;
    return Value{std::move(given.body)};
  }
  // "422 rejected unknown_target"
  std::string outcome(std::string_view event, const std::string& adapter = "stripe") {
    const Value body = hand_over(event, adapter);
    const Value* reason = body.find("reason");
    return fmt::format("{} {}{}", status, *body.find("outcome")->if_string(),
                       reason ? " " + *reason->if_string() : "");
  }
  std::string outcome_when(Answer answer, std::string_view event) {
    control.answer = std::move(answer);
    return outcome(event);
  }
  // What was asked of the control plane last.
  std::string body_asked() const { return to_json(Value{control.asked.back().body}); }
  std::string asked_of_target(std::string_view name) const {
    return std::string{control.asked.back().match[name]};
  }
  static std::string text(const Value& body, std::string_view key) {
    const Value* found = body.find(key);
    return !found ? "(absent)" : found->if_string() ? *found->if_string() : to_json(*found);
  }

  const std::string order = R"({"action":"start_workflow","idempotency_key":"evt-1",
      "target":{"workflow_type":"orders.fulfil","task_queue":"orders","business_key":"order-1"},
      "input":{"order_id":"order-1"},"correlation":{"provider":"stripe"}})";
  const std::string paid = R"({"action":"signal_workflow","idempotency_key":"evt-2",
      "target":{"workflow_id":"order-1","signal_name":"paid"},"input":["ada"]})";
  const std::string approve = R"({"action":"update_workflow","idempotency_key":"evt-3",
      "target":{"workflow_id":"order-1","update_name":"approve"}})";

  PlayedControl control;
  int status = 0;
};

// ---- starts

TEST_F(AtTheBridge, AnEventStartsAWorkflowThatIsNamedAfterIt) {
  const Value told = hand_over(order);
  EXPECT_EQ(status, 202);
  ASSERT_THAT(control.asked, SizeIs(1));
  EXPECT_EQ(control.asked.back().operation(), Operation::start);
  EXPECT_EQ(control.asked.back().ns.view(), "shop");
  const std::string id = bridged_workflow_id("stripe", "evt-1");
  EXPECT_THAT(id, StartsWith("bridge-stripe-"));
  EXPECT_EQ(body_asked(),
            fmt::format(R"({{"workflow_type":"orders.fulfil","workflow_id":"{}",)"
                        R"("duplicate_policy":"use-existing","task_queue":"orders",)"
                        R"("business_key":"order-1","input":{{"order_id":"order-1"}}}})",
                        id));
  EXPECT_EQ(to_json(told),
            R"({"schema":"durable-workflow.v2.bridge-adapter-outcome.contract","version":1,)"
            R"("adapter":"stripe","action":"start_workflow","accepted":true,"outcome":"accepted",)"
            R"("idempotency_key":"evt-1","target":{"workflow_type":"orders.fulfil",)"
            R"("task_queue":"orders","business_key":"order-1"},)"
            R"("correlation":{"provider":"stripe"},"run_id":"run-1",)"
            R"("control_plane_outcome":"started_new"})");
}

TEST_F(AtTheBridge, TheSameEventAgainIsADuplicateWhetherItsWorkflowRunsOrHasEnded) {
  EXPECT_EQ(outcome_when({200, {{"outcome", "returned_existing_active"}}}, order),
            "200 duplicate duplicate_start");
  EXPECT_EQ(
      outcome_when({409, {{"outcome", "rejected_duplicate"}, {"reason", "duplicate_not_allowed"}}},
                   order),
      "200 duplicate duplicate_start");
}

TEST_F(AtTheBridge, WhoeverInsistsOnANewWorkflowOfThatNameIsRefusedASecondOne) {
  const std::string named = R"({"action":"start_workflow","idempotency_key":"evt-1",
      "target":{"workflow_type":"t","workflow_id":"order-1","duplicate_policy":")";
  const Answer there{409, {{"outcome", "rejected_duplicate"}, {"reason", "duplicate_not_allowed"}}};
  EXPECT_EQ(outcome_when(there, named + R"(fail"}})"), "422 rejected instance_already_started");
  EXPECT_THAT(body_asked(), HasSubstr(R"("duplicate_policy":"fail")"));
  EXPECT_EQ(outcome_when(there, named + R"(use_existing"}})"), "200 duplicate duplicate_start");
  EXPECT_THAT(body_asked(),
              HasSubstr(R"("workflow_id":"order-1","duplicate_policy":"use-existing")"));
}

TEST_F(AtTheBridge, AnIdThatAWorkflowOfAnotherTypeHasIsNoDuplicate) {
  const Answer there{409,
                     {{"outcome", "rejected_duplicate"},
                      {"reason", "duplicate_not_allowed"},
                      {"rejection_reason", "workflow_type_mismatch"}}};
  EXPECT_EQ(outcome_when(there, order), "422 rejected instance_already_started");
}

// ---- signals and updates

TEST_F(AtTheBridge, AnEventSignalsAWorkflowUnderANameOfItsOwn) {
  control.answer = {202, {{"workflow_id", "order-1"}, {"outcome", "signal_received"}}};
  const Value told = hand_over(paid);
  EXPECT_EQ(status, 202);
  EXPECT_EQ(control.asked.back().operation(), Operation::signal);
  EXPECT_EQ(asked_of_target("workflow"), "order-1");
  EXPECT_EQ(asked_of_target("name"), "paid");
  EXPECT_EQ(body_asked(), fmt::format(R"({{"request_id":"{}","input":["ada"]}})",
                                      bridged_request_id("stripe", "evt-2", "paid")));
  EXPECT_EQ(text(told, "workflow_id"), "order-1");
  EXPECT_EQ(text(told, "control_plane_outcome"), "signal_received");
  EXPECT_EQ(text(told, "correlation"), "null");
}

TEST_F(AtTheBridge, ACommandThatTheEngineRemembersIsADuplicate) {
  for (const auto& event : {paid, approve}) {
    control.answer = {202, {{"workflow_id", "order-1"}, {"outcome", Value{}}, {"repeated", true}}};
    const Value told = hand_over(event);
    EXPECT_EQ(status, 200);
    EXPECT_EQ(text(told, "accepted"), "false");
    EXPECT_EQ(text(told, "outcome"), "duplicate");
    EXPECT_EQ(text(told, "control_plane_outcome"), "deduped_existing_command");
  }
}

TEST_F(AtTheBridge, HowAnUpdateEndedSinceIsNoReasonToRefuseItsEvent) {
  EXPECT_EQ(outcome_when({422, {{"reason", "update_failed"}, {"repeated", true}}}, approve),
            "200 duplicate");
}

TEST_F(AtTheBridge, AnUpdateIsAskedForAndNotWaitedFor) {
  control.answer = {202, {{"workflow_id", "order-1"}, {"outcome", Value{}}}};
  EXPECT_EQ(outcome(approve), "202 accepted");
  EXPECT_EQ(control.asked.back().operation(), Operation::update);
  EXPECT_EQ(body_asked(), fmt::format(R"({{"request_id":"{}"}})",
                                      bridged_request_id("stripe", "evt-3", "approve")));
}

// ---- names

TEST(BridgedNames, DifferWhereEventsDiffer) {
  EXPECT_NE(bridged_workflow_id("a", "b"), bridged_workflow_id("a", "c"));
  EXPECT_NE(bridged_workflow_id("a:b", "c"), bridged_workflow_id("a", "b:c"));
  EXPECT_NE(bridged_request_id("a", "k", "paid"), bridged_request_id("a", "k", "shipped"));
  EXPECT_NE(bridged_request_id("a", "k/x", "n"), bridged_request_id("a", "k", "x/n"));
  EXPECT_NE(bridged_request_id("a", std::string(200, 'k'), "n"),
            bridged_request_id("a", std::string(201, 'k'), "n"));
}

TEST(BridgedNames, AreShortEnoughWhateverTheyAreMadeOf) {
  const std::string adapter(128, 'a'), key(255, 'k'), name(256, 'n');
  EXPECT_LE(bridged_workflow_id(adapter, key).size(), 191u);
  EXPECT_LE(bridged_request_id(adapter, key, name).size(), 255u);
  EXPECT_LE(bridged_request_id(adapter, key.substr(0, 80), name).size(), 255u);
}

TEST(BridgedNames, ShowWhoeverReadsAHistoryWhichEventItWas) {
  EXPECT_THAT(bridged_request_id("stripe", "evt-2", "paid"), StartsWith("bridge/stripe/evt-2/"));
}

// ---- refusals

TEST_F(AtTheBridge, WhatTheEventIsNotForIsUnknown) {
  EXPECT_EQ(outcome_when({404, {{"reason", "instance_not_found"}}}, paid),
            "422 rejected unknown_target");
  const Value told = hand_over(paid);
  EXPECT_EQ(text(told, "rejection_reason"), "instance_not_found");
  EXPECT_EQ(outcome_when({404, {{"reason", "unknown_signal"}}}, paid),
            "422 rejected unknown_target");
}

TEST_F(AtTheBridge, WhatTheWorkflowDoesNotTakeIsRejectedForItsReason) {
  EXPECT_EQ(outcome_when({409, {{"reason", "run_not_active"}, {"message", "it is over"}}}, paid),
            "422 rejected run_not_active");
  EXPECT_EQ(text(hand_over(paid), "message"), "it is over");
  EXPECT_EQ(outcome_when({422, {{"reason", "invalid_signal_arguments"}}}, paid),
            "422 rejected malformed_payload");
}

TEST_F(AtTheBridge, MistakesAreNamedWhereTheEventHasThem) {
  control.answer = invalid({{"business_key", Value::Array{"is too long"}},
                            {"input.blob", Value::Array{"must be base64 text"}}});
  const Value told = hand_over(order);
  EXPECT_EQ(status, 422);
  EXPECT_EQ(text(told, "reason"), "malformed_payload");
  EXPECT_EQ(text(told, "errors"),
            R"({"target.business_key":["is too long"],"input.blob":["must be base64 text"]})");
  EXPECT_EQ(text(told, "validation_errors"), text(told, "errors"));
  control.answer = invalid({{"name", Value::Array{"is too long"}}});
  EXPECT_EQ(text(hand_over(paid), "errors"), R"({"target.signal_name":["is too long"]})");
}

TEST_F(AtTheBridge, AnEventThatMakesNoSenseReachesNobody) {
  EXPECT_EQ(outcome("{}"), "422 rejected malformed_payload");
  EXPECT_EQ(text(hand_over("{}"), "errors"),
            R"({"action":["is required"],"idempotency_key":["is required"],)"
            R"("target":["is required"]})");
  EXPECT_EQ(outcome(R"({"action":"start_workflow","idempotency_key":"k","target":"t"})"),
            "422 rejected malformed_payload");
  EXPECT_EQ(outcome(R"({"action":"signal_workflow","idempotency_key":"k","target":{}})"),
            "422 rejected malformed_payload");
  EXPECT_EQ(outcome(R"({"action":"reboot","idempotency_key":"k","target":{}})"),
            "422 rejected unsupported_action");
  EXPECT_EQ(outcome(order, "no adapter"), "422 rejected unsupported_routing");
  EXPECT_EQ(outcome(order, std::string(129, 'a')), "422 rejected unsupported_routing");
  EXPECT_THAT(control.asked, SizeIs(0));
}

TEST_F(AtTheBridge, OurOwnTroubleIsNoOutcomeSoThatTheEventComesAgain) {
  for (const int trouble : {429, 500, 503}) {
    control.answer = refusal(trouble, "unavailable", "not now");
    const Value told = hand_over(order);
    EXPECT_EQ(status, trouble);
    EXPECT_EQ(told.find("outcome"), nullptr);
    EXPECT_EQ(text(told, "reason"), "unavailable");
  }
  control.answer = refusal(409, "update_worker_unavailable", "not now", {{"retryable", true}});
  EXPECT_EQ(hand_over(approve).find("outcome"), nullptr);
  EXPECT_EQ(status, 409);
}

TEST_F(AtTheBridge, NothingIsEchoedThatNobodyHereKnows) {
  const Value told = hand_over(R"({"action":"start_workflow","idempotency_key":"k",
      "target":{"workflow_type":"t","token":"s3cret"},"input":{"card":"4242"}})");
  EXPECT_EQ(text(told, "target"), R"({"workflow_type":"t"})");
  EXPECT_THAT(to_json(told), Not(HasSubstr("4242")));
}

}  // namespace
}  // namespace dw::server
