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
#include "engine/parts.hpp"
#include "history/event_builders.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

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

// The row that watches an activity's deadlines comes due; `last_seen` is a heartbeat that history
// does not hold.
struct ActivityDeadline {
  ActivityId id;
  std::optional<Timestamp> last_seen;
};
struct Heartbeat {
  ActivityId id;
  AttemptId attempt;
  std::optional<Value> progress;
  bool record = true;
};
struct SignalWithStart {
  engine::StartCommand start;
  engine::SignalCommand signal;
};
// Another run's word reaches this one.
struct Hear {
  history::EventBody says;
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

inline ActivityDeadline activity_deadline(std::string id,
                                          std::optional<Timestamp> last_seen = std::nullopt) {
  return {ActivityId{std::move(id)}, last_seen};
}
inline Heartbeat heartbeat(std::string id, std::string attempt,
                           std::optional<Value> progress = std::nullopt) {
  return {ActivityId{std::move(id)}, AttemptId{std::move(attempt)}, std::move(progress)};
}
// One that only renews the lease.
inline Heartbeat unrecorded(Heartbeat beat) {
  beat.record = false;
  return beat;
}
inline Hear hear(history::EventBody says) {
  return {std::move(says)};
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
inline engine::ArchiveCommand archive(std::string reason = {}) {
  return {std::move(reason)};
}
inline engine::SignalCommand signal(std::string name, std::string arguments = "[]") {
  return {std::move(name), json(std::move(arguments))};
}
inline engine::UpdateCommand update(std::string name, std::string arguments = "[]") {
  return {std::move(name), json(std::move(arguments))};
}
// The same, of one run and no other.
template <typename Request>
Request on_run(std::string run, Request request) {
  request.requested_run = RunId{std::move(run)};
  return request;
}
inline SignalWithStart signal_with_start(engine::StartCommand start, engine::SignalCommand signal) {
  return {std::move(start), std::move(signal)};
}

// The same run, answering to these.
inline history::WorkflowStarted declaring(Declarations declared, history::WorkflowStarted started) {
  started.declared = std::move(declared);
  return started;
}
// approve(string who, int level = 1) as a signal, rename(string name) as an update.
inline Declarations approve_and_rename() {
  return {.queries = {},
          .signals = {{.name = "approve",
                       .parameters = {{{.name = "who", .type = "string"},
                                       {.name = "level", .type = "int", .default_value = 1}}}}},
          .updates = {{.name = "rename", .parameters = {{{.name = "name", .type = "string"}}}}}};
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
inline engine::RecordVersion record_version(std::string change_id, std::int64_t version = 1) {
  return {0, std::move(change_id), version, -1, version};
}
inline engine::UpsertMemo upsert_memo(Value entries) {
  return {0, std::move(entries)};
}
inline engine::UpsertSearchAttributes upsert_search_attributes(Value attributes) {
  return {0, std::move(attributes)};
}
inline engine::OpenCondition open_condition(std::string key = {},
                                            std::optional<history::Seconds> timeout = {}) {
  return {0, std::move(key), {}, timeout, false};
}
inline engine::OpenCondition condition_that_holds(std::string key = {},
                                                  std::optional<history::Seconds> timeout = {}) {
  return {0, std::move(key), {}, timeout, true};
}
// Of the condition that is waited for, unless told otherwise.
inline engine::CloseCondition condition_holds(std::int64_t step = 0) {
  return {step, true};
}
inline engine::CloseCondition condition_timed_out(std::int64_t step = 0) {
  return {step, false};
}
inline engine::OpenSignalWait open_signal_wait(std::string name,
                                               std::optional<history::Seconds> timeout = {}) {
  return {0, std::move(name), timeout};
}
// At the step that waits for it, or else at a new one.
inline engine::ApplySignal apply_signal(std::string id, std::int64_t step = 0) {
  return {step, SignalId{std::move(id)}};
}
inline engine::ApplyUpdate apply_update(std::string id, std::string result = "null") {
  return {UpdateId{std::move(id)}, 0, json(std::move(result))};
}
inline engine::FailUpdate fail_update(std::string id, history::Failure why) {
  return {UpdateId{std::move(id)}, "application", std::move(why)};
}
inline engine::StartChild start_child(
    std::string type = "payment",
    history::ParentClosePolicy policy = history::ParentClosePolicy::abandon) {
  engine::StartChild command;
  command.definition.workflow_type = std::move(type);
  command.arguments = json("[]");
  command.policy = policy;
  return command;
}
inline engine::SignalChild signal_child(std::string call, std::string command, std::string name,
                                        std::string arguments = "[]") {
  return {ChildCallId{std::move(call)}, CommandId{std::move(command)}, std::move(name),
          json(std::move(arguments))};
}
inline engine::ContinueAsNew continue_as_new(std::string type = "invoice",
                                             std::string arguments = "[]") {
  return {0, {.workflow_type = std::move(type)}, json(std::move(arguments))};
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

  // What the intake stream keeps of a command that was refused without an event.
  Story& then_refusal(std::string_view command_type, const char* file = __builtin_FILE(),
                      int line = __builtin_LINE()) {
    const ::testing::ScopedTrace trace{file, line, "then_refusal"};
    const auto text = [&](std::string_view key) -> std::string {
      const auto* found = last_.refusal.find(key);
      return found && found->if_string() ? *found->if_string() : "";
    };
    EXPECT_EQ(text("type"), "CommandRecorded");
    EXPECT_EQ(text("status"), "rejected");
    EXPECT_EQ(text("command_type"), command_type);
    EXPECT_EQ(text("id"), last_.reply.command_id.str());
    EXPECT_EQ(text("outcome"), last_.reply.outcome);
    EXPECT_EQ(text("rejection_reason"), last_.reply.rejection_reason);
    const auto* sequence = last_.refusal.find("command_sequence");
    EXPECT_TRUE(sequence && *sequence == Value{last_.reply.sequence});
    EXPECT_TRUE(last_.decision.events.empty()) << text_of(last_.decision.events);
    return *this;
  }

  // The run of that id comes into being with these events; it holds these tasks from the first.
  Story& then_opens(std::string_view run, std::vector<history::EventBody> expected,
                    const std::vector<std::string>& tasks, const char* file = __builtin_FILE(),
                    int line = __builtin_LINE()) {
    const ::testing::ScopedTrace trace{file, line, "then_opens"};
    const engine::NewRun* opened = find_opened(run);
    if (!opened) {
      ADD_FAILURE() << "no run '" << run << "' was opened";
      return *this;
    }
    EXPECT_TRUE(opened->events == expected) << "expected:\n"
                                            << text_of(expected) << "opened with:\n"
                                            << text_of(opened->events);
    std::vector<std::string> held;
    for (const auto& change : opened->tasks) held.push_back(describe(change, opened->run.id));
    EXPECT_EQ(held, tasks);
    return *this;
  }
  Story& then_opens_nothing(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    const ::testing::ScopedTrace trace{file, line, "then_opens_nothing"};
    EXPECT_TRUE(last_.decision.opens.empty());
    return *this;
  }

  // What it has to say to other runs, in order, each with the run it is for.
  using Word = std::pair<std::string, history::EventBody>;
  Story& then_says(const std::vector<Word>& expected, const char* file = __builtin_FILE(),
                   int line = __builtin_LINE()) {
    const ::testing::ScopedTrace trace{file, line, "then_says"};
    std::vector<Word> words;
    for (const auto& note : last_.says) {
      const auto says = history::parse_events(note.note);
      if (!says || says->size() != 1) {
        ADD_FAILURE() << "cannot be read: " << note.note;
        continue;
      }
      EXPECT_EQ(note.subject, type_name(says->front()));
      words.emplace_back(note.run_id.str(), says->front());
    }
    const auto text = [](const std::vector<Word>& list) {
      std::string all;
      for (const auto& [run, says] : list) all += run + ": " + text_of(std::span{&says, 1});
      return all.empty() ? "nothing" : all;
    };
    EXPECT_TRUE(words == expected) << "expected:\n" << text(expected) << "\nsaid:\n" << text(words);
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

  // The only word it had for another run: what that run hears next.
  engine::Task says() const {
    EXPECT_EQ(last_.says.size(), 1u);
    return last_.says.empty() ? engine::Task{} : last_.says.front();
  }
  // A run that this one opened just now, as a story of its own.
  Story follow(std::string_view run) const {
    Story next;
    const engine::NewRun* opened = find_opened(run);
    if (!opened) {
      ADD_FAILURE() << "no run '" << run << "' was opened";
      return next;
    }
    next.run_ = opened->run;
    next.history_ = numbered(*opened);
    for (const auto& change : opened->tasks) next.tasks_.emplace(change.task.key, change.task);
    next.ids_ = ids_;
    next.settings_ = settings_;
    return next;
  }
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
    engine::CommandOutcome start_reply;  // of a signal-with-start
    engine::HeartbeatReply heartbeat;
    Value refusal;
    std::vector<engine::Task> says;  // intents for other runs
    bool recorded = false;
    std::string reason;
    std::optional<Error> error;
    std::int64_t steps_before = 0;
  };

  void ask(const engine::StartCommand& command, const engine::Context& context) {
    const bool exists = run_.state.status != history::RunStatus::none;
    auto decided = engine::decide_start(exists ? &run_ : nullptr, command, context);
    EXPECT_EQ(decided.opens_run, !exists && decided.reply.accepted);
    if (decided.opens_run) run_.id = decided.run_id;
    if (exists || decided.opens_run) {
      EXPECT_EQ(decided.run_id, run_.id);
    }
    last_.reply = std::move(decided.reply);
    last_.decision = std::move(decided.decision);
    refuse(decided.refusal);
  }
  void ask(const SignalWithStart& both, const engine::Context& context) {
    const bool exists = run_.state.status != history::RunStatus::none;
    auto decided = engine::decide_signal_with_start(exists ? &run_ : nullptr, both.start,
                                                    both.signal, context);
    if (decided.start.opens_run) {
      EXPECT_FALSE(run_.state.open());
      run_ = {decided.start.run_id, {}, {}};
      history_.clear();
      tasks_.clear();
      watch_moved_.clear();
    }
    last_.start_reply = std::move(decided.start.reply);
    last_.reply = std::move(decided.signal);
    last_.decision = std::move(decided.start.decision);
    refuse(decided.refusal);
  }
  void ask(const engine::SignalCommand& command, const engine::Context& context) {
    take(engine::decide_signal(run_, command, context));
  }
  void ask(const engine::UpdateCommand& command, const engine::Context& context) {
    take(engine::decide_update(run_, command, context));
  }
  void ask(const engine::ArchiveCommand& command, const engine::Context& context) {
    take(engine::decide_archive(run_, command, context));
  }
  void ask(const Hear& heard, const engine::Context& context) {
    CountingIds other;
    const engine::Context theirs{context.now, other, settings_};
    auto note = engine::intent_for(run_.state.start.ns, run_.state.start.instance_id, run_.id,
                                   heard.says, theirs);
    note.key.id = engine::task_id(run_.id, "note");
    ask(note, context);
  }
  void ask(const engine::Task& intent, const engine::Context& context) {
    EXPECT_EQ(to_string(intent.type), "intent");
    EXPECT_EQ(intent.run_id, run_.id) << "meant for another run";
    EXPECT_EQ(intent.instance_id, run_.state.start.instance_id);
    tasks_.insert_or_assign(intent.key, intent);
    last_.decision = engine::decide_intent(run_, intent, context);
  }
  void ask(const Heartbeat& beat, const engine::Context& context) {
    last_.heartbeat =
        engine::decide_heartbeat(run_, beat.id, beat.attempt, beat.progress, beat.record, context);
    last_.recorded = last_.heartbeat.can_continue;
    last_.reason = last_.heartbeat.reason;
    last_.decision = last_.heartbeat.decision;
  }
  void ask(const ActivityDeadline& watch, const engine::Context& context) {
    const std::string subject = std::string{engine::timeout_subject} + watch.id.str();
    engine::Task row;
    row.key = {context.now, engine::task_id(run_.id, "old.timeout")};
    row.subject = subject;
    for (const auto& [key, task] : tasks_) {
      if (task.subject == subject) {
        row = task;
        break;
      }
    }
    if (watch.last_seen) watch_moved_.insert(subject);
    last_.decision = engine::decide_activity_timeout(run_, row, watch.last_seen, context);
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
    number_steps(commands);
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
    refuse(decided.refusal);
  }
  // A command is refused with an event or with a record, never without a trace.
  void refuse(const std::string& record) {
    const bool traced = last_.decision.events.empty() != record.empty();
    if (last_.reply.accepted) {
      EXPECT_EQ(record, "");
    } else {
      EXPECT_TRUE(traced) << "refused: " << record << " and " << text_of(last_.decision.events);
    }
    if (record.empty()) return;
    auto parsed = parse_json(record);
    EXPECT_TRUE(parsed.has_value()) << record;
    if (parsed) last_.refusal = *std::move(parsed);
  }

  // A step of 0 means the next one, or the one that already waits for just that.
  void number_steps(std::vector<engine::WorkflowCommand>& commands) const {
    std::int64_t next = run_.state.steps + 1;
    for (auto& command : commands) {
      std::visit(
          [&]<typename C>(C& c) {
            if constexpr (std::same_as<C, engine::CloseCondition>) {
              const auto& open = run_.state.conditions;
              if (c.step == 0 && !open.empty()) c.step = open.front().step;
            } else if constexpr (std::same_as<C, engine::ApplyUpdate>) {
              if (c.step == 0) c.step = next;
            } else if constexpr (std::same_as<C, engine::ApplySignal>) {
              for (const auto& wait : run_.state.signal_waits) {
                const auto came =
                    std::ranges::find(run_.state.signals, c.signal_id, &history::PendingSignal::id);
                if (c.step == 0 && came != run_.state.signals.end() && came->name == wait.name) {
                  c.step = wait.step;
                }
              }
              if (c.step == 0) c.step = next;
              if (c.step == next) ++next;
            } else if constexpr (requires { c.step; } && !std::same_as<C, engine::HandleFailure>) {
              if (c.step == 0) c.step = next;
              ++next;
            }
          },
          command);
    }
  }

  // Makes the decision durable, as dispatch and a store would, and looks at what came of it.
  void stage(Timestamp now) {
    last_.steps_before = run_.state.steps;
    const auto events = engine::stage(run_, last_.decision, now);
    history_.insert(history_.end(), events.begin(), events.end());
    for (const auto& change : last_.decision.tasks) {
      if (change.kind == engine::TaskChange::Kind::put) {
        if (change.task.type == engine::TaskType::intent) {
          EXPECT_NE(change.task.run_id, run_.id) << "talks to itself: " << describe(change);
          EXPECT_EQ(change.task.ns, run_.state.start.ns);
          last_.says.push_back(change.task);
          continue;
        }
        tasks_.insert_or_assign(change.task.key, change.task);
      } else {
        const auto removed = tasks_.erase(change.task.key);
        // History does not say where an unrecorded heartbeat has moved a watch.
        EXPECT_TRUE(removed == 1 || change.task.key.id.view().ends_with(".timeout"))
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

    for (const auto& opened : last_.decision.opens) check_opened(opened);

    auto expected = tasks_of_open_work();
    for (const std::string& subject : watch_moved_) {
      const auto about = [&](const auto& entry) { return entry.second.subject == subject; };
      if (!std::erase_if(expected, about)) continue;
      EXPECT_TRUE(std::ranges::any_of(tasks_, about)) << "nobody watches " << subject;
    }
    for (const auto& [key, task] : expected) {
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
    const auto moved = [&](const auto& entry) {
      return watch_moved_.contains(entry.second.subject);
    };
    EXPECT_EQ(tasks_.size() - static_cast<std::size_t>(std::ranges::count_if(tasks_, moved)),
              expected.size())
        << "a task without open work";
  }

  // A run that comes into being is whole: its events make its state, and its code has a task.
  static void check_opened(const engine::NewRun& opened) {
    std::string stored;
    history::append_events(stored, opened.events);
    const auto read = history::parse_events(stored);
    EXPECT_TRUE(read && *read == opened.events) << "cannot be read back: " << stored;
    const auto state = history::fold(numbered(opened));
    if (!state) {
      ADD_FAILURE() << "an opened run cannot be folded: " << state.error().message;
      return;
    }
    EXPECT_TRUE(*state == opened.run.state) << "a fold of the opened run says something else";
    EXPECT_TRUE(opened.run.workflow_task.has_value());
    EXPECT_EQ(opened.tasks.size(), opened.run.state.deadline() ? 2u : 1u);
    for (const auto& change : opened.tasks) {
      EXPECT_EQ(change.kind, engine::TaskChange::Kind::put);
      EXPECT_EQ(change.task.run_id, opened.run.id);
      EXPECT_EQ(change.task.instance_id, opened.run.state.start.instance_id);
      EXPECT_EQ(change.task.ns, opened.run.state.start.ns);
    }
  }
  static std::vector<history::Event> numbered(const engine::NewRun& opened) {
    std::vector<history::Event> events;
    for (const auto& body : opened.events) {
      events.push_back(
          {static_cast<std::int64_t>(events.size()) + 1, opened.run.state.last_recorded_at, body});
    }
    return events;
  }
  const engine::NewRun* find_opened(std::string_view run) const {
    for (const auto& opened : last_.decision.opens) {
      if (opened.run.id.view() == run) return &opened;
    }
    return nullptr;
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
      if (const auto watch = engine::timeout_key(run_, activity)) {
        add(*watch, engine::TaskType::timer,
            std::string{engine::timeout_subject} + activity.id.str(), state.start.queue);
      }
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

  // Of this run by its suffix, of another in full.
  static std::string name(const engine::TaskKey& key, const RunId& of) {
    std::string_view id = key.id.view();
    const std::string prefix = of.str() + ".";
    if (id.starts_with(prefix)) id.remove_prefix(prefix.size());
    return fmt::format("{} {}", id, clock_text(key.available_at));
  }
  std::string describe(const engine::Task& task) const { return describe(task, run_.id); }
  std::string describe(const engine::TaskChange& change) const { return describe(change, run_.id); }
  static std::string describe(const engine::Task& task, const RunId& of) {
    std::string text = fmt::format("{} {}", name(task.key, of), to_string(task.type));
    if (!task.subject.empty()) text += " " + task.subject;
    if (!task.queue.empty()) text += " queue " + task.queue;
    if (task.status == engine::TaskStatus::blocked) text += " blocked";
    if (task.status == engine::TaskStatus::leased) {
      text += fmt::format(" leased by {} until {}", task.lease_owner,
                          clock_text(task.lease_expires_at));
    }
    return text;
  }
  static std::string describe(const engine::TaskChange& change, const RunId& of) {
    return change.kind == engine::TaskChange::Kind::put ? "+ " + describe(change.task, of)
                                                        : "- " + name(change.task.key, of);
  }

  engine::Run run_;
  std::vector<history::Event> history_;
  std::map<engine::TaskKey, engine::Task> tasks_;
  bool blocked_ = false;
  std::set<std::string> watch_moved_;  // by heartbeats that history does not hold
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
