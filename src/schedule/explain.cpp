#include "schedule/explain.hpp"

#include "schedule/local_text.hpp"
#include "schedule/outlook.hpp"
#include "schedule/words.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dw::schedule {
namespace {

constexpr std::size_t distances_compared = 500;

// Fields apart by one blank, names in capitals, macros in small letters.
std::string canonical_cron(std::string_view text) {
  std::string canonical;
  bool blank = false;
  for (const char c : text) {
    if (c == ' ' || c == '\t') {
      blank = true;
      continue;
    }
    if (blank && !canonical.empty()) canonical += ' ';
    blank = false;
    canonical += c;
  }
  const bool macro = canonical.starts_with('@');
  for (char& c : canonical) {
    if (macro && c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (!macro && c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return canonical;
}

Value canonical_spec(SpecText spec) {
  for (auto& cron : spec.cron_expressions) cron = canonical_cron(cron);
  return to_value(spec);
}

Value fire_value(const Occurrence& occurrence, const Zone& zone,
                 std::span<const AttachedCalendar> calendars) {
  const auto second = chrono::floor<chrono::seconds>(occurrence.at);
  const auto offset = zone.offset_at(second);
  return Value::Map{{"utc", format_timestamp(occurrence.at)},
                    {"local", local_text(zone.local_at(second), offset)},
                    {"offset", offset_text(offset)},
                    {"zone_abbrev", zone.name() == "UTC" ? "UTC" : offset_text(offset)},
                    {"calendar", denied_at(calendars, occurrence.at) ? "skip" : "allow"},
                    {"dst", dst_value(occurrence.dst)}};
}

Value least_distance(const Spec& spec, Timestamp from) {
  SpecWalk walk{spec, from};
  std::optional<Duration> least;
  auto last = walk.next();
  for (std::size_t i = 0; last && i < distances_compared; ++i) {
    const auto next = walk.next();
    if (!next) break;
    least = std::min(least.value_or(Duration::max()), next->at - last->at);
    last = next;
  }
  if (!least) return {};
  return chrono::floor<chrono::seconds>(*least).count();
}

class Warnings {
 public:
  void add(std::string_view path, std::string_view code, std::string_view text) {
    all_.emplace_back(Value::Map{{"code", code}, {"text", text}, {"path", path}});
  }
  Value::Array take() { return std::move(all_); }

 private:
  Value::Array all_;
};

void warn_of_meaning(Warnings& warnings, const ExplainRequest& request, const Spec& spec,
                     const Value& least) {
  for (std::size_t i = 0; i < spec.crons().size(); ++i) {
    const auto& cron = spec.crons()[i];
    if (!cron.days_restricted || !cron.weekdays_restricted) continue;
    warnings.add(fmt::format("cron_expressions.{}", i), "dom_dow_or",
                 "days of the month and of the week are both given: one of them is enough");
  }
  if (!spec.next(request.from)) warnings.add("", "never_fires", "no occurrence is left");
  const auto* seconds = least.if_integer();
  if (request.overlap_policy == Overlap::skip && seconds != nullptr && *seconds < 3600) {
    warnings.add("", "fires_more_than_hourly_with_skip",
                 "a run that is still open lets the next occurrence be skipped");
  }
  const auto seen = outlook(spec, request.calendars, request.from);
  if (seen.blocks_all) {
    warnings.add("calendar_ids", "calendar_blocks_all", "no occurrence is allowed within a year");
  }
  for (const auto& table : seen.exhausted) {
    warnings.add("calendar_ids", "calendar_table_exhausted", table);
  }
}

Value explain_mistakes(const std::vector<SpecMistake>& mistakes, const SpecText& spec) {
  Value::Array errors;
  for (const auto& mistake : mistakes) {
    errors.emplace_back(
        Value::Map{{"path", mistake.path},
                   {"position", static_cast<std::int64_t>(mistake.position)},
                   {"text", mistake.hint},
                   {"code", mistake.problem.empty() ? mistake.code : mistake.problem}});
  }
  return Value::Map{{"valid", false},
                    {"words", Value{}},
                    {"canonical", canonical_spec(spec)},
                    {"next_fires", Value::Array{}},
                    {"interval_seconds_min", Value{}},
                    {"warnings", Value::Array{}},
                    {"errors", std::move(errors)}};
}

}  // namespace

Value explain(const ExplainRequest& request, std::shared_ptr<const Zone> zone) {
  const auto checked = check_spec(request.spec, std::move(zone), request.bounds, request.from);
  if (!checked.spec) return explain_mistakes(checked.mistakes, request.spec);
  const auto& spec = *checked.spec;
  const auto count =
      static_cast<std::size_t>(std::clamp<std::int64_t>(request.count, 1, most_explained));
  Value::Array fires;
  SpecWalk walk{spec, request.from};
  while (fires.size() < count) {
    const auto next = walk.next();
    if (!next) break;
    fires.push_back(fire_value(*next, spec.zone(), request.calendars));
  }
  const auto least = least_distance(spec, request.from);
  Warnings warnings;
  for (const auto& warning : checked.warnings) {
    warnings.add(warning.path, warning.code, warning.hint);
  }
  warn_of_meaning(warnings, request, spec, least);
  return Value::Map{{"valid", true},
                    {"words", in_words(spec)},
                    {"canonical", canonical_spec(request.spec)},
                    {"next_fires", std::move(fires)},
                    {"interval_seconds_min", least},
                    {"warnings", warnings.take()},
                    {"errors", Value::Array{}}};
}

}  // namespace dw::schedule
