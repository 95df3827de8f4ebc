// What operators and their programs ask for: start, look, signal, query, update, stop. Commands go
// to dispatch, which replies once they are durable; what is read from the store is read on the
// reader's thread.
#pragma once
#include "bundle/integrity.hpp"
#include "dispatch/dispatch.hpp"
#include "server/history_waits.hpp"
#include "server/namespaces.hpp"
#include "server/payload_storage.hpp"
#include "server/query_tasks.hpp"
#include "server/result_waits.hpp"
#include "server/rollouts.hpp"
#include "server/search_attributes.hpp"
#include "server/update_admission.hpp"
#include "server/waiting_reads.hpp"
#include "server/workers.hpp"

#include <dw/registry.hpp>

#include <mutex>

namespace dw::server {

struct ControlPlaneParts {
  dispatch::Dispatch& dispatch;
  store::Store& store;
  Executor& reader;
  Executor& probes;  // answers who asks whether we live, however much there is to read
  const Clock& clock;
  Random& random;
  const Registry& registry;  // workflows whose code is in this process
  Namespaces& namespaces;
  Workers& workers;
  QueryTasks& queries;
  ResultWaits& results;
  HistoryWaits& histories;
  SearchAttributes& attributes;
  Rollouts& rollouts;
  PayloadStorage& storage;
  UpdateAdmission& admission;
  Service& activities;                 // answers below /activities
  Service& task_queues;                // answers below /task-queues
  Service& system;                     // answers below /system
  Service& debug;                      // says what keeps a run from going on
  Service& schedules;                  // answers below /schedules and /system/schedules
  Service& calendars;                  // answers below /calendars
  Service& worker_plane;               // knows what a worker holds that is removed
  bundle::SigningKey export_key = {};  // for exported histories; empty: they are not signed
  bool updates_queue_behind_signals = false;
};

// How far a caller wants to wait for an update.
struct UpdateWish {
  bool until_completed = false;
  std::int64_t seconds = 0;
};

class ControlPlane final : public Service {
 public:
  explicit ControlPlane(ControlPlaneParts parts);

  void serve(Call call, Reply reply) override;

  // With what workers elsewhere have declared about its type, and with the build that new runs of
  // its queue begin with. From any thread.
  void describe_start(engine::StartCommand& command) const;

 private:
  void start(const Call& call, Reply reply);
  void start_with(const Call& call, engine::StartCommand command, engine::SignalCommand signal,
                  Reply reply);
  void signal(const Call& call, Reply reply);
  void query(const Call& call, Reply reply);
  void update(const Call& call, Reply reply);
  void send_update(const Call& call, engine::UpdateCommand command, UpdateWish wish, Reply reply);
  Result<void> read_update(dispatch::UpdateReply& update);
  void close(const Call& call, engine::CloseCommand::Kind kind, Reply reply);
  void ask(const Call& call, Payload arguments, Reply reply);
  void ask_worker(const Call& call, Payload arguments, Reply reply);
  std::optional<Answer> nobody_to_ask(const Namespace& ns, const QueryQuestion& question) const;
  void repair(const Call& call, Reply reply);
  void archive(Call call, Reply reply);

  Answer health(const Call& call);
  Answer list(const Call& call);
  Answer describe(const Call& call);
  Answer list_runs(const Call& call);
  Answer export_history(const Call& call);

  // Runs `read` where reading may take its time.
  void reading(const Call& call, Reply reply, Answer (ControlPlane::*read)(const Call&));
  void if_there(const Call& call, Reply reply, std::function<void(Reply reply)> then);

  ControlPlaneParts parts_;
  WaitingReads reads_;
  std::mutex mutex_;
  UlidSource ulids_;  // guarded by mutex_
};

}  // namespace dw::server
