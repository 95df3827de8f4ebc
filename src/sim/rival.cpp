#include "sim/rival.hpp"

#include "history/codec.hpp"

#include <algorithm>

namespace dw::sim {
namespace {

struct RivalIds final : engine::Ids {
  RivalIds(UlidSource& source, Random& rng, Timestamp at) : ulids(source), random(rng), now(at) {}
  std::string ulid() override { return ulids.next(now); }
  std::string task_suffix() override { return fmt::format("R{:09x}", random.below(1ULL << 36)); }
  UlidSource& ulids;
  Random& random;
  Timestamp now;
};

}  // namespace

void Rival::interfere(const dispatch::ActivityHost* alive) {
  std::vector<const RunId*> open;
  for (const auto& [id, run] : checker_.runs()) {
    if (run.state.open()) open.push_back(&id);
  }
  if (open.empty()) return;
  const RunId& id = *open[random_.below(open.size())];
  const auto& activities = checker_.find(id)->state.activities;
  interfere(id,
            alive && std::ranges::any_of(activities, [&](const history::OpenActivity& activity) {
              return alive->alive(activity.attempt_id);
            }));
}

void Rival::interfere(const RunId& id, bool may_close) {
  const Checker::Run* seen = checker_.find(id);
  if (!seen || !seen->state.open()) return;
  const Timestamp now = clock_.now();
  RivalIds ids{ulids_, random_, now};
  const engine::Context context{now, ids, settings_};
  engine::Run run{id, seen->state, seen->row.workflow_task};
  // History does not know the numbers that refused commands took; the row does.
  run.state.last_command_sequence =
      std::max(run.state.last_command_sequence, seen->row.last_command_sequence);

  engine::Decision decision;
  if (random_.below(8) == 0 && may_close) {
    checker_.may_be_closed(seen->row.instance_id);
    const auto kind = random_.below(2) == 0 ? engine::CloseCommand::Kind::cancel
                                            : engine::CloseCommand::Kind::terminate;
    decision = engine::decide_close(run, {kind, "rival", {}, "rival"}, context).decision;
  } else {
    engine::StartCommand again;
    again.ns = seen->row.ns;
    again.instance_id = seen->row.instance_id;
    again.workflow_type = seen->row.workflow_type;
    again.duplicate_start_policy = random_.below(2) == 0
                                       ? engine::DuplicateStartPolicy::reject_duplicate
                                       : engine::DuplicateStartPolicy::return_existing_active;
    again.source = "rival";
    decision = engine::decide_start(&run, again, context).decision;
  }

  // A node that is alone does not look for what others wrote: what this one would say to other
  // runs, or to who waits for an update, nobody would hear.
  const auto speaks = [](const engine::TaskChange& change) {
    return change.task.type == engine::TaskType::intent;
  };
  if (std::ranges::any_of(decision.tasks, speaks) ||
      (!seen->state.updates.empty() && decision.events.size() > 1)) {
    return;
  }

  store::StreamAppend append;
  append.run_id = id;
  append.first_sequence = run.state.last_sequence + 1;
  engine::stage(run, decision, now);
  append.last_sequence = run.state.last_sequence;
  history::append_events(append.events, decision.events);

  store::Transition transition;
  transition.id = CommitId{ulids_.next(now)};
  transition.recorded_at = run.state.last_recorded_at;
  transition.reads.push_back({id, seen->row.version});
  store::RunRow row = seen->row;
  row.version = transition.id;
  row.status = run.state.status;
  row.closed_reason = run.state.closed_reason;
  row.last_sequence = run.state.last_sequence;
  row.last_command_sequence = run.state.last_command_sequence;
  row.history_bytes += static_cast<std::int64_t>(append.events.size());
  if (!run.state.open()) {
    row.closed_at = run.state.closed_at;
    row.workflow_task.reset();
  }
  transition.runs.push_back(std::move(row));
  transition.appends.push_back(std::move(append));
  transition.tasks = std::move(decision.tasks);
  const auto outcomes = disk_.commit({&transition, 1});
  checker_.committed({&transition, 1}, outcomes, "rival");
}

}  // namespace dw::sim
