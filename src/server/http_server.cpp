#include "server/http_server.hpp"

#include "core/assert.hpp"
#include "server/http_connection.hpp"

#include <openssl/err.h>
#include <spdlog/spdlog.h>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>

#include <future>

namespace dw::server {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

using SslContext = std::shared_ptr<SSL_CTX>;

// Until some connection has given its file descriptor back, most likely.
constexpr std::chrono::milliseconds accept_again_after{100};

Error unusable_file(std::string_view what, const std::string& file, std::string_view advice) {
  const char* reason = ERR_reason_error_string(ERR_peek_last_error());
  return {ErrorCode::invalid_argument, fmt::format("cannot use the {} {}: {}. {}", what, file,
                                                   reason ? reason : "unknown error", advice)};
}

Result<SslContext> load_certificate(const Tls& tls) {
  ERR_clear_error();
  const SslContext context{SSL_CTX_new(TLS_server_method()), SSL_CTX_free};
  if (!context) return Error{ErrorCode::internal, "OpenSSL could not set up TLS"};
  SSL_CTX* const ssl = context.get();
  SSL_CTX_set_min_proto_version(ssl, TLS1_2_VERSION);
  SSL_CTX_set_options(ssl, SSL_OP_NO_RENEGOTIATION);
  // Before 1.3 only what keeps old records secret should the key ever leak.
  SSL_CTX_set_cipher_list(ssl, "ECDHE+AESGCM:ECDHE+CHACHA20");
  // Buffers go back between records: most connections wait most of the time.
  SSL_CTX_set_mode(ssl, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                            SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_OFF);
  // OpenSSL would ask the terminal, and the server would hang there.
  SSL_CTX_set_default_passwd_cb(ssl, [](char*, int, int, void*) { return 0; });
  if (SSL_CTX_use_certificate_chain_file(ssl, tls.certificate_file.c_str()) != 1) {
    return unusable_file("certificate", tls.certificate_file,
                         "It must be a PEM file that this user may read.");
  }
  if (SSL_CTX_use_PrivateKey_file(ssl, tls.key_file.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_check_private_key(ssl) != 1) {
    return unusable_file("key", tls.key_file,
                         "It must be a PEM file without a passphrase that this user may read, "
                         "with the key of the certificate " +
                             tls.certificate_file + ".");
  }
  return context;
}

Error cannot_listen(const HttpOptions& options, const error_code& error) {
  const bool taken = error == asio::error::address_in_use;
  return {
      taken ? ErrorCode::unavailable : ErrorCode::invalid_argument,
      fmt::format("cannot listen on {}:{}: {}. {}", options.address, options.port, error.message(),
                  taken ? "Stop whoever holds the port, or choose another one."
                        : "Choose an address of this machine and a port this user may take.")};
}

// Runs `task` on the lane's thread and waits for its end.
void run_on(Lane& lane, const std::function<void()>& task) {
  std::promise<void> done;
  asio::post(lane.io(), [&] {
    task();
    done.set_value();
  });
  done.get_future().wait();
}

}  // namespace

class HttpServer::Impl {
 public:
  Impl(HttpOptions options, Handler& handler) : options_(std::move(options)), handler_(handler) {}

  Result<unsigned short> start();
  Result<void> reload_certificate();
  void stop_accepting();
  void stop(std::chrono::milliseconds grace);
  unsigned short port() const { return port_; }
  const Census& census() const { return census_; }

 private:
  Result<void> listen();
  void accept();
  void accept_later(const error_code& error);
  void welcome(Lane& lane, tcp::socket socket);
  SslPtr new_session();

  const HttpOptions options_;
  Handler& handler_;
  Census census_;

  std::mutex certificate_mutex_;
  SslContext certificate_;  // guarded by certificate_mutex_

  // One accepts and deals the sockets out in turn. SO_REUSEPORT would spare the hand-over, but it
  // lets a second server of the same user share the port unnoticed, and deals by hash: few clients
  // with many long polls each could all meet on one thread.
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::optional<tcp::acceptor> acceptor_;  // like the next three, the first lane's own
  std::optional<asio::steady_timer> accept_timer_;
  std::size_t next_lane_ = 0;
  bool accept_failing_ = false;

