#include "store/sqlite/checkpointer.hpp"

#include <algorithm>
#include <utility>

namespace dw::sqlite {
namespace {

// Long enough for our own readers to finish. Somebody who sits in a transaction with `sqlite3` must
// not hold up the writer, so we give up then and try when the log has grown.
constexpr std::chrono::milliseconds wait_for_readers{50};

}  // namespace

Checkpointer::Checkpointer(Location location, bool own_thread, CheckpointLimits limits)
    : location_(std::move(location)),
      limits_(limits),
      next_pass_(limits.pass_pages),
      next_turn_(limits.turn_pages) {
  if (own_thread) thread_ = std::thread{[this] { work(); }};
}

Checkpointer::~Checkpointer() {
  {
    const std::lock_guard lock{mutex_};
    stopping_ = true;
  }
  due_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::unique_lock<std::mutex> Checkpointer::take_turn() {
  std::unique_lock turn{turn_};
  turn_free_.wait(turn, [&] { return !turn_wanted_; });
  return turn;
}

void Checkpointer::committed(Connection& writer) {
  const int pages = writer.log_pages();
  bool due = false;
  {
    const std::lock_guard lock{mutex_};
    if (pages < pages_) {  // the log began anew
      next_pass_ = limits_.pass_pages;
      next_turn_ = limits_.turn_pages;
    }
    pages_ = pages;
    longest_ = std::max(longest_, pages);
    ++commits_;
    due = pages_ >= std::min(next_pass_, next_turn_);
  }
  if (!due) return;
  if (thread_.joinable()) {
    due_.notify_one();
  } else {
    checkpoint_on(writer, pages >= limits_.truncate_pages ? Connection::Checkpoint::truncate
                          : pages >= limits_.turn_pages   ? Connection::Checkpoint::restart
                                                          : Connection::Checkpoint::passive);
  }
}

void Checkpointer::suspend() {
  const std::lock_guard lock{connection_mutex_};
  suspended_ = true;
  connection_.reset();
}

void Checkpointer::resume() {
  const std::lock_guard connection_lock{connection_mutex_};
  const std::lock_guard lock{mutex_};
  suspended_ = false;
  pages_ = 0;
  next_pass_ = limits_.pass_pages;
  next_turn_ = limits_.turn_pages;
}

bool Checkpointer::wait_truncated(std::chrono::milliseconds at_most) {
  std::unique_lock lock{mutex_};
  return truncated_.wait_for(lock, at_most, [&] { return longest_ < limits_.truncate_pages; });
}

void Checkpointer::work() {
  std::unique_lock lock{mutex_};
  while (!stopping_) {
    const auto is_due = [&] { return stopping_ || pages_ >= std::min(next_pass_, next_turn_); };
    if (longest_ >= limits_.truncate_pages) {
      const std::int64_t commits = commits_;
      if (!due_.wait_for(lock, limits_.idle, is_due) && commits == commits_) {
        lock.unlock();
        run_in_turn(Connection::Checkpoint::truncate);
        lock.lock();
        continue;
      }
    } else {
      due_.wait(lock, is_due);
    }
    if (stopping_) return;
    if (!is_due()) continue;
    const bool turn_due = pages_ >= next_turn_;
    lock.unlock();
    run(Connection::Checkpoint::passive);
    if (turn_due) run_in_turn(Connection::Checkpoint::restart);
    lock.lock();
    if (turn_due) next_turn_ = pages_ + limits_.turn_pages;  // unless the log begins anew
  }
}

void Checkpointer::run_in_turn(Connection::Checkpoint kind) {
  turn_wanted_ = true;
  {
    const std::lock_guard turn{turn_};
    run(kind);
    turn_wanted_ = false;
  }
  turn_free_.notify_all();
}

void Checkpointer::run(Connection::Checkpoint kind) {
  const std::lock_guard lock{connection_mutex_};
  if (suspended_) return;
  if (!connection_) {
    // A checkpoint syncs as this connection is told to, whatever the writer does.
    auto opened = Connection::open(location_, Connection::Access::read_write);
    if (opened && opened->execute("PRAGMA synchronous = FULL")) {
      opened->keep_log_on_close(true);  // tidying up is for the writer, who closes last
      connection_ = *std::move(opened);
    }
  }
  if (connection_) checkpoint_on(*connection_, kind);
}

// A checkpoint that fails is no loss: the log still has everything, its pages count as copied only
// after a sync that succeeded, and the next one copies them again.
void Checkpointer::checkpoint_on(Connection& connection, Connection::Checkpoint kind) {
  const auto log = connection.checkpoint(kind, wait_for_readers);
  const std::lock_guard lock{mutex_};
  if (log && kind == Connection::Checkpoint::truncate) {
    longest_ = 0;
    truncated_.notify_all();
  }
  const int copied = log && log->copied > 0 ? log->copied : 0;
  // Where a reader keeps us from copying, come back when there is a little more.
  next_pass_ = std::max(copied + limits_.pass_pages, pages_ + limits_.pass_pages / 4);
}

}  // namespace dw::sqlite
