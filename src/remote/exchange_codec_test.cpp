#include "remote/exchange_codec.hpp"

#include "history/codec.hpp"

#include <gmock/gmock.h>

namespace dw::remote {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const Timestamp exchange_codec_noon = from_micros(1'770'000'000'000'000);
const WorkerName teller{"w1", "default"};
const Payload seven{"json", "7"};

// ---- what the worker says

TEST(ExchangeBody, AsksForWork) {
  Exchange parked;
  parked.want = {64, 256, 16};
  parked.wait = 30s;
  EXPECT_EQ(exchange_body({"w1", "default", "build-2"}, parked),
            R"({"worker_id":"w1","task_queue":"default","build_id":"build-2",)"
            R"("want":{"workflow_tasks":64,"activity_tasks":256,"query_tasks":16},)"
            R"("wait_milliseconds":30000})");
}

TEST(ExchangeBody, ReportsEveryKindUnderItsOwnName) {
  Exchange exchange;
  exchange.reports = {
      ActivityReport{"a1", AttemptId{"t1"}, seven},
      WorkflowReport{"w1", 2, RunId{"r1"}, 1,
                     RanCode{exchange_codec_noon, R"([{"type":"x"}])", false}},
      QueryReport{"q1", 1, seven},
      WorkflowReport{"w2", 1, RunId{"r2"}, 2, RanCode{exchange_codec_noon, "[]", true}},
  };
  EXPECT_EQ(exchange_body(teller, exchange),
            R"({"worker_id":"w1","task_queue":"default","workflow_tasks":[)"
            R"({"task_id":"w1","workflow_task_attempt":2,"now":1770000000000000,)"
            R"("commands":"[{\"type\":\"x\"}]"},)"
            R"({"task_id":"w2","workflow_task_attempt":1,"now":1770000000000000,)"
            R"("commands":"[]","spoiled":true}],)"
            R"("activity_tasks":[{"task_id":"a1","activity_attempt_id":"t1",)"
            R"("result":{"codec":"json","blob":"7"}}],)"
            R"("query_tasks":[{"query_task_id":"q1","query_task_attempt":1,)"
            R"("result":{"codec":"json","blob":"7"}}],"wait_milliseconds":0})");
}

TEST(ExchangeBody, ReportsWhatWentWrong) {
  Exchange exchange;
  exchange.reports = {
      WorkflowReport{"w1", 1, RunId{"r1"}, 1,
                     engine::Blocked{"history_shape_mismatch", 3, "timer", {"a", "b"}, "no"}},
      WorkflowReport{"w2", 1, RunId{"r2"}, 2, CouldNotRun{"later"}},
      ActivityReport{"a1", AttemptId{"t1"},
                     history::Failure{"app::No", "app.no", "broke", true, seven}},
      ActivityReport{"a2", AttemptId{"t2"}, history::Failure{"app::No", "", "broke"}},
      QueryReport{"q1", 1, QueryRefusal{"query_rejected", "threw"}},
  };
  const auto body = exchange_body(teller, exchange);
  EXPECT_THAT(body, HasSubstr(R"("blocked":{"reason":"history_shape_mismatch","step":3,)"
                              R"("expected":"timer","recorded":["a","b"],"message":"no"}})"));
  EXPECT_THAT(body, HasSubstr(R"("failure":{"message":"later"}})"));
  EXPECT_THAT(body, HasSubstr(R"("failure":{"exception_class":"app::No","exception_type":"app.no",)"
                              R"("message":"broke","non_retryable":true,)"
                              R"("properties":{"codec":"json","blob":"7"}}})"));
  EXPECT_THAT(body, HasSubstr(R"("message":"broke","non_retryable":false}})"));
  EXPECT_THAT(body, HasSubstr(R"("failure":{"message":"threw","reason":"query_rejected"}})"));
}

TEST(ExchangeBody, SaysThatTheWorkerDrains) {
  Exchange exchange;
  EXPECT_THAT(exchange_body(teller, exchange), ::testing::Not(HasSubstr("draining")));
  exchange.draining = true;
  EXPECT_THAT(exchange_body(teller, exchange), HasSubstr(R"("draining":true)"));
}

// ---- what the server answers

constexpr std::string_view whole_answer = R"({
  "workflow_tasks":[{"task_id":"w1","recorded":true},
                    {"task_id":"w2","recorded":false,"reason":"overtaken","message":"late"}],
  "activity_tasks":[{"task_id":"a1","recorded":true}],
  "query_tasks":[{"query_task_id":"q1","recorded":false,"reason":"query_task_timed_out"}],
  "tasks":{
    "workflow":[{"task_id":"w3","workflow_task_attempt":4,"workflow_id":"i","run_id":"r3",
                 "workflow_type":"t","now":1770000000000000,
                 "history":[{"first":5,"at":1770000000000001,"events":"[{\"type\":\"TimerFired\"}]"}]}],
    "activity":[{"task_id":"a3","activity_attempt_id":"t3","activity_execution_id":"e3",
                 "attempt_number":2,"activity_type":"charge","workflow_id":"i","run_id":"r3",
                 "arguments":{"codec":"json","blob":"7"},"lease_expires_at":1770000000000000,
                 "heartbeat_timeout_seconds":30}],
    "query":[{"query_task_id":"q3","query_task_attempt":1,"workflow_id":"i","run_id":"r3",
              "workflow_type":"t","query_name":"balance","query_arguments":{"codec":"json","blob":"7"},
              "last_history_sequence":5,"history":[]}]},
  "poll_status":"leased","protocol_version":"1.19","server_capabilities":{"later":[{"more":1.5}]}})";

