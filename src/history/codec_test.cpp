#include "history/codec.hpp"

#include "core/arbitrary_value.hpp"
#include "history/event_fields.hpp"
#include "history/one_of_each.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <boost/json.hpp>

#include <algorithm>

namespace dw::story {
namespace {

using history::EventBody;
using history::parse_events;
using ::testing::HasSubstr;
using ::testing::Not;

std::string stored(const std::vector<EventBody>& events) {
  std::string text;
  history::append_events(text, events);
  return text;
}
std::string stored(const EventBody& event) {
  return stored(std::vector{event});
}

std::vector<EventBody> every_sample() {
  auto samples = full_of_each();
  for (auto& plain : plain_of_each()) samples.push_back(std::move(plain));
  return samples;
}

// ---- there and back

TEST(Codec, ReadsBackEveryTypeOfEvent) {
  for (const EventBody& event : every_sample()) {
    const auto text = stored(event);
    const auto read = parse_events(text);
    ASSERT_TRUE(read) << text << read.error().message;
    EXPECT_EQ(*read, std::vector{event}) << text;
  }
}

TEST(Codec, KeepsTheOrderWithinACommit) {
  EXPECT_EQ(*parse_events(stored(every_sample())), every_sample());
  EXPECT_EQ(stored(std::vector<EventBody>{}), "[]");
  EXPECT_EQ(parse_events("[]")->size(), 0u);
}

TEST(Codec, NamesEveryTypeAsItsStructIsNamed) {
  const auto types = history::all_types();
  const auto samples = full_of_each();
  ASSERT_EQ(types.size(), samples.size());
  for (std::size_t i = 0; i < types.size(); ++i) EXPECT_EQ(type_name(samples[i]), types[i]);
  EXPECT_EQ(type_name(timer_fired("t1")), "TimerFired");
  EXPECT_EQ(type_name(workflow_started("invoice")), "WorkflowStarted");
}

// The names in the file, spelled out: whoever changes one of these breaks stores that exist.
TEST(Codec, WritesExactlyThis) {
  EXPECT_EQ(stored(timer_of_step(2, 60s)),
            R"([{"type":"TimerScheduled","timer_id":"t1","sequence":2,"delay_seconds":60,)"
            R"("task":"t1-task"}])");
  EXPECT_EQ(
      stored(EventBody{history::ActivityCompleted{ActivityId{"a1"}, AttemptId{"try1"}, binary()}}),
      R"([{"type":"ActivityCompleted","activity_execution_id":"a1",)"
      R"("activity_attempt_id":"try1","result":{"codec":"avro","blob":"AMMB/w=="}}])");
  EXPECT_EQ(stored(activity_retry_scheduled("a1", "try1", 5, full_failure(), "task2")),
            R"([{"type":"ActivityRetryScheduled","activity_execution_id":"a1",)"
            R"("activity_attempt_id":"try1","retry_backoff_seconds":5,"exception":{)"
            R"("class":"app::Broken<int>","type":"app.broken","message":"it \"broke\"\n€",)"
            R"("non_retryable":true,"properties":{"codec":"json","blob":"{\"card\":4}"},)"
            R"("code":402,"stack_trace":"pay.py:7 in charge","failure_category":"timeout"},)"
            R"("task":"task2"}])");
  EXPECT_EQ(stored(signal_received("s1", "approve", full_command(), "[1]", "w1")),
            R"([{"type":"SignalReceived","command":{"id":"c1","sequence":7,"source":"cli",)"
            R"("on_run":true,"context":{"intake_mode":"signal_with_start","intake_group":"g1",)"
            R"("parent_instance_id":"order-1","parent_run_id":"run0","parent_sequence":3,)"
            R"("child_call_id":"k1"},"request_id":"request-1"},"signal_id":"s1",)"
            R"("signal_name":"approve",)"
            R"("arguments":{"codec":"json","blob":"[1]"},"signal_wait_id":"w1"}])");
  EXPECT_EQ(stored(of_step(4, in_barrier({full_path().back()}, child_scheduled("k1")))),
            R"([{"type":"ChildWorkflowScheduled","child_call_id":"k1","sequence":4,)"
            R"("child_workflow_type":"payment","child_workflow_instance_id":"payment-k1",)"
            R"("parallel_group_path":[{"kind":"activity","base":4,"size":2,"index":0}]}])");
  EXPECT_EQ(stored(of_step(4, condition_timeout("t1", "w1", 60s))),
            R"([{"type":"TimerScheduled","timer_id":"t1","sequence":4,"delay_seconds":60,)"
            R"("timer_kind":"condition_timeout","wait_id":"w1","task":"t1-task"}])");
  EXPECT_EQ(stored(cancel_requested(command("c1", 3), "enough")),
            R"([{"type":"CancelRequested","command":{"id":"c1","sequence":3,"source":"native"},)"
            R"("reason":"enough"}])");
}

