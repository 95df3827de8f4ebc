// What a shard keeps of a run, and what it carries from a decision to the commit's answer. For the
// shard's own files only.
#pragma once
#include "dispatch/shard.hpp"
#include "history/fold.hpp"
#include "history/render.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dw::dispatch {

using namespace dw::history;
using engine::Decision;
using engine::Task;
using engine::TaskChange;
using engine::TaskKey;
using engine::TaskStatus;
using engine::TaskType;
using store::InstanceKey;

inline constexpr auto retry_delay = std::chrono::milliseconds{100};

inline std::string instance_text(const InstanceKey& key) {
  return key.ns.str() + '/' + key.id.str();
}

// A name for what is said about a task: said twice it gets the same answer, and nothing else does.
inline std::string name_of(TaskWord word, const TaskHolder& holder) {
  constexpr std::string_view marks = "cpfa";
  return fmt::format("{}{}#{}.{}@{}", marks[static_cast<std::size_t>(word)], holder.task.view(),
                     holder.attempt, holder.epoch, holder.owner);
}
inline TaskWord word_of(const CompleteTaskJob& job) {
  return job.commands.empty() ? TaskWord::parked : TaskWord::completed;
}

// Commands of workers elsewhere: a run that begins now declares what is registered now, unless they
// say themselves what it is.
std::vector<engine::WorkflowCommand> described(std::vector<engine::WorkflowCommand> commands,
                                               const Describe& describe,
                                               const WorkflowStarted& start);

// A start that did not come about.
inline void answer(StartJob& job, const Error& error) {
  if (job.signal) {
    job.both(error);
  } else {
    job.reply(error);
  }
}

// A history as workers elsewhere are shown it. The next task's begins with the same commits, so
// what was written for this one is kept.
struct ShownHistory {
  explicit ShownHistory(const RunId& run) : renderer(run, history::Reader::worker) {}
  history::Renderer renderer;
  std::vector<std::string> events;
  std::size_t commits = 0;  // that they are of
  std::size_t bytes = 0;
};

// A run in memory: where it stands once everything posted is durable.
struct Shard::Cell {
  RunAddress address;
  // A cell that was dropped and loaded again is another one: answers to the old line of commits
  // must not touch it.
  std::uint64_t generation = 0;
  engine::Run run;
  CommitId version;
  CommitId opened_by;  // the commit that opened the run, and so its instance's version
  std::int64_t history_bytes = 0;
  bool loading = false;
  bool blocked = false;          // replay and history disagree; only repair helps
  int in_flight = 0;             // commits posted and not yet answered
  std::vector<RunJob> waiting;   // for the load, or for the commits in flight
  std::vector<StartJob> starts;  // likewise
  std::vector<Event> unseen;     // events the run's code has not been fed with
  bool from_first = false;       // `unseen` begins with the run's first event
  bool warm = false;             // the host holds its suspended code
  // Of `unseen`, if that is the whole history: where each commit begins.
  std::vector<std::pair<std::int64_t, CommitId>> commits;
  std::unique_ptr<ShownHistory> shown;  // of these
  std::int64_t looked_until = 0;        // the last event that its main code was shown elsewhere
  // A native worker that keeps its suspended code: `unseen` is what it has not been shown.
  std::string held_by = {};
  std::list<RunId>::iterator place;

  // Its code has to be replayed, and not all of its events are at hand.
  bool lost_its_code() const { return !warm && !from_first && run.state.open(); }
  // `unseen` is its whole history.
  bool holds_history() const {
    return from_first && !unseen.empty() && unseen.back().sequence == run.state.last_sequence;
  }
  // From here on `unseen` is not the whole history.
  void forget_commits() {
    from_first = false;
    commits = {};
    shown.reset();
  }
  bool idle() const { return in_flight == 0 && !loading && waiting.empty() && starts.empty(); }
};

// One transition in the making. Decisions pile up on it until nothing more can happen without
// something becoming durable first.
struct Shard::Build {
  explicit Build(Timestamp at) : now(at) {}

