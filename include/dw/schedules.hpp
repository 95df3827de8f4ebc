// Workflows that start by themselves, at the right moment:
//
//   engine.schedules().create(nightly_report, {.id = "nightly",
//                                              .cron = {"30 2 * * *"},
//                                              .timezone = "Europe/Berlin"}, "sales");
//
// Each occurrence is started once, however often the process dies, and the schedule can always say
// why it did or did not start something.
#pragma once
#include <dw/handle.hpp>
#include <dw/time.hpp>
#include <dw/value.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dw {

namespace detail {
class EngineImpl;
}

// What becomes of an occurrence while a run of the same schedule is open.
enum class OverlapPolicy {
  skip,             // it does not happen
  buffer_one,       // one waits for the run's end, further ones do not happen
  buffer_all,       // all wait, and follow one after another
  allow_all,        // it starts all the same
  cancel_other,     // the open run is asked to end, and it starts
  terminate_other,  // the open run is ended, and it starts
};

// What becomes of occurrences that nobody was there for.
struct MissedFires {
  enum class Mode { fire_once, skip, catch_up } mode = Mode::fire_once;
  std::chrono::seconds window{60};  // skip: what is later than that is dropped
  int max_occurrences = 10;         // catch_up: the newest so many
};

// ISO 8601: every "PT30M", offset "PT5M". Counted from 1970, not from the last run.
struct Every {
  std::string every;
  std::string offset = {};
};

// How much a schedule may do on one UTC day.
struct ScheduleBudget {
  enum class Unit { fires, credits } unit = Unit::fires;  // credits: EngineOptions says how many
  std::int64_t limit_per_day = 0;
};

struct ScheduleOptions {
  std::string id = {};  // yours; empty: one is made up
  std::vector<std::string> cron = {};
  std::vector<Every> every = {};
  std::string timezone = "UTC";  // of the cron expressions
  std::chrono::seconds jitter{0};
  std::optional<Timestamp> start_at = {};
  std::optional<Timestamp> end_at = {};
  std::vector<std::string> calendars = {};  // all must allow a day: "us-federal-holidays"
  std::optional<Value> condition = {};      // {"/prior_run_result/status": {"eq": "completed"}}
  std::vector<Value> rotation = {};         // inputs that take turns, instead of the arguments
  OverlapPolicy overlap = OverlapPolicy::skip;
  MissedFires missed = {};
  std::optional<std::int64_t> max_runs = {};              // then it deletes itself
  std::optional<std::int64_t> pause_after_failures = {};  // in a row
  std::optional<ScheduleBudget> budget = {};
  std::vector<std::pair<std::string, std::string>> labels = {};
  std::optional<Value> memo = {};
  std::optional<Value> search_attributes = {};
  std::string note = {};
  bool paused = false;
  std::optional<std::string> ns = {};  // unset: the engine's own
};

struct ScheduleInfo {
  std::string id;
  std::string ns;
  std::string status;  // active, paused, deleted
  std::string words;   // "at 02:30", as one would say it
  std::string workflow_type;
  std::optional<Timestamp> next_fire_at;
  std::optional<Timestamp> last_fired_at;
  std::int64_t fires = 0;
  std::int64_t failures = 0;
  std::int64_t skips = 0;
  std::string last_skip_reason;
  std::optional<std::int64_t> remaining_runs;
  std::string latest_instance_id;
  std::size_t buffered = 0;
  std::string note;
  std::string blocked_reason;
};

// What was decided about one occurrence, or would be.
struct ScheduleDecision {
  std::string outcome;      // triggered, drained, buffered, buffer_full, skipped, failed
  std::string reason;       // why not
  std::string instance_id;  // what was started
  std::string run_id;
  std::optional<Timestamp> occurrence_time;
};

struct ScheduleEvent {
  std::int64_t sequence = 0;
  std::string type;  // ScheduleCreated, ScheduleTriggered, ScheduleTriggerSkipped, …
  Timestamp recorded_at;
  Value payload;
};

struct PreviewedTick {
  Timestamp at;
  bool dispatch = false;
  std::string reason;  // ok, or what speaks against it
};

// Throws EngineError: invalid_argument with everything that is wrong with what was asked, conflict
// when the id is taken, not_found when there is no such schedule.
class Schedules {
 public:
  explicit Schedules(std::shared_ptr<detail::EngineImpl> engine) : engine_(std::move(engine)) {}

  // Both give the schedule's id.
  template <typename R, typename... P, typename... A>
  requires(sizeof...(P) == sizeof...(A)) std::string
      create(R (*workflow)(P...), const ScheduleOptions& options, A&&... args) {
    return create_erased(std::string{registry().workflow_type(detail::function_key(workflow))},
                         options, detail::arguments_for(workflow, std::forward<A>(args)...));
  }
  std::string create(std::string_view workflow_type, const ScheduleOptions& options,
                     Value::Array arguments = {});

  ScheduleInfo describe(std::string_view id);
  // The same without throwing: the one that lives under the name, else the one that was deleted
  // last. `ns` unset: the engine's own namespace.
  std::optional<ScheduleInfo> find(std::string_view id, const std::optional<std::string>& ns = {});
  std::vector<ScheduleInfo> list();
  void pause(std::string_view id, std::string reason = {});
  void resume(std::string_view id);
  void remove(std::string_view id);
  // Now, whatever its time; overlap is judged as usual.
  ScheduleDecision trigger(std::string_view id, std::optional<OverlapPolicy> overlap = {});
  // Every occurrence from `from` up to `to` that was not started yet.
  std::vector<ScheduleDecision> backfill(std::string_view id, Timestamp from, Timestamp to);
  // Judges what is due at once; the engine does so by itself.
  std::vector<ScheduleDecision> tick();
  std::vector<ScheduleEvent> history(std::string_view id, std::size_t limit = 100,
                                     std::int64_t after_sequence = 0);
  std::vector<PreviewedTick> preview(std::string_view id, int next = 10);
  // Reads the tz database again. What is to come in zones whose rules have changed is planned by
  // the new ones, what is overdue stays due. How many schedules that changed. The engine does so by
  // itself within a minute after a zone's file was written.
  std::size_t reload_zones();

 private:
  const Registry& registry() const;
  std::string create_erased(std::string workflow_type, const ScheduleOptions& options,
                            const Payload& arguments);

  std::shared_ptr<detail::EngineImpl> engine_;
};

}  // namespace dw
