// For tests: a dispatch on a simulated machine that has no code of its own. Whatever there is to do
// is offered to workers elsewhere.
#pragma once
#include "dispatch/dispatch.hpp"
#include "machine/scheduler.hpp"

namespace dw::dispatch {

class NoWorkflows final : public WorkflowHost {
 public:
  bool knows(std::string_view) const override { return false; }
  bool warm(const RunId&) const override { return false; }
  engine::Progress run(const RunId&, std::span<const history::Event>, Timestamp) override {
    return {};
  }
  Result<Payload> query_warm(const RunId&, std::span<const history::Event>, std::string_view,
                             const Payload&) override {
    return nobody();
  }
  Result<Payload> query_replayed(const RunId&, std::span<const history::Event>, std::string_view,
                                 const Payload&) override {
    return nobody();
  }
  void forget(const RunId&) override {}
  std::size_t bytes_per_run() const override { return 1; }

 private:
  static Error nobody() { return {ErrorCode::code_unavailable, "nobody here has the code"}; }
};

class NoActivities final : public ActivityHost {
 public:
  bool knows(std::string_view) const override { return false; }
  bool try_reserve() override { return false; }
  void release() override {}
  void run(ActivityWork, Done) override {}
  bool alive(const AttemptId&) const override { return false; }
};

struct LoneNode {
  LoneNode(store::Store& store, Timestamp now, OfferListener& elsewhere,
           std::size_t max_queued_commits = 100)
      : clock(now),
        dispatch({.store = store,
                  .clock = clock,
                  .writer = writer,
                  .reader = reader,
                  .time = time,
                  .activities = activities,
                  .shards = {{shard, workflows, random}},
                  .settings = {},
                  .limits = {},
                  .max_queued_commits = max_queued_commits,
                  .owner = "server",
                  .elsewhere = &elsewhere}) {}

  // Does what can be done without time passing.
  void settle() {
    while (scheduler.step(clock.now())) {
    }
  }

  machine::SimClock clock;
  SeededRandom random{1};
  machine::Scheduler scheduler{clock, random, Duration{0}};
  machine::SimExecutor shard{scheduler, "shard"};
  machine::SimExecutor writer{scheduler, "writer"};
  machine::SimExecutor reader{scheduler, "reader"};
  machine::SimExecutor time{scheduler, "time"};
  NoWorkflows workflows;
  NoActivities activities;
  Dispatch dispatch;
};

}  // namespace dw::dispatch
