// The requests that the published command line sends, one row for each of its command's public
// fixtures: same words in, same request out.
#include "cli/catalogue.hpp"
#include "cli/request.hpp"

#include <gtest/gtest.h>

namespace dw::cli {
namespace {

struct Fixture {
  std::vector<std::string> words;
  std::string request;
  std::string body = {};
};

const std::vector<Fixture>& fixtures() {
  static const std::vector<Fixture> all{
      {{"workflow:start",
        "--type",
        "orders.process",
        "--workflow-id",
        "wf-polyglot-231",
        "--task-queue",
        "orders",
        "--input",
        R"([{"order_id":42,"priority":"gold"}])",
        "--memo",
        R"({"source":"polyglot-fixture"})",
        "--search-attr",
        "CustomerId=cust-42",
        "--search-attr",
        "Tier=gold",
        "--execution-timeout",
        "300",
        "--run-timeout",
        "120",
        "--duplicate-policy",
        "use-existing"},
       "POST /workflows",
       R"({"workflow_type":"orders.process","workflow_id":"wf-polyglot-231","task_queue":"orders",
           "duplicate_policy":"use-existing","input":[{"order_id":42,"priority":"gold"}],
           "memo":{"source":"polyglot-fixture"},"execution_timeout_seconds":300,
           "run_timeout_seconds":120,"search_attributes":{"CustomerId":"cust-42","Tier":"gold"}})"},
      {{"workflow:list", "--type", "orders.process", "--status", "running", "--query",
        "CustomerId=\"42\"", "--limit", "25"},
       "GET /workflows?workflow_type=orders.process&status=running&query=CustomerId%3D%2242%22"
       "&page_size=25"},
      {{"workflow:describe", "wf-1"}, "GET /workflows/wf-1"},
      {{"workflow:show-run", "wf-1", "run-1"}, "GET /workflows/wf-1/runs/run-1"},
      {{"workflow:list-runs", "wf-1"}, "GET /workflows/wf-1/runs"},
      {{"workflow:signal", "wf-1", "approval.received", "--input", R"([{"approved":true}])"},
       "POST /workflows/wf-1/signal/approval.received",
       R"({"input":[{"approved":true}]})"},
      {{"workflow:query", "wf-1", "order.status", "--input", R"([{"currency":"USD"}])"},
       "POST /workflows/wf-1/query/order.status",
       R"({"input":[{"currency":"USD"}]})"},
      {{"workflow:update", "wf-1", "quota.adjust", "--wait", "completed", "--input",
        R"([{"quota":50}])"},
       "POST /workflows/wf-1/update/quota.adjust",
       R"({"wait_for":"completed","input":[{"quota":50}]})"},
      {{"workflow:cancel", "wf-1", "--reason", "refund"},
       "POST /workflows/wf-1/cancel",
       R"({"reason":"refund"})"},
      {{"workflow:terminate", "wf-1", "--reason", "failover"},
       "POST /workflows/wf-1/terminate",
       R"({"reason":"failover"})"},
      {{"workflow:repair", "wf-1"}, "POST /workflows/wf-1/repair", "{}"},
      {{"workflow:archive", "wf-1", "--reason", "cleanup"},
       "POST /workflows/wf-1/archive",
       R"({"reason":"cleanup"})"},
      {{"workflow:history-export", "wf-1", "run-1"},
       "GET /workflows/wf-1/runs/run-1/history/export"},
      {{"activity:complete", "task-1", "attempt-1", "--lease-owner", "w", "--input",
        R"({"items_processed":3})"},
       "POST /worker/activity-tasks/task-1/complete",
       R"({"activity_attempt_id":"attempt-1","lease_owner":"w","result":{"items_processed":3}})"},
      {{"activity:fail", "task-1", "attempt-1", "--lease-owner", "w", "--message", "rejected",
        "--type", "UpstreamRejected", "--non-retryable"},
       "POST /worker/activity-tasks/task-1/fail",
       R"({"activity_attempt_id":"attempt-1","lease_owner":"w","failure":{"message":"rejected",
           "type":"UpstreamRejected","non_retryable":true}})"},
      {{"bridge:webhook", "stripe", "--action", "start_workflow", "--idempotency-key", "evt-1",
        "--target", R"({"workflow_type":"orders"})", "--input", R"({"order_id":"o-1"})",
        "--correlation", R"({"provider":"stripe"})"},
       "POST /bridge-adapters/webhook/stripe",
       R"({"action":"start_workflow","idempotency_key":"evt-1","target":{"workflow_type":"orders"},
           "input":{"order_id":"o-1"},"correlation":{"provider":"stripe"}})"},
      {{"namespace:list"}, "GET /namespaces"},
      {{"namespace:create", "billing", "--description", "Bills", "--retention", "90"},
       "POST /namespaces",
       R"({"name":"billing","description":"Bills","retention_days":90})"},
      {{"namespace:describe", "billing"}, "GET /namespaces/billing"},
      {{"namespace:update", "billing", "--description", "Bills", "--retention", "120"},
       "PUT /namespaces/billing",
       R"({"description":"Bills","retention_days":120})"},
      {{"namespace:delete", "billing"}, "DELETE /namespaces/billing"},
      {{"namespace:set-storage-driver", "billing", "s3", "--threshold-bytes", "2097152", "--disk",
        "objects", "--bucket", "b", "--prefix", "billing/", "--region", "us-east-1", "--endpoint",
        "https://s3", "--auth-profile", "prod"},
       "PUT /namespaces/billing/external-storage",
       R"({"driver":"s3","enabled":true,"threshold_bytes":2097152,"config":{"disk":"objects",
           "bucket":"b","prefix":"billing/","region":"us-east-1","endpoint":"https://s3",
           "auth_profile":"prod"}})"},
      {{"storage:test", "--driver", "s3", "--small-bytes", "128", "--large-bytes", "3145728"},
       "POST /storage/test",
       R"({"small_payload_bytes":128,"large_payload_bytes":3145728,"driver":"s3"})"},
      {{"search-attribute:list"}, "GET /search-attributes"},
      {{"search-attribute:create", "OrderStatus", "keyword"},
       "POST /search-attributes",
       R"({"name":"OrderStatus","type":"keyword"})"},
      {{"search-attribute:delete", "OrderStatus"}, "DELETE /search-attributes/OrderStatus"},
      {{"schedule:create",
        "--schedule-id",
        "daily-inventory-check",
        "--workflow-type",
        "inventory.check",
        "--cron",
        "15 7 * * *",
        "--task-queue",
        "inventory-standard",
        "--input",
        R"([{"warehouse":"west-1","threshold":25}])",
        "--execution-timeout",
        "900",
        "--run-timeout",
        "600",
        "--overlap-policy",
        "buffer_one",
        "--jitter",
        "45",
        "--max-runs",
        "30",
        "--paused",
        "--note",
        "created from parity fixture"},
       "POST /schedules",
       R"({"schedule_id":"daily-inventory-check",
           "spec":{"cron_expressions":["15 7 * * *"],"timezone":"UTC"},
           "action":{"workflow_type":"inventory.check","task_queue":"inventory-standard",
             "input":[{"warehouse":"west-1","threshold":25}],"execution_timeout_seconds":900,
             "run_timeout_seconds":600},
           "overlap_policy":"buffer_one","jitter_seconds":45,"max_runs":30,"paused":true,
           "note":"created from parity fixture"})"},
      {{"schedule:list"}, "GET /schedules"},
      {{"schedule:describe", "daily-order-rollup"}, "GET /schedules/daily-order-rollup"},
      {{"schedule:update",
        "daily-inventory-check",
        "--interval",
        "PT30M",
        "--workflow-type",
        "inventory.check",
        "--task-queue",
        "inventory-priority",
        "--input",
        R"([{"warehouse":"west-1","threshold":10}])",
        "--execution-timeout",
        "1200",
        "--run-timeout",
        "900",
        "--overlap-policy",
        "skip",
        "--jitter",
        "15",
        "--max-runs",
        "100",
        "--note",
        "tighten inventory threshold"},
       "PUT /schedules/daily-inventory-check",
       R"({"spec":{"intervals":[{"every":"PT30M"}]},
           "action":{"workflow_type":"inventory.check","task_queue":"inventory-priority",
             "input":[{"warehouse":"west-1","threshold":10}],"execution_timeout_seconds":1200,
             "run_timeout_seconds":900},
           "overlap_policy":"skip","jitter_seconds":15,"max_runs":100,
           "note":"tighten inventory threshold"})"},
      {{"schedule:pause", "daily-order-rollup", "--note", "operator maintenance window"},
       "POST /schedules/daily-order-rollup/pause",
       R"({"note":"operator maintenance window"})"},
      {{"schedule:resume", "daily-order-rollup", "--note", "maintenance complete"},
       "POST /schedules/daily-order-rollup/resume",
       R"({"note":"maintenance complete"})"},
      {{"schedule:trigger", "daily-inventory-check", "--overlap-policy", "allow_all"},
       "POST /schedules/daily-inventory-check/trigger",
       R"({"overlap_policy":"allow_all"})"},
      {{"schedule:backfill", "daily-inventory-check", "--start-time", "2026-04-20T00:00:00Z",
        "--end-time", "2026-04-20T03:00:00Z", "--overlap-policy", "buffer_all"},
       "POST /schedules/daily-inventory-check/backfill",
       R"({"start_time":"2026-04-20T00:00:00Z","end_time":"2026-04-20T03:00:00Z",
           "overlap_policy":"buffer_all"})"},
      {{"schedule:delete", "inventory-refresh"}, "DELETE /schedules/inventory-refresh"},
      {{"schedule:history", "daily-inventory-check", "--limit", "100", "--after-sequence", "5"},
       "GET /schedules/daily-inventory-check/history?limit=100&after_sequence=5"},
      {{"task-queue:list"}, "GET /task-queues"},
      {{"task-queue:describe", "orders"}, "GET /task-queues/orders"},
      {{"task-queue:build-ids", "orders"}, "GET /task-queues/orders/build-ids"},
      {{"task-queue:promote", "orders", "--build-id", "b-1"},
       "POST /task-queues/orders/build-ids/promote",
       R"({"build_id":"b-1"})"},
      {{"task-queue:drain", "orders", "--build-id", "b-1"},
       "POST /task-queues/orders/build-ids/drain",
       R"({"build_id":"b-1"})"},
      {{"task-queue:resume", "orders", "--unversioned"},
       "POST /task-queues/orders/build-ids/resume",
       R"({"build_id":null})"},
      {{"worker:list", "--task-queue", "orders", "--status", "active"},
       "GET /workers?task_queue=orders&status=active"},
      {{"worker:describe", "w-1"}, "GET /workers/w-1"},
      {{"worker:deregister", "w-1"}, "DELETE /workers/w-1"},
      {{"worker:register", "w-1", "--task-queue", "orders", "--runtime", "external",
        "--sdk-version", "durable-worker/1.2.3", "--build-id", "b-1", "--workflow-type", "orders",
        "--activity-type", "sync", "--max-workflow-tasks", "4", "--max-activity-tasks", "8"},
       "POST /worker/register",
       R"({"worker_id":"w-1","task_queue":"orders","runtime":"external",
           "sdk_version":"durable-worker/1.2.3","build_id":"b-1",
           "supported_workflow_types":["orders"],"supported_activity_types":["sync"],
           "max_concurrent_workflow_tasks":4,"max_concurrent_activity_tasks":8})"},
      {{"workflow-task:poll", "w-1", "--task-queue", "orders"},
       "POST /worker/workflow-tasks/poll",
       R"({"worker_id":"w-1","task_queue":"orders"})"},
      {{"workflow-task:complete", "task-1", "2", "--lease-owner", "w-1", "--command",
        R"({"type":"start_timer"})"},
       "POST /worker/workflow-tasks/task-1/complete",
       R"({"lease_owner":"w-1","workflow_task_attempt":2,"commands":[{"type":"start_timer"}]})"},
      {{"workflow-task:fail", "task-1", "2", "--lease-owner", "w-1", "--message", "no", "--type",
        "NonDeterminism", "--stack-trace", "here"},
       "POST /worker/workflow-tasks/task-1/fail",
       R"({"lease_owner":"w-1","workflow_task_attempt":2,"failure":{"message":"no",
           "type":"NonDeterminism","stack_trace":"here"}})"},
      {{"workflow-task:history", "task-1", "page-2", "--lease-owner", "w-1", "--attempt", "2"},
       "POST /worker/workflow-tasks/task-1/history",
       R"({"next_history_page_token":"page-2","lease_owner":"w-1","workflow_task_attempt":2})"},
      {{"query-task:poll", "w-1", "--task-queue", "orders"},
       "POST /worker/query-tasks/poll",
       R"({"worker_id":"w-1","task_queue":"orders"})"},
      {{"query-task:complete", "q-1", "1", "--lease-owner", "w-1", "--result", R"({"open":3})"},
       "POST /worker/query-tasks/q-1/complete",
       R"({"lease_owner":"w-1","query_task_attempt":1,"result":{"open":3}})"},
      {{"query-task:fail", "q-1", "1", "--lease-owner", "w-1", "--message", "unknown", "--reason",
        "rejected_unknown_query", "--type", "QueryFailed", "--stack-trace", "here"},
       "POST /worker/query-tasks/q-1/fail",
       R"({"lease_owner":"w-1","query_task_attempt":1,"failure":{"message":"unknown",
           "reason":"rejected_unknown_query","type":"QueryFailed","stack_trace":"here"}})"},
      {{"system:repair-status"}, "GET /system/repair"},
      {{"system:repair-pass", "--run-id", "r-1", "--run-id", "r-2", "--instance-id", "c-1"},
       "POST /system/repair/pass",
       R"({"run_ids":["r-1","r-2"],"instance_id":"c-1"})"},
      {{"system:activity-timeout-status"}, "GET /system/activity-timeouts"},
      {{"system:activity-timeout-pass", "--execution-id", "e-1", "--limit", "50"},
       "POST /system/activity-timeouts/pass",
       R"({"execution_ids":["e-1"],"limit":50})"},
      {{"system:retention-status"}, "GET /system/retention"},
      {{"system:retention-pass", "--run-id", "r-1", "--limit", "50"},
       "POST /system/retention/pass",
       R"({"run_ids":["r-1"],"limit":50})"},
  };
  return all;
}

