#include "schedule/calendar_seeds.hpp"

#include "core/assert.hpp"
#include "schedule/calendar_value.hpp"

#include <algorithm>

namespace dw::schedule {
namespace {

// Dated ones first, then those with rules for any year.
constexpr std::string_view seed_texts[] = {
    // clang-format off
R"json({"name": "us-federal-holidays-2026",
  "kind": "skip_dates",
  "timezone": "America/New_York",
  "description": "The eleven US federal holidays of 2026 on the dates they are observed. 4 July 2026 is a Saturday, so its observed date is Friday 3 July.",
  "dates": ["2026-01-01", "2026-01-19", "2026-02-16", "2026-05-25", "2026-06-19", "2026-07-03",
    "2026-09-07", "2026-10-12", "2026-11-11", "2026-11-26", "2026-12-25"],
  "labels": {"2026-01-01": "New Year's Day", "2026-01-19": "Birthday of Martin Luther King, Jr.",
    "2026-02-16": "Washington's Birthday", "2026-05-25": "Memorial Day",
    "2026-06-19": "Juneteenth National Independence Day",
    "2026-07-03": "Independence Day (observed)", "2026-09-07": "Labor Day",
    "2026-10-12": "Columbus Day", "2026-11-11": "Veterans Day",
    "2026-11-26": "Thanksgiving Day", "2026-12-25": "Christmas Day"}})json",
R"json({"name": "tr-public-holidays-2026",
  "kind": "skip_dates",
  "timezone": "Europe/Istanbul",
  "description": "Turkish national and religious public holidays of 2026, full days only. The three statutory half days (eve of Ramazan Bayramı 2026-03-19, eve of Kurban Bayramı 2026-05-26, eve of Republic Day 2026-10-28, each from 13:00) are not whole dates and are left out; the rule calendar tr-public-holidays carries them as partial days.",
  "dates": ["2026-01-01", "2026-03-20", "2026-03-21", "2026-03-22", "2026-04-23", "2026-05-01",
    "2026-05-19", "2026-05-27", "2026-05-28", "2026-05-29", "2026-05-30", "2026-07-15",
    "2026-08-30", "2026-10-29"],
  "labels": {"2026-01-01": "Yılbaşı", "2026-03-20": "Ramazan Bayramı 1. gün",
    "2026-03-21": "Ramazan Bayramı 2. gün", "2026-03-22": "Ramazan Bayramı 3. gün",
    "2026-04-23": "Ulusal Egemenlik ve Çocuk Bayramı", "2026-05-01": "Emek ve Dayanışma Günü",
    "2026-05-19": "Atatürk'ü Anma, Gençlik ve Spor Bayramı",
    "2026-05-27": "Kurban Bayramı 1. gün", "2026-05-28": "Kurban Bayramı 2. gün",
    "2026-05-29": "Kurban Bayramı 3. gün", "2026-05-30": "Kurban Bayramı 4. gün",
    "2026-07-15": "Demokrasi ve Millî Birlik Günü", "2026-08-30": "Zafer Bayramı",
    "2026-10-29": "Cumhuriyet Bayramı"}})json",