TEST(ExchangeAnswerText, HasVerdictsAndTasks) {
  const auto answer = parse_exchange_answer(whole_answer);
  ASSERT_TRUE(answer) << answer.error().message;
  ASSERT_THAT(answer->workflow, SizeIs(2));
  EXPECT_TRUE(answer->workflow[0].recorded);
  EXPECT_EQ(answer->workflow[1].reason, "overtaken");
  EXPECT_EQ(answer->workflow[1].message, "late");
  ASSERT_THAT(answer->activity, SizeIs(1));
  ASSERT_THAT(answer->query, SizeIs(1));

  ASSERT_THAT(answer->tasks.workflow, SizeIs(1));
  const WorkflowTask& task = answer->tasks.workflow[0];
  EXPECT_EQ(task.task_id, "w3");
  EXPECT_EQ(task.attempt, 4);
  EXPECT_EQ(task.run_id, RunId{"r3"});
  EXPECT_EQ(task.now, exchange_codec_noon);
  ASSERT_THAT(task.history, SizeIs(1));
  EXPECT_EQ(task.history[0].first, 5);
  EXPECT_EQ(task.history[0].at, exchange_codec_noon + 1us);
  EXPECT_EQ(task.history[0].events, R"([{"type":"TimerFired"}])");

  ASSERT_THAT(answer->tasks.activity, SizeIs(1));
  const ActivityTask& activity = answer->tasks.activity[0];
  EXPECT_EQ(activity.activity_id, ActivityId{"e3"});
  EXPECT_EQ(activity.attempt_id, AttemptId{"t3"});
  EXPECT_EQ(activity.attempt_number, 2);
  EXPECT_EQ(activity.activity_type, "charge");
  EXPECT_EQ(activity.instance_id, InstanceId{"i"});
  EXPECT_EQ(activity.arguments, seven);
  EXPECT_EQ(activity.lease_expires_at, exchange_codec_noon);
  EXPECT_EQ(activity.heartbeat_timeout, 30s);

  ASSERT_THAT(answer->tasks.query, SizeIs(1));
  EXPECT_EQ(answer->tasks.query[0].name, "balance");
}

TEST(ExchangeAnswerText, TellsARefusalFromABadMoment) {
  const auto answer = parse_exchange_answer(
      R"({"workflow_tasks":[{"recorded":false,"reason":"overtaken"}],)"
      R"("activity_tasks":[{"recorded":false,"reason":"overloaded","retryable":true}]})");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_FALSE(answer->workflow[0].again);
  EXPECT_TRUE(answer->activity[0].again);
}

