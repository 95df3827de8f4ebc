#include "server/auth.hpp"

#include "core/sha256.hpp"

#include <gmock/gmock.h>

namespace dw::server {
namespace {

Request bearing(std::string token) {
  return {"GET", "/api/workflows", {{"authorization", "Bearer " + token}}, ""};
}

const Auth by_role{
    .worker_secret = "w", .operator_secret = "o", .admin_secret = "a", .legacy_secret = "old"};

TEST(Auth, ATokenIsARole) {
  EXPECT_EQ(authenticate(by_role, bearing("w"))->role, Role::worker);
  EXPECT_EQ(authenticate(by_role, bearing("o"))->role, Role::operating);
  EXPECT_EQ(authenticate(by_role, bearing("a"))->role, Role::admin);
}

TEST(Auth, TheSchemeIsReadInAnyCase) {
  EXPECT_TRUE(authenticate(by_role, {"GET", "/", {{"Authorization", "bearer w"}}, ""}));
  EXPECT_TRUE(authenticate(by_role, {"GET", "/", {{"Authorization", "BEARER w"}}, ""}));
  EXPECT_FALSE(authenticate(by_role, {"GET", "/", {{"Authorization", "Bearer W"}}, ""}));
}

TEST(Auth, AnythingElseIsNobody) {
  EXPECT_FALSE(authenticate(by_role, bearing("x")));
  EXPECT_FALSE(authenticate(by_role, bearing("")));
  EXPECT_FALSE(authenticate(by_role, {"GET", "/", {{"Authorization", "Basic w"}}, ""}));
  EXPECT_FALSE(authenticate(by_role, {"GET", "/", {}, ""}));
  EXPECT_FALSE(authenticate(Auth{}, bearing(""))) << "no secret is not an empty secret";
}

TEST(Auth, AnAdminIsNoWorker) {
  const auto principal = authenticate(by_role, bearing("a"));
  EXPECT_TRUE(principal->may(operators));
  EXPECT_FALSE(principal->may({.worker = true}));
}

TEST(Auth, TheOldTokenOpensEverythingUntilARoleHasItsOwn) {
  const auto alone = authenticate(Auth{.legacy_secret = "old"}, bearing("old"));
  EXPECT_TRUE(alone->may({.worker = true}));
  const auto beside = authenticate(by_role, bearing("old"));
  EXPECT_EQ(beside->role, Role::admin);
  EXPECT_FALSE(beside->may({.worker = true}));
}

TEST(Auth, ASignatureIsOfTheBodyAlone) {
  const Auth auth{.driver = Auth::Driver::signature, .operator_secret = "key"};
  const std::string body = R"({"workflow_type":"x"})";
  Request request{"POST", "/api/workflows", {}, body};
  request.headers.push_back({"X-Signature", hmac_sha256_hex("key", body)});
  EXPECT_EQ(authenticate(auth, request)->role, Role::operating);
  request.body += " ";
  EXPECT_FALSE(authenticate(auth, request));
  EXPECT_TRUE(authenticate(auth, {"GET", "/", {{"X-Signature", hmac_sha256_hex("key", "")}}, ""}));
}

TEST(Auth, WithoutADriverEverybodyMayDoEverything) {
  const auto anonymous = authenticate({.driver = Auth::Driver::none}, {"GET", "/", {}, ""});
  ASSERT_TRUE(anonymous);
  EXPECT_TRUE(anonymous->may({.worker = true}));
  EXPECT_TRUE(anonymous->may({.admin = true}));
}

TEST(Auth, AnUnknownDriverIsRefusedByName) {
  EXPECT_EQ(*parse_driver("signature"), Auth::Driver::signature);
  EXPECT_EQ(parse_driver("magic").error().code, ErrorCode::invalid_argument);
}

TEST(MeansThisMachine, WhoWritesWhatOnlyThisMachineIsCalled) {
  for (const char* host : {"", "localhost", "LocalHost:8080", "a.localhost:1", "127.0.0.1",
                           "127.0.0.1:8080", "[::1]", "[::1]:8080", "Build-Box:8080"}) {
    EXPECT_TRUE(means_this_machine(host, "build-box")) << host;
  }
  for (const char* host : {"evil.example", "evil.example:8080", "localhost.evil.example",
                           "127.0.0.1.evil.example:80", "notlocalhost"}) {
    EXPECT_FALSE(means_this_machine(host, "build-box")) << host;
  }
}

}  // namespace
}  // namespace dw::server
