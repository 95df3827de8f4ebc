// The steps themselves: answered from history, or asked for and waited for.
#include "core/assert.hpp"
#include "core/sha256.hpp"
#include "core/ulid.hpp"
#include "engine/contract.hpp"
#include "runtime/execution.hpp"
#include "runtime/failures.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dw::runtime {
namespace {

using namespace dw::history;

std::optional<Seconds> seconds_of(const std::optional<std::chrono::seconds>& duration) {
  if (!duration) return std::nullopt;
  return std::max<Seconds>(duration->count(), 0);
}

std::vector<Seconds> counts_of(const std::vector<std::chrono::seconds>& durations) {
  std::vector<Seconds> counts;
  for (const auto duration : durations) counts.push_back(duration.count());
  return counts;
}

RetryPolicy policy_for(const dw::detail::ActivityDefinition* definition,
                       const ActivityOptions& options) {
  RetryPolicy policy;
  const int tries = options.max_attempts.value_or(definition ? definition->tries : 1);
  policy.max_attempts = tries <= 0 ? std::nullopt : std::optional<std::int64_t>{tries};
  const auto* backoff = options.backoff                              ? &*options.backoff
                        : definition && !definition->backoff.empty() ? &definition->backoff
                                                                     : nullptr;
  if (backoff) policy.backoff_seconds = counts_of(*backoff);
  policy.non_retryable_error_types = options.non_retryable_error_types;
  policy.start_to_close_timeout = seconds_of(options.start_to_close);
  policy.schedule_to_start_timeout = seconds_of(options.schedule_to_start);
  policy.schedule_to_close_timeout = seconds_of(options.schedule_to_close);
  policy.heartbeat_timeout = seconds_of(options.heartbeat);
  return policy;
}

bool valid_condition_key(std::string_view key) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == ':' || c == '-';
  };
  return key.size() <= 128 && std::ranges::all_of(key, allowed);
}

}  // namespace

// ---- stopping

void Execution::park_for_good() {
  for (;;) fiber_->yield();
}

void Execution::block(Blocked why) {
  blocked_ = std::move(why);
  blocked_at_ = SourcePlace::here();
  // Parked for good: the only way on is a new execution, and this one is unwound then.
  park_for_good();
}

void Execution::park(std::int64_t number) {
  fiber_->yield();
  settle_updates(number);
}

// ---- the beginning of a step

