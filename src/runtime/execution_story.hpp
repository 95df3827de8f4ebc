// For tests: workflow code against history, with nothing else in between: no store, no threads, no
// clock.
#pragma once
#include "engine/decide.hpp"
#include "history/fold.hpp"
#include "runtime/execution.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace dw::runtime {

using namespace dw::history;
using namespace std::chrono_literals;

class CountingIds final : public engine::Ids {
 public:
  std::string ulid() override { return "id-" + std::to_string(++last_); }
  std::string task_suffix() override { return "t" + std::to_string(++last_); }

 private:
  int last_ = 0;
};

// One run and the code that runs it. Activities are answered by the test.
class Story {
 public:
  Story(const Registry& registry, std::string_view type, const Value& arguments = Value::Array{})
      : registry_(registry) {
    engine::StartCommand command;
    command.instance_id = InstanceId{"story"};
    command.workflow_type = type;
    command.arguments = *encode(arguments);
    if (const auto* definition = registry.find_workflow(type)) {
      command.fingerprint = definition->fingerprint;
      command.declared = definition->snapshot;
    }
    auto started = engine::decide_start(nullptr, command, context());
    run_.id = started.run_id;
    add(started.decision);
  }

  // Lets the code run to where it parks, and records what it asked for.
  Progress go() {
    if (!execution_) {
      execution_ = std::make_unique<Execution>(registry_, stacks_, random_, run_.id);
      fed_ = 0;
    }
    Progress all;
    for (;;) {
      execution_->feed(std::span{events_}.subspan(fed_));
      fed_ = events_.size();
      const auto now = context();
      auto progress = execution_->run(std::max(now.now, run_.state.last_recorded_at));
      if (progress.blocked || progress.commands.empty()) {
        all.blocked = progress.blocked;
        return all;
      }
      auto decision = engine::decide_workflow_task(run_, progress.commands, now);
      EXPECT_TRUE(decision) << decision.error().message;
      add(*decision);
      std::ranges::move(progress.commands, std::back_inserter(all.commands));
      if (progress.spoiled) {
        crash();
        return go();
      }
      if (!decision->wake) return all;
    }
  }

  // The process died: only the events are left.
  void crash() { execution_.reset(); }
  // Another build of the program takes over.
  void deploy(const Registry& registry) {
    crash();
    registry_ = std::cref(registry);
  }

  void complete(const Value& result) { finish(*encode(result)); }
  void fail(std::string message) {
    finish(Failure{"std::runtime_error", {}, std::move(message), false});
  }

  void fire_timer() {
    now_ = run_.state.timers.at(0).fire_at;
    add(engine::decide_fire_timer(run_, run_.state.timers.at(0).id, context()));
  }

  engine::CommandOutcome signal(std::string name, const Value& arguments = Value::Array{}) {
    engine::SignalCommand command;
    command.name = std::move(name);
    command.arguments = *encode(arguments);
    auto decided = engine::decide_signal(run_, command, context());
    add(decided.decision);
    return decided.reply;
  }
  engine::CommandOutcome update(std::string name, const Value& arguments = Value::Array{}) {
    engine::UpdateCommand command;
    command.name = std::move(name);
    command.arguments = *encode(arguments);
    auto decided = engine::decide_update(run_, command, context());
    add(decided.decision);
    return decided.reply;
  }
  // A child ended and its parent has been told.
  void child_completed(const Value& output, std::size_t which = 0) {
    const auto& child = run_.state.children.at(which);
    add_event(ChildRunCompleted{child.id, child.run_id, *encode(output)});
  }
  void child_failed(Failure failure, std::size_t which = 0) {
    const auto& child = run_.state.children.at(which);
    add_event(ChildRunFailed{child.id, child.run_id, FailureId{ids_.ulid()}, "failed",
                             std::move(failure)});
  }
  void child_cancelled(std::size_t which = 0) {
    const auto& child = run_.state.children.at(which);
    add_event(ChildRunCancelled{child.id, child.run_id, FailureId{ids_.ulid()}, "stop it"});
  }
  // Answered out of a barrier, by its place among the open ones.
  void complete(std::size_t which, const Value& result) { finish(*encode(result), which); }
  void fail(std::size_t which, Failure failure) { finish(std::move(failure), which); }

  // What a query that finds nothing in memory sees.
  Value query(std::string_view name, const Value& arguments = Value::Array{}) {
    Execution replayed{registry_, stacks_, random_, run_.id};
    replayed.feed(events_);
    if (const auto blocked = replayed.replay()) throw std::runtime_error{blocked->message};
    return *decode(replayed.query(name, *encode(arguments)));
  }
  // The same, of the code that is suspended.
  Value query_warm(std::string_view name, const Value& arguments = Value::Array{}) {
    return *decode(execution_->query(name, *encode(arguments)));
  }

  // The clock stands still: what happens next happens at the same moment.
  void freeze_clock() { step_ = 0ms; }

  const RunState& state() const { return run_.state; }
  Value output() const { return *decode(*run_.state.output); }
  std::string open_activity() const {
    return run_.state.activities.empty() ? "" : run_.state.activities.front().type;
  }
  const std::vector<Event>& events() const { return events_; }
  StackPool& stacks() { return stacks_; }

  int count(std::string_view type) const {
    return static_cast<int>(std::ranges::count_if(
        events_, [&](const Event& event) { return type_name(event.body) == type; }));
  }

 private:
  engine::Context context() { return {now_ += step_, ids_, settings_}; }

  void add_event(EventBody event) {
    engine::Decision decision;
    decision.events.push_back(std::move(event));
    context();
    add(decision);
  }

  void finish(std::variant<Payload, Failure> outcome, std::size_t which = 0) {
    const auto activity = run_.state.activities.at(which).id;
    auto started = engine::decide_start_activity(run_, activity, "test", context());
    add(started.decision);
    auto reply = engine::decide_finish_activity(
        run_, {activity, *started.attempt, std::move(outcome)}, context());
    ASSERT_TRUE(reply.recorded);
    add(reply.decision);
  }

  void add(const engine::Decision& decision) {
    std::ranges::move(engine::stage(run_, decision, now_), std::back_inserter(events_));
  }

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