  Timestamp now;
  std::vector<EventBody> events;
  std::int64_t first_sequence = 0;
  std::vector<store::IntakeRow> intake;
  std::vector<engine::NewRun> opens;
  std::vector<ActivityWork> launches;
  std::vector<AttemptId> fenced;   // attempts whose outcome nobody waits for any more
  std::vector<UpdateEnd> updates;  // that ended
  std::vector<engine::FullLimit> nearly_full;
  std::vector<ActivityId> scheduled;  // activities that want to be started
  bool wake = false;                  // workflow code has something new to see
  int spare_slots = 0;                // activity slots that came with the job
  bool opens_run = false;
  CommitId instance_version;  // with opens_run
  bool recovers = false;      // rows come back that nobody here may have in mind any more
  std::vector<Offer> offers;  // for workers elsewhere
  Taker* taker = nullptr;     // whoever asked for this build, if it takes on what comes of it
  std::vector<ClaimedActivity> taken;  // by the taker

  struct Change {
    TaskChange change;
    bool born;  // the row does not exist before this transition
  };
  std::vector<Change> tasks;

  // A task that is born and done in one commit leaves no row.
  void change(TaskChange next) {
    const auto same = std::ranges::find(
        tasks, next.task.key, [](const Change& c) -> const TaskKey& { return c.change.task.key; });
    if (same == tasks.end()) {
      // Only a new task begins as ready: one that is put as leased replaces its own row.
      const bool born =
          next.kind == TaskChange::Kind::put && next.task.status != TaskStatus::leased;
      tasks.push_back({std::move(next), born});
    } else if (next.kind == TaskChange::Kind::remove && same->born) {
      tasks.erase(same);
    } else {
      same->change = std::move(next);
    }
  }

  bool empty() const { return events.empty() && intake.empty() && tasks.empty(); }
};

struct Shard::InFlight {
  RunAddress run;
  std::uint64_t generation = 0;
  std::variant<StartJob, ReserveJob, RunJob> job;
  std::variant<std::monostate, StartReply, SignalWithStartReply, engine::CommandOutcome, TaskAnswer,
               ClaimedActivity, AttemptAnswer, HeartbeatAnswer>
      answer;
  std::vector<ActivityWork> launches;
  std::vector<AttemptId> fenced;
  std::vector<UpdateEnd> updates;
  std::vector<engine::FullLimit> nearly_full;
  std::vector<Task> ready;
  std::vector<Task> later;
  std::vector<Offer> offers;
  bool closed = false;
  bool continued = false;  // the instance goes on with another run
};

// A workflow task that a worker elsewhere holds, or held: it stays until the task is done, so that
// late words are told from those of whoever holds it now.
struct Shard::TaskLease {
  RunAddress run;
  TaskId task;
  std::string owner;
  std::int64_t attempt = 0;
  std::string epoch = {};
  Timestamp expires_at;
  bool held = false;
  bool expired = false;  // that is why it is not
  Offer offer = {};
  int failures = 0;  // in a row
  // The latest reports that it was given up with, in case our answers are not heard.
  std::deque<std::string> heard = {};
  int overtaken = 0;      // in a row
  bool news = false;      // something woke the code since it was shown its history
  std::int64_t seen = 0;  // the last event it was shown
  engine::RemoteTask about;
};

struct Shard::ShardIds final : engine::Ids {
  ShardIds(UlidSource& source, Random& rng) : ulids(source), random(rng) {}
  std::string ulid() override { return ulids.next(now); }
  std::string task_suffix() override {
    static constexpr char alphabet[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    auto bits = random.next();
    std::string suffix(10, '0');
    for (char& c : suffix) {
      c = alphabet[bits & 31];
      bits >>= 5;
    }
    return suffix;
  }
  UlidSource& ulids;
  Random& random;
  Timestamp now;
};

}  // namespace dw::dispatch
