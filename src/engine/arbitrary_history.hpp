// For tests: histories that could have happened, made by asking decide() random things. Whatever
// comes out is a history by definition; the story behind it checks its own invariants on the way.
#pragma once
#include "engine/given.hpp"

#include <rapidcheck.h>

namespace dw::story {

// One random thing asked of the run, sensible more often than not, and some time passing.
inline void ask_something(Story& story, Timestamp& now) {
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
    return policy;
  };
  const auto some_failure = [&] {
    return below(5) == 0 ? non_retryable("no") : failure("broke", "app::Broken", "app.broken");
  };
  const auto some_commands = [&] {
    std::vector<engine::WorkflowCommand> commands;
    for (const auto& raised : story.state().unhandled) {
      if (below(3) > 0) commands.emplace_back(handle_failure(raised.str(), 1));
    }
    for (int left = below(4); left > 0; --left) {
      switch (below(3)) {
        case 0:
          commands.emplace_back(schedule_activity("charge", some_policy()));
          break;
        case 1:
          commands.emplace_back(start_timer(std::chrono::seconds{below(90)}));
          break;
        default:
          commands.emplace_back(record_side_effect("7"));
      }
    }
    if (below(12) == 0) commands.emplace_back(complete_workflow("42"));
    if (below(20) == 0) commands.emplace_back(fail_workflow(some_failure()));
    return commands;
  };

  // The clock of another machine may lag behind.
  now += std::chrono::seconds{below(20) == 0 ? -30 : below(60)};
  switch (below(20)) {
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
    default:
      story.when(workflow_task(some_commands()), now);
  }
}

inline Story arbitrary_story() {
  auto story = given_no_run();
  Timestamp now = at("09:00");
  auto command = start("invoice");
  if (*rc::gen::inRange(0, 4) == 0) command.run_timeout = *rc::gen::inRange(1, 2000);
  if (*rc::gen::inRange(0, 4) == 0) command.execution_timeout = *rc::gen::inRange(1, 2000);
  story.when(command, now);
  for (auto left = *rc::gen::inRange(0, 40); left > 0; --left) ask_something(story, now);
  return story;
}

inline rc::Gen<std::vector<history::Event>> arbitrary_history() {
  return rc::gen::exec([] { return arbitrary_story().events(); });
}

}  // namespace dw::story
