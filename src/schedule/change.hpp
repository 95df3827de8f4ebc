// Creating and changing schedules: what somebody wants, judged as a whole, every mistake at once.
// Nothing is stored unless all of it can be.
#pragma once
#include "schedule/decide.hpp"

#include <functional>

namespace dw::schedule {

// What keeps a wish from being granted.
struct ChangeProblem {
  std::string path;                          // "spec.cron_expressions.0", "action.workflow_type"
  std::string code;                          // "invalid_cron_expression"
  std::string message;                       // what is wrong
  std::string hint;                          // what could stand there
  std::string problem = {};                  // of an expression: "step_out_of_range"
  std::string field = {};                    // of an expression: "minute"
  std::optional<std::size_t> position = {};  // the byte at which it stops making sense
  friend bool operator==(const ChangeProblem&, const ChangeProblem&) = default;
};
// {"path", "code", "message", "hint", …}
Value to_value(const ChangeProblem& problem);

struct ChangeWarning {
  std::string path;
  std::string code;
  std::string message;
  friend bool operator==(const ChangeWarning&, const ChangeWarning&) = default;
};
Value to_value(const ChangeWarning& warning);

// What somebody wants a schedule to be. What is absent stays as it is, or has its default.
struct ScheduleChange {
  std::optional<std::string> schedule_id = {};  // of a new one
  std::optional<std::string> name = {};
  std::optional<std::string> source = {};  // of a new one
  std::optional<std::string> note = {};
  std::optional<SpecText> spec = {};                // replaces; its jitter is not looked at
  std::optional<std::string> cron_expression = {};  // the only one from now on
  std::optional<std::string> timezone = {};
  std::optional<std::int64_t> jitter_seconds = {};
  std::optional<Timestamp> start_at = {};
  std::optional<Timestamp> end_at = {};
  std::optional<std::vector<std::string>> calendar_ids = {};
  std::optional<Value> condition = {};
  std::optional<Value> rotation = {};  // the inputs, or {"inputs"}; starts over
  std::optional<std::string> overlap_policy = {};
  std::optional<Value> missed_fire_policy = {};  // {"mode", …}
  std::optional<std::int64_t> max_runs = {};
  std::optional<Value> budget = {};  // {"unit", "limit_per_day"}
  std::optional<std::int64_t> pause_after_failures = {};
  std::optional<Value> action = {};
  bool merge_action = true;  // key by key; else it replaces the one there is
  std::optional<Value> labels = {};
  std::optional<Value> memo = {};
  std::optional<Value> search_attributes = {};
  std::optional<std::string> connection = {};
  std::optional<std::string> queue = {};
  bool paused = false;                         // of a new one
  std::vector<std::string> clear_fields = {};  // of one that is there: back to having none
};

struct ReadChange {
  ScheduleChange change;
  std::vector<ChangeProblem> problems = {};
  std::vector<ChangeWarning> warnings = {};  // keys that mean nothing here
};
// The body of a request. Null is the same as absent.
ReadChange read_change(const Value& body);

struct ChangeFacts {
  Timestamp now;
  Random& random;
  std::function<std::shared_ptr<const Zone>(std::string_view)> zone;  // null: there is none
  // Absent: no calendar of that id is to be seen from this namespace.
  std::function<std::optional<AttachedCalendar>(std::string_view)> calendar = {};
  bool cyclic = false;  // the workflow would end up starting itself
  std::optional<Value> command_context = {};
};

// Who a new schedule is: a fresh id, and the namespace it is made in.
struct NewSchedule {
  ScheduleUlid id;
  Namespace ns;
};

struct Changed {
  std::optional<Decision> decision = {};  // absent exactly when there are problems
  std::vector<std::string> changed_fields = {};
  std::vector<ChangeProblem> problems = {};
  std::vector<ChangeWarning> warnings = {};
};

// Whether the id is free is for the store to say.
Changed decide_create(const NewSchedule& identity, const ScheduleChange& change,
                      const ChangeFacts& facts);

// A decision that is `unchanged` when nothing differs. A deleted schedule refuses:
// schedule_deleted.
Changed decide_update(const Schedule& schedule, const ScheduleChange& change,
                      const ChangeFacts& facts);

inline constexpr std::size_t most_calendars = 8;
inline constexpr std::size_t longest_schedule_id = 128;
inline constexpr std::size_t longest_schedule_name = 200;
inline constexpr std::size_t longest_note = 1000;        // characters
inline constexpr std::size_t longest_queue = 255;        // bytes, as where workers register
inline constexpr std::size_t longest_memo = 256 * 1024;  // bytes of JSON

}  // namespace dw::schedule
