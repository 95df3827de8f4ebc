// The two sides of matching, as its tests play them.
#pragma once
#include "core/random.hpp"
#include "machine/scheduler.hpp"
#include "server/matching.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>

namespace dw::server::matching_story {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

inline constexpr Timestamp nine = from_micros(1'775'000'000'000'000);

inline dispatch::Offer workflow_offer(const std::string& task, std::string type = "invoice") {
  return {.run = {{Namespace{"default"}, InstanceId{"order-42"}}, RunId{"run-1"}},
          .task = {nine, TaskId{task}},
          .activity = {},
          .type = std::move(type),
          .queue = "orders"};
}

inline dispatch::Offer urgent_offer(const std::string& task, std::int64_t priority) {
  auto offer = workflow_offer(task);
  offer.precedence.priority = priority;
  return offer;
}

inline dispatch::Offer offer_of_tenant(const std::string& task, std::string tenant,
                                       std::int64_t weight = 1) {
  auto offer = workflow_offer(task);
  offer.precedence.fairness_key = std::move(tenant);
  offer.precedence.fairness_weight = weight;
  return offer;
}

inline dispatch::Offer activity_offer(const std::string& task) {
  auto offer = workflow_offer(task, "charge");
  offer.activity = ActivityId{"a-" + task};
  return offer;
}

inline Poll asking_for(std::set<std::string, std::less<>> types) {
  return {.ns = Namespace{"default"},
          .queue = "orders",
          .kind = WorkKind::workflow,
          .worker_id = "w-1",
          .build_id = {},
          .types = std::move(types)};
}

class WorkMeetsWorkers : public ::testing::Test {
 protected:
  // What is told of a poll: "name: task", "name: nothing" or "name: stopped".
  void poll(const std::string& name, Poll asking, Duration patience = 30s) {
    matching->poll(std::move(asking), clock.now() + patience, [this, name](Matching::Found found) {
      told.push_back(fmt::format(
          "{}: {}", name,
          found.offer ? found.offer->task.id.str() : (found.stopped ? "stopped" : "nothing")));
    });
  }
  void poll(const std::string& name) { poll(name, asking_for({"invoice"})); }
  void pass(Duration span) {
    const Timestamp until = clock.now() + span;
    while (scheduler.step(until)) {
    }
    clock.set(until);
  }
  // What the next polls are given, as one text.
  std::string given(int polls, const Poll& asking = asking_for({"invoice"})) {
    std::vector<std::string> tasks;
    for (int i = 0; i < polls; ++i) {
      const auto offer = matching->take(asking);
      tasks.push_back(offer ? offer->task.id.str() : "nothing");
    }
    return fmt::format("{}", fmt::join(tasks, " "));
  }
  Matching::Stats stats(std::string_view queue = "orders") {
    return matching->stats(Namespace{"default"}, queue);
  }

  machine::SimClock clock{nine};
  SeededRandom random{1};
  machine::Scheduler scheduler{clock, random, Duration::zero()};
  machine::SimExecutor time{scheduler, "time"};
  std::vector<std::string> told;
  std::unique_ptr<Matching> matching = std::make_unique<Matching>(time, clock);
};

}  // namespace dw::server::matching_story
