// Operators ask for workflows in a small language; what they mistype is told back to them.
#include "views/visibility_query.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace dw::views {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const AttributeTypes registered{
    {"Customer", AttributeType::keyword}, {"Note", AttributeType::text},
    {"Count", AttributeType::integer},    {"Amount", AttributeType::real},
    {"Urgent", AttributeType::boolean},   {"DueAt", AttributeType::datetime},
    {"Tags", AttributeType::keyword_list}};

Timestamp moment_at(std::string_view text) {
  return *parse_timestamp(text);
}

VisibleRun an_order() {
  VisibleRun run;
  run.workflow_type = "shop.order";
  run.workflow_id = "order-42";
  run.run_id = "01J00000000000000000000042";
  run.status = "waiting";
  run.started_at = moment_at("2026-04-10T09:00:00Z");
  run.recorded = VisibleRun::Recorded{
      .task_queue = "orders",
      .build_id = "blue",
      .business_key = "INV 7 = paid",
      .search_attributes = Value::Map{{"Customer", "acme"},
                                      {"Note", "it's \"urgent\""},
                                      {"Count", 3},
                                      {"Amount", 12.5},
                                      {"Urgent", true},
                                      {"DueAt", "2026-05-01T00:00:00.000000Z"},
                                      {"Tags", Value::Array{"gift", "fragile"}}},
  };
  return run;
}

VisibilityQuery understood(std::string_view text) {
  auto query = parse_visibility_query(text, registered);
  EXPECT_TRUE(query) << text << ": " << (query ? "" : query.error().message);
  return query ? *std::move(query) : VisibilityQuery{};
}

bool found_by(std::string_view text, const VisibleRun& run = an_order()) {
  return matches(understood(text), run);
}

std::string complaint_about(std::string_view text) {
  const auto query = parse_visibility_query(text, registered);
  EXPECT_FALSE(query) << text;
  if (query) return {};
  EXPECT_EQ(query.error().code, ErrorCode::invalid_argument);
  return query.error().message;
}

// ---- expressions

TEST(VisibilityQuery, ComparesWhatEveryRunHas) {
  for (const auto* text :
       {R"(WorkflowType = "shop.order")", "WorkflowId='order-42'",
        R"(RunId = "01J00000000000000000000042")", R"(TaskQueue = "orders")",
        R"(BuildId != "green")", R"(StartTime >= "2026-04-10T09:00:00Z")",
        R"(StartTime < "2026-04-10T11:00:00.000001+02:00")", R"(StartTime > "2026-04-10")"}) {
    EXPECT_TRUE(found_by(text)) << text;
  }
  for (const auto* text : {R"(WorkflowType = "shop.Order")", R"(WorkflowId != "order-42")",
                           R"(StartTime > "2026-04-10T09:00:00Z")", R"(BuildId IN ("green"))"}) {
    EXPECT_FALSE(found_by(text)) << text;
  }
}

TEST(VisibilityQuery, ComparesEveryRegisteredTypeByItsOwnRules) {
  for (const auto* text :
       {R"(Customer = "acme")", R"(Note = 'it\'s "urgent"')", R"(Note = "it's \"urgent\"")",
        "Count = 3", "Count>2", "Count <= 3", "Count != -3", "Amount = 12.5", "Amount < 13",
        "Amount >= 1.25e1", "Urgent = true", "Urgent != FALSE", "Urgent IN (true)",
        R"(DueAt = "2026-05-01")", R"(DueAt <= "2026-05-01T00:00:00Z")"}) {
    EXPECT_TRUE(found_by(text)) << text;
  }
  for (const auto* text : {R"(Customer = "ACME")", "Count > 3", "Amount > 12.5", "Urgent = false",
                           R"(DueAt < "2026-05-01")"}) {
    EXPECT_FALSE(found_by(text)) << text;
  }
}

