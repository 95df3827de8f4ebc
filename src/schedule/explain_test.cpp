// What a spec means, and what is odd about a schedule.
#include "schedule/explain.hpp"

#include "schedule/decide_story.hpp"
#include "schedule/lint.hpp"

#include <gmock/gmock.h>

namespace dw::schedule {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

std::vector<std::string> codes_in(const Value& explained, std::string_view key) {
  std::vector<std::string> codes;
  for (const auto& one : *explained.find(key)->if_array()) codes.push_back(text_in(one, "code"));
  return codes;
}

Value explained(std::string cron, std::string zone = "UTC") {
  ExplainRequest request;
  request.spec.cron_expressions = {std::move(cron)};
  request.spec.timezone = zone;
  request.from = instant("2026-03-07T12:00:00Z");
  request.count = 3;
  return explain(request, known_zone(zone));
}

TEST(Explain, SaysWhatItMeansAndWhenItFires) {
  const auto value = explained("30  2 * * mon-SUN", "America/New_York");
  EXPECT_EQ(*value.find("valid"), Value{true});
  EXPECT_EQ(text_in(*value.find("canonical"), "timezone"), "America/New_York");
  EXPECT_EQ(value.find("canonical")->find("cron_expressions")->if_array()->at(0),
            Value{"30 2 * * MON-SUN"});
  const auto& fires = *value.find("next_fires")->if_array();
  ASSERT_EQ(fires.size(), 3u);
  EXPECT_EQ(to_json(fires[0]), R"({"utc":"2026-03-08T07:00:00.000000Z",)"
                               R"("local":"2026-03-08T03:00:00-04:00","offset":"-04:00",)"
                               R"("zone_abbrev":"-04:00","calendar":"allow","dst":"gap"})");
  EXPECT_THAT(codes_in(value, "warnings"), Contains("dst_gap"));
  EXPECT_EQ(*value.find("interval_seconds_min"), Value{23 * 3600 + 1800});
  EXPECT_THAT(*value.find("errors")->if_array(), IsEmpty());
}

TEST(Explain, PointsAtMistakes) {
  const auto value = explained("0 25 * * *");
  EXPECT_EQ(*value.find("valid"), Value{false});
  EXPECT_THAT(codes_in(value, "errors"), ElementsAre("value_out_of_range"));
  const auto& error = value.find("errors")->if_array()->at(0);
  EXPECT_EQ(text_in(error, "path"), "cron_expressions.0");
  EXPECT_EQ(*error.find("position"), Value{2});
}

TEST(Explain, WarnsOfWhatIsEasilyMisread) {
  EXPECT_THAT(codes_in(explained("0 9 1 * 1"), "warnings"), Contains("dom_dow_or"));
  EXPECT_THAT(codes_in(explained("0 9 31 * *"), "warnings"),
              Contains("day_missing_in_some_months"));
  ExplainRequest request;
  request.spec.intervals = {{"PT5M"}};
  request.overlap_policy = Overlap::skip;
  request.from = at("12:00");
  request.calendars = {days_off("off", {"2026-04-10"})};
  const auto value = explain(request, known_zone("UTC"));
  EXPECT_THAT(codes_in(value, "warnings"), ElementsAre("fires_more_than_hourly_with_skip"));
  EXPECT_EQ(text_in(value.find("next_fires")->if_array()->at(0), "calendar"), "skip");
}

// ---- lint

std::vector<std::string> linted(World& world, const Schedule& schedule,
                                std::optional<chrono::seconds> typical_run = {}) {
  std::vector<std::string> codes;
  for (const auto& finding : lint(schedule, world.facts(schedule), typical_run)) {
    codes.push_back(finding.code);
  }
  return codes;
}

Schedule with_cron(const std::string& cron, const std::string& zone) {
  World world;
  auto changed = world.update(
      quarterly(), R"({"cron_expression": ")" + cron + R"(", "timezone": ")" + zone + R"("})");
  return changed.decision->after;
}

TEST(Lint, FindsNothingOddAboutAPlainSchedule) {
  World world;
  EXPECT_THAT(linted(world, quarterly(), chrono::minutes{5}), IsEmpty());
}

TEST(Lint, NamesDaysOnWhichItFiresTwice) {
  World world;
  EXPECT_THAT(linted(world, with_cron("0 * * * *", "America/New_York")),
              ElementsAre("fires_twice"));
  EXPECT_THAT(linted(world, with_cron("30 1 * * *", "America/New_York")),
              Not(Contains("fires_twice")));
  EXPECT_THAT(linted(world, with_cron("0 * * * *", "UTC")), IsEmpty());
}

TEST(Lint, NamesRunsThatWillMeet) {
  World world;
  EXPECT_THAT(linted(world, quarterly(), chrono::minutes{16}), ElementsAre("will_overlap"));
  EXPECT_THAT(linted(world, quarterly(R"("overlap_policy": "allow_all")"), chrono::minutes{16}),
              IsEmpty());
}

TEST(Lint, NamesCalendarsThatEndOrCannotBeAsked) {
  World world;
  world.calendars = {days_off("off", {"2026-12-25"})};
  EXPECT_THAT(linted(world, quarterly()), ElementsAre("calendar_ends"));
  world.calendars = {{"gone"}};
  EXPECT_THAT(linted(world, quarterly()),
              ElementsAre("calendar_blocks_all", "calendar_unresolvable"));
  Calendar table{"feasts"};
  table.rules.push_back({YearTable{{{2026, {}}}}});
  table.rules.back().label = "spring";
  world.calendars = {
      {"feasts", std::make_shared<const CompiledCalendar>(table, 2026), known_zone("UTC")}};
  EXPECT_THAT(linted(world, quarterly()), Contains("calendar_table_exhausted"));
}

TEST(Lint, NamesJitterThatSwallowsAndTimesThatAreOver) {
  World world;
  EXPECT_THAT(linted(world, quarterly(R"("jitter_seconds": 1000)")),
              ElementsAre("jitter_exceeds_period"));
  world.now = at("12:00") + chrono::days{30};
  EXPECT_THAT(linted(world, quarterly(R"("end_at": "2026-04-20T00:00:00Z")")),
              ElementsAre("never_fires"));
  world.also = [](Facts& facts) { facts.spec = nullptr; };
  EXPECT_THAT(linted(world, quarterly()), ElementsAre("spec_unresolvable"));
}

}  // namespace
}  // namespace dw::schedule
