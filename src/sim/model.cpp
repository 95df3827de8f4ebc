// The workflows as plain code. What only history can know is read from it; everything else is
// computed again and compared.
#include "sim/ops.hpp"
#include "sim/workload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace dw::sim {
namespace {

using namespace dw::history;

// History ends here: the run was closed while this step was open, or before it was taken.
struct HistoryEnds {};
// The run was to go on with another.
struct Continues {};

class ModelOps final : public Ops {
 public:
  using Ops::call;

  ModelOps(std::span<const Event> events, const FindStart& find_start) : find_start_(find_start) {
    for (const Event& event : events) read(event);
  }

  std::string call(std::string_view activity, const ActivityOptions&, std::int64_t number,
                   const std::string& text) override {
    const Step& step = take();
    check_call(step, activity, number, text);
    wait(step);
    return answer(step, activity, number, text);
  }

  std::string call_here(std::string_view activity, const LocalActivityOptions&, std::int64_t number,
                        const std::string& text) override {
    const Step& step = take();
    check_call(step, activity, number, text, true);
    wait(step);
    return answer(step, activity, number, text);
  }

  void sleep(std::chrono::seconds delay) override {
    const Step& step = take();
    if (step.kind != Kind::timer || step.delay != delay.count()) {
      complain(fmt::format("sleeps {} s", delay.count()));
    }
    wait(step);
  }

  std::string roll() override {
    const Step& step = take();
    if (step.kind != Kind::side_effect) {
      complain("records a side effect");
      return {};
    }
    return detail::result_as<std::string>(*step.value, "a side effect");
  }

  std::string now() override { return format_timestamp(now_); }

  std::string child(const Member& member) override {
    const Step& step = take();
    check_child(step, member);
    if (!step.group.empty()) complain("starts a child outside any barrier");
    wait(step);
    return answer(step, member);
  }

