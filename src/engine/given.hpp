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
// and folded to the same state, and open work and open tasks match one another.
#pragma once
#include "engine/decide.hpp"
#include "history/event_builders.hpp"
#include "history/fold.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

namespace dw::story {

class CountingIds final : public engine::Ids {
 public:
  std::string ulid() override { return fmt::format("id{}", ++ids_); }
  std::string task_suffix() override { return fmt::format("task{}", ++tasks_); }

 private:
  int ids_ = 0;
  int tasks_ = 0;
};

// ---- what can be asked

struct FireTimer {
  TimerId id;
};
struct BeginAttempt {
  ActivityId id;
  std::string owner;
};
struct WorkflowTask {
  std::vector<engine::WorkflowCommand> commands;
};
struct CheckDeadline {};
// The workflow task cannot run here and now: it gets a row.
struct ParkWorkflowTask {
  bool blocked = false;
};

inline FireTimer fire_timer(std::string id) {
  return {TimerId{std::move(id)}};
}
inline BeginAttempt begin_attempt(std::string id, std::string owner = "worker-1") {
  return {ActivityId{std::move(id)}, std::move(owner)};
}
inline engine::ActivityOutcome complete_attempt(std::string id, std::string attempt,
                                                std::string result = "null") {
  return {ActivityId{std::move(id)}, AttemptId{std::move(attempt)}, json(std::move(result))};
}
inline engine::ActivityOutcome fail_attempt(std::string id, std::string attempt,
                                            history::Failure why = failure("declined")) {
  return {ActivityId{std::move(id)}, AttemptId{std::move(attempt)}, std::move(why)};
}
inline CheckDeadline check_deadline() {
  return {};
}

inline engine::StartCommand start(std::string type) {
  engine::StartCommand command;
  command.instance_id = InstanceId{type + "-1"};
  command.workflow_type = std::move(type);
  command.arguments = json("[]");
  return command;
}
inline engine::StartCommand start_or_join(std::string type) {
  auto command = start(std::move(type));
  command.duplicate_start_policy = engine::DuplicateStartPolicy::return_existing_active;
  return command;
}
inline engine::CloseCommand cancel(std::string reason = {}) {
  return {engine::CloseCommand::Kind::cancel, std::move(reason), std::nullopt};
}
inline engine::CloseCommand terminate(std::string reason = {}) {
  return {engine::CloseCommand::Kind::terminate, std::move(reason), std::nullopt};
}
inline engine::RepairCommand repair() {
  return {};
}

// What workflow code did since it last parked; steps number themselves.
inline WorkflowTask workflow_task(std::vector<engine::WorkflowCommand> commands) {
  return {std::move(commands)};
}
inline engine::ScheduleActivity schedule_activity(std::string type = "charge",
                                                  history::RetryPolicy policy = {}) {
  engine::ScheduleActivity command;
  command.activity_type = std::move(type);
  command.arguments = json("[]");
  command.retry_policy = std::move(policy);
  return command;
}
inline engine::StartTimer start_timer(std::chrono::seconds delay) {
  return {0, delay.count()};
}
inline engine::RecordSideEffect record_side_effect(std::string result) {
  return {0, json(std::move(result))};
}
inline engine::HandleFailure handle_failure(std::string id, std::int64_t step) {
  return {FailureId{std::move(id)}, step};
}
inline engine::CompleteWorkflow complete_workflow(std::string output = "null") {
  return {json(std::move(output))};
}
inline engine::FailWorkflow fail_workflow(history::Failure why,
                                          std::string category = "application") {
  return {std::move(category), std::move(why)};
}

// ---- the story

class Story {
 public:
  // No run yet.
  Story() { run_.id = RunId{"run1"}; }

  explicit Story(std::vector<Told> list) : Story() {
    history_ = told(std::move(list));
    auto state = history::fold(history_);
    if (!state) {
      ADD_FAILURE() << "the given history cannot have happened: " << state.error().message;
      return;
    }
    run_.state = *std::move(state);
    tasks_ = tasks_of_open_work();
  }

  Story& with(engine::Settings settings) {
    settings_ = settings;
    return *this;
  }

  template <typename Request>
  Story& when(const Request& request, Timestamp now, const char* file = __builtin_FILE(),
              int line = __builtin_LINE()) {
    const ::testing::ScopedTrace trace{file, line, "when"};
    last_ = {};
    const engine::Context context{now, ids_, settings_};
    ask(request, context);
    stage(now);
    return *this;
  }

