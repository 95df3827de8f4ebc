#include "store/sqlite/fault_vfs.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "core/assert.hpp"

namespace dw::sqlite {
namespace {

using Bytes = std::vector<std::byte>;

constexpr std::size_t sector_size = 512;
constexpr int longest_path = 512;

// A sector as the page cache held it after one write, so it carries the earlier writes to the same
// sector with it: a disk never persists the second without the first.
struct SectorWrite {
  std::size_t sector;
  std::size_t length;  // shorter than a sector where the file ended
  std::array<std::byte, sector_size> bytes;
  bool lost = false;  // a sync failed on it; it may be on disk, but no sync will put it there

  std::size_t offset() const { return sector * sector_size; }
};

struct Truncation {
  std::size_t size;
};

using Change = std::variant<SectorWrite, Truncation>;

// The wal-index of one file. SQLite reads and writes the regions directly; the locks are ours.
struct SharedMemory {
  std::vector<std::unique_ptr<std::byte[]>> regions;
  std::array<int, SQLITE_SHM_NLOCK> locks{};  // holders; -1 is one exclusive holder
};

struct OpenFile;

struct Inode {
  std::string name;                 // empty for a temporary file, which no crash brings back
  Bytes visible;                    // what the process sees
  Bytes durable;                    // what a crash cannot take away
  std::vector<Change> unsynced;     // oldest first: what a crash may or may not add to `durable`
  std::set<OpenFile*> handles;      // to judge locks by
  std::weak_ptr<SharedMemory> shm;  // lives while somebody maps it
};

class Disk;

struct OpenFile {
  Disk& disk;
  std::shared_ptr<Inode> inode;
  std::uint64_t power_cycle;  // a handle from an earlier one is dead
  bool delete_on_close = false;
  bool persist_wal = false;
  int lock = SQLITE_LOCK_NONE;
  std::shared_ptr<SharedMemory> shm;
  unsigned shm_shared = 0;  // slots this handle holds, one bit each
  unsigned shm_exclusive = 0;
};

enum class Fault { fail_write, tear_write, fail_sync, crash };

class Countdown {
 public:
  void arm(int operations) { left_ = operations; }

  // True once: for the operation after those it was to let through.
  bool fires() {
    if (!left_) return false;
    if (--*left_ >= 0) return false;
    left_.reset();
    return true;
  }

