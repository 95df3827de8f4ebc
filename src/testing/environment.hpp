// The environment's inside: a clock, a store, and a process that may die and be started again.
#pragma once
#include "core/ulid.hpp"
#include "store/memory_store.hpp"
#include "testing/process.hpp"

namespace dw::testing {

// One call was given more work than Options::max_work allows.
class Exhausted : public EngineError {
 public:
  using EngineError::EngineError;
};

class EnvironmentImpl {
 public:
  EnvironmentImpl(Registry registry, Options options);

  const Registry& registry() const { return registry_; }
  const Options& options() const { return options_; }
  const Namespace& default_namespace() const { return namespace_; }
  ActivityBook& book() { return book_; }
  store::Store& store() { return disk_; }
  Timestamp now() const { return clock_.now(); }
  int crashes() const { return crashes_; }
  std::string new_id();

  // Every call from outside begins with one of these. Throws UsageError from workflow code, which
  // cannot wait for its own environment.
  class Entry {
   public:
    explicit Entry(EnvironmentImpl& environment);
    ~Entry() { --environment_.entries_; }
    Entry(const Entry&) = delete;

   private:
    EnvironmentImpl& environment_;
  };

  // Runs whatever needs no time.
  void settle();
  void advance(Duration by);
  // Moves to the next moment at which something happens. False when there is none.
  bool skip();
  void crash();
  // Lets go of the process and the stubs; what was recorded can still be read.
  void stop();

  // Puts a question to the engine and runs until it is answered.
  template <typename T, typename Put>
  Result<T> ask(const Put& put) {
    if (!process_) return stopped_error();
    auto answer = std::make_shared<std::optional<Result<T>>>();
    {
      // No crash takes an answer away: whoever lost it would not know what to expect.
      const Count asking{asking_};
      put(process_->dispatch(), [answer](Result<T> result) { answer->emplace(std::move(result)); });
      while (!*answer && step()) {
      }
    }
    settle();
    if (!*answer) return unanswered_error();
    return *std::move(*answer);
  }

 private:
  class Count {
   public:
    explicit Count(int& count) : count_(count) { ++count_; }
    ~Count() { --count_; }
    Count(const Count&) = delete;

   private:
    int& count_;
  };

  static Error stopped_error();
  static Error unanswered_error();
  bool step();
  void crash_if_due();
  void boot();
  std::optional<Timestamp> next_at();

  Registry registry_;
  const Options options_;
  const Namespace namespace_;
  SeededRandom schedule_random_, process_random_;
  machine::SimClock clock_;
  machine::Scheduler scheduler_;
  UlidSource ulids_;
  Faults faults_;
  ActivityBook book_;
  store::MemoryStore disk_;
  int entries_ = 0;  // calls from outside, one inside the other
  int asking_ = 0;
  int stepping_ = 0;
  std::uint64_t work_ = 0;  // of the outermost call
  bool crash_due_ = false;
  int crashes_ = 0;
  std::unique_ptr<Process> process_;
};

}  // namespace dw::testing
