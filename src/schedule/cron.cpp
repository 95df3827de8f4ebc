#include "schedule/cron.hpp"

#include <algorithm>
#include <bit>

namespace dw::schedule {
namespace {

constexpr chrono::seconds longest_gap_made_up = chrono::hours{3};
constexpr chrono::seconds longest_wait = chrono::days{9 * 366};
constexpr chrono::sys_seconds first_instant = chrono::sys_days{chrono::year{1} / 1 / 1};
constexpr chrono::sys_seconds last_instant = chrono::sys_days{chrono::year{9999} / 12 / 31};

LocalTime local_of(chrono::sys_seconds at, chrono::seconds offset) {
  return LocalTime{at.time_since_epoch() + offset};
}

chrono::sys_seconds instant_of(LocalTime local, chrono::seconds offset) {
  return chrono::sys_seconds{local.time_since_epoch() - offset};
}

template <typename Mask>
Mask from_bit(Mask mask, unsigned bit) {
  return bit >= sizeof(Mask) * 8 ? Mask{0} : static_cast<Mask>(mask >> bit << bit);
}

chrono::minutes first_time(const Cron& cron) {
  return chrono::minutes{std::countr_zero(cron.hours) * 60 + std::countr_zero(cron.minutes)};
}

// The first time of day that matches, at or after one; none when the day has no more.
std::optional<chrono::minutes> time_from(const Cron& cron, chrono::minutes earliest) {
  const auto hour = static_cast<unsigned>(earliest.count() / 60);
  const auto minute = static_cast<unsigned>(earliest.count() % 60);
  if ((cron.hours >> hour & 1) != 0) {
    const auto left = from_bit(cron.minutes, minute);
    if (left != 0)
      return chrono::minutes{hour * 60 + static_cast<unsigned>(std::countr_zero(left))};
  }
  const auto later = from_bit(cron.hours, hour + 1);
  if (later == 0) return std::nullopt;
  return chrono::minutes{std::countr_zero(later) * 60 + std::countr_zero(cron.minutes)};
}

// The first matching date behind this one, by leaps of months.
std::optional<chrono::local_days> date_after(const Cron& cron, chrono::year_month_day date) {
  const chrono::year last_year = date.year() + chrono::years{9};
  auto of = date.year() / date.month();
  unsigned first_day = static_cast<unsigned>(date.day()) + 1;
  while (of.year() <= last_year) {
    const auto months = from_bit(cron.months, static_cast<unsigned>(of.month()));
    if (months == 0) {
      of = (of.year() + chrono::years{1}) / chrono::month{1};
      first_day = 1;
      continue;
    }
    const auto next = chrono::month{static_cast<unsigned>(std::countr_zero(months))};
    if (next != of.month()) first_day = 1;
    of = of.year() / next;
    const auto left = from_bit(matching_days(cron, of), first_day);
    if (left != 0) return chrono::local_days{of / static_cast<int>(std::countr_zero(left))};
    of += chrono::months{1};
    first_day = 1;
  }
  return std::nullopt;
}

// The first matching wall-clock time, at or after one, as if there were no zones.
std::optional<LocalTime> slot_from(const Cron& cron, LocalTime earliest) {
  const auto minute = chrono::ceil<chrono::minutes>(earliest);
  const auto day = chrono::floor<chrono::days>(minute);
  const chrono::year_month_day date{day};
  const auto bit = static_cast<unsigned>(date.day());
  const bool month_matches = (cron.months >> static_cast<unsigned>(date.month()) & 1) != 0;
  if (month_matches && (matching_days(cron, date.year() / date.month()) >> bit & 1) != 0) {
    if (const auto time = time_from(cron, minute - day)) return day + *time;
  }
  const auto later = date_after(cron, date);
  if (!later) return std::nullopt;
  return *later + first_time(cron);
}

}  // namespace

std::uint32_t matching_days(const Cron& cron, chrono::year_month month) {
  const chrono::sys_days first = month / 1;
  const unsigned length = static_cast<unsigned>((month / chrono::last).day());
  const unsigned weekday = chrono::weekday{first}.c_encoding();
  // Turned so that bit 0 is the weekday of the first, then laid out five times.
  const std::uint32_t turned =
      ((cron.weekdays >> weekday) | (std::uint32_t{cron.weekdays} << (7 - weekday))) & 0x7f;
  const auto by_weekday = static_cast<std::uint32_t>((turned * std::uint64_t{0x1020'4081}) << 1);
  const bool either = cron.days_restricted && cron.weekdays_restricted;
  const std::uint32_t matching = either ? cron.days | by_weekday : cron.days & by_weekday;
  const auto existing = static_cast<std::uint32_t>((std::uint64_t{2} << length) - 2);
  return matching & existing;
}

CronWalk::CronWalk(const Cron& cron, const Zone& zone, Timestamp after) : cron_(cron), zone_(zone) {
  from_ = std::clamp(chrono::floor<chrono::seconds>(after) + chrono::seconds{1}, first_instant,
                     last_instant + chrono::days{1});
  period_ = zone.period_at(from_);
}

// Whether a slot was skipped just before this period, one that is made up for at its beginning.
bool CronWalk::moves_over_the_gap() const {
  const chrono::seconds skipped = period_.offset - period_.before;
  if (cron_.hour_wild || from_ != period_.begin) return false;
  if (skipped <= chrono::seconds{0} || skipped > longest_gap_made_up) return false;
  const auto slot = slot_from(cron_, local_of(period_.begin, period_.before));
  return slot && *slot < local_of(period_.begin, period_.offset);
}

std::optional<chrono::sys_seconds> CronWalk::in_this_period() {
  LocalTime earliest = local_of(from_, period_.offset);
  // Times that come twice have passed once already.
  if (!cron_.hour_wild && period_.begin != always) {
    earliest = std::max(earliest, local_of(period_.begin, period_.before));
  }
  const auto slot = slot_from(cron_, earliest);
  if (!slot) return std::nullopt;
  return instant_of(*slot, period_.offset);
}

std::optional<Occurrence> CronWalk::next() {
  const chrono::sys_seconds latest = std::min(last_instant, from_ + longest_wait);
  while (from_ <= latest) {
    if (moves_over_the_gap()) {
      from_ += chrono::seconds{1};
      return Occurrence{period_.begin, Dst::gap};
    }
    const auto at = in_this_period();
    if (!at || (*at<period_.end&& * at> latest)) return std::nullopt;
    if (*at < period_.end) {
      from_ = *at + chrono::seconds{1};
      const bool comes_again =
          local_of(*at, period_.offset) >= local_of(period_.end, period_.after);
      return Occurrence{*at, comes_again ? Dst::fold : Dst::none};
    }
    from_ = period_.end;
    period_ = zone_.period_at(from_);
  }
  return std::nullopt;
}

std::optional<Occurrence> next_occurrence(const Cron& cron, const Zone& zone, Timestamp after) {
  return CronWalk{cron, zone, after}.next();
}

std::vector<Occurrence> occurrences(const Cron& cron, const Zone& zone, Timestamp after,
                                    Timestamp until, std::size_t most) {
  std::vector<Occurrence> found;
  CronWalk walk{cron, zone, after};
  while (found.size() < most) {
    const auto next = walk.next();
    if (!next || next->at > until) break;
    found.push_back(*next);
  }
  return found;
}

}  // namespace dw::schedule
