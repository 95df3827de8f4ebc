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
  };
  Seat(dispatch::WorkflowHost& host, std::size_t max_warm, Ports ports)
      : host_(host), max_warm_(max_warm), ports_(std::move(ports)) {}

  void take(WorkflowTask task);
  void take_whole(WorkflowTask task, Result<std::vector<HistoryPiece>> history);
  void settle(const Settled& settled);
  void take(QueryTask task);

  // Drops all code: it must not outlive its thread.
  void forget_all();
  std::size_t warm() const { return warm_.size(); }

 private:
  // Suspended code.
  struct Warm {
    std::int64_t seen = 0;  // the last event it was shown
    std::uint64_t unconfirmed =
        0;  // the report that must be recorded for it to be what history says
    std::list<RunId>::iterator place;
  };

  Warm* trusted(const RunId& run);
  void run(const WorkflowTask& task, std::int64_t seen);
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
