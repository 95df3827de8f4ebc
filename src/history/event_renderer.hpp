// Writes the payload of one event and moves the renderer's memory on. Private to rendering:
// render.cpp has what all events share, the run's start and its end; render_activities.cpp,
// render_waits.cpp and render_children.cpp have their families.
#pragma once
#include "core/json_writer.hpp"
#include "history/render.hpp"

namespace dw::history {

class EventRenderer {
 public:
  EventRenderer(Renderer& renderer, const Event& event, JsonWriter& out)
      : r_(renderer), event_(event), out_(out) {}

  // Of the command that the event is about; empty when there is none.
  const CommandId& command_id() const { return command_id_; }

  Result<void> operator()(const StartAccepted& e);
  Result<void> operator()(const StartRejected& e);
  Result<void> operator()(const WorkflowStarted& e);

  Result<void> operator()(const ActivityScheduled& e);
  Result<void> operator()(const ActivityStarted& e);
  Result<void> operator()(const ActivityHeartbeatRecorded& e);
  Result<void> operator()(const ActivityRetryScheduled& e);
  Result<void> operator()(const ActivityCompleted& e);
  Result<void> operator()(const ActivityFailed& e);
  Result<void> operator()(const ActivityTimedOut& e);
  Result<void> operator()(const ActivityCancelled& e);

  Result<void> operator()(const TimerScheduled& e);
  Result<void> operator()(const TimerFired& e);
  Result<void> operator()(const TimerCancelled& e);
  Result<void> operator()(const SignalReceived& e);
  Result<void> operator()(const SignalWaitOpened& e);
  Result<void> operator()(const SignalApplied& e);
  Result<void> operator()(const UpdateAccepted& e);
  Result<void> operator()(const UpdateRejected& e);
  Result<void> operator()(const UpdateApplied& e);
  Result<void> operator()(const UpdateCompleted& e);
  Result<void> operator()(const ConditionWaitOpened& e);
  Result<void> operator()(const ConditionWaitSatisfied& e);
  Result<void> operator()(const ConditionWaitTimedOut& e);

  Result<void> operator()(const SideEffectRecorded& e);
  Result<void> operator()(const VersionMarkerRecorded& e);
  Result<void> operator()(const SearchAttributesUpserted& e);
  Result<void> operator()(const MemoUpserted& e);
  Result<void> operator()(const ScheduleTriggered& e);

  Result<void> operator()(const ChildWorkflowScheduled& e);
  Result<void> operator()(const ChildRunStarted& e);
  Result<void> operator()(const ChildRunCompleted& e);
  Result<void> operator()(const ChildRunFailed& e);
  Result<void> operator()(const ChildRunCancelled& e);
  Result<void> operator()(const ChildRunTerminated& e);
  Result<void> operator()(const ParentClosePolicyApplied& e);
  Result<void> operator()(const ParentClosePolicyFailed& e);

  Result<void> operator()(const FailureHandled& e);
  Result<void> operator()(const RepairRequested& e);
  Result<void> operator()(const CancelRequested& e);
  Result<void> operator()(const TerminateRequested& e);
  Result<void> operator()(const WorkflowCancelled& e);
  Result<void> operator()(const WorkflowTerminated& e);
  Result<void> operator()(const WorkflowTimedOut& e);
  Result<void> operator()(const WorkflowCompleted& e);
  Result<void> operator()(const WorkflowFailed& e);
  Result<void> operator()(const WorkflowContinuedAsNew& e);
  Result<void> operator()(const ArchiveRequested& e);
  Result<void> operator()(const WorkflowArchived& e);

 private:
  using Activity = Renderer::Activity;
  using Timer = Renderer::Timer;
  using Condition = Renderer::Condition;
  using Update = Renderer::Update;
  using Child = Renderer::Child;

  // What a command came to, for its snapshot.
  struct Verdict {
    std::string_view status = "accepted";
    std::string_view outcome = {};
    std::string_view rejection_reason = {};
    std::string_view target_name = {};
  };

  static std::string_view view(const std::string& text) { return text; }
  Error no(std::string_view why) const;
  template <typename Id, typename Open>
  Result<Open*> find(std::map<Id, Open>& open, const Id& id, std::string_view why) const {
    const auto found = open.find(id);
    if (found == open.end()) return no(why);
    return &found->second;
  }

  // Absent rather than empty: a key without a value is left out.
  void text(std::string_view name, std::string_view value);
  void value(std::string_view name, const Value& value);
  // The bytes as a string, the name of their codec beside it. A contract without a place for the
  // codec gets the payload that names its own, as does whoever asks for one in external storage.
  void payload(std::string_view name, const Payload& payload);
  void bare_payload(std::string_view name, const Payload& payload);
  void enveloped(std::string_view name, const Payload& payload);

  void run_keys();
  void commanded(const Command& by);
  void command(std::string_view type, const Command& by, const Verdict& verdict);
  void command_context(const CommandContext& context);
  void failure_keys(const FailureId& id, std::string_view category);
  void exception_class(std::string_view name, const Failure& failure);
  void exception(const Failure& failure, bool with_code = true);
  void exception_payload(const Failure& failure);
  void broken_limit(const Failure& failure);
  // By name; as they are when nobody here can read them.
  void properties(const std::string& declaring_class, const Payload& properties);
  void group_keys(const GroupPath& path);
  void one_group(const Group& group);

  void started_keys();
  void declared_keys(const Declarations& declared);
  void lineage_keys(const Lineage& lineage);
  void precedence_keys(const Precedence& precedence);
  // How often a child is run, and which of those runs this is.
  void child_retry_keys(const RetryPolicy& policy, std::int64_t attempt, std::string_view after);
  void deadlines();
  void closes(std::string_view type, std::string_view outcome, const Command& by,
              const std::string& reason);
  void closed(std::string_view as, const FailureId& id, const Failure& failure,
              const std::string& reason);

  Result<Activity*> find(const ActivityId& id) const;
  std::string task_id(const std::string& suffix) const;
  void activity_keys(const Activity& activity);
  void attempt_keys(const Activity& activity);
  void activity_deadlines(const Activity& activity);
  void activity_snapshot(const Activity& activity, std::string_view status,
                         const Payload* result = nullptr, const Failure* failure = nullptr);
  void attempt_snapshot(const Activity& activity, std::string_view status);
  void retry_policy(const RetryPolicy& policy);

  Result<void> timer_keys(const Timer& timer);
  void signal_for_condition(const SignalId& id);
  void condition_keys(const ConditionWaitOpened& opened);
  Result<void> end_condition(const WaitId& id);
  void update_keys(const Command& by, const UpdateId& id, const std::string& name);

  Result<Child*> find(const ChildCallId& id) const;
  void child_keys(const Child& child);
  void child_closed(const RunId& run, std::string_view status, std::string_view reason,
                    Child& child);
  Result<void> child_ended(const ChildCallId& call, const RunId& run, const FailureId& id,
                           std::string_view as, Failure failure);
  Result<void> close_policy(const ChildCallId& call, const RunId& run, ParentClosePolicy policy,
                            const std::string& reason);

  Renderer& r_;
  const Event& event_;
  JsonWriter& out_;
  CommandId command_id_;
};

}  // namespace dw::history
