#include "random_schedules.hpp"

#include <fmt/format.h>

namespace dw::conformance {

using namespace store;

namespace {

const std::vector<ScheduleName> schedule_names = {{Namespace{""}, "a"},
                                                  {Namespace{"default"}, "a"},
                                                  {Namespace{"default"}, "b"},
                                                  {Namespace{"default"}, "c"}};

}  // namespace

void RandomSchedules::touch(Transition& transition, std::int64_t now) {
  const ScheduleName& name = schedule_names[random_.below(schedule_names.size())];
  if (const Known* live = find_live(name); live != nullptr && !chance(5)) {
    change(transition, *live, now);
  } else {
    create(transition, name, now);
  }
}

RandomSchedules::Known* RandomSchedules::find_live(const ScheduleName& name) {
  Known* live = nullptr;
  for (const std::string& ulid : ulids_) {
    const auto staged = staged_.find(ulid);
    const auto known = known_.find(ulid);
    if (purged_.contains(ulid) || (staged == staged_.end() && known == known_.end())) continue;
    Known& stands = staged != staged_.end() ? staged->second : known->second;
    const bool of_name = name_of(stands.row) == name;
    // Now and then somebody goes on with one that is deleted.
    if (of_name && (stands.row.status != schedule_deleted || chance(3))) live = &stands;
  }
  return live;
}

std::optional<Timestamp> RandomSchedules::some_time() {
  if (chance(30)) return std::nullopt;
  return at(static_cast<std::int64_t>(random_.below(8)));
}

void RandomSchedules::create(Transition& transition, const ScheduleName& name, std::int64_t now) {
  Known fresh;
  fresh.row = schedule_row(fmt::format("s{:06}", now), name.schedule_id);
  fresh.row.ns = name.ns;
  fresh.row.created_at = at(static_cast<std::int64_t>(random_.below(3)));
  ulids_.insert(fresh.row.ulid.str());
  transition.reads.push_back({fresh.row.ulid, {}});
  transition.reads.push_back({name, {}});
  write(transition, std::move(fresh), now);
}

void RandomSchedules::change(Transition& transition, Known known, std::int64_t now) {
  transition.reads.push_back({known.row.ulid, chance(93) ? known.row.version : CommitId{"stale"}});
  if (chance(10)) transition.reads.push_back({name_of(known.row), known.row.version});
  if (chance(4)) {
    purged_.insert(known.row.ulid.str());
    transition.purged_schedules.push_back({known.row.ulid, chance(50)});
    return;
  }
  if (known.row.status != schedule_deleted) {
    known.row.status = chance(20) ? schedule_paused : schedule_active;
    if (chance(10)) known.row.status = schedule_deleted;
  }
  write(transition, std::move(known), now);
}

void RandomSchedules::write(Transition& transition, Known known, std::int64_t now) {
  ScheduleRow& row = known.row;
  row.due_at = some_time();
  row.buffered_since = some_time();
  row.record = fmt::format(R"({{"changed_at":{}}})", now);
  transition.schedules.push_back(row);
  for (std::uint64_t i = 1 + random_.below(2); i > 0; --i) {
    transition.schedule_events.push_back(schedule_event(row, ++known.events, "ScheduleUpdated"));
  }
  for (std::uint64_t i = random_.below(2); i > 0; --i) {
    transition.forgotten.push_back({row.ulid, at(static_cast<std::int64_t>(random_.below(30))),
                                    static_cast<std::int64_t>(random_.below(3))});
  }
  for (std::uint64_t i = random_.below(3); i > 0; --i) {
    const auto nominal = static_cast<std::int64_t>(random_.below(30));
    LedgerRow line = ledger_line(row, nominal, static_cast<std::int64_t>(random_.below(3)));
    line.outcome = chance(50) ? "fired" : "skipped";
    line.mode = chance(50) ? "tick" : "backfill";
    line.open = chance(30);
    line.judged_at = at(chance(50) ? now : nominal);
    if (chance(20)) line.until = line.nominal_at + std::chrono::seconds{random_.below(9)};
    transition.ledger.push_back(std::move(line));
  }
  row.version = transition.id;
  staged_[row.ulid.str()] = std::move(known);
}

void RandomSchedules::learn(const std::vector<Transition>& batch,
                            const std::vector<CommitOutcome>& outcomes) {
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (!std::holds_alternative<Won>(outcomes[i])) continue;
    for (const PurgedSchedule& purged : batch[i].purged_schedules) known_.erase(purged.ulid.str());
    for (const ScheduleRow& row : batch[i].schedules) {
      Known& known = known_[row.ulid.str()];
      known.row = row;
      known.row.version = batch[i].id;
    }
    for (const ScheduleEventRow& event : batch[i].schedule_events) {
      known_[event.ulid.str()].events = event.sequence;
    }
  }
  staged_.clear();
  purged_.clear();
}

void RandomSchedules::compare(Store& expected, Store& actual) const {
  const auto agree = [&](const auto& read) { EXPECT_EQ(read(expected), read(actual)); };
  for (const std::string& text : ulids_) {
    SCOPED_TRACE(text);
    const ScheduleUlid ulid{text};
    agree([&](Store& store) { return store.load_schedule(ulid).value(); });
    agree([&](Store& store) { return store.schedule_events(ulid, 0, 1000).value(); });
    agree([&](Store& store) { return store.schedule_events(ulid, 2, 3).value(); });
    agree([&](Store& store) { return store.ledger({.ulid = ulid}).value(); });
    agree([&](Store& store) {
      return store
          .ledger({.ulid = ulid,
                   .before = LedgerCursor{at(15), at(12), 1},
                   .outcome = "fired",
                   .limit = 4})
          .value();
    });
    agree([&](Store& store) { return store.open_ledger(ulid, 5).value(); });
    for (std::int64_t from = 0; from < 30; from += 7) {
      agree([&](Store& store) {
        return store.ledger_between(ulid, at(from), at(from + 9), 6).value();
      });
      agree([&](Store& store) { return store.find_ledger(ulid, at(from), 1).value(); });
    }
  }
  for (const ScheduleName& name : schedule_names) {
    agree([&](Store& store) { return store.find_schedule(name.ns, name.schedule_id).value(); });
    agree([&](Store& store) { return store.list_schedules({.ns = name.ns}).value(); });
  }
  agree([](Store& store) { return store.list_schedules({.limit = 1000}).value(); });
  agree([](Store& store) {
    return store
        .list_schedules({.statuses = {"active", "paused"},
                         .after = ScheduleCursor{at(1), "b", ScheduleUlid{"s000100"}},
                         .limit = 5})
        .value();
  });
  for (std::int64_t second = 0; second < 8; ++second) {
    const ScheduleMark mark{at(second), ScheduleUlid{"s000300"}};
    agree([&](Store& store) { return store.due_schedules({}, at(second), 1000).value(); });
    agree([&](Store& store) { return store.due_schedules(mark, at(9), 2).value(); });
    agree([&](Store& store) { return store.buffered_schedules(mark, 2).value(); });
    for (const auto& ns : {std::optional<Namespace>{}, std::optional{Namespace{"default"}}}) {
      agree([&](Store& store) {
        return store.count_schedules(ns, at(second), at(second - 2)).value();
      });
    }
  }
  agree([](Store& store) { return store.next_due_schedule().value(); });
}

}  // namespace dw::conformance
