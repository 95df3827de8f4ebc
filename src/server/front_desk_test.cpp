// Every request passes the desk; what it refuses never reaches anybody.
#include "server/front_desk.hpp"

#include "server/addressed.hpp"

#include <gmock/gmock.h>

#include <stdexcept>

namespace dw::server {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;

class Recorder final : public Service {
 public:
  void serve(Call call, Reply reply) override {
    calls.push_back(call);
    if (breaks) throw std::runtime_error{"secret detail"};
    if (trouble) return reply(failed(*trouble, call));
    reply({202, {{"outcome", "signal_received"}}});
  }
  std::vector<Call> calls;
  std::optional<Error> trouble;
  bool breaks = false;
};

class AtTheDesk : public ::testing::Test {
 protected:
  Response ask(Request request) {
    Response given;
    FrontDesk desk{options, service, service};
    desk.handle(std::move(request), [&](Response response) { given = std::move(response); });
    return given;
  }
  static Value body(const Response& response) {
    auto value = parse_json(response.body);
    EXPECT_TRUE(value) << response.body;
    return value ? *value : Value{};
  }
  static std::string text(const Response& response, std::string_view key) {
    const Value all = body(response);
    const Value* found = all.find(key);
    return found && found->if_string() ? *found->if_string() : "(absent)";
  }
  static Request post(std::string target, std::string json = "{}") {
    return {"POST",
            std::move(target),
            {{"Authorization", "Bearer o"},
             {std::string{control_plane_header}, "2"},
             {"Content-Type", "application/json"}},
            std::move(json)};
  }
  static std::string header(const Response& response, std::string_view name) {
    const auto found = std::ranges::find(response.headers, name, &Header::name);
    return found == response.headers.end() ? "(absent)" : found->value;
  }
  void expect_refused(const Response& response, int status, std::string_view reason) {
    EXPECT_EQ(response.status, status) << response.body;
    EXPECT_EQ(text(response, "reason"), reason);
    EXPECT_TRUE(service.calls.empty());
  }

