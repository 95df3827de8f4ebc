#include "client/wire.hpp"

#include "client/url.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

namespace dw::client {
namespace {

constexpr std::size_t most_for_openssl = 1 << 20;  // it counts in int

std::string system_reason(int error) {
  return std::generic_category().message(error);
}

bool is_address(const std::string& host) {
  in6_addr parsed;
  return ::inet_pton(AF_INET, host.c_str(), &parsed) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), &parsed) == 1;
}

std::string openssl_reason() {
  const char* reason = ERR_reason_error_string(ERR_peek_last_error());
  return reason ? reason : "unknown error";
}

// The name decides which certificate the server shows, and which one is taken.
void expect_host(SSL* session, const std::string& host) {
  if (is_address(host)) {  // addresses are not announced, and compared with another kind of name
    X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session), host.c_str());
    return;
  }
  // OpenSSL's macro for it casts the old way.
  SSL_ctrl(session, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
           const_cast<char*>(host.c_str()));
  SSL_set1_host(session, host.c_str());
}

}  // namespace

Result<TlsContext> make_tls_context(bool verify, const std::string& ca_file) {
  ERR_clear_error();
  const TlsContext context{SSL_CTX_new(TLS_client_method()), SSL_CTX_free};
  if (!context) return Error{ErrorCode::internal, "OpenSSL could not set up TLS"};
  SSL_CTX* const tls = context.get();
  SSL_CTX_set_min_proto_version(tls, TLS1_2_VERSION);
  SSL_CTX_set_options(tls, SSL_OP_NO_RENEGOTIATION);
  // Buffers go back between records: most connections wait for a long poll's answer.
  SSL_CTX_set_mode(tls, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                            SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_verify(tls, verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
  const bool trusts = ca_file.empty() ? SSL_CTX_set_default_verify_paths(tls) == 1
                                      : SSL_CTX_load_verify_file(tls, ca_file.c_str()) == 1;
  if (!trusts) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("cannot use the certificates in '{}': {}. It must be a PEM file that "
                             "this user may read.",
                             ca_file, openssl_reason())};
  }
  return context;
}

void Wire::FreeSession::operator()(ssl_st* session) const {
  SSL_free(session);
}

Wire::Wire(int socket, const TlsContext& tls, const Url& url)
    : socket_(socket), tls_(SSL_new(tls.get())) {
  if (!tls_ || SSL_set_fd(tls_.get(), socket) != 1) throw std::bad_alloc{};
  expect_host(tls_.get(), url.host);
}

Wire::Moved Wire::socket_outcome(std::ptrdiff_t result, Stop blocked) {
  if (result > 0) return {static_cast<std::size_t>(result), Stop::none};
  if (result == 0) return {0, Stop::ended};
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return {0, blocked};
  why_ = system_reason(errno);
  return {0, Stop::failed};
}

Wire::Moved Wire::tls_outcome(int result) {
  if (result > 0) return {static_cast<std::size_t>(result), Stop::none};
  switch (SSL_get_error(tls_.get(), result)) {
    case SSL_ERROR_WANT_READ:
      return {0, Stop::wants_read};
    case SSL_ERROR_WANT_WRITE:
      return {0, Stop::wants_write};
    case SSL_ERROR_ZERO_RETURN:
      return {0, Stop::ended};
    case SSL_ERROR_SYSCALL:
      why_ = errno != 0 ? system_reason(errno) : "the server hung up";
      return {0, Stop::failed};
    default:
      why_ = tls_failure();
      return {0, Stop::failed};
  }
}

std::string Wire::tls_failure() const {
  const auto verdict = SSL_get_verify_result(tls_.get());
  if (verdict == X509_V_OK || SSL_get_verify_mode(tls_.get()) == SSL_VERIFY_NONE) {
    return openssl_reason();
  }
  return fmt::format("its certificate is refused ({})", X509_verify_cert_error_string(verdict));
}

Wire::Stop Wire::handshake() {
  ERR_clear_error();  // what another connection left there would be taken for ours
  errno = 0;
  const auto outcome = tls_outcome(SSL_connect(tls_.get()));
  if (outcome.stop == Stop::ended) why_ = "the server hung up";
  return outcome.stop;
}

Wire::Moved Wire::read(std::span<char> into) {
  if (!tls_) return socket_outcome(::recv(socket_, into.data(), into.size(), 0), Stop::wants_read);
  ERR_clear_error();
  errno = 0;
  return tls_outcome(
      SSL_read(tls_.get(), into.data(), static_cast<int>(std::min(into.size(), most_for_openssl))));
}

Wire::Moved Wire::write(std::string_view head, std::string_view body) {
  if (tls_) {
    const std::string_view part = head.empty() ? body : head;
    ERR_clear_error();
    errno = 0;
    return tls_outcome(SSL_write(tls_.get(), part.data(),
                                 static_cast<int>(std::min(part.size(), most_for_openssl))));
  }
  // sendmsg only reads what it is pointed at.
  std::array<iovec, 2> parts{iovec{const_cast<char*>(head.data()), head.size()},
                             iovec{const_cast<char*>(body.data()), body.size()}};
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  return socket_outcome(::sendmsg(socket_, &message, MSG_NOSIGNAL), Stop::wants_write);
}

bool Wire::has_pending() const {
  return tls_ && SSL_pending(tls_.get()) > 0;
}

}  // namespace dw::client
