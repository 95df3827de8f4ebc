// For tests: a story, looked at.
//
//   const auto run = looking_at({workflow_started("invoice"), timer_scheduled("t1", 60s)});
//   EXPECT_EQ(run.summary().liveness.state, "timer_scheduled");
//   EXPECT_EQ(run.without("t1-task").summary().liveness.state, "repair_needed");
//
// The delivery rows are those that history expects; a story may lose some, or lease them.
#pragma once
#include "engine/expected_tasks.hpp"
#include "history/event_builders.hpp"
#include "views/activities.hpp"
#include "views/availability.hpp"
#include "views/failures.hpp"
#include "views/lineage.hpp"
#include "views/summary.hpp"
#include "views/task_rows.hpp"
#include "views/timeline.hpp"
#include "views/timers.hpp"
#include "views/waits.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dw::story {

class Looking {
 public:
  explicit Looking(std::vector<Told> list) : events_(told(std::move(list))) {
    auto account = views::account_of(RunId{"run1"}, events_);
    EXPECT_TRUE(account) << account.error().message;
    if (account) account_ = *std::move(account);
    sight_.now = at("09:00");
    for (auto& task : engine::expected_tasks({account_.run_id, account_.state, {}})) {
      sight_.deliveries.push_back({std::move(task)});
    }
  }

  Looking at_time(std::string_view time) const {
    Looking other = *this;
    other.sight_.now = at(time);
    return other;
  }
  // That row is lost.
  Looking without(std::string_view suffix) const {
    Looking other = *this;
    const auto lost = std::erase_if(other.sight_.deliveries, [&](const auto& delivery) {
      return delivery.task.key.id.view() == "run1." + std::string{suffix};
    });
    EXPECT_EQ(lost, 1u) << "there is no row " << suffix;
    return other;
  }
  Looking without_tasks() const {
    Looking other = *this;
    other.sight_.deliveries.clear();
    return other;
  }
  // The only row there is, changed.
  template <typename Change>
  Looking with_task(Change change) const {
    Looking other = *this;
    EXPECT_EQ(other.sight_.deliveries.size(), 1u);
    change(other.sight_.deliveries.front());
    return other;
  }
  Looking with(views::Delivery delivery) const {
    Looking other = *this;
    other.sight_.deliveries.push_back(std::move(delivery));
    return other;
  }
  Looking with(views::ForeignRows foreign) const {
    Looking other = *this;
    other.sight_.foreign = std::move(foreign);
    return other;
  }
  template <typename Change>
  Looking seen(Change change) const {
    Looking other = *this;
    change(other.sight_);
    return other;
  }

  const std::vector<history::Event>& events() const { return events_; }
  const views::Account& account() const { return account_; }
  const views::Sight& sight() const { return sight_; }
  views::Summary summary() const { return views::summarize(account_, sight_); }
  std::string liveness() const { return summary().liveness.state; }
  std::vector<views::WaitRow> waits() const { return views::wait_rows(account_, sight_); }
  views::WaitRow wait(std::string_view id) const {
    for (auto& row : waits()) {
      if (row.id == id) return row;
    }
    ADD_FAILURE() << "no wait " << id;
    return {};
  }
  // They point into this: keep it.
  std::vector<views::TaskRow> tasks() const { return views::task_rows(account_, sight_); }
  std::vector<std::string> missing() const {
    std::vector<std::string> ids;
    for (const auto& row : tasks()) {
      if (row.synthetic) ids.push_back(row.id);
    }
    return ids;
  }

 private:
  std::vector<history::Event> events_;
  views::Account account_;
  views::Sight sight_;
};

inline Looking looking_at(std::vector<Told> list) {
  return Looking{std::move(list)};
}

// A workflow task row, ready since nine.
inline views::Delivery workflow_task_row(std::string suffix = "w1") {
  engine::Task task;
  task.key = {at("09:00"), TaskId{"run1." + suffix}};
  task.run_id = RunId{"run1"};
  return {std::move(task)};
}
inline views::Delivery leased(views::Delivery row, std::string_view until,
                              std::string owner = "worker-1") {
  row.task.status = engine::TaskStatus::leased;
  row.task.lease_owner = std::move(owner);
  row.task.lease_expires_at = at(until);
  return row;
}

// The text of a key, or "null"; other kinds as JSON.
inline std::string text_at(const Value& row, std::string_view key) {
  const Value* found = row.find(key);
  if (!found) return "(absent)";
  return found->if_string() ? *found->if_string() : to_json(*found);
}

}  // namespace dw::story
