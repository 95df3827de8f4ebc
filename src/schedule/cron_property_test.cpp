// The leaps of next_occurrence against somebody who looks at every minute.
#include "schedule/zone_story.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

namespace dw::schedule {
namespace {

// ---- expressions and places

std::string any_number(unsigned least, unsigned most) {
  return std::to_string(*rc::gen::inRange(least, most + 1));
}

std::string any_item(unsigned least, unsigned most) {
  const auto low = *rc::gen::inRange(least, most + 1);
  const auto high = *rc::gen::inRange(low, most + 1);
  switch (*rc::gen::inRange(0, 4)) {
    case 0:
      return fmt::format("*/{}", any_number(1, most - least));
    case 1:
      return fmt::format("{}-{}", low, high);
    case 2:
      return fmt::format("{}-{}/{}", low, high, any_number(1, 5));
    default:
      return std::to_string(low);
  }
}

std::string any_field(unsigned least, unsigned most) {
  if (*rc::gen::inRange(0, 3) == 0) return "*";
  std::string field = any_item(least, most);
  const auto more = *rc::gen::weightedElement<int>({{6, 0}, {2, 1}, {1, 3}});
  for (int i = 0; i < more; ++i) field += "," + any_item(least, most);
  return field;
}

// Small hours are where the clocks change.
std::string any_expression() {
  return fmt::format("{} {} {} {} {}", any_field(0, 59),
                     *rc::gen::arbitrary<bool>() ? any_field(0, 23) : any_field(0, 4),
                     any_field(1, 31), any_field(1, 12), any_field(0, 7));
}

std::optional<Cron> any_cron() {
  auto parsed = parse_cron(any_expression());
  if (const auto* cron = std::get_if<Cron>(&parsed)) return *cron;
  return std::nullopt;  // never_fires; everything else is well made
}

const Zone& changing_zone() {
  return zone_named(*rc::gen::element<std::string>(
      "America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "Africa/Cairo", "Pacific/Apia",
      "Antarctica/Troll", "Pacific/Chatham", "America/Santiago", "Asia/Kolkata",
      "Africa/Casablanca", "America/Nuuk"));
}

chrono::sys_seconds instant_near_a_change(const Zone& zone) {
  const chrono::sys_seconds at{
      chrono::seconds{*rc::gen::inRange<std::int64_t>(1'262'304'000, 4'102'444'800)}};
  const auto change = zone.next_transition(at);
  if (!change || *rc::gen::inRange(0, 4) == 0) return at;
  return change->at + chrono::seconds{*rc::gen::inRange(-100'000, 20'000)};
}

// ---- the slow and obvious way

bool date_matches(const Cron& cron, chrono::local_days day) {
  const chrono::year_month_day date{day};
  const bool by_day = (cron.days >> static_cast<unsigned>(date.day()) & 1) != 0;
  const bool by_weekday = (cron.weekdays >> chrono::weekday{day}.c_encoding() & 1) != 0;
  const bool by_month = (cron.months >> static_cast<unsigned>(date.month()) & 1) != 0;
  const bool either = cron.days_restricted && cron.weekdays_restricted;
  return by_month && (either ? by_day || by_weekday : by_day && by_weekday);
}

bool slot_matches(const Cron& cron, LocalTime slot) {
  const auto day = chrono::floor<chrono::days>(slot);
  const auto time = slot - day;
  const auto hour = time / chrono::hours{1};
  const auto minute = time % chrono::hours{1} / chrono::minutes{1};
  return (cron.hours >> hour & 1) != 0 && (cron.minutes >> minute & 1) != 0 &&
         date_matches(cron, day);
}

struct Window {
  chrono::sys_seconds after;
  chrono::sys_seconds until;
};

// Every instant a window has, by the table of the rule, slot by slot.
std::set<chrono::sys_seconds> walked(const Cron& cron, const Zone& zone, Window window,
                                     LocalTime begin, LocalTime end, chrono::minutes step) {
  std::set<chrono::sys_seconds> found;
  const auto add = [&](chrono::sys_seconds at) {
    if (at > window.after && at <= window.until) found.insert(at);
  };
  for (LocalTime slot = begin; slot < end; slot += step) {
    if (!slot_matches(cron, slot)) continue;
    const auto mapping = zone.instants_of(slot);
    if (mapping.kind == LocalMapping::Kind::unique) add(mapping.first);
    if (mapping.kind == LocalMapping::Kind::overlap) {
      add(mapping.first);
      if (cron.hour_wild) add(mapping.second);
    }
    if (mapping.kind == LocalMapping::Kind::gap && !cron.hour_wild &&
        mapping.gap_length <= chrono::hours{3}) {
      add(mapping.first);
    }
  }
  return found;
}

// Whatever its offset, minute by minute.
std::set<chrono::sys_seconds> walked(const Cron& cron, const Zone& zone, chrono::sys_seconds after,
                                     chrono::sys_seconds until) {
  const LocalTime begin{after.time_since_epoch() - chrono::days{2}};
  const LocalTime end{until.time_since_epoch() + chrono::days{2}};
  return walked(cron, zone, {after, until}, chrono::floor<chrono::minutes>(begin), end,
                chrono::minutes{1});
}

// ---- what must hold

// Nothing is lost or doubled at any change that any zone has seen or will see.
TEST(CronAtEveryChange, FiresAsTheTableSays) {
  const Cron crons[] = {cron_of("*/30 * * * *"), cron_of("0,30 0-23 * * *"),
                        cron_of("30 0,1,2,3,23 * * *")};
  const auto last = second_of("2051-01-01T00:00:00Z");
  int changes = 0;
  for (const std::string& name : zones_that_differ()) {
    const Zone& zone = zone_named(name);
    auto change = zone.next_transition(second_of("1999-12-31T23:59:59Z"));
    for (; change && change->at < last; change = zone.next_transition(change->at)) {
      ++changes;
      const Window window{change->at - chrono::hours{1}, change->at + chrono::hours{1}};
      const auto [first, second] =
          std::minmax({zone.local_at(window.after), zone.local_at(window.until)});
      // A slot that is skipped fires where the gap ends, which is three hours later at most.
      const LocalTime begin = chrono::floor<chrono::hours>(first) - chrono::hours{4};
      for (const Cron& cron : crons) {
        std::set<chrono::sys_seconds> leapt;
        for (const Occurrence& one : occurrences(cron, zone, window.after, window.until, 10'000)) {
          leapt.insert(chrono::floor<chrono::seconds>(one.at));
        }
        ASSERT_EQ(leapt,
                  walked(cron, zone, window, begin, second + chrono::hours{4}, chrono::minutes{30}))
            << name << " at " << written(change->at);
      }
    }
  }
  EXPECT_GT(changes, 10'000);
}

RC_GTEST_PROP(CronProperty, EveryMinuteOfAWindowIsJudgedAsTheTableSays, ()) {
  const auto cron = any_cron();
  RC_PRE(cron.has_value());
  const Zone& zone = changing_zone();
  const auto after = instant_near_a_change(zone);
  const auto until = after + chrono::hours{*rc::gen::inRange(1, 60)};
  std::set<chrono::sys_seconds> leapt;
  for (const Occurrence& one : occurrences(*cron, zone, after, until, 10'000)) {
    leapt.insert(chrono::floor<chrono::seconds>(one.at));
  }
  RC_ASSERT(leapt == walked(*cron, zone, after, until));
}

RC_GTEST_PROP(CronProperty, WalkingOnIsTheSameAsAskingAgain, ()) {
  const auto cron = any_cron();
  RC_PRE(cron.has_value());
  const Zone& zone = changing_zone();
  Timestamp at = instant_near_a_change(zone);
  CronWalk walk{*cron, zone, at};
  for (int i = 0; i < 20; ++i) {
    const auto walked_on = walk.next();
    RC_ASSERT(walked_on == next_occurrence(*cron, zone, at));
    if (!walked_on) return;
    RC_ASSERT(walked_on->at > at);
    at = walked_on->at;
  }
}

RC_GTEST_PROP(CronProperty, ADayAtATimeNothingIsMissedUntilTheNextOccurrence, ()) {
  const auto cron = any_cron();
  RC_PRE(cron.has_value());
  const Zone& zone = changing_zone();
  const auto after = instant_near_a_change(zone);
  const auto next = next_occurrence(*cron, zone, after);
  RC_PRE(next.has_value());
  const auto at = chrono::floor<chrono::seconds>(next->at);
  // The chrono::days between, and the day of the occurrence itself minute by minute.
  for (auto day = chrono::floor<chrono::days>(zone.local_at(after)) + chrono::days{1};
       day < chrono::floor<chrono::days>(zone.local_at(at)) - chrono::days{1};
       day += chrono::days{1}) {
    RC_ASSERT(!date_matches(*cron, day) ||
              zone.instants_of(LocalTime{day}).kind == LocalMapping::Kind::gap);
  }
  const auto near = std::max(after, at - chrono::hours{30});
  RC_ASSERT(walked(*cron, zone, near, at) == std::set<chrono::sys_seconds>{at});
}

RC_GTEST_PROP(CronProperty, AnyTextIsUnderstoodOrRefusedWithAPlace, ()) {
  const auto text = *rc::gen::container<std::string>(rc::gen::element(
      '0', '1', '9', '*', '/', '-', ',', ' ', ' ', '\t', 'J', 'a', 'N', 'S', 'u', '@', '?', '\n'));
  const auto parsed = parse_cron(text);
  if (const auto* error = std::get_if<CronError>(&parsed)) {
    RC_ASSERT(error->position <= text.size());
    RC_ASSERT(!error->hint.empty());
  }
}

}  // namespace
}  // namespace dw::schedule
