#include "cli/failure.hpp"

#include "cli/lookup.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace dw::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Failure, EveryStatusHasItsExitCode) {
  const std::pair<int, Exit> table[] = {
      {200, Exit::success}, {202, Exit::success}, {302, Exit::server},    {400, Exit::invalid},
      {401, Exit::auth},    {403, Exit::auth},    {404, Exit::not_found}, {408, Exit::timeout},
      {409, Exit::invalid}, {412, Exit::invalid}, {422, Exit::invalid},   {429, Exit::invalid},
      {500, Exit::server},  {503, Exit::server},  {504, Exit::server},
  };
  for (const auto& [status, exit] : table) EXPECT_EQ(exit_of_status(status), exit) << status;
}

TEST(Failure, ErrorsOfTheConnectionHaveTheirs) {
  EXPECT_EQ(failure_of_error({ErrorCode::unavailable, "nobody there"}).exit, Exit::network);
  EXPECT_EQ(failure_of_error({ErrorCode::timed_out, "30 s"}).exit, Exit::timeout);
  EXPECT_EQ(failure_of_error({ErrorCode::invalid_argument, "no URL"}).exit, Exit::invalid);
}

const char* refusal = R"({"message":"too short","reason":"validation_failed",
    "errors":{"name":["is missing","is odd"]}})";

TEST(Failure, MachinesGetOneDocumentWithAllThatIsKnown) {
  const Value document = failure_document(
      failure_of_reply(422, refusal),
      {.command = "namespace:create", .ns = "shop", .subject = {{"workflow_id", "w"}}});
  EXPECT_EQ(text_of(document, "error"), "Server error: too short");
  EXPECT_EQ(whole_of(document, "exit_code"), 2);
  EXPECT_EQ(whole_of(document, "status_code"), 422);
  EXPECT_EQ(text_of(document, "reason"), "validation_failed");
  EXPECT_EQ(text_of(document, "namespace"), "shop");
  EXPECT_EQ(text_of(document, "workflow_id"), "w");
  EXPECT_EQ(text_of(document, "server_response.message"), "too short");
  EXPECT_TRUE(look_up(document, "validation_errors.name"));
  EXPECT_EQ(text_of(list_of(document, "recommendations").front(), "id"), "request.invalid");
}

TEST(Failure, PeopleGetLinesAndSomethingToTry) {
  const auto text = failure_text(failure_of_reply(422, refusal),
                                 {.command = "namespace:create", .ns = "shop"}, true);
  EXPECT_EQ(text,
            "Server error: too short\n"
            "Namespace: shop\n"
            "Reason: validation_failed\n"
            "Validation: name: is missing\n"
            "Validation: name: is odd\n"
            "Next steps:\n"
            "  - Look at what the server refused, and change the options.\n"
            "    Try: dw help namespace:create\n");
}

TEST(Failure, AMistakeIsExplainedWhereTheServerDoes) {
  const char* explained = R"({"message":"The request is not valid","errors":{
      "spec.cron_expressions.0":["out_of_range in the minute field"],"spec.timezone":["no_zone"],
      "jitter_seconds":["is of type text"],"filter":["is empty"],"name":["is missing"]},
      "problems":[
        {"path":"spec.cron_expressions.0","code":"invalid_cron_expression",
         "message":"out_of_range in the minute field","hint":"this field takes 0 to 59",
         "problem":"out_of_range","field":"minute","position":0},
        {"path":"spec.timezone","code":"no_zone","message":"no_zone","hint":"name a zone"},
        {"path":"jitter_seconds","code":"invalid_value","message":"is of type text",
         "hint":"must be a whole number"},
        {"path":"filter","code":"empty","message":"is empty","hint":"is empty"}]})";
  EXPECT_EQ(failure_text(failure_of_reply(422, explained), {.command = "c"}, false),
            "Server error: The request is not valid\n"
            "Validation: spec.cron_expressions.0: this field takes 0 to 59 "
            "(invalid_cron_expression, position 0)\n"
            "Validation: spec.timezone: name a zone (no_zone)\n"
            "Validation: jitter_seconds: is of type text; must be a whole number\n"
            "Validation: filter: is empty\n"
            "Validation: name: is missing\n");
}

