// Brings work that is waiting together with workers that are waiting. Nothing here is durable: what
// there is no room for is in the task table and offered again from there, and a poll that gets lost
// is repeated by its worker.
#pragma once
#include "core/clock.hpp"
#include "core/executor.hpp"
#include "dispatch/offer.hpp"

#include <functional>
#include <memory>
#include <set>

namespace dw::server {

enum class WorkKind { workflow, activity, query, update_validation };

// What a worker asks for.
struct Poll {
  Namespace ns;
  std::string queue;
  WorkKind kind = WorkKind::workflow;
  std::string worker_id;
  std::string build_id;
  std::set<std::string, std::less<>> types;
  bool any_type = false;
};

// Where work of one kind waits for a queue's workers.
struct LaneName {
  Namespace ns;
  std::string queue;
  WorkKind kind = WorkKind::workflow;
  friend auto operator<=>(const LaneName&, const LaneName&) = default;
};

LaneName lane_of(const Poll& poll);
// How long an activity counts as held, unless its worker is heard of: it is given to another as
// soon as it missed a heartbeat.
Timestamp counts_until(const history::OpenActivity& activity);

struct BudgetSettings;
struct BudgetStanding;

class Matching final : public dispatch::OfferListener {
 public:
  struct Found {
    std::optional<dispatch::Offer> offer;
    bool stopped = false;  // without an offer: the server is stopping
    WorkKind kind = WorkKind::workflow;
  };
  using Reply = std::function<void(Found found)>;

  // Goes through the task table for a lane, from where it stopped, and has up to `most` tasks
  // offered again; `done` hears where it stopped this time, and nothing at the table's end.
  using Looked = std::function<void(std::optional<engine::TaskKey> stopped_at)>;
  using Look = std::function<void(LaneName lane, std::optional<engine::TaskKey> from,
                                  std::size_t most, Looked done)>;

  Matching(Executor& time, const Clock& clock);
  Matching(Executor& time, const Clock& clock, BudgetSettings budgets);
  ~Matching() override;
  // Who looks for what there was no room for, once there is, or once somebody asks in vain.
  void look_with(Look look);

  // Goes to a poll that fits, or waits for one, the most urgent first (server/waiting_offers.hpp).
  // One that is waiting already is not kept twice.
  void offered(dispatch::Offer offer) override;
  void offer(WorkKind kind, dispatch::Offer offer);
  // In a moment: whoever was to have it could not be given it.
  void offer_again(WorkKind kind, dispatch::Offer offer);
  // Taken for somebody who is gone: it is for another.
  void give_back(WorkKind kind, dispatch::Offer offer);
  // Nobody needs it any more; one that was taken already stays taken.
  void withdraw(WorkKind kind, const dispatch::Offer& offer);
  // Replies once: with work that fits, or with nothing when `until` has come.
  void poll(Poll poll, Timestamp until, Reply reply);
  // Whatever comes first, for whoever could do any of these. Some workers ask for one kind of work
  // at a time: where `instead` waits and the worker does not ask for it, it is let go empty-handed
  // after a moment, so that it can.
  void poll_any(std::vector<Poll> polls, Timestamp until, Reply reply,
                std::optional<Poll> instead = {});
  // Work that fits and waits, now.
  std::optional<dispatch::Offer> take(const Poll& poll);
  // A worker has gone: its polls are answered with nothing, now.
  void recall(const Namespace& ns, std::string_view worker_id);
  // Answers every poll with nothing, now and from now on.
  void stop();

  // ---- budgets (server/task_budgets.hpp): whoever takes an offer says once what became of it

  // It is this lease now.
  void leased(WorkKind kind, const dispatch::Offer& offer, const TaskId& task, Timestamp until);
  // Nobody has it.
  void not_leased(WorkKind kind, const dispatch::Offer& offer);
  // For what may come with the answer to a report, which passes by no lane: how many of those
  // wanted may go out. Each becomes a lease, or is handed back.
  std::int64_t reserve(const Poll& poll, std::int64_t wanted);
  void leased(const Poll& poll, const TaskId& task, Timestamp until);
  void hand_back(const Poll& poll, std::int64_t count);
  void renewed(const TaskId& task);
  void ended(const TaskId& task);
  BudgetStanding standing(const LaneName& lane);
  std::int64_t most_pending_queries(const Namespace& ns, std::string_view queue) const;

  // How much waits for a queue's workers, and how many of them wait.
  struct Stats {
    std::size_t workflow_tasks = 0;
    std::size_t activity_tasks = 0;
    std::size_t polls = 0;
  };
  Stats stats(const Namespace& ns, std::string_view queue) const;

 private:
  struct State;
  std::shared_ptr<State> state_;  // its deadlines may come while this goes
};

}  // namespace dw::server
