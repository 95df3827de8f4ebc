// Polls that are repeated because their answers got lost on the way: the same request gets the same
// task, as long as nobody has reported about that.
#pragma once
#include "core/clock.hpp"
#include "server/front_desk.hpp"

#include <map>
#include <mutex>
#include <set>

namespace dw::server {

class PollMemory {
 public:
  explicit PollMemory(const Clock& clock) : clock_(clock) {}

  // Who polls for what, and how the poll calls itself; an empty key is not remembered.
  static std::string key(const Namespace& ns, std::string_view queue, std::string_view worker,
                         std::string_view kind, std::string_view request_id);

  // Takes a poll that is new and replies to every other one: at once if its task is known, or
  // together with the one that is waiting.
  bool begin(const std::string& key, const Call& call, const Reply& reply);
  // Does somebody who repeated that poll still wait for its answer?
  bool awaited(const std::string& key) const;
  // Tells all who asked, and remembers a task until its lease ends.
  void answer(const std::string& key, const std::string& task_id, Timestamp until, Answer answer,
              const Reply& first);
  // A worker is gone, and what it was given with it.
  void forget_worker(const Namespace& ns, std::string_view worker);
  // The task is done.
  void forget(const std::string& task_id);

 private:
  struct Waiting {
    Call call;  // without its body
    Reply reply;
  };
  struct Asked {
    std::vector<Waiting> waiting = {};
    std::optional<Answer> answer = {};
    Timestamp until = {};
    std::string task_id = {};
  };

  // With mutex_ held.
  void forget_answer(std::map<std::string, Asked>::iterator asked);

  const Clock& clock_;
  mutable std::mutex mutex_;
  std::map<std::string, Asked> asked_;                       // guarded by mutex_
  std::map<std::string, std::string> by_task_;               // guarded by mutex_: task → key
  std::set<std::pair<Timestamp, std::string>> by_deadline_;  // guarded by mutex_: key of an answer
};

}  // namespace dw::server
