// What can be read about one schedule.
#include "core/random.hpp"
#include "schedule/preview.hpp"
#include "schedule/record_codec.hpp"
#include "server/schedule_detail.hpp"
#include "server/schedules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace dw::server {
namespace {

constexpr std::int64_t usual_limit = 100;
constexpr std::int64_t largest_limit = 500;

std::optional<std::int64_t> number_in(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = !text.empty() && error == std::errc{} && end == text.data() + text.size();
  return whole ? std::optional{number} : std::nullopt;
}

// Never an error: what is no number is no wish.
std::size_t clamped_limit(const Call& call) {
  const auto given = number_in(call.parameter("limit").value_or(""));
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
    const auto number = number_in(text.substr(0, dot));
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

// ---- previews

// A whole number, if it is there; what lies outside of the limits is for the preview to mend.
void read_number(const Call& call, std::string_view name, std::int64_t& into, Value::Map& errors) {
  const auto given = call.parameter(name);
  if (!given) return;
  const auto number = number_in(*given);
  if (number) {
    into = *number;
  } else {
    errors.emplace_back(std::string{name}, Value::Array{"must be a whole number"});
  }
}

// Everything that may have a say in what comes.
schedule::Needs needs_of_preview(const schedule::Schedule& found) {
  return {
      .open_instances = true, .condition_context = found.condition.has_value(), .calendars = true};
}

// The middle one of the last ten that have ended.
Result<std::optional<std::chrono::seconds>> typical_run(store::Store& store,
                                                        const schedule::Schedule& found) {
  constexpr std::size_t looked_at = 10;
  store::LedgerFilter fired{.ulid = found.id, .outcome = "fired", .limit = looked_at};
  std::vector<std::chrono::seconds> took;
  for (const auto& line : DW_TRY(store.ledger(fired))) {
    const auto run = DW_TRY(store.find_run(RunId{line.run_id}));
    if (!run || !run->closed_at) continue;
    took.push_back(std::chrono::ceil<std::chrono::seconds>(*run->closed_at - run->started_at));
  }
  if (took.empty()) return std::optional<std::chrono::seconds>{};
  std::ranges::sort(took);
  return std::optional{took[took.size() / 2]};
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

// Also of one that is deleted: what happened to it is what its history is for.
Answer Schedules::history(const Call& call) {
  std::int64_t after = 0;
  if (const auto given = call.parameter("after_sequence")) {
    const auto number = number_in(*given);
    if (!number || *number < 0) return wrong_sequence();
    after = *number;
  }
  const auto id = call.match["schedule"];
  const auto ulid = call.parameter("schedule_ulid").value_or("");
  const auto row = ulid.empty() ? parts_.store.find_schedule(call.ns, id)
                                : parts_.store.load_schedule(ScheduleUlid{ulid});
  if (!row) return schedule_failed(row.error(), call);
  if (!*row || (*row)->ns != call.ns || (*row)->schedule_id != id) return no_such_schedule(call);
  const std::size_t limit = clamped_limit(call);
  auto events = parts_.store.schedule_events((*row)->ulid, after, limit + 1);
  if (!events) return schedule_failed(events.error(), call);
  const bool more = events->size() > limit;
  if (more) events->resize(limit);
  Value::Array shown;
  for (const auto& event : *events) shown.push_back(shown_event(event));
  return {200,
          {{"schedule_id", id},
           {"namespace", call.ns.view()},
           {"schedule_ulid", (*row)->ulid.view()},
           {"events", std::move(shown)},
           {"has_more", more},
           {"next_cursor", more ? Value{events->back().sequence} : Value{}}}};
}

Answer Schedules::preview(const Call& call) {
  schedule::PreviewRequest request;
  Value::Map errors;
  read_number(call, "next", request.next, errors);
  read_number(call, "horizon_days", request.horizon_days, errors);
  if (const auto from = call.parameter("from"); from && !from->empty()) {
    const auto instant = parse_timestamp(*from);
    if (instant) {
      request.from = *instant;
    } else {
      errors.emplace_back("from", Value::Array{"must be a time such as 2026-04-20T00:00:00Z"});
    }
  }
  if (!errors.empty()) return invalid(std::move(errors));
  const Timestamp now = parts_.clock.now();
  const store::ScheduleName name{call.ns, std::string{call.match["schedule"]}};
  const auto seen = parts_.looks.look(name, needs_of_preview, {}, now);
  if (!seen) return schedule_failed(seen.error(), call);
  if (!seen->schedule || seen->schedule->status == schedule::Status::deleted) {
    return no_such_schedule(call);
  }
  const auto typical = typical_run(parts_.store, *seen->schedule);
  if (!typical) return schedule_failed(typical.error(), call);
  SeededRandom dice{0};  // nothing is rolled: a preview shows nominal times
  const schedule::Facts facts{.now = now,
                              .random = dice,
                              .spec = seen->spec,
                              .calendars = seen->calendars,
                              .open_instances = seen->open_instances,
                              .condition_context = seen->condition_context};
  Value shown = to_value(schedule::preview(*seen->schedule, request, facts, *typical));
  Answer answer{200, {{"schedule_id", name.schedule_id}, {"namespace", call.ns.view()}}};
  std::ranges::move(*shown.if_map(), std::back_inserter(answer.body));
  return answer;
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
