// The steps that workflow code took, turned into events.
#include "engine/parts.hpp"
#include "engine/standalone.hpp"

#include <fmt/format.h>

namespace dw::engine {
namespace {

// The run itself stays untouched and uncopied: what the batch adds to it (steps, open work, handled
// failures) is kept beside it, because a later command may close what an earlier one opened.
class WorkflowTask {
 public:
  WorkflowTask(const Run& run, const Context& context)
      : run_(run),
        state_(run.state),
        context_(context),
        limits_(context.settings.limits),
        now_(time_of(run, context)),
        steps_(run.state.steps),
        closed_(!run.state.open()) {}

  Result<Decision> decide(std::span<const WorkflowCommand> commands) {
    all_.events.reserve(commands.size());
    all_.tasks.reserve(commands.size() + 1);
    for (const WorkflowCommand& command : commands) {
      if (over_limit_) break;
      if (closed_) return no("a command follows the one that closed it");
      DW_TRY_VOID(std::visit(*this, command));
      check("history_transaction_size", static_cast<std::int64_t>(all_.events.size()) - taken_,
            limits_.events_per_task);
    }
    // Closing removed the workflow task already; parking does it here.
    if (run_.workflow_task && !closed_) all_.tasks.push_back(remove(*run_.workflow_task));
    return std::move(all_);
  }

  // ---- activities, timers

  Result<void> operator()(const ScheduleActivity& c) {
    DW_TRY_VOID(take_step(c.step));
    if (!fits(c.arguments) ||
        !check("pending_activity_count",
               static_cast<std::int64_t>(state_.activities.size() + opened_.activities.size() + 1),
               limits_.pending_activities) ||
        !fits(c.group)) {
      return {};
    }
    const WorkflowStarted& start = state_.start;
    ActivityScheduled event;
    event.activity_id = ActivityId{context_.ids.ulid()};
    event.step = c.step;
    event.activity_type = c.activity_type;
    event.arguments = c.arguments;
    // A queue left unset beside a chosen connection is that connection's default, not the run's.
    event.connection = c.connection.empty() ? start.connection : c.connection;
    event.queue = c.connection.empty() && c.queue.empty() ? start.queue : c.queue;
    event.local = c.local;
    event.retry_policy = normalized(c.retry_policy);
    event.group = c.group;
    event.task = context_.ids.task_suffix();

    const auto before = all_.tasks.size();
    put_tasks_of(run_, event, now_, all_.tasks);
    std::vector<TaskKey> tasks;
    for (auto i = before; i < all_.tasks.size(); ++i) tasks.push_back(all_.tasks[i].task.key);
    opened_.activities.emplace_back(event.activity_id, std::move(tasks));
    all_.events.emplace_back(std::move(event));
    return {};
  }

  Result<void> operator()(const StartTimer& c) {
    DW_TRY_VOID(take_step(c.step));
    if (fits(c.group)) schedule_timer(c.step, c.delay_seconds, {}, {}, c.group);
    return {};
  }

  // ---- what is answered on the spot

  Result<void> operator()(const RecordSideEffect& c) {
    DW_TRY_VOID(take_step(c.step));
    if (!fits(c.result)) return {};
    all_.events.emplace_back(SideEffectRecorded{c.step, c.result});
    return {};
  }

  Result<void> operator()(const RecordVersion& c) {
    DW_TRY_VOID(take_step(c.step));
    all_.events.emplace_back(
        VersionMarkerRecorded{c.step, c.change_id, c.version, c.min_supported, c.max_supported});
    return {};
  }

  Result<void> operator()(const UpsertMemo& c) {
    DW_TRY_VOID(take_step(c.step));
    memo_ = merged(memo_ ? *memo_ : state_.memo, c.entries);
    if (!check("memo_size", size_of(*memo_), limits_.memo_bytes)) return {};
    all_.events.emplace_back(MemoUpserted{c.step, c.entries});
    return {};
  }

