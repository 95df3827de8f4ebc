// Requests that wait for somebody to read for them: one after the other, and not without end.
// Whoever waits too long asks again, which helps nobody.
#pragma once
#include "core/executor.hpp"
#include "server/front_desk.hpp"

#include <atomic>

namespace dw::server {

class WaitingReads {
 public:
  static constexpr std::size_t most = 2'000;

  explicit WaitingReads(Executor& reader) : reader_(reader) {}

  // Runs `read` where reading may take its time, unless the caller has hung up by then. Refuses it
  // when too many wait. From any thread.
  void post(const Call& call, Reply reply, std::function<void(Reply reply)> read);

 private:
  Executor& reader_;
  std::atomic<std::size_t> waiting_{0};
};

}  // namespace dw::server
