// What one run has to say to another.
#include "core/assert.hpp"
#include "engine/parts.hpp"
#include "history/codec.hpp"

#include <fmt/format.h>

namespace dw::engine {
namespace {

const OpenChild* find(const Run& run, const ChildCallId& id) {
  const auto found = std::ranges::find(run.state.children, id, &OpenChild::id);
  return found == run.state.children.end() ? nullptr : &*found;
}

// Delivered twice: the first one counted, here or, carried along, in the run that came after.
bool was_heard(const Run& run, const EventBody& says) {
  const auto* signal = std::get_if<SignalReceived>(&says);
  return signal && std::ranges::count(run.state.workflow_signals, signal->command.id) > 0;
}

class Receive {
 public:
  Receive(const Run& run, const Context& context, Decision& decision)
      : run_(run), context_(context), decision_(decision) {}

  // ---- heard by a parent

  void operator()(const ChildRunStarted& e) {
    if (run_.state.open() && find(run_, e.call_id)) decision_.events.emplace_back(e);
  }
  void operator()(const ChildRunCompleted& e) {
    child_ended(e, "the child had completed by itself");
    if (const OpenChild* child = find(run_, e.call_id)) {
      decision_.wake = decision_.wake && !waits_for_others(run_, child->group, child->step);
    }
  }
  void operator()(const ChildRunFailed& e) { child_ended(e, "the child had failed by itself"); }
  void operator()(const ChildRunCancelled& e) { child_ended(e, {}); }
  void operator()(const ChildRunTerminated& e) { child_ended(e, {}); }

  // ---- heard by a child

  void operator()(const CancelRequested& e) { parent_ended(CloseCommand::Kind::cancel, e); }
  void operator()(const TerminateRequested& e) { parent_ended(CloseCommand::Kind::terminate, e); }

  void operator()(const SignalReceived& e) {
    SignalCommand command;
    command.name = e.name;
    command.arguments = e.arguments;
    command.source = e.command.source;
    command.command_id = e.command.id;
    command.context = e.command.context;
    auto received = decide_signal(run_, command, context_);
    if (!received.reply.accepted) return;
    decision_.events = std::move(received.decision.events);
    decision_.wake = received.decision.wake;
  }

  void operator()(const auto&) { DW_ASSERT(false, "no run says this to another"); }

 private:
  template <typename E>
  void child_ended(const E& e, std::string_view by_itself) {
    const OpenChild* child = find(run_, e.call_id);
    if (!child) return;
    if (run_.state.open()) {
      decision_.events.emplace_back(e);
      // A child of the run before this one closes without being anybody's step.
      decision_.wake = child->step != 0;
      return;
    }
    if (child->policy == ParentClosePolicy::abandon) return;
    std::string reason = fmt::format("parent closed as {}", run_.state.closed_reason);
    if (by_itself.empty()) {
      decision_.events.emplace_back(
          ParentClosePolicyApplied{e.call_id, e.run_id, child->policy, std::move(reason)});
    } else {
      decision_.events.emplace_back(ParentClosePolicyFailed{
          e.call_id, e.run_id, child->policy, std::move(reason), std::string{by_itself}});
    }
  }

  template <typename E>
  void parent_ended(CloseCommand::Kind kind, const E& e) {
    if (!run_.state.open()) return;
    CloseCommand command;
    command.kind = kind;
    command.reason = e.reason;
    command.source = e.command.source;
    command.context = e.command.context;
    auto closed = decide_close(run_, command, context_);
    decision_.events = std::move(closed.decision.events);
    std::ranges::move(closed.decision.tasks, std::back_inserter(decision_.tasks));
  }

  const Run& run_;
  const Context& context_;
  Decision& decision_;
};

}  // namespace

namespace {

// Is it meant for the instance, which has gone on as another run? All of it is when the run has
// continued; one that failed and is run again still hears of its own children.
bool moves_on(const Run& run, const EventBody& says) {
  return run.state.continued() || std::holds_alternative<SignalReceived>(says) ||
         std::holds_alternative<CancelRequested>(says) ||
         std::holds_alternative<TerminateRequested>(says);
}

}  // namespace

Decision decide_intent(const Run& run, const Task& task, const Context& context) {
  Decision decision;
  decision.tasks.push_back(remove(task.key));
  const auto says = parse_events(task.note);
  // A note that cannot be read says nothing; it must not come back for ever.
  if (!says || says->size() != 1) return decision;
  if (was_heard(run, says->front())) return decision;
  if (!run.state.followed_by.empty() && moves_on(run, says->front())) {
    Task follows = task;
    follows.run_id = run.state.followed_by;
    follows.key = {context.now, task_id(follows.run_id, context.ids.task_suffix())};
    decision.tasks.push_back(put(std::move(follows)));
    return decision;
  }
  std::visit(Receive{run, context, decision}, says->front());
  return decision;
}

Task intent_for(const Namespace& ns, const InstanceId& instance, const RunId& target,
                const EventBody& says, const Context& context) {
  Task task;
  task.key = {context.now, task_id(target, context.ids.task_suffix())};
  task.type = TaskType::intent;
  task.ns = ns;
  task.instance_id = instance;
  task.run_id = target;
  task.subject = type_name(says);
  history::append_events(task.note, std::span{&says, 1});
  return task;
}

std::optional<Task> tell_parent(const Run& child, const EventBody& event, const Context& context) {
  const Shared<Lineage>& lineage = child.state.start.lineage;
  if (!lineage || lineage->call_id.empty()) return std::nullopt;
  return intent_for(child.state.start.ns, InstanceId{lineage->parent_instance_id},
                    RunId{lineage->parent_run_id}, event, context);
}

}  // namespace dw::engine
