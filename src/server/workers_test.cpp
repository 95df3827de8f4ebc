// Workers say who they are, and are believed for as long as they are heard of.
#include "server/workers.hpp"

#include "history/declarations.hpp"
#include "machine/scheduler.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace dw::server {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const Namespace home{"default"};

class AmongWorkers : public ::testing::Test {
 protected:
  static Call call(std::string_view json, Namespace ns = home) {
    Call call;
    call.ns = std::move(ns);
    auto body = parse_json(json);
    EXPECT_TRUE(body) << json;
    if (body && body->if_map()) call.body = *body->if_map();
    return call;
  }
  static Call about(std::string worker_id, Namespace ns = home) {
    Call call;
    call.ns = std::move(ns);
    call.match.captured.emplace_back("worker", std::move(worker_id));
    return call;
  }
  static Call asking(std::string query) {
    Call call;
    call.ns = home;
    call.query = std::move(query);
    return call;
  }
  Answer enlist(std::string_view json) { return workers.register_worker(call(json), "fresh-1"); }
  Answer enlist_one() {
    return enlist(R"({"worker_id":"w-1","task_queue":"orders","runtime":"python"})");
  }
  // What is under that key, as JSON.
  static std::string said(const Answer& answer, std::string_view key) {
    const Value body{answer.body};
    const Value* found = body.find(key);
    return found ? to_json(*found) : "(absent)";
  }
  static void expect_refused(const Answer& answer, int status, std::string_view reason) {
    EXPECT_EQ(answer.status, status) << to_json(Value{answer.body});
    EXPECT_EQ(said(answer, "reason"), to_json(Value{reason}));
  }
  // The fields that an answer complains about.
  static std::vector<std::string> complaints(const Answer& answer) {
    EXPECT_EQ(answer.status, 422) << to_json(Value{answer.body});
    const Value body{answer.body};
    std::vector<std::string> fields;
    const Value* errors = body.find("errors");
    if (!errors) return fields;
    for (const auto& [field, texts] : *errors->if_map()) fields.push_back(field);
    return fields;
  }
  std::vector<std::string> listed(std::string query) {
    const Answer answer = workers.list(asking(std::move(query)));
    EXPECT_EQ(answer.status, 200);
    const Value body{answer.body};
    std::vector<std::string> ids;
    for (const Value& worker : *body.find("workers")->if_array()) {
      ids.push_back(*worker.find("worker_id")->if_string());
    }
    return ids;
  }
  std::string status_of_worker(const std::string& id) {
    return said(workers.describe(about(id)), "status");
  }
  void pass(Duration time) { clock.set(clock.now() + time); }

  machine::SimClock clock{*parse_timestamp("2026-04-10T09:00:00.000000Z")};
  Workers workers{clock};
};

// ---- registration

TEST_F(AmongWorkers, ARegistrationLearnsHowOftenItShouldBeHeard) {
  const auto answer = enlist(
      R"({"worker_id":"w-1","task_queue":"orders","runtime":"rust",
          "heartbeat_interval_seconds":100})");
  EXPECT_EQ(answer.status, 201);
  EXPECT_EQ(to_json(Value{answer.body}),
            R"({"worker_id":"w-1","registered":true,"status":"active","task_queue":"orders",)"
            R"("runtime":"rust","heartbeat_interval_seconds":100,"stale_after_seconds":300})");
}

TEST_F(AmongWorkers, AWorkerWithoutAnIdIsGivenOne) {
  const auto answer = enlist(R"({"task_queue":"orders","runtime":"php"})");
  EXPECT_EQ(said(answer, "worker_id"), R"("fresh-1")");
  EXPECT_EQ(said(answer, "heartbeat_interval_seconds"), "60");
  EXPECT_EQ(said(answer, "stale_after_seconds"), "180");
  EXPECT_TRUE(workers.find(home, "fresh-1"));
}

