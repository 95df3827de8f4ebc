// What a schedule cannot be, and how it is told: every mistake, with its code and its place.
#include "server/schedule_office.hpp"

namespace dw::server {
namespace {

using ::testing::HasSubstr;

class JudgingSchedules : public ScheduleOffice {
 protected:
  // "path code" of each mistake.
  std::vector<std::string> mistakes(const Answer& answer) {
    expect_refused(answer, 422, "validation_failed");
    const Value body{answer.body};
    EXPECT_EQ(at(body, "errors"), at(body, "validation_errors"));
    std::vector<std::string> all;
    for (const Value& problem : *body.find("problems")->if_array()) {
      const std::string path = *problem.find("path")->if_string();
      EXPECT_NE(body.find("errors")->find(path), nullptr) << path;
      EXPECT_NE(problem.find("hint"), nullptr) << path;
      all.push_back(path + " " + *problem.find("code")->if_string());
    }
    return all;
  }
  std::vector<std::string> mistakes_in(std::string_view more) {
    const auto all = mistakes(ask(Operation::create_schedule, {}, hourly("nightly", more)));
    expect_refused(ask(Operation::describe_schedule, "nightly"), 404, "schedule_not_found");
    return all;
  }
};

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

TEST_F(JudgingSchedules, AnExpressionIsRefusedWithTheByteAtWhichItStopsMakingSense) {
  const Answer answer =
      ask(Operation::create_schedule, {},
          hourly("nightly", R"({"spec":{"cron_expressions":["0 9 * * *","*/0 * * * *"]}})"));
  EXPECT_THAT(mistakes(answer), ElementsAre("spec.cron_expressions.1 invalid_cron_expression"));
  const Value problem = *Value{answer.body}.find("problems");
  EXPECT_EQ(at(problem, "0.field"), R"("minute")");
  EXPECT_NE(at(problem, "0.position"), "(absent)");
  EXPECT_NE(at(problem, "0.problem"), "(absent)");
  EXPECT_NE(at(problem, "0.hint"), R"("")");
}

TEST_F(JudgingSchedules, EveryMistakeIsToldAtOnce) {
  EXPECT_THAT(mistakes_in(R"({"spec":{"cron_expressions":["never"],"timezone":"Mars/Olympus",
                                      "intervals":[{"every":"PT0S"}]},
                              "overlap_policy":"maybe","jitter_seconds":4000})"),
              UnorderedElementsAre("spec.cron_expressions.0 invalid_cron_expression",
                                   "spec.intervals.0.every interval_not_positive",
                                   "spec.timezone invalid_timezone", "overlap_policy invalid_value",
                                   "jitter_seconds invalid_value"));
}

TEST_F(JudgingSchedules, WithoutTimesThereIsNothingToDo) {
  EXPECT_THAT(mistakes_in(R"({"spec":{}})"), ElementsAre("spec spec_empty"));
}

TEST_F(JudgingSchedules, ThereMustBeSomethingToStart) {
  EXPECT_THAT(mistakes_in(R"({"action":{}})"), ElementsAre(HasSubstr("action.workflow_type")));
  EXPECT_THAT(mistakes_in(R"({"action":{"workflow_type":"dw.standalone_activity"}})"),
              ElementsAre("action.workflow_type invalid_value"));
}

TEST_F(JudgingSchedules, ArgumentsThatNobodyCouldReadAreRefused) {
  const auto with_input = [this](std::string_view input) {
    const auto more = fmt::format(R"({{"action":{{"workflow_type":"report","input":{}}}}})", input);
    return ask(Operation::create_schedule, {}, hourly("nightly", more));
  };
  expect_refused(with_input(R"({"codec":"avro","blob":"!"})"), 422, "invalid_payload_framing");
  expect_refused(with_input(R"({"codec":"json","blob":"W10="})"), 422, "unsupported_payload_codec");
}

TEST_F(JudgingSchedules, ACalendarMustBeThere) {
  EXPECT_THAT(mistakes_in(R"({"calendar_ids":["weekdays","full-moons"]})"),
              ElementsAre(HasSubstr("calendar_not_found")));
  create("nightly", R"({"calendar_ids":["weekdays"]})");
}

TEST_F(JudgingSchedules, AConditionAndARotationMustMakeSense) {
  EXPECT_THAT(mistakes_in(R"({"condition":{"/a":{"resembles":1}}})"),
              ElementsAre(HasSubstr("unknown_operator")));
  EXPECT_THAT(mistakes_in(R"({"rotation":[]})"), ElementsAre(HasSubstr("invalid_rotation")));
}

TEST_F(JudgingSchedules, AMemoHasALimitThatIsTold) {
  Value::Map body = hourly("nightly");
  body.emplace_back("memo", Value::Map{{"long", std::string(256 * 1024, 'x')}});
  const Answer answer = ask(Operation::create_schedule, {}, std::move(body));
  expect_refused(answer, 422, "memo_too_large");
  EXPECT_EQ(at(Value{answer.body}, "limit"), "262144");
}

TEST_F(JudgingSchedules, AMemoThatNoRunCouldCarryIsRefusedBeforeTheFirstFire) {
  const std::string key(65, 'k');
  EXPECT_THAT(mistakes_in(R"({"memo":{")" + key + R"(":1}})"),
              ElementsAre(HasSubstr("invalid_value")));
}

TEST_F(JudgingSchedules, WhatRunsWouldRefuseToCarryIsRefusedNow) {
  EXPECT_THAT(mistakes_in(R"({"search_attributes":{"not a name":1}})"),
              ElementsAre(HasSubstr("search_attributes")));
}

TEST_F(JudgingSchedules, AnUpdateIsJudgedLikeACreateAndChangesNothingWhenRefused) {
  create("nightly");
  const Value before = described("nightly");
  EXPECT_THAT(mistakes(ask(Operation::update_schedule, "nightly",
                           object(R"({"note":"new","spec":{"cron_expressions":["61 * * * *"]}})"))),
              ElementsAre("spec.cron_expressions.0 invalid_cron_expression"));
  EXPECT_EQ(described("nightly"), before);
}

TEST_F(JudgingSchedules, FewerRunsThanThereWereAreNotPossible) {
  create("nightly");
  ask(Operation::trigger_schedule, "nightly", object(R"({"overlap_policy":"allow_all"})"));
  ask(Operation::trigger_schedule, "nightly", object(R"({"overlap_policy":"allow_all"})"));
  EXPECT_THAT(mistakes(ask(Operation::update_schedule, "nightly", object(R"({"max_runs":2})"))),
              ElementsAre("max_runs max_runs_below_fires_count"));
}

TEST_F(JudgingSchedules, WhatMayNotBeMeantIsAWarning) {
  const Value made = create("nightly", R"({"jitter_seconds":3600,
                                           "spec":{"intervals":[{"every":"PT10M"}]}})");
  EXPECT_EQ(at(made, "warnings.0.code"), R"("jitter_exceeds_period")");
}

}  // namespace
}  // namespace dw::server
