// What a schedule is going to do, before it does: findings, and its future played forward.
#include "server/schedule_office.hpp"

namespace dw::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

class ScheduleOutlook : public ScheduleOffice {
 protected:
  std::vector<std::string> codes(const Value& linted) {
    std::vector<std::string> found;
    for (const Value& finding : *linted.find("findings")->if_array()) {
      found.push_back(*finding.find("code")->if_string());
    }
    return found;
  }
  Value linted(std::string_view id, std::string query = {}) {
    return told(ask(Operation::lint_schedule, id, {}, std::move(query)));
  }
  // "10:00 triggered", "11:00 buffered", …
  std::vector<std::string> played(std::string_view id, std::string query) {
    const Value answer = told(ask(Operation::preview_schedule, id, {}, "simulate=true&" + query));
    std::vector<std::string> rows;
    for (const Value& row : *answer.find("rows")->if_array()) {
      rows.push_back(row.find("at")->if_string()->substr(11, 5) + " " +
                     *row.find("outcome")->if_string());
    }
    return rows;
  }
};

// ---- findings

TEST_F(ScheduleOutlook, NothingIsFoundWhereNothingIsOdd) {
  create("nightly");
  const Value answer = linted("nightly");
  EXPECT_THAT(codes(answer), IsEmpty());
  EXPECT_EQ(at(answer, "schedule_id"), R"("nightly")");
  EXPECT_EQ(at(answer, "namespace"), R"("default")");
  EXPECT_EQ(at(answer, "run_seconds"), "null") << "nobody knows how long its runs take";
}

TEST_F(ScheduleOutlook, FindingsSayWhatToDoAndWhenTheyShow) {
  create("nightly", R"({"spec":{"cron_expressions":["30 2 * * *"],"timezone":"Europe/Berlin"},
                        "calendar_ids":["us-federal-holidays-2026"]})");
  const Value answer = linted("nightly");
  EXPECT_THAT(codes(answer), ElementsAre("dst_gap", "dst_fold", "calendar_ends"));
  EXPECT_EQ(at(answer, "findings.0.severity"), R"("warning")");
  EXPECT_EQ(at(answer, "findings.0.example_at"), R"("2027-03-28T01:00:00.000000Z")");
  EXPECT_NE(at(answer, "findings.0.hint"), R"("")");
  EXPECT_EQ(at(answer, "error_count"), "0");
  EXPECT_EQ(at(answer, "warning_count"), "3");
  EXPECT_EQ(events_of("nightly"), "ScheduleCreated") << "nothing is changed by looking";
}

TEST_F(ScheduleOutlook, WhatItsCalendarsForbidAltogetherIsAnError) {
  create("nightly", R"({"spec":{"cron_expressions":["0 9 * * 1"]},"calendar_ids":["weekends"]})");
  const Value answer = linted("nightly");
  EXPECT_THAT(codes(answer), ElementsAre("calendar_blocks_all"));
  EXPECT_EQ(at(answer, "error_count"), "1");
}

TEST_F(ScheduleOutlook, HowLongRunsTakeIsKnownFromTheLastOnesUnlessItIsSaid) {
  create("nightly");
  EXPECT_THAT(codes(linted("nightly", "run_seconds=3601")), ElementsAre("will_overlap"));
  EXPECT_THAT(codes(linted("nightly", "run_seconds=3600")), IsEmpty());
  const Value fired = told(ask(Operation::trigger_schedule, "nightly"));
  wait(61min);
  close(*fired.find("workflow_id")->if_string());
  const Value answer = linted("nightly");
  EXPECT_THAT(codes(answer), ElementsAre("will_overlap"));
  EXPECT_EQ(at(answer, "run_seconds"), "3660");
  EXPECT_THAT(codes(linted("nightly", "run_seconds=60")), IsEmpty());
}

TEST_F(ScheduleOutlook, WhatMakesNoSenseIsRefused) {
  create("nightly");
  for (const auto* query : {"run_seconds=long", "run_seconds=-1", "run_seconds=99999999999"}) {
    expect_refused(ask(Operation::lint_schedule, "nightly", {}, query), 422, "validation_failed");
  }
  expect_refused(ask(Operation::lint_schedule, "nobody"), 404, "schedule_not_found");
  const Answer refused = ask(Operation::preview_schedule, "nightly", {},
                             "simulate=true&from=2026-05-01T00:00:00Z&run_seconds=x");
  expect_refused(refused, 422, "validation_failed");
  for (const auto* field : {"from", "run_seconds"}) {
    EXPECT_NE(Value{refused.body}.find("errors")->find(field), nullptr) << field;
  }
  expect_refused(ask(Operation::preview_schedule, "nightly", {}, "simulate=maybe"), 422,
                 "validation_failed");
}

// ---- played forward

TEST_F(ScheduleOutlook, RunsThatTakeTooLongCostOccurrences) {
  create("nightly");
  EXPECT_THAT(played("nightly", "run_seconds=60&next=3"),
              ElementsAre("10:00 triggered", "11:00 triggered", "12:00 triggered"));
  EXPECT_THAT(played("nightly", "run_seconds=5400&next=4"),
              ElementsAre("10:00 triggered", "11:00 skipped", "12:00 triggered", "13:00 skipped"));
}

TEST_F(ScheduleOutlook, ABufferIsPlayedToo) {
  create("nightly", R"({"overlap_policy":"buffer_one"})");
  EXPECT_THAT(played("nightly", "run_seconds=5400&next=3"),
              ElementsAre("10:00 triggered", "11:00 buffered", "11:30 drained"));
  const Value answer = told(ask(Operation::preview_schedule, "nightly", {}, "simulate=1&next=2"));
  EXPECT_EQ(at(answer, "run_seconds"), "0");
  EXPECT_EQ(at(answer, "window_days"), "31");
  EXPECT_EQ(at(answer, "snapshot_at"), R"("2026-04-10T09:00:00.000000Z")");
  EXPECT_EQ(at(answer, "ticks"), "(absent)");
}

TEST_F(ScheduleOutlook, AConditionSeesWhatWasPlayedBefore) {
  create("nightly", R"({"condition":{"/last_24h_stats/total":{"lt":2}}})");
  EXPECT_THAT(played("nightly", "run_seconds=60&next=4"),
              ElementsAre("10:00 triggered", "11:00 triggered", "12:00 skipped", "13:00 skipped"));
}

// proves: S-146
TEST_F(ScheduleOutlook, PlayingChangesNothing) {
  create("nightly", R"({"rotation":[["a"],["b"]],"max_runs":5,"overlap_policy":"cancel_other"})");
  told(ask(Operation::trigger_schedule, "nightly"));
  const Value before = described("nightly");
  const auto events = events_of("nightly");
  played("nightly", "run_seconds=7200&next=50");
  EXPECT_EQ(described("nightly"), before);
  EXPECT_EQ(events_of("nightly"), events);
  EXPECT_EQ(started(), 1u);
  EXPECT_EQ(told(ask(Operation::schedule_actions, "nightly")).find("actions")->if_array()->size(),
            1u);
}

}  // namespace
}  // namespace dw::server
