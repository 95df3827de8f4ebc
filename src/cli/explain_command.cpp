// What a spec means, computed here. A server is asked only for a calendar that it alone knows.
#include "cli/catalogue.hpp"
#include "cli/lookup.hpp"
#include "cli/task.hpp"
#include "machine/zone_files.hpp"
#include "schedule/calendar_seeds.hpp"
#include "schedule/calendar_text.hpp"
#include "schedule/calendar_value.hpp"
#include "schedule/explain.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dw::cli {
namespace {

Outcome<Timestamp> beginning(const Task& task) {
  const std::string text = task.given.text("from");
  if (text.empty()) return task.io.now();
  if (const auto day = schedule::find_date(text)) {
    return Timestamp{std::chrono::sys_days{day->time_since_epoch()}};
  }
  const auto at = parse_timestamp(text);
  if (at) return *at;
  return invalid_input(fmt::format(
      "schedule:explain: --from must be a time such as 2026-03-01T00:00:00Z, or a day, not '{}'",
      text));
}

// The n-th --offset shifts the n-th --interval.
Outcome<schedule::SpecText> spec_given(const Given& given) {
  schedule::SpecText spec;
  spec.cron_expressions = given.all("cron");
  for (const std::string& every : given.all("interval")) spec.intervals.push_back({every});
  const auto& offsets = given.all("offset");
  if (offsets.size() > spec.intervals.size()) {
    return invalid_input("schedule:explain: every --offset needs an --interval that it shifts");
  }
  for (std::size_t i = 0; i < offsets.size(); ++i) spec.intervals[i].offset = offsets[i];
  spec.timezone = given.text("timezone");
  return spec;
}

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
        "schedule:explain: '{}' is no calendar that ships with dw; without --local the server is "
        "asked for it",
        name));
  }
  DW_TRY(task.session.check());
  const Request request = DW_TRY(request_of(task));
  const Value answer = DW_TRY(task.session.ask(request));
  auto calendar =
      schedule::check_calendar(definition_of(answer), [](std::string_view) { return true; });
  if (calendar) return *std::move(calendar);
  return Failure{.exit = Exit::server,
                 .message = fmt::format("calendar '{}' cannot be read: {}", name,
                                        schedule::to_error(calendar.problems).message)};
}

Outcome<schedule::ExplainQuestion> question_of(Task& task, machine::ZoneFiles& zones) {
  schedule::ExplainQuestion question{.spec = DW_TRY(spec_given(task.given)), .zone = {}};
  question.zone = zones.find(question.spec.timezone);
  question.from = DW_TRY(beginning(task));
  question.count = static_cast<std::size_t>(task.given.whole("count").value_or(5));
  if (const std::string name = task.given.text("calendar"); !name.empty()) {
    schedule::Calendar calendar = DW_TRY(calendar_named(task, name));
    question.calendar_zone = zones.find(calendar.timezone);
    const std::chrono::year_month_day today{std::chrono::floor<std::chrono::days>(question.from)};
    question.calendar = std::make_shared<schedule::CompiledCalendar>(
        std::move(calendar), static_cast<int>(today.year()));
  }
  return question;
}

// ---- for people

std::string dst_note(const schedule::ExplainedFire& fire) {
  switch (fire.dst) {
    case schedule::Dst::none:
      return "-";
    case schedule::Dst::gap:
      return "clocks skip its time: moved";
    case schedule::Dst::fold:
      return "clocks show it twice: first";
  }
  return "-";
}

