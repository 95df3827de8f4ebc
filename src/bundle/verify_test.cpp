#include "bundle/verify.hpp"

#include "bundle/bundled.hpp"
#include "bundle/integrity.hpp"
#include "bundle/read.hpp"
#include "bundle/tree.hpp"
#include "engine/arbitrary_history.hpp"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

namespace dw::story {
namespace {

using bundle::verify_bundle;

std::string a_bundle(const bundle::Options& options = {}) {
  return exported(looking_at({start_accepted(command("c1", 1)), workflow_started("invoice"),
                              activity_scheduled("a1"), on("09:01", activity_started("a1", "at1")),
                              on("09:02", activity_completed("a1", "at1", "7")),
                              workflow_completed("\"d\xc3\xb6ne\"")}),
                  options);
}

// What the verifier finds in this text, one line each: "error integrity.missing".
std::vector<std::string> findings(const std::string& text,
                                  const bundle::VerifyOptions& options = {}) {
  std::vector<std::string> lines;
  for (const auto& found : verify_bundle(text, options).findings) {
    lines.push_back((found.severity == bundle::Severity::error     ? "error "
                     : found.severity == bundle::Severity::warning ? "warning "
                                                                   : "info ") +
                    found.rule);
  }
  return lines;
}
using Lines = std::vector<std::string>;

TEST(Verify, FindsNothingWrongWithWhatWeExport) {
  EXPECT_EQ(findings(a_bundle()), Lines{});
  EXPECT_EQ(findings(a_bundle({.pretty = true})), Lines{});
  EXPECT_EQ(verify_bundle(a_bundle()).status(), "ok");
}

RC_GTEST_PROP(Verify, WhateverHappenedIsExportedWholeAndReadBack, ()) {
  const Story story = arbitrary_story();
  bundle::Inputs inputs;
  inputs.run_id = story.run().id;
  inputs.commits = committed(story.events());
  inputs.sight.now = story.state().last_recorded_at;
  const auto text = bundle::export_bundle(inputs);
  RC_ASSERT(text.has_value());
  RC_ASSERT(verify_bundle(*text).findings.empty());  // so no key is said twice, either
  const auto read = bundle::events_of_bundle(*text);
  RC_ASSERT(read && read->run_id == inputs.run_id && read->commits == inputs.commits);
}

TEST(Verify, ReportsInTheFormThatOtherVerifiersUse) {
  const Value report = to_value(verify_bundle(changed(a_bundle(), "schema", "other")));
  EXPECT_EQ(text_at(report, "schema"), "durable-workflow.v2.history-bundle-verification");
  EXPECT_EQ(text_at(report, "schema_version"), "1");
  EXPECT_EQ(text_at(report, "status"), "failed");
  EXPECT_EQ(shown(report, "bundle.run_id"), "run1");
  EXPECT_EQ(shown(report, "bundle.history_event_count"), "6");
  EXPECT_EQ(shown(report, "summary.errors"), "2");
  EXPECT_EQ(shown(report, "summary.findings_by_rule"),
            R"({"bundle.schema_unexpected":1,"integrity.checksum_mismatch":1})");
  EXPECT_EQ(shown(report, "findings.0.rule"), "bundle.schema_unexpected");
  EXPECT_EQ(shown(report, "findings.0.severity"), "error");
  EXPECT_EQ(shown(report, "integrity.checksum_matches"), "false");
}

TEST(Verify, WhatIsNoBundleIsUnparseable) {
  EXPECT_EQ(findings("{"), Lines{"error bundle.unparseable"});
  EXPECT_EQ(findings("[]"), Lines{"error bundle.unparseable"});
  EXPECT_EQ(verify_bundle("{}").status(), "failed");
}

TEST(Verify, AKeySaidTwiceIsRefusedWhereverItIs) {
  auto text = a_bundle();
  text.insert(text.find(R"("run_id")"), R"("run_id":"another",)");
  EXPECT_THAT(findings(text), ::testing::Contains("error bundle.duplicate_key"));
  EXPECT_EQ(verify_bundle(text).findings.front().path, "workflow.run_id");
  EXPECT_FALSE(bundle::events_of_bundle(text));
}

TEST(Verify, TheEnvelopeIsOurs) {
  EXPECT_EQ(findings(without_and_sealed(a_bundle(), "schema")),
            Lines{"error bundle.schema_missing"});
  EXPECT_EQ(findings(changed_and_sealed(a_bundle(), "schema", "x")),
            Lines{"error bundle.schema_unexpected"});
  EXPECT_EQ(findings(without_and_sealed(a_bundle(), "schema_version")),
            Lines{"error bundle.schema_version_missing"});
  EXPECT_EQ(findings(changed_and_sealed(a_bundle(), "schema_version", 3)),
            Lines{"error bundle.schema_version_unsupported"});
  EXPECT_EQ(findings(changed_and_sealed(a_bundle(), "exported_at", "")),
            Lines{"warning bundle.exported_at_missing"});
}

TEST(Verify, SectionsAreThereAndOfTheirKind) {
  EXPECT_EQ(findings(without_and_sealed(a_bundle(), "links")),
            Lines{"error bundle.section_missing"});
  EXPECT_EQ(findings(changed_and_sealed(a_bundle(), "timers", Value::Map{})),
            Lines{"error bundle.section_invalid"});
  EXPECT_EQ(findings(without_and_sealed(a_bundle(), "waits")),
            Lines{"warning bundle.section_missing"});
}

TEST(Verify, TheRunIsNamed) {
  EXPECT_EQ(findings(changed_and_sealed(a_bundle(), "workflow.instance_id", "")),
            Lines{"error workflow.instance_id_missing"});
  EXPECT_EQ(findings(changed_and_sealed(a_bundle(), "workflow.workflow_type", Value{})),
            Lines{"error workflow.workflow_type_missing"});
  EXPECT_TRUE(verify_bundle(changed_and_sealed(a_bundle(), "workflow.run_id", ""))
                  .has("workflow.run_id_missing"));
}

TEST(Verify, TheDedupeKeyIsThatOfTheRun) {
  EXPECT_EQ(findings(changed_and_sealed(a_bundle(), "dedupe_key", "run1:5:now")),
            Lines{"error bundle.dedupe_key_mismatch"});
}

// proves: E-118
TEST(Verify, ARunIsCompleteWhenItHasEnded) {
  EXPECT_EQ(findings(changed_and_sealed(a_bundle(), "history_complete", false)),
            Lines{"error bundle.history_complete_mismatch"});
  const auto open = exported(looking_at({workflow_started("invoice")}));
  EXPECT_EQ(findings(changed_and_sealed(open, "history_complete", true)),
            Lines{"error bundle.history_complete_mismatch"});
  EXPECT_EQ(findings(changed_and_sealed(open, "workflow.status", "completed")),
            Lines{"error bundle.history_complete_mismatch"});
}

std::string without_event(std::size_t index) {
  const auto bundle = parse_json(a_bundle());
  auto events = *bundle->find("history_events")->if_array();
  events.erase(events.begin() + static_cast<std::ptrdiff_t>(index));
  return changed_and_sealed(a_bundle(), "history_events", std::move(events));
}

TEST(Verify, SequencesHaveNoGapAndGoForward) {
  EXPECT_TRUE(verify_bundle(without_event(2)).has("history_events.sequence_gap"));
  EXPECT_TRUE(verify_bundle(without_event(0)).has("history_events.sequence_gap"));
  EXPECT_TRUE(verify_bundle(without_event(5)).has("history_events.truncated"));
  EXPECT_TRUE(verify_bundle(changed_and_sealed(a_bundle(), "history_events.3.sequence", 2))
                  .has("history_events.sequence_not_monotonic"));
  EXPECT_TRUE(verify_bundle(changed_and_sealed(a_bundle(), "history_events.3.sequence", "4"))
                  .has("history_events.sequence_missing"));
  EXPECT_TRUE(verify_bundle(changed_and_sealed(a_bundle(), "workflow.last_history_sequence", 5))
                  .has("workflow.last_history_sequence_stale"));
}

TEST(Verify, EventsAreObjectsWithATypeWeKnowAndAnIdOfTheirOwn) {
  EXPECT_TRUE(verify_bundle(changed_and_sealed(a_bundle(), "history_events.3", 7))
                  .has("history_events.entry_invalid"));
  EXPECT_TRUE(verify_bundle(changed_and_sealed(a_bundle(), "history_events.3.type", ""))
                  .has("history_events.type_missing"));
  EXPECT_TRUE(verify_bundle(changed_and_sealed(a_bundle(), "history_events.3.type", "Dreamt"))
                  .has("history_events.type_unknown"));
  const auto id = shown(*parse_json(a_bundle()), "history_events.0.id");
  EXPECT_TRUE(verify_bundle(changed_and_sealed(a_bundle(), "history_events.1.id", id))
                  .has("history_events.id_duplicate"));
}

TEST(Verify, FactsTellTheStoryThatIsShown) {
  EXPECT_EQ(findings(changed_and_sealed(a_bundle(), "history_events.4.payload.result", "8")),
            Lines{"error history_events.facts_mismatch"});
  EXPECT_EQ(findings(changed_and_sealed(a_bundle(), "history_events.4.facts.result.blob", "8")),
            Lines{"error history_events.facts_mismatch"});
  EXPECT_EQ(findings(changed_and_sealed(a_bundle(), "history_events.4.facts.activity_execution_id",
                                        "a9")),
            Lines{"error history_events.facts_invalid"});
  EXPECT_EQ(findings(changed_and_sealed(a_bundle(), "history_events.4.facts.type", "Dreamt")),
            Lines{"error history_events.facts_invalid"});
}

TEST(Verify, AKeyThatAnotherBuildShowsIsNoLie) {
  const auto text = a_bundle();
  Value payload = *bundle::find_at(*parse_json(text), "history_events.4.payload");
  payload.if_map()->emplace_back("weather", "fine");
  EXPECT_EQ(findings(changed_and_sealed(text, "history_events.4.payload", payload)), Lines{});
  std::erase_if(*payload.if_map(),
                [](const auto& entry) { return entry.first == "attempt_number"; });
  EXPECT_EQ(findings(changed_and_sealed(text, "history_events.4.payload", payload)), Lines{});
}

TEST(Verify, ABundleWithoutFactsCanBeReadAndNotReplayed) {
  const auto text = changed_and_sealed(a_bundle(), "history_events.4.facts", Value{});
  EXPECT_THAT(findings(text), ::testing::Contains("info history_events.facts_missing"));
}

TEST(Verify, EveryAcceptedCommandIsToldByAnEvent) {
  EXPECT_EQ(findings(changed_and_sealed(a_bundle(), "commands.0.id", "c9")),
            Lines{"warning commands.history_event_missing"});
  EXPECT_EQ(findings(changed_and_sealed(a_bundle(), "commands.0.id", "")),
            Lines{"error commands.id_missing"});
}

std::string manifest_entry(const std::string& text, std::string_view path, std::string_view key) {
  const auto bundle = parse_json(text);
  const auto& entries = *bundle::find_at(*bundle, "payload_manifest.entries")->if_array();
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (text_at(entries[i], "path") == path) {
      return "payload_manifest.entries." + std::to_string(i) + "." + std::string{key};
    }
  }
  return {};
}

// proves: E-112
TEST(Verify, TheManifestListsWhatIsThereAndNothingElse) {
  const auto text = a_bundle();
  EXPECT_EQ(findings(changed_and_sealed(text, "payload_manifest.entries", Value::Array{})).front(),
            "warning payload_manifest.entry_missing");
  EXPECT_EQ(findings(changed_and_sealed(text, "activities.0.result", Value{})),
            Lines{"error payload_manifest.payload_missing"});
  const auto codec = manifest_entry(text, "activities.0.result", "codec");
  EXPECT_EQ(findings(changed_and_sealed(text, codec, "")),
            Lines{"error payload_manifest.codec_missing"});
}

TEST(Verify, AvroIsListedWithItsFramingAndTheSchemaOfItsFingerprint) {
  auto start = workflow_started("invoice");
  start.arguments = *encode(Value::Array{1});
  const auto text = exported(looking_at({start}));
  EXPECT_EQ(findings(text), Lines{});
  const auto of = [&](std::string_view key) {
    return manifest_entry(text, "payloads.arguments.data", key);
  };
  EXPECT_EQ(findings(changed_and_sealed(text, of("avro_framing"), "")),
            Lines{"warning payload_manifest.avro_framing_missing"});
  EXPECT_EQ(findings(changed_and_sealed(text, of("writer_schema"), "{}")),
            Lines{"error payload_manifest.writer_schema_fingerprint_mismatch"});
}

TEST(Verify, ARedactionNamesItsPaths) {
  const auto pass = [](const Value& value, const bundle::Slot&) { return value; };
  const auto text = a_bundle({.redactor = pass, .policy = "none"});
  EXPECT_EQ(findings(text), Lines{});
  EXPECT_EQ(findings(changed_and_sealed(text, "redaction.paths", Value::Array{})),
            Lines{"info redaction.empty_paths"});
}

// proves: E-117
TEST(Verify, AChangedByteIsFoundByTheChecksum) {
  EXPECT_EQ(findings(changed(a_bundle(), "workflow.business_key", "other")),
            Lines{"error integrity.checksum_mismatch"});
  EXPECT_EQ(findings(changed(a_bundle(), "integrity.checksum", "")),
            Lines{"error integrity.checksum_missing"});
  EXPECT_EQ(findings(changed(a_bundle(), "integrity", Value{})), Lines{"error integrity.missing"});
  EXPECT_EQ(findings(changed(a_bundle(), "integrity.canonicalization", "other")),
            Lines{"error integrity.canonicalization_unsupported"});
  EXPECT_EQ(findings(changed(a_bundle(), "integrity.checksum_algorithm", "md5")),
            Lines{"error integrity.checksum_algorithm_unsupported"});
}

// proves: E-117
TEST(Verify, ASignatureIsCheckedWithItsKey) {
  const auto text = a_bundle({.key = {"hush", "k1"}});
  const auto bundle = parse_json(text);
  EXPECT_EQ(shown(*bundle, "integrity.signature_algorithm"), "hmac-sha256");
  EXPECT_EQ(shown(*bundle, "integrity.key_id"), "k1");
  EXPECT_EQ(findings(text, {.signing_key = "hush"}), Lines{});
  EXPECT_EQ(findings(text), Lines{"warning integrity.signature_key_unavailable"});
  EXPECT_EQ(findings(text, {.signing_key = "other"}), Lines{"error integrity.signature_mismatch"});
  EXPECT_EQ(findings(changed(text, "integrity.signature", ""), {.signing_key = "hush"}),
            Lines{"error integrity.signature_missing"});
  EXPECT_EQ(
      findings(changed(text, "integrity.signature_algorithm", "rsa"), {.signing_key = "hush"}),
      Lines{"error integrity.signature_algorithm_unsupported"});
}

TEST(Verify, AKeyWithoutAnIdIsNotNamed) {
  const auto told = [](const bundle::SigningKey& key) {
    return verify_bundle(a_bundle({.key = key})).findings.front().message;
  };
  EXPECT_EQ(told({"hush", "k1"}), "the bundle is signed, and key \"k1\" was not given");
  EXPECT_EQ(told({"hush", ""}), "the bundle is signed, and its key was not given");
}

TEST(Verify, AChangeIsFoundEvenWhenTheChecksumWasMadeAnew) {
  const auto text = a_bundle({.key = {"hush", "k1"}});
  Value forged = *parse_json(changed(text, "workflow.business_key", "other"));
  const auto checksum = shown(bundle::integrity_of(forged, {}), "checksum");
  EXPECT_EQ(
      findings(changed(to_json(forged), "integrity.checksum", checksum), {.signing_key = "hush"}),
      Lines{"error integrity.signature_mismatch"});
}

TEST(Verify, WhoeverDemandsASignatureGetsOne) {
  EXPECT_EQ(findings(a_bundle(), {.signing_key = "hush", .require_signature = true}),
            Lines{"error integrity.signature_required"});
  EXPECT_EQ(shown(*parse_json(a_bundle()), "integrity.signature"), "null");
  EXPECT_EQ(shown(*parse_json(a_bundle()), "integrity.signature_algorithm"), "null");
  EXPECT_EQ(shown(*parse_json(a_bundle()), "integrity.key_id"), "null");
}

}  // namespace
}  // namespace dw::story