 private:
  std::optional<int> left_;
};

// memcpy, because the sanitizers make a loop over bytes most of a test's running time.
void copy(std::span<const std::byte> from, std::byte* to) {
  if (!from.empty()) std::memcpy(to, from.data(), from.size());
}

void put(Bytes& image, std::size_t offset, std::span<const std::byte> bytes) {
  if (image.size() < offset + bytes.size()) image.resize(offset + bytes.size());
  copy(bytes, image.data() + offset);
}

std::span<const std::byte> sector_of(const Bytes& image, std::size_t sector) {
  const std::size_t begin = std::min(sector * sector_size, image.size());
  const std::size_t end = std::min(begin + sector_size, image.size());
  return std::span(image).subspan(begin, end - begin);
}

void write(Inode& inode, std::size_t offset, std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  put(inode.visible, offset, bytes);
  if (inode.name.empty()) return;
  const std::size_t last = (offset + bytes.size() - 1) / sector_size;
  for (std::size_t sector = offset / sector_size; sector <= last; ++sector) {
    const auto now = sector_of(inode.visible, sector);
    SectorWrite change{.sector = sector, .length = now.size(), .bytes = {}};
    copy(now, change.bytes.data());
    inode.unsynced.emplace_back(change);
  }
}

void truncate(Inode& inode, std::size_t size) {
  inode.visible.resize(size);
  if (!inode.name.empty()) inode.unsynced.emplace_back(Truncation{size});
}

void sync(Inode& inode) {
  std::unordered_set<std::size_t> dirty;
  for (const auto& change : inode.unsynced) {
    const auto* write = std::get_if<SectorWrite>(&change);
    if (write != nullptr && !write->lost) dirty.insert(write->sector);
  }
  // Lost sectors that nobody wrote again remain a matter of luck.
  std::vector<SectorWrite> still_lost;
  for (const auto& change : inode.unsynced) {
    if (const auto* cut = std::get_if<Truncation>(&change)) {
      inode.durable.resize(cut->size);
      std::erase_if(still_lost, [&](const auto& lost) { return lost.offset() >= cut->size; });
      for (auto& lost : still_lost) lost.length = std::min(lost.length, cut->size - lost.offset());
    } else if (const auto& write = std::get<SectorWrite>(change);
               write.lost && !dirty.contains(write.sector)) {
      still_lost.push_back(write);
    }
  }
  for (const std::size_t sector : dirty) {
    const auto now = sector_of(inode.visible, sector);
    if (!now.empty()) put(inode.durable, sector * sector_size, now);
  }
  inode.unsynced.assign(still_lost.begin(), still_lost.end());
}

void fail_sync(Inode& inode) {
  for (auto& change : inode.unsynced) {
    if (auto* write = std::get_if<SectorWrite>(&change)) write->lost = true;
  }
}

// What a crash leaves of a file; without `random`, only what was synced.
Bytes surviving_image(const Inode& inode, Random* random) {
  Bytes image = inode.durable;
  if (random == nullptr || inode.unsynced.empty()) return image;

  // None and all are a quarter each: they are the outcomes that show a missing sync, and an order
  // of syncs between files that was relied upon, with the fewest seeds.
  constexpr std::uint64_t certain = 16;
  const std::uint64_t mood = random->below(4);
  const std::uint64_t odds = mood == 0 ? 0 : mood == 1 ? certain : 1 + random->below(certain - 1);
  const auto lucky = [&] { return random->below(certain) < odds; };

  // File systems journal sizes in order: once one truncation is missing so are those after it, and
  // what was written past its cut, for that went to blocks nothing refers to.
  std::size_t reachable = std::numeric_limits<std::size_t>::max();
  for (const auto& change : inode.unsynced) {
    if (const auto* cut = std::get_if<Truncation>(&change)) {
      if (reachable == std::numeric_limits<std::size_t>::max() && lucky()) {
        image.resize(cut->size);
      } else {
        reachable = std::min(reachable, cut->size);
      }
      continue;
    }
    const auto& write = std::get<SectorWrite>(change);
    if (write.offset() + write.length > reachable || !lucky()) continue;
    const bool torn = &change == &inode.unsynced.back() && random->below(2) == 0;
    const std::size_t length = torn ? random->below(write.length + 1) : write.length;
    put(image, write.offset(), std::span(write.bytes).first(length));
  }
  return image;
}

// One mutex for everything: SQLite holds no lock of ours across calls, and the work under it is
// copying bytes.
class Disk {
 public:
  int open(const char* path, int flags, OpenFile** opened) {
    const std::lock_guard lock(mutex_);
    if (off_) return SQLITE_IOERR;
    std::shared_ptr<Inode> inode;
    if (path == nullptr) {
      inode = std::make_shared<Inode>();
    } else if (const auto found = visible_.find(path); found != visible_.end()) {
      if ((flags & SQLITE_OPEN_EXCLUSIVE) != 0) return SQLITE_CANTOPEN;
      inode = found->second;
    } else {
      if ((flags & SQLITE_OPEN_CREATE) == 0) return SQLITE_CANTOPEN;
      inode = std::make_shared<Inode>();
      inode->name = path;
      visible_.emplace(path, inode);
    }
    auto file = std::make_unique<OpenFile>(
        OpenFile{.disk = *this, .inode = inode, .power_cycle = power_cycle_, .shm = nullptr});
    file->delete_on_close = path != nullptr && (flags & SQLITE_OPEN_DELETEONCLOSE) != 0;
    inode->handles.insert(file.get());
    handles_.insert(file.get());
    *opened = file.release();
    return SQLITE_OK;
  }

  void close(OpenFile* file) {
    const std::lock_guard lock(mutex_);
    release_shm(*file);
    if (file->delete_on_close && alive(*file) &&
        entry(visible_, file->inode->name) == file->inode) {
      visible_.erase(file->inode->name);
    }
    file->inode->handles.erase(file);
    handles_.erase(file);
    delete file;
  }

  int remove(const std::string& path, bool and_sync) {
    const std::lock_guard lock(mutex_);
    if (off_) return SQLITE_IOERR;
    if (visible_.erase(path) == 0) return SQLITE_IOERR_DELETE_NOENT;
    if (fires(Fault::crash)) return crash_here();
    if (and_sync) sync_directory();
    return SQLITE_OK;
  }

