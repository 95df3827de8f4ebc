// Which schedules a list is asked for.
#include "server/schedule_query.hpp"

#include "server/schedule_page_token.hpp"

#include <gmock/gmock.h>

namespace dw::server {
namespace {

using ::testing::HasSubstr;
using views::AttributeType;

const views::AttributeTypes registered{
    {"Customer", AttributeType::keyword}, {"Amount", AttributeType::integer},
    {"Ratio", AttributeType::real},       {"Urgent", AttributeType::boolean},
    {"Since", AttributeType::datetime},   {"Tags", AttributeType::keyword_list}};

schedule::Schedule nightly() {
  schedule::Schedule schedule;
  schedule.schedule_id = "nightly";
  schedule.note = "every night";
  schedule.action = schedule::StartWorkflow{.workflow_type = "report", .task_queue = "night"};
  schedule.search_attributes = Value::Map{{"Customer", "acme"},
                                          {"Amount", 12},
                                          {"Ratio", 0.5},
                                          {"Urgent", true},
                                          {"Since", "2026-04-10T12:00:00Z"},
                                          {"Tags", Value::Array{"red", "green"}}};
  return schedule;
}

bool finds_it(std::string_view query) {
  const auto read = read_schedule_query(query, registered);
  EXPECT_FALSE(read.refusal) << query << ": " << (read.refusal ? read.refusal->message : "");
  return matches(read.query, nightly());
}

std::string_view reason_of(std::string_view query) {
  const auto read = read_schedule_query(query, registered);
  return read.refusal ? read.refusal->reason : "understood";
}

TEST(ScheduleQuery, EveryFieldOfAScheduleCanBeAskedFor) {
  EXPECT_TRUE(finds_it(R"(ScheduleId = "nightly")"));
  EXPECT_TRUE(finds_it(R"(Status = "active")"));
  EXPECT_TRUE(finds_it(R"(WorkflowType = "report")"));
  EXPECT_TRUE(finds_it(R"(TaskQueue = "night")"));
  EXPECT_TRUE(finds_it(R"(Note = "every night")"));
  EXPECT_FALSE(finds_it(R"(Note = "every")"));
  EXPECT_FALSE(finds_it(R"(Status = "paused")"));
}

TEST(ScheduleQuery, WhatWasRegisteredIsComparedByItsType) {
  EXPECT_TRUE(finds_it(R"(Customer = "acme")"));
  EXPECT_TRUE(finds_it("Amount = 12"));
  EXPECT_FALSE(finds_it("Amount = 13"));
  EXPECT_TRUE(finds_it("Ratio = 0.5"));
  EXPECT_TRUE(finds_it("Urgent = true"));
  EXPECT_FALSE(finds_it("Urgent = FALSE"));
  EXPECT_TRUE(finds_it(R"(Since = "2026-04-10T14:00:00+02:00")"));
  EXPECT_TRUE(finds_it(R"(Tags = "green")")) << "of a list, a member";
  EXPECT_FALSE(finds_it(R"(Tags = "blue")"));
}

TEST(ScheduleQuery, AllOfItMustHold) {
  EXPECT_TRUE(finds_it(R"(Status = "active" AND Amount = 12 and Tags = "red")"));
  EXPECT_FALSE(finds_it(R"(Status = "active" AND Amount = 11)"));
}

TEST(ScheduleQuery, WhatOtherListsUnderstandIsNotUnderstoodHere) {
  for (const auto* query :
       {R"(Status = "active" OR Status = "paused")", R"(NOT Status = "active")",
        R"(Status IN ("active"))", R"(Status != "active")", "Amount > 3", "Amount <= 3",
        R"(Note LIKE "every%")", R"((Status = "active"))", R"(Customer STARTS_WITH "a")"}) {
    EXPECT_EQ(reason_of(query), "unsupported_schedule_visibility_predicate") << query;
  }
}

TEST(ScheduleQuery, AFieldThatNobodyRegisteredIsNamed) {
  for (const auto* query : {R"(Colour = "red")", R"(WorkflowId = "x")", R"(status = "active")"}) {
    EXPECT_EQ(reason_of(query), "unsupported_schedule_visibility_field") << query;
  }
  EXPECT_THAT(read_schedule_query(R"(Colour = "red")", registered).refusal->message,
              HasSubstr("'Colour'"));
}

TEST(ScheduleQuery, WhatMakesNoSenseIsRefusedWithItsPlace) {
  for (const auto* query : {"nightly", "Status", "Status =", "Status = active", "= \"active\"",
                            R"(Status = "active" AND)", R"(Status = "active" Amount = 3)",
                            R"(Status = "active)", "Amount = \"12\"", "Amount = 1.5",
                            "Urgent = \"true\"", R"(Since = "yesterday")", "AND", "\xff"}) {
    EXPECT_EQ(reason_of(query), "invalid_schedule_visibility_query") << query;
  }
}

TEST(ScheduleQuery, TheSameQuestionIsTheSameTextHoweverItIsWritten) {
  const auto text = [](std::string_view query) {
    return normalized(read_schedule_query(query, registered).query);
  };
  EXPECT_EQ(text(R"(Amount=12   AND Status = "active")"),
            text(R"(Status = 'active' and Amount = 12)"));
  EXPECT_NE(text("Amount = 12"), text("Amount = 13"));
}

// ---- tokens

const SchedulePage ended_here{Namespace{"blue"}, "f00d", {from_micros(1'234'567), "nightly"}};

TEST(SchedulePageToken, WhatWasWrittenIsReadAgain) {
  const auto token = schedule_page_token(ended_here, "secret");
  EXPECT_EQ(read_schedule_page_token(token, "secret"), ended_here);
  EXPECT_EQ(token.find_first_of("+/=&?% "), std::string::npos) << "nothing a URL has to escape";
}

TEST(SchedulePageToken, NobodyElseCanWriteOne) {
  const auto token = schedule_page_token(ended_here, "secret");
  EXPECT_FALSE(read_schedule_page_token(token, "another"));
  for (std::size_t i = 0; i < token.size(); ++i) {
    std::string changed = token;
    changed[i] = changed[i] == 'A' ? 'B' : 'A';
    const auto read = read_schedule_page_token(changed, "secret");
    // The last letter may carry bits that are not part of any byte.
    if (read) {
      EXPECT_EQ(*read, ended_here) << i;
    }
  }
  for (const auto* text : {"", "A", "!!!!", "c2Nob29s"}) {
    EXPECT_FALSE(read_schedule_page_token(text, "secret")) << text;
  }
}

}  // namespace
}  // namespace dw::server
