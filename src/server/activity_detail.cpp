#include "server/activity_detail.hpp"

#include "engine/standalone.hpp"
#include "engine/tasks.hpp"
#include "server/fields.hpp"
#include "views/row_value.hpp"

#include <algorithm>

namespace dw::server {
namespace {

using views::cell;

Value deadline_after(Timestamp from, const std::optional<history::Seconds>& timeout) {
  return timeout ? cell(history::later(from, *timeout)) : Value{};
}

Value::Map attempt_item(const RunId& run, const views::AttemptAccount& attempt) {
  const bool runs = attempt.status == "running";
  return {{"activity_attempt_id", attempt.id.view()},
          {"attempt_number", attempt.number},
          {"status", attempt.status},
          {"task_id", engine::task_id(run, attempt.task).view()},
          {"lease_owner", attempt.lease_owner},
          {"lease_expires_at", runs ? cell(attempt.lease_expires_at) : Value{}},
          {"started_at", cell(attempt.started_at)},
          {"last_heartbeat_at", cell(attempt.last_heartbeat_at)},
          {"closed_at", cell(attempt.closed_at)}};
}

// Its own words rather than those of its run, which only repeats them.
Value failure_of_activity(const views::Account& host) {
  const auto own =
      std::ranges::find(host.failures, "activity_execution", &views::FailureAccount::source_kind);
  if (own == host.failures.end()) return {};
  const history::Failure& what = own->failure;
  return Value::Map{{"id", own->id.view()},
                    {"message", what.message},
                    {"failure_category", own->category},
                    {"exception_type", cell(what.exception_type)},
                    {"exception_class", cell(what.exception_class)},
                    {"non_retryable", what.non_retryable}};
}

}  // namespace

bool hosts_activity(const views::Account& run) {
  return engine::is_standalone(run.state) && run.activities.size() == 1;
}

Value::Map started_activity(const views::Account& host) {
  const views::ActivityAccount& activity = host.activities.front();
  const history::WorkflowStarted& start = host.state.start;
  const history::RetryPolicy& policy = activity.scheduled.retry_policy;
  return {{"activity_id", start.instance_id.view()},
          {"activity_execution_id", activity.scheduled.activity_id.view()},
          {"workflow_run_id", host.run_id.view()},
          {"workflow_type", start.workflow_type},
          {"activity_type", activity.scheduled.activity_type},
          {"activity_class", cell(start.workflow_class)},
          {"task_queue", start.queue.empty() ? "default" : start.queue},
          {"namespace", start.ns.view()},
          {"business_key", cell(start.business_key)},
          {"status", "running"},
          {"payload_codec", avro_codec},
          {"started_at", cell(host.state.started_at)},
          {"schedule_to_start_deadline_at",
           deadline_after(activity.available_at, policy.schedule_to_start_timeout)},
          {"schedule_to_close_deadline_at",
           deadline_after(activity.created_at, policy.schedule_to_close_timeout)}};
}

Value::Map activity_item(const views::Account& host) {
  const views::ActivityAccount& activity = host.activities.front();
  const history::RunState& state = host.state;
  Value::Map item = started_activity(host);
  const auto add = [&](std::string_view key, Value value) {
    item.emplace_back(std::string{key}, std::move(value));
  };
  // While it is open its run waits, but nobody who asks for an activity asks about that.
  if (!state.open()) {
    std::ranges::find(item, "status", &Value::Map::value_type::first)->second =
        history::to_string(state.status);
  }
  add("activity_status", activity.status);
  add("closed_at", state.open() ? Value{} : cell(state.closed_at));
  add("closed_reason", cell(state.closed_reason));
  add("attempt_count", static_cast<std::int64_t>(activity.attempts.size()));
  add("current_attempt_id",
      activity.attempts.empty() ? Value{} : cell(activity.attempts.back().id));
  add("last_progress_at", cell(state.last_recorded_at));
  add("last_heartbeat_at", cell(activity.last_heartbeat_at));
  return item;
}

Value::Map activity_detail(const views::Account& host) {
  const views::ActivityAccount& activity = host.activities.front();
  Value::Map detail = activity_item(host);
  Value::Array attempts;
  for (const auto& attempt : activity.attempts) {
    attempts.emplace_back(attempt_item(host.run_id, attempt));
  }
  detail.emplace_back("attempts", std::move(attempts));
  detail.emplace_back("retry_policy", views::to_value(activity.scheduled.retry_policy));
  detail.emplace_back("result", activity.result ? envelope_of(*activity.result) : Value{});
  if (auto failure = failure_of_activity(host); !failure.is_null()) {
    detail.emplace_back("failure", std::move(failure));
  }
  return detail;
}

}  // namespace dw::server
