// What a story asks of its run: each request with the decision that answers it.
#include "engine/given.hpp"
#include "engine/parts.hpp"
#include "engine/repair.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace dw::story {

void Story::take(engine::CommandDecision decided) {
  last_.reply = std::move(decided.reply);
  last_.decision = std::move(decided.decision);
  refuse(decided.refusal);
}

void Story::refuse(const std::string& record) {
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

Story& Story::lose(std::string_view task) {
  EXPECT_EQ(std::erase_if(tasks_,
                          [&](const auto& entry) {
                            return entry.first.id == engine::task_id(run_.id, task);
                          }),
            1U)
      << "there is no task " << task;
  return *this;
}

void Story::number_steps(std::vector<engine::WorkflowCommand>& commands) const {
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

template <>
void Story::ask(const engine::StartCommand& command, const engine::Context& context) {
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

template <>
void Story::ask(const SignalWithStart& both, const engine::Context& context) {
  const bool exists = run_.state.status != history::RunStatus::none;
  auto decided =
      engine::decide_signal_with_start(exists ? &run_ : nullptr, both.start, both.signal, context);
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

template <>
void Story::ask(const engine::SignalCommand& command, const engine::Context& context) {
  take(engine::decide_signal(run_, command, context));
}

template <>
void Story::ask(const engine::UpdateCommand& command, const engine::Context& context) {
  take(engine::decide_update(run_, command, context));
}

template <>
void Story::ask(const engine::ArchiveCommand& command, const engine::Context& context) {
  take(engine::decide_archive(run_, command, context));
}

template <>
void Story::ask(const engine::Task& intent, const engine::Context& context) {
  EXPECT_EQ(to_string(intent.type), "intent");
  EXPECT_EQ(intent.run_id, run_.id) << "meant for another run";
  EXPECT_EQ(intent.instance_id, run_.state.start.instance_id);
  tasks_.insert_or_assign(intent.key, intent);
  last_.decision = engine::decide_intent(run_, intent, context);
}

template <>
void Story::ask(const Hear& heard, const engine::Context& context) {
  CountingIds other;
  const engine::Context theirs{context.now, other, settings_};
  auto note = engine::intent_for(run_.state.start.ns, run_.state.start.instance_id, run_.id,
                                 heard.says, theirs);
  note.key.id = engine::task_id(run_.id, "note");
  ask(note, context);
}

template <>
void Story::ask(const Heartbeat& beat, const engine::Context& context) {
  last_.heartbeat =
      engine::decide_heartbeat(run_, beat.id, beat.attempt, beat.progress, beat.record, context);
  last_.recorded = last_.heartbeat.can_continue;
  last_.reason = last_.heartbeat.reason;
  last_.decision = last_.heartbeat.decision;
}

template <>
void Story::ask(const ActivityDeadline& watch, const engine::Context& context) {
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

template <>
void Story::ask(const engine::CloseCommand& command, const engine::Context& context) {
  take(engine::decide_close(run_, command, context));
}

template <>
void Story::ask(const engine::RepairCommand& command, const engine::Context& context) {
  engine::Inspection found{"repair_needed", "", {}};
  for (const auto& [key, task] : tasks_) found.rows.push_back(task);
  take(engine::decide_repair(run_, found, command, context));
  if (last_.reply.accepted) blocked_ = false;
}

template <>
void Story::ask(const WorkflowTask& task, const engine::Context& context) {
  auto commands = task.commands;
  number_steps(commands);
  engine::Context theirs = context;
  theirs.code_time = task.code_time;
  auto decided = engine::decide_workflow_task(run_, commands, theirs);
  if (decided) {
    last_.decision = *std::move(decided);
  } else {
    last_.error = decided.error();
  }
}

template <>
void Story::ask(const BeginAttempt& begin, const engine::Context& context) {
  auto decided = engine::decide_start_activity(run_, begin.id, begin.owner, context);
  last_.recorded = decided.attempt.has_value();
  last_.decision = std::move(decided.decision);
}

template <>
void Story::ask(const engine::ActivityOutcome& outcome, const engine::Context& context) {
  auto decided = engine::decide_finish_activity(run_, outcome, context);
  last_.recorded = decided.recorded;
  last_.reason = std::move(decided.reason);
  last_.decision = std::move(decided.decision);
}

template <>
void Story::ask(const FireTimer& fire, const engine::Context& context) {
  last_.decision = engine::decide_fire_timer(run_, fire.id, context);
}

template <>
void Story::ask(const CheckDeadline&, const engine::Context& context) {
  last_.decision = engine::decide_deadline(run_, context);
}

template <>
void Story::ask(const ParkWorkflowTask& park, const engine::Context& context) {
  auto change = engine::workflow_task(run_, context);
  if (park.blocked) change.task.status = engine::TaskStatus::blocked;
  run_.workflow_task = change.task.key;
  blocked_ = park.blocked;
  last_.decision.tasks.push_back(std::move(change));
}

template <typename Request>
Story& Story::when(const Request& request, Timestamp now, const char* file, int line) {
  const ::testing::ScopedTrace trace{file, line, "when"};
  last_ = {};
  const engine::Context context{now, ids_, settings_};
  ask(request, context);
  stage(now);
  return *this;
}

template Story& Story::when(const engine::StartCommand&, Timestamp, const char*, int);
template Story& Story::when(const SignalWithStart&, Timestamp, const char*, int);
template Story& Story::when(const engine::SignalCommand&, Timestamp, const char*, int);
template Story& Story::when(const engine::UpdateCommand&, Timestamp, const char*, int);
template Story& Story::when(const engine::ArchiveCommand&, Timestamp, const char*, int);
template Story& Story::when(const engine::Task&, Timestamp, const char*, int);
template Story& Story::when(const Hear&, Timestamp, const char*, int);
template Story& Story::when(const Heartbeat&, Timestamp, const char*, int);
template Story& Story::when(const ActivityDeadline&, Timestamp, const char*, int);
template Story& Story::when(const engine::CloseCommand&, Timestamp, const char*, int);
template Story& Story::when(const engine::RepairCommand&, Timestamp, const char*, int);
template Story& Story::when(const WorkflowTask&, Timestamp, const char*, int);
template Story& Story::when(const BeginAttempt&, Timestamp, const char*, int);
template Story& Story::when(const engine::ActivityOutcome&, Timestamp, const char*, int);
template Story& Story::when(const FireTimer&, Timestamp, const char*, int);
template Story& Story::when(const CheckDeadline&, Timestamp, const char*, int);
template Story& Story::when(const ParkWorkflowTask&, Timestamp, const char*, int);

}  // namespace dw::story
