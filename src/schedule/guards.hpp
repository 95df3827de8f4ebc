// Whether an occurrence may start something. One list of guards for all who ask; the first that
// refuses ends it and names the reason. The order is a contract.
#pragma once
#include "schedule/facts.hpp"

#include <span>

namespace dw::schedule {

enum class Guard {
  dispatch_control,
  still_due,
  status,
  failures,
  remaining_actions,
  missed_fire,
  action,
  budget,
  calendar,
  buffering,
  condition,
  overlap,
  slot,
};

// An occurrence in front of its judges.
struct Attempt {
  const Schedule& schedule;
  const Facts& facts;
  Mode mode = Mode::tick;
  Timestamp nominal_at;                           // of a trigger: now
  std::optional<Timestamp> occurrence_time = {};  // the time that was observed to be due
  Overlap policy = Overlap::skip;                 // the schedule's, or the one asked for
  bool respect_guards = false;                    // of a trigger
  bool ignore_calendar = false;                   // of a backfill
  bool apply_condition = false;                   // of a backfill
  bool force = false;                             // of a backfill
};

struct Denial {
  enum class Kind {
    silent,   // nothing is written: it stays as it is
    refused,  // nothing is written: who asked is told
    skip,     // the occurrence is over
    pause,    // the occurrence is over, and so are the ones after it
    buffer,   // not now, but later
  };

  Guard guard = Guard::status;
  Kind kind = Kind::skip;
  std::string_view reason = {};      // as audit and last_skip_reason say it
  std::string_view log_reason = {};  // as the action log says it
  Value::Map detail = {};            // for the ledger
};

// None: start it.
std::optional<Denial> first_denial(const Attempt& attempt);

// What one of them says, whoever asks and wherever it stands in the list.
std::optional<Denial> ask(Guard guard, const Attempt& attempt);

// ---- the list itself, for those who check it against its table

enum class Applies { no, yes, when_asked };

struct GuardRule {
  Guard guard;
  Applies tick, drain, trigger, backfill;
  Applies in(Mode mode) const;
};
std::span<const GuardRule> guard_rules();
// "remaining_actions"
std::string_view to_string(Guard guard);

}  // namespace dw::schedule
