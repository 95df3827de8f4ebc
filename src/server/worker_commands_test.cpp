// Workers in other languages say what they want in JSON; the engine hears commands of its own.
#include "server/worker_commands.hpp"

#include "server/fields.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace dw::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string nothing = "wwHioz3/VYAiNwA=";     // null
const std::string empty_list = "wwHioz3/VYAiNwwA";  // []

Value said(std::string_view json) {
  auto value = parse_json(json);
  EXPECT_TRUE(value) << json;
  return value ? *value : Value{};
}

WireCommands heard(std::string_view json) {
  const Value commands = said(json);
  return read_commands(&commands);
}

// The command of that type, which this one is.
template <typename Command>
Command one(std::string_view json) {
  auto all = heard("[" + std::string{json} + "]");
  EXPECT_THAT(all.errors, IsEmpty()) << to_json(all.errors);
  if (all.commands.size() != 1) return ADD_FAILURE() << json, Command{};
  const auto* command = std::get_if<Command>(&all.commands.front());
  return command ? *command : (ADD_FAILURE() << json, Command{});
}

std::vector<std::string> fields_of(const Value::Map& errors) {
  std::vector<std::string> fields;
  for (const auto& [field, texts] : errors) fields.push_back(field);
  return fields;
}

// What is wrong with a single command, without the part of the path that is the same for all.
std::vector<std::string> wrong_with(std::string_view json) {
  const auto all = heard("[" + std::string{json} + "]");
  EXPECT_THAT(all.commands, IsEmpty()) << json;
  auto fields = fields_of(all.errors);
  for (auto& field : fields) {
    EXPECT_TRUE(field.starts_with("commands.0.")) << field;
    field.erase(0, std::string_view{"commands.0."}.size());
  }
  return fields;
}

Payload of(std::string_view json) {
  return encoded(said(json));
}

std::string envelope(std::string_view json) {
  return to_json(envelope_of(of(json)));
}

// ---- the list

TEST(WorkerCommands, AreAListWithAtLeastOne) {
  EXPECT_THAT(fields_of(read_commands(nullptr).errors), ElementsAre("commands"));
  for (const auto* json : {"null", "[]", "{}", R"("complete_workflow")"}) {
    EXPECT_THAT(fields_of(heard(json).errors), ElementsAre("commands")) << json;
  }
}

TEST(WorkerCommands, KeepTheirOrderAndGetNoStepsYet) {
  const auto all = heard(R"([{"type":"start_timer","delay_seconds":5},
                             {"type":"record_side_effect","result":"wwHioz3/VYAiNwA="},
                             {"type":"complete_workflow"}])");
  ASSERT_EQ(all.commands.size(), 3U) << to_json(all.errors);
  EXPECT_EQ(std::get<engine::StartTimer>(all.commands[0]).step, 0);
  EXPECT_EQ(std::get<engine::RecordSideEffect>(all.commands[1]).step, 0);
  EXPECT_TRUE(std::holds_alternative<engine::CompleteWorkflow>(all.commands[2]));
}

TEST(WorkerCommands, AreTakenAllOrNotAtAllAndEachMistakeIsNamed) {
  const auto all = heard(R"([{"type":"complete_workflow"}, 7, {}, {"type":"dance"},
                             {"type":"start_timer","delay_seconds":-1}])");
  EXPECT_THAT(all.commands, IsEmpty());
  EXPECT_THAT(fields_of(all.errors), ElementsAre("commands.1", "commands.2.type", "commands.3.type",
                                                 "commands.4.delay_seconds"));
  EXPECT_THAT(to_json(all.errors), HasSubstr("'dance'"));
}

// ---- activities