  // Exactly these events, in this order. Steps of 0 stand for the step that comes next.
  Story& then(std::vector<history::EventBody> expected, const char* file = __builtin_FILE(),
              int line = __builtin_LINE()) {
    const ::testing::ScopedTrace trace{file, line, "then"};
    std::int64_t steps = last_.steps_before;
    for (auto& body : expected) number_step(body, steps);
    if (last_.error) ADD_FAILURE() << "refused: " << last_.error->message;
    EXPECT_TRUE(last_.decision.events == expected) << "expected:\n"
                                                   << text_of(expected) << "decided:\n"
                                                   << text_of(last_.decision.events);
    return *this;
  }

  // No event, no task, no wake.
  Story& then_nothing(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    const ::testing::ScopedTrace trace{file, line, "then_nothing"};
    EXPECT_FALSE(last_.error) << last_.error->message;
    EXPECT_TRUE(last_.decision.empty()) << text_of(last_.decision.events);
    EXPECT_TRUE(last_.decision.tasks.empty());
    return *this;
  }

  // The task changes, in order, one line each: "+ task1 09:00 activity id1",
  // "+ a1-task 09:00 activity a1 leased by worker-1 until 09:05", "- t1-task 09:01".
  Story& then_tasks(const std::vector<std::string>& expected, const char* file = __builtin_FILE(),
                    int line = __builtin_LINE()) {
    const ::testing::ScopedTrace trace{file, line, "then_tasks"};
    std::vector<std::string> decided;
    for (const auto& change : last_.decision.tasks) decided.push_back(describe(change));
    EXPECT_EQ(decided, expected);
    return *this;
  }

  Story& then_accepted(std::string_view outcome, std::int64_t command_sequence,
                       const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    const ::testing::ScopedTrace trace{file, line, "then_accepted"};
    EXPECT_TRUE(last_.reply.accepted);
    EXPECT_EQ(last_.reply.outcome, outcome);
    EXPECT_EQ(last_.reply.rejection_reason, "");
    EXPECT_EQ(last_.reply.sequence, command_sequence);
    EXPECT_FALSE(last_.reply.command_id.empty());
    return *this;
  }
  Story& then_rejected(std::string_view reason, std::string_view outcome,
                       std::int64_t command_sequence, const char* file = __builtin_FILE(),
                       int line = __builtin_LINE()) {
    const ::testing::ScopedTrace trace{file, line, "then_rejected"};
    EXPECT_FALSE(last_.reply.accepted);
    EXPECT_EQ(last_.reply.rejection_reason, reason);
    EXPECT_EQ(last_.reply.outcome, outcome);
    EXPECT_EQ(last_.reply.sequence, command_sequence);
    EXPECT_FALSE(last_.reply.command_id.empty());
    return *this;
  }
  // A worker's word came too late; nothing is recorded.
  Story& then_ignored(std::string_view reason, const char* file = __builtin_FILE(),
                      int line = __builtin_LINE()) {
    const ::testing::ScopedTrace trace{file, line, "then_ignored"};
    EXPECT_FALSE(last_.recorded);
    EXPECT_EQ(last_.reason, reason);
    EXPECT_TRUE(last_.decision.empty()) << text_of(last_.decision.events);
    return *this;
  }
  Story& then_refused(ErrorCode code, const char* file = __builtin_FILE(),
                      int line = __builtin_LINE()) {
    const ::testing::ScopedTrace trace{file, line, "then_refused"};
    EXPECT_TRUE(last_.error.has_value());
    if (last_.error) {
      EXPECT_EQ(to_string(last_.error->code), to_string(code));
    }
    EXPECT_TRUE(last_.decision.empty()) << text_of(last_.decision.events);
    return *this;
  }

  // Workflow code has something new to see.
  Story& then_wakes(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    const ::testing::ScopedTrace trace{file, line, "then_wakes"};
    EXPECT_TRUE(last_.decision.wake);
    return *this;
  }
  Story& then_stays_parked(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    const ::testing::ScopedTrace trace{file, line, "then_stays_parked"};
    EXPECT_FALSE(last_.decision.wake);
    return *this;
  }

  // Every open task, in the order they are due: "a1-task 09:00 activity a1".
  Story& then_open_tasks(const std::vector<std::string>& expected,
                         const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    const ::testing::ScopedTrace trace{file, line, "then_open_tasks"};
    std::vector<std::string> open;
    for (const auto& [key, task] : tasks_) open.push_back(describe(task));
    EXPECT_EQ(open, expected);
    return *this;
  }
  Story& then_status(history::RunStatus status, std::string_view closed_reason = {},
                     const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    const ::testing::ScopedTrace trace{file, line, "then_status"};
    EXPECT_EQ(to_string(run_.state.status), to_string(status));
    EXPECT_EQ(run_.state.closed_reason, closed_reason);
    return *this;
  }

