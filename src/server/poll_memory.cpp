#include "server/poll_memory.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dw::server {

std::string PollMemory::key(const Namespace& ns, std::string_view queue, std::string_view worker,
                            std::string_view kind, std::string_view request_id) {
  if (request_id.empty()) return {};
  return fmt::format("{}\n{}\n{}\n{}\n{}", ns.view(), queue, worker, kind, request_id);
}

void PollMemory::forget_answer(std::map<std::string, Asked>::iterator asked) {
  const auto task = by_task_.find(asked->second.task_id);
  if (task != by_task_.end() && task->second == asked->first) by_task_.erase(task);
  by_deadline_.erase({asked->second.until, asked->first});
  asked_.erase(asked);
}

bool PollMemory::begin(const std::string& key, const Call& call, const Reply& reply) {
  if (key.empty()) return true;
  std::optional<Answer> known;
  {
    const std::lock_guard lock{mutex_};
    const Timestamp now = clock_.now();
    while (!by_deadline_.empty() && by_deadline_.begin()->first <= now) {
      forget_answer(asked_.find(by_deadline_.begin()->second));
    }
    const auto [asked, fresh] = asked_.try_emplace(key);
    if (fresh) return true;
    if (!asked->second.answer) {
      asked->second.waiting.push_back({call.without_body(), reply});
      return false;
    }
    known = asked->second.answer;
  }
  reply(*std::move(known));
  return false;
}

bool PollMemory::awaited(const std::string& key) const {
  const std::lock_guard lock{mutex_};
  const auto asked = asked_.find(key);
  return asked != asked_.end() &&
         std::ranges::any_of(asked->second.waiting,
                             [](const Waiting& one) { return !one.call.hung_up(); });
}

void PollMemory::answer(const std::string& key, const std::string& task_id, Timestamp until,
                        Answer answer, const Reply& first) {
  std::vector<Waiting> waiting;
  if (!key.empty()) {
    const std::lock_guard lock{mutex_};
    const auto asked = asked_.find(key);
    if (asked != asked_.end()) {
      waiting = std::move(asked->second.waiting);
      asked_.erase(asked);
    }
    if (!task_id.empty()) {
      asked_.emplace(key, Asked{{}, answer, until, task_id});
      by_task_.insert_or_assign(task_id, key);
      by_deadline_.emplace(until, key);
    }
  }
  for (const Waiting& one : waiting) one.reply(answer);
  first(std::move(answer));
}

void PollMemory::forget_worker(const Namespace& ns, std::string_view worker) {
  const std::lock_guard lock{mutex_};
  const std::string of_namespace = ns.str() + '\n';
  const std::string of_worker = fmt::format("\n{}\n", worker);
  for (auto asked = asked_.begin(); asked != asked_.end();) {
    const auto one = asked++;
    const bool its_own =
        one->first.starts_with(of_namespace) && one->first.find(of_worker) != std::string::npos;
    if (its_own && one->second.answer) forget_answer(one);
  }
}

void PollMemory::forget(const std::string& task_id) {
  const std::lock_guard lock{mutex_};
  const auto key = by_task_.find(task_id);
  if (key != by_task_.end()) forget_answer(asked_.find(key->second));
}

}  // namespace dw::server