// ---- what is left out

TEST(Codec, LeavesOutWhatGoesWithoutSaying) {
  EXPECT_EQ(stored(workflow_started("invoice")),
            R"([{"type":"WorkflowStarted","workflow_instance_id":"invoice-1","run_number":1,)"
            R"("workflow_type":"invoice","arguments":{"codec":"json","blob":"[]"}}])");
  EXPECT_EQ(stored(EventBody{plain_schedule()}),
            R"([{"type":"ActivityScheduled","activity_execution_id":"a1","sequence":1,)"
            R"("activity_type":"charge","arguments":{"codec":"json","blob":"[]"},)"
            R"("task":"a1-task"}])");
  EXPECT_EQ(stored(EventBody{timer_of_step(1, 0s)}),
            R"([{"type":"TimerScheduled","timer_id":"t1","sequence":1,"delay_seconds":0}])");
}

// proves: E-92
// proves: E-175
TEST(Codec, TheFallbacksArePartOfTheFormat) {
  const auto read = parse_events(
      R"([{"type":"ActivityScheduled","activity_execution_id":"a1","sequence":1,)"
      R"("activity_type":"charge","arguments":{"codec":"json","blob":"[]"},"task":"x"}])");
  ASSERT_TRUE(read);
  const auto& policy = std::get<history::ActivityScheduled>(read->front()).retry_policy;
  EXPECT_EQ(policy.max_attempts, 1);
  EXPECT_EQ(policy.backoff_seconds, (std::vector<history::Seconds>{1, 2, 5, 10, 15, 30, 60, 120}));
  EXPECT_EQ(policy.heartbeat_timeout, std::nullopt);
}

// proves: E-173
TEST(Codec, ForEverIsWrittenAsZero) {
  const auto text = stored(activity_scheduled("a1", "charge", for_ever()));
  EXPECT_THAT(text, HasSubstr(R"("retry_policy":{"max_attempts":0})"));
  const auto read = parse_events(text);
  EXPECT_EQ(std::get<history::ActivityScheduled>(read->front()).retry_policy, for_ever());
}

TEST(Codec, AResultOfAFewBytesStaysSmall) {
  const Payload result{std::string{avro_codec}, std::string(13, 'x')};
  const auto text = stored(EventBody{history::ActivityCompleted{
      ActivityId{"01ARYZ6S41TSV4RRFFQ69G5FAV"}, AttemptId{"01ARYZ6S41TSV4RRFFQ69G5FAW"}, result}});
  EXPECT_LE(text.size(), 350u);
}

// ---- the contract

void remove_key(std::string_view path_key, boost::json::object& object) {
  object.erase(boost::json::string_view{path_key.data(), path_key.size()});
}

boost::json::object as_object(const EventBody& event) {
  return boost::json::parse(stored(event)).as_array().at(0).as_object();
}
std::string as_row(const boost::json::object& event) {
  return boost::json::serialize(boost::json::array{event});
}

void expect_corrupt_row(const std::string& row) {
  const auto read = parse_events(row);
  ASSERT_FALSE(read) << row;
  EXPECT_EQ(read.error().code, ErrorCode::corrupt_history) << row;
}

TEST(Contract, NamesEveryKeyThatIsWritten) {
  for (const EventBody& event : every_sample()) {
    const auto contract = history::stored_contract(type_name(event));
    for (const auto& entry : as_object(event)) {
      const std::string key{entry.key()};
      EXPECT_TRUE(key == "type" ||
                  std::ranges::find(contract, key, &history::ContractKey::name) != contract.end())
          << type_name(event) << " writes " << key;
    }
  }
  EXPECT_TRUE(history::stored_contract("NoSuchEvent").empty());
}