  unsigned short port_ = 0;
  std::mutex running_mutex_;
  bool running_ = false;  // guarded by running_mutex_
};

Result<unsigned short> HttpServer::Impl::start() {
  const std::lock_guard lock{running_mutex_};
  DW_ASSERT(port_ == 0, "an HTTP server is started once");
  if (options_.tls) DW_TRY_VOID(reload_certificate());
  for (int i = 0; i < std::max(1, options_.threads); ++i) {
    lanes_.push_back(std::make_unique<Lane>(options_, handler_));
  }
  if (auto listening = listen(); !listening) {
    acceptor_.reset();
    accept_timer_.reset();
    lanes_.clear();
    return listening.error();
  }
  accept();
  for (const auto& lane : lanes_) lane->start();
  running_ = true;
  return port_;
}

Result<void> HttpServer::Impl::listen() {
  auto& io = lanes_.front()->io();
  error_code error;
  const auto found = tcp::resolver{io}.resolve(options_.address, std::to_string(options_.port),
                                               tcp::resolver::passive, error);
  if (error) return cannot_listen(options_, error);
  const tcp::endpoint endpoint = found.begin()->endpoint();
  acceptor_.emplace(io);
  accept_timer_.emplace(io);
  acceptor_->open(endpoint.protocol(), error);
  // Or a restart would have to wait for the last connections of the server before.
  if (!error) acceptor_->set_option(tcp::acceptor::reuse_address{true}, error);
  if (!error) acceptor_->bind(endpoint, error);
  if (!error) acceptor_->listen(asio::socket_base::max_listen_connections, error);
  if (error) return cannot_listen(options_, error);
  port_ = acceptor_->local_endpoint().port();
  return {};
}

void HttpServer::Impl::accept() {
  if (!acceptor_->is_open()) return;
  Lane& lane = *lanes_[next_lane_++ % lanes_.size()];
  acceptor_->async_accept(lane.io(), [this, &lane](const error_code& error, tcp::socket socket) {
    if (error) return accept_later(error);
    accept_failing_ = false;
    try {
      welcome(lane, std::move(socket));
    } catch (const std::exception& failure) {
      spdlog::error("connection dropped: {}", failure.what());
    }
    accept();
  });
}

// Out of file descriptors, for one: the client stays in the queue, so accepting at once would fail
// at once, and so on.
void HttpServer::Impl::accept_later(const error_code& error) {
  if (error == asio::error::operation_aborted) return;
  if (!std::exchange(accept_failing_, true)) {
    spdlog::warn("cannot accept connections, trying again: {}", error.message());
  }
  accept_timer_->expires_after(accept_again_after);
  accept_timer_->async_wait([this](const error_code& cancelled) {
    if (!cancelled) accept();
  });
}

void HttpServer::Impl::welcome(Lane& lane, tcp::socket socket) {
  auto seat = census_.take_seat(options_.max_connections);
  if (!seat) return;
  error_code error;
  socket.non_blocking(true, error);
  if (!error) socket.set_option(tcp::no_delay{true}, error);
  if (error) return;  // gone already
  SslPtr ssl;
  if (options_.tls) {
    ssl = new_session();
    if (!ssl || SSL_set_fd(ssl.get(), socket.native_handle()) != 1) return;
  }
  asio::dispatch(lane.io(), [&lane, socket = std::move(socket), ssl = std::move(ssl),
                             seat = std::move(seat)]() mutable {
    lane.open(std::move(socket), std::move(ssl), std::move(seat));
  });
}

SslPtr HttpServer::Impl::new_session() {
  const std::lock_guard lock{certificate_mutex_};
  return SslPtr{SSL_new(certificate_.get())};
}

Result<void> HttpServer::Impl::reload_certificate() {
  if (!options_.tls) {
    return Error{ErrorCode::invalid_argument,
                 "this server speaks plain HTTP and has no certificate to reload. Start it with a "
                 "certificate and a key."};
  }
  auto certificate = DW_TRY(load_certificate(*options_.tls));
  const std::lock_guard lock{certificate_mutex_};
  certificate_.swap(certificate);
  return {};
}

void HttpServer::Impl::stop_accepting() {
  const std::lock_guard lock{running_mutex_};
  if (!running_) return;
  run_on(*lanes_.front(), [this] {
    error_code ignored;
    acceptor_->close(ignored);
    accept_timer_->cancel();
  });
}

void HttpServer::Impl::stop(std::chrono::milliseconds grace) {
  const auto deadline = std::chrono::steady_clock::now() + grace;
  stop_accepting();
  const std::lock_guard lock{running_mutex_};
  if (!std::exchange(running_, false)) return;
  for (const auto& lane : lanes_) lane->announce_end();
  for (const auto& lane : lanes_) run_on(*lane, [&] { lane->close_idle(); });
  census_.wait_until_empty(deadline);
  for (const auto& lane : lanes_) run_on(*lane, [&] { lane->close_all(); });
  for (const auto& lane : lanes_) lane->join();
}

HttpServer::HttpServer(HttpOptions options, Handler& handler)
    : impl_(std::make_unique<Impl>(std::move(options), handler)) {}

HttpServer::~HttpServer() {
  stop({});
}

Result<unsigned short> HttpServer::start() {
  return impl_->start();
}

unsigned short HttpServer::port() const {
  return impl_->port();
}

Result<void> check_certificate(const Tls& tls) {
  DW_TRY_VOID(load_certificate(tls));
  return {};
}

Result<void> HttpServer::reload_certificate() {
  return impl_->reload_certificate();
}

void HttpServer::stop_accepting() {
  impl_->stop_accepting();
}

void HttpServer::stop(std::chrono::milliseconds grace) {
  impl_->stop(grace);
}

std::size_t HttpServer::open_connections() const {
  return impl_->census().admitted();
}

bool HttpServer::wait_until_closed(std::chrono::milliseconds patience) const {
  return impl_->census().wait_until_empty(std::chrono::steady_clock::now() + patience);
}

}  // namespace dw::server
