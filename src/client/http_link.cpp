#include "client/half_an_end.hpp"
#include "client/http_pool.hpp"

#include <fmt/format.h>
#include <boost/asio/connect.hpp>

#include <algorithm>

namespace dw::client {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::uint64_t max_reply_bytes = 64 << 20;
constexpr std::uint32_t max_reply_head_bytes = 64 << 10;

bool always_has_length(std::string_view method) {
  return method == "POST" || method == "PUT" || method == "PATCH";
}

HttpReply take_reply(http::response<http::string_body>& message) {
  HttpReply reply;
  reply.status = static_cast<int>(message.result_int());
  reply.headers.reserve(static_cast<std::size_t>(std::distance(message.begin(), message.end())));
  for (const auto& field : message) {
    reply.headers.emplace_back(field.name_string(), field.value());
  }
  reply.body = std::move(message.body());
  return reply;
}

}  // namespace

Link::Link(Pool& pool) : pool_(pool), socket_(pool.io()) {}

void Link::open(ExchangePtr exchange, Place place) {
  place_ = place;
  exchange_ = std::move(exchange);
  const auto now = std::chrono::steady_clock::now();
  deadline_ = std::min(exchange_->deadline, now + pool_.options().connect_timeout);
  pool_.wake_at(deadline_);
  if (!pool_.endpoints().empty()) return connect();
  pool_.resolver().async_resolve(
      pool_.url().host, pool_.url().port,
      [self = shared_from_this()](const error_code& error,
                                  const tcp::resolver::results_type& found) {
        if (self->phase_ == Phase::closed) return;
        if (error) return self->fail(self->pool_.cannot_reach(error.message()));
        self->pool_.endpoints().assign(found.begin(), found.end());
        self->connect();
      });
}

void Link::connect() {
  asio::async_connect(socket_, pool_.endpoints(),
                      [self = shared_from_this()](error_code error, const tcp::endpoint&) {
                        if (self->phase_ == Phase::closed) return;
                        if (!error) self->socket_.non_blocking(true, error);
                        if (!error) self->socket_.set_option(tcp::no_delay{true}, error);
                        if (!error) return self->secure();
                        self->pool_.forget_endpoints();
                        self->fail(self->pool_.cannot_reach(error.message()));
                      });
}

void Link::secure() {
  if (!pool_.tls()) {
    wire_ = Wire{socket_.native_handle()};
    return serve(std::move(exchange_));
  }
  wire_ = Wire{socket_.native_handle(), pool_.tls(), pool_.url()};
  phase_ = Phase::handshaking;
  shake_hands();
}

void Link::shake_hands() {
  switch (const auto stop = wire_.handshake()) {
    case Wire::Stop::none:
      return serve(std::move(exchange_));
    case Wire::Stop::wants_read:
    case Wire::Stop::wants_write:
      return await(stop);
    case Wire::Stop::ended:
    case Wire::Stop::failed:
      return fail({ErrorCode::unavailable,
                   fmt::format("cannot reach {}: no TLS: {}; check the host's name, and name the "
                               "authority that signed its certificate if it is not a public one "
                               "(SSL_CERT_FILE=its.pem)",
                               pool_.url().text(), wire_.why())});
  }
}

void Link::serve(ExchangePtr exchange) {
  exchange_ = std::move(exchange);
  phase_ = Phase::busy;
  deadline_ = exchange_->deadline;
  heard_ = false;
  write_head();
  write_more();
}

void Link::write_head() {
  const auto& request = exchange_->request;
  head_.clear();
  head_.append(request.method).append(" ").append(pool_.url().base).append(request.target);
  head_ += pool_.host_line();
  for (const auto& [name, value] : request.headers) {
    head_.append(name).append(": ").append(value).append("\r\n");
  }
  if (!request.body.empty() || always_has_length(request.method)) {
    const fmt::format_int length{request.body.size()};
    head_.append("Content-Length: ").append(length.data(), length.size()).append("\r\n");
  }
  head_ += "\r\n";
  body_ = request.body;
  // One TLS record, like one packet, for what is small; a plain socket gathers without copying.
  if (pool_.tls()) head_ += std::exchange(body_, {});
  sent_ = 0;
}

void Link::write_more() {
  while (sent_ < head_.size() + body_.size()) {
    const auto in_head = std::min(sent_, head_.size());
    const auto put =
        wire_.write(std::string_view{head_}.substr(in_head), body_.substr(sent_ - in_head));
    sent_ += put.bytes;
    if (put.bytes > 0) continue;
    if (put.stop == Wire::Stop::wants_write || put.stop == Wire::Stop::wants_read) {
      await(put.stop);
      break;
    }
    // It may have answered before it hung up: a request that it refuses to take, say.
    cut_off_ = true;
    return receive();
  }
  await(Wire::Stop::wants_read);
}

void Link::await(Wire::Stop wanted) {
  const bool input = wanted == Wire::Stop::wants_read;
  bool& awaiting = input ? awaiting_read_ : awaiting_write_;
  if (std::exchange(awaiting, true)) return;
  socket_.async_wait(input ? tcp::socket::wait_read : tcp::socket::wait_write,
                     [self = shared_from_this(), &awaiting](const error_code& error) {
                       awaiting = false;
                       if (self->phase_ == Phase::closed) return;
                       error ? self->lost(error.message()) : self->on_ready();
                     });
}

// Which direction became ready does not matter: whoever is not served yet waits again.
void Link::on_ready() {
  if (phase_ == Phase::handshaking) return shake_hands();
  const bool unsent = phase_ == Phase::busy && sent_ < head_.size() + body_.size() && !cut_off_;
  if (unsent) write_more();
  if (phase_ != Phase::closed) receive();
}

