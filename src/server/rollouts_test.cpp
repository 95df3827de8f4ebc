// Builds come and go: what operators said about them lasts, and workers are told.
#include "server/rollouts.hpp"

#include "machine/scheduler.hpp"
#include "store/memory_store.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace dw::server {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Optional;

const Namespace shop{"shop"};

class RollingOut : public ::testing::Test {
 protected:
  using Verb = void (Rollouts::*)(const Call& call, Reply reply);

  static Call about_queue(std::string queue, std::string_view json = "{}") {
    Call call;
    call.ns = shop;
    call.match.captured.emplace_back("queue", std::move(queue));
    auto body = parse_json(json);
    EXPECT_TRUE(body) << json;
    if (body && body->if_map()) call.body = *body->if_map();
    return call;
  }
  // What was answered, as JSON; the writer has done its work by then.
  std::string told(Verb verb, std::string_view json, const std::string& queue = "orders") {
    std::optional<Answer> answer;
    (rollouts.*verb)(about_queue(queue, json), [&](Answer given) { answer = std::move(given); });
    while (scheduler.step()) {
    }
    EXPECT_TRUE(answer) << "every request is answered";
    last_status = answer ? answer->status : 0;
    return answer ? to_json(Value{answer->body}) : "";
  }
  static std::string named(std::string_view build_id) {
    return fmt::format(R"({{"build_id":"{}"}})", build_id);
  }
  static SeenWorker worker(std::string build_id, std::string status, Timestamp heard_at) {
    SeenWorker seen{{}, std::move(status)};
    seen.worker.build_id = std::move(build_id);
    seen.worker.runtime = "python";
    seen.worker.heard_at = heard_at;
    seen.worker.registered_at = heard_at - 1h;
    return seen;
  }
  // "build status active/draining/stale", as they are listed.
  std::vector<std::string> listed(const std::vector<SeenWorker>& workers = {}) {
    const Value body{rollouts.build_ids(about_queue("orders"), workers).body};
    std::vector<std::string> rows;
    for (const Value& row : *body.find("build_ids")->if_array()) {
      const std::string* name = row.find("build_id")->if_string();
      rows.push_back(fmt::format("{} {} {}/{}/{}", name ? *name : "-",
                                 *row.find("rollout_status")->if_string(),
                                 *row.find("active_worker_count")->if_integer(),
                                 *row.find("draining_worker_count")->if_integer(),
                                 *row.find("stale_worker_count")->if_integer()));
    }
    return rows;
  }
  void pass(Duration time) { clock.set(clock.now() + time); }

  machine::SimClock clock{*parse_timestamp("2026-04-22T09:45:00.000000Z")};
  SeededRandom random{1};
  machine::Scheduler scheduler{clock, random, Duration{0}};
  machine::SimExecutor writer{scheduler, "writer"};
  store::MemoryStore store;
  Rollouts rollouts{{store, writer, clock}};
  int last_status = 0;
};

// ---- draining

TEST_F(RollingOut, ABuildThatDrainsSaysSinceWhen) {
  EXPECT_EQ(told(&Rollouts::drain, named("v1")),
            R"({"namespace":"shop","task_queue":"orders","build_id":"v1",)"
            R"("drain_intent":"draining","drained_at":"2026-04-22T09:45:00.000000Z",)"
            R"("promoted_at":null,"new_start_selected":false})");
  EXPECT_EQ(last_status, 200);
  EXPECT_TRUE(rollouts.draining(shop, "orders", "v1"));
  EXPECT_FALSE(rollouts.draining(shop, "orders", "v2"));
  EXPECT_FALSE(rollouts.draining(shop, "orders", "")) << "those that named none are another cohort";
  EXPECT_FALSE(rollouts.draining(shop, "billing", "v1"));
  EXPECT_FALSE(rollouts.draining(Namespace{"other"}, "orders", "v1"));
}

TEST_F(RollingOut, AskedTwiceItDrainsSinceTheFirstTime) {
  told(&Rollouts::drain, named("v1"));
  pass(5min);
  EXPECT_THAT(told(&Rollouts::drain, named("v1")), HasSubstr("09:45:00"));
}

