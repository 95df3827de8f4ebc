// Every request gets an id, is counted and, where wanted, logged and made smaller; whoever answers
// it need not know.
#include "server/observed.hpp"

#include <dw/value.hpp>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <deque>

namespace dw::server {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Answers when it is told to.
class Patient final : public Handler {
 public:
  void handle(Request request, Respond respond) override {
    if (throws) throw std::runtime_error{"the roof is on fire"};
    requests.push_back(std::move(request));
    waiting.push_back(std::move(respond));
    if (at_once) answer(*at_once);
  }
  void answer(Response response) {
    auto respond = std::move(waiting.front());
    waiting.pop_front();
    respond(std::move(response));
  }
  bool throws = false;
  std::optional<Response> at_once = Response{};
  std::vector<Request> requests;
  std::deque<Respond> waiting;
};

class StandingClock final : public Clock {
 public:
  Timestamp now() const override { return *parse_timestamp("2026-04-10T12:00:00.000000Z"); }
};

// Keeps what it is given until somebody has time for it.
class Later final : public Executor {
 public:
  void post(Work work) override { kept.push_back(std::move(work)); }
  void post_at(Timestamp, Work work) override { kept.push_back(std::move(work)); }
  void run() {
    for (auto& work : std::exchange(kept, {})) work();
  }
  std::vector<Work> kept;
};

class UnderObservation : public ::testing::Test {
 protected:
  std::unique_ptr<Observed> observed() {
    ObservedParts parts{
        inner, metrics, log, credentials, aside, clock, [this] { return readings; }};
    parts.open_metrics = open_metrics;
    parts.compression = compression;
    parts.stopwatch = [this] { return elapsed; };
    return std::make_unique<Observed>(std::move(parts));
  }
  // Asks, and lets everything that was put aside be done.
  Response ask(Request request) {
    std::optional<Response> given;
    observed()->handle(std::move(request), [&](Response response) { given = std::move(response); });
    aside.run();
    EXPECT_TRUE(given);
    return given.value_or(Response{});
  }
  static Request get(std::string target, std::vector<Header> headers = {}) {
    return {"GET", std::move(target), std::move(headers), {}};
  }
  std::string shown() const { return metrics.text(readings); }
  static std::string header(const Response& response, std::string_view name) {
    for (const auto& [key, value] : response.headers) {
      if (key == name) return value;
    }
    return {};
  }
  static Response long_json() {
    return {200, {{"Content-Type", "application/json"}}, '"' + std::string(4000, 'x') + '"'};
  }

