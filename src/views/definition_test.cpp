#include "views/definition.hpp"

#include "views/looking.hpp"

#include <gmock/gmock.h>

namespace dw::views {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

history::WorkflowStarted started(std::optional<Declarations> declared) {
  history::WorkflowStarted start;
  start.fingerprint = "sha256:then";
  if (declared) start.declared = *std::move(declared);
  return start;
}

Declarations complete() {
  Declarations declared;
  declared.queries = {Contract{"balance", std::vector<Parameter>{}}};
  declared.signals = {Contract{"approve", std::nullopt}};
  declared.updates = {Contract{"top-up", std::vector<Parameter>{}}};
  return declared;
}

TEST(DeclaredTargets, AreWhatTheRunItselfRecorded) {  // proves: E-20
  const auto targets = declared_targets(started(complete()));
  EXPECT_EQ(targets.source, "durable_history");
  ASSERT_EQ(targets.queries.size(), 1u);
  EXPECT_EQ(to_json(targets.queries[0]),
            R"({"name":"balance","parameters":[],"has_contract":true})");
  EXPECT_EQ(to_json(targets.signals[0]),
            R"({"name":"approve","parameters":[],"has_contract":false})");
  EXPECT_EQ(*targets.updates[0].find("name"), Value{"top-up"});
}

TEST(DeclaredTargets, AreNoneWhereTheRecordHasAGap) {  // proves: E-20
  Declarations gap = complete();
  gap.updates.push_back(Contract{"withdraw", std::nullopt});
  for (const auto& start : {started(std::nullopt), started(gap)}) {
    const auto targets = declared_targets(start);
    EXPECT_EQ(targets.source, "unavailable");
    EXPECT_THAT(targets.queries, IsEmpty());
    EXPECT_THAT(targets.signals, IsEmpty());
    EXPECT_THAT(targets.updates, IsEmpty());
  }
}

TEST(Determinism, IsJudgedOnlyAgainstTheVeryCodeTheRunBeganWith) {  // proves: E-40
  const auto start = started(complete());
  EXPECT_EQ(determinism(start, "sha256:then").status, "clean");
  EXPECT_EQ(determinism(start, "sha256:then").source, "live_definition");

  const auto drifted = determinism(start, "sha256:now");
  EXPECT_EQ(drifted.status, "warning");
  EXPECT_EQ(drifted.source, "definition_drift");
  EXPECT_THAT(drifted.findings, ElementsAre("workflow_definition_drift"));

  EXPECT_EQ(determinism(start, std::nullopt).source, "unavailable");
  history::WorkflowStarted unmarked;
  EXPECT_EQ(determinism(unmarked, "sha256:now").status, "unavailable");
}

}  // namespace
}  // namespace dw::views
