#include "schedule/spec.hpp"

#include "core/assert.hpp"

#include <algorithm>
#include <utility>

namespace dw::schedule {
namespace {

// The earlier of two; of two at one instant, the one that daylight saving had a hand in.
void keep_earlier(std::optional<Occurrence>& best, const std::optional<Occurrence>& other) {
  if (!other) return;
  if (!best || other->at < best->at || (other->at == best->at && best->dst == Dst::none)) {
    best = other;
  }
}

std::optional<Occurrence> exactly(std::optional<Timestamp> at) {
  if (!at) return std::nullopt;
  return Occurrence{*at, Dst::none};
}

// Whoever starts at an instant may fire at it.
Timestamp held_back(Timestamp after, const Bounds& bounds) {
  if (!bounds.start_at || *bounds.start_at <= after) return after;
  return *bounds.start_at - Duration{1};
}

}  // namespace

Spec::Spec(std::vector<Cron> crons, std::vector<Interval> intervals,
           std::shared_ptr<const Zone> zone, Bounds bounds)
    : crons_(std::move(crons)),
      intervals_(std::move(intervals)),
      zone_(std::move(zone)),
      bounds_(bounds) {
  DW_ASSERT(zone_ != nullptr, "a spec has a zone");
}

std::optional<Occurrence> Spec::next(Timestamp after) const {
  after = held_back(after, bounds_);
  std::optional<Occurrence> best;
  for (const Cron& cron : crons_) keep_earlier(best, next_occurrence(cron, *zone_, after));
  for (const Interval& interval : intervals_) {
    keep_earlier(best, exactly(next_occurrence(interval, after)));
  }
  if (best && bounds_.end_at && best->at > *bounds_.end_at) return std::nullopt;
  return best;
}

void SpecWalk::Entry::advance() {
  upcoming = cron ? cron->next() : exactly(next_occurrence(*interval, upcoming->at));
}

SpecWalk::SpecWalk(const Spec& spec, Timestamp after) : end_at_(spec.bounds().end_at) {
  after = held_back(after, spec.bounds());
  entries_.reserve(spec.crons().size() + spec.intervals().size());
  for (const Cron& cron : spec.crons()) {
    CronWalk walk{cron, spec.zone(), after};
    auto first = walk.next();
    entries_.push_back({std::move(walk), nullptr, first});
  }
  for (const Interval& interval : spec.intervals()) {
    entries_.push_back({std::nullopt, &interval, exactly(next_occurrence(interval, after))});
  }
}

std::optional<Occurrence> SpecWalk::next() {
  std::optional<Occurrence> best;
  for (const Entry& entry : entries_) keep_earlier(best, entry.upcoming);
  if (!best || (end_at_ && best->at > *end_at_)) return std::nullopt;
  for (Entry& entry : entries_) {
    if (entry.upcoming && entry.upcoming->at == best->at) entry.advance();
  }
  return best;
}

std::vector<Occurrence> occurrences(const Spec& spec, Timestamp after, Timestamp until,
                                    std::size_t most) {
  std::vector<Occurrence> found;
  SpecWalk walk{spec, after};
  while (found.size() < most) {
    const auto next = walk.next();
    if (!next || next->at > until) break;
    found.push_back(*next);
  }
  return found;
}

chrono::seconds roll_jitter(chrono::seconds most, Random& random) {
  if (most <= chrono::seconds{0}) return chrono::seconds{0};
  // Without the remainder's bias: what lies beyond the last whole multiple is rolled again.
  const auto sides = static_cast<std::uint64_t>(most.count()) + 1;
  const std::uint64_t fair = UINT64_MAX - UINT64_MAX % sides;
  std::uint64_t roll = random.next();
  while (roll >= fair) roll = random.next();
  return chrono::seconds{static_cast<std::int64_t>(roll % sides)};
}

}  // namespace dw::schedule
