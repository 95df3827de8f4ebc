// Workers that said they are there: what they can run, on which queue, and when they were last
// heard of. In memory: a worker that is told it is unknown registers again.
#pragma once
#include "core/clock.hpp"
#include "server/fields.hpp"
#include "server/matching.hpp"

#include <map>
#include <mutex>
#include <variant>

namespace dw::server {

struct Worker {
  std::string worker_id;
  Namespace ns;
  std::string queue;
  std::string runtime;
  std::string sdk_version;
  std::string build_id;
  std::vector<std::string> workflow_types;
  std::vector<std::string> activity_types;
  std::map<std::string, std::string> fingerprints;  // by workflow type
  std::map<std::string, Shared<Declarations>>
      declarations;  // by workflow type, as it declared them
  std::map<std::string, std::vector<std::string>> update_validators;  // by workflow type
  std::vector<std::string> capabilities;
  std::int64_t max_workflow_tasks = 100;
  std::int64_t max_activity_tasks = 100;
  std::optional<Value> task_slots;
  std::optional<Value> process_metrics;
  std::int64_t heartbeat_seconds = 60;
  bool leaving = false;  // it said that it takes nothing more
  Timestamp registered_at;
  Timestamp heard_at;

  // Both lists empty: everything. One empty: nothing of that kind.
  bool takes_all() const { return workflow_types.empty() && activity_types.empty(); }
};

// What it asks for when it polls for that kind of work.
Poll poll_of(const Worker& worker, WorkKind kind);

// A worker, and how it stands at the moment of looking: active, stale or draining.
struct SeenWorker {
  Worker worker;
  std::string status;
};

// Without a word for so long a worker counts as gone.
std::int64_t stale_after_seconds(std::int64_t heartbeat_seconds);

// What a poll is told when its worker's build is on its way out. Some workers take it as the signal
// to stop, and none of them asks again at once.
Answer while_draining();

// Are a queue's workers of that build on their way out? An empty one: those that named none.
using Draining =
    std::function<bool(const Namespace& ns, std::string_view queue, std::string_view build_id)>;

inline constexpr std::string_view registration_kind = "worker_registration";

class Workers {
 public:
  explicit Workers(const Clock& clock, Draining draining = {})
      : clock_(clock), draining_(std::move(draining)) {}

  // Those who registered before this process began are known, and have as long to show up as if
  // they had just been heard.
  void restore(std::span<const store::Document> registrations);
  // Registrations of workers that have not been heard of for a day, to be removed.
  std::vector<store::Document> take_forgotten();
  // The namespace has left, and those who work for it are unknown from now on.
  void forget(const Namespace& ns);

  // The worker plane; each takes a request that passed the desk.
  Answer register_worker(const Call& call, std::string fresh_id);
  Answer heartbeat(const Call& call);

  // Who speaks, if it may: registered, on its own queue, of the build it registered.
  std::variant<Worker, Answer> recognise(const Call& call);
  // Who polls, if it may: the same, and its build is not draining.
  std::variant<Worker, Answer> admit(const Call& call);

  // The control plane.
  Answer list(const Call& call) const;
  Answer describe(const Call& call) const;
  Answer remove(const Call& call);

  std::optional<Worker> find(const Namespace& ns, std::string_view worker_id) const;
  // Whoever polled may have gone since.
  bool knows(const Worker& worker) const;
  // Or may have begun to drain.
  bool takes_work(const Worker& worker) const;
  // The worker itself says that it takes nothing more, until it registers again.
  void drain(const Worker& worker);
  // Those of a queue, or of all.
  std::vector<SeenWorker> seen(const Namespace& ns, std::string_view queue = {}) const;
  bool draining(const Worker& worker) const {
    return worker.leaving || (draining_ && draining_(worker.ns, worker.queue, worker.build_id));
  }
  // What workers of that queue say about a workflow type; nothing where none does.
  struct Definition {
    Shared<Declarations> declared = {};
    std::string fingerprint = {};
  };
  Definition definition(const Namespace& ns, std::string_view queue,
                        std::string_view workflow_type) const;
  // Is there a live worker on that queue for the type that has the capability, and takes new work?
  enum class Help { none, other_builds_only, there };
  struct Errand {
    std::string_view queue;
    std::string_view workflow_type;
    std::string_view capability;
    std::string_view compatibility = {};  // the build it must be; empty: any
  };
  Help help_with(const Namespace& ns, const Errand& errand) const;

 private:
  std::string_view status_of(const Worker& worker, Timestamp now) const;

  const Clock& clock_;
  const Draining draining_;
  mutable std::mutex mutex_;
  std::map<std::pair<Namespace, std::string>, Worker> workers_;  // guarded by mutex_
  std::vector<store::Document> forgotten_;                       // guarded by mutex_
};

}  // namespace dw::server
