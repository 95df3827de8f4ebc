// Queries that workers elsewhere answer. Nothing of them is recorded: they live as long as somebody
// waits for the answer, and a worker that comes later is told so for a while.
#pragma once
#include "core/ulid.hpp"
#include "server/matching.hpp"
#include "server/workers.hpp"

#include <mutex>
#include <unordered_map>

namespace dw::server {

// What a worker has to know to answer.
struct QueryQuestion {
  Namespace ns;
  std::string queue;
  std::string workflow_type;
  std::string compatibility;
  Value::Map task = {};      // the fields of the task, without those of its delivery
  std::string history = {};  // of the run, a JSON list
  std::string commits = {};  // the same for native workers
  std::optional<std::weak_ptr<const void>> asker = {};  // expires when the caller hangs up
};

inline constexpr auto query_lease = std::chrono::seconds{60};
// Whoever has not answered by then may be gone: another worker may try as well, and until it does
// the first one's answer counts.
inline constexpr auto query_second_chance = std::chrono::seconds{10};
// That wait for the workers of one queue; further ones are refused.
inline constexpr std::size_t most_queries_per_queue = 1'024;
// For as long, and for as many, a worker that answers too late learns that its caller gave up.
inline constexpr auto given_up_for = std::chrono::seconds{180};
inline constexpr std::size_t most_given_up = 10'000;

class QueryTasks {
 public:
  struct Outcome {
    std::optional<Payload> result = {};
    // Without one: why, as the caller is told.
    int status = 409;
    std::string reason = {};
    std::string message = {};
    Value::Map more = {};
  };
  using Asked = std::function<void(Outcome outcome)>;

  QueryTasks(Matching& matching, Executor& time, const Clock& clock, Random& random);

  void ask(QueryQuestion question, Asked asked);
  // How many wait for the workers of that queue, or are with them.
  std::size_t pending(const Namespace& ns, std::string_view queue) const;

  // For the worker plane: the task behind an offer, if somebody still waits for it; and its answer.
  std::optional<Answer> claim(const std::string& id, const std::string& worker);
  // The same for native workers: the task as JSON.
  std::optional<std::string> claim_native(const std::string& id, const std::string& worker);
  Answer complete(const Call& call);
  Answer fail(const Call& call);
  // The worker has deregistered: what it holds goes to another.
  void release(const Namespace& ns, const std::string& worker);
  // From now on nobody waits for an answer: those who do are told to ask again.
  void stop();

 private:
  struct Task {
    QueryQuestion question;
    Asked asked;
    dispatch::Offer offer;
    std::int64_t attempt = 0;
    std::string owner = {};
    Timestamp lease_expires_at = {};
  };

  static std::pair<Namespace, std::string> queue_of(const QueryQuestion& question);
  // With the mutex held.
  std::optional<Task> take(const std::string& id);
  // A worker's word about a task.
  struct Report {
    std::string id;
    std::string owner;
    std::int64_t attempt = 0;
  };
  // Why the report does not count; empty when it does. With mutex_ held.
  std::string_view fence(const Namespace& ns, const Report& report) const;
  // Takes the task out if whoever calls holds it; else says why not.
  std::variant<Asked, Answer> settle(const Call& call);
  Task* lease(const std::string& id, const std::string& worker);  // with mutex_ held
  void give_up(const std::string& id);
  // Those of that queue whose callers hung up.
  void drop_abandoned(const std::pair<Namespace, std::string>& queue);
  void offer_again(const std::string& id, std::int64_t attempt);

  Matching& matching_;
  Executor& time_;
  const Clock& clock_;
  mutable std::mutex mutex_;
  UlidSource ulids_;                             // guarded by mutex_
  std::unordered_map<std::string, Task> tasks_;  // guarded by mutex_
  std::map<std::string, Namespace> given_up_;    // guarded by mutex_: by id, so the oldest first
  // Guarded by mutex_: how many of them each queue has, and none that has none.
  std::map<std::pair<Namespace, std::string>, std::size_t> pending_;
  bool stopped_ = false;  // guarded by mutex_
};

}  // namespace dw::server
