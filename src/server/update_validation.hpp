// Updates that wait for their validators, which workers elsewhere run before anything is recorded.
// Like queries they live as long as somebody waits for the verdict; unlike them, one that is sent
// twice waits once, and a verdict that comes late or from the wrong worker is told why.
#pragma once
#include "core/ulid.hpp"
#include "server/declared_validators.hpp"

#include <unordered_map>

namespace dw::server {

// What a worker has to know to judge an update, and what makes it the same update again.
struct ValidationQuestion {
  ValidationTarget target;
  std::string workflow_id;
  std::string run_id;
  std::int64_t last_sequence = 0;  // of the history that the validator sees
  std::string request_id;          // never empty
  Payload arguments;               // bound: as they would be recorded
  Value::Map task = {};            // the fields of the task, without those of its delivery
  std::string history = {};        // of the run, a JSON list
};

// Whether arguments say the same, be they encoded differently.
bool same_arguments(const Payload& one, const Payload& other);
ValidationRefusal other_arguments(const ValidationTarget& target, std::string_view request_id);

inline constexpr auto validation_lease = std::chrono::seconds{10};
// From the first caller's request to the verdict.
inline constexpr auto validation_patience = std::chrono::seconds{20};
// That wait for the workers of one queue; further ones are refused.
inline constexpr std::size_t most_validations_per_queue = 1'024;

class UpdateValidations {
 public:
  // Nothing: it is approved.
  using Verdict = std::optional<ValidationRefusal>;
  using Heard = std::function<void(const Verdict& verdict)>;

  UpdateValidations(Matching& matching, const Workers& workers, Executor& time, const Clock& clock,
                    Random& random);

  void ask(ValidationQuestion question, Heard heard);

  // For the worker plane: the task behind an offer, if somebody still waits for it; and the
  // verdict.
  std::optional<Answer> claim(const std::string& id, const std::string& worker);
  Answer approve(const Call& call);
  Answer reject(const Call& call);
  // The worker has deregistered: what it holds goes to another.
  void release(const Namespace& ns, const std::string& worker);
  // From now on nobody waits for a verdict: those who do are told to send their update again.
  void stop();

 private:
  struct Task {
    ValidationQuestion question;
    std::vector<Heard> waiting;
    dispatch::Offer offer;
    std::int64_t attempt = 0;
    std::string owner = {};
    Timestamp lease_expires_at = {};
  };
  // How it ended, for a worker that comes once more.
  struct Settled {
    Namespace ns;
    std::int64_t attempt = 0;
    std::string owner = {};
  };
  // What was approved, for the same request that comes before the update is recorded: as long as
  // the run stands where it stood, its validator would say the same.
  struct Approved {
    std::string id;
    ValidationQuestion question;
  };
  // Namespace, workflow id and request id.
  using RequestKey = std::tuple<Namespace, std::string, std::string>;

  // A worker's word about a task.
  struct Report {
    std::string id;
    std::string owner;
    std::int64_t attempt = 0;
  };

  static RequestKey request_of(const ValidationQuestion& question);
  bool is_gone(const Namespace& ns, const std::string& worker) const;
  // These six with mutex_ held. Why the report does not count; empty when it does.
  std::string_view fence(const Namespace& ns, const Report& report) const;
  bool is_full(const ValidationTarget& target) const;
  const ValidationQuestion* find_approved(const ValidationQuestion& question) const;
  dispatch::Offer create(ValidationQuestion question, Heard heard);
  std::optional<Task> take(const std::string& id);
  void remember(const std::string& id, const ValidationQuestion& question);

  Answer judge(const Call& call, Verdict verdict, std::string_view outcome);
  void settle(const std::string& id, const Task& task, const Verdict& verdict);
  void give_up(const std::string& id);
  void offer_again(const std::string& id, std::int64_t attempt);

  Matching& matching_;
  const Workers& workers_;
  Executor& time_;
  const Clock& clock_;
  std::mutex mutex_;
  UlidSource ulids_;                                  // guarded by mutex_
  std::unordered_map<std::string, Task> tasks_;       // guarded by mutex_
  std::unordered_map<std::string, Settled> settled_;  // guarded by mutex_
  std::map<RequestKey, Approved> approved_;           // guarded by mutex_
  std::map<RequestKey, std::string> by_request_;      // guarded by mutex_: the task of each request
  std::map<std::pair<Namespace, std::string>, std::size_t> pending_;  // guarded by mutex_: by queue
  bool stopped_ = false;                                              // guarded by mutex_
};

}  // namespace dw::server
