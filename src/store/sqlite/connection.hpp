// A SQLite connection and its prepared statements, with failures as values. Everything in this
// room that speaks SQL goes through here.
#pragma once
#include <dw/result.hpp>
#include <dw/time.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace dw::sqlite {

// Where a connection goes, and how it is named to people.
struct Location {
  std::string path;
  std::string vfs;
};

// What SQLite answered. Most callers only need to know whether a retry, a rollback or a new
// connection is the way out.
enum class Outcome {
  done,
  row,
  busy,        // somebody else holds the lock we need
  full,        // no space left; nothing was written
  io_failed,   // what is on disk is unknown until the file has been opened again
  corrupt,     // the file is damaged or not a database
  refused,     // a constraint, a bad statement, a value too large: our own doing
  not_opened,  // the file could not be opened or may not be written
};

struct Failure {
  Outcome outcome = Outcome::refused;
  std::string message;  // SQLite's own words
};

class Connection;

// A prepared statement. Bound text is not copied: it must outlive the next step.
class Statement {
 public:
  Statement();
  Statement(Statement&&) noexcept;
  Statement& operator=(Statement&&) noexcept;
  ~Statement();

  void bind(int index, std::string_view text);
  void bind(int index, std::int64_t number);
  void bind(int index, Timestamp at) { bind(index, to_micros(at)); }
  void bind_null(int index);

  // Binds from 1 on, in order; an empty optional is NULL.
  template <typename... Values>
  void bind_all(const Values&... values) {
    int index = 0;
    (bind_one(++index, values), ...);
  }

  // Runs to the next row. After anything but a row the statement is ready for use again.
  Outcome step();
  // Runs a statement that returns no rows.
  Outcome run();
  // Forgets the rows not read. Until then the statement keeps its snapshot of the file.
  void reset();

  bool is_null(int column) const;
  std::int64_t integer(int column) const;
  std::string_view text(int column) const;  // valid until the next step or reset

 private:
  friend class Connection;
  struct Handle;

  template <typename T>
  void bind_one(int index, const std::optional<T>& value) {
    value ? bind_one(index, *value) : bind_null(index);
  }
  void bind_one(int index, std::string_view text) { bind(index, text); }
  void bind_one(int index, std::int64_t number) { bind(index, number); }
  void bind_one(int index, Timestamp at) { bind(index, at); }
  template <typename T>
  requires requires(const T& id) { id.view(); }
  void bind_one(int index, const T& id) { bind(index, id.view()); }

  std::unique_ptr<Handle> handle_;
};

// Resets a statement when the reader of its rows leaves, however that happens.
class ResetLater {
 public:
  explicit ResetLater(Statement& statement) : statement_(statement) {}
  ~ResetLater() { statement_.reset(); }
  ResetLater(const ResetLater&) = delete;
  ResetLater& operator=(const ResetLater&) = delete;

 private:
  Statement& statement_;
};

class Connection {
 public:
  enum class Access { read_write, read_only };
  // passive copies what it can without making anybody wait. restart copies everything and waits for
  // readers to leave the log, so that the next commit begins it anew; truncate shortens it as well.
  enum class Checkpoint { passive, restart, truncate };

  // How much of the log there is, and how much of it is in the database already.
  struct LogState {
    int pages = 0;
    int copied = 0;
  };

  static Result<Connection> open(const Location& location, Access access);

  Connection(Connection&&) noexcept;
  Connection& operator=(Connection&&) noexcept;
  ~Connection();  // after every statement prepared on it

  Result<Statement> prepare(std::string_view sql);
  Result<void> execute(const std::string& sql);
  Result<std::int64_t> query_integer(std::string_view sql);

  // While set, closing the last connection leaves the log where it is.
  void keep_log_on_close(bool keep);
  void set_busy_timeout(std::chrono::milliseconds timeout);

  // Pages in the log after the last commit made on this connection.
  int log_pages() const;
  // Nothing when it failed, or somebody was in the way for longer than `patience`.
  std::optional<LogState> checkpoint(Checkpoint kind, std::chrono::milliseconds patience);

  // Rows inserted, updated and deleted since it was opened.
  std::int64_t total_changes() const;

  // Whether a transaction is open; SQLite ends one by itself after some errors.
  bool in_transaction() const;
  // Copies all of it into a new file.
  Result<void> copy_to(const Location& target);

  // What the last call that failed said.
  Failure failure() const;
  // The same as an error: `attempt` is what we were doing, "commit 12 transitions".
  Error error(std::string_view attempt) const;

 private:
  struct Handle;
  explicit Connection(std::unique_ptr<Handle> handle);
  std::unique_ptr<Handle> handle_;
};

// A limit as SQLite takes it.
std::int64_t to_limit(std::size_t limit);

// Writes every byte of the log again and syncs it. After a failed sync the kernel counts the pages
// as clean, so syncing once more would report success without writing anything. Nobody else may
// change the file meanwhile. No log is fine.
Result<void> rewrite_log(const Location& location);

}  // namespace dw::sqlite
