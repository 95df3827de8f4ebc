// What keeps a workflow from going on, and events from outside: as a server tells it, for people
// and for scripts.
#include "cli/client_story.hpp"
#include "cli/lookup.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dw::cli {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

const char* stuck = R"({"workflow_id":"order-1","run_id":"run-1","namespace":"default",
    "diagnostic_status":"blocked","findings":[
      {"severity":"error","code":"no_active_pollers","message":"no worker polls it"},
      {"severity":"warning","code":"activity_retrying","message":"declined"}],
    "execution":{"status":"pending","workflow_type":"shop.order","task_queue":"orders",
      "last_event":{"sequence":1,"event_type":"WorkflowStarted"}},
    "pending_workflow_tasks":[{"task_id":"run-1.w1","status":"ready"}],
    "pending_activities":[{"activity_execution_id":"a1","activity_type":"charge","status":"running",
      "current_attempt":{"lease_owner":"worker-2","lease_expires_at":"09:05"}}],
    "task_queue":{"name":"orders","stats":{"approximate_backlog_count":17,
      "pollers":{"active_count":0,"stale_count":1}}},
    "recent_failures":[{"exception_class":"BankError","message":"declined","created_at":"09:00"}]})";

// ---- debug workflow

TEST(DebugCommand, TellsPeopleWhatIsWrongAndWhatItWasDrawnFrom) {
  ClientStory story;
  const Ran ran = story.answers(stuck).run({"debug", "workflow", "order-1"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(story.sent.front().target, "/api/workflows/order-1/debug");
  EXPECT_THAT(ran.out, AllOf(HasSubstr("[ERROR] no_active_pollers: no worker polls it"),
                             HasSubstr("[WARNING] activity_retrying: declined"),
                             HasSubstr("blocked"), HasSubstr("17"), HasSubstr("run-1.w1"),
                             HasSubstr("worker-2"), HasSubstr("BankError")));
}

TEST(DebugCommand, LooksAtOneRunIfItIsNamed) {
  ClientStory story;
  const Ran ran =
      story.answers(stuck).run({"debug", "workflow", "order-1", "-r", "run-1", "--json"});
  EXPECT_EQ(ran.code, 0) << ran.out;
  EXPECT_EQ(story.sent.front().target, "/api/workflows/order-1/runs/run-1/debug");
  const Value document = ran.document();
  EXPECT_EQ(text_of(document, "diagnostic_status"), "blocked");
  EXPECT_EQ(list_of(document, "findings").size(), 2u);
}

TEST(DebugCommand, KnowsNothingButWorkflows) {
  ClientStory story;
  const Ran ran = story.run({"debug", "task-queue", "orders", "--json"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(story.sent, IsEmpty());
  EXPECT_EQ(whole_of(ran.document(), "exit_code"), 2);
}

// ---- doctor

TEST(DoctorCommand, AServerThatRefusesIsReachable) {
  ClientStory refused;
  const Ran ran = refused.describes_itself("{}", 401).run({"doctor", "--json"});
  EXPECT_EQ(ran.code, 4);
  EXPECT_TRUE(is_true(ran.document(), "server.reachable"));
  EXPECT_NE(text_of(ran.document(), "server.error"), "");
  ClientStory nobody;
  nobody.cannot_be_reached({ErrorCode::unavailable, "refused"});
  const Value told = nobody.run({"doctor", "--json"}).document();
  EXPECT_FALSE(is_true(told, "server.reachable"));
}

TEST(DoctorCommand, TellsPeopleWhereEachSettingComesFrom) {
  ClientStory story;
  const Ran ran =
      story.environment("DURABLE_WORKFLOW_NAMESPACE", "shop").run({"doctor", "--server=http://a"});
  EXPECT_THAT(ran.out, AllOf(HasSubstr("Server: http://a (flag)\n"),
                             HasSubstr("Namespace: shop (DURABLE_WORKFLOW_NAMESPACE)\n"),
                             HasSubstr("Token: none\n"), HasSubstr("TLS Verify: yes (default)\n")));
  EXPECT_THAT(ran.out, Not(HasSubstr("Next steps"))) << "nobody asked for a token";
}

TEST(DoctorCommand, AFailureLeadsFurtherThanTheDoctor) {
  const std::pair<int, const char*> table[] = {{401, "dw env:set"}, {500, "dw server:health"}};
  for (const auto& [status, next] : table) {
    ClientStory story;
    const Ran ran = story.describes_itself("{}", status).run({"doctor"});
    EXPECT_THAT(ran.out, AllOf(HasSubstr(next), Not(HasSubstr("Try: dw doctor"))));
  }
  ClientStory nobody;
  nobody.cannot_be_reached({ErrorCode::unavailable, "refused"});
  EXPECT_THAT(nobody.run({"doctor"}).out, HasSubstr("Try: dw server:dev\n"));
  EXPECT_THAT(nobody.run({"doctor", "--server=http://a"}).out, Not(HasSubstr("Try:")));
}

TEST(DoctorCommand, WarnsOfANamespaceThatIsNotThere) {
  ClientStory story;
  story.answers(R"({"reason":"namespace_not_found"})", 404);
  const Ran ran = story.run({"doctor", "--namespace=shop"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(story.sent.front().target, "/api/namespaces/shop");
  EXPECT_THAT(ran.out, AllOf(HasSubstr("The server has no namespace 'shop'.\n"),
                             HasSubstr("Try: dw namespace:list\n")));
}

// ---- server:health

TEST(HealthCommand, AServerThatIsWellSaysSo) {
  ClientStory well;
  const Ran ran = well.answers(R"({"status":"serving"})").run({"server:health"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, StartsWith("Server is serving\n"));
  ClientStory something;
  const Ran other = something.answers("{}").run({"server:health", "--json"});
  EXPECT_EQ(other.code, 6);
  EXPECT_THAT(text_of(other.document(), "error"), HasSubstr("without a status"));
}

// ---- task-queue

TEST(QueueCommand, CapacityIsThatOfTheWorkersWhereTheServerSetsNone) {
  const char* queue = R"({"task_queues":[{"name":"orders","admission":{
      "workflow_tasks":{"status":"accepting","leased_count":3,"configured_slot_count":10,
        "available_slot_count":7,"server_active_lease_count":3,
        "server_max_active_leases_per_queue":null},
      "activity_tasks":{"status":"no_active_workers","leased_count":0,"configured_slot_count":0,
        "available_slot_count":0}}}]})";
  ClientStory listed;
  EXPECT_THAT(listed.answers(queue).run({"task-queue:list"}).out,
              ContainsRegex("orders +accepting \\(7 left\\) +no_active_workers +-"));
  const Value one = list_of(*parse_json(queue), "task_queues").front();
  ClientStory described;
  EXPECT_THAT(described.answers(to_json(one)).run({"task-queue:describe", "orders"}).out,
              ContainsRegex("Workflow Tasks +accepting +3/10 "));
}

TEST(QueueCommand, WorkThatNoWorkerHoldsIsDoneByTheServer) {
  ClientStory story;
  story.answers(R"({"name":"q","current_leases":[{"task_id":"t","is_expired":false}]})");
  EXPECT_THAT(story.run({"task-queue:describe", "q"}).out, HasSubstr("in the server's process"));
}

// ---- system:operator-metrics

TEST(OperatorMetricsCommand, TheFleetIsATableAndTheRestAreLines) {
  ClientStory story;
  const Ran ran = story
                      .answers(R"({"operator_metrics":{"workers":{"active_workers":1,"fleet":[
              {"worker_id":"w-1","queue":"orders","host":"h","supported":["v1"]}]},
              "backend":{"codec":{"canonical":"avro"}}}})")
                      .run({"system:operator-metrics"});
  EXPECT_THAT(ran.out, AllOf(ContainsRegex("Worker ID +Task Queue.*\nw-1 +orders +h +v1 "),
                             HasSubstr("  Codec:\n    Canonical: avro\n"), Not(HasSubstr("{"))));
}

