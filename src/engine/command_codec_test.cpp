#include "engine/command_codec.hpp"

#include "core/arbitrary_value.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace dw::engine {
namespace {

using history::Group;
using testing::HasSubstr;

std::string written(std::vector<WorkflowCommand> commands) {
  std::string text;
  append_commands(text, commands);
  return text;
}

std::string complaint_about(std::string_view json) {
  const auto read = parse_commands(json);
  if (read) return "nothing wrong";
  EXPECT_EQ(read.error().code, ErrorCode::invalid_argument);
  return read.error().message;
}

const Payload seven = *encode(Value{7});
const Payload list = *encode(Value::Array{1});
const history::Failure declined{"app::Declined", "app.declined", "no funds", true, list, 51,
                                "shop.cpp:7"};

Definition whole_definition() {
  Definition definition{"invoice", "app::Invoice", "sha256:1", {}, "fast", "bills"};
  definition.declared = Declarations{.signals = {{"approve", std::nullopt}}};
  return definition;
}

struct Spelling {
  std::string name;
  WorkflowCommand command;
  std::string json;
};
void PrintTo(const Spelling& spelling, std::ostream* os) {
  *os << spelling.name;
}

// Every field of every command says something here, so that none can be forgotten.
std::vector<Spelling> one_of_each_command() {
  history::RetryPolicy policy;
  policy.max_attempts = std::nullopt;
  policy.backoff_seconds = {1, 60};
  policy.start_to_close_timeout = 2;
  policy.schedule_to_start_timeout = 3;
  policy.schedule_to_close_timeout = 4;
  policy.heartbeat_timeout = 5;
  policy.non_retryable_error_types = {"app.declined"};
  const history::GroupPath path{{Group::Kind::mixed, 1, 3, 0}, {Group::Kind::timer, 1, 2, 1}};
  const std::string path_json = R"("group":[{"kind":"mixed","base":1,"size":3,"index":0},)"
                                R"({"kind":"timer","base":1,"size":2,"index":1}])";
  const std::string policy_json =
      R"("retry_policy":{"max_attempts":0,"backoff_seconds":[1,60],"start_to_close_timeout":2,)"
      R"("schedule_to_start_timeout":3,"schedule_to_close_timeout":4,"heartbeat_timeout":5,)"
      R"("non_retryable_error_types":["app.declined"]})";
  const std::string definition_json =
      R"("definition":{"workflow_type":"invoice","workflow_class":"app::Invoice",)"
      R"("fingerprint":"sha256:1","declared":{"signals":[{"name":"approve"}]},)"
      R"("connection":"fast","queue":"bills"})";
  const std::string failure_json =
      R"("failure":{"class":"app::Declined","type":"app.declined","message":"no funds",)"
      R"("non_retryable":true,"properties":{"codec":"avro","blob":"wwHioz3/VYAiNwwCBAIA"},"code":51,)"
      R"("stack_trace":"shop.cpp:7"})";
  const Value::Map note{{"note", "x"}};

  return {
      {"ScheduleActivity",
       ScheduleActivity{1, "charge", seven, "fast", "bills", policy, path, true},
       R"({"type":"schedule_activity","step":1,"activity_type":"charge",)"
       R"("arguments":{"codec":"avro","blob":"wwHioz3/VYAiNwQO"},"connection":"fast","queue":"bills",)" +
           policy_json + "," + path_json + R"(,"local":true})"},
      {"StartTimer", StartTimer{2, 60, path},
       R"({"type":"start_timer","step":2,"delay_seconds":60,)" + path_json + "}"},
      {"RecordSideEffect", RecordSideEffect{3, list},
       R"({"type":"record_side_effect","step":3,"result":{"codec":"avro","blob":"wwHioz3/VYAiNwwCBAIA"}})"},
      {"HandleFailure", HandleFailure{FailureId{"f1"}, 4},
       R"({"type":"handle_failure","failure_id":"f1","step":4})"},
      {"CompleteWorkflow", CompleteWorkflow{seven},
       R"({"type":"complete_workflow","output":{"codec":"avro","blob":"wwHioz3/VYAiNwQO"}})"},
      {"FailWorkflow", FailWorkflow{"timeout", declined},
       R"({"type":"fail_workflow","category":"timeout",)" + failure_json + "}"},
      {"RecordVersion", RecordVersion{5, "new-tax", 2, -1, 3},
       R"({"type":"record_version","step":5,"change_id":"new-tax","version":2,)"
       R"("min_supported":-1,"max_supported":3})"},
      {"UpsertMemo", UpsertMemo{6, note},
       R"({"type":"upsert_memo","step":6,"entries":{"note":"x"}})"},
      {"UpsertSearchAttributes", UpsertSearchAttributes{7, note},
       R"({"type":"upsert_search_attributes","step":7,"attributes":{"note":"x"}})"},
      {"OpenCondition", OpenCondition{8, "paid", "sha256:2", 30, true},
       R"({"type":"open_condition","step":8,"key":"paid","fingerprint":"sha256:2",)"
       R"("timeout_seconds":30,"holds":true})"},
      {"CloseCondition", CloseCondition{8, false},
       R"({"type":"close_condition","step":8,"satisfied":false})"},
      {"OpenSignalWait", OpenSignalWait{9, "approve", 0},
       R"({"type":"open_signal_wait","step":9,"name":"approve","timeout_seconds":0})"},
      {"ApplySignal", ApplySignal{9, SignalId{"s1"}, 31},
       R"({"type":"apply_signal","step":9,"signal_id":"s1","timeout_seconds":31})"},
      {"TakeSignal", TakeSignal{SignalId{"s2"}}, R"({"type":"take_signal","signal_id":"s2"})"},
      {"ApplyUpdate", ApplyUpdate{UpdateId{"u1"}, 10, seven},
       R"({"type":"apply_update","update_id":"u1","step":10,)"
       R"("result":{"codec":"avro","blob":"wwHioz3/VYAiNwQO"}})"},
      {"FailUpdate", FailUpdate{UpdateId{"u2"}, "timeout", declined},
       R"({"type":"fail_update","update_id":"u2","category":"timeout",)" + failure_json + "}"},
      {"StartChild",
       StartChild{11, whole_definition(), list, "bill-7", false,
                  history::ParentClosePolicy::terminate, 90, 80, policy, path},
       R"({"type":"start_child","step":11,)" + definition_json +
           R"(,"arguments":{"codec":"avro","blob":"wwHioz3/VYAiNwwCBAIA"},"instance_id":"bill-7",)"
           R"("policy":"terminate","execution_timeout_seconds":90,"run_timeout_seconds":80,)" +
           policy_json + "," + path_json + "}"},
      {"SignalChild", SignalChild{ChildCallId{"k1"}, CommandId{"c1"}, "hurry", list},
       R"({"type":"signal_child","call_id":"k1","command_id":"c1","name":"hurry",)"
       R"("arguments":{"codec":"avro","blob":"wwHioz3/VYAiNwwCBAIA"}})"},
      {"ContinueAsNew", ContinueAsNew{12, whole_definition(), list},
       R"({"type":"continue_as_new","step":12,)" + definition_json +
           R"(,"arguments":{"codec":"avro","blob":"wwHioz3/VYAiNwwCBAIA"}})"},
  };
}

class CommandCodec : public testing::TestWithParam<Spelling> {};

TEST_P(CommandCodec, SaysEveryFieldAndReadsItBack) {
  const std::string json = "[" + GetParam().json + "]";
  EXPECT_EQ(written({GetParam().command}), json);
  const auto read = parse_commands(json);
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->size(), 1u);
  EXPECT_EQ(read->front().index(), GetParam().command.index());
  EXPECT_EQ(written(*read), json);
}

