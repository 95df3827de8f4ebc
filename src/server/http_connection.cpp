#include "server/http_connection.hpp"

#include "dispatch/vigil.hpp"

#include <fmt/chrono.h>
#include <openssl/err.h>
#include <pthread.h>
#include <spdlog/spdlog.h>
#include <boost/asio/post.hpp>
#include <boost/beast/http/status.hpp>

#include <algorithm>
#include <csignal>
#include <iterator>

namespace dw::server {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;

// Refused clients beyond these are cut off without a word: a limit that grows with the crowd is
// none.
constexpr std::size_t max_refused = 256;

// After our last word, for the client to read it and hang up. Closing at once with input unread
// would reset the connection, and the client might lose the answer that says why.
constexpr std::chrono::milliseconds linger_timeout{1000};

constexpr std::size_t usual_head = 512;
constexpr std::size_t head_worth_keeping = 1024;

Wire::Moved socket_outcome(std::size_t bytes, const error_code& error, Wire::Stop blocked) {
  if (!error) return {bytes, Wire::Stop::none};
  const bool again = error == asio::error::would_block || error == asio::error::try_again;
  return {0, again ? blocked : Wire::Stop::ended};
}

Response error_response(int status, std::string_view reason, std::string_view message) {
  return {.status = status,
          .headers = {{"Content-Type", "application/json"}},
          .body = fmt::format(R"({{"message":"{}","reason":"{}"}})", message, reason)};
}

bool has_line_break(std::string_view text) {
  return text.find('\r') != std::string_view::npos || text.find('\n') != std::string_view::npos;
}

void append_number(std::string& text, std::size_t number) {
  const fmt::format_int digits{number};
  text.append(digits.data(), digits.size());
}

bool may_have_body(int status) {
  return status >= 200 && status != 204 && status != 304;
}

}  // namespace

Census::Seat Census::take_seat(std::size_t max_connections) {
  const std::lock_guard lock{mutex_};
  const bool admitted = admitted_ < max_connections;
  if (!admitted && refused_ >= max_refused) return {};
  ++(admitted ? admitted_ : refused_);
  return Seat{this, Leave{admitted}};
}

void Census::leave(bool admitted) {
  const std::lock_guard lock{mutex_};
  --(admitted ? admitted_ : refused_);
  if (admitted && admitted_ == 0) empty_.notify_all();
}

std::size_t Census::admitted() const {
  const std::lock_guard lock{mutex_};
  return admitted_;
}

bool Census::wait_until_empty(SteadyTime deadline) const {
  std::unique_lock lock{mutex_};
  return empty_.wait_until(lock, deadline, [&] { return admitted_ == 0; });
}

Wire::Wire(tcp::socket socket, SslPtr ssl) : socket_(std::move(socket)), ssl_(std::move(ssl)) {}

Wire::Moved Wire::ssl_outcome(int result) {
  if (result > 0) return {static_cast<std::size_t>(result), Stop::none};
  switch (SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_WANT_READ:
      return {0, Stop::wants_read};
    case SSL_ERROR_WANT_WRITE:
      return {0, Stop::wants_write};
    default:
      return {0, Stop::ended};
  }
}

Wire::Stop Wire::handshake() {
  ERR_clear_error();  // what another connection left there would be taken for ours
  return ssl_outcome(SSL_accept(ssl_.get())).stop;
}

Wire::Moved Wire::read(std::span<char> into) {
  if (!ssl_) return read_raw(into);
  ERR_clear_error();
  return ssl_outcome(SSL_read(ssl_.get(), into.data(), static_cast<int>(into.size())));
}

Wire::Moved Wire::read_raw(std::span<char> into) {
  error_code error;
  const auto bytes = socket_.read_some(asio::buffer(into.data(), into.size()), error);
  return socket_outcome(bytes, error, Stop::wants_read);
}

Wire::Moved Wire::write(std::string_view head, std::string_view body) {
  if (!ssl_) {
    error_code error;
    const std::array parts{asio::buffer(head), asio::buffer(body)};
    return socket_outcome(socket_.write_some(parts, error), error, Stop::wants_write);
  }
  const std::string_view part = head.empty() ? body : head;
  constexpr std::size_t most = 1 << 20;  // OpenSSL counts in int, and takes a record at a time
  ERR_clear_error();
  return ssl_outcome(
      SSL_write(ssl_.get(), part.data(), static_cast<int>(std::min(part.size(), most))));
}

void Wire::end_output() {
  ERR_clear_error();
  if (ssl_ && SSL_is_init_finished(ssl_.get())) SSL_shutdown(ssl_.get());
  error_code ignored;  // the client may have been faster
  socket_.shutdown(tcp::socket::shutdown_send, ignored);
}

