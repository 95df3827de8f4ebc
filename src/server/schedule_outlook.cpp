// What a schedule is going to do: tick by tick as things stand, played forward, or where somebody
// might be surprised. Nothing is changed by looking.
#include "core/random.hpp"
#include "schedule/lint.hpp"
#include "schedule/preview.hpp"
#include "server/schedule_fields.hpp"
#include "server/schedules.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dw::server {
namespace {

constexpr std::int64_t longest_run_seconds = 366LL * 24 * 60 * 60;

// A whole number, if it is there; what lies outside of the limits is for the preview to mend.
void read_number(const Call& call, std::string_view name, std::int64_t& into, Value::Map& errors) {
  const auto given = call.parameter(name);
  if (!given) return;
  const auto number = whole_number_in(*given);
  if (number) {
    into = *number;
  } else {
    errors.emplace_back(std::string{name}, Value::Array{"must be a whole number"});
  }
}

// How long runs are to be taken for, if somebody says so.
std::optional<std::chrono::seconds> run_length_in(const Call& call, Value::Map& errors) {
  const auto given = call.parameter("run_seconds");
  if (!given) return std::nullopt;
  const auto number = whole_number_in(*given);
  if (number && *number >= 0 && *number <= longest_run_seconds) {
    return std::chrono::seconds{*number};
  }
  errors.emplace_back("run_seconds", Value::Array{fmt::format("must be a whole number from 0 to {}",
                                                              longest_run_seconds)});
  return std::nullopt;
}

std::optional<bool> yes_or_no_in(const Call& call, std::string_view name, Value::Map& errors) {
  const auto given = call.parameter(name).value_or("false");
  if (given == "true" || given == "1") return true;
  if (given == "false" || given == "0") return false;
  errors.emplace_back(std::string{name}, Value::Array{"must be true or false"});
  return std::nullopt;
}

// Everything that may have a say in what comes.
schedule::Needs needs_of_outlook(const schedule::Schedule& found) {
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

Answer said_of(const schedule::Schedule& found, Value said) {
  Answer answer{200, {{"schedule_id", found.schedule_id}, {"namespace", found.ns.view()}}};
  std::ranges::move(*said.if_map(), std::back_inserter(answer.body));
  return answer;
}

}  // namespace

struct Schedules::Outlook {
  dispatch::SeenSchedule seen;
  std::optional<std::chrono::seconds> typical_run;
  Timestamp now;

  const schedule::Schedule& schedule() const { return *seen.schedule; }
  schedule::Facts facts(Random& dice) const {
    return {.now = now,
            .random = dice,
            .spec = seen.spec,
            .calendars = seen.calendars,
            .open_instances = seen.open_instances,
            .condition_context = seen.condition_context};
  }
};

Result<std::optional<Schedules::Outlook>> Schedules::outlook(const Call& call) {
  Outlook found{.seen = {}, .typical_run = {}, .now = parts_.clock.now()};
  const store::ScheduleName name{call.ns, std::string{call.match["schedule"]}};
  found.seen = DW_TRY(parts_.looks.look(name, needs_of_outlook, {}, found.now));
  if (!found.seen.schedule || found.schedule().status == schedule::Status::deleted) {
    return std::optional<Outlook>{};
  }
  found.typical_run = DW_TRY(typical_run(parts_.store, found.schedule()));
  return std::optional{std::move(found)};
}

Answer Schedules::preview(const Call& call) {
  schedule::PreviewRequest request;
  Value::Map errors;
  read_number(call, "next", request.next, errors);
  read_number(call, "horizon_days", request.horizon_days, errors);
  const auto run_length = run_length_in(call, errors);
  const bool simulated = yes_or_no_in(call, "simulate", errors).value_or(false);
  if (const auto from = call.parameter("from"); from && !from->empty()) {
    const auto instant = parse_timestamp(*from);
    if (!instant) {
      errors.emplace_back("from", Value::Array{"must be a time such as 2026-04-20T00:00:00Z"});
    } else if (simulated) {
      errors.emplace_back("from", Value::Array{"cannot be chosen: what is played begins now"});
    } else {
      request.from = *instant;
    }
  }
  if (!errors.empty()) return invalid(std::move(errors));
  const auto found = outlook(call);
  if (!found) return schedule_failed(found.error(), call);
  if (!*found) return no_such_schedule(call);
  SeededRandom dice{0};  // nothing is rolled: what is shown are nominal times
  const schedule::Schedule& known = (*found)->schedule();
  const schedule::Facts facts = (*found)->facts(dice);
  const auto typical = run_length ? run_length : (*found)->typical_run;
  if (!simulated) {
    return said_of(known, to_value(schedule::preview(known, request, facts, typical)));
  }
  // Where nobody knows how long runs take, they take no time.
  const auto length = typical.value_or(std::chrono::seconds{0});
  Answer answer = said_of(known, to_value(schedule::simulate(known, request, facts, length)));
  answer.body.emplace_back("run_seconds", static_cast<std::int64_t>(length.count()));
  answer.body.emplace_back("snapshot_at", format_timestamp(facts.now));
  answer.body.emplace_back("window_days", std::clamp<std::int64_t>(request.horizon_days, 1,
                                                                   schedule::longest_horizon_days));
  return answer;
}

Answer Schedules::lint(const Call& call) {
  Value::Map errors;
  const auto run_length = run_length_in(call, errors);
  if (!errors.empty()) return invalid(std::move(errors));
  const auto found = outlook(call);
  if (!found) return schedule_failed(found.error(), call);
  if (!*found) return no_such_schedule(call);
  SeededRandom dice{0};
  const schedule::Schedule& known = (*found)->schedule();
  const auto typical = run_length ? run_length : (*found)->typical_run;
  const auto findings = schedule::lint(known, (*found)->facts(dice), typical);
  return said_of(known, schedule::to_value(findings, typical));
}

}  // namespace dw::server
