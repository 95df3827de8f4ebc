#include "views/backend.hpp"

#include "views/row_value.hpp"

#include <dw/payload.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace dw::views {
namespace {

using Issues = std::vector<BackendIssue>;

bool known_database(std::string_view driver) {
  return driver == "sqlite" || driver == "memory";
}

bool known_codec(std::string_view codec) {
  return codec == avro_codec || codec == json_codec;
}

bool has_locks(std::string_view driver) {
  return driver == "lock_file" || driver == "memory";
}

bool delivers_later(std::string_view driver) {
  return driver == "inproc" || driver == "poll";
}

void check(const BackendConfig::Database& database, Issues& issues) {
  const auto add = [&](Severity severity, std::string code, std::string message) {
    issues.push_back({"database", severity, std::move(code), std::move(message)});
  };
  if (database.connection.empty()) {
    add(Severity::error, "database_connection_missing", "No store is configured; name a file.");
  } else if (!known_database(database.driver)) {
    add(Severity::error, "database_driver_unsupported",
        fmt::format("The store driver '{}' is not known; use sqlite.", database.driver));
  } else if (!database.problem.empty()) {
    add(Severity::error, "database_connection_missing", database.problem);
  } else if (database.driver == "sqlite") {
    add(Severity::info, "sqlite_concurrency_note",
        "SQLite has one writer: one process owns the store, and commits share transactions.");
  }
}

void check(const BackendConfig::Queue& queue, bool polls, Issues& issues) {
  const auto add = [&](Severity severity, std::string code, std::string message) {
    issues.push_back({"queue", severity, std::move(code), std::move(message)});
  };
  // Nothing is published in poll mode, so nothing is lost with a transport that cannot.
  const Severity blocking = polls ? Severity::info : Severity::error;
  const std::string_view rest = polls ? " Workers poll, so nothing needs it." : "";
  if (queue.connection.empty()) {
    add(blocking, "queue_connection_missing", fmt::format("No transport is configured.{}", rest));
  } else if (!delivers_later(queue.driver)) {
    add(blocking, "queue_sync_unsupported",
        fmt::format("The transport '{}' would run work inside the commit that asks for it.{}",
                    queue.driver, rest));
  } else if (queue.max_delay_seconds) {
    add(Severity::info, "queue_max_delay_constraint",
        fmt::format("The transport holds work back for {} seconds at most; what is due later is "
                    "published more than once.",
                    *queue.max_delay_seconds));
  }
}

void check(const BackendConfig::Cache& cache, Issues& issues) {
  if (cache.store.empty()) {
    issues.push_back({"cache", Severity::warning, "cache_store_missing",
                      "Nothing keeps two owners of the store apart."});
  } else if (!has_locks(cache.driver)) {
    issues.push_back({"cache", Severity::warning, "cache_locks_unsupported",
                      fmt::format("'{}' has no atomic locks.", cache.driver)});
  }
}

void check_codec(const std::string& codec, Issues& issues) {
  if (known_codec(codec)) return;
  issues.push_back({"codec", Severity::error, "codec_unknown",
                    fmt::format("The payload codec '{}' is not known; use {} or {}.", codec,
                                avro_codec, json_codec)});
}

Severity worst_of(const Issues& issues) {
  Severity worst = Severity::ok;
  for (const BackendIssue& issue : issues) worst = std::max(worst, issue.severity);
  return worst;
}

Issues of(const Issues& issues, std::string_view component) {
  Issues found;
  for (const BackendIssue& issue : issues) {
    if (issue.component == component) found.push_back(issue);
  }
  return found;
}

Value issues_value(const Issues& issues) {
  Value::Array list;
  for (const BackendIssue& issue : issues) {
    RowValue row;
    row("component", issue.component)("severity", to_string(issue.severity))("code", issue.code)(
        "message", issue.message);
    list.push_back(row.take());
  }
  return list;
}

Value limits_value(const engine::Limits& limits) {
  RowValue row;
  row("pending_activity_count", limits.pending_activities)(
      "pending_child_count", limits.pending_children)("pending_timer_count", limits.pending_timers)(
      "pending_signal_count", limits.pending_signals)(
      "pending_update_count", limits.pending_updates)("command_batch_size", limits.barrier_leaves)(
      "payload_size", limits.payload_bytes)("memo_size", limits.memo_bytes)(
      "search_attribute_size", limits.search_attribute_bytes)("history_transaction_size",
                                                              limits.events_per_task);
  return row.take();
}

}  // namespace

std::string_view to_string(Severity severity) {
  switch (severity) {
    case Severity::ok:
      return "ok";
    case Severity::info:
      return "info";
    case Severity::warning:
      return "warning";
    case Severity::error:
      return "error";
  }
  return "error";
}

Severity BackendSnapshot::severity() const {
  return worst_of(issues);
}

BackendSnapshot backend_snapshot(BackendConfig config, Timestamp now) {
  BackendSnapshot snapshot{now, std::move(config)};
  check(snapshot.config.database, snapshot.issues);
  check(snapshot.config.queue, snapshot.config.polls, snapshot.issues);
  check(snapshot.config.cache, snapshot.issues);
  check_codec(snapshot.config.codec, snapshot.issues);
  return snapshot;
}

Value to_value(const BackendSnapshot& snapshot) {
  const auto& [database, queue, cache, codec, limits, polls] = snapshot.config;
  // What a component is and can do, then what is wrong with it.
  const auto component = [&snapshot](std::string_view name, RowValue row, Value capabilities) {
    const Issues found = of(snapshot.issues, name);
    row("supported", worst_of(found) != Severity::error);
    if (!capabilities.is_null()) row("capabilities", capabilities);
    row("issues", issues_value(found));
    return row.take();
  };
  const bool stores = known_database(database.driver);
  RowValue database_can;
  database_can("transactions", stores)("after_commit_callbacks", stores)(
      "durable_ordering", stores)("row_locks", false);
  const bool later = delivers_later(queue.driver);
  RowValue queue_can;
  queue_can("async_delivery", later)("delayed_delivery", later)(
      "requires_worker", queue.driver == "poll")("max_delay_seconds", queue.max_delay_seconds)(
      "after_commit_option", later);
  RowValue cache_can;
  cache_can("atomic_locks", has_locks(cache.driver));

  RowValue database_row, queue_row, cache_row, codec_row, limits_row;
  database_row("connection", database.connection)("driver", database.driver);
  queue_row("connection", queue.connection)("driver", queue.driver);
  cache_row("store", cache.store)("driver", cache.driver);
  codec_row("configured", codec)("canonical", known_codec(codec) ? codec : std::string{})(
      "universal", known_codec(codec));
  // No backend of ours takes less than is configured.
  limits_row("configured", limits_value(limits))("backend_adjustments", Value{Value::Map{}})(
      "effective", limits_value(limits))("issues", Value{Value::Array{}});

  RowValue row;
  row("generated_at", snapshot.generated_at)("supported", snapshot.supported())(
      "severity", to_string(snapshot.severity()));
  row("database", component("database", std::move(database_row), database_can.take()));
  row("queue", component("queue", std::move(queue_row), queue_can.take()));
  row("cache", component("cache", std::move(cache_row), cache_can.take()));
  row("codec", component("codec", std::move(codec_row), {}));
  row("structural_limits", limits_row.take())("issues", issues_value(snapshot.issues));
  return row.take();
}

}  // namespace dw::views
