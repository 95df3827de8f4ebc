// Operators say what may be searched for; the store remembers it before they are told so.
#include "server/search_attributes.hpp"

#include "store/memory_store.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <deque>

namespace dw::server {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// A writer that gets to its work when it is told to.
class PatientWriter final : public Executor {
 public:
  void post(Work work) override { waiting_.push_back(std::move(work)); }
  void post_at(Timestamp, Work work) override { post(std::move(work)); }
  void work_off() {
    for (; !waiting_.empty(); waiting_.pop_front()) waiting_.front()();
  }

 private:
  std::deque<Work> waiting_;
};

class RegisteringAttributes : public ::testing::Test {
 protected:
  static Call in(const std::string& ns) {
    Call call;
    call.ns = Namespace{ns};
    return call;
  }
  static Reply into(std::optional<Answer>& answer) {
    return [&answer](Answer given) { answer = std::move(given); };
  }
  Answer create_from(std::string_view json, const std::string& ns = "default") {
    Call call = in(ns);
    call.body = *parse_json(json)->if_map();
    std::optional<Answer> answer;
    attributes.create(call, into(answer));
    writer.work_off();
    return answer.value();
  }
  Answer create(std::string_view name, std::string_view type, const std::string& ns = "default") {
    return create_from(fmt::format(R"({{"name":"{}","type":"{}"}})", name, type), ns);
  }
  Answer remove(const std::string& name, const std::string& ns = "default") {
    Call call = in(ns);
    call.match.captured.emplace_back("name", name);
    std::optional<Answer> answer;
    attributes.remove(call, into(answer));
    writer.work_off();
    return answer.value();
  }
  std::string custom(const std::string& ns = "default") const {
    return at_key(attributes.list(in(ns)), "custom_attributes");
  }
  std::vector<store::Document> kept() { return *store.documents(search_attribute_kind); }

  static std::string at_key(const Answer& answer, std::string_view key) {
    const Value body{answer.body};
    const Value* found = body.find(key);
    return found ? to_json(*found) : "(absent)";
  }
  static std::string text_of(const Answer& answer) {
    return fmt::format("{} {}", answer.status, to_json(Value{answer.body}));
  }
  static void expect_refused(const Answer& answer, int status, std::string_view reason) {
    EXPECT_EQ(answer.status, status) << text_of(answer);
    EXPECT_EQ(at_key(answer, "reason"), to_json(Value{reason}));
    EXPECT_THAT(at_key(answer, "message"), ::testing::Not("\"\""));
    // Clients show what is wrong by field.
    EXPECT_EQ(at_key(answer, "errors"), at_key(answer, "validation_errors"));
    EXPECT_EQ(at_key(answer, "errors") != "(absent)", status == 422);
  }

