#include "main/run_view.hpp"

#include "cli/failure.hpp"
#include "history/codec.hpp"

#include <dw/exceptions.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

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
              if (!e.kind.empty()) return;  // it bounds a wait, and shows there
              open(e.step, fmt::format("sleep {} s", e.delay_seconds), e.timer_id.str(), at);
            },
            [&](const TimerFired& e) { close(e.timer_id.str(), StepView::State::done, at); },
            [&](const TimerCancelled& e) { close(e.timer_id.str(), StepView::State::failed, at); },
            [&](const SideEffectRecorded& e) { at_once(e.step, "side effect", at); },
            [&](const VersionMarkerRecorded& e) {
              at_once(e.step, fmt::format("version {} of {}", e.version, e.change_id), at);
            },
            [&](const MemoUpserted& e) { at_once(e.step, "memo", at); },
            [&](const SearchAttributesUpserted& e) { at_once(e.step, "search attributes", at); },
            [&](const WorkflowContinuedAsNew& e) { at_once(e.step, "continue as new", at); },
            [&](const ConditionWaitOpened& e) {
              open(e.step, e.key.empty() ? "condition" : fmt::format("condition {}", e.key),
                   e.wait_id.str(), at);
            },
            [&](const ConditionWaitSatisfied& e) {
              close(e.wait_id.str(), StepView::State::done, at);
            },
            [&](const ConditionWaitTimedOut& e) {
              close(e.wait_id.str(), StepView::State::failed, at);
            },
            [&](const SignalWaitOpened& e) {
              open(e.step, fmt::format("signal {}", e.name), e.wait_id.str(), at);
            },
            [&](const SignalApplied& e) { close(e.wait_id.str(), StepView::State::done, at); },
            [&](const ChildWorkflowScheduled& e) {
              open(e.step, fmt::format("child {}", e.workflow_type), e.call_id.str(), at);
            },
            [&](const ChildRunCompleted& e) { close(e.call_id.str(), StepView::State::done, at); },
            [&](const ChildRunFailed& e) { close(e.call_id.str(), StepView::State::failed, at); },
            [&](const ChildRunCancelled& e) {
              close(e.call_id.str(), StepView::State::failed, at);
            },
            [&](const ChildRunTerminated& e) {
              close(e.call_id.str(), StepView::State::failed, at);
            },
            // No step of their own.
            [](const auto&) {}},
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

  // Opened and answered in one commit.
  void at_once(std::int64_t number, const std::string& what, Timestamp at) {
    const auto id = fmt::format("{} {}", what, number);
    open(number, what, id, at);
    close(id, StepView::State::done, at);
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

constexpr std::size_t runs_of_a_page = 500;

// The namespaces that have started an instance of that id, in the order of their names. Rows of
// runs tell, page by page: what a store can be asked for by id alone.
Result<std::set<std::string>> namespaces_with(store::Store& store, const InstanceId& instance) {
  std::set<std::string> names;
  store::RunFilter filter{.instance_id = instance, .limit = runs_of_a_page};
  for (;;) {
    const auto rows = DW_TRY(store.list_runs(filter));
    for (const auto& row : rows) names.insert(row.ns.str());
    if (rows.size() < runs_of_a_page) return names;
    filter.before = rows.back().run_id;
  }
}

// The one that was named, else the only one that has the instance.
Result<Namespace> namespace_meant(store::Store& store, const RunName& name) {
  if (name.ns) return parse_namespace(*name.ns);
  const auto names = DW_TRY(namespaces_with(store, InstanceId{name.target}));
  if (names.empty()) return Namespace{};
  if (names.size() == 1) return Namespace{*names.begin()};
  std::vector<std::string> quoted;
  for (const auto& one : names) quoted.push_back(fmt::format("'{}'", one));
  return Error{ErrorCode::invalid_argument,
               fmt::format("'{}' is an instance of several namespaces of '{}': {}; choose one "
                           "with --namespace",
                           name.target, name.store, fmt::join(quoted, ", "))};
}

Error no_such_run(const RunName& name) {
  const auto where = name.ns ? fmt::format("namespace '{}' of '{}'", *name.ns, name.store)
                             : fmt::format("'{}'", name.store);
  return {ErrorCode::not_found,
          fmt::format("'{}' names no run and no started instance in {}; `dw run:list` shows what "
                      "is there",
                      name.run_id.value_or(name.target), where)};
}

Result<std::optional<store::LoadedRun>> current_run(store::Store& store,
                                                    const store::InstanceKey& key) {
  const auto instance = DW_TRY(store.find_instance(key));
  if (!instance || !instance->current_run) return std::optional<store::LoadedRun>{};
  return store.load_run(*instance->current_run);
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

Result<std::optional<RunView>> find_view(store::Store& store, const Namespace& ns,
                                         const std::string& id) {
  auto loaded = DW_TRY(store.load_run(RunId{id}));
  if (!loaded) loaded = DW_TRY(current_run(store, {ns, InstanceId{id}}));
  if (!loaded) return std::optional<RunView>{};
  return std::optional<RunView>{DW_TRY(view_of(*std::move(loaded)))};
}

Result<store::LoadedRun> load_named_run(store::Store& store, const RunName& name) {
  const InstanceId instance{name.target};
  auto run = DW_TRY(store.load_run(RunId{name.run_id.value_or(name.target)}));
  if (name.run_id) {
    const auto ns = name.ns ? std::optional{DW_TRY(parse_namespace(*name.ns))} : std::nullopt;
    const bool belongs = run && run->row.instance_id == instance && (!ns || run->row.ns == *ns);
    if (!belongs) return no_such_run(name);
    return *std::move(run);
  }
  if (!run) {
    const Namespace ns = DW_TRY(namespace_meant(store, name));
    run = DW_TRY(current_run(store, {ns, instance}));
  }
  if (!run) return no_such_run(name);
  return *std::move(run);
}

int without_run(const Error& error) {
  const bool missing = error.code == ErrorCode::not_found;
  if (!missing && error.code != ErrorCode::invalid_argument) throw EngineError{error};
  fmt::print(stderr, "dw: {}\n", error.message);
  return static_cast<int>(missing ? cli::Exit::not_found : cli::Exit::invalid);
}

}  // namespace dw::app