TEST(WorkerCommands, AnActivityIsScheduledAsTheWorkerSaid) {
  const auto activity = one<engine::ScheduleActivity>(
      R"({"type":"schedule_activity","activity_type":"payments.charge","arguments":)" +
      envelope("[42]") + R"(,"queue":"money","connection":"redis",
          "retry_policy":{"max_attempts":3,"backoff_seconds":[1,"2"],
                          "non_retryable_error_types":["Declined"]},
          "heartbeat_timeout":5,"start_to_close_timeout":"10","schedule_to_start_timeout":20,
          "schedule_to_close_timeout":20,"worker_session":null})");
  EXPECT_EQ(activity.activity_type, "payments.charge");
  EXPECT_EQ(activity.arguments, of("[42]"));
  EXPECT_EQ(activity.queue, "money");
  EXPECT_EQ(activity.connection, "redis");
  EXPECT_FALSE(activity.local);
  const history::RetryPolicy expected{3, {1, 2}, 10, 20, 20, 5, {"Declined"}};
  EXPECT_EQ(activity.retry_policy, expected);
  EXPECT_THAT(activity.group, IsEmpty());
}

TEST(WorkerCommands, AnActivityWithoutAPolicyIsTriedOnce) {
  for (const auto* json :
       {R"({"type":"schedule_activity","activity_type":"charge"})",
        R"({"type":"schedule_activity","activity_type":"charge","retry_policy":[]})"}) {
    const auto activity = one<engine::ScheduleActivity>(json);
    EXPECT_EQ(activity.arguments, of("[]"));
    EXPECT_EQ(activity.retry_policy.max_attempts, 1);
    EXPECT_THAT(activity.retry_policy.backoff_seconds, IsEmpty());
  }
}

TEST(WorkerCommands, ARetryPolicySaysWhichOfItsNumbersIsWrong) {
  EXPECT_THAT(
      wrong_with(R"({"type":"schedule_activity","activity_type":"charge",
      "retry_policy":{"max_attempts":0,"backoff_seconds":[1,-1,"soon"],
                      "non_retryable_error_types":[1]}})"),
      ElementsAre("retry_policy.max_attempts", "retry_policy.backoff_seconds.1",
                  "retry_policy.backoff_seconds.2", "retry_policy.non_retryable_error_types.0"));
  EXPECT_THAT(wrong_with(R"({"type":"schedule_activity","activity_type":"charge",
                             "retry_policy":"often"})"),
              ElementsAre("retry_policy"));
}

TEST(WorkerCommands, AnInnerTimeoutDoesNotOutlastItsOuter) {
  const auto with = [](std::string_view timeouts) {
    return R"({"type":"schedule_activity","activity_type":"charge",)" + std::string{timeouts} + "}";
  };
  EXPECT_THAT(wrong_with(with(R"("heartbeat_timeout":6,"start_to_close_timeout":5)")),
              ElementsAre("heartbeat_timeout"));
  EXPECT_THAT(wrong_with(with(R"("start_to_close_timeout":6,"schedule_to_close_timeout":5)")),
              ElementsAre("start_to_close_timeout"));
  EXPECT_THAT(wrong_with(with(R"("schedule_to_start_timeout":6,"schedule_to_close_timeout":5)")),
              ElementsAre("schedule_to_start_timeout"));
  EXPECT_THAT(wrong_with(with(R"("heartbeat_timeout":6,"schedule_to_close_timeout":5)")),
              ElementsAre("heartbeat_timeout"));
  EXPECT_THAT(wrong_with(with(R"("heartbeat_timeout":0)")), ElementsAre("heartbeat_timeout"));
}

// ---- payloads

TEST(WorkerCommands, APayloadIsRefusedByTheKeyThatIsWrong) {
  const auto result = [](std::string_view json) {
    return wrong_with(R"({"type":"complete_workflow","result":)" + std::string{json} + "}");
  };
  EXPECT_THAT(result(R"({"codec":"json","blob":"7"})"), ElementsAre("result.codec"));
  EXPECT_THAT(result(R"({"codec":"avro","blob":7})"), ElementsAre("result.blob"));
  EXPECT_THAT(result(R"({"codec":"avro","blob":"%"})"), ElementsAre("result.blob"));
  EXPECT_THAT(result(R"({"codec":"avro","blob":"AAAA"})"), ElementsAre("result.blob"));
  EXPECT_THAT(result(R"([1])"), ElementsAre("result")) << "commands carry envelopes";
}

