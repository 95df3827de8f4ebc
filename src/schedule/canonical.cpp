#include "schedule/canonical.hpp"

#include <fmt/format.h>

#include <bit>

namespace dw::schedule {
namespace {

struct Extent {
  unsigned least;
  unsigned most;
};

std::uint64_t all_of(Extent extent) {
  return ((std::uint64_t{2} << extent.most) - 1) & ~((std::uint64_t{1} << extent.least) - 1);
}

std::uint64_t every_nth(Extent extent, unsigned step) {
  std::uint64_t mask = 0;
  for (unsigned value = extent.least; value <= extent.most; value += step) {
    mask |= std::uint64_t{1} << value;
  }
  return mask;
}

// Neighbours are drawn together from three on: "1-5,7,8".
std::string numbers_in(std::uint64_t mask) {
  std::string text;
  while (mask != 0) {
    const auto first = static_cast<unsigned>(std::countr_zero(mask));
    const auto length = static_cast<unsigned>(std::countr_one(mask >> first));
    const unsigned taken = length >= 3 ? length : 1;
    if (!text.empty()) text += ',';
    text += length >= 3 ? fmt::format("{}-{}", first, first + length - 1) : std::to_string(first);
    mask &= ~(((std::uint64_t{1} << taken) - 1) << first);
  }
  return text;
}

// "*/15"; empty when the values are no such steps, or so few that numbers are plainer.
std::string steps_in(std::uint64_t mask, Extent extent, int fewest) {
  if (std::popcount(mask) < fewest || (mask >> extent.least & 1) == 0) return {};
  const auto rest = mask & (mask - 1);
  const auto step = static_cast<unsigned>(std::countr_zero(rest)) - extent.least;
  return mask == every_nth(extent, step) ? fmt::format("*/{}", step) : std::string{};
}

std::string field_text(std::uint64_t mask, Extent extent) {
  const auto steps = mask == all_of(extent) ? std::string{} : steps_in(mask, extent, 3);
  return steps.empty() ? numbers_in(mask) : steps;
}

// Hours that pass by themselves begin with a star, and others must not.
std::string hours_text(const Cron& cron) {
  constexpr Extent hours{0, 23};
  if (cron.hours == all_of(hours)) return "*";
  if (!cron.hour_wild) return numbers_in(cron.hours);
  return cron.hours == 1 ? "*/24" : steps_in(cron.hours, hours, 2);
}

std::string unless_all(std::uint64_t mask, Extent extent) {
  return mask == all_of(extent) ? "*" : field_text(mask, extent);
}

}  // namespace

std::string cron_text(const Cron& cron) {
  // Days that are restricted to all there are still count as restricted.
  return fmt::format("{} {} {} {} {}", unless_all(cron.minutes, {0, 59}), hours_text(cron),
                     cron.days_restricted ? field_text(cron.days, {1, 31}) : "*",
                     unless_all(cron.months, {1, 12}),
                     cron.weekdays_restricted ? field_text(cron.weekdays, {0, 6}) : "*");
}

std::string duration_text(chrono::seconds length) {
  std::string text = "P";
  const auto days = chrono::floor<chrono::days>(length);
  if (days.count() > 0) text += fmt::format("{}D", days.count());
  const chrono::hh_mm_ss rest{length - days};
  if (length > days || days.count() == 0) text += 'T';
  if (rest.hours().count() > 0) text += fmt::format("{}H", rest.hours().count());
  if (rest.minutes().count() > 0) text += fmt::format("{}M", rest.minutes().count());
  if (rest.seconds().count() > 0 || length.count() == 0) {
    text += fmt::format("{}S", rest.seconds().count());
  }
  return text;
}

SpecText canonical_text(const Spec& spec) {
  SpecText text;
  for (const Cron& cron : spec.crons()) text.cron_expressions.push_back(cron_text(cron));
  for (const Interval& interval : spec.intervals()) {
    IntervalText written{.every = duration_text(interval.every)};
    if (interval.offset.count() > 0) written.offset = duration_text(interval.offset);
    text.intervals.push_back(std::move(written));
  }
  text.timezone = spec.zone().name();
  return text;
}

}  // namespace dw::schedule
