#include "remote/client_line.hpp"

#include "handles/waiter.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dw::remote {
namespace {

using namespace std::chrono_literals;

constexpr auto first_delay = 50ms;
constexpr auto longest_delay = 2'000ms;

client::HttpClientOptions connections_of(const ClientOptions& options, std::size_t most) {
  client::HttpClientOptions connections;
  connections.url = options.server;
  connections.verify_tls = options.verify_tls;
  connections.ca_file = options.ca_file;
  connections.max_connections = most;
  return connections;
}

Error line_is_down(std::string_view about) {
  return {ErrorCode::shutting_down,
          fmt::format("cannot {}: the client is shutting down; what was started goes on, and "
                      "another client finds it by its id",
                      about)};
}

bool may_pass(const Result<client::HttpReply>& reply) {
  if (reply) return reply->status == 502 || reply->status == 503;
  const ErrorCode code = reply.error().code;
  return code == ErrorCode::unavailable || code == ErrorCode::timed_out;
}

// Doubles, and is spread out, so that many clients of one server do not come back all at once.
std::chrono::milliseconds delay_after(int failures, Random& random) {
  const auto full = std::min(longest_delay, first_delay * (1 << std::min(failures - 1, 10)));
  const auto half = static_cast<std::uint64_t>(full.count() / 2);
  return std::chrono::milliseconds{half + random.below(half + 1)};
}

void bring(const ClientLine::Done& done, Result<Said> said) {
  struct Bringing {
    bool before = std::exchange(detail::brings_answers, true);
    ~Bringing() { detail::brings_answers = before; }
  };
  const Bringing bringing;
  done(std::move(said));
}

}  // namespace

std::string Said::text(std::string_view field) const {
  const Value* value = body.find(field);
  const auto* text = value ? value->if_string() : nullptr;
  return text ? *text : std::string{};
}

ClientLine::ClientLine(const ClientOptions& options)
    : options_(options),
      calls_(
          std::make_unique<client::HttpClient>(connections_of(options, options.max_connections))),
      waits_(std::make_unique<client::HttpClient>(connections_of(options, options.max_waits))),
      random_(system_seed()),
      time_("dw-client-time", clock_) {}

void ClientLine::stop() {
  {
    const std::lock_guard lock{mutex_};
    if (std::exchange(stopping_, true)) return;
  }
  std::unique_ptr<client::HttpClient> calls, waits;
  {
    const std::unique_lock lock{gate_};
    calls = std::move(calls_);
    waits = std::move(waits_);
  }
  calls.reset();
  waits.reset();
  time_.stop();
  std::set<AskedPtr> left;
  {
    const std::lock_guard lock{mutex_};
    left.swap(delayed_);
  }
  for (const auto& asked : left) bring(asked->done, line_is_down(asked->question.about));
}

void ClientLine::ask(Question question, Done done) {
  attempt(std::make_shared<Asked>(Asked{std::move(question), std::move(done)}));
}

client::HttpRequest ClientLine::request_for(const Question& question) const {
  client::HttpRequest request;
  request.method = question.method;
  request.target = "/api" + question.path;
  request.headers = {{"Accept", "application/json"},
                     {"X-Durable-Workflow-Control-Plane-Version", "2"}};
  if (!options_.token.empty()) {
    request.headers.emplace_back("Authorization", "Bearer " + options_.token);
  }
  if (!question.ns.empty()) request.headers.emplace_back("X-Namespace", question.ns);
  if (!question.body.empty()) request.headers.emplace_back("Content-Type", "application/json");
  request.body = question.body;
  request.timeout = options_.request_timeout + question.long_poll.value_or(0s);
  // A repeated start has to be known as one, so that it is not taken for somebody else's.
  request.repeatable = question.repeatable && question.method == "GET";
  return request;
}

void ClientLine::attempt(const AskedPtr& asked) {
  {
    const std::shared_lock lock{gate_};
    const bool waits = asked->question.method == "GET" && asked->question.long_poll;
    if (auto& http = waits ? waits_ : calls_) {
      return http->send(
          request_for(asked->question),
          [this, asked](Result<client::HttpReply> reply) { hear(asked, std::move(reply)); });
    }
  }
  bring(asked->done, line_is_down(asked->question.about));
}

void ClientLine::hear(const AskedPtr& asked, Result<client::HttpReply> reply) {
  if (may_pass(reply) && ask_again(asked)) return;
  bring(asked->done, read(*asked, reply));
}

// False when it has had its chances.
bool ClientLine::ask_again(const AskedPtr& asked) {
  if (!asked->question.repeatable) return false;
  const auto now = std::chrono::steady_clock::now();
  if (!asked->failing_since) asked->failing_since = now;
  ++asked->failures;
  if (now - *asked->failing_since >= options_.retry_for) return false;
  {
    const std::lock_guard lock{mutex_};
    if (!stopping_) {
      delayed_.insert(asked);
      time_.post_at(clock_.now() + delay_after(asked->failures, random_),
                    [this, asked] { attempt_later(asked); });
      return true;
    }
  }
  bring(asked->done, line_is_down(asked->question.about));
  return true;
}

// Unless stop() was here first, and has told it that there will be no more attempts.
void ClientLine::attempt_later(const AskedPtr& asked) {
  {
    const std::lock_guard lock{mutex_};
    if (delayed_.erase(asked) == 0) return;
  }
  attempt(asked);
}

Result<Said> ClientLine::read(const Asked& asked, const Result<client::HttpReply>& reply) const {
  const Question& question = asked.question;
  if (!reply) {
    const Error& error = reply.error();
    if (error.code == ErrorCode::shutting_down) return line_is_down(question.about);
    return Error{error.code,
                 fmt::format("cannot {}: {}{}", question.about, error.message,
                             question.repeatable
                                 ? ""
                                 : "; whether the server has heard it is not known: look before "
                                   "you ask again")};
  }
  auto body = parse_json(reply->body);
  if (!body || !body->if_map()) {
    return Error{ErrorCode::unavailable,
                 fmt::format("cannot {}: {} answered with status {} and not with a JSON object; is "
                             "there a dw server at that address?",
                             question.about, options_.server, reply->status)};
  }
  return Said{reply->status, *std::move(body), asked.failures > 0};
}

}  // namespace dw::remote
