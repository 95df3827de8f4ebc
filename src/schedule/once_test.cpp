// Each occurrence has one outcome, whatever clocks and crashes do: a world in which the clock
// jumps, decisions are lost before they are kept, and others are decided twice from one reading.
#include "schedule/decide_story.hpp"

#include <gmock/gmock.h>

#include <map>
#include <set>

namespace dw::schedule {
namespace {

// What a store would hold of one schedule.
struct Books {
  Schedule schedule;
  std::uint64_t version = 0;
  std::map<std::pair<Timestamp, std::int64_t>, LedgerEntry> ledger = {};
  std::vector<AuditEvent> events = {};
  std::multiset<std::string> started = {};

  // False when somebody else was first, as a store would find.
  bool keep(std::uint64_t read_at, const Decision& decision) {
    if (decision.unchanged || read_at != version) return false;
    ++version;
    schedule = decision.after;
    for (const auto& entry : decision.ledger) ledger[{entry.nominal_at, entry.nth}] = entry;
    for (const auto& event : decision.events) events.push_back(event);
    if (decision.start) started.insert(decision.start->instance_id);
    return true;
  }
};

class UnreliableWorld {
 public:
  UnreliableWorld(std::uint64_t seed, std::string_view more) : dice_(seed) {
    books_.schedule = quarterly(more);
    first_ = *books_.schedule.next_nominal_at;
    world_.random = SeededRandom{seed};
    world_.spec = spec_of(books_.schedule);
    world_.now = at("11:50");
  }

  void live(int fires) {
    for (int step = 0; step < fires; ++step) {
      pass_time();
      const auto read_at = books_.version;
      const auto seen = books_.schedule;
      if (dice_.below(4) != 0) settle(world_.drain(seen), {Mode::drain}, seen, read_at);
      settle(world_.tick(books_.schedule), {Mode::tick}, books_.schedule, books_.version);
      // A second node that read the same state: it is too late.
      if (dice_.below(4) == 0 && books_.version != read_at) {
        EXPECT_FALSE(books_.keep(read_at, world_.tick(seen)));
      }
    }
  }

  void check() const {
    for (std::size_t i = 0; i < books_.events.size(); ++i) {
      ASSERT_EQ(books_.events[i].sequence, static_cast<std::int64_t>(i) + 2);
    }
    for (const auto& id : books_.started) ASSERT_EQ(books_.started.count(id), 1u) << id;
    ASSERT_EQ(static_cast<std::int64_t>(books_.started.size()), books_.schedule.fires_count);
    every_occurrence_has_one_outcome();
  }

 private:
  void pass_time() {
    world_.now += chrono::seconds{dice_.below(1200)};
    if (dice_.below(20) == 0) world_.now += chrono::minutes{dice_.below(61)};
    if (dice_.below(20) == 0) world_.now -= chrono::minutes{dice_.below(61)};
    world_.open_instances.clear();
    if (dice_.below(4) == 0) world_.open_instances = {"earlier"};
  }

  void settle(const Decision& decision, const Asked& asked, const Schedule& seen,
              std::uint64_t read_at) {
    if (dice_.below(5) == 0) return;  // lost before it was kept
    if (decision.start && dice_.below(15) == 0) {
      books_.keep(read_at, decide_failed(seen, asked, "boom", world_.facts(seen)));
      return;
    }
    books_.keep(read_at, decision);
  }

  // Told of by itself, or in exactly one stretch.
  void every_occurrence_has_one_outcome() const {
    std::map<Timestamp, int> told;
    const auto& spec = world_.spec;
    for (const auto& [key, entry] : books_.ledger) {
      if (entry.nth == the_occurrence) ++told[entry.nominal_at];
      if (entry.nth != a_stretch) continue;
      const auto in = occurrences(*spec, entry.nominal_at - Duration{1}, *entry.until, 100'000);
      ASSERT_EQ(static_cast<std::int64_t>(in.size()), entry.count);
      for (const auto& one : in) ++told[one.at];
    }
    ASSERT_TRUE(books_.schedule.judged_until);
    const auto all =
        occurrences(*spec, first_ - Duration{1}, *books_.schedule.judged_until, 1'000'000);
    ASSERT_EQ(told.size(), all.size());
    for (const auto& one : all) ASSERT_EQ(told[one.at], 1) << written(one.at);
  }

  SeededRandom dice_;
  World world_ = {};
  Books books_ = {};
  Timestamp first_ = {};
};

struct Policy {
  std::string_view name;
  std::string_view body;
};

class EachOccurrence : public testing::TestWithParam<Policy> {};

TEST_P(EachOccurrence, HasExactlyOneOutcome) {
  for (const std::uint64_t seed : {1u, 2u}) {
    UnreliableWorld world{seed, GetParam().body};
    world.live(2500);
    world.check();
  }
}

INSTANTIATE_TEST_SUITE_P(
    Seeds, EachOccurrence,
    testing::Values(
        Policy{"Plain", ""}, Policy{"WithJitter", R"("jitter_seconds": 600)"},
        Policy{"Buffering", R"("overlap_policy": "buffer_all")"},
        Policy{
            "CatchingUp",
            R"("overlap_policy": "allow_all", "missed_fire_policy": {"mode": "catch_up", "max_occurrences": 3})"},
        Policy{"WithAWindow", R"("missed_fire_policy": {"mode": "skip", "window_seconds": 600})"}),
    [](const auto& tested) { return std::string{tested.param.name}; });

}  // namespace
}  // namespace dw::schedule
