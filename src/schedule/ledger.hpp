// What became of each occurrence, one entry each. The ledger is what keeps an occurrence from
// being started twice, and, read aloud, it is the action log.
#pragma once
#include "schedule/record.hpp"

namespace dw::schedule {

// Who asks whether something may start.
enum class Mode {
  tick,      // its time has come
  drain,     // it waited for another run
  trigger,   // somebody wants it now
  backfill,  // somebody wants it for a time that has passed
};
// "backfill"
std::string_view to_string(Mode mode);
std::optional<Mode> find_mode(std::string_view name);

enum class LedgerOutcome { fired, skipped, buffered, dropped, failed };
// "fired"
std::string_view to_string(LedgerOutcome outcome);
std::optional<LedgerOutcome> find_ledger_outcome(std::string_view name);

// Which of the entries of one moment it is.
inline constexpr std::int64_t the_occurrence = 0;
inline constexpr std::int64_t a_manual_trigger = 1;
inline constexpr std::int64_t first_repeat = 2;  // and on: forced by a backfill
inline constexpr std::int64_t a_stretch = -1;    // of occurrences that nobody judged by themselves
inline constexpr std::int64_t a_turned_away = -2;  // the occurrence had been started already

struct LedgerEntry {
  Timestamp nominal_at;
  std::int64_t nth = the_occurrence;
  std::optional<Timestamp> until = {};  // of a stretch: its last occurrence
  std::int64_t count = 1;               // of a stretch: how many
  LedgerOutcome outcome = LedgerOutcome::fired;
  Mode mode = Mode::tick;
  std::string reason = {};  // in the words of the action log; empty when fired
  std::string instance_id = {};
  std::string run_id = {};
  bool open = false;  // its run may still be open
  Timestamp judged_at = {};
  Value detail = {};  // what the decision went by
  friend bool operator==(const LedgerEntry&, const LedgerEntry&) = default;
};

// Whether a start for this occurrence is on record: it takes the slot.
bool takes_slot(const LedgerEntry& entry);

// ---- the action log

struct ActionLogRow {
  std::string action_type;  // "schedule_skipped", "dispatch_schedule" or "schedule_buffered"
  std::string result;       // "skipped", "failed", "throttled", "budget_exceeded", "success", …
  Value payload;
  friend bool operator==(const ActionLogRow&, const ActionLogRow&) = default;
};

ActionLogRow action_log_row(std::string_view schedule_id, const LedgerEntry& entry);

}  // namespace dw::schedule
