// One client's connection, and the lane (a thread with its own io_context) that serves it among
// many. Everything waits for readiness and then reads into the lane's buffer, so that a connection
// that waits owns no buffer at all. Callbacks instead of coroutines for the same reason: a frame
// kept through a long poll would be larger than the connection.
#pragma once
#include "server/request_parser.hpp"

#if defined(__SANITIZE_THREAD__)
#define BOOST_ASIO_DISABLE_FENCED_BLOCK  // TSan does not know fences; Asio's mutexes do as well
#endif
#include <openssl/ssl.h>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <ctime>
#include <list>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

namespace dw::server {

class Connection;
class Lane;

using SteadyTime = std::chrono::steady_clock::time_point;

struct FreeSsl {
  void operator()(SSL* ssl) const { SSL_free(ssl); }
};
using SslPtr = std::unique_ptr<SSL, FreeSsl>;

// Counts connections, and lets stop() wait for the last. It outlives all of them.
class Census {
 public:
  struct Leave {
    bool admitted = false;
    void operator()(Census* census) const { census->leave(admitted); }
  };
  // Held by a connection until it is closed; not `admitted`: it is there to be told 503.
  using Seat = std::unique_ptr<Census, Leave>;

  // None when even those who are being refused are too many.
  Seat take_seat(std::size_t max_connections);
  std::size_t admitted() const;
  bool wait_until_empty(SteadyTime deadline) const;

 private:
  void leave(bool admitted);

  mutable std::mutex mutex_;
  mutable std::condition_variable empty_;
  std::size_t admitted_ = 0;  // guarded by mutex_
  std::size_t refused_ = 0;   // guarded by mutex_
};

// A non-blocking socket, with or without TLS. OpenSSL works on the socket itself rather than
// through asio::ssl::stream, whose buffers hold 68 KiB for as long as a connection lives.
class Wire {
 public:
  enum class Stop { none, wants_read, wants_write, ended };
  struct Moved {
    std::size_t bytes = 0;  // some, or else `stop` says why not
    Stop stop = Stop::none;
  };

  Wire(boost::asio::ip::tcp::socket socket, SslPtr ssl);
  boost::asio::ip::tcp::socket& socket() { return socket_; }
  bool secure() const { return ssl_ != nullptr; }

  Stop handshake();
  Moved read(std::span<char> into);
  Moved read_raw(std::span<char> into);  // beneath TLS, for bytes nobody will look at
  Moved write(std::string_view head, std::string_view body);
  // TLS holds bytes that were decrypted but not read; the socket will not announce them again.
  bool has_pending() const { return ssl_ && SSL_pending(ssl_.get()) > 0; }
  void end_output();
  void close();

 private:
  Moved ssl_outcome(int result);

  boost::asio::ip::tcp::socket socket_;
  SslPtr ssl_;
};

// Where answers wait for their lane. Whoever holds a Respond holds its inbox too, so that an answer
// may come at any time, even when lane and server are long gone.
class Inbox : public std::enable_shared_from_this<Inbox> {
 public:
  struct Answer {
    std::weak_ptr<Connection> connection;
    std::uint64_t exchange = 0;
    Response response;
  };
  explicit Inbox(Lane& lane) : lane_(&lane) {}
  void put(Answer answer);
  void close();

 private:
  void deliver();  // on the lane's thread

  std::mutex mutex_;
  Lane* lane_;                   // guarded by mutex_; null when the lane has ended
  std::vector<Answer> answers_;  // guarded by mutex_
};

enum class Phase { handshaking, idle, reading, thinking, writing, lingering, closed };

// Touched by its lane's thread alone.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using Place = std::list<std::shared_ptr<Connection>>::iterator;

  Connection(Lane& lane, Wire wire, Census::Seat seat);
  void start(Place place);
  // Ignored unless that exchange is the one under way and still unanswered.
  void answer(std::uint64_t exchange, Response response);
  void expire();  // its deadline has passed
  void close();
  SteadyTime deadline() const { return deadline_; }

 private:
  template <typename Step>
  void attempt(Step step);
  void enter(Phase phase);
  void await(Wire::Stop wanted);
  void on_ready();
  void handshake();
  void begin();
  void receive();
  void parse(std::string_view bytes);
  bool check_head();
  void give_room_back();
  void hand_over(RequestParser::Whole whole);
  void refuse(int status, std::string_view reason, std::string_view message);
  void write(Response response);
  void write_more();
  void next();
  void finish();

  Lane& lane_;
  Wire wire_;
  std::string remote_;  // address
  Census::Seat seat_;
  Place place_;  // in the lane's list for phase_
  SteadyTime deadline_;
  Phase phase_ = Phase::idle;
  bool awaiting_read_ = false;
  bool awaiting_write_ = false;
  bool keep_alive_ = true;
  bool old_client_ = false;  // speaks HTTP/1.0 and must be told that we keep the connection
  bool wants_body_ = true;   // false: HEAD
  std::uint64_t exchange_ = 0;
  std::size_t room_ = 0;  // for the body that is being received
  RequestParser parser_;
  std::string head_, body_;
  std::size_t sent_ = 0;  // of head_ and body_ together
};

// A thread and its connections.
class Lane {
 public:
  Lane(const HttpOptions& options, Handler& handler);
  ~Lane();
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  boost::asio::io_context& io() { return io_; }
  void start();
  void join();  // after close_all
  // From here on every answer is its connection's last, and says so.
  void announce_end() { draining_ = true; }
  bool draining() const { return draining_; }

  // The rest is for the lane's own thread.
  void open(boost::asio::ip::tcp::socket socket, SslPtr ssl, Census::Seat seat);
  void close_idle();
  void close_all();  // and lets the thread end

  const HttpOptions& options() const { return options_; }
  Handler& handler() { return handler_; }
  const std::shared_ptr<Inbox>& inbox() const { return inbox_; }
  std::span<char> buffer() { return *buffer_; }
  const std::string& date();
  // Room for bodies that are being received; false when they are too many.
  bool take_room(std::size_t bytes);
  void give_back_room(std::size_t bytes) { room_taken_ -= bytes; }
  // Moves a connection to the list of its new phase, and gives its new deadline.
  SteadyTime move(Connection::Place place, Phase from, Phase to);
  void forget(Connection::Place place, Phase phase);

 private:
  using Line = std::list<std::shared_ptr<Connection>>;
  static constexpr auto phases = static_cast<std::size_t>(Phase::closed);

  void run();
  void serve();
  void wake_at(SteadyTime at);
  void expire_due();
  Line& line(Phase phase) { return lines_[static_cast<std::size_t>(phase)]; }
  void close_line(Phase phase);

  const HttpOptions& options_;
  Handler& handler_;
  boost::asio::io_context io_{1};
  std::optional<boost::asio::executor_work_guard<boost::asio::io_context::executor_type>> work_;
  boost::asio::steady_timer timer_;
  SteadyTime wakes_at_ = SteadyTime::max();
  std::size_t room_taken_ = 0;
  const std::shared_ptr<Inbox> inbox_;
  std::unique_ptr<std::array<char, 32 * 1024>> buffer_;
  std::array<std::chrono::milliseconds, phases> timeouts_;
  // One list for each phase. All of a list have the same timeout, so it is sorted by deadline and
  // only its front is ever looked at.
  std::array<Line, phases> lines_;
  std::atomic<bool> draining_{false};
  std::time_t date_of_ = 0;
  std::string date_;
  std::thread thread_;
};

}  // namespace dw::server