void Link::receive() {
  for (;;) {
    const auto got = wire_.read(pool_.buffer());
    if (got.stop == Wire::Stop::wants_read || got.stop == Wire::Stop::wants_write) {
      return await(got.stop);
    }
    if (got.bytes == 0) return end_of_input(got.stop);
    if (phase_ == Phase::idle) return end_of_input(Wire::Stop::ended);  // nobody asked
    heard_ = true;
    const std::string_view bytes{pool_.buffer().data(), got.bytes};
    if (!input_.empty()) input_ += bytes;
    const bool between_chunks = parser_ && parser_->is_header_done() && parser_->chunked();
    if (between_chunks && is_half_an_end(input_)) return await(Wire::Stop::wants_read);
    if (!parse(input_.empty() ? bytes : std::string_view{input_})) return;
    if (parser_->is_done()) return deliver(true);
    if (!wire_.has_pending()) return await(Wire::Stop::wants_read);
  }
}

void Link::begin_reply() {
  parser_.emplace();
  parser_->header_limit(max_reply_head_bytes);
  parser_->body_limit(max_reply_bytes);
  if (exchange_->request.method == "HEAD") parser_->skip(true);
}

// `bytes` are the pool's buffer or input_, and what is left of them is input_ afterwards. False
// when that was the end of the connection.
bool Link::parse(std::string_view bytes) {
  if (!parser_) begin_reply();
  std::size_t used = 0;
  error_code error;
  while (used < bytes.size() && !parser_->is_done() && !error) {
    used += parser_->put(asio::buffer(bytes.substr(used)), error);
    // "Go on" and the like announce a reply, and are none.
    if (parser_->is_done() && parser_->get().result_int() / 100 == 1) begin_reply();
  }
  if (bytes.data() == input_.data()) {
    input_.erase(0, used);
  } else {
    input_ = bytes.substr(used);
  }
  if (error == http::error::need_more && input_.size() <= max_reply_head_bytes) error = {};
  if (!error) return true;
  if (error == http::error::body_limit) {
    fail({ErrorCode::unavailable,
          fmt::format("the answer to {} has more than {} bytes; ask for less", subject(),
                      max_reply_bytes)});
  } else {
    fail({ErrorCode::unavailable,
          fmt::format("the answer to {} is not HTTP/1.1: {}; is it the right port?", subject(),
                      error.message())});
  }
  return false;
}

void Link::end_of_input(Wire::Stop stop) {
  if (phase_ == Phase::idle) {
    abandon();
    return pool_.open_for_waiting();
  }
  // A reply without a length ends with the connection, if the server ended it on purpose.
  if (stop == Wire::Stop::ended && parser_ && parser_->is_header_done()) {
    error_code error;
    parser_->put_eof(error);
    if (!error && parser_->is_done()) return deliver(false);
  }
  lost(stop == Wire::Stop::failed ? wire_.why() : "the server hung up");
}

void Link::deliver(bool server_stays) {
  const bool keep = server_stays && parser_->keep_alive() && !cut_off_ && input_.empty() &&
                    sent_ == head_.size() + body_.size() && !wire_.has_pending();
  auto reply = take_reply(parser_->get());
  parser_.reset();
  kept_ = true;
  ExchangePtr exchange;
  if (keep) {
    exchange = std::move(exchange_);
    pool_.release(*this);
  } else {
    exchange = abandon();
    pool_.open_for_waiting();
  }
  complete(std::move(exchange), std::move(reply));
}

void Link::rest(SteadyTime until) {
  phase_ = Phase::idle;
  deadline_ = until;
  await(Wire::Stop::wants_read);
}

void Link::expire(SteadyTime now) {
  if (phase_ == Phase::closed || deadline_ > now) return;  // meanwhile, by another's callback
  if (phase_ == Phase::idle) return end_of_input(Wire::Stop::ended);
  if (phase_ != Phase::busy && now < exchange_->deadline) {
    return fail(pool_.cannot_reach(
        fmt::format("no connection within {} ms", pool_.options().connect_timeout.count())));
  }
  fail({ErrorCode::timed_out,
        fmt::format("no answer to {} within {} ms; it may still be carried out", subject(),
                    exchange_->request.timeout.count())});
}

// A server may hang up on a connection that is not in use, and our request may cross its goodbye.
void Link::lost(const std::string& why) {
  if (phase_ == Phase::idle) return end_of_input(Wire::Stop::ended);
  const bool unseen = sent_ == 0 || exchange_->request.repeatable;
  if (!kept_ || heard_ || !unseen || exchange_->retried) {
    return fail({ErrorCode::unavailable,
                 fmt::format("lost the connection before the answer to {}: {}; it may have been "
                             "carried out",
                             subject(), why)});
  }
  auto exchange = abandon();
  exchange->retried = true;
  pool_.open(std::move(exchange));
}

void Link::fail(Error error) {
  auto exchange = abandon();
  pool_.open_for_waiting();
  complete(std::move(exchange), std::move(error));
}

ExchangePtr Link::abandon() {
  const auto self = shared_from_this();
  pool_.forget(*this, std::exchange(phase_, Phase::closed) == Phase::idle);
  error_code ignored;
  wire_ = {};
  socket_.close(ignored);
  return std::move(exchange_);
}

std::string Link::subject() const {
  return fmt::format("{} {}{}", exchange_->request.method, pool_.url().text(),
                     exchange_->request.target);
}

}  // namespace dw::client
