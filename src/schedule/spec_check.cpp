#include "schedule/spec.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <bit>
#include <utility>

namespace dw::schedule {
namespace {

constexpr auto looked_ahead = chrono::days{366};
constexpr std::size_t distances_looked_at = 400;

// ---- mistakes

SpecMistake mistake(std::string path, std::string_view code, std::string hint) {
  return {std::move(path), code, {}, {}, 0, std::move(hint)};
}

void check_sizes(const SpecText& text, std::vector<SpecMistake>& mistakes) {
  if (text.cron_expressions.empty() && text.intervals.empty()) {
    mistakes.push_back(mistake("", "spec_empty", "name a cron expression or an interval at least"));
  }
  const auto too_many = fmt::format("there may be {} at most", most_spec_entries);
  if (text.cron_expressions.size() > most_spec_entries) {
    mistakes.push_back(mistake("cron_expressions", "invalid_value", too_many));
  }
  if (text.intervals.size() > most_spec_entries) {
    mistakes.push_back(mistake("intervals", "invalid_value", too_many));
  }
  if (text.jitter_seconds < 0 || text.jitter_seconds > longest_jitter.count()) {
    mistakes.push_back(mistake("jitter_seconds", "invalid_value",
                               fmt::format("jitter is 0 to {} seconds", longest_jitter.count())));
  }
}

std::vector<Cron> read_crons(const SpecText& text, std::vector<SpecMistake>& mistakes) {
  std::vector<Cron> crons;
  for (std::size_t i = 0; i < text.cron_expressions.size(); ++i) {
    auto parsed = parse_cron(text.cron_expressions[i]);
    if (const auto* cron = std::get_if<Cron>(&parsed)) {
      crons.push_back(*cron);
      continue;
    }
    auto& error = std::get<CronError>(parsed);
    mistakes.push_back({fmt::format("cron_expressions.{}", i), "invalid_cron_expression",
                        to_string(error.code), error.field ? to_string(*error.field) : "",
                        error.position, std::move(error.hint)});
  }
  return crons;
}

std::vector<Interval> read_intervals(const SpecText& text, std::vector<SpecMistake>& mistakes) {
  std::vector<Interval> intervals;
  for (std::size_t i = 0; i < text.intervals.size(); ++i) {
    auto parsed = parse_interval(text.intervals[i]);
    if (const auto* interval = std::get_if<Interval>(&parsed)) {
      intervals.push_back(*interval);
      continue;
    }
    auto& error = std::get<IntervalError>(parsed);
    mistakes.push_back({fmt::format("intervals.{}.{}", i, to_string(error.field)),
                        to_string(error.code),
                        {},
                        {},
                        error.position,
                        std::move(error.hint)});
  }
  return intervals;
}

// ---- warnings

// The next change of this kind after which, or before which, the expression is not as it is on
// other days.
struct Disturbance {
  std::optional<chrono::sys_seconds> gap;
  std::optional<chrono::sys_seconds> fold;
};

// Only what is named by its hour is moved or could come twice; the rest follows elapsed time.
Disturbance disturbance_of(const Cron& cron, const Zone& zone, Timestamp now) {
  Disturbance found;
  if (cron.hour_wild) return found;
  const auto from = chrono::floor<chrono::seconds>(now);
  Period period = zone.period_at(from);
  while (period.end != forever && period.end < from + looked_ahead) {
    const auto change = period.end;
    const auto repeated = period.offset - period.after;
    const auto asked = repeated > chrono::seconds{0} ? change - repeated : change;
    const auto next = next_occurrence(cron, zone, asked - chrono::seconds{1});
    if (next && next->dst == Dst::gap && !found.gap) found.gap = change;
    if (next && next->dst == Dst::fold && !found.fold) found.fold = change;
    period = zone.period_at(change);
  }
  return found;
}

std::string day_of(chrono::sys_seconds change, const Zone& zone) {
  const auto day = chrono::floor<chrono::days>(zone.local_at(change));
  return fmt::format("{:%Y-%m-%d}", chrono::sys_days{day.time_since_epoch()});
}

void warn_of_daylight_saving(const Cron& cron, const Zone& zone, Timestamp now,
                             const std::string& path, std::vector<SpecWarning>& warnings) {
  const auto found = disturbance_of(cron, zone, now);
  if (found.gap) {
    warnings.push_back({path, "dst_gap",
                        fmt::format("on {} the clocks of {} skip a time it names: it fires when "
                                    "they go on",
                                    day_of(*found.gap, zone), zone.name())});
  }
  if (found.fold) {
    warnings.push_back({path, "dst_fold",
                        fmt::format("on {} the clocks of {} show a time it names twice: it fires "
                                    "the first time only",
                                    day_of(*found.fold, zone), zone.name())});
  }
}

bool evenly_spaced(std::uint32_t mask) {
  int last = -1;
  int distance = 0;
  int count = 0;
  for (; mask != 0; mask &= mask - 1, ++count) {
    const int bit = std::countr_zero(mask);
    if (count == 1) distance = bit - last;
    if (count > 1 && bit - last != distance) return false;
    last = bit;
  }
  return count > 2;
}

// Whoever writes 31 may not think of April; whoever writes 1-31 or */2 does not mind.
bool misses_days(const Cron& cron) {
  if (!cron.days_restricted || cron.weekdays_restricted) return false;
  constexpr unsigned shortest[] = {0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  bool misses_some = false;
  for (unsigned month = 1; month <= 12; ++month) {
    if ((cron.months >> month & 1) == 0) continue;
    const auto there = cron.days & ((std::uint32_t{2} << shortest[month]) - 1);
    if (there == 0) return true;
    misses_some |= there != cron.days;
  }
  return misses_some && !evenly_spaced(cron.days);
}

// Intervals shorter than what a roll may add let it pass over the next occurrence.
bool jitter_reaches_the_next(const Spec& spec, chrono::seconds jitter, Timestamp now) {
  SpecWalk walk{spec, now};
  auto last = walk.next();
  for (std::size_t i = 0; last && i < distances_looked_at; ++i) {
    const auto next = walk.next();
    if (!next) return false;
    if (next->at - last->at < jitter) return true;
    last = next;
  }
  return false;
}

std::vector<SpecWarning> warnings_of(const Spec& spec, chrono::seconds jitter, Timestamp now) {
  std::vector<SpecWarning> warnings;
  for (std::size_t i = 0; i < spec.crons().size(); ++i) {
    const Cron& cron = spec.crons()[i];
    const auto path = fmt::format("cron_expressions.{}", i);
    warn_of_daylight_saving(cron, spec.zone(), now, path, warnings);
    if (misses_days(cron)) {
      warnings.push_back({path, "day_missing_in_some_months",
                          "some of its months lack a day it names, and pass without it"});
    }
  }
  for (std::size_t i = 0; i < spec.intervals().size(); ++i) {
    if (!spec.intervals()[i].approximated) continue;
    warnings.push_back({fmt::format("intervals.{}", i), "interval_calendar_unit_approximated",
                        "a year counts as 365 days and a month as 30; for calendar months write "
                        "a cron expression"});
  }
  if (jitter > chrono::seconds{0} && jitter_reaches_the_next(spec, jitter, now)) {
    warnings.push_back({"jitter_seconds", "jitter_exceeds_period",
                        "it may reach beyond the next occurrence, which is then left out"});
  }
  return warnings;
}

}  // namespace

CheckedSpec check_spec(const SpecText& text, std::shared_ptr<const Zone> zone, const Bounds& bounds,
                       Timestamp now) {
  CheckedSpec checked;
  check_sizes(text, checked.mistakes);
  auto crons = read_crons(text, checked.mistakes);
  auto intervals = read_intervals(text, checked.mistakes);
  if (zone == nullptr) {
    checked.mistakes.push_back(
        mistake("timezone", "invalid_timezone",
                "write an IANA name letter for letter, as in Europe/Berlin or UTC"));
  }
  if (bounds.start_at && bounds.end_at && *bounds.end_at < *bounds.start_at) {
    checked.mistakes.push_back(mistake("end_at", "invalid_value", "it ends before it starts"));
  }
  if (!checked.mistakes.empty()) return checked;
  checked.spec.emplace(std::move(crons), std::move(intervals), std::move(zone), bounds);
  checked.warnings = warnings_of(*checked.spec, chrono::seconds{text.jitter_seconds}, now);
  return checked;
}

}  // namespace dw::schedule
