#include "sim/sim_activities.hpp"

#include "sim/workload.hpp"
#include "worker/activity_runner.hpp"

namespace dw::sim {

using namespace std::chrono_literals;

bool SimActivities::knows(std::string_view activity_type) const {
  return parts_.registry.find_activity(activity_type) != nullptr;
}

bool SimActivities::try_reserve() {
  if (reserved_ >= parts_.slots) return false;
  ++reserved_;
  return true;
}

void SimActivities::release() {
  if (reserved_ <= static_cast<int>(running_.size())) {
    return parts_.checker.break_off("an activity slot was given back that nobody had taken");
  }
  --reserved_;
}

void SimActivities::at(Duration delay, Executor::Work work) {
  parts_.executor.post_at(parts_.clock.now() + delay, std::move(work));
}

Duration SimActivities::up_to(Duration longest) {
  return Duration{
      static_cast<std::int64_t>(parts_.random.below(static_cast<std::uint64_t>(longest.count())))};
}

void SimActivities::leave(const AttemptId& attempt) {
  running_.erase(attempt);
  release();
}

void SimActivities::run(dispatch::ActivityWork work, Done done) {
  parts_.checker.launched(work);
  if (static_cast<int>(running_.size()) >= reserved_) {
    parts_.checker.break_off("an activity was launched without a slot");
  }
  running_.insert(work.attempt_id);

  Random& random = parts_.random;
  Duration takes = up_to(random.below(4) == 0 ? 2s : 20ms);
  const Duty duty = duty_of(work.type, work.arguments);
  const bool must_die = work.attempt_number <= duty.to_lose;
  const bool drags = work.attempt_number <= duty.to_drag;
  const bool dies = must_die || (failing && parts_.faults.die.hit(random));
  const bool zombie = failing && parts_.faults.zombie.hit(random);
  const bool fails = failing && retried_for_ever(work.type) && parts_.faults.error.hit(random);
  if (failing && parts_.faults.slow.hit(random)) takes += parts_.lease * 2;

  parts_.trace("activity {} {} attempt {}{}{}{}{}", work.instance_id.str(), work.type,
               work.attempt_number, dies ? " dies" : "", zombie ? " as a zombie" : "",
               fails ? " will fail" : "", drags ? " drags" : "");
  if (parts_.plant == Plant::outcome_forgotten && random.below(20) == 0) return;
  if (dies || zombie) {
    at(takes, [this, attempt = work.attempt_id] { leave(attempt); });
    if (!zombie) return;
    // Long after its lease: another attempt has probably begun, or ended.
    at(takes + parts_.lease + up_to(parts_.lease),
       [this, fails, work = std::move(work), done = std::move(done)] {
         report(work, done, fails);
       });
    return;
  }
  if (drags) {
    const Timestamp until = parts_.clock.now() + 1s + up_to(60s);
    return drag(std::make_shared<Drag>(Drag{std::move(work), std::move(done), duty.beats, until}));
  }
  at(takes, [this, fails, work = std::move(work), done = std::move(done)] {
    leave(work.attempt_id);
    report(work, done, fails);
  });
}

void SimActivities::drag(const std::shared_ptr<Drag>& attempt) {
  const dispatch::ActivityWork& work = attempt->work;
  const Timestamp now = parts_.clock.now();
  // Told that nobody waits any more, it stops; what it has it reports all the same.
  if (now >= attempt->until || (work.cancelled && *work.cancelled)) {
    leave(work.attempt_id);
    return report(work, attempt->done, false);
  }
  // In the last ten seconds it is too busy to give a sign.
  if (attempt->beats && work.listener && now + 10s < attempt->until) {
    ++attempt->beat;
    std::optional<Value> progress;
    if (attempt->beat % 3 == 0) progress = Value::Map{{"current", Value{attempt->beat}}};
    work.listener->activity_alive(work, std::move(progress));
  }
  at(200ms + up_to(1s), [this, attempt] { drag(attempt); });
}

void SimActivities::report(const dispatch::ActivityWork& work, const Done& done, bool fails) {
  auto outcome = worker::run_activity(parts_.registry, work);
  if (fails) outcome.outcome = history::Failure{"sim::Injected", {}, "bad luck", false};
  parts_.checker.produced(outcome);
  if (parts_.plant == Plant::stale_attempt) {
    const auto* run = parts_.checker.find(work.run_id);
    for (const auto& open : run ? run->state.activities : std::vector<history::OpenActivity>{}) {
      if (open.id == work.activity_id && open.running()) outcome.attempt_id = open.attempt_id;
    }
  }
  if (failing && parts_.faults.twice.hit(parts_.random)) {
    at(Duration{static_cast<std::int64_t>(parts_.random.below(5'000'000))},
       [outcome, done] { done(outcome); });
  }
  done(std::move(outcome));
}

}  // namespace dw::sim
