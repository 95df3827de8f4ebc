// A connected, non-blocking socket as the client reads and writes it, with or without TLS. OpenSSL
// works on the socket itself: waiting for readiness is the caller's business in both cases.
#pragma once
#include <dw/result.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

struct ssl_st;
struct ssl_ctx_st;

namespace dw::client {

struct Url;
using TlsContext = std::shared_ptr<ssl_ctx_st>;

// Whom to trust: the authorities in `ca_file` (PEM), or the system's when it is empty; everybody
// when not `verify`. Fails with invalid_argument when the file cannot be used.
Result<TlsContext> make_tls_context(bool verify, const std::string& ca_file);

class Wire {
 public:
  enum class Stop {
    none,
    wants_read,   // nothing to be done before the socket is readable
    wants_write,  // or writable
    ended,        // the server said that it is done
    failed,       // why() tells
  };
  struct Moved {
    std::size_t bytes = 0;  // some, or else `stop` says why not
    Stop stop = Stop::none;
  };

  Wire() = default;
  // The socket stays its owner's, who must keep it open for as long as this is used.
  explicit Wire(int socket) : socket_(socket) {}
  // With TLS: the server is told which host is meant, and must be that one if `tls` verifies.
  Wire(int socket, const TlsContext& tls, const Url& url);

  Stop handshake();
  Moved read(std::span<char> into);
  // Both at once in the clear; TLS takes one after the other, a record each.
  Moved write(std::string_view head, std::string_view body);
  // TLS holds bytes that were decrypted but not read; the socket will not announce them again.
  bool has_pending() const;
  // The reason of the last `failed`.
  const std::string& why() const { return why_; }

 private:
  struct FreeSession {
    void operator()(ssl_st* session) const;
  };
  Moved socket_outcome(std::ptrdiff_t result, Stop blocked);
  Moved tls_outcome(int result);
  std::string tls_failure() const;

  int socket_ = -1;
  std::unique_ptr<ssl_st, FreeSession> tls_;
  std::string why_;
};

}  // namespace dw::client
