#include "schedule/wishes.hpp"

#include "schedule/condition.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dw::schedule {
namespace {

constexpr std::string_view policies_there_are =
    "skip, buffer_one, buffer_all, allow_all, cancel_other or terminate_other";

// The number of that key, which has to be within bounds; the fallback when it is not given.
std::int64_t number_in(Wish& wish, const Value& map, const std::string& path, std::string_view key,
                       std::int64_t fallback, std::int64_t least, std::int64_t most) {
  const auto* value = map.find(key);
  if (value == nullptr || value->is_null()) return fallback;
  const auto* number = value->if_integer();
  if (number != nullptr && *number >= least && *number <= most) return *number;
  wish.refuse(fmt::format("{}.{}", path, key), "invalid_value", "is out of range",
              fmt::format("must be a whole number from {} to {}", least, most));
  return fallback;
}

std::string word_in(const Value& value, std::string_view key) {
  const auto* found = value.if_string() != nullptr ? &value : value.find(key);
  const auto* text = found != nullptr ? found->if_string() : nullptr;
  return text != nullptr ? *text : "";
}

void apply_texts(Wish& wish, const ScheduleChange& change) {
  auto& schedule = wish.schedule;
  if (change.name) {
    schedule.name = *change.name;
    if (schedule.name.size() > longest_schedule_name) {
      wish.refuse("name", "invalid_value", "is too long",
                  fmt::format("may have {} bytes", longest_schedule_name));
    }
  }
  if (change.note) {
    schedule.note = *change.note;
    const auto characters = std::ranges::count_if(
        *change.note, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
    if (static_cast<std::size_t>(characters) > longest_note) {
      wish.refuse("note", "invalid_value", "is too long",
                  fmt::format("may have {} characters", longest_note));
    }
  }
  const auto apply_name = [&](std::string_view key, const std::optional<std::string>& given,
                              std::optional<std::string>& kept) {
    if (!given) return;
    kept = given;
    if (given->size() <= longest_queue) return;
    wish.refuse(std::string{key}, "invalid_value", "is too long",
                fmt::format("may have {} bytes", longest_queue));
  };
  apply_name("connection", change.connection, schedule.connection);
  apply_name("queue", change.queue, schedule.queue);
}

void apply_calendars(Wish& wish, const ScheduleChange& change, const ChangeFacts& facts) {
  if (!change.calendar_ids) return;
  const auto& ids = *change.calendar_ids;
  if (ids.size() > most_calendars) {
    wish.refuse("calendar_ids", "invalid_value", "are too many",
                fmt::format("there may be {} at most", most_calendars));
  }
  // One that is gone is no reason to keep the others from being taken away.
  const auto& before = wish.schedule.calendar_ids;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (std::ranges::find(before, ids[i]) != before.end()) continue;
    if (facts.calendar && facts.calendar(ids[i])) continue;
    wish.refuse(fmt::format("calendar_ids.{}", i), "calendar_not_found",
                fmt::format("there is no calendar {}", ids[i]), "list the calendars there are");
  }
  wish.schedule.calendar_ids = ids;
}

void apply_condition(Wish& wish, const ScheduleChange& change) {
  if (!change.condition) return;
  const auto checked = check_condition(*change.condition);
  for (const auto& problem : checked.problems) {
    wish.refuse(problem.field.empty() ? "condition" : "condition." + problem.field, problem.code,
                problem.message,
                R"(write {"/pointer": {"eq": …}} with one of eq neq gt lt contains)");
  }
  wish.schedule.condition = *change.condition;
}

void apply_rotation(Wish& wish, const ScheduleChange& change) {
  if (!change.rotation) return;
  const auto* inner = change.rotation->find("inputs");
  auto checked = check_rotation(inner != nullptr ? *inner : *change.rotation,
                                rotation_for(wish.schedule.action));
  for (const auto& problem : checked.problems) {
    wish.refuse("rotation." + problem.field, problem.code, problem.message,
                "give the inputs that take turns, as an array");
  }
  if (checked) wish.schedule.rotation = *std::move(checked);
}

void apply_missed_fires(Wish& wish, const ScheduleChange& change) {
  if (!change.missed_fire_policy) return;
  const std::string path = "missed_fire_policy";
  const auto mode = find_missed_mode(word_in(*change.missed_fire_policy, "mode"));
  if (!mode) {
    wish.refuse(path + ".mode", "invalid_value", "is no mode",
                "must be fire_once, skip or catch_up");
    return;
  }
  MissedFires policy{*mode};
  const auto& given = *change.missed_fire_policy;
  policy.window_seconds =
      number_in(wish, given, path, "window_seconds", policy.window_seconds, 0, 31'536'000);
  policy.max_occurrences =
      number_in(wish, given, path, "max_occurrences", policy.max_occurrences, 1, 1000);
  wish.schedule.missed_fire_policy = policy;
}

void apply_limits(Wish& wish, const ScheduleChange& change) {
  auto& schedule = wish.schedule;
  if (change.overlap_policy) {
    const auto policy = find_overlap(*change.overlap_policy);
    if (policy) schedule.overlap_policy = *policy;
    if (!policy) {
      wish.refuse("overlap_policy", "invalid_value", "is no overlap policy",
                  fmt::format("must be {}", policies_there_are));
    }
  }
  if (change.max_runs && *change.max_runs < 1) {
    wish.refuse("max_runs", "invalid_value", "is less than 1", "must be 1 or more");
  } else if (change.max_runs && *change.max_runs <= schedule.fires_count) {
    wish.refuse("max_runs", "max_runs_below_fires_count",
                fmt::format("it has been started {} times", schedule.fires_count),
                fmt::format("must be {} or more", schedule.fires_count + 1));
  } else if (change.max_runs && change.max_runs != schedule.max_runs) {
    schedule.max_runs = change.max_runs;
    schedule.remaining_actions = *change.max_runs - schedule.fires_count;
  }
  if (change.pause_after_failures) {
    schedule.pause_after_failures = change.pause_after_failures;
    schedule.failures_counted_from = schedule.updated_at;
    if (*change.pause_after_failures < 1) {
      wish.refuse("pause_after_failures", "invalid_value", "is less than 1", "must be 1 or more");
    }
  }
}

void apply_budget(Wish& wish, const ScheduleChange& change) {
  if (!change.budget) return;
  const auto unit = find_budget_unit(word_in(*change.budget, "unit"));
  if (!unit) {
    wish.refuse("budget.unit", "invalid_value", "is no unit", "must be fires or credits");
  }
  Budget budget{unit.value_or(Budget::Unit::fires)};
  const auto* limit = change.budget->find("limit_per_day");
  const auto* number = limit != nullptr ? limit->if_integer() : nullptr;
  if (number == nullptr || *number < 0) {
    wish.refuse("budget.limit_per_day", "invalid_value", "is no limit",
                "must be a whole number that is not negative");
  } else {
    budget.limit_per_day = *number;
  }
  wish.schedule.budget = budget;
}

bool is_an_object(Wish& wish, const std::string& path, const Value& value) {
  if (value.if_map() != nullptr) return true;
  // An empty list is what some languages write for an empty map.
  if (const auto* array = value.if_array(); array != nullptr && array->empty()) return true;
  wish.refuse(path, "invalid_value", fmt::format("is of type {}", dw::to_string(value.kind())),
              "must be an object");
  return false;
}

Value as_object(const Value& value) {
  return value.if_map() != nullptr ? value : Value{Value::Map{}};
}

void apply_maps(Wish& wish, const ScheduleChange& change) {
  auto& schedule = wish.schedule;
  if (change.memo && is_an_object(wish, "memo", *change.memo)) {
    schedule.memo = as_object(*change.memo);
    if (const auto size = dw::to_json(schedule.memo).size(); size > longest_memo) {
      wish.refuse("memo", "memo_too_large", fmt::format("has {} bytes", size),
                  fmt::format("may have {} bytes", longest_memo));
    }
  }
  if (change.search_attributes &&
      is_an_object(wish, "search_attributes", *change.search_attributes)) {
    schedule.search_attributes = as_object(*change.search_attributes);
  }
  if (!change.labels || !is_an_object(wish, "labels", *change.labels)) return;
  schedule.labels.clear();
  const auto labels = as_object(*change.labels);
  for (const auto& [key, value] : *labels.if_map()) {
    const auto* text = value.if_string();
    if (text == nullptr) {
      wish.refuse("labels." + key, "invalid_value", "is no text", "labels are texts");
      continue;
    }
    schedule.labels.emplace_back(key, *text);
  }
  std::ranges::sort(schedule.labels);
}

}  // namespace

