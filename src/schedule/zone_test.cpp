// A zone turns instants into civil times and back, for as long as anybody asks.
#include "schedule/zone.hpp"

#include "schedule/zone_story.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace dw::schedule {
namespace {

using Kind = LocalMapping::Kind;

// ---- instants to offsets

TEST(Zone, UtcIsAlwaysTheSame) {
  const Zone utc = Zone::utc();
  EXPECT_EQ(utc.name(), "UTC");
  EXPECT_EQ(utc.offset_at(second_of("2026-07-01T00:00:00Z")), chrono::seconds{0});
  EXPECT_EQ(utc.next_transition(second_of("2026-07-01T00:00:00Z")), std::nullopt);
}

TEST(Zone, ChangesItsOffsetAtTheInstantOfTheChangeAndNotBefore) {
  const Zone& york = zone_named("America/New_York");
  EXPECT_EQ(york.offset_at(second_of("2026-03-08T06:59:59Z")), chrono::hours{-5});
  EXPECT_EQ(york.offset_at(second_of("2026-03-08T07:00:00Z")), chrono::hours{-4});
  EXPECT_EQ(york.offset_at(second_of("2026-11-01T05:59:59Z")), chrono::hours{-4});
  EXPECT_EQ(york.offset_at(second_of("2026-11-01T06:00:00Z")), chrono::hours{-5});
}

TEST(Zone, KnowsWhatComesNext) {
  const Zone& york = zone_named("America/New_York");
  const auto spring = york.next_transition(second_of("2026-01-01T00:00:00Z"));
  EXPECT_EQ(spring, (Transition{second_of("2026-03-08T07:00:00Z"), chrono::hours{-4}}));
  EXPECT_EQ(york.next_transition(spring->at),
            (Transition{second_of("2026-11-01T06:00:00Z"), chrono::hours{-5}}));
  EXPECT_EQ(zone_named("Europe/Istanbul").next_transition(second_of("2026-01-01T00:00:00Z")),
            std::nullopt);
}

TEST(Zone, DaylightSavingGoesOnAfterTheLastChangeThatIsListed) {
  const Zone& york = zone_named("America/New_York");
  for (const char* year : {"2038", "2040", "2099", "2400", "9998"}) {
    EXPECT_EQ(york.offset_at(second_of(fmt::format("{}-01-15T12:00:00Z", year))),
              chrono::hours{-5});
    EXPECT_EQ(york.offset_at(second_of(fmt::format("{}-07-15T12:00:00Z", year))),
              chrono::hours{-4});
  }
  EXPECT_EQ(york.next_transition(second_of("2040-01-01T00:00:00Z"))->at,
            second_of("2040-03-11T07:00:00Z"));
}

TEST(Zone, SummerOfTheSouthGoesOverTheTurnOfTheYear) {
  const Zone& sydney = zone_named("Australia/Sydney");
  EXPECT_EQ(sydney.offset_at(second_of("2050-01-01T00:00:00Z")), chrono::hours{11});
  EXPECT_EQ(sydney.offset_at(second_of("2050-07-01T00:00:00Z")), chrono::hours{10});
  EXPECT_EQ(sydney.offset_at(second_of("2050-12-31T23:59:59Z")), chrono::hours{11});
}

// ---- civil times to instants

TEST(Zone, MostCivilTimesComeOnce) {
  const auto noon = zone_named("America/New_York").instants_of(wall_clock("2026-07-04 12:00"));
  EXPECT_EQ(noon.kind, Kind::unique);
  EXPECT_EQ(noon.first, second_of("2026-07-04T16:00:00Z"));
}

TEST(Zone, ATimeThatIsSkippedHasTheEndAndTheLengthOfItsGap) {
  const Zone& york = zone_named("America/New_York");
  const auto skipped = york.instants_of(wall_clock("2026-03-08 02:30"));
  EXPECT_EQ(skipped.kind, Kind::gap);
  EXPECT_EQ(skipped.first, second_of("2026-03-08T07:00:00Z"));
  EXPECT_EQ(skipped.gap_length, chrono::hours{1});
  EXPECT_EQ(york.instants_of(wall_clock("2026-03-08 01:59")).kind, Kind::unique);
  EXPECT_EQ(york.instants_of(wall_clock("2026-03-08 03:00")).kind, Kind::unique);
}

TEST(Zone, ATimeThatComesTwiceHasBothInstants) {
  const Zone& york = zone_named("America/New_York");
  const auto twice = york.instants_of(wall_clock("2026-11-01 01:30"));
  EXPECT_EQ(twice.kind, Kind::overlap);
  EXPECT_EQ(twice.first, second_of("2026-11-01T05:30:00Z"));
  EXPECT_EQ(twice.second, second_of("2026-11-01T06:30:00Z"));
  EXPECT_EQ(york.instants_of(wall_clock("2026-11-01 00:59")).kind, Kind::unique);
  EXPECT_EQ(york.instants_of(wall_clock("2026-11-01 02:00")).kind, Kind::unique);
}

TEST(Zone, HalfHoursAndWholeDaysAreSkippedToo) {
  const auto half = zone_named("Australia/Lord_Howe").instants_of(wall_clock("2026-10-04 02:15"));
  EXPECT_EQ(half.kind, Kind::gap);
  EXPECT_EQ(half.gap_length, chrono::minutes{30});
  const auto day = zone_named("Pacific/Apia").instants_of(wall_clock("2011-12-30 12:00"));
  EXPECT_EQ(day.kind, Kind::gap);
  EXPECT_EQ(day.gap_length, chrono::hours{24});
}

// ---- rules that go on

struct RuleStory {
  const char* says;
  const char* rule;
  const char* at;
  chrono::seconds offset;
};

TEST(PosixRule, SaysTheOffsetOfEveryInstant) {
  const RuleStory stories[] = {
      {"counted westwards", "EST5", "2050-01-01T00:00:00Z", chrono::hours{-5}},
      {"a name of digits", "<+0530>-5:30", "2050-01-01T00:00:00Z", chrono::minutes{330}},
      {"the day before the change", "CET-1CEST,M3.5.0,M10.5.0/3", "2050-03-27T00:59:59Z",
       chrono::hours{1}},
      {"the last Sunday of March", "CET-1CEST,M3.5.0,M10.5.0/3", "2050-03-27T01:00:00Z",
       chrono::hours{2}},
      {"a change before midnight", "<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2050-03-27T00:59:59Z",
       chrono::hours{-2}},
      {"which is the day before", "<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2050-03-27T01:00:00Z",
       chrono::hours{-1}},
      {"a change at hour 26", "IST-2IDT,M3.4.4/26,M10.5.0", "2050-03-25T00:00:00Z",
       chrono::hours{3}},
      {"and not before", "IST-2IDT,M3.4.4/26,M10.5.0", "2050-03-24T23:59:59Z", chrono::hours{2}},
      {"winter time as the exception", "IST-1GMT0,M10.5.0,M3.5.0/1", "2050-01-01T00:00:00Z",
       chrono::seconds{0}},
      {"and summer as the standard", "IST-1GMT0,M10.5.0,M3.5.0/1", "2050-07-01T00:00:00Z",
       chrono::hours{1}},
      {"day 60 without leap days is 1 March", "AAA0BBB,J60/0,J300", "2048-03-01T00:00:00Z",
       chrono::hours{1}},
      {"29 February is not counted", "AAA0BBB,J60/0,J300", "2048-02-29T23:59:59Z",
       chrono::seconds{0}},
      {"day 59 counted from 0 is 29 February", "AAA0BBB,59/0,300", "2048-02-29T00:00:00Z",
       chrono::hours{1}},
      {"daylight time all year", "XXX3EDT4,0/0,J365/23", "2050-01-01T03:00:00Z", chrono::hours{-4}},
      {"in the middle of it, too", "XXX3EDT4,0/0,J365/23", "2050-06-01T03:00:00Z",
       chrono::hours{-4}},
  };
  for (const RuleStory& story : stories) {
    const auto zone = make_zone("Test/Rule", {.footer = story.rule});
    ASSERT_TRUE(zone.has_value()) << story.rule;
    EXPECT_EQ(zone->offset_at(second_of(story.at)), story.offset) << story.says;
  }
}

TEST(PosixRule, ThatCancelsItselfOutNeverChanges) {
  const auto zone = make_zone("Test/All_Year", {.footer = "XXX3EDT4,0/0,J365/23"});
  EXPECT_EQ(zone->next_transition(second_of("2050-06-01T00:00:00Z")), std::nullopt);
}

TEST(PosixRule, WhoseDaylightTimeEndsAsItBeginsHasNone) {
  const auto zone = make_zone("Test/Never", {.footer = "AAA0BBB,M1.4.1,M1.4.1/3"});
  EXPECT_EQ(zone->offset_at(second_of("2050-06-01T00:00:00Z")), chrono::seconds{0});
  EXPECT_EQ(zone->next_transition(second_of("2050-06-01T00:00:00Z")), std::nullopt);
}

// Daylight time from the last Monday of a month to the fourth of the next year's: a year in which
// both are one day has none.
TEST(PosixRule, ThatChangesInFewYearsIsFollowedToTheNextOne) {
  const auto in_january = make_zone("Test/Some", {.footer = "AAA0BBB,M1.5.1,M1.4.1/3"});
  EXPECT_EQ(in_january->next_transition(second_of("1970-06-01T00:00:00Z")),
            (Transition{second_of("1972-01-31T02:00:00Z"), chrono::hours{1}}));
  // Once in twenty-eight years, and not in 2100.
  const auto in_february = make_zone("Test/Rare", {.footer = "AAA0BBB,M2.5.1,M2.4.1/3"});
  const Period before = in_february->period_at(second_of("2090-06-01T00:00:00Z"));
  EXPECT_EQ(before.begin, second_of("2073-02-27T02:00:00Z"));
  EXPECT_EQ(before.end, second_of("2112-02-29T02:00:00Z"));
  const Period during = in_february->period_at(before.end);
  EXPECT_EQ(during.begin, before.end);
  EXPECT_EQ(during.end, second_of("2113-02-27T02:00:00Z"));
}

TEST(PosixRule, IsRefusedWhenItIsNone) {
  for (const char* rule :
       {"E5", "EST", "EST5EDT", "EST5EDT,M3.2.0", "EST5EDT,M13.2.0,M11.1.0",
        "EST5EDT,M3.6.0,M11.1.0", "EST5EDT,M3.2.7,M11.1.0", "EST5EDT,J0,J1", "EST5EDT,366,1",
        "EST25", "<+03-3", "EST5x", "EST5EDT,M3.2.0/168,M11.1.0", "EST5EDT,M3.2.0,M11.1.0,",
        ":America/New_York"}) {
    EXPECT_FALSE(make_zone("Test/Rule", {.footer = rule}).has_value()) << rule;
  }
}

// ---- files

std::string big_endian_bytes(std::uint64_t value, int width) {
  std::string bytes;
  for (int i = width; i-- > 0;) bytes += static_cast<char>(value >> (8 * i) & 0xff);
  return bytes;
}

std::string header_of(char version, std::uint32_t leaps, std::uint32_t times, std::uint32_t types) {
  std::string bytes = "TZif";
  bytes += version;
  bytes += std::string(15, '\0');
  for (const std::uint32_t count : {0U, 0U, leaps, times, types, 4U}) {
    bytes += big_endian_bytes(count, 4);
  }
  return bytes;
}

std::string type_of(std::int32_t offset) {
  return big_endian_bytes(static_cast<std::uint32_t>(offset), 4) + std::string(2, '\0');
}

// One change at instant 0, from +1 h to +2 h, and no further.
std::string old_file() {
  return header_of('\0', 0, 1, 2) + big_endian_bytes(0, 4) + '\1' + type_of(3600) + type_of(7200) +
         std::string("ABC\0", 4);
}

std::string new_file(std::string_view footer) {
  return header_of('2', 0, 0, 1) + type_of(0) + std::string(4, '\0') + header_of('2', 0, 1, 2) +
         big_endian_bytes(0, 8) + '\1' + type_of(3600) + type_of(7200) + std::string("ABC\0", 4) +
         std::string{footer};
}

TEST(ZoneFile, OfTheFirstVersionEndsWithItsLastChange) {
  const auto zone = parse_zone("Test/Old", old_file());
  ASSERT_TRUE(zone.has_value()) << zone.error().message;
  EXPECT_EQ(zone->offset_at(chrono::sys_seconds{chrono::seconds{-1}}), chrono::hours{1});
  EXPECT_EQ(zone->offset_at(chrono::sys_seconds{chrono::seconds{0}}), chrono::hours{2});
  EXPECT_EQ(zone->offset_at(second_of("2100-01-01T00:00:00Z")), chrono::hours{2});
}

TEST(ZoneFile, OfLaterVersionsHasALineThatGoesOn) {
  const auto fixed = parse_zone("Test/New", new_file("\n<+02>-2\n"));
  ASSERT_TRUE(fixed.has_value()) << fixed.error().message;
  EXPECT_EQ(fixed->data().footer, "<+02>-2");
  const auto none = parse_zone("Test/New", new_file("\n\n"));
  ASSERT_TRUE(none.has_value()) << none.error().message;
  EXPECT_EQ(none->offset_at(second_of("2100-01-01T00:00:00Z")), chrono::hours{2});
}

// Found by the fuzzer: the rule knows what it says itself of the time before, which the file
// denies.
TEST(ZoneFile, KnowsWhatWasBeforeItsLastChangeThoughTheRuleChangesThenToo) {
  const auto zone = parse_zone("Test/New", new_file("\nXXX0EDT4,0/0,J365/23\n"));
  ASSERT_TRUE(zone.has_value()) << zone.error().message;
  const Period period = zone->period_at(chrono::sys_seconds{chrono::seconds{0}});
  EXPECT_EQ(period.begin, chrono::sys_seconds{chrono::seconds{0}});
  EXPECT_EQ(period.before, chrono::hours{1});
  EXPECT_EQ(period.offset, chrono::hours{-4});
}

TEST(ZoneFile, IsRefusedWhereverItEndsTooEarly) {
  const std::string whole = new_file("\n<+02>-2\n");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const auto zone = parse_zone("Test/Cut", whole.substr(0, length));
    ASSERT_FALSE(zone.has_value()) << length;
    EXPECT_EQ(zone.error().code, ErrorCode::invalid_argument);
  }
}

