#include "engine/given.hpp"

#include <gtest/gtest.h>

namespace dw::story {
namespace {

// proves: E-50
TEST(DecideRepair, GivesABlockedRunAnotherTry) {
  given({workflow_started("invoice")})
      .when(ParkWorkflowTask{.blocked = true}, at("09:00"))
      .then_open_tasks({"task1 09:00 workflow blocked"})
      .when(repair(), at("09:10"))
      .then({repair_requested(command("id1", 1), "repair_dispatched")})
      .then_accepted("repair_dispatched", 1)
      .then_tasks({"- task1 09:00"})
      .then_wakes()
      .then_status(history::RunStatus::pending);
}

TEST(DecideRepair, RecordsThatAHealthyRunNeedsNone) {
  given({workflow_started("invoice"), timer_scheduled("t1", 60s)})
      .when(repair(), at("09:00"))
      .then({repair_requested(command("id1", 1), "repair_not_needed")})
      .then_accepted("repair_not_needed", 1)
      .then_tasks({})
      .then_stays_parked();
}

TEST(DecideRepair, LeavesAnOrdinaryWorkflowTaskAlone) {
  given({workflow_started("invoice")})
      .when(ParkWorkflowTask{}, at("09:00"))
      .when(repair(), at("09:00"))
      .then({repair_requested(command("id1", 1), "repair_not_needed")})
      .then_open_tasks({"task1 09:00 workflow"});
}

// proves: E-158
TEST(DecideRepair, IsRefusedOnceTheRunIsClosed) {
  given({workflow_started("invoice"), workflow_completed()})
      .when(repair(), at("09:00"))
      .then({})
      .then_rejected("run_not_active", "rejected_not_active", 1)
      .then_stays_parked();
}

}  // namespace
}  // namespace dw::story
