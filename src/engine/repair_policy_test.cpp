#include "engine/repair_policy.hpp"

#include <gmock/gmock.h>

namespace dw::engine {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;

// proves: E-98, E-189
TEST(RepairPolicy, HasTheDefaultsThatAreDocumentedAndNothingBelowOne) {
  EXPECT_EQ(RepairPolicy{}, (RepairPolicy{3, 5, 25, 60}));
  EXPECT_EQ(clamped({0, -4, 0, -1}), (RepairPolicy{1, 1, 1, 1}));
  EXPECT_EQ(clamped({7, 8, 9, 10}), (RepairPolicy{7, 8, 9, 10}));
}

// proves: E-99, E-190
TEST(RepairPolicy, TheFirstFailureToDispatchIsMadeGoodAtOnceAndLaterOnesRestLonger) {
  const RepairPolicy policy;
  std::vector<seconds> rests;
  for (int repairs = 0; repairs < 8; ++repairs) {
    rests.push_back(repair_backoff(policy, repairs, Trouble::dispatch));
  }
  EXPECT_THAT(rests, ElementsAre(seconds{0}, seconds{3}, seconds{6}, seconds{12}, seconds{24},
                                 seconds{48}, seconds{60}, seconds{60}));
  EXPECT_EQ(repair_backoff(policy, 1'000'000, Trouble::dispatch), seconds{60});
}

TEST(RepairPolicy, ARefusedClaimAlwaysWaits) {
  EXPECT_EQ(repair_backoff({}, 0, Trouble::claim), seconds{3});
  EXPECT_EQ(repair_backoff({}, 2, Trouble::claim), seconds{6});
}

RepairCandidate candidate(std::string scope, int since, std::string id) {
  return {std::move(scope), Timestamp{} + seconds{since}, Timestamp{}, std::move(id)};
}
std::string ids(const std::vector<RepairCandidate>& selected) {
  std::string text;
  for (const auto& each : selected) text += each.id + " ";
  return text;
}

// proves: E-101
TEST(SelectFairly, TakesOnePerScopeInTurnBeginningWithTheOldest) {
  EXPECT_EQ(repair_scope("", "", ""), "default:default:any");
  EXPECT_EQ(repair_scope("redis", "mail", "build-7"), "redis:mail:build-7");

  const std::vector<RepairCandidate> flood{candidate("a", 1, "a1"), candidate("a", 2, "a2"),
                                           candidate("a", 3, "a3"), candidate("a", 4, "a4"),
                                           candidate("c", 9, "c1"), candidate("b", 8, "b2"),
                                           candidate("b", 7, "b1")};
  EXPECT_EQ(ids(select_fairly(flood, 4)), "a1 b1 c1 a2 ");
  EXPECT_EQ(ids(select_fairly(flood, 100)), "a1 b1 c1 a2 b2 a3 a4 ");
  EXPECT_EQ(ids(select_fairly(flood, 0)), "");
}

TEST(SelectFairly, SettlesTiesByStartAndId) {
  EXPECT_EQ(ids(select_fairly({candidate("a", 1, "y"), candidate("a", 1, "x")}, 2)), "x y ");
}

}  // namespace
}  // namespace dw::engine
