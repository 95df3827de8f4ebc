// Polls that are repeated because their answers got lost on the way: the same request gets the same
// task, as long as nobody has reported about that.
#pragma once
#include "core/clock.hpp"
#include "server/front_desk.hpp"

#include <deque>
#include <map>
#include <mutex>

namespace dw::server {

class PollMemory {
 public:
  explicit PollMemory(const Clock& clock) : clock_(clock) {}

  // Who polls for what, and how the poll calls itself; an empty key is not remembered.
  static std::string key(const Namespace& ns, std::string_view queue, std::string_view worker,
                         std::string_view kind, std::string_view request_id);

  // Takes a poll that is new and replies to every other one: at once if its task is known, or
  // together with the one that is waiting.
  bool begin(const std::string& key, const Reply& reply);
  // Tells all who asked, and remembers a task until its lease ends.
  void answer(const std::string& key, const std::string& task_id, Timestamp until, Answer answer,
              const Reply& first);
  // A worker is gone, and what it was given with it.
  void forget_worker(const Namespace& ns, std::string_view worker);
  // The task is done.
  void forget(const std::string& task_id);

 private:
  struct Asked {
    std::vector<Reply> waiting = {};
    std::optional<Answer> answer = {};
    Timestamp until = {};
    std::string task_id = {};
  };

  const Clock& clock_;
  std::mutex mutex_;
  std::map<std::string, Asked> asked_;                         // guarded by mutex_
  std::map<std::string, std::string> by_task_;                 // guarded by mutex_: task → key
  std::deque<std::pair<Timestamp, std::string>> by_deadline_;  // guarded by mutex_
};

}  // namespace dw::server
