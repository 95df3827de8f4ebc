// Waits for the end of runs, any number of them: a long poll each, as many at once as there are
// connections for; the others take turns.
#pragma once
#include "remote/client_line.hpp"

#include <deque>

namespace dw::remote {

class ClientWatches {
 public:
  ClientWatches(ClientLine& line, std::size_t most) : line_(line), most_(most) {}

  // Follows a workflow that continues as new. Gives up without a word once nobody listens.
  void add(detail::RunRef run, std::optional<std::chrono::milliseconds> patience,
           detail::Reply<detail::Closed> reply);
  // Nobody gets another turn; those who wait for theirs are told. Before the line goes down, which
  // tells the others.
  void stop();

 private:
  struct Watch {
    detail::RunRef run;
    std::optional<std::chrono::steady_clock::time_point> until;
    detail::Reply<detail::Closed> reply;
  };
  using WatchPtr = std::shared_ptr<Watch>;

  void enqueue(WatchPtr watch);
  void look();
  void poll(const WatchPtr& watch, bool others_wait);
  void hear(const WatchPtr& watch, Result<Said> said);
  void go_on_with_next_run(const WatchPtr& watch);
  void finish(const WatchPtr& watch, Result<detail::Closed> closed);
  void release();

  ClientLine& line_;
  const std::size_t most_;
  std::mutex mutex_;
  std::deque<WatchPtr> queue_;  // guarded by mutex_; they wait for their turn
  std::size_t polling_ = 0;     // guarded by mutex_
  bool stopped_ = false;        // guarded by mutex_
};

}  // namespace dw::remote