R"json({"name": "weekends-only",
  "kind": "only_dates",
  "timezone": "UTC",
  "description": "Every Saturday and Sunday of 2026 (104 dates).",
  "dates": ["2026-01-03", "2026-01-04", "2026-01-10", "2026-01-11", "2026-01-17", "2026-01-18",
    "2026-01-24", "2026-01-25", "2026-01-31", "2026-02-01", "2026-02-07", "2026-02-08",
    "2026-02-14", "2026-02-15", "2026-02-21", "2026-02-22", "2026-02-28", "2026-03-01",
    "2026-03-07", "2026-03-08", "2026-03-14", "2026-03-15", "2026-03-21", "2026-03-22",
    "2026-03-28", "2026-03-29", "2026-04-04", "2026-04-05", "2026-04-11", "2026-04-12",
    "2026-04-18", "2026-04-19", "2026-04-25", "2026-04-26", "2026-05-02", "2026-05-03",
    "2026-05-09", "2026-05-10", "2026-05-16", "2026-05-17", "2026-05-23", "2026-05-24",
    "2026-05-30", "2026-05-31", "2026-06-06", "2026-06-07", "2026-06-13", "2026-06-14",
    "2026-06-20", "2026-06-21", "2026-06-27", "2026-06-28", "2026-07-04", "2026-07-05",
    "2026-07-11", "2026-07-12", "2026-07-18", "2026-07-19", "2026-07-25", "2026-07-26",
    "2026-08-01", "2026-08-02", "2026-08-08", "2026-08-09", "2026-08-15", "2026-08-16",
    "2026-08-22", "2026-08-23", "2026-08-29", "2026-08-30", "2026-09-05", "2026-09-06",
    "2026-09-12", "2026-09-13", "2026-09-19", "2026-09-20", "2026-09-26", "2026-09-27",
    "2026-10-03", "2026-10-04", "2026-10-10", "2026-10-11", "2026-10-17", "2026-10-18",
    "2026-10-24", "2026-10-25", "2026-10-31", "2026-11-01", "2026-11-07", "2026-11-08",
    "2026-11-14", "2026-11-15", "2026-11-21", "2026-11-22", "2026-11-28", "2026-11-29",
    "2026-12-05", "2026-12-06", "2026-12-12", "2026-12-13", "2026-12-19", "2026-12-20",
    "2026-12-26", "2026-12-27"]})json",
R"json({"name": "us-federal-holidays",
  "kind": "skip_dates",
  "timezone": "America/New_York",
  "description": "US federal holidays for any year, observed dates only (5 U.S.C. 6103). A Saturday holiday is observed on Friday, a Sunday holiday on Monday; the observed New Year can fall on 31 December of the previous year.",
  "rules": [
    {"type": "fixed", "month": 1, "day": 1, "label": "New Year's Day",
     "observed": "nearest_weekday"},
    {"type": "nth_weekday", "month": 1, "weekday": 1, "n": 3,
     "label": "Birthday of Martin Luther King, Jr."},
    {"type": "nth_weekday", "month": 2, "weekday": 1, "n": 3, "label": "Washington's Birthday"},
    {"type": "nth_weekday", "month": 5, "weekday": 1, "n": -1, "label": "Memorial Day"},
    {"type": "fixed", "month": 6, "day": 19, "label": "Juneteenth National Independence Day",
     "observed": "nearest_weekday", "from_year": 2021},
    {"type": "fixed", "month": 7, "day": 4, "label": "Independence Day",
     "observed": "nearest_weekday"},
    {"type": "nth_weekday", "month": 9, "weekday": 1, "n": 1, "label": "Labor Day"},
    {"type": "nth_weekday", "month": 10, "weekday": 1, "n": 2, "label": "Columbus Day"},
    {"type": "fixed", "month": 11, "day": 11, "label": "Veterans Day",
     "observed": "nearest_weekday"},
    {"type": "nth_weekday", "month": 11, "weekday": 4, "n": 4, "label": "Thanksgiving Day"},
    {"type": "fixed", "month": 12, "day": 25, "label": "Christmas Day",
     "observed": "nearest_weekday"}]})json",
