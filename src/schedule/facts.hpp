// What a decision needs to know from outside, gathered before it is made. needs_of() says which of
// it a schedule asks for: the common schedule asks for nothing.
#pragma once
#include "core/random.hpp"
#include "schedule/calendar.hpp"
#include "schedule/ledger.hpp"

#include <memory>

namespace dw::schedule {

// One of a schedule's calendars, as this machine finds it. Either pointer is null when it does not.
struct AttachedCalendar {
  std::string id;
  std::shared_ptr<const CompiledCalendar> calendar = {};
  std::shared_ptr<const Zone> zone = {};
};
CalendarAt calendar_at(const AttachedCalendar& attached, Timestamp at);

enum class Resolution { found, unresolvable, cyclic };

struct Facts {
  Timestamp now;
  Random& random;
  std::shared_ptr<const Spec> spec = {};         // null: it cannot be resolved here
  std::vector<AttachedCalendar> calendars = {};  // in the order of calendar_ids
  std::vector<std::string> open_instances = {};  // started by this schedule; empty: not busy
  std::optional<Value> condition_context = {};   // absent: it could not be built
  bool slot_taken = false;                       // the occurrence has been started
  std::int64_t attempt = 1;                      // 2: the first instance id was taken; and on
  Resolution action = Resolution::found;
  std::optional<std::int64_t> credits_used_today = {};  // absent: the provider did not say
  std::int64_t consecutive_failures =
      0;                // newest runs of the schedule, since failures_counted_from
  bool frozen = false;  // dispatch control: no tick starts anything
  bool killed = false;  // nor does anybody else
  std::optional<Value> command_context = {};  // who asked: {"source", "context"}
};

struct Needs {
  bool open_instances = false;
  bool condition_context = false;
  bool slot = false;
  bool calendars = false;
  bool credits = false;
  bool failures = false;
  friend bool operator==(const Needs&, const Needs&) = default;
};

// What somebody asked for with a trigger.
struct TriggerRequest {
  std::optional<Overlap> overlap_policy = {};  // for this once
  std::optional<Value> input = {};             // for this once
  bool respect_guards = false;                 // calendars and condition may veto it
};

// What somebody asked for with a backfill.
struct BackfillRequest {
  std::optional<Overlap> overlap_policy = {};
  bool ignore_calendar = false;
  bool apply_condition = false;
  bool force = false;  // start again what has been started; `attempt` then names the repeat
};

Needs needs_of(const Schedule& schedule, Mode mode, const TriggerRequest& trigger = {},
               const BackfillRequest& backfill = {});

}  // namespace dw::schedule
