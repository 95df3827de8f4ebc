#include "engine/arbitrary_history.hpp"

#include <fmt/format.h>

namespace dw::story {

void ask_something(Story& story, Timestamp& now) {
  const auto below = [](int end) { return *rc::gen::inRange(0, end); };
  const auto some_activity = [&]() -> std::string {
    const auto& open = story.state().activities;
    if (open.empty() || below(10) == 0) return "nobody";
    return open[static_cast<std::size_t>(below(static_cast<int>(open.size())))].id.str();
  };
  const auto some_policy = [&] {
    auto policy = tries(below(4));
    if (below(2)) policy.backoff_seconds = {below(3), below(100)};
    if (below(4) == 0) policy.non_retryable_error_types = {"app.broken"};
    if (below(4) == 0) policy.start_to_close_timeout = below(100);
    if (below(4) == 0) policy.schedule_to_start_timeout = below(100);
    if (below(4) == 0) policy.schedule_to_close_timeout = below(300);
    if (below(4) == 0) policy.heartbeat_timeout = below(100);
    return policy;
  };
  // The one of a list, by its id; now and then one that is not there.
  const auto some_id = [&](const auto& open) -> std::string {
    if (open.empty() || below(10) == 0) return "nobody";
    return open[static_cast<std::size_t>(below(static_cast<int>(open.size())))].id.str();
  };
  const auto some_timeout = [&]() -> std::optional<history::Seconds> {
    if (below(2)) return std::nullopt;
    return below(90);
  };
  const auto some_entries = [&]() -> Value {
    return Value::Map{{below(2) ? "note" : "stage", below(3) ? Value{below(9)} : Value{}}};
  };
  const auto some_child = [&] {
    return start_child("payment", static_cast<history::ParentClosePolicy>(below(3)));
  };
  // What a child has to say, about itself or by accident about another.
  const auto some_word = [&](const std::string& call) -> history::EventBody {
    switch (below(5)) {
      case 0:
        return child_run_started(call, "next", 2);
      case 1:
        return child_run_failed(call, "run9", fmt::format("f{}", story.state().last_sequence));
      case 2:
        return child_run_cancelled(call, "run9", fmt::format("f{}", story.state().last_sequence));
      case 3:
        return child_run_terminated(call, "run9", fmt::format("f{}", story.state().last_sequence));
      default:
        return child_run_completed(call, "run9");
    }
  };
  const auto some_failure = [&] {
    return below(5) == 0 ? non_retryable("no") : failure("broke", "app::Broken", "app.broken");
  };
  const auto some_commands = [&] {
    std::vector<engine::WorkflowCommand> commands;
    for (const auto& raised : story.state().unhandled) {
      if (below(3) > 0) commands.emplace_back(handle_failure(raised.str(), 1));
    }
    const auto& state = story.state();
    if (!state.conditions.empty() && below(2)) {
      const auto& wait = state.conditions.front();
      commands.emplace_back(engine::CloseCondition{wait.step, !wait.timeout_fired});
    }
    if (!state.signals.empty() && below(2)) {
      const auto& signal = state.signals.front();
      commands.emplace_back(apply_signal(below(10) ? signal.id.str() : some_id(state.signals)));
    }
    if (!state.updates.empty() && below(2)) {
      const auto update = some_id(state.updates);
      if (below(3)) {
        commands.emplace_back(apply_update(update));
      } else {
        commands.emplace_back(fail_update(update, some_failure()));
      }
    }
    for (int left = below(4); left > 0; --left) {
      switch (below(12)) {
        case 0:
        case 1:
          commands.emplace_back(schedule_activity("charge", some_policy()));
          break;
        case 2:
          commands.emplace_back(start_timer(std::chrono::seconds{below(90)}));
          break;
        case 3:
          commands.emplace_back(record_version("new-tax", below(3)));
          break;
        case 4:
          commands.emplace_back(upsert_memo(some_entries()));
          break;
        case 5:
          commands.emplace_back(upsert_search_attributes(some_entries()));
          break;
        case 6:
          commands.emplace_back(below(4) ? open_condition("paid", some_timeout())
                                         : condition_that_holds("paid", some_timeout()));
          break;
        case 7:
          commands.emplace_back(open_signal_wait("approve", some_timeout()));
          break;
        case 8:
          commands.emplace_back(some_child());
          break;
        case 9:
          commands.emplace_back(signal_child(some_id(state.children), "c7", "hurry"));
          break;
        case 10: {
          auto leaf = schedule_activity("charge", some_policy());
          leaf.group = {barrier(history::Group::Kind::activity, 1, 1 + below(20), 0)};
          commands.emplace_back(std::move(leaf));
          break;
        }
        default:
          commands.emplace_back(record_side_effect("7"));
      }
    }
    if (below(30) == 0) {
      auto next = continue_as_new();
      next.definition.declared = state.start.declared;
      commands.emplace_back(std::move(next));
    }
    if (below(12) == 0) commands.emplace_back(complete_workflow("42"));
    if (below(20) == 0) commands.emplace_back(fail_workflow(some_failure()));
    return commands;
  };

  // The clock of another machine may lag behind.
  now += std::chrono::seconds{below(20) == 0 ? -30 : below(60)};
  switch (below(31)) {
    case 20:
    case 21:
      story.when(below(5) ? signal("approve", R"(["ann"])")
                          : on_run(below(2) ? story.run().id.str() : "run0", signal("aprove")),
                 now);
      return;
    case 22:
    case 23:
      story.when(below(5) ? update("rename", R"(["bob"])")
                          : on_run(below(2) ? story.run().id.str() : "run0",
                                   update("rename", R"(["ann"])")),
                 now);
      return;
    case 24:
      story.when(signal_with_start(start_or_join("invoice"),
                                   below(5) ? signal("approve", R"(["ann"])") : signal("aprove")),
                 now);
      return;
    case 25:
      story.when(archive(), now);
      return;
    case 26: {
      const auto activity = some_activity();
      const auto beat = heartbeat(activity, story.attempt_of(activity), some_entries());
      story.when(below(3) ? beat : unrecorded(beat), now);
      return;
    }
    case 27: {
      const auto seen = below(3) ? std::nullopt : std::optional{now - std::chrono::seconds{5}};
      story.when(activity_deadline(some_activity(), seen), now);
      return;
    }
    case 28:
    case 29:
      story.when(hear(some_word(some_id(story.state().children))), now);
      return;
    case 30:
      story.when(
          hear(below(4) ? history::EventBody{signal_received(
                              "s1", "approve", command("c7", 0, "workflow"), R"(["ann"])")}
                        : history::EventBody{cancel_requested(command("c8", 0, "workflow"))}),
          now);
      return;
    case 0:
      story.when(below(2) ? start("invoice") : start_or_join("invoice"), now);
      return;
    case 1:
      if (below(4) == 0) story.when(below(2) ? cancel("enough") : terminate(), now);
      return;
    case 2:
      story.when(repair(), now);
      return;
    case 3:
      if (!story.run().workflow_task && story.state().open()) {
        story.when(ParkWorkflowTask{below(2) == 0}, now);
      }
      return;
    case 4:
      story.when(check_deadline(), now);
      return;
    case 5:
    case 6:
    case 7:
      if (!story.state().timers.empty()) {
        story.when(fire_timer(story.state().timers.front().id.str()), now);
      }
      return;
    case 8:
    case 9:
    case 10:
    case 11:
      story.when(begin_attempt(some_activity()), now);
      return;
    case 12:
    case 13:
    case 14: {
      const auto activity = some_activity();
      story.when(complete_attempt(activity, story.attempt_of(activity)), now);
      return;
    }
    case 15:
    case 16: {
      const auto activity = some_activity();
      story.when(fail_attempt(activity, story.attempt_of(activity), some_failure()), now);
      return;
    }
    default: {
      story.when(workflow_task(some_commands()), now);
      const auto& opens = story.decision().opens;
      if (!opens.empty() && opens.back().continues && below(4)) {
        story = Story{story.follow(opens.back().run.id.view())};
      }
    }
  }
}

Story arbitrary_story() {
  auto story = given_no_run();
  Timestamp now = at("09:00");
  auto command = start("invoice");
  if (*rc::gen::inRange(0, 4) == 0) command.run_timeout = *rc::gen::inRange(1, 2000);
  if (*rc::gen::inRange(0, 4) == 0) command.execution_timeout = *rc::gen::inRange(1, 2000);
  if (*rc::gen::inRange(0, 4) > 0) command.declared = approve_and_rename();
  engine::Settings settings;
  settings.updates_queue_behind_signals = *rc::gen::inRange(0, 2) == 0;
  if (*rc::gen::inRange(0, 4) == 0) {
    settings.limits.pending_activities = 3;
    settings.limits.pending_timers = 2;
    settings.limits.pending_children = 2;
    settings.limits.pending_signals = 2;
    settings.limits.pending_updates = 2;
    settings.limits.barrier_leaves = 10;
    settings.limits.events_per_task = 6;
    settings.limits.memo_bytes = 14;
  }
  story.with(settings).when(command, now);
  for (auto left = *rc::gen::inRange(0, 40); left > 0; --left) ask_something(story, now);
  return story;
}

rc::Gen<std::vector<history::Event>> arbitrary_history() {
  return rc::gen::exec([] { return arbitrary_story().events(); });
}

}  // namespace dw::story
