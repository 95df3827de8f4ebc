#include "schedule/explain.hpp"

#include "schedule/canonical.hpp"
#include "schedule/local_text.hpp"
#include "schedule/words.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace dw::schedule {
namespace {

constexpr std::size_t distances_explained = 400;
constexpr auto calendar_horizon = chrono::days{366};
constexpr std::size_t most_ticks_asked_about = 600'000;  // every minute of the horizon

chrono::sys_seconds second_at(Timestamp at) {
  return chrono::floor<chrono::seconds>(at);
}

bool is_allowed(const ExplainQuestion& question, Timestamp at) {
  if (!question.calendar) return true;
  if (!question.calendar_zone) return false;
  return question.calendar->allows(question.calendar_zone->local_at(second_at(at)));
}

ExplainedFire explained(const Occurrence& fire, const ExplainQuestion& question) {
  const Zone& zone = *question.zone;
  const auto at = second_at(fire.at);
  return {fire.at,
          zone.local_at(at),
          zone.offset_at(at),
          zone_abbreviation(zone, at),
          is_allowed(question, fire.at),
          fire.dst};
}

std::optional<chrono::seconds> shortest_distance(const Spec& spec, Timestamp from) {
  SpecWalk walk{spec, from};
  std::optional<chrono::seconds> shortest;
  auto last = walk.next();
  for (std::size_t i = 0; last && i < distances_explained; ++i) {
    const auto next = walk.next();
    if (!next) break;
    const auto distance = chrono::floor<chrono::seconds>(next->at - last->at);
    shortest = std::min(shortest.value_or(distance), distance);
    last = next;
  }
  return shortest;
}

// ---- what is odd

bool calendar_blocks_all(const Spec& spec, const ExplainQuestion& question) {
  if (!question.calendar) return false;
  SpecWalk walk{spec, question.from};
  for (std::size_t i = 0; i < most_ticks_asked_about; ++i) {
    const auto tick = walk.next();
    if (!tick || tick->at > question.from + calendar_horizon) return true;
    if (is_allowed(question, tick->at)) return false;
  }
  return false;
}

void warn_of_exhausted_tables(const Explanation& explanation, const ExplainQuestion& question,
                              std::vector<SpecWarning>& warnings) {
  if (!question.calendar) return;
  std::set<int> years;
  for (const auto& fire : explanation.next_fires) {
    const auto day = chrono::floor<chrono::days>(fire.local);
    years.insert(static_cast<int>(chrono::year_month_day{day}.year()));
  }
  for (const int year : years) {
    for (const auto& table : exhausted_tables(question.calendar->calendar(), year)) {
      warnings.push_back({"calendar", "calendar_table_exhausted",
                          fmt::format("its table {} says nothing about {}", table, year)});
    }
  }
}

void add_warnings(const Spec& spec, const ExplainQuestion& question, Explanation& explanation) {
  auto& warnings = explanation.warnings;
  for (auto& warning : either_day_warnings(spec)) warnings.push_back(std::move(warning));
  if (explanation.next_fires.empty()) {
    warnings.push_back({"", "never_fires", "nothing fires after that time"});
  } else if (calendar_blocks_all(spec, question)) {
    warnings.push_back(
        {"calendar", "calendar_blocks_all", "the calendar allows none of its times within a year"});
  }
  warn_of_exhausted_tables(explanation, question, warnings);
}

// ---- as JSON

Value texts(const std::vector<std::string>& items) {
  Value::Array values;
  for (const auto& item : items) values.emplace_back(item);
  return values;
}

Value canonical_value(const SpecText& text) {
  Value::Array intervals;
  for (const auto& interval : text.intervals) {
    Value::Map entries{{"every", *interval.every}};
    if (interval.offset) entries.emplace_back("offset", *interval.offset);
    intervals.emplace_back(std::move(entries));
  }
  return Value::Map{{"cron_expressions", texts(text.cron_expressions)},
                    {"intervals", std::move(intervals)},
                    {"timezone", text.timezone}};
}

Value fire_value(const ExplainedFire& fire) {
  const chrono::sys_seconds shown{fire.local.time_since_epoch()};
  return Value::Map{{"utc", fmt::format("{:%FT%T}Z", second_at(fire.at))},
                    {"local", fmt::format("{:%FT%T}", shown)},
                    {"offset", offset_text(fire.offset)},
                    {"zone_abbrev", fire.zone_abbreviation},
                    {"calendar", fire.allowed ? "allow" : "skip"},
                    {"dst", dst_value(fire.dst)}};
}

Value or_null(std::string_view text) {
  return text.empty() ? Value{} : Value{text};
}

// The letters at the front of a rule, "EST" or "<+03>"; the rest begins behind them.
std::string take_letters(std::string_view& rule) {
  const bool quoted = rule.starts_with('<');
  if (quoted) rule.remove_prefix(1);
  const auto end = quoted ? rule.find('>') : rule.find_first_of("0123456789+-,");
  const std::string letters{rule.substr(0, end)};
  rule.remove_prefix(std::min(rule.size(), letters.size() + (quoted ? 1 : 0)));
  return letters;
}

}  // namespace

