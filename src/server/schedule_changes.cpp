// Making schedules and changing them.
#include "server/addressed.hpp"
#include "server/schedule_detail.hpp"
#include "server/schedule_fields.hpp"
#include "server/schedules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace dw::server {
namespace {

constexpr std::string_view name_is_taken = "schedule_already_exists";

Value::Array shown_warnings(std::span<const schedule::ChangeWarning> first,
                            std::span<const schedule::ChangeWarning> second) {
  Value::Array all;
  for (const auto& warning : first) all.push_back(to_value(warning));
  for (const auto& warning : second) all.push_back(to_value(warning));
  return all;
}

// What was found wrong while the desk decided, for the answer to tell.
struct Findings {
  std::vector<schedule::ChangeProblem> problems = {};
  std::vector<schedule::ChangeWarning> warnings = {};
};

Result<schedule::Decision> as_decision(schedule::Changed changed, Findings& findings) {
  findings.warnings = std::move(changed.warnings);
  findings.problems = std::move(changed.problems);
  if (changed.decision) return *std::move(changed.decision);
  return Error{ErrorCode::invalid_argument, "the schedule cannot be like that"};
}

Answer calendar_missing(const schedule::ChangeProblem& problem) {
  return refusal(404, "calendar_not_found", problem.message, {{"path", problem.path}});
}

}  // namespace

Answer invalid_schedule(std::span<const schedule::ChangeProblem> problems) {
  Value::Map errors;
  Value::Array details;
  bool large_memo = false;
  for (const auto& problem : problems) {
    const auto known = std::ranges::find(errors, problem.path, &Value::Map::value_type::first);
    if (known == errors.end()) {
      errors.emplace_back(problem.path, Value::Array{problem.message});
    } else {
      known->second.if_array()->emplace_back(problem.message);
    }
    details.push_back(to_value(problem));
    large_memo = large_memo || problem.code == "memo_too_large";
  }
  Answer answer = invalid(std::move(errors));
  answer.body.emplace_back("problems", std::move(details));
  if (large_memo) {
    for (auto& [key, value] : answer.body) {
      if (key == "reason") value = "memo_too_large";
    }
    answer.body.emplace_back("limit", static_cast<std::int64_t>(schedule::longest_memo));
  }
  return answer;
}

// ---- zones and calendars that a change may need. They are looked for where looking may take its
// time; the desk then decides without.

struct Schedules::Supplies {
  std::map<std::string, std::shared_ptr<const schedule::Zone>, std::less<>> zones = {};
  std::map<std::string, std::optional<schedule::AttachedCalendar>, std::less<>> calendars = {};
  Namespace ns = {};
};

std::optional<schedule::AttachedCalendar> Schedules::attached(const Namespace& ns,
                                                              std::string_view id) const {
  auto calendar = parts_.sources.calendar(ns, id);
  if (!calendar) return std::nullopt;
  auto zone = parts_.sources.zone(calendar->calendar().timezone);
  return schedule::AttachedCalendar{std::string{id}, std::move(calendar), std::move(zone)};
}

Schedules::Supplies Schedules::supplies_for(const Call& call,
                                            const schedule::ScheduleChange& wish) {
  Supplies supplies;
  supplies.ns = call.ns;
  const auto zone = [&](const std::string& name) {
    supplies.zones.emplace(name, parts_.sources.zone(name));
  };
  const auto calendars = [&](const std::vector<std::string>& ids) {
    for (const std::string& id : ids) supplies.calendars.emplace(id, attached(call.ns, id));
  };
  zone("UTC");
  if (wish.spec) zone(wish.spec->timezone);
  if (wish.timezone) zone(*wish.timezone);
  if (wish.calendar_ids) calendars(*wish.calendar_ids);
  if (const auto there = find(call); there && *there) {
    zone((*there)->spec.timezone);
    calendars((*there)->calendar_ids);
  }
  return supplies;
}

schedule::ChangeFacts Schedules::change_facts(std::shared_ptr<const Supplies> supplies,
                                              const schedule::Facts& facts) const {
  // Somebody else may have changed the schedule since: what they put there is looked for now.
  const auto zone = [this, supplies](std::string_view name) {
    const auto found = supplies->zones.find(name);
    return found != supplies->zones.end() ? found->second : parts_.sources.zone(name);
  };
  const auto calendar = [this, supplies](std::string_view id) {
    const auto found = supplies->calendars.find(id);
    if (found != supplies->calendars.end()) return found->second;
    return attached(supplies->ns, id);
  };
  return {.now = facts.now,
          .random = facts.random,
          .zone = zone,
          .calendar = calendar,
          .cyclic = facts.action == schedule::Resolution::cyclic,
          .command_context = facts.command_context};
}

// ---- making one

