#include "testing/recorded.hpp"

#include "bundle/read.hpp"
#include "core/unwrap.hpp"
#include "history/codec.hpp"
#include "store/sqlite/sqlite_store.hpp"
#include "testing/environment.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dw::testing {
namespace {

Error no_history(std::string_view what) {
  return {ErrorCode::invalid_argument,
          fmt::format("cannot read a history: {}; write it with History::to_json(), `dw "
                      "run:history --json` or `dw history-export`",
                      what)};
}

HistoryEvent to_public(const history::Event& event) {
  std::string text;
  history::append_events(text, {&event.body, 1});
  auto facts = unwrap(parse_json(text));
  return {event.sequence, event.recorded_at, std::string{history::type_name(event.body)},
          std::move(facts.if_array()->front())};
}

// A row of `dw run:history --json`.
Result<HistoryEvent> parse_row(const Value& row) {
  const Value* sequence = row.find("sequence");
  const Value* recorded_at = row.find("recorded_at");
  const Value* facts = row.find("event");
  const Value* type = facts ? facts->find("type") : nullptr;
  if (!sequence || !sequence->if_integer() || !recorded_at || !recorded_at->if_string() || !type ||
      !type->if_string()) {
    return no_history("an event lacks its sequence, its time or its facts");
  }
  return HistoryEvent{*sequence->if_integer(), DW_TRY(parse_timestamp(*recorded_at->if_string())),
                      *type->if_string(), *facts};
}

Result<History> parse(std::string_view text) {
  const Value document = DW_TRY(parse_json(text));
  if (document.find("history_events")) {
    const auto run = DW_TRY(bundle::events_of_parsed(document));
    return to_history(run.run_id, bundle::events_of(run.commits));
  }
  const Value* run_id = document.find("run_id");
  const Value* rows = document.find("events");
  if (!run_id || !run_id->if_string() || !rows || !rows->if_array()) {
    return no_history("the document has no run_id or no events");
  }
  History history{*run_id->if_string(), {}};
  for (const Value& row : *rows->if_array()) history.events.push_back(DW_TRY(parse_row(row)));
  return history;
}

}  // namespace

Result<std::vector<history::Event>> events_of(const History& history) {
  std::vector<history::Event> events;
  for (const HistoryEvent& event : history.events) {
    const auto expected = static_cast<std::int64_t>(events.size()) + 1;
    if (event.sequence != expected) {
      return Error{ErrorCode::corrupt_history,
                   fmt::format("the history of run {} has event {} where {} belongs",
                               history.run_id, event.sequence, expected)};
    }
    auto bodies = DW_TRY(history::parse_events("[" + to_json(event.facts) + "]"));
    events.push_back({event.sequence, event.recorded_at, std::move(bodies.front())});
  }
  return events;
}

History to_history(const RunId& run, const std::vector<history::Event>& events) {
  History history{run.str(), {}};
  for (const auto& event : events) history.events.push_back(to_public(event));
  return history;
}

std::vector<std::string> History::types() const {
  std::vector<std::string> list;
  for (const HistoryEvent& event : events) list.push_back(event.type);
  return list;
}

std::string History::to_json() const {
  Value::Array rows;
  for (const HistoryEvent& event : events) {
    rows.emplace_back(Value::Map{{"sequence", event.sequence},
                                 {"recorded_at", format_timestamp(event.recorded_at)},
                                 {"event", event.facts}});
  }
  return dw::to_json(Value::Map{{"run_id", run_id}, {"events", std::move(rows)}});
}

History parse_history(std::string_view text) {
  return unwrap(parse(text));
}

std::vector<History> histories_in(store::Store& store) {
  std::vector<History> histories;
  store::RunFilter page{.limit = 500};
  for (;;) {
    const auto rows = unwrap(store.list_runs(page));
    if (rows.empty()) break;
    for (const auto& row : rows) {
      // The engine that owns the store may have tidied up since.
      const auto run = unwrap(store.load_run(row.run_id));
      if (run) histories.push_back(to_history(row.run_id, unwrap(store::events_of(run->commits))));
    }
    page.before = rows.back().run_id;
  }
  std::ranges::reverse(histories);
  return histories;
}

std::vector<History> Environment::histories() const {
  return histories_in(impl_->store());
}

std::vector<History> histories_of(const std::string& store) {
  return histories_in(*unwrap(sqlite::open_sqlite_read_only(store)));
}

}  // namespace dw::testing
