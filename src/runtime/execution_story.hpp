// For tests: workflow code against history, with nothing else in between: no store, no threads, no
// clock.
#pragma once
#include "engine/decide.hpp"
#include "runtime/execution.hpp"

#include <functional>

namespace dw::runtime {

using namespace dw::history;
using namespace std::chrono_literals;

class CountingIds final : public engine::Ids {
 public:
  std::string ulid() override;
  std::string task_suffix() override;

 private:
  int last_ = 0;
};

// One run and the code that runs it. Activities are answered by the test.
class Story {
 public:
  Story(const Registry& registry, std::string_view type, const Value& arguments = Value::Array{});
  ~Story();

  // Lets the code run to where it parks, and records what it asked for, at once or that much later.
  Progress go(std::chrono::milliseconds late = 0ms);

  // The process died: only the events are left.
  void crash();
  // Another build of the program takes over.
  void deploy(const Registry& registry);

  void complete(const Value& result);
  void fail(std::string message);

  void fire_timer();

  engine::CommandOutcome signal(std::string name, const Value& arguments = Value::Array{});
  engine::CommandOutcome update(std::string name, const Value& arguments = Value::Array{});
  // A child ended and its parent has been told.
  void child_completed(const Value& output, std::size_t which = 0);
  void child_failed(Failure failure, std::size_t which = 0);
  void child_cancelled(std::size_t which = 0);
  // Answered out of a barrier, by its place among the open ones.
  void complete(std::size_t which, const Value& result);
  void fail(std::size_t which, Failure failure);

  // What a query that finds nothing in memory sees.
  Value query(std::string_view name, const Value& arguments = Value::Array{});
  // The same, of the code that is suspended.
  Value query_warm(std::string_view name, const Value& arguments = Value::Array{});

  // The clock stands still: what happens next happens at the same moment.
  void freeze_clock() { step_ = 0ms; }

  const RunState& state() const { return run_.state; }
  Value output() const;
  std::string open_activity() const;
  const std::vector<Event>& events() const { return events_; }
  StackPool& stacks() { return stacks_; }

  int count(std::string_view type) const;

 private:
  engine::Context context();

  void add_event(EventBody event);

  void finish(std::variant<Payload, Failure> outcome, std::size_t which = 0);

  void add(const engine::Decision& decision);

  std::reference_wrapper<const Registry> registry_;
  StackPool stacks_;
  SeededRandom random_{7};
  CountingIds ids_;
  engine::Settings settings_;
  Timestamp now_{from_micros(1'770'000'000'000'000)};
  std::chrono::milliseconds step_{1};
  engine::Run run_;
  std::vector<Event> events_;
  std::size_t fed_ = 0;
  std::unique_ptr<Execution> execution_;
};

}  // namespace dw::runtime