Page drawn(Page page, const schedule::Explanation& explanation, bool with_calendar) {
  page.heading(explanation.words);
  Page::Row titles{"UTC", "Local", "Offset", "Zone"};
  if (with_calendar) titles.emplace_back("Calendar");
  titles.emplace_back("Daylight Saving");
  const Value answer = schedule::to_value(explanation);
  const auto& fires = list_of(answer, "next_fires");
  std::vector<Page::Row> rows;
  for (std::size_t i = 0; i < fires.size(); ++i) {
    Page::Row row;
    for (const auto* key : {"utc", "local", "offset", "zone_abbrev"}) {
      row.push_back(words_of(fires[i], key));
    }
    if (with_calendar) row.push_back(words_of(fires[i], "calendar"));
    row.push_back(dst_note(explanation.next_fires[i]));
    rows.push_back(std::move(row));
  }
  if (!rows.empty()) page.table(titles, rows);
  for (const auto& warning : explanation.warnings) {
    page.warning(fmt::format("Warning: {}{}{} ({})", warning.path,
                             warning.path.empty() ? "" : ": ", warning.hint, warning.code));
  }
  return page;
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

// The text with a mark below the place at which it stops making sense.
std::string pointed_at(const schedule::SpecText& spec, const schedule::SpecMistake& mistake) {
  const std::string text = written_at(spec, mistake.path);
  const bool plain = std::ranges::all_of(text, [](char c) { return c >= 0x20 && c < 0x7f; });
  if (text.empty() || !plain || mistake.position > text.size()) return {};
  return fmt::format("\n    {}\n    {:>{}}", text, "^", mistake.position + 1);
}

Failure mistaken(const schedule::SpecText& spec, const schedule::Explanation& explanation) {
  std::string message = "the spec is not valid";
  for (const auto& mistake : explanation.errors) {
    const std::string field = mistake.field.empty() ? "" : fmt::format(", {}", mistake.field);
    message += fmt::format("\n  {}{}{}{} ({}){}", mistake.path, field,
                           mistake.path.empty() ? "" : ": ", mistake.hint,
                           mistake.problem.empty() ? mistake.code : mistake.problem,
                           pointed_at(spec, mistake));
  }
  return invalid_input(std::move(message));
}

}  // namespace

Outcome<Exit> run_explain(Task& task) {
  machine::ZoneFiles zones;
  const auto question = DW_TRY(question_of(task, zones));
  const auto explanation = schedule::explain(question);
  const Value answer = schedule::to_value(explanation);
  if (task.output.by_line() && explanation.valid) {
    for (const Value& fire : list_of(answer, "next_fires")) task.output.print(fire);
  } else if (task.output.for_machines()) {
    task.output.print(answer);
  } else if (explanation.valid) {
    task.output.show(drawn(task.output.page(), explanation, question.calendar != nullptr));
  } else {
    return mistaken(question.spec, explanation);
  }
  return explanation.valid ? Exit::success : Exit::invalid;
}

std::vector<Command> schedule_commands() {
  return {{.name = "schedule:explain",
           .summary = "Say in words what a spec means, and when it fires next",
           .options = {{.name = "cron",
                        .help = "A cron expression of five fields; may be repeated",
                        .kind = Kind::list,
                        .letter = 'c'},
                       {.name = "interval",
                        .help = "An ISO 8601 duration such as PT15M; may be repeated",
                        .kind = Kind::list},
                       {.name = "offset",
                        .help = "Shifts the interval in the same place; may be repeated",
                        .kind = Kind::list},
                       {.name = "timezone",
                        .help = "The zone that cron expressions are about",
                        .fallback = "UTC"},
                       {.name = "calendar", .help = "Which of these days does it allow?"},
                       {.name = "count",
                        .help = "How many of the next times",
                        .kind = Kind::whole,
                        .fallback = "5",
                        .most = static_cast<std::int64_t>(schedule::most_explained_fires)},
                       {.name = "from", .help = "Times after this one; now when not given"},
                       {.name = "local", .help = "Ask no server", .kind = Kind::flag}},
           .method = "GET",
           .path = "/calendars/{calendar}",
           .preflight = false,
           .examples = {"dw schedule:explain --local --cron='30 2 * * *' --timezone=Europe/Berlin",
                        "dw schedule:explain --interval=PT1H --offset=PT5M "
                        "--calendar=us-federal-holidays --json"},
           .exits = "2: the spec is not valid; the place of each mistake is told.",
           .run = run_explain}};
}

}  // namespace dw::cli
