// For tests: a story, looked at.
//
//   const auto run = looking_at({workflow_started("invoice"), timer_scheduled("t1", 60s)});
//   EXPECT_EQ(run.summary().liveness.state, "timer_scheduled");
//   EXPECT_EQ(run.without("t1-task").summary().liveness.state, "repair_needed");
//
// The delivery rows are those that history expects; a story may lose some, or lease them.
#pragma once
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

#include <functional>

namespace dw::story {

class Looking {
 public:
  explicit Looking(std::vector<Told> list);
  Looking(const Looking& other);
  Looking(Looking&& other) noexcept;
  ~Looking();

  Looking at_time(std::string_view time) const;
  // That row is lost.
  Looking without(std::string_view suffix) const;
  Looking without_tasks() const;
  // The only row there is, changed.
  Looking with_task(const std::function<void(views::Delivery&)>& change) const;
  Looking with(views::Delivery delivery) const;
  Looking with(views::ForeignRows foreign) const;
  Looking seen(const std::function<void(views::Sight&)>& change) const;

  const std::vector<history::Event>& events() const { return events_; }
  const views::Account& account() const { return account_; }
  const views::Sight& sight() const { return sight_; }
  views::Summary summary() const;
  std::string liveness() const;
  std::vector<views::WaitRow> waits() const;
  views::WaitRow wait(std::string_view id) const;
  // They point into this: keep it.
  std::vector<views::TaskRow> tasks() const;
  std::vector<std::string> missing() const;

 private:
  std::vector<history::Event> events_;
  views::Account account_;
  views::Sight sight_;
};

Looking looking_at(std::vector<Told> list);

// A workflow task row, ready since nine.
views::Delivery workflow_task_row(std::string suffix = "w1");
views::Delivery leased(views::Delivery row, std::string_view until, std::string owner = "worker-1");

// One worker for each marker, w1, w2, …, on any queue, all day. Whoever looks takes nothing marked.
views::Fleet fleet_supporting(const std::vector<std::string>& markers);

// The text of a key, or "null"; other kinds as JSON.
std::string text_at(const Value& row, std::string_view key);

}  // namespace dw::story
