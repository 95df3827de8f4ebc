// What the engine decides about runs, carried straight to a store: for tests that need runs, but
// nobody who works on them.
#pragma once
#include "dispatch/schedule_rows.hpp"
#include "engine/decide.hpp"
#include "history/codec.hpp"
#include "store/derived.hpp"

#include <fmt/format.h>

namespace dw::server {

class DecidedRuns {
 public:
  DecidedRuns(store::Store& store, const Clock& clock) : store_(store), clock_(clock) {}

  engine::Context now() { return {clock_.now(), ids_, settings_}; }

  // False when what the decision relied on has changed.
  bool commit(engine::Run& run, const engine::Decision& decision,
              const dispatch::ScheduleChange* along = nullptr) {
    const auto first = run.state.last_sequence + 1;
    engine::stage(run, decision, clock_.now());
    store::Transition transition;
    transition.id = CommitId{ids_.ulid()};
    transition.recorded_at = clock_.now();
    std::string events;
    history::append_events(events, decision.events);
    transition.appends = {{run.id, first, run.state.last_sequence, std::move(events)}};
    transition.tasks = decision.tasks;
    transition.runs = {store::row_of(run, 0, transition.id)};
    const history::WorkflowStarted& start = run.state.start;
    transition.instances = {
        {{start.ns, start.instance_id}, start.workflow_type, run.id, transition.id}};
    if (along) add_to(transition, *along);
    return std::holds_alternative<store::Won>(store_.commit({&transition, 1}).front());
  }

 private:
  // Names that can be told apart and sort in the order they were made.
  class NumberedIds final : public engine::Ids {
   public:
    std::string ulid() override { return fmt::format("01J{:023}", ++ids_); }
    std::string task_suffix() override { return fmt::format("task{}", ++tasks_); }

   private:
    int ids_ = 0;
    int tasks_ = 0;
  };

  store::Store& store_;
  const Clock& clock_;
  NumberedIds ids_;
  engine::Settings settings_;
};

}  // namespace dw::server