  Recorder service;
  DeskOptions options{{.operator_secret = "o"},
                      {"host-1", "1.0", "default", 64},
                      [](std::string_view name) { return name == "default" || name == "b"; },
                      64};
};

const std::string approve = "/api/workflows/order-42/signal/approve";

TEST_F(AtTheDesk, NothingIsBegunInANamespaceThatIsBeingRemoved) {
  Guests guests;
  options.guests = &guests;
  EXPECT_EQ(ask(post("/api/workflows")).status, 202);
  bool alone = false;
  guests.close("default", [&] { alone = true; });
  EXPECT_TRUE(alone) << "whoever was answered has left";
  service.calls.clear();
  expect_refused(ask(post("/api/workflows")), 503, "unavailable");
  EXPECT_EQ(ask(post(approve)).status, 202) << "what is there may still be spoken to";
}

TEST_F(AtTheDesk, PassesOnWhatIsInOrder) {
  const auto response = ask(post(approve, R"({"input":[1]})"));
  EXPECT_EQ(response.status, 202);
  ASSERT_EQ(service.calls.size(), 1U);
  EXPECT_EQ(service.calls[0].operation(), Operation::signal);
  EXPECT_EQ(service.calls[0].ns, Namespace{"default"});
  EXPECT_EQ(*service.calls[0].field("input"), (Value{Value::Array{1}}));
}

TEST_F(AtTheDesk, WhoeverIsTurnedAwayForNowIsToldWhenToComeBack) {
  const std::pair<ErrorCode, int> troubles[] = {{ErrorCode::overloaded, 429},
                                                {ErrorCode::unavailable, 503},
                                                {ErrorCode::shutting_down, 503},
                                                {ErrorCode::store_full, 503}};
  for (const auto& [code, status] : troubles) {
    service.trouble = Error{code, "too much at once"};
    const auto response = ask(post(approve));
    EXPECT_EQ(response.status, status);
    EXPECT_EQ(text(response, "reason"), status == 429 ? "overloaded" : "unavailable");
    EXPECT_THAT(response.headers,
                Contains(AllOf(Field(&Header::name, "Retry-After"), Field(&Header::value, "1"))));
  }
}

TEST_F(AtTheDesk, WhatBreaksIsToldInTheEnvelopeAndWithoutDetails) {
  service.breaks = true;
  const auto response = ask(post(approve));
  EXPECT_EQ(response.status, 500);
  EXPECT_EQ(text(response, "reason"), "server_error");
  EXPECT_EQ(*body(response).find("control_plane")->find("operation"), Value{"signal"});
  EXPECT_EQ(response.body.find("secret detail"), std::string::npos);
}

TEST_F(AtTheDesk, WrapsAnswersBelowWorkflowsInTheEnvelopeClientsCheck) {
  const auto all = body(ask(post(approve)));
  const Value* about = all.find("control_plane");
  ASSERT_NE(about, nullptr);
  EXPECT_EQ(*about->find("operation"), Value{"signal"});
  EXPECT_EQ(*about->find("workflow_id"), Value{"order-42"});
  EXPECT_EQ(*about->find("operation_name"), Value{"approve"});
  EXPECT_EQ(*about->find("operation_name_field"), Value{"signal_name"});
  EXPECT_EQ(*about->find("outcome"), Value{"signal_received"});
  EXPECT_EQ(*all.find("signal_name"), Value{"approve"});
  EXPECT_EQ(*about->find("contract")->find("success_fields"), (Value{Value::Array{"outcome"}}));
}

// Published clients look for what an operation promises whatever its status.
TEST_F(AtTheDesk, ARefusalBelowWorkflowsKeepsWhatItsOperationPromises) {
  const auto refused = [this](std::string method, std::string target, std::string version = "2") {
    Request request = post("/api/workflows/" + target);
    request.method = std::move(method);
    request.headers[1].value = std::move(version);
    const Response response = ask(request);
    EXPECT_GE(response.status, 400) << target;
    const Value all = body(response);
    std::string kept;
    for (const auto* key : {"operation", "workflow_id", "run_id", "operation_name"}) {
      const Value* value = all.find("control_plane")->find(key);
      kept += value ? *value->if_string() + " " : "- ";
    }
    return kept;
  };
  EXPECT_EQ(refused("GET", "w/runs/r/history", "7"), "history w r - ");
  EXPECT_EQ(refused("GET", "w/runs/r/history?namespace=none"), "history w r - ");
  EXPECT_EQ(refused("PUT", "w/signal/approve"), "signal w - approve ");
  EXPECT_EQ(refused("POST", "w/signal/%zz"), "signal w - %zz ");
  EXPECT_EQ(refused("POST", "w/nonsense"), "describe w - - ");
}

TEST_F(AtTheDesk, ATypoIsNotFoundAndAnotherVerbNotAllowed) {
  expect_refused(ask(post("/api/workflow")), 404, "not_found");
  auto wrong = post(approve);
  wrong.method = "PUT";
  const auto response = ask(wrong);
  expect_refused(response, 405, "method_not_allowed");
  EXPECT_EQ(header(response, "Allow"), "POST");
  EXPECT_NE(body(response).find("control_plane"), nullptr);
}

TEST_F(AtTheDesk, ChecksSizeTypeAndSyntaxBeforeItAsksWho) {
  auto large = post(approve, std::string(65, ' '));
  large.headers.clear();
  expect_refused(ask(large), 413, "payload_too_large");
  auto unread = post(approve, "");
  unread.too_large = true;
  expect_refused(ask(unread), 413, "payload_too_large");
  auto form = post(approve);
  form.headers.pop_back();
  expect_refused(ask(form), 415, "unsupported_media_type");
  expect_refused(ask(post(approve, "{")), 400, "malformed_json");
  const auto beyond = ask(post(approve, R"({"input":[18446744073709551616]})"));
  EXPECT_EQ(beyond.status, 422) << "that is JSON, and more than we can keep";
  EXPECT_THAT(beyond.body, HasSubstr("64 bits"));
  auto stranger = post(approve, "[1,");
  stranger.headers[0].value = "Bearer x";
  expect_refused(ask(stranger), 400, "malformed_json");
}

TEST_F(AtTheDesk, WhoAsksForNobodysCredentialIsMeantForItsOwnMachine) {
  options.auth = {.driver = Auth::Driver::none};
  auto rebound = post(approve);
  rebound.headers.push_back({"Host", "evil.example:8080"});
  expect_refused(ask(rebound), 403, "forbidden");
  for (const char* host : {"localhost:8080", "127.0.0.1:8080", "[::1]:8080"}) {
    auto request = post(approve);
    request.headers.push_back({"Host", host});
    EXPECT_EQ(ask(request).status, 202) << host;
  }
}

TEST_F(AtTheDesk, WhatCannotBeDecodedIsNotOverlooked) {
  // Overlooked, the first would be done in the default namespace.
  for (const char* query : {"?namespace=b%", "?namespace=%zz", "?wai%t=1", "?reason=%ff"}) {
    expect_refused(ask(post(approve + query)), 422, "validation_failed");
  }
}

TEST_F(AtTheDesk, WhatABodyMustBeIsToldToThoseWhoMayAsk) {
  expect_refused(ask(post(approve, "[1]")), 422, "validation_failed");
  expect_refused(ask(post(approve, "null")), 422, "validation_failed");
  auto stranger = post(approve, "[1]");
  stranger.headers[0].value = "Bearer x";
  expect_refused(ask(stranger), 401, "unauthorized");
}

TEST_F(AtTheDesk, AnEmptyListIsAnEmptyObject) {
  EXPECT_EQ(ask(post(approve, "[]")).status, 202);
  EXPECT_EQ(ask(post(approve, "")).status, 202);
}

TEST_F(AtTheDesk, TakesVendorJson) {
  auto request = post(approve);
  request.headers.back().value = "Application/vnd.dw+JSON; charset=utf-8";
  EXPECT_EQ(ask(request).status, 202);
}

TEST_F(AtTheDesk, AsksWhoBeforeItSaysAnything) {
  auto stranger = post(approve);
  stranger.headers[0].value = "Bearer x";
  const auto response = ask(stranger);
  expect_refused(response, 401, "unauthorized");
  EXPECT_EQ(body(response).find("control_plane"), nullptr);
  EXPECT_THAT(response.body, ::testing::Not(HasSubstr("order-42")));
}

TEST_F(AtTheDesk, SaysWhichRolesMay) {
  options.auth.worker_secret = "w";
  auto request = post(approve);
  request.headers[0].value = "Bearer w";
  const auto response = ask(request);
  expect_refused(response, 403, "forbidden");
  EXPECT_EQ(*body(response).find("allowed_roles"), (Value{Value::Array{"operator", "admin"}}));
}

TEST_F(AtTheDesk, ADriverWithoutSecretsLetsNobodyIn) {
  options.auth = {};
  expect_refused(ask(post(approve)), 500, "server_error");
}

TEST_F(AtTheDesk, SpeaksOneVersion) {
  auto request = post(approve);
  request.headers[1].value = " 2 ";
  EXPECT_EQ(ask(request).status, 202);
  service.calls.clear();
  request.headers[1].value = "3";
  const auto response = ask(request);
  expect_refused(response, 400, "unsupported_control_plane_version");
  EXPECT_EQ(text(response, "requested_version"), "3");
  EXPECT_EQ(text(response, "supported_version"), "2");
  request.headers.erase(request.headers.begin() + 1);
  expect_refused(ask(request), 400, "missing_control_plane_version");
}

TEST_F(AtTheDesk, TheNamespaceIsNamedInTheHeaderThenTheQuery) {
  auto request = post(approve + "?namespace=nowhere");
  request.headers.push_back({"X-Namespace", "B"});
  EXPECT_EQ(ask(request).status, 202);
  EXPECT_EQ(service.calls.at(0).ns, Namespace{"b"});
  service.calls.clear();
  request.headers.pop_back();
  const auto response = ask(request);
  expect_refused(response, 404, "namespace_not_found");
  EXPECT_EQ(text(response, "namespace"), "nowhere");
}

// proves: S-17
TEST_F(AtTheDesk, AScheduleBelongsWhereItIsSaidToElseWhereTheServerIsToldToElseToDefault) {
  const auto belongs_to = [&](Request request) {
    service.calls.clear();
    ask(request);
    return service.calls.at(0).ns;
  };
  const Request plain = post("/api/schedules");
  EXPECT_EQ(belongs_to(plain), Namespace{"default"});
  options.about.default_namespace = "b";
  EXPECT_EQ(belongs_to(plain), Namespace{"b"});
  options.about.default_namespace = "default";
  Request explicitly = plain;
  explicitly.headers.push_back({"X-Namespace", "b"});
  EXPECT_EQ(belongs_to(explicitly), Namespace{"b"});
}

TEST_F(AtTheDesk, HealthIsForEverybody) {
  EXPECT_EQ(ask({"GET", "/api/health", {}, ""}).status, 202);
  EXPECT_EQ(service.calls.at(0).operation(), Operation::health);
}

TEST_F(AtTheDesk, ClusterInfoNeedsACredentialAndNoVersion) {
  expect_refused(ask({"GET", "/api/cluster/info", {}, ""}), 401, "unauthorized");
  const auto response = ask({"GET", "/api/cluster/info", {{"Authorization", "Bearer o"}}, ""});
  EXPECT_EQ(response.status, 200);
  const auto all = body(response);
  EXPECT_EQ(*all.find("control_plane")->find("version"), Value{"2"});
  EXPECT_EQ(*all.find("worker_protocol")->find("version"), Value{"1.19"});
  EXPECT_EQ(*all.find("auth_composition_contract")->find("version"), Value{1});
}

}  // namespace
}  // namespace dw::server
