#include "shape.hpp"

#include "core/base64.hpp"

#include <dw/payload.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace dw::random_programs {
namespace {

using testing::History;
using testing::HistoryEvent;

const Value* find(const HistoryEvent& event, std::initializer_list<std::string_view> path) {
  const Value* value = &event.facts;
  for (const auto key : path) {
    value = value ? value->find(key) : nullptr;
  }
  return value;
}

std::string text(const HistoryEvent& event, std::initializer_list<std::string_view> path) {
  const Value* value = find(event, path);
  if (!value) return {};
  return value->if_string() ? *value->if_string() : to_json(*value);
}
std::string text(const HistoryEvent& event, std::string_view key) {
  return text(event, {key});
}

// A payload as people read it.
std::string content(const HistoryEvent& event, std::string_view key) {
  const auto blob = decode_base64(text(event, {key, "blob"}));
  if (!blob) return "";
  const auto value = decode(Payload{text(event, {key, "codec"}), *blob});
  return value ? to_json(*value) : "?";
}

std::string exception(const HistoryEvent& event) {
  return fmt::format("{} {}", text(event, {"exception", "class"}),
                     text(event, {"exception", "message"}));
}

const std::set<std::string, std::less<>> attempts{"ActivityStarted", "ActivityHeartbeatRecorded",
                                                  "ActivityRetryScheduled"};
const std::set<std::string, std::less<>> failing_ends{"ActivityFailed", "ActivityTimedOut",
                                                      "ChildRunFailed", "ChildRunCancelled",
                                                      "ChildRunTerminated"};

// What a step asked for.
std::string request(const HistoryEvent& event) {
  std::string line = event.type;
  for (const char* key : {"activity_type", "delay_seconds", "change_id", "version", "attributes",
                          "entries", "signal_name", "condition_key", "timeout_seconds",
                          "child_workflow_type", "parent_close_policy", "parallel_group_path"}) {
    if (const auto said = text(event, key); !said.empty()) line += " " + said;
  }
  return line;
}

// What became of it, or what came from outside.
std::string answer(const HistoryEvent& event) {
  std::string line = event.type;
  for (const char* key : {"outcome", "rejection_reason", "signal_name", "update_name", "reason",
                          "timeout_kind", "closed_reason", "policy", "error", "terminal_reason"}) {
    if (const auto said = text(event, key); !said.empty()) line += " " + said;
  }
  for (const char* key : {"arguments", "result", "output"}) {
    if (find(event, {key})) line += " " + content(event, key);
  }
  if (find(event, {"exception"})) line += " " + exception(event);
  return line;
}

struct Step {
  std::string request;
  std::string barrier;  // the first step of the outermost barrier around it
  std::vector<std::string> outcomes;
};

class RunShape {
 public:
  RunShape(const History& history, const std::map<std::string, std::string>& calls, bool timed,
           Timestamp begin)
      : calls_(calls), timed_(timed), begin_(begin) {
    for (const HistoryEvent& event : history.events) take(event);
  }

  std::vector<std::string> lines() const {
    std::vector<std::string> lines;
    for (const auto& [number, step] : steps_) {
      std::string line = fmt::format("{} {}", number, step.request);
      if (failed_.contains(step.barrier)) {
        line += " | of a failed barrier";
      } else {
        for (const auto& outcome : step.outcomes) line += " | " + outcome;
      }
      lines.push_back(std::move(line));
    }
    lines.insert(lines.end(), handled_.begin(), handled_.end());
    auto mail = mail_;
    if (!timed_) {
      std::stable_partition(mail.begin(), mail.end(), [](const std::string& line) {
        return line.starts_with("SignalReceived bell");
      });
    }
    lines.insert(lines.end(), mail.begin(), mail.end());
    lines.insert(lines.end(), end_.begin(), end_.end());
    lines.insert(lines.end(), after_.begin(), after_.end());
    return lines;
  }

 private:
  void take(const HistoryEvent& event) {
    const std::string& type = event.type;
    if (attempts.contains(type) || type == "ChildRunStarted") return;
    if (type == "FailureHandled") return take_handled(event);
    if (type == "UpdateApplied") {
      return mail_.push_back(at(event, type + " at step " + text(event, "sequence")));
    }
    if (type == "WorkflowContinuedAsNew") return end_.push_back(at(event, type));
    if (type.starts_with("ParentClosePolicy")) {
      after_.insert(at(event, answer(event) + " " + call(event)));
      return;
    }
    if (!timed_ && of_signal_timer(event)) return;
    if (find(event, {"sequence"})) return open(event);
    if (auto* step = step_of(event)) return close(*step, event);
    if (type.starts_with("ChildRun")) return;  // of a child that was inherited
    if (type.starts_with("Workflow") && type != "WorkflowStarted") {
      return end_.push_back(at(event, answer(event)));
    }
    if (type == "WorkflowStarted") {
      return mail_.push_back(at(event, type + " " + text(event, "workflow_type")));
    }
    if (type == "SignalReceived") signals_[text(event, "signal_id")] = content(event, "arguments");
    mail_.push_back(at(event, answer(event)));
  }

