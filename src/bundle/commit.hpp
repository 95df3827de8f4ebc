// A run's history as it was committed. Exports keep the commits, because an event's id follows from
// the commit that carries it, and whoever takes a bundle in again appends what was appended then.
#pragma once
#include "history/events.hpp"

#include <span>
#include <string_view>
#include <vector>

namespace dw::bundle {

struct Commit {
  CommitId id;
  std::vector<history::Event> events;  // never empty
  friend bool operator==(const Commit&, const Commit&) = default;
};

// Reads a stored row. Fails with corrupt_history where history::parse_events does.
Result<Commit> parse_commit(CommitId id, std::int64_t first_sequence, Timestamp recorded_at,
                            std::string_view events);

// The stored form of its events, as it counts towards the size of a history.
std::string stored_form(const Commit& commit);

std::vector<history::Event> events_of(std::span<const Commit> commits);

}  // namespace dw::bundle
