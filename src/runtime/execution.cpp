#include "runtime/execution.hpp"

#include "core/assert.hpp"
#include "core/random.hpp"
#include "runtime/failures.hpp"

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

}  // namespace

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
  const auto done = [&](std::int64_t number, Shape shape, std::string detail) {
    Step* step = open(number, shape, std::move(detail), type_name(event.body), {});
    if (step) {
      step->resolved = true;
      step->resolved_at = at;
    }
    return step;
  };
  std::visit(
      overloaded{
          [&](const WorkflowStarted& e) {
            instance_id_ = e.instance_id.str();
            workflow_type_ = e.workflow_type;
            fingerprint_ = e.fingerprint;
            arguments_ = e.arguments;
            now_ = at;
            met_ = event.sequence;
          },
          [&](const ActivityScheduled& e) {
            Step* step = open(e.step, e.local ? Shape::local_activity : Shape::activity,
                              e.activity_type, type_name(event.body), e.activity_id.str());
            if (step) step->group = e.group;
          },
          [&](const ActivityCompleted& e) {
            if (Step* step = resolve(e.activity_id.view(), at)) step->value = e.result;
          },
          [&](const ActivityFailed& e) {
            if (Step* step = resolve(e.activity_id.view(), at)) {
              step->setback = std::make_unique<Setback>(Setback{e.failure, e.failure_id});
            }
          },
          [&](const ActivityTimedOut& e) {
            if (Step* step = resolve(e.activity_id.view(), at)) {
              step->setback = std::make_unique<Setback>(Setback{
                  Failure{"dw::ActivityTimedOut", "timeout", e.message, false}, e.failure_id});
            }
          },
          [&](const TimerScheduled& e) {
            if (e.kind.empty()) {
              open(e.step, Shape::timer, {}, type_name(event.body), e.timer_id.str());
            } else {
              open_.push_back({e.timer_id.str(), e.step, true});
            }
          },
          [&](const TimerFired& e) {
            const auto name = std::ranges::find(open_, e.timer_id.view(), &OpenName::id);
            if (name == open_.end()) return;
            if (!name->bounds) {
              resolve(e.timer_id.view(), at);
              return;
            }
            if (Step* step = find(name->step)) {
              step->timed_out = event.sequence;
              step->timed_out_at = at;
            }
            open_.erase(name);
          },
          [&](const SideEffectRecorded& e) {
            if (Step* step = done(e.step, Shape::side_effect, {})) step->value = e.result;
          },
          [&](const VersionMarkerRecorded& e) {
            if (Step* step = done(e.step, Shape::version, e.change_id)) step->number = e.version;
          },
          [&](const MemoUpserted& e) { done(e.step, Shape::memo, {}); },
          [&](const SearchAttributesUpserted& e) { done(e.step, Shape::search_attributes, {}); },
          [&](const WorkflowContinuedAsNew& e) { done(e.step, Shape::continue_as_new, {}); },

          [&](const ConditionWaitOpened& e) {
            Step* step =
                open(e.step, Shape::condition, e.key, type_name(event.body), e.wait_id.str());
            if (step) step->fingerprint = e.fingerprint;
          },
          [&](const ConditionWaitSatisfied& e) {
            if (Step* step = resolve(e.wait_id.view(), e.code_time.value_or(at))) {
              step->number = 1;
              step->resolved_by = 0;
            }
          },
          [&](const ConditionWaitTimedOut& e) {
            if (Step* step = resolve(e.wait_id.view(), e.code_time.value_or(at))) {
              step->resolved_by = step->timed_out.value_or(0);
            }
          },

          [&](const SignalReceived& e) {
            signals_.push_back({e.signal_id, e.name, e.arguments, event.sequence});
          },
          [&](const SignalWaitOpened& e) {
            open(e.step, Shape::signal, e.name, type_name(event.body), e.wait_id.str());
          },
          [&](const SignalApplied& e) {
            Step* step = resolve(e.wait_id.view(), e.code_time.value_or(at));
            const auto signal = std::ranges::find(signals_, e.signal_id, &Received::id);
            if (signal == signals_.end()) return;  // taken by this code before it was recorded
            if (step) {
              step->value = std::move(signal->arguments);
              step->resolved_by = signal->sequence;
            }
            signals_.erase(signal);
          },

          [&](const UpdateAccepted& e) {
            pending_.push_back({e.update_id, e.name, e.arguments, event.sequence});
          },
          [&](const UpdateApplied& e) {
            if (std::erase(applied_, e.update_id) > 0) return;
            const auto update = std::ranges::find(pending_, e.update_id, &Update::id);
            if (update == pending_.end()) return;
            update->step = e.step;
            recorded_.push_back(std::move(*update));
            pending_.erase(update);
          },
          [&](const UpdateCompleted& e) {
            std::erase_if(pending_, [&](const Update& update) { return update.id == e.update_id; });
          },

          [&](const ChildWorkflowScheduled& e) {
            Step* step =
                open(e.step, Shape::child, e.workflow_type, type_name(event.body), e.call_id.str());
            if (step) step->group = e.group;
            children_.push_back({{e.instance_id.str(), {}, e.call_id.str()}, e.step});
          },
          [&](const ChildRunStarted& e) {
            for (Child& child : children_) {
              if (child.ref.call_id == e.call_id.str()) child.ref.run_id = e.run_id.str();
            }
          },
          [&](const ChildRunCompleted& e) {
            if (Step* step = resolve(e.call_id.view(), at)) step->value = e.output;
          },
          [&](const ChildRunFailed& e) {
            child_ended(e.call_id.view(), at, e.failure_id, e.failure, e.closed_reason);
          },
          [&](const ChildRunCancelled& e) {
            child_ended(e.call_id.view(), at, e.failure_id,
                        {"WorkflowCancelled", {}, e.message, false}, "cancelled");
          },
          [&](const ChildRunTerminated& e) {
            child_ended(e.call_id.view(), at, e.failure_id,
                        {"WorkflowTerminated", {}, e.message, false}, "terminated");
          },

          [&](const FailureHandled& e) { handled_.push_back(e.failure_id); },
          // Nothing the code waits for: commands on the run, attempts, and its end.
          [](const auto&) {}},
      event.body);
}

