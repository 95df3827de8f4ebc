#include "cli/session.hpp"

#include "core/utf8.hpp"

#include <fmt/format.h>

#include <utility>

namespace dw::cli {
namespace {

constexpr std::chrono::milliseconds before_another_try[] = {std::chrono::milliseconds{200},
                                                            std::chrono::milliseconds{1000}};
constexpr std::chrono::seconds preflight_timeout{5};

// Monitoring reads beside the API.
std::string full_path(const Request& request) {
  return request.for_monitoring ? request.target : "/api" + request.target;
}

Outcome<Value> json_body(const client::HttpReply& reply, const Request& request) {
  auto body = parse_json(reply.body);
  if (body) return *std::move(body);
  return Failure{.exit = Exit::server,
                 .message = fmt::format("Server error: {} {} was answered with status {} and "
                                        "something that is not JSON",
                                        request.method, full_path(request), reply.status),
                 .status = reply.status};
}

Failure refused_by(const client::HttpReply& reply) {
  Failure failure = failure_of_reply(reply.status, reply.body);
  if (const auto id = reply.header("X-Request-Id"); is_utf8(id)) failure.request_id = id;
  return failure;
}

}  // namespace

client::HttpRequest Session::http_request(const Request& request,
                                          std::chrono::milliseconds timeout) const {
  const Connection& connection = parts_.connection;
  client::HttpRequest http{.method = request.method, .target = full_path(request)};
  http.headers = {{"Accept", request.for_monitoring ? "text/plain" : "application/json"},
                  {"Content-Type", "application/json"},
                  {"User-Agent", fmt::format("dw/{}", parts_.speaks.version)},
                  {"X-Namespace", connection.ns},
                  {"X-Durable-Workflow-Control-Plane-Version", connection.control_plane_version},
                  {"X-Durable-Workflow-Protocol-Version", connection.worker_protocol_version},
                  {"X-Request-Id", parts_.new_id()}};
  if (!connection.token.empty()) {
    http.headers.emplace_back("Authorization", fmt::format("Bearer {}", connection.token));
  }
  if (request.method == "GET") {
    http.repeatable = true;
  } else {
    http.headers.emplace_back("Idempotency-Key", parts_.new_id());
  }
  if (request.body) http.body = to_json(*request.body);
  http.timeout = timeout;
  return http;
}

Outcome<client::HttpReply> Session::exchange(const Request& request,
                                             std::chrono::milliseconds timeout) {
  const client::HttpRequest http = http_request(request, timeout);
  // Only what changes nothing is asked again: a lost connection does not say whether the server
  // acted, and not every server remembers an Idempotency-Key.
  const std::size_t tries = http.repeatable ? std::size(before_another_try) + 1 : 1;
  for (std::size_t attempt = 1;; ++attempt) {
    const auto began = std::chrono::steady_clock::now();
    auto reply = parts_.transport(http);
    const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::steady_clock::now() - began);
    if (parts_.tell) {
      parts_.tell(fmt::format(
          "{} {} {} {} ms", request.method, full_path(request),
          reply ? fmt::to_string(reply->status) : std::string{to_string(reply.error().code)},
          took.count()));
    }
    if (reply) return *std::move(reply);
    const bool again = attempt < tries && reply.error().code == ErrorCode::unavailable;
    if (!again) return failure_of_error(reply.error());
    parts_.pause(before_another_try[attempt - 1]);
  }
}

Outcome<std::string> Session::ask_text(const Request& request) {
  const auto timeout = std::chrono::seconds{request.seconds.value_or(parts_.timeout.count())};
  auto reply = DW_TRY(exchange(request, timeout));
  if (reply.status >= 300) return refused_by(reply);
  return std::move(reply.body);
}

Outcome<Value> Session::ask(const Request& request) {
  const auto timeout = std::chrono::seconds{request.seconds.value_or(parts_.timeout.count())};
  const auto reply = DW_TRY(exchange(request, timeout));
  if (reply.status >= 300) return refused_by(reply);
  if (reply.body.empty()) return Value{Value::Map{}};
  return json_body(reply, request);
}

Outcome<Value> Session::cluster_info() {
  if (cluster_info_) return *cluster_info_;
  const auto timeout = std::min<std::chrono::milliseconds>(preflight_timeout, parts_.timeout);
  const auto reply = DW_TRY(exchange({.target = "/cluster/info"}, timeout));
  if (reply.status >= 300) return refused_by(reply);
  // What is no JSON describes no server: the check says so.
  cluster_info_ = parse_json(reply.body).value_or(Value{});
  return *cluster_info_;
}

Outcome<Value> Session::check() {
  Value info = DW_TRY(cluster_info());
  if (auto misfit = check_compatibility(info, parts_.speaks)) return *std::move(misfit);
  return info;
}

}  // namespace dw::cli
