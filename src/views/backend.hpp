// Can an engine keep its promises with what it was given to work with? A snapshot of store,
// transport, lock and codec, what each can do, and what is wrong with it. Pure: whoever asks says
// what is configured.
#pragma once
#include "engine/decide.hpp"

#include <optional>
#include <string>
#include <vector>

namespace dw::views {

struct BackendConfig {
  struct Database {
    std::string connection = {};  // a file, or a name
    std::string driver = {};      // sqlite, memory
    std::string problem = {};     // why it cannot be used, found out by whoever asks
  };
  struct Queue {
    std::string connection = {};
    std::string driver = {};  // inproc, poll, sync
    std::optional<std::int64_t> max_delay_seconds = {};
  };
  struct Cache {
    std::string store = {};
    std::string driver = {};  // lock_file, memory
  };
  Database database = {};
  Queue queue = {};
  Cache cache = {};
  std::string codec = {};
  engine::Limits limits = {};
  bool polls = false;  // tasks are not published: workers look for them
};

enum class Severity { ok, info, warning, error };
std::string_view to_string(Severity severity);

struct BackendIssue {
  std::string component;  // database, queue, cache, codec, process
  Severity severity = Severity::ok;
  std::string code;
  std::string message;
};

struct BackendSnapshot {
  Timestamp generated_at;
  BackendConfig config;
  std::vector<BackendIssue> issues = {};

  Severity severity() const;  // the worst
  bool supported() const { return severity() != Severity::error; }
};
BackendSnapshot backend_snapshot(BackendConfig config, Timestamp now);

// {generated_at, supported, severity, database, queue, cache, codec, structural_limits, issues}
Value to_value(const BackendSnapshot& snapshot);

}  // namespace dw::views
