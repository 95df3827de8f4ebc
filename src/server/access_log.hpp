// One line for each answered request, for people and for machines. A line holds neither tokens nor
// signatures nor bodies, and of a query only the names.
#pragma once
#include "server/http.hpp"

#include <dw/result.hpp>
#include <dw/time.hpp>

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace dw::server {

struct AccessEntry {
  Timestamp at = {};  // when it was answered
  std::string request_id = {};
  std::string method = {};
  std::string path = {};  // see loggable_path
  std::string route = {};
  int status = 0;
  std::size_t bytes = 0;  // of the body as it was sent
  Duration took = {};
  bool waited = false;      // for somebody else, such as a long poll does
  std::string role = {};    // empty: nobody we know, or nobody looked
  std::string ns = {};      // empty: the request is about none
  std::string remote = {};  // the client's address; empty: unknown
};

enum class AccessLevel {
  off,
  errors,  // answers of 500 and above, and what took a second though it waited for nobody
  all,
};
Result<AccessLevel> parse_access_level(std::string_view name);

enum class LogFormat { text, json };
Result<LogFormat> parse_log_format(std::string_view name);

class AccessLog {
 public:
  // Takes one line, without its end. Any thread may call it; it must not block for long.
  using Sink = std::function<void(std::string_view line)>;

  AccessLog() = default;  // off
  AccessLog(AccessLevel level, LogFormat format, Sink sink);

  bool on() const { return level_ != AccessLevel::off; }
  bool writes_all() const { return level_ == AccessLevel::all; }
  void write(const AccessEntry& entry) const;

 private:
  AccessLevel level_ = AccessLevel::off;
  LogFormat format_ = LogFormat::text;
  Sink sink_;
};

// {"time":…,"request_id":…,…}, or "GET /api/workflows 200 1.234ms …".
std::string access_line(const AccessEntry& entry, LogFormat format);

// The path, and the names of what its query gives values for: "/api/workflows?namespace&limit".
std::string loggable_path(std::string_view target);

// May a client's own id stand in headers and logs? 1 to 128 letters, digits and . _ : = / + - @
bool is_request_id(std::string_view text);

}  // namespace dw::server
