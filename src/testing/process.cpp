#include "testing/process.hpp"

namespace dw::testing {
namespace {

engine::Settings settings() {
  engine::Settings settings;
  // Injected crashes come by the dozen. An activity that was given up because of them would say
  // nothing about the workflow.
  settings.max_lost_attempts = 1'000'000;
  return settings;
}

// Nothing goes missing from a store in memory; looking for it would be most of a quiet month.
engine::RepairPolicy rare_sweeps() {
  engine::RepairPolicy policy;
  policy.loop_throttle_seconds = 86'400;
  return policy;
}

}  // namespace

Process::Process(const ProcessParts& parts)
    : writer_(parts.scheduler, "writer"),
      reader_(parts.scheduler, "reader"),
      time_(parts.scheduler, "time"),
      shard_(parts.scheduler, "shard"),
      activity_threads_(parts.scheduler, "activities"),
      random_(parts.seed),
      workflows_(parts.registry, random_),
      activities_({parts.registry, parts.book, parts.faults, parts.clock, activity_threads_,
                   settings().activity_lease}),
      dispatch_(std::make_unique<dispatch::Dispatch>(
          dispatch::DispatchParts{.store = parts.store,
                                  .clock = parts.clock,
                                  .writer = writer_,
                                  .reader = reader_,
                                  .time = time_,
                                  .activities = activities_,
                                  .shards = {{shard_, workflows_, random_}},
                                  .settings = settings(),
                                  .repair = rare_sweeps(),
                                  .limits = parts.limits,
                                  .owner = "test"})) {
  dispatch_->begin();
}

// Nothing runs any more when the first object goes.
Process::~Process() {
  for (auto* executor : {&writer_, &reader_, &time_, &shard_, &activity_threads_}) {
    executor->clear();
  }
}

std::optional<Timestamp> Process::next_at() const {
  std::optional<Timestamp> next;
  for (const auto* executor : {&writer_, &reader_, &shard_, &activity_threads_}) {
    const auto at = executor->next_at();
    if (at && (!next || *at < *next)) next = at;
  }
  return next;
}

}  // namespace dw::testing
