// What administrators do with all schedules at once: look at what is due, hold everything back.
#include "server/addressed.hpp"
#include "server/schedule_detail.hpp"
#include "server/schedules.hpp"

#include <fmt/format.h>

namespace dw::server {
namespace {

constexpr std::int64_t most_ticked = 100'000;
constexpr std::size_t longest_hold_reason = 1000;

Value id_or_null_of(const std::string& id) {
  return id.empty() ? Value{} : Value{id};
}

// A failed evaluation has an error and no outcome.
Value shown_row(const dispatch::TickRow& row) {
  Value::Map shown{{"namespace", row.ns}, {"schedule_id", row.schedule_id}};
  if (!row.result) {
    shown.emplace_back("instance_id", Value{});
    shown.emplace_back("error", row.result.error().message);
    return shown;
  }
  const dispatch::ScheduleReply& told = *row.result;
  shown.emplace_back("instance_id", id_or_null_of(told.instance_id));
  if (told.outcome == schedule::Outcome::failed) {
    shown.emplace_back("error", told.reason);
  } else {
    shown.emplace_back("outcome", to_string(told.outcome));
    if (!told.reason.empty()) shown.emplace_back("reason", told.reason);
  }
  if (!told.run_id.empty()) shown.emplace_back("run_id", told.run_id);
  if (told.occurrence_time) {
    shown.emplace_back("occurrence_time", format_timestamp(*told.occurrence_time));
  }
  shown.emplace_back("last_fired_at", instant_or_null(told.schedule.last_fired_at));
  shown.emplace_back("next_fire_at", instant_or_null(told.schedule.next_fire_at));
  return shown;
}

Answer told_control(std::string_view outcome, const dispatch::ScheduleControl& control) {
  Answer answer{200, {{"outcome", outcome}}};
  const Value said = to_value(control);
  for (const auto& [key, value] : *said.if_map()) answer.body.emplace_back(key, value);
  return answer;
}

}  // namespace

void Schedules::tick(const Call& call, Reply reply) {
  Fields fields{call};
  const auto limit = fields.whole("limit", 1, most_ticked);
  if (!fields.fine()) return reply(fields.errors());
  const auto most = limit ? std::optional{static_cast<std::size_t>(*limit)} : std::nullopt;
  parts_.desk.tick(most, [call = call.without_body(),
                          reply](const Result<std::vector<dispatch::TickRow>>& rows) {
    if (!rows) return reply(failed(rows.error(), call));
    Value::Array shown;
    for (const auto& row : *rows) shown.push_back(shown_row(row));
    const auto count = static_cast<std::int64_t>(shown.size());
    reply({200, {{"rows", std::move(shown)}, {"processed", count}}});
  });
}

Answer Schedules::control(const Call& call) {
  const auto control = dispatch::load_schedule_control(parts_.store);
  if (!control) return failed(control.error(), call);
  return told_control(control->holds() ? "frozen" : "running", *control);
}

void Schedules::freeze(const Call& call, Reply reply) {
  Fields fields{call};
  dispatch::ScheduleControl control{.frozen = true, .killed = fields.flag("kill_switch")};
  control.reason = fields.text("reason", longest_hold_reason);
  if (!fields.fine()) return reply(fields.errors());
  hold(call, std::move(control), std::move(reply));
}

// Durable before it is acknowledged, and before the desk hears of it.
void Schedules::hold(const Call& call, dispatch::ScheduleControl control, Reply reply) {
  const Principal& who = call.caller.principal;
  control.changed_by = who.anonymous ? "anonymous" : std::string{to_string(who.role)};
  control.changed_at = parts_.clock.now();
  parts_.writer.post(
      [this, call = call.without_body(), control = std::move(control), reply = std::move(reply)] {
        const auto kept = parts_.store.put_document(document_of(control));
        if (!kept) return reply(failed(kept.error(), call));
        parts_.desk.heed(control);
        reply(told_control(control.holds() ? "frozen" : "unfrozen", control));
      });
}

}  // namespace dw::server