  Result<void> operator()(const UpsertSearchAttributes& c) {
    DW_TRY_VOID(take_step(c.step));
    attributes_ = merged(attributes_ ? *attributes_ : state_.search_attributes, c.attributes);
    if (!check("search_attribute_size", size_of(*attributes_), limits_.search_attribute_bytes)) {
      return {};
    }
    all_.events.emplace_back(SearchAttributesUpserted{c.step, c.attributes});
    return {};
  }

  Result<void> operator()(const HandleFailure& c) {
    const auto& raised = state_.unhandled;
    if (std::ranges::find(raised, c.failure_id) == raised.end() ||
        std::ranges::find(handled_, c.failure_id) != handled_.end()) {
      return no(fmt::format("failure {} is not waiting to be handled", c.failure_id.str()));
    }
    handled_.push_back(c.failure_id);
    all_.events.emplace_back(FailureHandled{c.failure_id, c.step});
    return {};
  }

  // ---- conditions

  Result<void> operator()(const engine::OpenCondition& c) {
    DW_TRY_VOID(take_step(c.step));
    ConditionWaitOpened event{
        WaitId{context_.ids.ulid()}, c.step, c.key, c.fingerprint, c.timeout, c.occurrence};
    const WaitId id = event.wait_id;
    all_.events.emplace_back(std::move(event));
    if (c.holds) {
      all_.events.emplace_back(ConditionWaitSatisfied{id, code_time()});
    } else if (c.timeout) {
      schedule_timer(c.step, *c.timeout, history::condition_timeout_kind, id);
      if (*c.timeout <= 0) all_.events.emplace_back(ConditionWaitTimedOut{id, code_time()});
    }
    return {};
  }

  Result<void> operator()(const CloseCondition& c) {
    const auto wait = std::ranges::find(state_.conditions, c.step, &history::OpenCondition::step);
    if (wait == state_.conditions.end() || std::ranges::count(closed_waits_, wait->id) > 0) {
      return no(fmt::format("no condition is waited for at step {}", c.step));
    }
    // Once its time was up nobody asks any more whether it holds.
    if (c.satisfied == wait->timeout_fired) {
      return no(fmt::format("step {} has {}timed out", c.step, c.satisfied ? "" : "not "));
    }
    closed_waits_.push_back(wait->id);
    if (!c.satisfied) {
      all_.events.emplace_back(ConditionWaitTimedOut{wait->id, code_time()});
      return {};
    }
    cancel_timer(wait->timer);
    all_.events.emplace_back(ConditionWaitSatisfied{wait->id, code_time()});
    return {};
  }

  // ---- signals

  Result<void> operator()(const engine::OpenSignalWait& c) {
    DW_TRY_VOID(take_step(c.step));
    SignalWaitOpened event{WaitId{context_.ids.ulid()}, c.step, c.name, c.timeout};
    // One came that this code has not seen: the wait is the one it was buffered under.
    if (const PendingSignal* came = next_signal(c.name); came && !waits_for(came->wait)) {
      event.wait_id = came->wait;
      all_.wake = true;
    }
    const WaitId id = event.wait_id;
    opened_waits_.push_back(id);
    all_.events.emplace_back(std::move(event));
    if (c.timeout) schedule_timer(c.step, *c.timeout, history::signal_timeout_kind, id);
    return {};
  }

  Result<void> operator()(const ApplySignal& c) {
    const auto signal = std::ranges::find(state_.signals, c.signal_id, &PendingSignal::id);
    if (signal == state_.signals.end() || std::ranges::count(applied_, c.signal_id) > 0) {
      return no(fmt::format("signal {} is not waiting to be applied", c.signal_id.str()));
    }
    if (next_signal(signal->name)->id != c.signal_id) {
      return no(fmt::format("another signal '{}' came before {}", signal->name, c.signal_id.str()));
    }
    applied_.push_back(c.signal_id);
    const auto wait =
        std::ranges::find(state_.signal_waits, c.step, &history::OpenSignalWait::step);
    if (wait != state_.signal_waits.end()) {
      if (wait->name != signal->name || std::ranges::count(closed_waits_, wait->id) > 0) {
        return no(fmt::format("step {} does not wait for a signal '{}'", c.step, signal->name));
      }
      closed_waits_.push_back(wait->id);
      cancel_timer(wait->timer);
      all_.events.emplace_back(SignalApplied{c.signal_id, wait->id, code_time()});
      return {};
    }
    DW_TRY_VOID(take_step(c.step));
    if (waits_for(signal->wait)) {
      return no(fmt::format("signal {} came for another step", c.signal_id.str()));
    }
    // One id from receipt to application, whichever came first.
    all_.events.emplace_back(SignalWaitOpened{signal->wait, c.step, signal->name, c.timeout});
    all_.events.emplace_back(SignalApplied{c.signal_id, signal->wait, code_time()});
    return {};
  }

