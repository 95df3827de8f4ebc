#include "store/winners.hpp"

#include <algorithm>

namespace dw::store {
namespace {

// Runs sort before instances, as the alternatives of StreamKey do.
bool before(const StreamKey& stream, const RunId& run) {
  const auto* other = std::get_if<RunId>(&stream);
  return other != nullptr && *other < run;
}

bool before(const StreamKey& stream, const InstanceKey& instance) {
  const auto* other = std::get_if<InstanceKey>(&stream);
  return other == nullptr || *other < instance;
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
}

}  // namespace

std::vector<StreamVersion> streams_of(std::span<const Transition> batch) {
  std::vector<StreamVersion> streams;
  streams.reserve(batch.size());
  for (const Transition& transition : batch) {
    for (const StreamRead& read : transition.reads) streams.push_back({&read.stream, {}});
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
