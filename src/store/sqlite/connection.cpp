#include "store/sqlite/connection.hpp"

#include "core/assert.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>
#include <vector>

namespace dw::sqlite {
namespace {

// How long to wait for somebody with `sqlite3` open to finish writing.
constexpr std::chrono::milliseconds default_busy_timeout{5000};

Outcome outcome_of(int rc) {
  switch (rc & 0xff) {
    case SQLITE_OK:
    case SQLITE_DONE:
      return Outcome::done;
    case SQLITE_ROW:
      return Outcome::row;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
      return Outcome::busy;
    case SQLITE_FULL:
      return Outcome::full;
    case SQLITE_IOERR:
      return Outcome::io_failed;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return Outcome::corrupt;
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_READONLY:
      return Outcome::not_opened;
    default:
      return Outcome::refused;
  }
}

ErrorCode code_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::busy:
    case Outcome::io_failed:
    case Outcome::not_opened:
      return ErrorCode::unavailable;
    case Outcome::full:
      return ErrorCode::store_full;
    case Outcome::corrupt:
      return ErrorCode::store_corrupt;
    case Outcome::done:
    case Outcome::row:
    case Outcome::refused:
      break;
  }
  return ErrorCode::internal;
}

std::string_view advice_for(Outcome outcome) {
  switch (outcome) {
    case Outcome::busy:
      return "Another program is writing to this file; end its transaction and try again.";
    case Outcome::full:
      return "Nothing was half-written. Free some space, or raise the quota, and try again.";
    case Outcome::io_failed:
      return "Look at the system's log for what is wrong with the disk, then try again.";
    case Outcome::corrupt:
      return "Stop, copy the file aside and restore a backup; `sqlite3 FILE 'PRAGMA "
             "integrity_check'` says what is damaged.";
    case Outcome::not_opened:
      return "Check that the directory exists and that this user may write the file, its -wal and "
             "its -shm.";
    case Outcome::done:
    case Outcome::row:
    case Outcome::refused:
      break;
  }
  return "This is a bug in dw; please report it with this message.";
}

Error make_error(std::string_view attempt, std::string_view path, int rc, std::string_view detail) {
  const Outcome outcome = outcome_of(rc);
  return {code_of(outcome), fmt::format("Could not {} in '{}': {} (SQLite {}). {}", attempt, path,
                                        detail, rc, advice_for(outcome))};
}

}  // namespace

struct Statement::Handle {
  sqlite3_stmt* stmt = nullptr;
  ~Handle() { sqlite3_finalize(stmt); }
};

struct Connection::Handle {
  sqlite3* db = nullptr;
  std::string path;
  int log_pages = 0;
  std::chrono::milliseconds busy_timeout = default_busy_timeout;

  ~Handle() {
    const int rc = sqlite3_close(db);
    DW_ASSERT(rc == SQLITE_OK, "statements must go before their connection");
  }
};

// ---- Statement

Statement::Statement() = default;
Statement::Statement(Statement&&) noexcept = default;
Statement& Statement::operator=(Statement&&) noexcept = default;
Statement::~Statement() = default;

void Statement::bind(int index, std::string_view text) {
  // A null pointer would bind NULL, and an empty string_view may have one.
  const char* bytes = text.data() != nullptr ? text.data() : "";
  const int rc =
      sqlite3_bind_text64(handle_->stmt, index, bytes, text.size(), SQLITE_STATIC, SQLITE_UTF8);
  // Text beyond SQLite's limit of a billion bytes is left unbound; NOT NULL refuses the row then.
  if (rc != SQLITE_OK) sqlite3_bind_null(handle_->stmt, index);
}

void Statement::bind(int index, std::int64_t number) {
  const int rc = sqlite3_bind_int64(handle_->stmt, index, number);
  DW_ASSERT(rc == SQLITE_OK, "a statement is bound while it runs, or has no such parameter");
}

void Statement::bind_null(int index) {
  sqlite3_bind_null(handle_->stmt, index);
}

Outcome Statement::step() {
  const int rc = sqlite3_step(handle_->stmt);
  if (rc != SQLITE_ROW) sqlite3_reset(handle_->stmt);
  return outcome_of(rc);
}