TEST(WorkerCommands, WhatLiesInExternalStorageIsCarriedAsItsReference) {
  const std::string reference =
      R"({"schema":"durable-workflow.v2.external-payload-reference.v1","uri":"s3://bucket/key",)"
      R"("sha256":")" +
      std::string(64, 'a') + R"(","size_bytes":70000,"codec":"avro"})";
  const std::string envelope = R"({"codec":"avro","external_storage":)" + reference + "}";
  const auto charge = one<engine::ScheduleActivity>(
      R"({"type":"schedule_activity","activity_type":"charge","arguments":)" + envelope + "}");
  EXPECT_EQ(to_json(envelope_of(charge.arguments)), envelope);
  EXPECT_TRUE(projection_of(charge.arguments).is_null());
}

TEST(WorkerCommands, WhatIsNoReferenceIsRefused) {
  const auto all = heard(R"([{"type":"schedule_activity","activity_type":"charge",
      "arguments":{"codec":"avro","external_storage":{"uri":"s3://bucket/key"}}}])");
  EXPECT_THAT(fields_of(all.errors), ElementsAre("commands.0.arguments.external_storage"));
}

TEST(WorkerCommands, ASideEffectComesBareOrInAnEnvelope) {
  const auto bare = one<engine::RecordSideEffect>(R"({"type":"record_side_effect","result":")" +
                                                  empty_list + R"("})");
  EXPECT_EQ(bare.result, of("[]"));
  const auto wrapped = one<engine::RecordSideEffect>(R"({"type":"record_side_effect","result":)" +
                                                     envelope("[1]") + "}");
  EXPECT_EQ(wrapped.result, of("[1]"));
  EXPECT_THAT(wrong_with(R"({"type":"record_side_effect","result":"AAAA"})"),
              ElementsAre("result.blob"));
  EXPECT_THAT(wrong_with(R"({"type":"record_side_effect"})"), ElementsAre("result"));
}

// ---- timers, children, waits, markers

TEST(WorkerCommands, ATimerMayFireAtOnce) {
  EXPECT_EQ(one<engine::StartTimer>(R"({"type":"start_timer","delay_seconds":"0"})").delay_seconds,
            0);
  EXPECT_THAT(wrong_with(R"({"type":"start_timer"})"), ElementsAre("delay_seconds"));
  EXPECT_THAT(wrong_with(R"({"type":"start_timer","delay_seconds":1.5})"),
              ElementsAre("delay_seconds"));
}

TEST(WorkerCommands, AChildIsStartedAsTheWorkerSaid) {
  const auto child = one<engine::StartChild>(
      R"({"type":"start_child_workflow","workflow_type":"refund","queue":"money","arguments":)" +
      envelope("[7]") +
      R"(,"parent_close_policy":"request_cancel","retry_policy":{"max_attempts":2},
          "execution_timeout_seconds":60,"run_timeout_seconds":60})");
  EXPECT_EQ(child.definition.workflow_type, "refund");
  EXPECT_EQ(child.definition.queue, "money");
  EXPECT_EQ(child.arguments, of("[7]"));
  EXPECT_EQ(child.policy, history::ParentClosePolicy::request_cancel);
  EXPECT_EQ(child.execution_timeout, 60);
  EXPECT_EQ(child.run_timeout, 60);
  EXPECT_EQ(child.retry_policy.max_attempts, 2);
  EXPECT_THAT(child.retry_policy.backoff_seconds, IsEmpty());
}

