// Everybody finds their workflows, page by page, and nobody's history is read in vain.
#include "server/workflow_list.hpp"

#include "history/codec.hpp"
#include "history/event_builders.hpp"
#include "history/fold.hpp"
#include "machine/scheduler.hpp"
#include "store/derived.hpp"
#include "store/memory_store.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cctype>

namespace dw::server {
namespace {

using ::testing::HasSubstr;

class WritingAtOnce final : public Executor {
 public:
  void post(Work work) override { work(); }
  void post_at(Timestamp, Work work) override { work(); }
};

std::string escaped(std::string_view text) {
  std::string safe;
  for (const char c : text) safe += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  return safe;
}

class ListingWorkflows : public ::testing::Test {
 protected:
  // What a run begins with, where a story does not say.
  struct Beginning {
    std::string type = "order";
    std::string ns = "default";
    std::string queue = {};
    std::string business_key = {};
    std::optional<Value> attributes = {};
    std::string build = {};
    Timestamp at = story::at("09:00");
  };

  // The next run of that workflow, newer than all before it.
  RunId run(const std::string& workflow, const Beginning& beginning,
            const std::vector<history::EventBody>& then = {}) {
    history::WorkflowStarted start = story::workflow_started(beginning.type);
    start.ns = Namespace{beginning.ns};
    start.instance_id = InstanceId{workflow};
    start.queue = beginning.queue;
    start.business_key = beginning.business_key;
    start.search_attributes = beginning.attributes;
    start.compatibility = beginning.build;
    std::vector<story::Told> list{{beginning.at, start}};
    for (const auto& body : then) list.emplace_back(body);
    std::vector<history::EventBody> bodies;
    const auto events = story::told(list);
    for (const auto& event : events) bodies.push_back(event.body);
    std::string text;
    history::append_events(text, bodies);

    engine::Run told;
    told.id = RunId{fmt::format("01J{:023}", ++runs_)};
    told.state = history::fold(events).value();
    commit(store::row_of(told, 0, {}), std::move(text));
    return told.id;
  }
  RunId run(const std::string& workflow) { return run(workflow, Beginning{}); }
  RunId ended(const std::string& workflow) {
    return run(workflow, {}, {story::workflow_completed()});
  }
  // Whoever reads its history fails.
  void run_that_cannot_be_read(const std::string& workflow, std::string type = "order") {
    store::RunRow row;
    row.run_id = RunId{fmt::format("01J{:023}", ++runs_)};
    row.ns = Namespace{"default"};
    row.instance_id = InstanceId{workflow};
    row.workflow_type = std::move(type);
    row.status = history::RunStatus::waiting;
    row.last_sequence = 1;
    commit(row, "[{]");
  }

  Answer ask(std::string query, const std::string& ns = "default") {
    Call call;
    call.ns = Namespace{ns};
    call.query = std::move(query);
    return list_workflows({store, clock, attributes, most_rows, most_histories}, call);
  }
  // The workflows of one page, and "…" when there is a next one.
  std::string page(const std::string& query, const std::string& ns = "default") {
    const Answer answer = ask(query, ns);
    EXPECT_EQ(answer.status, 200) << query << " " << to_json(Value{answer.body});
    const Value body{answer.body};
    const Value* items = body.find("workflows");
    if (!items) return "(none)";
    EXPECT_EQ(*body.find("workflow_count"), Value{std::int64_t(items->if_array()->size())});
    std::string ids;
    for (const Value& item : *items->if_array())
      ids += *item.find("workflow_id")->if_string() + " ";
    return ids + (body.find("next_page_token")->is_null() ? "" : "…");
  }
  std::string found(std::string_view query) { return page("query=" + escaped(query)); }
  std::string token_of(const std::string& query) {
    const Answer answer = ask(query);
    const Value body{answer.body};
    const Value* token = body.find("next_page_token");
    return token && token->if_string() ? *token->if_string() : "";
  }
  // All pages, one after the other.
  std::string pages(const std::string& query) {
    std::string all = page(query);
    std::string token = token_of(query);
    while (!token.empty()) {
      const auto next = query + "&next_page_token=" + token;
      all += "| " + page(next);
      token = token_of(next);
    }
    return all;
  }
  void expect_refused(const Answer& answer, int status, std::string_view reason) {
    EXPECT_EQ(answer.status, status) << to_json(Value{answer.body});
    EXPECT_EQ(*Value{answer.body}.find("reason"), Value{reason});
  }
  static std::string errors_in(const Answer& answer) {
    const Value body{answer.body};
    EXPECT_EQ(*body.find("errors"), *body.find("validation_errors"));
    return to_json(*body.find("errors"));
  }
  void register_attribute(const char* name, const char* type) {
    Call call;
    call.ns = Namespace{"default"};
    call.body = {{"name", name}, {"type", type}};
    attributes.create(call, [](const Answer& answer) { EXPECT_EQ(answer.status, 201); });
  }