// Objects are equal in any order of their keys.
bool same_json(const Value& a, const Value& b) {
  const auto *left = a.if_map(), *right = b.if_map();
  if (left && right) {
    if (left->size() != right->size()) return false;
    for (const auto& [key, value] : *left) {
      const Value* other = b.find(key);
      if (!other || !same_json(value, *other)) return false;
    }
    return true;
  }
  const auto *items = a.if_array(), *others = b.if_array();
  if (items && others) {
    return std::equal(items->begin(), items->end(), others->begin(), others->end(), same_json);
  }
  return a == b;
}

TEST(Parity, TheSameWordsMakeTheSameRequest) {
  const ReadFile no_files = [](const std::string&) -> Outcome<std::string> {
    return invalid_input("no files here");
  };
  for (const Fixture& fixture : fixtures()) {
    const Command* command = find_command(fixture.words.front());
    ASSERT_TRUE(command) << fixture.words.front();
    const auto given = parse_given(*command, {fixture.words.begin() + 1, fixture.words.end()});
    ASSERT_TRUE(given) << given.error().message;
    const auto request = build_request(*command, *given, no_files);
    ASSERT_TRUE(request) << request.error().message;
    EXPECT_EQ(request->method + " " + request->target, fixture.request);
    ASSERT_EQ(request->body.has_value(), !fixture.body.empty()) << fixture.request;
    if (!request->body) continue;
    EXPECT_TRUE(same_json(*request->body, *parse_json(fixture.body)))
        << fixture.request << " " << to_json(*request->body);
  }
}

}  // namespace
}  // namespace dw::cli
