// What can be read about one schedule.
#include "schedule/record_codec.hpp"
#include "server/schedule_detail.hpp"
#include "server/schedule_fields.hpp"
#include "server/schedules.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dw::server {
namespace {

constexpr std::int64_t usual_limit = 100;
constexpr std::int64_t largest_limit = 500;

// Never an error: what is no number is no wish.
std::size_t clamped_limit(const Call& call) {
  const auto given = whole_number_in(call.parameter("limit").value_or(""));
  return static_cast<std::size_t>(
      std::clamp(given.value_or(usual_limit), std::int64_t{1}, largest_limit));
}

Answer wrong_sequence() {
  const std::string text = "must be a whole number, 0 or more";
  const Value errors{Value::Map{{"after_sequence", Value::Array{text}}}};
  return refusal(422, "invalid_after_sequence", "after_sequence " + text,
                 {{"errors", errors}, {"validation_errors", errors}});
}

// ---- the action log

std::string cursor_of(const store::LedgerRow& line) {
  return fmt::format("{}.{}.{}", to_micros(line.judged_at), to_micros(line.nominal_at), line.nth);
}

std::optional<store::LedgerCursor> cursor_in(std::string_view text) {
  std::int64_t numbers[3] = {};
  for (std::size_t i = 0; i < 3; ++i) {
    const auto dot = text.find('.');
    const auto number = whole_number_in(text.substr(0, dot));
    if (!number || (dot == std::string_view::npos) != (i == 2)) return std::nullopt;
    numbers[i] = *number;
    text = dot == std::string_view::npos ? std::string_view{} : text.substr(dot + 1);
  }
  return store::LedgerCursor{from_micros(numbers[0]), from_micros(numbers[1]), numbers[2]};
}

bool is_action_type(std::string_view type) {
  return type.empty() || type == "schedule_skipped" || type == "dispatch_schedule" ||
         type == "schedule_buffered";
}

bool is_of_type(const store::LedgerRow& line, std::string_view type) {
  if (type.empty()) return true;
  if (type == "dispatch_schedule") return line.outcome == "fired" || line.outcome == "failed";
  if (type == "schedule_buffered") return line.outcome == "buffered";
  return line.outcome == "skipped" || line.outcome == "dropped";
}

}  // namespace

void Schedules::reading(Call call, Reply reply, Read read) {
  parts_.reader.post([this, call = std::move(call), reply = std::move(reply), read] {
    reply((this->*read)(call));
  });
}

Result<std::optional<schedule::Schedule>> Schedules::find(const Call& call) {
  const auto row = DW_TRY(parts_.store.find_schedule(call.ns, call.match["schedule"]));
  if (!row || row->status == store::schedule_deleted) return std::optional<schedule::Schedule>{};
  return std::optional{DW_TRY(schedule::read_schedule(row->record))};
}

Answer Schedules::describe(const Call& call) {
  const auto found = find(call);
  if (!found) return schedule_failed(found.error(), call);
  return *found ? Answer{200, schedule_detail(**found)} : no_such_schedule(call);
}

// Whose events they are. A schedule that was purged has no row any more, but may have left them.
Result<std::optional<ScheduleUlid>> Schedules::whose_events(const Call& call) {
  const auto id = call.match["schedule"];
  const ScheduleUlid ulid{call.parameter("schedule_ulid").value_or("")};
  if (ulid.view().empty()) {
    const auto row = DW_TRY(parts_.store.find_schedule(call.ns, id));
    return row ? std::optional{row->ulid} : std::nullopt;
  }
  const auto events = DW_TRY(parts_.store.schedule_events(ulid, 0, 1));
  if (!events.empty()) {
    const bool ours = events[0].ns == call.ns && events[0].schedule_id == id;
    return ours ? std::optional{ulid} : std::nullopt;
  }
  const auto row = DW_TRY(parts_.store.load_schedule(ulid));
  const bool ours = row && row->ns == call.ns && row->schedule_id == id;
  return ours ? std::optional{ulid} : std::nullopt;
}

// Also of one that is deleted: what happened to it is what its history is for.
Answer Schedules::history(const Call& call) {
  std::int64_t after = 0;
  if (const auto given = call.parameter("after_sequence")) {
    const auto number = whole_number_in(*given);
    if (!number || *number < 0) return wrong_sequence();
    after = *number;
  }
  const auto ulid = whose_events(call);
  if (!ulid) return schedule_failed(ulid.error(), call);
  if (!*ulid) return no_such_schedule(call);
  const std::size_t limit = clamped_limit(call);
  auto events = parts_.store.schedule_events(**ulid, after, limit + 1);
  if (!events) return schedule_failed(events.error(), call);
  const bool more = events->size() > limit;
  if (more) events->resize(limit);
  Value::Array shown;
  for (const auto& event : *events) shown.push_back(shown_event(event));
  return {200,
          {{"schedule_id", call.match["schedule"]},
           {"namespace", call.ns.view()},
           {"schedule_ulid", (*ulid)->view()},
           {"events", std::move(shown)},
           {"has_more", more},
           {"next_cursor", more ? Value{events->back().sequence} : Value{}}}};
}

Answer Schedules::actions(const Call& call) {
  const auto type = call.parameter("action_type").value_or("");
  if (!is_action_type(type)) {
    return invalid({{"action_type", Value::Array{"must be one of schedule_skipped, "
                                                 "dispatch_schedule, schedule_buffered"}}});
  }
  const auto found = find(call);
  if (!found) return schedule_failed(found.error(), call);
  if (!*found) return no_such_schedule(call);
  const std::size_t limit = clamped_limit(call);
  store::LedgerFilter filter{.ulid = (*found)->id, .limit = limit + 1};
  if (auto reason = call.parameter("reason"); reason && !reason->empty()) filter.reason = *reason;
  if (const auto cursor = call.parameter("cursor"); cursor && !cursor->empty()) {
    filter.before = cursor_in(*cursor);
    if (!filter.before) {
      return refusal(400, "invalid_page_token", "cursor is not one that this server gave out");
    }
  }
  std::vector<store::LedgerRow> lines;
  for (;;) {
    const auto page = parts_.store.ledger(filter);
    if (!page) return schedule_failed(page.error(), call);
    for (const auto& line : *page) {
      if (lines.size() <= limit && is_of_type(line, type)) lines.push_back(line);
    }
    if (page->size() < filter.limit || lines.size() > limit) break;
    filter.before =
        store::LedgerCursor{page->back().judged_at, page->back().nominal_at, page->back().nth};
  }
  const bool more = lines.size() > limit;
  if (more) lines.resize(limit);
  Value::Array shown;
  for (const auto& line : lines) shown.push_back(shown_action(line));
  return {200,
          {{"schedule_id", call.match["schedule"]},
           {"namespace", call.ns.view()},
           {"actions", std::move(shown)},
           {"has_more", more},
           {"next_cursor", more ? Value{cursor_of(lines.back())} : Value{}}}};
}

}  // namespace dw::server
