#include "server/http_server.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <poll.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <filesystem>
#include <fstream>
#include <future>
#include <mutex>

namespace dw::server {
namespace {

using namespace std::chrono_literals;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

constexpr auto generous = 30s;  // for what should happen at once

// A loopback address for this process alone: the port that a test frees, and expects to be free,
// could otherwise be given to another test that runs at the same time.
const std::string here =
    fmt::format("127.{}.{}.{}", 64 + (::getpid() >> 16), ::getpid() >> 8 & 255, ::getpid() & 255);

Response ok(std::string body) {
  return {.status = 200, .headers = {}, .body = std::move(body)};
}

// Answers /echo with the body; every other request waits for the test to answer it.
class Reception : public Handler {
 public:
  struct Visit {
    Request request;
    Respond respond;
  };

  void handle(Request request, Respond respond) override {
    if (request.target == "/throw") throw std::runtime_error{"boo"};
    if (request.target == "/throw-badly") throw "boo";
    if (request.target == "/echo") return respond(ok(request.body));
    const std::lock_guard lock{mutex_};
    visits_.push_back({std::move(request), std::move(respond)});
    arrived_.notify_all();
  }

  Visit next_visit() {
    std::unique_lock lock{mutex_};
    if (!arrived_.wait_for(lock, generous, [&] { return !visits_.empty(); })) {
      ADD_FAILURE() << "nobody came";
      return {{}, [](const Response&) {}};
    }
    Visit visit = std::move(visits_.front());
    visits_.pop_front();
    return visit;
  }

