#include "core/ulid.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <vector>

namespace dw {
namespace {

using namespace std::chrono_literals;

constexpr Timestamp noon = std::chrono::sys_days{std::chrono::year{2026} / 4 / 10} + 12h;

TEST(Ulid, BeginsWithItsMillisecond) {
  SeededRandom random{1};
  UlidSource source{random};
  EXPECT_EQ(source.next(from_micros(1'469'918'176'385'000)).substr(0, 10), "01ARYZ6S41");
}

TEST(Ulid, IsTheSameForTheSameSeedAndTime) {
  SeededRandom one{7};
  SeededRandom other{7};
  EXPECT_EQ(UlidSource{one}.next(noon), UlidSource{other}.next(noon));
}

TEST(Ulid, KeepsSortingWhenTheClockStandsStillOrStepsBack) {
  SeededRandom random{2};
  UlidSource source{random};
  const auto first = source.next(noon);
  const auto second = source.next(noon);
  const auto third = source.next(noon - 1h);
  const auto fourth = source.next(noon - 1h + 5ms);
  const auto fifth = source.next(noon + 1ms);
  EXPECT_LT(first, second);
  EXPECT_LT(second, third);
  EXPECT_LT(third, fourth);
  EXPECT_LT(fourth, fifth);
}

TEST(Ulid, SurvivesClocksThatAreFarOff) {
  SeededRandom random{3};
  UlidSource source{random};
  auto last = source.next(Timestamp::min());
  for (const auto at :
       {from_micros(-1), from_micros(0), noon, Timestamp::max(), Timestamp::max()}) {
    const auto next = source.next(at);
    EXPECT_TRUE(is_ulid(next));
    EXPECT_LT(last, next);
    last = next;
  }
}

// The worst a random source can do: every fresh id just below the headroom, every step maximal.
TEST(Ulid, CarriesIntoTheUpperBitsWithoutReachingTheTime) {
  struct AllOnes final : Random {
    std::uint64_t next() override { return ~std::uint64_t{0}; }
  } random;
  UlidSource source{random};
  auto last = source.next(noon);
  const auto time = last.substr(0, 10);
  for (int i = 0; i < 100'000; ++i) {
    const auto next = source.next(noon);
    ASSERT_LT(last, next);
    last = next;
  }
  EXPECT_EQ(last.substr(0, 10), time);
}

TEST(Ulid, IsRecognisedInItsCanonicalFormOnly) {
  EXPECT_TRUE(is_ulid("01ARYZ6S41TSV4RRFFQ69G5FAV"));
  EXPECT_TRUE(is_ulid("7ZZZZZZZZZZZZZZZZZZZZZZZZZ"));
  for (const auto* text :
       {"", "01ARYZ6S41TSV4RRFFQ69G5FA", "01ARYZ6S41TSV4RRFFQ69G5FAVX",
        "8ZZZZZZZZZZZZZZZZZZZZZZZZZ", "01aryz6s41tsv4rrffq69g5fav", "01ARYZ6S41TSV4RRFFQ69G5FAI",
        "01ARYZ6S41TSV4RRFFQ69G5FAU", "01ARYZ6S41TSV4RRFFQ69G5FA\xff"}) {
    EXPECT_FALSE(is_ulid(text)) << text;
  }
}

TEST(UlidOffset, CountsUpAndCarries) {
  EXPECT_EQ(ulid_offset("01ARYZ6S41TSV4RRFFQ69G5FAV", 0), "01ARYZ6S41TSV4RRFFQ69G5FAV");
  EXPECT_EQ(ulid_offset("01ARYZ6S41TSV4RRFFQ69G5FAV", 1), "01ARYZ6S41TSV4RRFFQ69G5FAW");
  EXPECT_EQ(ulid_offset("01ARYZ6S41TSV4RRFFQ69G5ZZZ", 1), "01ARYZ6S41TSV4RRFFQ69G6000");
  EXPECT_EQ(ulid_offset("01ARYZ6S410000000000000000", 0xffff'ffff), "01ARYZ6S410000000003ZZZZZZ");
}

TEST(UlidOffsetDeathTest, StopsAtWhatIsNoUlid) {
  EXPECT_DEATH(ulid_offset("order-42", 1), "not a ULID");
  EXPECT_DEATH(ulid_offset("7ZZZZZZZZZZZZZZZZZZZZZZZZZ", 1), "past the last ULID");
}

RC_GTEST_PROP(UlidProperty, IdsSortInTheOrderTheyWereMinted, (std::uint64_t seed)) {
  SeededRandom random{seed};
  UlidSource source{random};
  auto at = noon;
  auto last = source.next(at);
  // Steps in microseconds either way: within a millisecond, across some, and an hour back.
  for (const auto step : *rc::gen::container<std::vector<std::int64_t>>(
           rc::gen::oneOf(rc::gen::inRange<std::int64_t>(-2'000, 2'000),
                          rc::gen::just<std::int64_t>(-3'600'000'000)))) {
    at += Duration{step};
    const auto next = source.next(at);
    RC_ASSERT(is_ulid(next));
    RC_ASSERT(last < next);
    last = next;
  }
}

RC_GTEST_PROP(UlidProperty, PartsOfAnIdSortBetweenItAndTheNext, (std::uint64_t seed)) {
  SeededRandom random{seed};
  UlidSource source{random};
  const auto commit = source.next(noon);
  const auto next_commit = source.next(noon - 1s);
  const auto one = *rc::gen::inRange<std::uint32_t>(0, 1 << 24);
  const auto other = *rc::gen::inRange<std::uint32_t>(0, 1 << 24);
  RC_ASSERT(commit <= ulid_offset(commit, one));
  RC_ASSERT(ulid_offset(commit, one) < next_commit);
  RC_ASSERT((one < other) == (ulid_offset(commit, one) < ulid_offset(commit, other)));
  RC_ASSERT(ulid_offset(ulid_offset(commit, one), other) == ulid_offset(commit, one + other));
}

TEST(Ulid, TheFloorOfAMomentSortsBeforeWhatIsMintedThen) {
  SeededRandom random{1};
  UlidSource source{random};
  const auto before = source.next(noon - 1ms);
  const auto then = source.next(noon);
  EXPECT_TRUE(is_ulid(ulid_floor(noon)));
  EXPECT_LT(before, ulid_floor(noon));
  EXPECT_LE(ulid_floor(noon), then);
  EXPECT_EQ(ulid_floor(Timestamp::min()), std::string(26, '0'));
}

TEST(Ulid, ADigestSpellsTheSameOneEveryTime) {
  EXPECT_EQ(ulid_from(std::string(16, '\0')), std::string(26, '0'));
  EXPECT_EQ(ulid_from(std::string(16, '\xff')), "7" + std::string(25, 'Z'));
  EXPECT_EQ(ulid_from(std::string(15, '\0') + '\x21'), std::string(24, '0') + "11");
}

}  // namespace
}  // namespace dw
