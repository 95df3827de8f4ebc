#include "engine/standalone.hpp"

#include "engine/parts.hpp"

namespace dw::engine {
namespace {

// How the activity's end looks as the end of its run; absent when it has not ended.
class EndOfHost {
 public:
  explicit EndOfHost(const Context& context) : context_(context) {}

  using Terminal = std::optional<EventBody>;

  Terminal operator()(const ActivityCompleted& e) const { return WorkflowCompleted{e.result}; }
  Terminal operator()(const ActivityFailed& e) const {
    const bool too_much = e.failure.exception_class == "dw::StructuralLimitExceeded";
    const bool ordinary = e.failure.category.empty();
    return failed(too_much   ? "structural_limit"
                  : ordinary ? "application"
                             : e.failure.category,
                  e.failure);
  }
  Terminal operator()(const ActivityTimedOut& e) const {
    return failed("timeout", {"dw::ActivityTimedOut", "timeout", e.message, false});
  }
  Terminal operator()(const auto&) const { return std::nullopt; }

 private:
  Terminal failed(std::string category, Failure failure) const {
    return WorkflowFailed{FailureId{context_.ids.ulid()}, std::move(category), std::move(failure)};
  }

  const Context& context_;
};

}  // namespace

void schedule_hosted(const HostedActivity& activity, WorkflowStarted started, StartDecision& start,
                     const Context& context) {
  ActivityScheduled scheduled;
  scheduled.activity_id = ActivityId{context.ids.ulid()};
  scheduled.step = 1;
  scheduled.activity_type = activity.activity_type;
  scheduled.arguments = activity.arguments;
  scheduled.connection = started.connection;
  scheduled.queue = started.queue;
  scheduled.retry_policy = normalized(activity.retry_policy);
  scheduled.task = context.ids.task_suffix();

  // An empty contract rather than none: signals, queries and updates would wake code that is not
  // there, so every name is an unknown one.
  started.declared = Declarations{};
  Run host{start.run_id, {}, {}};
  host.state.start = started;
  put_tasks_of(host, scheduled, context.now, start.decision.tasks);
  start.decision.events.emplace_back(std::move(started));
  start.decision.events.emplace_back(std::move(scheduled));
}

void close_host(const Run& run, Decision& decision, const Context& context) {
  if (!is_standalone(run.state) || decision.events.empty()) return;
  auto terminal = std::visit(EndOfHost{context}, decision.events.back());
  if (!terminal) return;
  // The decision has seen to the only activity there is: nothing is left for the end to cancel.
  Run host = run;
  host.state.activities.clear();
  close_run(host, {}, *std::move(terminal), decision, context);
  decision.wake = false;
}

}  // namespace dw::engine
