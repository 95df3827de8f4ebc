// Where a namespace keeps its large payloads: set, shown, kept through a restart.
#include "server/namespaces.hpp"

#include "dispatch/thread_executor.hpp"
#include "machine/scheduler.hpp"
#include "store/memory_store.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace dw::server {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class PromptWriter final : public Executor {
 public:
  void post(Work work) override { work(); }
  void post_at(Timestamp, Work work) override { work(); }
};

class StorageOfNamespaces : public ::testing::Test {
 protected:
  static Call about(const std::string& name, std::string_view json = "{}") {
    Call call;
    call.match.captured.emplace_back("namespace", name);
    call.body = *parse_json(json)->if_map();
    return call;
  }
  template <typename Change>
  static Answer answer_to(Change change) {
    std::optional<Answer> answer;
    change([&answer](Answer given) { answer = std::move(given); });
    return answer.value();
  }
  Answer set(const std::string& name, std::string_view json) {
    return answer_to(
        [&](Reply reply) { namespaces.set_storage(about(name, json), std::move(reply)); });
  }
  static std::string text_of(const Answer& answer) {
    return fmt::format("{} {}", answer.status, to_json(Value{answer.body}));
  }
  std::string shown(const std::string& name = "default") const {
    return text_of(namespaces.describe(about(name)));
  }