  std::vector<std::string> all(const std::vector<Member>& members) override {
    std::vector<std::pair<Member, std::size_t>> leaves;
    flatten(members, 1, leaves);
    settle();
    if (leaves.empty()) return {};
    const std::size_t first = taken_;
    if (first == steps_.size()) throw HistoryEnds{};
    if (first + leaves.size() > steps_.size()) {
      complain(fmt::format("starts {} at once", leaves.size()));
      throw HistoryEnds{};
    }
    const Step* failed = nullptr;
    std::size_t failed_at = 0;
    bool all_done = true;
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      const Step& step = steps_[first + i];
      const Member& member = leaves[i].first;
      if (member.child) {
        check_child(step, member);
      } else {
        check_call(step, member.type, member.number, member.text);
      }
      const bool placed = step.group.size() == leaves[i].second &&
                          step.group.front().base == static_cast<std::int64_t>(first) + 1 &&
                          step.group.front().size == static_cast<std::int64_t>(leaves.size()) &&
                          step.group.front().index == static_cast<std::int64_t>(i);
      if (!placed) complain(fmt::format("has member {} elsewhere in its barrier", i));
      all_done = all_done && step.resolved_at;
      if (!step.resolved_at || !step.failure) continue;
      // The first to fail. Two may bear one time, when a clock was set back: then the one that was
      // survived is it.
      const bool earlier =
          !failed || *step.resolved_at < *failed->resolved_at ||
          (*step.resolved_at == *failed->resolved_at && handled_.contains(step.failure_id) &&
           !handled_.contains(failed->failure_id));
      if (earlier) {
        failed = &step;
        failed_at = i;
      }
    }
    taken_ += leaves.size();
    if (!failed && !all_done) throw HistoryEnds{};
    if (failed) {
      now_ = *failed->resolved_at;
      const Member& member = leaves[failed_at].first;
      member.child ? answer(*failed, member)
                   : answer(*failed, member.type, member.number, member.text);
      throw HistoryEnds{};  // never reached: a failed step throws
    }
    std::vector<std::string> results;
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      const Step& step = steps_[first + i];
      const Member& member = leaves[i].first;
      now_ = std::max(now_, *step.resolved_at);
      results.push_back(member.child ? answer(step, member)
                                     : answer(step, member.type, member.number, member.text));
    }
    return results;
  }

  std::string hear() override { return hear_for(-1).value_or(std::string{}); }
  std::optional<std::string> hear(std::chrono::seconds timeout) override {
    return hear_for(timeout.count());
  }

  bool until(const std::function<bool()>& holds, const std::string& key,
             std::optional<std::chrono::seconds> timeout) override {
    const Step& step = take();
    const std::int64_t seconds = timeout ? timeout->count() : -1;
    if (step.kind != Kind::condition || step.detail != key || step.delay.value_or(-1) != seconds) {
      complain(fmt::format("waits for '{}'", key));
    }
    wait(step);
    if (step.held && !holds()) complain(fmt::format("does not have '{}' yet", key));
    return step.held;
  }

  int version(std::string_view change) override {
    settle();
    const bool marked = taken_ < steps_.size() && steps_[taken_].kind == Kind::version;
    // Without a mark: older code was here first, or the run began with other code.
    if (!marked && taken_ == steps_.size() && !closed_) throw HistoryEnds{};
    if (!marked) return default_version;
    const Step& step = take();
    if (step.detail != change || step.number != 1) complain(fmt::format("asks for '{}'", change));
    return static_cast<int>(step.number);
  }

  void remember(const std::string& text) override {
    const Step& step = take();
    if (step.kind != Kind::memo || step.entries != Value{Value::Map{{"said", Value{text}}}}) {
      complain(fmt::format("remembers '{}'", text));
    }
  }

  void whisper(const std::string&) override {}

  [[noreturn]] void again(const Numbers& numbers) override {
    const Step& step = take();
    if (step.kind != Kind::next) complain("continues as new");
    const WorkflowStarted* next = find_start_(step.run);
    if (!next || next->arguments != detail::arguments_of(numbers)) {
      complain("continues as new with other arguments");
    }
    throw Continues{};
  }

  bool all_taken() const { return taken_ == steps_.size(); }
  const std::optional<std::string>& complaint() const { return complaint_; }
  // Those that were applied while the last step was open.
  void settle() {
    for (; settled_ < updates_.size() &&
           updates_[settled_].step <= static_cast<std::int64_t>(taken_) + 1;
         ++settled_) {
      const Update& update = updates_[settled_];
      std::int64_t result = 0;
      try {
        const auto arguments =
            detail::decode_arguments<std::tuple<std::int64_t, std::string>>(update.arguments);
        result = account.add(std::get<0>(*arguments), std::get<1>(*arguments));
      } catch (const std::exception& error) {
        complain(fmt::format("fails an update with '{}'", error.what()));
      }
      if (!update.result || *update.result != detail::encode_or_throw(to_value(result))) {
        complain(fmt::format("answers an update with {}", result));
      }
    }
  }

 private:
  enum class Kind { activity, timer, side_effect, child, signal, condition, version, memo, next };
  struct Step {
    Kind kind;
    std::string detail = {};  // the activity's or child's type, the signal's name, a key
    Payload arguments = {};
    std::optional<std::int64_t> delay = {};
    std::optional<Payload> value = {};
    std::optional<Failure> failure = {};
    FailureId failure_id = {};
    std::string closed_reason = {};
    bool here = false;
    bool timed_out = false;
    bool held = false;
    std::int64_t number = 0;
    std::optional<Timestamp> resolved_at = {};
    RunId run = {};
    ParentClosePolicy policy = {};
    GroupPath group = {};
    Value entries = {};
  };
  struct Update {
    UpdateId id;
    Payload arguments;
    std::int64_t step = 0;
    std::optional<Payload> result = {};
  };
  struct Heard {
    SignalId id;
    std::string name;
    Payload arguments;
    std::int64_t sequence;
  };

  void read(const Event& event) {
    const auto at = event.recorded_at;
    const auto add = [&](Step step, const std::string& id) {
      if (!id.empty()) open_[id] = steps_.size();
      steps_.push_back(std::move(step));
    };
    const auto find = [&](const std::string& id) -> Step& { return steps_[open_.at(id)]; };
    const auto done = [&](const std::string& id) -> Step& {
      find(id).resolved_at = at;
      return find(id);
    };
    const auto failed = [&](const std::string& id, const FailureId& failure_id, Failure failure,
                            std::string reason) {
      Step& step = done(id);
      step.failure = std::move(failure);
      step.failure_id = failure_id;
      step.closed_reason = std::move(reason);
    };
    // A child of the run before belongs to no step of this one.
    const auto ours = [&](const auto& e) { return open_.contains(e.call_id.str()); };
    std::visit(
        overloaded{
            [&](const WorkflowStarted&) { now_ = at; },
            [&](const ActivityScheduled& e) {
              add({.kind = Kind::activity,
                   .detail = e.activity_type,
                   .arguments = e.arguments,
                   .here = e.local,
                   .group = e.group},
                  e.activity_id.str());
            },
            [&](const TimerScheduled& e) {
              if (e.kind.empty()) {
                add({.kind = Kind::timer, .delay = e.delay_seconds}, e.timer_id.str());
              } else {
                bounds_[e.timer_id.str()] = e.wait;
              }
            },
            [&](const SideEffectRecorded& e) {
              add({.kind = Kind::side_effect, .value = e.result, .resolved_at = at}, {});
            },
            [&](const VersionMarkerRecorded& e) {
              add({.kind = Kind::version,
                   .detail = e.change_id,
                   .number = e.version,
                   .resolved_at = at},
                  {});
            },
            [&](const MemoUpserted& e) {
              add({.kind = Kind::memo, .resolved_at = at, .entries = e.entries}, {});
            },
            [&](const ActivityCompleted& e) { done(e.activity_id.str()).value = e.result; },
            [&](const ActivityFailed& e) {
              failed(e.activity_id.str(), e.failure_id, e.failure, {});
            },
            [&](const ActivityTimedOut& e) {
              failed(e.activity_id.str(), e.failure_id,
                     {"dw::ActivityTimedOut", "timeout", e.message, false}, {});
              find(e.activity_id.str()).timed_out = true;
            },
            [&](const TimerFired& e) {
              const auto bound = bounds_.find(e.timer_id.str());
              if (bound == bounds_.end()) {
                done(e.timer_id.str());
                return;
              }
              Step& step = find(bound->second);
              if (step.kind != Kind::signal) return;  // a condition says so itself
              // A signal that came before still wins.
              const auto came = [&](const Heard& signal) { return signal.name == step.detail; };
              if (std::ranges::none_of(signals_, came)) step.resolved_at = at;
            },
            [&](const SignalReceived& e) {
              signals_.push_back({e.signal_id, e.name, e.arguments, event.sequence});
            },
            [&](const SignalWaitOpened& e) {
              add({.kind = Kind::signal, .detail = e.name, .delay = e.timeout}, e.wait_id.str());
            },
            [&](const SignalApplied& e) {
              const auto signal = std::ranges::find(signals_, e.signal_id, &Heard::id);
              if (signal == signals_.end()) return complain("never got that signal");
              done(e.wait_id.str()).value = signal->arguments;
              signals_.erase(signal);
            },
            [&](const ConditionWaitOpened& e) {
              add({.kind = Kind::condition, .detail = e.key, .delay = e.timeout}, e.wait_id.str());
            },
            [&](const ConditionWaitSatisfied& e) { done(e.wait_id.str()).held = true; },
            [&](const ConditionWaitTimedOut& e) { done(e.wait_id.str()); },
            [&](const UpdateAccepted& e) {
              accepted_.push_back({e.update_id, e.arguments});
            },
            [&](const UpdateApplied& e) {
              const auto update = std::ranges::find(accepted_, e.update_id, &Update::id);
              if (update == accepted_.end()) return complain("never got that update");
              updates_.push_back({update->id, update->arguments, e.step, {}});
            },
            [&](const UpdateCompleted& e) {
              const auto update = std::ranges::find(updates_, e.update_id, &Update::id);
              if (update != updates_.end()) update->result = e.result;
            },
            [&](const ChildWorkflowScheduled& e) {
              add({.kind = Kind::child,
                   .detail = e.workflow_type,
                   .policy = e.policy,
                   .group = e.group},
                  e.call_id.str());
            },
            [&](const ChildRunStarted& e) {
              if (ours(e) && find(e.call_id.str()).run.empty())
                find(e.call_id.str()).run = e.run_id;
            },
            [&](const ChildRunCompleted& e) {
              if (ours(e)) done(e.call_id.str()).value = e.output;
            },
            [&](const ChildRunFailed& e) {
              if (ours(e)) failed(e.call_id.str(), e.failure_id, e.failure, e.closed_reason);
            },
            [&](const ChildRunCancelled& e) {
              if (ours(e)) {
                failed(e.call_id.str(), e.failure_id, {"WorkflowCancelled", {}, e.message, false},
                       "cancelled");
              }
            },
            [&](const ChildRunTerminated& e) {
              if (ours(e)) {
                failed(e.call_id.str(), e.failure_id, {"WorkflowTerminated", {}, e.message, false},
                       "terminated");
              }
            },
            [&](const WorkflowContinuedAsNew& e) {
              add({.kind = Kind::next, .resolved_at = at, .run = e.run_id}, {});
            },
            [&](const WorkflowCompleted&) { closed_ = true; },
            [&](const WorkflowFailed&) { closed_ = true; },
            [&](const FailureHandled& e) { handled_.insert(e.failure_id); },
            [](const auto&) {}},
        event.body);
  }

  static void flatten(const std::vector<Member>& members, std::size_t depth,
                      std::vector<std::pair<Member, std::size_t>>& leaves) {
    for (const Member& member : members) {
      if (member.barrier()) {
        flatten(member.members, depth + 1, leaves);
      } else {
        leaves.emplace_back(member, depth);
      }
    }
  }

  void check_call(const Step& step, std::string_view activity, std::int64_t number,
                  const std::string& text, bool here = false) {
    if (step.kind != Kind::activity || step.detail != activity || step.here != here ||
        step.arguments != detail::arguments_of(number, text)) {
      complain(fmt::format("asks for activity {}({}, '{}')", activity, number, text));
    }
  }

  void check_child(const Step& step, const Member& member) {
    const WorkflowStarted* start = find_start_(step.run);
    if (step.kind != Kind::child || step.detail != member.type || !start ||
        start->arguments != detail::arguments_of(*member.child) ||
        step.policy != static_cast<ParentClosePolicy>(member.policy)) {
      complain(fmt::format("starts a child {}", member.type));
    }
  }

  std::string answer(const Step& step, std::string_view activity, std::int64_t number,
                     const std::string& text) {
    const Expected expected = expected_of(activity, number, text);
    if (step.failure) {
      const Failure& failure = *step.failure;
      if (!step.timed_out && (!expected.fails || failure.message != expected.text)) {
        complain(fmt::format("does not get '{}' from {}", failure.message, activity));
      }
      throw ActivityError{std::string{activity}, failure.exception_class, failure.exception_type,
                          failure.message};
    }
    if (expected.fails || step.value != detail::encode_or_throw(to_value(expected.text))) {
      complain(fmt::format("gets '{}' from {}", expected.text, activity));
    }
    return expected.text;
  }

  // The child is compared on its own; here counts what it told.
  std::string answer(const Step& step, const Member& member) {
    if (step.failure) {
      throw ChildError{std::string{member.type}, step.closed_reason, step.failure->exception_class,
                       step.failure->exception_type, step.failure->message};
    }
    if (!step.value) return {};
    return detail::result_as<std::string>(*step.value, "a child");
  }

  std::optional<std::string> hear_for(std::int64_t timeout) {
    const Step& step = take();
    if (step.kind != Kind::signal || step.detail != word.name ||
        step.delay.value_or(-1) != timeout) {
      complain("waits for a word");
    }
    wait(step);
    if (!step.value) return std::nullopt;
    return detail::signal_value<std::string>(*step.value, word.name);
  }

  const Step& take() {
    settle();
    if (taken_ == steps_.size()) throw HistoryEnds{};
    return steps_[taken_++];
  }
  void wait(const Step& step) {
    if (!step.resolved_at) throw HistoryEnds{};
    now_ = *step.resolved_at;
  }
  void complain(std::string what) {
    if (!complaint_) {
      complaint_ =
          fmt::format("step {}: plain code {}, history holds something else", taken_, what);
    }
  }

  const FindStart& find_start_;
  std::vector<Step> steps_;
  std::map<std::string, std::size_t> open_;
  std::map<std::string, std::string> bounds_;  // timer to wait
  std::vector<Heard> signals_;                 // not yet applied, while reading
  std::vector<Update> accepted_;
  std::vector<Update> updates_;  // applied
  std::size_t settled_ = 0;
  std::set<FailureId> handled_;
  std::size_t taken_ = 0;
  Timestamp now_;
  bool closed_ = false;  // by its own code
  std::optional<std::string> complaint_;
};

