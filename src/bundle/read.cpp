#include "bundle/read.hpp"

#include "bundle/tree.hpp"

#include <fmt/format.h>

namespace dw::bundle {
namespace {

Result<history::Event> event_of(const Value& row, std::int64_t expected) {
  const Value* sequence = row.find("sequence");
  const Value* facts = row.find("facts");
  if (!sequence || !sequence->if_integer() || *sequence->if_integer() != expected) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("the bundle has no event {} where it belongs", expected)};
  }
  if (!facts || !facts->if_map()) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("event {} of the bundle is without its facts, so it can be read but "
                             "not replayed; export it without redaction",
                             expected)};
  }
  const Timestamp recorded_at = DW_TRY(parse_timestamp(text_at(row, "recorded_at")));
  auto commit = DW_TRY(parse_commit({}, expected, recorded_at, "[" + to_json(*facts) + "]"));
  return std::move(commit.events.front());
}

}  // namespace

Result<BundledRun> events_of_parsed(const Value& bundle) {
  const Value* run_id = find_at(bundle, "workflow.run_id");
  const Value* rows = bundle.find("history_events");
  if (!run_id || !run_id->if_string() || !rows || !rows->if_array()) {
    return Error{ErrorCode::invalid_argument,
                 "this is no history bundle: it lacks a run or events"};
  }
  if (const auto twin = find_twin(bundle)) {
    return Error{
        ErrorCode::invalid_argument,
        fmt::format("the bundle says {} twice, and readers disagree on which counts", *twin)};
  }
  BundledRun run{RunId{*run_id->if_string()}, {}};
  std::int64_t sequence = 0;
  for (const Value& row : *rows->if_array()) {
    auto event = DW_TRY(event_of(row, ++sequence));
    const CommitId id{text_at(row, "commit_id")};
    if (run.commits.empty() || run.commits.back().id != id) run.commits.push_back({id, {}});
    run.commits.back().events.push_back(std::move(event));
  }
  return run;
}

Result<BundledRun> events_of_bundle(std::string_view text) {
  return events_of_parsed(DW_TRY(parse_json(text)));
}

}  // namespace dw::bundle
