// Who runs user code. Dispatch decides what should run and when; hosts run it. The worker room
// implements them over fibers and threads, the simulator over its own queue.
#pragma once
#include "engine/commands.hpp"
#include "history/events.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <span>

namespace dw::dispatch {

// Workflow code of one shard. Called on that shard's executor only.
class WorkflowHost {
 public:
  virtual ~WorkflowHost() = default;
  virtual bool knows(std::string_view workflow_type) const = 0;
  // Is the run's code suspended here? Then run() wants only the events it has not seen.
  virtual bool warm(const RunId& run) const = 0;
  // `now` is when its commands will be recorded.
  virtual engine::Progress run(const RunId& run, std::span<const history::Event> events,
                               Timestamp now) = 0;
  // Asks a suspended run, after telling it the events it has not seen. Its code does not go on.
  virtual Result<Payload> query_warm(const RunId& run, std::span<const history::Event> unseen,
                                     std::string_view name, const Payload& arguments) = 0;
  // Asks a run as it is at the end of that history, whether it is suspended here or not.
  virtual Result<Payload> query_replayed(const RunId& run, std::span<const history::Event> history,
                                         std::string_view name, const Payload& arguments) = 0;
  // Drops a suspended run; it can be replayed from history whenever it is needed again.
  virtual void forget(const RunId& run) = 0;
  // What one suspended run is taken to cost, for the bound on memory.
  virtual std::size_t bytes_per_run() const = 0;
};

struct ActivityWork;

// Hears from attempts that are being worked on. Any thread may call.
class AttemptListener {
 public:
  virtual ~AttemptListener() = default;
  // One is alive, and says how far it got.
  virtual void activity_alive(const ActivityWork& work, std::optional<Value> progress) = 0;
};

struct ActivityWork {
  Namespace ns;
  InstanceId instance_id;
  RunId run_id;
  ActivityId activity_id;
  AttemptId attempt_id;
  std::int64_t attempt_number = 1;
  std::string type;
  Payload arguments;
  std::shared_ptr<std::atomic<bool>> cancelled = {};  // nobody waits for the outcome any more
  AttemptListener* listener = nullptr;
};

// Activity code of this process. Any thread may call.
class ActivityHost {
 public:
  using Done = std::function<void(engine::ActivityOutcome)>;

  virtual ~ActivityHost() = default;
  virtual bool knows(std::string_view activity_type) const = 0;
  // Takes one of the slots that bound concurrency; run() uses it up, and it is free again before
  // `done` is called.
  virtual bool try_reserve() = 0;
  virtual void release() = 0;
  virtual void run(ActivityWork work, Done done) = 0;
  // Is this attempt still being worked on here? If not, its lease is worth nothing.
  virtual bool alive(const AttemptId& attempt) const = 0;
};

}  // namespace dw::dispatch
