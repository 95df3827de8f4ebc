#include "bundle/findings.hpp"
#include "bundle/read.hpp"
#include "bundle/tree.hpp"
#include "history/codec.hpp"
#include "history/fold.hpp"
#include "history/render.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace dw::bundle {
namespace {

std::string place(std::size_t index) {
  return fmt::format("history_events.{}", index);
}

class Sequences {
 public:
  explicit Sequences(Findings& findings) : findings_(findings) {}

  void check(const Value& event, std::size_t index) {
    const Value* sequence = event.find("sequence");
    if (!sequence || !sequence->if_integer()) {
      findings_.error("history_events.sequence_missing",
                      fmt::format("event {} has no sequence number", index), place(index));
      return;
    }
    const auto number = *sequence->if_integer();
    if (number <= last_) {
      findings_.error("history_events.sequence_not_monotonic",
                      fmt::format("sequence {} comes after {}", number, last_), place(index));
    } else if (number != last_ + 1) {
      findings_.error("history_events.sequence_gap",
                      fmt::format("sequence {} follows {}: events are missing", number, last_),
                      place(index));
    }
    last_ = number;
    highest_ = std::max(highest_, number);
  }
  void check_end(const Value& bundle) {
    const Value* declared = find_at(bundle, "workflow.last_history_sequence");
    if (!declared || !declared->if_integer()) return;
    const auto number = *declared->if_integer();
    const auto message =
        fmt::format("workflow.last_history_sequence is {}, the last event is {}", number, highest_);
    if (number < highest_) {
      findings_.warning("workflow.last_history_sequence_stale", message,
                        "workflow.last_history_sequence");
    } else if (number > highest_) {
      findings_.error("history_events.truncated", message, "history_events");
    }
  }

 private:
  Findings& findings_;
  std::int64_t last_ = 0;
  std::int64_t highest_ = 0;
};

void check_types(const Value::Array& events, Findings& findings) {
  const auto known = history::all_types();
  std::set<std::string> ids;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const auto type = text_at(events[i], "type");
    if (type.empty()) {
      findings.error("history_events.type_missing", fmt::format("event {} has no type", i),
                     place(i));
    } else if (std::ranges::find(known, type) == known.end()) {
      findings.warning("history_events.type_unknown",
                       fmt::format("this engine does not know events of type {}", type), place(i));
    }
    const auto id = text_at(events[i], "id");
    if (!id.empty() && !ids.insert(id).second) {
      findings.error("history_events.id_duplicate", fmt::format("two events have the id {}", id),
                     place(i));
    }
  }
}

// A run that has ended says so in its history, in its status and in history_complete alike.
void check_completeness(const Value& bundle, const Value::Array& events, Findings& findings) {
  static constexpr std::string_view endings[] = {"WorkflowCompleted", "WorkflowFailed",
                                                 "WorkflowCancelled", "WorkflowTerminated",
                                                 "WorkflowTimedOut",  "WorkflowContinuedAsNew"};
  static constexpr std::string_view ended[] = {"completed", "failed", "cancelled", "terminated"};
  const bool has_ending = std::ranges::any_of(events, [](const Value& event) {
    return std::ranges::find(endings, text_at(event, "type")) != std::end(endings);
  });
  const Value* status = find_at(bundle, "workflow.status");
  const bool says_ended = status && status->if_string() &&
                          std::ranges::find(ended, *status->if_string()) != std::end(ended);
  const Value* complete = bundle.find("history_complete");
  const bool says_complete = complete && complete->if_boolean() && *complete->if_boolean();
  if (has_ending == says_ended && says_ended == says_complete) return;
  findings.error(
      "bundle.history_complete_mismatch",
      fmt::format("history_complete is {}, the run's status {}, and its history {}", says_complete,
                  says_ended ? "an end" : "not an end", has_ending ? "has ended" : "has not ended"),
      "history_complete");
}

// Whether two renderings say the same. Builds before and after ours may show a key more or less of
// an event; what both show must be equal.
bool agree(const Value& left, const Value& right) {
  if (const auto* map = left.if_map(); map && right.if_map()) {
    return std::ranges::all_of(*map, [&](const auto& entry) {
      const Value* other = right.find(entry.first);
      return !other || agree(entry.second, *other);
    });
  }
  const auto *items = left.if_array(), *others = right.if_array();
  return items && others ? std::ranges::equal(*items, *others, agree) : left == right;
}

// Facts are what a replay believes, the rest is what people read: neither may tell another story.
void check_facts(const Value& bundle, const Value::Array& events, Findings& findings) {
  const auto lacks_facts = [](const Value& event) {
    const Value* facts = event.find("facts");
    return !facts || facts->is_null();
  };
  const auto lacking = std::ranges::count_if(events, lacks_facts);
  if (lacking > 0) {
    findings.info("history_events.facts_missing",
                  fmt::format("{} of {} events are without their facts: the bundle can be read, "
                              "not replayed",
                              lacking, events.size()),
                  "history_events");
    return;
  }
  const auto invalid = [&](const Error& error) {
    findings.error("history_events.facts_invalid", error.message, "history_events");
  };
  if (find_twin(bundle)) return;  // which is found elsewhere, and cannot be read
  const auto run = events_of_parsed(bundle);
  if (!run) return invalid(run.error());
  if (const auto folded = history::fold(events_of(run->commits)); !folded) {
    return invalid(folded.error());
  }
  history::Renderer renderer{run->run_id};
  std::size_t index = 0;
  for (const Commit& commit : run->commits) {
    const auto rendered = renderer.render(commit.id, commit.events);
    if (!rendered) return invalid(rendered.error());
    for (const auto& text : *rendered) {
      const auto shown = parse_json(text);
      if (!shown) return invalid(shown.error());
      const Value& event = events[index++];
      const auto same = [&](std::string_view key) {
        const Value* found = event.find(key);
        return found && agree(*found, *shown->find(key));
      };
      if (same("id") && same("type") && same("payload") && same("recorded_at")) continue;
      findings.error("history_events.facts_mismatch",
                     fmt::format("the facts of event {} are not what it shows", index),
                     place(index - 1));
    }
  }
}

}  // namespace

void check_history(const Value& bundle, Findings& findings) {
  const Value* list = bundle.find("history_events");
  const auto* events = list ? list->if_array() : nullptr;
  if (!events) return;
  bool all_objects = true;
  Sequences sequences{findings};
  for (std::size_t i = 0; i < events->size(); ++i) {
    if ((*events)[i].if_map()) {
      sequences.check((*events)[i], i);
      continue;
    }
    all_objects = false;
    findings.error("history_events.entry_invalid", fmt::format("event {} is no object", i),
                   place(i));
  }
  sequences.check_end(bundle);
  check_types(*events, findings);
  check_completeness(bundle, *events, findings);
  if (all_objects) check_facts(bundle, *events, findings);
}

}  // namespace dw::bundle
