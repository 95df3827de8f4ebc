#include "server/routes.hpp"

#include <gmock/gmock.h>

#include <set>

namespace dw::server {
namespace {

Match matched(std::string_view method, std::string_view target) {
  const auto path = parse_path(target);
  EXPECT_TRUE(path) << target;
  return path ? match(method, *path) : Match{};
}

TEST(Routes, AnOperationIsFoundByMethodAndPath) {
  const auto found = matched("POST", "/api/workflows/order-42/signal/approve");
  ASSERT_NE(found.route, nullptr);
  EXPECT_EQ(found.route->operation, Operation::signal);
  EXPECT_EQ(found["workflow"], "order-42");
  EXPECT_EQ(found["name"], "approve");
  EXPECT_EQ(found["run"], "");
}

TEST(Routes, ARunIsNamedByItsOwnSegment) {
  const auto found = matched("GET", "/api/workflows/order-42/runs/01J/history?page_size=2");
  ASSERT_NE(found.route, nullptr);
  EXPECT_EQ(found.route->operation, Operation::history);
  EXPECT_EQ(found["run"], "01J");
}

TEST(Routes, ImportsAreKnownAndAWorkflowMayHaveThatName) {
  for (const char* kind : {"", "/waterline-v1", "/embedded-v2"}) {
    const auto found = matched("POST", std::string{"/api/workflows/import"} + kind);
    ASSERT_NE(found.route, nullptr) << kind;
    EXPECT_EQ(found.route->operation, Operation::import_workflows);
  }
  EXPECT_EQ(matched("GET", "/api/workflows/import")["workflow"], "import");
}

TEST(Routes, SegmentsAreDecodedOnce) {
  EXPECT_EQ(matched("GET", "/api/workflows/a%20b%2525")["workflow"], "a b%25");
  EXPECT_EQ(matched("GET", "/api/workflows/a+b")["workflow"], "a+b")
      << "a plus is a plus in a path";
  EXPECT_EQ(matched("POST", "/api/workflows/a/signal/b.c:d")["name"], "b.c:d");
}

TEST(Routes, AnEscapedSlashStaysInItsSegment) {
  EXPECT_EQ(matched("GET", "/api/workflows/a%2Fb")["workflow"], "a/b");
}

TEST(Routes, AKnownPathWithAnotherMethodIsKnown) {
  const auto found = matched("DELETE", "/api/workflows/order-42");
  EXPECT_EQ(found.route, nullptr);
  EXPECT_TRUE(found.known_path);
  EXPECT_EQ(found["workflow"], "order-42");
  EXPECT_EQ(found.plane, Plane::workflows);
}

TEST(Routes, WhatIsNotThereIsOfThePlaneItWouldBeIn) {
  EXPECT_EQ(matched("GET", "/api/workflows/a/b/c/d").plane, Plane::workflows);
  EXPECT_EQ(matched("GET", "/api/nonsense").plane, Plane::control);
  EXPECT_FALSE(matched("GET", "/api/workflows//runs").known_path) << "a name is never empty";
}

TEST(Routes, AQueryIsNoPartOfThePath) {
  const auto found = match("GET", "/api/workflows/order-1?run=%7");
  ASSERT_TRUE(found.route);
  EXPECT_EQ(found["workflow"], "order-1");
}

TEST(Routes, OtherTargetsAreNoPaths) {
  for (const auto* target : {"", "*", "/", "/apis/x", "http://host"}) {
    EXPECT_FALSE(parse_path(target)) << target;
  }
}

TEST(Routes, ABrokenEscapeLeadsNowhereButIsKnownByItsNeighbours) {
  for (const auto* target : {"/api/health/%", "/api/workflows/%2", "/api/workflows/a/signal/%zz"}) {
    const auto found = matched("POST", target);
    EXPECT_EQ(found.route, nullptr) << target;
    EXPECT_FALSE(found.known_path) << target;
  }
  const auto found = matched("POST", "/api/workflows/a/signal/%zz");
  EXPECT_EQ(found.nearest->operation, Operation::signal);
  EXPECT_EQ(found["workflow"], "a");
}

TEST(Routes, NoTwoAnswerToTheSameRequest) {
  std::set<std::pair<std::string_view, std::string_view>> seen;
  for (const Route& route : routes()) {
    EXPECT_TRUE(seen.emplace(route.method, route.pattern).second) << route.pattern;
  }
}

TEST(Routes, BeginWithAWordByWhichTheyAreFound) {
  for (const Route& route : routes()) EXPECT_FALSE(route.pattern.starts_with('{')) << route.pattern;
}

TEST(QueryValue, IsTheFirstOfItsNameDecoded) {
  EXPECT_EQ(query_value("a=1&b=x%20y+z&b=2", "b"), "x y z");
  EXPECT_EQ(query_value("a=1&b", "b"), "");
  EXPECT_EQ(query_value("a=1", "b"), std::nullopt);
  EXPECT_EQ(query_value("a=%", "a"), std::nullopt);
}

TEST(Match, OneThatAsksForTheHeadAloneIsToldThatOfTheWhole) {
  const auto found = match("HEAD", "/api/health");
  ASSERT_NE(found.route, nullptr);
  EXPECT_EQ(found.route->operation, Operation::health);
}

TEST(Match, SaysWhichMethodsThereAre) {
  EXPECT_EQ(match("PATCH", "/api/namespaces").allowed, "GET, HEAD, POST");
  EXPECT_EQ(match("GET", "/api/nothing").allowed, "");
}

TEST(Match, NoNameIsHalfACharacter) {
  EXPECT_EQ(match("POST", "/api/workflows/w/signal/a%ffb").route, nullptr);
}

TEST(Query, TellsWhatCannotBeRead) {
  EXPECT_EQ(unreadable_parameter("a=1&b=x%20y+z"), std::nullopt);
  EXPECT_EQ(unreadable_parameter("a=1&b=%"), "b");
  EXPECT_EQ(unreadable_parameter("a=1&%b=1"), "%b");
  EXPECT_EQ(unreadable_parameter("a=%c3%28"), "a");
}

}  // namespace
}  // namespace dw::server
