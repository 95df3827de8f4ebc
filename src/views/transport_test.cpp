#include "views/transport.hpp"

#include "views/looking.hpp"

#include <gtest/gtest.h>

namespace dw::story {
namespace {

using views::Delivery;
using views::Sight;
using views::Transport;

std::string state_at(std::string_view time, const Delivery& row) {
  Sight sight;
  sight.now = at(time);
  return views::transport_state(row, sight);
}
Delivery published(Transport transport) {
  auto row = workflow_task_row();
  row.transport = std::move(transport);
  return row;
}

TEST(TransportState, OfARowThatWorkersFindThemselvesIsNeverOverdue) {
  EXPECT_EQ(state_at("08:59", workflow_task_row()), "scheduled");
  EXPECT_EQ(state_at("09:00", workflow_task_row()), "ready");
  EXPECT_EQ(state_at("10:00", workflow_task_row()), "ready");
}

TEST(TransportState, OfALeaseEndsAtItsLastMoment) {
  const auto row = leased(workflow_task_row(), "09:05");
  EXPECT_EQ(state_at("09:04:59", row), "leased");
  EXPECT_EQ(state_at("09:05", row), "lease_expired");
}

TEST(TransportState, OfABlockedTaskIsBlocked) {
  auto row = workflow_task_row();
  row.task.status = engine::TaskStatus::blocked;
  EXPECT_EQ(state_at("09:00", row), "replay_blocked");
}

TEST(TransportState, IsOverdueThreeSecondsAfterItWasPublished) {
  const auto row = published({.created_at = at("08:00"), .last_dispatched_at = at("09:00")});
  EXPECT_EQ(state_at("09:00:02", row), "ready");
  EXPECT_EQ(state_at("09:00:03", row), "dispatch_overdue");
  EXPECT_EQ(state_at("09:00:03", published({.created_at = at("09:00:01")})), "ready");
}

TEST(TransportState, OfAFailedDispatchBacksOffFirst) {
  Transport failed{.last_dispatch_attempt_at = at("09:00"),
                   .last_dispatch_error = "refused",
                   .repair_available_at = at("09:00:06")};
  EXPECT_EQ(state_at("09:00:05", published(failed)), "repair_backoff");
  EXPECT_EQ(state_at("09:00:06", published(failed)), "dispatch_failed");
  EXPECT_EQ(state_at("08:00", published(failed)), "repair_backoff");
  failed.last_dispatched_at = at("09:00:01");  // a later attempt got through
  EXPECT_EQ(state_at("09:00:02", published(failed)), "ready");
}

TEST(TransportState, OfAFailedClaimBacksOffFirst) {
  const Transport failed{.last_claim_failed_at = at("09:00"),
                         .last_claim_error = "no backend",
                         .repair_available_at = at("09:00:06")};
  EXPECT_EQ(state_at("09:00:05", published(failed)), "repair_backoff");
  EXPECT_EQ(state_at("09:00:06", published(failed)), "claim_failed");
}

TEST(NextTask, IsALeasedOneBeforeAnEarlierReadyOne) {
  Sight sight;
  sight.now = at("09:00");
  auto late = leased(workflow_task_row("late"), "09:05");
  late.task.key.available_at = at("09:01");
  auto watch = leased(workflow_task_row("deadline"), "09:05");
  watch.task.subject = "deadline";
  sight.deliveries = {workflow_task_row("early"), late, watch};
  EXPECT_EQ(views::next_task(sight)->task.key.id.view(), "run1.late");
}

}  // namespace
}  // namespace dw::story
