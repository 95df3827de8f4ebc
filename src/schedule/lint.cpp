#include "schedule/lint.hpp"

#include "schedule/calendar_text.hpp"
#include "schedule/explain.hpp"
#include "schedule/outlook.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace dw::schedule {
namespace {

constexpr chrono::days linted_ahead{366};
constexpr std::size_t occurrences_compared = 500;

struct Advice {
  std::string_view code;
  LintSeverity severity;
  std::string_view hint;
};
constexpr Advice advice[] = {
    {spec_unresolvable, LintSeverity::error, "update it with a zone that is known here"},
    {"never_fires", LintSeverity::error, "let it end later, or delete it"},
    {"calendar_blocks_all", LintSeverity::error, "take a calendar away, or change its days"},
    {"calendar_unresolvable", LintSeverity::error, "detach it, or bring it back"},
    {"calendar_table_exhausted", LintSeverity::warning, "add the coming years to its table"},
    {"calendar_ends", LintSeverity::warning,
     "add the days to come, or write rules, which hold for any year"},
    {"fires_twice", LintSeverity::warning,
     "name its hours, and it fires in the first pass only; or write it for UTC"},
    {"dst_gap", LintSeverity::warning, "name a time that clocks never skip, or write it for UTC"},
    {"dst_fold", LintSeverity::warning, "name a time that comes once, or write it for UTC"},
    {"will_overlap", LintSeverity::warning,
     "let it fire less often, or choose the overlap policy that is meant"},
    {"jitter_exceeds_period", LintSeverity::warning,
     "take less jitter than lies between two occurrences"},
    {"interval_calendar_unit_approximated", LintSeverity::warning,
     "the first of every month is 0 0 1 * *"},
    {"day_missing_in_some_months", LintSeverity::warning, "every month has a 28th"},
    {"dom_dow_or", LintSeverity::warning,
     "leave one of them at *; a calendar can forbid the other days"},
};

LintFinding finding(std::string_view code, std::string path, std::string message,
                    std::optional<Timestamp> example_at = {}) {
  LintFinding found{.code = std::string{code},
                    .path = std::move(path),
                    .message = std::move(message),
                    .hint = {},
                    .example_at = example_at};
  const auto* known = std::ranges::find(advice, code, &Advice::code);
  if (known != std::end(advice)) {
    found.severity = known->severity;
    found.hint = known->hint;
  }
  return found;
}

// Calls `look` with each change of the clocks within a year and by how much they go back, until it
// gives something.
template <typename Look>
auto at_clock_changes(const Spec& spec, Timestamp now, Look look)
    -> decltype(look(chrono::sys_seconds{}, chrono::seconds{})) {
  const auto from = chrono::floor<chrono::seconds>(now);
  const Zone& zone = spec.zone();
  for (auto change = zone.next_transition(from); change && change->at < from + linted_ahead;
       change = zone.next_transition(change->at)) {
    const auto back = zone.offset_at(change->at - chrono::seconds{1}) - change->offset;
    if (auto seen = look(change->at, back)) return seen;
  }
  return {};
}

std::optional<Timestamp> disturbed_at(const Spec& spec, Timestamp now, Dst how) {
  return at_clock_changes(
      spec, now, [&](chrono::sys_seconds change, chrono::seconds back) -> std::optional<Timestamp> {
        const auto reach = chrono::abs(back);
        for (const auto& one : occurrences(spec, change - reach - Duration{1}, change + reach,
                                           occurrences_compared)) {
          if (one.dst == how) return one.at;
        }
        return std::nullopt;
      });
}

void lint_spec(std::vector<LintFinding>& found, const Schedule& schedule, const Facts& facts) {
  const Spec& spec = *facts.spec;
  const auto zone = std::make_shared<const Zone>(spec.zone());
  auto warnings = check_spec(schedule.spec, zone, schedule.bounds, facts.now).warnings;
  for (auto& warning : either_day_warnings(spec)) warnings.push_back(std::move(warning));
  for (const auto& [path, code, hint] : warnings) {
    std::optional<Timestamp> example;
    if (code == "dst_gap") example = disturbed_at(spec, facts.now, Dst::gap);
    if (code == "dst_fold") example = disturbed_at(spec, facts.now, Dst::fold);
    found.push_back(finding(code, "spec." + path, hint, example));
  }
}

// The clocks go back and show an hour again: what fires by the hour fires in both.
void lint_repeated_hours(std::vector<LintFinding>& found, const Spec& spec, Timestamp now) {
  const Zone& zone = spec.zone();
  const auto second_pass = at_clock_changes(
      spec, now, [&](chrono::sys_seconds change, chrono::seconds back) -> std::optional<Timestamp> {
        if (back <= chrono::seconds{0}) return std::nullopt;
        std::set<LocalTime> first_pass;
        for (const auto& one : occurrences(spec, change - back - Duration{1},
                                           change + back - Duration{1}, occurrences_compared)) {
          const auto second = chrono::floor<chrono::seconds>(one.at);
          const auto local = zone.local_at(second);
          if (second < change) {
            first_pass.insert(local);
          } else if (first_pass.contains(local)) {
            return one.at;
          }
        }
        return std::nullopt;
      });
  if (!second_pass) return;
  const auto local = zone.local_at(chrono::floor<chrono::seconds>(*second_pass));
  found.push_back(finding("fires_twice", "spec",
                          fmt::format("on {} the clocks of {} go back, and it fires in both passes "
                                      "of the hour",
                                      date_text(chrono::floor<chrono::days>(local)), zone.name()),
                          second_pass));
}

void lint_overlap(std::vector<LintFinding>& found, const Schedule& schedule, const Spec& spec,
                  Timestamp now, chrono::seconds typical_run) {
  if (schedule.overlap_policy == Overlap::allow_all) return;
  const auto coming = occurrences(spec, now, now + linted_ahead, occurrences_compared);
  for (std::size_t i = 1; i < coming.size(); ++i) {
    const auto distance = chrono::floor<chrono::seconds>(coming[i].at - coming[i - 1].at);
    if (distance >= typical_run) continue;
    found.push_back(finding(
        "will_overlap", "overlap_policy",
        fmt::format("runs take {} s and occurrences come {} s apart: {} decides",
                    typical_run.count(), distance.count(), to_string(schedule.overlap_policy)),
        coming[i].at));
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
    found.push_back(finding("calendar_blocks_all", "calendar_ids",
                            "no occurrence is allowed within a year", spec.next(facts.now)->at));
  }
  for (const auto& table : seen.exhausted) {
    found.push_back(finding("calendar_table_exhausted", "calendar_ids", table));
  }
  for (const auto& attached : facts.calendars) {
    if (attached.calendar == nullptr || attached.zone == nullptr) {
      found.push_back(
          finding("calendar_unresolvable", "calendar_ids",
                  fmt::format("{} cannot be asked, so nothing is started", attached.id)));
      continue;
    }
    const auto last = last_day_of(attached.calendar->calendar());
    const auto horizon =
        attached.zone->local_at(chrono::floor<chrono::seconds>(facts.now + linted_ahead));
    if (!last || *last >= chrono::floor<chrono::days>(horizon)) continue;
    found.push_back(
        finding("calendar_ends", "calendar_ids",
                fmt::format("{} lists nothing after {}", attached.id, date_text(*last))));
  }
}

}  // namespace

