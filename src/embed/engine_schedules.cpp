// Schedules of one engine: who looks after them, and what is asked about them.
#include "embed/engine_impl.hpp"
#include "embed/scheduled_start.hpp"
#include "schedule/record_codec.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

namespace dw::detail {

std::optional<std::int64_t> EngineImpl::credits_used_today(const Namespace& ns,
                                                           std::string_view schedule_id) const {
  if (!options_.credits_used_today) return std::nullopt;
  try {
    return options_.credits_used_today(ns.str(), std::string{schedule_id});
  } catch (const std::exception& error) {
    spdlog::warn(
        "nobody can say what schedule '{}' has spent today, so it may not start: {} namespace={}",
        schedule_id, error.what(), ns.view());
    return std::nullopt;
  }
}

void EngineImpl::keep_schedules(bool elsewhere) {
  schedule_sources_ = {
      [this](std::string_view name) { return zones_.find(name); },
      [this](const Namespace& ns, std::string_view id) { return calendars_->find(ns, id); },
      [this](const Namespace& ns, std::string_view id) { return credits_used_today(ns, id); }};
  calendars_ = std::make_unique<dispatch::CalendarShelf>(*store_, clock_);
  schedule_reader_ = std::make_unique<dispatch::ScheduleReader>(*store_, schedule_sources_);
  schedules_ = std::make_unique<dispatch::ScheduleDesk>(dispatch::ScheduleDeskParts{
      .store = *store_,
      .committer = dispatch_->committer(),
      .executor = schedules_executor_,
      .reader = reader_,
      .clock = clock_,
      .random = schedules_random_,
      .sources = schedule_sources_,
      .prepare =
          [this, elsewhere](const Namespace& ns, const schedule::Start& start) {
            auto command = scheduled_start(registry_, elsewhere, ns, start);
            const bool here = registry_.find_workflow(start.workflow_type) != nullptr;
            if (command && !here && describe_start_) describe_start_(*command);
            return command;
          },
      .start = [this](dispatch::StartJob job) { dispatch_->start(std::move(job)); },
      .close =
          [this](store::InstanceKey instance, engine::CloseCommand command) {
            dispatch_->close(std::move(instance), std::move(command),
                             [](const Result<engine::CommandOutcome>&) {});
          }});
}

void EngineImpl::look_after_schedules(DescribeStart describe) {
  describe_start_ = std::move(describe);
  schedules_->begin();
}

void EngineImpl::reload_zones(Reply<std::size_t> reply) {
  auto changed = zones_.reload();
  if (changed.empty()) return reply(std::size_t{0});
  spdlog::info("time zones have other rules now: {} release={}", fmt::join(changed, ", "),
               zones_.release());
  schedules_->replan(std::move(changed), std::move(reply));
}

// A tz database is brought up to date under a running process, and nobody tells it.
void EngineImpl::watch_zones() {
  time_.post_at(clock_.now() + std::chrono::minutes{1}, [this] {
    reader_.post([this] {
      if (zones_.written_since()) {
        reload_zones([](const Result<std::size_t>& changed) {
          if (!changed) spdlog::warn("schedules stay as planned: {}", changed.error().message);
        });
      }
      watch_zones();
    });
  });
}

dispatch::ScheduleReply EngineImpl::ask_schedule(dispatch::ScheduleAsk ask) {
  Waiter<dispatch::ScheduleReply> waiter;
  ask.reply = waiter.reply();
  schedules_->ask(std::move(ask));
  return waiter.get();
}

store::ScheduleName EngineImpl::schedule_name(std::string id,
                                              const std::optional<std::string>& ns) const {
  return {namespace_of(ns), std::move(id)};
}

schedule::ChangeFacts EngineImpl::change_facts(const Namespace& ns, const schedule::Facts& facts) {
  return {
      .now = facts.now,
      .random = facts.random,
      .zone = [this](std::string_view name) { return zones_.find(name); },
      .calendar = [this, ns](std::string_view id) -> std::optional<schedule::AttachedCalendar> {
        auto calendar = calendars_->find(ns, id);
        if (!calendar) return std::nullopt;
        auto zone = zones_.find(calendar->calendar().timezone);
        return schedule::AttachedCalendar{std::string{id}, std::move(calendar), std::move(zone)};
      },
      .command_context = facts.command_context};
}

dispatch::ScheduleStanding EngineImpl::schedule_standing() {
  return unwrap(reading([&](store::Store& store) {
    return dispatch::schedule_standing(store, std::nullopt, clock_.now());
  }));
}

std::optional<schedule::Schedule> EngineImpl::read_schedule(std::string_view id,
                                                            const std::optional<std::string>& ns) {
  const auto row =
      unwrap(reading([&](auto& store) { return store.find_schedule(namespace_of(ns), id); }));
  if (!row) return std::nullopt;
  return unwrap(schedule::read_schedule(row->record));
}

std::vector<schedule::Schedule> EngineImpl::list_schedules(std::size_t limit) {
  store::ScheduleFilter filter{.ns = namespace_, .statuses = {"active", "paused"}, .limit = limit};
  std::vector<schedule::Schedule> found;
  for (const auto& row :
       unwrap(reading([&](auto& store) { return store.list_schedules(filter); }))) {
    found.push_back(unwrap(schedule::read_schedule(row.record)));
  }
  return found;
}

std::vector<store::ScheduleEventRow> EngineImpl::schedule_events(std::string_view id,
                                                                 std::int64_t after,
                                                                 std::size_t limit) {
  const auto row =
      unwrap(reading([&](auto& store) { return store.find_schedule(namespace_, id); }));
  if (!row) {
    throw EngineError{{ErrorCode::not_found, fmt::format("there is no schedule '{}'", id)}};
  }
  return unwrap(
      reading([&](auto& store) { return store.schedule_events(row->ulid, after, limit); }));
}

std::shared_ptr<const schedule::Spec> EngineImpl::spec_of(const schedule::Schedule& schedule) {
  return schedule_reader_->spec_of(schedule, clock_.now());
}

schedule::Preview EngineImpl::preview_schedule(std::string_view id, std::int64_t next) {
  const auto needs = [](const schedule::Schedule& found) {
    auto wanted = needs_of(found, schedule::Mode::tick);
    wanted.slot = false;
    return wanted;
  };
  const std::shared_lock lock{store_gate_};
  if (!store_) throw EngineError{stopped_error()};
  const auto seen = unwrap(schedule_reader_->look(schedule_name(std::string{id}, {}), needs,
                                                  {.mode = schedule::Mode::tick}, clock_.now()));
  if (!seen.schedule) {
    throw EngineError{{ErrorCode::not_found, fmt::format("there is no schedule '{}'", id)}};
  }
  SeededRandom random{1};  // previews roll no dice
  return schedule::preview(*seen.schedule, {.next = next},
                           {.now = clock_.now(),
                            .random = random,
                            .spec = seen.spec,
                            .calendars = seen.calendars,
                            .open_instances = seen.open_instances,
                            .condition_context = seen.condition_context});
}

}  // namespace dw::detail