TEST(Contract, AFullEventHoldsEveryKey) {
  for (const EventBody& event : full_of_each()) {
    const auto object = as_object(event);
    for (const auto& key : history::stored_contract(type_name(event))) {
      EXPECT_TRUE(object.contains(key.name)) << type_name(event) << " lacks " << key.name;
    }
  }
}

TEST(Contract, RequiredKeysAreRequiredAndOthersAreNot) {
  for (const EventBody& event : full_of_each()) {
    for (const auto& key : history::stored_contract(type_name(event))) {
      auto object = as_object(event);
      remove_key(key.name, object);
      if (key.required) {
        expect_corrupt_row(as_row(object));
      } else {
        EXPECT_TRUE(parse_events(as_row(object))) << type_name(event) << " without " << key.name;
      }
    }
    auto nameless = as_object(event);
    remove_key("type", nameless);
    expect_corrupt_row(as_row(nameless));
  }
}

TEST(Contract, PartsHaveRequiredKeysToo) {
  for (const auto& [part, keys] : std::vector<std::pair<std::string, std::vector<std::string>>>{
           {"command", {"id", "sequence", "source"}}, {"exception", {"class", "message"}}}) {
    for (const EventBody& event : full_of_each()) {
      const auto whole = as_object(event);
      if (!whole.contains(part)) continue;
      for (const auto& key : keys) {
        auto object = whole;
        remove_key(key, object[part].as_object());
        expect_corrupt_row(as_row(object));
      }
      auto object = whole;
      object[part].as_object()["surprise"] = 1;
      expect_corrupt_row(as_row(object));
    }
  }
}

TEST(Contract, RefusesKeysItDoesNotKnow) {
  for (const EventBody& event : full_of_each()) {
    auto object = as_object(event);
    object["surprise"] = 1;
    expect_corrupt_row(as_row(object));
  }
}

bool holds_any_value(std::string_view key) {
  for (const std::string_view any :
       {"memo", "search_attributes", "attributes", "entries", "progress", "validation_errors"}) {
    if (key == any) return true;
  }
  return false;
}

TEST(Contract, RefusesValuesOfTheWrongKind) {
  for (const EventBody& event : full_of_each()) {
    for (const auto& entry : as_object(event)) {
      const std::string key{entry.key()};
      if (holds_any_value(key)) continue;
      for (const boost::json::value& wrong :
           {boost::json::value(nullptr), boost::json::value(1.5), boost::json::value(true),
            boost::json::value{{"x", 1}}}) {
        if (wrong.kind() == entry.value().kind() && wrong.is_bool()) continue;
        auto object = as_object(event);
        object[key] = wrong;
        expect_corrupt_row(as_row(object));
      }
    }
  }
}

TEST(Contract, RefusesDamage) {
  for (const char* row :
       {"", "{", "{}", "null", "[1]", "[{}]", "[{\"type\":1}]", "[{\"type\":\"TimerExploded\"}]",
        "[{\"type\":\"TimerFired\"}]", R"([{"type":"TimerFired","timer_id":""}])",
        R"([{"type":"TimerFired","timer_id":"t1"},])",
        R"([{"type":"TimerFired","timer_id":"t1"}] more)",
        R"([{"type":"WorkflowCompleted","output":{"codec":"avro"}}])",
        R"([{"type":"WorkflowCompleted","output":{"codec":"avro","blob":"?"}}])",
        R"([{"type":"WorkflowCompleted","output":{"codec":"json","blob":"1","x":1}}])"}) {
    expect_corrupt_row(row);
  }
}

TEST(Contract, SaysWhatIsWrong) {
  EXPECT_THAT(parse_events(R"([{"type":"TimerExploded"}])").error().message,
              HasSubstr("TimerExploded"));
  EXPECT_THAT(parse_events(R"([{"type":"TimerFired"}])").error().message,
              HasSubstr("TimerFired: key 'timer_id' is missing"));
  EXPECT_THAT(parse_events(R"([{"type":"TimerFired","timer_id":1}])").error().message,
              HasSubstr("wrong kind"));
}

