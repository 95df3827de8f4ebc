#include "history/render.hpp"

#include "history/fold.hpp"
#include "history/one_of_each.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <algorithm>
#include <set>

namespace dw::story {
namespace {

namespace bj = boost::json;
using history::Renderer;
using ::testing::HasSubstr;

const CommitId commit{"01ARYZ6S41TSV4RRFFQ69G5FAV"};

std::vector<bj::object> shown(std::vector<Told> list) {
  const auto events = told(std::move(list));
  EXPECT_TRUE(history::fold(events)) << history::fold(events).error().message;
  Renderer renderer{RunId{"run1"}};
  const auto texts = renderer.render(commit, events);
  EXPECT_TRUE(texts) << texts.error().message;
  std::vector<bj::object> objects;
  if (texts) {
    for (const auto& text : *texts) objects.push_back(bj::parse(text).as_object());
  }
  return objects;
}
bj::object last_payload(std::vector<Told> list) {
  return shown(std::move(list)).back().at("payload").as_object();
}
std::string text_at(const bj::object& object, std::string_view key) {
  const auto* found = object.if_contains(key);
  return found && found->is_string() ? std::string{found->get_string()} : "(absent)";
}

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
  const auto texts = renderer.render(commit, events);
  EXPECT_THAT(texts->at(0), HasSubstr(R"({"id":"01ARYZ6S41TSV4RRFFQ69G5FAV","run_id":"run1",)"
                                      R"("sequence":1,"type":"WorkflowStarted","payload":{)"));
  EXPECT_THAT(texts->at(1), HasSubstr(R"({"id":"01ARYZ6S41TSV4RRFFQ69G5FAW")"));
}

TEST(Rendered, AnEventIsTheSameHoweverManyCommitsCameBefore) {
  const auto events = told(stories().front());
  Renderer at_once{RunId{"run1"}};
  const auto all = at_once.render(commit, events);
  Renderer one_by_one{RunId{"run1"}};
  // The start shares a commit; the rest comes as it happened.
  auto parts = *one_by_one.render(commit, std::span{events}.first(2));
  for (const auto& event : std::span{events}.subspan(2)) {
    parts.push_back(one_by_one.render(commit, std::span{&event, 1})->front());
  }
  ASSERT_EQ(parts.size(), all->size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto id_length = std::string_view{R"({"id":"01ARYZ6S41TSV4RRFFQ69G5FAV")"}.size();
    EXPECT_EQ(parts[i].substr(id_length), all->at(i).substr(id_length));
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
  EXPECT_EQ(text_at(started, "run_deadline_at"), "2026-04-10T09:01:00.000000Z");
  EXPECT_EQ(text_at(started, "arguments"), "AMMB/w==");
  EXPECT_EQ(text_at(started, "payload_codec"), "avro");
  EXPECT_EQ(text_at(started, "timestamp"), "2026-04-10T09:00:00.000000Z");
}

TEST(Rendered, ACommandIsShownWhole) {
  const auto payload = last_payload(
      {workflow_started("invoice"), workflow_completed(), start_rejected(command("c2", 4, "cli"))});
  EXPECT_EQ(bj::serialize(payload.at("command")),
            R"({"id":"c2","sequence":4,"type":"start","resolved_run_id":"run1","source":"cli",)"
            R"("status":"rejected","outcome":"rejected_duplicate",)"
            R"("rejection_reason":"instance_already_started",)"
            R"("rejected_at":"2026-04-10T09:00:00.000000Z"})");
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

TEST(Rendered, RefusesWhatIsNotOpen) {
  for (const history::EventBody& body : std::vector<history::EventBody>{
           activity_completed("a1", "try1"), activity_started("a1", "try1"),
           activity_cancelled("a1"), timer_fired("t1"), failure_handled("f1", 1)}) {
    Renderer renderer{RunId{"run1"}};
    const auto texts = renderer.render(commit, told({workflow_started("invoice"), body}));
    ASSERT_FALSE(texts);
    EXPECT_EQ(texts.error().code, ErrorCode::corrupt_history);
  }
}

}  // namespace
}  // namespace dw::story