const WorkflowStarted* start_of(std::span<const Event> events) {
  for (const Event& event : events) {
    if (const auto* start = std::get_if<WorkflowStarted>(&event.body)) return start;
  }
  return nullptr;
}

}  // namespace

std::optional<std::string> compare_with_model(std::span<const Event> events,
                                              const FindStart& find_start) {
  const WorkflowStarted* start = start_of(events);
  const WorkflowCompleted* completed = nullptr;
  const WorkflowFailed* failed = nullptr;
  const WorkflowContinuedAsNew* continued = nullptr;
  for (const Event& event : events) {
    if (const auto* e = std::get_if<WorkflowCompleted>(&event.body)) completed = e;
    if (const auto* e = std::get_if<WorkflowFailed>(&event.body)) failed = e;
    if (const auto* e = std::get_if<WorkflowContinuedAsNew>(&event.body)) continued = e;
  }
  if (!start) return "the run never started";
  const Body body = find_body(start->workflow_type);
  const auto arguments = detail::decode_arguments<std::tuple<Numbers>>(start->arguments);
  if (!body || !arguments) return "nobody asked for such a run";

  ModelOps ops{events, find_start};
  std::optional<std::string> answer;
  std::optional<std::string> failure;
  bool continues = false;
  try {
    answer = body(ops, std::get<0>(*arguments));
  } catch (const ActivityError& error) {
    failure = error.message();
  } catch (const ChildError& error) {
    failure = error.message();
  } catch (const Continues&) {
    continues = true;
  } catch (const HistoryEnds&) {
  }
  if (ops.complaint()) return ops.complaint();
  if (!ops.all_taken()) return "history holds more steps than plain code takes";
  if (continued && !continues) return "the run continued as new, plain code does not";
  if (completed) {
    if (!answer) return "the run completed, plain code does not";
    if (completed->output != detail::encode_or_throw(to_value(*answer))) {
      return fmt::format("the run's output is not '{}', which plain code answers", *answer);
    }
  } else if (failed) {
    if (!failure) return "the run failed, plain code does not: " + failed->failure.message;
    if (failed->failure.message != *failure) {
      return fmt::format("the run failed with '{}', plain code with '{}'", failed->failure.message,
                         *failure);
    }
  }
  return std::nullopt;
}

std::string look_at_model(std::span<const Event> events, const FindStart& find_start) {
  const WorkflowStarted* start = start_of(events);
  ModelOps ops{events, find_start};
  const auto arguments = detail::decode_arguments<std::tuple<Numbers>>(start->arguments);
  try {
    find_body(start->workflow_type)(ops, std::get<0>(*arguments));
  } catch (const ActivityError&) {
  } catch (const ChildError&) {
  } catch (const Continues&) {
  } catch (const HistoryEnds&) {
  }
  return ops.account.look();
}

}  // namespace dw::sim