// A missing key may have a default; what is read then must still be a command.
TEST_P(CommandCodec, NeverTakesHalfAnObjectForMoreThanItSays) {
  auto whole = parse_json(GetParam().json);
  ASSERT_TRUE(whole);
  for (std::size_t i = 0; i < whole->if_map()->size(); ++i) {
    Value part = *whole;
    auto& fields = *part.if_map();
    const std::string key = fields[i].first;
    fields.erase(fields.begin() + static_cast<std::ptrdiff_t>(i));
    const auto read = parse_commands(to_json(Value::Array{part}));
    if (!read) {
      EXPECT_THAT(read.error().message, HasSubstr("command 0"));
      EXPECT_THAT(read.error().message, HasSubstr("'" + key + "'"));
      continue;
    }
    EXPECT_EQ(written(*read).find("\"" + key + "\":"), std::string::npos) << written(*read);
  }
}

TEST_P(CommandCodec, RefusesAKeyOfTheWrongKind) {
  auto whole = parse_json(GetParam().json);
  ASSERT_TRUE(whole);
  for (std::size_t i = 0; i < whole->if_map()->size(); ++i) {
    Value odd = *whole;
    (*odd.if_map())[i].second = 1.5;
    const auto complaint = complaint_about(to_json(Value::Array{odd}));
    EXPECT_THAT(complaint, HasSubstr("'" + (*odd.if_map())[i].first + "'"));
  }
}