  store::MemoryStore store;
  PatientWriter writer;
  SearchAttributes attributes{{store, writer}};
};

TEST_F(RegisteringAttributes, WhatEveryRunHasIsThereFromTheStart) {
  EXPECT_EQ(text_of(attributes.list(in("default"))),
            R"(200 {"system_attributes":{"BuildId":"keyword","CloseTime":"datetime",)"
            R"("RunId":"keyword","StartTime":"datetime","Status":"keyword","TaskQueue":"keyword",)"
            R"("WorkflowId":"keyword","WorkflowType":"keyword"},"custom_attributes":{}})");
}

TEST_F(RegisteringAttributes, OneIsMadeListedAndDeleted) {
  EXPECT_EQ(text_of(create("Customer", "keyword")),
            R"(201 {"name":"Customer","type":"keyword","outcome":"created"})");
  EXPECT_EQ(custom(), R"({"Customer":"keyword"})");
  EXPECT_EQ(attributes.types(Namespace{"default"}),
            (views::AttributeTypes{{"Customer", views::AttributeType::keyword}}));
  EXPECT_EQ(text_of(remove("Customer")), R"(200 {"name":"Customer","outcome":"deleted"})");
  EXPECT_EQ(custom(), "{}");
  EXPECT_THAT(kept(), IsEmpty());
}

TEST_F(RegisteringAttributes, EveryTypeIsKnownAndTwoByTheirOtherName) {
  int number = 0;
  for (const auto* type :
       {"keyword", "text", "int", "double", "bool", "datetime", "keyword_list"}) {
    EXPECT_EQ(at_key(create(fmt::format("A{}", ++number), type), "type"), to_json(Value{type}));
  }
  EXPECT_EQ(at_key(create("B", "string"), "type"), R"("text")");
  EXPECT_EQ(at_key(create("C", "float"), "type"), R"("double")");
}

TEST_F(RegisteringAttributes, NobodyIsToldBeforeItIsKept) {
  Call call = in("default");
  call.body = {{"name", "Customer"}, {"type", "int"}};
  std::optional<Answer> answer;
  attributes.create(call, into(answer));
  EXPECT_FALSE(answer);
  EXPECT_EQ(custom(), "{}") << "what is not durable is not there";
  writer.work_off();
  EXPECT_EQ(answer.value().status, 201);
  EXPECT_THAT(kept(), SizeIs(1));
}

TEST_F(RegisteringAttributes, WhatIsWrongWithTheFieldsIsSaidAtOnce) {
  const auto complaints = [](const Answer& answer) {
    expect_refused(answer, 422, "validation_failed");
    std::string fields;
    const Value body{answer.body};
    for (const auto& [field, texts] : *body.find("errors")->if_map()) fields += field + " ";
    return fields;
  };
  EXPECT_EQ(complaints(create_from("{}")), "name type ");
  EXPECT_EQ(complaints(create_from(R"({"name":7,"type":["int"]})")), "name type ");
  EXPECT_EQ(complaints(create("9lives", "decimal")), "name type ");
  for (const auto* name : {"_a", "a-b", "a.b", "a b", "\xc3\xa4", "a:"}) {
    EXPECT_EQ(complaints(create(name, "int")), "name ") << name;
  }
  EXPECT_EQ(complaints(create(std::string(129, 'a'), "int")), "name ");
  EXPECT_EQ(complaints(create("A", "Keyword")), "type ");
  EXPECT_THAT(kept(), IsEmpty());
  EXPECT_EQ(create(std::string(128, 'a'), "int").status, 201);
  EXPECT_EQ(create("a_B9", "int").status, 201);
}

TEST_F(RegisteringAttributes, NamesThatMeanSomethingElseAreReserved) {
  for (const auto* name : {"WorkflowType", "Status", "CloseTime", "and", "NOT", "In", "true"}) {
    expect_refused(create(name, "keyword"), 422, "name_reserved");
  }
  EXPECT_EQ(create("status", "keyword").status, 201) << "names have a case";
}

TEST_F(RegisteringAttributes, ANameIsTakenOnceInANamespace) {
  create("Customer", "keyword");
  const auto again = create("Customer", "int");
  expect_refused(again, 409, "attribute_already_exists");
  EXPECT_THAT(at_key(again, "message"), HasSubstr("of the type keyword"));
  EXPECT_EQ(create("Customer", "int", "elsewhere").status, 201);
  EXPECT_EQ(custom(), R"({"Customer":"keyword"})");
  EXPECT_EQ(custom("elsewhere"), R"({"Customer":"int"})");
}

TEST_F(RegisteringAttributes, ANamespaceHasRoomForAHundred) {
  for (std::size_t i = 0; i < most_search_attributes; ++i) {
    ASSERT_EQ(create(fmt::format("A{}", i), "int").status, 201);
  }
  const auto one_more = create("B", "int");
  expect_refused(one_more, 422, "search_attribute_limit_reached");
  EXPECT_EQ(at_key(one_more, "limit"), "100");
  expect_refused(create("A7", "int"), 409, "attribute_already_exists");
  EXPECT_EQ(create("B", "int", "elsewhere").status, 201);
  remove("A7");
  EXPECT_EQ(create("B", "int").status, 201);
}

TEST_F(RegisteringAttributes, OnlyWhatWasRegisteredCanBeDeleted) {
  create("Customer", "keyword", "elsewhere");
  expect_refused(remove("Customer"), 404, "attribute_not_found");
  expect_refused(remove("StartTime"), 409, "system_attribute");
  EXPECT_EQ(custom("elsewhere"), R"({"Customer":"keyword"})");
}

TEST_F(RegisteringAttributes, TheyOutliveTheProcess) {
  create("Customer", "keyword");
  create("Amount", "float", "elsewhere");
  store.put_document({std::string{search_attribute_kind}, Namespace{"default"}, "Odd", "{]"})
      .value();
  store
      .put_document(
          {std::string{search_attribute_kind}, Namespace{"default"}, "New", R"({"type":"vector"})"})
      .value();
  SearchAttributes restarted{{store, writer}};
  restarted.restore(kept());
  EXPECT_EQ(at_key(restarted.list(in("default")), "custom_attributes"), R"({"Customer":"keyword"})")
      << "what cannot be read is left out";
  EXPECT_EQ(at_key(restarted.list(in("elsewhere")), "custom_attributes"), R"({"Amount":"double"})");
}

TEST_F(RegisteringAttributes, ANamespaceThatLeavesTakesItsOwnAlong) {
  create("Customer", "keyword", "leaving");
  create("Amount", "double", "leaving");
  create("Customer", "keyword");
  EXPECT_EQ(attributes.forget(Namespace{"leaving"}).value(), 2);
  EXPECT_EQ(attributes.forget(Namespace{"unheard-of"}).value(), 0);
  EXPECT_EQ(custom("leaving"), "{}");
  EXPECT_EQ(custom(), R"({"Customer":"keyword"})");
  EXPECT_THAT(kept(), SizeIs(1));
}

}  // namespace
}  // namespace dw::server
