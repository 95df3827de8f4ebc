#include "testing/stubbed_activities.hpp"

#include "worker/activity_runner.hpp"

#include <algorithm>

namespace dw::testing {
namespace {

using namespace std::chrono_literals;

constexpr int slots = 10'000;
constexpr Duration slow = 1h;

}  // namespace

bool StubbedActivities::knows(std::string_view activity_type) const {
  return parts_.book.knows(parts_.registry, activity_type);
}

bool StubbedActivities::try_reserve() {
  if (reserved_ >= slots) return false;
  ++reserved_;
  return true;
}

void StubbedActivities::run(dispatch::ActivityWork work, Done done) {
  running_.insert(work.attempt_id);
  parts_.executor.post(
      [this, work = std::move(work), done = std::move(done)] { attempt(work, done); });
}

void StubbedActivities::attempt(const dispatch::ActivityWork& work, const Done& done) {
  const Fate fate = parts_.faults.fate_of(work.activity_id);
  if (fate == Fate::dies_untouched) return vanish(work.attempt_id);
  auto outcome = call(work);
  if (fate == Fate::dies_silent) return vanish(work.attempt_id);
  if (fate == Fate::reports_late) {
    vanish(work.attempt_id);
    return at(parts_.lease * 2, [done, outcome = std::move(outcome)] { done(outcome); });
  }
  const auto stub = parts_.book.stubs.find(work.type);
  Duration takes = stub == parts_.book.stubs.end() ? Duration{0} : stub->second.takes;
  if (fate == Fate::slow) takes = std::max(takes, slow);
  auto report = [this, work, done, fate, outcome = std::move(outcome)] {
    leave(work.attempt_id);
    done(outcome);
    if (fate == Fate::twice) done(call(work));
  };
  if (takes == Duration{0}) return report();
  at(takes, std::move(report));
}

engine::ActivityOutcome StubbedActivities::call(const dispatch::ActivityWork& work) {
  Call made;
  made.activity_type = work.type;
  made.instance_id = work.instance_id.str();
  made.idempotency_key = work.activity_id.str();
  made.attempt = static_cast<int>(work.attempt_number);
  made.at = parts_.clock.now();
  made.arguments = Value::Array{};
  if (auto arguments = decode(work.arguments); arguments && arguments->if_array()) {
    made.arguments = *std::move(arguments);
  }
  parts_.book.calls.push_back(std::move(made));
  const auto stub = parts_.book.stubs.find(work.type);
  if (stub == parts_.book.stubs.end()) return worker::run_activity(parts_.registry, work);
  const auto code = stub->second.code;
  return worker::run_activity(parts_.registry, work, *code);
}

void StubbedActivities::leave(const AttemptId& attempt) {
  running_.erase(attempt);
  release();
}

// Whoever leaves without a word is missed when the lease has run out and somebody looks, which is
// every half lease. Time is skipped to where something happens, and this makes it such a moment.
void StubbedActivities::vanish(const AttemptId& attempt) {
  leave(attempt);
  at(parts_.lease * 3 / 2 + 1s, [] {});
}

void StubbedActivities::at(Duration delay, Executor::Work work) {
  parts_.executor.post_at(parts_.clock.now() + delay, std::move(work));
}

}  // namespace dw::testing
