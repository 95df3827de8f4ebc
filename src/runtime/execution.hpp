// One workflow being executed: history in, commands out. It replays what is recorded, runs on from
// there, and parks where the next answer is still missing. A parked execution stays warm: fed with
// the events it has not seen, it goes on from the very line it stopped at. Dropping it loses
// nothing; a new one fed with the whole history arrives at the same line.
#pragma once
#include "core/random.hpp"
#include "engine/commands.hpp"
#include "history/events.hpp"
#include "runtime/fiber.hpp"
#include "runtime/source_place.hpp"

#include <dw/registry.hpp>

#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dw::runtime {

using engine::Blocked;
using engine::Progress;

// Code that runs between two steps and must not take one, for as long as this lives.
class NoSteps {
 public:
  NoSteps(const char*& slot, const char* who) : slot_(slot), before_(std::exchange(slot, who)) {}
  ~NoSteps() { slot_ = before_; }
  NoSteps(const NoSteps&) = delete;

 private:
  const char*& slot_;
  const char* before_;
};

class Execution final : private dw::detail::Steps {
 public:
  // `random` feeds uuid4(); what it gave is recorded.
  Execution(const Registry& registry, StackPool& stacks, Random& random, const RunId& run);
  ~Execution() override;

  // Takes events the execution has not seen, in order, starting with the run's first.
  void feed(std::span<const history::Event> events);
  std::int64_t last_sequence() const { return last_sequence_; }

  // Runs until the workflow waits for something unrecorded, ends, or cannot go on. `now` is the
  // moment its commands will be recorded at.
  Progress run(Timestamp now);

  // Only gives back what is recorded: takes no new step, applies nothing pending, and so says
  // nothing but whether the code still fits. For queries on runs that are not in memory.
  std::optional<Blocked> replay();
  // Asks the workflow's object; throws what the query throws. The name must be declared.
  Payload query(std::string_view name, const Payload& arguments);

 private:
  enum class Shape {
    activity,
    local_activity,
    timer,
    side_effect,
    condition,
    signal,
    version,
    memo,
    search_attributes,
    child,
    continue_as_new
  };
  struct Setback {
    history::Failure failure;
    FailureId id;
    std::string closed_reason = {};  // of a child
  };
  // A long history is thousands of these at a time: what few have stands elsewhere.
  struct Step {
    Shape shape{};
    std::string detail = {};  // the activity's or child's type, the signal's name, the change id
    std::string_view opened_by = {};  // an event type
    bool resolved = false;
    std::int64_t resolved_by = 0;  // the event the code waits for; 0 for what it answers itself
    Timestamp resolved_at = {};
    Payload value = {};
    std::int64_t number = 0;                     // the version, or whether a condition held
    std::unique_ptr<Setback> setback = {};       // instead of a value
    std::string fingerprint = {};                // of a condition, with its key in `detail`
    std::optional<std::int64_t> timed_out = {};  // the event that fired a wait's timeout
    Timestamp timed_out_at = {};
    history::GroupPath group = {};
  };
  struct OpenName {
    std::string id;
    std::int64_t step;
    bool bounds = false;  // a timer that only limits the wait at that step
  };
  struct Received {
    SignalId id;
    std::string name;
    Payload arguments;
    std::int64_t sequence;
  };
  struct Update {
    UpdateId id;
    std::string name;
    Payload arguments;
    std::int64_t accepted = 0;  // the event
    std::int64_t step = 0;      // of a recorded one
  };
  struct Child {
    dw::detail::ChildRef ref;
    std::int64_t step;
  };

  // Steps
  std::string_view activity_type(dw::detail::FunctionKey function) const override;
  std::string_view workflow_type(dw::detail::FunctionKey function) const override;
  std::string_view workflow_type(const std::type_info& type) const override;
  std::string_view callback_name(dw::detail::FunctionKey function) const override;
  Payload activity(std::string_view type, const ActivityOptions& options,
                   Payload arguments) override;
  Payload local_activity(std::string_view type, const LocalActivityOptions& options,
                         Payload arguments) override;
  void sleep(std::chrono::seconds delay) override;
  Payload side_effect(const std::function<Payload()>& produce) override;
  bool await(const std::function<bool()>& holds, const AwaitOptions& options) override;
  std::optional<Payload> await_signal(std::string_view name,
                                      std::optional<std::chrono::seconds> timeout) override;
  Payload child(std::string_view type, const ChildOptions& options, Payload arguments) override;
  std::vector<Payload> all(const dw::detail::CallTree& calls) override;
  int get_version(std::string_view change_id, int min, int max) override;
  void upsert_memo(Value entries) override;
  void upsert_search_attributes(Value attributes) override;
  [[noreturn]] void continue_as_new(Payload arguments) override;
  std::vector<dw::detail::ChildRef> children() const override;
  void signal_child(const dw::detail::ChildRef& child, std::string_view name,
                    Payload arguments) override;
  std::int64_t history_length() const override { return met_; }
  std::int64_t history_fan_out() const override { return widest_; }
  Timestamp now() const override { return now_; }
  std::string uuid() override;
  const std::string& instance_id() const override { return instance_id_; }
  const std::string& run_id() const override { return run_id_; }
  bool replaying() const override { return next_step_ <= last_recorded_step_; }

