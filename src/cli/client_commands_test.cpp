// Whole commands against a server that answers as told: what is sent, what is printed, how it ends.
#include "cli/client_story.hpp"
#include "cli/lookup.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dw::cli {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Key;
using testing::Not;
using testing::Pair;
using testing::StartsWith;

const char* two_workflows = R"({"workflows":[
    {"workflow_id":"a","workflow_type":"t","status":"running","started_at":"09:00"},
    {"workflow_id":"b","workflow_type":"t","status":"completed"}],"next_page_token":"p2"})";

TEST(ClientCommand, ATableBeginsWithItsNamespace) {
  ClientStory story;
  const Ran ran = story.answers(two_workflows).run({"workflow", "list", "--namespace=shop"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_THAT(ran.out, StartsWith("Namespace: shop\nWorkflow ID  Type"));
  EXPECT_THAT(ran.out, HasSubstr("Next page token: p2"));
  EXPECT_THAT(ran.out, Not(HasSubstr("\x1b"))) << "no colours in pipes";
  EXPECT_EQ(ran.err, "");
}

TEST(ClientCommand, JsonIsOneDocumentAndEveryItemSaysItsNamespace) {
  ClientStory story;
  const Ran ran = story.answers(two_workflows).run({"workflow:list", "--json"});
  const Value document = ran.document();
  EXPECT_EQ(text_of(document, "namespace"), "default");
  EXPECT_EQ(text_of(document, "next_page_token"), "p2");
  EXPECT_EQ(text_of(list_of(document, "workflows").front(), "namespace"), "default");
  EXPECT_EQ(ran.err, "");
}

TEST(ClientCommand, JsonLinesStandAlone) {
  ClientStory story;
  const Ran ran = story.answers(two_workflows).run({"workflow:list", "--output=jsonl"});
  std::istringstream lines{ran.out};
  std::vector<std::string> ids;
  for (std::string line; std::getline(lines, line);) {
    ids.push_back(text_of(*parse_json(line), "workflow_id"));
  }
  EXPECT_THAT(ids, ElementsAre("a", "b"));
}

TEST(ClientCommand, SearchAttributesHaveALineEach) {
  ClientStory story;
  story.answers(R"({"system_attributes":{"WorkflowId":"keyword"},
      "custom_attributes":{"Total":"double"}})");
  EXPECT_EQ(story.run({"search-attribute:list", "--output=jsonl"}).out,
            "{\"name\":\"WorkflowId\",\"type\":\"keyword\",\"source\":\"system\","
            "\"namespace\":\"default\"}\n"
            "{\"name\":\"Total\",\"type\":\"double\",\"source\":\"custom\","
            "\"namespace\":\"default\"}\n");
  EXPECT_THAT(story.run({"search-attribute:list"}).out,
              StartsWith("Namespace: default\nName        Type     Source\nWorkflowId  keyword"));
}

TEST(ClientCommand, RunsAreAllOfThemInTheOrderTheyBegan) {
  ClientStory story;
  story.answers(R"({"run_count":3,"runs":[{"run_id":"r2"},{"run_id":"r3"}],"next_page_token":"p"})")
      .answers(R"({"run_count":3,"runs":[{"run_id":"r1"}],"next_page_token":null})");
  const Ran ran = story.run({"workflow:list-runs", "w", "--json"});
  const Value document = ran.document();
  std::vector<std::string> ids;
  for (const Value& run : list_of(document, "runs")) ids.push_back(text_of(run, "run_id"));
  EXPECT_THAT(ids, ElementsAre("r1", "r2", "r3"));
  EXPECT_EQ(text_of(document, "next_page_token"), "");
  EXPECT_THAT(story.sent[1].target, HasSubstr("next_page_token=p"));
}

TEST(ClientCommand, AllPagesAreTurnedWhenAskedFor) {
  ClientStory story;
  story.answers(two_workflows)
      .answers(R"({"workflows":[{"workflow_id":"c"}],"next_page_token":null})");
  const Ran ran = story.run({"workflow:list", "--all", "--json"});
  EXPECT_EQ(list_of(ran.document(), "workflows").size(), 3u);
  EXPECT_THAT(story.sent[1].target, HasSubstr("next_page_token=p2"));
}

TEST(ClientCommand, AnEmptyListIsSaidInWords) {
  ClientStory story;
  story.answers(R"({"workflows":[],"next_page_token":null})");
  EXPECT_EQ(story.run({"workflow:list"}).out, "No workflows found in namespace default.\n");
}

TEST(ClientCommand, EveryRequestSaysWhoAsksAndWhatItSpeaks) {
  ClientStory story;
  story.run({"workflow:cancel", "w", "--token=secret", "--namespace=shop"});
  ASSERT_EQ(story.sent.size(), 1u);
  const auto& headers = story.sent[0].headers;
  EXPECT_THAT(headers, Contains(Pair("X-Namespace", "shop")));
  EXPECT_THAT(headers, Contains(Pair("Authorization", "Bearer secret")));
  EXPECT_THAT(headers, Contains(Pair("X-Durable-Workflow-Control-Plane-Version", "2")));
  EXPECT_THAT(headers, Contains(Pair("X-Durable-Workflow-Protocol-Version", "1.0")));
  EXPECT_THAT(headers, Contains(Pair("User-Agent", "dw/0.1.0")));
  EXPECT_THAT(headers, Contains(Key("Idempotency-Key")));
  EXPECT_THAT(headers, Contains(Key("X-Request-Id")));
}

TEST(ClientCommand, VerboseTellsRequestsButNoSecrets) {
  ClientStory story;
  const Ran ran = story.run({"workflow:repair", "w", "-v", "--token=secret"});
  EXPECT_THAT(ran.err, HasSubstr("GET /api/cluster/info 200"));
  EXPECT_THAT(ran.err, HasSubstr("POST /api/workflows/w/repair 200"));
  EXPECT_THAT(ran.err, Not(HasSubstr("secret")));
}

TEST(ClientCommand, FailuresOfMachinesGoToStandardOutput) {
  ClientStory story;
  story.answers(R"({"message":"no such workflow","reason":"instance_not_found"})", 404);
  const Ran ran = story.run({"workflow:signal", "w", "s", "--json"});
  EXPECT_EQ(ran.code, 5);
  EXPECT_EQ(ran.err, "");
  const Value document = ran.document();
  EXPECT_EQ(text_of(document, "command"), "workflow:signal");
  EXPECT_EQ(text_of(document, "workflow_id"), "w");
  EXPECT_EQ(text_of(document, "signal_name"), "s");
  EXPECT_EQ(whole_of(document, "exit_code"), 5);
}

TEST(ClientCommand, AFailureNamesTheRequestInTheServersLog) {
  ClientStory story;
  story.replies({.status = 404, .headers = {{"X-Request-Id", "log-7"}}, .body = "{}"});
  const Ran ran = story.run({"workflow:describe", "w", "--json"});
  EXPECT_EQ(text_of(ran.document(), "request_id"), "log-7");
}

TEST(ClientCommand, APasswordInAUrlIsNotRepeated) {
  for (const char* url : {"https://me:p@s3cr3t@host", "https://me:s3cr3t/x@host"}) {
    for (const char* mode : {"--output=table", "--output=json"}) {
      ClientStory story;
      story.answers(Error{ErrorCode::unavailable, "refused"});
      const Ran ran = story.run({"workflow:cancel", "w", std::string{"--server="} + url, mode});
      EXPECT_THAT(ran.out + ran.err, Not(HasSubstr("s3cr3t"))) << url << mode;
    }
  }
}

TEST(ClientCommand, AServerThatIsNoUrlIsSaidOnce) {
  ClientStory story;
  const Ran ran = story.run({"workflow:list", "--server=127.0.0.1:18931"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, StartsWith("cannot use the server's URL '127.0.0.1:18931': "));
}

TEST(ClientCommand, MetricsAreTextForMonitoringAndADocumentForMachines) {
  ClientStory story;
  story.replies({.status = 200, .body = "dw_build_info{version=\"1\"} 1\n"});
  EXPECT_EQ(story.run({"system:metrics"}).out, "dw_build_info{version=\"1\"} 1\n");
  EXPECT_EQ(story.sent[0].target, "/metrics");
  EXPECT_THAT(story.sent[0].headers, Contains(Pair("Accept", "text/plain")));
  ClientStory machine;
  machine.answers(R"({"runs":1})").run({"system:metrics", "--json"});
  EXPECT_EQ(machine.sent[0].target, "/api/system/metrics");
}

TEST(ClientCommand, AQueryResultIsIndentedForPeople) {
  ClientStory story;
  story.answers(R"({"query_name":"q","result":{"a":[1,"\u001b"],"b":"ü"}})");
  EXPECT_THAT(story.run({"workflow:query", "w", "q"}).out,
              HasSubstr("{\n  \"a\": [\n    1,\n    \"\\u001b\"\n  ],\n  \"b\": \"ü\"\n}\n"));
}

TEST(ClientCommand, OnlyAnEnvelopeIsSentAsOne) {
  const auto result_of = [](const char* given) {
    ClientStory story;
    story.run({"workflow-task:complete", "t", "1", "--complete-result", given});
    const Value body = *parse_json(story.sent.front().body);
    return *look_up(list_of(body, "commands").front(), "result");
  };
  for (const char* envelope : {R"({"codec":"json","blob":"e30="})",
                               R"({"codec":"avro","external_storage":{"uri":"u"}})"}) {
    EXPECT_EQ(to_json(result_of(envelope)), envelope);
  }
  for (const char* value : {R"({"codec":"h264"})", R"({"codec":"h264","bitrate":9})",
                            R"({"codec":"json","blob":"e30=","more":1})"}) {
    EXPECT_EQ(text_of(result_of(value), "codec"), "avro") << value;
    EXPECT_TRUE(look_up(result_of(value), "blob")) << value;
  }
}

TEST(ClientCommand, ArtisansNamesMeanTheSame) {
  const std::pair<const char*, const char*> table[] = {
      {"workflow:v2:doctor", "server:doctor"},
      {"workflow:v2:repair-pass", "repair-pass"},
      {"workflow:v2:rebuild-projections", "system:rebuild-projections"},
      {"workflow:v2:history-export", "history-export"},
      {"workflow:v2:replay-verify", "replay:verify"},
      {"workflow:v2:replay-simulate", "replay:simulate"},
      {"replay-verify", "replay:verify"},
  };
  for (const auto& [theirs, ours] : table) {
    const char* argv[] = {"dw", theirs, "--json"};
    const auto understood = understand(3, argv, {ours}, false);
    EXPECT_FALSE(understood.for_client) << theirs;
    EXPECT_THAT(understood.words, ElementsAre(ours, "--json"));
  }
  const char* import[] = {"dw", "workflow:v2:history-import", "run.json"};
  EXPECT_THAT(understand(3, import, {}, false).words, ElementsAre("workflow:import", "run.json"));
}

TEST(ClientCommand, FailuresOfPeopleGoToStandardError) {
  ClientStory story;
  story.answers(R"({"message":"no such workflow","reason":"instance_not_found"})", 404);
  const Ran ran = story.run({"workflow:describe", "w"});
  EXPECT_EQ(ran.code, 5);
  EXPECT_EQ(ran.out, "");
  EXPECT_THAT(ran.err, HasSubstr("Reason: instance_not_found"));
}

TEST(ClientCommand, UsageErrorsSendNothing) {
  ClientStory story;
  for (std::vector<std::string> words : {std::vector<std::string>{"workflow:list", "--output=xml"},
                                         {"workflow:signal", "w", "s", "-i", "{"},
                                         {"workflow:frobnicate"},
                                         {"workflow:list", "--env=nowhere"}}) {
    EXPECT_EQ(story.run(words).code, 2);
  }
  EXPECT_THAT(story.sent, IsEmpty());
  EXPECT_EQ(story.connected_to, "");
  EXPECT_EQ(whole_of(story.run({"workflow:lits", "--json"}).document(), "exit_code"), 2);
}

TEST(ClientCommand, ReadsAreTriedThreeTimesAndWritesOnce) {
  ClientStory story;
  story.cannot_be_reached({ErrorCode::unavailable, "refused"});
  const Ran ran = story.run({"workflow:list"});
  EXPECT_EQ(ran.code, 3);
  EXPECT_EQ(story.paused, std::chrono::milliseconds{1200});

  ClientStory writes;
  writes.answers(Error{ErrorCode::unavailable, "lost"});
  EXPECT_EQ(writes.run({"workflow:cancel", "w"}).code, 3);
  EXPECT_EQ(writes.sent.size(), 1u);
}

TEST(ClientCommand, TimeIsUpWhenNobodyAnswers) {
  ClientStory story;
  story.answers(Error{ErrorCode::timed_out, "30 s"});
  EXPECT_EQ(story.run({"workflow:describe", "w"}).code, 7);
}

TEST(ClientCommand, AServerThatDoesNotFitIsLeftAlone) {
  ClientStory story;
  story.describes_itself(R"({"version":"9","control_plane":{"version":"3"}})");
  const Ran ran = story.run({"workflow:cancel", "w", "--json"});
  EXPECT_EQ(ran.code, 8);
  EXPECT_THAT(story.sent, IsEmpty());
  EXPECT_EQ(text_of(ran.document(), "compatibility.server_version"), "9");
  EXPECT_EQ(story.describes_itself("<html>").run({"workflow:list"}).code, 8);
  EXPECT_EQ(story.describes_itself("{}", 401).run({"workflow:list"}).code, 4);
}

TEST(ClientCommand, TheServersWordsAreChecked) {
  ClientStory story;
  const Ran ran = story.run({"workflow:start", "-t", "x", "--duplicate-policy=use_existing"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("use-existing"));
  EXPECT_THAT(story.sent, IsEmpty());
}

TEST(ClientCommand, APromptIsForTerminalsAndYesSkipsIt) {
  ClientStory declined;
  EXPECT_EQ(declined.on_a_terminal("n\n").run({"workflow:terminate", "w"}).code, 0);
  EXPECT_THAT(declined.sent, IsEmpty());
  ClientStory agreed;
  agreed.on_a_terminal("y\n").run({"workflow:terminate", "w"});
  EXPECT_EQ(agreed.sent.size(), 1u);
  ClientStory skipped;
  skipped.on_a_terminal("").run({"workflow:terminate", "w", "--yes"});
  EXPECT_EQ(skipped.sent.size(), 1u);
  ClientStory script;
  script.run({"workflow:terminate", "w"});
  EXPECT_EQ(script.sent.size(), 1u) << "a script is not asked";
}

TEST(ClientCommand, ANamespaceIsItsOwnNamespace) {
  ClientStory story;
  story.answers(R"({"name":"billing","status":"active"})");
  EXPECT_EQ(text_of(story.run({"namespace:describe", "billing", "--json"}).document(), "namespace"),
            "billing");
}

TEST(ClientCommand, SettingsOfAStorageThatIsDisabledAreKept) {
  const char* with_a_bucket = R"({"name":"billing","external_payload_storage":{"driver":"s3",
      "enabled":true,"threshold_bytes":null,"config":{"bucket":"b","region":"r"}}})";
  const std::vector<std::string> words{"namespace:set-storage-driver", "billing", "s3",
                                       "--region=elsewhere", "--disable"};
  ClientStory story;
  EXPECT_EQ(story.answers(with_a_bucket).answers("{}").run(words).code, 0);
  ASSERT_EQ(story.sent.size(), 2u);
  EXPECT_EQ(story.sent[0].target, "/api/namespaces/billing");
  EXPECT_EQ(story.sent[1].body,
            R"({"driver":"s3","enabled":false,"config":{"bucket":"b","region":"elsewhere"}})");

  ClientStory other;
  other.answers(with_a_bucket);
  EXPECT_EQ(other.run({"namespace:set-storage-driver", "billing", "local", "--disable"}).code, 2);
  EXPECT_EQ(other.sent.size(), 1u) << "a bucket is not given up by a slip";
}

