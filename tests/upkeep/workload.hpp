// For tests: an engine at work on a simulated machine, stopped in the middle of whatever it does.
// One seed, one story.
#pragma once
#include "machine/scheduler.hpp"
#include "store/memory_store.hpp"
#include "testing/process.hpp"

namespace dw::upkeep::test {

class Workload {
 public:
  explicit Workload(std::uint64_t seed);
  ~Workload();

  // Lets it work for a while: clients ask for things, time passes, the process dies now and then.
  // Some of its lives know no workflow, and leave workflow tasks behind.
  void go_on(int pieces_of_work);
  // Everybody stops asking, and everything that can end has ended.
  void come_to_rest();

  store::MemoryStore& store() { return disk_; }
  Timestamp now() const { return clock_.now(); }
  Random& random() { return random_; }

 private:
  void boot();
  void ask_something();
  void start(int number);
  store::InstanceKey any_instance();
  bool chance(std::uint64_t percent) { return random_.below(100) < percent; }

  SeededRandom random_, schedule_random_;
  Registry code_, no_code_;
  machine::SimClock clock_;
  machine::Scheduler scheduler_;
  testing::ActivityBook book_;
  testing::Faults faults_;
  store::MemoryStore disk_;
  bool with_code_ = true;
  int started_ = 0;
  std::unique_ptr<testing::Process> process_;
};

}  // namespace dw::upkeep::test
