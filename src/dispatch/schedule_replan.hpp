// Plans active schedules again by what this machine knows today: those that have no next time, and
// those whose zone has got other rules. What is overdue stays due, and what comes out the same is
// not written. It goes a page at a time, so that whoever else wants the reader gets it.
#pragma once
#include "core/clock.hpp"
#include "core/executor.hpp"
#include "dispatch/requests.hpp"
#include "dispatch/schedule_facts.hpp"

#include <memory>
#include <set>

namespace dw::dispatch {

struct ScheduleReplanParts {
  store::Store& store;
  Executor& reader;
  const Clock& clock;
  ScheduleReader& schedules;
  // Decides on one of them, as on any other change, and says whether it did change.
  std::function<void(const store::ScheduleName& name, Reply<bool> reply)> plan;
};

class ScheduleReplan {
 public:
  explicit ScheduleReplan(ScheduleReplanParts parts) : parts_(std::move(parts)) {}

  // From any thread. Those of the zones, or all when none is named; the answer, on whatever thread,
  // is how many changed. A store that cannot be read ends it.
  void run(std::vector<std::string> zones, Reply<std::size_t> reply);

 private:
  struct Walk {
    std::set<std::string> zones;
    Reply<std::size_t> reply;
    std::optional<store::ScheduleCursor> after = {};
    bool last = false;     // the page that is under way
    std::size_t open = 0;  // decisions of that page
    std::size_t changed = 0;
  };
  using WalkPtr = std::shared_ptr<Walk>;

  void next_page(const WalkPtr& walk);
  bool out_of_date(const Walk& walk, store::ScheduleRow row) const;
  void plan(const WalkPtr& walk, const std::vector<store::ScheduleName>& names);
  void end_of_page(const WalkPtr& walk);

  const ScheduleReplanParts parts_;
};

}  // namespace dw::dispatch
