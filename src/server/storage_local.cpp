#include "server/storage_drivers.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace dw::server {
namespace {

namespace fs = std::filesystem;

// Whoever shares the directory with this process, such as workers, is told by the umask what they
// may do there.
constexpr mode_t new_folder = 0777;
constexpr mode_t new_file = 0666;

class BlobHandle {
 public:
  BlobHandle() = default;
  explicit BlobHandle(int number) : number_(number) {}
  BlobHandle(BlobHandle&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  BlobHandle& operator=(BlobHandle&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~BlobHandle() {
    if (number_ >= 0) close(number_);
  }
  int number() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }

 private:
  int number_ = -1;
};

// After a call that failed, before anything else is called.
Error could_not(std::string_view what, const fs::path& path) {
  const int number = errno;
  const auto why = std::generic_category().message(number);
  const auto advice = number == ELOOP || number == ENOTDIR
                          ? "what is a link there, or no directory, is not followed"
                          : "see that the directory is there and this process may write to it";
  const auto code = number == ENOSPC || number == EDQUOT ? ErrorCode::store_full
                    : number == ENOENT                   ? ErrorCode::not_found
                                                         : ErrorCode::unavailable;
  return {code, fmt::format("cannot {} {}: {}; {}", what, path.string(), why, advice)};
}

// Interrupted calls go on where they were.
bool write_whole(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto count = ::write(file, bytes.data(), bytes.size());
    if (count < 0 && errno != EINTR) return false;
    if (count > 0) bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

bool read_whole(int file, std::string& bytes) {
  std::size_t have = 0;
  while (have < bytes.size()) {
    const auto count = ::read(file, bytes.data() + have, bytes.size() - have);
    if (count < 0 && errno != EINTR) return false;
    if (count == 0) break;
    if (count > 0) have += static_cast<std::size_t>(count);
  }
  bytes.resize(have);
  return true;
}

std::string escaped_path(const fs::path& path) {
  std::string text;
  for (const char c : path.string()) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view{"/._-~"}.find(c) != std::string_view::npos;
    text += plain ? std::string{c} : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return text;
}

class LocalBlobs final : public BlobStore {
 public:
  explicit LocalBlobs(fs::path directory) : directory_(std::move(directory)) {}

  std::string uri_of(std::string_view key) const override {
    return "file://" + escaped_path(directory_ / key);
  }

 private:
  enum class Missing { make, fail };

  // Beside its place and then into it: whoever looks there finds all of a blob or none.
  Result<void> write(const std::string& key, std::string_view bytes) override {
    const auto folder = DW_TRY(open_folder(key, Missing::make));
    const auto name = fs::path{key}.filename().string();
    const auto draft = fmt::format(".{}.{:016x}", name, system_seed());
    const BlobHandle file{openat(folder.number(), draft.c_str(),
                                 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, new_file)};
    if (!file) return could_not("write", directory_ / key);
    const bool kept =
        write_whole(file.number(), bytes) && fsync(file.number()) == 0 &&
        renameat(folder.number(), draft.c_str(), folder.number(), name.c_str()) == 0 &&
        fsync(folder.number()) == 0;
    if (kept) return {};
    auto error = could_not("write", directory_ / key);
    unlinkat(folder.number(), draft.c_str(), 0);
    return error;
  }

  Result<std::string> read(const std::string& key) override {
    const auto folder = DW_TRY(open_folder(key, Missing::fail));
    const auto path = directory_ / key;
    // Not to wait for whoever writes to it, should it be a pipe.
    const BlobHandle file{openat(folder.number(), path.filename().c_str(),
                                 O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)};
    struct stat about {};
    if (!file || fstat(file.number(), &about) != 0) return could_not("read", path);
    if (!S_ISREG(about.st_mode) || static_cast<std::size_t>(about.st_size) > largest_blob) {
      return Error{ErrorCode::store_corrupt,
                   fmt::format("{} is no file of at most {} bytes; see what it is and remove it",
                               path.string(), largest_blob)};
    }
    std::string bytes(static_cast<std::size_t>(about.st_size), '\0');
    if (!read_whole(file.number(), bytes)) return could_not("read", path);
    return bytes;
  }

  Result<void> erase(const std::string& key) override {
    const auto folder = open_folder(key, Missing::fail);
    if (!folder && folder.error().code == ErrorCode::not_found) return {};
    if (!folder) return folder.error();
    const auto path = directory_ / key;
    if (unlinkat(folder->number(), path.filename().c_str(), 0) == 0 || errno == ENOENT) return {};
    return could_not("remove", path);
  }

  // One step after the other, none of them over a link: the directory itself may be one, what is in
  // it may not lead out of it.
  Result<BlobHandle> open_folder(const std::string& key, Missing missing) const {
    std::error_code error;
    if (missing == Missing::make) fs::create_directories(directory_, error);
    BlobHandle folder{open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    if (!folder) return could_not("open", directory_);
    fs::path path = directory_;
    for (const fs::path& step : fs::path{key}.parent_path()) {
      path /= step;
      const bool made =
          missing == Missing::make && mkdirat(folder.number(), step.c_str(), new_folder) == 0;
      if (made && fsync(folder.number()) != 0) return could_not("make", path);
      BlobHandle next{
          openat(folder.number(), step.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
      if (!next) return could_not("open", path);
      folder = std::move(next);
    }
    return folder;
  }

  const fs::path directory_;
};

}  // namespace

std::unique_ptr<BlobStore> local_blobs(fs::path directory) {
  return std::make_unique<LocalBlobs>(std::move(directory));
}

}  // namespace dw::server