std::string_view to_string(LintSeverity severity) {
  return severity == LintSeverity::error ? "error" : "warning";
}

Value to_value(const LintFinding& finding) {
  return Value::Map{
      {"code", finding.code},
      {"severity", to_string(finding.severity)},
      {"path", finding.path},
      {"message", finding.message},
      {"hint", finding.hint},
      {"example_at", finding.example_at ? Value{format_timestamp(*finding.example_at)} : Value{}}};
}

Value to_value(std::span<const LintFinding> findings, std::optional<chrono::seconds> typical_run) {
  Value::Array shown;
  for (const auto& finding : findings) shown.push_back(to_value(finding));
  const std::int64_t errors =
      std::ranges::count(findings, LintSeverity::error, &LintFinding::severity);
  return Value::Map{
      {"findings", std::move(shown)},
      {"error_count", errors},
      {"warning_count", std::ssize(findings) - errors},
      {"run_seconds",
       typical_run ? Value{static_cast<std::int64_t>(typical_run->count())} : Value{}}};
}

std::vector<LintFinding> lint(const Schedule& schedule, const Facts& facts,
                              std::optional<chrono::seconds> typical_run) {
  std::vector<LintFinding> found;
  if (facts.spec == nullptr) {
    found.push_back(finding(spec_unresolvable, "spec", "its zone is not known here"));
    return found;
  }
  const auto& spec = *facts.spec;
  lint_spec(found, schedule, facts);
  if (!spec.next(facts.now)) {
    found.push_back(finding("never_fires", "spec", "no occurrence is left"));
    return found;
  }
  lint_repeated_hours(found, spec, facts.now);
  if (typical_run) lint_overlap(found, schedule, spec, facts.now, *typical_run);
  lint_calendars(found, spec, facts);
  return found;
}

}  // namespace dw::schedule
