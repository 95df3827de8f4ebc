// What a spec means, computed here. A server is asked only for a calendar that it alone knows.
#include "cli/catalogue.hpp"
#include "cli/lookup.hpp"
#include "cli/spec_given.hpp"
#include "schedule/calendar_text.hpp"
#include "schedule/explain.hpp"

#include <fmt/format.h>

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

Outcome<schedule::ExplainQuestion> question_of(Task& task, machine::ZoneFiles& zones) {
  schedule::ExplainQuestion question{.spec = DW_TRY(spec_given(task.command.name, task.given)),
                                     .zone = {}};
  question.zone = zones.find(question.spec.timezone);
  question.from = DW_TRY(beginning(task));
  question.count = static_cast<std::size_t>(task.given.whole("count").value_or(5));
  if (const std::string name = task.given.text("calendar"); !name.empty()) {
    const auto attached = DW_TRY(calendar_given(task, name, zones, question.from));
    question.calendar = attached.calendar;
    question.calendar_zone = attached.zone;
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
    page.warning(fmt::format("Warning: {}{}{} ({})", warning.path, warning.path.empty() ? "" : ": ",
                             warning.hint, warning.code));
  }
  return page;
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
    return mistaken_spec(question.spec, explanation.errors);
  }
  return explanation.valid ? Exit::success : Exit::invalid;
}

std::vector<Command> schedule_commands() {
  Command explain{
      .name = "schedule:explain",
      .summary = "Say in words what a spec means, and when it fires next",
      .options = spec_options(),
      .method = "GET",
      .path = "/calendars/{calendar}",
      .preflight = false,
      .examples = {"dw schedule:explain --local --cron='30 2 * * *' --timezone=Europe/Berlin",
                   "dw schedule:explain --interval=PT1H --offset=PT5M "
                   "--calendar=us-federal-holidays --json"},
      .exits = "2: the spec is not valid; the place of each mistake is told.",
      .run = run_explain};
  explain.options.insert(explain.options.end(),
                         {{.name = "calendar", .help = "Which of these days does it allow?"},
                          {.name = "count",
                           .help = "How many of the next times",
                           .kind = Kind::whole,
                           .fallback = "5",
                           .most = static_cast<std::int64_t>(schedule::most_explained_fires)},
                          {.name = "from", .help = "Times after this one; now when not given"},
                          local_option()});
  return {explain};
}

}  // namespace dw::cli