void Wire::close() {
  error_code ignored;
  socket_.close(ignored);
  ssl_.reset();
}

void Inbox::put(Answer answer) {
  const std::lock_guard lock{mutex_};
  if (!lane_) return;
  answers_.push_back(std::move(answer));
  // Whoever finds it empty rings; the others' answers are fetched along with that one.
  if (answers_.size() == 1) {
    asio::post(lane_->io(), [self = shared_from_this()] { self->deliver(); });
  }
}

void Inbox::deliver() {
  std::vector<Answer> answers;
  {
    const std::lock_guard lock{mutex_};
    answers.swap(answers_);
  }
  for (Answer& answer : answers) {
    const auto connection = answer.connection.lock();
    if (connection) connection->answer(answer.exchange, std::move(answer.response));
  }
}

void Inbox::close() {
  std::vector<Answer> dropped;
  const std::lock_guard lock{mutex_};
  lane_ = nullptr;
  dropped.swap(answers_);
}

Connection::Connection(Lane& lane, Wire wire, Census::Seat seat)
    : lane_(lane), wire_(std::move(wire)), seat_(std::move(seat)) {
  error_code gone;
  const auto end = wire_.socket().remote_endpoint(gone);
  if (!gone) remote_ = end.address().to_string();
}

// Whatever throws (out of memory, a handler without manners) costs this client its connection, and
// no other anything.
template <typename Step>
void Connection::attempt(Step step) {
  try {
    return step();
  } catch (const std::exception& failure) {
    spdlog::error("connection dropped: {}", failure.what());
  } catch (...) {
    spdlog::error("connection dropped: something was thrown that is no std::exception");
  }
  close();
}

void Connection::start(Place place) {
  place_ = place;
  attempt([&] {
    if (!wire_.secure()) return begin();
    enter(Phase::handshaking);
    handshake();
  });
}

void Connection::handshake() {
  const auto stop = wire_.handshake();
  if (stop == Wire::Stop::none) return begin();
  await(stop);
}

void Connection::begin() {
  if (lane_.draining()) return close();
  if (!seat_.get_deleter().admitted) {
    return refuse(503, "overloaded", "too many connections; try again in a second");
  }
  next();
}

void Connection::enter(Phase phase) {
  deadline_ = lane_.move(place_, phase_, phase);
  phase_ = phase;
}

// At most one wait in each direction. That for input stays while the handler thinks and while the
// answer is written: it notices a client that hangs up, and is already there for the next request.
void Connection::await(Wire::Stop wanted) {
  if (wanted == Wire::Stop::ended) return close();
  const bool input = wanted == Wire::Stop::wants_read;
  bool& awaiting = input ? awaiting_read_ : awaiting_write_;
  if (std::exchange(awaiting, true)) return;
  wire_.socket().async_wait(input ? tcp::socket::wait_read : tcp::socket::wait_write,
                            [self = shared_from_this(), &awaiting](const error_code& error) {
                              awaiting = false;
                              if (self->phase_ == Phase::closed) return;
                              self->attempt([&] { error ? self->close() : self->on_ready(); });
                            });
}

// Which direction became ready does not matter: whoever is not served yet waits again.
void Connection::on_ready() {
  switch (phase_) {
    case Phase::handshaking:
      return handshake();
    case Phase::idle:
    case Phase::reading:
    case Phase::thinking:
      return receive();
    case Phase::writing:
      return write_more();
    case Phase::lingering:
      if (const auto got = wire_.read_raw(lane_.buffer()); got.bytes == 0) return await(got.stop);
      return await(Wire::Stop::wants_read);
    case Phase::closed:
      return;
  }
}

void Connection::receive() {
  do {
    const auto got = wire_.read(lane_.buffer());
    if (got.bytes == 0) return await(got.stop);
    const std::string_view bytes{lane_.buffer().data(), got.bytes};
    if (phase_ == Phase::thinking) {
      // Sent ahead. It is kept, so that the end of input behind it is seen too, within reason.
      // (One who only closes his half counts as gone; whoever wants an answer stays.)
      parser_.keep(bytes);
      if (parser_.kept() < lane_.options().max_header_bytes) await(Wire::Stop::wants_read);
      return;
    }
    parse(bytes);
  } while (wire_.has_pending() && (phase_ == Phase::idle || phase_ == Phase::reading));
}

void Connection::parse(std::string_view bytes) {
  auto found = parser_.receive(bytes, lane_.options(), [this] { return check_head(); });
  if (std::holds_alternative<RequestParser::Stopped>(found)) return;
  if (auto* whole = std::get_if<RequestParser::Whole>(&found)) return hand_over(std::move(*whole));
  if (const auto* no = std::get_if<RequestParser::Refusal>(&found)) {
    return refuse(no->status, no->reason, no->message);
  }
  if (phase_ == Phase::idle) enter(Phase::reading);
  await(Wire::Stop::wants_read);
}

