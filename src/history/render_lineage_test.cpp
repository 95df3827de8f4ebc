#include "history/render_story_test.hpp"

namespace dw::story {
namespace {

using history::ParentClosePolicy;

// ---- the start

// proves: E-17, E-165
TEST(RenderedStart, ShowsItsContractsWithEveryKey) {
  const auto payload = last_payload({full_start()});
  EXPECT_EQ(text_at(payload, "workflow_definition_fingerprint"), "sha256:12");
  EXPECT_EQ(json_at(payload, "declared_queries"), R"(["status"])");
  EXPECT_EQ(json_at(payload, "declared_query_contracts"), R"([{"name":"status","parameters":[]}])");
  EXPECT_EQ(json_at(payload, "declared_signals"), R"(["approve","anything"])");
  EXPECT_EQ(payload.at("declared_signal_contracts").as_array().size(), 1u)
      << "the other takes whatever comes";
  EXPECT_EQ(json_at(payload, "declared_updates"), R"(["raise"])");
  EXPECT_EQ(json_at(payload, "declared_update_contracts"),
            R"([{"name":"raise","parameters":[{"name":"amount","position":0,"required":false,)"
            R"("variadic":false,"default_available":true,"default":5,"type":"int",)"
            R"("allows_null":false}]}])");
  EXPECT_EQ(text_at(payload, "declared_entry_method"), "handle");
  EXPECT_EQ(text_at(payload, "declared_entry_mode"), "canonical");
  EXPECT_EQ(text_at(payload, "declared_entry_declaring_class"), "app::Invoice");
}

TEST(RenderedStart, OfAnUnknownTypeShowsNoContracts) {
  for (const auto& entry : last_payload({workflow_started("order")})) {
    EXPECT_FALSE(entry.key().starts_with("declared_")) << entry.key();
  }
}

TEST(RenderedStart, OfAChildNamesItsParent) {
  auto start = workflow_started("payment");
  start.lineage = history::Lineage{"order-1", "run0", 3, "k1", {}, {}};
  const auto payload = last_payload({start});
  EXPECT_EQ(text_at(payload, "parent_workflow_instance_id"), "order-1");
  EXPECT_EQ(text_at(payload, "parent_workflow_run_id"), "run0");
  EXPECT_EQ(json_at(payload, "parent_sequence"), "3");
  EXPECT_EQ(text_at(payload, "child_call_id"), "k1");
  EXPECT_EQ(text_at(payload, "workflow_link_id"), "k1");
  EXPECT_FALSE(payload.contains("continued_from_run_id"));
}

TEST(RenderedStart, OfAChildThatIsRunAgainNamesTheRunThatFailed) {
  auto start = workflow_started("payment");
  history::Lineage lineage{"order-1", "run0", 3, "k1", {}, {}};
  lineage.retry_policy = tries(3);
  lineage.retry_attempt = 2;
  lineage.retry_of_run_id = "run7";
  start.lineage = std::move(lineage);
  const auto payload = last_payload({start});
  EXPECT_EQ(json_at(payload, "retry_attempt"), "2");
  EXPECT_EQ(text_at(payload, "retry_of_child_workflow_run_id"), "run7");
  EXPECT_EQ(json_at(payload.at("retry_policy").as_object(), "max_attempts"), "3");
}

TEST(RenderedStart, OfANextRunShowsWhatItTookOver) {
  const auto payload = last_payload({full_start()});
  EXPECT_EQ(text_at(payload, "continued_from_run_id"), "run8");
  EXPECT_EQ(text_at(payload, "workflow_link_id"), "run1") << "as WorkflowContinuedAsNew names it";
  EXPECT_EQ(text_at(payload, "compatibility"), "build-7");
  EXPECT_EQ(text_at(payload, "execution_deadline_at"), "2026-04-10T10:00:00.000000Z");
  EXPECT_EQ(json_at(payload, "inherited_children"),
            R"([{"child_call_id":"k7","child_workflow_instance_id":"payment-k7",)"
            R"("child_workflow_run_id":"run7","parent_close_policy":"terminate"},)"
            R"({"child_call_id":"k8","child_workflow_instance_id":"payment-k8",)"
            R"("child_workflow_run_id":"run9","parent_close_policy":"abandon"}])");
}

TEST(RenderedStart, KeepsTheDeadlineOfItsFirstRun) {
  auto start = workflow_started("order");
  start.execution_timeout = 3600;
  start.execution_deadline = at("09:30");
  EXPECT_EQ(text_at(last_payload({start}), "execution_deadline_at"), "2026-04-10T09:30:00.000000Z");
}

// ---- children

TEST(RenderedChild, IsNamedTheSameInEachOfItsEvents) {
  const auto shown =
      payloads(run_with(child_scheduled("k1", "payment", ParentClosePolicy::terminate),
                        child_run_started("k1", "run2"), child_run_started("k1", "run3", 2),
                        on("09:05", child_run_completed("k1", "run3", "5"))));
  for (std::size_t i = 1; i < shown.size(); ++i) {
    EXPECT_EQ(json_at(shown[i], "sequence"), "1");
    EXPECT_EQ(text_at(shown[i], "workflow_link_id"), "k1");
    EXPECT_EQ(text_at(shown[i], "child_call_id"), "k1");
    EXPECT_EQ(text_at(shown[i], "child_workflow_instance_id"), "payment-k1");
    EXPECT_EQ(text_at(shown[i], "child_workflow_type"), "payment");
  }
  EXPECT_EQ(text_at(shown[1], "parent_close_policy"), "terminate");
  EXPECT_EQ(text_at(shown[2], "parent_close_policy"), "terminate");
  EXPECT_EQ(text_at(shown[3], "child_workflow_run_id"), "run3");
  EXPECT_EQ(json_at(shown[3], "child_run_number"), "2");
  EXPECT_EQ(text_at(shown[4], "child_status"), "completed");
  EXPECT_EQ(text_at(shown[4], "closed_reason"), "completed");
  EXPECT_EQ(text_at(shown[4], "closed_at"), "2026-04-10T09:05:00.000000Z");
  EXPECT_EQ(text_at(shown[4], "output"), "5");
  EXPECT_EQ(text_at(shown[4], "result"), "5");
  EXPECT_EQ(text_at(shown[4], "payload_codec"), "json");
}

TEST(RenderedChild, TakenOverFromTheRunBeforeIsNoStepToWorkers) {
  auto start = workflow_started("invoice");
  history::Lineage lineage;
  lineage.continued_from_run_id = "run0";
  lineage.inherited_children = {{ChildCallId{"k1"}, InstanceId{"payment-k1"}, RunId{"run2"}, {}}};
  start.lineage = std::move(lineage);
  const std::vector<Told> story{start, child_run_started("k1", "run3", 2),
                                child_run_completed("k1", "run3", "5"), child_scheduled("k2"),
                                child_run_started("k2", "run4")};
  const auto types = [&](history::Reader to, std::string_view key) {
    std::vector<std::string> texts;
    for (const auto& event : shown(story, to)) texts.push_back(text_at(event, key));
    return texts;
  };
  EXPECT_EQ(types(history::Reader::worker, "event_type"),
            (std::vector<std::string>{"WorkflowStarted", "InheritedChildRunStarted",
                                      "InheritedChildRunCompleted", "ChildWorkflowScheduled",
                                      "ChildRunStarted"}));
  EXPECT_EQ(types(history::Reader::anybody, "type").at(2), "ChildRunCompleted");
}

TEST(RenderedChild, AFailureOfAChildIsHandledAsOne) {
  struct End {
    history::EventBody event;
    const char* status;
    const char* category;
    const char* propagation;
    const char* exception_class;
  };
  for (const auto& end :
       std::vector<End>{{child_run_failed("k1", "run2", "f1", full_failure(), "timed_out"),
                         "failed", "child_workflow", "child", "app::Broken<int>"},
                        {child_run_cancelled("k1", "run2", "f1"), "cancelled", "cancelled",
                         "cancelled", "WorkflowCancelled"},
                        {child_run_terminated("k1", "run2", "f1"), "terminated", "terminated",
                         "terminated", "WorkflowTerminated"}}) {
    const auto shown = payloads(run_with(child_scheduled("k1"), child_run_started("k1", "run2"),
                                         end.event, failure_handled("f1", 1)));
    EXPECT_EQ(text_at(shown[3], "child_status"), end.status);
    EXPECT_EQ(text_at(shown[3], "failure_category"), end.category);
    EXPECT_EQ(text_at(shown[3], "exception_class"), end.exception_class);
    EXPECT_EQ(text_at(shown[4], "failure_category"), end.category);
    EXPECT_EQ(text_at(shown[4], "source_kind"), "child_workflow_run");
    EXPECT_EQ(text_at(shown[4], "source_id"), "run2");
    EXPECT_EQ(text_at(shown[4], "propagation_kind"), end.propagation);
    EXPECT_EQ(text_at(shown[4], "exception_class"), end.exception_class);
    EXPECT_EQ(text_at(shown[4], "message"), text_at(shown[3], "message"));
  }
}

TEST(RenderedChild, TakenOverFromTheRunBeforeIsNoStepOfThisOne) {
  const auto payload = last_payload({full_start(), child_run_completed("k7", "run7")});
  EXPECT_FALSE(payload.contains("sequence"));
  EXPECT_EQ(text_at(payload, "child_workflow_instance_id"), "payment-k7");
}

TEST(RenderedChild, AClosePolicySaysWhomItReachedAndWhy) {
  const auto shown = payloads(run_with(
      child_scheduled("k1"), child_run_started("k1", "run2"), child_scheduled("k2"),
      child_run_started("k2", "run3"), workflow_completed(),
      parent_close_policy_applied("k1", "run2"), parent_close_policy_failed("k2", "run3", "gone")));
  EXPECT_EQ(boost::json::serialize(shown[6]),
            R"({"child_instance_id":"payment-k1","child_run_id":"run2",)"
            R"("policy":"request_cancel","reason":"the parent closed"})");
  EXPECT_EQ(boost::json::serialize(shown[7]),
            R"({"child_instance_id":"payment-k2","child_run_id":"run3",)"
            R"("policy":"request_cancel","reason":"the parent closed","error":"gone"})");
}

// ---- the end, and after it

TEST(RenderedEnd, ANextRunIsNamedWithItsLink) {
  EXPECT_EQ(boost::json::serialize(last_payload(run_with(workflow_continued_as_new("run2")))),
            R"({"sequence":1,"continued_to_run_id":"run2","continued_to_run_number":2,)"
            R"("workflow_link_id":"run2","closed_reason":"continued"})");
}

TEST(RenderedEnd, AnArchivedRunSaysWhoAsked) {
  const auto events =
      shown(run_with(workflow_completed(), archive_requested(command("c2", 2), "archived", "old"),
                     workflow_archived("c2", "old")));
  const auto& asked = events[2].at("payload").as_object();
  EXPECT_EQ(text_at(asked, "command_type"), "archive");
  EXPECT_EQ(text_at(asked, "outcome"), "archived");
  EXPECT_EQ(text_at(asked, "reason"), "old");
  EXPECT_EQ(text_at(events[3], "workflow_command_id"), "c2");
  EXPECT_EQ(json_at(events[3], "payload"),
            R"({"workflow_command_id":"c2","workflow_instance_id":"invoice-1",)"
            R"("workflow_run_id":"run1","archive_command_id":"c2","reason":"old"})");
}

}  // namespace
}  // namespace dw::story
