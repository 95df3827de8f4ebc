// The words of iCalendar.
#include "schedule/ics_text.hpp"

#include "schedule/guard_story.hpp"

#include <gmock/gmock.h>

namespace dw::schedule {
namespace {

using ::testing::ElementsAre;
using ::testing::FieldsAre;
using ::testing::Pair;

TEST(IcsText, FoldedLinesAreOneAndKeepTheirNumbers) {
  const auto lines = unfolded_lines("A:1\r\n\r\nB:2\r\n  3\n\t4\n\nC:5");
  EXPECT_THAT(lines, ElementsAre(FieldsAre(1, "A:1"), FieldsAre(3, "B:2 34"), FieldsAre(7, "C:5")));
}

TEST(IcsText, AFoldMayCutACharacter) {
  EXPECT_THAT(unfolded_lines("A:\xc3\n \xa7"), ElementsAre(FieldsAre(1, "A:ç")));
}

TEST(IcsText, PropertiesHaveParametersThatMayBeQuoted) {
  const auto property = parse_ics_property({7, R"(dtstart;tzid="Odd;Name:x";VALUE=DATE:2026:1)"});
  ASSERT_TRUE(property);
  EXPECT_EQ(property->name, "DTSTART");
  EXPECT_EQ(property->value, "2026:1");
  EXPECT_EQ(property->line, 7u);
  EXPECT_THAT(property->parameters, ElementsAre(Pair("TZID", "Odd;Name:x"), Pair("VALUE", "DATE")));
  EXPECT_EQ(property->find_parameter("RANGE"), nullptr);
}

TEST(IcsText, EscapesAreUndone) {
  EXPECT_EQ(unescaped_ics_text(R"(a\, b\; c\\ d\ne\)"), "a, b; c\\ d e\\");
}

TEST(IcsText, DurationsAreReadAsTheyAreWritten) {
  using std::chrono::days;
  using std::chrono::hours;
  using std::chrono::minutes;
  using std::chrono::seconds;
  EXPECT_EQ(find_ics_duration("P1D"), days{1});
  EXPECT_EQ(find_ics_duration("+P2W"), days{14});
  EXPECT_EQ(find_ics_duration("P1DT2H3M4S"), days{1} + hours{2} + minutes{3} + seconds{4});
  EXPECT_EQ(find_ics_duration("PT90M"), minutes{90});
  for (const auto* text : {"", "P", "PT", "P1", "1D", "P1DT", "PT1D", "P1H", "P1D1D", "PT1S1H",
                           "P-1D", "-P1D", "P1.5D", "PTT1H", "P1234567890D"}) {
    EXPECT_EQ(find_ics_duration(text), std::nullopt) << text;
  }
}

TEST(IcsText, MomentsAreDaysOrTimes) {
  EXPECT_TRUE(find_ics_moment("20261224")->is_day);
  EXPECT_EQ(find_ics_moment("20261224T130059")->wall, at_wall("2026-12-24 13:00:59"));
  EXPECT_TRUE(find_ics_moment("20261224T130000Z")->is_utc);
  for (const auto* text :
       {"", "2026", "20261324", "20261224Z", "20261224T", "20261224T1300", "20261224T130060",
        "20261224T240000", "2026-12-24", "20261224T130000+3"}) {
    EXPECT_FALSE(find_ics_moment(text)) << text;
  }
}

}  // namespace
}  // namespace dw::schedule
