#include "dispatch/calendar_shelf.hpp"

#include "schedule/calendar_seeds.hpp"
#include "schedule/calendar_value.hpp"

namespace dw::dispatch {

std::shared_ptr<const schedule::CompiledCalendar> CalendarShelf::find(const Namespace& ns,
                                                                      std::string_view id) {
  const auto any_zone = [](std::string_view) { return true; };  // who asks finds out
  auto kept = store_.documents(calendar_kind);
  if (!kept) return nullptr;
  for (const store::Document& document : *kept) {
    if (document.ns != ns) continue;
    const auto value = parse_json(document.body);
    if (!value) continue;
    const auto record = schedule::read_calendar_record(*value, any_zone);
    if (!record.value) continue;
    if (document.id != id && record.value->calendar.name != id) continue;
    return compiled(ns.str() + '\n' + document.id, document.body, record.value->calendar);
  }
  if (const auto* seed = schedule::find_seed_calendar(id)) {
    return compiled(std::string{id}, {}, *seed);
  }
  return nullptr;
}

std::shared_ptr<const schedule::CompiledCalendar> CalendarShelf::compiled(
    const std::string& key, const std::string& body, const schedule::Calendar& calendar) {
  const int year = this_year();
  const std::lock_guard lock{mutex_};
  Laid& laid = laid_[key];
  if (!laid.calendar || laid.body != body || laid.year != year) {
    laid = {body, year, std::make_shared<const schedule::CompiledCalendar>(calendar, year)};
  }
  return laid.calendar;
}

int CalendarShelf::this_year() const {
  const auto today = std::chrono::floor<std::chrono::days>(clock_.now());
  return static_cast<int>(std::chrono::year_month_day{today}.year());
}

}  // namespace dw::dispatch
