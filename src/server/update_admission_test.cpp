// Before an update is decided on, its validator is asked, if it has one; whatever happens in
// between, nothing that was not approved goes on.
#include "server/update_admission.hpp"

#include "history/codec.hpp"
#include "history/event_builders.hpp"
#include "history/fold.hpp"
#include "machine/scheduler.hpp"
#include "store/derived.hpp"
#include "store/memory_store.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace dw::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const Namespace study{"study"};
const std::string first_run = "01J00000000000000000000001";
const std::string second_run = "01J00000000000000000000002";

class AdmittingUpdates : public ::testing::Test {
 protected:
  void enlist(std::string_view validators = R"(["rename"])") {
    Call call;
    call.ns = study;
    call.body = *parse_json(fmt::format(
                                R"({{"worker_id":"w-1","task_queue":"orders","runtime":"python",
                "supported_workflow_types":["order"],"capabilities":["update_validation_tasks"],
                "workflow_command_contracts":{{"order":{{"updates":["rename"],
                  "update_validators":{}}}}}}})",
                                validators))
                     ->if_map();
    ASSERT_EQ(workers.register_worker(call, "w-1").status, 201);
    validators_.note(*workers.find(study, "w-1"));
  }
  void leave() {
    Call call;
    call.ns = study;
    call.match.captured.emplace_back("worker", "w-1");
    workers.remove(call);
  }

  static history::WorkflowStarted started(Shared<Declarations> declared = {}) {
    history::WorkflowStarted start = story::workflow_started("order");
    start.ns = study;
    start.instance_id = InstanceId{"order-1"};
    start.queue = "orders";
    start.declared = std::move(declared);
    return start;
  }
  // The workflow's current run.
  void run(std::vector<story::Told> list, const std::string& id = first_run) {
    const auto events = story::told(std::move(list));
    std::vector<history::EventBody> bodies;
    for (const auto& event : events) bodies.push_back(event.body);
    engine::Run told;
    told.id = RunId{id};
    told.state = history::fold(events).value();
    const store::RunRow row = store::row_of(told, 0, {});
    store::Transition transition;
    transition.id = CommitId{id};
    transition.recorded_at = row.started_at;
    transition.runs = {row};
    transition.instances = {{{row.ns, row.instance_id}, row.workflow_type, row.run_id, {}}};
    std::string text;
    history::append_events(text, bodies);
    transition.appends = {{row.run_id, 1, row.last_sequence, std::move(text)}};
    store.commit({&transition, 1});
  }

  static Call about(std::string run_id = {}) {
    Call call;
    call.ns = study;
    call.match.captured.emplace_back("workflow", "order-1");
    call.match.captured.emplace_back("name", "rename");
    if (!run_id.empty()) call.match.captured.emplace_back("run", std::move(run_id));
    return call;
  }
  static engine::UpdateCommand rename(std::string request_id = "r-1",
                                      const Value& arguments = Value{Value::Array{"ada"}}) {
    engine::UpdateCommand command;
    command.name = "rename";
    command.arguments = *encode(arguments);
    command.request_id = std::move(request_id);
    command.any_name = true;
    return command;
  }
  // Notes "goes on" with the run it is meant for, or the reason why not.
  void admit(engine::UpdateCommand command, const Call& call = about()) {
    admission.admit(
        call, std::move(command),
        [this](const engine::UpdateCommand& admitted) {
          const auto& meant = admitted.requested_run;
          outcome.push_back(meant ? "goes on to " + meant->str() : "goes on");
        },
        [this](const Answer& answer) {
          last = answer;
          outcome.push_back(
              fmt::format("{} {}", answer.status, *Value{answer.body}.find("reason")->if_string()));
        });
    while (scheduler.step(clock.now())) {
    }
  }
  void admit() { admit(rename()); }

  // What the worker is shown; it then says yes or no.
  Value judge(bool yes) {
    const auto offer = matching.take(validation_poll_of(*workers.find(study, "w-1")));
    if (!offer) return {};
    const auto answer = validations.claim(offer->task.id.str(), "w-1");
    Call call;
    call.ns = study;
    call.match.captured.emplace_back("task", offer->task.id.str());
    call.body = {{"lease_owner", "w-1"},
                 {"update_validation_attempt", 1},
                 {"failure", Value::Map{{"message", "not that one"}}}};
    yes ? validations.approve(call) : validations.reject(call);
    return *parse_json(answer->written.at(0).second);
  }

  machine::SimClock clock{story::at("12:00")};
  SeededRandom random{1};
  machine::Scheduler scheduler{clock, random, Duration{0}};
  machine::SimExecutor time{scheduler, "time"};
  machine::SimExecutor reader{scheduler, "reader"};
  store::MemoryStore store;
  Matching matching{time, clock};
  Workers workers{clock};
  DeclaredValidators validators_{workers};
  UpdateValidations validations{matching, workers, time, clock, random};
  UpdateAdmission admission{{store, reader, clock, validators_, validations}};
  std::vector<std::string> outcome;
  Answer last;
};

