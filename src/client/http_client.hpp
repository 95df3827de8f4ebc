// Speaks HTTP/1.1 to one server, in the clear or over TLS, over connections that are kept. Many
// requests may be under way at once, long polls among them; one thread serves all of them.
#pragma once
#include "core/executor.hpp"

#include <dw/result.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dw::client {

struct HttpClientOptions {
  std::string url;         // http://host:port, https://[::1]:8443/base: a path before every target
  bool verify_tls = true;  // the certificate must be valid for the host
  std::string ca_file = {};           // PEM, instead of the system's authorities
  std::size_t max_connections = 512;  // requests beyond that wait for a free one
  std::chrono::milliseconds connect_timeout = std::chrono::seconds{5};
  std::chrono::milliseconds idle_timeout = std::chrono::seconds{60};  // kept no longer unused
};

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

struct HttpRequest {
  std::string method = "GET";
  std::string target;  // path and query, escaped: "/api/health"
  HttpHeaders headers = {};
  std::string body = {};
  std::chrono::milliseconds timeout = std::chrono::seconds{30};  // for all of it
  // It may be sent once more when a kept connection turns out to have been closed by the server
  // before it answered anything.
  bool repeatable = false;
};

struct HttpReply {
  int status = 0;
  HttpHeaders headers = {};
  std::string body = {};

  // The value of the first header of that name, in any case; empty when there is none.
  std::string_view header(std::string_view name) const;
};

class HttpClient {
 public:
  using Done = std::function<void(Result<HttpReply>)>;

  // Throws EngineError(invalid_argument) when the URL or the certificate file cannot be used. Does
  // not connect yet.
  explicit HttpClient(HttpClientOptions options);
  // Whoever still waits is told `shutting_down`.
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // Calls back once, on the client's thread, which must not be blocked there. Any status is a
  // reply; errors are `unavailable` (nobody there, connection lost, TLS refused) and `timed_out`.
  void send(HttpRequest request, Done done);
  // The same for callers that have a thread to spend. Not from within a callback.
  Result<HttpReply> call(HttpRequest request);
  // The client's thread, for whoever has little else to do than to send and to hear: what is posted
  // there must not block. What is left when the client goes is dropped.
  Executor& executor();

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace dw::client
