#include "client/http_client.hpp"

#include "client/scripted_server.hpp"
#include "core/clock.hpp"

#include <dw/exceptions.hpp>

#include <csignal>
#include <future>

namespace dw::client {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using Reply = std::future<Result<HttpReply>>;

Reply ask(HttpClient& client, HttpRequest request) {
  auto promise = std::make_shared<std::promise<Result<HttpReply>>>();
  client.send(std::move(request),
              [promise](Result<HttpReply> result) { promise->set_value(std::move(result)); });
  return promise->get_future();
}
Reply get(HttpClient& client, std::string target) {
  return ask(client, {.target = std::move(target)});
}

std::string body_of(Reply reply) {
  const auto result = reply.get();
  return result ? result->body : "failed: " + result.error().message;
}
Error error_of(Reply reply) {
  const auto result = reply.get();
  return result ? Error{ErrorCode::internal, "answered: " + result->body} : result.error();
}

class HttpClientTest : public ::testing::Test {
 protected:
  HttpClient& start(HttpClientOptions options = {.url = ""}) {
    options.url = server_.url() + options.url;
    return client_.emplace(std::move(options));
  }
  // A connection that has served a request, and is kept.
  Peer kept_connection(HttpClient& client) {
    auto reply = get(client, "/first");
    Peer peer = server_.accept();
    peer.read_request();
    peer.answer("first");
    EXPECT_EQ(body_of(std::move(reply)), "first");
    return peer;
  }

  ScriptedServer server_;
  std::optional<HttpClient> client_;
};

TEST(HttpReply, FindsHeadersInAnyCase) {
  const HttpReply reply{.headers = {{"X-Key", "1"}, {"x-key", "2"}}};
  EXPECT_EQ(reply.header("x-KEY"), "1");
  EXPECT_EQ(reply.header("x-ke"), "");
}

TEST_F(HttpClientTest, SendsWhatWasAskedFor) {
  auto& client = start({.url = "/base/"});
  auto reply =
      ask(client,
          {.method = "POST", .target = "/a%20b?c=d", .headers = {{"X-Key", "7"}}, .body = "{}"});
  Peer peer = server_.accept();
  const auto received = peer.read_request();
  EXPECT_EQ(received.head,
            fmt::format("POST /base/a%20b?c=d HTTP/1.1\r\nHost: {}:{}\r\nX-Key: 7\r\n"
                        "Content-Length: 2\r\n\r\n",
                        own_address, server_.port()));
  EXPECT_EQ(received.body, "{}");
  peer.say("HTTP/1.1 404 Not Found\r\nX-Why: because\r\nContent-Length: 2\r\n\r\nno");
  const auto answer = reply.get();
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->status, 404);
  EXPECT_EQ(answer->header("x-why"), "because");
  EXPECT_EQ(answer->body, "no");
}

TEST_F(HttpClientTest, KeepsItsConnection) {
  auto& client = start();
  Peer peer = kept_connection(client);
  for (int i = 0; i < 3; ++i) {
    auto reply = get(client, "/again");
    EXPECT_EQ(peer.read_request().first_line(), "GET /again HTTP/1.1");
    peer.answer("again");
    EXPECT_EQ(body_of(std::move(reply)), "again");
  }
}

TEST_F(HttpClientTest, PrefersTheConnectionItUsedLast) {
  auto& client = start();
  auto to_first = get(client, "/one");
  Peer first = server_.accept();
  auto to_second = get(client, "/two");
  Peer second = server_.accept();
  second.answer("two");
  EXPECT_EQ(body_of(std::move(to_second)), "two");
  first.answer("one");
  EXPECT_EQ(body_of(std::move(to_first)), "one");
  first.read_request();
  auto next = get(client, "/three");
  EXPECT_EQ(first.read_request().first_line(), "GET /three HTTP/1.1");
  first.answer("three");
  EXPECT_EQ(body_of(std::move(next)), "three");
}

TEST_F(HttpClientTest, WhatExceedsItsConnectionsWaitsInOrder) {
  auto& client = start({.url = "", .max_connections = 2});
  std::vector<Reply> replies;
  for (int i = 0; i < 7; ++i) replies.push_back(get(client, fmt::format("/{}", i)));
  Peer peers[] = {server_.accept(), server_.accept()};
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(peers[i].read_request().first_line(), fmt::format("GET /{} HTTP/1.1", i));
  }
  for (int i = 0; i < 7; ++i) {
    Peer& peer = peers[i % 2];
    peer.answer(std::to_string(i));
    if (i + 2 < 7) {
      EXPECT_EQ(peer.read_request().first_line(), fmt::format("GET /{} HTTP/1.1", i + 2));
    }
  }
  for (std::size_t i = 0; i < 7; ++i) {
    EXPECT_EQ(body_of(std::move(replies[i])), std::to_string(i));
  }
}

