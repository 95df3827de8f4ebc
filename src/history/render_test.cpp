#include "history/render.hpp"

#include "history/codec.hpp"
#include "history/render_story_test.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>

namespace dw::story {
namespace {

namespace bj = boost::json;
using history::Renderer;
using ::testing::HasSubstr;

history::WorkflowStarted rich_start() {
  auto start = full_start();
  start.memo = Value::Map{{"note", "first"}};
  start.search_attributes = Value::Map{{"paid", true}};
  return start;
}

// Together they show every type, most of them in a plain and in a rich form.
std::vector<std::vector<Told>> stories() {
  const auto open = [](history::WorkflowStarted start, std::vector<Told> more) {
    std::vector<Told> list{start_accepted(command("c1", 1)), std::move(start)};
    list.insert(list.end(), more.begin(), more.end());
    return list;
  };
  auto busy = activity_scheduled("a1", "charge", full_policy());
  busy.connection = "fast";
  busy.queue = "bulk";
  busy.arguments = binary();
  const auto grouped = in_barrier(full_path(), busy);
  auto full_wait = full_condition();
  full_wait.wait_id = WaitId{"w3"};
  full_wait.step = 0;
  auto refusal = full_refusal();
  refusal.command = command("c10", 10);
  constexpr auto terminate = history::ParentClosePolicy::terminate;
  return {
      open(workflow_started("invoice"),
           {busy, activity_started("a1", "try1"),
            activity_retry_scheduled("a1", "try1", 5, full_failure(), "task2"),
            activity_started("a1", "try2", 2), activity_completed("a1", "try2", "1"),
            activity_scheduled("a2"), activity_started("a2", "try3"),
            activity_failed("a2", "try3", "f1"), failure_handled("f1", 2),
            timer_scheduled("t1", 0s), timer_fired("t1"), side_effect_recorded("7"),
            start_accepted(command("c2", 2), "returned_existing_active"),
            repair_requested(command("c3", 3), "repair_not_needed"), workflow_completed("42"),
            start_rejected(command("c4", 4))}),
      open(rich_start(), {busy, activity_started("a1", "try1"), activity_started("a1", "try2", 2),
                          activity_timed_out("a1", "f1", "lost_lease", "lost 5 in a row"),
                          failure_handled("f1", 1), workflow_failed("f2", full_failure())}),
      open(rich_start(),
           {activity_scheduled("a1"), activity_started("a1", "try1"), activity_scheduled("a2"),
            timer_scheduled("t1", 60s), cancel_requested(command("c2", 2), "enough"),
            activity_cancelled("a1"), activity_cancelled("a2"), timer_cancelled("t1"),
            workflow_cancelled("f1", "enough")}),
      open(workflow_started("invoice"),
           {terminate_requested(command("c2", 2)), workflow_terminated("f1")}),
      open(rich_start(), {activity_scheduled("a1"), activity_timed_out("a1", "f1", "x", "y"),
                          workflow_timed_out("f2", "run_timeout")}),
      open(workflow_started("invoice"), {activity_scheduled("a1"), activity_cancelled("a1"),
                                         workflow_failed("f1", failure("broke"))}),
      open(workflow_started("invoice"),
           {signal_wait_opened("w1", "approve", 60), signal_timeout("t1", "w1", 60s),
            signal_received("s1", "approve", full_command(), "[1]", "w1"), timer_cancelled("t1"),
            signal_applied("s1", "w1"), signal_wait_opened("w2", "approve"),
            signal_received("s2", "approve", command("c8", 8), "[]", "w2"),
            signal_applied("s2", "w2"), full_wait, condition_timeout("t2", "w3", 60s),
            timer_fired("t2"), condition_wait_timed_out("w3"), condition_wait_opened("w4"),
            condition_wait_satisfied("w4"), workflow_completed()}),
      open(workflow_started("invoice"),
           {version_marker_recorded("new-tax"),
            search_attributes_upserted(Value::Map{{"paid", true}}),
            memo_upserted(Value::Map{{"a", 1}}), update_accepted("u1", "raise", full_command()),
            update_applied("u1", 4), update_completed("u1", "7"),
            update_accepted("u2", "raise", command("c8", 8)),
            update_failed("u2", "f1", full_failure()),
            update_rejected("u3", "lower", command("c9", 9)), refusal,
            update_accepted("u4", "raise", command("c11", 11)), workflow_completed(),
            update_closed("u4", "f2", "completed"),
            archive_requested(command("c12", 12), "archived", "old"),
            workflow_archived("c12", "old"),
            archive_requested(command("c13", 13), "archive_not_needed")}),
      open(rich_start(),
           {grouped,
            activity_started("a1", "try1"),
            activity_heartbeat_recorded("a1", "try1", at("09:07"), Value::Map{{"current", 3}}),
            activity_heartbeat_recorded("a1", "try1"),
            activity_completed("a1", "try1"),
            activity_scheduled("a2", "charge", tries(2)),
            retry_after_timeout("a2", "", 5, "schedule_to_start", "task2"),
            activity_cancelled("a2"),
            in_barrier(full_path(), child_scheduled("k1", "payment", terminate)),
            child_run_started("k1", "run2"),
            child_run_started("k1", "run3", 2),
            child_run_completed("k1", "run3", "5"),
            child_scheduled("k2"),
            child_run_started("k2", "run4"),
            child_run_failed("k2", "run4", "f1", full_failure()),
            failure_handled("f1", 4),
            child_scheduled("k3"),
            child_run_started("k3", "run5"),
            child_run_cancelled("k3", "run5", "f2"),
            child_scheduled("k4"),
            child_run_started("k4", "run6"),
            child_run_terminated("k4", "run6", "f3"),
            child_run_completed("k7", "run7"),
            child_scheduled("k5", "payment", terminate),
            child_run_started("k5", "run10"),
            workflow_failed("f4", failure("broke")),
            parent_close_policy_applied("k5", "run10", terminate),
            parent_close_policy_failed("k8", "run9", "gone")}),
      open(workflow_started("invoice"),
           {schedule_triggered("nightly", 7, at("09:07")), workflow_continued_as_new("run2")}),
  };
}

// ---- the contract

TEST(Rendered, EveryTypeKeepsItsContract) {
  std::set<std::string> seen;
  for (const auto& story : stories()) {
    for (const auto& object : shown(story)) {
      const auto type = text_at(object, "type");
      const auto& payload = object.at("payload").as_object();
      const auto contract = history::rendered_contract(type);
      seen.insert(type);
      for (const auto& entry : payload) {
        EXPECT_NE(
            std::ranges::find(contract, std::string_view{entry.key()}, &history::RenderedKey::name),
            contract.end())
            << type << " shows " << entry.key();
        EXPECT_FALSE(entry.value().is_null()) << type << " shows an empty " << entry.key();
      }
      for (const auto& key : contract) {
        EXPECT_TRUE(!key.required || payload.contains(key.name)) << type << " lacks " << key.name;
      }
    }
  }
  for (const auto type : history::all_types()) {
    EXPECT_TRUE(seen.contains(std::string{type})) << "no story shows " << type;
    EXPECT_FALSE(history::rendered_contract(type).empty()) << type;
  }
  EXPECT_TRUE(history::rendered_contract("NoSuchEvent").empty());
}

TEST(Rendered, AContractNamesEachKeyOnce) {
  for (const auto type : history::all_types()) {
    std::set<std::string_view> names;
    for (const auto& key : history::rendered_contract(type)) {
      EXPECT_TRUE(names.insert(key.name).second) << type << " names " << key.name << " twice";
    }
  }
}

TEST(Rendered, TheEnvelopeIsTheSameForAll) {
  const std::set<std::string> always{"id", "run_id", "sequence", "type", "payload", "recorded_at"};
  for (const auto& story : stories()) {
    for (const auto& object : shown(story)) {
      std::set<std::string> keys;
      for (const auto& entry : object) {
        if (entry.key() != "workflow_command_id") keys.insert(std::string{entry.key()});
      }
      EXPECT_EQ(keys, always);
      EXPECT_EQ(text_at(object, "run_id"), "run1");
    }
  }
}

// ---- ids

TEST(Rendered, AnEventIsNamedByItsPlaceInItsCommit) {
  const auto events = told({workflow_started("invoice"), side_effect_recorded("1")});
  Renderer renderer{RunId{"run1"}};
  const auto texts = renderer.render(story_commit, events);
  EXPECT_THAT(texts->at(0), HasSubstr(R"({"id":"01ARYZ6S41TSV4RRFFQ69G5FAV","run_id":"run1",)"
                                      R"("sequence":1,"type":"WorkflowStarted","payload":{)"));
  EXPECT_THAT(texts->at(1), HasSubstr(R"({"id":"01ARYZ6S41TSV4RRFFQ69G5FAW")"));
}

TEST(Rendered, AnEventIsTheSameHoweverManyCommitsCameBefore) {
  for (const auto& story : stories()) {
    const auto events = told(story);
    Renderer at_once{RunId{"run1"}};
    const auto all = at_once.render(story_commit, events);
    Renderer one_by_one{RunId{"run1"}};
    // The start shares a commit; the rest comes as it happened.
    auto parts = *one_by_one.render(story_commit, std::span{events}.first(2));
    for (const auto& event : std::span{events}.subspan(2)) {
      parts.push_back(one_by_one.render(story_commit, std::span{&event, 1})->front());
    }
    ASSERT_EQ(parts.size(), all->size());
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const auto id_length = std::string_view{R"({"id":"01ARYZ6S41TSV4RRFFQ69G5FAV")"}.size();
      EXPECT_EQ(parts[i].substr(id_length), all->at(i).substr(id_length));
    }
  }
}

TEST(Rendered, ACommandIsNamedOnTheEnvelopeOfWhatItCaused) {
  const auto objects = shown(stories()[2]);
  EXPECT_EQ(text_at(objects[0], "workflow_command_id"), "c1");
  EXPECT_EQ(text_at(objects[1], "workflow_command_id"), "c1");
  EXPECT_EQ(text_at(objects[2], "workflow_command_id"), "(absent)");
  EXPECT_EQ(text_at(objects.back(), "workflow_command_id"), "c2");
}

// ---- what is added

TEST(Rendered, AStartShowsWhatItStarted) {
  const auto objects = shown(stories()[2]);
  for (const auto* payload :
       {&objects[0].at("payload").as_object(), &objects[1].at("payload").as_object()}) {
    EXPECT_EQ(text_at(*payload, "workflow_type"), "invoice");
    EXPECT_EQ(text_at(*payload, "workflow_class"), "app::Invoice");
    EXPECT_EQ(text_at(*payload, "business_key"), "customer-7");
    EXPECT_EQ(text_at(*payload, "workflow_instance_id"), "invoice-1");
    EXPECT_EQ(bj::serialize(payload->at("memo")), R"({"note":"first"})");
  }
  const auto& started = objects[1].at("payload").as_object();
  EXPECT_EQ(text_at(started, "execution_deadline_at"), "2026-04-10T10:00:00.000000Z");
  // A minute, from the end of the five seconds that a child waits before it is run again.
  EXPECT_EQ(text_at(started, "run_deadline_at"), "2026-04-10T09:01:05.000000Z");
  EXPECT_EQ(text_at(started, "arguments"), "AMMB/w==");
  EXPECT_EQ(text_at(started, "payload_codec"), "avro");
  EXPECT_EQ(text_at(started, "timestamp"), "2026-04-10T09:00:00.000000Z");
}

TEST(Rendered, ACommandIsShownWhole) {
  const auto payload = last_payload(
      {workflow_started("invoice"), workflow_completed(), start_rejected(command("c2", 4, "cli"))});
  EXPECT_EQ(bj::serialize(payload.at("command")),
            R"({"id":"c2","sequence":4,"type":"start","target_scope":"instance",)"
            R"("resolved_run_id":"run1","source":"cli",)"
            R"("status":"rejected","outcome":"rejected_duplicate",)"
            R"("rejection_reason":"instance_already_started",)"
            R"("rejected_at":"2026-04-10T09:00:00.000000Z"})");
}

TEST(Rendered, ACommandSaysWhatItWasPartOf) {
  const auto payload = last_payload(
      {workflow_started("invoice"), signal_received("s1", "approve", full_command(), "[1]")});
  EXPECT_EQ(json_at(payload, "command"),
            R"({"id":"c1","sequence":7,"type":"signal","target_scope":"run",)"
            R"("requested_run_id":"run1","resolved_run_id":"run1","target_name":"approve",)"
            R"("source":"cli","context":{"workflow":{"parent_instance_id":"order-1",)"
            R"("parent_run_id":"run0","sequence":3,"child_call_id":"k1"},)"
            R"("intake":{"mode":"signal_with_start","group_id":"g1"}},"status":"accepted",)"
            R"("outcome":"signal_received","accepted_at":"2026-04-10T09:00:00.000000Z"})");
}

// proves: E-92
TEST(Rendered, AnActivityIsShownWithEachOfItsEvents) {
  auto scheduled = activity_scheduled("a1", "charge", for_ever());
  scheduled.queue = "bulk";
  const auto payload = last_payload({workflow_started("invoice"), scheduled,
                                     on("09:01", activity_started("a1", "try1")),
                                     on("09:02", activity_completed("a1", "try1", "42"))});
  EXPECT_EQ(text_at(payload, "activity_execution_id"), "a1");
  EXPECT_EQ(text_at(payload, "activity_type"), "charge");
  EXPECT_EQ(payload.at("sequence").as_int64(), 1);
  EXPECT_EQ(payload.at("attempt_number").as_int64(), 1);
  EXPECT_EQ(text_at(payload, "result"), "42");
  EXPECT_EQ(text_at(payload, "payload_codec"), "json");
  EXPECT_EQ(bj::serialize(payload.at("activity")),
            R"({"id":"a1","idempotency_key":"a1","sequence":1,"type":"charge",)"
            R"("attempt_id":"try1","status":"completed","payload_codec":"json",)"
            R"("attempt_count":1,"retry_policy":{"snapshot_version":1,"max_attempts":null,)"
            R"("backoff_seconds":[1,2,5,10,15,30,60,120],"non_retryable_error_types":[]},)"
            R"("queue":"bulk","created_at":"2026-04-10T09:00:00.000000Z",)"
            R"("started_at":"2026-04-10T09:01:00.000000Z",)"
            R"("closed_at":"2026-04-10T09:02:00.000000Z","arguments":"[]","result":"42"})");
  EXPECT_EQ(bj::serialize(payload.at("activity_attempt")),
            R"({"id":"try1","activity_execution_id":"a1","task_id":"run1.a1-task",)"
            R"("attempt_number":1,"status":"completed","lease_owner":"worker-1",)"
            R"("started_at":"2026-04-10T09:01:00.000000Z",)"
            R"("closed_at":"2026-04-10T09:02:00.000000Z"})");
}

TEST(Rendered, AHeartbeatIsShownInWhatFollows) {
  const auto payload =
      last_payload({workflow_started("invoice"), activity_scheduled("a1", "charge", full_policy()),
                    activity_started("a1", "try1"),
                    on("09:03", activity_heartbeat_recorded("a1", "try1", at("09:08"),
                                                            Value::Map{{"current", 3}}))});
  EXPECT_EQ(text_at(payload, "heartbeat_at"), "2026-04-10T09:03:00.000000Z");
  EXPECT_EQ(text_at(payload, "lease_expires_at"), "2026-04-10T09:08:00.000000Z");
  EXPECT_EQ(json_at(payload, "progress"), R"({"current":3})");
  const auto& attempt = payload.at("activity_attempt").as_object();
  EXPECT_EQ(text_at(attempt, "last_heartbeat_at"), "2026-04-10T09:03:00.000000Z");
  EXPECT_EQ(text_at(attempt, "lease_expires_at"), "2026-04-10T09:08:00.000000Z");

  // The next attempt has sent none; what the activity had reached is still known.
  const auto next =
      last_payload({workflow_started("invoice"), activity_scheduled("a1", "charge", full_policy()),
                    activity_started("a1", "try1"),
                    on("09:03", activity_heartbeat_recorded("a1", "try1", at("09:08"),
                                                            Value::Map{{"current", 3}})),
                    on("09:08", activity_started("a1", "try2", 2))});
  EXPECT_FALSE(next.at("activity_attempt").as_object().contains("last_heartbeat_at"));
  EXPECT_EQ(json_at(next.at("activity").as_object(), "last_heartbeat_progress"),
            R"({"current":3})");
}

TEST(Rendered, AHeartbeatMovesItsDeadline) {
  const auto payload = last_payload(
      {workflow_started("invoice"), activity_scheduled("a1", "charge", full_policy()),
       activity_started("a1", "try1"), on("09:03", activity_heartbeat_recorded("a1", "try1")),
       on("09:04", activity_timed_out("a1", "f1", "heartbeat", "silent"))});
  EXPECT_EQ(text_at(payload, "heartbeat_deadline_at"), "2026-04-10T09:03:40.000000Z");
}

// proves: E-200
TEST(Rendered, EveryEventOfALeafShowsItsBarriers) {
  const auto leaf = in_barrier(full_path(), activity_scheduled("a1", "charge", tries(2)));
  for (auto& payload :
       payloads({workflow_started("invoice"), leaf, activity_started("a1", "try1"),
                 activity_heartbeat_recorded("a1", "try1"),
                 activity_retry_scheduled("a1", "try1", 1, failure("x"), "task2"),
                 activity_started("a1", "try2", 2), activity_completed("a1", "try2"),
                 in_barrier(full_path(), child_scheduled("k1")), child_run_started("k1", "run2"),
                 child_run_failed("k1", "run2", "f1"),
                 in_barrier(full_path(), activity_scheduled("a2")), activity_cancelled("a2")})) {
    if (payload.contains("workflow_type")) continue;  // the start
    EXPECT_EQ(text_at(payload, "parallel_group_id"), "parallel-activities:4:2");
    EXPECT_EQ(text_at(payload, "parallel_group_kind"), "activity");
    EXPECT_EQ(json_at(payload, "parallel_group_base_sequence"), "4");
    EXPECT_EQ(json_at(payload, "parallel_group_size"), "2");
    EXPECT_EQ(json_at(payload, "parallel_group_index"), "0");
    EXPECT_EQ(json_at(payload, "parallel_group_path"),
              R"([{"parallel_group_id":"parallel-calls:3:4","parallel_group_kind":"mixed",)"
              R"("parallel_group_base_sequence":3,"parallel_group_size":4,)"
              R"("parallel_group_index":1},{"parallel_group_id":"parallel-activities:4:2",)"
              R"("parallel_group_kind":"activity","parallel_group_base_sequence":4,)"
              R"("parallel_group_size":2,"parallel_group_index":0}])");
    if (const auto* activity = payload.if_contains("activity")) {
      EXPECT_TRUE(activity->as_object().contains("parallel_group_path"));
    }
  }
}

// proves: E-87
TEST(Rendered, ARetrySaysWhenAndAfterWhat) {
  const auto payload = last_payload(
      {workflow_started("invoice"), activity_scheduled("a1", "charge", tries(3)),
       activity_started("a1", "try1"),
       on("09:02", activity_retry_scheduled("a1", "try1", 5, failure("broke"), "task2"))});
  EXPECT_EQ(text_at(payload, "retry_available_at"), "2026-04-10T09:02:05.000000Z");
  EXPECT_EQ(text_at(payload, "retry_of_task_id"), "run1.a1-task");
  EXPECT_EQ(text_at(payload, "retry_task_id"), "run1.task2");
  EXPECT_EQ(text_at(payload, "retry_after_attempt_id"), "try1");
  EXPECT_EQ(payload.at("retry_after_attempt").as_int64(), 1);
  EXPECT_EQ(payload.at("max_attempts").as_int64(), 3);
  EXPECT_EQ(text_at(payload, "message"), "broke");
  EXPECT_EQ(text_at(payload.at("activity").as_object(), "status"), "pending");
}

TEST(Rendered, ARetryWithoutAnAttemptNamesNone) {
  const auto payload =
      last_payload({workflow_started("invoice"), activity_scheduled("a1", "charge", tries(3)),
                    on("09:02", retry_after_timeout("a1", "", 5, "schedule_to_start", "task2"))});
  EXPECT_EQ(text_at(payload, "timeout_kind"), "schedule_to_start");
  EXPECT_EQ(json_at(payload, "retry_after_attempt"), "0");
  EXPECT_FALSE(payload.contains("activity_attempt_id"));
  EXPECT_FALSE(payload.contains("retry_after_attempt_id"));
}

// proves: E-174
TEST(Rendered, ATimeoutSaysWhichDeadlinesThereWere) {
  auto policy = full_policy();  // 10 to close, 20 to start, 30 in all, 40 between heartbeats
  const auto payload =
      last_payload({workflow_started("invoice"), activity_scheduled("a1", "charge", policy),
                    on("09:01", activity_started("a1", "try1")),
                    on("09:02", activity_timed_out("a1", "f1", "lost_lease", "gone"))});
  EXPECT_EQ(text_at(payload, "schedule_deadline_at"), "2026-04-10T09:00:20.000000Z");
  EXPECT_EQ(text_at(payload, "close_deadline_at"), "2026-04-10T09:01:10.000000Z");
  EXPECT_EQ(text_at(payload, "schedule_to_close_deadline_at"), "2026-04-10T09:00:30.000000Z");
  EXPECT_EQ(text_at(payload, "heartbeat_deadline_at"), "2026-04-10T09:01:40.000000Z");
  EXPECT_EQ(text_at(payload, "failure_category"), "timeout");
}

TEST(Rendered, AnExceptionShowsWhatItCarried) {
  const auto exception_of = [](std::optional<Payload> properties) {
    auto why = failure("declined", "app::Declined", "app.declined");
    why.properties = std::move(properties);
    return json_at(last_payload({workflow_started("invoice"), workflow_failed("f1", why)}),
                   "exception");
  };
  EXPECT_EQ(exception_of(std::nullopt),
            R"({"class":"app::Declined","type":"app.declined","message":"declined","code":0})");
  EXPECT_EQ(exception_of(json(R"({"card":4})")),
            R"({"class":"app::Declined","type":"app.declined","message":"declined","code":0,)"
            R"("properties":[{"declaring_class":"app::Declined","name":"card","value":4}]})");
  EXPECT_EQ(exception_of(json("7")),
            R"({"class":"app::Declined","type":"app.declined","message":"declined","code":0,)"
            R"("properties":{"codec":"json","blob":"7"}})");
}

TEST(Rendered, AFailureByAStructuralLimitShowsWhichAndByHowMuch) {
  const auto run = last_payload(
      {workflow_started("invoice"), workflow_failed("f1", broken_limit(), "structural_limit")});
  const auto activity = last_payload({workflow_started("invoice"), activity_scheduled("a1"),
                                      activity_started("a1", "try1"),
                                      activity_failed("a1", "try1", "f1", broken_limit())});
  for (const auto& payload : {run, activity}) {
    EXPECT_EQ(text_at(payload, "structural_limit_kind"), "app.broken");
    EXPECT_EQ(payload.at("structural_limit_value"), 2);
    EXPECT_EQ(payload.at("structural_limit_configured"), 1);
  }
  const auto other =
      last_payload({workflow_started("invoice"), workflow_failed("f1", full_failure())});
  EXPECT_FALSE(other.contains("structural_limit_kind"));
}

TEST(Rendered, AHandledFailureShowsWhatItWas) {
  const auto payload = last_payload(
      {workflow_started("invoice"), activity_scheduled("a1"), activity_started("a1", "try1"),
       activity_failed("a1", "try1", "f1", full_failure()), failure_handled("f1", 1)});
  EXPECT_EQ(text_at(payload, "source_kind"), "activity_execution");
  EXPECT_EQ(text_at(payload, "source_id"), "a1");
  EXPECT_EQ(text_at(payload, "propagation_kind"), "activity");
  EXPECT_EQ(text_at(payload, "exception_type"), "app.broken");
  EXPECT_TRUE(payload.at("handled").as_bool());
}

// proves: E-58
TEST(Rendered, ATimerShowsWhenItWasDueAndWhenItFired) {
  const auto payload =
      last_payload({workflow_started("invoice"), on("09:10", timer_scheduled("t1", 60s)),
                    on("09:30", timer_fired("t1"))});
  EXPECT_EQ(bj::serialize(payload),
            R"({"timer_id":"t1","sequence":1,"delay_seconds":60,)"
            R"("fire_at":"2026-04-10T09:11:00.000000Z","fired_at":"2026-04-10T09:30:00.000000Z"})");
}

// proves: E-156
TEST(Rendered, AClosedRunSaysWhoClosedItAndWhy) {
  const auto payload =
      last_payload({workflow_started("invoice"), cancel_requested(command("c9", 1), "enough"),
                    workflow_cancelled("f1", "enough")});
  EXPECT_EQ(bj::serialize(payload),
            R"({"workflow_command_id":"c9","workflow_instance_id":"invoice-1",)"
            R"("workflow_run_id":"run1","failure_id":"f1","failure_category":"cancelled",)"
            R"("closed_reason":"cancelled","exception_class":"WorkflowCancelled",)"
            R"("message":"the workflow was cancelled: enough","reason":"enough"})");
}

TEST(Rendered, OnlyAnAttemptThatRanTimesOut) {
  const auto payload =
      last_payload({workflow_started("invoice"), activity_scheduled("a1", "charge", tries(2)),
                    activity_started("a1", "try1"),
                    activity_retry_scheduled("a1", "try1", 1, failure("x"), "task2"),
                    activity_timed_out("a1", "f1", "schedule_to_close", "too late")});
  EXPECT_FALSE(payload.contains("activity_attempt"));
}

TEST(Rendered, OnlyAnAttemptThatRanIsCancelled) {
  const auto payload = last_payload(
      {workflow_started("invoice"), activity_scheduled("a1", "charge", tries(2)),
       activity_started("a1", "try1"),
       activity_retry_scheduled("a1", "try1", 1, failure("x"), "task2"), activity_cancelled("a1")});
  EXPECT_FALSE(payload.contains("activity_attempt"));
  EXPECT_EQ(text_at(payload.at("activity").as_object(), "status"), "cancelled");
}

TEST(Rendered, ASideEffectNamesItsOwnCodec) {
  const auto payload = last_payload({workflow_started("invoice"), side_effect_recorded("7")});
  EXPECT_EQ(bj::serialize(payload), R"({"sequence":1,"result":{"codec":"json","blob":"7"}})");
}

TEST(Rendered, WhatLiesInExternalStorageIsShownAsItsEnvelope) {
  auto start = workflow_started("invoice");
  const std::string reference =
      R"({"schema":"durable-workflow.v2.external-payload-reference.v1","uri":"s3://bucket/key",)"
      R"("sha256":"0123456789012345678901234567890123456789012345678901234567890123",)"
      R"("size_bytes":70000,"codec":"avro"})";
  start.arguments = {"avro", reference};
  const auto envelope = R"({"codec":"avro","external_storage":)" + reference + "}";
  const auto started = last_payload({start});
  EXPECT_EQ(json_at(started, "arguments"), envelope);
  EXPECT_EQ(text_at(started, "payload_codec"), "avro");
  auto noted = side_effect_recorded("7");
  noted.result = start.arguments;
  EXPECT_EQ(json_at(last_payload({workflow_started("invoice"), noted}), "result"), envelope);
}

TEST(Rendered, RefusesWhatIsNotOpen) {
  for (const history::EventBody& body :
       std::vector<history::EventBody>{activity_completed("a1", "try1"),
                                       activity_started("a1", "try1"),
                                       activity_cancelled("a1"),
                                       timer_fired("t1"),
                                       failure_handled("f1", 1),
                                       activity_heartbeat_recorded("a1", "try1"),
                                       condition_timeout("t1", "w1", 60s),
                                       signal_timeout("t1", "w1", 60s),
                                       signal_applied("s1", "w1"),
                                       update_applied("u1", 1),
                                       update_completed("u1"),
                                       condition_wait_satisfied("w1"),
                                       condition_wait_timed_out("w1"),
                                       child_run_started("k1", "run2"),
                                       child_run_completed("k1", "run2"),
                                       child_run_failed("k1", "run2", "f1"),
                                       child_run_cancelled("k1", "run2", "f1"),
                                       child_run_terminated("k1", "run2", "f1"),
                                       parent_close_policy_applied("k1", "run2"),
                                       parent_close_policy_failed("k1", "run2", "gone")}) {
    Renderer renderer{RunId{"run1"}};
    const auto texts = renderer.render(story_commit, told({workflow_started("invoice"), body}));
    ASSERT_FALSE(texts);
    EXPECT_EQ(texts.error().code, ErrorCode::corrupt_history);
  }
}

}  // namespace
}  // namespace dw::story