  Result<void> operator()(const TakeSignal& c) {
    const auto signal = std::ranges::find(state_.signals, c.signal_id, &PendingSignal::id);
    if (signal == state_.signals.end() || std::ranges::count(applied_, c.signal_id) > 0) {
      return no(fmt::format("signal {} is not waiting to be applied", c.signal_id.str()));
    }
    applied_.push_back(c.signal_id);
    all_.events.emplace_back(SignalApplied{c.signal_id, {}, {}});
    ++taken_;
    return {};
  }

  // ---- updates

  Result<void> operator()(const ApplyUpdate& c) {
    DW_TRY_VOID(pending(c.update_id));
    if (!fits(c.result)) return {};  // the end of the run completes it, as it does the others
    opened_.completed_updates.push_back(c.update_id);
    all_.events.emplace_back(UpdateApplied{c.update_id, c.step});
    UpdateCompleted done;
    done.update_id = c.update_id;
    done.result = c.result;
    all_.events.emplace_back(std::move(done));
    return {};
  }

  Result<void> operator()(const FailUpdate& c) {
    DW_TRY_VOID(pending(c.update_id));
    opened_.completed_updates.push_back(c.update_id);
    UpdateCompleted failed;
    failed.update_id = c.update_id;
    failed.failure_id = FailureId{context_.ids.ulid()};
    failed.category = c.category;
    failed.failure = c.failure;
    all_.events.emplace_back(std::move(failed));
    return {};
  }

  // ---- other runs

  Result<void> operator()(const StartChild& c) {
    DW_TRY_VOID(take_step(c.step));
    DW_TRY_VOID(has_code(c.definition));
    if (!fits(c.arguments) ||
        !check("pending_child_count",
               static_cast<std::int64_t>(state_.children.size() + opened_.children.size() + 1),
               limits_.pending_children) ||
        !fits(c.group)) {
      return {};
    }
    const WorkflowStarted& parent = state_.start;
    OpenChild child;
    child.id = ChildCallId{context_.ids.ulid()};
    child.step = c.step;
    child.instance_id = InstanceId{c.instance_id.empty() ? context_.ids.ulid() : c.instance_id};
    child.run_id = RunId{context_.ids.ulid()};
    child.policy = c.policy;
    if (c.id_taken || is_taken(child.instance_id)) return refuse(c, child);

    CommandContext from;
    from.parent_instance_id = parent.instance_id.str();
    from.parent_run_id = run_.id.str();
    from.parent_step = c.step;
    from.child_call_id = child.id.str();
    Lineage lineage;
    lineage.parent_instance_id = from.parent_instance_id;
    lineage.parent_run_id = from.parent_run_id;
    lineage.parent_step = c.step;
    lineage.call_id = from.child_call_id;
    lineage.retry_policy = retries_of(c);
    Command facts = next_command(0, "workflow", context_);
    facts.context = std::move(from);

    WorkflowStarted start = new_start(c.definition, c.arguments);
    start.instance_id = child.instance_id;
    start.execution_timeout = c.execution_timeout;
    start.run_timeout = c.run_timeout;
    start.lineage = std::move(lineage);
    all_.opens.push_back(
        open_run(child.run_id, {StartAccepted{std::move(facts), "started_new"}, std::move(start)},
                 at_now()));
    all_.events.emplace_back(scheduled(c, child));
    all_.events.emplace_back(ChildRunStarted{child.id, child.run_id, 1});
    opened_.children.push_back(std::move(child));
    return {};
  }

