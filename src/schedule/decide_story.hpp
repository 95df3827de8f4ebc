// What stories about deciding are told with: a schedule that fires by the minute, and the world
// around it.
#pragma once
#include "schedule/change.hpp"
#include "schedule/decide.hpp"
#include "schedule/zone_story.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <utility>

namespace dw::schedule {

// "12:00", "12:00:30": of 10 April 2026, a Friday.
inline Timestamp at(std::string_view clock) {
  return instant("2026-04-10T" + std::string{clock} + (clock.size() == 5 ? ":00Z" : "Z"));
}

inline std::shared_ptr<const Zone> known_zone(std::string_view name) {
  if (name == "UTC") return std::make_shared<const Zone>(Zone::utc());
  if (name != "America/New_York" && name != "Europe/Berlin") return nullptr;
  return std::make_shared<const Zone>(zone_named(name));
}

inline std::shared_ptr<const Spec> spec_of(const Schedule& schedule) {
  auto checked =
      check_spec(schedule.spec, known_zone(schedule.spec.timezone), schedule.bounds, at("00:00"));
  for (const auto& mistake : checked.mistakes) ADD_FAILURE() << mistake.path << mistake.hint;
  return checked.spec ? std::make_shared<const Spec>(*std::move(checked.spec)) : nullptr;
}

inline Value json_value(std::string_view text) {
  auto value = parse_json(text);
  EXPECT_TRUE(value) << text;
  return value ? *std::move(value) : Value{};
}

// What surrounds a schedule. Everything in it may be changed before something is decided.
struct World {
  SeededRandom random{7};
  Timestamp now = at("12:00");
  std::vector<AttachedCalendar> calendars = {};
  std::vector<std::string> open_instances = {};
  std::optional<Value> context = condition_ready();
  std::shared_ptr<const Spec> spec = {};  // of the schedule asked about; absent: made each time
  std::function<void(Facts&)> also = {};

  static Value condition_ready() {
    return json_value(R"({"prior_run_result": {"status": "completed"},
                          "last_24h_stats": {"succeeded": 1, "failed": 0, "total": 1}})");
  }

  Facts facts(const Schedule& schedule) {
    Facts gathered{now, random, spec ? spec : spec_of(schedule)};
    gathered.calendars = calendars;
    gathered.open_instances = open_instances;
    gathered.condition_context = context;
    if (also) also(gathered);
    return gathered;
  }
  ChangeFacts change_facts() {
    ChangeFacts gathered{now, random, known_zone};
    gathered.calendar = [this](std::string_view id) -> std::optional<AttachedCalendar> {
      for (const auto& one : calendars) {
        if (one.id == id) return one;
      }
      return std::nullopt;
    };
    return gathered;
  }

  Decision tick(const Schedule& schedule) { return decide_tick(schedule, facts(schedule)); }
  Decision drain(const Schedule& schedule) { return decide_drain(schedule, facts(schedule)); }
  Decision trigger(const Schedule& schedule, const TriggerRequest& request = {}) {
    return decide_trigger(schedule, request, facts(schedule));
  }
  Decision backfill(const Schedule& schedule, Timestamp nominal,
                    const BackfillRequest& request = {}) {
    return decide_backfill(schedule, nominal, request, facts(schedule));
  }
  Decision pause(const Schedule& schedule, std::optional<std::string> reason = {}) {
    return decide_pause(schedule, reason, facts(schedule));
  }
  Decision resume(const Schedule& schedule, std::optional<std::string> note = {}) {
    return decide_resume(schedule, note, facts(schedule));
  }
  Decision remove(const Schedule& schedule) { return decide_delete(schedule, facts(schedule)); }

  Changed create(std::string_view body) {
    auto read = read_change(json_value(body));
    EXPECT_TRUE(read.problems.empty()) << to_json(to_value(read.problems.front()));
    return decide_create({ScheduleUlid{"01JZZZZZZZZZZZZZZZZZZZZZZZ"}, Namespace{"default"}},
                         read.change, change_facts());
  }
  Changed update(const Schedule& schedule, std::string_view body) {
    auto read = read_change(json_value(body));
    EXPECT_TRUE(read.problems.empty()) << to_json(to_value(read.problems.front()));
    return decide_update(schedule, read.change, change_facts());
  }
};

// Every quarter of an hour, created at 11:50: due at 12:00.
inline Schedule quarterly(std::string_view more = "") {
  World world;
  world.now = at("11:50");
  auto body = std::string{R"({"schedule_id": "report", "action": {"workflow_type": "reports"},
                              "spec": {"cron_expressions": ["*/15 * * * *"]})"};
  if (!more.empty()) body.append(", ").append(more);
  auto changed = world.create(body + "}");
  for (const auto& problem : changed.problems) ADD_FAILURE() << to_json(to_value(problem));
  return changed.decision ? std::move(changed.decision->after) : Schedule{};
}

// Days on which nothing may happen, in UTC.
inline AttachedCalendar days_off(std::string id, std::vector<std::string_view> days) {
  Calendar calendar{id};
  for (const auto day : days) {
    calendar.dates.push_back(chrono::floor<chrono::days>(wall_clock(std::string{day} + " 00:00")));
  }
  return {std::move(id), std::make_shared<const CompiledCalendar>(calendar, 2026),
          std::make_shared<const Zone>(Zone::utc())};
}

inline Value payload_value(const AuditEvent& event, std::string_view key) {
  const auto* found = event.payload.find(key);
  return found != nullptr ? *found : Value{};
}

}  // namespace dw::schedule
