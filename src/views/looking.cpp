#include "views/looking.hpp"

#include "engine/expected_tasks.hpp"

#include <gtest/gtest.h>

namespace dw::story {

Looking::Looking(std::vector<Told> list) : events_(told(std::move(list))) {
  auto account = views::account_of(RunId{"run1"}, events_);
  EXPECT_TRUE(account) << account.error().message;
  if (account) account_ = *std::move(account);
  sight_.now = at("09:00");
  for (auto& task : engine::expected_tasks({account_.run_id, account_.state, {}})) {
    sight_.deliveries.push_back({std::move(task)});
  }
}

Looking::Looking(const Looking& other) = default;
Looking::Looking(Looking&& other) noexcept = default;
Looking::~Looking() = default;

Looking Looking::at_time(std::string_view time) const {
  Looking other = *this;
  other.sight_.now = at(time);
  return other;
}

Looking Looking::without(std::string_view suffix) const {
  Looking other = *this;
  const auto lost = std::erase_if(other.sight_.deliveries, [&](const auto& delivery) {
    return delivery.task.key.id.view() == "run1." + std::string{suffix};
  });
  EXPECT_EQ(lost, 1u) << "there is no row " << suffix;
  return other;
}

Looking Looking::without_tasks() const {
  Looking other = *this;
  other.sight_.deliveries.clear();
  return other;
}

Looking Looking::with_task(const std::function<void(views::Delivery&)>& change) const {
  Looking other = *this;
  EXPECT_EQ(other.sight_.deliveries.size(), 1u);
  change(other.sight_.deliveries.front());
  return other;
}

Looking Looking::with(views::Delivery delivery) const {
  Looking other = *this;
  other.sight_.deliveries.push_back(std::move(delivery));
  return other;
}

Looking Looking::with(views::ForeignRows foreign) const {
  Looking other = *this;
  other.sight_.foreign = std::move(foreign);
  return other;
}

Looking Looking::seen(const std::function<void(views::Sight&)>& change) const {
  Looking other = *this;
  change(other.sight_);
  return other;
}

views::Summary Looking::summary() const {
  return views::summarize(account_, sight_);
}

std::string Looking::liveness() const {
  return summary().liveness.state;
}

std::vector<views::WaitRow> Looking::waits() const {
  return views::wait_rows(account_, sight_);
}

views::WaitRow Looking::wait(std::string_view id) const {
  for (auto& row : waits()) {
    if (row.id == id) return row;
  }
  ADD_FAILURE() << "no wait " << id;
  return {};
}

std::vector<views::TaskRow> Looking::tasks() const {
  return views::task_rows(account_, sight_);
}

std::vector<std::string> Looking::missing() const {
  std::vector<std::string> ids;
  for (const auto& row : tasks()) {
    if (row.synthetic) ids.push_back(row.id);
  }
  return ids;
}

Looking looking_at(std::vector<Told> list) {
  return Looking{std::move(list)};
}

views::Delivery workflow_task_row(std::string suffix) {
  engine::Task task;
  task.key = {at("09:00"), TaskId{"run1." + suffix}};
  task.run_id = RunId{"run1"};
  return {std::move(task)};
}

views::Delivery leased(views::Delivery row, std::string_view until, std::string owner) {
  row.task.status = engine::TaskStatus::leased;
  row.task.lease_owner = std::move(owner);
  row.task.lease_expires_at = at(until);
  return row;
}

views::Fleet fleet_supporting(const std::vector<std::string>& markers) {
  views::Fleet fleet;
  for (const std::string& marker : markers) {
    auto& worker = fleet.workers.emplace_back();
    worker.worker_id = "w" + std::to_string(fleet.workers.size());
    worker.supported = {marker};
    worker.recorded_at = at("09:00");
    worker.expires_at = at("21:00");
  }
  return fleet;
}

std::string text_at(const Value& row, std::string_view key) {
  const Value* found = row.find(key);
  if (!found) return "(absent)";
  return found->if_string() ? *found->if_string() : to_json(*found);
}

}  // namespace dw::story
