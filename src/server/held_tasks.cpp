#include "server/held_tasks.hpp"

namespace dw::server {
namespace {

constexpr std::size_t most_held = 100'000;

}  // namespace

void HeldTasks::note(const TaskId& task, dispatch::RunAddress run) {
  const std::lock_guard lock{mutex_};
  // Workers that never report must not grow it for ever.
  if (runs_.size() >= most_held) runs_.clear();
  runs_.insert_or_assign(task, std::move(run));
}

void HeldTasks::forget(const TaskId& task) {
  const std::lock_guard lock{mutex_};
  runs_.erase(task);
}

void HeldTasks::find(const Namespace& ns, const TaskId& task, Found then) const {
  std::optional<dispatch::RunAddress> known;
  {
    const std::lock_guard lock{mutex_};
    if (const auto found = runs_.find(task); found != runs_.end()) known = found->second;
  }
  if (known) {
    // Of another namespace: as if it were not there.
    if (known->instance.ns != ns) known.reset();
    return then(std::move(known));
  }
  // From before this process began, or of a worker that took its time.
  reader_.post([this, ns, task, then = std::move(then)] {
    const RunId run{task.str().substr(0, task.str().find('.'))};
    const auto row = store_.find_run(run);
    if (!row) return then(row.error());
    std::optional<dispatch::RunAddress> found;
    if (*row && (*row)->ns == ns) found = {{(*row)->ns, (*row)->instance_id}, run};
    then(std::move(found));
  });
}

}  // namespace dw::server
