// Whoever asks again about a task that it completed is told what it was told.
#include "engine/receipts.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace dw::engine {
namespace {

using history::RunStatus;
using ::testing::Eq;
using ::testing::Optional;

TEST(Receipts, EachSaysWhatItsWorkerWasTold) {
  auto receipts = with_receipt("", "task-1#1@w1", RunStatus::waiting);
  receipts = with_receipt(receipts, "task-2#1@w1", RunStatus::completed);
  EXPECT_THAT(find_receipt(receipts, "task-1#1@w1"), Optional(RunStatus::waiting));
  EXPECT_THAT(find_receipt(receipts, "task-2#1@w1"), Optional(RunStatus::completed));
}

TEST(Receipts, AnotherAttemptOrWorkerHasNone) {
  const auto receipts = with_receipt("", "task-1#1@w1", RunStatus::waiting);
  for (const auto* other : {"task-1#2@w1", "task-1#1@w2", "task-2#1@w1", ""}) {
    EXPECT_THAT(find_receipt(receipts, other), Eq(std::nullopt)) << other;
  }
  EXPECT_THAT(find_receipt("", "task-1#1@w1"), Eq(std::nullopt));
}

TEST(Receipts, EveryStatusIsKept) {
  for (const auto told : {RunStatus::pending, RunStatus::waiting, RunStatus::completed,
                          RunStatus::failed, RunStatus::cancelled, RunStatus::terminated}) {
    EXPECT_THAT(find_receipt(with_receipt("", "task-1", told), "task-1"), Optional(told));
  }
}

TEST(Receipts, TheOldestGoesWhenThereAreTooMany) {
  std::string receipts;
  for (std::size_t i = 0; i <= most_receipts; ++i) {
    receipts = with_receipt(receipts, fmt::format("task-{}", i), RunStatus::waiting);
  }
  EXPECT_THAT(find_receipt(receipts, "task-0"), Eq(std::nullopt));
  EXPECT_THAT(find_receipt(receipts, "task-1"), Optional(RunStatus::waiting));
  EXPECT_THAT(receipts.size(), Eq(most_receipts * 12));
}

}  // namespace
}  // namespace dw::engine
