#include "engine/given.hpp"

#include "engine/parts.hpp"
#include "history/codec.hpp"
#include "history/fold.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace dw::story {

std::string CountingIds::ulid() {
  return fmt::format("id{}", ++ids_);
}

std::string CountingIds::task_suffix() {
  return fmt::format("task{}", ++tasks_);
}

Story::Story() {
  run_.id = RunId{"run1"};
}

Story::Story(std::vector<Told> list) : Story() {
  history_ = told(std::move(list));
  auto state = history::fold(history_);
  if (!state) {
    ADD_FAILURE() << "the given history cannot have happened: " << state.error().message;
    return;
  }
  run_.state = *std::move(state);
  tasks_ = tasks_of_open_work();
}

Story::Story(const Story& other) = default;
Story::Story(Story&& other) noexcept = default;
Story& Story::operator=(const Story& other) = default;
Story& Story::operator=(Story&& other) noexcept = default;
Story::~Story() = default;

Story given(std::vector<Told> history) {
  return Story{std::move(history)};
}

Story given_no_run() {
  return Story{};
}

Story& Story::with(engine::Settings settings) {
  settings_ = settings;
  return *this;
}

engine::Task Story::says() const {
  EXPECT_EQ(last_.says.size(), 1u);
  return last_.says.empty() ? engine::Task{} : last_.says.front();
}

Story Story::follow(std::string_view run) const {
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

std::string Story::attempt_of(std::string_view activity) const {
  for (const auto& open : run_.state.activities) {
    if (open.id.view() == activity) return open.attempt_id.str();
  }
  return {};
}

const engine::NewRun* Story::find_opened(std::string_view run) const {
  for (const auto& opened : last_.decision.opens) {
    if (opened.run.id.view() == run) return &opened;
  }
  return nullptr;
}

std::vector<history::Event> Story::numbered(const engine::NewRun& opened) {
  std::vector<history::Event> events;
  for (const auto& body : opened.events) {
    events.push_back(
        {static_cast<std::int64_t>(events.size()) + 1, opened.run.state.last_recorded_at, body});
  }
  return events;
}

void Story::stage(Timestamp now) {
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

void Story::check_invariants() const {
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
  const auto moved = [&](const auto& entry) { return watch_moved_.contains(entry.second.subject); };
  EXPECT_EQ(tasks_.size() - static_cast<std::size_t>(std::ranges::count_if(tasks_, moved)),
            expected.size())
      << "a task without open work";
}

void Story::check_opened(const engine::NewRun& opened) {
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

std::map<engine::TaskKey, engine::Task> Story::tasks_of_open_work() const {
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
    auto& task =
        add({activity.available_at, engine::task_id(run_.id, activity.task)},
            activity.local ? engine::TaskType::workflow : engine::TaskType::activity,
            activity.local ? "local:" + activity.id.str() : activity.id.str(), activity.queue);
    if (const auto watch = engine::timeout_key(run_, activity)) {
      add(*watch, engine::TaskType::timer, std::string{engine::timeout_subject} + activity.id.str(),
          state.start.queue);
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

}  // namespace dw::story