  int access(const std::string& path, bool* exists) {
    const std::lock_guard lock(mutex_);
    if (off_) return SQLITE_IOERR;
    // As the unix VFS has it: an empty file is no journal.
    const auto found = visible_.find(path);
    *exists = found != visible_.end() && !found->second->visible.empty();
    return SQLITE_OK;
  }

  int read(const OpenFile& file, std::span<std::byte> into, std::size_t offset) {
    const std::lock_guard lock(mutex_);
    if (!alive(file)) return SQLITE_IOERR;
    const auto& image = file.inode->visible;
    const std::size_t begin = std::min(offset, image.size());
    const std::size_t length = std::min(into.size(), image.size() - begin);
    copy(std::span(image).subspan(begin, length), into.data());
    std::ranges::fill(into.subspan(length), std::byte{0});
    return length == into.size() ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
  }

  int write(OpenFile& file, std::span<const std::byte> bytes, std::size_t offset) {
    const std::lock_guard lock(mutex_);
    if (!alive(file)) return SQLITE_IOERR;
    const bool fails = fires(Fault::fail_write);
    const bool tears = fires(Fault::tear_write);
    const std::size_t asked = fails ? 0 : tears ? bytes.size() / 2 : bytes.size();
    const std::size_t landed = std::min(asked, room_for(*file.inode, offset, asked));
    sqlite::write(*file.inode, offset, bytes.first(landed));
    counters_.bytes += static_cast<std::int64_t>(landed);
    if (fires(Fault::crash)) return crash_here();
    if (fails || tears) return SQLITE_IOERR_WRITE;
    if (landed < asked) return SQLITE_FULL;
    ++counters_.writes;
    return SQLITE_OK;
  }

  int truncate(OpenFile& file, std::size_t size) {
    const std::lock_guard lock(mutex_);
    if (!alive(file)) return SQLITE_IOERR;
    if (room_for(*file.inode, 0, size) < size) return SQLITE_FULL;
    sqlite::truncate(*file.inode, size);
    return fires(Fault::crash) ? crash_here() : SQLITE_OK;
  }

  int sync(OpenFile& file) {
    const std::lock_guard lock(mutex_);
    if (!alive(file)) return SQLITE_IOERR;
    // Before the sync, so that how much of it happened is left to the dice.
    if (fires(Fault::crash)) return crash_here();
    if (fires(Fault::fail_sync)) {
      fail_sync(*file.inode);
      return SQLITE_IOERR_FSYNC;
    }
    sqlite::sync(*file.inode);
    // SQLite syncs the directory of a new journal or WAL itself, and ext4 or XFS do it for any new
    // file. A file already deleted has no name to make durable.
    if (entry(visible_, file.inode->name) == file.inode &&
        entry(durable_, file.inode->name) != file.inode) {
      sync_directory();
    }
    ++counters_.syncs;
    return SQLITE_OK;
  }

  int size(const OpenFile& file, std::size_t* size) {
    const std::lock_guard lock(mutex_);
    if (!alive(file)) return SQLITE_IOERR;
    *size = file.inode->visible.size();
    return SQLITE_OK;
  }

  int lock(OpenFile& file, int level) {
    const std::lock_guard lock(mutex_);
    if (!alive(file)) return SQLITE_IOERR;
    if (file.lock >= level) return SQLITE_OK;
    const int others = highest_lock_of_others(file);
    if (level == SQLITE_LOCK_SHARED) {
      if (others >= SQLITE_LOCK_PENDING) return SQLITE_BUSY;
    } else {
      if (others >= SQLITE_LOCK_RESERVED) return SQLITE_BUSY;
      if (level == SQLITE_LOCK_EXCLUSIVE && others >= SQLITE_LOCK_SHARED) {
        // Pending keeps new readers out, so that the writer's turn comes.
        file.lock = SQLITE_LOCK_PENDING;
        return SQLITE_BUSY;
      }
    }
    file.lock = level;
    return SQLITE_OK;
  }

  int unlock(OpenFile& file, int level) {
    const std::lock_guard lock(mutex_);
    if (!alive(file)) return SQLITE_IOERR;
    file.lock = std::min(file.lock, level);
    return SQLITE_OK;
  }

  int check_reserved(const OpenFile& file, bool* reserved) {
    const std::lock_guard lock(mutex_);
    if (!alive(file)) return SQLITE_IOERR;
    *reserved = std::max(file.lock, highest_lock_of_others(file)) >= SQLITE_LOCK_RESERVED;
    return SQLITE_OK;
  }

