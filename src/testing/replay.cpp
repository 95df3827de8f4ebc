#include "core/random.hpp"
#include "history/fold.hpp"
#include "testing/recorded.hpp"
#include "worker/fiber_host.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace dw::testing {
namespace {

using namespace dw::engine;
using history::overloaded;

// What new code asks for beyond the end of its history; empty for commands that are no step.
std::string asked_by(const WorkflowCommand& command) {
  using Text = std::string;
  return std::visit(
      overloaded{
          [](const ScheduleActivity& c) { return "activity:" + c.activity_type; },
          [](const StartTimer&) { return Text{"timer"}; },
          [](const RecordSideEffect&) { return Text{"side effect"}; },
          [](const RecordVersion& c) { return "version marker:" + c.change_id; },
          [](const UpsertMemo&) { return Text{"memo upsert"}; },
          [](const UpsertSearchAttributes&) { return Text{"search attributes upsert"}; },
          [](const OpenCondition&) { return Text{"condition wait"}; },
          [](const CloseCondition&) { return Text{"condition wait"}; },
          [](const OpenSignalWait& c) { return "signal wait:" + c.name; },
          [](const ApplySignal&) { return Text{"signal wait"}; },
          [](const StartChild& c) { return "child workflow:" + c.definition.workflow_type; },
          [](const ContinueAsNew&) { return Text{"continue as new"}; },
          [](const TakeSignal&) { return Text{}; }, [](const ApplyUpdate&) { return Text{}; },
          [](const FailUpdate&) { return Text{}; }, [](const SignalChild&) { return Text{}; },
          [](const HandleFailure&) { return Text{}; },
          [](const CompleteWorkflow&) { return Text{}; },
          [](const FailWorkflow&) { return Text{}; }},
      static_cast<const AnyWorkflowCommand&>(command));
}

std::string shown(const Payload& payload) {
  const auto value = decode(payload);
  return value ? to_json(*value)
               : fmt::format("{} bytes of {}", payload.bytes.size(), payload.codec);
}

std::string shown(const history::Failure& failure) {
  return fmt::format("{}: {}", failure.exception_class, failure.message);
}

// The end that the code comes to, and the end that was recorded.
std::optional<Divergence> compare_ends(const history::RunState& state, const Progress& progress) {
  const bool completed = state.closed_reason == "completed";
  const std::string recorded_end = completed ? shown(*state.output) : shown(*state.failure);
  std::string end;
  bool same = false;
  for (const WorkflowCommand& command : progress.commands) {
    if (const auto* complete = std::get_if<CompleteWorkflow>(&command)) {
      end = "completes with " + shown(complete->output);
      same = completed && complete->output == *state.output;
    } else if (const auto* fail = std::get_if<FailWorkflow>(&command)) {
      end = "fails with " + shown(fail->failure);
      same = !completed && fail->failure.exception_class == state.failure->exception_class &&
             fail->failure.message == state.failure->message;
    }
  }
  if (same) return std::nullopt;
  if (end.empty()) end = "waits for a step that was left open";
  return Divergence{
      state.steps, completed ? "WorkflowCompleted" : "WorkflowFailed", end,
      fmt::format("after step {} workflow '{}' (instance '{}') {} with {}, the code "
                  "now {}",
                  state.steps, state.start.workflow_type, state.start.instance_id.str(),
                  state.closed_reason, recorded_end, end)};
}

std::optional<Divergence> compare(const history::RunState& state, const Progress& progress) {
  if (const auto& blocked = progress.blocked) {
    return Divergence{blocked->step, fmt::format("{}", fmt::join(blocked->recorded, ", ")),
                      blocked->expected, blocked->message};
  }
  // What others ended, or the engine, says nothing about where the code would have ended.
  const bool ended_itself =
      state.closed_reason == "completed" ||
      (state.closed_reason == "failed" &&
       (state.failure_category == "application" || state.failure_category == "task_failure"));
  if (!ended_itself) return std::nullopt;
  for (const WorkflowCommand& command : progress.commands) {
    const auto asked = asked_by(command);
    if (asked.empty()) continue;
    // A change that is guarded: a run that came here today would remember which way it went.
    if (std::holds_alternative<RecordVersion>(command)) return std::nullopt;
    const std::string recorded =
        state.closed_reason == "completed" ? "WorkflowCompleted" : "WorkflowFailed";
    return Divergence{
        state.steps + 1, recorded, asked,
        fmt::format("workflow '{}' (instance '{}') ended after step {}, the code now asks for {}; "
                    "take the step back, or guard the change: if (dw::patched(\"…\")) {{ … }}",
                    state.start.workflow_type, state.start.instance_id.str(), state.steps, asked)};
  }
  return compare_ends(state, progress);
}

}  // namespace

std::string ReplayReport::message() const {
  const auto run = fmt::format("run {} of '{}' ({})", run_id, instance_id, workflow_type);
  if (ok()) return run + " fits this code";
  return fmt::format("{} does not fit this code: {}", run, divergence->message);
}

ReplayReport replay(const Registry& registry, const History& history) {
  if (!registry.frozen()) {
    throw UsageError{"replay() needs a frozen registry; call registry.freeze() first"};
  }
  const auto events = events_of(history);
  if (!events) throw EngineError{events.error()};
  const auto state = history::fold(*events);
  if (!state) throw EngineError{state.error()};
  if (state->status == history::RunStatus::none) {
    throw EngineError{{ErrorCode::corrupt_history,
                       fmt::format("the history of run {} never starts", history.run_id)}};
  }
  SeededRandom random{0};  // what the code drew is given back from history
  worker::FiberHost host{registry, random};
  const auto progress = host.run(RunId{history.run_id}, *events, state->last_recorded_at);
  return {history.run_id, state->start.instance_id.str(), state->start.workflow_type,
          compare(*state, progress)};
}

ReplayReport replay(const Registry& registry, std::string_view text) {
  return replay(registry, parse_history(text));
}

ReplayReport replay(Registry&& registry, const History& history) {
  registry.freeze();
  return replay(std::as_const(registry), history);
}

ReplayReport replay(Registry&& registry, std::string_view text) {
  return replay(std::move(registry), parse_history(text));
}

}  // namespace dw::testing