TEST_F(HttpClientTest, ACallbackMaySendTheNextRequest) {
  auto& client = start();
  Reply second;
  std::promise<void> sent;
  client.send({.target = "/one"}, [&](const Result<HttpReply>&) {
    second = get(client, "/two");
    sent.set_value();
    throw std::runtime_error{"which is its own problem"};
  });
  Peer peer = server_.accept();
  peer.read_request();
  peer.answer("one");
  sent.get_future().wait();
  EXPECT_EQ(peer.read_request().first_line(), "GET /two HTTP/1.1");
  peer.answer("two");
  EXPECT_EQ(body_of(std::move(second)), "two");
}

TEST_F(HttpClientTest, TakesAChunkedBodyInAnyPieces) {
  auto& client = start();
  Peer peer = kept_connection(client);
  auto reply = get(client, "/");
  peer.read_request();
  for (const char* piece : {"HTTP/1.1 200 O", "K\r\nTransfer-Enc", "oding: chunked\r\n\r\n3",
                            "\r\nabc\r\n2\r", "\nde\r\n0\r\n", "\r\n"}) {
    peer.say(piece);
  }
  EXPECT_EQ(body_of(std::move(reply)), "abcde");
  auto next = get(client, "/next");
  peer.read_request();
  peer.answer("next");
  EXPECT_EQ(body_of(std::move(next)), "next");
}

TEST_F(HttpClientTest, AnEmptyBodyMayEndByteByByte) {
  auto& client = start();
  auto reply = get(client, "/");
  Peer peer = server_.accept();
  peer.read_request();
  for (const char* piece :
       {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "0\r\n", "\r", "\n"}) {
    peer.say(piece);
  }
  EXPECT_EQ(body_of(std::move(reply)), "");
}

TEST_F(HttpClientTest, SomeRepliesHaveNoBody) {
  auto& client = start();
  Peer peer = kept_connection(client);
  auto head = ask(client, {.method = "HEAD", .target = "/"});
  EXPECT_THAT(peer.read_request().head, StartsWith("HEAD / HTTP/1.1"));
  peer.say("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n");
  EXPECT_EQ(body_of(std::move(head)), "");
  auto no_content = ask(client, {.method = "DELETE", .target = "/"});
  peer.read_request();
  peer.say("HTTP/1.1 204 No Content\r\n\r\n");
  const auto answer = no_content.get();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 204);
  auto next = get(client, "/next");
  peer.read_request();
  peer.answer("next");
  EXPECT_EQ(body_of(std::move(next)), "next");
}

TEST_F(HttpClientTest, GoOnIsNotTheReply) {
  auto& client = start();
  auto reply = ask(client, {.method = "POST", .target = "/"});
  Peer peer = server_.accept();
  EXPECT_THAT(peer.read_request().head, HasSubstr("Content-Length: 0\r\n"));
  peer.say("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
  EXPECT_EQ(body_of(std::move(reply)), "ok");
}

TEST_F(HttpClientTest, AConnectionThatTheServerWantsToCloseIsNotUsedAgain) {
  auto& client = start();
  for (const char* said : {"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok",
                           "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
                           "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok and more"}) {
    auto reply = get(client, "/");
    Peer peer = server_.accept();
    peer.read_request();
    peer.say(said);
    EXPECT_EQ(body_of(std::move(reply)), "ok");
    EXPECT_THAT(peer.read_request().head, IsEmpty()) << "hung up after: " << said;
  }
}

TEST_F(HttpClientTest, ABodyWithoutALengthEndsWithTheConnection) {
  auto& client = start();
  auto reply = get(client, "/");
  Peer peer = server_.accept();
  peer.read_request();
  peer.say("HTTP/1.1 200 OK\r\n\r\nall of it");
  peer.hang_up();
  EXPECT_EQ(body_of(std::move(reply)), "all of it");
}

TEST_F(HttpClientTest, SendsAndTakesLargeBodies) {
  auto& client = start();
  const std::string large(5'000'000, 'x');
  auto reply = ask(client, {.method = "PUT", .target = "/", .body = large});
  Peer peer = server_.accept();
  const auto received = peer.read_request();
  EXPECT_TRUE(received.body == large);
  peer.answer(received.body);
  EXPECT_TRUE(body_of(std::move(reply)) == large);
}

TEST_F(HttpClientTest, HearsARefusalBeforeAllIsSent) {
  auto& client = start();
  auto reply = ask(client, {.method = "PUT", .target = "/", .body = std::string(20'000'000, 'x')});
  Peer peer = server_.accept();
  peer.read_head();
  peer.say("HTTP/1.1 413 Payload Too Large\r\nContent-Length: 3\r\n\r\nno!");
  const auto answer = reply.get();
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->status, 413);
  EXPECT_EQ(answer->body, "no!");
}

