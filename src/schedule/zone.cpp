#include "schedule/zone.hpp"

#include "schedule/tzif.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace dw::schedule {
namespace {

// RFC 8536 asks for less than 26 hours east and 25 west, and for nothing before the big bang.
constexpr chrono::seconds most_offset = chrono::hours{26};
constexpr chrono::seconds most_time{std::int64_t{1} << 60};

// The calendar repeats itself, weekdays included, so one such span of years stands for all.
constexpr chrono::seconds calendar_cycle = chrono::days{146'097};

Error bad_zone(const std::string& name, std::string_view what) {
  return {ErrorCode::invalid_argument, fmt::format("time zone {}: {}", name, what)};
}

bool in_reach(chrono::seconds offset) {
  return offset > -most_offset && offset < most_offset;
}

struct Change {
  chrono::sys_seconds at;
  chrono::seconds before;
  chrono::seconds after;
};

// What really changes, of changes that follow one another: returns how many. The first and the last
// are not judged, since what may overrule them is out of sight.
std::size_t real_changes(const YearsOfChanges& changes, std::array<Change, 10>& real) {
  std::size_t count = 0;
  chrono::seconds offset = changes.front().offset;
  for (std::size_t i = 1; i + 1 < changes.size(); ++i) {
    if (changes[i + 1].at == changes[i].at || changes[i].offset == offset) continue;
    real[count++] = {changes[i].at, offset, changes[i].offset};
    offset = changes[i].offset;
  }
  return count;
}

}  // namespace

Zone Zone::utc() {
  Zone zone;
  zone.name_ = "UTC";
  return zone;
}

Period Zone::period_at(chrono::sys_seconds at) const {
  const auto& changes = data_.transitions;
  const auto next = std::upper_bound(
      changes.begin(), changes.end(), at,
      [](chrono::sys_seconds instant, const Transition& change) { return instant < change.at; });
  if (next == changes.end() && rule_.daylight) return period_by_rule(at);
  const auto passed = next - changes.begin();
  const chrono::seconds offset = passed > 0 ? next[-1].offset : data_.first_offset;
  Period period{always, forever, offset, offset, offset};
  if (passed > 0) {
    period.begin = next[-1].at;
    period.before = passed > 1 ? next[-2].offset : data_.first_offset;
  }
  if (next != changes.end()) {
    period.end = next->at;
    period.after = next->offset;
  }
  return period;
}

Period Zone::period_by_rule(chrono::sys_seconds at) const {
  const PosixRule::Daylight& daylight = *rule_.daylight;
  const auto cycles = chrono::floor<chrono::days>(at).time_since_epoch().count();
  const auto shift = calendar_cycle * (cycles / 146'097 - (cycles % 146'097 < 0 ? 1 : 0));
  const chrono::sys_seconds within = at - shift;
  const auto year = chrono::year_month_day{chrono::floor<chrono::days>(within)}.year();

  std::array<Change, 10> changes;
  const auto count = real_changes(changes_around(daylight, rule_.standard, year), changes);
  // A rule may cancel itself out; then there is daylight time all year.
  Period period{always, forever, daylight.offset, daylight.offset, daylight.offset};
  for (std::size_t i = 0; i < count; ++i) {
    if (changes[i].at > within) {
      period.end = changes[i].at + shift;
      period.after = changes[i].after;
      break;
    }
    period = {changes[i].at + shift, forever, changes[i].before, changes[i].after,
              changes[i].after};
  }
  // The rule has no say before the last change that is listed.
  const auto& listed = data_.transitions;
  if (!listed.empty() && period.begin <= listed.back().at) {
    period.begin = listed.back().at;
    period.before = listed.size() > 1 ? listed[listed.size() - 2].offset : data_.first_offset;
  }
  return period;
}

std::optional<Transition> Zone::next_transition(chrono::sys_seconds after) const {
  Period period = period_at(after);
  // Some changes are of the name alone, EST to CDT.
  while (period.end != forever && period.after == period.offset) period = period_at(period.end);
  if (period.end == forever) return std::nullopt;
  return Transition{period.end, period.after};
}

LocalMapping Zone::instants_of(LocalTime local) const {
  const chrono::sys_seconds as_utc{local.time_since_epoch()};
  std::optional<chrono::sys_seconds> first;
  std::optional<LocalMapping> gap;
  // No offset is longer, so whatever period shows this time lies between.
  for (Period period = period_at(as_utc - most_offset);; period = period_at(period.end)) {
    const chrono::sys_seconds at = as_utc - period.offset;
    if (at >= period.begin && at < period.end) {
      if (first) return {LocalMapping::Kind::overlap, *first, at, {}};
      first = at;
    }
    const bool passed = at >= period.end;
    if (passed && as_utc - period.after < period.end) {
      gap = {LocalMapping::Kind::gap, period.end, period.end, period.after - period.offset};
    }
    if (period.end > as_utc + most_offset) break;
  }
  if (!first && gap) return *gap;
  const chrono::sys_seconds at = first.value_or(as_utc - offset_at(as_utc));
  return {LocalMapping::Kind::unique, at, at, {}};
}

Result<Zone> make_zone(std::string name, ZoneData data) {
  if (!in_reach(data.first_offset)) return bad_zone(name, "an offset of more than a day");
  const Transition* last = nullptr;
  for (const Transition& change : data.transitions) {
    if (!in_reach(change.offset)) return bad_zone(name, "an offset of more than a day");
    const auto at = change.at.time_since_epoch();
    if (at < -most_time || at > most_time) return bad_zone(name, "a change out of reach");
    if (last && last->at >= change.at) return bad_zone(name, "its changes are not in order");
    last = &change;
  }
  Zone zone;
  if (!data.footer.empty()) {
    auto rule = parse_posix_rule(data.footer);
    if (!rule) return bad_zone(name, rule.error().message);
    zone.rule_ = *rule;
  }
  zone.name_ = std::move(name);
  zone.data_ = std::move(data);
  if (zone.data_.footer.empty()) return zone;
  // From the last change on the rule decides, which matters only where the two disagree.
  const bool changes = zone.rule_.daylight.has_value();
  if (last != nullptr) {
    zone.data_.transitions.back().offset =
        changes ? zone.period_by_rule(last->at).offset : zone.rule_.standard;
  } else if (!changes) {
    zone.data_.first_offset = zone.rule_.standard;
  }
  return zone;
}

Result<Zone> parse_zone(std::string name, std::string_view bytes) {
  auto data = read_tzif(bytes);
  if (!data) return bad_zone(name, data.error().message);
  return make_zone(std::move(name), *std::move(data));
}

}  // namespace dw::schedule
