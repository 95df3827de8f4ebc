#include "server/poll_memory.hpp"

#include <fmt/format.h>

namespace dw::server {

std::string PollMemory::key(const Namespace& ns, std::string_view queue, std::string_view worker,
                            std::string_view kind, std::string_view request_id) {
  if (request_id.empty()) return {};
  return fmt::format("{}\n{}\n{}\n{}\n{}", ns.view(), queue, worker, kind, request_id);
}

bool PollMemory::begin(const std::string& key, const Reply& reply) {
  if (key.empty()) return true;
  std::optional<Answer> known;
  {
    const std::lock_guard lock{mutex_};
    const Timestamp now = clock_.now();
    while (!by_deadline_.empty() && by_deadline_.front().first <= now) {
      const auto old = asked_.find(by_deadline_.front().second);
      if (old != asked_.end() && old->second.answer && old->second.until <= now) {
        by_task_.erase(old->second.task_id);
        asked_.erase(old);
      }
      by_deadline_.pop_front();
    }
    const auto [asked, fresh] = asked_.try_emplace(key);
    if (fresh) return true;
    if (!asked->second.answer) {
      asked->second.waiting.push_back(reply);
      return false;
    }
    known = asked->second.answer;
  }
  reply(*std::move(known));
  return false;
}

void PollMemory::answer(const std::string& key, const std::string& task_id, Timestamp until,
                        Answer answer, const Reply& first) {
  std::vector<Reply> waiting;
  if (!key.empty()) {
    const std::lock_guard lock{mutex_};
    const auto asked = asked_.find(key);
    if (asked != asked_.end()) waiting = std::move(asked->second.waiting);
    if (task_id.empty()) {
      if (asked != asked_.end()) asked_.erase(asked);
    } else {
      asked_.insert_or_assign(key, Asked{{}, answer, until, task_id});
      by_task_.insert_or_assign(task_id, key);
      by_deadline_.emplace_back(until, key);
    }
  }
  for (const Reply& reply : waiting) reply(answer);
  first(std::move(answer));
}

void PollMemory::forget_worker(const Namespace& ns, std::string_view worker) {
  const std::lock_guard lock{mutex_};
  const std::string of_namespace = ns.str() + '\n';
  const std::string of_worker = fmt::format("\n{}\n", worker);
  std::erase_if(asked_, [&](const auto& entry) {
    const auto& [key, asked] = entry;
    if (!asked.answer || !key.starts_with(of_namespace) ||
        key.find(of_worker) == std::string::npos) {
      return false;
    }
    by_task_.erase(asked.task_id);
    return true;
  });
}

void PollMemory::forget(const std::string& task_id) {
  const std::lock_guard lock{mutex_};
  const auto key = by_task_.find(task_id);
  if (key == by_task_.end()) return;
  asked_.erase(key->second);
  by_task_.erase(key);
}

}  // namespace dw::server