TEST_F(HttpClientTest, WhoeverHangsUpOnAKeptConnectionIsAskedAgainIfTheRequestAllowsIt) {
  auto& client = start();
  Peer old = kept_connection(client);
  auto reply = ask(client, {.target = "/again", .repeatable = true});
  old.read_request();
  old.hang_up();
  Peer fresh = server_.accept();
  EXPECT_EQ(fresh.read_request().first_line(), "GET /again HTTP/1.1");
  fresh.answer("here you are");
  EXPECT_EQ(body_of(std::move(reply)), "here you are");
}

TEST_F(HttpClientTest, ButNotTwice) {
  auto& client = start();
  Peer old = kept_connection(client);
  auto reply = ask(client, {.target = "/again", .repeatable = true});
  old.read_request();
  old.hang_up();
  Peer fresh = server_.accept();
  fresh.read_request();
  fresh.hang_up();
  const auto error = error_of(std::move(reply));
  EXPECT_EQ(error.code, ErrorCode::unavailable);
  EXPECT_THAT(error.message, HasSubstr("the server hung up"));
}

TEST_F(HttpClientTest, WhatMayHaveBeenDoneIsNotAskedAgain) {
  auto& client = start();
  Peer old = kept_connection(client);
  auto reply = ask(client, {.method = "POST", .target = "/once"});
  old.read_request();
  old.hang_up();
  const auto error = error_of(std::move(reply));
  EXPECT_EQ(error.code, ErrorCode::unavailable);
  EXPECT_THAT(error.message, HasSubstr("POST " + server_.url() + "/once"));
}

TEST_F(HttpClientTest, HalfAnAnswerIsNone) {
  auto& client = start();
  Peer peer = kept_connection(client);
  auto reply = ask(client, {.target = "/", .repeatable = true});
  peer.read_request();
  peer.say("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
  peer.hang_up();
  EXPECT_EQ(error_of(std::move(reply)).code, ErrorCode::unavailable);
}

TEST_F(HttpClientTest, NoticesAGoodbyeBetweenRequests) {
  auto& client = start();
  auto to_left = get(client, "/left");
  Peer left = server_.accept();
  auto to_right = get(client, "/right");
  Peer right = server_.accept();
  left.read_request();
  left.answer("left");
  EXPECT_EQ(body_of(std::move(to_left)), "left");
  left.hang_up();
  right.read_request();
  right.answer("right");  // which the client hears after the goodbye
  EXPECT_EQ(body_of(std::move(to_right)), "right");
  right.hang_up();
  auto reply = ask(client, {.target = "/new", .repeatable = true});
  Peer fresh = server_.accept();
  fresh.read_request();
  fresh.answer("new");
  EXPECT_EQ(body_of(std::move(reply)), "new");
}

TEST_F(HttpClientTest, AServerThatNeverAnswersTimesOut) {
  auto& client = start({.url = "", .max_connections = 1});
  auto reply = ask(client, {.target = "/silence", .timeout = 20ms});
  auto patient = get(client, "/patient");
  Peer peer = server_.accept();
  const auto error = error_of(std::move(reply));
  EXPECT_EQ(error.code, ErrorCode::timed_out);
  EXPECT_THAT(error.message, HasSubstr("GET " + server_.url() + "/silence within 20 ms"));
  Peer next = server_.accept();
  EXPECT_EQ(next.read_request().first_line(), "GET /patient HTTP/1.1");
  next.answer("at last");
  EXPECT_EQ(body_of(std::move(patient)), "at last");
}

TEST_F(HttpClientTest, WhatWaitedTooLongForAConnectionIsNotSent) {
  auto& client = start({.url = "", .max_connections = 1});
  auto first = get(client, "/first");
  Peer peer = server_.accept();
  peer.read_request();
  EXPECT_EQ(error_of(ask(client, {.target = "/behind", .timeout = 1ms})).code,
            ErrorCode::timed_out);
  auto patient = get(client, "/patient");
  peer.answer("first");
  EXPECT_EQ(body_of(std::move(first)), "first");
  EXPECT_EQ(peer.read_request().first_line(), "GET /patient HTTP/1.1");
  peer.answer("at last");
  EXPECT_EQ(body_of(std::move(patient)), "at last");
}

TEST_F(HttpClientTest, AConnectionNobodyUsesIsClosed) {
  auto& client = start({.url = "", .idle_timeout = 20ms});
  Peer peer = kept_connection(client);
  EXPECT_THAT(peer.read_request().head, IsEmpty());
}

TEST_F(HttpClientTest, SaysHowToStartTheServer) {
  std::string url;
  {
    const ScriptedServer gone;
    url = gone.url();
  }
  HttpClient client{{.url = url}};
  const auto result = client.call({.target = "/"});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::unavailable);
  EXPECT_EQ(result.error().message,
            "cannot reach " + url +
                ": connection refused; is the server running? start it with 'dw server:dev'");
}

