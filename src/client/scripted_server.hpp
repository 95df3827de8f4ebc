// A server whose part the test plays itself, one line after the other: it accepts, reads what the
// client sent, and says what it likes.
#pragma once
#include <arpa/inet.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

namespace dw::client {

inline const timeval patience{.tv_sec = 30, .tv_usec = 0};  // for what should happen at once

// A loopback address for this process alone: the port that a test frees, and expects to be free,
// could otherwise be given to another test that runs at the same time.
inline const std::string own_address =
    fmt::format("127.{}.{}.{}", 64 + (::getpid() >> 16), ::getpid() >> 8 & 255, ::getpid() & 255);

struct Received {
  std::string head, body;
  std::string first_line() const { return head.substr(0, head.find("\r\n")); }
};

// One connection, seen from the server.
class Peer {
 public:
  explicit Peer(int fd) : fd_(fd) {
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  }
  Peer(Peer&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)), tls_(std::move(other.tls_)), input_(other.input_) {}
  Peer& operator=(Peer&&) = delete;
  ~Peer() { hang_up(); }

  // Wraps the connection in TLS, and gives the name that the client asked for.
  std::string secure(SSL_CTX* context) {
    tls_.reset(SSL_new(context), SSL_free);
    SSL_set_fd(tls_.get(), fd_);
    if (SSL_accept(tls_.get()) != 1) return "no handshake";
    const char* name = SSL_get_servername(tls_.get(), TLSEXT_NAMETYPE_host_name);
    return name ? name : "";
  }

  // Both parts are empty when the client hung up instead.
  Received read_request() {
    Received received;
    std::size_t end = 0;
    while ((end = input_.find("\r\n\r\n")) == std::string::npos) {
      if (!receive()) return {};
    }
    received.head = take(end + 4);
    const std::string field = "Content-Length: ";
    std::size_t length = 0;
    if (const auto at = received.head.find(field); at != std::string::npos) {
      std::from_chars(&received.head[at + field.size()], &received.head.back(), length);
    }
    while (input_.size() < length && receive()) {
    }
    received.body = take(length);
    return received;
  }
  std::string read_head() {
    while (input_.find("\r\n\r\n") == std::string::npos && receive()) {
    }
    return take(input_.find("\r\n\r\n") + 4);
  }

  void say(std::string_view text) {
    while (!text.empty()) {
      const auto sent = tls_ ? SSL_write(tls_.get(), text.data(), static_cast<int>(text.size()))
                             : ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
      ASSERT_GT(sent, 0);
      text.remove_prefix(static_cast<std::size_t>(sent));
    }
  }
  void answer(std::string_view body, std::string_view headers = "") {
    say(fmt::format("HTTP/1.1 200 OK\r\n{}Content-Length: {}\r\n\r\n{}", headers, body.size(),
                    body));
  }

  void hang_up() {
    if (tls_) SSL_shutdown(tls_.get());
    tls_.reset();
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

 private:
  bool receive() {
    char piece[16 * 1024];
    const auto got =
        tls_ ? SSL_read(tls_.get(), piece, sizeof piece) : ::recv(fd_, piece, sizeof piece, 0);
    if (got < 0 && !tls_ && errno == EAGAIN) ADD_FAILURE() << "the client says nothing";
    if (got <= 0) return false;
    input_.append(piece, static_cast<std::size_t>(got));
    return true;
  }
  std::string take(std::size_t count) {
    std::string taken = input_.substr(0, count);
    input_.erase(0, count);
    return taken;
  }

  int fd_;
  std::shared_ptr<SSL> tls_;
  std::string input_;
};

class ScriptedServer {
 public:
  explicit ScriptedServer(std::string address = own_address)
      : address_(std::move(address)), fd_(::socket(family(), SOCK_STREAM, 0)) {
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    sockaddr_storage bound{};
    bound.ss_family = static_cast<sa_family_t>(family());
    auto* const v4 = reinterpret_cast<sockaddr_in*>(&bound);
    auto* const v6 = reinterpret_cast<sockaddr_in6*>(&bound);
    ::inet_pton(family(), address_.c_str(),
                is_v6() ? static_cast<void*>(&v6->sin6_addr) : &v4->sin_addr);
    socklen_t size = is_v6() ? sizeof *v6 : sizeof *v4;
    listening_ = ::bind(fd_, reinterpret_cast<sockaddr*>(&bound), size) == 0 &&
                 ::listen(fd_, 64) == 0 &&
                 ::getsockname(fd_, reinterpret_cast<sockaddr*>(&bound), &size) == 0;
    port_ = ntohs(is_v6() ? v6->sin6_port : v4->sin_port);
  }
  ~ScriptedServer() { ::close(fd_); }
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  bool listening() const { return listening_; }
  unsigned short port() const { return port_; }
  std::string url(std::string_view scheme = "http") const {
    return fmt::format(fmt::runtime(is_v6() ? "{}://[{}]:{}" : "{}://{}:{}"), scheme, address_,
                       port_);
  }
  Peer accept() {
    const int fd = ::accept(fd_, nullptr, nullptr);
    EXPECT_GE(fd, 0) << "nobody came";
    return Peer{fd};
  }

 private:
  bool is_v6() const { return address_.find(':') != std::string::npos; }
  int family() const { return is_v6() ? AF_INET6 : AF_INET; }

  std::string address_;
  int fd_;
  bool listening_ = false;
  unsigned short port_ = 0;
};

// A self-signed certificate for those hosts ("IP:127.0.0.1,DNS:localhost"), what a server needs to
// show it, and the file that makes a client trust it.
class Certificate {
 public:
  explicit Certificate(const std::string& hosts) {
    const std::shared_ptr<EVP_PKEY> key{EVP_EC_gen("P-256"), EVP_PKEY_free};
    const std::shared_ptr<X509> certificate{X509_new(), X509_free};
    X509* const x509 = certificate.get();
    X509_set_version(x509, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(x509), 1);
    X509_gmtime_adj(X509_getm_notBefore(x509), -3600);
    X509_gmtime_adj(X509_getm_notAfter(x509), 3600);
    X509_set_pubkey(x509, key.get());
    X509_NAME* const subject = X509_get_subject_name(x509);
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>("dw test"), -1, -1, 0);
    X509_set_issuer_name(x509, subject);
    const std::shared_ptr<X509_EXTENSION> names{
        X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, hosts.c_str()),
        X509_EXTENSION_free};
    X509_add_ext(x509, names.get(), -1);
    X509_sign(x509, key.get(), EVP_sha256());
    SSL_CTX_use_certificate(context_.get(), x509);
    SSL_CTX_use_PrivateKey(context_.get(), key.get());

    std::string pattern = ::testing::TempDir() + "dw_client_XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
    const std::shared_ptr<BIO> out{BIO_new_file(file().c_str(), "w"), BIO_free};
    PEM_write_bio_X509(out.get(), x509);
  }
  ~Certificate() { std::filesystem::remove_all(folder_); }
  Certificate(const Certificate&) = delete;
  Certificate& operator=(const Certificate&) = delete;

  std::string file() const { return folder_ / "certificate.pem"; }
  SSL_CTX* context() const { return context_.get(); }

 private:
  std::shared_ptr<SSL_CTX> context_{SSL_CTX_new(TLS_server_method()), SSL_CTX_free};
  std::filesystem::path folder_;
};

}  // namespace dw::client
