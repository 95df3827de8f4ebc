// The JSON of an exchange, and of the histories that come with one.
#pragma once
#include "remote/exchange.hpp"

#include <span>

namespace dw::remote {

// Who is talking.
struct WorkerName {
  std::string worker_id;
  std::string task_queue;
  std::string build_id = {};
};

std::string exchange_body(const WorkerName& worker, const Exchange& exchange);
// Fails with invalid_argument, naming what is missing. Unknown keys are left alone.
Result<ExchangeAnswer> parse_exchange_answer(std::string_view body);

// ---- history

std::string history_body(std::string_view worker_id, const WorkflowTask& task);
Result<std::vector<HistoryPiece>> parse_history(std::string_view body);

// The events after that one, in order and without a gap. Fails with corrupt_history.
Result<std::vector<history::Event>> events_after(std::int64_t seen,
                                                 std::span<const HistoryPiece> history);

}  // namespace dw::remote