TEST_F(RollingOut, NullIsTheCohortThatNamedNoBuild) {
  EXPECT_THAT(told(&Rollouts::drain, R"({"build_id":null})"), HasSubstr(R"("build_id":null)"));
  EXPECT_TRUE(rollouts.draining(shop, "orders", ""));
  EXPECT_FALSE(rollouts.draining(shop, "orders", "v1"));
}

TEST_F(RollingOut, WhichBuildIsMeantMustBeSaid) {
  for (const auto* body : {"{}", R"({"build_id":""})", R"({"build_id":7})"}) {
    EXPECT_THAT(told(&Rollouts::drain, body), HasSubstr(R"("errors":{"build_id":)")) << body;
    EXPECT_EQ(last_status, 422);
  }
  EXPECT_THAT(rollouts.queues(shop), IsEmpty());
}

TEST_F(RollingOut, ABuildThatIsResumedIsAsIfNothingHadBeenSaid) {
  told(&Rollouts::drain, named("v1"));
  EXPECT_THAT(told(&Rollouts::resume, named("v1")),
              HasSubstr(R"("drain_intent":"active","drained_at":null)"));
  EXPECT_FALSE(rollouts.draining(shop, "orders", "v1"));
  EXPECT_THAT(*store.documents(rollout_kind), IsEmpty());
  EXPECT_THAT(told(&Rollouts::resume, named("never-drained")),
              HasSubstr(R"("drain_intent":"active")"));
  EXPECT_EQ(last_status, 200);
}

// ---- new starts

TEST_F(RollingOut, NewWorkflowsBeginWithTheBuildPromotedLast) {
  EXPECT_EQ(rollouts.promoted(shop, "orders"), std::nullopt);
  EXPECT_THAT(
      told(&Rollouts::promote, named("v1")),
      HasSubstr(R"("drain_intent":"active","drained_at":null,)"
                R"("promoted_at":"2026-04-22T09:45:00.000000Z","new_start_selected":true)"));
  EXPECT_THAT(rollouts.promoted(shop, "orders"), Optional(std::string{"v1"}));
  EXPECT_EQ(rollouts.promoted(shop, "billing"), std::nullopt);

  EXPECT_THAT(told(&Rollouts::promote, named("v2")), HasSubstr(R"("new_start_selected":true)"))
      << "in the same instant";
  EXPECT_THAT(rollouts.promoted(shop, "orders"), Optional(std::string{"v2"}));
  told(&Rollouts::promote, named("v1"));
  EXPECT_THAT(rollouts.promoted(shop, "orders"), Optional(std::string{"v1"})) << "and back";
}

TEST_F(RollingOut, AskedTwiceItIsPromotedSinceTheFirstTime) {
  told(&Rollouts::promote, named("v1"));
  pass(5min);
  EXPECT_THAT(told(&Rollouts::promote, named("v1")), HasSubstr("09:45:00"));
}

TEST_F(RollingOut, ABuildOnItsWayOutGetsNoNewWorkflows) {
  told(&Rollouts::promote, named("v1"));
  told(&Rollouts::promote, named("v2"));
  EXPECT_THAT(told(&Rollouts::drain, named("v2")), HasSubstr(R"("new_start_selected":false)"));
  EXPECT_THAT(rollouts.promoted(shop, "orders"), Optional(std::string{"v1"}))
      << "the one before is there to take them";
  told(&Rollouts::resume, named("v2"));
  EXPECT_THAT(rollouts.promoted(shop, "orders"), Optional(std::string{"v2"}));
}

TEST_F(RollingOut, PromotingABuildEndsItsDraining) {
  told(&Rollouts::drain, named("v1"));
  EXPECT_THAT(told(&Rollouts::promote, named("v1")), HasSubstr(R"("drain_intent":"active")"));
  EXPECT_FALSE(rollouts.draining(shop, "orders", "v1"));
}

TEST_F(RollingOut, PromotingThoseThatNamedNoneLetsAnyBuildBegin) {
  told(&Rollouts::promote, named("v1"));
  EXPECT_THAT(told(&Rollouts::promote, R"({"build_id":null})"),
              HasSubstr(R"("new_start_selected":true)"));
  EXPECT_EQ(rollouts.promoted(shop, "orders"), std::nullopt);
}

// ---- what lasts