// Looks at a head once, before its body is read; false when that was the end of it.
bool Connection::check_head() {
  const auto room = parser_.room_for_body(lane_.options());
  if (!lane_.take_room(room)) {
    refuse(503, "overloaded", "too much is being received; try again in a second");
    return false;
  }
  room_ = room;
  if (parser_.waits_to_be_asked()) {
    constexpr std::string_view go_on = "HTTP/1.1 100 Continue\r\n\r\n";
    if (wire_.write(go_on, {}).bytes != go_on.size()) {  // he has not even taken earlier answers
      close();
      return false;
    }
  }
  return true;
}

void Connection::give_room_back() {
  lane_.give_back_room(std::exchange(room_, 0));
}

void Connection::hand_over(RequestParser::Whole whole) {
  give_room_back();
  keep_alive_ = whole.keep_alive;
  old_client_ = whole.old_client;
  wants_body_ = whole.wants_body;
  Request& request = whole.request;
  request.client = weak_from_this();
  request.remote = remote_;

  enter(Phase::thinking);
  const auto exchange = ++exchange_;
  await(Wire::Stop::wants_read);
  try {
    lane_.handler().handle(std::move(request), [inbox = lane_.inbox(), self = weak_from_this(),
                                                exchange](Response response) {
      inbox->put({self, exchange, std::move(response)});
    });
  } catch (const std::exception& failure) {
    spdlog::error("a request's handler threw: {}", failure.what());
    answer(exchange, error_response(500, "server_error", "the server failed; its log says why"));
  }
}

// Answers without the handler, and ends the connection: what follows on it makes no sense.
void Connection::refuse(int status, std::string_view reason, std::string_view message) {
  give_room_back();
  keep_alive_ = false;
  wants_body_ = true;
  auto response = error_response(status, reason, message);
  if (status == 503) response.headers.push_back({"Retry-After", "1"});
  write(std::move(response));
}

void Connection::answer(std::uint64_t exchange, Response response) {
  if (phase_ != Phase::thinking || exchange != exchange_) return;
  attempt([&] { write(std::move(response)); });
}

void Connection::write(Response response) {
  keep_alive_ = keep_alive_ && !lane_.draining();
  const std::string_view reason{
      http::obsolete_reason(http::int_to_status(static_cast<unsigned>(response.status)))};
  head_.reserve(usual_head);
  head_ += "HTTP/1.1 ";
  append_number(head_, static_cast<std::size_t>(response.status));
  head_.append(1, ' ')
      .append(reason)
      .append("\r\nServer: dw\r\nDate: ")
      .append(lane_.date())
      .append("\r\n");
  for (const auto& [name, value] : response.headers) {
    // A line break would let a value that came from a client write headers of its own.
    if (has_line_break(name) || has_line_break(value)) continue;
    head_.append(name).append(": ").append(value).append("\r\n");
  }
  if (may_have_body(response.status)) {
    head_ += "Content-Length: ";
    append_number(head_, response.body.size());
    head_ += "\r\n";
    if (wants_body_) body_ = std::move(response.body);
  }
  if (!keep_alive_) {
    head_ += "Connection: close\r\n";
  } else if (old_client_) {
    head_ += "Connection: keep-alive\r\n";
  }
  head_ += "\r\n";
  // One TLS record, like one packet, for what is small; a plain socket gathers without copying.
  if (wire_.secure()) head_ += std::exchange(body_, {});
  write_more();
}

void Connection::write_more() {
  bool progress = phase_ != Phase::writing;
  while (sent_ < head_.size() + body_.size()) {
    const auto in_head = std::min(sent_, head_.size());
    const auto put = wire_.write(std::string_view{head_}.substr(in_head),
                                 std::string_view{body_}.substr(sent_ - in_head));
    if (put.bytes == 0) {
      if (progress) enter(Phase::writing);
      return await(put.stop);
    }
    progress = true;
    sent_ += put.bytes;
  }
  sent_ = 0;
  body_ = {};
  head_.clear();
  if (head_.capacity() > head_worth_keeping) head_ = {};
  keep_alive_ && !lane_.draining() ? next() : finish();
}

void Connection::next() {
  enter(Phase::idle);
  if (parser_.kept() > 0) return parse({});
  if (wire_.has_pending()) return receive();
  await(Wire::Stop::wants_read);
}

