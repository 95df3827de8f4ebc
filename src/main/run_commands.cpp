#include "main/run_commands.hpp"

#include "core/json_writer.hpp"
#include "core/unwrap.hpp"
#include "history/codec.hpp"
#include "main/run_view.hpp"
#include "store/sqlite/sqlite_store.hpp"

#include <fmt/format.h>

#include <memory>

namespace dw::app {
namespace {

void write_row(JsonWriter& json, const store::RunRow& row) {
  json.field("run_id", row.run_id.view())
      .field("instance_id", row.instance_id.view())
      .field("namespace", row.ns.view())
      .field("run_number", row.run_number)
      .field("workflow_type", std::string_view{row.workflow_type})
      .field("status", history::to_string(row.status))
      .field("closed_reason", std::string_view{row.closed_reason})
      .field("history_events", row.last_sequence)
      .field("history_bytes", row.history_bytes)
      .field("started_at", row.started_at)
      .field("closed_at", row.closed_at);
}

// One event in its stored form: {"type":"TimerFired",…}
std::string event_json(const history::Event& event) {
  std::string text;
  history::append_events(text, {&event.body, 1});
  return text.substr(1, text.size() - 2);
}

}  // namespace

int list_runs(const StoreOptions& options, std::size_t limit) {
  const auto store = unwrap(sqlite::open_sqlite_read_only(options.store));
  store::RunFilter filter{.limit = limit};
  if (options.ns) filter.ns = unwrap(parse_namespace(*options.ns));
  const auto rows = unwrap(store->list_runs(filter));
  if (options.json) {
    std::string text;
    JsonWriter json{text};
    json.begin_object().key("runs").begin_array();
    for (const auto& row : rows) {
      json.begin_object();
      write_row(json, row);
      json.end_object();
    }
    json.end_array().end_object();
    fmt::print("{}\n", text);
    return 0;
  }
  constexpr std::string_view line = "{:<26}  {:<14}  {:<28}  {:<24}  {:<10}  {:>6}  {}\n";
  fmt::print(line, "RUN", "NAMESPACE", "INSTANCE", "TYPE", "STATUS", "EVENTS", "STARTED");
  for (const auto& row : rows) {
    // What an embedded engine keeps has no namespace, unless its program names one.
    const auto ns = row.ns.view().empty() ? std::string_view{"-"} : row.ns.view();
    fmt::print(line, row.run_id.view(), ns, row.instance_id.view(), row.workflow_type,
               history::to_string(row.status), row.last_sequence, format_timestamp(row.started_at));
  }
  return 0;
}

int show_history(const StoreOptions& options, const std::string& id) {
  const auto store = unwrap(sqlite::open_sqlite_read_only(options.store));
  auto loaded = load_named_run(*store, {.store = options.store, .ns = options.ns, .target = id});
  if (!loaded) return without_run(loaded.error());
  const RunView run = unwrap(view_of(*std::move(loaded)));
  if (options.json) {
    std::string text;
    JsonWriter json{text};
    json.begin_object();
    write_row(json, run.row);
    json.key("events").begin_array();
    for (const auto& event : run.events) {
      json.begin_object()
          .field("sequence", event.sequence)
          .field("recorded_at", event.recorded_at)
          .key("event")
          .raw(event_json(event))
          .end_object();
    }
    json.end_array().end_object();
    fmt::print("{}\n", text);
    return 0;
  }
  for (const auto& event : run.events) {
    fmt::print("{:>4}  {}  {}\n", event.sequence, format_timestamp(event.recorded_at),
               event_json(event));
  }
  return 0;
}

}  // namespace dw::app
