#include "cli/spec_given.hpp"

#include "cli/lookup.hpp"
#include "schedule/calendar_seeds.hpp"
#include "schedule/calendar_value.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dw::cli {
namespace {

// The part of an answer that defines a calendar; what else a server says about it is its own.
Value definition_of(const Value& answer) {
  Value::Map definition;
  for (const auto* key : {"name", "kind", "timezone", "dates", "partial_dates", "rules", "except",
                          "labels", "confirmed_through", "provisional_note"}) {
    if (const Value* value = answer.find(key)) definition.emplace_back(key, *value);
  }
  return definition;
}

Outcome<schedule::Calendar> calendar_named(Task& task, const std::string& name) {
  if (const auto* seed = schedule::find_seed_calendar(name)) return *seed;
  if (task.given.flag("local")) {
    return invalid_input(fmt::format(
        "{}: '{}' is no calendar that ships with dw; without --local the server is asked for it",
        task.command.name, name));
  }
  DW_TRY(task.session.check());
  const Value answer =
      DW_TRY(task.session.ask({.target = fmt::format("/calendars/{}", escape_segment(name))}));
  auto calendar =
      schedule::check_calendar(definition_of(answer), [](std::string_view) { return true; });
  if (calendar) return *std::move(calendar);
  return Failure{.exit = Exit::server,
                 .message = fmt::format("calendar '{}' cannot be read: {}", name,
                                        schedule::to_error(calendar.problems).message)};
}

// What somebody wrote at a path of the spec; empty where nobody did.
std::string written_at(const schedule::SpecText& spec, const std::string& path) {
  for (std::size_t i = 0; i < spec.cron_expressions.size(); ++i) {
    if (path == fmt::format("cron_expressions.{}", i)) return spec.cron_expressions[i];
  }
  for (std::size_t i = 0; i < spec.intervals.size(); ++i) {
    if (path == fmt::format("intervals.{}.every", i)) return spec.intervals[i].every.value_or("");
    if (path == fmt::format("intervals.{}.offset", i)) return spec.intervals[i].offset.value_or("");
  }
  return path == "timezone" ? spec.timezone : "";
}

std::string pointed_at(const schedule::SpecText& spec, const schedule::SpecMistake& mistake) {
  const std::string text = written_at(spec, mistake.path);
  const bool plain = std::ranges::all_of(text, [](char c) { return c >= 0x20 && c < 0x7f; });
  if (text.empty() || !plain || mistake.position > text.size()) return {};
  return fmt::format("\n    {}\n    {:>{}}", text, "^", mistake.position + 1);
}

}  // namespace

std::vector<Option> spec_options() {
  return {
      {.name = "cron",
       .help = "A cron expression of five fields; may be repeated",
       .kind = Kind::list,
       .letter = 'c'},
      {.name = "interval",
       .help = "An ISO 8601 duration such as PT15M; may be repeated",
       .kind = Kind::list},
      {.name = "offset",
       .help = "Shifts the interval in the same place; may be repeated",
       .kind = Kind::list},
      {.name = "timezone", .help = "The zone that cron expressions are about", .fallback = "UTC"}};
}

const Option& local_option() {
  static const Option local{.name = "local", .help = "Ask no server", .kind = Kind::flag};
  return local;
}

Outcome<schedule::SpecText> spec_given(std::string_view command, const Given& given) {
  schedule::SpecText spec;
  spec.cron_expressions = given.all("cron");
  for (const std::string& every : given.all("interval")) spec.intervals.push_back({every});
  const auto& offsets = given.all("offset");
  if (offsets.size() > spec.intervals.size()) {
    return invalid_input(
        fmt::format("{}: every --offset needs an --interval that it shifts", command));
  }
  for (std::size_t i = 0; i < offsets.size(); ++i) spec.intervals[i].offset = offsets[i];
  spec.timezone = given.text("timezone");
  return spec;
}

Outcome<schedule::AttachedCalendar> calendar_given(Task& task, const std::string& name,
                                                   machine::ZoneFiles& zones, Timestamp at) {
  schedule::Calendar calendar = DW_TRY(calendar_named(task, name));
  auto zone = zones.find(calendar.timezone);
  const std::chrono::year_month_day today{std::chrono::floor<std::chrono::days>(at)};
  return schedule::AttachedCalendar{name,
                                    std::make_shared<const schedule::CompiledCalendar>(
                                        std::move(calendar), static_cast<int>(today.year())),
                                    std::move(zone)};
}

Failure mistaken_spec(const schedule::SpecText& spec,
                      std::span<const schedule::SpecMistake> mistakes) {
  std::string message = "the spec is not valid";
  for (const auto& mistake : mistakes) {
    const std::string field = mistake.field.empty() ? "" : fmt::format(", {}", mistake.field);
    message += fmt::format(
        "\n  {}{}{}{} ({}){}", mistake.path, field, mistake.path.empty() ? "" : ": ", mistake.hint,
        mistake.problem.empty() ? mistake.code : mistake.problem, pointed_at(spec, mistake));
  }
  return invalid_input(std::move(message));
}

Outcome<std::chrono::seconds> duration_given(std::string_view command, std::string_view option,
                                             const Given& given) {
  const std::string text = given.text(option);
  const auto parsed = schedule::parse_duration(text);
  if (const auto* written = std::get_if<schedule::WrittenDuration>(&parsed)) return written->length;
  return invalid_input(
      fmt::format("{}: --{} must be an ISO 8601 duration such as PT5M, not '{}': {}", command,
                  option, text, std::get<schedule::IntervalError>(parsed).hint));
}

}  // namespace dw::cli