TEST(ContractDeathTest, NothingIsWrittenThatCouldNotBeRead) {
  EXPECT_DEATH(stored(timer_fired("")), "must name what it is about");
  EXPECT_DEATH(stored(EventBody{history::WorkflowCompleted{}}), "must name its codec");
}

// ---- user data

TEST(Codec, EscapesLabelKeysAsItEscapesValues) {
  auto event = workflow_started("invoice");
  event.labels = {{"a\"b\\", "c\nd"}, {"\xe2\x82\xac", ""}};
  EXPECT_EQ(*parse_events(stored(event)), std::vector<EventBody>{event});
}

TEST(Codec, ReadsManySmallValuesFromAShortRow) {
  auto event = workflow_started("invoice");
  event.memo = Value::Array(650, Value{1});
  const auto text = stored(event);
  EXPECT_LT(text.size(), 1500u);
  EXPECT_EQ(*parse_events(text), std::vector<EventBody>{event});
}

TEST(Codec, ReadsValuesAsDeepAsAValueMayBe) {
  Value deep = Value::Array{};
  for (int level = 1; level < 512; ++level) deep = Value::Array{std::move(deep)};
  auto event = workflow_started("invoice");
  event.memo = deep;
  EXPECT_EQ(*parse_events(stored(event)), std::vector<EventBody>{event});
}

TEST(Codec, ReadsAPrettyRowToo) {
  const auto read = parse_events(
      "[ {\"type\" : \"TimerFired\", \"timer_id\" : \"t0\"} ,\n {\"type\":\"WorkflowStarted\",\n"
      " \"workflow_instance_id\":\"x ]},\\\"\" , \"run_number\":1,\"workflow_type\":\"t\" ,\n"
      " \"memo\" : { \"a\" : [ 0.1 , \"]}\\\\\" ] } ,\"search_attributes\" : 2.50 ,\n"
      " \"arguments\":{\"codec\":\"json\",\"blob\":\"[]\"} } ]");
  ASSERT_TRUE(read) << read.error().message;
  const auto& event = std::get<history::WorkflowStarted>(read->at(1));
  EXPECT_EQ(event.memo, (Value::Map{{"a", Value::Array{0.1, "]}\\"}}}));
  EXPECT_EQ(event.search_attributes, Value{2.5});
}

// A map of "$type" bytes reads as bytes, and a name twice is one name: both are refused at the
// door.
bool storable(const Value& value) {
  if (const auto* items = value.if_array()) return std::ranges::all_of(*items, storable);
  const auto* entries = value.if_map();
  if (!entries) return true;
  const auto* type = value.find("$type");
  if (type && *type == Value{"bytes"}) return false;
  return std::ranges::all_of(*entries, [](const auto& entry) { return storable(entry.second); });
}

RC_GTEST_PROP(Codec, GivesUserValuesBackExactly, ()) {
  auto event = workflow_started("invoice");
  event.memo = *rc::gen::suchThat(arbitrary_value(), storable);
  event.search_attributes = *rc::gen::suchThat(arbitrary_value(), storable);
  event.business_key = *arbitrary_text();
  const auto read = parse_events(stored(std::vector<EventBody>{timer_fired("t1"), event}));
  RC_ASSERT(read.has_value());
  RC_ASSERT(read->at(1) == EventBody{event});
}

RC_GTEST_PROP(Codec, GivesPayloadsBackExactly, ()) {
  const history::WorkflowCompleted completed{
      {std::string{avro_codec}, *rc::gen::string<std::string>()}};
  auto failed =
      workflow_failed("f1", failure(*arbitrary_text(), *arbitrary_text(), *arbitrary_text()));
  const std::vector<EventBody> events{completed, failed};
  RC_ASSERT(*parse_events(stored(events)) == events);
}

RC_GTEST_PROP(Codec, SurvivesAnyDamage, ()) {
  auto text = stored(every_sample());
  const auto place = *rc::gen::inRange<std::size_t>(0, text.size());
  text[place] = *rc::gen::arbitrary<char>();
  if (*rc::gen::arbitrary<bool>()) text.resize(place);
  const auto read = parse_events(text);  // a value or an error: it does not throw
  if (!read) RC_ASSERT(read.error().code == ErrorCode::corrupt_history);
}

}  // namespace
}  // namespace dw::story
