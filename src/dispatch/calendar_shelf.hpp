// The calendars that schedules ask: those that ship with us, and those that operators keep in the
// store as documents of kind `calendar`.
#pragma once
#include "core/clock.hpp"
#include "schedule/calendar.hpp"
#include "store/store.hpp"

#include <map>
#include <memory>
#include <mutex>

namespace dw::dispatch {

inline constexpr std::string_view calendar_kind = "calendar";

class CalendarShelf {
 public:
  CalendarShelf(store::Store& store, const Clock& clock) : store_(store), clock_(clock) {}

  // By id or name, as that namespace sees it: its own before ours. Null when there is none, or when
  // it cannot be read. Blocks.
  std::shared_ptr<const schedule::CompiledCalendar> find(const Namespace& ns, std::string_view id);

 private:
  std::shared_ptr<const schedule::CompiledCalendar> compiled(const std::string& key,
                                                             const std::string& body,
                                                             const schedule::Calendar& calendar);
  int this_year() const;

  store::Store& store_;
  const Clock& clock_;
  struct Laid {
    std::string body;  // as it was when it was laid out
    int year;
    std::shared_ptr<const schedule::CompiledCalendar> calendar;
  };
  std::mutex mutex_;
  std::map<std::string, Laid> laid_;  // guarded by mutex_; by namespace and id
};

}  // namespace dw::dispatch