INSTANTIATE_TEST_SUITE_P(EachOfThem, CommandCodec, testing::ValuesIn(one_of_each_command()),
                         [](const auto& spelling) { return spelling.param.name; });

TEST(CommandCodecTable, HasOneOfEach) {
  const auto each = one_of_each_command();
  ASSERT_EQ(each.size(), std::variant_size_v<AnyWorkflowCommand>);
  for (std::size_t i = 0; i < each.size(); ++i) EXPECT_EQ(each[i].command.index(), i);
}

TEST(CommandCodecText, LeavesOutWhatIsAsUsual) {
  EXPECT_EQ(written({}), "[]");
  EXPECT_EQ(written({ScheduleActivity{1, "charge", list, {}, {}, {}}, StartTimer{2, 0}}),
            R"([{"type":"schedule_activity","step":1,"activity_type":"charge",)"
            R"("arguments":{"codec":"avro","blob":"wwHioz3/VYAiNwwCBAIA"}},)"
            R"({"type":"start_timer","step":2,"delay_seconds":0}])");
  const auto usual =
      parse_commands(R"([{"type":"schedule_activity","step":1,"activity_type":"charge",)"
                     R"("arguments":{"codec":"avro","blob":"wwHioz3/VYAiNwwCBAIA"}}])");
  ASSERT_TRUE(usual);
  EXPECT_EQ(std::get<ScheduleActivity>(usual->front()).retry_policy, history::RetryPolicy{});
}

TEST(CommandCodecText, SaysWhichCommandAndKeyIsWrong) {
  const std::string fine = R"({"type":"take_signal","signal_id":"s"},)";
  EXPECT_EQ(complaint_about("[" + fine + R"({"type":"start_timer","step":1}])"),
            "command 1: start_timer 'delay_seconds' is missing");
  EXPECT_THAT(complaint_about("[" + fine + R"({"type":"fly","step":1}])"),
              HasSubstr("command 1: 'type' fly"));
  EXPECT_THAT(complaint_about("[" + fine + "7]"), HasSubstr("command 1"));
  EXPECT_THAT(complaint_about("{}"), HasSubstr("list"));
  EXPECT_THAT(complaint_about("[{"), HasSubstr("not JSON"));
}

TEST(CommandCodecText, RefusesWhatNoWorkerOfOursSends) {
  const std::string timer = R"([{"type":"start_timer","step":1,"delay_seconds":)";
  EXPECT_THAT(complaint_about(timer + "-1}]"), HasSubstr("'delay_seconds'"));
  EXPECT_THAT(complaint_about(timer + R"(1,"colour":"red"}])"), HasSubstr("'colour'"));
  EXPECT_THAT(complaint_about(timer + R"(1,"step":1}])"), HasSubstr("'step'"));
  EXPECT_THAT(complaint_about(timer + R"(1,"":1}])"), HasSubstr("is not a key"));
  EXPECT_THAT(complaint_about(timer + R"(1,"group":[{"kind":"activity","base":1,"size":2,)"
                                      R"("index":2}]}])"),
              HasSubstr("'group' is wrong: 'index'"));
  EXPECT_THAT(complaint_about(timer + R"(1,"group":[{"kind":"choir","base":1,"size":2,)"
                                      R"("index":1}]}])"),
              HasSubstr("'group' is wrong: 'kind'"));
  EXPECT_THAT(complaint_about(R"([{"type":"take_signal","signal_id":""}])"),
              HasSubstr("'signal_id'"));
  EXPECT_THAT(complaint_about(R"([{"type":"complete_workflow","output":)"
                              R"({"codec":"avro","blob":"%"}}])"),
              HasSubstr("'output'"));
  EXPECT_THAT(complaint_about(R"([{"type":"complete_workflow","output":)"
                              R"({"codec":"","blob":""}}])"),
              HasSubstr("'output'"));
  // What others could not read again, they would be shown with every task.
  for (const char* payload : {R"({"codec":"json","blob":"[1]"})", R"({"codec":"rot13","blob":""})",
                              R"({"codec":"avro","blob":"AAAA"})"}) {
    EXPECT_THAT(
        complaint_about(fmt::format(R"([{{"type":"complete_workflow","output":{}}}])", payload)),
        HasSubstr("'output'"));
  }
  EXPECT_THAT(complaint_about(R"([{"type":"upsert_memo","step":1,"entries":[]}])"),
              HasSubstr("'entries'"));
  EXPECT_THAT(complaint_about(
                  R"([{"type":"start_child","step":1,"definition":)"
                  R"({"workflow_type":"t"},"arguments":{"codec":"avro","blob":"wwHioz3/VYAiNwQO"},)"
                  R"("instance_id":"not an id"}])"),
              HasSubstr("'instance_id'"));
  EXPECT_THAT(complaint_about(R"([{"type":"schedule_activity","step":1,"activity_type":")" +
                              std::string(300, 'x') +
                              R"(","arguments":{"codec":"avro","blob":"wwHioz3/VYAiNwQO"}}])"),
              HasSubstr("'activity_type'"));
}

