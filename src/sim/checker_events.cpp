// Every event as it becomes durable: what it may follow, and what it may say.
#include "history/codec.hpp"
#include "sim/checker.hpp"
#include "sim/workload.hpp"

#include <algorithm>

namespace dw::sim {

using namespace dw::history;

// What fold() refuses as well, found out without it.
void Checker::note(Run& run, const Event& event) {
  const auto name = name_of(run);
  expect(run.events.empty() || run.events.back().recorded_at <= event.recorded_at,
         "{}: event {} was recorded before its predecessor", name, event.sequence);
  const auto step = [&](std::int64_t number) {
    run.steps += 1;
    expect(number == run.steps, "{}: step {} was recorded as the {}th", name, number, run.steps);
  };
  const auto command = [&](const Command& c) {
    expect(run.commands.insert(c.id).second, "{}: command {} was recorded twice", name, c.id.str());
  };
  // A parent's end reaches its children as a command of its own kind.
  const auto close_command = [&](const Command& c, ParentClosePolicy policy) {
    command(c);
    if (c.source != "workflow") return;
    const Run* parent = c.context ? find(RunId{c.context->parent_run_id}) : nullptr;
    const bool asked =
        parent && !parent->state.open() &&
        std::ranges::any_of(parent->state.children, [&](const OpenChild& child) {
          return child.id.str() == c.context->child_call_id && child.policy == policy;
        });
    expect(asked, "{} was closed in the name of a parent that wants nothing of the kind", name);
    closable_.insert(run.row.instance_id);
  };
  const auto end_wait = [&](const WaitId& id) {
    expect(run.ended_waits.insert(id).second, "{}: wait {} ended twice", name, id.str());
  };
  const auto failed_in_barrier = [&](const auto& open, const auto& id, const FailureId& failure) {
    for (const auto& entry : open) {
      if (entry.id == id && !entry.group.empty()) run.of_barriers.insert(failure);
    }
  };
  const auto activity = [&](const ActivityId& id) -> Run::Activity& {
    expect(run.activities.contains(id), "{}: activity {} was never scheduled", name, id.str());
    Run::Activity& found = run.activities[id];
    expect(!found.ended, "{}: {} of activity {}, which has ended", name, type_name(event.body),
           id.str());
    return found;
  };
  // Only the attempt that holds the activity may write, and only what it said.
  const auto by_holder = [&](Run::Activity& found, const ActivityId& id, const AttemptId& attempt,
                             const std::variant<Payload, Failure>& outcome) {
    expect(found.holder == attempt, "{}: stale attempt {} wrote for activity {}", name,
           attempt.str(), id.str());
    const auto said = produced_.find(attempt);
    expect(said != produced_.end() && said->second == outcome,
           "{}: {} of attempt {} of activity {}, which never reported that", name,
           type_name(event.body), attempt.str(), id.str());
  };
  const auto end_timer = [&](const TimerId& id) {
    expect(run.ended_timers.insert(id).second, "{}: timer {} ended twice", name, id.str());
  };
  std::visit(
      overloaded{
          [&](const StartAccepted& e) { command(e.command); },
          [&](const StartRejected& e) { command(e.command); },
          [&](const RepairRequested& e) { command(e.command); },
          [&](const CancelRequested& e) {
            close_command(e.command, ParentClosePolicy::request_cancel);
          },
          [&](const TerminateRequested& e) {
            close_command(e.command, ParentClosePolicy::terminate);
          },
          [&](const ArchiveRequested& e) { command(e.command); },
          [&](const ActivityScheduled& e) {
            step(e.step);
            expect(!run.activities.contains(e.activity_id), "{}: activity {} was scheduled twice",
                   name, e.activity_id.str());
            run.activities[e.activity_id] = {e.activity_type, e.arguments, {}, 0, 0, false};
          },
          [&](const ActivityStarted& e) {
            Run::Activity& found = activity(e.activity_id);
            found.holder = e.attempt_id;
            found.starts += 1;
            expect(found.starts <= (found.failures + 1) * max_lost_attempts_,
                   "{}: activity {} was started {} times after {} failures", name,
                   e.activity_id.str(), found.starts, found.failures);
          },
          [&](const ActivityRetryScheduled& e) {
            Run::Activity& found = activity(e.activity_id);
            if (e.timeout_kind.empty()) {
              by_holder(found, e.activity_id, e.attempt_id, e.failure);
            } else {
              note_timeout(run, e.activity_id, e.timeout_kind, event.recorded_at);
            }
            found.failures += 1;
            found.holder = {};
          },
          [&](const ActivityHeartbeatRecorded& e) {
            expect(activity(e.activity_id).holder == e.attempt_id,
                   "{}: stale attempt {} gave a sign of life", name, e.attempt_id.str());
          },
          [&](const ActivityCompleted& e) {
            Run::Activity& found = activity(e.activity_id);
            by_holder(found, e.activity_id, e.attempt_id, e.result);
            found.ended = true;
          },
          [&](const ActivityFailed& e) {
            Run::Activity& found = activity(e.activity_id);
            by_holder(found, e.activity_id, e.attempt_id, e.failure);
            found.ended = true;
            failed_in_barrier(run.state.activities, e.activity_id, e.failure_id);
          },
          [&](const ActivityTimedOut& e) {
            activity(e.activity_id).ended = true;
            failed_in_barrier(run.state.activities, e.activity_id, e.failure_id);
            note_timeout(run, e.activity_id, e.timeout_kind, event.recorded_at);
          },
          [&](const ActivityCancelled& e) { activity(e.activity_id).ended = true; },
          [&](const TimerScheduled& e) {
            // One that bounds a wait stands at the wait's step.
            if (e.kind.empty()) return step(e.step);
            expect(e.step == run.steps, "{}: timer {} bounds step {}, the last one is {}", name,
                   e.timer_id.str(), e.step, run.steps);
          },
          [&](const TimerFired& e) {
            end_timer(e.timer_id);
            const auto open = std::ranges::find(run.state.timers, e.timer_id, &OpenTimer::id);
            expect(open != run.state.timers.end() && open->fire_at <= event.recorded_at,
                   "{}: timer {} fired early", name, e.timer_id.str());
          },
          [&](const TimerCancelled& e) { end_timer(e.timer_id); },
          [&](const SideEffectRecorded& e) { step(e.step); },
          [&](const VersionMarkerRecorded& e) { step(e.step); },
          [&](const MemoUpserted& e) { step(e.step); },
          [](const ScheduleTriggered&) {},
          [&](const SearchAttributesUpserted& e) { step(e.step); },

          [&](const SignalReceived& e) {
            command(e.command);
            const auto said = detail::decode_arguments<std::tuple<std::string>>(e.arguments);
            expect(said.has_value(), "{}: a signal says nothing", name);
            if (!said) return;
            const std::string& text = std::get<0>(*said);
            auto& heard = said_[text].signals;
            counters_.signals += heard.insert(e.signal_id).second;
            expect(heard.size() == 1, "{}: '{}' was said once and received twice", name, text);
            expect(!applied_signals_.contains(e.signal_id),
                   "{}: signal {} was applied and is received again", name, e.signal_id.str());
          },
          [&](const SignalWaitOpened& e) { step(e.step); },
          [&](const SignalApplied& e) {
            end_wait(e.wait_id);
            expect(applied_signals_.insert(e.signal_id).second, "{}: signal {} was applied twice",
                   name, e.signal_id.str());
            const auto first =
                std::ranges::find(run.state.signals, word.name, &PendingSignal::name);
            expect(first != run.state.signals.end() && first->id == e.signal_id,
                   "{}: signal {} was applied before one that came first", name, e.signal_id.str());
          },
          [&](const UpdateAccepted& e) {
            command(e.command);
            const auto said =
                detail::decode_arguments<std::tuple<std::int64_t, std::string>>(e.arguments);
            expect(said.has_value(), "{}: an update says nothing", name);
            if (!said) return;
            auto& updates = said_[std::get<1>(*said)].updates;
            counters_.updates += updates.insert(e.update_id).second;
            expect(updates.size() == 1, "{}: update '{}' was accepted twice", name,
                   std::get<1>(*said));
            expect(!completed_updates_.contains(e.update_id),
                   "{}: update {} has ended and is accepted again", name, e.update_id.str());
          },
          [&](const UpdateRejected& e) { command(e.command); },
          [&](const UpdateApplied& e) {
            expect(applied_updates_.insert(e.update_id).second, "{}: update {} was applied twice",
                   name, e.update_id.str());
            expect(e.step <= run.steps + 1, "{}: an update was applied at step {} of {}", name,
                   e.step, run.steps);
          },
          [&](const UpdateCompleted& e) {
            expect(completed_updates_.emplace(e.update_id, e.result).second,
                   "{}: update {} ended twice", name, e.update_id.str());
          },
          [&](const ConditionWaitOpened& e) { step(e.step); },
          [&](const ConditionWaitSatisfied& e) { end_wait(e.wait_id); },
          [&](const ConditionWaitTimedOut& e) { end_wait(e.wait_id); },

          [&](const ChildWorkflowScheduled& e) { step(e.step); },
          [&](const ChildRunStarted& e) {
            expect(!run.ended_children.contains(e.call_id),
                   "{}: child {} has ended and starts again", name, e.call_id.str());
          },
          [&](const ChildRunCompleted& e) {
            note_child_end(run, event, e.call_id, e.run_id, "completed");
            const Run* child = find(e.run_id);
            expect(child && child->state.output == e.output,
                   "{}: its child told another result than it has", name);
          },
          [&](const ChildRunFailed& e) {
            failed_in_barrier(run.state.children, e.call_id, e.failure_id);
            note_child_end(run, event, e.call_id, e.run_id, e.closed_reason);
            const Run* child = find(e.run_id);
            expect(child && child->state.failure == e.failure,
                   "{}: its child told another failure than it has", name);
          },
          [&](const ChildRunCancelled& e) {
            failed_in_barrier(run.state.children, e.call_id, e.failure_id);
            note_child_end(run, event, e.call_id, e.run_id, "cancelled");
          },
          [&](const ChildRunTerminated& e) {
            failed_in_barrier(run.state.children, e.call_id, e.failure_id);
            note_child_end(run, event, e.call_id, e.run_id, "terminated");
          },
          [&](const ParentClosePolicyApplied& e) {
            note_child_end(run, event, e.call_id, e.run_id,
                           e.policy == ParentClosePolicy::terminate ? "terminated" : "cancelled");
          },
          [&](const ParentClosePolicyFailed& e) {
            const Run* child = find(e.run_id);
            note_child_end(run, event, e.call_id, e.run_id,
                           child ? child->state.closed_reason : "");
            expect(!run.state.open(), "{}: a close policy before the close", name);
          },
          [&](const WorkflowContinuedAsNew& e) {
            step(e.step);
            std::vector<std::pair<std::int64_t, std::string>> left;
            for (const PendingSignal& signal : run.state.signals) {
              if (!signal.command.on_run)
                left.emplace_back(signal.command.sequence, signal.id.str());
            }
            for (const PendingUpdate& update : run.state.updates) {
              if (!update.command.on_run)
                left.emplace_back(update.command.sequence, update.id.str());
            }
            std::ranges::sort(left);
            for (auto& [sequence, id] : left) run.carried.push_back(std::move(id));
          },
          [](const WorkflowStarted&) {},
          [](const FailureHandled&) {},
          [](const WorkflowCancelled&) {},
          [](const WorkflowTerminated&) {},
          [](const WorkflowTimedOut&) {},
          [](const WorkflowCompleted&) {},
          [](const WorkflowFailed&) {},
          [](const WorkflowArchived&) {}},
      event.body);
}

// Nobody's time is up before it is.
void Checker::note_timeout(const Run& run, const ActivityId& id, std::string_view kind,
                           Timestamp at) {
  const auto open = std::ranges::find(run.state.activities, id, &OpenActivity::id);
  if (open == run.state.activities.end()) return;  // said elsewhere
  const RetryPolicy& policy = open->retry_policy;
  const auto passed = [&](Timestamp from, const std::optional<Seconds>& timeout) {
    return timeout && later(from, *timeout) <= at;
  };
  const bool late =
      kind == "lost_lease" ? open->running() && open->lost_in_a_row + 1 >= max_lost_attempts_
      : kind == "schedule_to_close" ? passed(open->scheduled_at, policy.schedule_to_close_timeout)
      : kind == "schedule_to_start"
          ? !open->running() && passed(open->available_at, policy.schedule_to_start_timeout)
      : kind == "heartbeat"
          ? open->running() && passed(open->last_heartbeat_at, policy.heartbeat_timeout)
          : kind == "start_to_close" && open->running() &&
                passed(open->started_at, policy.start_to_close_timeout);
  expect(late, "{}: activity {} timed out too early ({})", name_of(run), id.str(), kind);
}

// A child is told of once, by the run that ended, as it ended.
void Checker::note_child_end(Run& run, const Event& event, const ChildCallId& call,
                             const RunId& child, std::string_view reason) {
  expect(run.ended_children.insert(call).second, "{}: {} of child {}, which has ended",
         name_of(run), type_name(event.body), call.str());
  const Run* ended = find(child);
  const bool fits = ended && !ended->state.open() && ended->state.closed_reason == reason &&
                    ended->state.followed_by.empty() && ended->state.start.lineage &&
                    ended->state.start.lineage->call_id == call.str();
  expect(fits, "{}: {} of child {}, which is not so", name_of(run), type_name(event.body),
         child.str());
}

}  // namespace dw::sim