void Connection::finish() {
  wire_.end_output();
  parser_.clear();
  enter(Phase::lingering);
  await(Wire::Stop::wants_read);
}

void Connection::expire() {
  if (phase_ != Phase::reading) return close();
  attempt([&] {
    refuse(408, "request_timeout",
           fmt::format("the request did not arrive whole within {} ms",
                       lane_.options().header_timeout.count()));
  });
}

void Connection::close() {
  if (phase_ == Phase::closed) return;
  const auto self = shared_from_this();
  give_room_back();
  lane_.forget(place_, std::exchange(phase_, Phase::closed));
  wire_.close();
  seat_.reset();
}

Lane::Lane(const HttpOptions& options, Handler& handler)
    : options_(options),
      handler_(handler),
      work_(io_.get_executor()),
      timer_(io_),
      inbox_(std::make_shared<Inbox>(*this)),
      buffer_(std::make_unique<std::array<char, 32 * 1024>>()),
      timeouts_{options.header_timeout, options.idle_timeout, options.header_timeout, {},
                options.write_timeout,  linger_timeout} {}

Lane::~Lane() {
  join();
  inbox_->close();
}

void Lane::start() {
  thread_ = std::thread{[this] { run(); }};
}

void Lane::join() {
  if (thread_.joinable()) thread_.join();
}

void Lane::run() {
  pthread_setname_np(pthread_self(), "dw-http");
  // OpenSSL writes with write(), which has no flag against it. The signal goes to the thread that
  // wrote, so it is enough to be deaf here.
  sigset_t pipe;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
  for (;;) {
    try {
      return serve();
    } catch (const std::exception& failure) {
      spdlog::error("an HTTP thread goes on after: {}", failure.what());
    } catch (...) {
      spdlog::error("an HTTP thread goes on after something that is no std::exception");
    }
  }
}

void Lane::serve() {
  dispatch::Vigil<> vigil{options_.stay_awake};
  for (;;) {
    if (vigil.keep([this] { return io_.poll() > 0; })) continue;
    if (io_.run_one() == 0) return;  // there was nothing ready: it slept
    vigil.woken();
  }
}

void Lane::open(tcp::socket socket, SslPtr ssl, Census::Seat seat) {
  auto& idle = line(Phase::idle);
  idle.push_back(std::make_shared<Connection>(*this, Wire{std::move(socket), std::move(ssl)},
                                              std::move(seat)));
  const auto connection = idle.back();
  connection->start(std::prev(idle.end()));
}

void Lane::close_line(Phase phase) {
  while (!line(phase).empty()) line(phase).front()->close();
}

void Lane::close_idle() {
  close_line(Phase::handshaking);
  close_line(Phase::idle);
}

void Lane::close_all() {
  for (std::size_t phase = 0; phase < phases; ++phase) close_line(static_cast<Phase>(phase));
  timer_.cancel();
  work_.reset();
}

SteadyTime Lane::move(Connection::Place place, Phase from, Phase to) {
  line(to).splice(line(to).end(), line(from), place);
  if (to == Phase::thinking) return SteadyTime::max();  // the handler's time is its own
  const auto deadline = std::chrono::steady_clock::now() + timeouts_[static_cast<std::size_t>(to)];
  wake_at(deadline);
  return deadline;
}

bool Lane::take_room(std::size_t bytes) {
  const auto share = options_.max_receiving_bytes / static_cast<std::size_t>(options_.threads);
  if (room_taken_ + bytes > std::max(share, options_.max_body_bytes)) return false;
  room_taken_ += bytes;
  return true;
}

void Lane::forget(Connection::Place place, Phase phase) {
  line(phase).erase(place);
}

// The timer is set rarely: most deadlines lie behind the one it waits for, and most are gone when
// it rings.
void Lane::wake_at(SteadyTime at) {
  if (at >= wakes_at_) return;
  wakes_at_ = at;
  timer_.expires_at(at);
  timer_.async_wait([this](const error_code& error) {
    if (!error) expire_due();
  });
}

void Lane::expire_due() {
  wakes_at_ = SteadyTime::max();
  const auto now = std::chrono::steady_clock::now();
  for (auto& connections : lines_) {
    while (!connections.empty() && connections.front()->deadline() <= now) {
      const auto connection = connections.front();
      connection->expire();
    }
  }
  for (const auto& connections : lines_) {
    if (!connections.empty()) wake_at(connections.front()->deadline());
  }
}

const std::string& Lane::date() {
  const std::time_t now = std::time(nullptr);
  if (std::exchange(date_of_, now) != now) {
    date_ = fmt::format("{:%a, %d %b %Y %H:%M:%S} GMT", fmt::gmtime(now));
  }
  return date_;
}

}  // namespace dw::server
