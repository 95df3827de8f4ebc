// Where the runs of tasks that workers hold are to be found. A cache: what it does not know, the
// store does.
#pragma once
#include "core/executor.hpp"
#include "dispatch/requests.hpp"

#include <mutex>
#include <string>
#include <unordered_map>

namespace dw::server {

class HeldTasks {
 public:
  using Found = std::function<void(Result<std::optional<dispatch::RunAddress>>)>;

  HeldTasks(store::Store& store, Executor& reader) : store_(store), reader_(reader) {}

  void note(const TaskId& task, dispatch::RunAddress run);
  void forget(const TaskId& task);
  // Nothing when there is no such run in that namespace. At once if it is known, else later.
  void find(const Namespace& ns, const TaskId& task, Found then) const;

 private:
  store::Store& store_;
  Executor& reader_;
  mutable std::mutex mutex_;
  std::unordered_map<TaskId, dispatch::RunAddress> runs_;  // guarded by mutex_
};

}  // namespace dw::server
