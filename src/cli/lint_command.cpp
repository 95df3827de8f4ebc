// What is odd about a schedule: of one that a server has, or of a spec that is only written down.
#include "cli/catalogue.hpp"
#include "cli/lookup.hpp"
#include "cli/schedule_commands.hpp"
#include "cli/spec_given.hpp"
#include "schedule/lint.hpp"

#include <fmt/format.h>

namespace dw::cli {
namespace {

bool wrote_a_spec(const Given& given) {
  return given.was_said("cron") || given.was_said("interval");
}

Outcome<Value> linted_there(Task& task) {
  for (const std::string_view option :
       {"local", "offset", "timezone", "jitter", "calendar", "overlap-policy"}) {
    if (!task.given.was_said(option)) continue;
    return invalid_input(fmt::format(
        "schedule:lint: --{} is about a spec that is written here, not about a schedule", option));
  }
  Request request = DW_TRY(request_of(task));
  if (task.given.was_said("run-length")) {
    const auto length = DW_TRY(duration_given(task.command.name, "run-length", task.given));
    request.target = with_query(request.target, "run_seconds", std::to_string(length.count()));
  }
  DW_TRY(task.session.check());
  return answer_to(task, request);
}

Outcome<Value> linted_here(Task& task) {
  machine::ZoneFiles zones;
  schedule::Schedule written;
  written.spec = DW_TRY(spec_given(task.command.name, task.given));
  written.spec.jitter_seconds = task.given.whole("jitter").value_or(0);
  written.overlap_policy =
      schedule::find_overlap(task.given.text("overlap-policy")).value_or(schedule::Overlap::skip);
  const Timestamp now = task.io.now();
  auto checked = schedule::check_spec(written.spec, zones.find(written.spec.timezone), {}, now);
  if (!checked.spec) return mistaken_spec(written.spec, checked.mistakes);
  SeededRandom dice{0};  // nothing is rolled
  schedule::Facts facts{.now = now, .random = dice};
  facts.spec = std::make_shared<const schedule::Spec>(*std::move(checked.spec));
  for (const std::string& name : task.given.all("calendar")) {
    facts.calendars.push_back(DW_TRY(calendar_given(task, name, zones, now)));
    written.calendar_ids.push_back(name);
  }
  std::optional<std::chrono::seconds> run_length;
  if (task.given.was_said("run-length")) {
    run_length = DW_TRY(duration_given(task.command.name, "run-length", task.given));
  }
  return schedule::to_value(schedule::lint(written, facts, run_length), run_length);
}

Outcome<Exit> run_lint(Task& task) {
  const bool named = !task.given.text("schedule-id").empty();
  if (named == wrote_a_spec(task.given)) {
    return invalid_input(
        "schedule:lint: of what? Name a schedule, or write a spec with --cron or --interval");
  }
  const Outcome<Value> answer = named ? linted_there(task) : linted_here(task);
  if (!answer) return answer.error();
  show_answer(task, *answer);
  return whole_of(*answer, "error_count") > 0 ? Exit::failure : Exit::success;
}

void draw_findings(Page& page, const Value& answer) {
  const auto& findings = list_of(answer, "findings");
  if (findings.empty()) return page.text("Nothing odd was found.");
  page.table({{"Severity", "severity", Format::status},
              {"Code", "code"},
              {"Where", "path"},
              {"Example", "example_at"},
              {"What Happens", "message"},
              {"What To Do", "hint"}},
             findings);
}

}  // namespace

std::vector<Command> schedule_lint_commands() {
  Argument which = which_schedule();
  which.required = false;
  Command lint{.name = "schedule:lint",
               .summary = "Tell what is odd about a schedule, or about a spec",
               .arguments = {which},
               .options = spec_options(),
               .method = "GET",
               .path = "/schedules/{schedule-id}/lint",
               .view = {.list = "findings", .things = "findings", .draw = draw_findings},
               .preflight = false,
               .examples = {"dw schedule:lint nightly --run-length=PT2H",
                            "dw schedule:lint --local --cron='30 2 * * *' "
                            "--timezone=Europe/Berlin --json"},
               .exits =
                   "1: it would never start anything; 2: the spec is not valid. Warnings end "
                   "with 0.",
               .run = run_lint};
  lint.options.insert(lint.options.end(),
                      {{.name = "jitter",
                        .help = "Seconds that may be added to each time",
                        .kind = Kind::whole,
                        .least = 0,
                        .most = schedule::longest_jitter.count()},
                       {.name = "calendar",
                        .help = "A calendar that looks at it; may be repeated",
                        .kind = Kind::list},
                       schedule_overlap("When the last run is still open"),
                       {.name = "run-length",
                        .help = "How long a run takes, such as PT5M; a server knows its last ones"},
                       local_option()});
  return {lint};
}

}  // namespace dw::cli