// ---- without a validator

TEST_F(AdmittingUpdates, WithoutValidatorsNobodyIsAsked) {
  run({started()});
  enlist("[]");
  admit();
  EXPECT_THAT(outcome, ElementsAre("goes on"));
}

TEST_F(AdmittingUpdates, TheValidatorOfAnotherTypeIsNotAsked) {
  auto start = started();
  start.workflow_type = "refund";
  run({start});
  enlist();
  admit();
  EXPECT_THAT(outcome, ElementsAre("goes on"));
}

TEST_F(AdmittingUpdates, WhetherThereIsSuchAWorkflowIsForOthersToSay) {
  enlist();
  admit();
  EXPECT_THAT(outcome, ElementsAre("goes on"));
}

// ---- with one

TEST_F(AdmittingUpdates, WhatIsApprovedGoesOnToTheRunThatWasLookedAt) {
  run({started()});
  enlist();
  admit();
  EXPECT_THAT(outcome, IsEmpty());
  const Value task = judge(true);
  EXPECT_THAT(outcome, ElementsAre("goes on to " + first_run));
  EXPECT_EQ(*task.find("task_kind"), Value{"update_validation"});
  EXPECT_EQ(*task.find("run_id"), Value{first_run});
  EXPECT_EQ(*task.find("update_name"), Value{"rename"});
  EXPECT_EQ(*task.find("update_arguments"), envelope_of(*encode(Value{Value::Array{"ada"}})));
  EXPECT_EQ(task.find("history_events")->if_array()->size(), 1u);
}

TEST_F(AdmittingUpdates, WhatIsRejectedIsToldInTheValidatorsWords) {
  run({started()});
  enlist();
  admit();
  judge(false);
  EXPECT_THAT(outcome, ElementsAre("422 update_validator_rejected"));
  EXPECT_EQ(
      to_json(Value{last.body}),
      R"({"message":"not that one","reason":"update_validator_rejected",)"
      R"("workflow_id":"order-1","run_id":"01J00000000000000000000001","update_name":"rename",)"
      R"("outcome":"rejected_by_validator","rejection_reason":"update_validator_rejected",)"
      R"("retryable":false,"command_status":"rejected","update_status":"rejected"})");
}

TEST_F(AdmittingUpdates, TheValidatorSeesArgumentsAsTheyWouldBeRecorded) {
  Declarations declared;
  declared.updates = {{.name = "rename",
                       .parameters = {{{.name = "name", .type = "string"},
                                       {.name = "title", .type = "string", .default_value = ""}}}}};
  run({started(declared)});
  enlist();
  admit(rename("r-1", Value{Value::Map{{"name", "ada"}}}));
  EXPECT_EQ(*judge(true).find("update_arguments"),
            envelope_of(*encode(Value{Value::Array{"ada", ""}})));
}

TEST_F(AdmittingUpdates, WithoutAWorkerThereIsNoWayAround) {
  run({started()});
  enlist();
  leave();
  admit();
  EXPECT_THAT(outcome, ElementsAre("409 update_validator_worker_unavailable"));
  EXPECT_EQ(*Value{last.body}.find("retryable"), Value{true});
}

TEST_F(AdmittingUpdates, ARequestWithoutAnIdCouldNotBeSentAgain) {
  run({started()});
  enlist();
  admit(rename(""));
  EXPECT_THAT(outcome, ElementsAre("409 update_validation_request_id_required"));
}

// ---- what needs no verdict