TEST_F(AmongWorkers, EverythingThatIsWrongIsSaidAtOnce) {
  const auto answer = enlist(
      R"({"worker_id":7,"supported_workflow_types":["ok",""],"supported_activity_types":"all",
          "workflow_definition_fingerprints":{"invoice":1},"max_concurrent_workflow_tasks":0,
          "capabilities":[3],"task_slots":{"workflow_available":"many"},"process_metrics":1,
          "heartbeat_interval_seconds":3601})");
  EXPECT_THAT(complaints(answer),
              ElementsAre("worker_id", "task_queue", "runtime", "supported_workflow_types.1",
                          "supported_activity_types", "workflow_definition_fingerprints.invoice",
                          "capabilities.0", "max_concurrent_workflow_tasks",
                          "task_slots.workflow_available", "process_metrics",
                          "heartbeat_interval_seconds"));
  EXPECT_THAT(listed(""), IsEmpty());
}

TEST_F(AmongWorkers, WhatIsWrongInAContractIsSaidWithItsPath) {
  const auto answer = enlist(
      R"({"task_queue":"orders","runtime":"php","workflow_command_contracts":{
            "invoice":{"signals":[1],"signal_contracts":[{"parameters":[{"name":"by"},{}]},2],
                       "queries":{},"update_contracts":3},
            "refund":"none"}})");
  const std::string invoice = "workflow_command_contracts.invoice.";
  EXPECT_THAT(
      complaints(answer),
      ElementsAre(invoice + "queries", invoice + "signals.0", invoice + "signal_contracts.0.name",
                  invoice + "signal_contracts.0.parameters.1.name", invoice + "signal_contracts.1",
                  invoice + "update_contracts", "workflow_command_contracts.refund"));
}

TEST_F(AmongWorkers, RegisteringAgainReplacesWhatWasSaidBefore) {
  enlist(
      R"({"worker_id":"w-1","task_queue":"orders","runtime":"php","build_id":"v1",
          "supported_workflow_types":["invoice"],"capabilities":["query_tasks"]})");
  pass(1s);
  EXPECT_EQ(enlist(R"({"worker_id":"w-1","task_queue":"billing","runtime":"php"})").status, 201);
  const auto worker = workers.find(home, "w-1");
  ASSERT_TRUE(worker);
  EXPECT_EQ(worker->queue, "billing");
  EXPECT_EQ(worker->build_id, "");
  EXPECT_TRUE(worker->takes_all());
  EXPECT_THAT(worker->capabilities, IsEmpty());
  EXPECT_EQ(worker->registered_at, clock.now());
}

TEST_F(AmongWorkers, ALiveWorkerMayNotChangeTheCodeOfAType) {
  const auto with_invoice = [&](std::string_view fingerprint) {
    return enlist(fmt::format(
        R"({{"worker_id":"w-1","task_queue":"orders","runtime":"python",
             "workflow_definition_fingerprints":{{"invoice":"{}"}}}})",
        fingerprint));
  };
  EXPECT_EQ(with_invoice("sha256:a").status, 201);
  EXPECT_EQ(with_invoice("sha256:a").status, 201) << "a repeat is no change";
  const auto changed = with_invoice("sha256:b");
  expect_refused(changed, 409, "workflow_definition_changed");
  EXPECT_EQ(said(changed, "workflow_type"), R"("invoice")");
  EXPECT_THAT(said(changed, "message"), AllOf(HasSubstr("w-1"), HasSubstr("deregister")));
  EXPECT_THAT(said(changed, "remediation"), HasSubstr("deregister"));

  pass(180s);
  EXPECT_EQ(with_invoice("sha256:b").status, 201) << "the old process is gone by now";
  workers.remove(about("w-1"));
  EXPECT_EQ(with_invoice("sha256:c").status, 201);
}

