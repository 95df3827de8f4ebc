// One line tells who asked for what and how it went, and no secret.
#include "server/access_log.hpp"

#include <dw/value.hpp>

#include <gmock/gmock.h>

namespace dw::server {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

AccessEntry signalled() {
  AccessEntry entry;
  entry.at = *parse_timestamp("2026-04-10T12:00:00.000000Z");
  entry.request_id = "01J8";
  entry.method = "POST";
  entry.path = "/api/workflows/order-42/signal/approve";
  entry.route = "/api/workflows/{workflow}/signal/{name}";
  entry.status = 202;
  entry.bytes = 812;
  entry.took = 1234us;
  entry.role = "operator";
  entry.ns = "shop";
  return entry;
}

TEST(AccessLine, IsOneJsonObject) {
  EXPECT_EQ(access_line(signalled(), LogFormat::json),
            R"({"event":"request","time":"2026-04-10T12:00:00.000000Z","request_id":"01J8",)"
            R"("method":"POST","path":"/api/workflows/order-42/signal/approve",)"
            R"("route":"/api/workflows/{workflow}/signal/{name}","status":202,"bytes":812,)"
            R"("duration_ms":1.234,"role":"operator","namespace":"shop"})");
}

TEST(AccessLine, IsOneLineOfText) {
  EXPECT_EQ(access_line(signalled(), LogFormat::text),
            "2026-04-10T12:00:00.000000Z POST /api/workflows/order-42/signal/approve 202 812B "
            "1.234ms request=01J8 route=/api/workflows/{workflow}/signal/{name} role=operator "
            "namespace=shop");
}

TEST(AccessLine, LeavesOutWhatIsNotKnown) {
  auto entry = signalled();
  entry.role.clear();
  entry.ns.clear();
  EXPECT_THAT(access_line(entry, LogFormat::json), Not(HasSubstr("role")));
  EXPECT_THAT(access_line(entry, LogFormat::text), Not(HasSubstr("namespace=")));
  entry.remote = "10.0.0.7";
  EXPECT_THAT(access_line(entry, LogFormat::json), HasSubstr(R"("remote":"10.0.0.7")"));
  EXPECT_THAT(access_line(entry, LogFormat::text), HasSubstr(" remote=10.0.0.7"));
}

TEST(AccessLine, NobodyCanForgeAnother) {
  auto entry = signalled();
  entry.method = "GET\n2026";
  entry.path = "/a b\"\n2026-04-10 GET / 200";
  entry.ns = "x role=admin";
  const auto text = access_line(entry, LogFormat::text);
  EXPECT_THAT(text, Not(HasSubstr("\n")));
  EXPECT_THAT(text, HasSubstr(R"("/a b\"\n2026-04-10 GET / 200")"));
  EXPECT_THAT(text, HasSubstr(R"(namespace="x role=admin")"));
  const auto json = access_line(entry, LogFormat::json);
  EXPECT_THAT(json, Not(HasSubstr("\n")));
  const auto parsed = parse_json(json);
  ASSERT_TRUE(parsed) << json;
  EXPECT_EQ(*parsed->find("path"), Value{entry.path});
}

TEST(LoggablePath, KeepsNamesAndNoValues) {
  EXPECT_EQ(loggable_path("/api/workflows"), "/api/workflows");
  EXPECT_EQ(loggable_path("/api/workflows?"), "/api/workflows");
  EXPECT_EQ(loggable_path("/api/workflows?namespace=shop&token=s3cr3t&limit="),
            "/api/workflows?namespace&token&limit");
}

TEST(LoggablePath, WhatMayBeASecretByItselfIsNotAName) {
  EXPECT_EQ(loggable_path("/a?s3cr3t"), "/a");
  EXPECT_EQ(loggable_path("/a?s3cr3t&x=1"), "/a?x");
  EXPECT_EQ(loggable_path("/a?%73=1&=2&y=3"), "/a?y");
  EXPECT_EQ(loggable_path("/a?" + std::string(41, 'k') + "=1"), "/a");
}

TEST(LoggablePath, IsNeverLong) {
  EXPECT_EQ(loggable_path("/" + std::string(9000, 'a')).size(), 512U);
  std::string many = "/a?b=1";
  for (int i = 0; i < 1000; ++i) many += "&name=1";
  EXPECT_LT(loggable_path(many).size(), 600U);
}

TEST(RequestId, IsShortAndHarmless) {
  EXPECT_TRUE(is_request_id("01J8Z3.a_b:c-d"));
  EXPECT_TRUE(is_request_id("Root=1-67891233-abcdef012345678912345678"));
  EXPECT_TRUE(is_request_id(std::string(128, 'x')));
  EXPECT_FALSE(is_request_id(std::string(129, 'x')));
  EXPECT_FALSE(is_request_id(""));
  for (const char* bad : {"a b", "a\nb", "a\"b", "{}", "ä", "<script>"}) {
    EXPECT_FALSE(is_request_id(bad)) << bad;
  }
}

class WithALog : public ::testing::Test {
 protected:
  AccessLog log(AccessLevel level) {
    return {level, LogFormat::text, [this](std::string_view line) { lines.emplace_back(line); }};
  }
  std::vector<std::string> lines;
};

TEST_F(WithALog, OffWritesNothing) {
  auto failed = signalled();
  failed.status = 500;
  AccessLog{}.write(failed);
  const auto silent = log(AccessLevel::off);
  silent.write(failed);
  EXPECT_FALSE(silent.on());
  EXPECT_THAT(lines, IsEmpty());
}

TEST_F(WithALog, AllWritesEverything) {
  log(AccessLevel::all).write(signalled());
  EXPECT_EQ(lines.size(), 1U);
}

TEST_F(WithALog, ErrorsAreFailuresAndWhatTookTooLong) {
  const auto errors = log(AccessLevel::errors);
  auto entry = signalled();
  errors.write(entry);
  entry.status = 422;
  errors.write(entry);
  entry.took = 999ms;
  errors.write(entry);
  entry.waited = true;
  entry.took = 30s;
  errors.write(entry);
  EXPECT_THAT(lines, IsEmpty());
  entry.waited = false;
  errors.write(entry);
  entry.took = 1ms;
  entry.status = 503;
  errors.write(entry);
  EXPECT_THAT(lines, ElementsAre(HasSubstr(" 422 "), HasSubstr(" 503 ")));
}

TEST(AccessLevels, HaveNames) {
  EXPECT_EQ(*parse_access_level("errors"), AccessLevel::errors);
  EXPECT_EQ(*parse_log_format("json"), LogFormat::json);
  EXPECT_THAT(parse_access_level("loud").error().message, HasSubstr("off, errors or all"));
  EXPECT_THAT(parse_log_format("xml").error().message, HasSubstr("text or json"));
}

}  // namespace
}  // namespace dw::server
