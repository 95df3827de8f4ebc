#include "server/observed.hpp"

#include "core/random.hpp"
#include "core/ulid.hpp"
#include "server/answer.hpp"
#include "server/front_desk.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

namespace dw::server {
namespace {

constexpr std::size_t longest_logged_word = 128;

std::chrono::nanoseconds steady_now() {
  return std::chrono::steady_clock::now().time_since_epoch();
}

bool is_request_id_header(const Header& header) {
  const auto lower = [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  return std::ranges::equal(header.name, request_id_header, {}, lower, lower);
}

Response as_response(Answer answer) {
  Response response{answer.status, {{"Content-Type", "application/json"}}, {}};
  response.body = body_text(std::move(answer));
  return response;
}

std::string namespace_asked_for(const Request& request) {
  const auto header = request.header("X-Namespace");
  if (!header.empty()) return std::string{header};
  const std::string_view target = request.target;
  const auto mark = target.find('?');
  if (mark == std::string_view::npos) return {};
  return query_value(target.substr(mark + 1), "namespace").value_or("");
}

}  // namespace

// One request on its way to its answer.
struct Observed::Visit {
  Visit(Metrics& told, const Endpoint& asked) : metrics(told), endpoint(asked) {
    metrics.wait_began(endpoint.waiting);
  }
  // Also when nobody will ever answer it.
  ~Visit() { end_wait(); }
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;

  void end_wait() {
    if (std::exchange(waits, false)) metrics.wait_ended(endpoint.waiting);
  }

  Metrics& metrics;
  const Endpoint& endpoint;
  bool waits = true;
  Respond respond;
  std::chrono::nanoseconds began{};
  Coding coding = Coding::identity;
  AccessEntry entry;
  std::atomic<bool> answered{false};
};

struct Observed::Inside : std::enable_shared_from_this<Inside> {
  explicit Inside(ObservedParts given) : parts(std::move(given)) {
    if (!parts.stopwatch) parts.stopwatch = steady_now;
  }

  std::shared_ptr<Visit> begin(Request& request, Respond respond);
  std::string name_request(Request& request);
  void serve_metrics(const Request& request, const std::shared_ptr<Visit>& visit);
  void finish(const std::shared_ptr<Visit>& visit, Response response);
  void shrink_and_deliver(Visit& visit, Response response);
  void deliver(Visit& visit, Response response);