TEST(ClientCommand, AnActivityShowsItsResultAndNotWhatItIsKeptIn) {
  ClientStory story;
  story.run({"workflow-task:complete", "t", "1", "--complete-result", R"({"paid":true})"});
  const Value sent = *parse_json(story.sent.front().body);
  const Value kept = *look_up(list_of(sent, "commands").front(), "result");
  const auto shown = [](const std::string& result) {
    ClientStory asked;
    asked.answers(R"({"activity_id":"a","activity_status":"completed","result":)" + result + "}");
    return asked.run({"activity:describe", "a"}).out;
  };
  EXPECT_THAT(shown(to_json(kept)), HasSubstr("Result: {\"paid\":true}\n"));
  for (const char* unreadable : {R"({"codec":"avro","blob":"?"})", R"({"codec":"new","blob":""})",
                                 R"({"codec":"avro","external_storage":{"uri":"u"}})"}) {
    EXPECT_THAT(shown(unreadable), HasSubstr(std::string{"Result: "} + unreadable));
  }
}

TEST(ClientCommand, AnActivityIsInOneStateWhereverItIsShown) {
  const char* waiting = R"({"activity_id":"a","status":"running","activity_status":"pending"})";
  ClientStory listed;
  listed.answers(std::string{R"({"activities":[)"} + waiting + "]}");
  EXPECT_THAT(listed.run({"activity:list"}).out, HasSubstr("pending"));
  ClientStory described;
  EXPECT_THAT(described.answers(waiting).run({"activity:describe", "a"}).out,
              HasSubstr("Status: pending"));
}

