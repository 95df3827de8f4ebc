#include "runtime/execution_story.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace dw::runtime {

std::string CountingIds::ulid() {
  return "id-" + std::to_string(++last_);
}

std::string CountingIds::task_suffix() {
  return "t" + std::to_string(++last_);
}

Story::Story(const Registry& registry, std::string_view type, const Value& arguments)
    : registry_(registry) {
  engine::StartCommand command;
  command.instance_id = InstanceId{"story"};
  command.workflow_type = type;
  command.arguments = *encode(arguments);
  if (const auto* definition = registry.find_workflow(type)) {
    command.fingerprint = definition->fingerprint;
    command.declared = definition->snapshot;
  }
  auto started = engine::decide_start(nullptr, command, context());
  run_.id = started.run_id;
  add(started.decision);
}

Story::~Story() = default;

Progress Story::go(std::chrono::milliseconds late) {
  if (!execution_) {
    execution_ = std::make_unique<Execution>(registry_, stacks_, random_, run_.id);
    fed_ = 0;
  }
  Progress all;
  for (;;) {
    execution_->feed(std::span{events_}.subspan(fed_));
    fed_ = events_.size();
    auto now = context();
    now.code_time = std::max(now.now, run_.state.last_recorded_at);
    auto progress = execution_->run(*now.code_time);
    now.now = now_ += late;
    if (progress.blocked || progress.commands.empty()) {
      all.blocked = progress.blocked;
      return all;
    }
    auto decision = engine::decide_workflow_task(run_, progress.commands, now);
    EXPECT_TRUE(decision) << decision.error().message;
    add(*decision);
    std::ranges::move(progress.commands, std::back_inserter(all.commands));
    if (progress.spoiled) {
      crash();
      return go(late);
    }
    if (!decision->wake) return all;
  }
}

void Story::crash() {
  execution_.reset();
}

void Story::deploy(const Registry& registry) {
  crash();
  registry_ = std::cref(registry);
}

void Story::complete(const Value& result) {
  finish(*encode(result));
}

void Story::fail(std::string message) {
  finish(Failure{"std::runtime_error", {}, std::move(message), false});
}

void Story::fire_timer() {
  now_ = run_.state.timers.at(0).fire_at;
  add(engine::decide_fire_timer(run_, run_.state.timers.at(0).id, context()));
}

engine::CommandOutcome Story::signal(std::string name, const Value& arguments) {
  engine::SignalCommand command;
  command.name = std::move(name);
  command.arguments = *encode(arguments);
  auto decided = engine::decide_signal(run_, command, context());
  add(decided.decision);
  return decided.reply;
}

engine::CommandOutcome Story::update(std::string name, const Value& arguments) {
  engine::UpdateCommand command;
  command.name = std::move(name);
  command.arguments = *encode(arguments);
  auto decided = engine::decide_update(run_, command, context());
  add(decided.decision);
  return decided.reply;
}

void Story::child_completed(const Value& output, std::size_t which) {
  const auto& child = run_.state.children.at(which);
  add_event(ChildRunCompleted{child.id, child.run_id, *encode(output)});
}

void Story::child_failed(Failure failure, std::size_t which) {
  const auto& child = run_.state.children.at(which);
  add_event(
      ChildRunFailed{child.id, child.run_id, FailureId{ids_.ulid()}, "failed", std::move(failure)});
}

void Story::child_cancelled(std::size_t which) {
  const auto& child = run_.state.children.at(which);
  add_event(ChildRunCancelled{child.id, child.run_id, FailureId{ids_.ulid()}, "stop it"});
}

void Story::complete(std::size_t which, const Value& result) {
  finish(*encode(result), which);
}

void Story::fail(std::size_t which, Failure failure) {
  finish(std::move(failure), which);
}

Value Story::query(std::string_view name, const Value& arguments) {
  Execution replayed{registry_, stacks_, random_, run_.id};
  replayed.feed(events_);
  if (const auto blocked = replayed.replay()) throw std::runtime_error{blocked->message};
  return *decode(replayed.query(name, *encode(arguments)));
}

Value Story::query_warm(std::string_view name, const Value& arguments) {
  return *decode(execution_->query(name, *encode(arguments)));
}

Value Story::output() const {
  return *decode(*run_.state.output);
}

std::string Story::open_activity() const {
  return run_.state.activities.empty() ? "" : run_.state.activities.front().type;
}

int Story::count(std::string_view type) const {
  return static_cast<int>(std::ranges::count_if(
      events_, [&](const Event& event) { return type_name(event.body) == type; }));
}

engine::Context Story::context() {
  return {now_ += step_, ids_, settings_};
}

void Story::add_event(EventBody event) {
  engine::Decision decision;
  decision.events.push_back(std::move(event));
  context();
  add(decision);
}

void Story::finish(std::variant<Payload, Failure> outcome, std::size_t which) {
  const auto activity = run_.state.activities.at(which).id;
  auto started = engine::decide_start_activity(run_, activity, "test", context());
  add(started.decision);
  auto reply = engine::decide_finish_activity(
      run_, {activity, *started.attempt, std::move(outcome)}, context());
  ASSERT_TRUE(reply.recorded);
  add(reply.decision);
}

void Story::add(const engine::Decision& decision) {
  std::ranges::move(engine::stage(run_, decision, now_), std::back_inserter(events_));
}

}  // namespace dw::runtime