TEST_F(AmongWorkers, AWorkerSilentForADayIsForgotten) {
  enlist_one();
  pass(24h);
  EXPECT_THAT(listed(""), ElementsAre("w-1"));
  enlist(R"({"worker_id":"w-2","task_queue":"orders","runtime":"python"})");
  EXPECT_THAT(listed(""), ElementsAre("w-2"));
}

// ---- heartbeat and the end

TEST_F(AmongWorkers, AHeartbeatKeepsAWorkerActive) {
  enlist_one();
  pass(179s);
  EXPECT_EQ(status_of_worker("w-1"), R"("active")");
  const auto answer = workers.heartbeat(
      call(R"({"worker_id":"w-1","task_slots":{"workflow_available":500,"activity_available":-1,
               "session_available":3},"process_metrics":{"host":"h","cpu_percent":1.5}})"));
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(to_json(Value{answer.body}),
            R"({"worker_id":"w-1","acknowledged":true,"status":"active",)"
            R"("heartbeat_interval_seconds":60,"stale_after_seconds":180})");
  pass(179s);
  const auto seen = workers.describe(about("w-1"));
  EXPECT_EQ(said(seen, "status"), R"("active")");
  EXPECT_EQ(said(seen, "task_slots"),
            R"({"workflow_available":100,"activity_available":0,"session_available":3})");
  EXPECT_EQ(said(seen, "process_metrics"), R"({"host":"h","cpu_percent":1.5})");
  pass(1s);
  EXPECT_EQ(status_of_worker("w-1"), R"("stale")");
}

TEST_F(AmongWorkers, AHeartbeatMayChangeItsOwnPace) {
  enlist_one();
  const auto answer =
      workers.heartbeat(call(R"({"worker_id":"w-1","heartbeat_interval_seconds":5})"));
  EXPECT_EQ(said(answer, "stale_after_seconds"), "60") << "never less than a minute";
  pass(60s);
  EXPECT_EQ(status_of_worker("w-1"), R"("stale")");
  workers.heartbeat(call(R"({"worker_id":"w-1"})"));
  EXPECT_EQ(status_of_worker("w-1"), R"("active")") << "back again";
}

TEST_F(AmongWorkers, AHeartbeatThatIsWrongChangesNothing) {
  enlist_one();
  pass(100s);
  EXPECT_THAT(complaints(workers.heartbeat(
                  call(R"({"worker_id":"w-1","task_slots":{"workflow_available":1.5},
                           "heartbeat_interval_seconds":5})"))),
              ElementsAre("task_slots.workflow_available"));
  EXPECT_THAT(complaints(workers.heartbeat(call("{}"))), ElementsAre("worker_id"));
  const auto worker = workers.find(home, "w-1");
  EXPECT_EQ(worker->heartbeat_seconds, 60);
  EXPECT_EQ(worker->heard_at, worker->registered_at);
}

TEST_F(AmongWorkers, AHeartbeatOfAStrangerIsToldToRegister) {
  const auto answer = workers.heartbeat(call(R"({"worker_id":"w-9"})"));
  expect_refused(answer, 404, "worker_not_registered");
  EXPECT_EQ(said(answer, "worker_id"), R"("w-9")");
  EXPECT_THAT(said(answer, "message"),
              AllOf(HasSubstr("w-9"), HasSubstr("POST /api/worker/register")));
}

// ---- who may poll

TEST_F(AmongWorkers, ARegisteredWorkerMayPollItsQueueAndIsHeardByThat) {
  enlist(
      R"({"worker_id":"w-1","task_queue":"orders","runtime":"python","build_id":"v1",
          "supported_workflow_types":["invoice"]})");
  pass(200s);
  for (const auto* build : {"", R"(,"build_id":null)", R"(,"build_id":"v1")"}) {
    const auto admitted =
        workers.admit(call(fmt::format(R"({{"worker_id":"w-1","task_queue":"orders"{}}})", build)));
    ASSERT_TRUE(std::holds_alternative<Worker>(admitted));
    EXPECT_THAT(std::get<Worker>(admitted).workflow_types, ElementsAre("invoice"));
    EXPECT_EQ(std::get<Worker>(admitted).build_id, "v1");
  }
  EXPECT_EQ(status_of_worker("w-1"), R"("active")");
}

