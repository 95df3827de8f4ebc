#include "testing/waiting.hpp"

#include "history/fold.hpp"
#include "testing/recorded.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace dw::testing {
namespace {

// Why replay blocked the run, from the note on its task.
std::optional<std::string> blocked_because(store::Store& store, const store::RunRow& row) {
  if (!row.workflow_task) return std::nullopt;
  const auto tasks = store.find_tasks({&*row.workflow_task, 1});
  if (!tasks || tasks->empty() || tasks->front().status != engine::TaskStatus::blocked) {
    return std::nullopt;
  }
  const auto note = parse_json(tasks->front().note);
  const Value* message = note ? note->find("message") : nullptr;
  return message && message->if_string() ? *message->if_string() : tasks->front().note;
}

std::string describe(const history::OpenActivity& activity, const Known& known) {
  auto text = fmt::format("activity '{}' (step {})", activity.type, activity.step);
  if (!known.activity(activity.type)) return text + ", which is neither registered nor stubbed";
  if (activity.failed_attempts > 0) {
    text += fmt::format(", which has failed {} times", activity.failed_attempts);
  }
  return text;
}

std::string describe(const history::OpenChild& child, store::Store& store, const Known& known) {
  auto text = fmt::format("child '{}' ({}, step {})", child.instance_id.str(), child.workflow_type,
                          child.step);
  const auto waits = waits_of(store, child.run_id, known);
  if (!waits.empty()) text += fmt::format(", which waits for {}", fmt::join(waits, " and "));
  return text;
}

}  // namespace

std::vector<std::string> waits_of(store::Store& store, const RunId& run, const Known& known) {
  const auto loaded = store.load_run(run);
  if (!loaded || !*loaded) return {};
  const auto events = store::events_of((*loaded)->commits);
  const auto state = events ? history::fold(*events) : Result<history::RunState>{events.error()};
  if (!state) return {state.error().message};
  if (!state->open()) return {};
  if (const auto why = blocked_because(store, (*loaded)->row)) return {"repair: " + *why};
  if (!known.workflow(state->start.workflow_type)) {
    return {fmt::format("workflow type '{}' to be registered", state->start.workflow_type)};
  }

  std::vector<std::string> waits;
  for (const auto& activity : state->activities) waits.push_back(describe(activity, known));
  for (const auto& timer : state->timers) {
    if (!timer.kind.empty()) continue;  // it bounds one of the waits below
    waits.push_back(
        fmt::format("a timer until {} (step {})", format_timestamp(timer.fire_at), timer.step));
  }
  for (const auto& wait : state->signal_waits) {
    waits.push_back(fmt::format("signal '{}' (step {})", wait.name, wait.step));
  }
  for (const auto& wait : state->conditions) {
    waits.push_back(wait.key.empty()
                        ? fmt::format("a condition (step {})", wait.step)
                        : fmt::format("condition '{}' (step {})", wait.key, wait.step));
  }
  for (const auto& child : state->children) waits.push_back(describe(child, store, known));
  return waits;
}

}  // namespace dw::testing