  const engine::Run& run() const { return run_; }
  const history::RunState& state() const { return run_.state; }
  const std::vector<history::Event>& events() const { return history_; }
  const std::map<engine::TaskKey, engine::Task>& open_tasks() const { return tasks_; }
  // The current attempt of an open activity; empty while nobody runs it.
  std::string attempt_of(std::string_view activity) const {
    for (const auto& open : run_.state.activities) {
      if (open.id.view() == activity) return open.attempt_id.str();
    }
    return {};
  }

 private:
  struct Last {
    engine::Decision decision;
    engine::CommandOutcome reply;
    bool recorded = false;
    std::string reason;
    std::optional<Error> error;
    std::int64_t steps_before = 0;
  };

  void ask(const engine::StartCommand& command, const engine::Context& context) {
    const bool exists = run_.state.status != history::RunStatus::none;
    auto decided = engine::decide_start(exists ? &run_ : nullptr, command, context);
    EXPECT_EQ(decided.opens_run, !exists);
    if (decided.opens_run) run_.id = decided.run_id;
    EXPECT_EQ(decided.run_id, run_.id);
    last_.reply = std::move(decided.reply);
    last_.decision = std::move(decided.decision);
  }
  void ask(const engine::CloseCommand& command, const engine::Context& context) {
    take(engine::decide_close(run_, command, context));
  }
  void ask(const engine::RepairCommand& command, const engine::Context& context) {
    take(engine::decide_repair(run_, blocked_, command, context));
    if (last_.reply.accepted) blocked_ = false;
  }
  void ask(const WorkflowTask& task, const engine::Context& context) {
    auto commands = task.commands;
    std::int64_t next = run_.state.steps + 1;
    for (auto& command : commands) {
      std::visit(
          [&]<typename C>(C& c) {
            if constexpr (requires { c.step; } && !std::same_as<C, engine::HandleFailure>) {
              if (c.step == 0) c.step = next;
              ++next;
            }
          },
          command);
    }
    auto decided = engine::decide_workflow_task(run_, commands, context);
    if (decided) {
      last_.decision = *std::move(decided);
    } else {
      last_.error = decided.error();
    }
  }
  void ask(const BeginAttempt& begin, const engine::Context& context) {
    auto decided = engine::decide_start_activity(run_, begin.id, begin.owner, context);
    last_.recorded = decided.attempt.has_value();
    last_.decision = std::move(decided.decision);
  }
  void ask(const engine::ActivityOutcome& outcome, const engine::Context& context) {
    auto decided = engine::decide_finish_activity(run_, outcome, context);
    last_.recorded = decided.recorded;
    last_.reason = std::move(decided.reason);
    last_.decision = std::move(decided.decision);
  }
  void ask(const FireTimer& fire, const engine::Context& context) {
    last_.decision = engine::decide_fire_timer(run_, fire.id, context);
  }
  void ask(const CheckDeadline&, const engine::Context& context) {
    last_.decision = engine::decide_deadline(run_, context);
  }
  void ask(const ParkWorkflowTask& park, const engine::Context& context) {
    auto change = engine::workflow_task(run_, context);
    if (park.blocked) change.task.status = engine::TaskStatus::blocked;
    run_.workflow_task = change.task.key;
    blocked_ = park.blocked;
    last_.decision.tasks.push_back(std::move(change));
  }
  void take(engine::CommandDecision decided) {
    last_.reply = std::move(decided.reply);
    last_.decision = std::move(decided.decision);
  }

  // Makes the decision durable, as dispatch and a store would, and looks at what came of it.
  void stage(Timestamp now) {
    last_.steps_before = run_.state.steps;
    const auto events = engine::stage(run_, last_.decision, now);
    history_.insert(history_.end(), events.begin(), events.end());
    for (const auto& change : last_.decision.tasks) {
      if (change.kind == engine::TaskChange::Kind::put) {
        tasks_.insert_or_assign(change.task.key, change.task);
      } else {
        EXPECT_EQ(tasks_.erase(change.task.key), 1u)
            << "removes a task that is not there: " << describe(change);
        if (run_.workflow_task == change.task.key) run_.workflow_task.reset();
      }
    }
    // A rejection is a command too; without an event of its own it is remembered elsewhere.
    run_.state.last_command_sequence =
        std::max(run_.state.last_command_sequence, last_.reply.sequence);
    check_invariants();
  }

