#include "history/render_story_test.hpp"

namespace dw::story {
namespace {

// ---- signals

// proves: E-79
TEST(RenderedSignal, OneWaitIdLeadsFromReceiptToApplication) {
  const auto shown =
      payloads(run_with(signal_received("s1", "approve", command("c2", 2), "[\"ann\"]"),
                        signal_wait_opened("signal-command:c2", "approve"),
                        signal_applied("s1", "signal-command:c2")));
  for (std::size_t i = 1; i < shown.size(); ++i) {
    EXPECT_EQ(text_at(shown[i], "signal_wait_id"), "signal-command:c2");
    EXPECT_EQ(text_at(shown[i], "signal_name"), "approve");
  }
  EXPECT_EQ(boost::json::serialize(shown[3]),
            R"({"workflow_command_id":"c2","signal_id":"s1","signal_name":"approve",)"
            R"("signal_wait_id":"signal-command:c2","sequence":1,"value":"ann"})");
}

// proves: E-83
TEST(RenderedSignal, KeepsTheCommandThatSentIt) {
  const auto payload = last_payload(
      run_with(signal_wait_opened("w1", "approve"),
               signal_received("s1", "approve", command("c2", 4, "cli"), "[1,2]", "w1")));
  EXPECT_EQ(boost::json::serialize(payload),
            R"({"workflow_command_id":"c2","workflow_instance_id":"invoice-1",)"
            R"("workflow_run_id":"run1","signal_id":"s1","signal_name":"approve",)"
            R"("signal_wait_id":"w1","arguments":"[1,2]","payload_codec":"json",)"
            R"("command":{"id":"c2","sequence":4,"type":"signal","target_scope":"instance",)"
            R"("resolved_run_id":"run1","target_name":"approve","source":"cli",)"
            R"("status":"accepted","outcome":"signal_received",)"
            R"("accepted_at":"2026-04-10T09:00:00.000000Z"}})");
}

TEST(RenderedSignal, ShowsTheValueThatTheCodeGets) {
  const auto value_of = [](Payload arguments) {
    auto received = signal_received("s1", "approve", command("c2", 2), "", "w1");
    received.arguments = std::move(arguments);
    return json_at(last_payload(run_with(signal_wait_opened("w1", "approve"), received,
                                         signal_applied("s1", "w1"))),
                   "value");
  };
  EXPECT_EQ(value_of(json("[]")), "true");
  EXPECT_EQ(value_of(json("[{\"by\":\"ann\"}]")), R"({"by":"ann"})");
  EXPECT_EQ(value_of(json("[null]")), "null");
  EXPECT_EQ(value_of(json("[1,2]")), "[1,2]");
  EXPECT_EQ(value_of(encode(Value::Array{7}).value()), "7");
  EXPECT_EQ(value_of(binary()), R"({"codec":"avro","blob":"AMMB/w=="})") << "nobody can read it";
}

TEST(RenderedSignal, ATimeoutNamesItsWait) {
  const auto shown =
      payloads(run_with(signal_wait_opened("w1", "approve", 60), signal_timeout("t1", "w1", 60s),
                        on("09:01", timer_fired("t1"))));
  EXPECT_EQ(json_at(shown[1], "timeout_seconds"), "60");
  EXPECT_EQ(boost::json::serialize(shown[3]),
            R"({"timer_id":"t1","sequence":1,"delay_seconds":60,)"
            R"("fire_at":"2026-04-10T09:01:00.000000Z","timer_kind":"signal_timeout",)"
            R"("signal_wait_id":"w1","signal_name":"approve",)"
            R"("fired_at":"2026-04-10T09:01:00.000000Z"})");
}

TEST(RenderedSignal, IsShownThoughItsTimeoutFiredBeforeItWasApplied) {
  const auto payload = last_payload(
      run_with(signal_wait_opened("w1", "approve", 60), signal_timeout("t1", "w1", 60s),
               signal_received("s1", "approve", command("c2", 2), "[1]", "w1"), timer_fired("t1"),
               signal_applied("s1", "w1")));
  EXPECT_EQ(json_at(payload, "value"), "1");
}

TEST(RenderedSignal, AppliedToNoWaitNamesNone) {
  const auto shown = payloads(run_with(
      signal_received("s1", "approve", command("c2", 2), "[\"ann\"]"),
      signal_wait_opened("w1", "approve"), signal_applied("s1", ""),
      signal_received("s2", "approve", command("c3", 3), "[]", "w1"), signal_applied("s2", "w1")));
  EXPECT_EQ(boost::json::serialize(shown[3]),
            R"({"workflow_command_id":"c2","signal_id":"s1","signal_name":"approve",)"
            R"("value":"ann"})");
  EXPECT_EQ(text_at(shown[5], "signal_wait_id"), "w1") << "which was still open";
}

TEST(RenderedSignal, IsShownToAWorkerAsItWasSent) {
  const auto events = told(run_with(signal_received("s1", "approve", command("c2", 2), "[1,2]"),
                                    signal_applied("s1", "")));
  history::Renderer renderer{RunId{"run1"}, history::Reader::worker};
  const auto texts = renderer.render(story_commit, events);
  ASSERT_TRUE(texts) << texts.error().message;
  for (const auto& text : *texts) {
    const auto event = boost::json::parse(text).as_object();
    EXPECT_TRUE(event.contains("event_type"));
    EXPECT_FALSE(event.contains("type"));
  }
  const auto applied = boost::json::parse(texts->back()).as_object();
  EXPECT_EQ(text_at(applied, "event_type"), "SignalApplied");
  EXPECT_EQ(json_at(applied, "payload"),
            R"({"workflow_command_id":"c2","signal_id":"s1","signal_name":"approve",)"
            R"("arguments":"[1,2]","payload_codec":"json"})");
}

// ---- timers

TEST(RenderedTimer, InABarrierShowsItsPlaceFromFirstToLast) {
  using Kind = history::Group::Kind;
  const history::GroupPath place{barrier(Kind::mixed, 1, 3, 1), barrier(Kind::timer, 2, 2, 0)};
  auto scheduled = timer_scheduled("t1", 60s);
  scheduled.group = place;
  const auto shown = payloads(run_with(side_effect_recorded("1"), scheduled,
                                       on("09:01", timer_fired("t1")), timer_scheduled("t2", 60s)));
  for (const std::size_t i : {2u, 3u}) {
    EXPECT_EQ(text_at(shown[i], "parallel_group_id"), history::group_id(place[1]));
    EXPECT_EQ(text_at(shown[i], "parallel_group_kind"), "timer");
    EXPECT_EQ(json_at(shown[i], "parallel_group_base_sequence"), "2");
    EXPECT_EQ(json_at(shown[i], "parallel_group_size"), "2");
    EXPECT_EQ(json_at(shown[i], "parallel_group_index"), "0");
    const auto& path = shown[i].at("parallel_group_path").as_array();
    ASSERT_EQ(path.size(), 2u);
    EXPECT_EQ(text_at(path[0].as_object(), "parallel_group_id"), history::group_id(place[0]));
    EXPECT_EQ(json_at(path[0].as_object(), "parallel_group_index"), "1");
    EXPECT_EQ(text_at(path[1].as_object(), "parallel_group_id"), history::group_id(place[1]));
  }
  EXPECT_FALSE(shown[4].contains("parallel_group_path")) << "one of its own has no place";
}

// ---- conditions

TEST(RenderedCondition, WorkersAreToldWhichSignalCameForIt) {
  const std::vector<Told> story =
      run_with(signal_received("s1", "hello", command("c2", 2)), condition_wait_opened("w1"),
               signal_received("s2", "paid", command("c3", 3)),
               signal_received("s3", "paid", command("c4", 4)), condition_wait_satisfied("w1"));
  const auto shown = worker_payloads(story);
  EXPECT_EQ(json_at(shown[1], "workflow_sequence"), "(absent)");
  EXPECT_EQ(json_at(shown[3], "workflow_sequence"), "1");
  EXPECT_EQ(json_at(shown[4], "workflow_sequence"), "1");
  EXPECT_EQ(json_at(shown[3], "sequence"), "(absent)") << "which would be a step of its own";
  EXPECT_EQ(text_at(shown[5], "workflow_signal_id"), "s2");
  EXPECT_EQ(json_at(payloads(story)[3], "workflow_sequence"), "(absent)");
}

// ---- updates

TEST(RenderedUpdate, IsToldFromAcceptanceToResult) {
  const auto shown = payloads(run_with(update_accepted("u1", "raise", command("c2", 2), "[5]"),
                                       condition_wait_opened("w1"), update_applied("u1", 1),
                                       update_completed("u1", "7")));
  for (const std::size_t i : {1u, 3u, 4u}) {
    EXPECT_EQ(text_at(shown[i], "workflow_command_id"), "c2");
    EXPECT_EQ(text_at(shown[i], "workflow_run_id"), "run1");
    EXPECT_EQ(text_at(shown[i], "update_id"), "u1");
    EXPECT_EQ(text_at(shown[i], "update_name"), "raise");
  }
  EXPECT_EQ(json_at(shown[1], "arguments"), R"({"codec":"json","blob":"[5]"})");
  EXPECT_EQ(json_at(shown[3], "arguments"), json_at(shown[1], "arguments"));
  EXPECT_EQ(json_at(shown[3], "sequence"), "1");
  EXPECT_EQ(json_at(shown[4], "sequence"), "1");
  EXPECT_EQ(json_at(shown[4], "result"), R"({"codec":"json","blob":"7"})");
  EXPECT_FALSE(shown[1].at("command").as_object().contains("outcome")) << "it has none yet";
}

TEST(RenderedUpdate, AppliedAtNoStepNamesNone) {
  const auto shown = payloads(run_with(update_accepted("u1", "raise", command("c2", 2), "[5]"),
                                       update_applied("u1", 0), update_completed("u1", "7")));
  EXPECT_EQ(json_at(shown[2], "sequence"), "(absent)");
  EXPECT_EQ(json_at(shown[3], "sequence"), "(absent)");
}

TEST(RenderedUpdate, ARefusalIsWrittenInTheCodecThatWorkersRead) {
  auto refused = full_refusal();
  refused.arguments = json("[]");
  const auto shown = worker_payloads(run_with(refused));
  EXPECT_EQ(json_at(shown[1], "arguments"), R"({"codec":"avro","blob":"wwHioz3/VYAiNwwA"})");
}

TEST(RenderedUpdate, AFailureIsShownWhole) {
  const auto payload = last_payload(run_with(update_accepted("u1", "raise", command("c2", 2)),
                                             update_failed("u1", "f1", full_failure())));
  EXPECT_EQ(text_at(payload, "failure_id"), "f1");
  EXPECT_EQ(text_at(payload, "failure_category"), "application");
  EXPECT_EQ(text_at(payload, "exception_type"), "app.broken");
  EXPECT_EQ(json_at(payload, "non_retryable"), "true");
  EXPECT_FALSE(payload.contains("result"));
  EXPECT_FALSE(payload.contains("sequence"));
}

TEST(RenderedUpdate, ThatTheEndClosedSaysHowTheRunEnded) {
  const auto payload =
      last_payload(run_with(update_accepted("u1", "raise", command("c2", 2)),
                            workflow_cancelled("f1"), update_closed("u1", "f2", "cancelled")));
  EXPECT_EQ(text_at(payload, "terminal_reason"), "cancelled");
}

TEST(RenderedUpdate, ARefusalSaysWhatIsWrong) {
  const auto payload = last_payload(run_with(full_refusal()));
  EXPECT_EQ(text_at(payload, "rejection_reason"), "invalid_update_arguments");
  EXPECT_EQ(text_at(payload, "outcome"), "rejected_invalid_arguments");
  EXPECT_EQ(json_at(payload, "validation_errors"), R"({"amount":["required"]})");
  const auto& command = payload.at("command").as_object();
  EXPECT_EQ(text_at(command, "status"), "rejected");
  EXPECT_EQ(text_at(command, "rejection_reason"), "invalid_update_arguments");
  EXPECT_TRUE(command.contains("rejected_at"));
}

// ---- conditions

// proves: E-43
TEST(RenderedCondition, KeyAndFingerprintStandInEachOfItsEvents) {
  auto opened = condition_wait_opened("w1", "paid", 60);
  opened.fingerprint = "sha256:34";
  const auto timed_out = payloads(run_with(opened, condition_timeout("t1", "w1", 60s),
                                           timer_fired("t1"), condition_wait_timed_out("w1")));
  const auto satisfied = payloads(run_with(opened, condition_timeout("t1", "w1", 60s),
                                           timer_cancelled("t1"), condition_wait_satisfied("w1")));
  for (const auto& shown : {timed_out, satisfied}) {
    for (std::size_t i = 1; i < shown.size(); ++i) {
      EXPECT_EQ(text_at(shown[i], "condition_wait_id"), "w1");
      EXPECT_EQ(text_at(shown[i], "condition_key"), "paid");
      EXPECT_EQ(text_at(shown[i], "condition_definition_fingerprint"), "sha256:34");
      EXPECT_EQ(json_at(shown[i], "sequence"), "1");
    }
    EXPECT_EQ(text_at(shown[2], "timer_kind"), "condition_timeout");
    EXPECT_EQ(text_at(shown[4], "timer_id"), "t1");
    EXPECT_EQ(json_at(shown[4], "timeout_seconds"), "60");
  }
}

TEST(RenderedCondition, WithoutKeyOrTimeoutShowsNeither) {
  EXPECT_EQ(boost::json::serialize(last_payload(
                run_with(condition_wait_opened("w1"), condition_wait_satisfied("w1")))),
            R"({"condition_wait_id":"w1","sequence":1})");
}

// ---- markers

TEST(RenderedMarker, AVersionShowsItsChangeAndItsRange) {
  EXPECT_EQ(boost::json::serialize(last_payload(run_with(version_marker_recorded("new-tax", 2)))),
            R"({"sequence":1,"change_id":"new-tax","version":2,"min_supported":-1,)"
            R"("max_supported":2})");
}

TEST(RenderedMarker, AnUpsertShowsWhatItAddsUpTo) {
  auto start = workflow_started("invoice");
  start.memo = Value::Map{{"a", 1}};
  const auto shown = payloads({start, memo_upserted(Value::Map{{"b", 2}}),
                               memo_upserted(Value::Map{{"a", nullptr}, {"b", nullptr}}),
                               search_attributes_upserted(Value::Map{{"paid", true}}),
                               start_accepted(command("c1", 1), "returned_existing_active")});
  EXPECT_EQ(boost::json::serialize(shown[1]),
            R"({"sequence":1,"entries":{"b":2},"merged":{"a":1,"b":2}})");
  EXPECT_EQ(json_at(shown[2], "merged"), "{}");
  EXPECT_EQ(json_at(shown[3], "merged"), R"({"paid":true})");
  EXPECT_FALSE(shown[4].contains("memo")) << "a later start shows what there is now";
  EXPECT_EQ(json_at(shown[4], "search_attributes"), R"({"paid":true})");
}

}  // namespace
}  // namespace dw::story