TEST(ClientCommand, PassesFailWhenARowFailed) {
  EXPECT_EQ(ClientStory{}
                .answers(R"({"processed":1,"failed":0,"results":[{"outcome":"error"}]})")
                .run({"system:activity-timeout-pass"})
                .code,
            1);
  EXPECT_EQ(ClientStory{}
                .answers(R"({"missing_run_failures":[{"run_id":"r","message":"m"}]})", 207)
                .run({"system:repair-pass"})
                .code,
            1);
  EXPECT_EQ(ClientStory{}.answers(R"({"worker_id":"w"})").run({"worker:register", "w"}).code, 1);
  EXPECT_EQ(ClientStory{}.answers(R"({"registered":true})").run({"worker:register", "w"}).code, 0);
}

TEST(ClientCommand, LongQuestionsAreGivenTime) {
  ClientStory story;
  story.run({"workflow-task:poll", "w"});
  story.run({"workflow:query", "w", "q"});
  story.run({"workflow:update", "w", "u", "--wait=completed", "--wait-timeout=100"});
  story.run({"workflow-task:poll", "w", "--timeout=3"});
  using std::chrono::seconds;
  EXPECT_THAT(story.sent, ElementsAre(Field(&ClientStory::Sent::timeout, seconds{40}),
                                      Field(&ClientStory::Sent::timeout, seconds{40}),
                                      Field(&ClientStory::Sent::timeout, seconds{110}),
                                      Field(&ClientStory::Sent::timeout, seconds{3})));
}

