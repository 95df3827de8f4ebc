// For tests: given a history, when something is asked of the run, then these events. No database,
// no clock, no sleep.
//
//   given({workflow_started("invoice"), timer_scheduled("t1", 60s)})
//       .when(fire_timer("t1"), at("09:01"))
//       .then({timer_fired("t1")})
//       .when(fire_timer("t1"), at("09:02"))
//       .then_nothing();
//
// Names that decide() mints count up: id1, id2, … and task1, task2, … for delivery tasks. After
// each step the story checks what must hold after every decision: the events can be stored, read
// and folded to the same state, open work and open tasks match one another, a run that comes into
// being is whole, and a refusal leaves a record.
//
// A story is about one run. What it says to others is looked at with then_says() and handed over by
// telling the other story: parent.when(child.says(), at("09:02")). A run that it opens is looked at
// with then_opens() and goes on as a story of its own: auto next = story.follow("id4").
#pragma once
#include "engine/asking.hpp"
#include "engine/decide.hpp"
#include "history/event_builders.hpp"

#include <map>
#include <set>

namespace dw::story {

class CountingIds final : public engine::Ids {
 public:
  std::string ulid() override;
  std::string task_suffix() override;

 private:
  int ids_ = 0;
  int tasks_ = 0;
};

class Story {
 public:
  // No run yet.
  Story();

  explicit Story(std::vector<Told> list);
  Story(const Story& other);
  Story(Story&& other) noexcept;
  Story& operator=(const Story& other);
  Story& operator=(Story&& other) noexcept;
  ~Story();

  Story& with(engine::Settings settings);

  // Of any type in asking.hpp, or a command of a caller or a worker.
  template <typename Request>
  Story& when(const Request& request, Timestamp now, const char* file = __builtin_FILE(),
              int line = __builtin_LINE());

  // Its row goes missing, by no decision of ours.
  Story& lose(std::string_view task);

  // Exactly these events, in this order. Steps of 0 stand for the step that comes next.
  Story& then(std::vector<history::EventBody> expected, const char* file = __builtin_FILE(),
              int line = __builtin_LINE());

  // No event, no task, no wake.
  Story& then_nothing(const char* file = __builtin_FILE(), int line = __builtin_LINE());

  // The task changes, in order, one line each: "+ task1 09:00 activity id1",
  // "+ a1-task 09:00 activity a1 leased by worker-1 until 09:05", "- t1-task 09:01".
  Story& then_tasks(const std::vector<std::string>& expected, const char* file = __builtin_FILE(),
                    int line = __builtin_LINE());

  Story& then_accepted(std::string_view outcome, std::int64_t command_sequence,
                       const char* file = __builtin_FILE(), int line = __builtin_LINE());
  Story& then_rejected(std::string_view reason, std::string_view outcome,
                       std::int64_t command_sequence, const char* file = __builtin_FILE(),
                       int line = __builtin_LINE());
  // A worker's word came too late; nothing is recorded.
  Story& then_ignored(std::string_view reason, const char* file = __builtin_FILE(),
                      int line = __builtin_LINE());
  Story& then_refused(ErrorCode code, const char* file = __builtin_FILE(),
                      int line = __builtin_LINE());

  // What the intake stream keeps of a command that was refused without an event.
  Story& then_refusal(std::string_view command_type, const char* file = __builtin_FILE(),
                      int line = __builtin_LINE());

  // The run of that id comes into being with these events; it holds these tasks from the first.
  Story& then_opens(std::string_view run, std::vector<history::EventBody> expected,
                    const std::vector<std::string>& tasks, const char* file = __builtin_FILE(),
                    int line = __builtin_LINE());
  Story& then_opens_nothing(const char* file = __builtin_FILE(), int line = __builtin_LINE());

  // What it has to say to other runs, in order, each with the run it is for.
  using Word = std::pair<std::string, history::EventBody>;
  Story& then_says(const std::vector<Word>& expected, const char* file = __builtin_FILE(),
                   int line = __builtin_LINE());

  // Workflow code has something new to see.
  Story& then_wakes(const char* file = __builtin_FILE(), int line = __builtin_LINE());
  Story& then_stays_parked(const char* file = __builtin_FILE(), int line = __builtin_LINE());

  // Every open task, in the order they are due: "a1-task 09:00 activity a1".
  Story& then_open_tasks(const std::vector<std::string>& expected,
                         const char* file = __builtin_FILE(), int line = __builtin_LINE());
  Story& then_status(history::RunStatus status, std::string_view closed_reason = {},
                     const char* file = __builtin_FILE(), int line = __builtin_LINE());

  // The only word it had for another run: what that run hears next.
  engine::Task says() const;
  // A run that this one opened just now, as a story of its own.
  Story follow(std::string_view run) const;
  const Value& refusal() const { return last_.refusal; }
  const engine::CommandOutcome& reply() const { return last_.reply; }
  const engine::CommandOutcome& start_reply() const { return last_.start_reply; }
  const engine::Decision& decision() const { return last_.decision; }
  const engine::HeartbeatReply& heartbeat_reply() const { return last_.heartbeat; }

  const engine::Run& run() const { return run_; }
  const history::RunState& state() const { return run_.state; }
  const std::vector<history::Event>& events() const { return history_; }
  const std::map<engine::TaskKey, engine::Task>& open_tasks() const { return tasks_; }
  // The current attempt of an open activity; empty while nobody runs it.
  std::string attempt_of(std::string_view activity) const;

 private:
  struct Last {
    engine::Decision decision;
    engine::CommandOutcome reply;
    engine::CommandOutcome start_reply;  // of a signal-with-start
    engine::HeartbeatReply heartbeat;
    Value refusal;
    std::vector<engine::Task> says;  // intents for other runs
    bool recorded = false;
    std::string reason;
    std::optional<Error> error;
    std::int64_t steps_before = 0;
  };

  // One for each thing that can be asked, in given_when.cpp.
  template <typename Request>
  void ask(const Request& request, const engine::Context& context);
  void take(engine::CommandDecision decided);
  // A command is refused with an event or with a record, never without a trace.
  void refuse(const std::string& record);

  // A step of 0 means the next one, or the one that already waits for just that.
  void number_steps(std::vector<engine::WorkflowCommand>& commands) const;

  // Makes the decision durable, as dispatch and a store would, and looks at what came of it.
  void stage(Timestamp now);

  void check_invariants() const;

  // A run that comes into being is whole: its events make its state, and its code has a task.
  static void check_opened(const engine::NewRun& opened);
  static std::vector<history::Event> numbered(const engine::NewRun& opened);
  const engine::NewRun* find_opened(std::string_view run) const;

  // What the task table must hold, from history alone.
  std::map<engine::TaskKey, engine::Task> tasks_of_open_work() const;

  // Of this run by its suffix, of another in full.
  static std::string name(const engine::TaskKey& key, const RunId& of);
  std::string describe(const engine::Task& task) const { return describe(task, run_.id); }
  std::string describe(const engine::TaskChange& change) const { return describe(change, run_.id); }
  static std::string describe(const engine::Task& task, const RunId& of);
  static std::string describe(const engine::TaskChange& change, const RunId& of);

  engine::Run run_;
  std::vector<history::Event> history_;
  std::map<engine::TaskKey, engine::Task> tasks_;
  bool blocked_ = false;
  std::set<std::string> watch_moved_;  // by heartbeats that history does not hold
  CountingIds ids_;
  engine::Settings settings_;
  Last last_;
};

Story given(std::vector<Told> history);
Story given_no_run();

}  // namespace dw::story
