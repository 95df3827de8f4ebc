// One way to write each spec, read again as the same.
#include "schedule/canonical.hpp"

#include "schedule/zone_story.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace dw::schedule {
namespace {

TEST(Canonical, ExpressionsThatFireAlikeAreWrittenAlike) {
  const std::pair<const char*, const char*> stories[] = {
      {"* * * * *", "* * * * *"},
      {"@daily", "0 0 * * *"},
      {"@weekly", "0 0 * * 0"},
      {"0,15,30,45 9 * * MON-FRI", "*/15 9 * * 1-5"},
      {"0-59 0-23 * 1-12 *", "* * * * *"},
      {"0 */2 * * *", "0 */2 * * *"},
      {"0 */24 * * *", "0 */24 * * *"},
      {"0 0,2,4,6,8,10,12,14,16,18,20,22 * * *", "0 0,2,4,6,8,10,12,14,16,18,20,22 * * *"},
      {"5,6,7,9,30,31 8 1 jan,JUL 7", "5-7,9,30,31 8 1 1,7 0"},
      {"0 0 1-31 * 0-6", "0 0 1-31 * 0-6"},
      {"0 0 */2 * *", "0 0 */2 * *"},
  };
  for (const auto& [written, canonical] : stories) {
    EXPECT_EQ(cron_text(cron_of(written)), canonical) << written;
  }
}

std::string any_canonical_field(unsigned least, unsigned most) {
  if (*rc::gen::inRange(0, 3) == 0) return "*";
  if (*rc::gen::inRange(0, 3) == 0) {
    return fmt::format("*/{}", *rc::gen::inRange(1u, most - least + 2));
  }
  std::string field;
  const int items = *rc::gen::inRange(1, 6);
  for (int i = 0; i < items; ++i) {
    const auto low = *rc::gen::inRange(least, most + 1);
    field += fmt::format("{}{}-{}", i == 0 ? "" : ",", low, *rc::gen::inRange(low, most + 1));
  }
  return field;
}

RC_GTEST_PROP(Canonical, IsReadAgainAsWhatItWas, ()) {
  const auto written = fmt::format("{} {} {} {} {}", any_canonical_field(0, 59),
                                   any_canonical_field(0, 23), any_canonical_field(1, 31),
                                   any_canonical_field(1, 12), any_canonical_field(0, 6));
  const auto parsed = parse_cron(written);
  RC_PRE(std::holds_alternative<Cron>(parsed));  // else it never fires
  const auto text = cron_text(std::get<Cron>(parsed));
  const auto again = parse_cron(text);
  RC_ASSERT(std::holds_alternative<Cron>(again));
  RC_ASSERT(std::get<Cron>(again) == std::get<Cron>(parsed));
  RC_ASSERT(cron_text(std::get<Cron>(again)) == text);
}

TEST(Canonical, LengthsNameEachUnitOnce) {
  using chrono::seconds;
  EXPECT_EQ(duration_text(seconds{0}), "PT0S");
  EXPECT_EQ(duration_text(seconds{90}), "PT1M30S");
  EXPECT_EQ(duration_text(seconds{3600}), "PT1H");
  EXPECT_EQ(duration_text(seconds{86'400}), "P1D");
  EXPECT_EQ(duration_text(seconds{86'400 * 7 + 43'201}), "P7DT12H1S");
}

RC_GTEST_PROP(Canonical, ALengthIsReadAgainAsWhatItWas, ()) {
  const chrono::seconds length{*rc::gen::inRange<std::int64_t>(0, longest_interval.count() + 1)};
  const auto parsed = parse_duration(duration_text(length));
  RC_ASSERT(std::holds_alternative<WrittenDuration>(parsed));
  RC_ASSERT(std::get<WrittenDuration>(parsed).length == length);
}

}  // namespace
}  // namespace dw::schedule
