// Runs activities on the simulated clock: stubs where there are any, the registered code elsewhere.
#pragma once
#include "dispatch/hosts.hpp"
#include "machine/scheduler.hpp"
#include "testing/faults.hpp"

#include <functional>
#include <map>
#include <memory>
#include <unordered_set>

namespace dw::testing {

struct StubDefinition {
  std::shared_ptr<const dw::detail::Invoke> code;  // a call may put another in its place
  Duration takes{0};
};

// What a test knows of activities: it outlives every process.
struct ActivityBook {
  std::map<std::string, StubDefinition, std::less<>> stubs;
  std::vector<Call> calls;

  bool knows(const Registry& registry, std::string_view activity_type) const {
    return stubs.contains(activity_type) || registry.find_activity(activity_type);
  }
};

struct ActivityParts {
  const Registry& registry;
  ActivityBook& book;
  Faults& faults;
  const Clock& clock;
  Executor& executor;
  std::chrono::seconds lease;
};

class StubbedActivities final : public dispatch::ActivityHost {
 public:
  explicit StubbedActivities(ActivityParts parts) : parts_(parts) {}

  bool knows(std::string_view activity_type) const override;
  bool try_reserve() override;
  void release() override { --reserved_; }
  void run(dispatch::ActivityWork work, Done done) override;
  bool alive(const AttemptId& attempt) const override { return running_.contains(attempt); }

 private:
  void attempt(const dispatch::ActivityWork& work, const Done& done);
  engine::ActivityOutcome call(const dispatch::ActivityWork& work);
  void leave(const AttemptId& attempt);
  void vanish(const AttemptId& attempt);
  void at(Duration delay, Executor::Work work);

  const ActivityParts parts_;
  int reserved_ = 0;
  std::unordered_set<AttemptId> running_;
};

}  // namespace dw::testing
