// A child that failed and is run again: the call's policy, written into the child's own start.
#include "engine/parts.hpp"

namespace dw::engine {
namespace {

// Why the run failed, if another might not; nothing when it ended any other way. When the
// execution's time is up there is none left for another.
std::optional<Failure> setback(const EventBody& terminal) {
  if (const auto* failed = std::get_if<WorkflowFailed>(&terminal)) return failed->failure;
  const auto* late = std::get_if<WorkflowTimedOut>(&terminal);
  if (late && late->timeout_kind == "run_timeout") return failure_of(*late);
  return std::nullopt;
}

}  // namespace

std::optional<NewRun> next_attempt(const Run& child, const EventBody& terminal,
                                   const Context& context) {
  const WorkflowStarted& before = child.state.start;
  if (!before.lineage || before.lineage->call_id.empty()) return std::nullopt;
  const auto failure = setback(terminal);
  const RetryPolicy& policy = before.lineage->retry_policy;
  const std::int64_t attempt = before.lineage->retry_attempt;
  if (!failure || !may_retry(policy, attempt, *failure)) return std::nullopt;

  CommandContext from;
  from.parent_instance_id = before.instance_id.str();
  from.parent_run_id = child.id.str();
  from.child_call_id = before.lineage->call_id;
  Command facts = next_command(0, "workflow", context);
  facts.context = std::move(from);

  WorkflowStarted start = before;
  start.run_number = before.run_number + 1;
  start.execution_deadline = child.state.execution_deadline();
  Lineage lineage = *before.lineage;
  lineage.continued_from_run_id.clear();
  lineage.inherited_children.clear();
  lineage.retry_attempt = attempt + 1;
  lineage.retry_of_run_id = child.id.str();
  lineage.retry_backoff = backoff_after(policy, attempt);
  start.lineage = std::move(lineage);
  start.answered_requests = answered_requests(child);

  NewRun next = open_run(RunId{context.ids.ulid()},
                         {StartAccepted{std::move(facts), "started_new"}, std::move(start)},
                         {time_of(child, context), context.ids, context.settings});
  next.continues = true;
  return next;
}

}  // namespace dw::engine
