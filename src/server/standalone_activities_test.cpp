// Activities without a workflow, from the request that starts one to the answer that tells its end.
// The engine decides; this file only carries its decisions to the store.
#include "server/standalone_activities.hpp"

#include "engine/standalone.hpp"
#include "history/event_builders.hpp"
#include "machine/scheduler.hpp"
#include "server/decided_runs.hpp"
#include "server/fields.hpp"
#include "store/memory_store.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace dw::server {
namespace {

using ::testing::HasSubstr;

class DoneAtOnce final : public Executor {
 public:
  void post(Work work) override { work(); }
  void post_at(Timestamp, Work work) override { work(); }
};

class ActivitiesAlone : public ::testing::Test {
 protected:
  // ---- what callers ask

  Answer ask(Operation operation, Value::Map body = {}, std::string query = {},
             const std::string& id = {}) {
    const auto all = routes();
    const auto route = std::ranges::find(all, operation, &Route::operation);
    Call call;
    call.ns = Namespace{"default"};
    call.body = std::move(body);
    call.query = std::move(query);
    call.match.route = &*route;
    if (!id.empty()) call.match.captured.emplace_back("activity", id);
    Answer said;
    desk.serve(std::move(call), [&](Answer answer) { said = std::move(answer); });
    return said;
  }
  Value start(const std::string& id, Value::Map more = {}) {
    Value::Map body{{"activity_type", "charge"}, {"task_queue", "payments"}, {"activity_id", id}};
    std::ranges::move(more, std::back_inserter(body));
    const Answer answer = ask(Operation::start_activity, std::move(body));
    EXPECT_EQ(answer.status, 201) << to_json(Value{answer.body});
    return Value{answer.body};
  }
  Value described(const std::string& id) {
    const Answer answer = ask(Operation::describe_activity, {}, {}, id);
    EXPECT_EQ(answer.status, 200) << to_json(Value{answer.body});
    return Value{answer.body};
  }
  // The ids of one page, and "…" when there is a next one.
  std::string page(const std::string& query) {
    const Answer answer = ask(Operation::list_activities, {}, query);
    EXPECT_EQ(answer.status, 200) << to_json(Value{answer.body});
    const Value body{answer.body};
    token = body.find("next_page_token")->if_string() ? *body.find("next_page_token")->if_string()
                                                      : std::string{};
    std::string ids;
    const auto& items = *body.find("activities")->if_array();
    EXPECT_EQ(*body.find("activity_count"), Value{std::ssize(items)});
    for (const Value& item : items) ids += *item.find("activity_id")->if_string() + " ";
    return ids + (token.empty() ? "" : "…");
  }
  static std::string text(const Value& body, std::string_view key) {
    const Value* found = body.find(key);
    return found ? to_json(*found) : "(absent)";
  }
  void expect_refused(const Answer& answer, int status, std::string_view reason) {
    EXPECT_EQ(answer.status, status) << to_json(Value{answer.body});
    EXPECT_EQ(*Value{answer.body}.find("reason"), Value{reason});
  }

  // ---- what happens to a run

  void begin_attempt(const std::string& id) {
    engine::Run& run = runs.at(id);
    auto begun =
        engine::decide_start_activity(run, run.state.activities.front().id, "w1", decided.now());
    decided.commit(run, begun.decision);
  }
  void end_attempt(const std::string& id, std::variant<Payload, history::Failure> outcome) {
    engine::Run& run = runs.at(id);
    const auto& activity = run.state.activities.front();
    auto ended = engine::decide_finish_activity(
        run, {activity.id, activity.attempt_id, std::move(outcome)}, decided.now());
    decided.commit(run, ended.decision);
  }
  void cancel(const std::string& id) {
    engine::Run& run = runs.at(id);
    decided.commit(run, engine::decide_close(run, {}, decided.now()).decision);
  }
  // Somebody's workflow, which is no activity.
  void start_workflow(const std::string& id) {
    engine::StartCommand command;
    command.ns = Namespace{"default"};
    command.instance_id = InstanceId{id};
    command.workflow_type = "order";
    command.arguments = encoded(Value::Array{});
    carry_out(std::move(command), [](const Result<dispatch::StartReply>& started) {
      EXPECT_TRUE(started && started->outcome.accepted);
    });
  }

