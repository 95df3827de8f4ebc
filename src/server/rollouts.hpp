// Which builds of a queue's workers are on their way out, and which one new workflows begin with.
// Operators say so; it is durable before that is acknowledged, and outlasts the workers it is
// about.
#pragma once
#include "core/executor.hpp"
#include "server/workers.hpp"
#include "store/store.hpp"

namespace dw::server {

inline constexpr std::string_view rollout_kind = "rollout";

struct RolloutsParts {
  store::Store& store;
  Executor& writer;  // the thread that commits
  const Clock& clock;
};

// Everywhere here an empty build id stands for the workers that named none.
class Rollouts {
 public:
  explicit Rollouts(RolloutsParts parts) : parts_(parts) {}

  void restore(std::span<const store::Document> documents);
  // The namespace has left; the next of its name begins without any of this.
  void forget(const Namespace& ns);

  // Its workers finish what they hold and are given nothing new.
  bool draining(const Namespace& ns, std::string_view queue, std::string_view build_id) const;
  // The build that new workflows on that queue begin with: promoted last, of those that are not
  // draining. Absent: there is none, or those that named none are it; then any build may take them.
  std::optional<std::string> promoted(const Namespace& ns, std::string_view queue) const;
  // Those that an operator has said something about.
  std::vector<std::string> queues(const Namespace& ns) const;

  // `workers` are those of the queue in the path.
  Answer build_ids(const Call& call, std::span<const SeenWorker> workers) const;
  void drain(const Call& call, Reply reply);
  void resume(const Call& call, Reply reply);
  // It takes work again if it was draining: nobody wants new workflows that nobody takes.
  void promote(const Call& call, Reply reply);

 private:
  struct Cohort {
    std::optional<Timestamp> drained_at = {};
    std::optional<Timestamp> promoted_at = {};
  };
  using Cohorts = std::map<std::string, Cohort, std::less<>>;  // by build id
  using QueueKey = std::pair<Namespace, std::string>;
  using Change = std::function<void(Cohorts& cohorts, const std::string& build_id, Timestamp now)>;

  static const std::string* selected(const Cohorts& cohorts);
  static std::string written(const Cohorts& cohorts);
  static Value::Map rollout(const Cohorts& cohorts, const std::string& build_id);
  Cohorts cohorts_of(const Namespace& ns, std::string_view queue) const;
  // On the writer's thread, one change after the other.
  void change(const Call& call, Reply reply, Change apply);
  Answer put(const Call& call, Cohorts cohorts, const std::string& build_id);

  const RolloutsParts parts_;
  mutable std::mutex mutex_;
  std::map<QueueKey, Cohorts> queues_;  // guarded by mutex_; none of them is empty
};

}  // namespace dw::server
