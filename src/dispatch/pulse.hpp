// Tells the fleet that this process is alive, and which runs it takes: when it begins, while it
// runs, and, when it stops in good order, that it is gone.
#pragma once
#include "core/clock.hpp"
#include "core/executor.hpp"
#include "store/store.hpp"

#include <atomic>

namespace dw::dispatch {

struct PulseParts {
  store::Store& store;
  const Clock& clock;
  Executor& writer;
  Executor& time;
};

// What is said; the times are filled in as it is.
struct PulseOf {
  std::vector<engine::WorkerHeartbeat> rows = {};  // of one worker; none: nothing is ever said
  std::chrono::seconds ttl{30};
};

class Pulse {
 public:
  Pulse(PulseParts parts, PulseOf of) : parts_(parts), of_(std::move(of)) {}

  // Goes on by itself from here.
  void begin();
  // Once more, if it is time.
  void beat();
  void stop();

 private:
  PulseParts parts_;
  PulseOf of_;
  std::vector<engine::WorkerHeartbeat> last_;  // written; the writer's
  std::atomic<bool> stopped_{false};
};

}  // namespace dw::dispatch