  store::MemoryStore store;
  DoneAtOnce executor;
  machine::SimClock clock{story::at("09:00")};
  SeededRandom random{7};
  SearchAttributes attributes{{store, executor}};
  DecidedRuns decided{store, clock};
  std::map<std::string, engine::Run> runs;
  std::string token;
  StandaloneActivities desk{{store, executor, clock, random, attributes,
                             [this](engine::StartCommand command, auto reply) {
                               carry_out(std::move(command), std::move(reply));
                             }}};

 private:
  // As dispatch does: the type of an instance is settled by its first start.
  void carry_out(engine::StartCommand command, dispatch::Reply<dispatch::StartReply> reply) {
    const auto known = runs.find(command.instance_id.str());
    const engine::Run* current = known == runs.end() ? nullptr : &known->second;
    if (current && current->state.start.workflow_type != command.workflow_type) {
      return reply(Error{ErrorCode::conflict, "the id is reserved for durable type 'order'"});
    }
    auto start = engine::decide_start(current, command, decided.now());
    if (start.opens_run) {
      engine::Run& run = runs[command.instance_id.str()];
      run.id = start.run_id;
      decided.commit(run, start.decision);
    }
    reply(dispatch::StartReply{start.run_id, command.instance_id, start.reply});
  }
};

// ---- starting

TEST_F(ActivitiesAlone, AStartSaysWhatItIsAndWhereItRuns) {
  const Value started = start("charge-7", {{"activity_class", "Charge"},
                                           {"business_key", "inv-7"},
                                           {"schedule_to_start_timeout_seconds", 60},
                                           {"schedule_to_close_timeout_seconds", 120}});
  EXPECT_EQ(to_json(started),
            R"({"activity_id":"charge-7","activity_execution_id":"01J00000000000000000000003",)"
            R"("workflow_run_id":"01J00000000000000000000002",)"
            R"("workflow_type":"dw.standalone_activity","activity_type":"charge",)"
            R"("activity_class":"Charge","task_queue":"payments","namespace":"default",)"
            R"("business_key":"inv-7","status":"running","payload_codec":"avro",)"
            R"("started_at":"2026-04-10T09:00:00.000000Z",)"
            R"("schedule_to_start_deadline_at":"2026-04-10T09:01:00.000000Z",)"
            R"("schedule_to_close_deadline_at":"2026-04-10T09:02:00.000000Z"})");
}

TEST_F(ActivitiesAlone, WhatIsAskedForIsWhatTheEngineIsTold) {
  start("charge-7",
        {{"input", Value::Array{7, "eur"}},
         {"retry_policy", Value::Map{{"max_attempts", 3},
                                     {"backoff_seconds", Value::Array{1, 5}},
                                     {"non_retryable_error_types", Value::Array{"no"}}}},
         {"start_to_close_timeout_seconds", 30},
         {"heartbeat_timeout_seconds", 5}});
  const auto& activity = runs.at("charge-7").state.activities.front();
  EXPECT_EQ(decode(activity.arguments).value(), (Value{Value::Array{7, "eur"}}));
  EXPECT_EQ(activity.queue, "payments");
  history::RetryPolicy policy = story::tries(3);
  policy.backoff_seconds = {1, 5};
  policy.non_retryable_error_types = {"no"};
  policy.start_to_close_timeout = 30;
  policy.heartbeat_timeout = 5;
  EXPECT_EQ(activity.retry_policy, policy);
}

TEST_F(ActivitiesAlone, WhoeverNamesNoIdGetsOne) {
  const Answer answer =
      ask(Operation::start_activity, {{"activity_type", "charge"}, {"task_queue", "payments"}});
  ASSERT_EQ(answer.status, 201);
  const std::string id = *Value{answer.body}.find("activity_id")->if_string();
  EXPECT_EQ(id.size(), 26u);
  EXPECT_EQ(text(described(id), "activity_class"), "null");
}

TEST_F(ActivitiesAlone, AllMistakesAreToldAtOnce) {
  const Answer answer =
      ask(Operation::start_activity,
          {{"activity_id", "a b"},
           {"input", "none"},
           {"retry_policy", Value::Map{{"max_attempts", 0}, {"backoff_seconds", Value::Array{-1}}}},
           {"start_to_close_timeout_seconds", 10},
           {"heartbeat_timeout_seconds", 11},
           {"schedule_to_start_timeout_seconds", "soon"},
           {"schedule_to_close_timeout_seconds", 9}});
  expect_refused(answer, 422, "validation_failed");
  const Value body{answer.body};
  std::set<std::string> fields;
  for (const auto& [field, texts] : *body.find("errors")->if_map()) fields.insert(field);
  EXPECT_EQ(fields,
            (std::set<std::string>{"activity_type", "task_queue", "activity_id", "input",
                                   "retry_policy.max_attempts", "retry_policy.backoff_seconds.0",
                                   "heartbeat_timeout_seconds", "schedule_to_start_timeout_seconds",
                                   "start_to_close_timeout_seconds"}));
  EXPECT_EQ(*body.find("errors"), *body.find("validation_errors"));
  EXPECT_TRUE(runs.empty());
}

TEST_F(ActivitiesAlone, AnIdIsTakenForLife) {
  const Value::Map again{
      {"activity_type", "charge"}, {"task_queue", "payments"}, {"activity_id", "charge-7"}};
  start("charge-7");
  expect_refused(ask(Operation::start_activity, again), 409, "duplicate_not_allowed");
  cancel("charge-7");
  expect_refused(ask(Operation::start_activity, again), 409, "duplicate_not_allowed");
}

TEST_F(ActivitiesAlone, TheIdOfAWorkflowIsTakenToo) {
  start_workflow("order-1");
  const Answer answer =
      ask(Operation::start_activity,
          {{"activity_type", "charge"}, {"task_queue", "payments"}, {"activity_id", "order-1"}});
  expect_refused(answer, 409, "duplicate_not_allowed");
  EXPECT_THAT(*Value{answer.body}.find("message")->if_string(), HasSubstr("'order'"));
}

// ---- looking

TEST_F(ActivitiesAlone, OneThatNobodyHasTakenIsPending) {
  start("charge-7");
  const Value seen = described("charge-7");
  EXPECT_EQ(text(seen, "status"), R"("running")");
  EXPECT_EQ(text(seen, "activity_status"), R"("pending")");
  EXPECT_EQ(text(seen, "attempt_count"), "0");
  EXPECT_EQ(text(seen, "attempts"), "[]");
  for (const auto* key : {"closed_at", "closed_reason", "current_attempt_id", "last_heartbeat_at",
                          "result", "schedule_to_close_deadline_at"}) {
    EXPECT_EQ(text(seen, key), "null") << key;
  }
  EXPECT_EQ(text(seen, "failure"), "(absent)");
}

TEST_F(ActivitiesAlone, AnAttemptSaysWhoHoldsItAndAsWhichTask) {
  start("charge-7");
  begin_attempt("charge-7");
  const Value seen = described("charge-7");
  EXPECT_EQ(text(seen, "activity_status"), R"("running")");
  const Value& attempt = seen.find("attempts")->if_array()->front();
  EXPECT_EQ(*attempt.find("activity_attempt_id"), *seen.find("current_attempt_id"));
  EXPECT_EQ(text(attempt, "attempt_number"), "1");
  EXPECT_EQ(text(attempt, "lease_owner"), R"("w1")");
  EXPECT_EQ(text(attempt, "task_id"), R"("01J00000000000000000000002.task1")");
  EXPECT_EQ(text(attempt, "lease_expires_at"), R"("2026-04-10T09:05:00.000000Z")");
}

TEST_F(ActivitiesAlone, ACompletedOneHasItsResult) {
  start("charge-7");
  begin_attempt("charge-7");
  const Payload result = encoded(Value{42});
  end_attempt("charge-7", result);
  const Value seen = described("charge-7");
  EXPECT_EQ(text(seen, "status"), R"("completed")");
  EXPECT_EQ(text(seen, "activity_status"), R"("completed")");
  EXPECT_EQ(text(seen, "closed_reason"), R"("completed")");
  EXPECT_EQ(text(seen, "closed_at"), R"("2026-04-10T09:00:00.000000Z")");
  EXPECT_EQ(*seen.find("result"), envelope_of(result));
  EXPECT_EQ(text(seen, "failure"), "(absent)");
}

TEST_F(ActivitiesAlone, AFailedOneSaysWhy) {
  start("charge-7", {{"retry_policy", Value::Map{{"max_attempts", 2}}}});
  begin_attempt("charge-7");
  end_attempt("charge-7", story::failure("try me again"));
  EXPECT_EQ(text(described("charge-7"), "activity_status"), R"("pending")");
  begin_attempt("charge-7");
  end_attempt("charge-7", story::failure("declined", "Declined", "billing.declined"));
  const Value seen = described("charge-7");
  EXPECT_EQ(text(seen, "status"), R"("failed")");
  EXPECT_EQ(text(seen, "attempt_count"), "2");
  EXPECT_EQ(text(seen, "result"), "null");
  const Value& failure = *seen.find("failure");
  EXPECT_EQ(text(failure, "message"), R"("declined")");
  EXPECT_EQ(text(failure, "exception_type"), R"("billing.declined")");
  EXPECT_EQ(text(failure, "failure_category"), R"("activity")");
}

TEST_F(ActivitiesAlone, ACancelledOneIsCancelledAndHasNotFailed) {
  start("charge-7");
  cancel("charge-7");
  const Value seen = described("charge-7");
  EXPECT_EQ(text(seen, "status"), R"("cancelled")");
  EXPECT_EQ(text(seen, "activity_status"), R"("cancelled")");
  EXPECT_EQ(text(seen, "failure"), "(absent)");
}

TEST_F(ActivitiesAlone, WhatIsNoneIsNotFound) {
  start_workflow("order-1");
  expect_refused(ask(Operation::describe_activity, {}, {}, "nobody's"), 404, "activity_not_found");
  expect_refused(ask(Operation::describe_activity, {}, {}, "order-1"), 404, "activity_not_found");
}

// ---- listing

TEST_F(ActivitiesAlone, AreListedNewestFirstAndWithoutAnybodysWorkflows) {
  EXPECT_EQ(page(""), "");
  start("a");
  start_workflow("order-1");
  start("b");
  EXPECT_EQ(page(""), "b a ");
  EXPECT_EQ(page("workflow_type=order&query=order-1"), "b a ") << "these are nobody's business";
}

TEST_F(ActivitiesAlone, AreListedByTheBucketOfTheirRun) {
  for (const auto* id : {"open", "done", "broken", "stopped"}) start(id);
  begin_attempt("done");
  end_attempt("done", encoded(Value{}));
  begin_attempt("broken");
  end_attempt("broken", story::failure("no"));
  cancel("stopped");
  EXPECT_EQ(page("status=running"), "open ");
  EXPECT_EQ(page("status=completed"), "done ");
  EXPECT_EQ(page("status=failed"), "stopped broken ");
  expect_refused(ask(Operation::list_activities, {}, "status=cancelled"), 422, "validation_failed");
}

TEST_F(ActivitiesAlone, AreListedPageByPage) {
  for (const auto* id : {"a", "b", "c", "d", "e"}) start(id);
  EXPECT_EQ(page("page_size=2"), "e d …");
  EXPECT_EQ(page("page_size=2&next_page_token=" + token), "c b …");
  EXPECT_EQ(page("page_size=2&next_page_token=" + token), "a ");
  page("page_size=2");
  expect_refused(
      ask(Operation::list_activities, {}, "status=running&page_size=2&next_page_token=" + token),
      400, "invalid_page_token");
  expect_refused(ask(Operation::list_activities, {}, "page_size=201"), 422, "validation_failed");
}

}  // namespace
}  // namespace dw::server
