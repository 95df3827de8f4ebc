// What a store keeps of schedules: a row that says when each is due, the events that changed it,
// and a ledger with one line for every occurrence that was judged. What a record, a payload or a
// detail means is decided elsewhere; here they are text.
#pragma once
#include <dw/ids.hpp>
#include <dw/result.hpp>
#include <dw/time.hpp>

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dw::store {

// As a stream: the live schedule of that id. Its version is that schedule's; it does not exist
// while nobody lives under the name.
struct ScheduleName {
  Namespace ns;
  std::string schedule_id;
  friend auto operator<=>(const ScheduleName&, const ScheduleName&) = default;
  friend bool operator==(const ScheduleName&, const ScheduleName&) = default;
};

// A deleted schedule keeps its row, and leaves its name to whoever comes next.
inline constexpr std::string_view schedule_active = "active";
inline constexpr std::string_view schedule_paused = "paused";
inline constexpr std::string_view schedule_deleted = "deleted";

// Namespace, id and creation stay what they were when the row was first written.
struct ScheduleRow {
  ScheduleUlid ulid;
  Namespace ns;
  std::string schedule_id;
  std::string status;
  std::optional<Timestamp> due_at;          // counts only while active
  std::optional<Timestamp> buffered_since;  // the head of its buffer; counts only while active
  Timestamp created_at;
  CommitId version;
  std::string record;  // JSON
  friend bool operator==(const ScheduleRow&, const ScheduleRow&) = default;
};

// One event of a schedule's audit stream.
struct ScheduleEventRow {
  ScheduleUlid ulid;
  Namespace ns;
  std::string schedule_id;
  std::int64_t sequence = 0;  // from 1, without gaps
  std::string id;             // ULID
  std::string type;
  std::string payload;      // JSON
  std::string instance_id;  // what it started, if anything
  std::string run_id;
  Timestamp recorded_at;
  friend bool operator==(const ScheduleEventRow&, const ScheduleEventRow&) = default;
};

// How an occurrence was judged. The key is the schedule, the nominal time and `nth`: whoever would
// judge it again finds it taken.
struct LedgerRow {
  ScheduleUlid ulid;
  Namespace ns;
  std::string schedule_id;
  Timestamp nominal_at;
  std::int64_t nth = 0;            // 0 the occurrence, 1 a manual trigger then, 2 on: repeats
  std::optional<Timestamp> until;  // a stretch judged alike is one line, from nominal_at to here
  std::int64_t count = 1;          // occurrences in it
  std::string outcome;             // fired, skipped, buffered, dropped, failed
  std::string mode;                // tick, drain, trigger, backfill
  std::string reason;              // empty when fired
  std::string instance_id;         // when fired
  std::string run_id;
  bool open = false;  // its run may not have ended
  Timestamp judged_at;
  std::string detail;  // JSON: what the decision was made from
  friend bool operator==(const LedgerRow&, const LedgerRow&) = default;
};

// Which line of which ledger.
struct LedgerKey {
  ScheduleUlid ulid;
  Timestamp nominal_at;
  std::int64_t nth = 0;
  friend bool operator==(const LedgerKey&, const LedgerKey&) = default;
};

// A schedule that leaves the store: its row and its ledger, and its events only if asked.
struct PurgedSchedule {
  ScheduleUlid ulid;
  bool with_events = false;
  friend bool operator==(const PurgedSchedule&, const PurgedSchedule&) = default;
};

// Where a page of schedules in order of a time ended.
struct ScheduleMark {
  Timestamp at;
  ScheduleUlid ulid;
  friend auto operator<=>(const ScheduleMark&, const ScheduleMark&) = default;
  friend bool operator==(const ScheduleMark&, const ScheduleMark&) = default;
};

struct ScheduleCursor {
  Timestamp created_at;
  std::string schedule_id;
  ScheduleUlid ulid;
};

struct ScheduleFilter {
  std::optional<Namespace> ns = {};
  std::vector<std::string> statuses = {};    // none: any
  std::optional<ScheduleCursor> after = {};  // the page after the one that ended with it
  std::size_t limit = 100;
};

// How many schedules there are, and how late they are.
struct ScheduleCounts {
  std::int64_t active = 0;
  std::int64_t paused = 0;
  std::int64_t late = 0;                     // active ones that were due by then
  std::optional<Timestamp> oldest_due = {};  // of the active ones that are due by now
  friend bool operator==(const ScheduleCounts&, const ScheduleCounts&) = default;
};

struct LedgerCursor {
  Timestamp judged_at;
  Timestamp nominal_at;
  std::int64_t nth = 0;
};

struct LedgerFilter {
  ScheduleUlid ulid;
  std::optional<LedgerCursor> before = {};  // the page after the one that ended with it
  std::optional<std::string> outcome = {};
  std::optional<std::string> reason = {};
  std::optional<std::string> mode = {};
  std::size_t limit = 100;
};

// Reads see what is durable; any thread may call them.
class ScheduleReads {
 public:
  virtual ~ScheduleReads() = default;

  // The live one of that id, or else the one deleted last.
  virtual Result<std::optional<ScheduleRow>> find_schedule(const Namespace& ns,
                                                           std::string_view schedule_id) = 0;
  virtual Result<std::optional<ScheduleRow>> load_schedule(const ScheduleUlid& ulid) = 0;

  // Active ones due at or before `until`, by due time and ulid, strictly after `after`.
  virtual Result<std::vector<ScheduleRow>> due_schedules(const std::optional<ScheduleMark>& after,
                                                         Timestamp until, std::size_t limit) = 0;
  // When the first of them is due.
  virtual Result<std::optional<Timestamp>> next_due_schedule() = 0;
  // Active ones with something in their buffer, longest waiting first.
  virtual Result<std::vector<ScheduleRow>> buffered_schedules(
      const std::optional<ScheduleMark>& after, std::size_t limit) = 0;

  // Of a namespace, or of all. Costs what is due by `now`, not what there is; `late_since` is not
  // after `now`.
  virtual Result<ScheduleCounts> count_schedules(const std::optional<Namespace>& ns, Timestamp now,
                                                 Timestamp late_since) = 0;

  // Created last first, then by id.
  virtual Result<std::vector<ScheduleRow>> list_schedules(const ScheduleFilter& filter) = 0;

  // Oldest first. They outlive the schedule's row.
  virtual Result<std::vector<ScheduleEventRow>> schedule_events(const ScheduleUlid& ulid,
                                                                std::int64_t after_sequence,
                                                                std::size_t limit) = 0;

  // Judged last first, then by nominal time, latest first.
  virtual Result<std::vector<LedgerRow>> ledger(const LedgerFilter& filter) = 0;
  virtual Result<std::optional<LedgerRow>> find_ledger(const ScheduleUlid& ulid,
                                                       Timestamp nominal_at, std::int64_t nth) = 0;
  // By nominal time, from `from` to `to`, both included; a stretch counts if any of it does.
  virtual Result<std::vector<LedgerRow>> ledger_between(const ScheduleUlid& ulid, Timestamp from,
                                                        Timestamp to, std::size_t limit) = 0;
  // Lines whose run may not have ended, by nominal time.
  virtual Result<std::vector<LedgerRow>> open_ledger(const ScheduleUlid& ulid,
                                                     std::size_t limit) = 0;
};

}  // namespace dw::store
