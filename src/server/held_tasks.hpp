// Where the runs of tasks that workers hold are to be found. A cache: what it does not know, the
// store does.
#pragma once
#include "dispatch/requests.hpp"

#include <mutex>
#include <string>
#include <unordered_map>

namespace dw::server {

class HeldTasks {
 public:
  void note(const TaskId& task, dispatch::RunAddress run) {
    const std::lock_guard lock{mutex_};
    // Workers that never report must not grow it for ever.
    if (runs_.size() >= most) runs_.clear();
    runs_.insert_or_assign(task, std::move(run));
  }
  void forget(const TaskId& task) {
    const std::lock_guard lock{mutex_};
    runs_.erase(task);
  }
  std::optional<dispatch::RunAddress> find(const TaskId& task) const {
    const std::lock_guard lock{mutex_};
    const auto found = runs_.find(task);
    return found == runs_.end() ? std::nullopt : std::optional{found->second};
  }

 private:
  static constexpr std::size_t most = 100'000;
  mutable std::mutex mutex_;
  std::unordered_map<TaskId, dispatch::RunAddress> runs_;  // guarded by mutex_
};

}  // namespace dw::server
