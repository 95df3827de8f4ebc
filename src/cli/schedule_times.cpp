#include "cli/schedule_times.hpp"

#include "cli/given.hpp"
#include "cli/lookup.hpp"
#include "machine/zone_files.hpp"
#include "schedule/calendar_text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dw::cli {
namespace {

// Where the times of a schedule are not known here, it may be as late as its server looks twice.
constexpr std::chrono::minutes latest_without_spec{2};

// The newest of what shows that somebody looked at the schedule. A start that failed shows nothing.
std::optional<Timestamp> last_sign(const Value& schedule) {
  auto last = instant_of(schedule, "last_fired_at|last_fire|info.last_fire");
  if (!last) return std::nullopt;
  const auto fired = *last;
  if (const auto skipped = instant_of(schedule, "last_skipped_at|info.last_skipped_at")) {
    last = std::max(*last, *skipped);
  }
  for (const Value& action : list_of(schedule, "info.recent_actions")) {
    const auto at = instant_of(action, "fired_at");
    if (text_of(action, "outcome") == "failed" && at && *at > fired) return last;
  }
  if (const auto changed = instant_of(schedule, "updated_at")) last = std::max(*last, *changed);
  return last;
}

}  // namespace

std::shared_ptr<const schedule::Zone> zone_here(const std::string& name) {
  static machine::ZoneFiles zones;
  return zones.find(name);
}

schedule::SpecText spec_text_in(const Value& spec) {
  schedule::SpecText text;
  for (const Value& cron : list_of(spec, "cron_expressions")) {
    if (const auto* expression = cron.if_string()) text.cron_expressions.push_back(*expression);
  }
  for (const Value& interval : list_of(spec, "intervals")) {
    schedule::IntervalText& entry = text.intervals.emplace_back();
    entry.every = text_of(interval, "every");
    if (look_up(interval, "offset")) entry.offset = text_of(interval, "offset");
  }
  if (const auto zone = text_of(spec, "timezone"); !zone.empty()) text.timezone = zone;
  return text;
}

std::optional<schedule::Spec> spec_in(const Value& spec, Timestamp now) {
  const auto text = spec_text_in(spec);
  return check_spec(text, zone_here(text.timezone), {}, now).spec;
}

std::string intervals_in_words(const Value& spec) {
  std::string words;
  for (const Value& interval : list_of(spec, "intervals")) {
    words += (words.empty() ? "" : ", ") + words_of(interval, "every");
    if (look_up(interval, "offset")) {
      words += fmt::format(" (offset {})", words_of(interval, "offset"));
    }
  }
  return words.empty() ? "-" : words;
}

std::optional<Timestamp> instant_of(const Value& answer, std::string_view path) {
  const auto at = parse_timestamp(text_of(answer, path));
  return at ? std::optional{*at} : std::nullopt;
}

std::string_view to_string(Health health) {
  switch (health) {
    case Health::ok:
      return "OK";
    case Health::missed:
      return "MISSED";
    case Health::paused:
      return "PAUSED";
    case Health::never_ran:
      return "NEVER_RAN";
  }
  return "OK";
}

Health health_of(const Value& schedule, Timestamp now) {
  if (text_of(schedule, "status") == "paused") return Health::paused;
  if (look_up(schedule, "blocked_reason")) return Health::missed;
  const Value* written = look_up(schedule, "spec");
  const auto spec = spec_in(written ? *written : Value{}, now);
  const std::chrono::seconds jitter{whole_of(schedule, "jitter_seconds")};
  if (const auto due = instant_of(schedule, "next_fire_at|next_fire")) {
    const auto following = spec ? spec->next(*due) : std::nullopt;
    if (spec ? following && following->at + jitter < now : *due + latest_without_spec < now) {
      return Health::missed;
    }
  }
  const auto last = last_sign(schedule);
  if (!last) return Health::never_ran;
  const auto first = spec ? spec->next(*last) : std::nullopt;
  const auto second = first ? spec->next(first->at) : std::nullopt;
  return second && second->at + jitter < now ? Health::missed : Health::ok;
}

bool is_overdue(const Value& schedule, Timestamp now) {
  const auto due = instant_of(schedule, "next_fire_at|next_fire");
  return text_of(schedule, "status") == "active" && due && *due < now;
}

Outcome<std::string> instant_given(std::string_view command, std::string_view option,
                                   const Given& given) {
  const std::string text = given.text(option);
  if (schedule::find_date(text)) return text + "T00:00:00Z";
  if (parse_timestamp(text)) return text;
  return invalid_input(
      fmt::format("{}: --{} must be a time such as 2026-04-20T09:00:00Z, or a day, not '{}'",
                  command, option, text));
}

}  // namespace dw::cli
