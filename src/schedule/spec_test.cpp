// Expressions and intervals together: the earliest wins, and one instant is one occurrence.
#include "schedule/spec.hpp"

#include "schedule/zone_story.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

namespace dw::schedule {
namespace {

Spec spec_of(const SpecText& text, const Bounds& bounds = {}) {
  auto checked =
      check_spec(text, shared_zone(text.timezone), bounds, instant("2026-01-01T00:00:00Z"));
  EXPECT_TRUE(checked.mistakes.empty()) << checked.mistakes.front().hint;
  return *std::move(checked.spec);
}

SpecText spec_in(const Value& object) {
  SpecText text;
  if (object.find("cron_expressions")) text.cron_expressions = texts_in(object, "cron_expressions");
  if (const Value* intervals = object.find("intervals")) {
    for (const Value& interval : *intervals->if_array()) {
      const Value* offset = interval.find("offset");
      text.intervals.push_back({text_in(interval, "every"),
                                offset ? std::optional{*offset->if_string()} : std::nullopt});
    }
  }
  if (object.find("timezone")) text.timezone = text_in(object, "timezone");
  return text;
}

std::vector<std::string> fires(const Spec& spec, std::string_view after, std::size_t count) {
  std::vector<std::string> times;
  Timestamp at = instant(after);
  while (times.size() < count) {
    const auto next = spec.next(at);
    if (!next) break;
    times.push_back(written(next->at));
    at = next->at;
  }
  return times;
}

// proves: S-23
TEST(SpecNext, IsTheEarliestOfAllEntriesAsPublished) {
  const Value vectors = schedule_vectors("interval_next.json");
  std::size_t seen = 0;
  for (const Value& story : *vectors.find("mixed")->if_array()) {
    const Spec spec = spec_of(spec_in(*story.find("spec")));
    const auto expected = texts_in(story, "expected");
    EXPECT_EQ(fires(spec, text_in(story, "after"), expected.size()), expected)
        << text_in(story, "id") << ": " << text_in(story, "note");
    ++seen;
  }
  EXPECT_EQ(seen, 13U);
}

// proves: S-7
TEST(SpecNext, IsInUtcUnlessAZoneIsNamed) {
  const Spec spec = spec_of({.cron_expressions = {"0 9 * * *"}});
  EXPECT_EQ(fires(spec, "2026-06-01T00:00:00Z", 1).front(), "2026-06-01T09:00:00Z");
}

TEST(SpecNext, KeepsWithinItsBounds) {
  const Spec spec = spec_of({.cron_expressions = {"0 * * * *"}},
                            {instant("2026-06-01T10:00:00Z"), instant("2026-06-01T12:00:00Z")});
  EXPECT_EQ(fires(spec, "2026-01-01T00:00:00Z", 10),
            (std::vector<std::string>{"2026-06-01T10:00:00Z", "2026-06-01T11:00:00Z",
                                      "2026-06-01T12:00:00Z"}));
  EXPECT_EQ(occurrences(spec, instant("2026-01-01T00:00:00Z"), Timestamp::max(), 10).size(), 3U);
}

TEST(SpecNext, SaysWhatDaylightSavingDidThoughAnIntervalComesAtTheSameInstant) {
  const Spec spec = spec_of({.cron_expressions = {"30 2 * * *"},
                             .intervals = {{"PT1H"}},
                             .timezone = "America/New_York"});
  EXPECT_EQ(spec.next(instant("2026-03-08T06:30:00Z")),
            (Occurrence{instant("2026-03-08T07:00:00Z"), Dst::gap}));
  EXPECT_EQ(spec.next(instant("2026-03-08T07:00:00Z")),
            (Occurrence{instant("2026-03-08T08:00:00Z"), Dst::none}));
}

TEST(SpecWindow, IsTheSameAsAskingOneByOne) {
  const Spec spec = spec_of({.cron_expressions = {"*/20 1-4 * * *", "30 2 * * 0"},
                             .intervals = {{"PT45M"}, {"PT7H", "PT13M"}},
                             .timezone = "Europe/Berlin"});
  const auto until = instant("2026-03-31T00:00:00Z");
  const auto window = occurrences(spec, instant("2026-03-27T00:00:00Z"), until, 1000);
  Timestamp at = instant("2026-03-27T00:00:00Z");
  for (const Occurrence& one : window) {
    EXPECT_EQ(spec.next(at), one) << written(one.at);
    at = one.at;
  }
  EXPECT_GT(spec.next(at)->at, until);
}

// ---- jitter

class Pinned final : public Random {
 public:
  explicit Pinned(std::uint64_t value) : value_(value) {}
  std::uint64_t next() override { return value_; }

 private:
  std::uint64_t value_;
};

// proves: S-62
TEST(Jitter, IsAnyNumberOfSecondsUpToItsMostAndEachIsAsLikely) {
  SeededRandom random{7};
  std::map<std::int64_t, int> rolls;
  for (int i = 0; i < 10'000; ++i) ++rolls[roll_jitter(chrono::seconds{9}, random).count()];
  ASSERT_EQ(rolls.size(), 10U);
  EXPECT_EQ(rolls.begin()->first, 0);
  EXPECT_EQ(rolls.rbegin()->first, 9);
  for (const auto& [seconds, times] : rolls) {
    EXPECT_GT(times, 850) << seconds;
    EXPECT_LT(times, 1150) << seconds;
  }
}

// proves: S-12, S-65
TEST(Jitter, OfZeroIsExactAndRollsNothing) {
  Pinned random{12'345};
  EXPECT_EQ(SpecText{}.jitter_seconds, 0);
  EXPECT_EQ(roll_jitter(chrono::seconds{0}, random), chrono::seconds{0});
}

TEST(Jitter, FollowsTheGeneratorItIsGiven) {
  Pinned random{25};
  EXPECT_EQ(roll_jitter(chrono::seconds{9}, random), chrono::seconds{5});
}

}  // namespace
}  // namespace dw::schedule
