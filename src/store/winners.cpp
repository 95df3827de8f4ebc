#include "store/winners.hpp"

#include <algorithm>
#include <type_traits>

namespace dw::store {
namespace {

// Streams sort by kind, as the alternatives of StreamKey do, then by key.
template <typename Key, std::size_t place = 0>
constexpr std::size_t kind_of() {
  if constexpr (std::is_same_v<Key, std::variant_alternative_t<place, StreamKey>>) {
    return place;
  } else {
    return kind_of<Key, place + 1>();
  }
}

template <typename Key>
bool before(const StreamKey& stream, const Key& key) {
  const auto* other = std::get_if<Key>(&stream);
  return other != nullptr ? *other < key : stream.index() < kind_of<Key>();
}

template <typename Key>
StreamVersion* find(std::span<StreamVersion> versions, const Key& key) {
  const auto found = std::lower_bound(
      versions.begin(), versions.end(), key,
      [](const StreamVersion& version, const Key& k) { return before(*version.stream, k); });
  if (found == versions.end()) return nullptr;
  const auto* stream = std::get_if<Key>(found->stream);
  return stream != nullptr && *stream == key ? &*found : nullptr;
}

CommitOutcome judge_one(const Transition& transition, std::span<StreamVersion> versions) {
  for (const StreamRead& read : transition.reads) {
    const StreamVersion* now =
        std::visit([&](const auto& key) { return find(versions, key); }, read.stream);
    const bool exists = now != nullptr && !now->version.empty();
    if (exists ? now->version == read.last_commit : read.last_commit.empty()) continue;
    return Lost{read.stream, exists ? now->version : CommitId{}};
  }
  return Won{};
}

// Names sort last.
void release_names(const ScheduleUlid& ulid, std::span<StreamVersion> versions) {
  for (auto name = versions.rbegin(); name != versions.rend(); ++name) {
    if (!std::holds_alternative<ScheduleName>(*name->stream)) return;
    if (!name->holder || *name->holder != ulid) continue;
    name->version = {};
    name->holder.reset();
  }
}

void advance_schedules(const Transition& winner, std::span<StreamVersion> versions) {
  for (const PurgedSchedule& purged : winner.purged_schedules) {
    if (auto* version = find(versions, purged.ulid)) version->version = {};
    release_names(purged.ulid, versions);
  }
  for (const ScheduleRow& row : winner.schedules) {
    if (auto* version = find(versions, row.ulid)) version->version = winner.id;
    if (row.status == schedule_deleted) release_names(row.ulid, versions);
  }
  for (const ScheduleRow& row : winner.schedules) {
    if (row.status == schedule_deleted) continue;
    auto* name = find(versions, ScheduleName{row.ns, row.schedule_id});
    if (name == nullptr) continue;
    name->version = winner.id;
    name->holder = std::make_unique<ScheduleUlid>(row.ulid);
  }
}

// What nobody in the batch read has no entry and needs none.
void advance(const Transition& winner, std::span<StreamVersion> versions) {
  for (const RunRow& run : winner.runs) {
    if (auto* version = find(versions, run.run_id)) version->version = winner.id;
  }
  for (const InstanceRow& instance : winner.instances) {
    if (auto* version = find(versions, instance.key)) version->version = winner.id;
  }
  for (const PrunedRun& run : winner.prunes) {
    if (auto* version = find(versions, run.run_id)) version->version = {};
  }
  advance_schedules(winner, versions);
}

}  // namespace

std::vector<StreamVersion> streams_of(std::span<const Transition> batch) {
  std::vector<StreamVersion> streams;
  streams.reserve(batch.size());
  for (const Transition& transition : batch) {
    for (const StreamRead& read : transition.reads) streams.push_back({&read.stream, {}, {}});
  }
  std::sort(streams.begin(), streams.end(), [](const StreamVersion& a, const StreamVersion& b) {
    return std::visit([&](const auto& key) { return before(*a.stream, key); }, *b.stream);
  });
  streams.erase(std::unique(streams.begin(), streams.end(),
                            [](const StreamVersion& a, const StreamVersion& b) {
                              return *a.stream == *b.stream;
                            }),
                streams.end());
  return streams;
}

std::vector<CommitOutcome> judge(std::span<const Transition> batch,
                                 std::span<StreamVersion> versions) {
  std::vector<CommitOutcome> outcomes;
  outcomes.reserve(batch.size());
  for (const Transition& transition : batch) {
    outcomes.push_back(judge_one(transition, versions));
    if (std::holds_alternative<Won>(outcomes.back())) advance(transition, versions);
  }
  return outcomes;
}

Existed existed(const Transition& winner, const RunId& run) {
  for (const StreamRead& read : winner.reads) {
    const auto* other = std::get_if<RunId>(&read.stream);
    if (other == nullptr || *other != run) continue;
    return read.last_commit.empty() ? Existed::no : Existed::yes;
  }
  return Existed::unknown;
}

}  // namespace dw::store