TEST_F(AmongWorkers, OthersMayNotPoll) {
  enlist(R"({"worker_id":"w-1","task_queue":"orders","runtime":"python","build_id":"v1"})");
  pass(200s);
  const auto refused = [&](std::string_view json, Namespace ns = home) {
    const auto admitted = workers.admit(call(json, std::move(ns)));
    EXPECT_TRUE(std::holds_alternative<Answer>(admitted)) << json;
    return std::holds_alternative<Answer>(admitted) ? std::get<Answer>(admitted) : Answer{};
  };
  const auto stranger = refused(R"({"worker_id":"w-9","task_queue":"orders"})");
  expect_refused(stranger, 412, "worker_not_registered");
  EXPECT_THAT(said(stranger, "message"), HasSubstr("register"));
  expect_refused(refused(R"({"worker_id":"w-1","task_queue":"orders"})", Namespace{"other"}), 412,
                 "worker_not_registered");

  const auto queue = refused(R"({"worker_id":"w-1","task_queue":"billing"})");
  expect_refused(queue, 409, "task_queue_mismatch");
  EXPECT_EQ(said(queue, "registered_task_queue"), R"("orders")");
  EXPECT_EQ(said(queue, "requested_task_queue"), R"("billing")");
  EXPECT_EQ(said(queue, "worker_id"), R"("w-1")");

  const auto build = refused(R"({"worker_id":"w-1","task_queue":"orders","build_id":"v2"})");
  expect_refused(build, 409, "build_id_mismatch");
  EXPECT_EQ(said(build, "registered_build_id"), R"("v1")");
  EXPECT_EQ(said(build, "requested_build_id"), R"("v2")");

  EXPECT_THAT(complaints(refused("{}")), ElementsAre("worker_id", "task_queue"));
  EXPECT_EQ(status_of_worker("w-1"), R"("stale")") << "a poll that is refused is no sign of life";
}

TEST_F(AmongWorkers, AWorkerWithoutABuildMayNameOne) {
  enlist_one();
  EXPECT_TRUE(std::holds_alternative<Worker>(
      workers.admit(call(R"({"worker_id":"w-1","task_queue":"orders","build_id":"v2"})"))));
}

// ---- the control plane

TEST_F(AmongWorkers, OperatorsSeeEverythingAWorkerSaid) {
  enlist(
      R"({"worker_id":"w-1","task_queue":"orders","runtime":"python","sdk_version":"2.0",
          "supported_workflow_types":["invoice"],"supported_activity_types":[],
          "capabilities":["query_tasks"],"max_concurrent_workflow_tasks":10,
          "task_slots":[],"process_metrics":[]})");
  pass(1s);
  workers.heartbeat(call(R"({"worker_id":"w-1"})"));
  const auto answer = workers.describe(about("w-1"));
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(to_json(Value{answer.body}),
            R"({"worker_id":"w-1","namespace":"default","task_queue":"orders","runtime":"python",)"
            R"("sdk_version":"2.0","build_id":null,"status":"active",)"
            R"("supported_workflow_types":["invoice"],"supported_activity_types":[],)"
            R"("capabilities":["query_tasks"],"max_concurrent_workflow_tasks":10,)"
            R"("max_concurrent_activity_tasks":100,"task_slots":{},"process_metrics":{},)"
            R"("heartbeat_interval_seconds":60,"last_heartbeat_at":"2026-04-10T09:00:01.000000Z",)"
            R"("registered_at":"2026-04-10T09:00:00.000000Z",)"
            R"("updated_at":"2026-04-10T09:00:01.000000Z"})");
}

