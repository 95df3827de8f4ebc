// Labels come from a short list, whatever strangers ask for.
#include "server/endpoint.hpp"

#include "server/routes.hpp"

#include <gtest/gtest.h>

#include <set>

namespace dw::server {
namespace {

Endpoint endpoint(std::string method, std::string target) {
  return endpoint_of({std::move(method), std::move(target), {}, {}});
}

TEST(Endpoint, IsTheRoutesPatternAndNeverTheIdInIt) {
  const auto found = endpoint("GET", "/api/workflows/order-42/runs/01J8?namespace=shop");
  EXPECT_EQ(found.route, "/api/workflows/{workflow}/runs/{run}");
  EXPECT_EQ(found.method, "GET");
  EXPECT_EQ(found.waiting, Waiting::nobody);
  EXPECT_TRUE(found.in_namespace);
}

TEST(Endpoint, KnowsWhoIsWaitedFor) {
  EXPECT_EQ(endpoint("POST", "/api/worker/workflow-tasks/poll").waiting, Waiting::workflow_task);
  EXPECT_EQ(endpoint("POST", "/api/worker/activity-tasks/poll").waiting, Waiting::activity_task);
  EXPECT_EQ(endpoint("POST", "/api/worker/query-tasks/poll").waiting, Waiting::query_task);
  EXPECT_EQ(endpoint("POST", "/api/worker/update-validation-tasks/poll").waiting,
            Waiting::update_validation_task);
  EXPECT_EQ(endpoint("POST", "/api/worker/exchange").waiting, Waiting::exchange);
  EXPECT_EQ(endpoint("GET", "/api/workflows/a/runs/b/result").waiting, Waiting::result);
  EXPECT_EQ(endpoint("POST", "/api/workflows/a/query/total").waiting, Waiting::query);
  EXPECT_EQ(endpoint("POST", "/api/workflows/a/runs/b/update/add").waiting, Waiting::update);
}

TEST(Endpoint, WhatIsNoRouteHasOneNameForEachPlace) {
  EXPECT_EQ(endpoint("GET", "/metrics").route, "/metrics");
  EXPECT_EQ(endpoint("GET", "/metrics?x=1").route, "/metrics");
  EXPECT_EQ(endpoint("GET", "/metricsish").route, "(other)");
  EXPECT_EQ(endpoint("GET", "/api/no/such/thing").route, "/api/(unknown)");
  EXPECT_EQ(endpoint("PATCH", "/api/workflows").route, "/api/(unknown)");
  EXPECT_EQ(endpoint("GET", "/api/%zz").route, "/api/(unknown)");
  EXPECT_EQ(endpoint("GET", "/waterline/api/v2/stats").route, "/waterline");
  EXPECT_EQ(endpoint("POST", "/webhooks/start/order").route, "/webhooks");
  EXPECT_EQ(endpoint("GET", "/favicon.ico").route, "(other)");
  EXPECT_EQ(endpoint("BREW", "/pot").method, "(other)");
}

TEST(Endpoint, EachHasAnIndexOfItsOwn) {
  std::set<std::size_t> seen;
  for (const auto& route : routes()) {
    std::string target = "/api/" + std::string{route.pattern};
    const auto found = endpoint(std::string{route.method}, target);
    EXPECT_LT(found.index, endpoint_count());
    EXPECT_TRUE(seen.insert(found.index).second) << route.method << " " << route.pattern;
  }
  for (const char* target : {"/metrics", "/api/(unknown)", "/waterline", "/webhooks", "/other"}) {
    for (const char* method : {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "X"}) {
      const auto found = endpoint(method, target);
      EXPECT_LT(found.index, endpoint_count());
      EXPECT_TRUE(seen.insert(found.index).second) << method << " " << target;
    }
  }
}

}  // namespace
}  // namespace dw::server
