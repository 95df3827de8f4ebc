// Moves committed pages from the log into the database, off the writer's path: inside commits the
// copying would be what the slowest ones wait for.
//
// Short passes run beside the writer. A writer that never pauses keeps one step ahead of them, and
// the log would grow for ever; so once it is long, a last pass takes the writer's turn, and what is
// left to copy by then is little. The writer then begins the log anew by itself: its cache stays
// warm, and writing over old log pages syncs faster than making the file longer.
#pragma once
#include "store/sqlite/connection.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

namespace dw::sqlite {

struct CheckpointLimits {
  int pass_pages;      // so many pages not yet copied start a pass
  int turn_pages;      // a log this long is worth holding up the writer
  int truncate_pages;  // a log that ever got this long gives its space back when idle
  std::chrono::milliseconds idle{1000};
};

class Checkpointer {
 public:
  // Without a thread of its own it works inside committed(), on the writer's connection.
  Checkpointer(Location location, bool own_thread, CheckpointLimits limits);
  ~Checkpointer();
  Checkpointer(const Checkpointer&) = delete;
  Checkpointer& operator=(const Checkpointer&) = delete;

  // The writer's turn, held for the length of a commit.
  [[nodiscard]] std::unique_lock<std::mutex> take_turn();
  // After each commit, within the turn.
  void committed(Connection& writer);

  // Closes its connection, and opens none until resume(). Within a turn.
  void suspend();
  void resume();

  // Waits until a log that got long has given its space back; false if it has not by then.
  bool wait_truncated(std::chrono::milliseconds at_most);

 private:
  void work();
  void run(Connection::Checkpoint kind);
  void run_in_turn(Connection::Checkpoint kind);
  void checkpoint_on(Connection& connection, Connection::Checkpoint kind);

  const Location location_;
  const CheckpointLimits limits_;

  // Locked in this order: turn_, connection_mutex_, mutex_.
  std::mutex turn_;
  std::condition_variable turn_free_;
  std::atomic<bool> turn_wanted_ = false;  // the writer lets us go first; cleared within a turn

  std::mutex connection_mutex_;
  std::optional<Connection> connection_;  // guarded by connection_mutex_
  bool suspended_ = false;                // guarded by connection_mutex_

  std::mutex mutex_;  // guards what follows
  std::condition_variable due_;
  std::condition_variable truncated_;
  bool stopping_ = false;
  std::int64_t commits_ = 0;
  int pages_ = 0;      // in the log
  int longest_ = 0;    // the log since it was last truncated
  int next_pass_ = 0;  // a log this long is due for a pass
  int next_turn_ = 0;

  std::thread thread_;
};

}  // namespace dw::sqlite
