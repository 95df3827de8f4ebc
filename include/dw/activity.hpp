// What an activity may know about itself. An activity is ordinary code: it may block, do I/O and
// throw. It runs at least once; activity_info().idempotency_key is the same for every attempt.
#pragma once
#include <dw/value.hpp>

#include <string>

namespace dw {

struct ActivityInfo {
  std::string idempotency_key;  // of this execution, across all its attempts
  std::string attempt_id;
  int attempt = 1;
  std::string activity_type;
  std::string instance_id;
  std::string run_id;
};

// Of the activity this thread is running; throws UsageError outside of one.
const ActivityInfo& activity_info();

// Says that the activity is alive and, if you like, how far it got:
//
//   dw::heartbeat(dw::Value::Map{{"current", 40}, {"total", 100}, {"unit", "files"}});
//
// Known keys: message, current, total, unit, details; anything else is refused with EngineError.
// Call it as often as you like; not every word is written down. False when nobody waits for the
// outcome any more: the workflow was cancelled, or the attempt took too long. Then stop.
bool heartbeat();
bool heartbeat(const Value& progress);

// The same answer without a sign of life.
bool activity_cancelled();

}  // namespace dw