TEST(ZoneFile, IsRefusedWhenItContradictsItself) {
  struct Damage {
    const char* says;
    std::string bytes;
  };
  std::string wrong_type = old_file();
  wrong_type[48] = '\2';
  const Damage damages[] = {
      {"no TZif", "GIF89a" + std::string(60, '\0')},
      {"no offset", header_of('\0', 0, 0, 0) + "ABC" + '\0'},
      {"an offset that is not there", wrong_type},
      {"an offset of days", header_of('\0', 0, 0, 1) + type_of(200'000) + "ABC" + '\0'},
      {"changes out of order", header_of('\0', 0, 2, 1) + big_endian_bytes(5, 4) +
                                   big_endian_bytes(5, 4) + std::string(2, '\0') + type_of(0) +
                                   "ABC" + '\0'},
      {"counts beyond all bytes", header_of('\0', 0, 0xffffffff, 1) + type_of(0)},
      {"a footer that is no rule", new_file("\nnonsense\n")},
  };
  for (const Damage& damage : damages) {
    EXPECT_FALSE(parse_zone("Test/Damaged", damage.bytes).has_value()) << damage.says;
  }
}

TEST(ZoneFile, WithLeapSecondsIsNotTakenForOneWithout) {
  const auto zone =
      parse_zone("right/UTC", header_of('\0', 1, 0, 1) + type_of(0) + "ABC" + std::string(9, '\0'));
  ASSERT_FALSE(zone.has_value());
  EXPECT_NE(zone.error().message.find("leap seconds"), std::string::npos);
}

}  // namespace
}  // namespace dw::schedule