TEST(WorkerCommands, AChildIsLeftAloneUnlessItsParentSaysOtherwise) {
  const auto child =
      one<engine::StartChild>(R"({"type":"start_child_workflow","workflow_type":"refund"})");
  EXPECT_EQ(child.policy, history::ParentClosePolicy::abandon);
  EXPECT_EQ(child.arguments, of("[]"));
  EXPECT_THAT(wrong_with(R"({"type":"start_child_workflow","parent_close_policy":"adopt",
      "retry_policy":{"max_attempts":0},"execution_timeout_seconds":5,"run_timeout_seconds":6})"),
              ElementsAre("workflow_type", "parent_close_policy", "retry_policy.max_attempts",
                          "run_timeout_seconds"));
}

TEST(WorkerCommands, AVersionLiesWithinWhatIsSupported) {
  const auto marker = one<engine::RecordVersion>(
      R"({"type":"record_version_marker","change_id":"vat","version":"-1","min_supported":-1,
          "max_supported":2})");
  EXPECT_EQ(marker.change_id, "vat");
  EXPECT_EQ(marker.version, -1);
  EXPECT_EQ(marker.min_supported, -1);
  EXPECT_EQ(marker.max_supported, 2);
  EXPECT_THAT(wrong_with(R"({"type":"record_version_marker","change_id":"vat","version":3,
                             "min_supported":1,"max_supported":2})"),
              ElementsAre("version"));
  EXPECT_THAT(wrong_with(R"({"type":"record_version_marker"})"),
              ElementsAre("change_id", "version", "min_supported", "max_supported"));
}

TEST(WorkerCommands, UpsertsKeepTheNullsThatDelete) {
  const auto attributes = one<engine::UpsertSearchAttributes>(
      R"({"type":"upsert_search_attributes","attributes":{"region":"eu","stage":null}})");
  EXPECT_EQ(to_json(attributes.attributes), R"({"region":"eu","stage":null})");
  const auto memo = one<engine::UpsertMemo>(R"({"type":"upsert_memo","entries":{"note":null}})");
  EXPECT_EQ(to_json(memo.entries), R"({"note":null})");
  EXPECT_THAT(wrong_with(R"({"type":"upsert_search_attributes"})"), ElementsAre("attributes"));
  EXPECT_THAT(wrong_with(R"({"type":"upsert_search_attributes","attributes":"eu"})"),
              ElementsAre("attributes"));
}

TEST(WorkerCommands, AMemoMayComeInAnEnvelope) {
  const auto memo = one<engine::UpsertMemo>(R"({"type":"upsert_memo","entries":)" +
                                            envelope(R"({"note":"paid"})") + "}");
  EXPECT_EQ(to_json(memo.entries), R"({"note":"paid"})");
  EXPECT_THAT(wrong_with(R"({"type":"upsert_memo","entries":)" + envelope("[1]") + "}"),
              ElementsAre("entries"));
}

TEST(WorkerCommands, AWaitIsOpenedWithOrWithoutATimeout) {
  const auto condition = one<engine::OpenCondition>(
      R"({"type":"open_condition_wait","condition_key":"paid",
          "condition_definition_fingerprint":"sha256:1","timeout_seconds":0})");
  EXPECT_EQ(condition.key, "paid");
  EXPECT_EQ(condition.fingerprint, "sha256:1");
  EXPECT_EQ(condition.timeout, 0);
  EXPECT_FALSE(condition.holds);
  const auto wait =
      one<engine::OpenSignalWait>(R"({"type":"open_signal_wait","signal_name":"approve"})");
  EXPECT_EQ(wait.name, "approve");
  EXPECT_EQ(wait.timeout, std::nullopt);
  EXPECT_THAT(wrong_with(R"({"type":"open_signal_wait","timeout_seconds":-1})"),
              ElementsAre("signal_name", "timeout_seconds"));
}

// ---- ends

