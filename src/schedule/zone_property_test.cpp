// Whatever instant and zone: back and forth is the same, and periods fit together.
#include "schedule/zone_story.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace dw::schedule {
namespace {

const Zone& any_zone() {
  return zone_named(*rc::gen::element<std::string>(
      "America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "Africa/Casablanca",
      "Asia/Tehran", "Pacific/Apia", "Europe/Dublin", "America/Nuuk", "Asia/Gaza",
      "Antarctica/Troll", "Pacific/Chatham", "Africa/Cairo", "UTC"));
}

// From 1901 to 2500, more often than not near a change.
chrono::sys_seconds any_instant(const Zone& zone) {
  const chrono::sys_seconds at{
      chrono::seconds{*rc::gen::inRange<std::int64_t>(-2'177'452'800, 16'725'225'600)}};
  const auto change = zone.next_transition(at);
  if (!change || !*rc::gen::arbitrary<bool>()) return at;
  return change->at + chrono::seconds{*rc::gen::inRange(-100'000, 100'000)};
}

RC_GTEST_PROP(ZoneProperty, AnInstantIsAmongThoseItsCivilTimeNames, ()) {
  const Zone& zone = any_zone();
  const auto at = any_instant(zone);
  const auto mapping = zone.instants_of(zone.local_at(at));
  RC_ASSERT(mapping.kind != LocalMapping::Kind::gap);
  RC_ASSERT(at == mapping.first || at == mapping.second);
  RC_ASSERT((mapping.kind == LocalMapping::Kind::overlap) == (mapping.first != mapping.second));
}

RC_GTEST_PROP(ZoneProperty, PeriodsFitTogether, ()) {
  const Zone& zone = any_zone();
  const auto at = any_instant(zone);
  const Period period = zone.period_at(at);
  RC_ASSERT(period.begin <= at && at < period.end);
  if (period.begin != always) {
    const Period earlier = zone.period_at(period.begin - chrono::seconds{1});
    RC_ASSERT(earlier.end == period.begin);
    RC_ASSERT(earlier.offset == period.before && earlier.after == period.offset);
  }
  if (period.end != forever) {
    const Period later = zone.period_at(period.end);
    RC_ASSERT(later.begin == period.end);
    RC_ASSERT(later.offset == period.after && later.before == period.offset);
  }
}

RC_GTEST_PROP(ZoneProperty, ATimeInAGapLiesBetweenTheClocksOfBothSides, ()) {
  const Zone& zone = any_zone();
  const auto at = any_instant(zone);
  const LocalTime local{at.time_since_epoch() +
                        chrono::seconds{*rc::gen::inRange(-50'000, 50'000)}};
  const auto mapping = zone.instants_of(local);
  if (mapping.kind != LocalMapping::Kind::gap) {
    RC_ASSERT(zone.local_at(mapping.first) == local);
    RC_ASSERT(zone.local_at(mapping.second) == local);
    return;
  }
  const auto behind = zone.local_at(mapping.first);
  RC_ASSERT(local < behind && local >= behind - mapping.gap_length);
}

RC_GTEST_PROP(ZoneProperty, RulesRepeatWithTheCalendar, ()) {
  const Zone& zone = any_zone();
  const auto at = second_of("2101-01-01T00:00:00Z") +
                  chrono::seconds{*rc::gen::inRange<std::int64_t>(0, 12'622'780'800)};
  RC_ASSERT(zone.offset_at(at) == zone.offset_at(at + chrono::days{146'097}));
}

RC_GTEST_PROP(ZoneProperty, NoBytesDoHarm, ()) {
  std::string bytes = zone_file("America/New_York");
  const auto damages = *rc::gen::inRange(1, 6);
  for (int i = 0; i < damages; ++i) {
    const auto where = *rc::gen::inRange<std::size_t>(0, 400);
    bytes[where] = *rc::gen::arbitrary<char>();
  }
  bytes.resize(*rc::gen::inRange<std::size_t>(0, bytes.size() + 1));
  const auto zone = parse_zone("Test/Damaged", bytes);
  if (zone) RC_ASSERT(zone->period_at(chrono::sys_seconds{}).end > chrono::sys_seconds{});
}

}  // namespace
}  // namespace dw::schedule
