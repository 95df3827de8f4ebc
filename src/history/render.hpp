// What leaves the engine: stored facts plus everything earlier events say about them, so that a
// reader of one event need not have read the others. History keeps each fact once; the wire,
// exports and the console show it wherever it belongs.
#pragma once
#include "history/events.hpp"

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dw::history {

// People and exports get what an event means; workers, who replay it, get payloads as they were
// sent, and the name under which their protocol knows an event's type.
enum class Reader { anybody, worker };

// Fed a run's commits from its first, in order. Remembers what is open, and forgets it when closed:
// a history of any length is rendered in the memory of its open work.
class Renderer {
 public:
  explicit Renderer(RunId run, Reader reader = Reader::anybody)
      : run_id_(std::move(run)), reader_(reader) {}

  // One JSON object per event: {id, run_id, sequence, type, payload{…}, recorded_at,
  // workflow_command_id?}. The id is the commit's, counted up by the event's place in it. Takes a
  // whole commit because StartAccepted shows what WorkflowStarted, right behind it, says.
  // Fails with corrupt_history when an event speaks of work that is not open.
  Result<std::vector<std::string>> render(const CommitId& commit, std::span<const Event> events);

 private:
  friend class EventRenderer;

  std::string type_for_reader(const EventBody& body) const;

  struct Activity {
    ActivityScheduled scheduled;
    Timestamp created_at;
    Timestamp available_at;  // of the delivery under way
    std::optional<Timestamp> started_at;
    std::string task;
    std::int64_t attempt_count = 0;
    AttemptId attempt_id;  // of the current or last attempt; empty before the first
    bool running = false;
    std::string lease_owner;
    Timestamp attempt_started_at;
    Timestamp lease_expires_at;
    std::optional<Timestamp> attempt_heartbeat_at;
    std::optional<Timestamp> last_heartbeat_at;  // of any attempt, like the progress
    std::optional<Value> progress;
  };
  struct Timer {
    TimerScheduled scheduled;
    Timestamp fire_at;
  };
  struct Condition {
    ConditionWaitOpened opened;
    TimerId timer;    // that bounds it, or did
    SignalId signal;  // the first that came since
  };
  struct Update {
    UpdateAccepted accepted;
    std::optional<std::int64_t> step;  // once applied
  };
  struct Child {
    ChildWorkflowScheduled scheduled;  // of an inherited one: no step, no type
    RunId run_id;
    std::int64_t run_number = 0;  // 0: not known
  };
  // A failure thrown into the workflow, until it is handled.
  struct Raised {
    std::string_view source_kind;
    std::string source_id;
    std::string_view category;
    std::string_view propagation_kind;
    Failure failure;
  };

  RunId run_id_;
  Reader reader_;
  WorkflowStarted start_;  // without its arguments, with memo and search attributes as they are now
  Timestamp started_at_;
  std::map<ActivityId, Activity> activities_;
  std::map<TimerId, Timer> timers_;
  std::map<WaitId, Condition> conditions_;
  std::map<WaitId, SignalWaitOpened> signal_waits_;
  std::map<SignalId, SignalReceived> signals_;
  std::map<UpdateId, Update> updates_;
  std::map<ChildCallId, Child> children_;
  std::map<FailureId, Raised> raised_;
  CommandId start_command_;
  CommandId closing_command_;
};

// The keys a rendered payload may hold; others are refused by tests on both sides of the wire.
struct RenderedKey {
  std::string_view name;
  bool required;
};
std::span<const RenderedKey> rendered_contract(std::string_view type);

}  // namespace dw::history