  static ChildWorkflowScheduled scheduled(const StartChild& c, const OpenChild& child) {
    return {child.id, c.step,       c.definition.workflow_type, child.instance_id, c.policy,
            c.group,  retries_of(c)};
  }
  // One attempt is no policy, whatever pauses it names.
  static RetryPolicy retries_of(const StartChild& c) {
    return c.retry_policy.max_attempts == 1 ? RetryPolicy{} : normalized(c.retry_policy);
  }

  // By this run itself, or by a child of the same decision.
  bool is_taken(const InstanceId& id) const {
    return id == state_.start.instance_id ||
           std::ranges::any_of(all_.opens, [&](const NewRun& opened) {
             return opened.run.state.start.instance_id == id;
           });
  }

  // Ids are for life, so the child cannot be: the call fails, and its run never comes into being.
  Result<void> refuse(const StartChild& c, const OpenChild& child) {
    all_.events.emplace_back(scheduled(c, child));
    all_.events.emplace_back(ChildRunFailed{
        child.id, child.run_id, FailureId{context_.ids.ulid()}, "failed",
        Failure{"dw::NonRetryableError",
                {},
                fmt::format("cannot start child '{}' as '{}': the id is taken by another workflow; "
                            "pick another id, or none",
                            c.definition.workflow_type, child.instance_id.view()),
                true}});
    all_.wake = true;
    return {};
  }

  Result<void> operator()(const SignalChild& c) {
    const auto same = [&](const OpenChild& child) { return child.id == c.call_id; };
    const auto open = std::ranges::find_if(state_.children, same);
    const auto opened = std::ranges::find_if(opened_.children, same);
    const OpenChild* child = open != state_.children.end()      ? &*open
                             : opened != opened_.children.end() ? &*opened
                                                                : nullptr;
    if (!child || !fits(c.arguments)) return {};  // it has ended: nobody would hear it
    CommandContext from;
    from.parent_instance_id = state_.start.instance_id.str();
    from.parent_run_id = run_.id.str();
    from.parent_step = steps_;
    from.child_call_id = c.call_id.str();
    SignalReceived says{{c.command_id, 0, "workflow"}, {}, c.name, c.arguments, {}};
    says.command.context = std::move(from);
    says.signal_id = SignalId{context_.ids.ulid()};
    all_.tasks.push_back(put(
        intent_for(state_.start.ns, child->instance_id, child->run_id, std::move(says), context_)));
    return {};
  }

  Result<void> operator()(const ContinueAsNew& c) {
    DW_TRY_VOID(take_step(c.step));
    DW_TRY_VOID(has_code(c.definition));
    if (!fits(c.arguments)) return {};
    const WorkflowStarted& before = state_.start;
    const RunId next_id{context_.ids.ulid()};
    CommandContext from;
    from.parent_instance_id = before.instance_id.str();
    from.parent_run_id = run_.id.str();
    from.parent_step = c.step;
    Command facts = next_command(0, "workflow", context_);
    facts.context = std::move(from);

    WorkflowStarted start = new_start(c.definition, c.arguments);
    start.instance_id = before.instance_id;
    start.run_number = before.run_number + 1;
    start.business_key = before.business_key;
    start.labels = before.labels;
    start.execution_timeout = before.execution_timeout;
    start.execution_deadline = state_.execution_deadline();
    start.run_timeout = before.run_timeout;
    Lineage lineage;
    if (before.lineage) {
      lineage = *before.lineage;
      lineage.inherited_children.clear();
      lineage.retry_backoff = 0;  // it has passed
    }
    lineage.continued_from_run_id = run_.id.str();
    const auto inherit = [&](const OpenChild& child) {
      lineage.inherited_children.push_back(
          {child.id, child.instance_id, child.run_id, child.policy});
    };
    std::ranges::for_each(state_.children, inherit);
    std::ranges::for_each(opened_.children, inherit);
    start.lineage = std::move(lineage);

    std::vector<EventBody> carried = carry_over(facts.sequence);
    start.answered_requests = answered_requests(run_, carried);
    std::vector<EventBody> events{StartAccepted{std::move(facts), "started_new"}, std::move(start)};
    std::ranges::move(carried, std::back_inserter(events));
    NewRun next = open_run(next_id, std::move(events), at_now());
    next.continues = true;
    const auto number = next.run.state.start.run_number;
    all_.opens.push_back(std::move(next));
    close(WorkflowContinuedAsNew{c.step, next_id, number});
    return {};
  }

