// How a client waits: for the end of runs, for a server that is away, in callbacks, and no longer.
#include "remote/pretend_server.hpp"

#include <atomic>
#include <future>
#include <set>

namespace dw::remote {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// Nobody waits that long unless something broke.
constexpr auto long_enough = 60s;

const std::string still_open = R"({"closed":false})";

std::string completed(const Value& result) {
  return fmt::format(
      R"({{"closed":true,"closed_reason":"completed","output_envelope":{},"failure":null}})",
      envelope_json(result));
}

class WaitingClient : public ::testing::Test {
 protected:
  void serve(PretendServer::Script script, ClientOptions options = {}) {
    client.reset();
    server.emplace(std::move(script));
    options.server = server->url();
    client.emplace(known_workflows(), std::move(options));
  }
  // For tests whose script or callbacks may still be at what is local to them.
  void everybody_leaves() {
    client.reset();
    server.reset();
  }

  std::optional<PretendServer> server;
  std::optional<Client> client;
};

bool asks_for_result(const Heard& heard) {
  return heard.target.find("/result") != std::string::npos;
}

TEST_F(WaitingClient, AResultIsAskedForUntilItIsThere) {
  std::atomic<int> polls = 0;
  serve([&](const Heard& heard) {
    if (!asks_for_result(heard)) return described_answer("a", "run-1");
    return Scripted{200, ++polls < 3 ? still_open : completed(42)};
  });
  EXPECT_EQ(client->handle<int>("a").result(), 42);
  EXPECT_EQ(polls, 3);
  EXPECT_EQ(server->lines().back(), "GET /api/workflows/a/runs/run-1/result?wait_seconds=30");
}

TEST_F(WaitingClient, AWorkflowThatContinuesAsNewIsFollowed) {
  std::atomic<bool> continued = false;
  serve([&](const Heard& heard) {
    if (!asks_for_result(heard)) return described_answer("a", continued ? "run-2" : "run-1");
    if (heard.target.find("run-2") != std::string::npos) return Scripted{200, completed("done")};
    continued = true;
    return Scripted{200, R"({"closed":true,"closed_reason":"continued","followed":true})"};
  });
  EXPECT_EQ(client->handle<std::string>("a").result(), "done");
}

TEST_F(WaitingClient, AnEndWithoutAResultThrowsWhatAnEngineThrows) {
  serve([&](const Heard& heard) {
    if (!asks_for_result(heard)) return described_answer("a", "run-1");
    return Scripted{200, R"({"closed":true,"closed_reason":"failed","output_envelope":null,)"
                         R"("failure":{"exception_class":"std::runtime_error",)"
                         R"("exception_type":"","message":"out of stock"}})"};
  });
  const auto run = client->handle<int>("a");
  EXPECT_NO_THROW(run.wait());
  EXPECT_TRUE(run.wait_for(long_enough));
  try {
    run.result();
    FAIL() << "it has no result";
  } catch (const WorkflowError& error) {
    EXPECT_EQ(error.closed_reason(), "failed");
    EXPECT_EQ(error.exception_class(), "std::runtime_error");
    EXPECT_EQ(error.message(), "out of stock");
  }
}

TEST_F(WaitingClient, WhoeverIsImpatientAsksTheServerForNoMoreThanThat) {
  std::promise<void> over;
  auto until_over = over.get_future().share();
  serve([&](const Heard& heard) {
    if (!asks_for_result(heard)) return described_answer("a", "run-1");
    until_over.wait();
    return Scripted{200, still_open};
  });
  EXPECT_FALSE(client->handle<int>("a").wait_for(1ms));
  over.set_value();
  client.reset();
  for (const auto& line : server->lines()) {
    EXPECT_THAT(line, Not(HasSubstr("wait_seconds=30")));
  }
  everybody_leaves();
}

TEST_F(WaitingClient, MoreWaitsThanConnectionsTakeTurns) {
  std::atomic<bool> second_asked = false;
  serve(
      [&](const Heard& heard) {
        if (!asks_for_result(heard)) return described_answer(heard.target.substr(15), "run-1");
        if (heard.target.find("/b/") != std::string::npos) second_asked = true;
        return Scripted{200, second_asked ? completed(1) : still_open};
      },
      {.max_waits = 1});
  std::promise<void> first, second;
  client->attach("a").on_closed([&] { first.set_value(); });
  client->attach("b").on_closed([&] { second.set_value(); });
  EXPECT_EQ(first.get_future().wait_for(long_enough), std::future_status::ready);
  EXPECT_EQ(second.get_future().wait_for(long_enough), std::future_status::ready);
  everybody_leaves();
}

// ---- callbacks

TEST_F(WaitingClient, CallbacksNeedNoThreadOfTheCaller) {
  serve([](const Heard& heard) {
    if (heard.target == "/api/workflows") return started_answer(heard.text("workflow_id"));
    if (asks_for_result(heard)) return Scripted{200, completed(1)};
    return Scripted{202, R"({"command_status":"accepted","outcome":"signal_received"})"};
  });
  std::promise<std::string> story;
  client->start_async("tally", {.id = "t"}, detail::arguments_of(3),
                      [&](Result<WorkflowHandle> started) {
                        auto run = *std::move(started);
                        run.send_async(send(add_amount, 3), [&, run](Result<CommandReply> reply) {
                          run.on_closed([&, run, outcome = reply->outcome] {
                            story.set_value(run.id() + " " + outcome + " closed");
                          });
                        });
                      });
  EXPECT_EQ(story.get_future().get(), "t signal_received closed");
  everybody_leaves();
}

TEST_F(WaitingClient, ACallbackThatWaitsForAnotherAnswerIsTold) {
  serve([](const Heard& heard) { return started_answer(heard.text("workflow_id")); });
  std::promise<bool> told;
  client->start_async("tally", {.id = "t"}, detail::arguments_of(3),
                      [&](Result<WorkflowHandle> started) {
                        try {
                          started->info();
                          told.set_value(false);
                        } catch (const UsageError&) {
                          told.set_value(true);
                        }
                      });
  EXPECT_TRUE(told.get_future().get());
  everybody_leaves();
}

TEST_F(WaitingClient, AStartThatIsRefusedIsAnErrorInItsCallback) {
  serve([](const Heard&) { return refused_answer(409, "duplicate_not_allowed"); });
  std::promise<ErrorCode> code;
  client->start_async(
      "tally", {.id = "t"}, detail::arguments_of(3),
      [&](Result<WorkflowHandle> started) { code.set_value(started.error().code); });
  EXPECT_EQ(code.get_future().get(), ErrorCode::conflict);
  everybody_leaves();
}

// ---- a server that is away, or is none

TEST_F(WaitingClient, WhatMayBeAskedTwiceIsAskedAgain) {
  std::atomic<int> asked = 0;
  serve([&](const Heard&) {
    if (++asked == 1) return no_answer;
    if (asked == 2) return refused_answer(503, "unavailable");
    return described_answer("a", "run-1");
  });
  EXPECT_EQ(client->attach("a").run_id(), "run-1");
  EXPECT_GE(asked, 3);
}

TEST_F(WaitingClient, ACommandIsRepeatedUnderItsOwnRequestId) {
  std::atomic<int> commands = 0;
  serve([&](const Heard& heard) {
    if (heard.method == "GET") return described_answer("a", "run-1");
    if (++commands % 2 == 1) return no_answer;
    return Scripted{200, R"({"command_status":"accepted","update_status":"accepted"})"};
  });
  auto run = client->attach("a");
  EXPECT_TRUE(run.signal(add_amount, 1).accepted);
  EXPECT_EQ(run.submit_update({.wait_for = UpdateStage::accepted}, "deposit", 1).status,
            "accepted");
  EXPECT_TRUE(run.cancel().accepted);
  const auto heard = server->heard();
  ASSERT_THAT(heard, SizeIs(7));
  std::set<std::string> requests;
  for (std::size_t i = 1; i < heard.size(); i += 2) {
    EXPECT_EQ(heard[i].text("request_id"), heard[i + 1].text("request_id"));
    EXPECT_EQ(heard[i].target, heard[i + 1].target);
    requests.insert(heard[i].text("request_id"));
  }
  EXPECT_THAT(requests, SizeIs(3)) << "another call is another request";
}

TEST_F(WaitingClient, WhatCannotBeRepeatedMayHaveBeenHeard) {
  serve([](const Heard&) { return no_answer; });
  std::string message;
  EXPECT_EQ(code_thrown_by([&] { client->start_with(send(add_amount, 1), tally, {.id = "a"}, 3); },
                           &message),
            ErrorCode::unavailable);
  EXPECT_THAT(message, AllOf(HasSubstr("start 'a' with signal 'add'"), HasSubstr("not known")));
  EXPECT_THAT(server->lines(), SizeIs(1));
}

TEST_F(WaitingClient, AStartWhoseAnswerIsLostIsNotStartedTwice) {
  const auto after_a_lost_answer = [&](StartOptions options) {
    std::atomic<bool> lost = false;
    serve([&](const Heard& heard) {
      if (!lost.exchange(true)) return no_answer;
      return Scripted{409, fmt::format(R"({{"workflow_id":"{}","run_id":"run-1",)"
                                       R"("reason":"duplicate_not_allowed"}})",
                                       heard.text("workflow_id"))};
    });
    auto run = client->start<int>("tally", options, 3);
    const auto heard = server->heard();
    EXPECT_EQ(heard.front().text("workflow_id"), heard.back().text("workflow_id"));
    return run;
  };
  EXPECT_TRUE(after_a_lost_answer({}).started_new()) << "nobody else can have taken that id";
  std::string message;
  EXPECT_EQ(code_thrown_by([&] { after_a_lost_answer({.id = "mine"}); }, &message),
            ErrorCode::conflict);
  EXPECT_THAT(message, HasSubstr("this very call"));
}

TEST_F(WaitingClient, NobodyThereIsUnavailableAndSaysWhatToDo) {
  serve([](const Heard&) { return no_answer; });
  const auto nobody = server->url();
  server.reset();
  const Client lonely{known_workflows(), {.server = nobody, .retry_for = 0ms}};
  std::string message;
  EXPECT_EQ(code_thrown_by([&] { lonely.attach("a"); }, &message), ErrorCode::unavailable);
  EXPECT_THAT(message, AllOf(HasSubstr("find 'a'"), HasSubstr("is the server running?")));
  EXPECT_EQ(code_thrown_by([] {
              Client{Registry{}, {.server = "nowhere"}};
            }),
            ErrorCode::invalid_argument);
}

TEST_F(WaitingClient, RefusalsOfTheServerItselfSayWhatToDo) {
  const auto told = [&](Scripted answer) {
    serve([answer](const Heard&) { return answer; }, {.retry_for = 0ms});
    std::string message = "nothing";
    code_thrown_by([&] { client->attach("a"); }, &message);
    return message;
  };
  EXPECT_THAT(told(refused_answer(401, "unauthorized")),
              AllOf(HasSubstr("invalid_argument"), HasSubstr("token")));
  EXPECT_THAT(told(refused_answer(403, "forbidden")), HasSubstr("role"));
  EXPECT_THAT(told(refused_answer(404, "not_found")),
              AllOf(HasSubstr("unavailable"), HasSubstr("is it a dw server")));
  EXPECT_THAT(told(refused_answer(429, "overloaded")), HasSubstr("overloaded: "));
  EXPECT_THAT(told(refused_answer(500, "server_error")), HasSubstr("internal: "));
  EXPECT_THAT(told(refused_answer(503, "unavailable")), HasSubstr("unavailable: "));
  EXPECT_THAT(told({200, "<html>welcome</html>"}), HasSubstr("is there a dw server"));
  EXPECT_THAT(told({200, "{}"}), HasSubstr("internal: "));
}

// ---- the end

TEST_F(WaitingClient, WhoeverStillWaitsLearnsThatTheClientIsGone) {
  std::promise<void> polled, over;
  auto until_over = over.get_future().share();
  std::atomic<bool> once = false;
  serve([&](const Heard& heard) {
    if (!asks_for_result(heard)) return described_answer("a", "run-1");
    if (!once.exchange(true)) polled.set_value();
    until_over.wait();
    return Scripted{200, still_open};
  });
  auto run = client->handle<int>("a");
  auto waiting =
      std::async(std::launch::async, [&] { return code_thrown_by([&] { run.result(); }); });
  polled.get_future().wait();
  client.reset();
  EXPECT_EQ(waiting.get(), ErrorCode::shutting_down);
  EXPECT_EQ(code_thrown_by([&] { run.info(); }), ErrorCode::shutting_down);
  EXPECT_EQ(code_thrown_by([&] { run.wait(); }), ErrorCode::shutting_down);
  EXPECT_EQ(code_thrown_by([&] { run.signal(add_amount, 1); }), ErrorCode::shutting_down);
  over.set_value();
  everybody_leaves();
}

TEST_F(WaitingClient, EvenWhoeverWaitsForTheServerToComeBack) {
  std::promise<void> asked;
  std::atomic<int> requests = 0;
  serve(
      [&](const Heard&) {
        if (++requests == 1) return described_answer("a", "run-1");
        if (requests == 2) asked.set_value();
        return refused_answer(503, "unavailable");
      },
      {.retry_for = 1h});
  auto run = client->attach("a");
  auto waiting =
      std::async(std::launch::async, [&] { return code_thrown_by([&] { run.info(); }); });
  asked.get_future().wait();
  everybody_leaves();
  EXPECT_EQ(waiting.get(), ErrorCode::shutting_down);
}

}  // namespace
}  // namespace dw::remote