TEST(ClientCommand, APollEndsBeforeItsCallerGivesUp) {
  const auto held = [](const char* command, std::vector<std::string> more) {
    ClientStory story;
    std::vector<std::string> words{command, "w"};
    words.insert(words.end(), more.begin(), more.end());
    const Ran ran = story.answers(R"({"task":null,"poll_status":"timeout"})").run(words);
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_THAT(ran.out, HasSubstr("task available."));
    const Value body = *parse_json(story.sent.front().body);
    return look_up(body, "timeout_seconds") ? whole_of(body, "timeout_seconds") : -1;
  };
  for (const char* command : {"workflow-task:poll", "query-task:poll"}) {
    EXPECT_EQ(held(command, {}), -1) << "as long as the server likes";
    EXPECT_EQ(held(command, {"--timeout=1"}), 0);
    EXPECT_EQ(held(command, {"--timeout=2"}), 1);
    EXPECT_EQ(held(command, {"--timeout=20"}), 16);
    EXPECT_EQ(held(command, {"--timeout=600"}), 60);
  }
}

TEST(ClientCommand, AnUpdateSaysItsStateWhateverTheAnswer) {
  ClientStory story;
  story.answers(R"({"workflow_id":"w","update_id":"u1","outcome":null,"update_status":"accepted",
                    "command_sequence":3})",
                202);
  const Value fine = story.run({"workflow:update", "w", "add", "-i", "[3]", "--json"}).document();
  EXPECT_EQ(text_of(fine, "state"), "accepted");
  EXPECT_EQ(text_of(fine, "outcome"), "update_accepted");
  EXPECT_EQ(whole_of(fine, "history_references.command_sequence"), 3);
  EXPECT_EQ(to_json(*look_up(fine, "request.input")), "[3]");

  ClientStory refused;
  refused.answers(R"({"message":"no","reason":"run_not_active","command_status":"rejected"})", 409);
  const Ran ran = refused.run({"workflow:update", "w", "add", "--json"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(text_of(ran.document(), "update_state"), "refused");
  EXPECT_EQ(text_of(ran.document(), "error_details.reason"), "run_not_active");
}

TEST(ClientCommand, TheVersionSaysOfWhichCommitItIs) {
  EXPECT_EQ(version_text({.version = "1.2.0", .commit = "c0ffee", .built_at = "2026-04-20"}),
            "dw 1.2.0 (c0ffee, 2026-04-20)");
  EXPECT_EQ(ClientStory{}.run({"workflow:list", "--version"}).out, "dw 0.1.0\n");
}

TEST(ClientCommand, QuietLeavesErrorsAndMachineAnswers) {
  ClientStory story;
  story.answers(two_workflows);
  EXPECT_EQ(story.run({"workflow:list", "-q"}).out, "");
  EXPECT_NE(story.run({"workflow:list", "-q", "--json"}).out, "");
}

TEST(ClientCommand, AnAnswerThatIsNoJsonIsTheServersFault) {
  ClientStory story;
  EXPECT_EQ(story.answers("<html>").run({"workflow:list"}).code, 6);
}

TEST(ClientCommand, HelpTellsSynopsisRouteExamplesAndExitCodes) {
  ClientStory story;
  const Ran ran = story.run({"help", "workflow", "signal"});
  EXPECT_EQ(ran.code, 0);
  for (const char* part : {"Usage: dw workflow:signal <workflow-id> <signal-name>", "--input-file",
                           "POST /api/workflows/{workflow-id}[/runs/{run-id}]/signal/{signal-name}",
                           "Examples:", "8 incompatible server"}) {
    EXPECT_THAT(ran.out, HasSubstr(part));
  }
  EXPECT_EQ(story.connected_to, "");
}

}  // namespace
}  // namespace dw::cli