TEST_F(HttpClientTest, DoesNotTakeEverything) {
  auto& client = start();
  const std::string much(100'000, 'x');
  for (const auto& said : {std::string{"SSH-2.0-OpenSSH_9.2\r\n\r\n"},
                           std::string{"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n"},
                           "HTTP/1.1 200 OK\r\nX-Much: " + much + "\r\n\r\n",
                           "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;" + much}) {
    auto reply = get(client, "/big");
    Peer peer = server_.accept();
    peer.read_request();
    peer.say(said);
    const auto error = error_of(std::move(reply));
    EXPECT_EQ(error.code, ErrorCode::unavailable) << said.substr(0, 60);
    EXPECT_THAT(error.message, HasSubstr("/big"));
  }
}

TEST_F(HttpClientTest, DoesNotSendWhatWouldReadAsAnotherRequest) {
  auto& client = start();
  for (const HttpRequest& request : {HttpRequest{.target = "/a b"}, HttpRequest{.target = ""},
                                     HttpRequest{.target = "/", .headers = {{"X", "1\r\nY: 2"}}}}) {
    EXPECT_EQ(error_of(ask(client, request)).code, ErrorCode::invalid_argument);
  }
}

TEST_F(HttpClientTest, WhoStillWaitsWhenItEndsIsTold) {
  auto& client = start({.url = "", .max_connections = 1});
  std::promise<Error> after_the_end;
  auto under_way = get(client, "/under-way");
  Peer peer = server_.accept();
  peer.read_request();
  auto waiting = get(client, "/waiting");
  client.send({.target = "/stubborn"}, [&](const Result<HttpReply>&) {
    client.send({.target = "/once-more"},
                [&](Result<HttpReply> result) { after_the_end.set_value(result.error()); });
  });
  client_.reset();
  EXPECT_EQ(error_of(std::move(under_way)).code, ErrorCode::shutting_down);
  EXPECT_EQ(error_of(std::move(waiting)).code, ErrorCode::shutting_down);
  EXPECT_EQ(after_the_end.get_future().get().code, ErrorCode::shutting_down);
}

// ---- its thread, for others

TEST_F(HttpClientTest, ItsThreadWorksForOthersInTheOrderOfTheirWishes) {
  Executor& executor = start().executor();
  std::string posted, timed;
  std::promise<void> done;
  const Timestamp now = SystemClock{}.now();
  executor.post([&] { posted += "first "; });
  executor.post([&] { posted += "second "; });
  executor.post_at(now - 1h, [&] { timed += "due "; });
  executor.post_at(now + 20ms, [&] {
    timed += "later ";
    done.set_value();
  });
  done.get_future().wait();
  EXPECT_EQ(posted, "first second ");
  EXPECT_EQ(timed, "due later ");
}

TEST_F(HttpClientTest, WhatWaitsOnItsThreadEndsWithIt) {
  const auto held = std::make_shared<int>(1);
  start().executor().post_at(SystemClock{}.now() + 1h, [held] { FAIL() << "in an hour"; });
  client_.reset();
  EXPECT_EQ(held.use_count(), 1);
}

TEST_F(HttpClientTest, ACallbackMayEndIt) {
  auto& client = start();
  auto other = get(client, "/other");
  Peer idle = server_.accept();
  std::promise<void> ended;
  client.send({.target = "/last"}, [&](const Result<HttpReply>&) {
    client_.reset();
    ended.set_value();
  });
  Peer peer = server_.accept();
  peer.read_request();
  peer.answer("bye");
  ended.get_future().wait();
  EXPECT_EQ(error_of(std::move(other)).code, ErrorCode::shutting_down);
}

TEST(HttpClientUrl, IsCheckedAtOnce) {
  for (const char* url : {"", "localhost:8080", "ftp://host", "http://host:0", "http://"}) {
    try {
      const HttpClient client{{.url = url}};
      ADD_FAILURE() << "took " << url;
    } catch (const EngineError& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << url;
    }
  }
}

}  // namespace
}  // namespace dw::client
