#include "client/http_client.hpp"
#include "client/scripted_server.hpp"

#include <dw/exceptions.hpp>

#include <csignal>
#include <future>

namespace dw::client {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class HttpsClientTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::signal(SIGPIPE, SIG_IGN);  // for the server here; the client looks after itself
  }

  // What the client gets from a server that shows `certificate` and echoes.
  Result<HttpReply> echoed(HttpClientOptions options, std::string body = "secret") {
    HttpClient client{std::move(options)};
    auto reply = std::async(std::launch::async, [&] {
      return client.call({.method = "POST", .target = "/echo", .body = std::move(body)});
    });
    Peer peer = server_.accept();
    asked_for_ = peer.secure(certificate_.context());
    const auto received = peer.read_request();
    if (!received.head.empty()) peer.answer(received.body);
    return reply.get();
  }
  void expect_refusal(const Result<HttpReply>& result, const std::string& why) {
    ASSERT_FALSE(result) << "it took the certificate";
    EXPECT_EQ(result.error().code, ErrorCode::unavailable);
    EXPECT_THAT(result.error().message, HasSubstr("its certificate is refused (" + why));
  }

  ScriptedServer server_;
  Certificate certificate_{"IP:" + own_address};
  std::string asked_for_;
};

TEST_F(HttpsClientTest, TrustsWhomItWasToldTo) {
  const auto result = echoed({.url = server_.url("https"), .ca_file = certificate_.file()});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->body, "secret");
}

TEST_F(HttpsClientTest, DoesNotTrustAStranger) {
  const auto result = echoed({.url = server_.url("https")});
  expect_refusal(result, "self-signed certificate");
  EXPECT_THAT(result.error().message, HasSubstr("SSL_CERT_FILE="));
}

TEST_F(HttpsClientTest, TrustsAStrangerWhenAskedTo) {
  const auto result = echoed({.url = server_.url("https"), .verify_tls = false});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->body, "secret");
}

TEST_F(HttpsClientTest, DoesNotTakeOneHostForAnother) {
  const Certificate other{"IP:192.0.2.1,DNS:localhost"};
  HttpClient client{{.url = server_.url("https"), .ca_file = other.file()}};
  auto reply = std::async(std::launch::async, [&] { return client.call({.target = "/"}); });
  Peer peer = server_.accept();
  peer.secure(other.context());
  expect_refusal(reply.get(), "IP address mismatch");
}

TEST_F(HttpsClientTest, TellsTheServerWhichHostItMeans) {
  ScriptedServer local{"127.0.0.1"};
  const Certificate named{"DNS:localhost"};
  HttpClient client{
      {.url = fmt::format("https://localhost:{}", local.port()), .ca_file = named.file()}};
  auto reply = std::async(std::launch::async, [&] { return client.call({.target = "/"}); });
  Peer peer = local.accept();
  EXPECT_EQ(peer.secure(named.context()), "localhost");
  peer.read_request();
  peer.answer("found");
  const auto result = reply.get();
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->body, "found");
}

TEST_F(HttpsClientTest, CarriesLargeBodies) {
  const std::string large(3'000'000, 'x');
  const auto result = echoed({.url = server_.url("https"), .ca_file = certificate_.file()}, large);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_TRUE(result->body == large);
}

TEST_F(HttpsClientTest, KeepsItsConnection) {
  HttpClient client{{.url = server_.url("https"), .ca_file = certificate_.file()}};
  std::optional<Peer> peer;
  for (const char* word : {"one", "two", "three"}) {
    auto reply = std::async(std::launch::async, [&] { return client.call({.target = "/"}); });
    if (!peer) peer.emplace(server_.accept()).secure(certificate_.context());
    peer->read_request();
    peer->answer(word);
    const auto result = reply.get();
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(result->body, word);
  }
}

TEST_F(HttpsClientTest, DoesNotWaitForAHandshakeForever) {
  HttpClient client{{.url = server_.url("https"), .connect_timeout = 20ms}};
  const auto result = client.call({.target = "/"});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::unavailable);
  EXPECT_THAT(result.error().message,
              HasSubstr("no connection within 20 ms; is the server running"));
}

TEST_F(HttpsClientTest, SaysThatTheServerDoesNotSpeakTls) {
  HttpClient client{{.url = server_.url("https")}};
  auto reply = std::async(std::launch::async, [&] { return client.call({.target = "/"}); });
  server_.accept().say("HTTP/1.1 400 Bad Request\r\n\r\n");
  const auto result = reply.get();
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, HasSubstr("no TLS: "));
}

TEST_F(HttpsClientTest, NamesTheFileThatHoldsNoCertificate) {
  try {
    const HttpClient client{{.url = server_.url("https"), .ca_file = "/dev/null"}};
    ADD_FAILURE() << "took it";
  } catch (const EngineError& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_THAT(error.what(), HasSubstr("'/dev/null'"));
  }
}

TEST(HttpClientAddress, MayBeIpv6) {
  ScriptedServer server{"::1"};
  if (!server.listening()) GTEST_SKIP() << "this machine has no IPv6";
  HttpClient client{{.url = server.url()}};
  auto reply = std::async(std::launch::async, [&] { return client.call({.target = "/"}); });
  Peer peer = server.accept();
  EXPECT_THAT(peer.read_request().head,
              HasSubstr(fmt::format("Host: [::1]:{}\r\n", server.port())));
  peer.answer("six");
  const auto result = reply.get();
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->body, "six");
}

}  // namespace
}  // namespace dw::client