  // ---- the end

  Result<void> operator()(const CompleteWorkflow& c) {
    if (!fits(c.output)) return {};
    close(WorkflowCompleted{c.output});
    return {};
  }

  Result<void> operator()(const FailWorkflow& c) {
    close(WorkflowFailed{FailureId{context_.ids.ulid()}, c.category, c.failure});
    return {};
  }

 private:
  // When all of this is recorded: a run begins then, whatever its clock says, and so do its
  // deadlines.
  Context at_now() const { return {now_, context_.ids, context_.settings}; }

  // Said only where it differs: a replay must find the same now as the code did.
  std::optional<Timestamp> code_time() const {
    return context_.code_time == now_ ? std::nullopt : context_.code_time;
  }

  Error no(std::string_view why) const {
    return {ErrorCode::invalid_argument, fmt::format("run {}: {}", run_.id.str(), why)};
  }

  void close(EventBody terminal) {
    close_run(run_, opened_, std::move(terminal), all_, context_);
    closed_ = true;
    all_.wake = false;  // nobody is left to see it
  }

  Result<void> take_step(std::int64_t step) {
    if (step != steps_ + 1) return no(fmt::format("step {} does not follow step {}", step, steps_));
    steps_ = step;
    return {};
  }

  Result<void> has_code(const Definition& definition) const {
    if (definition.workflow_type != standalone_type) return {};
    return no(
        fmt::format("workflow type '{}' is reserved for activities that stand alone; schedule "
                    "the activity instead",
                    standalone_type));
  }

  // A limit ends the run, and says which.
  bool check(std::string_view kind, std::int64_t value, std::int64_t limit) {
    const FullLimit full{kind, value, limit};
    if (limit <= 0 || value <= limit || closed_) {
      note_if_nearly_full(full, all_);
      return true;
    }
    over_limit_ = true;
    close(WorkflowFailed{FailureId{context_.ids.ulid()}, "structural_limit", over_limit(full)});
    return false;
  }
  bool fits(const Payload& payload) {
    return check("payload_size", static_cast<std::int64_t>(payload.bytes.size()),
                 limits_.payload_bytes);
  }
  bool fits(const GroupPath& group) {
    return group.empty() || check("command_batch_size", group.front().size, limits_.barrier_leaves);
  }
  static std::int64_t size_of(const std::optional<Value>& value) {
    return value ? static_cast<std::int64_t>(to_json(*value).size()) : 0;
  }

  // A timer of no length fires in the same breath.
  void schedule_timer(std::int64_t step, Seconds delay, std::string_view kind, const WaitId& wait,
                      const GroupPath& group = {}) {
    if (delay > 0 &&
        !check("pending_timer_count",
               static_cast<std::int64_t>(state_.timers.size() + opened_.timers.size() + 1),
               limits_.pending_timers)) {
      return;
    }
    TimerScheduled event{TimerId{context_.ids.ulid()},
                         step,
                         std::max<Seconds>(delay, 0),
                         std::string{kind},
                         wait.str(),
                         {},
                         group};
    const TimerId id = event.timer_id;
    if (event.delay_seconds == 0) {
      all_.events.emplace_back(std::move(event));
      all_.events.emplace_back(TimerFired{id});
      all_.wake = true;
      return;
    }
    event.task = context_.ids.task_suffix();
    Task task = task_for(run_, {later(now_, event.delay_seconds), task_id(run_.id, event.task)},
                         TaskType::timer);
    task.subject = id.str();
    opened_.timers.emplace_back(id, task.key);
    all_.tasks.push_back(put(std::move(task)));
    all_.events.emplace_back(std::move(event));
  }