  int file_control(OpenFile& file, int operation, void* argument) {
    if (operation != SQLITE_FCNTL_PERSIST_WAL) return SQLITE_NOTFOUND;
    const std::lock_guard lock(mutex_);
    int& value = *static_cast<int*>(argument);
    if (value >= 0) file.persist_wal = value != 0;
    value = file.persist_wal ? 1 : 0;
    return SQLITE_OK;
  }

  int shm_map(OpenFile& file, std::size_t region, std::size_t region_size, bool extend,
              void volatile** mapped) {
    const std::lock_guard lock(mutex_);
    *mapped = nullptr;
    if (!alive(file)) return SQLITE_IOERR;
    if (!file.shm) {
      file.shm = file.inode->shm.lock();
      if (!file.shm) file.inode->shm = file.shm = std::make_shared<SharedMemory>();
    }
    auto& regions = file.shm->regions;
    if (region >= regions.size() && !extend) return SQLITE_OK;
    while (region >= regions.size()) regions.push_back(std::make_unique<std::byte[]>(region_size));
    *mapped = regions[region].get();
    return SQLITE_OK;
  }

  int shm_lock(OpenFile& file, int first, int count, int flags) {
    const std::lock_guard lock(mutex_);
    if (!alive(file) || !file.shm) return SQLITE_IOERR;
    const auto slots =
        std::span(file.shm->locks)
            .subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
    const unsigned mask = ((1U << count) - 1U) << first;
    if ((flags & SQLITE_SHM_UNLOCK) != 0) {
      for (int slot = first; slot < first + count; ++slot) release_slot(file, slot);
      return SQLITE_OK;
    }
    if ((flags & SQLITE_SHM_SHARED) != 0) {
      if ((file.shm_shared & mask) == mask) return SQLITE_OK;
      if (std::ranges::any_of(slots, [](int holders) { return holders < 0; })) return SQLITE_BUSY;
      for (int& holders : slots) ++holders;
      file.shm_shared |= mask;
      return SQLITE_OK;
    }
    if ((file.shm_exclusive & mask) == mask) return SQLITE_OK;
    if (std::ranges::any_of(slots, [](int holders) { return holders != 0; })) return SQLITE_BUSY;
    std::ranges::fill(slots, -1);
    file.shm_exclusive |= mask;
    return SQLITE_OK;
  }

  void shm_barrier() { const std::lock_guard lock(mutex_); }

  void shm_unmap(OpenFile& file) {
    const std::lock_guard lock(mutex_);
    release_shm(file);
  }

  void crash(Random* random) {
    const std::lock_guard lock(mutex_);
    lose_power(random);
  }

  void crash_after(int operations, std::uint64_t seed) {
    const std::lock_guard lock(mutex_);
    countdown(Fault::crash).arm(operations);
    crash_seed_ = seed;
  }

  bool crashed() const {
    const std::lock_guard lock(mutex_);
    return off_;
  }

  void restart() {
    const std::lock_guard lock(mutex_);
    off_ = false;
  }

  void arm(Fault fault, int operations) {
    const std::lock_guard lock(mutex_);
    countdown(fault).arm(operations);
  }

  void clear_faults() {
    const std::lock_guard lock(mutex_);
    disarm();
  }

  void set_capacity(std::optional<std::int64_t> bytes) {
    const std::lock_guard lock(mutex_);
    capacity_ = bytes;
  }

  std::int64_t used_bytes() const {
    const std::lock_guard lock(mutex_);
    return used();
  }

  FaultVfs::Counters counters() const {
    const std::lock_guard lock(mutex_);
    return counters_;
  }

  bool in_use() const {
    const std::lock_guard lock(mutex_);
    return !handles_.empty();
  }

 private:
  using Directory = std::map<std::string, std::shared_ptr<Inode>>;

  // All below expect mutex_ to be held.

  bool alive(const OpenFile& file) const { return !off_ && file.power_cycle == power_cycle_; }

  static std::shared_ptr<Inode> entry(const Directory& directory, const std::string& path) {
    const auto found = directory.find(path);
    return found == directory.end() ? nullptr : found->second;
  }

