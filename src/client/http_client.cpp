#include "client/http_client.hpp"

#include "client/http_pool.hpp"
#include "core/assert.hpp"

#include <dw/exceptions.hpp>

#include <fmt/format.h>
#include <pthread.h>
#include <spdlog/spdlog.h>
#include <boost/asio/post.hpp>
#include <boost/beast/core/string.hpp>

#include <algorithm>
#include <csignal>
#include <future>

namespace dw::client {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

// Deadlines are looked at no more often than this, however many there are.
constexpr std::chrono::milliseconds deadline_tick{5};
// Beyond it the arithmetic of clocks overflows.
constexpr std::chrono::milliseconds longest_timeout = std::chrono::hours{24 * 365};

// A space or a line break would let a value write requests of its own.
bool is_visible(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    const auto code = static_cast<unsigned char>(c);
    return code > ' ' && code != 0x7f;
  });
}

bool is_sendable(const HttpRequest& request) {
  if (!is_visible(request.method) || !is_visible(request.target)) return false;
  return std::ranges::all_of(request.headers, [](const auto& header) {
    return is_visible(header.first) && header.second.find_first_of("\r\n") == std::string::npos;
  });
}

// "Connection refused" in the middle of a sentence.
std::string uncapitalised(std::string_view reason) {
  std::string text{reason};
  if (!text.empty() && text[0] >= 'A' && text[0] <= 'Z') text[0] = static_cast<char>(text[0] | 32);
  return text;
}

void end_with(ExchangePtr exchange, ErrorCode code, std::string message) {
  complete(std::move(exchange), Error{code, std::move(message)});
}

}  // namespace

void complete(ExchangePtr exchange, Result<HttpReply> result) {
  try {
    exchange->done(std::move(result));
  } catch (const std::exception& failure) {
    spdlog::error("whoever asked for {} {} threw: {}", exchange->request.method,
                  exchange->request.target, failure.what());
  }
}

Pool::Pool(HttpClientOptions options, Url url)
    : options_(std::move(options)),
      url_(std::move(url)),
      host_line_(fmt::format(" HTTP/1.1\r\nHost: {}\r\n", url_.authority)),
      work_(io_.get_executor()),
      timer_(io_),
      resolver_(io_) {
  error_code no_address;
  const auto address = asio::ip::make_address(url_.host, no_address);
  fixed_address_ = !no_address;
  if (fixed_address_) {
    endpoints_ = {{address, static_cast<asio::ip::port_type>(std::stoi(url_.port))}};
  }
  if (!url_.secure) return;
  auto tls = make_tls_context(options_.verify_tls, options_.ca_file);
  if (!tls) throw EngineError{tls.error()};
  tls_ = *std::move(tls);
}

// The thread shares the pool: it may be the one that lets go of the client, within a callback.
void Pool::start() {
  std::promise<void> started;
  thread_ = std::thread{[self = shared_from_this(), &started] {
    self->thread_id_ = std::this_thread::get_id();
    started.set_value();
    self->run();
  }};
  started.get_future().wait();
}

void Pool::run() {
  pthread_setname_np(pthread_self(), "dw-client");
  // OpenSSL writes with write(), which has no flag against it. The signal goes to the thread that
  // wrote, so it is enough to be deaf here.
  sigset_t pipe;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
  for (;;) {
    try {
      io_.run();
      return;
    } catch (const std::exception& failure) {  // its request is left to its deadline
      spdlog::error("the HTTP client goes on after: {}", failure.what());
    }
  }
}

void Pool::stop() {
  if (on_own_thread()) {
    shut_down();
    return thread_.detach();
  }
  asio::post(io_, [this] { shut_down(); });
  thread_.join();
}

void Pool::shut_down() {
  stopping_ = true;
  std::vector<ExchangePtr> under_way;
  while (!busy_.empty()) under_way.push_back(busy_.front()->abandon());
  while (!idle_.empty()) idle_.front()->abandon();
  std::ranges::move(waiting_, std::back_inserter(under_way));
  waiting_.clear();
  resolver_.cancel();
  timer_.cancel();
  for (auto& timer : timers_) timer.cancel();
  work_.reset();
  for (auto& exchange : under_way) begin(std::move(exchange));
  fetch();
}

void Pool::send(HttpRequest request, HttpClient::Done done) {
  const auto now = std::chrono::steady_clock::now();
  const auto deadline = now + std::min(request.timeout, longest_timeout);
  auto exchange =
      std::make_unique<Exchange>(Exchange{std::move(request), std::move(done), deadline});
  if (on_own_thread()) return begin(std::move(exchange));
  const std::lock_guard lock{mutex_};
  inbox_.push_back(std::move(exchange));
  // Whoever finds it empty rings; the others' requests are fetched along with that one.
  if (inbox_.size() == 1) asio::post(io_, [this] { fetch(); });
}

void Pool::post(Work work) {
  asio::post(io_, [this, work = std::move(work)] {
    if (!stopping_) work();
  });
}

void Pool::post_at(Timestamp at, Work work) {
  post([this, at, work = std::move(work)]() mutable {
    const auto timer = timers_.emplace(timers_.end(), io_, at);
    timer->async_wait([this, timer, work = std::move(work)](const error_code& error) {
      timers_.erase(timer);
      if (!error && !stopping_) work();
    });
  });
}