TEST_F(AmongWorkers, ListsByQueueAndByWhetherTheyAreAlive) {
  enlist_one();
  pass(180s);
  enlist(R"({"worker_id":"w-2","task_queue":"orders","runtime":"python"})");
  enlist(R"({"worker_id":"w-3","task_queue":"billing","runtime":"python"})");
  workers.register_worker(
      call(R"({"worker_id":"w-4","task_queue":"orders","runtime":"php"})", Namespace{"other"}), "");
  EXPECT_THAT(listed(""), ElementsAre("w-1", "w-2", "w-3"));
  EXPECT_THAT(listed("task_queue=orders"), ElementsAre("w-1", "w-2"));
  EXPECT_THAT(listed("status=active"), ElementsAre("w-2", "w-3"));
  EXPECT_THAT(listed("task_queue=orders&status=stale"), ElementsAre("w-1"));
  EXPECT_THAT(listed("status=draining"), IsEmpty());
  EXPECT_THAT(complaints(workers.list(asking("status=gone"))), ElementsAre("status"));
  const auto all = workers.list(asking(""));
  EXPECT_EQ(said(all, "namespace"), R"("default")");
  EXPECT_EQ(said(all, "stale_after_seconds"), "180");
}

TEST_F(AmongWorkers, OperatorsMayRemoveAWorkerOfTheirNamespace) {
  enlist_one();
  expect_refused(workers.remove(about("w-1", Namespace{"other"})), 404, "worker_not_found");
  EXPECT_EQ(to_json(Value{workers.remove(about("w-1")).body}),
            R"({"worker_id":"w-1","outcome":"deregistered"})");
  expect_refused(workers.remove(about("w-1")), 404, "worker_not_found");
  const auto gone = workers.describe(about("w-1"));
  expect_refused(gone, 404, "worker_not_found");
  EXPECT_EQ(said(gone, "worker_id"), R"("w-1")");
}

// ---- what they declare

TEST_F(AmongWorkers, WithTheirNamespaceTheyLeave) {
  enlist_one();
  workers.forget(Namespace{"elsewhere"});
  EXPECT_TRUE(workers.find(home, "w-1"));
  workers.forget(home);
  EXPECT_FALSE(workers.find(home, "w-1"));
}

TEST_F(AmongWorkers, ContractsBecomeDeclarations) {
  enlist(
      R"({"worker_id":"w-1","task_queue":"orders","runtime":"python","workflow_command_contracts":{
           "invoice":{
             "queries":["total"],
             "signals":["approve","cancel"],
             "signal_contracts":[{"name":"approve","parameters":[
               {"name":"note","position":1,"required":false,"default_available":true,
                "default":"none","type":"string","allows_null":false,"variadic":false},
               {"name":"by","position":0,"required":true,"default_available":false,"default":null,
                "type":null,"allows_null":true},
               {"name":"limit","position":2,"required":false,"type":"int"},
               {"name":"tags","position":3,"required":false,"variadic":true,"type":"string"}]}],
             "updates":[],
             "update_contracts":[{"name":"rename","parameters":[]},{"name":"touch"}],
             "update_validators":["rename"],
             "entry_method":"handle"},
           "audit":{"queries":[],"signals":[]},
           "bare":[],
           "unknown":null}})");
  const auto declared = workers.definition(home, "orders", "invoice").declared;
  ASSERT_TRUE(declared);
  EXPECT_EQ(
      *declared,
      (Declarations{.queries = {{"total", {}}},
                    .signals = {{"approve",
                                 std::vector<Parameter>{
                                     {.name = "by", .allows_null = true},
                                     {.name = "note", .type = "string", .default_value = "none"},
                                     {.name = "limit", .type = "int", .default_value = Value{}},
                                     {.name = "tags", .type = "string", .variadic = true}}},
                                {"cancel", {}}},
                    .updates = {{"rename", std::vector<Parameter>{}}, {"touch", {}}}}));
  EXPECT_TRUE(history::declarations_from(history::declarations_value(*declared)))
      << "history must be able to read what is recorded";
  EXPECT_THAT(workers.find(home, "w-1")->update_validators.at("invoice"), ElementsAre("rename"));

  EXPECT_EQ(workers.definition(home, "orders", "audit").declared,
            Shared<Declarations>{Declarations{}});
  EXPECT_EQ(workers.definition(home, "orders", "bare").declared,
            Shared<Declarations>{Declarations{}});
  EXPECT_FALSE(workers.definition(home, "orders", "unknown").declared)
      << "nothing said, nothing declared";
  EXPECT_FALSE(workers.definition(home, "orders", "refund").declared);
  EXPECT_FALSE(workers.definition(home, "billing", "invoice").declared);
  EXPECT_FALSE(workers.definition(Namespace{"other"}, "orders", "invoice").declared);
}

