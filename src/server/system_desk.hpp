// What administrators ask about the engine as a whole, one namespace at a time: what needs repair,
// which deadlines have passed, which runs are old enough to go, how everything is doing; and the
// passes that see to it. Looks are taken on the reader's thread, a page at a time.
#pragma once
#include "dispatch/repair_pass.hpp"
#include "dispatch/schedule_standing.hpp"
#include "server/operator_metrics.hpp"
#include "server/task_queues.hpp"
#include "upkeep/retention.hpp"

namespace dw::server {

// Of what is looked for, unless somebody names another limit.
inline constexpr std::int64_t usual_scan_limit = 100;
inline constexpr std::int64_t largest_scan_limit = 1'000;

struct SystemDeskParts {
  store::Store& store;
  Executor& reader;
  const Clock& clock;
  Workers& workers;
  engine::RepairPolicy repair = {};
  // What dispatch does.
  HeldTasksOf held_tasks;
  std::function<void(dispatch::RepairScope scope, dispatch::Reply<dispatch::RepairReport> reply)>
      repair_pass;
  std::function<void(engine::Task task, std::function<void()> done)> deliver;
  // Waits for the thread that commits.
  std::function<Result<upkeep::RetentionReport>(const upkeep::RetentionScope& scope)> prune;
  std::function<std::chrono::days(std::string_view ns)> retention;  // of a namespace
  std::function<dispatch::ScheduleTally::Counts()> schedules;
  std::function<Value()> backend;  // what the engine works with, and what is wrong with it
};

// What became of an activity whose deadline was delivered.
struct TimeoutVerdict {
  std::string outcome;  // enforced, skipped, error
  std::string reason = {};
  bool has_retry = false;  // of an enforced one
};
// `seen` is the last event there was before. Pure.
TimeoutVerdict judge_timeout(const ActivityId& activity, std::span<const history::Event> events,
                             std::int64_t seen);

class SystemDesk final : public Service {
 public:
  explicit SystemDesk(SystemDeskParts parts) : parts_(std::move(parts)) {}

  void serve(Call call, Reply reply) override;

 private:
  struct Survey;
  struct TimeoutPass;
  using Surveyed = std::function<Answer(const Call& call, const OperatorCensus& census)>;

  // The strings of a list that must not be longer than that.
  static std::vector<std::string> named_in(Fields& fields, std::string_view field,
                                           std::size_t most);

  void repair_pass(const Call& call, Reply reply);
  bool throttled();

  void activity_timeouts(const Call& call, Reply reply);
  void activity_timeout_pass(const Call& call, Reply reply);
  void deliver_watches(std::shared_ptr<TimeoutPass> pass);
  Answer judged(const TimeoutPass& pass) const;

  Answer retention(const Call& call) const;
  void retention_pass(Call call, Reply reply);

  // Looks at all tasks, and at all runs or only at the open ones.
  void survey(Call call, Reply reply, bool open_only, Surveyed then);
  void survey_runs(std::shared_ptr<Survey> survey);
  Answer operator_metrics(const Call& call, const OperatorCensus& census) const;
  Answer health(const Call& call, const OperatorCensus& census) const;
  void metrics(Call call, Reply reply);

  const SystemDeskParts parts_;
  std::mutex mutex_;
  std::optional<Timestamp> last_repair_pass_;  // guarded by mutex_
};

}  // namespace dw::server
