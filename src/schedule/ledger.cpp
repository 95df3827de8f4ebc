#include "schedule/ledger.hpp"

#include <algorithm>
#include <array>

namespace dw::schedule {
namespace {

constexpr std::array<std::string_view, 4> mode_names{"tick", "drain", "trigger", "backfill"};
constexpr std::array<std::string_view, 5> outcome_names{"fired", "skipped", "buffered", "dropped",
                                                        "failed"};

template <typename Enum, std::size_t n>
std::optional<Enum> word_among(const std::array<std::string_view, n>& words,
                               std::string_view word) {
  const auto found = std::ranges::find(words, word);
  if (found == words.end()) return std::nullopt;
  return static_cast<Enum>(found - words.begin());
}

// How a skip went, judged by its reason: something is in the way, something is broken, or that is
// just how it was meant.
std::string_view result_of_skip(const LedgerEntry& entry) {
  constexpr std::string_view throttled[] = {"overlap_in_flight", "schedule_slot_exists",
                                            "buffer_full", "workspace_busy"};
  constexpr std::string_view broken[] = {"cycle_detected", "action_unresolvable"};
  if (std::ranges::find(throttled, entry.reason) != std::end(throttled)) return "throttled";
  if (std::ranges::find(broken, entry.reason) != std::end(broken)) return "failed";
  if (entry.reason == "budget_exceeded") return "budget_exceeded";
  if (entry.detail.find("error") != nullptr) return "failed";
  return "skipped";
}

}  // namespace

std::string_view to_string(Mode mode) {
  return mode_names[static_cast<std::size_t>(mode)];
}

std::optional<Mode> find_mode(std::string_view name) {
  return word_among<Mode>(mode_names, name);
}

std::string_view to_string(LedgerOutcome outcome) {
  return outcome_names[static_cast<std::size_t>(outcome)];
}

std::optional<LedgerOutcome> find_ledger_outcome(std::string_view name) {
  return word_among<LedgerOutcome>(outcome_names, name);
}

bool takes_slot(const LedgerEntry& entry) {
  return entry.nth == the_occurrence && entry.outcome == LedgerOutcome::fired;
}

ActionLogRow action_log_row(std::string_view schedule_id, const LedgerEntry& entry) {
  ActionLogRow row;
  Value::Map payload;
  const bool dispatched =
      entry.outcome == LedgerOutcome::fired || entry.outcome == LedgerOutcome::failed;
  if (dispatched) {
    row.action_type = "dispatch_schedule";
    row.result = entry.outcome == LedgerOutcome::fired ? "success" : "failed";
  } else if (entry.outcome == LedgerOutcome::buffered) {
    row.action_type = "schedule_buffered";
    row.result = "buffered";
  } else {
    row.action_type = "schedule_skipped";
    row.result = result_of_skip(entry);
  }
  if (!entry.reason.empty() && !dispatched) payload.emplace_back("reason", entry.reason);
  payload.emplace_back("schedule_id", schedule_id);
  if (!entry.run_id.empty()) payload.emplace_back("run_id", entry.run_id);
  if (dispatched) payload.emplace_back("trigger_mode", to_string(entry.mode));
  payload.emplace_back("scheduled_for", format_timestamp(entry.nominal_at));
  if (entry.until) payload.emplace_back("until", format_timestamp(*entry.until));
  if (entry.nth == a_stretch) payload.emplace_back("count", entry.count);
  if (const auto* detail = entry.detail.if_map()) {
    payload.insert(payload.end(), detail->begin(), detail->end());
  }
  row.payload = std::move(payload);
  return row;
}

}  // namespace dw::schedule