TEST_F(AdmittingUpdates, WhatIsRefusedInAnyCaseIsNotValidated) {
  Declarations declared;
  declared.updates = {{.name = "rename", .parameters = {{{.name = "name", .type = "string"}}}}};
  run({started(declared)});
  enlist();
  admit(rename("r-1", Value{Value::Array{3}}));
  EXPECT_THAT(outcome, ElementsAre("goes on to " + first_run)) << "to be refused for its arguments";
  run({started(), story::workflow_completed()}, second_run);
  admit();
  EXPECT_EQ(outcome.back(), "goes on to " + second_run) << "to be refused because it is over";
  EXPECT_TRUE(judge(true).is_null());
}

TEST_F(AdmittingUpdates, AnAcceptedRequestIsAnsweredFromTheRecord) {
  auto by = story::command("c1", 1);
  by.request_id = "r-1";
  run({started(), story::update_accepted("u1", "rename", by, R"(["ada"])")});
  enlist();
  admit();
  EXPECT_THAT(outcome, ElementsAre("goes on to " + first_run));
  EXPECT_TRUE(judge(true).is_null()) << "nobody is asked twice";
  admit(rename("r-1", Value{Value::Array{"grace"}}));
  EXPECT_EQ(outcome.back(), "409 update_validation_idempotency_conflict");
  EXPECT_EQ(*Value{last.body}.find("retryable"), Value{false});
}

// An event from outside is one argument where no contract names its entries.
TEST_F(AdmittingUpdates, AnEventThatIsDeliveredAgainIsTheSameRequest) {
  auto by = story::command("c1", 1);
  by.request_id = "r-1";
  run({started(), story::update_accepted("u1", "rename", by, R"([{"name":"ada"}])")});
  enlist();
  auto event = rename("r-1", Value{Value::Map{{"name", "ada"}}});
  event.whole_if_unnamed = true;
  admit(event);
  EXPECT_THAT(outcome, ElementsAre("goes on to " + first_run));
}

TEST_F(AdmittingUpdates, AlsoFromTheRecordOfARunBefore) {
  run({started(), story::update_accepted("u1", "rename", story::command("c1", 1), R"(["ada"])")});
  auto next = started();
  history::NamedRequest answered;
  answered.kind = history::NamedRequest::Kind::update;
  answered.request_id = "r-1";
  answered.command = CommandId{"c1"};
  answered.subject = "u1";
  answered.run_id = RunId{first_run};
  next.answered_requests = history::NamedRequests{answered};
  run({next}, second_run);
  enlist();
  admit();
  EXPECT_THAT(outcome, ElementsAre("goes on to " + second_run));
  admit(rename("r-1", Value{Value::Array{"grace"}}));
  EXPECT_EQ(outcome.back(), "409 update_validation_idempotency_conflict");
}

TEST_F(AdmittingUpdates, ASignalBeforeItIsForTheDecisionThatCounts) {
  run({started(), story::signal_received("s1", "hurry", story::command("c1", 1))});
  enlist();
  admit();
  EXPECT_THAT(outcome, IsEmpty()) << "the validator is asked in any case";
  judge(true);
  EXPECT_THAT(outcome, ElementsAre("goes on to " + first_run));
}

// ---- a run that made way for another

TEST_F(AdmittingUpdates, AnApprovalOfARunThatIsNotCurrentAnyMoreIsStale) {
  engine::CommandOutcome refused;
  refused.rejection_reason = "selected_run_not_current";
  const auto stale = stale_approval(about(), RunId{first_run}, refused);
  ASSERT_TRUE(stale);
  EXPECT_EQ(stale->status, 409);
  EXPECT_THAT(to_json(Value{stale->body}),
              HasSubstr(R"("reason":"stale_update_validation_completion")"));
  EXPECT_EQ(*Value{stale->body}.find("retryable"), Value{true});

  EXPECT_FALSE(stale_approval(about(first_run), RunId{first_run}, refused))
      << "the caller named it";
  EXPECT_FALSE(stale_approval(about(), std::nullopt, refused)) << "nobody was asked";
  refused.rejection_reason = "run_not_active";
  EXPECT_FALSE(stale_approval(about(), RunId{first_run}, refused));
}

}  // namespace
}  // namespace dw::server