TEST(WorkerCommands, AnUpdateEndsWithAResultOrAFailure) {
  const auto applied = one<engine::ApplyUpdate>(
      R"({"type":"complete_update","update_id":"01J","result":)" + envelope("4") + "}");
  EXPECT_EQ(applied.update_id, UpdateId{"01J"});
  EXPECT_EQ(applied.step, 0);
  EXPECT_EQ(applied.result, of("4"));
  const auto failed = one<engine::FailUpdate>(
      R"({"type":"fail_update","update_id":"01J","message":"no","exception_type":"Refused",
          "exception_class":"shop.Refused","non_retryable":true})");
  EXPECT_EQ(failed.update_id, UpdateId{"01J"});
  EXPECT_EQ(failed.category, "application");
  EXPECT_EQ(failed.failure,
            (history::Failure{"shop.Refused", "Refused", "no", true, {}, 0, {}, "application"}));
  EXPECT_THAT(wrong_with(R"({"type":"fail_update","non_retryable":"yes"})"),
              ElementsAre("update_id", "message", "non_retryable"));
}

TEST(WorkerCommands, AWorkflowThatReturnsNothingReturnsNull) {
  const auto done = one<engine::CompleteWorkflow>(R"({"type":"complete_workflow"})");
  EXPECT_EQ(*envelope_of(done.output).find("blob"), Value{nothing});
}

TEST(WorkerCommands, TheNextRunIsOfTheSameTypeUnlessNamed) {
  const auto same = one<engine::ContinueAsNew>(R"({"type":"continue_as_new","arguments":)" +
                                               envelope("[1]") + R"(,"queue":"money"})");
  EXPECT_EQ(same.definition.workflow_type, "");
  EXPECT_EQ(same.definition.queue, "money");
  EXPECT_EQ(same.arguments, of("[1]"));
  EXPECT_EQ(one<engine::ContinueAsNew>(R"({"type":"continue_as_new","workflow_type":"v2"})")
                .definition.workflow_type,
            "v2");
}

// ---- failures of workflows

std::optional<Payload> carried_by(std::string_view exception) {
  return one<engine::FailWorkflow>(R"({"type":"fail_workflow","message":"m","exception":)" +
                                   std::string{exception} + "}")
      .failure.properties;
}

TEST(WorkerCommands, AnExceptionNamesItselfWhereTheCommandDoesNot) {
  const auto failed = one<engine::FailWorkflow>(
      R"({"type":"fail_workflow","message":"","exception_type":"Outer",
          "exception":{"type":"Inner","class":"shop.Inner","message":"declined","code":3}})");
  EXPECT_EQ(failed.category, "application");
  EXPECT_EQ(failed.failure,
            (history::Failure{"shop.Inner", "Outer", "", false, {}, 3, {}, "application"}));
}

TEST(WorkerCommands, AnExceptionKeepsWhatItCarries) {
  EXPECT_EQ(carried_by(R"({"type":"T","details":)" + envelope("[4]") + "}"), of("[4]"));
  EXPECT_EQ(carried_by(R"({"details":{"card":4}})"), of(R"({"card":4})"));
  EXPECT_EQ(
      carried_by(R"({"details":")" + empty_list + R"(","details_payload_codec":"avro","code":1})"),
      of("[]"));
  EXPECT_EQ(carried_by(R"({"type":"T","activity_type":"charge","stack_trace":"at 1"})"),
            of(R"({"activity_type":"charge"})"));
  EXPECT_EQ(carried_by(R"({"type":"T","class":"C","message":"m"})"), std::nullopt);
}

TEST(WorkerCommands, AnExceptionPassedOnFromHistoryCarriesTheSameAgain) {
  EXPECT_EQ(carried_by(R"({"properties":[{"declaring_class":"app::D","name":"card","value":4}]})"),
            of(R"({"card":4})"));
  EXPECT_EQ(carried_by(R"({"properties":)" + envelope("7") + "}"), of("7"));
  EXPECT_EQ(carried_by(R"({"properties":["loose"]})"), of(R"(["loose"])"));
}