TEST_F(AmongWorkers, TheNewestLiveWorkerSaysWhatATypeDeclares) {
  const auto declare = [&](std::string_view id, std::string_view signal) {
    enlist(fmt::format(
        R"({{"worker_id":"{}","task_queue":"default","runtime":"python",
             "workflow_command_contracts":{{"invoice":{{"signals":["{}"]}}}}}})",
        id, signal));
  };
  const auto signal = [&] {
    const auto declared = workers.definition(home, "", "invoice").declared;
    return declared ? declared->signals.at(0).name : "(none)";
  };
  declare("w-2", "old");
  pass(1s);
  declare("w-1", "new");
  EXPECT_EQ(signal(), "new");
  pass(180s);
  EXPECT_EQ(signal(), "new") << "both are stale, and somebody has to speak";
  workers.heartbeat(call(R"({"worker_id":"w-2"})"));
  EXPECT_EQ(signal(), "old");
}

TEST_F(AmongWorkers, SomebodyWithACapabilityIsFoundWhileAlive) {
  enlist(
      R"({"worker_id":"w-1","task_queue":"default","runtime":"python",
          "supported_workflow_types":["invoice"],"capabilities":["query_tasks"]})");
  enlist(R"({"worker_id":"w-2","task_queue":"any","runtime":"python","capabilities":["x"]})");
  using enum Workers::Help;
  EXPECT_EQ(workers.help_with(home, {"default", "invoice", "query_tasks"}), there);
  EXPECT_EQ(workers.help_with(home, {"", "invoice", "query_tasks"}), there);
  EXPECT_EQ(workers.help_with(home, {"default", "refund", "query_tasks"}), none);
  EXPECT_EQ(workers.help_with(home, {"default", "invoice", "update_validation_tasks"}), none);
  EXPECT_EQ(workers.help_with(home, {"orders", "invoice", "query_tasks"}), none);
  EXPECT_EQ(workers.help_with(Namespace{"other"}, {"default", "invoice", "query_tasks"}), none);
  EXPECT_EQ(workers.help_with(home, {"any", "whatever", "x"}), there) << "no lists: takes all";
  pass(180s);
  EXPECT_EQ(workers.help_with(home, {"default", "invoice", "query_tasks"}), none);
}

TEST_F(AmongWorkers, OtherBuildsAreToldApartFromNobodyAndThoseThatDrainDoNotCount) {
  bool drains = false;
  Workers fleet{clock,
                [&](const Namespace&, std::string_view, std::string_view) { return drains; }};
  fleet.register_worker(call(R"({"worker_id":"w-1","task_queue":"default","runtime":"python",
                                 "build_id":"v2","capabilities":["query_tasks"]})"),
                        "");
  using enum Workers::Help;
  EXPECT_EQ(fleet.help_with(home, {"default", "invoice", "query_tasks", "v2"}), there);
  EXPECT_EQ(fleet.help_with(home, {"default", "invoice", "query_tasks", "v1"}), other_builds_only);
  drains = true;
  EXPECT_EQ(fleet.help_with(home, {"default", "invoice", "query_tasks", "v2"}), none);
}

}  // namespace
}  // namespace dw::server