// ---- bridge:webhook

Ran hand_over(ClientStory& story) {
  return story.run({"bridge:webhook", "stripe", "--action=start_workflow",
                    "--idempotency-key=evt-1", "--target", R"({"workflow_type":"shop.order"})",
                    "--json"});
}

TEST(BridgeCommand, AnEventThatCameBeforeIsNoFailure) {
  ClientStory story;
  story.answers(R"({"adapter":"stripe","accepted":true,"outcome":"accepted"})", 202)
      .answers(R"({"adapter":"stripe","accepted":false,"outcome":"duplicate"})", 200);
  EXPECT_EQ(hand_over(story).code, 0);
  const Ran again = hand_over(story);
  EXPECT_EQ(again.code, 0) << "whoever delivers twice has been heard";
  EXPECT_EQ(text_of(again.document(), "outcome"), "duplicate");
}

TEST(BridgeCommand, AnEventThatIsRejectedIsARequestThatTheServerFindsWrong) {
  ClientStory story;
  story.answers(R"({"accepted":false,"outcome":"rejected","reason":"unknown_target",
      "message":"there is no workflow 'order-1'"})",
                422);
  const Ran ran = hand_over(story);
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(text_of(ran.document(), "reason"), "unknown_target");
}

}  // namespace
}  // namespace dw::cli
