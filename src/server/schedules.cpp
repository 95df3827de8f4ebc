#include "server/schedules.hpp"

#include "server/addressed.hpp"
#include "server/schedule_detail.hpp"
#include "server/schedule_fields.hpp"
#include "server/schedule_list.hpp"

#include <fmt/format.h>

namespace dw::server {
namespace {

using dispatch::ScheduleReply;

store::ScheduleName name_in(const Call& call) {
  return {call.ns, std::string{call.match["schedule"]}};
}

std::optional<std::string> note_in(Fields& fields) {
  std::string note = fields.text("note", schedule::longest_note);
  return fields.field("note") ? std::optional{std::move(note)} : std::nullopt;
}

Value note_of(const schedule::Schedule& schedule) {
  return schedule.note ? Value{*schedule.note} : Value{};
}

Answer triggered(const ScheduleReply& told, const Call& call) {
  const auto say = [&](std::string_view outcome, Value::Map more) {
    Answer answer{200, changed_schedule(told.schedule, outcome)};
    std::ranges::move(more, std::back_inserter(answer.body));
    return answer;
  };
  switch (told.outcome) {
    case schedule::Outcome::triggered:
      return say("triggered", {{"workflow_id", told.instance_id}, {"run_id", told.run_id}});
    case schedule::Outcome::buffered:
      return say("buffered", {{"buffer_depth", std::ssize(told.schedule.buffered_actions)}});
    case schedule::Outcome::buffer_full:
      return say("buffer_full", {{"reason", told.reason}});
    case schedule::Outcome::skipped:
      return say("skipped", {{"reason", told.reason}});
    case schedule::Outcome::failed:
      return refusal(500, "trigger_failed",
                     fmt::format("schedule '{}' could not start its workflow: {}",
                                 call.match["schedule"], told.reason),
                     changed_schedule(told.schedule, "failed"));
    default:
      return schedule_refused(told, call);
  }
}

}  // namespace

Value command_context(const Call& call) {
  const Principal& who = call.caller.principal;
  const auto role = who.anonymous ? std::string_view{"anonymous"} : to_string(who.role);
  Value::Map context{
      {"principal",
       Value::Map{{"type", who.anonymous ? "anonymous" : "role"}, {"id", role}, {"label", role}}}};
  if (!call.caller.request_id.empty()) {
    context.emplace_back("request", Value::Map{{"request_id", call.caller.request_id}});
  }
  return Value::Map{{"source", "control_plane"}, {"context", std::move(context)}};
}

Answer no_such_schedule(const Call& call) {
  return refusal(404, "schedule_not_found",
                 fmt::format("there is no schedule '{}' in namespace '{}'", call.match["schedule"],
                             call.ns.view()),
                 {{"schedule_id", call.match["schedule"]}});
}

Answer schedule_failed(const Error& error, const Call& call) {
  return error.code == ErrorCode::not_found ? no_such_schedule(call) : failed(error, call);
}

Answer schedule_refused(const ScheduleReply& told, const Call& call) {
  const auto id = call.match["schedule"];
  const auto no = [&](int status, std::string message) {
    return refusal(status, told.reason, std::move(message), {{"schedule_id", id}});
  };
  if (told.reason == "schedule_deleted") return no_such_schedule(call);
  if (told.reason == "schedule_not_paused") {
    return no(409, fmt::format("schedule '{}' is active already", id));
  }
  if (told.reason == "dispatch_disabled") {
    return no(409,
              "an administrator has stopped all schedules: GET /api/system/schedules/freeze "
              "says why");
  }
  if (told.reason == "cycle_detected") {
    return no(422, fmt::format("the workflow of schedule '{}' would end up starting itself", id));
  }
  return refusal(409, told.reason.empty() ? "schedule_unchanged" : told.reason,
                 fmt::format("schedule '{}' stays as it is", id), {{"schedule_id", id}});
}

Schedules::Schedules(SchedulesParts parts) : parts_(std::move(parts)), ulids_(parts_.random) {}

void Schedules::serve(Call call, Reply reply) {
  switch (call.operation()) {
    case Operation::list_schedules:
      return list_schedules(
          {parts_.store, parts_.reader, parts_.attributes, [this] { return token_key(); }},
          std::move(call), std::move(reply));
    case Operation::create_schedule:
      return create(call, std::move(reply));
    case Operation::describe_schedule:
      return reading(std::move(call), std::move(reply), &Schedules::describe);
    case Operation::update_schedule:
      return update(call, std::move(reply));
    case Operation::delete_schedule:
      return remove(call, std::move(reply));
    case Operation::pause_schedule:
      return set_paused(call, true, std::move(reply));
    case Operation::resume_schedule:
      return set_paused(call, false, std::move(reply));
    case Operation::trigger_schedule:
      return trigger(call, std::move(reply));
    case Operation::backfill_schedule:
      return backfill(call, std::move(reply));
    case Operation::schedule_history:
      return reading(std::move(call), std::move(reply), &Schedules::history);
    case Operation::schedule_actions:
      return reading(std::move(call), std::move(reply), &Schedules::actions);
    case Operation::preview_schedule:
      return reading(std::move(call), std::move(reply), &Schedules::preview);
    case Operation::lint_schedule:
      return reading(std::move(call), std::move(reply), &Schedules::lint);
    case Operation::attach_calendar:
      return attach_calendar(call, std::move(reply));
    case Operation::detach_calendar:
      return detach_calendar(call, std::move(reply));
    case Operation::read_condition:
      return reading(std::move(call), std::move(reply), &Schedules::condition);
    case Operation::set_condition:
      return set_condition(call, std::move(reply));
    case Operation::clear_condition:
      return clear_guard(call, "condition", std::move(reply));
    case Operation::read_rotation:
      return reading(std::move(call), std::move(reply), &Schedules::rotation);
    case Operation::set_rotation:
      return set_rotation(call, std::move(reply));
    case Operation::clear_rotation:
      return clear_guard(call, "rotation", std::move(reply));
    case Operation::tick_schedules:
      return tick(call, std::move(reply));
    case Operation::schedule_control:
      return reading(std::move(call), std::move(reply), &Schedules::control);
    case Operation::freeze_schedules:
      return freeze(call, std::move(reply));
    case Operation::unfreeze_schedules:
      return hold(call, {}, std::move(reply));
    case Operation::purge_schedules:
      return purge(call, std::move(reply));
    default:
      return reply(refusal(404, "not_found", "nobody here does that"));
  }
}

void Schedules::ask(const Call& call, schedule::Asked asked, Decide decide, bool dry, Told told,
                    Reply reply) {
  dispatch::ScheduleAsk question;
  question.name = name_in(call);
  question.context = command_context(call);
  question.needs = [asked](const schedule::Schedule& found) {
    return needs_of(found, asked.mode, asked.trigger, asked.backfill);
  };
  question.asked = std::move(asked);
  question.decide = [decide = std::move(decide)](
                        const schedule::Schedule* found,
                        const schedule::Facts& facts) -> Result<schedule::Decision> {
    if (!found || found->status == schedule::Status::deleted) {
      return Error{ErrorCode::not_found, "there is no such schedule"};
    }
    return decide(*found, facts);
  };
  question.dry = dry;
  question.reply = [call = call.without_body(), told = std::move(told),
                    reply = std::move(reply)](Result<ScheduleReply> answer) {
    if (!answer) return reply(schedule_failed(answer.error(), call));
    told(*answer);
  };
  parts_.desk.ask(std::move(question));
}

// ---- its life

// To pause and to resume: both take a note and tell how it then stands.
void Schedules::set_paused(const Call& call, bool paused, Reply reply) {
  Fields fields{call};
  const auto note = note_in(fields);
  if (!fields.fine()) return reply(fields.errors());
  ask(
      call, {},
      [note, paused](const schedule::Schedule& found, const schedule::Facts& facts) {
        return paused ? decide_pause(found, note, facts) : decide_resume(found, note, facts);
      },
      false,
      [call = call.without_body(), paused, reply](const ScheduleReply& told) {
        const auto wanted = paused ? schedule::Outcome::paused : schedule::Outcome::resumed;
        if (told.outcome != wanted) return reply(schedule_refused(told, call));
        const schedule::Schedule& now = told.schedule;
        Answer answer{200, changed_schedule(now, to_string(wanted))};
        answer.body.emplace_back("paused", paused);
        answer.body.emplace_back("note", note_of(now));
        if (paused) {
          answer.body.emplace_back("paused_at", instant_or_null(now.paused_at));
        } else {
          answer.body.emplace_back("resumed_at", format_timestamp(now.updated_at));
          answer.body.emplace_back("next_fire_at", instant_or_null(now.next_fire_at));
        }
        reply(std::move(answer));
      },
      reply);
}

void Schedules::remove(const Call& call, Reply reply) {
  ask(
      call, {},
      [](const schedule::Schedule& found, const schedule::Facts& facts) {
        return decide_delete(found, facts);
      },
      false,
      [reply](const ScheduleReply& told) {
        Answer answer{200, changed_schedule(told.schedule, "deleted")};
        answer.body.emplace_back("deleted_at", instant_or_null(told.schedule.deleted_at));
        reply(std::move(answer));
      },
      reply);
}

void Schedules::trigger(const Call& call, Reply reply) {
  Fields fields{call};
  schedule::Asked asked{.mode = schedule::Mode::trigger};
  asked.trigger.overlap_policy = overlap_in(fields);
  asked.trigger.input = input_in(fields, "input");
  asked.trigger.respect_guards = fields.flag("respect_guards");
  if (!fields.fine()) return reply(fields.errors());
  ask(
      call, asked,
      [request = asked.trigger](const schedule::Schedule& found, const schedule::Facts& facts) {
        return decide_trigger(found, request, facts);
      },
      false,
      [call = call.without_body(), reply](const ScheduleReply& told) {
        reply(triggered(told, call));
      },
      reply);
}

// ---- names and keys

std::string Schedules::new_id() {
  const std::lock_guard lock{mutex_};
  return ulids_.next(parts_.clock.now());
}

// Kept in the store: a page that was asked for here may be turned to elsewhere, or after a restart.
std::string Schedules::token_key() {
  const std::lock_guard lock{mutex_};
  if (!token_key_.empty()) return token_key_;
  if (const auto kept = parts_.store.documents(schedule_token_key_kind); kept && !kept->empty()) {
    const auto body = parse_json(kept->front().body);
    const Value* key = body ? body->find("key") : nullptr;
    if (key && key->if_string()) return token_key_ = *key->if_string();
  }
  for (int word = 0; word < 4; ++word) {
    token_key_ += fmt::format("{:016x}", system_seed());
  }
  parts_.writer.post([this, body = to_json(Value::Map{{"key", token_key_}})] {
    // Whoever cannot keep it still has it: only a restart makes its tokens worthless.
    [[maybe_unused]] const auto kept = parts_.store.put_document(
        {std::string{schedule_token_key_kind}, Namespace{"default"}, "schedules", body});
  });
  return token_key_;
}

}  // namespace dw::server