R"json({"name": "tr-public-holidays",
  "kind": "skip_dates",
  "timezone": "Europe/Istanbul",
  "description": "Turkish public holidays for any year. National days are fixed; the religious days come from a per-year table of first days because the official calendar is announced, not computed. Half days start at 13:00 local time.",
  "confirmed_through": 2026,
  "provisional_note": "Table rows after confirmed_through follow the Umm al-Qura calendar and must be replaced by the officially announced dates.",
  "rules": [
    {"type": "fixed", "month": 1, "day": 1, "label": "Yılbaşı"},
    {"type": "fixed", "month": 4, "day": 23, "label": "Ulusal Egemenlik ve Çocuk Bayramı"},
    {"type": "fixed", "month": 5, "day": 1, "label": "Emek ve Dayanışma Günü", "from_year": 2009},
    {"type": "fixed", "month": 5, "day": 19, "label": "Atatürk'ü Anma, Gençlik ve Spor Bayramı"},
    {"type": "fixed", "month": 7, "day": 15, "label": "Demokrasi ve Millî Birlik Günü",
     "from_year": 2017},
    {"type": "fixed", "month": 8, "day": 30, "label": "Zafer Bayramı"},
    {"type": "fixed", "month": 10, "day": 29, "label": "Cumhuriyet Bayramı"},
    {"type": "fixed", "month": 10, "day": 28, "label": "Cumhuriyet Bayramı arifesi",
     "partial": {"from": "13:00"}},
    {"type": "table", "label": "Ramazan Bayramı", "span_days": 3,
     "starts": {"2024": ["2024-04-10"], "2025": ["2025-03-30"], "2026": ["2026-03-20"],
      "2027": ["2027-03-09"], "2028": ["2028-02-26"], "2029": ["2029-02-14"],
      "2030": ["2030-02-04"]}},
    {"type": "table", "label": "Ramazan Bayramı arifesi", "offset_days": -1,
     "partial": {"from": "13:00"},
     "starts": {"2024": ["2024-04-10"], "2025": ["2025-03-30"], "2026": ["2026-03-20"],
      "2027": ["2027-03-09"], "2028": ["2028-02-26"], "2029": ["2029-02-14"],
      "2030": ["2030-02-04"]}},
    {"type": "table", "label": "Kurban Bayramı", "span_days": 4,
     "starts": {"2024": ["2024-06-16"], "2025": ["2025-06-06"], "2026": ["2026-05-27"],
      "2027": ["2027-05-16"], "2028": ["2028-05-05"], "2029": ["2029-04-24"],
      "2030": ["2030-04-13"]}},
    {"type": "table", "label": "Kurban Bayramı arifesi", "offset_days": -1,
     "partial": {"from": "13:00"},
     "starts": {"2024": ["2024-06-16"], "2025": ["2025-06-06"], "2026": ["2026-05-27"],
      "2027": ["2027-05-16"], "2028": ["2028-05-05"], "2029": ["2029-04-24"],
      "2030": ["2030-04-13"]}}]})json",
R"json({"name": "weekends",
  "kind": "only_dates",
  "timezone": "UTC",
  "description": "Saturday and Sunday of any year.",
  "rules": [
    {"type": "weekly", "weekdays": [6, 7], "label": "weekend"}]})json",
R"json({"name": "weekdays",
  "kind": "only_dates",
  "timezone": "UTC",
  "description": "Monday to Friday of any year.",
  "rules": [
    {"type": "weekly", "weekdays": [1, 2, 3, 4, 5], "label": "weekday"}]})json",
    // clang-format on
};

std::vector<Calendar> read_seeds() {
  std::vector<Calendar> seeds;
  for (const auto text : seed_texts) {
    const auto definition = parse_json(text);
    DW_ASSERT(definition.has_value(), "a seed calendar is not JSON");
    // Whether this machine knows their zones is asked when they are used.
    auto seed = check_calendar(*definition, [](std::string_view) { return true; });
    DW_ASSERT(seed.value.has_value(), "a seed calendar is not one");
    seeds.push_back(*std::move(seed));
  }
  return seeds;
}

}  // namespace

std::span<const Calendar> seed_calendars() {
  static const std::vector<Calendar> seeds = read_seeds();
  return seeds;
}

const Calendar* find_seed_calendar(std::string_view name) {
  const auto seeds = seed_calendars();
  const auto seed = std::ranges::find(seeds, name, &Calendar::name);
  return seed == seeds.end() ? nullptr : &*seed;
}

}  // namespace dw::schedule
