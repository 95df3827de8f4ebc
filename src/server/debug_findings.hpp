// Why a run does not go on, and what to do about it. Pure: what history, the task table, dispatch
// and the workers say at one moment is put together here, and nothing else is asked.
#pragma once
#include "server/task_queues.hpp"
#include "views/account.hpp"
#include "views/sight.hpp"

#include <set>

namespace dw::server {

// A run, and whoever could do its work.
struct DebuggedRun {
  views::Account account = {};
  views::Sight sight = {};  // with the fleet; rows of tasks that workers hold are leased
  std::vector<dispatch::HeldTask> held = {};           // of this run
  std::vector<QueueSeen> queues = {};                  // that its work may wait on, its own first
  bool code_is_here = false;                           // this process runs it, and asks no worker
  std::set<std::string, std::less<>> types_here = {};  // of activities, likewise
  std::string last_event_type = {};
};

struct Finding {
  enum class Severity {
    error,    // it does not go on unless somebody does something
    warning,  // it may go on by itself, and something is not as it should be
    info,     // what it waits for
  } severity = Severity::info;
  std::string code;     // no_active_pollers, activity_retrying, waiting_for_signal, …
  std::string message;  // what is so, of what, and what to do
  Value::Map about = {};
};

// What is worst first; more of one kind than anybody would read are left out.
std::vector<Finding> findings_of(const DebuggedRun& run);
Value to_value(const Finding& finding);

// closed, blocked (by an error), needs_attention (by a warning), pending_work, waiting.
std::string_view diagnostic_status(const DebuggedRun& run, std::span<const Finding> findings);

}  // namespace dw::server