  void resume();
  void body();
  void finish_feed(const history::Event& event);
  Step* find(std::int64_t step);
  Step* resolve(std::string_view id, Timestamp at);
  // The code has got what that event brought.
  void meet(std::int64_t sequence);
  Step* open(std::int64_t step, Shape shape, std::string detail, std::string_view opened_by,
             std::string id);
  void child_ended(std::string_view call_id, Timestamp at, const FailureId& failure_id,
                   history::Failure failure, std::string closed_reason);

  // The beginning of every step: notes a survived failure, applies updates, gives it its number.
  std::int64_t begin_step();
  void note_survived_failure();
  // Runs the updates that belong before step `number` is resolved: those recorded there, and, where
  // history ends, those that wait.
  void settle_updates(std::int64_t number);
  bool at_frontier(std::int64_t number);
  void apply_pending(std::int64_t number);
  Payload run_update(const Update& update);
  // Waits for something new to be fed.
  void park(std::int64_t number);
  [[noreturn]] void park_for_good();

  // Stops for good when history holds another shape for this step.
  void guard(std::int64_t number, const Step& recorded, Shape shape, std::string_view detail);
  void guard_condition(std::int64_t number, const Step& recorded, const AwaitOptions& options,
                       const std::string& fingerprint);
  void guard_group(std::int64_t number, const Step& recorded, const history::GroupPath& group);
  Step take(std::int64_t number, Shape shape, std::string_view detail);
  Step pop(std::int64_t number);
  // Past a step that code has answered by itself: its record is on the way.
  void run_ahead(std::int64_t number);
  [[noreturn]] void block(Blocked why);
  [[noreturn]] void raise(Step step, std::int64_t number);

  engine::ScheduleActivity schedule(std::int64_t number, std::string_view type,
                                    const ActivityOptions& options, Payload arguments) const;
  engine::StartChild start_child(std::int64_t number, std::string_view type,
                                 const ChildOptions& options, Payload arguments) const;
  engine::Definition definition_of(std::string_view type) const;

  const Registry& registry_;
  StackPool& stacks_;
  Random& random_;
  std::string run_id_;
  std::string instance_id_;
  std::string workflow_type_;
  std::string fingerprint_;  // of the code this run began with
  Payload arguments_;
  const dw::detail::WorkflowDefinition* definition_ = nullptr;
  std::shared_ptr<void> object_;  // of a workflow that is a class

  std::deque<Step> steps_;  // recorded, not yet taken by the code; the first is first_step_
  std::int64_t first_step_ = 1;
  std::int64_t last_recorded_step_ = 0;
  std::vector<OpenName> open_;  // activities, timers, waits and children by id
  std::vector<FailureId> handled_;
  std::vector<Received> signals_;  // not yet applied, in the order they came
  std::vector<Update> pending_;    // accepted, not yet applied
  std::deque<Update> recorded_;    // applied according to history, not yet by this replay
  std::vector<UpdateId> applied_;  // by this code, their record still on the way
  std::vector<Child> children_;
  std::int64_t next_step_ = 1;
  std::int64_t last_sequence_ = 0;  // of the events fed
  std::int64_t met_ = 0;            // of those, the last one the code has waited for
  std::int64_t widest_ = 0;         // leaves of the largest barrier it has passed
  std::int64_t signals_sent_ = 0;
  Timestamp now_;
  Timestamp task_time_;

  struct Survived {
    FailureId id;
    std::int64_t step;
  };
  std::optional<Survived> thrown_;  // the failure the code is dealing with
  std::vector<engine::WorkflowCommand> commands_;
  std::optional<Blocked> blocked_;
  std::optional<SourcePlace> blocked_at_;  // until it is spelt out
  bool spoiled_ = false;
  bool replay_only_ = false;
  bool dropping_ = false;
  const char* no_steps_in_ = nullptr;  // "an update", "a condition": code that must not wait
  // Two names for one fiber: the body still needs it while the owner is letting go.
  std::unique_ptr<Fiber> owned_fiber_;
  Fiber* fiber_ = nullptr;
};

}  // namespace dw::runtime
