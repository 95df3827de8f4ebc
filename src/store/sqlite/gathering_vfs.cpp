#include "store/sqlite/gathering_vfs.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <list>
#include <mutex>
#include <new>
#include <vector>

namespace dw::sqlite {
namespace {

// Some fifteen pages. SQLite's own VFS takes no write of 128 KiB, and longer ones would not be
// cheaper.
constexpr std::size_t most_gathered = 64 * 1024;

// What a log was given and has not written yet.
struct Gathered {
  std::vector<char> bytes;
  sqlite3_int64 at = 0;  // in the file
};

// The base's own method table with some entries replaced. A file points at its table, so the table
// carries what the replaced entries need.
struct Methods : sqlite3_io_methods {
  const sqlite3_io_methods* original;
  std::atomic<std::int64_t>* syncs;
  std::size_t own_part;  // of a log: where its Gathered is, behind the base's part
};

const Methods& methods_of(sqlite3_file* file) {
  return *static_cast<const Methods*>(file->pMethods);
}

Gathered& gathered_by(sqlite3_file* log) {
  char* const own_part = reinterpret_cast<char*>(log) + methods_of(log).own_part;
  return *std::launder(reinterpret_cast<Gathered*>(own_part));
}

int counted_sync(sqlite3_file* file, int flags) {
  const Methods& methods = methods_of(file);
  methods.syncs->fetch_add(1, std::memory_order_relaxed);
  return methods.original->xSync(file, flags);
}

// When it fails, whoever wrote is told by the call that led here, and writes all of it again.
int write_out(sqlite3_file* log) {
  Gathered& gathered = gathered_by(log);
  if (gathered.bytes.empty()) return SQLITE_OK;
  const int rc = methods_of(log).original->xWrite(
      log, gathered.bytes.data(), static_cast<int>(gathered.bytes.size()), gathered.at);
  gathered.bytes.clear();
  return rc;
}

int log_write(sqlite3_file* log, const void* data, int amount, sqlite3_int64 offset) {
  Gathered& gathered = gathered_by(log);
  const auto length = static_cast<std::size_t>(amount);
  const auto end = gathered.at + static_cast<sqlite3_int64>(gathered.bytes.size());
  if (offset != end || gathered.bytes.size() + length > most_gathered) {
    if (const int rc = write_out(log); rc != SQLITE_OK) return rc;
    gathered.at = offset;
  }
  if (length > most_gathered) return methods_of(log).original->xWrite(log, data, amount, offset);
  const char* const bytes = static_cast<const char*>(data);
  gathered.bytes.insert(gathered.bytes.end(), bytes, bytes + length);
  return SQLITE_OK;
}

int log_read(sqlite3_file* log, void* into, int amount, sqlite3_int64 offset) {
  const int rc = write_out(log);
  return rc == SQLITE_OK ? methods_of(log).original->xRead(log, into, amount, offset) : rc;
}

int log_sync(sqlite3_file* log, int flags) {
  const int rc = write_out(log);
  return rc == SQLITE_OK ? counted_sync(log, flags) : rc;
}

int log_truncate(sqlite3_file* log, sqlite3_int64 size) {
  const int rc = write_out(log);
  return rc == SQLITE_OK ? methods_of(log).original->xTruncate(log, size) : rc;
}

int log_size(sqlite3_file* log, sqlite3_int64* size) {
  const int rc = write_out(log);
  return rc == SQLITE_OK ? methods_of(log).original->xFileSize(log, size) : rc;
}

// What was never synced is no commit, and nobody misses it.
int log_close(sqlite3_file* log) {
  const auto* const original = methods_of(log).original;
  std::destroy_at(&gathered_by(log));
  return original->xClose(log);
}

std::string unused_name() {
  static std::atomic<std::int64_t> next{1};
  return fmt::format("dw-{}", next.fetch_add(1));
}

}  // namespace

// A copy of the base under another name; only opening a file differs. The base's other functions
// find what they need in pAppData, which the copy shares.
struct GatheringVfs::Impl : sqlite3_vfs {
  std::string name = unused_name();
  sqlite3_vfs* base = nullptr;
  std::size_t own_part = 0;
  std::atomic<std::int64_t> syncs{0};
  std::mutex mutex;
  // Two for each kind of file the base has, for logs and for others; guarded by mutex.
  std::list<Methods> tables;

  const Methods* table_for(const sqlite3_io_methods* original, bool log) {
    const std::lock_guard lock{mutex};
    const auto found = std::ranges::find_if(tables, [&](const Methods& table) {
      return table.original == original && (table.own_part > 0) == log;
    });
    if (found != tables.end()) return &*found;
    Methods& table = tables.emplace_back(Methods{*original, original, &syncs, log ? own_part : 0});
    table.xSync = counted_sync;
    if (!log) return &table;
    table.xWrite = log_write;
    table.xRead = log_read;
    table.xSync = log_sync;
    table.xTruncate = log_truncate;
    table.xFileSize = log_size;
    table.xClose = log_close;
    return &table;
  }

  static int open(sqlite3_vfs* vfs, const char* path, sqlite3_file* file, int flags, int* result) {
    auto& self = *static_cast<Impl*>(vfs);
    const int rc = self.base->xOpen(self.base, path, file, flags, result);
    if (file->pMethods == nullptr) return rc;
    const bool log = (flags & SQLITE_OPEN_WAL) != 0;
    if (log) new (reinterpret_cast<char*>(file) + self.own_part) Gathered;
    file->pMethods = self.table_for(file->pMethods, log);
    return rc;
  }
};

GatheringVfs::GatheringVfs(const std::string& base) : impl_(std::make_unique<Impl>()) {
  impl_->base = sqlite3_vfs_find(base.empty() ? nullptr : base.c_str());
  if (impl_->base == nullptr) return;
  static_cast<sqlite3_vfs&>(*impl_) = *impl_->base;
  const auto base_part = static_cast<std::size_t>(impl_->base->szOsFile);
  impl_->own_part = (base_part / alignof(Gathered) + 1) * alignof(Gathered);
  impl_->szOsFile = static_cast<int>(impl_->own_part + sizeof(Gathered));
  impl_->pNext = nullptr;
  impl_->zName = impl_->name.c_str();
  impl_->xOpen = Impl::open;
  sqlite3_vfs_register(impl_.get(), 0);
}

GatheringVfs::~GatheringVfs() {
  if (ok()) sqlite3_vfs_unregister(impl_.get());
}

bool GatheringVfs::ok() const {
  return impl_->base != nullptr;
}

const std::string& GatheringVfs::name() const {
  return impl_->name;
}

std::int64_t GatheringVfs::syncs() const {
  return impl_->syncs.load(std::memory_order_relaxed);
}

}  // namespace dw::sqlite