  Patient inner;
  Metrics metrics{"1.2.3"};
  std::vector<std::string> lines;
  AccessLog log{AccessLevel::all, LogFormat::json,
                [this](std::string_view line) { lines.emplace_back(line); }};
  Credentials credentials{Auth{.worker_secret = "w", .admin_secret = "a"}};
  Later aside;
  StandingClock clock;
  Readings readings;
  bool open_metrics = false;
  bool compression = true;
  std::chrono::nanoseconds elapsed{};
};

TEST_F(UnderObservation, AClientsRequestIdIsKeptAndEchoed) {
  const auto response = ask(get("/api/health", {{"x-request-id", "trace-7"}}));
  EXPECT_EQ(header(response, "X-Request-Id"), "trace-7");
  EXPECT_EQ(inner.requests.at(0).header("X-Request-Id"), "trace-7");
}

TEST_F(UnderObservation, AMissingOrUnfitIdIsMadeAndTheHandlerSeesIt) {
  for (const auto& headers : {std::vector<Header>{}, {{"X-Request-Id", "a b"}}}) {
    const auto id = header(ask(get("/api/health", headers)), "X-Request-Id");
    EXPECT_EQ(id.size(), 26U);
    EXPECT_EQ(inner.requests.back().header("X-Request-Id"), id);
  }
  EXPECT_NE(lines.at(0).substr(lines[0].find("request_id"), 40),
            lines.at(1).substr(lines[1].find("request_id"), 40));
}

TEST_F(UnderObservation, AnIdThatTheHandlerChoseStays) {
  inner.at_once = Response{200, {{"X-Request-Id", "mine"}}, {}};
  const auto response = ask(get("/api/health"));
  EXPECT_EQ(response.headers.size(), 1U);
}

TEST_F(UnderObservation, IsCountedByRouteMethodAndClass) {
  inner.at_once = Response{404, {}, "{}"};
  ask(get("/api/workflows/order-42"));
  ask(get("/api/workflows/order-43"));
  const auto text = shown();
  EXPECT_THAT(text, HasSubstr("dw_http_requests_total{method=\"GET\",route=\"/api/workflows/"
                              "{workflow}\",status=\"4xx\"} 2"));
  EXPECT_THAT(text, Not(HasSubstr("order-4")));
}

TEST_F(UnderObservation, ALongPollDoesNotSpoilTheHistogram) {
  inner.at_once = {};
  const auto door = observed();
  int answered = 0;
  const auto count = [&](const Response&) { ++answered; };
  door->handle({"POST", "/api/worker/activity-tasks/poll", {}, {}}, count);
  EXPECT_THAT(shown(), HasSubstr("dw_http_requests_waiting{kind=\"activity_task\"} 1"));
  elapsed = 30s;
  inner.answer({});
  EXPECT_EQ(answered, 1);
  const auto text = shown();
  EXPECT_THAT(text, HasSubstr("dw_http_requests_waiting{kind=\"activity_task\"} 0"));
  EXPECT_THAT(text, HasSubstr("dw_http_wait_duration_seconds_sum{method=\"POST\",route=\"/api/"
                              "worker/activity-tasks/poll\"} 30"));
  EXPECT_THAT(text, Not(HasSubstr("dw_http_request_duration_seconds_sum")));
}

TEST_F(UnderObservation, APollNobodyAnswersIsNotWaitedForForEver) {
  inner.at_once = {};
  observed()->handle({"POST", "/api/worker/query-tasks/poll", {}, {}}, [](const Response&) {});
  EXPECT_THAT(shown(), HasSubstr("{kind=\"query_task\"} 1"));
  inner.waiting.clear();
  EXPECT_THAT(shown(), HasSubstr("{kind=\"query_task\"} 0"));
}

TEST_F(UnderObservation, TheLogSaysWhoAndNeverTheirSecret) {
  inner.at_once = Response{201, {}, "{}"};
  elapsed = 0ms;
  ask({"POST",
       "/api/workflows?namespace=shop&token=s3cr3t",
       {{"Authorization", "Bearer a"}, {"X-Signature", "f00d"}, {"X-Request-Id", "r-1"}},
       R"({"input":["private"]})"});
  EXPECT_THAT(
      lines,
      ElementsAre(
          R"({"event":"request","time":"2026-04-10T12:00:00.000000Z","request_id":"r-1",)"
          R"("method":"POST","path":"/api/workflows?namespace&token","route":"/api/workflows",)"
          R"("status":201,"bytes":2,"duration_ms":0.000,"role":"admin","namespace":"shop"})"));
}

TEST_F(UnderObservation, StrangersHaveNoRoleInTheLog) {
  ask(get("/api/workflows", {{"Authorization", "Bearer guess"}, {"X-Namespace", "Shop"}}));
  EXPECT_THAT(lines, ElementsAre(HasSubstr(R"("namespace":"Shop")")));
  EXPECT_THAT(lines[0], Not(HasSubstr("role")));
  EXPECT_THAT(lines[0], Not(HasSubstr("guess")));
}

TEST_F(UnderObservation, WhereOnlyErrorsAreLoggedNobodyLooksForTheRole) {
  log = {AccessLevel::errors, LogFormat::json,
         [this](std::string_view line) { lines.emplace_back(line); }};
  ask(get("/api/workflows", {{"Authorization", "Bearer a"}}));
  inner.at_once = Response{500, {}, {}};
  ask(get("/api/workflows", {{"Authorization", "Bearer a"}}));
  EXPECT_THAT(lines, ElementsAre(HasSubstr(R"("status":500,"bytes":0,"duration_ms":0.000,)"
                                           R"("namespace":"default"})")));
}

TEST_F(UnderObservation, NewSecretsCountFromTheNextRequestOn) {
  credentials.replace(Auth{.operator_secret = "a"});
  ask(get("/api/workflows", {{"Authorization", "Bearer a"}}));
  EXPECT_THAT(lines, ElementsAre(HasSubstr(R"("role":"operator","namespace":"default")")));
}

TEST_F(UnderObservation, ABodyIsMadeSmallerForThoseWhoAsked) {
  inner.at_once = long_json();
  const auto response = ask(get("/api/workflows", {{"Accept-Encoding", "gzip"}}));
  EXPECT_EQ(header(response, "Content-Encoding"), "gzip");
  EXPECT_EQ(header(response, "Vary"), "Accept-Encoding");
  EXPECT_LT(response.body.size(), 200U);
  EXPECT_THAT(lines, ElementsAre(HasSubstr(fmt::format(R"("bytes":{},)", response.body.size()))));
  EXPECT_THAT(shown(), HasSubstr("dw_http_compression_in_bytes_total{coding=\"gzip\"} 4002"));
}

TEST_F(UnderObservation, AndForNobodyElse) {
  inner.at_once = long_json();
  const auto response = ask(get("/api/workflows"));
  EXPECT_EQ(response.body, long_json().body);
  EXPECT_THAT(header(response, "Content-Encoding"), IsEmpty());
  EXPECT_EQ(header(response, "Vary"), "Accept-Encoding");
  compression = false;
  const auto plain = ask(get("/api/workflows", {{"Accept-Encoding", "gzip"}}));
  EXPECT_EQ(plain.body, long_json().body);
  EXPECT_THAT(header(plain, "Vary"), IsEmpty());
}

TEST_F(UnderObservation, ALargeBodyIsNotCompressedOnTheThreadThatAnswers) {
  inner.at_once = long_json();
  inner.at_once->body.assign(100'000, ' ');
  std::optional<Response> given;
  observed()->handle(get("/api/workflows", {{"Accept-Encoding", "deflate"}}),
                     [&](Response response) { given = std::move(response); });
  EXPECT_FALSE(given);
  aside.run();
  ASSERT_TRUE(given);
  EXPECT_EQ(header(*given, "Content-Encoding"), "deflate");
}

TEST_F(UnderObservation, AHandlerThatThrowsIsAnsweredFor) {
  inner.throws = true;
  const auto response = ask(get("/api/workflows"));
  EXPECT_EQ(response.status, 500);
  EXPECT_THAT(response.body, HasSubstr(R"("reason":"server_error")"));
  EXPECT_THAT(response.body, Not(HasSubstr("fire")));
  EXPECT_THAT(lines, ElementsAre(HasSubstr(R"("status":500)")));
}

TEST_F(UnderObservation, MetricsAreForWhoeverHasARole) {
  EXPECT_EQ(ask(get("/metrics")).status, 401);
  EXPECT_EQ(ask(get("/metrics", {{"Authorization", "Bearer x"}})).status, 401);
  const auto response = ask(get("/metrics", {{"Authorization", "Bearer w"}}));
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(header(response, "Content-Type"), "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_THAT(response.body, HasSubstr("dw_build_info{"));
  EXPECT_THAT(inner.requests, IsEmpty());
}

TEST_F(UnderObservation, MetricsMayBeOpenedToEverybody) {
  open_metrics = true;
  EXPECT_EQ(ask(get("/metrics")).status, 200);
  open_metrics = false;
  credentials.replace({.driver = Auth::Driver::none});
  EXPECT_EQ(ask(get("/metrics", {{"Host", "localhost:8080"}})).status, 200);
}

TEST_F(UnderObservation, MetricsOfAnOpenServerAreForItsOwnMachine) {
  credentials.replace({.driver = Auth::Driver::none});
  EXPECT_EQ(ask(get("/metrics", {{"Host", "evil.example"}})).status, 403);
}

TEST_F(UnderObservation, MetricsAreThereToBeRead) {
  const auto response = ask({"POST", "/metrics", {}, {}});
  EXPECT_EQ(response.status, 405);
  EXPECT_EQ(header(response, "Allow"), "GET, HEAD");
}

}  // namespace
}  // namespace dw::server
