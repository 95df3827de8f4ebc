// The public face of schedules: words and types of the schedule room for those of C++ programs.
#include "core/unwrap.hpp"
#include "dispatch/schedule_rows.hpp"
#include "embed/engine_impl.hpp"
#include "schedule/change.hpp"
#include "schedule/preview.hpp"
#include "schedule/record_codec.hpp"
#include "schedule/words.hpp"

#include <fmt/format.h>

namespace dw {
namespace {

using dispatch::ScheduleAsk;
using dispatch::ScheduleReply;

constexpr std::size_t most_listed = 10'000;

std::string_view word_for(OverlapPolicy policy) {
  switch (policy) {
    case OverlapPolicy::skip:
      return "skip";
    case OverlapPolicy::buffer_one:
      return "buffer_one";
    case OverlapPolicy::buffer_all:
      return "buffer_all";
    case OverlapPolicy::allow_all:
      return "allow_all";
    case OverlapPolicy::cancel_other:
      return "cancel_other";
    case OverlapPolicy::terminate_other:
      return "terminate_other";
  }
  return {};
}

Value budget_value(const ScheduleBudget& budget) {
  const bool fires = budget.unit == ScheduleBudget::Unit::fires;
  return Value::Map{{"unit", fires ? "fires" : "credits"}, {"limit_per_day", budget.limit_per_day}};
}

Value missed_value(const MissedFires& missed) {
  switch (missed.mode) {
    case MissedFires::Mode::fire_once:
      return Value::Map{{"mode", "fire_once"}};
    case MissedFires::Mode::skip:
      return Value::Map{{"mode", "skip"}, {"window_seconds", missed.window.count()}};
    case MissedFires::Mode::catch_up:
      return Value::Map{{"mode", "catch_up"}, {"max_occurrences", missed.max_occurrences}};
  }
  return {};
}

schedule::ScheduleChange wish(std::string workflow_type, const ScheduleOptions& options,
                              Value::Array arguments) {
  schedule::ScheduleChange change;
  if (!options.id.empty()) change.schedule_id = options.id;
  schedule::SpecText spec;
  spec.cron_expressions = options.cron;
  for (const Every& every : options.every) {
    schedule::IntervalText text{.every = every.every, .offset = {}};
    if (!every.offset.empty()) text.offset = every.offset;
    spec.intervals.push_back(std::move(text));
  }
  spec.timezone = options.timezone;
  change.spec = std::move(spec);
  change.jitter_seconds = options.jitter.count();
  change.start_at = options.start_at;
  change.end_at = options.end_at;
  change.calendar_ids = options.calendars;
  change.condition = options.condition;
  if (!options.rotation.empty()) change.rotation = Value::Array{options.rotation};
  change.overlap_policy = std::string{word_for(options.overlap)};
  change.missed_fire_policy = missed_value(options.missed);
  change.max_runs = options.max_runs;
  change.pause_after_failures = options.pause_after_failures;
  if (options.budget) change.budget = budget_value(*options.budget);
  change.action =
      Value::Map{{"workflow_type", std::move(workflow_type)}, {"input", std::move(arguments)}};
  Value::Map labels;
  for (const auto& [key, value] : options.labels) labels.emplace_back(key, value);
  change.labels = std::move(labels);
  change.memo = options.memo;
  change.search_attributes = options.search_attributes;
  if (!options.note.empty()) change.note = options.note;
  change.paused = options.paused;
  return change;
}

Error not_so(std::string_view id, const std::vector<schedule::ChangeProblem>& problems) {
  std::string all;
  for (const auto& problem : problems) {
    all += fmt::format("{}{}: {} ({}){}{}", all.empty() ? "" : "; ", problem.path, problem.message,
                       problem.code, problem.hint.empty() ? "" : ": ", problem.hint);
  }
  return {ErrorCode::invalid_argument, fmt::format("schedule '{}' cannot be made so: {}", id, all)};
}

Error no_schedule(std::string_view id) {
  return {ErrorCode::not_found, fmt::format("there is no schedule '{}'", id)};
}

Error refused(std::string_view what, std::string_view id, std::string_view reason) {
  return {ErrorCode::conflict, fmt::format("cannot {} schedule '{}': {}", what, id, reason)};
}

bool alive(const schedule::Schedule* found) {
  return found && found->status != schedule::Status::deleted;
}

ScheduleDecision told(const ScheduleReply& reply) {
  return {std::string{to_string(reply.outcome)}, reply.reason, reply.instance_id, reply.run_id,
          reply.occurrence_time};
}

ScheduleInfo info_of(const schedule::Schedule& found, const schedule::Spec* spec) {
  ScheduleInfo info;
  info.id = found.schedule_id;
  info.ns = found.ns.str();
  info.status = to_string(found.status);
  if (spec) info.words = schedule::in_words(*spec);
  info.workflow_type = workflow_type_of(found.action);
  if (found.status == schedule::Status::active) info.next_fire_at = found.next_fire_at;
  info.last_fired_at = found.last_fired_at;
  info.fires = found.fires_count;
  info.failures = found.failures_count;
  info.skips = found.skipped_trigger_count;
  info.last_skip_reason = found.last_skip_reason.value_or("");
  info.remaining_runs = found.remaining_actions;
  info.latest_instance_id = found.latest_workflow_instance_id.value_or("");
  info.buffered = found.buffered_actions.size();
  info.note = found.note.value_or("");
  info.blocked_reason = found.blocked_reason.value_or("");
  return info;
}

}  // namespace

const Registry& Schedules::registry() const {
  return engine_->registry();
}

std::string Schedules::create_erased(std::string workflow_type, const ScheduleOptions& options,
                                     const Payload& arguments) {
  const Value decoded = unwrap(decode(arguments));
  return create(workflow_type, options, *decoded.if_array());
}

std::string Schedules::create(std::string_view workflow_type, const ScheduleOptions& options,
                              Value::Array arguments) {
  auto change = wish(std::string{workflow_type}, options, std::move(arguments));
  const ScheduleUlid ulid{engine_->new_schedule_id()};
  if (!change.schedule_id) change.schedule_id = ulid.str();
  ScheduleAsk ask;
  ask.name = engine_->schedule_name(*change.schedule_id, options.ns);
  ask.opens = true;
  ask.decide = [engine = engine_.get(), ulid, change = std::move(change), name = ask.name](
                   const schedule::Schedule* found,
                   const schedule::Facts& facts) -> Result<schedule::Decision> {
    if (alive(found)) {
      return Error{ErrorCode::conflict,
                   fmt::format("there is a schedule '{}' already; update it, or pick another id",
                               name.schedule_id)};
    }
    auto made =
        schedule::decide_create({ulid, name.ns}, change, engine->change_facts(name.ns, facts));
    if (!made.decision) return not_so(name.schedule_id, made.problems);
    return *std::move(made.decision);
  };
  return engine_->ask_schedule(std::move(ask)).schedule.schedule_id;
}

ScheduleInfo Schedules::describe(std::string_view id) {
  auto found = find(id);
  if (!found) throw EngineError{no_schedule(id)};
  return *std::move(found);
}

std::optional<ScheduleInfo> Schedules::find(std::string_view id,
                                            const std::optional<std::string>& ns) {
  const auto found = engine_->read_schedule(id, ns);
  if (!found) return std::nullopt;
  return info_of(*found, engine_->spec_of(*found).get());
}

std::vector<ScheduleInfo> Schedules::list() {
  std::vector<ScheduleInfo> all;
  for (const auto& found : engine_->list_schedules(most_listed)) {
    all.push_back(info_of(found, engine_->spec_of(found).get()));
  }
  return all;
}

namespace {

// A change of one that has to be there.
ScheduleReply change_one(
    detail::EngineImpl& engine, std::string_view what, std::string_view id,
    std::function<schedule::Decision(const schedule::Schedule&, const schedule::Facts&)> decide) {
  ScheduleAsk ask;
  ask.name = engine.schedule_name(std::string{id}, {});
  ask.decide = [decide = std::move(decide), id = std::string{id}](
                   const schedule::Schedule* found,
                   const schedule::Facts& facts) -> Result<schedule::Decision> {
    if (!alive(found)) return no_schedule(id);
    return decide(*found, facts);
  };
  auto reply = engine.ask_schedule(std::move(ask));
  if (reply.outcome == schedule::Outcome::refused) {
    throw EngineError{refused(what, id, reply.reason)};
  }
  return reply;
}

}  // namespace

void Schedules::pause(std::string_view id, std::string reason) {
  change_one(*engine_, "pause", id, [reason](const auto& found, const auto& facts) {
    return decide_pause(found, reason.empty() ? std::nullopt : std::optional{reason}, facts);
  });
}

void Schedules::resume(std::string_view id) {
  change_one(*engine_, "resume", id,
             [](const auto& found, const auto& facts) { return decide_resume(found, {}, facts); });
}

void Schedules::remove(std::string_view id) {
  change_one(*engine_, "delete", id,
             [](const auto& found, const auto& facts) { return decide_delete(found, facts); });
}

ScheduleDecision Schedules::trigger(std::string_view id, std::optional<OverlapPolicy> overlap) {
  schedule::TriggerRequest request;
  if (overlap) request.overlap_policy = schedule::find_overlap(word_for(*overlap));
  ScheduleAsk ask;
  ask.name = engine_->schedule_name(std::string{id}, {});
  ask.asked = {.mode = schedule::Mode::trigger, .trigger = request};
  ask.needs = [request](const schedule::Schedule& found) {
    return needs_of(found, schedule::Mode::trigger, request);
  };
  ask.decide = [request, id = std::string{id}](
                   const schedule::Schedule* found,
                   const schedule::Facts& facts) -> Result<schedule::Decision> {
    if (!alive(found)) return no_schedule(id);
    return decide_trigger(*found, request, facts);
  };
  return told(engine_->ask_schedule(std::move(ask)));
}

std::vector<ScheduleDecision> Schedules::backfill(std::string_view id, Timestamp from,
                                                  Timestamp to) {
  const auto found = engine_->read_schedule(id);
  if (!alive(found ? &*found : nullptr)) throw EngineError{no_schedule(id)};
  const auto spec = engine_->spec_of(*found);
  if (!spec) throw EngineError{refused("backfill", id, schedule::spec_unresolvable)};
  const auto window = schedule::backfill_window(*spec, from, to);
  if (!window.problem.empty()) {
    throw EngineError{{ErrorCode::invalid_argument,
                       fmt::format("cannot backfill schedule '{}': {}", id, window.problem)}};
  }
  std::vector<ScheduleDecision> rows;
  for (const auto& occurrence : window.occurrences) {
    ScheduleAsk ask;
    ask.name = engine_->schedule_name(std::string{id}, {});
    ask.asked = {.mode = schedule::Mode::backfill, .nominal_at = occurrence.at};
    ask.needs = [](const schedule::Schedule& of) { return needs_of(of, schedule::Mode::backfill); };
    ask.decide = [at = occurrence.at, id = std::string{id}](
                     const schedule::Schedule* one,
                     const schedule::Facts& facts) -> Result<schedule::Decision> {
      if (!one) return no_schedule(id);
      return decide_backfill(*one, at, {}, facts);
    };
    const auto reply = engine_->ask_schedule(std::move(ask));
    // It has used up its runs on the way.
    if (reply.outcome == schedule::Outcome::refused) break;
    rows.push_back(told(reply));
    rows.back().occurrence_time = occurrence.at;
  }
  return rows;
}

std::vector<ScheduleDecision> Schedules::tick() {
  detail::Waiter<std::vector<dispatch::TickRow>> waiter;
  engine_->schedules().tick({}, waiter.reply());
  std::vector<ScheduleDecision> rows;
  for (const auto& row : waiter.get()) {
    rows.push_back(row.result ? told(*row.result)
                              : ScheduleDecision{"failed", row.result.error().message, {}, {}, {}});
  }
  return rows;
}

std::vector<ScheduleEvent> Schedules::history(std::string_view id, std::size_t limit,
                                              std::int64_t after_sequence) {
  std::vector<ScheduleEvent> events;
  for (auto& row : engine_->schedule_events(id, after_sequence, limit)) {
    events.push_back({row.sequence, row.type, row.recorded_at, unwrap(parse_json(row.payload))});
  }
  return events;
}

std::vector<PreviewedTick> Schedules::preview(std::string_view id, int next) {
  std::vector<PreviewedTick> ticks;
  for (const auto& row : engine_->preview_schedule(id, next).rows) {
    ticks.push_back({row.tick_at, row.dispatch, row.reason});
  }
  return ticks;
}

std::size_t Schedules::reload_zones() {
  detail::Waiter<std::size_t> waiter;
  engine_->reload_zones(waiter.reply());
  return waiter.get();
}

}  // namespace dw