  void check_invariants() const {
    const auto& decided = last_.decision.events;
    std::string stored;
    history::append_events(stored, decided);
    const auto read = history::parse_events(stored);
    EXPECT_TRUE(read && *read == decided) << "cannot be read back: " << stored;

    auto state = history::fold(history_);
    ASSERT_TRUE(state) << state.error().message;
    state->last_command_sequence = run_.state.last_command_sequence;
    EXPECT_TRUE(*state == run_.state) << "a fold of the whole history says something else";

    for (const auto& [key, task] : tasks_of_open_work()) {
      const auto open = tasks_.find(key);
      if (open == tasks_.end()) {
        ADD_FAILURE() << "open work without its task: " << describe(task);
      } else {
        EXPECT_EQ(describe(open->second), describe(task));
        EXPECT_EQ(open->second.instance_id, run_.state.start.instance_id);
        EXPECT_EQ(open->second.ns, run_.state.start.ns);
        EXPECT_EQ(open->second.run_id, run_.id);
      }
    }
    EXPECT_EQ(tasks_.size(), tasks_of_open_work().size()) << "a task without open work";
  }

  // What the task table must hold, from history alone.
  std::map<engine::TaskKey, engine::Task> tasks_of_open_work() const {
    std::map<engine::TaskKey, engine::Task> tasks;
    const auto add = [&](engine::TaskKey key, engine::TaskType type, std::string subject,
                         std::string queue) -> engine::Task& {
      engine::Task task;
      task.key = key;
      task.type = type;
      task.subject = std::move(subject);
      task.queue = std::move(queue);
      task.run_id = run_.id;
      task.instance_id = run_.state.start.instance_id;
      task.ns = run_.state.start.ns;
      return tasks.insert_or_assign(std::move(key), std::move(task)).first->second;
    };
    const auto& state = run_.state;
    for (const auto& activity : state.activities) {
      auto& task = add({activity.available_at, engine::task_id(run_.id, activity.task)},
                       engine::TaskType::activity, activity.id.str(), activity.queue);
      if (!activity.running()) continue;
      task.status = engine::TaskStatus::leased;
      task.lease_expires_at = activity.lease_expires_at;
      for (const auto& event : history_) {
        if (const auto* started = std::get_if<history::ActivityStarted>(&event.body)) {
          if (started->attempt_id == activity.attempt_id) task.lease_owner = started->lease_owner;
        }
      }
    }
    for (const auto& timer : state.timers) {
      add({timer.fire_at, engine::task_id(run_.id, timer.task)}, engine::TaskType::timer,
          timer.id.str(), state.start.queue);
    }
    if (const auto deadline = state.deadline(); deadline && state.open()) {
      add({*deadline, engine::task_id(run_.id, "deadline")}, engine::TaskType::workflow, "deadline",
          state.start.queue);
    }
    if (run_.workflow_task) {
      auto& task = add(*run_.workflow_task, engine::TaskType::workflow, {}, state.start.queue);
      if (blocked_) task.status = engine::TaskStatus::blocked;
    }
    return tasks;
  }

  std::string name(const engine::TaskKey& key) const {
    std::string_view id = key.id.view();
    const std::string prefix = run_.id.str() + ".";
    if (id.starts_with(prefix)) id.remove_prefix(prefix.size());
    return fmt::format("{} {}", id, clock_text(key.available_at));
  }
  std::string describe(const engine::Task& task) const {
    std::string text = fmt::format("{} {}", name(task.key), to_string(task.type));
    if (!task.subject.empty()) text += " " + task.subject;
    if (!task.queue.empty()) text += " queue " + task.queue;
    if (task.status == engine::TaskStatus::blocked) text += " blocked";
    if (task.status == engine::TaskStatus::leased) {
      text += fmt::format(" leased by {} until {}", task.lease_owner,
                          clock_text(task.lease_expires_at));
    }
    return text;
  }
  std::string describe(const engine::TaskChange& change) const {
    return change.kind == engine::TaskChange::Kind::put ? "+ " + describe(change.task)
                                                        : "- " + name(change.task.key);
  }

  engine::Run run_;
  std::vector<history::Event> history_;
  std::map<engine::TaskKey, engine::Task> tasks_;
  bool blocked_ = false;
  CountingIds ids_;
  engine::Settings settings_;
  Last last_;
};

inline Story given(std::vector<Told> history) {
  return Story{std::move(history)};
}
inline Story given_no_run() {
  return Story{};
}

}  // namespace dw::story
