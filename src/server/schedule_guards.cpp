// Calendars, conditions and rotations of a schedule. To change one is to update the schedule.
#include "schedule/condition.hpp"
#include "schedule/record_codec.hpp"
#include "server/schedule_detail.hpp"
#include "server/schedules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

namespace dw::server {
namespace {

constexpr std::size_t longest_calendar_id = 255;

Value::Map whose(const schedule::Schedule& schedule) {
  return {{"schedule_id", schedule.schedule_id}, {"namespace", schedule.ns.view()}};
}

schedule::ChangeProblem not_attached(std::string_view calendar) {
  return {.path = "calendar_id",
          .code = "calendar_not_found",
          .message = fmt::format("calendar '{}' is not one of this schedule", calendar),
          .hint = "GET the schedule: its calendar_ids are the ones it has"};
}

std::optional<schedule::ChangeProblem> as_wished(const schedule::Schedule&,
                                                 schedule::ScheduleChange&) {
  return std::nullopt;
}

constexpr std::size_t schedules_of_a_page = 500;

bool names(const schedule::CalendarRecord& calendar, const std::string& attached) {
  return attached == calendar.id || attached == calendar.calendar.name;
}

// Most schedules have no calendar, and their records then do not speak of any.
bool may_have_calendars(const store::ScheduleRow& row) {
  return row.record.find("\"calendar_ids\"") != std::string::npos;
}

Value verdict_value(const schedule::ConditionResult& result) {
  Value::Map shown{
      {"result", result.holds()},
      {"failed_pointer", result.failed_pointer ? Value{*result.failed_pointer} : Value{}}};
  return shown;
}

}  // namespace

void Schedules::change_guard(const Call& call, schedule::ScheduleChange wish, Refine refine,
                             Reply reply) {
  change(
      call, std::move(wish), std::move(refine), {},
      [](const dispatch::ScheduleReply& told) {
        return Answer{200, schedule_detail(told.schedule)};
      },
      std::move(reply));
}

void Schedules::attach_calendar(const Call& call, Reply reply) {
  Fields fields{call};
  const std::string id = fields.required_text("calendar_id", longest_calendar_id);
  const bool adds = fields.word("mode", {"replace", "add"}) == "add";
  if (!fields.fine()) return reply(fields.errors());
  schedule::ScheduleChange wish;
  wish.calendar_ids = {{id}};
  change_guard(
      call, std::move(wish),
      [id, adds](const schedule::Schedule& found,
                 schedule::ScheduleChange& change) -> std::optional<schedule::ChangeProblem> {
        if (!adds) return std::nullopt;
        change.calendar_ids = found.calendar_ids;
        const bool there = std::ranges::find(found.calendar_ids, id) != found.calendar_ids.end();
        if (!there) change.calendar_ids->push_back(id);
        return std::nullopt;
      },
      std::move(reply));
}

void Schedules::detach_calendar(const Call& call, Reply reply) {
  const std::string id = call.parameter("calendar_id").value_or("");
  // Left out it means all of them; left empty it is somebody's mistake.
  if (id.empty() && call.parameter("calendar_id")) {
    return reply(invalid({{"calendar_id", Value::Array{"must name a calendar, or be left out"}}}));
  }
  schedule::ScheduleChange wish;
  wish.calendar_ids.emplace();
  change_guard(
      call, std::move(wish),
      [id](const schedule::Schedule& found,
           schedule::ScheduleChange& change) -> std::optional<schedule::ChangeProblem> {
        if (id.empty()) return std::nullopt;
        change.calendar_ids = found.calendar_ids;
        if (std::erase(*change.calendar_ids, id) == 0) return not_attached(id);
        return std::nullopt;
      },
      std::move(reply));
}

Result<std::vector<std::string>> Schedules::using_calendar(
    const Namespace& ns, const schedule::CalendarRecord& calendar) {
  store::ScheduleFilter filter{
      .ns = ns,
      .statuses = {std::string{store::schedule_active}, std::string{store::schedule_paused}},
      .limit = schedules_of_a_page};
  std::vector<std::string> ids;
  for (;;) {
    const auto page = DW_TRY(parts_.store.list_schedules(filter));
    for (const auto& row : page) {
      if (!may_have_calendars(row)) continue;
      const auto found = DW_TRY(schedule::read_schedule(row.record));
      const auto is_it = [&](const std::string& id) { return names(calendar, id); };
      if (std::ranges::any_of(found.calendar_ids, is_it)) ids.push_back(row.schedule_id);
    }
    if (page.size() < filter.limit) break;
    filter.after =
        store::ScheduleCursor{page.back().created_at, page.back().schedule_id, page.back().ulid};
  }
  std::ranges::sort(ids);
  return ids;
}

void Schedules::take_off(const Call& call, const schedule::CalendarRecord& calendar,
                         const std::vector<std::string>& schedules,
                         std::function<void(std::optional<Answer> refused)> done) {
  struct Rest {
    std::atomic<std::size_t> open;
    std::mutex mutex;
    std::optional<Answer> refused;  // guarded by mutex
  };
  const auto rest = std::make_shared<Rest>();
  rest->open = schedules.size();
  for (const std::string& id : schedules) {
    Call one = call.without_body();
    one.match.captured.emplace_back("schedule", id);
    schedule::ScheduleChange wish;
    wish.calendar_ids.emplace();
    change_guard(
        one, std::move(wish),
        [calendar](const schedule::Schedule& found,
                   schedule::ScheduleChange& change) -> std::optional<schedule::ChangeProblem> {
          change.calendar_ids = found.calendar_ids;
          std::erase_if(*change.calendar_ids,
                        [&](const std::string& attached) { return names(calendar, attached); });
          return std::nullopt;
        },
        [rest, done](Answer answer) {
          // One that has been deleted since needs nothing any more.
          if (answer.status != 200 && answer.status != 404) {
            const std::lock_guard lock{rest->mutex};
            rest->refused = std::move(answer);
          }
          if (--rest->open == 0) done(std::move(rest->refused));
        });
  }
}

void Schedules::set_condition(const Call& call, Reply reply) {
  if (call.parameter("dry_run") == "true") {
    return reading(call, std::move(reply), &Schedules::try_condition);
  }
  const Value* filter = call.field("filter");
  if (!filter) {
    return reply(
        invalid({{"filter", Value::Array{"is required; DELETE takes the condition away"}}}));
  }
  schedule::ScheduleChange wish;
  wish.condition = *filter;
  change_guard(call, std::move(wish), as_wished, std::move(reply));
}

// What it would say now, or of the context that came with it. Nothing is changed.
Answer Schedules::try_condition(const Call& call) {
  const auto found = find(call);
  if (!found) return schedule_failed(found.error(), call);
  if (!*found) return no_such_schedule(call);
  const Value* filter = call.field("filter");
  Value asked = filter ? *filter : (*found)->condition.value_or(Value{});
  const auto checked = schedule::check_condition(asked);
  if (!checked) {
    std::vector<schedule::ChangeProblem> problems;
    for (const auto& problem : checked.problems) {
      problems.push_back({.path = problem.field.empty() ? "filter" : "filter." + problem.field,
                          .code = problem.code,
                          .message = problem.message,
                          .hint = problem.message});
    }
    return invalid_schedule(problems);
  }
  Value context;
  if (const Value* given = call.field("context")) {
    context = *given;
  } else {
    auto present = parts_.looks.context_of(**found, parts_.clock.now());
    if (!present) return schedule_failed(present.error(), call);
    context = *std::move(present);
  }
  Answer answer{200, whose(**found)};
  const Value verdict = verdict_value(schedule::evaluate(*checked, context));
  for (const auto& [key, value] : *verdict.if_map()) answer.body.emplace_back(key, value);
  answer.body.emplace_back("context", std::move(context));
  return answer;
}

void Schedules::set_rotation(const Call& call, Reply reply) {
  const Value* inputs = call.field("inputs");
  if (!inputs) {
    return reply(
        invalid({{"inputs", Value::Array{"is required; DELETE takes the rotation away"}}}));
  }
  schedule::ScheduleChange wish;
  wish.rotation = *inputs;
  change_guard(call, std::move(wish), as_wished, std::move(reply));
}

void Schedules::clear_guard(const Call& call, std::string_view field, Reply reply) {
  schedule::ScheduleChange wish;
  wish.clear_fields = {std::string{field}};
  change_guard(call, std::move(wish), as_wished, std::move(reply));
}

Answer Schedules::condition(const Call& call) {
  const auto found = find(call);
  if (!found) return schedule_failed(found.error(), call);
  if (!*found) return no_such_schedule(call);
  Answer answer{200, whose(**found)};
  answer.body.emplace_back("filter", (*found)->condition.value_or(Value{}));
  return answer;
}

Answer Schedules::rotation(const Call& call) {
  const auto found = find(call);
  if (!found) return schedule_failed(found.error(), call);
  if (!*found) return no_such_schedule(call);
  Answer answer{200, whose(**found)};
  answer.body.emplace_back("rotation",
                           (*found)->rotation ? to_value(*(*found)->rotation) : Value{});
  return answer;
}

}  // namespace dw::server