TEST(ExchangeAnswerText, MayHoldNothing) {
  const auto answer = parse_exchange_answer(R"({"poll_status":"timeout"})");
  ASSERT_TRUE(answer);
  EXPECT_THAT(answer->tasks.workflow, IsEmpty());
}

TEST(ExchangeAnswerText, IsRefusedWhenItCannotBeRead) {
  const auto complaint = [](std::string_view body) {
    const auto answer = parse_exchange_answer(body);
    return answer ? std::string{"fine"} : answer.error().message;
  };
  EXPECT_THAT(complaint("<html>"), HasSubstr("not JSON"));
  EXPECT_THAT(complaint(R"({"workflow_tasks":[{"task_id":"x"}]})"), HasSubstr("'recorded'"));
  EXPECT_THAT(complaint(R"({"tasks":{"workflow":[{}]}})"), HasSubstr("'task_id'"));
  EXPECT_THAT(complaint(R"({"tasks":{"workflow":[7]}})"), HasSubstr("'task_id'"));
  EXPECT_THAT(complaint(R"({"tasks":{"workflow":7}})"), HasSubstr("'workflow'"));
  EXPECT_THAT(complaint(R"({"tasks":{"activity":[{"task_id":"a","activity_execution_id":"e",)"
                        R"("activity_attempt_id":"t","attempt_number":1,"activity_type":"c",)"
                        R"("workflow_id":"i","run_id":"r","arguments":{"codec":"avro",)"
                        R"("blob":"%"},"lease_expires_at":1}]}})"),
              HasSubstr("'arguments'"));
}

// ---- history

TEST(HistoryText, IsAskedForWithTheTaskThatNeedsIt) {
  EXPECT_EQ(history_body("w1", {"t", 3, RunId{"r"}, exchange_codec_noon, {}}),
            R"({"lease_owner":"w1","workflow_task_attempt":3,"native":true})");
  const auto history = parse_history(
      R"({"history":[{"first":1,"at":1770000000000000,"events":"[]"}],"protocol_version":"1"})");
  ASSERT_TRUE(history);
  ASSERT_THAT(*history, SizeIs(1));
  EXPECT_EQ((*history)[0].at, exchange_codec_noon);
}

std::vector<std::int64_t> sequences(const Result<std::vector<history::Event>>& events) {
  std::vector<std::int64_t> list;
  if (!events) return {-1};
  for (const auto& event : *events) list.push_back(event.sequence);
  return list;
}

TEST(HistoryText, GivesTheEventsThatWereNotSeen) {
  const auto piece = [](std::int64_t first, std::size_t count) {
    std::string text;
    history::append_events(text, std::vector<history::EventBody>(
                                     count, history::SideEffectRecorded{1, {"json", "1"}}));
    return HistoryPiece{first, exchange_codec_noon + std::chrono::seconds{first}, text};
  };
  const std::vector all{piece(1, 2), piece(3, 1), piece(4, 3)};
  using ::testing::ElementsAre;
  EXPECT_THAT(sequences(events_after(0, all)), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(sequences(events_after(1, all)), ElementsAre(2, 3, 4, 5, 6));
  EXPECT_THAT(sequences(events_after(4, all)), ElementsAre(5, 6));
  EXPECT_THAT(sequences(events_after(6, all)), IsEmpty());
  EXPECT_THAT(sequences(events_after(9, all)), IsEmpty());
  EXPECT_EQ(events_after(3, all)->front().recorded_at, exchange_codec_noon + 4s);

  const std::vector gap{piece(1, 2), piece(4, 1)};
  const auto broken = events_after(0, gap);
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().code, ErrorCode::corrupt_history);
  EXPECT_THAT(sequences(events_after(3, gap)), ElementsAre(4)) << "what is missing was seen";
}

}  // namespace
}  // namespace dw::remote
