// What a busy scheduler could add to a transition, and some things only a confused one would.
#pragma once
#include "schedule_transitions.hpp"

#include "core/random.hpp"

#include <map>
#include <set>

namespace dw::conformance {

class RandomSchedules {
 public:
  explicit RandomSchedules(Random& random) : random_(random) {}

  // Creates, changes, deletes or purges one; sometimes by what it saw long ago.
  void touch(store::Transition& transition, std::int64_t now);
  void learn(const std::vector<store::Transition>& batch,
             const std::vector<store::CommitOutcome>& outcomes);
  // Everything that can be read of them.
  void compare(store::Store& expected, store::Store& actual) const;

 private:
  struct Known {
    store::ScheduleRow row;
    std::int64_t events = 0;
  };

  bool chance(std::uint64_t percent) { return random_.below(100) < percent; }
  Known* find_live(const store::ScheduleName& name);
  void create(store::Transition& transition, const store::ScheduleName& name, std::int64_t now);
  void change(store::Transition& transition, Known known, std::int64_t now);
  void write(store::Transition& transition, Known known, std::int64_t now);
  std::optional<Timestamp> some_time();

  Random& random_;
  std::map<std::string, Known> known_;   // by ulid, as it is durable
  std::map<std::string, Known> staged_;  // what this batch makes of them, if its links win
  std::set<std::string> purged_;
  std::set<std::string> ulids_;
};

}  // namespace dw::conformance
