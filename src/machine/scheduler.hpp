// Time and threads of a simulated machine. Every executor shares one seeded queue: what one
// executor was given runs in order, what several were given runs in an order nobody can rely on,
// and when nothing can run the clock moves to whatever is due next.
#pragma once
#include "core/clock.hpp"
#include "core/executor.hpp"
#include "core/random.hpp"

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace dw::machine {

class SimClock final : public Clock {
 public:
  explicit SimClock(Timestamp start) : now_(start) {}
  Timestamp now() const override { return now_; }
  // Backwards as well: an operator sets the clock, a virtual machine wakes up.
  void set(Timestamp now) { now_ = now; }

 private:
  Timestamp now_;
};

class SimExecutor;

class Scheduler {
 public:
  // Work takes time, if only a little: less than `longest_work`, or none at all.
  Scheduler(SimClock& clock, Random& random, Duration longest_work)
      : clock_(clock), random_(random), longest_work_(longest_work) {}

  // Runs one piece of work. False when there is none left, now or later.
  bool step() { return step(Timestamp::max()); }
  // The same, but the clock moves no further than that.
  bool step(Timestamp until);
  // Of everything that was chosen so far: two runs of one seed agree on it.
  std::uint64_t hash() const { return hash_; }

 private:
  friend class SimExecutor;

  SimClock& clock_;
  Random& random_;
  const Duration longest_work_;
  std::vector<SimExecutor*> executors_;
  std::vector<SimExecutor*> runnable_;  // of this step; kept for its memory
  std::uint64_t hash_ = 0xcbf29ce484222325;
};

class SimExecutor final : public Executor {
 public:
  SimExecutor(Scheduler& scheduler, std::string name);
  ~SimExecutor() override;
  SimExecutor(const SimExecutor&) = delete;
  SimExecutor& operator=(const SimExecutor&) = delete;

  void post(Work work) override { ready_.push_back(std::move(work)); }
  void post_at(Timestamp at, Work work) override { timed_.emplace(at, std::move(work)); }
  bool alone() const override { return ready_.empty(); }

  // Its thread gets no processor, or its disk no answer, until then.
  void stall(Timestamp until) { stalled_until_ = until; }
  // Forgets everything: the process is gone.
  void clear();
  const std::string& name() const { return name_; }
  // When the first of what was posted for later is due.
  std::optional<Timestamp> next_at() const;

 private:
  friend class Scheduler;

  Scheduler& scheduler_;
  const std::string name_;
  std::deque<Work> ready_;
  std::multimap<Timestamp, Work> timed_;
  Timestamp stalled_until_;
};

}  // namespace dw::machine