  store::MemoryStore store;
  WritingAtOnce writer;
  machine::SimClock clock{story::at("12:00")};
  SearchAttributes attributes{{store, writer}};
  std::size_t most_rows = 100;
  std::size_t most_histories = 100;

 private:
  void commit(const store::RunRow& row, std::string events) {
    const store::InstanceKey key{row.ns, row.instance_id};
    store::Transition transition;
    transition.id = CommitId{"c-" + row.run_id.str()};
    transition.recorded_at = row.started_at;
    transition.runs = {row};
    transition.instances = {{key, row.workflow_type, row.run_id, {}}};
    transition.appends = {{row.run_id, 1, row.last_sequence, std::move(events)}};
    store.commit({&transition, 1});
  }

  int runs_ = 0;
};

// ---- what is listed

TEST_F(ListingWorkflows, TheNewestComesFirst) {
  EXPECT_EQ(page(""), "");
  run("a");
  ended("b");
  run("c", {.ns = "elsewhere"});
  EXPECT_EQ(page(""), "b a ");
  EXPECT_EQ(page("", "elsewhere"), "c ");
}

TEST_F(ListingWorkflows, ALineTellsWhatThereIsToKnowWithoutPayloads) {
  run("a", {.queue = "orders",
            .business_key = "inv-7",
            .attributes = Value::Map{{"Customer", "acme"}},
            .build = "blue"});
  EXPECT_EQ(to_json(*Value{ask("").body}.find("workflows")),
            R"([{"workflow_id":"a","run_id":"01J00000000000000000000001",)"
            R"("workflow_type":"order","namespace":"default","business_key":"inv-7",)"
            R"("history_event_count":1,)"
            R"("status":"pending","status_bucket":"running","is_terminal":false,)"
            R"("closed_reason":null,"task_queue":"orders","run_number":1,"is_current_run":true,)"
            R"("compatibility":"blue","payload_codec":"avro","memo":{},)"
            R"("search_attributes":{"Customer":"acme"},)"
            R"("started_at":"2026-04-10T09:00:00.000000Z","closed_at":null}])");
}

TEST_F(ListingWorkflows, AWorkflowHasOneLineHoweverManyRuns) {
  run("a", {}, {story::workflow_continued_as_new("01J00000000000000000000003")});
  run("b");
  run("a");
  EXPECT_EQ(page(""), "a b ");
  EXPECT_EQ(page("status=completed"), "") << "the run that was continued is no line of its own";
}

// ---- filters

TEST_F(ListingWorkflows, TypeAndBucketNarrowTheList) {
  run("waits");
  ended("done");
  run("broken", {}, {story::workflow_failed("f1", story::failure("no"))});
  run("stopped", {}, {story::workflow_terminated("f2", "enough")});
  run("other", {.type = "refund"});
  EXPECT_EQ(page("status=running"), "other waits ");
  EXPECT_EQ(page("status=completed"), "done ");
  EXPECT_EQ(page("status=failed"), "stopped broken ");
  EXPECT_EQ(page("workflow_type=refund"), "other ");
  EXPECT_EQ(page("workflow_type=refund&status=completed"), "");
  EXPECT_EQ(page("status=&workflow_type=&query=&page_size=&next_page_token="),
            "other stopped broken done waits ")
      << "what is empty is not asked";
}

TEST_F(ListingWorkflows, AQueryFindsByWhatRunsCarry) {
  register_attribute("Customer", "keyword");
  register_attribute("Amount", "double");
  run("a",
      {.business_key = "INV-1", .attributes = Value::Map{{"Customer", "acme"}, {"Amount", 5}}});
  run("b", {.queue = "fast", .attributes = Value::Map{{"Customer", "ada"}, {"Amount", 50.5}}});
  run("c", {.type = "refund", .build = "blue", .at = story::at("10:00")});
  EXPECT_EQ(found(R"(Customer = "acme")"), "a ");
  EXPECT_EQ(found(R"(Customer IN ("acme", "ada") AND Amount > 10)"), "b ");
  EXPECT_EQ(found(R"(NOT Customer = "acme")"), "c b ");
  EXPECT_EQ(found(R"(TaskQueue = "fast" OR BuildId = "blue")"), "c b ");
  EXPECT_EQ(found(R"(TaskQueue = "default")"), "c a ");
  EXPECT_EQ(found(R"(StartTime < "2026-04-10T10:00:00Z" AND WorkflowType = "order")"), "b a ");
  EXPECT_EQ(found(R"(Status = "running" AND WorkflowId != "b")"), "c a ");
  EXPECT_EQ(found("inv"), "a ") << "a piece of a business key";
  EXPECT_EQ(page("workflow_type=order&query=" + escaped("Amount < 100")), "b a ");
}

TEST_F(ListingWorkflows, WhatAWorkflowSaidLastCounts) {
  register_attribute("Stage", "keyword");
  run("a", {.attributes = Value::Map{{"Stage", "packing"}}},
      {story::search_attributes_upserted(Value::Map{{"Stage", "shipped"}})});
  EXPECT_EQ(found(R"(Stage = "shipped")"), "a ");
  EXPECT_EQ(found(R"(Stage = "packing")"), "");
}

TEST_F(ListingWorkflows, HistoriesOfThoseThatCannotMatchAreNotRead) {
  register_attribute("Customer", "keyword");
  run("a", {.type = "refund", .attributes = Value::Map{{"Customer", "acme"}}});
  run_that_cannot_be_read("b");
  expect_refused(ask(""), 500, "server_error");
  EXPECT_EQ(page("workflow_type=refund"), "a ");
  EXPECT_EQ(page("status=completed"), "");
  EXPECT_EQ(found(R"(WorkflowType = "refund" AND Customer = "acme")"), "a ");
  EXPECT_EQ(found(R"(Customer = "acme" AND NOT WorkflowId = "b")"), "a ");
  EXPECT_EQ(found(R"(WorkflowId = "a" AND Customer = "acme")"), "a ");
  run("b");
  EXPECT_EQ(page(""), "b a ") << "nor those of runs that are not current";
}

// ---- pages

TEST_F(ListingWorkflows, PagesFollowOneAnotherWithoutGapOrRepeat) {
  for (const auto* id : {"a", "b", "c", "d", "e"}) run(id);
  EXPECT_EQ(pages("page_size=2"), "e d …| c b …| a ");
  EXPECT_EQ(pages("page_size=5"), "e d c b a ") << "a full page that is the last one says so";
  EXPECT_EQ(pages("page_size=1"), "e …| d …| c …| b …| a ");
  EXPECT_EQ(page("page_size=200"), "e d c b a ");
}

TEST_F(ListingWorkflows, WhatStartsMeanwhileMovesNothing) {
  for (const auto* id : {"a", "b", "c"}) run(id);
  const auto second = "page_size=2&next_page_token=" + token_of("page_size=2");
  run("d");
  run("c");
  EXPECT_EQ(page(second), "a ");
}

TEST_F(ListingWorkflows, FiltersApplyToEveryPage) {
  for (const auto* id : {"a", "b", "c"}) {
    run(id);
    ended(std::string{"not-"} + id);
  }
  EXPECT_EQ(pages("page_size=1&status=running"), "c …| b …| a ");
  EXPECT_EQ(pages("page_size=2&query=not-"), "not-c not-b …| not-a ");
}

TEST_F(ListingWorkflows, ATokenIsSafeInAUrlAndGoodForItsListOnly) {
  for (const auto* id : {"a", "b", "c"}) run(id);
  const auto token = token_of("page_size=1&status=running");
  EXPECT_TRUE(std::ranges::all_of(token, [](unsigned char c) { return std::isalnum(c) != 0; }))
      << token;
  const auto with = "&next_page_token=" + token;
  EXPECT_EQ(page("status=running&page_size=2" + with), "b a ") << "another size is the same list";
  for (const auto& other : {"" + with, "status=failed" + with, "status=running&query=a" + with,
                            "status=running&workflow_type=order" + with}) {
    expect_refused(ask(other), 400, "invalid_page_token");
  }
  expect_refused(ask("status=running" + with, "elsewhere"), 400, "invalid_page_token");
  for (const auto* broken : {"x", "!!!", "MDFK", "AAAAAAAAAAAAAAAAAAAAAAAA"}) {
    expect_refused(ask(std::string{"next_page_token="} + broken), 400, "invalid_page_token");
  }
}

TEST_F(ListingWorkflows, OnePageReadsOnlySoManyHistories) {
  most_histories = 5;
  run("oldest", {.queue = "rare"});
  for (const auto* id : {"a", "b", "c", "d", "e"}) run(id);
  run("newest", {.queue = "rare"});
  EXPECT_EQ(pages("query=" + escaped(R"(TaskQueue = "rare")")), "newest …| oldest ");
}

TEST_F(ListingWorkflows, OnePageLooksAtOnlySoManyRuns) {
  most_rows = 5;
  run("oldest");
  for (const auto* id : {"a", "b", "c", "d", "e"}) run_that_cannot_be_read(id, "refund");
  EXPECT_EQ(pages("workflow_type=order"), "…| oldest ");
  EXPECT_EQ(found(R"(WorkflowId = "oldest")"), "oldest ") << "the store goes straight to it";
}

// ---- mistakes

TEST_F(ListingWorkflows, WhatIsWrongIsSaidByParameter) {
  for (const auto* size : {"0", "201", "-1", "ten", "1.5", "1x", "99999999999999999999"}) {
    EXPECT_EQ(errors_in(ask(std::string{"page_size="} + size)),
              R"({"page_size":["must be a whole number from 1 to 200"]})");
  }
  const auto both = ask("page_size=0&status=cancelled");
  expect_refused(both, 422, "validation_failed");
  EXPECT_THAT(errors_in(both),
              ::testing::AllOf(HasSubstr("running, completed, failed"), HasSubstr("page_size")));
}

TEST_F(ListingWorkflows, AQueryThatMakesNoSenseIsToldWhere) {
  const auto answer = ask("query=" + escaped("Colour = 'red'"));
  expect_refused(answer, 422, "invalid_visibility_query");
  EXPECT_THAT(errors_in(answer), HasSubstr("no search attribute 'Colour'"));
  register_attribute("Colour", "keyword");
  EXPECT_EQ(found("Colour = 'red'"), "");
  expect_refused(ask("query=" + escaped("Colour = 'red'"), "elsewhere"), 422,
                 "invalid_visibility_query");
}

}  // namespace
}  // namespace dw::server