TEST(Failure, NothingThatAServerSaysMovesTheCursor) {
  const char* rude = R"({"message":"a\u001b[2Jb\nNext steps:","reason":"c\u001b]0;d\u0007",
      "errors":{"e\u001bf":["g\u009bh"],"i":"j\rk"}})";
  const auto text = failure_text(failure_of_reply(422, rude), {.command = "c"}, false);
  EXPECT_EQ(std::ranges::count(text, '\n'), 4) << text;
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, Not(HasSubstr("\r")));
  EXPECT_THAT(text, Not(HasSubstr("\xc2\x9b")));
}

TEST(Failure, OurOwnMessagesKeepTheirLines) {
  EXPECT_EQ(failure_text(invalid_input("two\n  lines"), {.command = "c"}, false), "two\n  lines\n");
}

TEST(Failure, WhatItIsAboutIsSaidOnce) {
  Failure failure{.exit = Exit::server, .status = 500};
  failure.request_id = "log-7";
  failure.subject = {{"workflow_id", "found"}, {"run_id", "r"}};
  const Value document =
      failure_document(failure, {.command = "c", .subject = {{"workflow_id", "given"}}});
  EXPECT_EQ(text_of(document, "workflow_id"), "given");
  EXPECT_EQ(text_of(document, "run_id"), "r");
  EXPECT_EQ(text_of(document, "request_id"), "log-7");
}

TEST(Failure, AnAnswerWithoutWordsStillSaysItsStatus) {
  EXPECT_THAT(failure_of_reply(502, "<html>").message, HasSubstr("502"));
}

TEST(Failure, AdviceFitsTheKindOfFailure) {
  const std::pair<Failure, const char*> table[] = {
      {{.exit = Exit::network}, "server.unreachable"},
      {{.exit = Exit::timeout}, "server.timeout"},
      {{.exit = Exit::server}, "server.error"},
      {{.exit = Exit::auth}, "auth.failed"},
      {{.exit = Exit::not_found}, "resource.not_found"},
      {{.exit = Exit::invalid, .status = 422}, "request.invalid"},
      {{.exit = Exit::invalid, .status = 429}, "server.error"},
      {{.exit = Exit::invalid}, "input.invalid"},
      {{.exit = Exit::compatibility}, "compatibility.unsupported"},
  };
  for (const auto& [failure, id] : table) {
    const Value document = failure_document(failure, {.command = "c", .server = "http://s"});
    EXPECT_EQ(text_of(list_of(document, "recommendations").front(), "id"), id);
  }
}

TEST(Failure, WhatAServerDoesNotHaveIsNotTriedAgain) {
  const auto text = failure_text(failure_of_reply(501, "{}"), {.command = "workflow:import"}, true);
  EXPECT_THAT(text, HasSubstr("dw server:info"));
  EXPECT_THAT(text, Not(HasSubstr("trying again")));
}

TEST(Failure, AReasonThatIsKnownLeadsToTheCommandThatHelps) {
  const std::tuple<int, const char*, const char*> table[] = {
      {403, R"({"reason":"calendar_is_seed","calendar_id":"us-federal-holidays"})",
       "dw calendar:clone us-federal-holidays --name=<name> --server=http://s\n"},
      {403, R"({"reason":"forbidden","allowed_roles":["operator","admin"]})",
       "of a role that may: operator, admin.\n"},
      {409, R"({"reason":"namespace_already_exists","namespace":"shop"})",
       "dw namespace:describe shop --server=http://s\n"},
      {404, R"({"reason":"namespace_not_found"})", "dw namespace:list --server=http://s\n"},
      {412, R"({"reason":"worker_not_registered","worker_id":"w; rm -r ."})",
       "dw worker:register <worker-id> --task-queue=<queue> --server=http://s\n"},
  };
  for (const auto& [status, body, advice] : table) {
    EXPECT_THAT(
        failure_text(failure_of_reply(status, body), {.command = "c", .server = "http://s"}, true),
        HasSubstr(advice));
  }
}

TEST(Failure, WhoeverNamedNoCommandIsShownAllOfThem) {
  EXPECT_THAT(failure_text(invalid_input("no such command"), {.command = ""}, true),
              HasSubstr("Try: dw --help\n"));
}

TEST(Failure, WhoeverNamedAServerIsSentThere) {
  EXPECT_THAT(failure_text({.exit = Exit::network}, {.command = "c", .server = "http://s"}, true),
              HasSubstr("dw doctor --server=http://s"));
  EXPECT_THAT(failure_text({.exit = Exit::network}, {.command = "c"}, false),
              Not(HasSubstr("Try")));
}

}  // namespace
}  // namespace dw::cli
