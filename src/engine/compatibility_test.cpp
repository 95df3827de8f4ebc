#include "engine/compatibility.hpp"

#include "history/event_builders.hpp"

#include <gmock/gmock.h>

namespace dw::engine {
namespace {

using namespace std::chrono_literals;
using story::at;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

WorkerHeartbeat worker(std::string id, std::vector<std::string> supported = {}) {
  WorkerHeartbeat row;
  row.worker_id = std::move(id);
  row.supported = std::move(supported);
  row.recorded_at = at("09:00");
  row.expires_at = at("09:00:30");
  return row;
}

TEST(Markers, AreAListWithoutBlanksAndRepetitions) {
  EXPECT_THAT(parse_markers(" build-1,build-2 ,, build-1\t"), ElementsAre("build-1", "build-2"));
  EXPECT_THAT(parse_markers("*"), ElementsAre("*"));
  EXPECT_THAT(parse_markers(" , "), IsEmpty());
}

TEST(Compatibility, IsWithOnesOwnMarkerUnlessMoreIsNamed) {
  EXPECT_THAT(compatibility_of(" build-2 ", "", "").supported, ElementsAre("build-2"));
  EXPECT_THAT(compatibility_of("build-2", "build-1", "").supported, ElementsAre("build-1"));
  EXPECT_THAT(compatibility_of("", "", " shop ").supported, IsEmpty());
  EXPECT_EQ(compatibility_of("build-2", "", " shop ").ns, "shop");
}

TEST(Compatibility, TakesWhatIsNotMarkedAndOtherwiseWhatItNames) {
  const auto some = compatibility_of("build-2", "build-1,build-2", "");
  EXPECT_TRUE(some.supports(""));
  EXPECT_TRUE(some.supports("build-1"));
  EXPECT_FALSE(some.supports("build"));
  EXPECT_FALSE(some.supports("build-10"));
  EXPECT_TRUE(compatibility_of("", "*", "").supports("build-10"));
  EXPECT_TRUE(compatibility_of("", "", "").supports(""));
  EXPECT_FALSE(compatibility_of("", "", "").supports("build-1"));
}

TEST(Heartbeat, IsWrittenAgainAfterAThirdOfItsLifeOrWhenItSaysSomethingElse) {
  const std::vector last{worker("w1", {"build-1"})};
  const auto again = [&](std::string_view time) {
    auto next = last;
    next.front().recorded_at = at(time);
    next.front().expires_at = at(time) + 30s;
    return next;
  };
  EXPECT_TRUE(must_write({}, again("09:00"), 30s, at("09:00")));
  EXPECT_FALSE(must_write(last, again("09:00:09"), 30s, at("09:00:09")));
  EXPECT_TRUE(must_write(last, again("09:00:10"), 30s, at("09:00:10")));

  auto changed = again("09:00:01");
  changed.front().supported.emplace_back("build-2");
  EXPECT_TRUE(must_write(last, changed, 30s, at("09:00:01")));
  auto more = again("09:00:01");
  more.push_back(more.front());
  more.back().queue = "orders";
  EXPECT_TRUE(must_write(last, more, 30s, at("09:00:01")));
}

TEST(Heartbeat, OfAShortLifeIsWrittenOnceASecondAtMost) {
  EXPECT_EQ(heartbeat_interval(30s), 10s);
  EXPECT_EQ(heartbeat_interval(2s), 1s);
}

// proves: E-104
TEST(FleetScope, OfANamespaceHasOnlyItsOwnWorkers) {
  auto ours = worker("w1");
  ours.ns = "shop";
  EXPECT_TRUE(in_scope(ours, {.ns = "shop"}, at("09:00")));
  EXPECT_FALSE(in_scope(ours, {.ns = "bank"}, at("09:00")));
  EXPECT_FALSE(in_scope(worker("w2"), {.ns = "shop"}, at("09:00")));
  EXPECT_TRUE(in_scope(ours, {}, at("09:00"))) << "no namespace is configured: all are ours";
}

TEST(FleetScope, MatchesAnyConnectionAndQueueWhereNoneIsNamed) {
  auto orders = worker("w1");
  orders.connection = "fast";
  orders.queue = "orders";
  EXPECT_TRUE(in_scope(orders, {.connection = "fast", .queue = "orders"}, at("09:00")));
  EXPECT_TRUE(in_scope(orders, {.queue = "orders"}, at("09:00")));
  EXPECT_TRUE(in_scope(orders, {}, at("09:00")));
  EXPECT_FALSE(in_scope(orders, {.queue = "mail"}, at("09:00")));
  EXPECT_FALSE(in_scope(orders, {.connection = "slow"}, at("09:00")));
  EXPECT_TRUE(in_scope(worker("w2"), {.connection = "slow", .queue = "mail"}, at("09:00")));
  EXPECT_EQ(scope_key("fast", "orders"), "fast:orders");
  EXPECT_EQ(scope_key("", ""), "*:*");
}

TEST(FleetScope, EndsWithTheHeartbeat) {
  EXPECT_TRUE(in_scope(worker("w1"), {}, at("09:00:29")));
  EXPECT_FALSE(in_scope(worker("w1"), {}, at("09:00:30")));
}

TEST(Fleet, RefusesAMarkOnlyWhenWorkersAreThereAndNoneTakesIt) {
  const std::vector old{worker("w1", {"build-1"}), worker("w2")};
  EXPECT_TRUE(fleet_refuses(old, "build-2"));
  EXPECT_FALSE(fleet_refuses(old, "build-1"));
  EXPECT_FALSE(fleet_refuses(old, ""));
  EXPECT_FALSE(fleet_refuses({}, "build-2"));
  EXPECT_FALSE(fleet_refuses(std::vector{worker("w3", {"*"})}, "build-2"));
}

}  // namespace
}  // namespace dw::engine
