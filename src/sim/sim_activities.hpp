// Workers that cannot be trusted. They run the real activity code, each attempt after a delay of
// its own; some die without a word, some speak after they were given up, some say everything twice.
#pragma once
#include "dispatch/hosts.hpp"
#include "machine/scheduler.hpp"
#include "sim/checker.hpp"
#include "sim/faults.hpp"

#include <dw/registry.hpp>

#include <chrono>
#include <unordered_set>

namespace dw::sim {

using machine::SimExecutor;

struct ActivityParts {
  const Registry& registry;
  Checker& checker;
  const Faults& faults;
  Plant plant;
  const Clock& clock;
  Random& random;
  Trace& trace;
  SimExecutor& executor;
  int slots;
  std::chrono::seconds lease;
};

class SimActivities final : public dispatch::ActivityHost {
 public:
  explicit SimActivities(ActivityParts parts) : parts_(parts) {}

  // While false, nobody dies (attempts that are meant to be lost still are).
  bool failing = true;

  bool knows(std::string_view activity_type) const override;
  bool try_reserve() override;
  void release() override;
  void run(dispatch::ActivityWork work, Done done) override;
  bool alive(const AttemptId& attempt) const override { return running_.contains(attempt); }

  int reserved() const { return reserved_; }

 private:
  // An attempt that takes far too long, and says now and then that it is alive.
  struct Drag {
    dispatch::ActivityWork work;
    Done done;
    bool beats;
    Timestamp until;
    std::int64_t beat = 0;
  };
  void drag(const std::shared_ptr<Drag>& attempt);
  Duration up_to(Duration longest);
  void at(Duration delay, Executor::Work work);
  void leave(const AttemptId& attempt);
  void report(const dispatch::ActivityWork& work, const Done& done, bool fails);

  const ActivityParts parts_;
  int reserved_ = 0;  // slots taken, by whom runs and by whom is about to
  std::unordered_set<AttemptId> running_;
};

}  // namespace dw::sim