TEST(VisibilityQuery, EqualityOnAListIsMembership) {
  EXPECT_TRUE(found_by(R"(Tags = "gift")"));
  EXPECT_TRUE(found_by(R"(Tags = "gift" AND Tags = "fragile")"));
  EXPECT_TRUE(found_by(R"(Tags IN ("heavy", "fragile"))"));
  EXPECT_TRUE(found_by(R"(Tags != "heavy")"));
  EXPECT_FALSE(found_by(R"(Tags != "gift")"));
  EXPECT_FALSE(found_by(R"(Tags NOT IN ("heavy", "gift"))"));
}

TEST(VisibilityQuery, AndBindsTighterThanOr) {
  EXPECT_TRUE(found_by(R"(Count = 3 OR Count = 4 AND Customer = "ada")"));
  EXPECT_FALSE(found_by(R"((Count = 3 OR Count = 4) AND Customer = "ada")"));
  EXPECT_TRUE(found_by(R"(NOT Count = 4 AND Customer = "acme")"));
  EXPECT_FALSE(found_by(R"(NOT (Count = 4 OR Customer = "acme"))"));
  EXPECT_TRUE(found_by(R"(not not Count in (1, 2, 3) and Customer Not In ("ada"))"))
      << "words are words in any case";
}

TEST(VisibilityQuery, ARunWithoutTheAttributeHasNoneOfItsValues) {
  VisibleRun bare = an_order();
  bare.recorded = VisibleRun::Recorded{.task_queue = "orders"};
  for (const auto* text : {R"(Customer = "acme")", "Count < 9", "Count >= 0", R"(BuildId = "blue")",
                           R"(CloseTime > "2026-01-01")"}) {
    EXPECT_FALSE(found_by(text, bare)) << text;
  }
  for (const auto* text : {R"(Customer != "acme")", "NOT Count < 9", "Count NOT IN (3)"}) {
    EXPECT_TRUE(found_by(text, bare)) << text;
  }
}

TEST(VisibilityQuery, AValueOfAnotherTypeCountsAsNone) {
  VisibleRun odd = an_order();
  odd.recorded->search_attributes =
      Value::Map{{"Customer", 7},       {"Count", "3 or so"}, {"Amount", 12},
                 {"DueAt", "tomorrow"}, {"Urgent", "yes"},    {"Tags", "gift"}};
  for (const auto* text :
       {R"(Customer = "7")", "Count = 3", "Urgent = true", R"(DueAt > "2000-01-01")"}) {
    EXPECT_FALSE(found_by(text, odd)) << text;
  }
  EXPECT_TRUE(found_by("Amount = 12", odd)) << "12 and 12.0 are the same amount";
  EXPECT_TRUE(found_by(R"(Tags = "gift")", odd)) << "a text is a list of one";
}

TEST(VisibilityQuery, ATextThatReadsAsTheTypeIsOfIt) {
  VisibleRun typed = an_order();
  typed.recorded->search_attributes =
      Value::Map{{"Count", "3"}, {"Amount", "12.5"}, {"Urgent", "true"}};
  for (const auto* text : {"Count = 3", "Amount > 12", "Urgent = true", "Amount != 129"}) {
    EXPECT_TRUE(found_by(text, typed)) << text;
  }
  for (const auto* text : {"Count > 3", "Amount != 12.5", "Urgent = false"}) {
    EXPECT_FALSE(found_by(text, typed)) << text;
  }
}

TEST(VisibilityQuery, ADayIsTheMomentItBeginsAlsoInARun) {
  VisibleRun dated = an_order();
  dated.recorded->search_attributes = Value::Map{{"DueAt", "2026-01-02"}};
  for (const auto* text : {R"(DueAt = "2026-01-02")", R"(DueAt = "2026-01-02T00:00:00Z")",
                           R"(DueAt > "2026-01-01T23:59:59Z")"}) {
    EXPECT_TRUE(found_by(text, dated)) << text;
  }
}

TEST(VisibilityQuery, LargeNumbersAreComparedToTheLastDigit) {
  VisibleRun large = an_order();
  large.recorded->search_attributes = Value::Map{{"Count", std::int64_t{9007199254740993}}};
  EXPECT_TRUE(found_by("Count = 9007199254740993", large));
  EXPECT_FALSE(found_by("Count = 9007199254740992", large));
}

