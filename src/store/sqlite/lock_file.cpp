#include "store/sqlite/lock_file.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

namespace dw::sqlite {
namespace {

std::string host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "unknown host";
  return name.data();
}

// "pid 4711 on host.example since 2026-04-10T12:00:00.000000Z"
std::string describe_owner(Timestamp now) {
  return fmt::format("pid {} on {} since {}", getpid(), host_name(), format_timestamp(now));
}

std::string read_owner(int descriptor) {
  std::array<char, 512> text{};
  const ssize_t length = pread(descriptor, text.data(), text.size(), 0);
  std::string_view owner{text.data(), length > 0 ? static_cast<std::size_t>(length) : 0};
  owner = owner.substr(0, owner.find('\n'));
  // An owner that was just starting has not introduced itself yet.
  return owner.empty() ? "a process that is just starting" : std::string{owner};
}

}  // namespace

Result<LockFile> LockFile::acquire(const std::string& store_path, Timestamp now) {
  const std::string path = store_path + ".lock";
  LockFile lock{::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)};
  if (lock.descriptor_ < 0) {
    return Error{ErrorCode::unavailable,
                 fmt::format("Could not create the lock file '{}': {}. Check that the directory "
                             "exists and that this user may write to it.",
                             path, std::strerror(errno))};
  }
  if (flock(lock.descriptor_, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) {
      return Error{ErrorCode::store_locked,
                   fmt::format("Could not open the store '{}': it is in use by {}. Stop that "
                               "process, or reach the store through it; the lock ends with it.",
                               store_path, read_owner(lock.descriptor_))};
    }
    return Error{ErrorCode::unavailable,
                 fmt::format("Could not lock '{}': {}. The store must be on a file system that "
                             "supports locks.",
                             path, std::strerror(errno))};
  }
  // For people only: a full disk must not keep anybody from opening the store.
  const std::string owner = describe_owner(now) + '\n';
  if (ftruncate(lock.descriptor_, 0) == 0) {
    [[maybe_unused]] const auto written = pwrite(lock.descriptor_, owner.data(), owner.size(), 0);
  }
  return lock;
}

LockFile::LockFile(LockFile&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

LockFile& LockFile::operator=(LockFile&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

LockFile::~LockFile() {
  // The file stays: removing it would let a second opener lock a name that a third creates anew.
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace dw::sqlite
