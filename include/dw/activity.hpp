// What an activity may know about itself. An activity is ordinary code: it may block, do I/O and
// throw. It runs at least once; activity_info().idempotency_key is the same for every attempt.
#pragma once
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

}  // namespace dw