TEST(WorkerCommands, BadDetailsAreRefusedWhereTheyStand) {
  EXPECT_THAT(wrong_with(R"({"type":"fail_workflow","message":"m",
                             "exception":{"details":{"codec":"json","blob":"{}"}}})"),
              ElementsAre("exception.details.codec"));
  EXPECT_THAT(wrong_with(R"({"type":"fail_workflow","message":"m","exception":"boom"})"),
              ElementsAre("exception"));
}

// ---- what stands where it means nothing

TEST(WorkerCommands, AFieldThatNobodyWouldHeedIsRefused) {
  const auto with = [](std::string_view type, std::string_view more) {
    return wrong_with(fmt::format(R"({{"type":"{}","message":"m",{}}})", type, more));
  };
  for (const auto* field :
       {"start_to_close_timeout", "schedule_to_start_timeout", "schedule_to_close_timeout",
        "heartbeat_timeout", "execution_timeout_seconds", "run_timeout_seconds", "timeout_seconds",
        "retry_policy", "parallel_group_id", "parallel_group_path"}) {
    EXPECT_THAT(with("fail_workflow", fmt::format(R"("{}":1)", field)), ElementsAre(field));
  }
  EXPECT_THAT(with("complete_workflow", R"("non_retryable":true)"), ElementsAre("non_retryable"));
  EXPECT_THAT(with("complete_workflow", R"("priority":3,"non_retryable":null,
                                           "heartbeat_timeout":1)"),
              ElementsAre("heartbeat_timeout"))
      << "what is unknown, or null, is nothing";
}

// ---- groups

std::string group(std::string_view kind, std::string_view id, int base, int size, int index) {
  return fmt::format(R"("parallel_group_kind":"{}","parallel_group_id":"{}",
                         "parallel_group_base_sequence":{},"parallel_group_size":{},
                         "parallel_group_index":{})",
                     kind, id, base, size, index);
}
std::string timer(std::string_view more) {
  return fmt::format(R"({{"type":"start_timer","delay_seconds":1,{}}})", more);
}
const std::string outer = group("mixed", "parallel-calls:3:4", 3, 4, 2);
const std::string inner = group("timer", "parallel-timers:4:2", 4, 2, 1);

TEST(WorkerGroups, APathLeadsFromTheOutermostToTheOneNamedOnTheCommand) {
  const auto command = one<engine::StartTimer>(
      timer(fmt::format(R"({},"parallel_group_path":[{{{}}},{{{}}}])", inner, outer, inner)));
  using Kind = history::Group::Kind;
  EXPECT_THAT(command.group, ElementsAre(history::Group{Kind::mixed, 3, 4, 2},
                                         history::Group{Kind::timer, 4, 2, 1}));
}

TEST(WorkerGroups, ASingleGroupNeedsNoPathAndAPathNoRepetition) {
  const history::Group expected{history::Group::Kind::timer, 4, 2, 1};
  EXPECT_THAT(one<engine::StartTimer>(timer(inner)).group, ElementsAre(expected));
  const auto path = fmt::format(R"("parallel_group_path":[{{{}}}])", inner);
  EXPECT_THAT(one<engine::StartTimer>(timer(path)).group, ElementsAre(expected));
  EXPECT_THAT(one<engine::StartTimer>(timer(R"("parallel_group_path":[])")).group, IsEmpty());
}

TEST(WorkerGroups, ActivitiesAndChildrenHaveThemToo) {
  using Kind = history::Group::Kind;
  const auto activities = group("activity", "parallel-activities:1:2", 1, 2, 0);
  EXPECT_THAT(one<engine::ScheduleActivity>(R"({"type":"schedule_activity","activity_type":"a",)" +
                                            activities + "}")
                  .group,
              ElementsAre(history::Group{Kind::activity, 1, 2, 0}));
  const auto children = group("child", "parallel-children:1:2", 1, 2, 1);
  EXPECT_THAT(one<engine::StartChild>(R"({"type":"start_child_workflow","workflow_type":"w",)" +
                                      children + "}")
                  .group,
              ElementsAre(history::Group{Kind::child, 1, 2, 1}));
}