void Execution::child_ended(std::string_view call_id, Timestamp at, const FailureId& failure_id,
                            Failure failure, std::string closed_reason) {
  if (Step* step = resolve(call_id, at)) {
    step->setback = std::make_unique<Setback>(
        Setback{std::move(failure), failure_id, std::move(closed_reason)});
  }
}

Execution::Step* Execution::find(std::int64_t step) {
  const auto index = step - first_step_;
  if (index < 0 || index >= static_cast<std::int64_t>(steps_.size())) return nullptr;
  return &steps_[static_cast<std::size_t>(index)];
}

// Null for a step the code has already answered by itself.
Execution::Step* Execution::open(std::int64_t step, Shape shape, std::string detail,
                                 std::string_view opened_by, std::string id) {
  last_recorded_step_ = std::max(last_recorded_step_, step);
  if (step < first_step_) return nullptr;
  Step& opened = steps_.emplace_back();
  opened.shape = shape;
  opened.detail = std::move(detail);
  opened.opened_by = opened_by;
  if (!id.empty()) open_.push_back({std::move(id), step});
  return &opened;
}

Execution::Step* Execution::resolve(std::string_view id, Timestamp at) {
  const auto name = std::ranges::find(open_, id, &OpenName::id);
  if (name == open_.end()) return nullptr;
  Step* step = find(name->step);
  open_.erase(name);
  if (step) {
    step->resolved = true;
    step->resolved_by = last_sequence_;
    step->resolved_at = at;
  }
  return step;
}

// ---- the fiber

Progress Execution::run(Timestamp now) {
  task_time_ = now;
  resume();
  Progress progress;
  progress.commands = std::exchange(commands_, {});
  progress.blocked = blocked_;
  progress.spoiled = spoiled_;
  return progress;
}

std::optional<Blocked> Execution::replay() {
  replay_only_ = true;
  resume();
  return blocked_;
}

void Execution::resume() {
  if (!fiber_) {
    definition_ = registry_.find_workflow(workflow_type_);
    owned_fiber_ = std::make_unique<Fiber>(
        stacks_, [this](Fiber&) { body(); },
        definition_ ? std::string_view{definition_->type} : "");
    fiber_ = owned_fiber_.get();
  }
  if (fiber_->finished() || blocked_ || spoiled_) return;
  const CurrentSteps scope{this};
  fiber_->resume();
  if (!blocked_ || !blocked_at_) return;
  const auto place = std::exchange(blocked_at_, {})->text();
  if (!place.empty()) blocked_->message += fmt::format(" (at {})", place);
}

Payload Execution::query(std::string_view name, const Payload& arguments) {
  const auto* member = dw::detail::find_member(definition_ ? &definition_->queries : nullptr, name);
  if (!member) {
    throw EngineError{
        {ErrorCode::not_found, fmt::format("query '{}' is not declared by workflow '{}' as it is "
                                           "registered here",
                                           name, workflow_type_)}};
  }
  const CurrentSteps scope{this};
  const NoSteps quiet{no_steps_in_, "a query"};
  return (*member)(object_.get(), arguments);
}

void Execution::body() {
  if (!definition_) {
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
    if (definition_->make) object_ = definition_->make();
    Payload output = definition_->invoke(object_.get(), arguments_);
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
  } catch (const VersionNotSupported&) {
    // Whatever history holds beyond this point, this code will never get there.
    last = engine::FailWorkflow{"application", describe_current_exception(registry_)};
    steps_.clear();
  } catch (const EngineError&) {
    last = engine::FailWorkflow{"task_failure", describe_current_exception(registry_)};
  } catch (...) {
    last = engine::FailWorkflow{"application", describe_current_exception(registry_)};
  }
  if (dropping_) throw Abandoned{};
  if (replay_only_) park_for_good();
  if (!steps_.empty()) {
    block({"history_shape_mismatch",
           first_step_,
           "the end of the workflow",
           {std::string{steps_.front().opened_by}},
           fmt::format("workflow '{}' ended before step {}, but its history goes on with {}; bring "
                       "the step back, or guard the change with a version marker",
                       workflow_type_, first_step_, steps_.front().opened_by)});
  }
  commands_.push_back(*std::move(last));
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