  void cancel_timer(const TimerId& id) {
    if (id.empty()) return;
    const auto timer = std::ranges::find(state_.timers, id, &OpenTimer::id);
    all_.events.emplace_back(TimerCancelled{id});
    all_.tasks.push_back(remove(key_of(run_, *timer)));
  }

  Result<void> pending(const UpdateId& id) const {
    const auto update = std::ranges::find(state_.updates, id, &PendingUpdate::id);
    if (update == state_.updates.end() || std::ranges::count(opened_.completed_updates, id) > 0) {
      return no(fmt::format("update {} is not waiting to be applied", id.str()));
    }
    return {};
  }

  // The one that the next wait for that name takes.
  const PendingSignal* next_signal(std::string_view name) const {
    const auto found = std::ranges::find_if(state_.signals, [&](const PendingSignal& signal) {
      return signal.name == name && std::ranges::count(applied_, signal.id) == 0;
    });
    return found == state_.signals.end() ? nullptr : &*found;
  }
  bool waits_for(const WaitId& id) const {
    return std::ranges::count(state_.signal_waits, id, &history::OpenSignalWait::id) > 0 ||
           std::ranges::count(opened_waits_, id) > 0;
  }

  // What every run takes from the one that asked for it.
  WorkflowStarted new_start(const Definition& definition, const Payload& arguments) const {
    const WorkflowStarted& before = state_.start;
    WorkflowStarted start;
    start.ns = before.ns;
    start.workflow_type = definition.workflow_type;
    start.workflow_class = definition.workflow_class;
    start.fingerprint = definition.fingerprint;
    start.declared = definition.declared;
    start.compatibility = before.compatibility;
    start.precedence = before.precedence;
    start.connection = definition.connection.empty() ? before.connection : definition.connection;
    start.queue =
        definition.connection.empty() && definition.queue.empty() ? before.queue : definition.queue;
    start.arguments = arguments;
    start.memo = memo_ ? *memo_ : state_.memo;
    start.search_attributes = attributes_ ? *attributes_ : state_.search_attributes;
    return start;
  }

  // What was sent to the instance and not yet taken up goes on with it, in the order it came.
  std::vector<EventBody> carry_over(std::int64_t sequence) const {
    std::vector<std::pair<std::int64_t, EventBody>> carried;
    for (const PendingSignal& signal : state_.signals) {
      if (signal.command.on_run || std::ranges::count(applied_, signal.id) > 0) continue;
      carried.emplace_back(
          signal.command.sequence,
          SignalReceived{signal.command, signal.id, signal.name, signal.arguments, {}});
    }
    for (const PendingUpdate& update : state_.updates) {
      if (update.command.on_run || std::ranges::count(opened_.completed_updates, update.id) > 0) {
        continue;
      }
      carried.emplace_back(update.command.sequence, UpdateAccepted{update.command, update.id,
                                                                   update.name, update.arguments});
    }
    std::ranges::sort(carried, {}, [](const auto& entry) { return entry.first; });
    std::vector<EventBody> events;
    for (auto& [before, event] : carried) {
      ++sequence;
      std::visit(
          [&]<typename E>(E& e) {
            if constexpr (requires { e.command; }) e.command.sequence = sequence;
          },
          event);
      events.push_back(std::move(event));
    }
    return events;
  }

  const Run& run_;
  const RunState& state_;
  const Context& context_;
  const Limits& limits_;
  const Timestamp now_;
  std::int64_t steps_;
  bool closed_;
  bool over_limit_ = false;
  std::int64_t taken_ = 0;  // signals that came by themselves: no burst of them is the code's fault
  Opened opened_;
  std::optional<std::optional<Value>> memo_;        // once this batch has changed it
  std::optional<std::optional<Value>> attributes_;  // likewise
  std::vector<FailureId> handled_;
  std::vector<SignalId> applied_;
  std::vector<WaitId> opened_waits_;
  std::vector<WaitId> closed_waits_;
  Decision all_;
};

}  // namespace

Result<Decision> decide_workflow_task(const Run& run, std::span<const WorkflowCommand> commands,
                                      const Context& context) {
  return WorkflowTask{run, context}.decide(commands);
}

}  // namespace dw::engine
