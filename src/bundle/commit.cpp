#include "bundle/commit.hpp"

#include "history/codec.hpp"

namespace dw::bundle {

Result<Commit> parse_commit(CommitId id, std::int64_t first_sequence, Timestamp recorded_at,
                            std::string_view events) {
  Commit commit{std::move(id), {}};
  for (auto& body : DW_TRY(history::parse_events(events))) {
    commit.events.push_back({first_sequence++, recorded_at, std::move(body)});
  }
  return commit;
}

std::string stored_form(const Commit& commit) {
  std::vector<history::EventBody> bodies;
  bodies.reserve(commit.events.size());
  for (const auto& event : commit.events) bodies.push_back(event.body);
  std::string text;
  history::append_events(text, bodies);
  return text;
}

std::vector<history::Event> events_of(std::span<const Commit> commits) {
  std::vector<history::Event> events;
  for (const Commit& commit : commits) {
    events.insert(events.end(), commit.events.begin(), commit.events.end());
  }
  return events;
}

}  // namespace dw::bundle
