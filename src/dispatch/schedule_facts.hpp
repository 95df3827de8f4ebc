// What a decision on a schedule needs from the store and from this machine. Everything here blocks,
// and belongs on a reader.
#pragma once
#include "schedule/decide.hpp"
#include "store/store.hpp"

#include <functional>
#include <map>
#include <mutex>

namespace dw::dispatch {

struct ScheduleSources {
  // By its name, null when this machine has none.
  std::function<std::shared_ptr<const schedule::Zone>(std::string_view name)> zone;
  // By its id or name, as that namespace sees it; null when there is none.
  std::function<std::shared_ptr<const schedule::CompiledCalendar>(const Namespace& ns,
                                                                  std::string_view id)>
      calendar;
  // What a schedule has spent on this UTC day, of whatever its embedder counts; absent when nobody
  // can say.
  std::function<std::optional<std::int64_t>(const Namespace& ns, std::string_view id)> credits = {};
};

// A schedule as it was read, and what goes with it.
struct SeenSchedule {
  std::optional<store::ScheduleRow> row;  // absent: nobody goes by that name
  std::optional<schedule::Schedule> schedule;
  std::shared_ptr<const schedule::Spec> spec;
  std::vector<schedule::AttachedCalendar> calendars;
  std::vector<std::string> open_instances;
  std::vector<store::LedgerRow> ended;  // still listed as open
  std::optional<Value> condition_context;
  std::optional<std::int64_t> credits_used_today;
  bool slot_taken = false;
  std::int64_t consecutive_failures = 0;
};

class ScheduleReader {
 public:
  ScheduleReader(store::Store& store, ScheduleSources sources)
      : store_(store), sources_(std::move(sources)) {}

  using NeedsOf = std::function<schedule::Needs(const schedule::Schedule& schedule)>;

  Result<SeenSchedule> look(const store::ScheduleName& name, const NeedsOf& needs,
                            const schedule::Asked& asked, Timestamp now);
  Result<SeenSchedule> look(store::ScheduleRow row, const NeedsOf& needs,
                            const schedule::Asked& asked, Timestamp now);

  // Understood once, however many schedules are written alike, for as long as their zone is the
  // same.
  std::shared_ptr<const schedule::Spec> spec_of(const schedule::Schedule& schedule, Timestamp now);
  std::vector<schedule::AttachedCalendar> calendars_of(const schedule::Schedule& schedule);
  Result<Value> context_of(const schedule::Schedule& schedule, Timestamp now);

 private:
  Result<void> see_open_instances(SeenSchedule& seen);
  Result<void> see_failures(SeenSchedule& seen);
  Result<history::RunStatus> status_of(const Namespace& ns, const std::string& instance);

  store::Store& store_;
  ScheduleSources sources_;
  std::mutex mutex_;
  struct KeptSpec {
    std::shared_ptr<const schedule::Zone> zone;
    std::shared_ptr<const schedule::Spec> spec;
  };
  std::map<std::string, KeptSpec> specs_;  // guarded by mutex_
};

}  // namespace dw::dispatch
