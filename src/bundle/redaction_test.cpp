#include "bundle/redaction.hpp"

#include "bundle/bundled.hpp"
#include "bundle/read.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <stdexcept>

namespace dw::story {
namespace {

using bundle::Slot;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr std::string_view secret = "hunter2";

// The secret stands wherever a run can hold user data.
Looking indiscreet() {
  const std::string quoted = "\"" + std::string{secret} + "\"";
  const auto leaky = failure(std::string{secret});
  auto start = workflow_started("invoice");
  start.arguments = json("[" + quoted + "]");
  start.memo = Value{Value::Map{{"note", secret}}};
  auto scheduled = activity_scheduled("a1");
  scheduled.arguments = start.arguments;
  auto failing = activity_scheduled("a2");
  failing.arguments = start.arguments;
  return looking_at({start_accepted(command("c1", 1)),
                     start,
                     scheduled,
                     activity_started("a1", "at1"),
                     activity_heartbeat_recorded("a1", "at1", at("09:05"),
                                                 Value{Value::Map{{"message", secret}}}),
                     activity_completed("a1", "at1", quoted),
                     failing,
                     activity_started("a2", "at2"),
                     activity_failed("a2", "at2", "f1", leaky),
                     failure_handled("f1", 2),
                     signal_wait_opened("w1", "approve"),
                     signal_received("s1", "approve", command("c2", 2), "[" + quoted + "]", "w1"),
                     signal_applied("s1", "w1"),
                     update_accepted("u1", "raise", command("c3", 3), quoted),
                     update_applied("u1", 4),
                     update_completed("u1", quoted),
                     update_accepted("u2", "raise", command("c4", 4), quoted),
                     update_failed("u2", "f2", leaky),
                     side_effect_recorded(quoted),
                     workflow_completed(quoted),
                     archive_requested(command("c5", 5), "archived", std::string{secret}),
                     workflow_archived("c5", std::string{secret})});
}

Value blacken(const Value&, const Slot&) {
  return "[redacted]";
}

// proves: E-116
TEST(Redaction, LeavesNothingThatUsersWrote) {
  EXPECT_THAT(exported(indiscreet()), HasSubstr(secret));
  EXPECT_THAT(exported(indiscreet(), {.redactor = blacken, .policy = "black"}),
              Not(HasSubstr(secret)));
}

// proves: E-116
TEST(Redaction, ReportsThePolicyAndEveryPathItWasShown) {
  const Value bundle = bundle_of(indiscreet(), {.redactor = blacken, .policy = "black"});
  EXPECT_EQ(shown(bundle, "redaction.applied"), "true");
  EXPECT_EQ(shown(bundle, "redaction.policy"), "black");
  const auto* paths = bundle.find("redaction")->find("paths")->if_array();
  ASSERT_NE(paths, nullptr);
  for (const auto path :
       {"payloads.arguments.data", "payloads.output.data", "history_events.2.payload",
        "timeline.8.failure.message", "commands.1.payload", "commands.4.reason",
        "updates.0.arguments", "updates.0.result", "signals.0.arguments", "activities.0.arguments",
        "activities.0.result", "failures.0.message"}) {
    EXPECT_THAT(*paths, Contains(Value{path}));
    EXPECT_EQ(shown(bundle, path), "[redacted]") << path;
  }
}

TEST(Redaction, SaysSoWhenThereIsNone) {
  const Value bundle = bundle_of(indiscreet());
  EXPECT_EQ(shown(bundle, "redaction"), R"({"applied":false,"policy":null,"paths":[]})");
}

TEST(Redaction, TellsTheRedactorWhatItLooksAt) {
  std::map<std::string, Slot> seen;
  bundle_of(indiscreet(), {.redactor = [&](const Value& value, const Slot& slot) {
              seen[slot.path] = slot;
              return value;
            }});
  const auto category = [&](const std::string& path) { return seen.at(path).category; };
  EXPECT_EQ(category("payloads.arguments.data"), "workflow_payload");
  EXPECT_EQ(category("history_events.0.payload"), "history_event");
  EXPECT_EQ(category("commands.1.payload"), "command_payload");
  EXPECT_EQ(category("commands.4.reason"), "command_reason");
  EXPECT_EQ(category("updates.0.result"), "update_payload");
  EXPECT_EQ(category("signals.0.arguments"), "signal_payload");
  EXPECT_EQ(category("activities.1.arguments"), "activity_payload");
  EXPECT_EQ(category("failures.0.message"), "failure_diagnostic");
  EXPECT_EQ(seen.at("failures.0.message").run_id.view(), "run1");
  EXPECT_EQ(seen.at("failures.0.message").workflow_type, "invoice");
}

TEST(Redaction, WhatTheRedactorLetsPassStaysReplayable) {
  const auto pass = [](const Value& value, const Slot&) { return value; };
  const auto run = indiscreet();
  const auto read = bundle::events_of_bundle(exported(run, {.redactor = pass}));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(bundle::events_of(read->commits), run.events());
}

TEST(Redaction, AnEventThatLostItsPayloadLosesItsFactsToo) {
  const auto only_third = [](const Value& value, const Slot& slot) {
    return slot.path == "history_events.2.payload" ? Value{} : value;
  };
  const auto text = exported(indiscreet(), {.redactor = only_third});
  EXPECT_EQ(shown(*parse_json(text), "history_events.2.facts"), "null");
  EXPECT_NE(shown(*parse_json(text), "history_events.3.facts"), "null");
  EXPECT_FALSE(bundle::events_of_bundle(text));
}

// proves: E-116
TEST(Redaction, ARedactorThatThrowsEndsTheExport) {
  const auto text = bundle::export_bundle(
      inputs_of(indiscreet()),
      {.redactor = [](const Value&, const Slot&) -> Value { throw std::runtime_error("no key"); }});
  ASSERT_FALSE(text);
  EXPECT_THAT(text.error().message, HasSubstr("no key"));
}

// proves: E-117
TEST(Redaction, TheSealIsOverWhatIsLeft) {
  const auto text = exported(indiscreet(), {.redactor = blacken, .policy = "black"});
  EXPECT_EQ(bundle::verify_bundle(text).status(), "ok");
}

}  // namespace
}  // namespace dw::story
