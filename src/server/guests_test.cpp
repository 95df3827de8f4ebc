#include "server/guests.hpp"

#include <gtest/gtest.h>

namespace dw::server {
namespace {

TEST(Guests, AHouseWithoutAnyIsClosedAtOnce) {
  Guests guests;
  int alone = 0;
  EXPECT_TRUE(guests.close("shop", [&] { ++alone; }));
  EXPECT_EQ(alone, 1);
  EXPECT_EQ(guests.enter("shop"), nullptr);
  EXPECT_NE(guests.enter("other"), nullptr);
}

TEST(Guests, WhoIsInIsWaitedForAndNobodyElseGetsIn) {
  Guests guests;
  Stay ann = guests.enter("shop");
  Stay bob = guests.enter("shop");
  Stay elsewhere = guests.enter("other");
  int alone = 0;
  EXPECT_TRUE(guests.close("shop", [&] { ++alone; }));
  EXPECT_EQ(guests.enter("shop"), nullptr);
  ann.reset();
  EXPECT_EQ(alone, 0);
  bob.reset();
  EXPECT_EQ(alone, 1);
  EXPECT_EQ(guests.enter("shop"), nullptr) << "closed until it is opened";
  guests.open("shop");
  EXPECT_NE(guests.enter("shop"), nullptr);
}

TEST(Guests, OneAtATimeClosesIt) {
  Guests guests;
  const Stay ann = guests.enter("shop");
  EXPECT_TRUE(guests.close("shop", [] {}));
  EXPECT_FALSE(guests.close("shop", [] { ADD_FAILURE() << "the first one is told"; }));
}

TEST(Guests, WhoOpensItAgainKeepsThoseWhoAreIn) {
  Guests guests;
  Stay ann = guests.enter("shop");
  guests.close("shop", [] {});
  guests.open("shop");
  int alone = 0;
  guests.close("shop", [&] { ++alone; });
  EXPECT_EQ(alone, 0);
  ann.reset();
  EXPECT_EQ(alone, 1);
}

TEST(Guests, MayStayLongerThanTheHouse) {
  Stay ann;
  {
    Guests guests;
    ann = guests.enter("shop");
    guests.close("shop", [] { ADD_FAILURE() << "who asked is gone"; });
  }
  ann.reset();
}

}  // namespace
}  // namespace dw::server