void Schedules::create(const Call& call, Reply reply) {
  auto wish = std::make_shared<ReadWish>(read_wish(call));
  if (!wish->problems.empty()) return reply(invalid_schedule(wish->problems));
  if (!wish->change.schedule_id) wish->change.schedule_id = new_id();
  parts_.reader.post([this, call = call.without_body(), wish, reply = std::move(reply)] {
    auto supplies = std::make_shared<const Supplies>(supplies_for(call, wish->change));
    open(call, wish, std::move(supplies), reply);
  });
}

void Schedules::open(const Call& call, std::shared_ptr<const ReadWish> wish,
                     std::shared_ptr<const Supplies> supplies, Reply reply) {
  const auto findings = std::make_shared<Findings>();
  const schedule::NewSchedule identity{ScheduleUlid{new_id()}, call.ns};
  dispatch::ScheduleAsk question;
  question.name = {call.ns, *wish->change.schedule_id};
  question.context = command_context(call);
  question.opens = true;
  question.decide = [this, identity, wish, supplies = std::move(supplies), findings](
                        const schedule::Schedule* found,
                        const schedule::Facts& facts) -> Result<schedule::Decision> {
    if (found && found->status != schedule::Status::deleted) {
      return Error{ErrorCode::conflict, std::string{name_is_taken}};
    }
    return as_decision(decide_create(identity, wish->change, change_facts(supplies, facts)),
                       *findings);
  };
  question.reply = [call, wish, findings,
                    reply = std::move(reply)](Result<dispatch::ScheduleReply> told) {
    if (told) {
      Answer answer{201, changed_schedule(told->schedule, "created")};
      answer.body.emplace_back("status", to_string(told->schedule.status));
      answer.body.emplace_back("created_at", format_timestamp(told->schedule.created_at));
      answer.body.emplace_back("next_fire_at", instant_or_null(told->schedule.next_fire_at));
      answer.body.emplace_back("warnings", shown_warnings(wish->warnings, findings->warnings));
      return reply(std::move(answer));
    }
    if (!findings->problems.empty()) return reply(invalid_schedule(findings->problems));
    if (told.error().code != ErrorCode::conflict) return reply(failed(told.error(), call));
    reply(refusal(409, name_is_taken,
                  fmt::format("namespace '{}' has a schedule '{}'; pick another id, or update it",
                              call.ns.view(), *wish->change.schedule_id),
                  {{"schedule_id", *wish->change.schedule_id}}));
  };
  parts_.desk.ask(std::move(question));
}

// ---- changing one

void Schedules::update(const Call& call, Reply reply) {
  auto wish = read_wish(call);
  if (!wish.problems.empty()) return reply(invalid_schedule(wish.problems));
  change(
      call, wish.change,
      [](const schedule::Schedule&, schedule::ScheduleChange&) { return std::nullopt; },
      std::move(wish.warnings),
      [](const dispatch::ScheduleReply& told) {
        Answer answer{200, changed_schedule(told.schedule, "updated")};
        answer.body.emplace_back("updated_at", format_timestamp(told.schedule.updated_at));
        return answer;
      },
      std::move(reply));
}

void Schedules::change(const Call& call, schedule::ScheduleChange wish, Refine refine,
                       std::vector<schedule::ChangeWarning> warnings,
                       std::function<Answer(const dispatch::ScheduleReply& told)> answer,
                       Reply reply) {
  const auto findings = std::make_shared<Findings>();
  auto told = [findings, warnings = std::move(warnings), answer = std::move(answer),
               reply](const dispatch::ScheduleReply& changed) {
    Answer said = answer(changed);
    said.body.emplace_back("warnings", shown_warnings(warnings, findings->warnings));
    reply(std::move(said));
  };
  parts_.reader.post([this, call = call.without_body(), wish = std::move(wish),
                      refine = std::move(refine), told = std::move(told), findings, reply] {
    auto supplies = std::make_shared<const Supplies>(supplies_for(call, wish));
    ask(
        call, {},
        [this, wish, refine, supplies = std::move(supplies), findings](
            const schedule::Schedule& found,
            const schedule::Facts& facts) -> Result<schedule::Decision> {
          schedule::ScheduleChange refined = wish;
          if (auto problem = refine(found, refined)) {
            return as_decision({.problems = {*std::move(problem)}}, *findings);
          }
          return as_decision(decide_update(found, refined, change_facts(supplies, facts)),
                             *findings);
        },
        false, told,
        [call, findings, reply](Answer no) {
          const auto& problems = findings->problems;
          if (problems.empty()) return reply(std::move(no));
          // Where the request is about the calendar, it is that which is not there.
          const bool attaching = call.operation() == Operation::attach_calendar ||
                                 call.operation() == Operation::detach_calendar;
          const auto missing =
              std::ranges::find(problems, "calendar_not_found", &schedule::ChangeProblem::code);
          if (attaching && missing != problems.end()) return reply(calendar_missing(*missing));
          reply(invalid_schedule(problems));
        });
  });
}

}  // namespace dw::server
