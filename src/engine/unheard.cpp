#include "engine/unheard.hpp"

#include "engine/parts.hpp"
#include "history/codec.hpp"

#include <tuple>

namespace dw::engine {
namespace {

bool is_terminal_event(const Event& event) {
  return std::holds_alternative<WorkflowCompleted>(event.body) ||
         std::holds_alternative<WorkflowFailed>(event.body) ||
         std::holds_alternative<WorkflowTimedOut>(event.body) ||
         std::holds_alternative<WorkflowCancelled>(event.body) ||
         std::holds_alternative<WorkflowTerminated>(event.body) ||
         std::holds_alternative<WorkflowContinuedAsNew>(event.body);
}

// Told again, to the run that goes on.
Task to(const Run& run, Task task, const Context& context) {
  task.run_id = run.id;
  task.key = {context.now, task_id(run.id, context.ids.task_suffix())};
  return task;
}

// Who says it about whom: the call and the run that speaks.
using Gist = std::tuple<std::string, std::string>;
struct GistOf {
  Gist operator()(const ChildRunStarted& e) const { return {e.call_id.str(), e.run_id.str()}; }
  Gist operator()(const ChildRunCompleted& e) const { return {e.call_id.str(), e.run_id.str()}; }
  Gist operator()(const ChildRunFailed& e) const { return {e.call_id.str(), e.run_id.str()}; }
  Gist operator()(const ChildRunCancelled& e) const { return {e.call_id.str(), e.run_id.str()}; }
  Gist operator()(const ChildRunTerminated& e) const { return {e.call_id.str(), e.run_id.str()}; }
  Gist operator()(const CancelRequested& e) const { return of(e.command); }
  Gist operator()(const TerminateRequested& e) const { return of(e.command); }
  Gist operator()(const SignalReceived& e) const { return {e.command.id.str(), {}}; }
  Gist operator()(const auto&) const { return {}; }

 private:
  static Gist of(const Command& command) {
    if (!command.context) return {};
    return {command.context->child_call_id, command.context->parent_run_id};
  }
};

}  // namespace

std::optional<Task> unheard_by_parent(const Run& child, std::span<const Event> events,
                                      const Run& parent, std::span<const RunId> news,
                                      const Context& context) {
  const Shared<Lineage>& lineage = child.state.start.lineage;
  if (child.state.open() || !lineage || lineage->call_id.empty()) return std::nullopt;
  const ChildCallId call{lineage->call_id};
  const auto entry = std::ranges::find(parent.state.children, call, &OpenChild::id);
  if (entry == parent.state.children.end()) return std::nullopt;
  if (!child.state.followed_by.empty()) {
    const bool known = std::ranges::find(news, child.id) == news.end();
    if (!parent.state.open() || known) return std::nullopt;
  } else if (!parent.state.open() && entry->policy == ParentClosePolicy::abandon) {
    return std::nullopt;  // it would be told, and shrug
  }
  const auto terminal = std::ranges::find_if(events, is_terminal_event);
  if (terminal == events.end()) return std::nullopt;
  const auto word = seen_by_parent(child, call, terminal->body, context);
  auto task = tell_parent(child, word, context);
  if (!task) return std::nullopt;
  return to(parent, *std::move(task), context);
}

std::optional<Task> unheard_by_child(const Run& parent, const OpenChild& entry, const Run& child,
                                     const Context& context) {
  // A continued parent goes on: its children have nothing to hear. A closed child hears nothing.
  if (parent.state.open() || parent.state.continued() || !child.state.open()) {
    return std::nullopt;
  }
  auto task = tell_child(parent, entry, parent.state.closed_reason, context);
  if (!task) return std::nullopt;
  return to(child, *std::move(task), context);
}

bool say_the_same(const Task& left, const Task& right) {
  if (left.type != TaskType::intent || right.type != TaskType::intent) return false;
  if (left.subject != right.subject || left.ns != right.ns ||
      left.instance_id != right.instance_id) {
    return false;
  }
  const auto one = parse_events(left.note);
  const auto other = parse_events(right.note);
  if (!one || !other || one->size() != 1 || other->size() != 1) return false;
  return std::visit(GistOf{}, one->front()) == std::visit(GistOf{}, other->front());
}

}  // namespace dw::engine
