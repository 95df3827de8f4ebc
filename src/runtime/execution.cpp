#include "runtime/execution.hpp"

#include "core/assert.hpp"
#include "core/random.hpp"

#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>

namespace dw::runtime {
namespace {

using namespace dw::history;

// Set while a fiber runs on this thread. A fiber never changes threads, so the address that the
// compiler may keep across a switch stays right.
thread_local dw::detail::Steps* current_steps = nullptr;

class CurrentSteps {
 public:
  explicit CurrentSteps(dw::detail::Steps* steps) : before_(std::exchange(current_steps, steps)) {}
  ~CurrentSteps() { current_steps = before_; }
  CurrentSteps(const CurrentSteps&) = delete;

 private:
  dw::detail::Steps* before_;
};

RetryPolicy policy_for(const dw::detail::ActivityDefinition* definition,
                       const ActivityOptions& options) {
  RetryPolicy policy;
  const int tries = options.max_attempts.value_or(definition ? definition->tries : 1);
  policy.max_attempts = tries <= 0 ? std::nullopt : std::optional<std::int64_t>{tries};
  const auto* backoff = options.backoff                              ? &*options.backoff
                        : definition && !definition->backoff.empty() ? &definition->backoff
                                                                     : nullptr;
  if (backoff) {
    policy.backoff_seconds.clear();
    for (const auto delay : *backoff) policy.backoff_seconds.push_back(delay.count());
  }
  policy.non_retryable_error_types = options.non_retryable_error_types;
  return policy;
}

}  // namespace

Failure describe_current_exception() {
  Failure failure;
  try {
    throw;
  } catch (const NonRetryableError& e) {
    failure = {"dw::NonRetryableError", {}, e.what(), true};
  } catch (const std::exception& e) {
    failure = {dw::detail::demangled(typeid(e)), {}, e.what(), false};
  } catch (const std::string& text) {
    failure = {"std::string", {}, text, false};
  } catch (const char* text) {
    failure = {"const char*", {}, text, false};
  } catch (...) {
    const auto* type = abi::__cxa_current_exception_type();
    failure = {type ? dw::detail::demangled(*type) : "unknown",
               {},
               "an exception without a message",
               false};
  }
  return failure;
}

Execution::Execution(const Registry& registry, StackPool& stacks, Random& random, const RunId& run)
    : registry_(registry), stacks_(stacks), random_(random), run_id_(run.str()) {}

Execution::~Execution() {
  dropping_ = true;
  // Unwinding runs user code, and that may ask for steps.
  const CurrentSteps scope{this};
  owned_fiber_.reset();
}

// ---- history in

void Execution::feed(std::span<const Event> events) {
  for (const Event& event : events) {
    DW_ASSERT(event.sequence == last_sequence_ + 1,
              "an execution is fed every event once, in order");
    last_sequence_ = event.sequence;
    finish_feed(event);
  }
}

void Execution::finish_feed(const Event& event) {
  const Timestamp at = event.recorded_at;
  std::visit(
      overloaded{[&](const WorkflowStarted& e) {
                   instance_id_ = e.instance_id.str();
                   workflow_type_ = e.workflow_type;
                   arguments_ = e.arguments;
                   now_ = at;
                 },
                 [&](const ActivityScheduled& e) {
                   open(e.step, Shape::activity, e.activity_type, "ActivityScheduled",
                        e.activity_id.str());
                 },
                 [&](const ActivityCompleted& e) {
                   if (Step* step = resolve(e.activity_id.view(), at)) step->value = e.result;
                 },
                 [&](const ActivityFailed& e) {
                   if (Step* step = resolve(e.activity_id.view(), at)) {
                     step->failure = e.failure;
                     step->failure_id = e.failure_id;
                   }
                 },
                 [&](const ActivityTimedOut& e) {
                   if (Step* step = resolve(e.activity_id.view(), at)) {
                     step->failure = Failure{"dw::ActivityTimedOut", "timeout", e.message, false};
                     step->failure_id = e.failure_id;
                   }
                 },
                 [&](const TimerScheduled& e) {
                   open(e.step, Shape::timer, {}, "TimerScheduled", e.timer_id.str());
                 },
                 [&](const TimerFired& e) { resolve(e.timer_id.view(), at); },
                 [&](const SideEffectRecorded& e) {
                   open(e.step, Shape::side_effect, {}, "SideEffectRecorded", {});
                   if (Step* step = find(e.step)) {
                     step->resolved = true;
                     step->resolved_at = at;
                     step->value = e.result;
                   }
                 },
                 [&](const FailureHandled& e) { handled_.push_back(e.failure_id); },
                 // Nothing the code waits for: commands on the run, attempts, and its end.
                 [](const StartAccepted&) {}, [](const StartRejected&) {},
                 [](const ActivityStarted&) {}, [](const ActivityRetryScheduled&) {},
                 [](const ActivityCancelled&) {}, [](const TimerCancelled&) {},
                 [](const RepairRequested&) {}, [](const CancelRequested&) {},
                 [](const TerminateRequested&) {}, [](const WorkflowCancelled&) {},
                 [](const WorkflowTerminated&) {}, [](const WorkflowTimedOut&) {},
                 [](const WorkflowCompleted&) {}, [](const WorkflowFailed&) {}},
      event.body);
}

Execution::Step* Execution::find(std::int64_t step) {
  const auto index = step - first_step_;
  if (index < 0 || index >= static_cast<std::int64_t>(steps_.size())) return nullptr;
  return &steps_[static_cast<std::size_t>(index)];
}

void Execution::open(std::int64_t step, Shape shape, std::string detail, std::string_view opened_by,
                     std::string id) {
  last_recorded_step_ = std::max(last_recorded_step_, step);
  // A side effect the code has already taken from its own hands.
  if (step < first_step_) return;
  steps_.push_back({shape, std::move(detail), std::string{opened_by}, false, {}, {}, {}, {}});
  if (!id.empty()) open_.push_back({std::move(id), step});
}

Execution::Step* Execution::resolve(std::string_view id, Timestamp at) {
  const auto name = std::ranges::find(open_, id, &OpenName::id);
  if (name == open_.end()) return nullptr;
  Step* step = find(name->step);
  open_.erase(name);
  if (step) {
    step->resolved = true;
    step->resolved_at = at;
  }
  return step;
}

// ---- the fiber

Progress Execution::run() {
  if (!fiber_) {
    const auto* definition = registry_.find_workflow(workflow_type_);
    owned_fiber_ = std::make_unique<Fiber>(
        stacks_, [this](Fiber&) { body(); }, definition ? std::string_view{definition->type} : "");
    fiber_ = owned_fiber_.get();
  }
  if (!fiber_->finished() && !blocked_) {
    const CurrentSteps scope{this};
    fiber_->resume();
  }
  Progress progress;
  progress.commands = std::exchange(commands_, {});
  progress.blocked = blocked_;
  return progress;
}

void Execution::body() {
  const auto* definition = registry_.find_workflow(workflow_type_);
  if (!definition) {
    block({"workflow_definition_unavailable",
           0,
           workflow_type_,
           {},
           fmt::format("workflow type '{}' is not registered in this program; register it, then "
                       "repair instance '{}'",
                       workflow_type_, instance_id_)});
  }
  // The commands are collected outside the try: ending the run must not look like user code
  // failing.
  std::optional<engine::WorkflowCommand> last;
  try {
    Payload output = definition->invoke(arguments_);
    note_survived_failure();
    last = engine::CompleteWorkflow{std::move(output)};
  } catch (const Abandoned&) {
    throw;
  } catch (const UsageError& e) {
    if (dropping_) throw Abandoned{};
    block({"usage_error",
           next_step_,
           {},
           {},
           fmt::format("workflow '{}' uses dw in a way it cannot work: {}", workflow_type_,
                       e.what())});
  } catch (const EngineError&) {
    last = engine::FailWorkflow{"task_failure", describe_current_exception()};
  } catch (...) {
    last = engine::FailWorkflow{"application", describe_current_exception()};
  }
  if (dropping_) throw Abandoned{};
  if (!steps_.empty()) {
    block({"history_shape_mismatch",
           first_step_,
           "the end of the workflow",
           {steps_.front().opened_by},
           fmt::format("workflow '{}' ended before step {}, but its history goes on with {}; bring "
                       "the step back, or guard the change with a version marker",
                       workflow_type_, first_step_, steps_.front().opened_by)});
  }
  commands_.push_back(*std::move(last));
}

void Execution::block(Blocked why) {
  blocked_ = std::move(why);
  // Parked for good: the only way on is a new execution, and this one is unwound then.
  for (;;) fiber_->yield();
}

// ---- steps

std::int64_t Execution::begin_step() {
  // Code that swallowed the unwinding must not go on as if it still counted.
  if (dropping_) fiber_->yield();
  note_survived_failure();
  return next_step_;
}

void Execution::note_survived_failure() {
  if (!thrown_) return;
  const Survived survived = *std::exchange(thrown_, std::nullopt);
  const auto known = std::ranges::find(handled_, survived.id);
  if (known != handled_.end()) {
    handled_.erase(known);
  } else {
    commands_.emplace_back(engine::HandleFailure{survived.id, survived.step});
  }
}

void Execution::guard(std::int64_t number, const Step& recorded, Shape shape,
                      std::string_view detail) {
  if (recorded.shape == shape && recorded.detail == detail) return;
  static constexpr std::string_view words[] = {"activity", "timer", "side effect"};
  const auto spell = [](Shape s, std::string_view d) {
    const auto word = words[static_cast<std::size_t>(s)];
    return d.empty() ? std::string{word} : fmt::format("{}:{}", word, d);
  };
  const auto asked = spell(shape, detail);
  const auto found = spell(recorded.shape, recorded.detail);
  block(
      {"history_shape_mismatch",
       number,
       asked,
       {recorded.opened_by},
       fmt::format("step {} of workflow '{}' (instance '{}') was recorded as {}, the code now asks "
                   "for {}; deploy code that still takes the recorded step, then repair the run",
                   number, workflow_type_, instance_id_, found, asked)});
}

// Waits until the step is resolved, then takes it out of the record.
Execution::Step Execution::take(std::int64_t number, Shape shape, std::string_view detail) {
  for (;;) {
    if (Step* step = find(number)) {
      guard(number, *step, shape, detail);
      if (step->resolved) break;
    }
    fiber_->yield();
  }
  DW_ASSERT(number == first_step_, "steps are taken in order");
  Step step = std::move(steps_.front());
  steps_.pop_front();
  ++first_step_;
  next_step_ = number + 1;
  // A side effect wakes nobody: the first time round, time did not move at it either.
  if (shape != Shape::side_effect) now_ = step.resolved_at;
  return step;
}

std::string_view Execution::activity_type(dw::detail::FunctionKey function) const {
  return registry_.activity_type(function);
}

Payload Execution::activity(std::string_view type, const ActivityOptions& options,
                            Payload arguments) {
  const auto number = begin_step();
  if (!find(number)) {
    const auto* definition = registry_.find_activity(type);
    engine::ScheduleActivity command;
    command.step = number;
    command.activity_type = std::string{type};
    command.arguments = std::move(arguments);
    command.connection = options.connection;
    command.queue = options.queue;
    if (definition && command.connection.empty()) {
      command.connection = definition->connection;
      if (command.queue.empty()) command.queue = definition->queue;
    }
    command.retry_policy = policy_for(definition, options);
    commands_.emplace_back(std::move(command));
  }
  Step step = take(number, Shape::activity, type);
  if (!step.failure) return std::move(step.value);
  thrown_ = Survived{step.failure_id, number};
  throw ActivityError{std::string{type}, step.failure->exception_class,
                      step.failure->exception_type, step.failure->message};
}

void Execution::sleep(std::chrono::seconds delay) {
  const auto number = begin_step();
  if (!find(number)) {
    commands_.emplace_back(engine::StartTimer{number, std::max<Seconds>(delay.count(), 0)});
  }
  take(number, Shape::timer, {});
}

Payload Execution::side_effect(const std::function<Payload()>& produce) {
  const auto number = begin_step();
  if (find(number)) return take(number, Shape::side_effect, {}).value;
  // Runs ahead of its own record: nobody outside sees anything of it before that is durable.
  Payload result = produce();
  commands_.emplace_back(engine::RecordSideEffect{number, result});
  first_step_ = next_step_ = number + 1;
  return result;
}

std::string Execution::uuid() {
  auto high = random_.next();
  auto low = random_.next();
  high = (high & ~0xF000ULL) | 0x4000ULL;
  low = (low & ~(0xC0ULL << 56)) | (0x80ULL << 56);
  return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", high >> 32, (high >> 16) & 0xFFFF,
                     high & 0xFFFF, low >> 48, low & 0xFFFFFFFFFFFFULL);
}

}  // namespace dw::runtime

namespace dw::detail {

Steps& steps() {
  if (!runtime::current_steps) {
    throw UsageError{
        "a workflow step was called outside a workflow; call it from code that dw runs as one"};
  }
  return *runtime::current_steps;
}

}  // namespace dw::detail
