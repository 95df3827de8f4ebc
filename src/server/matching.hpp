// Brings work that is waiting together with workers that are waiting. Nothing here is durable: an
// offer that gets lost is made again from the task table, and a poll that gets lost is repeated by
// its worker.
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

class Matching final : public dispatch::OfferListener {
 public:
  struct Found {
    std::optional<dispatch::Offer> offer;
    bool stopped = false;  // without an offer: the server is stopping
    WorkKind kind = WorkKind::workflow;
  };
  using Reply = std::function<void(Found found)>;

  Matching(Executor& time, const Clock& clock);
  ~Matching() override;

  // Goes to a poll that fits, or waits for one, the most urgent first (server/waiting_offers.hpp).
  // One that is waiting already is not kept twice.
  void offered(dispatch::Offer offer) override;
  void offer(WorkKind kind, dispatch::Offer offer);
  // Nobody needs it any more; one that was taken already stays taken.
  void withdraw(WorkKind kind, const dispatch::Offer& offer);
  // Replies once: with work that fits, or with nothing when `until` has come.
  void poll(Poll poll, Timestamp until, Reply reply);
  // Whatever comes first, for whoever could do any of these.
  void poll_any(std::vector<Poll> polls, Timestamp until, Reply reply);
  // Work that fits and waits, now.
  std::optional<dispatch::Offer> take(const Poll& poll);
  // A worker has gone: its polls are answered with nothing, now.
  void recall(const Namespace& ns, std::string_view worker_id);
  // Answers every poll with nothing, now and from now on.
  void stop();

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
