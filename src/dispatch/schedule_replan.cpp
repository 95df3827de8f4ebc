#include "dispatch/schedule_replan.hpp"

#include "schedule/record_codec.hpp"

#include <spdlog/spdlog.h>

namespace dw::dispatch {
namespace {

constexpr std::size_t replanned_at_once = 100;

}  // namespace

void ScheduleReplan::run(std::vector<std::string> zones, Reply<std::size_t> reply) {
  auto walk = std::make_shared<Walk>();
  walk->zones.insert(zones.begin(), zones.end());
  walk->reply = std::move(reply);
  next_page(walk);
}

void ScheduleReplan::next_page(const WalkPtr& walk) {
  parts_.reader.post([this, walk] {
    auto rows = parts_.store.list_schedules({.statuses = {std::string{store::schedule_active}},
                                             .after = walk->after,
                                             .limit = replanned_at_once});
    if (!rows) return walk->reply(rows.error());
    walk->last = rows->size() < replanned_at_once;
    std::vector<store::ScheduleName> names;
    for (store::ScheduleRow& row : *rows) {
      walk->after = {row.created_at, row.schedule_id, row.ulid};
      store::ScheduleName name{row.ns, row.schedule_id};
      if (out_of_date(*walk, std::move(row))) names.push_back(std::move(name));
    }
    plan(walk, names);
  });
}

// The decision itself is made where all of them are, on what is there by then.
bool ScheduleReplan::out_of_date(const Walk& walk, store::ScheduleRow row) const {
  const auto found = schedule::read_schedule(row.record);
  if (!found) {
    spdlog::warn("schedule '{}' cannot be read: {} namespace={}", row.schedule_id,
                 found.error().message, row.ns.view());
    return false;
  }
  if (!walk.zones.empty() && !walk.zones.contains(found->spec.timezone)) return false;
  const Timestamp now = parts_.clock.now();
  SeededRandom any{1};
  const schedule::Facts facts{
      .now = now, .random = any, .spec = parts_.schedules.spec_of(*found, now)};
  return !decide_recompute(*found, facts).unchanged;
}

void ScheduleReplan::plan(const WalkPtr& walk, const std::vector<store::ScheduleName>& names) {
  if (names.empty()) return end_of_page(walk);
  walk->open = names.size();
  for (const store::ScheduleName& name : names) {
    parts_.plan(name, [this, walk, name](const Result<bool>& changed) {
      if (changed) {
        walk->changed += *changed ? 1 : 0;
      } else {
        // It costs nobody else anything.
        spdlog::warn("schedule '{}' could not be planned again: {} namespace={}", name.schedule_id,
                     changed.error().message, name.ns.view());
      }
      if (--walk->open == 0) end_of_page(walk);
    });
  }
}

void ScheduleReplan::end_of_page(const WalkPtr& walk) {
  if (walk->last) return walk->reply(walk->changed);
  next_page(walk);
}

}  // namespace dw::dispatch
