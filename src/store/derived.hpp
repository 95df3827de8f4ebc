// What a store's rows should say, from the history beside them.
#pragma once
#include "engine/decide.hpp"
#include "store/store.hpp"

namespace dw::store {

// Stored commits as events.
Result<std::vector<history::Event>> events_of(std::span<const StoredCommit> commits);

// The row of a run that stands there.
RunRow row_of(const engine::Run& run, std::int64_t history_bytes, const CommitId& version);

}  // namespace dw::store
