#include "store/memory_schedules.hpp"

#include <algorithm>
#include <tuple>

namespace dw::store {

void MemorySchedules::find_version(const ScheduleUlid& ulid, StreamVersion& into) const {
  if (const auto found = rows_.find(ulid); found != rows_.end()) {
    into.version = found->second.version;
  }
}

void MemorySchedules::find_version(const ScheduleName& name, StreamVersion& into) const {
  const auto found = live_.find(name);
  if (found == live_.end()) return;
  into.version = rows_.at(found->second).version;
  into.holder = std::make_unique<ScheduleUlid>(found->second);
}

// ---- changes

std::int64_t MemorySchedules::apply(const Transition& winner) {
  std::int64_t rows = 0;
  for (const PurgedSchedule& purged : winner.purged_schedules) rows += purge(purged);
  for (const bool deleted : {true, false}) {
    for (const ScheduleRow& row : winner.schedules) {
      if ((row.status == schedule_deleted) == deleted) put(row, winner.id);
    }
  }
  for (const ScheduleEventRow& event : winner.schedule_events) {
    events_[event.ulid].emplace(event.sequence, event);
  }
  for (const LedgerKey& line : winner.forgotten) rows += forget(line);
  for (const LedgerRow& line : winner.ledger) {
    ledger_[line.ulid].insert_or_assign(Line{line.nominal_at, line.nth}, line);
  }
  return rows + std::ssize(winner.schedules) + std::ssize(winner.schedule_events) +
         std::ssize(winner.ledger);
}

void MemorySchedules::put(const ScheduleRow& row, const CommitId& version) {
  remove(row.ulid);
  ScheduleRow& kept = rows_[row.ulid] = row;
  kept.version = version;
  ++counts_[row.ns][row.status];
  if (row.status != schedule_deleted) {
    live_.insert_or_assign(ScheduleName{row.ns, row.schedule_id}, row.ulid);
  }
  if (row.status != schedule_active) return;
  if (row.due_at) due_.insert({*row.due_at, row.ulid});
  if (row.buffered_since) buffered_.insert({*row.buffered_since, row.ulid});
}

void MemorySchedules::remove(const ScheduleUlid& ulid) {
  const auto found = rows_.find(ulid);
  if (found == rows_.end()) return;
  const ScheduleRow& row = found->second;
  --counts_[row.ns][row.status];
  if (row.due_at) due_.erase({*row.due_at, ulid});
  if (row.buffered_since) buffered_.erase({*row.buffered_since, ulid});
  const auto holder = live_.find({row.ns, row.schedule_id});
  if (holder != live_.end() && holder->second == ulid) live_.erase(holder);
  rows_.erase(found);
}

std::int64_t MemorySchedules::purge(const PurgedSchedule& purged) {
  std::int64_t rows = rows_.contains(purged.ulid) ? 1 : 0;
  remove(purged.ulid);
  if (const auto found = ledger_.find(purged.ulid); found != ledger_.end()) {
    rows += std::ssize(found->second);
    ledger_.erase(found);
  }
  if (!purged.with_events) return rows;
  if (const auto found = events_.find(purged.ulid); found != events_.end()) {
    rows += std::ssize(found->second);
    events_.erase(found);
  }
  return rows;
}

std::int64_t MemorySchedules::forget(const LedgerKey& line) {
  const auto found = ledger_.find(line.ulid);
  if (found == ledger_.end()) return 0;
  return static_cast<std::int64_t>(found->second.erase(Line{line.nominal_at, line.nth}));
}

// ---- rows

std::optional<ScheduleRow> MemorySchedules::find(const ScheduleName& name) const {
  if (const auto live = live_.find(name); live != live_.end()) return rows_.at(live->second);
  // Ulids sort by creation, and only one at a time lives under a name.
  for (auto entry = rows_.rbegin(); entry != rows_.rend(); ++entry) {
    const ScheduleRow& row = entry->second;
    if (row.ns == name.ns && row.schedule_id == name.schedule_id) return row;
  }
  return std::nullopt;
}

std::optional<ScheduleRow> MemorySchedules::load(const ScheduleUlid& ulid) const {
  const auto found = rows_.find(ulid);
  return found == rows_.end() ? std::nullopt : std::optional{found->second};
}

std::vector<ScheduleRow> MemorySchedules::rows_from(const std::set<ScheduleMark>& marks,
                                                    const std::optional<ScheduleMark>& after,
                                                    Timestamp until, std::size_t limit) const {
  std::vector<ScheduleRow> rows;
  auto mark = after ? marks.upper_bound(*after) : marks.begin();
  for (; mark != marks.end() && rows.size() < limit && mark->at <= until; ++mark) {
    rows.push_back(rows_.at(mark->ulid));
  }
  return rows;
}

std::vector<ScheduleRow> MemorySchedules::due(const std::optional<ScheduleMark>& after,
                                              Timestamp until, std::size_t limit) const {
  return rows_from(due_, after, until, limit);
}

std::optional<Timestamp> MemorySchedules::next_due() const {
  return due_.empty() ? std::nullopt : std::optional{due_.begin()->at};
}

std::vector<ScheduleRow> MemorySchedules::buffered(const std::optional<ScheduleMark>& after,
                                                   std::size_t limit) const {
  return rows_from(buffered_, after, Timestamp::max(), limit);
}

ScheduleCounts MemorySchedules::count(const std::optional<Namespace>& ns, Timestamp now,
                                      Timestamp late_since) const {
  ScheduleCounts counted;
  for (const auto& [of, by_status] : counts_) {
    if (ns && of != *ns) continue;
    for (const auto& [status, count] : by_status) {
      if (status == schedule_active) counted.active += count;
      if (status == schedule_paused) counted.paused += count;
    }
  }
  for (const ScheduleMark& due : due_) {
    if (due.at > now) break;
    if (ns && rows_.at(due.ulid).ns != *ns) continue;
    if (!counted.oldest_due) counted.oldest_due = due.at;
    if (due.at <= late_since) ++counted.late;
  }
  return counted;
}

std::vector<ScheduleRow> MemorySchedules::list(const ScheduleFilter& filter) const {
  // The latest sorts first: the two sides of its place are swapped.
  const auto earlier = [](const auto& a, const auto& b) {
    return std::tie(b.created_at, a.schedule_id, a.ulid) <
           std::tie(a.created_at, b.schedule_id, b.ulid);
  };
  std::vector<ScheduleRow> rows;
  for (const auto& [ulid, row] : rows_) {
    if (filter.ns && row.ns != *filter.ns) continue;
    if (!filter.statuses.empty() && std::ranges::count(filter.statuses, row.status) == 0) continue;
    if (filter.after && !earlier(*filter.after, row)) continue;
    rows.push_back(row);
  }
  std::ranges::sort(rows, earlier);
  if (rows.size() > filter.limit) rows.resize(filter.limit);
  return rows;
}

// ---- events and ledger

std::vector<ScheduleEventRow> MemorySchedules::events(const ScheduleUlid& ulid,
                                                      std::int64_t after_sequence,
                                                      std::size_t limit) const {
  std::vector<ScheduleEventRow> rows;
  const auto found = events_.find(ulid);
  if (found == events_.end()) return rows;
  auto event = found->second.upper_bound(after_sequence);
  for (; event != found->second.end() && rows.size() < limit; ++event) {
    rows.push_back(event->second);
  }
  return rows;
}

const MemorySchedules::Lines& MemorySchedules::lines(const ScheduleUlid& ulid) const {
  static const Lines none;
  const auto found = ledger_.find(ulid);
  return found == ledger_.end() ? none : found->second;
}

std::vector<LedgerRow> MemorySchedules::ledger(const LedgerFilter& filter) const {
  const auto later = [](const auto& a, const auto& b) {
    return std::tie(a.judged_at, a.nominal_at, a.nth) > std::tie(b.judged_at, b.nominal_at, b.nth);
  };
  std::vector<LedgerRow> rows;
  for (const auto& [key, line] : lines(filter.ulid)) {
    if (filter.outcome && line.outcome != *filter.outcome) continue;
    if (filter.reason && line.reason != *filter.reason) continue;
    if (filter.mode && line.mode != *filter.mode) continue;
    if (filter.before && !later(*filter.before, line)) continue;
    rows.push_back(line);
  }
  std::ranges::sort(rows, later);
  if (rows.size() > filter.limit) rows.resize(filter.limit);
  return rows;
}

std::optional<LedgerRow> MemorySchedules::find_ledger(const ScheduleUlid& ulid,
                                                      Timestamp nominal_at,
                                                      std::int64_t nth) const {
  const Lines& of_schedule = lines(ulid);
  const auto found = of_schedule.find({nominal_at, nth});
  return found == of_schedule.end() ? std::nullopt : std::optional{found->second};
}

std::vector<LedgerRow> MemorySchedules::ledger_between(const ScheduleUlid& ulid, Timestamp from,
                                                       Timestamp to, std::size_t limit) const {
  std::vector<LedgerRow> rows;
  for (const auto& [key, line] : lines(ulid)) {
    if (rows.size() >= limit || line.nominal_at > to) break;
    if (line.until.value_or(line.nominal_at) >= from || line.nominal_at >= from) {
      rows.push_back(line);
    }
  }
  return rows;
}

std::vector<LedgerRow> MemorySchedules::open_ledger(const ScheduleUlid& ulid,
                                                    std::size_t limit) const {
  std::vector<LedgerRow> rows;
  for (const auto& [key, line] : lines(ulid)) {
    if (rows.size() >= limit) break;
    if (line.open) rows.push_back(line);
  }
  return rows;
}

}  // namespace dw::store
