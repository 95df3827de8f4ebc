// Where workflow code of this worker sits, suspended between two tasks. A run always comes to the
// same seat, because its code never leaves the seat's thread. What the code has seen is not shown
// to it again; code that ran ahead of what the server has recorded is only trusted once the server
// says so. Everything here happens on one thread.
#pragma once
#include "dispatch/hosts.hpp"
#include "remote/exchange.hpp"
#include "remote/worker_pump.hpp"

#include <functional>
#include <list>
#include <unordered_map>

namespace dw::remote {

class Seat {
 public:
  struct Ports {
    std::function<void(Report report)> report;
    // The code is not here (any more): all of the run's history is needed. The answer comes back by
    // take_whole().
    std::function<void(WorkflowTask task)> ask_for_history;
    std::function<Timestamp()> now;  // by this machine's clock
  };
  Seat(dispatch::WorkflowHost& host, std::size_t max_warm, Ports ports)
      : host_(host), max_warm_(max_warm), ports_(std::move(ports)) {}

  void take(WorkflowTask task);
  void take_whole(WorkflowTask task, Result<std::vector<HistoryPiece>> history);
  void settle(Settled settled);
  void take(QueryTask task);
  // An activity of this run has ended here. Where the code waits for nothing else, it goes on at
  // once, and both are reported together.
  void finished(const RunId& run, const ActivityId& activity, ActivityReport report);

  // Drops all code: it must not outlive its thread.
  void forget_all();
  std::size_t warm() const { return warm_.size(); }

 private:
  // Suspended code.
  struct Warm {
    std::int64_t seen = 0;  // the last event it was shown
    // The report that must be recorded for it to be what history says.
    std::uint64_t unconfirmed = 0;
    // What the server has recorded since, if the code may go on without asking.
    std::vector<HistoryPiece> news;
    Timestamp told_at;  // of that, by this machine's clock
    std::list<RunId>::iterator place;
  };

  Warm* trusted(const RunId& run);
  void run(const WorkflowTask& task, std::int64_t seen);
  std::optional<WentAhead> go_ahead(const RunId& run, history::ActivityCompleted completed);
  void keep(const RunId& run, std::int64_t seen, std::uint64_t unconfirmed);
  void forget(const RunId& run);
  void report(const WorkflowTask& task, decltype(WorkflowReport::outcome) outcome);
  Result<Payload> answer(const QueryTask& task);

  dispatch::WorkflowHost& host_;
  const std::size_t max_warm_;
  const Ports ports_;
  std::unordered_map<RunId, Warm> warm_;
  std::list<RunId> by_use_;  // most recently used last
  std::uint64_t serial_ = 0;
};

}  // namespace dw::remote
