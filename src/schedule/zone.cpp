#include "schedule/zone.hpp"

#include "core/assert.hpp"
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

// What really changes around a year, in order of time. Of changes at the same instant the last one
// holds. The outermost years are not judged, since what may overrule them is out of sight.
struct RealChanges {
  std::array<Change, std::tuple_size_v<YearsOfChanges>> changes;
  std::size_t count = 0;
  chrono::seconds offset;  // in the end
};
RealChanges real_changes(const PosixRule& rule, chrono::year year) {
  const auto all = changes_around(*rule.daylight, rule.standard, year);
  constexpr std::size_t unjudged = 2;
  std::size_t i = unjudged;
  const auto overruled = [&] { return all[i + 1].at == all[i].at; };
  while (i + unjudged < all.size() && overruled()) ++i;
  RealChanges real{{}, 0, all[i].offset};
  for (++i; i + unjudged < all.size(); ++i) {
    if (overruled() || all[i].offset == real.offset) continue;
    real.changes[real.count++] = {all[i].at, real.offset, all[i].offset};
    real.offset = all[i].offset;
  }
  return real;
}

// Years that are two apart see every change between them. A rule that changes nothing in a whole
// cycle never does.
constexpr int years_in_sight = 2;
constexpr int years_of_cycle = 400;

// A rule whose changes cancel each other out, as when daylight time ends as it begins, is one
// without any.
void drop_what_never_changes(PosixRule& rule) {
  if (!rule.daylight) return;
  RealChanges real;
  for (int year = 1970; year < 1970 + years_of_cycle; year += years_in_sight) {
    real = real_changes(rule, chrono::year{year});
    if (real.count > 0) return;
  }
  rule = {real.offset, {}};
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
  const auto cycles = chrono::floor<chrono::days>(at).time_since_epoch().count();
  const auto shift = calendar_cycle * (cycles / 146'097 - (cycles % 146'097 < 0 ? 1 : 0));
  const chrono::sys_seconds within = at - shift;
  const auto year = chrono::year_month_day{chrono::floor<chrono::days>(within)}.year();

  // Nearly every rule changes twice a year; some only in years with a fifth Monday in February.
  std::optional<Change> last, next;
  const auto look_at = [&](chrono::year seen) {
    const RealChanges real = real_changes(rule_, seen);
    for (std::size_t i = 0; i < real.count; ++i) {
      const Change& change = real.changes[i];
      if (change.at <= within && (!last || change.at > last->at)) last = change;
      if (change.at > within && (!next || change.at < next->at)) next = change;
    }
  };
  look_at(year);
  for (int away = years_in_sight; away <= years_of_cycle && !(last && next);
       away += years_in_sight) {
    if (!last) look_at(year - chrono::years{away});
    if (!next) look_at(year + chrono::years{away});
  }
  DW_ASSERT(last && next, "a zone keeps no rule that never changes");
  Period period{last->at + shift, next->at + shift, last->before, last->after, next->after};
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
    drop_what_never_changes(zone.rule_);
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
