#include "store/sqlite/counting_vfs.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <list>
#include <mutex>

namespace dw::sqlite {
namespace {

// The base's own method table with one entry replaced. A file points at its table, so the table
// carries what the replaced entry needs and the file itself needs no wrapper.
struct CountedMethods : sqlite3_io_methods {
  const sqlite3_io_methods* original;
  std::atomic<std::int64_t>* syncs;
};

int counted_sync(sqlite3_file* file, int flags) {
  const auto& methods = *static_cast<const CountedMethods*>(file->pMethods);
  methods.syncs->fetch_add(1, std::memory_order_relaxed);
  return methods.original->xSync(file, flags);
}

std::string unused_name() {
  static std::atomic<std::int64_t> next{1};
  return fmt::format("dw-{}", next.fetch_add(1));
}

}  // namespace

// A copy of the base under another name; only opening a file differs. The base's other functions
// find what they need in pAppData, which the copy shares.
struct CountingVfs::Impl : sqlite3_vfs {
  std::string name = unused_name();
  sqlite3_vfs* base = nullptr;
  std::atomic<std::int64_t> syncs{0};
  std::mutex mutex;
  std::list<CountedMethods> tables;  // one for each kind of file the base has; guarded by mutex

  const CountedMethods* counted(const sqlite3_io_methods* original) {
    const std::lock_guard lock{mutex};
    for (const CountedMethods& table : tables) {
      if (table.original == original) return &table;
    }
    CountedMethods& table = tables.emplace_back(CountedMethods{*original, original, &syncs});
    table.xSync = counted_sync;
    return &table;
  }

  static int open(sqlite3_vfs* vfs, const char* path, sqlite3_file* file, int flags, int* result) {
    auto& self = *static_cast<Impl*>(vfs);
    const int rc = self.base->xOpen(self.base, path, file, flags, result);
    if (file->pMethods != nullptr) file->pMethods = self.counted(file->pMethods);
    return rc;
  }
};

CountingVfs::CountingVfs(const std::string& base) : impl_(std::make_unique<Impl>()) {
  impl_->base = sqlite3_vfs_find(base.empty() ? nullptr : base.c_str());
  if (impl_->base == nullptr) return;
  static_cast<sqlite3_vfs&>(*impl_) = *impl_->base;
  impl_->pNext = nullptr;
  impl_->zName = impl_->name.c_str();
  impl_->xOpen = Impl::open;
  sqlite3_vfs_register(impl_.get(), 0);
}

CountingVfs::~CountingVfs() {
  if (ok()) sqlite3_vfs_unregister(impl_.get());
}

bool CountingVfs::ok() const {
  return impl_->base != nullptr;
}

const std::string& CountingVfs::name() const {
  return impl_->name;
}

std::int64_t CountingVfs::syncs() const {
  return impl_->syncs.load(std::memory_order_relaxed);
}

}  // namespace dw::sqlite