  // All names at once, deletions too. SQLite relies on it: the first sync of a new WAL is what
  // keeps the rollback journal, deleted when the database was switched to WAL, from coming back
  // and undoing that switch together with everything committed since.
  void sync_directory() { durable_ = visible_; }

  std::int64_t used() const {
    std::set<const Inode*> inodes;
    for (const auto& [path, inode] : visible_) inodes.insert(inode.get());
    // A deleted file takes its space until the last handle closes, and temporary ones have no name.
    for (const auto* file : handles_) {
      if (alive(*file)) inodes.insert(file->inode.get());
    }
    std::size_t total = 0;
    for (const auto* inode : inodes) total += inode->visible.size();
    return static_cast<std::int64_t>(total);
  }

  // How many of `length` bytes at `offset` fit on the disk.
  std::size_t room_for(const Inode& inode, std::size_t offset, std::size_t length) const {
    const std::size_t size = inode.visible.size();
    if (!capacity_ || offset + length <= size) return length;
    const auto free = static_cast<std::size_t>(std::max<std::int64_t>(*capacity_ - used(), 0));
    return std::min(length, size + free - std::min(size + free, offset));
  }

  static int highest_lock_of_others(const OpenFile& file) {
    int highest = SQLITE_LOCK_NONE;
    for (const auto* other : file.inode->handles) {
      if (other != &file) highest = std::max(highest, other->lock);
    }
    return highest;
  }

  static void release_slot(OpenFile& file, int slot) {
    const unsigned bit = 1U << slot;
    int& holders = file.shm->locks[static_cast<std::size_t>(slot)];
    if ((file.shm_exclusive & bit) != 0) holders = 0;
    if ((file.shm_shared & bit) != 0) --holders;
    file.shm_exclusive &= ~bit;
    file.shm_shared &= ~bit;
  }

  static void release_shm(OpenFile& file) {
    if (!file.shm) return;
    for (int slot = 0; slot < SQLITE_SHM_NLOCK; ++slot) release_slot(file, slot);
    file.shm.reset();
  }

  Countdown& countdown(Fault fault) { return countdowns_[static_cast<std::size_t>(fault)]; }
  bool fires(Fault fault) { return countdown(fault).fires(); }
  void disarm() { countdowns_ = {}; }

  int crash_here() {
    SeededRandom random(crash_seed_);
    lose_power(&random);
    return SQLITE_IOERR;
  }

  void lose_power(Random* random) {
    if (off_) return;
    off_ = true;
    ++power_cycle_;
    disarm();

    std::set<std::string> paths;
    for (const auto& [path, inode] : visible_) paths.insert(path);
    for (const auto& [path, inode] : durable_) paths.insert(path);

    // Survivors are new inodes: dead handles keep the old ones, and with them the shared memory
    // that their connections may still be reading.
    Directory survivors;
    for (const auto& path : paths) {
      const auto inode = surviving_entry(path, random);
      if (!inode) continue;
      auto survivor = std::make_shared<Inode>();
      survivor->name = path;
      survivor->durable = surviving_image(*inode, random);
      survivor->visible = survivor->durable;
      survivors.emplace(path, std::move(survivor));
    }
    visible_ = survivors;
    durable_ = std::move(survivors);
  }

  // Which file, if any, the directory names after a crash.
  std::shared_ptr<Inode> surviving_entry(const std::string& path, Random* random) const {
    auto seen = entry(visible_, path);
    auto synced = entry(durable_, path);
    if (seen == synced || random == nullptr) return synced;
    return random->below(2) == 0 ? seen : synced;
  }

