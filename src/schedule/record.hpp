// A schedule: what fires when, what may keep it from firing, and what it starts. The record is the
// authority on what happens next; its audit stream, which grows in the same commits, on what
// happened.
#pragma once
#include "schedule/rotation.hpp"
#include "schedule/spec.hpp"

#include <dw/ids.hpp>
#include <dw/time.hpp>
#include <dw/value.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace dw::schedule {

enum class Status { active, paused, deleted };
// "active"
std::string_view to_string(Status status);

// What becomes of an occurrence while a run of the schedule is open.
enum class Overlap { skip, buffer_one, buffer_all, allow_all, cancel_other, terminate_other };
// "buffer_one"
std::string_view to_string(Overlap policy);
std::optional<Overlap> find_overlap(std::string_view name);
bool buffers(Overlap policy);

// What becomes of occurrences that passed while nobody looked.
struct MissedFires {
  enum class Mode {
    fire_once,  // the oldest is fired, the others are dropped
    skip,       // what is later than the window is dropped
    catch_up,   // the newest few are fired, one after another
  };

  Mode mode = Mode::fire_once;
  std::int64_t window_seconds = 60;   // of skip
  std::int64_t max_occurrences = 10;  // of catch_up
  friend bool operator==(const MissedFires&, const MissedFires&) = default;
};
// "catch_up"
std::string_view to_string(MissedFires::Mode mode);
std::optional<MissedFires::Mode> find_missed_mode(std::string_view name);

// So much a UTC day, and no more.
struct Budget {
  enum class Unit { fires, credits };

  Unit unit = Unit::fires;
  std::int64_t limit_per_day = 0;
  friend bool operator==(const Budget&, const Budget&) = default;
};
// "fires"
std::string_view to_string(Budget::Unit unit);
std::optional<Budget::Unit> find_budget_unit(std::string_view name);

// ---- what is started

struct StartWorkflow {
  std::string workflow_type;
  std::string workflow_class = {};
  std::string task_queue = {};
  Value input = Value::Array{};  // as it was given, for showing
  std::optional<std::int64_t> execution_timeout_seconds = {};
  std::optional<std::int64_t> run_timeout_seconds = {};
  friend bool operator==(const StartWorkflow&, const StartWorkflow&) = default;
};

struct SendPrompt {
  std::string workspace_id;
  std::string prompt;
  std::optional<Value> metadata = {};
  std::int64_t timeout_seconds = 300;
  friend bool operator==(const SendPrompt&, const SendPrompt&) = default;
};

using Action = std::variant<StartWorkflow, SendPrompt>;

RotationFor rotation_for(const Action& action);
// Of a prompt: none.
std::string_view workflow_type_of(const Action& action);
// {"kind", …}: with every key that has something to say.
Value to_value(const Action& action);

// An array is the arguments; an object gives its values in their order, null none, and anything
// else is the only one.
Value::Array workflow_arguments(const Value& input);

// {"cron_expressions", "intervals", "timezone"}
Value to_value(const SpecText& spec);

// ---- what happened lately

struct RecentAction {
  std::string outcome;  // "scheduled", "drained", "backfilled" or "failed"
  Timestamp fired_at;
  std::string workflow_id = {};
  std::string run_id = {};
  std::optional<Timestamp> occurrence_time = {};
  std::optional<std::int64_t> fire_lag_ms = {};
  std::string reason = {};  // of a failure
  friend bool operator==(const RecentAction&, const RecentAction&) = default;
};
inline constexpr std::size_t most_recent_actions = 10;
Value to_value(const RecentAction& action);

// An occurrence that waits for the run before it.
struct BufferedAction {
  Timestamp buffered_at;
  std::optional<Timestamp> nominal_at = {};  // absent: somebody triggered it by hand
  std::optional<Timestamp> occurrence_time = {};
  std::optional<Value> input = {};  // given with that trigger
  std::int64_t attempts = 0;        // starts that threw
  friend bool operator==(const BufferedAction&, const BufferedAction&) = default;
};
Value to_value(const BufferedAction& action);

// Starts of one UTC day; a new day starts over.
struct DayCount {
  std::int64_t day = 0;  // since the epoch
  std::int64_t count = 0;
  friend bool operator==(const DayCount&, const DayCount&) = default;
};
std::int64_t utc_day_of(Timestamp at);

using ScheduleLabels = std::vector<std::pair<std::string, std::string>>;  // sorted by key

struct Schedule {
  // who it is
  ScheduleUlid id;
  std::string schedule_id;
  Namespace ns;
  std::string name = {};
  std::string source = "runtime";
  std::optional<std::string> note = {};

  // when
  SpecText spec = {};  // with its jitter
  Bounds bounds = {};

  // whether
  std::vector<std::string> calendar_ids = {};
  std::optional<Value> condition = {};
  std::optional<Rotation> rotation = {};
  Overlap overlap_policy = Overlap::skip;
  MissedFires missed_fire_policy = {};
  std::optional<std::int64_t> max_runs = {};
  std::optional<std::int64_t> remaining_actions = {};
  std::optional<Budget> budget = {};
  std::optional<std::int64_t> pause_after_failures = {};  // so many failed runs in a row

  // what
  Action action = StartWorkflow{};
  ScheduleLabels labels = {};
  Value memo = Value::Map{};
  Value search_attributes = Value::Map{};
  std::optional<std::string> connection = {};
  std::optional<std::string> queue = {};

  // where it stands
  Status status = Status::active;
  std::optional<Timestamp> next_fire_at = {};     // of that occurrence, with jitter
  std::optional<Timestamp> next_nominal_at = {};  // the same without
  std::optional<Timestamp> defer_until = {};      // of a prompt that waits for its workspace
  std::optional<std::string> blocked_reason = {};
  // The latest occurrence that was judged or dropped. Clocks may step back; this does not.
  std::optional<Timestamp> judged_until = {};
  // The latest occurrence that a backfill started: up to here a slot may be taken already.
  std::optional<Timestamp> backfilled_until = {};
  std::optional<Timestamp> last_fired_at = {};
  std::optional<Timestamp> last_nominal_at = {};
  std::int64_t fires_count = 0;
  std::int64_t failures_count = 0;
  std::int64_t skipped_trigger_count = 0;
  std::optional<std::string> last_skip_reason = {};
  std::optional<Timestamp> last_skipped_at = {};
  std::optional<std::string> latest_workflow_instance_id = {};
  std::vector<RecentAction> recent_actions = {};  // the newest is the last
  std::vector<BufferedAction> buffered_actions = {};
  DayCount fires_of_day = {};
  std::int64_t audit_sequence = 0;                      // of the last event
  std::optional<Timestamp> failures_counted_from = {};  // failed runs before it are forgiven
  std::optional<Timestamp> paused_at = {};
  std::optional<Timestamp> deleted_at = {};
  Timestamp created_at = {};
  Timestamp updated_at = {};

  friend bool operator==(const Schedule&, const Schedule&) = default;
};

inline constexpr std::string_view spec_unresolvable = "spec_unresolvable";
inline constexpr std::string_view schedule_ended = "schedule_ended";  // its end_at has passed

// When it wants to be looked at: only while it is active and not blocked.
std::optional<Timestamp> due_at(const Schedule& schedule);
// Whether that occurrence may still be judged: it is to come, or waits in the buffer.
bool is_ahead(const Schedule& schedule, Timestamp nominal_at);
// Since when the head of its buffer waits; only while it is active.
std::optional<Timestamp> buffered_since(const Schedule& schedule);

}  // namespace dw::schedule