void Pool::fetch() {
  std::vector<ExchangePtr> fetched;
  {
    const std::lock_guard lock{mutex_};
    fetched.swap(inbox_);
  }
  for (auto& exchange : fetched) begin(std::move(exchange));
}

void Pool::begin(ExchangePtr exchange) {
  if (stopping_) {
    return end_with(std::move(exchange), ErrorCode::shutting_down,
                    fmt::format("the client of {} is shutting down; what was asked last may have "
                                "been carried out",
                                url_.text()));
  }
  if (!is_sendable(exchange->request)) {
    return end_with(std::move(exchange), ErrorCode::invalid_argument,
                    "cannot send a request whose method, target or headers hold spaces or line "
                    "breaks; escape them");
  }
  wake_at(exchange->deadline);
  if (!idle_.empty()) {
    const auto link = idle_.back();
    busy_.splice(busy_.end(), idle_, link->place());
    return link->serve(std::move(exchange));
  }
  waiting_.push_back(std::move(exchange));
  open_for_waiting();
}

void Pool::open(ExchangePtr exchange) {
  busy_.push_back(std::make_shared<Link>(*this));
  const auto link = busy_.back();
  link->open(std::move(exchange), std::prev(busy_.end()));
}

void Pool::open_for_waiting() {
  const auto most = std::max<std::size_t>(1, options_.max_connections);
  while (!waiting_.empty() && busy_.size() + idle_.size() < most && !stopping_) {
    auto exchange = std::move(waiting_.front());
    waiting_.pop_front();
    open(std::move(exchange));
  }
}

void Pool::release(Link& link) {
  if (!waiting_.empty()) {
    auto exchange = std::move(waiting_.front());
    waiting_.pop_front();
    return link.serve(std::move(exchange));
  }
  idle_.splice(idle_.end(), busy_, link.place());
  const auto until =
      std::chrono::steady_clock::now() + std::min(options_.idle_timeout, longest_timeout);
  link.rest(until);
  wake_at(until);
}

void Pool::forget(Link& link, bool idle) {
  (idle ? idle_ : busy_).erase(link.place());
}

Error Pool::cannot_reach(std::string_view why) const {
  return {ErrorCode::unavailable,
          fmt::format("cannot reach {}: {}; is the server running? start it with 'dw server:dev'",
                      url_.text(), uncapitalised(why))};
}

// A name may stand for another address by now.
void Pool::forget_endpoints() {
  if (!fixed_address_) endpoints_.clear();
}

// The timer is set rarely: most deadlines lie behind the one it waits for, and most are gone when
// it rings.
void Pool::wake_at(SteadyTime deadline) {
  if (deadline >= wakes_at_) return;
  wakes_at_ = std::max(deadline, looked_at_ + deadline_tick);
  timer_.expires_at(wakes_at_);
  timer_.async_wait([this](const error_code& error) {
    if (!error) expire_due();
  });
}

void Pool::expire_due() {
  const auto now = std::chrono::steady_clock::now();
  looked_at_ = now;
  wakes_at_ = SteadyTime::max();
  std::vector<std::shared_ptr<Link>> due;
  for (const auto* links : {&busy_, &idle_}) {
    for (const auto& link : *links) {
      link->deadline() <= now ? due.push_back(link) : wake_at(link->deadline());
    }
  }
  auto late = take_late(now);
  for (const auto& exchange : waiting_) wake_at(exchange->deadline);
  // Callbacks come last: they change everything above.
  for (const auto& link : due) link->expire(now);
  for (auto& exchange : late) {
    auto message = fmt::format("{} {}{} waited {} ms for one of {} connections to become free",
                               exchange->request.method, url_.text(), exchange->request.target,
                               exchange->request.timeout.count(), options_.max_connections);
    end_with(std::move(exchange), ErrorCode::timed_out, std::move(message));
  }
}

std::vector<ExchangePtr> Pool::take_late(SteadyTime now) {
  std::vector<ExchangePtr> late;
  for (auto& exchange : waiting_) {
    if (exchange->deadline <= now) late.push_back(std::move(exchange));
  }
  std::erase(waiting_, nullptr);
  return late;
}

std::string_view HttpReply::header(std::string_view name) const {
  for (const auto& [found, value] : headers) {
    if (boost::beast::iequals(found, name)) return value;
  }
  return {};
}

class HttpClient::Impl : public Pool {
 public:
  using Pool::Pool;
};

HttpClient::HttpClient(HttpClientOptions options) {
  auto url = parse_url(options.url);
  if (!url) throw EngineError{url.error()};
  impl_ = std::make_shared<Impl>(std::move(options), *std::move(url));
  impl_->start();
}

HttpClient::~HttpClient() {
  impl_->stop();
}

void HttpClient::send(HttpRequest request, Done done) {
  impl_->send(std::move(request), std::move(done));
}

Executor& HttpClient::executor() {
  return *impl_;
}

Result<HttpReply> HttpClient::call(HttpRequest request) {
  DW_ASSERT(!impl_->on_own_thread(), "a callback must not wait for the thread that it runs on");
  std::promise<Result<HttpReply>> promise;
  auto reply = promise.get_future();
  send(std::move(request), [&](Result<HttpReply> result) { promise.set_value(std::move(result)); });
  return reply.get();
}

}  // namespace dw::client