  bool of_signal_timer(const HistoryEvent& event) {
    if (text(event, "timer_kind") == "signal_timeout") {
      signal_timers_.insert(text(event, "timer_id"));
      return true;
    }
    return signal_timers_.contains(text(event, "timer_id"));
  }

  void open(const HistoryEvent& event) {
    const int number = std::stoi(text(event, "sequence"));
    Step& step = steps_[number];
    step.request += (step.request.empty() ? "" : " + ") + at(event, request(event));
    if (const Value* path = find(event, {"parallel_group_path"}); path && path->if_array()) {
      step.barrier = to_json(*path->if_array()->front().find("base"));
    }
    for (const char* key : {"activity_execution_id", "timer_id", "signal_wait_id",
                            "condition_wait_id", "child_call_id"}) {
      if (const auto id = text(event, key); !id.empty()) step_by_id_[id] = number;
    }
  }

  Step* step_of(const HistoryEvent& event) {
    if (event.type == "SignalReceived") return nullptr;  // it may name the wait it came for
    for (const char* key : {"activity_execution_id", "timer_id", "signal_wait_id",
                            "condition_wait_id", "child_call_id"}) {
      const auto found = step_by_id_.find(text(event, key));
      if (found != step_by_id_.end()) return &steps_[found->second];
    }
    return nullptr;
  }

  void close(Step& step, const HistoryEvent& event) {
    std::string line = answer(event);
    if (event.type == "SignalApplied") line += " " + signals_[text(event, "signal_id")];
    step.outcomes.push_back(at(event, line));
    if (failing_ends.contains(event.type) && !step.barrier.empty()) failed_.insert(step.barrier);
  }

  void take_handled(const HistoryEvent& event) {
    const Step& step = steps_[std::stoi(text(event, "sequence"))];
    const bool barrier = !step.barrier.empty();
    handled_.push_back(
        at(event, fmt::format("FailureHandled of {} {}", barrier ? "barrier" : "step",
                              barrier ? step.barrier : text(event, "sequence"))));
  }

  std::string call(const HistoryEvent& event) const {
    const auto found = calls_.find(text(event, "child_call_id"));
    return found == calls_.end() ? "of nobody" : found->second;
  }

  std::string at(const HistoryEvent& event, std::string line) const {
    if (!timed_) return line;
    return fmt::format("{} @{}", line,
                       static_cast<double>((event.recorded_at - begin_).count()) / 1e6);
  }

  const std::map<std::string, std::string>& calls_;
  const bool timed_;
  const Timestamp begin_;
  std::map<int, Step> steps_;
  std::map<std::string, int> step_by_id_;
  std::map<std::string, std::string> signals_;
  std::set<std::string> signal_timers_;
  std::set<std::string> failed_;  // barriers, by their first step
  std::vector<std::string> handled_, mail_, end_;
  std::multiset<std::string> after_;
};

class Family {
 public:
  explicit Family(const std::vector<History>& family) {
    for (const History& history : family) {
      runs_[history.run_id] = &history;
      begin_ = std::min(begin_, history.events.front().recorded_at);
    }
    for (const History& history : family) {
      for (const HistoryEvent& event : history.events) {
        if (event.type != "ChildWorkflowScheduled") continue;
        calls_[text(event, "child_call_id")] =
            fmt::format("{}/{}", path(history), text(event, "sequence"));
      }
    }
  }

  std::vector<std::string> lines(bool timed) const {
    std::map<std::string, const History*> sorted;
    for (const auto& [id, history] : runs_) sorted[path(*history)] = history;
    std::vector<std::string> lines;
    for (const auto& [path, history] : sorted) {
      lines.push_back(path);
      for (const auto& line : RunShape{*history, calls_, timed, begin_}.lines()) {
        lines.push_back("  " + line);
      }
    }
    return lines;
  }

 private:
  std::string path(const History& history) const {
    const auto& events = history.events;
    const auto started = std::ranges::find(events, "WorkflowStarted", &HistoryEvent::type);
    const auto parent = runs_.find(text(*started, {"lineage", "parent_workflow_run_id"}));
    const std::string above = parent == runs_.end()
                                  ? text(*started, "workflow_instance_id")
                                  : fmt::format("{}/{}", path(*parent->second),
                                                text(*started, {"lineage", "parent_sequence"}));
    return fmt::format("{}#{}", above, text(*started, "run_number"));
  }

  std::map<std::string, const History*> runs_;
  std::map<std::string, std::string> calls_;
  Timestamp begin_ = Timestamp::max();
};

}  // namespace

std::vector<std::string> shape_of(const std::vector<History>& family, bool timed) {
  return Family{family}.lines(timed);
}

}  // namespace dw::random_programs
