#include "main/run_view.hpp"

#include "history/codec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace dw::app {
namespace {

using namespace dw::history;

// Collects steps from events. Outcomes find their step by the id it was opened with.
class StepReader {
 public:
  void read(const Event& event) {
    const Timestamp at = event.recorded_at;
    std::visit(
        overloaded{
            [&](const ActivityScheduled& e) {
              open(e.step, e.activity_type, e.activity_id.str(), at);
            },
            [&](const ActivityStarted& e) {
              with(e.activity_id.str(), [](StepView& step) {
                step.state = StepView::State::running;
                ++step.attempts;
              });
            },
            [&](const ActivityRetryScheduled& e) {
              with(e.activity_id.str(),
                   [](StepView& step) { step.state = StepView::State::waiting; });
            },
            [&](const ActivityCompleted& e) {
              close(e.activity_id.str(), StepView::State::done, at);
            },
            [&](const ActivityFailed& e) {
              close(e.activity_id.str(), StepView::State::failed, at);
            },
            [&](const ActivityTimedOut& e) {
              close(e.activity_id.str(), StepView::State::failed, at);
            },
            [&](const ActivityCancelled& e) {
              close(e.activity_id.str(), StepView::State::failed, at);
            },
            [&](const TimerScheduled& e) {
              open(e.step, fmt::format("sleep {} s", e.delay_seconds), e.timer_id.str(), at);
            },
            [&](const TimerFired& e) { close(e.timer_id.str(), StepView::State::done, at); },
            [&](const TimerCancelled& e) { close(e.timer_id.str(), StepView::State::failed, at); },
            [&](const SideEffectRecorded& e) {
              const auto id = fmt::format("side effect {}", e.step);
              open(e.step, "side effect", id, at);
              close(id, StepView::State::done, at);
            },
            // No step of their own.
            [](const StartAccepted&) {}, [](const StartRejected&) {}, [](const WorkflowStarted&) {},
            [](const FailureHandled&) {}, [](const RepairRequested&) {},
            [](const CancelRequested&) {}, [](const TerminateRequested&) {},
            [](const WorkflowCancelled&) {}, [](const WorkflowTerminated&) {},
            [](const WorkflowTimedOut&) {}, [](const WorkflowCompleted&) {},
            [](const WorkflowFailed&) {}},
        event.body);
  }

  std::vector<StepView> take() {
    std::ranges::stable_sort(steps_, {}, &StepView::number);
    return std::move(steps_);
  }

 private:
  void open(std::int64_t number, std::string what, const std::string& id, Timestamp at) {
    places_[id] = steps_.size();
    StepView step;
    step.number = number;
    step.what = std::move(what);
    step.opened_at = at;
    steps_.push_back(std::move(step));
  }

  template <typename Change>
  void with(const std::string& id, Change change) {
    if (const auto place = places_.find(id); place != places_.end()) change(steps_[place->second]);
  }

  void close(const std::string& id, StepView::State state, Timestamp at) {
    with(id, [&](StepView& step) {
      step.state = state;
      step.closed_at = at;
      ++step.outcomes;
    });
  }

  std::vector<StepView> steps_;
  std::map<std::string, std::size_t> places_;
};

Result<RunView> view_of(store::LoadedRun loaded) {
  RunView view;
  view.row = std::move(loaded.row);
  StepReader steps;
  for (const store::StoredCommit& commit : loaded.commits) {
    std::int64_t sequence = commit.first_sequence;
    for (EventBody& body : DW_TRY(parse_events(commit.events))) {
      view.events.push_back({sequence++, commit.recorded_at, std::move(body)});
      steps.read(view.events.back());
    }
  }
  view.steps = steps.take();
  return view;
}

}  // namespace

std::string_view to_string(StepView::State state) {
  switch (state) {
    case StepView::State::waiting:
      return "waiting";
    case StepView::State::running:
      return "running";
    case StepView::State::done:
      return "done";
    case StepView::State::failed:
      return "failed";
  }
  return "unknown";
}

Result<std::optional<RunView>> find_view(store::Store& store, const Namespace& ns,
                                         const std::string& id) {
  auto loaded = DW_TRY(store.load_run(RunId{id}));
  if (!loaded) {
    const auto instance = DW_TRY(store.find_instance({ns, InstanceId{id}}));
    if (!instance || !instance->current_run) return std::optional<RunView>{};
    loaded = DW_TRY(store.load_run(*instance->current_run));
    if (!loaded) return std::optional<RunView>{};
  }
  return std::optional<RunView>{DW_TRY(view_of(*std::move(loaded)))};
}

}  // namespace dw::app