TEST(VisibilityQuery, ARunThatHasNotEndedIsRunningWhateverItDoes) {
  EXPECT_TRUE(found_by(R"(Status = "waiting")"));
  EXPECT_TRUE(found_by(R"(Status = "Running")"));
  EXPECT_FALSE(found_by(R"(Status != "running")"));
  VisibleRun ended = an_order();
  ended.status = "cancelled";
  ended.closed_at = moment_at("2026-04-11T00:00:00Z");
  EXPECT_FALSE(found_by(R"(Status = "running")", ended));
  EXPECT_TRUE(found_by(R"(Status IN ("failed", "cancelled"))", ended));
}

// ---- plain text

TEST(VisibilityQuery, TextWithoutAComparisonIsSearchedFor) {
  for (const auto* text : {"order", "ER-4", "  42 ", "inv 7", R"("7 = PAID")", "'inv'", ""}) {
    EXPECT_TRUE(found_by(text)) << text;
  }
  for (const auto* text : {"order-43", "order 42", "acme", "waiting"}) {
    EXPECT_FALSE(found_by(text)) << text;
  }
}

TEST(VisibilityQuery, OnlyAComparisonMakesAnExpression) {
  for (const auto* text : {"a = b", "a=b", "a<", ">", "!=", "x IN (1)", "x not in(1)",
                           R"("quoted" = 1)", "it's = 1"}) {
    EXPECT_TRUE(is_expression(text)) << text;
  }
  for (const auto* text :
       {"", "order-42", "salt and pepper", "NOT here", "in (brackets)", "in transit", "basin (old)",
        R"("a = b")", "'a < b'", R"("it's = \" this")", "O'Brien"}) {
    EXPECT_FALSE(is_expression(text)) << text;
  }
}

// ---- mistakes

TEST(VisibilityQuery, AMistakeIsToldWithItsPlaceAndWhatCouldStandThere) {
  const struct {
    const char* text;
    int place;
    const char* hint;
  } mistakes[] = {
      {"= 3", 1, "name of a search attribute"},
      {"Colour = 'red'", 1, "no search attribute 'Colour'"},
      {"Colour = 'red'", 1, "Amount, Count, Customer"},
      {"customer = 'acme'", 1, "no search attribute 'customer'"},
      {"Count = ", 9, "a whole number"},
      {"Count = 'x'", 9, "a whole number"},
      {"Count = 1.5", 9, "a whole number"},
      {"Count = 99999999999999999999", 9, "too large"},
      {"Amount = 1e999", 10, "too large"},
      {"Amount = 1x", 11, "in quotes"},
      {"Amount = Count", 10, "a number"},
      {"Count == 3", 7, "=, !=, <, <=, >, >=, IN or NOT IN"},
      {"Count => 3", 7, "'=>'"},
      {"Count NOT = 3", 11, "IN"},
      {"Count IN ()", 11, "a whole number"},
      {"Count IN (1", 12, "',' or ')'"},
      {"Count IN (1,", 13, "a whole number"},
      {"Customer > 'a'", 10, "keyword, which has no order"},
      {"Tags >= 'a'", 6, "keyword_list, which has no order"},
      {"Urgent < true", 8, "bool, which has no order"},
      {"Customer = acme", 12, "text in quotes"},
      {"Customer = 7", 12, "text in quotes"},
      {"Customer = true", 12, "text in quotes"},
      {"Urgent = 'true'", 10, "true or false"},
      {"DueAt > 'tomorrow'", 9, "2026-04-10T12:00:00Z"},
      {"DueAt > '2026-02-30'", 9, "2026-04-10T12:00:00Z"},
      {"Status = 'busy'", 10, "pending, running, waiting, completed"},
      {"Customer = 'acme", 12, "never closed"},
      {R"(Customer = 'ac\me')", 15, "backslash"},
      {"Count = 3 Count = 4", 11, "AND, OR or the end, not 'Count'"},
      {"Count = 3)", 10, "AND, OR or the end, not ')'"},
      {"(Count = 3", 11, "AND, OR or ')', not the end"},
      {"Count = 3 AND", 14, "name of a search attribute"},
      {"Customer = 'ä' ; Count = 3", 16, "not ';'"},
      {"Count = 3 AND \xc3\xa4 = 1", 15, "not '\xc3\xa4'"},
  };
  for (const auto& [text, place, hint] : mistakes) {
    EXPECT_THAT(complaint_about(text),
                AllOf(HasSubstr(fmt::format("at character {}:", place)), HasSubstr(hint)))
        << text;
  }
}

TEST(VisibilityQuery, NestingAndLengthAreBounded) {
  const auto nested = [](int depth) {
    return std::string(static_cast<std::size_t>(depth), '(') + "Count = 1" +
           std::string(static_cast<std::size_t>(depth), ')');
  };
  EXPECT_TRUE(parse_visibility_query(nested(deepest_query), registered));
  EXPECT_THAT(complaint_about(nested(deepest_query + 1)), HasSubstr("within one another"));
  std::string negations = "Count = 1";
  for (int i = 0; i <= deepest_query; ++i) negations = "NOT " + negations;
  EXPECT_THAT(complaint_about(negations), HasSubstr("within one another"));
  EXPECT_THAT(complaint_about(std::string(longest_query + 1, 'x')), HasSubstr("4096"));
  EXPECT_THAT(complaint_about("Customer = '\xff'"), HasSubstr("UTF-8"));
  std::string wide = "Count = 1";
  while (wide.size() + 20 < longest_query) wide += " OR Count = 1";
  EXPECT_TRUE(parse_visibility_query(wide, registered)) << "breadth is not depth";
}

// ---- what can be told before history is read

TEST(VisibilityQuery, WhatARowRulesOutNeedsNoHistory) {
  VisibleRun row = an_order();
  row.recorded.reset();
  const auto told = [&](std::string_view text) { return verdict(understood(text), row); };
  EXPECT_EQ(told(R"(WorkflowType = "other" AND Customer = "acme")"), false);
  EXPECT_EQ(told(R"(Customer = "acme" AND WorkflowType = "other")"), false);
  EXPECT_EQ(told(R"(WorkflowType = "shop.order" OR Customer = "acme")"), true);
  EXPECT_EQ(told(R"(WorkflowType = "shop.order" AND Customer = "acme")"), std::nullopt);
  EXPECT_EQ(told(R"(NOT Customer = "acme")"), std::nullopt);
  EXPECT_EQ(told(R"(NOT (WorkflowType = "shop.order" OR Customer = "acme"))"), false);
  EXPECT_EQ(told(R"(TaskQueue = "orders")"), std::nullopt);
  EXPECT_EQ(told("order"), true);
  EXPECT_EQ(told("INV"), std::nullopt);
  EXPECT_FALSE(matches(understood("INV"), row)) << "what is not known does not match";
}

TEST(VisibilityQuery, OneWorkflowThatIsNamedIsTheOnlyOne) {
  const auto only = [](std::string_view text) { return only_workflow_id(understood(text)); };
  EXPECT_EQ(only(R"(WorkflowId = "a")"), "a");
  EXPECT_EQ(only(R"(Count = 1 AND (WorkflowId IN ("a") AND Count = 2))"), "a");
  for (const auto* text : {R"(WorkflowId = "a" OR Count = 1)", R"(WorkflowId != "a")",
                           R"(NOT WorkflowId = "a")", R"(WorkflowId IN ("a", "b"))", "order-42"}) {
    EXPECT_EQ(only(text), std::nullopt) << text;
  }
}

TEST(AttributeType, HasOneNameAndUnderstandsTwoMore) {
  for (const auto* name :
       {"keyword", "text", "int", "double", "bool", "datetime", "keyword_list"}) {
    ASSERT_TRUE(find_attribute_type(name)) << name;
    EXPECT_EQ(to_string(*find_attribute_type(name)), name);
  }
  EXPECT_EQ(find_attribute_type("string"), AttributeType::text);
  EXPECT_EQ(find_attribute_type("float"), AttributeType::real);
  EXPECT_EQ(find_attribute_type("Keyword"), std::nullopt);
  EXPECT_TRUE(is_query_word("And"));
  EXPECT_FALSE(is_query_word("Android"));
}

}  // namespace
}  // namespace dw::views