Outcome Statement::run() {
  const Outcome outcome = step();
  DW_ASSERT(outcome != Outcome::row, "a statement that should return nothing returned a row");
  return outcome;
}

void Statement::reset() {
  sqlite3_reset(handle_->stmt);
}

bool Statement::is_null(int column) const {
  return sqlite3_column_type(handle_->stmt, column) == SQLITE_NULL;
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(handle_->stmt, column);
}

std::string_view Statement::text(int column) const {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(handle_->stmt, column));
  if (bytes == nullptr) return {};
  return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(handle_->stmt, column))};
}

// ---- Connection

Connection::Connection(std::unique_ptr<Handle> handle) : handle_(std::move(handle)) {}
Connection::Connection(Connection&&) noexcept = default;
Connection& Connection::operator=(Connection&&) noexcept = default;
Connection::~Connection() = default;

Result<Connection> Connection::open(const Location& location, Access access) {
  auto handle = std::make_unique<Handle>();
  handle->path = location.path;
  const int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE |
                    (access == Access::read_only ? SQLITE_OPEN_READONLY
                                                 : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  const char* vfs = location.vfs.empty() ? nullptr : location.vfs.c_str();
  const int rc = sqlite3_open_v2(location.path.c_str(), &handle->db, flags, vfs);
  if (rc != SQLITE_OK) {
    return make_error("open the store", location.path, rc,
                      handle->db != nullptr ? sqlite3_errmsg(handle->db) : sqlite3_errstr(rc));
  }
  Connection connection{std::move(handle)};
  connection.set_busy_timeout(default_busy_timeout);
  // Taking the hook also turns off SQLite's own checkpoints, which would run inside commits.
  sqlite3_wal_hook(
      connection.handle_->db,
      [](void* pages, sqlite3*, const char*, int count) {
        *static_cast<int*>(pages) = count;
        return SQLITE_OK;
      },
      &connection.handle_->log_pages);
  return connection;
}

Result<Statement> Connection::prepare(std::string_view sql) {
  Statement statement;
  statement.handle_ = std::make_unique<Statement::Handle>();
  const int rc = sqlite3_prepare_v3(handle_->db, sql.data(), static_cast<int>(sql.size()),
                                    SQLITE_PREPARE_PERSISTENT, &statement.handle_->stmt, nullptr);
  if (rc != SQLITE_OK) return error(fmt::format("prepare `{}`", sql));
  return statement;
}

Result<void> Connection::execute(const std::string& sql) {
  const int rc = sqlite3_exec(handle_->db, sql.c_str(), nullptr, nullptr, nullptr);
  if (rc != SQLITE_OK) return error(fmt::format("run `{}`", sql));
  return {};
}

Result<std::int64_t> Connection::query_integer(std::string_view sql) {
  Statement statement = DW_TRY(prepare(sql));
  if (statement.step() != Outcome::row) return error(fmt::format("run `{}`", sql));
  return statement.integer(0);
}

void Connection::keep_log_on_close(bool keep) {
  sqlite3_db_config(handle_->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keep ? 1 : 0, nullptr);
}

void Connection::set_busy_timeout(std::chrono::milliseconds timeout) {
  handle_->busy_timeout = timeout;
  sqlite3_busy_timeout(handle_->db, static_cast<int>(timeout.count()));
}

int Connection::log_pages() const {
  return handle_->log_pages;
}

std::optional<Connection::LogState> Connection::checkpoint(Checkpoint kind,
                                                           std::chrono::milliseconds patience) {
  const int mode = kind == Checkpoint::passive   ? SQLITE_CHECKPOINT_PASSIVE
                   : kind == Checkpoint::restart ? SQLITE_CHECKPOINT_RESTART
                                                 : SQLITE_CHECKPOINT_TRUNCATE;
  LogState state;
  sqlite3_busy_timeout(handle_->db, static_cast<int>(patience.count()));
  const int rc = sqlite3_wal_checkpoint_v2(handle_->db, nullptr, mode, &state.pages, &state.copied);
  set_busy_timeout(handle_->busy_timeout);
  if (rc != SQLITE_OK) return std::nullopt;
  return state;
}

std::int64_t Connection::total_changes() const {
  return sqlite3_total_changes64(handle_->db);
}

bool Connection::in_transaction() const {
  return sqlite3_get_autocommit(handle_->db) == 0;
}

Result<void> Connection::copy_to(const Location& target) {
  Connection copy = DW_TRY(open(target, Access::read_write));
  sqlite3_backup* backup = sqlite3_backup_init(copy.handle_->db, "main", handle_->db, "main");
  if (backup != nullptr) {
    sqlite3_backup_step(backup, -1);
    sqlite3_backup_finish(backup);
  }
  const int rc = sqlite3_extended_errcode(copy.handle_->db);
  if (rc != SQLITE_OK) return copy.error("make a backup");
  return {};
}

Failure Connection::failure() const {
  return {outcome_of(sqlite3_extended_errcode(handle_->db)), sqlite3_errmsg(handle_->db)};
}

Error Connection::error(std::string_view attempt) const {
  return make_error(attempt, handle_->path, sqlite3_extended_errcode(handle_->db),
                    sqlite3_errmsg(handle_->db));
}

// ---- the log

namespace {

// A file of a VFS, closed when it goes out of scope.
class RawFile {
 public:
  RawFile(sqlite3_vfs& vfs, const char* path, int flags, int& rc)
      : storage_(static_cast<std::size_t>(vfs.szOsFile) / sizeof(std::max_align_t) + 1),
        file_(reinterpret_cast<sqlite3_file*>(storage_.data())) {
    rc = vfs.xOpen(&vfs, path, file_, flags, nullptr);
  }
  ~RawFile() {
    if (file_->pMethods != nullptr) file_->pMethods->xClose(file_);
  }
  RawFile(const RawFile&) = delete;
  RawFile& operator=(const RawFile&) = delete;

  // Reads and writes back every byte, then syncs.
  int rewrite() {
    sqlite3_int64 size = 0;
    int rc = file_->pMethods->xFileSize(file_, &size);
    // SQLite's own VFS keeps 17 bits of a length, and takes a write of 128 KiB for a full disk.
    std::vector<char> bytes(1 << 16);
    for (sqlite3_int64 offset = 0; rc == SQLITE_OK && offset < size;) {
      const int length = static_cast<int>(
          std::min<sqlite3_int64>(static_cast<sqlite3_int64>(bytes.size()), size - offset));
      rc = file_->pMethods->xRead(file_, bytes.data(), length, offset);
      if (rc == SQLITE_OK) rc = file_->pMethods->xWrite(file_, bytes.data(), length, offset);
      offset += length;
    }
    return rc == SQLITE_OK ? file_->pMethods->xSync(file_, SQLITE_SYNC_NORMAL) : rc;
  }

 private:
  std::vector<std::max_align_t> storage_;
  sqlite3_file* file_;
};

}  // namespace

std::int64_t to_limit(std::size_t limit) {
  constexpr auto most = static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max());
  return static_cast<std::int64_t>(std::min(limit, most));
}

Result<void> rewrite_log(const Location& location) {
  sqlite3_vfs* vfs = sqlite3_vfs_find(location.vfs.empty() ? nullptr : location.vfs.c_str());
  DW_ASSERT(vfs != nullptr, "the VFS a store was opened on is gone");
  const std::string log = location.path + "-wal";
  int exists = 0;
  int rc = vfs->xAccess(vfs, log.c_str(), SQLITE_ACCESS_EXISTS, &exists);
  if (rc == SQLITE_OK && exists != 0) {
    RawFile file{*vfs, log.c_str(), SQLITE_OPEN_READWRITE | SQLITE_OPEN_WAL, rc};
    if (rc == SQLITE_OK) rc = file.rewrite();
  }
  if (rc != SQLITE_OK) {
    return make_error("rewrite the log after a failed sync", location.path, rc, sqlite3_errstr(rc));
  }
  return {};
}

}  // namespace dw::sqlite
