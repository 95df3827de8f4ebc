// A conversation with one server: the headers every request has, the check before the first of
// them, and another try for those that may be repeated.
#pragma once
#include "cli/compatibility.hpp"
#include "cli/connection.hpp"
#include "cli/request.hpp"
#include "client/http_client.hpp"

#include <chrono>
#include <functional>
#include <optional>
#include <string>

namespace dw::cli {

// One request, answered or not.
using Transport = std::function<Result<client::HttpReply>(client::HttpRequest request)>;

struct SessionParts {
  Connection connection;
  Speaks speaks;
  Transport transport;
  std::chrono::seconds timeout{30};
  std::function<void(std::chrono::milliseconds)> pause;
  std::function<std::string()> new_id;                // never the same twice
  std::function<void(const std::string& line)> tell;  // one line for each request; may be empty
};

class Session {
 public:
  explicit Session(SessionParts parts) : parts_(std::move(parts)) {}

  // The answer's body, or why there is none. A status of 300 and above is a Failure.
  Outcome<Value> ask(const Request& request);
  // The same for answers that are handed on as they are.
  Outcome<std::string> ask_text(const Request& request);

  // /cluster/info, asked for once and checked against what this dw speaks.
  Outcome<Value> check();
  // The same document, unchecked.
  Outcome<Value> cluster_info();

  const Connection& connection() const { return parts_.connection; }

 private:
  Outcome<client::HttpReply> exchange(const Request& request, std::chrono::milliseconds timeout);
  client::HttpRequest http_request(const Request& request, std::chrono::milliseconds timeout) const;

  SessionParts parts_;
  std::optional<Value> cluster_info_;
};

}  // namespace dw::cli
