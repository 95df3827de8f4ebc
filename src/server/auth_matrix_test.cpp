// Every route, asked for by everybody, in the right and in the wrong way. What should happen is
// written down here after the specification of the wire protocol (its roles, and the order of its
// checks), not after the table of routes: the two are compared.
#include "core/sha256.hpp"
#include "server/front_desk.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <map>

namespace dw::server {
namespace {

using ::testing::TestWithParam;
using ::testing::Values;

// ---- the specification's table

constexpr Roles nobody_asked{};  // health and readiness: no authentication at all

struct SpecifiedRoles {
  std::string_view methods;  // those it speaks of, or "any"
  std::string_view group;    // the path itself and whatever lies below it
  Roles roles;
};

constexpr SpecifiedRoles specified[] = {
    {"GET", "health", nobody_asked},
    {"GET", "ready", nobody_asked},
    {"GET", "cluster/info", {.worker = true, .operating = true, .admin = true}},
    {"any", "worker", {.worker = true}},
    {"GET", "namespaces", {.operating = true, .admin = true}},
    {"POST PUT DELETE", "namespaces", {.admin = true}},
    {"any", "workflows", {.operating = true, .admin = true}},
    {"any", "activities", {.operating = true, .admin = true}},
    {"any", "bridge-adapters", {.operating = true, .admin = true}},
    {"any", "task-queues", {.operating = true, .admin = true}},
    {"any", "schedules", {.operating = true, .admin = true}},
    {"GET", "calendars", {.worker = true, .operating = true, .admin = true}},
    {"POST PUT DELETE", "calendars", {.operating = true, .admin = true}},
    {"any", "search-attributes", {.operating = true, .admin = true}},
    {"any", "service-endpoints", {.operating = true, .admin = true}},
    {"any", "deployments", {.operating = true, .admin = true}},
    {"GET", "workers", {.operating = true, .admin = true}},
    {"DELETE", "workers", {.admin = true}},
    {"GET", "worker-sessions", {.operating = true, .admin = true}},
    {"POST", "storage/test", {.admin = true}},
    {"any", "system", {.admin = true}},
};

bool is_within(std::string_view path, std::string_view group) {
  return path.starts_with(group) && (path.size() == group.size() || path[group.size()] == '/');
}

const Roles* specified_roles(const Route& route) {
  for (const auto& rule : specified) {
    const bool method =
        rule.methods == "any" || rule.methods.find(route.method) != rule.methods.npos;
    if (method && is_within(route.pattern, rule.group)) return &rule.roles;
  }
  return nullptr;
}

bool asks_who(const Route& route) {
  return route.pattern != "health" && route.pattern != "ready";
}
bool has_version(const Route& route) {
  return asks_who(route) && route.pattern != "cluster/info";
}
bool has_namespace(const Route& route) {
  return has_version(route) && !is_within(route.pattern, "namespaces");
}

// ---- who asks, and how

enum class Who { nobody, stranger, worker, operating, admin, legacy, legacy_alone };
constexpr Who everybody[] = {Who::nobody, Who::stranger, Who::worker,      Who::operating,
                             Who::admin,  Who::legacy,   Who::legacy_alone};

std::string secret_of(Who who) {
  static const std::map<Who, std::string> secrets{
      {Who::nobody, ""},         {Who::stranger, "stranger's"},
      {Who::worker, "worker's"}, {Who::operating, "operator's"},
      {Who::admin, "admin's"},   {Who::legacy, "old"},
      {Who::legacy_alone, "old"}};
  return secrets.at(who);
}

// What may be wrong with a request, beside who sends it.
struct Flaws {
  bool syntax = false;
  bool version = false;
  bool name_space = false;
};

struct Expected {
  int status = 0;
  std::string reason = {};
};

bool may(Who who, Roles roles) {
  switch (who) {
    case Who::nobody:
    case Who::stranger:
      return false;
    case Who::worker:
      return roles.worker;
    case Who::operating:
      return roles.operating;
    case Who::admin:
    case Who::legacy:
      return roles.admin;
    case Who::legacy_alone:
      return true;
  }
  return false;
}

// The order of the specification: syntax, who, role, version, namespace.
Expected expected(const Route& route, Roles roles, Who who, Flaws flaws) {
  if (flaws.syntax) return {400, "malformed_json"};
  if (asks_who(route)) {
    if (who == Who::nobody || who == Who::stranger) return {401, "unauthorized"};
    if (!may(who, roles)) return {403, "forbidden"};
  }
  if (has_version(route) && flaws.version) {
    return {400, route.plane == Plane::worker ? "missing_protocol_version"
                                              : "missing_control_plane_version"};
  }
  if (has_namespace(route) && flaws.name_space) return {404, "namespace_not_found"};
  return {route.pattern == "cluster/info" ? 200 : 202};
}

class Obliging final : public Service {
 public:
  void serve(Call call, Reply reply) override {
    ++served;
    last_namespace = call.ns.view();
    reply({202, {}});
  }
  int served = 0;
  std::string last_namespace;
};

class AuthMatrix : public TestWithParam<Auth::Driver> {
 protected:
  static DeskOptions options(bool with_roles) {
    DeskOptions options{{.driver = GetParam(), .legacy_secret = secret_of(Who::legacy)},
                        {"host-1", "1.0", "default", 1024},
                        [](std::string_view name) { return name == "default" || name == "blue"; },
                        1024};
    if (with_roles) {
      options.auth.worker_secret = secret_of(Who::worker);
      options.auth.operator_secret = secret_of(Who::operating);
      options.auth.admin_secret = secret_of(Who::admin);
    }
    return options;
  }