  machine::SimClock clock{from_micros(1'770'000'000'000'000)};
  store::MemoryStore store;
  PromptWriter writer;
  Namespaces namespaces{{store, writer, clock}};
};

constexpr std::string_view in_a_bucket =
    R"({"driver":"s3","threshold_bytes":1000,"config":{"bucket":"payloads"}})";
constexpr std::string_view in_a_bucket_shown =
    R"("external_payload_storage":{"driver":"s3","enabled":true,"threshold_bytes":1000,)"
    R"("config":{"bucket":"payloads"}})";

TEST_F(StorageOfNamespaces, IsNotMentionedUntilItIsSet) {
  EXPECT_THAT(shown(), Not(HasSubstr("external_payload_storage")));
  EXPECT_EQ(namespaces.storage("default"), std::nullopt);
  EXPECT_EQ(namespaces.storage("nowhere"), std::nullopt);
}

TEST_F(StorageOfNamespaces, IsSetAndShownWithTheNamespace) {
  clock.set(clock.now() + std::chrono::hours{1});
  EXPECT_EQ(text_of(set("Default", in_a_bucket)),
            fmt::format(R"(200 {{"name":"default",{},"updated_at":"{}"}})", in_a_bucket_shown,
                        format_timestamp(clock.now())));
  EXPECT_THAT(shown(), HasSubstr(std::string{in_a_bucket_shown}));
  EXPECT_THAT(shown(), HasSubstr(R"("updated_at":")" + format_timestamp(clock.now())));
  EXPECT_THAT(text_of(namespaces.list()), HasSubstr(std::string{in_a_bucket_shown}));
  EXPECT_EQ(namespaces.storage("default")->setting("bucket"), "payloads");
}

TEST_F(StorageOfNamespaces, IsReplacedAsAWhole) {
  set("default", in_a_bucket);
  EXPECT_EQ(set("default", R"({"driver":"local","enabled":false})").status, 200);
  EXPECT_EQ(namespaces.storage("default"), (StoragePolicy{.enabled = false}));
}

TEST_F(StorageOfNamespaces, OutlivesOtherChangesAndARestart) {
  set("default", in_a_bucket);
  EXPECT_EQ(answer_to([&](Reply reply) {
              namespaces.update(about("default", R"({"retention_days":7})"), std::move(reply));
            }).status,
            200);
  Namespaces again{{store, writer, clock}};
  again.restore(*store.documents(namespace_kind));
  EXPECT_EQ(text_of(again.describe(about("default"))), shown());
  EXPECT_EQ(again.storage("default"), namespaces.storage("default"));
  EXPECT_EQ(again.retention("default"), std::chrono::days{7});
}

TEST_F(StorageOfNamespaces, ADocumentNobodyCouldHaveWrittenLeavesTheNamespaceWithout) {
  ASSERT_TRUE(store.put_document({std::string{namespace_kind},
                                  {},
                                  "default",
                                  R"({"external_payload_storage":{"driver":"tape"}})"}));
  namespaces.restore(*store.documents(namespace_kind));
  EXPECT_EQ(namespaces.storage("default"), std::nullopt);
}

TEST_F(StorageOfNamespaces, GoesWithTheNamespace) {
  const auto create = [&] {
    return answer_to([&](Reply reply) {
      namespaces.create(about("", R"({"name":"billing"})"), std::move(reply));
    });
  };
  EXPECT_EQ(create().status, 201);
  EXPECT_EQ(set("billing", in_a_bucket).status, 200);
  EXPECT_EQ(
      answer_to([&](Reply reply) { namespaces.remove(about("billing"), std::move(reply)); }).status,
      200);
  EXPECT_EQ(create().status, 201);
  EXPECT_EQ(namespaces.storage("billing"), std::nullopt) << "one of the same name inherits nothing";
}

TEST_F(StorageOfNamespaces, WhatANamespaceHadLeavesWithIt) {
  std::vector<std::string> forgotten;
  Namespaces leaving{{.store = store,
                      .writer = writer,
                      .clock = clock,
                      .belongings = {{"crew", "workers", [&](const Namespace& ns) {
                                        forgotten.push_back(ns.str());
                                      }}}}};
  answer_to(
      [&](Reply reply) { leaving.create(about("", R"({"name":"shop"})"), std::move(reply)); });
  for (const std::string id : {"ann", "bob"}) {
    ASSERT_TRUE(store.put_document({"crew", Namespace{"shop"}, id, "{}"}));
  }
  ASSERT_TRUE(store.put_document({"crew", Namespace{"shop2"}, "ann", "{}"}));
  EXPECT_EQ(
      text_of(answer_to([&](Reply reply) { leaving.remove(about("shop"), std::move(reply)); })),
      R"(200 {"name":"shop","status":"deleted","deleted":{"workflow_runs":0,)"
      R"("workflow_schedules":0,"search_attribute_definitions":0,"calendars":0,)"
      R"("workers":2}})");
  EXPECT_EQ(forgotten, std::vector<std::string>{"shop"});
  const auto left = *store.documents("crew");
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].ns, Namespace{"shop2"});
}

TEST_F(StorageOfNamespaces, OneStaysForWhatWasBeingMadeWhileItWasRemoved) {
  answer_to(
      [&](Reply reply) { namespaces.create(about("", R"({"name":"shop"})"), std::move(reply)); });
  Stay starting = namespaces.guests().enter("shop");
  std::optional<Answer> removed;
  namespaces.remove(about("shop"), [&](Answer answer) { removed = std::move(answer); });
  EXPECT_FALSE(removed);
  EXPECT_EQ(namespaces.guests().enter("shop"), nullptr) << "nobody else begins";
  EXPECT_EQ(
      answer_to([&](Reply reply) { namespaces.remove(about("shop"), std::move(reply)); }).status,
      503);

  store::Transition start;
  start.id = CommitId{"c1"};
  store::RunRow& row = start.runs.emplace_back();
  row.run_id = RunId{"run1"};
  row.ns = Namespace{"shop"};
  row.instance_id = InstanceId{"order-1"};
  ASSERT_TRUE(std::holds_alternative<store::Won>(store.commit({&start, 1})[0]));
  starting.reset();
  ASSERT_TRUE(removed);
  EXPECT_THAT(text_of(*removed), HasSubstr(R"("reason":"namespace_not_empty")"));
  EXPECT_TRUE(namespaces.exists("shop"));
  EXPECT_NE(namespaces.guests().enter("shop"), nullptr) << "it goes on as before";
}

TEST_F(StorageOfNamespaces, DeletedSchedulesLeaveSomeAtATime) {
  std::vector<std::int64_t> pages{200, 7, 0};
  Namespaces leaving{{.store = store,
                      .writer = writer,
                      .clock = clock,
                      .forget_some_schedules = [&](const Namespace&) {
                        const auto page = pages.front();
                        pages.erase(pages.begin());
                        return page;
                      }}};
  answer_to(
      [&](Reply reply) { leaving.create(about("", R"({"name":"shop"})"), std::move(reply)); });
  const auto removed =
      answer_to([&](Reply reply) { leaving.remove(about("shop"), std::move(reply)); });
  EXPECT_THAT(text_of(removed), HasSubstr(R"("workflow_schedules":207)"));
}

TEST_F(StorageOfNamespaces, WhatCannotBeIsRefusedAndChangesNothing) {
  set("default", in_a_bucket);
  const auto before = shown();
  EXPECT_EQ(set("default", R"({"driver":"s3"})").status, 422);
  EXPECT_EQ(shown(), before);
  const auto nowhere = set("nowhere", in_a_bucket);
  EXPECT_EQ(nowhere.status, 404);
  EXPECT_THAT(text_of(nowhere), HasSubstr(R"("reason":"namespace_not_found")"));
}

TEST_F(StorageOfNamespaces, TheDefaultOneStaysAsItWasMadeAlsoWhenAnotherIsTheDefault) {
  namespaces.restore({});
  const std::string first = shown();
  clock.set(clock.now() + std::chrono::hours{1});
  Namespaces next{{store, writer, clock, "orders"}};
  next.restore(*store.documents(namespace_kind));
  EXPECT_EQ(text_of(next.describe(about("default"))), first);
  EXPECT_TRUE(next.exists("orders"));
}

TEST_F(StorageOfNamespaces, TheDefaultOneIsWrittenBeforeAnybodyIsServed) {
  dispatch::ThreadExecutor elsewhere{"writer", clock};
  Namespaces served{{store, elsewhere, clock}};
  served.restore({});
  EXPECT_EQ(store.documents(namespace_kind)->size(), 1u);
}

}  // namespace
}  // namespace dw::server