std::vector<SpecWarning> either_day_warnings(const Spec& spec) {
  std::vector<SpecWarning> warnings;
  for (std::size_t i = 0; i < spec.crons().size(); ++i) {
    const Cron& cron = spec.crons()[i];
    if (!cron.days_restricted || !cron.weekdays_restricted) continue;
    warnings.push_back({fmt::format("cron_expressions.{}", i), "dom_dow_or",
                        "it names days of the month and days of the week: one of them is enough "
                        "to fire"});
  }
  return warnings;
}

Explanation explain(const ExplainQuestion& question) {
  auto checked = check_spec(question.spec, question.zone, {}, question.from);
  Explanation explanation;
  explanation.errors = std::move(checked.mistakes);
  if (!checked.spec) return explanation;
  const Spec& spec = *checked.spec;
  explanation.valid = true;
  explanation.words = in_words(spec);
  explanation.canonical = canonical_text(spec);
  explanation.warnings = std::move(checked.warnings);
  SpecWalk walk{spec, question.from};
  while (explanation.next_fires.size() < question.count) {
    const auto fire = walk.next();
    if (!fire) break;
    explanation.next_fires.push_back(explained(*fire, question));
  }
  explanation.shortest_interval = shortest_distance(spec, question.from);
  add_warnings(spec, question, explanation);
  return explanation;
}

Value to_value(const Explanation& explanation) {
  Value::Array fires, warnings, errors;
  for (const auto& fire : explanation.next_fires) fires.push_back(fire_value(fire));
  for (const auto& [path, code, hint] : explanation.warnings) {
    warnings.emplace_back(Value::Map{{"code", code}, {"path", path}, {"text", hint}});
  }
  for (const auto& error : explanation.errors) {
    errors.emplace_back(Value::Map{{"path", error.path},
                                   {"code", error.code},
                                   {"problem", or_null(error.problem)},
                                   {"field", or_null(error.field)},
                                   {"position", static_cast<std::int64_t>(error.position)},
                                   {"text", error.hint}});
  }
  const auto shortest = explanation.shortest_interval;
  return Value::Map{
      {"valid", explanation.valid},
      {"words", or_null(explanation.words)},
      {"canonical", explanation.valid ? canonical_value(explanation.canonical) : Value{}},
      {"next_fires", std::move(fires)},
      {"interval_seconds_min",
       shortest ? Value{static_cast<std::int64_t>(shortest->count())} : Value{}},
      {"warnings", std::move(warnings)},
      {"errors", std::move(errors)}};
}

std::string zone_abbreviation(const Zone& zone, chrono::sys_seconds at) {
  // Zone files name their offsets; of those names a zone keeps the two that its rule goes on with.
  const auto offset = zone.offset_at(at);
  std::string_view rest = zone.data().footer;
  const auto rule = parse_posix_rule(rest);
  if (rule) {
    const auto standard = take_letters(rest);
    rest.remove_prefix(std::min(rest.size(), rest.find_first_not_of("0123456789+-:")));
    if (offset == rule->standard) return standard;
    if (rule->daylight && offset == rule->daylight->offset) return take_letters(rest);
  }
  if (zone.data().footer.empty() && offset == chrono::seconds{0}) return "UTC";
  return offset_text(offset);
}

}  // namespace dw::schedule