  static Request request(const Route& route, Who who, Flaws flaws) {
    Request request{std::string{route.method}, target_of(route.pattern), {}, ""};
    if (route.method != "GET") {
      request.body = flaws.syntax ? "{" : "{}";
      request.headers.push_back({"Content-Type", "application/json"});
    }
    if (!flaws.version) {
      request.headers.push_back({std::string{control_plane_header}, "2"});
      request.headers.push_back({std::string{worker_protocol_header}, "1.0"});
    }
    request.headers.push_back({"X-Namespace", flaws.name_space ? "elsewhere" : "Blue"});
    if (const auto secret = secret_of(who); !secret.empty()) {
      GetParam() == Auth::Driver::token
          ? request.headers.push_back({"Authorization", "Bearer " + secret})
          : request.headers.push_back({"X-Signature", hmac_sha256_hex(secret, request.body)});
    }
    return request;
  }
  static std::string target_of(std::string_view pattern) {
    std::string target = "/api/";
    for (bool inside = false; const char c : pattern) {
      inside = c == '{' || (inside && c != '}');
      if (c == '{') target += "some-";
      if (c != '{' && c != '}') target += c;
    }
    return target;
  }

  void expect_as_specified(const Route& route, Roles roles, Who who, Flaws flaws) {
    const auto should = expected(route, roles, who, flaws);
    FrontDesk& desk = who == Who::legacy_alone ? desk_without_roles_ : desk_;
    service_ = {};
    Response response;
    desk.handle(request(route, who, flaws), [&](Response given) { response = std::move(given); });
    SCOPED_TRACE(fmt::format("{} {} as {}, flaws: {} {} {}", route.method, route.pattern,
                             static_cast<int>(who), flaws.syntax, flaws.version, flaws.name_space));
    ASSERT_EQ(response.status, should.status) << response.body;
    EXPECT_EQ(service_.served, should.status == 202 ? 1 : 0);
    if (should.reason.empty()) {
      EXPECT_EQ(service_.last_namespace, has_namespace(route) ? "blue" : "");
      return;
    }
    expect_reason(response, should.reason, roles, who);
  }

  static void expect_reason(const Response& response, std::string_view reason, Roles roles,
                            Who who) {
    const auto body = parse_json(response.body);
    ASSERT_TRUE(body) << response.body;
    EXPECT_EQ(*body->find("reason"), Value{reason});
    ASSERT_NE(body->find("message"), nullptr);
    if (response.status == 401 || response.status == 403) {
      EXPECT_EQ(body->find("control_plane"), nullptr) << "strangers learn nothing";
    }
    if (response.status != 403) return;
    Value::Array allowed;
    if (roles.worker) allowed.emplace_back("worker");
    if (roles.operating) allowed.emplace_back("operator");
    if (roles.admin) allowed.emplace_back("admin");
    EXPECT_EQ(*body->find("allowed_roles"), Value{allowed});
    const auto* const role = who == Who::worker      ? "worker"
                             : who == Who::operating ? "operator"
                                                     : "admin";
    EXPECT_EQ(*body->find("role"), Value{role});
  }

  Obliging service_;
  FrontDesk desk_{options(true), service_, service_};
  FrontDesk desk_without_roles_{options(false), service_, service_};
};

// proves: E-91
TEST_P(AuthMatrix, EveryRouteAnswersEverybodyAsSpecified) {
  for (const Route& route : routes()) {
    const Roles* roles = specified_roles(route);
    ASSERT_NE(roles, nullptr) << route.method << " /" << route.pattern
                              << " is not in the specification's table of roles";
    for (const Who who : everybody) {
      for (const bool version : {false, true}) {
        for (const bool name_space : {false, true}) {
          expect_as_specified(route, *roles, who, {.version = version, .name_space = name_space});
        }
      }
    }
  }
}

TEST_P(AuthMatrix, WhatIsNoJsonIsRefusedBeforeAnybodyIsAskedWho) {
  for (const Route& route : routes()) {
    if (route.method == "GET") continue;
    const Roles* roles = specified_roles(route);
    ASSERT_NE(roles, nullptr) << route.pattern;
    for (const Who who : everybody) {
      expect_as_specified(route, *roles, who,
                          {.syntax = true, .version = true, .name_space = true});
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Drivers, AuthMatrix, Values(Auth::Driver::token, Auth::Driver::signature),
                         [](const auto& driver) {
                           return driver.param == Auth::Driver::token ? "Token" : "Signature";
                         });

TEST(AuthMatrixRoutes, WherePayloadsAreKeptIsForAdministratorsAlone) {
  for (const auto& [method, target] : {std::pair{"PUT", "/api/namespaces/blue/external-storage"},
                                       std::pair{"POST", "/api/storage/test"}}) {
    const auto path = parse_path(target);
    const auto found = match(method, *path);
    ASSERT_NE(found.route, nullptr) << target;
    for (const Role role : {Role::worker, Role::operating, Role::admin}) {
      EXPECT_EQ(found.route->roles.include(role), role == Role::admin) << target;
    }
  }
}

TEST(AuthMatrixWithoutDriver, EverybodyMayDoEverything) {
  Obliging service;
  FrontDesk desk{{.auth = {.driver = Auth::Driver::none},
                  .about = {"host-1", "1.0", "default", 1024},
                  .namespace_exists = [](std::string_view name) { return name == "default"; }},
                 service,
                 service};
  for (const Route& route : routes()) {
    Request request{
        std::string{route.method},
        "/api/" + std::string{route.pattern},
        {{std::string{control_plane_header}, "2"}, {std::string{worker_protocol_header}, "1.0"}},
        ""};
    desk.handle(std::move(request), [&](const Response& response) {
      EXPECT_LT(response.status, 300) << route.method << " " << route.pattern << response.body;
    });
  }
}

}  // namespace
}  // namespace dw::server
