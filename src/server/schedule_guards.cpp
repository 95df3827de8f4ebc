// Calendars, conditions and rotations of a schedule. To change one is to update the schedule.
#include "schedule/condition.hpp"
#include "server/schedule_detail.hpp"
#include "server/schedules.hpp"

#include <fmt/format.h>

#include <algorithm>

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
