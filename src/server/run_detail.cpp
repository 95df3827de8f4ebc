#include "server/run_detail.hpp"

#include "bundle/lifecycles.hpp"
#include "server/fields.hpp"
#include "views/availability.hpp"
#include "views/failures.hpp"
#include "views/row_value.hpp"

#include <algorithm>

namespace dw::server {
namespace {

Value object(const std::optional<Value>& value) {
  return value ? *value : Value{Value::Map{}};
}

// The words a caller left behind, or which deadline had passed.
std::string reason_of(const history::RunState& state) {
  const bool told_apart = state.closed_reason == "timed_out" ||
                          state.status == history::RunStatus::cancelled ||
                          state.status == history::RunStatus::terminated;
  if (!told_apart || !state.failure) return {};
  // The failure says what happened and then, after a colon, which deadline or the caller's words.
  const std::string& told = state.failure->message;
  const auto colon = told.find(": ");
  return colon == std::string::npos ? std::string{} : told.substr(colon + 2);
}

Value::Map failure_of(const views::FailureAccount& failure) {
  const history::Failure& what = failure.failure;
  return {{"id", failure.id.view()},
          {"message", what.message},
          {"failure_category", failure.category},
          {"exception_type", views::cell(what.exception_type)},
          {"exception_class", views::cell(what.exception_class)},
          {"non_retryable", what.non_retryable},
          {"exception", views::exception_value(what)}};
}

}  // namespace

Value::Map run_item(const views::Summary& summary, const views::Account& account) {
  const history::RunState& state = account.state;
  return {{"workflow_id", summary.instance_id.view()},
          {"run_id", summary.id.view()},
          {"workflow_type", summary.workflow_type},
          {"namespace", summary.ns.view()},
          {"business_key", views::cell(summary.business_key)},
          {"history_event_count", summary.history_event_count},
          {"status", summary.status},
          {"status_bucket", summary.status_bucket},
          {"is_terminal", summary.is_terminal},
          {"closed_reason", views::cell(summary.closed_reason)},
          {"task_queue", summary.queue.empty() ? "default" : summary.queue},
          {"run_number", summary.run_number},
          {"is_current_run", summary.is_current_run},
          {"compatibility", views::cell(summary.compatibility)},
          {"payload_codec", avro_codec},
          {"memo", object(state.memo)},
          {"search_attributes", object(state.search_attributes)},
          {"started_at", format_timestamp(summary.started_at)},
          {"closed_at", views::cell(summary.closed_at)}};
}

Value::Map run_detail(const views::Account& account, std::span<const history::Event> events,
                      const views::Sight& sight, std::int64_t run_count) {
  const history::RunState& state = account.state;
  const history::WorkflowStarted& start = state.start;
  const auto summary = views::summarize(account, sight);
  Value::Map detail = run_item(summary, account);
  const auto add = [&](std::string_view key, Value value) {
    detail.emplace_back(std::string{key}, std::move(value));
  };
  add("run_count", run_count);
  if (const auto reason = reason_of(state); !reason.empty()) add("reason", reason);
  add("input", projection_of(start.arguments));
  add("input_envelope", envelope_of(start.arguments));
  add("output", state.output ? projection_of(*state.output) : Value{});
  if (state.output) add("output_envelope", envelope_of(*state.output));
  add("execution_timeout_seconds", views::cell(start.execution_timeout));
  add("run_timeout_seconds", views::cell(start.run_timeout));
  add("execution_deadline_at", views::cell(state.execution_deadline()));
  add("run_deadline_at", views::cell(state.run_deadline()));
  add("priority", start.precedence.priority);
  add("fairness_key", views::cell(start.precedence.fairness_key));
  add("fairness_weight", start.precedence.fairness_weight);
  add("last_progress_at", format_timestamp(state.last_recorded_at));
  add("wait_kind", views::cell(summary.wait.kind));
  add("wait_reason", views::cell(summary.wait.reason));

  const auto allowed = views::availability_of(account, sight);
  add("actions", Value::Map{{"can_signal", allowed.signal.granted()},
                            {"can_query", allowed.query.granted()},
                            {"can_update", allowed.update.granted()},
                            {"can_cancel", allowed.cancel.granted()},
                            {"can_terminate", allowed.terminate.granted()},
                            {"can_repair", allowed.repair.granted()},
                            {"can_archive", allowed.archive.granted()}});
  auto asked = bundle::glance_at(account, events, most_commands_shown);
  add("commands", std::move(asked.commands));
  add("updates", std::move(asked.updates));
  if (state.status == history::RunStatus::failed && state.failure) {
    add("error", state.failure->message);
    // What ended the run comes last, where clients look for it: updates that it left open fail
    // after it.
    auto in_order = account.failures;
    std::stable_partition(in_order.begin(), in_order.end(), [](const auto& failure) {
      return failure.source_kind != "workflow_run";
    });
    Value::Array failures;
    for (const auto& failure : in_order) failures.emplace_back(failure_of(failure));
    if (!failures.empty()) {
      add("exception", *failures.back().find("exception"));
      add("failure", failures.back());
      add("failures", std::move(failures));
    }
  }
  return detail;
}

}  // namespace dw::server
