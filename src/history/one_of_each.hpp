// For tests: an event of every type, once with everything it can hold and once with as little as
// it may. Adding a type without adding it there does not compile.
#pragma once
#include "history/event_builders.hpp"

namespace dw::story {

history::Command full_command();
history::GroupPath full_path();
history::Failure full_failure();
history::Failure broken_limit();
history::RetryPolicy full_policy();
Payload binary();
Declarations full_declarations();
history::WorkflowStarted full_start();
history::ActivityScheduled plain_schedule();
history::ConditionWaitOpened full_condition();
history::UpdateRejected full_refusal();

// Numbered as the first step, or as another.
template <typename Taken>
Taken of_step(std::int64_t step, Taken event) {
  event.step = step;
  return event;
}
history::TimerScheduled timer_of_step(std::int64_t step, std::chrono::seconds delay);

std::vector<history::EventBody> full_of_each();
std::vector<history::EventBody> plain_of_each();

}  // namespace dw::story