void apply_fields(Wish& wish, const ScheduleChange& change, const ChangeFacts& facts) {
  apply_texts(wish, change);
  apply_calendars(wish, change, facts);
  apply_condition(wish, change);
  apply_rotation(wish, change);
  apply_missed_fires(wish, change);
  apply_limits(wish, change);
  apply_budget(wish, change);
  apply_maps(wish, change);
}

void clear_fields(Wish& wish, const ScheduleChange& change) {
  auto& s = wish.schedule;
  const Schedule fresh;
  for (std::size_t i = 0; i < change.clear_fields.size(); ++i) {
    const auto& field = change.clear_fields[i];
    if (field == "name")
      s.name.clear();
    else if (field == "note")
      s.note.reset();
    else if (field == "jitter_seconds")
      s.spec.jitter_seconds = 0;
    else if (field == "start_at")
      s.bounds.start_at.reset();
    else if (field == "end_at")
      s.bounds.end_at.reset();
    else if (field == "calendar_ids")
      s.calendar_ids.clear();
    else if (field == "condition")
      s.condition.reset();
    else if (field == "rotation")
      s.rotation.reset();
    else if (field == "missed_fire_policy")
      s.missed_fire_policy = {};
    else if (field == "max_runs")
      s.max_runs.reset(), s.remaining_actions.reset();
    else if (field == "budget")
      s.budget.reset();
    else if (field == "pause_after_failures")
      s.pause_after_failures.reset();
    else if (field == "labels")
      s.labels.clear();
    else if (field == "memo")
      s.memo = fresh.memo;
    else if (field == "search_attributes")
      s.search_attributes = fresh.search_attributes;
    else if (field == "connection")
      s.connection.reset();
    else if (field == "queue")
      s.queue.reset();
    else
      wish.refuse(fmt::format("clear_fields.{}", i), "invalid_value",
                  fmt::format("{} cannot be cleared", field),
                  "name a field that a schedule may do without");
  }
}

}  // namespace dw::schedule
