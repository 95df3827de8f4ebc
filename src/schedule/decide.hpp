// What happens to a schedule. Each decision is a value: the schedule as it then is, the events and
// ledger entries to be written with it, and what is to be started. The caller commits all of it
// with the start, or throws it away: a start that was refused is told to decide_refused(), one
// that threw to decide_failed(), both with the schedule as it was before.
#pragma once
#include "schedule/audit.hpp"
#include "schedule/facts.hpp"

namespace dw::schedule {

// Why a run exists: the ScheduleTriggered event of its history.
struct TriggeredBy {
  std::string schedule_id;
  ScheduleUlid schedule_ulid;
  std::optional<std::string> cron_expression;  // the first; absent when there are only intervals
  std::string timezone;
  Overlap overlap_policy = Overlap::skip;
  std::int64_t trigger_number = 1;
  std::optional<Timestamp> occurrence_time;  // absent when it was triggered by hand
  friend bool operator==(const TriggeredBy&, const TriggeredBy&) = default;
};
Value to_value(const TriggeredBy& lineage);

struct Start {
  std::string instance_id;
  std::string workflow_type;
  std::string workflow_class;
  Value::Array arguments;
  std::optional<std::string> connection;
  std::optional<std::string> queue;
  std::optional<std::int64_t> execution_timeout_seconds;
  std::optional<std::int64_t> run_timeout_seconds;
  ScheduleLabels labels;
  std::optional<Value> memo;
  std::optional<Value> search_attributes;
  TriggeredBy lineage;
  friend bool operator==(const Start&, const Start&) = default;
};

// A run that has to make way. Best effort: the start goes ahead whatever becomes of it.
struct CloseOther {
  std::string instance_id;
  bool terminate = false;  // else cancel
  std::string reason;
  friend bool operator==(const CloseOther&, const CloseOther&) = default;
};

enum class Outcome {
  nothing,  // not due any more, frozen, or still waiting: nothing is to be written
  refused,  // dispatch_disabled, schedule_not_paused, schedule_deleted: nothing is to be written
  triggered,
  drained,
  buffered,
  buffer_full,
  skipped,
  failed,
  paused,
  resumed,
  deleted,
  created,
  updated,
};
// "buffer_full"
std::string_view to_string(Outcome outcome);

struct Decision {
  Schedule after;
  std::vector<AuditEvent> events = {};
  std::vector<LedgerEntry> ledger = {};
  std::optional<Start> start = {};
  std::vector<CloseOther> closes = {};
  Outcome outcome = Outcome::nothing;
  std::string reason = {};  // of a skip, a refusal or a failure
  std::optional<Timestamp> occurrence_time = {};
  std::int64_t dropped = 0;  // occurrences that nobody judged by themselves
  bool unchanged = false;    // there is nothing to be written
};

// The run that was started, once it has an id.
void name_run(Decision& decision, const RunId& run);

// ---- occurrences

// The schedule's own time has come.
Decision decide_tick(const Schedule& schedule, const Facts& facts);
// The head of its buffer, if nothing is in the way any more.
Decision decide_drain(const Schedule& schedule, const Facts& facts);
Decision decide_trigger(const Schedule& schedule, const TriggerRequest& request,
                        const Facts& facts);
// One occurrence of a backfill. A deleted schedule refuses it.
Decision decide_backfill(const Schedule& schedule, Timestamp nominal_at,
                         const BackfillRequest& request, const Facts& facts);

// Which of them a decision was about, for those that tell how it went on.
struct Asked {
  Mode mode = Mode::tick;
  Timestamp nominal_at = {};  // of a backfill
  TriggerRequest trigger = {};
  BackfillRequest backfill = {};
};

// The start said no. `reason` is what it gave: "compatibility_blocked". An id that is taken by an
// earlier start of the same occurrence is "schedule_slot_exists".
Decision decide_refused(const Schedule& schedule, const Asked& asked, std::string_view reason,
                        const Facts& facts);
// The start threw, or deciding did.
Decision decide_failed(const Schedule& schedule, const Asked& asked, std::string_view error,
                       const Facts& facts);
inline constexpr std::int64_t most_drain_attempts = 5;

// ---- windows of occurrences

inline constexpr std::size_t most_backfilled = 10'000;

struct BackfillWindow {
  std::vector<Occurrence> occurrences;
  std::string_view problem = {};  // "invalid_time_range" or "backfill_window_too_large"
};
// [from, to), in ascending order, without jitter.
BackfillWindow backfill_window(const Spec& spec, Timestamp from, Timestamp to);

// ---- its life

// Refused of a deleted one with schedule_deleted. Pausing a paused one refreshes its note.
Decision decide_pause(const Schedule& schedule, const std::optional<std::string>& reason,
                      const Facts& facts);
// Refused of an active one with schedule_not_paused, of a cyclic action with cycle_detected.
Decision decide_resume(const Schedule& schedule, const std::optional<std::string>& note,
                       const Facts& facts);
// Soft and final. Deleting a deleted one changes nothing.
Decision decide_delete(const Schedule& schedule, const Facts& facts);
// A run of it failed: enough of them in a row pause it.
Decision decide_run_failed(const Schedule& schedule, const Facts& facts);
// For an active one without a next time, and for one whose zone has got other rules. What is
// overdue stays due.
Decision decide_recompute(const Schedule& schedule, const Facts& facts);

}  // namespace dw::schedule
