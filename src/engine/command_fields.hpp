// Every field of every workflow command, named once: writer and reader visit this list, so they
// cannot disagree. A key given with a fallback is left out when it equals it. Besides what
// history/event_fields.hpp asks of a visitor it has `name` (there and not empty), `any_number`
// (negative ones too) and `instance` (an instance id, or nothing).
#pragma once
#include "engine/commands.hpp"
#include "history/event_fields.hpp"

#include <string>
#include <string_view>

namespace dw::engine {

template <typename C>
inline constexpr std::string_view command_name = {};
template <>
inline constexpr std::string_view command_name<ScheduleActivity> = "schedule_activity";
template <>
inline constexpr std::string_view command_name<StartTimer> = "start_timer";
template <>
inline constexpr std::string_view command_name<RecordSideEffect> = "record_side_effect";
template <>
inline constexpr std::string_view command_name<HandleFailure> = "handle_failure";
template <>
inline constexpr std::string_view command_name<CompleteWorkflow> = "complete_workflow";
template <>
inline constexpr std::string_view command_name<FailWorkflow> = "fail_workflow";
template <>
inline constexpr std::string_view command_name<RecordVersion> = "record_version";
template <>
inline constexpr std::string_view command_name<UpsertMemo> = "upsert_memo";
template <>
inline constexpr std::string_view command_name<UpsertSearchAttributes> = "upsert_search_attributes";
template <>
inline constexpr std::string_view command_name<engine::OpenCondition> = "open_condition";
template <>
inline constexpr std::string_view command_name<CloseCondition> = "close_condition";
template <>
inline constexpr std::string_view command_name<engine::OpenSignalWait> = "open_signal_wait";
template <>
inline constexpr std::string_view command_name<ApplySignal> = "apply_signal";
template <>
inline constexpr std::string_view command_name<TakeSignal> = "take_signal";
template <>
inline constexpr std::string_view command_name<ApplyUpdate> = "apply_update";
template <>
inline constexpr std::string_view command_name<FailUpdate> = "fail_update";
template <>
inline constexpr std::string_view command_name<StartChild> = "start_child";
template <>
inline constexpr std::string_view command_name<SignalChild> = "signal_child";
template <>
inline constexpr std::string_view command_name<ContinueAsNew> = "continue_as_new";

template <typename F>
void command_fields(F& f, history::Is<Definition> auto& d) {
  f.name("workflow_type", d.workflow_type);
  f("workflow_class", d.workflow_class, std::string{});
  f("fingerprint", d.fingerprint, std::string{});
  f("declared", d.declared);
  f("connection", d.connection, std::string{});
  f("queue", d.queue, std::string{});
}

template <typename F>
void command_fields(F& f, history::Is<ScheduleActivity> auto& c) {
  f("step", c.step);
  f.name("activity_type", c.activity_type);
  f("arguments", c.arguments);
  f("connection", c.connection, std::string{});
  f("queue", c.queue, std::string{});
  f("retry_policy", c.retry_policy, history::RetryPolicy{});
  f("group", c.group, history::GroupPath{});
  f("local", c.local, false);
}

template <typename F>
void command_fields(F& f, history::Is<StartTimer> auto& c) {
  f("step", c.step);
  f("delay_seconds", c.delay_seconds);
  f("group", c.group, history::GroupPath{});
}

template <typename F>
void command_fields(F& f, history::Is<RecordSideEffect> auto& c) {
  f("step", c.step);
  f("result", c.result);
}

template <typename F>
void command_fields(F& f, history::Is<HandleFailure> auto& c) {
  f("failure_id", c.failure_id);
  f("step", c.step);
}

template <typename F>
void command_fields(F& f, history::Is<RecordVersion> auto& c) {
  f("step", c.step);
  f.name("change_id", c.change_id);
  f.any_number("version", c.version);
  f.any_number("min_supported", c.min_supported);
  f.any_number("max_supported", c.max_supported);
}

template <typename F>
void command_fields(F& f, history::Is<UpsertMemo> auto& c) {
  f("step", c.step);
  f("entries", c.entries);
}

template <typename F>
void command_fields(F& f, history::Is<UpsertSearchAttributes> auto& c) {
  f("step", c.step);
  f("attributes", c.attributes);
}

template <typename F>
void command_fields(F& f, history::Is<engine::OpenCondition> auto& c) {
  f("step", c.step);
  f("key", c.key, std::string{});
  f("fingerprint", c.fingerprint, std::string{});
  f("timeout_seconds", c.timeout);
  f("holds", c.holds, false);
  f("occurrence", c.occurrence, std::string{});
}

template <typename F>
void command_fields(F& f, history::Is<CloseCondition> auto& c) {
  f("step", c.step);
  f("satisfied", c.satisfied);
}

template <typename F>
void command_fields(F& f, history::Is<engine::OpenSignalWait> auto& c) {
  f("step", c.step);
  f.name("name", c.name);
  f("timeout_seconds", c.timeout);
}

template <typename F>
void command_fields(F& f, history::Is<ApplySignal> auto& c) {
  f("step", c.step);
  f("signal_id", c.signal_id);
  f("timeout_seconds", c.timeout);
}

template <typename F>
void command_fields(F& f, history::Is<TakeSignal> auto& c) {
  f("signal_id", c.signal_id);
}

template <typename F>
void command_fields(F& f, history::Is<ApplyUpdate> auto& c) {
  f("update_id", c.update_id);
  f("step", c.step);
  f("result", c.result);
}

template <typename F>
void command_fields(F& f, history::Is<FailUpdate> auto& c) {
  f("update_id", c.update_id);
  f("category", c.category, std::string{"application"});
  f("failure", c.failure);
}

// Without id_taken: whether another workflow has that id is for the server to find out.
template <typename F>
void command_fields(F& f, history::Is<StartChild> auto& c) {
  f("step", c.step);
  f("definition", c.definition);
  f("arguments", c.arguments);
  f.instance("instance_id", c.instance_id);
  f("policy", c.policy, history::ParentClosePolicy::abandon);
  f("execution_timeout_seconds", c.execution_timeout);
  f("run_timeout_seconds", c.run_timeout);
  f("retry_policy", c.retry_policy, history::RetryPolicy{});
  f("group", c.group, history::GroupPath{});
}

template <typename F>
void command_fields(F& f, history::Is<SignalChild> auto& c) {
  f("call_id", c.call_id);
  f("command_id", c.command_id);
  f.name("name", c.name);
  f("arguments", c.arguments);
}

template <typename F>
void command_fields(F& f, history::Is<ContinueAsNew> auto& c) {
  f("step", c.step);
  f("definition", c.definition);
  f("arguments", c.arguments);
}

template <typename F>
void command_fields(F& f, history::Is<CompleteWorkflow> auto& c) {
  f("output", c.output);
}

template <typename F>
void command_fields(F& f, history::Is<FailWorkflow> auto& c) {
  f("category", c.category, std::string{"application"});
  f("failure", c.failure);
}

// What history spells the same way.
template <typename F>
void command_fields(F& f, history::Part auto& part) {
  history::visit_fields(f, part);
}

template <typename T>
concept CommandPart = history::Part<T> || history::Is<T, Definition>;

}  // namespace dw::engine
