// Commands that look more than once, and those that turn pages of a history.
#include "cli/client_story.hpp"
#include "cli/lookup.hpp"
#include "core/utf8.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dw::cli {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

const char* running = R"({"workflow_id":"w","status":"running","status_bucket":"running"})";
const char* completed =
    R"({"workflow_id":"w","status":"completed","status_bucket":"completed","is_terminal":true,"output":7})";
const char* failed =
    R"({"workflow_id":"w","status":"failed","status_bucket":"failed","is_terminal":true,"error":"e"})";
const char* started = R"({"workflow_id":"w","run_id":"r","outcome":"started_new"})";

TEST(StartAndWait, CompletionIsSuccessAndTheFinalRunTheAnswer) {
  ClientStory story;
  story.answers(started, 201).answers(running).answers(completed);
  const Ran ran = story.run({"workflow:start", "-t", "x", "--wait", "--json"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(text_of(ran.document(), "status"), "completed");
  EXPECT_EQ(story.paused, std::chrono::seconds{2});
  EXPECT_EQ(ran.err, "") << "nothing is odd about a short wait";
}

TEST(StartAndWait, ALongWaitIsExplained) {
  ClientStory story;
  story.answers(started, 201);
  for (int i = 0; i < 16; ++i) story.answers(running);
  story.answers("{}", 404).answers(completed);
  const Ran ran = story.run({"workflow:start", "-t", "x", "--wait", "--json"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(story.paused, std::chrono::seconds{32});
  EXPECT_THAT(ran.err, HasSubstr("workflow_wait_diagnostic"));
  EXPECT_EQ(std::ranges::count(ran.err, '\n'), 1);
}

TEST(StartAndWait, AWaitThatFailsSaysWhatWasStarted) {
  ClientStory story;
  story.answers(started, 201).answers(R"({"message":"broken"})", 500);
  const Ran ran = story.run({"workflow:start", "-t", "x", "--wait", "--json"});
  EXPECT_EQ(ran.code, 6);
  EXPECT_EQ(text_of(ran.document(), "workflow_id"), "w");
  EXPECT_EQ(text_of(ran.document(), "run_id"), "r");
}

TEST(StartAndWait, AnyOtherEndIsAFailure) {
  ClientStory story;
  const Ran ran =
      story.answers(started, 201).answers(failed).run({"workflow:start", "-t", "x", "--wait"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.out, HasSubstr("Workflow started"));
  EXPECT_THAT(ran.out, HasSubstr("Status: failed"));
}

TEST(StartAndSignal, TheSignalFollowsTheStart) {
  ClientStory story;
  story.answers(started, 201).answers(R"({"outcome":"signal_received","command_id":"c"})", 202);
  const Ran ran =
      story.run({"workflow:start", "-t", "x", "--signal", "go", "--signal-input", "1", "--json"});
  ASSERT_THAT(story.sent, SizeIs(2));
  EXPECT_EQ(story.sent[1].target, "/api/workflows/w/signal/go");
  EXPECT_EQ(story.sent[1].body, R"({"input":[1]})");
  EXPECT_EQ(text_of(ran.document(), "signal_outcome"), "signal_received");
}

std::string able_cluster_info() {
  std::string info = fitting_cluster_info();
  info.insert(1, R"("capabilities":{"signal_with_start":true,"result_long_poll":true},)");
  return info;
}

TEST(StartAndSignal, AServerThatCanDoesBothAtOnce) {
  ClientStory story;
  story.describes_itself(able_cluster_info());
  story.answers(R"({"workflow_id":"w","signal_outcome":"signal_received"})", 201);
  story.run({"workflow:start", "-t", "x", "--signal", "go", "--signal-input", R"({"n":1})"});
  ASSERT_THAT(story.sent, SizeIs(1));
  EXPECT_THAT(story.sent[0].body, HasSubstr(R"("signal_name":"go","signal_input":{"n":1})"));
}

TEST(StartAndWait, AServerThatCanTellsOfTheEndAtOnce) {
  ClientStory story;
  story.describes_itself(able_cluster_info());
  story.answers(started, 201).answers(running).answers("{}").answers(completed);
  EXPECT_EQ(story.run({"workflow:start", "-t", "x", "--wait", "--json"}).code, 0);
  EXPECT_THAT(story.sent[2].target, HasSubstr("/result?wait_seconds=2"));
  EXPECT_EQ(story.paused, std::chrono::seconds{0});
}

TEST(Describe, FollowingEndsWithTheRun) {
  ClientStory story;
  const Ran ran =
      story.answers(running).answers(completed).run({"workflow:describe", "w", "--follow"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_THAT(ran.out, HasSubstr("Status: running -> completed"));
}

TEST(Watch, ChangesArePrintedAndTheEndGivesTheCode) {
  ClientStory story;
  story.answers(running).answers(running).answers(completed);
  const Ran ran = story.run({"watch", "workflow", "w", "--interval=0", "--output=jsonl"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_THAT(ran.out, HasSubstr(R"("status":{"before":"running","after":"completed"})"));
  EXPECT_EQ(ClientStory{}.answers(failed).run({"watch", "workflow", "w"}).code, 1);
}

TEST(Watch, PollsThatAreUsedUpAreATimeout) {
  ClientStory story;
  const Ran ran = story.answers(running).run({"watch", "workflow", "w", "--max-polls=3"});
  EXPECT_EQ(ran.code, 7);
  EXPECT_THAT(story.sent, SizeIs(3));
  EXPECT_EQ(story.run({"watch", "moon", "w"}).code, 2);
}

TEST(Watch, OneDocumentTellsAllChanges) {
  ClientStory story;
  const Ran ran = story.answers(running).answers(completed).run(
      {"watch", "workflow", "w", "--interval=0", "--json"});
  EXPECT_THAT(list_of(ran.document(), "changes"), SizeIs(1));
  EXPECT_EQ(text_of(ran.document(), "state.status"), "completed");
}

TEST(Watch, WhatCannotBeWatchedIsRefusedWithoutAServer) {
  ClientStory story;
  story.cannot_be_reached({ErrorCode::unavailable, "refused"});
  EXPECT_EQ(story.run({"watch", "worker", "w"}).code, 2);
  EXPECT_EQ(story.connected_to, "");
}

const char* first_page =
    R"({"workflow_id":"w","run_id":"r","events":[{"sequence":1,"event_type":"WorkflowStarted"}],"next_page_token":"MQ=="})";
const char* last_page =
    R"({"workflow_id":"w","run_id":"r","events":[{"sequence":2,"event_type":"WorkflowCompleted"}],"next_page_token":null})";

TEST(History, PagesAreMergedAndTheCursorGoes) {
  ClientStory story;
  const Ran ran =
      story.answers(first_page).answers(last_page).run({"workflow:history", "w", "r", "--json"});
  const Value document = ran.document();
  EXPECT_THAT(list_of(document, "events"), SizeIs(2));
  EXPECT_EQ(document.find("next_page_token"), nullptr);
  EXPECT_THAT(story.sent[1].target, HasSubstr("next_page_token=MQ%3D%3D"));
  EXPECT_THAT(story.sent[0].target, HasSubstr("wait_new_event=0"));
  EXPECT_THAT(story.sent[0].target, Not(HasSubstr("page_size")));
}

TEST(History, WhatIsPrintedAsItComesComesInPages) {
  for (const std::vector<std::string>& how :
       {std::vector<std::string>{"--output=jsonl"}, std::vector<std::string>{"-f"}}) {
    ClientStory story;
    std::vector<std::string> words{"workflow:history", "w", "r"};
    words.insert(words.end(), how.begin(), how.end());
    const Ran ran = story.answers(first_page).answers(last_page).run(words);
    EXPECT_EQ(std::ranges::count(ran.out, '\n'), 2);
    EXPECT_THAT(story.sent[0].target, HasSubstr("page_size=500"));
    EXPECT_THAT(story.sent[1].target, HasSubstr("page_size=500"));
  }
  ClientStory story;
  story.answers(last_page).run({"workflow:history", "w", "r", "--output=jsonl", "--page-size=7"});
  EXPECT_THAT(story.sent[0].target, HasSubstr("page_size=7&"));
}

TEST(History, NoCharacterIsCutInTwo) {
  std::string payload = "x";
  for (int i = 0; i < 200; ++i) payload += "ü";
  ClientStory story;
  story.answers(R"({"events":[{"sequence":1,"event_type":"WorkflowCompleted","payload":")" +
                payload + R"("}],"next_page_token":null})");
  const Ran ran = story.run({"workflow:history", "w", "r", "-f"});
  EXPECT_THAT(ran.out, HasSubstr("ü…"));
  EXPECT_TRUE(is_utf8(ran.out));
}

TEST(History, FollowingSkipsWhatItHasSeenAndEndsWithTheRun) {
  ClientStory story;
  const char* open =
      R"({"events":[{"sequence":1,"event_type":"WorkflowStarted"}],"next_page_token":null})";
  const char* closed =
      R"({"events":[{"sequence":1,"event_type":"WorkflowStarted"},{"sequence":2,"event_type":"WorkflowFailed"}],"next_page_token":null})";
  story.answers(open).answers(open).answers(closed);
  const Ran ran = story.run({"workflow:history", "w", "r", "-f", "--output=jsonl"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(std::ranges::count(ran.out, '\n'), 2);
  EXPECT_THAT(story.sent[0].target, HasSubstr("wait_new_event=1"));
  EXPECT_EQ(story.paused, std::chrono::seconds{2}) << "only when nothing new came";
}

const char* three =
    R"({"workflows":[{"workflow_id":"a"},{"workflow_id":"b"},{"workflow_id":"c"}],"next_page_token":null})";

TEST(CancelMany, EachIsCancelledAndTheFailuresAreNamed) {
  ClientStory story;
  story.answers(three).answers("{}").answers(R"({"message":"closed"})", 409).answers("{}");
  const Ran ran = story.run({"workflow:cancel", "--all-matching", "T = 1", "--yes", "--json"});
  EXPECT_EQ(ran.code, 1);
  const Value document = ran.document();
  EXPECT_EQ(whole_of(document, "matched"), 3);
  EXPECT_EQ(whole_of(document, "cancelled"), 2);
  EXPECT_EQ(text_of(list_of(document, "failures").front(), "workflow_id"), "b");
  EXPECT_THAT(story.sent[0].target, HasSubstr("status=running&page_size=100"));
}

TEST(CancelMany, MachinesMustSayYes) {
  ClientStory story;
  EXPECT_EQ(story.run({"workflow:cancel", "--all-matching", "T = 1", "--json"}).code, 2);
  EXPECT_THAT(story.sent, IsEmpty());
  EXPECT_EQ(story.connected_to, "") << "nor is the server asked who it is";
}

TEST(CancelMany, PeopleMaySayNo) {
  ClientStory story;
  const Ran ran = story.answers(three).on_a_terminal("no\n").run(
      {"workflow:cancel", "--all-matching", "T = 1", "--no-color"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_THAT(ran.out, HasSubstr("Batch cancellation aborted."));
  EXPECT_THAT(story.sent, SizeIs(1));
}

TEST(Doctor, SaysWhereItConnectsAndNeverTheToken) {
  ClientStory story;
  const Ran ran = story.run({"doctor", "--token=secret", "--server=http://a", "--json"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_THAT(ran.out, Not(HasSubstr("secret")));
  EXPECT_TRUE(is_true(ran.document(), "server.reachable"));
  EXPECT_TRUE(is_true(ran.document(), "connection.token.present"));
}

TEST(Doctor, ShowsNoPasswordOfAUrl) {
  ClientStory story;
  story.cannot_be_reached({ErrorCode::unavailable, "refused"});
  for (const char* mode : {"--output=json", "--output=table"}) {
    const Ran ran = story.run({"doctor", "--server=https://me:p@s3cr3t@host", mode});
    EXPECT_THAT(ran.out + ran.err, Not(HasSubstr("s3cr3t")));
    EXPECT_THAT(ran.out, HasSubstr("https://…@host"));
  }
}

TEST(Doctor, TellsASlowServerFromABrokenOne) {
  ClientStory story;
  const Ran ran = story.cannot_be_reached({ErrorCode::timed_out, "5 s"}).run({"doctor", "--json"});
  EXPECT_EQ(ran.code, 7);
  EXPECT_EQ(text_of(list_of(ran.document(), "recommendations").front(), "id"), "server.timeout");
}

TEST(Doctor, EndsWithTheCodeOfWhatFailed) {
  ClientStory story;
  const Ran ran =
      story.cannot_be_reached({ErrorCode::unavailable, "refused"}).run({"doctor", "--json"});
  EXPECT_EQ(ran.code, 3);
  EXPECT_FALSE(is_true(ran.document(), "server.reachable"));
  EXPECT_EQ(ClientStory{}.describes_itself("{}", 401).run({"doctor"}).code, 4);
  EXPECT_EQ(ClientStory{}.describes_itself("{}", 200).run({"doctor"}).code, 0)
      << "a misfit is a finding, not a failure of the probe";
}

}  // namespace
}  // namespace dw::cli
