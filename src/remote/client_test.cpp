// What a client asks of its server, and what its callers make of the answers: the same as of an
// engine's.
#include "remote/pretend_server.hpp"

namespace dw::remote {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class ClientTest : public ::testing::Test {
 protected:
  void serve(PretendServer::Script script, ClientOptions options = {}) {
    client.reset();
    server.emplace(std::move(script));
    options.server = server->url();
    client.emplace(known_workflows(), std::move(options));
  }
  // A workflow that is there, and what the server says to anything else about it.
  Handle<int> account(PretendServer::Script script) {
    serve([script = std::move(script)](const Heard& heard) {
      return heard.target == "/api/workflows/a" ? described_answer("a", "run-1") : script(heard);
    });
    return client->handle<int>("a");
  }
  Handle<int> account_that_answers(Scripted answer) {
    return account([answer = std::move(answer)](const Heard&) { return answer; });
  }

  std::optional<PretendServer> server;
  std::optional<Client> client;
};

// ---- starts

TEST_F(ClientTest, AStartSaysEverythingThatTheServerHasToKnow) {
  serve([](const Heard& heard) { return started_answer(heard.text("workflow_id")); },
        {.token = "secret", .ns = "Shop"});
  const auto run = client->start<Account>({.id = "a",
                                           .business_key = " order 7 ",
                                           .labels = {{"tier", "gold"}},
                                           .memo = Value{Value::Map{{"note", "hi"}}},
                                           .search_attributes = Value{Value::Map{{"city", "Ulm"}}},
                                           .execution_timeout = 1h,
                                           .run_timeout = 60s},
                                          100);
  EXPECT_EQ(run.id(), "a");
  EXPECT_EQ(run.run_id(), "run-1");
  EXPECT_TRUE(run.started_new());

  ASSERT_THAT(server->lines(), ElementsAre("POST /api/workflows"));
  const Heard heard = server->heard().front();
  EXPECT_THAT(heard.head,
              AllOf(HasSubstr("Authorization: Bearer secret"), HasSubstr("X-Namespace: shop"),
                    HasSubstr("X-Durable-Workflow-Control-Plane-Version: 2"),
                    HasSubstr("Content-Type: application/json")));
  EXPECT_EQ(heard.decoded("input"), (Value{Value::Array{100}}));
  auto body = *heard.body.if_map();
  std::erase_if(body, [](const auto& field) { return field.first == "input"; });
  EXPECT_EQ(to_json(body),
            R"({"workflow_type":"account","workflow_id":"a","duplicate_policy":"fail",)"
            R"("task_queue":"banking","business_key":"order 7","labels":{"tier":"gold"},)"
            R"("memo":{"note":"hi"},"search_attributes":{"city":"Ulm"},)"
            R"("execution_timeout_seconds":3600,"run_timeout_seconds":60})");
}

TEST_F(ClientTest, WhatNoRunCanHaveIsRefusedBeforeAnythingIsSent) {
  serve([](const Heard&) { return no_answer; });
  EXPECT_EQ(code_thrown_by([&] { client->start<int>("tally", {.id = "not an id"}, 3); }),
            ErrorCode::invalid_argument);
  EXPECT_EQ(code_thrown_by([&] { client->start<int>("tally", {}, "three"); }),
            ErrorCode::invalid_argument);
  EXPECT_EQ(code_thrown_by([&] { client->start<int>("tally", {.run_timeout = 0s}, 3); }),
            ErrorCode::invalid_argument);
  EXPECT_EQ(code_thrown_by([&] { client->attach("not an id"); }), ErrorCode::invalid_argument);
  EXPECT_THAT(server->lines(), IsEmpty());
}

TEST_F(ClientTest, ATypeThatIsNotRegisteredIsStartedByItsName) {
  serve([](const Heard& heard) { return started_answer(heard.text("workflow_id")); });
  const auto run = client->start<int>("python.report", {}, "2026-04");
  const Heard heard = server->heard().front();
  EXPECT_EQ(heard.text("workflow_type"), "python.report");
  EXPECT_EQ(heard.text("workflow_id"), run.id()) << "the id is minted here";
  EXPECT_EQ(heard.body.find("task_queue"), nullptr);
}

TEST_F(ClientTest, AnIdThatIsTakenIsAConflict) {
  serve([](const Heard&) { return refused_answer(409, "duplicate_not_allowed"); });
  std::string message;
  EXPECT_EQ(code_thrown_by([&] { client->start<Account>({.id = "a"}, 1); }, &message),
            ErrorCode::conflict);
  EXPECT_THAT(message, HasSubstr("'a' was already started"));
}

TEST_F(ClientTest, AnExistingRunIsReturnedToThoseWhoAcceptThat) {
  serve([](const Heard& heard) {
    EXPECT_EQ(heard.text("duplicate_policy"), "use-existing");
    return Scripted{200,
                    R"({"workflow_id":"a","run_id":"r9","outcome":"returned_existing_active"})"};
  });
  const auto run =
      client->start<Account>({.id = "a", .on_duplicate = DuplicateStart::return_existing}, 1);
  EXPECT_EQ(run.run_id(), "r9");
  EXPECT_FALSE(run.started_new());
}

TEST_F(ClientTest, WhoeverAttachesLooksFirst) {
  const StartOptions attach{.id = "a", .on_duplicate = DuplicateStart::attach};
  serve([](const Heard&) { return described_answer("a", "r3"); });
  EXPECT_EQ(client->start<Account>(attach, 1).run_id(), "r3");
  EXPECT_THAT(server->lines(), ElementsAre("GET /api/workflows/a"));

  serve([](const Heard& heard) {
    return heard.method == "GET" ? refused_answer(404, "instance_not_found") : started_answer("a");
  });
  EXPECT_TRUE(client->start<Account>(attach, 1).started_new());
  EXPECT_THAT(server->lines(), ElementsAre("GET /api/workflows/a", "POST /api/workflows"));

  serve([](const Heard& heard) {
    if (heard.method == "GET") return refused_answer(404, "instance_not_found");
    return Scripted{409, R"({"workflow_id":"a","run_id":"r4","reason":"duplicate_not_allowed"})"};
  });
  EXPECT_EQ(client->start<Account>(attach, 1).run_id(), "r4") << "somebody else was faster";

  serve([](const Heard& heard) {
    return heard.method == "GET" ? described_answer("a", "r5", "another")
                                 : Scripted{409, R"({"workflow_id":"a","message":"is another's",)"
                                                 R"("reason":"duplicate_not_allowed",)"
                                                 R"("rejection_reason":"workflow_type_mismatch"})"};
  });
  std::string message;
  EXPECT_EQ(code_thrown_by([&] { client->start<Account>(attach, 1); }, &message),
            ErrorCode::conflict);
  EXPECT_THAT(message, HasSubstr("is another's"));
}

TEST_F(ClientTest, ASignalMayComeWithTheStart) {
  serve([](const Heard&) {
    return Scripted{201, R"({"workflow_id":"a","run_id":"r1","outcome":"started_new",)"
                         R"("signal_outcome":"signal_received"})"};
  });
  EXPECT_TRUE(client->start_with(send(add_amount, 5), tally, {.id = "a"}, 10).started_new());
  const Heard heard = server->heard().front();
  EXPECT_EQ(heard.text("signal_name"), "add");
  EXPECT_EQ(heard.decoded("signal_input"), (Value{Value::Array{5}}));
  EXPECT_EQ(heard.text("duplicate_policy"), "use-existing");

  serve([](const Heard&) { return refused_answer(404, "unknown_signal"); });
  EXPECT_EQ(
      code_thrown_by([&] { client->start_with(send(add_amount, 5), tally, {.id = "a"}, 10); }),
      ErrorCode::invalid_argument);

  serve([](const Heard&) { return started_answer("a"); });
  std::string message;
  EXPECT_EQ(code_thrown_by([&] { client->start_with(send(add_amount, 5), tally, {.id = "a"}, 10); },
                           &message),
            ErrorCode::unavailable);
  EXPECT_THAT(message, HasSubstr("too old")) << "a server that ignores the signal is not believed";
}

// ---- what is there

TEST_F(ClientTest, ARunIsDescribedAsAnEngineDescribesIt) {
  auto run = account_that_answers(described_answer("a", "run-1"));
  const RunInfo info = run.info();
  EXPECT_THAT(server->lines().back(), "GET /api/workflows/a/runs/run-1");
  EXPECT_EQ(info.instance_id, "a");
  EXPECT_EQ(info.run_id, "run-1");
  EXPECT_EQ(info.ns, "default");
  EXPECT_EQ(info.workflow_type, "account");
  EXPECT_EQ(info.status, "waiting");
  EXPECT_EQ(info.closed_reason, "");
  EXPECT_EQ(info.run_number, 2);
  EXPECT_EQ(info.history_events, 7);
  EXPECT_EQ(format_timestamp(info.started_at), "2026-04-10T12:00:00.000000Z");
  EXPECT_FALSE(info.closed_at);
}

TEST_F(ClientTest, NobodyOfThatNameIsNotFound) {
  serve([](const Heard&) { return refused_answer(404, "instance_not_found"); });
  EXPECT_EQ(code_thrown_by([&] { client->attach("a"); }), ErrorCode::not_found);
  serve([](const Heard&) { return refused_answer(404, "namespace_not_found"); });
  EXPECT_EQ(code_thrown_by([&] { client->attach("a", "elsewhere"); }), ErrorCode::not_found);
  EXPECT_THAT(server->heard().back().head, HasSubstr("X-Namespace: elsewhere"));
}

TEST_F(ClientTest, RunsComePageByPage) {
  serve([](const Heard& heard) {
    const bool first = heard.target == "/api/workflows?page_size=3&next_page_token=";
    EXPECT_TRUE(first || heard.target.ends_with("?page_size=1&next_page_token=bmV4dA%3D%3D"));
    const auto item = described_answer("a", "r").body;
    return Scripted{200, fmt::format(R"({{"workflows":[{}],"next_page_token":"bmV4dA=="}})",
                                     first ? item + "," + item : item)};
  });
  EXPECT_THAT(client->runs(3), SizeIs(3));
}

// ---- commands

TEST_F(ClientTest, ARefusedCommandIsAnAnswer) {
  auto run = account([](const Heard& heard) {
    if (heard.target.ends_with("/cancel")) {
      EXPECT_EQ(heard.text("reason"), "enough");
      return Scripted{200, R"({"command_status":"accepted","outcome":"cancelled"})"};
    }
    return Scripted{409, R"({"command_status":"rejected","outcome":"rejected_not_active",)"
                         R"("rejection_reason":"run_not_active","reason":"run_not_active"})"};
  });
  const auto cancelled = run.cancel("enough");
  EXPECT_TRUE(cancelled.accepted);
  EXPECT_EQ(cancelled.outcome, "cancelled");
  for (const CommandReply& reply : {run.terminate(), run.signal(add_amount, 5), run.repair()}) {
    EXPECT_FALSE(reply.accepted);
    EXPECT_EQ(reply.outcome, "rejected_not_active");
    EXPECT_EQ(reply.rejection_reason, "run_not_active");
  }
  EXPECT_THAT(server->lines(),
              ElementsAre("GET /api/workflows/a", "POST /api/workflows/a/cancel",
                          "POST /api/workflows/a/terminate", "POST /api/workflows/a/signal/add",
                          "POST /api/workflows/a/repair"));
  EXPECT_EQ(server->heard()[3].decoded("input"), (Value{Value::Array{5}}));
}

TEST_F(ClientTest, AQueryAnswersOrSaysWhyNot) {
  const auto asked = [&](Scripted answer) {
    auto run = account_that_answers(std::move(answer));
    return code_thrown_by([&] { EXPECT_EQ(run.query<int>("how much?", 1), 42); });
  };
  EXPECT_EQ(asked({200, fmt::format(R"({{"result_envelope":{}}})", envelope_json(42))}),
            std::nullopt);
  EXPECT_EQ(server->lines().back(), "POST /api/workflows/a/query/how%20much%3F");
  EXPECT_EQ(asked(refused_answer(404, "rejected_unknown_query")), ErrorCode::unknown_query);
  EXPECT_EQ(asked(refused_answer(404, "instance_not_found")), ErrorCode::not_found);
  EXPECT_EQ(asked(refused_answer(409, "query_worker_unavailable")), ErrorCode::code_unavailable);
  EXPECT_EQ(asked(refused_answer(409, "query_rejected")), ErrorCode::query_failed);
  EXPECT_EQ(asked(refused_answer(422, "invalid_query_arguments")), ErrorCode::invalid_argument);
  EXPECT_EQ(asked(refused_answer(429, "query_task_queue_full")), ErrorCode::overloaded);
  EXPECT_EQ(asked(refused_answer(504, "query_task_not_claimed")), ErrorCode::timed_out);
}

// ---- updates

TEST_F(ClientTest, AnUpdateThatCompletesHasAResult) {
  auto run = account_that_answers(
      {200, fmt::format(R"({{"command_status":"accepted","outcome":"update_completed",)"
                        R"("update_id":"u1","update_status":"completed","wait_timed_out":false,)"
                        R"("result_envelope":{}}})",
                        envelope_json(7))});
  EXPECT_EQ(run.update<int>("deposit", 5), 7);
  const Heard heard = server->heard().back();
  EXPECT_EQ(heard.target, "/api/workflows/a/update/deposit");
  EXPECT_EQ(heard.text("wait_for"), "completed");
  EXPECT_EQ(*heard.body.find("wait_timeout_seconds"), Value{10});
  EXPECT_THAT(heard.text("request_id"), SizeIs(26));

  EXPECT_EQ(run.submit_update({.timeout = 1ms}, "deposit", 5).update_id, "u1");
  EXPECT_EQ(*server->heard().back().body.find("wait_timeout_seconds"), Value{1});
  run.submit_update({.wait_for = UpdateStage::accepted}, "deposit", 5);
  EXPECT_EQ(server->heard().back().text("wait_for"), "accepted");
  EXPECT_EQ(server->heard().back().body.find("wait_timeout_seconds"), nullptr);
  EXPECT_EQ(code_thrown_by([&] { run.submit_update({.timeout = 0ms}, "deposit", 5); }),
            ErrorCode::invalid_argument);
}

TEST_F(ClientTest, AnUpdateThatDoesNotCompleteThrows) {
  const auto reason = [&](Scripted answer) {
    auto run = account_that_answers(std::move(answer));
    try {
      run.update<int>("deposit", 5);
    } catch (const UpdateError& error) {
      return fmt::format("{}: {}", error.reason(), error.what());
    }
    return std::string{"nothing"};
  };
  EXPECT_THAT(reason({404, R"({"command_status":"rejected","rejection_reason":"unknown_update"})"}),
              HasSubstr("unknown_update: "));
  EXPECT_THAT(
      reason({422, R"({"command_status":"rejected","rejection_reason":"invalid_update_arguments",)"
                   R"("validation_errors":{"amount":["must be int"]}})"}),
      HasSubstr(R"(invalid_update_arguments {"amount":["must be int"]})"));
  EXPECT_THAT(reason({422, R"({"command_status":"accepted","update_id":"u1",)"
                           R"("update_status":"failed","failure_message":"too much"})"}),
              AllOf(HasSubstr("update_failed: "), HasSubstr("too much")));
  EXPECT_THAT(reason({202, R"({"command_status":"accepted","update_id":"u1","outcome":null,)"
                           R"("update_status":"accepted","wait_timed_out":true})"}),
              AllOf(HasSubstr("wait_timed_out: "), HasSubstr("u1")));
}

TEST_F(ClientTest, AnUpdateIsLookedUpInHistoryAlsoOfTheRunsBefore) {
  const auto event = [](std::string_view type, std::string_view more) {
    return fmt::format(
        R"({{"event_type":"{}","payload":{{"update_id":"u1","update_name":"deposit"{}}}}})", type,
        more);
  };
  auto run = account([&](const Heard& heard) {
    if (heard.target.starts_with("/api/workflows/a/runs/run-1/history")) {
      return Scripted{200, R"({"events":[{"event_type":"WorkflowStarted",)"
                           R"("payload":{"continued_from_run_id":"run-0"}}],)"
                           R"("next_page_token":null})"};
    }
    const bool first = heard.target.ends_with("next_page_token=");
    const auto result = fmt::format(R"(,"result":{})", envelope_json(9));
    return Scripted{
        200, fmt::format(R"({{"events":[{}],"next_page_token":{}}})",
                         first ? event("UpdateAccepted", "") : event("UpdateCompleted", result),
                         first ? R"("more")" : "null")};
  });
  const auto update = run.update_info("u1");
  EXPECT_EQ(update.name, "deposit");
  EXPECT_EQ(update.status, "completed");
  EXPECT_EQ(detail::result_as<int>(update.result.value(), "u1"), 9);
  EXPECT_EQ(code_thrown_by([&] { run.update_info("u2"); }), ErrorCode::not_found);
}

}  // namespace
}  // namespace dw::remote
