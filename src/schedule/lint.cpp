#include "schedule/lint.hpp"

#include "schedule/calendar_text.hpp"
#include "schedule/outlook.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace dw::schedule {
namespace {

constexpr chrono::days linted_ahead{366};
constexpr std::size_t occurrences_compared = 500;

void lint_spec(std::vector<LintFinding>& found, const Schedule& schedule, const Facts& facts) {
  const auto zone = std::make_shared<const Zone>(facts.spec->zone());
  const auto checked = check_spec(schedule.spec, zone, schedule.bounds, facts.now);
  for (const auto& warning : checked.warnings) {
    found.push_back({std::string{warning.code}, warning.path, warning.hint});
  }
}

// The clocks go back and show an hour again: what fires by the hour fires in both.
void lint_repeated_hours(std::vector<LintFinding>& found, const Spec& spec, Timestamp now) {
  const auto from = chrono::floor<chrono::seconds>(now);
  const Zone& zone = spec.zone();
  for (auto change = zone.next_transition(from); change && change->at < from + linted_ahead;
       change = zone.next_transition(change->at)) {
    const auto repeated = zone.offset_at(change->at - chrono::seconds{1}) - change->offset;
    if (repeated <= chrono::seconds{0}) continue;
    std::set<LocalTime> first_pass;
    for (const auto& one : occurrences(spec, change->at - repeated - Duration{1},
                                       change->at + repeated - Duration{1}, occurrences_compared)) {
      const auto second = chrono::floor<chrono::seconds>(one.at);
      const auto local = zone.local_at(second);
      if (second < change->at) {
        first_pass.insert(local);
      } else if (first_pass.contains(local)) {
        found.push_back({"fires_twice", "spec",
                         fmt::format("on {} the clocks of {} go back, and it fires in both passes "
                                     "of the hour",
                                     date_text(chrono::floor<chrono::days>(local)), zone.name())});
        return;
      }
    }
  }
}

void lint_overlap(std::vector<LintFinding>& found, const Schedule& schedule, const Spec& spec,
                  Timestamp now, chrono::seconds typical_run) {
  if (schedule.overlap_policy == Overlap::allow_all) return;
  const auto coming = occurrences(spec, now, now + linted_ahead, occurrences_compared);
  for (std::size_t i = 1; i < coming.size(); ++i) {
    const auto distance = chrono::floor<chrono::seconds>(coming[i].at - coming[i - 1].at);
    if (distance >= typical_run) continue;
    found.push_back(
        {"will_overlap", "overlap_policy",
         fmt::format("runs take {} s and occurrences come {} s apart: {} decides",
                     typical_run.count(), distance.count(), to_string(schedule.overlap_policy))});
    return;
  }
}

// A calendar of listed days alone says nothing about what comes after the last of them.
std::optional<chrono::local_days> last_day_of(const Calendar& calendar) {
  std::optional<chrono::local_days> last;
  for (const auto& rule : calendar.rules) {
    if (!std::holds_alternative<DateRange>(rule.base)) return std::nullopt;
    last = std::max(last.value_or(chrono::local_days{}), std::get<DateRange>(rule.base).to);
  }
  for (const auto date : calendar.dates) last = std::max(last.value_or(date), date);
  for (const auto& partial : calendar.partial_dates) {
    last = std::max(last.value_or(partial.date), partial.date);
  }
  return last;
}

void lint_calendars(std::vector<LintFinding>& found, const Spec& spec, const Facts& facts) {
  const auto seen = outlook(spec, facts.calendars, facts.now);
  if (seen.blocks_all) {
    found.push_back(
        {"calendar_blocks_all", "calendar_ids", "no occurrence is allowed within a year"});
  }
  for (const auto& table : seen.exhausted) {
    found.push_back({"calendar_table_exhausted", "calendar_ids", table});
  }
  for (const auto& attached : facts.calendars) {
    if (attached.calendar == nullptr || attached.zone == nullptr) {
      found.push_back({"calendar_unresolvable", "calendar_ids",
                       fmt::format("{} cannot be asked, so nothing is started", attached.id)});
      continue;
    }
    const auto last = last_day_of(attached.calendar->calendar());
    const auto horizon =
        attached.zone->local_at(chrono::floor<chrono::seconds>(facts.now + linted_ahead));
    if (!last || *last >= chrono::floor<chrono::days>(horizon)) continue;
    found.push_back({"calendar_ends", "calendar_ids",
                     fmt::format("{} lists nothing after {}", attached.id, date_text(*last))});
  }
}

}  // namespace

Value to_value(const LintFinding& finding) {
  return Value::Map{{"code", finding.code}, {"path", finding.path}, {"text", finding.text}};
}

std::vector<LintFinding> lint(const Schedule& schedule, const Facts& facts,
                              std::optional<chrono::seconds> typical_run) {
  std::vector<LintFinding> found;
  if (facts.spec == nullptr) {
    found.push_back({std::string{spec_unresolvable}, "spec", "its zone is not known here"});
    return found;
  }
  const auto& spec = *facts.spec;
  lint_spec(found, schedule, facts);
  if (!spec.next(facts.now)) {
    found.push_back({"never_fires", "spec", "no occurrence is left"});
    return found;
  }
  lint_repeated_hours(found, spec, facts.now);
  if (typical_run) lint_overlap(found, schedule, spec, facts.now, *typical_run);
  lint_calendars(found, spec, facts);
  return found;
}

}  // namespace dw::schedule
