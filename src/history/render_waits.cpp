#include "history/event_renderer.hpp"
#include "history/run_state.hpp"

#include <algorithm>

namespace dw::history {
namespace {

// What workflow code gets for a signal: nothing sent is true, one argument is itself, more are a
// list. Absent when nobody here can read the arguments.
std::optional<Value> signal_value(const Payload& arguments) {
  auto decoded = decode(arguments);
  if (!decoded) return std::nullopt;
  const auto* list = decoded->if_array();
  if (!list) return *std::move(decoded);
  if (list->empty()) return Value{true};
  return list->size() == 1 ? list->front() : *std::move(decoded);
}

// Some workers read every payload of a history before they replay it, and know no other codec.
Payload in_avro(const Payload& payload) {
  if (payload.codec == avro_codec) return payload;
  const auto decoded = decode(payload);
  if (!decoded) return payload;
  auto encoded = encode(*decoded);
  return encoded ? *std::move(encoded) : payload;
}

}  // namespace

// ---- timers

Result<void> EventRenderer::operator()(const TimerScheduled& e) {
  Timer timer{e, later(event_.recorded_at, e.delay_seconds)};
  if (e.kind == condition_timeout_kind) {
    DW_TRY(find(r_.conditions_, WaitId{e.wait}, "the wait is not open"))->timer = e.timer_id;
  }
  DW_TRY_VOID(timer_keys(timer));
  r_.timers_.insert_or_assign(e.timer_id, std::move(timer));
  return {};
}

Result<void> EventRenderer::operator()(const TimerFired& e) {
  const Timer* timer = DW_TRY(find(r_.timers_, e.timer_id, "the timer is not open"));
  DW_TRY_VOID(timer_keys(*timer));
  out_.field("fired_at", event_.recorded_at);
  if (timer->scheduled.kind == signal_timeout_kind) {
    // As in the fold: a signal that came before wins, and will be applied to this wait.
    const auto wait = r_.signal_waits_.find(WaitId{timer->scheduled.wait});
    const bool came = std::ranges::any_of(
        r_.signals_, [&](const auto& entry) { return entry.second.name == wait->second.name; });
    if (!came) r_.signal_waits_.erase(wait);
  }
  r_.timers_.erase(e.timer_id);
  return {};
}

Result<void> EventRenderer::operator()(const TimerCancelled& e) {
  const Timer* timer = DW_TRY(find(r_.timers_, e.timer_id, "the timer is not open"));
  DW_TRY_VOID(timer_keys(*timer));
  out_.field("cancelled_at", event_.recorded_at);
  r_.timers_.erase(e.timer_id);
  return {};
}

Result<void> EventRenderer::timer_keys(const Timer& timer) {
  const TimerScheduled& scheduled = timer.scheduled;
  out_.field("timer_id", scheduled.timer_id.view())
      .field("sequence", scheduled.step)
      .field("delay_seconds", scheduled.delay_seconds)
      .field("fire_at", timer.fire_at);
  group_keys(scheduled.group);
  if (scheduled.kind.empty()) return {};
  out_.field("timer_kind", view(scheduled.kind));
  if (scheduled.kind == condition_timeout_kind) {
    const auto* wait = DW_TRY(find(r_.conditions_, WaitId{scheduled.wait}, "the wait is not open"));
    condition_keys(wait->opened);
  } else {
    const auto* wait =
        DW_TRY(find(r_.signal_waits_, WaitId{scheduled.wait}, "the wait is not open"));
    out_.field("signal_wait_id", wait->wait_id.view()).field("signal_name", view(wait->name));
  }
  return {};
}

// ---- signals

Result<void> EventRenderer::operator()(const SignalReceived& e) {
  const WaitId wait = e.wait.empty() ? buffered_wait(e.command.id) : WaitId{e.wait};
  commanded(e.command);
  out_.field("signal_id", e.signal_id.view())
      .field("signal_name", view(e.name))
      .field("signal_wait_id", wait.view());
  payload("arguments", e.arguments);
  if (r_.reader_ == Reader::worker) signal_for_condition(e.signal_id);
  command("signal", e.command, {.outcome = "signal_received", .target_name = e.name});
  r_.signals_.insert_or_assign(e.signal_id, e);
  return {};
}

// It may be what the condition waited for: both say so.
void EventRenderer::signal_for_condition(const SignalId& id) {
  if (r_.conditions_.empty()) return;
  const auto step = [](const auto& entry) { return entry.second.opened.step; };
  Condition& wait = std::ranges::min_element(r_.conditions_, {}, step)->second;
  out_.field("workflow_sequence", wait.opened.step);
  if (wait.signal.empty()) wait.signal = id;
}

Result<void> EventRenderer::operator()(const SignalWaitOpened& e) {
  out_.field("signal_name", view(e.name))
      .field("signal_wait_id", e.wait_id.view())
      .field("sequence", e.step)
      .field("timeout_seconds", e.timeout);
  r_.signal_waits_.insert_or_assign(e.wait_id, e);
  return {};
}

Result<void> EventRenderer::operator()(const SignalApplied& e) {
  const auto* signal = DW_TRY(find(r_.signals_, e.signal_id, "the signal does not wait"));
  command_id_ = signal->command.id;
  out_.field("workflow_command_id", command_id_.view())
      .field("signal_id", e.signal_id.view())
      .field("signal_name", view(signal->name));
  if (!e.wait_id.empty()) {
    const auto* wait = DW_TRY(find(r_.signal_waits_, e.wait_id, "the wait is not open"));
    out_.field("signal_wait_id", e.wait_id.view()).field("sequence", wait->step);
  }
  if (r_.reader_ == Reader::worker) {
    payload("arguments", signal->arguments);
  } else if (const auto readable = signal_value(signal->arguments)) {
    value("value", *readable);
  } else {
    enveloped("value", signal->arguments);
  }
  r_.signals_.erase(e.signal_id);
  r_.signal_waits_.erase(e.wait_id);
  return {};
}

// ---- updates. Their contract has no place for a codec, so payloads name their own.

Result<void> EventRenderer::operator()(const UpdateAccepted& e) {
  update_keys(e.command, e.update_id, e.name);
  enveloped("arguments", e.arguments);
  command("update", e.command, {.target_name = e.name});
  r_.updates_.insert_or_assign(e.update_id, Update{e, {}});
  return {};
}

Result<void> EventRenderer::operator()(const UpdateRejected& e) {
  update_keys(e.command, e.update_id, e.name);
  enveloped("arguments", r_.reader_ == Reader::worker ? in_avro(e.arguments) : e.arguments);
  text("outcome", e.outcome);
  out_.field("rejection_reason", view(e.rejection_reason));
  if (e.validation_errors) value("validation_errors", *e.validation_errors);
  command("update", e.command,
          {.status = "rejected",
           .outcome = e.outcome,
           .rejection_reason = e.rejection_reason,
           .target_name = e.name});
  return {};
}

Result<void> EventRenderer::operator()(const UpdateApplied& e) {
  Update* update = DW_TRY(find(r_.updates_, e.update_id, "the update is not open"));
  update->step = e.step;
  update_keys(update->accepted.command, e.update_id, update->accepted.name);
  enveloped("arguments", update->accepted.arguments);
  // Applied by code elsewhere while it stood at no wait: at no step that history could name.
  if (e.step != 0) out_.field("sequence", e.step);
  return {};
}

Result<void> EventRenderer::operator()(const UpdateCompleted& e) {
  const Update* update = DW_TRY(find(r_.updates_, e.update_id, "the update is not open"));
  update_keys(update->accepted.command, e.update_id, update->accepted.name);
  if (update->step.value_or(0) != 0) out_.field("sequence", update->step);
  if (e.result) enveloped("result", *e.result);
  if (e.failure) {
    failure_keys(e.failure_id, e.category);
    out_.field("non_retryable", e.failure->non_retryable);
    exception(*e.failure);
  }
  text("terminal_reason", e.terminal_reason);
  r_.updates_.erase(e.update_id);
  return {};
}

void EventRenderer::update_keys(const Command& by, const UpdateId& id, const std::string& name) {
  commanded(by);
  out_.field("update_id", id.view()).field("update_name", view(name));
}

// ---- conditions

Result<void> EventRenderer::operator()(const ConditionWaitOpened& e) {
  condition_keys(e);
  out_.field("sequence", e.step).field("timeout_seconds", e.timeout);
  r_.conditions_.insert_or_assign(e.wait_id, Condition{e, {}, {}});
  return {};
}
Result<void> EventRenderer::operator()(const ConditionWaitSatisfied& e) {
  const Condition* wait = DW_TRY(find(r_.conditions_, e.wait_id, "the wait is not open"));
  text("workflow_signal_id", wait->signal.view());
  return end_condition(e.wait_id);
}
Result<void> EventRenderer::operator()(const ConditionWaitTimedOut& e) {
  return end_condition(e.wait_id);
}

void EventRenderer::condition_keys(const ConditionWaitOpened& opened) {
  out_.field("condition_wait_id", opened.wait_id.view());
  text("condition_key", opened.key);
  text("condition_definition_fingerprint", opened.fingerprint);
  text("condition_wait_occurrence_id", opened.occurrence);
}
Result<void> EventRenderer::end_condition(const WaitId& id) {
  const Condition* wait = DW_TRY(find(r_.conditions_, id, "the wait is not open"));
  condition_keys(wait->opened);
  out_.field("sequence", wait->opened.step);
  text("timer_id", wait->timer.view());
  out_.field("timeout_seconds", wait->opened.timeout);
  r_.conditions_.erase(id);
  return {};
}

}  // namespace dw::history
