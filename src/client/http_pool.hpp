// What the client is made of: a thread, its connections, and the requests that wait for one.
// Callbacks instead of coroutines, one timer instead of one for each request, and one buffer for
// all connections, because a request is cheap only if nothing of its own has to be set up.
#pragma once
#include "client/http_client.hpp"
#include "client/url.hpp"
#include "client/wire.hpp"

#if defined(__SANITIZE_THREAD__)
#define BOOST_ASIO_DISABLE_FENCED_BLOCK  // TSan does not know fences; Asio's mutexes do as well
#endif
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/system_timer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include <array>
#include <deque>
#include <list>
#include <mutex>
#include <optional>
#include <span>
#include <thread>

namespace dw::client {

using SteadyTime = std::chrono::steady_clock::time_point;

struct Exchange {
  HttpRequest request;
  HttpClient::Done done;
  SteadyTime deadline;
  bool retried = false;
};
using ExchangePtr = std::unique_ptr<Exchange>;

// The last thing done for an exchange: its callback may send the next request.
void complete(ExchangePtr exchange, Result<HttpReply> result);

class Pool;

// One connection. At most one wait in each direction is under way; that for input stays while the
// connection is idle, so that a server's goodbye is noticed before the next request.
class Link : public std::enable_shared_from_this<Link> {
 public:
  using Place = std::list<std::shared_ptr<Link>>::iterator;

  explicit Link(Pool& pool);
  void open(ExchangePtr exchange, Place place);  // connects, and serves it
  void serve(ExchangePtr exchange);
  void rest(SteadyTime until);  // until the next request
  void expire(SteadyTime now);  // its deadline has passed
  // Closes, and gives back what was under way.
  ExchangePtr abandon();
  SteadyTime deadline() const { return deadline_; }
  Place place() const { return place_; }

 private:
  enum class Phase { connecting, handshaking, busy, idle, closed };
  using Parser = boost::beast::http::response_parser<boost::beast::http::string_body>;

  void connect();
  void secure();
  void shake_hands();
  void write_head();
  void write_more();
  void await(Wire::Stop wanted);
  void on_ready();
  void receive();
  bool parse(std::string_view bytes);
  void begin_reply();
  void end_of_input(Wire::Stop stop);
  void deliver(bool server_stays);
  void lost(const std::string& why);
  void fail(Error error);
  std::string subject() const;

  Pool& pool_;
  boost::asio::ip::tcp::socket socket_;
  Wire wire_;
  Place place_;  // among the pool's busy or idle connections
  SteadyTime deadline_;
  ExchangePtr exchange_;
  Phase phase_ = Phase::connecting;
  bool kept_ = false;     // it has served a request before
  bool heard_ = false;    // some of the reply
  bool cut_off_ = false;  // the server takes no more of the request, and may have said why
  bool awaiting_read_ = false;
  bool awaiting_write_ = false;
  std::string head_;
  std::string_view body_;  // of the request; empty when it is part of head_
  std::size_t sent_ = 0;   // of head_ and body_ together
  std::optional<Parser> parser_;
  std::string input_;  // received and not parsed: half a head
};

class Pool : public Executor, public std::enable_shared_from_this<Pool> {
 public:
  // Throws EngineError when the certificate file cannot be used.
  Pool(HttpClientOptions options, Url url);
  void start();
  void send(HttpRequest request, HttpClient::Done done);
  void post(Work work) override;
  void post_at(Timestamp at, Work work) override;
  // Tells everybody who waits that it is over, and ends the thread.
  void stop();
  bool on_own_thread() const { return std::this_thread::get_id() == thread_id_; }

  // The rest is for connections, on the pool's own thread.
  boost::asio::io_context& io() { return io_; }
  const HttpClientOptions& options() const { return options_; }
  const Url& url() const { return url_; }
  const TlsContext& tls() const { return tls_; }  // none: in the clear
  // The end of a request's first line, and its Host.
  const std::string& host_line() const { return host_line_; }
  std::span<char> buffer() { return buffer_; }
  boost::asio::ip::tcp::resolver& resolver() { return resolver_; }
  // Of the host; empty: to be asked for.
  std::vector<boost::asio::ip::tcp::endpoint>& endpoints() { return endpoints_; }
  void forget_endpoints();  // nobody was there
  Error cannot_reach(std::string_view why) const;

  void wake_at(SteadyTime deadline);
  void open(ExchangePtr exchange);     // on a connection of its own
  void release(Link& link);            // it may serve the next request
  void forget(Link& link, bool idle);  // it is closed
  void open_for_waiting();             // after connections were closed

 private:
  using Links = std::list<std::shared_ptr<Link>>;

  void run();
  void fetch();
  void begin(ExchangePtr exchange);
  void shut_down();
  void expire_due();
  std::vector<ExchangePtr> take_late(SteadyTime now);

  const HttpClientOptions options_;
  const Url url_;
  const std::string host_line_;
  TlsContext tls_;

  boost::asio::io_context io_{1};
  std::optional<boost::asio::executor_work_guard<boost::asio::io_context::executor_type>> work_;
  boost::asio::steady_timer timer_;
  SteadyTime wakes_at_ = SteadyTime::max();
  SteadyTime looked_at_;  // for deadlines
  boost::asio::ip::tcp::resolver resolver_;
  std::vector<boost::asio::ip::tcp::endpoint> endpoints_;
  bool fixed_address_ = false;  // the URL names an address, not a host
  std::array<char, 64 * 1024> buffer_;
  Links busy_;
  // Most recently used last: what is not needed gathers at the front and expires there.
  Links idle_;
  std::deque<ExchangePtr> waiting_;              // only while max_connections are busy
  std::list<boost::asio::system_timer> timers_;  // of what was posted for later
  bool stopping_ = false;

  std::mutex mutex_;
  std::vector<ExchangePtr> inbox_;  // guarded by mutex_; from other threads

  std::thread thread_;
  std::thread::id thread_id_;
};

}  // namespace dw::client