TEST(WorkerGroups, ANumberOutOfRangeIsNamed) {
  EXPECT_THAT(wrong_with(timer(group("condition", "x", 0, 1001, -1))),
              ElementsAre("parallel_group_kind", "parallel_group_base_sequence",
                          "parallel_group_size", "parallel_group_index"));
  EXPECT_THAT(wrong_with(timer(group("timer", "parallel-timers:1:2", 1, 2, 2))),
              ElementsAre("parallel_group_index"));
  EXPECT_THAT(wrong_with(timer(group("timer", "parallel-timers:1:3", 1, 2, 0))),
              ElementsAre("parallel_group_id"))
      << "it would be recorded under another name than the worker knows";
  EXPECT_THAT(wrong_with(timer(R"("parallel_group_path":[7,{}])")),
              ElementsAre("parallel_group_path.0", "parallel_group_path.1.parallel_group_id",
                          "parallel_group_path.1.parallel_group_kind",
                          "parallel_group_path.1.parallel_group_base_sequence",
                          "parallel_group_path.1.parallel_group_size",
                          "parallel_group_path.1.parallel_group_index"));
  EXPECT_THAT(wrong_with(timer(R"("parallel_group_path":{})")), ElementsAre("parallel_group_path"));
}

TEST(WorkerGroups, APathThatContradictsItselfIsRefused) {
  EXPECT_THAT(wrong_with(timer(fmt::format(R"({},"parallel_group_path":[{{{}}}])", inner, outer))),
              ElementsAre("parallel_group_path"));
  const auto elsewhere = group("mixed", "parallel-calls:1:4", 1, 4, 2);
  EXPECT_THAT(
      wrong_with(timer(fmt::format(R"("parallel_group_path":[{{{}}},{{{}}}])", elsewhere, inner))),
      ElementsAre("parallel_group_path"));
}

TEST(WorkerGroups, TheFirstOfSeveralIsNotTakenForAllOfThem) {
  EXPECT_THAT(wrong_with(timer(inner + R"(,"parallel_group_mode":"select")")),
              ElementsAre("parallel_group_mode"));
}

// ---- attempts at activities

WireFailure failure_heard(std::string_view json) {
  const Value failure = said(json);
  return read_failure(&failure);
}

TEST(WorkerFailure, SaysWhatWentWrong) {
  const auto heard_as = failure_heard(
      R"({"message":"declined","type":"Declined","class":"shop.Declined","code":"7",
          "stack_trace":"at 1","non_retryable":true,"kind":"handler_crash","timeout_type":null,
          "cancelled":false,"details":)" +
      envelope(R"({"card":4})") + "}");
  EXPECT_THAT(heard_as.errors, IsEmpty()) << to_json(heard_as.errors);
  EXPECT_EQ(heard_as.failure, (history::Failure{"shop.Declined", "Declined", "declined", true,
                                                of(R"({"card":4})"), 7, "at 1", "application"}));
}

TEST(WorkerFailure, IsOfTheCategoryThatTheWorkerMeans) {
  const auto category = [](std::string_view json) { return failure_heard(json).failure.category; };
  EXPECT_EQ(category(R"({"message":"m"})"), "application");
  EXPECT_EQ(category(R"({"message":"m","kind":"decode_failure"})"), "application");
  EXPECT_EQ(category(R"({"message":"m","kind":"timeout"})"), "timeout");
  EXPECT_EQ(category(R"({"message":"m","timeout_type":"deadline_exceeded"})"), "timeout");
  EXPECT_EQ(category(R"({"message":"m","kind":"cancellation"})"), "cancelled");
  EXPECT_EQ(category(R"({"message":"m","cancelled":true})"), "cancelled");
  EXPECT_TRUE(failure_heard(R"({"message":"m","cancelled":true})").failure.non_retryable);
  EXPECT_EQ(category(R"({"message":"m","kind":"brand_new"})"), "application");
  EXPECT_THAT(failure_heard(R"({"message":"m","kind":"brand_new"})").errors, IsEmpty());
  EXPECT_THAT(fields_of(failure_heard(R"({"message":"m","kind":7})").errors),
              ElementsAre("failure.kind"));
}

