// What workers elsewhere ask for: to be known, to be given work, and to be heard about it. Polls
// wait as callbacks, never as threads.
#pragma once
#include "dispatch/dispatch.hpp"
#include "server/exchange.hpp"
#include "server/held_tasks.hpp"
#include "server/matching.hpp"
#include "server/poll_memory.hpp"
#include "server/query_tasks.hpp"
#include "server/update_validation.hpp"
#include "server/workers.hpp"

namespace dw::server {

struct WorkerPlaneParts {
  dispatch::Dispatch& dispatch;
  store::Store& store;
  Executor& reader;
  Executor& writer;
  const Clock& clock;
  Random& random;
  Matching& matching;
  Workers& workers;
  QueryTasks& queries;
  DeclaredValidators& validators;
  UpdateValidations& validations;
  // A worker that reports about a run which has ended meanwhile is told so with 200: some stop for
  // good at a refusal.
  bool lenient_run_closed = false;
};

class WorkerPlane final : public Service {
 public:
  explicit WorkerPlane(WorkerPlaneParts parts);

  void serve(Call call, Reply reply) override;

 private:
  struct Polling;
  // On its way through the engine a call is in several hands.
  using SharedCall = std::shared_ptr<const Call>;
  using At = std::function<void(dispatch::RunAddress run)>;

  void register_worker(const Call& call, Reply reply);
  void deregister_worker(const Call& call, Reply reply);
  // Replies once that is durable.
  void keep(std::vector<store::Document> documents, const Call& call, Answer answer, Reply reply);

  void exchange(Call call, Reply reply);
  void poll(const SharedCall& call, std::vector<WorkKind> kinds, Reply reply);
  void poll_workflow_work(const SharedCall& call, Reply reply);
  void look_for_work(std::shared_ptr<Polling> polling);
  void claim_task(std::shared_ptr<Polling> polling, dispatch::Offer offer);
  void claim_activity(std::shared_ptr<Polling> polling, dispatch::Offer offer);
  void claim_query(std::shared_ptr<Polling> polling, const dispatch::Offer& offer);
  void claim_validation(std::shared_ptr<Polling> polling, const dispatch::Offer& offer);
  void could_not_claim(const Polling& polling, WorkKind kind, const Error& error);

  void task_history(const SharedCall& call, Reply reply);
  void complete_task(const SharedCall& call, Reply reply);
  void fail_task(const SharedCall& call, Reply reply);
  void heartbeat_task(const SharedCall& call, Reply reply);

  void finish_activity(const SharedCall& call, bool failed, Reply reply);
  void heartbeat_activity(const SharedCall& call, Reply reply);

  void settle(const Call& call, Answer answer, const Reply& reply);

  Answer told(const Call& call, const dispatch::TaskAnswer& answer, std::string_view outcome) const;
  // Where the run of the call's task is to be found; replies that there is none if there is not.
  void with_run(const SharedCall& call, Reply reply, At then);

  WorkerPlaneParts parts_;
  HeldTasks held_;
  PollMemory memory_;
  Exchange exchange_;
  std::mutex mutex_;
  UlidSource ulids_;  // guarded by mutex_
};

}  // namespace dw::server
