// One workflow being executed: history in, commands out. It replays what is recorded, runs on from
// there, and parks where the next answer is still missing. A parked execution stays warm: fed with
// the events it has not seen, it goes on from the very line it stopped at. Dropping it loses
// nothing; a new one fed with the whole history arrives at the same line.
#pragma once
#include "core/random.hpp"
#include "engine/commands.hpp"
#include "history/events.hpp"
#include "runtime/fiber.hpp"

#include <dw/registry.hpp>

#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace dw::runtime {

using engine::Blocked;
using engine::Progress;

class Execution final : private dw::detail::Steps {
 public:
  // `random` feeds uuid4(); what it gave is recorded.
  Execution(const Registry& registry, StackPool& stacks, Random& random, const RunId& run);
  ~Execution() override;

  // Takes events the execution has not seen, in order, starting with the run's first.
  void feed(std::span<const history::Event> events);
  std::int64_t last_sequence() const { return last_sequence_; }

  // Runs until the workflow waits for something unrecorded, ends, or cannot go on.
  Progress run();

 private:
  enum class Shape { activity, timer, side_effect };
  struct Step {
    Shape shape;
    std::string detail;  // the activity type
    std::string opened_by;
    bool resolved = false;
    Timestamp resolved_at;
    Payload value;
    std::optional<history::Failure> failure;
    FailureId failure_id;
  };
  struct OpenName {
    std::string id;
    std::int64_t step;
  };

  // Steps
  std::string_view activity_type(dw::detail::FunctionKey function) const override;
  Payload activity(std::string_view type, const ActivityOptions& options,
                   Payload arguments) override;
  void sleep(std::chrono::seconds delay) override;
  Payload side_effect(const std::function<Payload()>& produce) override;
  Timestamp now() const override { return now_; }
  std::string uuid() override;
  const std::string& instance_id() const override { return instance_id_; }
  const std::string& run_id() const override { return run_id_; }
  bool replaying() const override { return next_step_ <= last_recorded_step_; }

  void body();
  void finish_feed(const history::Event& event);
  Step* find(std::int64_t step);
  Step* resolve(std::string_view id, Timestamp at);
  void open(std::int64_t step, Shape shape, std::string detail, std::string_view opened_by,
            std::string id);

  // The beginning of every step: notes a survived failure and gives the step its number.
  std::int64_t begin_step();
  void note_survived_failure();
  // Stops for good when history holds another shape for this step.
  void guard(std::int64_t number, const Step& recorded, Shape shape, std::string_view detail);
  Step take(std::int64_t number, Shape shape, std::string_view detail);
  [[noreturn]] void block(Blocked why);

  const Registry& registry_;
  StackPool& stacks_;
  Random& random_;
  std::string run_id_;
  std::string instance_id_;
  std::string workflow_type_;
  Payload arguments_;

  std::deque<Step> steps_;  // recorded, not yet taken by the code; the first is first_step_
  std::int64_t first_step_ = 1;
  std::int64_t last_recorded_step_ = 0;
  std::vector<OpenName> open_;  // activities and timers by id
  std::vector<FailureId> handled_;
  std::int64_t next_step_ = 1;
  std::int64_t last_sequence_ = 0;
  Timestamp now_;

  struct Survived {
    FailureId id;
    std::int64_t step;
  };
  std::optional<Survived> thrown_;  // the failure the code is dealing with
  std::vector<engine::WorkflowCommand> commands_;
  std::optional<Blocked> blocked_;
  bool dropping_ = false;
  // Two names for one fiber: the body still needs it while the owner is letting go.
  std::unique_ptr<Fiber> owned_fiber_;
  Fiber* fiber_ = nullptr;
};

// What an exception leaves behind in history. Call inside a catch block.
history::Failure describe_current_exception();

}  // namespace dw::runtime