TEST(WorkerFailure, KeepsTheBeginningOfALongTrace) {
  const auto heard_as =
      failure_heard(R"({"message":"m","stack_trace":")" + std::string(20'000, 'x') + "\"}");
  EXPECT_EQ(heard_as.failure.stack_trace, std::string(16 * 1024, 'x'));
}

TEST(WorkerFailure, MayHaveNothingToSay) {
  const auto silent = failure_heard(R"({"message":""})");
  EXPECT_THAT(silent.errors, IsEmpty()) << "an exception without text is an exception";
  EXPECT_EQ(silent.failure.message, "");
}

TEST(WorkerFailure, NotRetryableIsNonRetryable) {
  EXPECT_TRUE(failure_heard(R"({"message":"m","retryable":false})").failure.non_retryable);
  EXPECT_FALSE(failure_heard(R"({"message":"m","retryable":true})").failure.non_retryable);
  EXPECT_TRUE(failure_heard(R"({"message":"m","retryable":true,"non_retryable":true})")
                  .failure.non_retryable);
}

TEST(WorkerFailure, PlainDetailsAreEncoded) {
  EXPECT_EQ(failure_heard(R"({"message":"m","details":{"card":4}})").failure.properties,
            of(R"({"card":4})"));
  EXPECT_EQ(failure_heard(R"({"message":"m","details":"late"})").failure.properties,
            of(R"("late")"));
}

TEST(WorkerFailure, IsRefusedByTheKeyThatIsWrong) {
  EXPECT_THAT(fields_of(read_failure(nullptr).errors), ElementsAre("failure"));
  EXPECT_THAT(fields_of(failure_heard(R"("boom")").errors), ElementsAre("failure"));
  EXPECT_THAT(fields_of(failure_heard(R"({"type":1,"retryable":"no","code":"x","details":
                                          {"codec":"avro","blob":"AAAA"}})")
                            .errors),
              ElementsAre("failure.message", "failure.type", "failure.retryable",
                          "failure.details.blob", "failure.code"));
}

TEST(WorkerResult, IsAnEnvelopeOrPlainOrNothing) {
  const auto result = [](std::string_view json) {
    const Value value = said(json);
    const auto read = read_result(&value, "result");
    EXPECT_THAT(read.errors, IsEmpty()) << json;
    return read.payload;
  };
  EXPECT_EQ(result(envelope("[1.0]")), of("[1.0]"));
  EXPECT_EQ(result(R"({"codec":"avro","blob":"x","more":1})"),
            of(R"({"codec":"avro","blob":"x","more":1})"))
      << "an envelope has these two keys and no other";
  EXPECT_EQ(result("7"), of("7"));
  EXPECT_EQ(result("null"), of("null"));
  EXPECT_EQ(read_result(nullptr, "result").payload, of("null"));
}

TEST(WorkerResult, IsRefusedUnderTheNameOfItsField) {
  const auto refused = [](std::string_view json) {
    const Value value = said(json);
    return fields_of(read_result(&value, "output").errors);
  };
  EXPECT_THAT(refused(R"({"codec":"json","blob":"7"})"), ElementsAre("output.codec"));
  EXPECT_THAT(refused(R"({"codec":"avro","blob":"7"})"), ElementsAre("output.blob"));
  EXPECT_THAT(refused(R"({"codec":"avro","external_storage":{}})"),
              ElementsAre("output.external_storage"));
}

}  // namespace
}  // namespace dw::server
