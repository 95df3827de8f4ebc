// Keeps schedules: changes them when somebody asks, judges their occurrences when they are due, and
// starts what they start, all of it in one commit. At most one decision on a schedule is under way
// here; what others do to it meanwhile shows in its version, and then it is decided again.
#pragma once
#include "core/clock.hpp"
#include "core/ulid.hpp"
#include "dispatch/committer.hpp"
#include "dispatch/requests.hpp"
#include "dispatch/schedule_control.hpp"
#include "dispatch/schedule_facts.hpp"
#include "dispatch/schedule_replan.hpp"
#include "dispatch/schedule_tally.hpp"
#include "schedule/decide.hpp"

#include <deque>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

namespace dw::dispatch {

// Looked at this often though nobody says that it is time.
inline constexpr std::chrono::seconds schedule_poll{30};

struct ScheduleDeskParts {
  store::Store& store;
  Committer& committer;
  Executor& executor;
  Executor& reader;  // where blocking loads run
  const Clock& clock;
  Random& random;
  ScheduleSources sources;
  // What a start is to the engine: with what is declared about its type.
  std::function<Result<engine::StartCommand>(const Namespace& ns, const schedule::Start& start)>
      prepare;
  std::function<void(StartJob job)> start;
  std::function<void(store::InstanceKey instance, engine::CloseCommand command)> close;
  std::chrono::seconds poll = schedule_poll;
  std::size_t batch = 50;  // occurrences judged together
};

// How a schedule stands after a decision on it, and what the decision was.
struct ScheduleReply {
  schedule::Schedule schedule;
  schedule::Outcome outcome = schedule::Outcome::nothing;
  std::string reason = {};
  std::string instance_id = {};  // of what was started
  std::string run_id = {};
  std::optional<Timestamp> occurrence_time = {};
};

struct ScheduleAsk {
  store::ScheduleName name;
  schedule::Asked asked = {};
  std::optional<Value> context = {};  // who asks
  std::function<schedule::Needs(const schedule::Schedule& schedule)> needs = {};
  // On the schedule that goes by that name, deleted ones included; null when there never was one.
  // An error changes nothing.
  std::function<Result<schedule::Decision>(const schedule::Schedule* schedule,
                                           const schedule::Facts& facts)>
      decide;
  bool opens = false;  // a schedule of its own, under a name that is free
  bool dry = false;    // decides, and writes nothing
  Reply<ScheduleReply> reply;
};

// One evaluation of a tick.
struct TickRow {
  std::string ns;
  std::string schedule_id;
  Result<ScheduleReply> result;
};

class ScheduleDesk final : public CommitListener {
 public:
  explicit ScheduleDesk(ScheduleDeskParts parts);

  // All of these from any thread.
  // Looks after due schedules from here on, and plans again what was left without a next time or
  // was planned by rules of a zone that have changed since.
  void begin();
  void stop();  // decides nothing more; open replies get `shutting_down`
  // Once the executors have stopped: whoever still waits learns that no answer will come.
  void abandon();
  void ask(ScheduleAsk ask);
  // A run that a schedule started has ended, or a schedule has changed: something may be due.
  void wake();
  // One pass over what waits in buffers and what is due by now, no more than `limit` of either.
  void tick(std::optional<std::size_t> limit, Reply<std::vector<TickRow>> reply);
  // Zones have got other rules: what is to come by them is planned again. How many schedules that
  // changed.
  void replan(std::vector<std::string> zones, Reply<std::size_t> reply);
  // What has been said about schedules as a whole, and is durable by now.
  void heed(const ScheduleControl& control);
  // The last pass that came to its end.
  std::optional<Timestamp> last_tick_at() const;
  const ScheduleTally& tally() const { return tally_; }

  Executor& executor() override { return parts_.executor; }
  void committed(std::vector<Answer> answers) override;

 private:
  struct Work;
  using WorkPtr = std::shared_ptr<Work>;
  struct Pass;
  using PassPtr = std::shared_ptr<Pass>;

  // One decision, from its load to its end.
  void enqueue(WorkPtr work);
  void load(WorkPtr work);
  void decide(WorkPtr work);
  void commit(WorkPtr work, schedule::Decision decision);
  void start(WorkPtr work, schedule::Decision decision);
  void started(const WorkPtr& work, Result<StartReply> reply);
  void refused(const WorkPtr& work, std::string_view reason);
  void failed(const WorkPtr& work, const Error& error);
  void again(const WorkPtr& work);
  void finish(const WorkPtr& work, Result<ScheduleReply> reply);
  schedule::Facts facts_of(const Work& work);
  Timestamp moment();

  // Passes
  void next_pass(PassPtr pass);
  void look_for_control(PassPtr pass);
  void next_batch(const PassPtr& pass);
  void judge(const PassPtr& pass, std::vector<SeenSchedule> seen, schedule::Mode mode);
  void end_of_batch(const PassPtr& pass);
  void wake_at(Timestamp at);
  void begin_pass();
  void look_for_next(Timestamp now, Duration rest);
  void replan_all();

  ScheduleDeskParts parts_;
  ScheduleReader reader_;
  ScheduleReplan replan_;
  UlidSource ulids_;
  ScheduleTally tally_;
  bool frozen_ = false;
  bool killed_ = false;
  std::unordered_map<std::string, std::deque<WorkPtr>> queues_;  // by name; the first is under way
  std::unordered_map<CommitId, WorkPtr> in_flight_;
  std::atomic<std::int64_t> last_tick_at_{0};
  std::optional<Timestamp> wakes_at_;
  Timestamp clock_showed_;
  Duration same_moment_{0};
  Duration rest_ = std::chrono::seconds{1};  // after a pass with trouble
  bool passing_ = false;
  bool again_ = false;  // something happened during this pass
  bool begun_ = false;
  bool stopped_ = false;
};

}  // namespace dw::dispatch