  ObservedParts parts;
  std::mutex ids_mutex;
  SeededRandom random{system_seed()};  // guarded by ids_mutex
  UlidSource ids{random};              // guarded by ids_mutex
};

// The client's own id if it may stand in a log, or else a new one. Those who answer read it where
// the client would have written it.
std::string Observed::Inside::name_request(Request& request) {
  const auto header = std::ranges::find_if(request.headers, is_request_id_header);
  if (header != request.headers.end() && is_request_id(header->value)) return header->value;
  std::string id;
  {
    const std::lock_guard lock{ids_mutex};
    id = ids.next(parts.clock.now());
  }
  if (header == request.headers.end()) {
    request.headers.push_back({std::string{request_id_header}, id});
  } else {
    header->value = id;
  }
  return id;
}

std::shared_ptr<Observed::Visit> Observed::Inside::begin(Request& request, Respond respond) {
  request.match = match(request.method, request.target);
  auto visit = std::make_shared<Visit>(parts.metrics, endpoint_of(request));
  visit->respond = std::move(respond);
  visit->began = parts.stopwatch();
  visit->entry.request_id = name_request(request);
  if (parts.compression) visit->coding = choose_coding(request.header("Accept-Encoding"));
  if (!parts.log.on()) return visit;
  AccessEntry& entry = visit->entry;
  entry.method = request.method.substr(0, longest_logged_word);
  entry.path = loggable_path(request.target);
  entry.route = visit->endpoint.route;
  entry.remote = request.remote;
  entry.waited = visit->endpoint.waiting != Waiting::nobody;
  // Comparing secrets costs more than all the rest, and most lines of the other level are not
  // written.
  if (parts.log.writes_all()) {
    const auto principal = authenticate(*parts.credentials.in_force(), request);
    if (principal) entry.role = to_string(principal->role);
  }
  if (visit->endpoint.in_namespace) {
    entry.ns = namespace_asked_for(request).substr(0, longest_logged_word);
    if (entry.ns.empty()) entry.ns = parts.default_namespace;
  }
  return visit;
}

void Observed::Inside::serve_metrics(const Request& request, const std::shared_ptr<Visit>& visit) {
  if (request.method != "GET" && request.method != "HEAD") {
    auto response = as_response(
        refusal(405, "method_not_allowed", "metrics are there to be read: use GET"));
    response.headers.push_back({"Allow", "GET, HEAD"});
    return finish(visit, std::move(response));
  }
  if (!parts.open_metrics) {
    const auto auth = parts.credentials.in_force();
    if (auto no = misnamed(*auth, request, parts.listens_as)) {
      return finish(visit, as_response(*std::move(no)));
    }
    if (!authenticate(*auth, request)) {
      return finish(visit, as_response(refusal(
                               401, "unauthorized",
                               "the credential is missing or wrong; send that of any role as "
                               "'Authorization: Bearer …'")));
    }
  }
  parts.aside.post([self = shared_from_this(), visit] {
    self->finish(visit, {200,
                         {{"Content-Type", std::string{metrics_content_type}}},
                         self->parts.metrics.text(self->parts.readings())});
  });
}

void Observed::Inside::finish(const std::shared_ptr<Visit>& visit, Response response) {
  if (visit->answered.exchange(true)) return;
  if (!parts.compression || !worth_compressing(response, parts.compress_from_bytes)) {
    return deliver(*visit, std::move(response));
  }
  vary_by_encoding(response);
  if (visit->coding == Coding::identity) return deliver(*visit, std::move(response));
  if (response.body.size() < parts.compress_aside_from_bytes) {
    return shrink_and_deliver(*visit, std::move(response));
  }
  parts.aside.post(
      [self = shared_from_this(), visit, large = std::make_shared<Response>(std::move(response))] {
        self->shrink_and_deliver(*visit, std::move(*large));
      });
}

void Observed::Inside::shrink_and_deliver(Visit& visit, Response response) {
  const auto before = response.body.size();
  shrink(response, visit.coding);
  if (response.body.size() != before) {
    parts.metrics.compressed(to_string(visit.coding), before, response.body.size());
  }
  deliver(visit, std::move(response));
}

void Observed::Inside::deliver(Visit& visit, Response response) {
  visit.end_wait();
  if (std::ranges::none_of(response.headers, is_request_id_header)) {
    response.headers.push_back({std::string{request_id_header}, visit.entry.request_id});
  }
  const auto took = std::max(parts.stopwatch() - visit.began, std::chrono::nanoseconds::zero());
  parts.metrics.answered(visit.endpoint, response.status, took, response.body.size());
  if (parts.log.on()) {
    visit.entry.at = parts.clock.now();
    visit.entry.status = response.status;
    visit.entry.bytes = response.body.size();
    visit.entry.took = std::chrono::duration_cast<Duration>(took);
    parts.log.write(visit.entry);
  }
  visit.respond(std::move(response));
}

Observed::Observed(ObservedParts parts) : inside_(std::make_shared<Inside>(std::move(parts))) {}

void Observed::handle(Request request, Respond respond) {
  const auto visit = inside_->begin(request, std::move(respond));
  if (visit->endpoint.route == metrics_path) return inside_->serve_metrics(request, visit);
  try {
    inside_->parts.inner.handle(std::move(request), [inside = inside_, visit](Response response) {
      inside->finish(visit, std::move(response));
    });
  } catch (const std::exception& failure) {
    spdlog::error("a request's handler threw: {} request={}", failure.what(),
                  visit->entry.request_id);
    inside_->finish(
        visit, as_response(refusal(500, "server_error", "the server failed; its log says why")));
  }
}

}  // namespace dw::server