// ---- properties

std::string some_name() {
  return "n" + *rc::gen::container<std::string>(rc::gen::inRange('a', 'z'));
}

std::int64_t some_number() {
  return *rc::gen::inRange<std::int64_t>(0, INT64_MAX);
}

Payload some_payload() {
  return *encode(*arbitrary_value());
}

history::Failure some_failure() {
  history::Failure failure{some_name(), *arbitrary_text(), *arbitrary_text(),
                           *rc::gen::arbitrary<bool>()};
  if (*rc::gen::arbitrary<bool>()) failure.properties = some_payload();
  return failure;
}

Value some_entries() {
  Value::Map entries;
  for (auto left = *rc::gen::inRange(0, 4); left > 0; --left) {
    // Numbered, because a map may say a name only once.
    entries.emplace_back(std::to_string(left) + *arbitrary_text(), *arbitrary_value(2));
  }
  return entries;
}

history::GroupPath some_path() {
  history::GroupPath path;
  for (auto left = *rc::gen::inRange(0, 3); left > 0; --left) {
    const auto size = *rc::gen::inRange<std::int64_t>(1, 2000);
    path.push_back({static_cast<Group::Kind>(*rc::gen::inRange(0, 4)),
                    *rc::gen::inRange<std::int64_t>(0, INT32_MAX), size,
                    *rc::gen::inRange<std::int64_t>(0, size)});
  }
  return path;
}

WorkflowCommand some_command() {
  switch (*rc::gen::inRange(0, 8)) {
    case 0: {
      ScheduleActivity activity{some_number(), some_name(), some_payload(), {}, some_name(), {}};
      activity.retry_policy.max_attempts = *rc::gen::inRange<std::int64_t>(1, 100);
      activity.retry_policy.backoff_seconds =
          *rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(0, 1000));
      activity.retry_policy.non_retryable_error_types =
          *rc::gen::container<std::vector<std::string>>(arbitrary_text());
      activity.group = some_path();
      return activity;
    }
    case 1:
      return StartTimer{some_number(), some_number(), some_path()};
    case 2:
      return RecordSideEffect{some_number(), some_payload()};
    case 3:
      return RecordVersion{some_number(), some_name(), *arbitrary_int64(), *arbitrary_int64(),
                           *arbitrary_int64()};
    case 4:
      return UpsertMemo{some_number(), some_entries()};
    case 5:
      return FailUpdate{UpdateId{some_name()}, *arbitrary_text(), some_failure()};
    case 6:
      return FailWorkflow{*arbitrary_text(), some_failure()};
    default:
      return OpenCondition{some_number(), *arbitrary_text(), *arbitrary_text(), some_number(),
                           *rc::gen::arbitrary<bool>()};
  }
}

RC_GTEST_PROP(CommandCodecProperty, ReadsBackWhateverItWrote, ()) {
  std::vector<WorkflowCommand> commands;
  for (auto left = *rc::gen::inRange(0, 5); left > 0; --left) commands.push_back(some_command());
  const auto text = written(commands);
  const auto read = parse_commands(text);
  RC_ASSERT(read.has_value());
  RC_ASSERT(written(*read) == text);
}

RC_GTEST_PROP(CommandCodecProperty, AnswersGarbageWithAnError, ()) {
  const auto each = one_of_each_command();
  std::string text = "[" + each[*rc::gen::inRange<std::size_t>(0, each.size())].json + "]";
  for (auto left = *rc::gen::inRange(1, 4); left > 0; --left) {
    text[*rc::gen::inRange<std::size_t>(0, text.size())] = *rc::gen::arbitrary<char>();
  }
  // A changed letter may leave a command; if not, there is a reason.
  const auto read = parse_commands(text);
  if (!read) RC_ASSERT(!read.error().message.empty());
}

RC_GTEST_PROP(CommandCodecProperty, TakesAnyValueForWhatItIs, ()) {
  const auto read = parse_commands(to_json(Value::Array{*arbitrary_value()}));
  RC_ASSERT(!read.has_value());
}

}  // namespace
}  // namespace dw::engine