  std::size_t waiting() {
    const std::lock_guard lock{mutex_};
    return visits_.size();
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<Visit> visits_;  // guarded by mutex_
};

// A blocking client; a read that gets nothing for too long ends like a closed connection.
class Client {
 public:
  explicit Client(unsigned short port) : Client() { connect(port); }
  Client() : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    const timeval patience{.tv_sec = std::chrono::seconds{generous}.count(), .tv_usec = 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  }
  ~Client() { hang_up(); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void connect(unsigned short port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    ::inet_pton(AF_INET, here.c_str(), &address.sin_addr);
    connected_ = ::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }
  bool connected() const { return connected_; }

  // Wraps the connection in TLS and gives the name in the server's certificate.
  std::string secure() {
    static const std::shared_ptr<SSL_CTX> context{SSL_CTX_new(TLS_client_method()), SSL_CTX_free};
    ssl_.reset(SSL_new(context.get()), SSL_free);
    SSL_set_fd(ssl_.get(), fd_);
    if (SSL_connect(ssl_.get()) != 1) return "no handshake";
    const std::shared_ptr<X509> peer{SSL_get1_peer_certificate(ssl_.get()), X509_free};
    char name[64] = {};
    X509_NAME_get_text_by_NID(X509_get_subject_name(peer.get()), NID_commonName, name, sizeof name);
    return name;
  }

  // Whether the server took it all; one that has hung up need not.
  bool send(std::string_view text) {
    while (!text.empty()) {
      const auto sent = ssl_ ? SSL_write(ssl_.get(), text.data(), static_cast<int>(text.size()))
                             : ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      text.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  std::string read_head() {
    std::size_t end = 0;
    while ((end = input_.find("\r\n\r\n")) == std::string::npos) {
      if (!receive()) return "closed after: " + input_;
    }
    return take(end + 4);
  }

  struct Answer {
    std::string head, body;
    int status() const { return head.size() > 12 ? std::stoi(head.substr(9, 3)) : 0; }
  };
  Answer read_answer() {
    Answer answer{read_head(), {}};
    const std::string field = "Content-Length: ";
    std::size_t length = 0;
    if (const auto at = answer.head.find(field); at != std::string::npos) {
      std::from_chars(&answer.head[at + field.size()], &answer.head.back(), length);
    }
    while (input_.size() < length && receive()) {
    }
    answer.body = take(length);
    return answer;
  }
  Answer ask(std::string_view request) {
    send(request);
    return read_answer();
  }

  // Whether the server says anything, or hangs up, so soon.
  bool hears_within(std::chrono::milliseconds time) const {
    pollfd heard{.fd = fd_, .events = POLLIN, .revents = 0};
    return ::poll(&heard, 1, static_cast<int>(time.count())) > 0;
  }

  // All that still comes until the server hangs up; a reset counts as that.
  std::string read_to_end() {
    while (receive()) {
    }
    return take(input_.size());
  }

  void hang_up() {
    if (ssl_) SSL_shutdown(ssl_.get());
    ssl_.reset();
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

 private:
  bool receive() {
    char piece[16 * 1024];
    const auto got =
        ssl_ ? SSL_read(ssl_.get(), piece, sizeof piece) : ::recv(fd_, piece, sizeof piece, 0);
    if (got < 0 && !ssl_ && errno == EAGAIN) ADD_FAILURE() << "the server says nothing";
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
  bool connected_ = false;
  std::shared_ptr<SSL> ssl_;
  std::string input_;
};

std::string post(std::string_view target, std::string_view body, std::string_view headers = "") {
  return fmt::format("POST {} HTTP/1.1\r\nHost: dw\r\nContent-Length: {}\r\n{}\r\n{}", target,
                     body.size(), headers, body);
}
const std::string poll = "GET /poll HTTP/1.1\r\nHost: dw\r\n\r\n";

class HttpServerTest : public ::testing::Test {
 protected:
  void start(HttpOptions options = {}) {
    options.address = here;
    server_.emplace(std::move(options), reception_);
    const auto started = server_->start();
    ASSERT_TRUE(started) << started.error().message;
    port_ = *started;
  }

  Reception reception_;
  std::optional<HttpServer> server_;
  unsigned short port_ = 0;
};

TEST(Request, FindsHeadersInAnyCase) {
  const Request request{.method = "GET",
                        .target = "/",
                        .headers = {{"X-Key", "1"}, {"x-key", "2"}, {"Accept", "*/*"}},
                        .body = {}};
  EXPECT_EQ(request.header("x-KEY"), "1");
  EXPECT_EQ(request.header("accept"), "*/*");
  EXPECT_EQ(request.header("x-ke"), "");
}

TEST_F(HttpServerTest, AnswersTwiceOnOneConnection) {
  start();
  EXPECT_EQ(server_->port(), port_);
  Client client{port_};
  const auto first = client.ask(post("/echo", "one"));
  EXPECT_THAT(first.head, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(first.head, HasSubstr("\r\nServer: dw\r\n"));
  EXPECT_THAT(first.head, HasSubstr(" GMT\r\n"));
  EXPECT_THAT(first.head, Not(HasSubstr("Connection:")));
  EXPECT_EQ(first.body, "one");
  EXPECT_EQ(client.ask(post("/echo", "two")).body, "two");
  EXPECT_EQ(server_->open_connections(), 1u);
}

TEST_F(HttpServerTest, HandsOverWhatWasSent) {
  start();
  Client client{port_};
  client.send(post("/a%20b?c=d", "{}", "X-Key: 7\r\n"));
  const auto visit = reception_.next_visit();
  EXPECT_EQ(visit.request.method, "POST");
  EXPECT_EQ(visit.request.target, "/a%20b?c=d");
  EXPECT_EQ(visit.request.header("x-key"), "7");
  EXPECT_EQ(visit.request.body, "{}");
  EXPECT_FALSE(visit.request.too_large);
  visit.respond({.status = 404, .headers = {{"X-Why", "because"}}, .body = "no"});
  const auto answer = client.read_answer();
  EXPECT_THAT(answer.head, StartsWith("HTTP/1.1 404 Not Found\r\n"));
  EXPECT_THAT(answer.head, HasSubstr("\r\nX-Why: because\r\n"));
  EXPECT_EQ(answer.body, "no");
}

TEST_F(HttpServerTest, TakesARequestInAnyPiecesAndChunks) {
  start();
  Client client{port_};
  for (const char* piece : {"POST /ec", "ho HTTP/1.1\r\nHost: dw\r\nTransfer-Enc",
                            "oding: chunked\r\n\r\n3", "\r\nabc\r\n2\r", "\nde\r\n0\r\n", "\r\n"}) {
    ASSERT_TRUE(client.send(piece));
  }
  EXPECT_EQ(client.read_answer().body, "abcde");
}

TEST_F(HttpServerTest, AnswersLaterFromAnotherThreadAndOnlyOnce) {
  start({.threads = 2});
  Client client{port_};
  client.send(poll);
  const auto visit = reception_.next_visit();
  std::thread{[&] {
    visit.respond(ok("late"));
    visit.respond(ok("twice"));
  }}.join();
  EXPECT_EQ(client.read_answer().body, "late");
  EXPECT_EQ(client.ask(post("/echo", "next")).body, "next");
}

TEST_F(HttpServerTest, ServesManyClientsOnAllItsThreads) {
  start({.threads = 3});
  std::deque<Client> clients;
  for (int i = 0; i < 12; ++i) clients.emplace_back(port_).send(poll);
  for (int i = 0; i < 12; ++i) reception_.next_visit().respond(ok("x"));
  for (auto& client : clients) EXPECT_EQ(client.read_answer().body, "x");
}

TEST_F(HttpServerTest, NoticesAClientThatHangsUpDuringALongPoll) {
  start();
  Client client{port_};
  client.send(poll);
  const auto visit = reception_.next_visit();
  EXPECT_EQ(server_->open_connections(), 1u);
  client.hang_up();
  EXPECT_TRUE(server_->wait_until_closed(generous));
  visit.respond(ok("anybody there?"));
  EXPECT_EQ(Client{port_}.ask(post("/echo", "me")).body, "me");
}

TEST_F(HttpServerTest, NoticesItBehindARequestThatWasSentAhead) {
  start();
  Client client{port_};
  client.send(poll + poll);
  const auto visit = reception_.next_visit();
  client.hang_up();
  EXPECT_TRUE(server_->wait_until_closed(generous));
  EXPECT_EQ(reception_.waiting(), 0u);
}

TEST_F(HttpServerTest, AnAnswerAfterTheServerIsGoneIsHarmless) {
  start();
  Client client{port_};
  client.send(poll);
  const auto visit = reception_.next_visit();
  server_.reset();
  visit.respond(ok("too late"));
  EXPECT_THAT(client.read_to_end(), IsEmpty());
}

TEST_F(HttpServerTest, AThrowingHandlerIsAnsweredForWith500) {
  start();
  Client client{port_};
  const auto answer = client.ask(post("/throw", ""));
  EXPECT_EQ(answer.status(), 500);
  EXPECT_THAT(answer.body, HasSubstr(R"("reason":"server_error")"));
  EXPECT_EQ(client.ask(post("/echo", "still here")).body, "still here");
  client.send(post("/throw-badly", ""));
  EXPECT_THAT(client.read_to_end(), IsEmpty());
}

TEST_F(HttpServerTest, DoesNotReadABodyOverTheLimit) {
  start({.max_body_bytes = 10});
  for (const std::string& request :
       {"POST /big HTTP/1.1\r\nHost: dw\r\nContent-Length: 1000000\r\n\r\n" +
            std::string(50'000, 'x'),
        "POST /big HTTP/1.1\r\nHost: dw\r\nTransfer-Encoding: "
        "chunked\r\n\r\n6\r\n123456\r\n6\r\n123456\r\n" +
            std::string(50'000, 'x')}) {
    Client client{port_};
    client.send(request);
    const auto visit = reception_.next_visit();
    EXPECT_TRUE(visit.request.too_large);
    EXPECT_THAT(visit.request.body, IsEmpty());
    EXPECT_EQ(visit.request.target, "/big");
    visit.respond({.status = 413, .headers = {}, .body = "too much"});
    const auto answer = client.read_answer();
    EXPECT_EQ(answer.status(), 413);
    EXPECT_THAT(answer.head, HasSubstr("Connection: close\r\n"));
    EXPECT_EQ(answer.body, "too much");
    EXPECT_THAT(client.read_to_end(), IsEmpty());
  }
  EXPECT_EQ(Client{port_}.ask(post("/echo", "0123456789")).body, "0123456789") << "just fits";
}

TEST_F(HttpServerTest, WhatIsNotHttpGets400) {
  start();
  for (const char* request :
       {"what is this?\r\n\r\n", "GET / HTTP/2.0\r\n\r\n", "\x16\x03\x01\x02",
        "POST /echo HTTP/1.1\r\nHost: dw\r\nTransfer-Encoding: gzip\r\n\r\n",
        "GET /echo HTTP/1.1\r\n\r\n", "GET /echo HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",

        "POST /echo HTTP/1.1\r\nHost: dw\r\nContent-Length: 1\r\nTransfer-Encoding: "
        "chunked\r\n\r\n"}) {
    Client client{port_};
    const auto answer = client.ask(request);
    EXPECT_EQ(answer.status(), 400) << request;
    EXPECT_THAT(answer.body, StartsWith(R"({"message":")"));
    EXPECT_THAT(answer.body, EndsWith(R"(","reason":"bad_request"})"));
    EXPECT_THAT(client.read_to_end(), IsEmpty());
  }
}

TEST_F(HttpServerTest, TooMuchHeadGets431) {
  start({.max_header_bytes = 1000});
  const std::string much(100'000, 'x');
  for (const std::string& request :
       {"GET /echo HTTP/1.1\r\nHost: dw\r\nX-Much: " + much + "\r\n\r\n",
        "GET /" + much + " HTTP/1.1\r\n\r\n",
        "POST /echo HTTP/1.1\r\nHost: dw\r\nTransfer-Encoding: chunked\r\n\r\n3;" + much}) {
    Client client{port_};
    const auto answer = client.ask(request);
    EXPECT_EQ(answer.status(), 431) << request.substr(0, 60);
    EXPECT_THAT(answer.body, HasSubstr(R"("reason":"headers_too_large")"));
    EXPECT_THAT(client.read_to_end(), IsEmpty());
  }
}

TEST_F(HttpServerTest, ARequestThatDoesNotArriveGets408) {
  start({.header_timeout = 20ms});
  for (const char* part :
       {"GET / HT", "POST /echo HTTP/1.1\r\nHost: dw\r\nContent-Length: 5\r\n\r\nab"}) {
    Client client{port_};
    const auto answer = client.ask(part);
    EXPECT_EQ(answer.status(), 408) << part;
    EXPECT_THAT(answer.body, HasSubstr(R"("reason":"request_timeout")"));
    EXPECT_THAT(client.read_to_end(), IsEmpty());
  }
}

TEST_F(HttpServerTest, ARequestThatDripsInGets408AllTheSame) {
  start({.header_timeout = 50ms});
  for (const char* part :
       {"GET /", "POST /echo HTTP/1.1\r\nHost: dw\r\nContent-Length: 100000\r\n\r\n"}) {
    Client client{port_};
    client.send(part);
    const auto until = std::chrono::steady_clock::now() + generous;
    while (!client.hears_within(5ms) && std::chrono::steady_clock::now() < until) client.send("x");
    EXPECT_EQ(client.read_answer().status(), 408) << part;
  }
}

TEST_F(HttpServerTest, AnIdleConnectionIsClosedWithoutAWord) {
  start({.idle_timeout = 20ms});
  Client client{port_};
  EXPECT_THAT(client.read_to_end(), IsEmpty());
  EXPECT_TRUE(server_->wait_until_closed(generous));
}

TEST_F(HttpServerTest, HeadGetsTheHeadAlone) {
  start();
  Client client{port_};
  client.send("HEAD /poll HTTP/1.1\r\nHost: dw\r\n\r\n");
  reception_.next_visit().respond(ok("not shown"));
  EXPECT_THAT(client.read_head(), HasSubstr("Content-Length: 9\r\n"));
  EXPECT_EQ(client.ask(post("/echo", "shown")).body, "shown");
}

TEST_F(HttpServerTest, NoContentHasNoLength) {
  start();
  Client client{port_};
  client.send(poll);
  reception_.next_visit().respond({.status = 204, .headers = {}, .body = ""});
  EXPECT_THAT(client.read_head(), Not(HasSubstr("Content-Length")));
  EXPECT_EQ(client.ask(post("/echo", "next")).body, "next");
}

TEST_F(HttpServerTest, AsksForTheBodyOfWhoeverWaitsToBeAsked) {
  start();
  Client client{port_};
  client.send(
      "POST /echo HTTP/1.1\r\nHost: dw\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.read_head(), "HTTP/1.1 100 Continue\r\n\r\n");
  EXPECT_EQ(client.ask("body").body, "body");
}

TEST_F(HttpServerTest, RequestsSentTogetherAreServedOneAfterTheOther) {
  start();
  Client client{port_};
  client.send(poll + post("/echo", "second") + poll + post("/echo", "fourth"));
  const auto first = reception_.next_visit();
  EXPECT_EQ(reception_.waiting(), 0u) << "the third waits for the first";
  first.respond(ok("first"));
  EXPECT_EQ(client.read_answer().body, "first");
  EXPECT_EQ(client.read_answer().body, "second");
  reception_.next_visit().respond(ok("third"));
  EXPECT_EQ(client.read_answer().body, "third");
  EXPECT_EQ(client.read_answer().body, "fourth");
}

TEST_F(HttpServerTest, ClosesWhenAskedToAndKeepsOldClientsThatAskForIt) {
  start();
  Client client{port_};
  EXPECT_THAT(client.ask(post("/echo", "x", "Connection: close\r\n")).head,
              HasSubstr("Connection: close\r\n"));
  EXPECT_THAT(client.read_to_end(), IsEmpty());

  Client old{port_};
  const std::string request = "GET /echo HTTP/1.0\r\nConnection: keep-alive\r\n\r\n";
  EXPECT_THAT(old.ask(request).head, HasSubstr("Connection: keep-alive\r\n"));
  EXPECT_THAT(old.ask(request).head, HasSubstr("Connection: keep-alive\r\n"));
}

TEST_F(HttpServerTest, AValueWithALineBreakDoesNotBecomeAHeader) {
  start();
  Client client{port_};
  client.send(poll);
  reception_.next_visit().respond(
      {.status = 200, .headers = {{"X-Name", "a\r\nSet-Cookie: b"}}, .body = ""});
  EXPECT_THAT(client.read_head(), Not(HasSubstr("Set-Cookie")));
}

TEST_F(HttpServerTest, SendsAnAnswerLargerThanTheSocketTakesAtOnce) {
  start();
  Client client{port_};
  client.send(poll);
  std::string large(16 << 20, 'a');
  for (std::size_t i = 0; i < large.size(); i += 1000) large[i] = static_cast<char>('a' + i % 26);
  reception_.next_visit().respond(ok(large));
  EXPECT_TRUE(client.read_answer().body == large);
  EXPECT_EQ(client.ask(post("/echo", "next")).body, "next");
}

TEST_F(HttpServerTest, DoesNotWaitForAClientThatDoesNotRead) {
  start({.write_timeout = 20ms});
  Client client{port_};
  client.send(poll);
  reception_.next_visit().respond(ok(std::string(64 << 20, 'x')));
  EXPECT_TRUE(server_->wait_until_closed(generous));
}

TEST_F(HttpServerTest, RefusesClientsBeyondTheLimit) {
  start({.max_connections = 1});
  Client first{port_};
  EXPECT_EQ(first.ask(post("/echo", "in")).body, "in");
  Client second{port_};
  const auto refused = second.read_answer();
  EXPECT_EQ(refused.status(), 503);
  EXPECT_THAT(refused.head, HasSubstr("Retry-After: 1\r\n"));
  EXPECT_THAT(second.read_to_end(), IsEmpty());
  EXPECT_EQ(first.ask(post("/echo", "still in")).body, "still in");

  first.hang_up();
  ASSERT_TRUE(server_->wait_until_closed(generous));
  EXPECT_EQ(Client{port_}.ask(post("/echo", "in now")).body, "in now");
}

TEST_F(HttpServerTest, RefusesBodiesThatThereIsNoRoomFor) {
  start({.max_body_bytes = 100, .max_receiving_bytes = 100});
  Client slow{port_};
  slow.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 80\r\nExpect: 100-continue\r\n\r\n");
  ASSERT_THAT(slow.read_answer().head, StartsWith("HTTP/1.1 100"));  // its room is taken
  Client other{port_};
  const auto refused = other.ask(post("/echo", std::string(60, 'x')));
  EXPECT_EQ(refused.status(), 503);
  EXPECT_THAT(refused.head, HasSubstr("Retry-After: 1\r\n"));
  EXPECT_EQ(Client{port_}.ask(post("/echo", "small")).body, "small");

  slow.send(std::string(80, 'y'));
  EXPECT_EQ(slow.read_answer().body, std::string(80, 'y'));
  EXPECT_EQ(Client{port_}.ask(post("/echo", std::string(60, 'x'))).body, std::string(60, 'x'));
}

TEST_F(HttpServerTest, AGracefulStopAnswersWhatIsUnderWay) {
  start({.threads = 2});
  Client idle{port_}, asking{port_};
  EXPECT_EQ(idle.ask(post("/echo", "hi")).body, "hi");
  asking.send(poll);
  const auto visit = reception_.next_visit();
  auto stopped = std::async(std::launch::async, [&] { server_->stop(generous); });
  EXPECT_THAT(idle.read_to_end(), IsEmpty()) << "closed though the stop waits for the other";
  EXPECT_FALSE(Client{port_}.connected());

  visit.respond(ok("goodbye"));
  const auto answer = asking.read_answer();
  EXPECT_EQ(answer.body, "goodbye");
  EXPECT_THAT(answer.head, HasSubstr("Connection: close\r\n"));
  EXPECT_THAT(asking.read_to_end(), IsEmpty());
  asking.hang_up();
  EXPECT_EQ(stopped.wait_for(generous), std::future_status::ready);
  EXPECT_EQ(server_->open_connections(), 0u);
}

TEST_F(HttpServerTest, WhatIsNotAnsweredByTheDeadlineIsClosed) {
  start();
  Client client{port_};
  client.send(poll);
  const auto visit = reception_.next_visit();
  server_->stop(1ms);
  EXPECT_THAT(client.read_to_end(), IsEmpty());
  visit.respond({});
  server_->stop(generous);  // a second time: nothing
}

TEST_F(HttpServerTest, StoppingToAcceptKeepsThoseWhoAreConnected) {
  start();
  Client client{port_};
  EXPECT_EQ(client.ask(post("/echo", "a")).body, "a");
  server_->stop_accepting();
  EXPECT_FALSE(Client{port_}.connected());
  EXPECT_EQ(client.ask(post("/echo", "b")).body, "b");
}

TEST_F(HttpServerTest, NamesThePortThatIsTaken) {
  start();
  HttpServer second{{.address = here, .port = port_}, reception_};
  const auto started = second.start();
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, ErrorCode::unavailable);
  EXPECT_THAT(started.error().message, HasSubstr(fmt::format("{}:{}", here, port_)));
  server_.reset();
  EXPECT_TRUE(second.start()) << "the port is free now";
}

TEST_F(HttpServerTest, NamesTheAddressThatIsNotOurs) {
  HttpServer server{{.address = "192.0.2.1"}, reception_};  // reserved for documentation
  const auto started = server.start();
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(started.error().message, HasSubstr("192.0.2.1:0"));
}

// Tells when the server has said something in the log.
class LogWatch : public spdlog::sinks::base_sink<std::mutex> {
 public:
  std::promise<std::string> said;

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    said.set_value({message.payload.data(), message.payload.size()});
  }
  void flush_() override {}
};

TEST_F(HttpServerTest, AcceptsAgainWhenThereAreFileDescriptorsAgain) {
  const auto log = std::make_shared<LogWatch>();
  const auto logger = spdlog::default_logger();
  spdlog::set_default_logger(std::make_shared<spdlog::logger>("test", log));
  start();
  Client client;
  const int next_free = ::dup(0);
  ::close(next_free);
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  const rlimit none_left{static_cast<rlim_t>(next_free), before.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &none_left);
  client.connect(port_);
  auto said = log->said.get_future();
  const bool failed = said.wait_for(generous) == std::future_status::ready;
  ::setrlimit(RLIMIT_NOFILE, &before);
  ASSERT_TRUE(failed);
  EXPECT_THAT(said.get(), HasSubstr("cannot accept"));
  EXPECT_EQ(client.ask(post("/echo", "at last")).body, "at last");
  server_.reset();  // before its log goes
  spdlog::set_default_logger(logger);
}

class HttpsServerTest : public HttpServerTest {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "dw_tls_XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
    tls_ = {folder_ / "certificate.pem", folder_ / "key.pem"};
    std::signal(SIGPIPE, SIG_IGN);  // for the client here; the server looks after itself
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // A self-signed certificate in that name, with its key.
  void write_certificate(const char* name) {
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
                               reinterpret_cast<const unsigned char*>(name), -1, -1, 0);
    X509_set_issuer_name(x509, subject);
    X509_sign(x509, key.get(), EVP_sha256());
    const auto open = [](const std::string& file) {
      return std::shared_ptr<BIO>{BIO_new_file(file.c_str(), "w"), BIO_free};
    };
    PEM_write_bio_X509(open(tls_.certificate_file).get(), x509);
    PEM_write_bio_PrivateKey(open(tls_.key_file).get(), key.get(), nullptr, nullptr, 0, nullptr,
                             nullptr);
  }

  std::filesystem::path folder_;
  Tls tls_;
};

TEST_F(HttpsServerTest, SpeaksTls) {
  write_certificate("first");
  start({.tls = tls_});
  Client client{port_};
  EXPECT_EQ(client.secure(), "first");
  EXPECT_EQ(client.ask(post("/echo", "secret")).body, "secret");
  const std::string large(1 << 20, 'x');
  EXPECT_TRUE(client.ask(post("/echo", large)).body == large);
  client.send(post("/echo", "a") + post("/echo", "b"));
  EXPECT_EQ(client.read_answer().body, "a");
  EXPECT_EQ(client.read_answer().body, "b");

  client.send(poll);
  const auto visit = reception_.next_visit();
  client.hang_up();
  EXPECT_TRUE(server_->wait_until_closed(generous)) << "a hang-up is noticed here too";
  visit.respond({});
}

TEST_F(HttpsServerTest, SurvivesThoseWhoDoNot) {
  write_certificate("first");
  start({.header_timeout = 20ms, .max_connections = 1, .tls = tls_});
  Client plain{port_};
  plain.send(poll);
  plain.read_to_end();
  Client silent{port_};
  EXPECT_THAT(silent.read_to_end(), IsEmpty()) << "a handshake has its time too";
  plain.hang_up();
  silent.hang_up();
  ASSERT_TRUE(server_->wait_until_closed(generous));
}

TEST_F(HttpsServerTest, RefusesWithinTls) {
  write_certificate("first");
  start({.max_connections = 1, .tls = tls_});
  Client first{port_}, second{port_};
  EXPECT_EQ(first.secure(), "first");
  EXPECT_EQ(first.ask(post("/echo", "in")).body, "in");
  EXPECT_EQ(second.secure(), "first");
  EXPECT_EQ(second.read_answer().status(), 503);
  EXPECT_THAT(second.read_to_end(), IsEmpty());
}

TEST_F(HttpsServerTest, ReloadsTheCertificateForNewConnections) {
  write_certificate("first");
  start({.tls = tls_});
  Client before{port_};
  EXPECT_EQ(before.secure(), "first");

  write_certificate("second");
  EXPECT_EQ(Client{port_}.secure(), "first") << "files alone change nothing";
  ASSERT_TRUE(server_->reload_certificate());
  EXPECT_EQ(Client{port_}.secure(), "second");
  EXPECT_EQ(before.ask(post("/echo", "as before")).body, "as before");

  std::ofstream{tls_.certificate_file} << "not a certificate";
  const auto broken = server_->reload_certificate();
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(broken.error().message, HasSubstr(tls_.certificate_file));
  EXPECT_EQ(Client{port_}.secure(), "second") << "a broken file leaves the old one in force";
}

TEST_F(HttpsServerTest, DoesNotStartWithoutItsKey) {
  write_certificate("first");
  std::filesystem::remove(tls_.key_file);
  HttpServer server{{.tls = tls_}, reception_};
  const auto started = server.start();
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(started.error().message, HasSubstr(tls_.key_file));
}

TEST_F(HttpServerTest, HasNoCertificateToReloadWithoutTls) {
  start();
  EXPECT_FALSE(server_->reload_certificate());
}

}  // namespace
}  // namespace dw::server
