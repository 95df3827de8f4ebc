// Serves HTTP/1.1 on one address, in the clear or over TLS, and hands each request to a Handler. A
// connection whose handler is still thinking costs no thread and about a kilobyte (TLS adds its
// own state), so that thousands of long polls can wait at once.
#pragma once
#include "server/http.hpp"

#include <dw/result.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>

namespace dw::server {

struct Tls {
  std::string certificate_file;  // PEM, the server's own certificate first, then its chain
  std::string key_file;          // PEM, without a passphrase: nobody is there to type it
};

struct HttpOptions {
  std::string address = "127.0.0.1";  // or a name that resolves to one of this machine's addresses
  unsigned short port = 0;            // 0: any free one; port() tells which
  int threads = 1;                    // for sockets alone; handlers must not block them
  // How long they look for the next request before they sleep, if that has paid lately.
  std::chrono::microseconds stay_awake{0};

  // A longer body is not read: the handler is told too_large, and the connection ends with its
  // answer.
  std::size_t max_body_bytes = 2 * 1024 * 1024;
  std::size_t max_header_bytes = 16 * 1024;  // for the whole head; beyond it the answer is 431

  // From a request's first byte to its last, and for a TLS handshake: a client that trickles gets
  // 408 and loses its connection.
  std::chrono::milliseconds header_timeout = std::chrono::seconds{30};
  // Before the first and between two requests. Longer than the usual minute of proxies, so that
  // they are the ones to hang up and no request crosses our closing.
  std::chrono::milliseconds idle_timeout = std::chrono::seconds{75};
  // How long a client may take nothing of an answer that is being sent.
  std::chrono::milliseconds write_timeout = std::chrono::seconds{30};

  // Clients beyond it get 503 with Retry-After: 1, whatever they ask.
  std::size_t max_connections = 20'000;
  // What is being received takes so much memory at the most, whoever sends it; a body for which
  // there is no room gets the same 503. Not less than the longest body.
  std::size_t max_receiving_bytes = 256 * 1024 * 1024;

  std::optional<Tls> tls = {};  // none: plain HTTP
};

// Can these be served with? Says what is wrong with which file.
Result<void> check_certificate(const Tls& tls);

// start, stop_accepting and stop wait for the server's threads, so they are not for handlers.
class HttpServer {
 public:
  // The handler must outlive the server; the Respond functions it was given need not end with it.
  HttpServer(HttpOptions options, Handler& handler);
  ~HttpServer();  // stops, without grace
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Listens, and gives the port. Once per server unless it failed: unavailable when the port is
  // taken, invalid_argument when address or certificate cannot be used.
  Result<unsigned short> start();
  unsigned short port() const;

  // Reads the certificate files again. Connections that exist keep what they shook hands with, and
  // when the new files cannot be used the certificate in force stays so.
  Result<void> reload_certificate();

  // New clients are turned away by the kernel; those who are connected are served as before.
  void stop_accepting();

  // Stops accepting, closes idle connections at once, and lets what is under way be answered and
  // written for as long as `grace`; then closes everything. A second call does nothing.
  void stop(std::chrono::milliseconds grace);

  // Accepted and not yet closed; clients being refused with 503 are not counted.
  std::size_t open_connections() const;
  // Waits until there are none, but no longer than `patience`; tells whether it came to that.
  bool wait_until_closed(std::chrono::milliseconds patience) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dw::server
