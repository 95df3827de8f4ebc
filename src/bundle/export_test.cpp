#include "bundle/export.hpp"

#include "bundle/bundled.hpp"
#include "bundle/tree.hpp"
#include "history/one_of_each.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dw::story {
namespace {

using bundle::find_at;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> keys(const Value& value) {
  std::vector<std::string> names;
  for (const auto& [key, entry] : *value.if_map()) names.push_back(key);
  return names;
}
std::size_t count(const Value& bundle, std::string_view list) {
  const Value* found = find_at(bundle, list);
  return found && found->if_array() ? found->if_array()->size() : 0;
}

history::WorkflowStarted described_start() {
  auto start = workflow_started("invoice");
  start.workflow_class = "app::Invoice";
  start.business_key = "order-7";
  start.labels = {{"team", "billing"}};
  start.memo = Value{Value::Map{{"note", "first"}}};
  start.search_attributes = Value{Value::Map{{"amount", 12}}};
  start.compatibility = "build-3";
  start.queue = "invoices";
  start.arguments = json("[42]");
  return start;
}

Looking paid_invoice() {
  return looking_at({start_accepted(command("c1", 1)), described_start(), activity_scheduled("a1"),
                     on("09:01", activity_started("a1", "at1")),
                     on("09:02", activity_completed("a1", "at1", "\"paid\"")),
                     workflow_completed("\"done\""),
                     on("09:05", archive_requested(command("c2", 2), "archived", "old")),
                     workflow_archived("c2", "old")})
      .at_time("10:00");
}

// proves: E-111
TEST(Export, IsAVersionedDocumentWithEverySection) {
  const Value bundle = bundle_of(paid_invoice());
  EXPECT_THAT(
      keys(bundle),
      ElementsAre("schema", "schema_version", "exported_at", "dedupe_key", "history_complete",
                  "workflow", "payloads", "summary", "selected_run", "history_events", "waits",
                  "timeline", "linked_intakes_scope", "linked_intakes", "commands", "signals",
                  "updates", "tasks", "activities", "timers", "failures", "links", "redaction",
                  "codec_schemas", "payload_manifest", "integrity"));
  EXPECT_EQ(shown(bundle, "schema"), "durable-workflow.v2.history-export");
  EXPECT_EQ(shown(bundle, "schema_version"), "1");
  EXPECT_EQ(shown(bundle, "exported_at"), format_timestamp(at("10:00")));
  EXPECT_EQ(shown(bundle, "dedupe_key"), "run1:8:" + format_timestamp(at("09:05")));
  EXPECT_EQ(count(bundle, "history_events"), 8u);
  EXPECT_EQ(count(bundle, "timeline"), 8u);
  EXPECT_EQ(count(bundle, "waits"), 1u);
  EXPECT_EQ(count(bundle, "commands"), 2u);
  EXPECT_EQ(count(bundle, "activities"), 1u);
}

// proves: E-111
TEST(Export, KeepsWhatIsKnownOfTheRunItsArchiveAndItsRawPayloads) {
  const Value bundle = bundle_of(paid_invoice());
  const Value& workflow = *bundle.find("workflow");
  EXPECT_EQ(text_at(workflow, "run_id"), "run1");
  EXPECT_EQ(text_at(workflow, "instance_id"), workflow_started("invoice").instance_id.str());
  EXPECT_EQ(text_at(workflow, "workflow_type"), "invoice");
  EXPECT_EQ(text_at(workflow, "workflow_class"), "app::Invoice");
  EXPECT_EQ(text_at(workflow, "business_key"), "order-7");
  EXPECT_EQ(text_at(workflow, "visibility_labels"), R"({"team":"billing"})");
  EXPECT_EQ(text_at(workflow, "memo"), R"({"note":"first"})");
  EXPECT_EQ(text_at(workflow, "search_attributes"), R"({"amount":12})");
  EXPECT_EQ(text_at(workflow, "status"), "completed");
  EXPECT_EQ(text_at(workflow, "status_bucket"), "completed");
  EXPECT_EQ(text_at(workflow, "closed_reason"), "completed");
  EXPECT_EQ(text_at(workflow, "archived_at"), format_timestamp(at("09:05")));
  EXPECT_EQ(text_at(workflow, "archive_command_id"), "c2");
  EXPECT_EQ(text_at(workflow, "archive_reason"), "old");
  EXPECT_EQ(text_at(workflow, "compatibility"), "build-3");
  EXPECT_EQ(text_at(workflow, "queue"), "invoices");
  EXPECT_EQ(text_at(workflow, "last_history_sequence"), "8");
  EXPECT_EQ(text_at(workflow, "last_progress_at"), format_timestamp(at("09:05")));
  EXPECT_EQ(text_at(workflow, "declared_contract_source"), "unavailable");
  EXPECT_EQ(shown(bundle, "payloads.codec"), "json");
  EXPECT_EQ(shown(bundle, "payloads.arguments.data"), "[42]");
  EXPECT_EQ(shown(bundle, "payloads.output.available"), "true");
  EXPECT_EQ(shown(bundle, "payloads.output.data"), "\"done\"");
}

TEST(Export, SaysHowTheCurrentRunWasFound) {
  const auto run = paid_invoice();
  EXPECT_EQ(shown(bundle_of(run), "workflow.current_run_id"), "run1");
  EXPECT_EQ(shown(bundle_of(run), "workflow.current_run_source"), "run_order_fallback");

  auto next = workflow_started("invoice");
  history::Lineage lineage;
  lineage.continued_from_run_id = "run0";
  next.lineage = lineage;
  EXPECT_EQ(shown(bundle_of(looking_at({next})), "workflow.current_run_source"),
            "continue_as_new_lineage");

  auto inputs = inputs_of(run);
  inputs.sight.current_run = RunId{"run2"};
  inputs.current_run_source = "continue_as_new_lineage";
  const auto bundle = parse_json(*bundle::export_bundle(inputs));
  EXPECT_EQ(shown(*bundle, "workflow.is_current_run"), "false");
  EXPECT_EQ(shown(*bundle, "workflow.current_run_id"), "run2");
  EXPECT_EQ(shown(*bundle, "workflow.current_run_source"), "continue_as_new_lineage");
}

// proves: E-118
TEST(Export, IsCompleteForARunThatEndedAndASnapshotForOneThatDidNot) {
  EXPECT_EQ(shown(bundle_of(paid_invoice()), "history_complete"), "true");
  const auto open =
      bundle_of(looking_at({workflow_started("invoice"), timer_scheduled("t1", 60s)}));
  EXPECT_EQ(shown(open, "history_complete"), "false");
  EXPECT_EQ(shown(open, "payloads.output.available"), "false");
  EXPECT_EQ(shown(open, "payloads.output.data"), "null");
  EXPECT_EQ(shown(open, "tasks.0.timer_id"), "t1");
}

TEST(Export, CountsTheSizeOfTheHistoryItself) {
  const auto run = paid_invoice();
  const auto bundle = bundle_of(run.seen([](views::Sight& sight) { sight.history_bytes = 1; }));
  std::size_t bytes = 0;
  for (const auto& commit : committed(run.events())) bytes += bundle::stored_form(commit).size();
  EXPECT_EQ(shown(bundle, "summary.history_size_bytes"), std::to_string(bytes));
}

TEST(Export, ShowsEveryEventRenderedAndWithItsFacts) {
  const Value bundle = bundle_of(paid_invoice());
  const Value& event = *find_at(bundle, "history_events.4");
  EXPECT_EQ(text_at(event, "type"), "ActivityCompleted");
  EXPECT_EQ(text_at(event, "sequence"), "5");
  EXPECT_EQ(text_at(event, "recorded_at"), format_timestamp(at("09:02")));
  EXPECT_EQ(shown(event, "payload.activity.arguments"), "[]");
  EXPECT_EQ(shown(event, "facts.activity_execution_id"), "a1");
  EXPECT_EQ(shown(event, "facts.type"), "ActivityCompleted");
  EXPECT_EQ(shown(bundle, "history_events.0.workflow_command_id"), "c1");
  EXPECT_NE(shown(bundle, "history_events.0.id"), shown(bundle, "history_events.1.id"));
  EXPECT_EQ(shown(bundle, "history_events.0.commit_id"),
            shown(bundle, "history_events.1.commit_id"));
}

// proves: E-113
TEST(Export, ActivitiesAndAttemptsComeFromHistoryAndSaySo) {
  const Value bundle = bundle_of(paid_invoice());
  const Value& activity = *find_at(bundle, "activities.0");
  EXPECT_EQ(text_at(activity, "history_authority"), "typed_history");
  EXPECT_EQ(text_at(activity, "diagnostic_only"), "false");
  EXPECT_EQ(text_at(activity, "status"), "completed");
  EXPECT_EQ(text_at(activity, "arguments"), "[]");
  EXPECT_EQ(text_at(activity, "payload_codec"), "json");
  EXPECT_EQ(text_at(activity, "result"), "\"paid\"");
  EXPECT_EQ(shown(activity, "attempts.0.id"), "at1");
  EXPECT_EQ(shown(activity, "attempts.0.status"), "completed");
}

// proves: E-113
TEST(Export, ARowThatHistoryDoesNotKnowIsADiagnosisAndNoResult) {
  const auto run = looking_at({workflow_started("invoice"), timer_scheduled("t1", 60s)})
                       .with(views::ForeignRows{
                           .activities = {{ActivityId{"a9"}, 1, "charge", "completed"}},
                           .timers = {{TimerId{"t1"}, 1, "fired"}, {TimerId{"t9"}, 2, "fired"}}});
  const Value bundle = bundle_of(run);
  EXPECT_EQ(shown(bundle, "activities.0.status"), "unsupported");
  EXPECT_EQ(shown(bundle, "activities.0.diagnostic_only"), "true");
  EXPECT_EQ(shown(bundle, "activities.0.history_unsupported_reason"),
            "terminal_activity_row_without_typed_history");
  EXPECT_EQ(shown(bundle, "activities.0.result"), "null");
  EXPECT_EQ(shown(bundle, "activities.0.closed_at"), "null");
  // What history knows does not yield to the row; the row only shows beside it.
  EXPECT_EQ(shown(bundle, "timers.0.status"), "pending");
  EXPECT_EQ(shown(bundle, "timers.0.source_status"), "pending");
  EXPECT_EQ(shown(bundle, "timers.0.row_status"), "fired");
  EXPECT_EQ(shown(bundle, "timers.1.status"), "unsupported");
  EXPECT_EQ(shown(bundle, "timers.1.row_status"), "fired");
}

// proves: E-114
TEST(Export, LinksAreTheProjectedLineageAndNothingElse) {
  const auto run = looking_at(
      {workflow_started("invoice"), child_scheduled("k1"), child_run_started("k1", "run7")});
  auto inputs = inputs_of(run);
  inputs.sources.lineage = "workflow_run_lineage_entries";
  const auto bundle = parse_json(*bundle::export_bundle(inputs));
  const Value lineage = to_value(views::lineage_of(run.account()));
  EXPECT_EQ(shown(*bundle, "links.children"), to_json(*lineage.find("continued_workflows")));
  EXPECT_EQ(shown(*bundle, "links.parents"), to_json(*lineage.find("parents")));
  EXPECT_EQ(shown(*bundle, "links.projection_source"), "workflow_run_lineage_entries");
  EXPECT_EQ(shown(*bundle, "selected_run.lineage_projection_source"),
            "workflow_run_lineage_entries");
  EXPECT_EQ(shown(*bundle, "links.children.0.history_authority"), "typed_history");
  EXPECT_EQ(shown(*bundle, "links.children.0.diagnostic_only"), "false");
}

TEST(Export, NamesWhereTheRowsOfTheSelectedRunCameFrom) {
  const Value bundle = bundle_of(paid_invoice());
  EXPECT_EQ(shown(bundle, "selected_run.waits_projection_source"), "workflow_run_waits_rebuilt");
  EXPECT_EQ(shown(bundle, "selected_run.timers_projection_rebuild_reasons"),
            R"(["missing_projection"])");
}

TEST(Export, FailuresKeepTheirIdNameMessagePropertiesSourceAndOrder) {
  auto declined = failure("declined", "app::Declined", "app.declined");
  declined.properties = json(R"({"card":4})");
  const Value bundle = bundle_of(
      looking_at({workflow_started("invoice"), activity_scheduled("a1"),
                  activity_started("a1", "at1"), activity_failed("a1", "at1", "f1", declined),
                  failure_handled("f1", 1), workflow_failed("f2", failure("gave up"))}));
  ASSERT_EQ(count(bundle, "failures"), 2u);
  const Value& first = *find_at(bundle, "failures.0");
  EXPECT_EQ(text_at(first, "id"), "f1");
  EXPECT_EQ(text_at(first, "exception_type"), "app.declined");
  EXPECT_EQ(text_at(first, "exception_class"), "app::Declined");
  EXPECT_EQ(text_at(first, "message"), "declined");
  EXPECT_EQ(text_at(first, "source_kind"), "activity_execution");
  EXPECT_EQ(text_at(first, "source_id"), "a1");
  EXPECT_EQ(text_at(first, "handled"), "true");
  EXPECT_EQ(shown(first, "exception_payload.properties"), R"({"card":4})");
  EXPECT_EQ(text_at(first, "history_authority"), "typed_history");
  EXPECT_EQ(shown(bundle, "failures.1.id"), "f2");
  EXPECT_EQ(shown(bundle, "failures.1.handled"), "false");
}

TEST(Export, SaysEveryKeyOnceAndKeepsWhereAFailureComesFrom) {
  auto start = workflow_started("invoice");
  start.memo = Value{Value::Map{{"note", "first"}, {"by", "ann"}, {"note", "second"}}};
  auto lost = failure("gave up");
  lost.stack_trace = "at charge\n";
  const Value bundle = bundle_of(looking_at(
      {start, activity_scheduled("a1"), activity_started("a1", "at1"),
       activity_failed("a1", "at1", "f1", full_failure()), workflow_failed("f2", lost)}));
  EXPECT_EQ(bundle::find_twin(bundle), std::nullopt);
  EXPECT_EQ(shown(bundle, "failures.1.trace_preview"), "at charge\n");
  EXPECT_EQ(shown(bundle, "workflow.memo"), R"({"by":"ann","note":"second"})");
}

// proves: E-74
TEST(Export, FailuresSayWhatTheyWouldBeThrownAsHere) {
  const auto run =
      looking_at({workflow_started("invoice"),
                  workflow_failed("f1", failure("no", "app::Declined", "app.declined"))});
  auto inputs = inputs_of(run);
  inputs.resolve = [](const history::Failure& failed) {
    return bundle::FailureResolution{"exception_type", "resolved " + failed.exception_class};
  };
  const auto bundle = parse_json(*bundle::export_bundle(inputs));
  EXPECT_EQ(shown(*bundle, "failures.0.exception_resolution_source"), "exception_type");
  EXPECT_EQ(shown(*bundle, "failures.0.exception_resolved_class"), "resolved app::Declined");
  EXPECT_EQ(shown(bundle_of(run), "failures.0.exception_resolution_source"), "null");
}

TEST(Export, PrettyIsTheSameBundle) {
  const auto run = paid_invoice();
  const auto pretty = exported(run, {.pretty = true});
  EXPECT_NE(pretty.find("\n  \"schema_version\": 1,\n"), std::string::npos);
  EXPECT_EQ(*parse_json(pretty), bundle_of(run));
}

TEST(Export, RefusesAHistoryThatCouldNotHaveHappened) {
  bundle::Inputs inputs;
  inputs.run_id = RunId{"run1"};
  inputs.commits = committed(told({workflow_started("invoice"), timer_fired("t1")}));
  const auto text = bundle::export_bundle(inputs);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().code, ErrorCode::corrupt_history);
}

}  // namespace
}  // namespace dw::story