  mutable std::mutex mutex_;  // guards every member, and every Inode and OpenFile of this disk
  Directory visible_;
  Directory durable_;
  std::set<OpenFile*> handles_;
  std::uint64_t power_cycle_ = 0;
  bool off_ = false;
  std::array<Countdown, 4> countdowns_;  // one for each Fault
  std::uint64_t crash_seed_ = 0;
  std::optional<std::int64_t> capacity_;
  FaultVfs::Counters counters_;
};

// What SQLite allocates for us: its base, and then one pointer of our own.
struct SqliteFile {
  sqlite3_file base;
  OpenFile* open;
};

OpenFile& opened(sqlite3_file* file) {
  return *reinterpret_cast<SqliteFile*>(file)->open;
}

int vfs_close(sqlite3_file* file) {
  OpenFile& handle = opened(file);
  handle.disk.close(&handle);
  return SQLITE_OK;
}

int vfs_read(sqlite3_file* file, void* into, int length, sqlite3_int64 offset) {
  return opened(file).disk.read(opened(file),
                                {static_cast<std::byte*>(into), static_cast<std::size_t>(length)},
                                static_cast<std::size_t>(offset));
}

int vfs_write(sqlite3_file* file, const void* bytes, int length, sqlite3_int64 offset) {
  return opened(file).disk.write(
      opened(file), {static_cast<const std::byte*>(bytes), static_cast<std::size_t>(length)},
      static_cast<std::size_t>(offset));
}

int vfs_truncate(sqlite3_file* file, sqlite3_int64 size) {
  return opened(file).disk.truncate(opened(file), static_cast<std::size_t>(size));
}

int vfs_sync(sqlite3_file* file, int) {
  return opened(file).disk.sync(opened(file));
}

int vfs_file_size(sqlite3_file* file, sqlite3_int64* size) {
  std::size_t bytes = 0;
  const int rc = opened(file).disk.size(opened(file), &bytes);
  *size = static_cast<sqlite3_int64>(bytes);
  return rc;
}

int vfs_lock(sqlite3_file* file, int level) {
  return opened(file).disk.lock(opened(file), level);
}

int vfs_unlock(sqlite3_file* file, int level) {
  return opened(file).disk.unlock(opened(file), level);
}

int vfs_check_reserved_lock(sqlite3_file* file, int* result) {
  bool reserved = false;
  const int rc = opened(file).disk.check_reserved(opened(file), &reserved);
  *result = reserved ? 1 : 0;
  return rc;
}

int vfs_file_control(sqlite3_file* file, int operation, void* argument) {
  return opened(file).disk.file_control(opened(file), operation, argument);
}

int vfs_sector_size(sqlite3_file*) {
  return static_cast<int>(sector_size);
}

// What the unix VFS promises by default, so SQLite takes the same paths here as in production.
int vfs_device_characteristics(sqlite3_file*) {
  return SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

int vfs_shm_map(sqlite3_file* file, int region, int region_size, int extend,
                void volatile** mapped) {
  return opened(file).disk.shm_map(opened(file), static_cast<std::size_t>(region),
                                   static_cast<std::size_t>(region_size), extend != 0, mapped);
}

int vfs_shm_lock(sqlite3_file* file, int first, int count, int flags) {
  return opened(file).disk.shm_lock(opened(file), first, count, flags);
}

void vfs_shm_barrier(sqlite3_file* file) {
  opened(file).disk.shm_barrier();
}

int vfs_shm_unmap(sqlite3_file* file, int) {
  opened(file).disk.shm_unmap(opened(file));
  return SQLITE_OK;
}

constexpr sqlite3_io_methods io_methods{.iVersion = 2,  // shared memory, but no memory mapping
                                        .xClose = vfs_close,
                                        .xRead = vfs_read,
                                        .xWrite = vfs_write,
                                        .xTruncate = vfs_truncate,
                                        .xSync = vfs_sync,
                                        .xFileSize = vfs_file_size,
                                        .xLock = vfs_lock,
                                        .xUnlock = vfs_unlock,
                                        .xCheckReservedLock = vfs_check_reserved_lock,
                                        .xFileControl = vfs_file_control,
                                        .xSectorSize = vfs_sector_size,
                                        .xDeviceCharacteristics = vfs_device_characteristics,
                                        .xShmMap = vfs_shm_map,
                                        .xShmLock = vfs_shm_lock,
                                        .xShmBarrier = vfs_shm_barrier,
                                        .xShmUnmap = vfs_shm_unmap,
                                        .xFetch = nullptr,
                                        .xUnfetch = nullptr};

Disk& disk_of(sqlite3_vfs* vfs) {
  return *static_cast<Disk*>(vfs->pAppData);
}

int vfs_open(sqlite3_vfs* vfs, const char* path, sqlite3_file* file, int flags, int* out_flags) {
  auto* target = reinterpret_cast<SqliteFile*>(file);
  target->base.pMethods = nullptr;  // tells SQLite not to close what did not open
  const int rc = disk_of(vfs).open(path, flags, &target->open);
  if (rc != SQLITE_OK) return rc;
  target->base.pMethods = &io_methods;
  if (out_flags != nullptr) *out_flags = flags;
  return SQLITE_OK;
}

int vfs_delete(sqlite3_vfs* vfs, const char* path, int sync_directory) {
  return disk_of(vfs).remove(path, sync_directory != 0);
}

int vfs_access(sqlite3_vfs* vfs, const char* path, int, int* result) {
  bool exists = false;
  const int rc = disk_of(vfs).access(path, &exists);
  *result = exists ? 1 : 0;
  return rc;
}

// There are no directories: a path is a name.
int vfs_full_pathname(sqlite3_vfs*, const char* path, int size, char* full) {
  const std::size_t length = std::strlen(path) + 1;
  if (length > static_cast<std::size_t>(size)) return SQLITE_CANTOPEN;
  std::memcpy(full, path, length);
  return SQLITE_OK;
}

// The clock, sleeping and randomness are the system's.
sqlite3_vfs* system_vfs() {
  return sqlite3_vfs_find(nullptr);
}

int vfs_randomness(sqlite3_vfs*, int length, char* into) {
  return system_vfs()->xRandomness(system_vfs(), length, into);
}

int vfs_sleep(sqlite3_vfs*, int microseconds) {
  return system_vfs()->xSleep(system_vfs(), microseconds);
}

int vfs_current_time(sqlite3_vfs*, double* now) {
  return system_vfs()->xCurrentTime(system_vfs(), now);
}

int vfs_current_time_int64(sqlite3_vfs*, sqlite3_int64* now) {
  return system_vfs()->xCurrentTimeInt64(system_vfs(), now);
}

int vfs_last_error(sqlite3_vfs*, int, char*) {
  return 0;
}

}  // namespace

struct FaultVfs::Impl {
  std::string name;
  Disk disk;
  sqlite3_vfs vfs{};
};

FaultVfs::FaultVfs(std::string name) : impl_(std::make_unique<Impl>()) {
  impl_->name = std::move(name);
  sqlite3_vfs& vfs = impl_->vfs;
  vfs.iVersion = 2;
  vfs.szOsFile = sizeof(SqliteFile);
  vfs.mxPathname = longest_path;
  vfs.zName = impl_->name.c_str();
  vfs.pAppData = &impl_->disk;
  vfs.xOpen = vfs_open;
  vfs.xDelete = vfs_delete;
  vfs.xAccess = vfs_access;
  vfs.xFullPathname = vfs_full_pathname;
  vfs.xRandomness = vfs_randomness;
  vfs.xSleep = vfs_sleep;
  vfs.xCurrentTime = vfs_current_time;
  vfs.xGetLastError = vfs_last_error;
  vfs.xCurrentTimeInt64 = vfs_current_time_int64;
  DW_ASSERT(sqlite3_vfs_find(vfs.zName) == nullptr, "a VFS of this name exists");
  DW_ASSERT(sqlite3_vfs_register(&vfs, 0) == SQLITE_OK, "SQLite refused the VFS");
}

FaultVfs::~FaultVfs() {
  DW_ASSERT(!impl_->disk.in_use(), "close every connection before its VFS goes away");
  sqlite3_vfs_unregister(&impl_->vfs);
}

const std::string& FaultVfs::name() const {
  return impl_->name;
}

void FaultVfs::crash(Random& random) {
  impl_->disk.crash(&random);
}

void FaultVfs::crash() {
  impl_->disk.crash(nullptr);
}

void FaultVfs::crash_after(int operations, std::uint64_t seed) {
  impl_->disk.crash_after(operations, seed);
}

bool FaultVfs::crashed() const {
  return impl_->disk.crashed();
}

void FaultVfs::restart() {
  impl_->disk.restart();
}

void FaultVfs::fail_write_after(int writes) {
  impl_->disk.arm(Fault::fail_write, writes);
}

void FaultVfs::tear_write_after(int writes) {
  impl_->disk.arm(Fault::tear_write, writes);
}

void FaultVfs::fail_sync_after(int syncs) {
  impl_->disk.arm(Fault::fail_sync, syncs);
}

void FaultVfs::clear_faults() {
  impl_->disk.clear_faults();
}

void FaultVfs::set_capacity(std::optional<std::int64_t> bytes) {
  impl_->disk.set_capacity(bytes);
}

std::int64_t FaultVfs::used_bytes() const {
  return impl_->disk.used_bytes();
}

FaultVfs::Counters FaultVfs::counters() const {
  return impl_->disk.counters();
}

}  // namespace dw::sqlite