TEST_F(RollingOut, WhatWasSaidOutlastsTheProcess) {
  told(&Rollouts::drain, named("v1"));
  told(&Rollouts::promote, named("v2"));
  told(&Rollouts::drain, R"({"build_id":null})", "billing");

  Rollouts next{{store, writer, clock}};
  next.restore(*store.documents(rollout_kind));
  EXPECT_TRUE(next.draining(shop, "orders", "v1"));
  EXPECT_THAT(next.promoted(shop, "orders"), Optional(std::string{"v2"}));
  EXPECT_TRUE(next.draining(shop, "billing", ""));
  EXPECT_THAT(next.queues(shop), ElementsAre("billing", "orders"));
  EXPECT_THAT(next.queues(Namespace{"other"}), IsEmpty());
}

TEST_F(RollingOut, ANamespaceThatLeftLeavesNothingToTheNextOfItsName) {
  told(&Rollouts::drain, named("v1"));
  rollouts.forget(Namespace{"shop2"});
  EXPECT_TRUE(rollouts.draining(shop, "orders", "v1"));
  rollouts.forget(shop);
  EXPECT_FALSE(rollouts.draining(shop, "orders", "v1"));
  EXPECT_THAT(rollouts.queues(shop), IsEmpty());
}

TEST_F(RollingOut, ADocumentThatCannotBeReadIsLeftOut) {
  const std::vector<store::Document> odd{{"rollout", shop, "a", "{"},
                                         {"rollout", shop, "b", "{}"},
                                         {"rollout", shop, "c", R"({"build_ids":[]})"}};
  rollouts.restore(odd);
  EXPECT_THAT(rollouts.queues(shop), IsEmpty());
}

// ---- what operators see

TEST_F(RollingOut, CohortsAreCountedByBuild) {
  SeenWorker first = worker("v2", "active", clock.now());
  first.worker.sdk_version = "2.0.4";
  first.worker.fingerprints = {{"invoice", "sha256:a"}, {"refund", "sha256:r"}};
  SeenWorker second = worker("v2", "active", clock.now() - 10s);
  second.worker.fingerprints = {{"invoice", "sha256:b"}};
  told(&Rollouts::promote, named("v2"));
  const std::vector<SeenWorker> workers{first, second};
  const Answer answer = rollouts.build_ids(about_queue("orders"), workers);
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(to_json(Value{answer.body}),
            R"({"namespace":"shop","task_queue":"orders","stale_after_seconds":180,"build_ids":[)"
            R"({"build_id":"v2","rollout_status":"active","active_worker_count":2,)"
            R"("draining_worker_count":0,"stale_worker_count":0,"total_worker_count":2,)"
            R"("runtimes":["python"],"sdk_versions":["2.0.4"],)"
            R"("last_heartbeat_at":"2026-04-22T09:45:00.000000Z",)"
            R"("first_seen_at":"2026-04-22T08:44:50.000000Z",)"
            R"("workflow_definition_fingerprint_count":3,)"
            R"("workflow_definition_fingerprint_conflicts":[)"
            R"({"workflow_type":"invoice","fingerprint_count":2}],)"
            R"("drain_intent":"active","drained_at":null,)"
            R"("promoted_at":"2026-04-22T09:45:00.000000Z","new_start_selected":true}]})");
}

TEST_F(RollingOut, WhoTakesWorkIsListedFirst) {
  told(&Rollouts::drain, named("v1"));
  told(&Rollouts::drain, named("v0"));
  told(&Rollouts::promote, named("v3"));
  EXPECT_THAT(listed({worker("", "stale", clock.now() - 24h), worker("v1", "draining", clock.now()),
                      worker("v2", "active", clock.now() - 5s), worker("", "active", clock.now()),
                      worker("v2a", "active", clock.now())}),
              ElementsAre("v2a active 1/0/0", "v2 active 1/0/0", "- active 1/0/1",
                          "v1 draining 0/1/0", "v0 draining 0/0/0", "v3 no_workers 0/0/0"));
  EXPECT_THAT(listed({worker("v3", "stale", clock.now())}),
              ElementsAre("v0 draining 0/0/0", "v1 draining 0/0/0", "v3 stale_only 0/0/1"));
}

}  // namespace
}  // namespace dw::server
