// The schedules of the in-memory store. Whoever owns this guards it.
#pragma once
#include "store/winners.hpp"

#include <map>
#include <set>
#include <utility>

namespace dw::store {

class MemorySchedules {
 public:
  void find_version(const ScheduleUlid& ulid, StreamVersion& into) const;
  void find_version(const ScheduleName& name, StreamVersion& into) const;
  // How many rows it wrote or removed.
  std::int64_t apply(const Transition& winner);

  std::optional<ScheduleRow> find(const ScheduleName& name) const;
  std::optional<ScheduleRow> load(const ScheduleUlid& ulid) const;
  std::vector<ScheduleRow> due(const std::optional<ScheduleMark>& after, Timestamp until,
                               std::size_t limit) const;
  std::optional<Timestamp> next_due() const;
  std::vector<ScheduleRow> buffered(const std::optional<ScheduleMark>& after,
                                    std::size_t limit) const;
  ScheduleCounts count(const std::optional<Namespace>& ns, Timestamp now,
                       Timestamp late_since) const;
  std::vector<ScheduleRow> list(const ScheduleFilter& filter) const;
  std::vector<ScheduleEventRow> events(const ScheduleUlid& ulid, std::int64_t after_sequence,
                                       std::size_t limit) const;
  std::vector<LedgerRow> ledger(const LedgerFilter& filter) const;
  std::optional<LedgerRow> find_ledger(const ScheduleUlid& ulid, Timestamp nominal_at,
                                       std::int64_t nth) const;
  std::vector<LedgerRow> ledger_between(const ScheduleUlid& ulid, Timestamp from, Timestamp to,
                                        std::size_t limit) const;
  std::vector<LedgerRow> open_ledger(const ScheduleUlid& ulid, std::size_t limit) const;

 private:
  using Line = std::pair<Timestamp, std::int64_t>;  // nominal time, nth
  using Lines = std::map<Line, LedgerRow>;

  void put(const ScheduleRow& row, const CommitId& version);
  void remove(const ScheduleUlid& ulid);
  std::int64_t purge(const PurgedSchedule& purged);
  std::int64_t forget(const LedgerKey& line);
  const Lines& lines(const ScheduleUlid& ulid) const;
  std::vector<ScheduleRow> rows_from(const std::set<ScheduleMark>& marks,
                                     const std::optional<ScheduleMark>& after, Timestamp until,
                                     std::size_t limit) const;

  std::map<ScheduleUlid, ScheduleRow> rows_;
  std::map<ScheduleName, ScheduleUlid> live_;
  std::map<Namespace, std::map<std::string, std::int64_t>> counts_;  // by status
  std::set<ScheduleMark> due_;
  std::set<ScheduleMark> buffered_;
  std::map<ScheduleUlid, std::map<std::int64_t, ScheduleEventRow>> events_;
  std::map<ScheduleUlid, Lines> ledger_;
};

}  // namespace dw::store