std::int64_t Execution::begin_step() {
  // Code that swallowed the unwinding must not go on as if it still counted.
  if (dropping_) fiber_->yield();
  if (no_steps_in_) {
    throw UsageError{
        fmt::format("{} must not take steps: it runs between two of them", no_steps_in_)};
  }
  note_survived_failure();
  settle_updates(next_step_);
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

// ---- taking what is recorded

Execution::Step Execution::pop(std::int64_t number) {
  DW_ASSERT(number == first_step_, "steps are taken in order");
  Step step = std::move(steps_.front());
  steps_.pop_front();
  ++first_step_;
  next_step_ = number + 1;
  return step;
}

void Execution::run_ahead(std::int64_t number) {
  if (find(number)) {
    pop(number);
  } else {
    first_step_ = next_step_ = number + 1;
  }
}

// Waits until the step is resolved, then takes it out of the record.
Execution::Step Execution::take(std::int64_t number, Shape shape, std::string_view detail) {
  for (;;) {
    if (Step* step = find(number)) {
      guard(number, *step, shape, detail);
      if (step->resolved) break;
    }
    park(number);
  }
  Step step = pop(number);
  // What the code answers by itself wakes nobody: the first time round, time did not move at it
  // either.
  if (shape != Shape::side_effect && shape != Shape::version && shape != Shape::memo &&
      shape != Shape::search_attributes) {
    now_ = step.resolved_at;
  }
  meet(step.resolved_by);
  return step;
}

void Execution::meet(std::int64_t sequence) {
  met_ = std::max(met_, sequence);
}

void Execution::raise(Step step, std::int64_t number) {
  const Failure& failure = step.setback->failure;
  const std::string& closed_reason = step.setback->closed_reason;
  const auto resolution = runtime::resolve(registry_, failure);
  const auto blocked = [&](std::string_view source, std::string_view problem) {
    block({"failure_resolution",
           number,
           failure.exception_class,
           {std::string{source}},
           fmt::format("step {} of workflow '{}' (instance '{}') failed with {}: {}", number,
                       workflow_type_, instance_id_, failure.exception_class, problem)});
  };
  if (resolution.source == Resolution::Source::unresolved ||
      resolution.source == Resolution::Source::misconfigured) {
    blocked(to_string(resolution.source), resolution.problem);
  }
  thrown_ = Survived{step.setback->id, number};
  const bool child = step.shape == Shape::child;
  if (child && (closed_reason == "cancelled" || closed_reason == "terminated")) {
    throw ChildError{step.detail, closed_reason, failure.exception_class, failure.exception_type,
                     failure.message};
  }
  std::string unreadable;
  try {
    if (child) {
      const ChildError mark{step.detail, closed_reason, failure.exception_class,
                            failure.exception_type, failure.message};
      throw_again(resolution, failure, nullptr, &mark);
    }
    const ActivityError mark{step.detail, failure.exception_class, failure.exception_type,
                             failure.message};
    throw_again(resolution, failure, &mark, nullptr);
  } catch (const EngineError& e) {
    unreadable = e.what();
  }
  thrown_.reset();
  blocked("unrestorable", unreadable);
  park_for_good();
}

// ---- activities, timers, children

std::string_view Execution::activity_type(dw::detail::FunctionKey function) const {
  return registry_.activity_type(function);
}
std::string_view Execution::workflow_type(dw::detail::FunctionKey function) const {
  return registry_.workflow_type(function);
}
std::string_view Execution::workflow_type(const std::type_info& type) const {
  return registry_.workflow_type(type);
}

std::string_view Execution::callback_name(dw::detail::FunctionKey function) const {
  return registry_.callback_name(function);
}

engine::ScheduleActivity Execution::schedule(std::int64_t number, std::string_view type,
                                             const ActivityOptions& options,
                                             Payload arguments) const {
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
  return command;
}

engine::Definition Execution::definition_of(std::string_view type) const {
  engine::Definition made;
  made.workflow_type = std::string{type};
  if (const auto* definition = registry_.find_workflow(type)) {
    made.workflow_class = definition->implementation;
    made.fingerprint = definition->fingerprint;
    made.declared = definition->snapshot;
    made.connection = definition->connection;
    made.queue = definition->queue;
  }
  return made;
}

engine::StartChild Execution::start_child(std::int64_t number, std::string_view type,
                                          const ChildOptions& options, Payload arguments) const {
  engine::StartChild command;
  command.step = number;
  command.definition = definition_of(type);
  if (!options.connection.empty()) command.definition.connection = options.connection;
  if (!options.queue.empty()) command.definition.queue = options.queue;
  command.arguments = std::move(arguments);
  command.instance_id = options.id;
  command.policy = static_cast<ParentClosePolicy>(options.parent_close);
  command.execution_timeout = seconds_of(options.execution_timeout);
  command.run_timeout = seconds_of(options.run_timeout);
  command.retry_policy.max_attempts = options.max_attempts;  // 0 is for ever there, too
  if (options.backoff) command.retry_policy.backoff_seconds = counts_of(*options.backoff);
  command.retry_policy.non_retryable_error_types = options.non_retryable_error_types;
  return command;
}

Payload Execution::activity(std::string_view type, const ActivityOptions& options,
                            Payload arguments) {
  const auto number = begin_step();
  if (!find(number) && !replay_only_) {
    commands_.emplace_back(schedule(number, type, options, std::move(arguments)));
  }
  Step step = take(number, Shape::activity, type);
  if (step.setback) raise(std::move(step), number);
  return std::move(step.value);
}

Payload Execution::local_activity(std::string_view type, const LocalActivityOptions& options,
                                  Payload arguments) {
  const auto number = begin_step();
  if (!find(number) && !replay_only_) {
    ActivityOptions as_any;
    as_any.max_attempts = options.max_attempts;
    as_any.backoff = options.backoff;
    as_any.non_retryable_error_types = options.non_retryable_error_types;
    as_any.start_to_close = options.start_to_close;
    as_any.schedule_to_close = options.schedule_to_close;
    as_any.heartbeat = options.heartbeat;
    auto command = schedule(number, type, as_any, std::move(arguments));
    command.connection.clear();
    command.queue.clear();
    command.local = true;
    commands_.emplace_back(std::move(command));
  }
  Step step = take(number, Shape::local_activity, type);
  if (step.setback) raise(std::move(step), number);
  return std::move(step.value);
}

void Execution::sleep(std::chrono::seconds delay) {
  const auto number = begin_step();
  if (!find(number) && !replay_only_) {
    commands_.emplace_back(engine::StartTimer{number, std::max<Seconds>(delay.count(), 0)});
  }
  take(number, Shape::timer, {});
}

Payload Execution::child(std::string_view type, const ChildOptions& options, Payload arguments) {
  const auto number = begin_step();
  if (!options.id.empty()) {
    if (auto id = parse_instance_id(options.id); !id) throw EngineError{std::move(id).error()};
  }
  if (!find(number) && !replay_only_) {
    commands_.emplace_back(start_child(number, type, options, std::move(arguments)));
  }
  Step step = take(number, Shape::child, type);
  if (step.setback) raise(std::move(step), number);
  return std::move(step.value);
}

// ---- waits

bool Execution::await(const std::function<bool()>& holds, const AwaitOptions& options) {
  const auto number = begin_step();
  if (!valid_condition_key(options.key)) {
    throw EngineError{
        {ErrorCode::invalid_argument,
         fmt::format("condition key '{}' is not valid: letters, digits and ._:- only, "
                     "at most 128 of them",
                     options.key)}};
  }
  const std::string fingerprint = options.definition.empty()
                                      ? std::string{}
                                      : engine::condition_fingerprint(options.definition);
  bool opened = false;
  for (;;) {
    const Step* step = find(number);
    if (step) guard_condition(number, *step, options, fingerprint);
    if (step && step->resolved) return take(number, Shape::condition, {}).number == 1;
    if (replay_only_) {
      park(number);
      continue;
    }
    if (step && step->timed_out) {
      commands_.emplace_back(engine::CloseCondition{number, false});
      meet(*step->timed_out);
      run_ahead(number);
      now_ = task_time_;
      return false;
    }
    const auto holds_now = [&] {
      const NoSteps quiet{no_steps_in_, "a condition"};
      return holds();
    };
    if (holds_now()) {
      if (step) {
        commands_.emplace_back(engine::CloseCondition{number, true});
      } else {
        commands_.emplace_back(engine::OpenCondition{number, options.key, fingerprint,
                                                     seconds_of(options.timeout), true});
      }
      run_ahead(number);
      now_ = task_time_;
      return true;
    }
    if (!step && !std::exchange(opened, true)) {
      commands_.emplace_back(engine::OpenCondition{number, options.key, fingerprint,
                                                   seconds_of(options.timeout), false});
    }
    park(number);
  }
}

std::optional<Payload> Execution::await_signal(std::string_view name,
                                               std::optional<std::chrono::seconds> timeout) {
  const auto number = begin_step();
  bool opened = false;
  for (;;) {
    const Step* step = find(number);
    if (step) guard(number, *step, Shape::signal, name);
    if (step && step->resolved) return take(number, Shape::signal, name).value;
    const auto signal = std::ranges::find(signals_, name, &Received::name);
    const bool came = signal != signals_.end();
    if (step && step->timed_out && (!came || signal->sequence > *step->timed_out)) {
      now_ = step->timed_out_at;
      meet(*step->timed_out);
      run_ahead(number);
      return std::nullopt;
    }
    if (came && !replay_only_) {
      Payload arguments = std::move(signal->arguments);
      commands_.emplace_back(engine::ApplySignal{number, signal->id, seconds_of(timeout)});
      meet(signal->sequence);
      signals_.erase(signal);
      run_ahead(number);
      now_ = task_time_;
      return arguments;
    }
    if (!step && !replay_only_ && !std::exchange(opened, true)) {
      commands_.emplace_back(
          engine::OpenSignalWait{number, std::string{name}, seconds_of(timeout)});
    }
    park(number);
  }
}

// ---- what code answers by itself

Payload Execution::side_effect(const std::function<Payload()>& produce) {
  const auto number = begin_step();
  if (find(number)) return take(number, Shape::side_effect, {}).value;
  if (replay_only_) park_for_good();
  // Runs ahead of its own record: nobody outside sees anything of it before that is durable.
  Payload result = produce();
  commands_.emplace_back(engine::RecordSideEffect{number, result});
  run_ahead(number);
  return result;
}

void Execution::upsert_memo(Value entries) {
  const auto number = begin_step();
  if (find(number)) return void(take(number, Shape::memo, {}));
  if (replay_only_) park_for_good();
  commands_.emplace_back(engine::UpsertMemo{number, std::move(entries)});
  run_ahead(number);
}

void Execution::upsert_search_attributes(Value attributes) {
  const auto number = begin_step();
  if (find(number)) return void(take(number, Shape::search_attributes, {}));
  if (replay_only_) park_for_good();
  commands_.emplace_back(engine::UpsertSearchAttributes{number, std::move(attributes)});
  run_ahead(number);
}

int Execution::get_version(std::string_view change_id, int min, int max) {
  const auto number = begin_step();
  if (const Step* step = find(number); step && step->shape == Shape::version) {
    const auto version = static_cast<int>(take(number, Shape::version, change_id).number);
    if (version < min || version > max) {
      throw VersionNotSupported{
          fmt::format("change '{}' is at version {} in this run, the code supports {} to {}",
                      change_id, version, min, max)};
    }
    return version;
  }
  // A run that passed this point before it was there, or began with other code.
  const bool passed = number <= last_recorded_step_;
  const bool same_code = !fingerprint_.empty() && definition_->fingerprint == fingerprint_;
  if (passed || !same_code) {
    if (min > default_version) {
      throw VersionNotSupported{
          fmt::format("this run began before change '{}', the code supports it from version {}",
                      change_id, min)};
    }
    return default_version;
  }
  if (replay_only_) park_for_good();
  commands_.emplace_back(engine::RecordVersion{number, std::string{change_id}, max, min, max});
  run_ahead(number);
  return max;
}

void Execution::continue_as_new(Payload arguments) {
  const auto number = begin_step();
  if (const Step* step = find(number)) guard(number, *step, Shape::continue_as_new, {});
  if (!find(number) && !replay_only_) {
    engine::Definition definition = definition_of(workflow_type_);
    // It goes on where it runs, wherever its type would be started now.
    definition.connection.clear();
    definition.queue.clear();
    commands_.emplace_back(
        engine::ContinueAsNew{number, std::move(definition), std::move(arguments)});
  }
  park_for_good();
}

std::string Execution::uuid() {
  auto high = random_.next();
  auto low = random_.next();
  high = (high & ~0xF000ULL) | 0x4000ULL;
  low = (low & ~(0xC0ULL << 56)) | (0x80ULL << 56);
  return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", high >> 32, (high >> 16) & 0xFFFF,
                     high & 0xFFFF, low >> 48, low & 0xFFFFFFFFFFFFULL);
}

// ---- children of this workflow

std::vector<dw::detail::ChildRef> Execution::children() const {
  std::vector<dw::detail::ChildRef> visible;
  for (const Child& child : children_) {
    if (child.step < next_step_) visible.push_back(child.ref);
  }
  return visible;
}

void Execution::signal_child(const dw::detail::ChildRef& child, std::string_view name,
                             Payload arguments) {
  ++signals_sent_;
  // Live code only: what a replay passes again was sent the first time.
  if (replay_only_ || replaying() || !recorded_.empty()) return;
  const auto digest =
      sha256(fmt::format("child-signal|{}|{}|{}", run_id_, next_step_, signals_sent_));
  commands_.emplace_back(engine::SignalChild{ChildCallId{child.call_id},
                                             CommandId{ulid_from(digest)}, std::string{name},
                                             std::move(arguments)});
}

}  // namespace dw::runtime
