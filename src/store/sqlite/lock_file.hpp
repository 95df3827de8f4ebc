// One process owns a store: a file beside it, locked for as long as the store is open. The kernel
// lets go when the owner dies, so a lock never outlives its holder; what the file says is only for
// people, and stale words are harmless.
#pragma once
#include <dw/result.hpp>
#include <dw/time.hpp>

#include <string>

namespace dw::sqlite {

class LockFile {
 public:
  // Fails with store_locked, naming the owner, when anybody holds it: this process included.
  static Result<LockFile> acquire(const std::string& store_path, Timestamp now);

  LockFile(LockFile&& other) noexcept;
  LockFile& operator=(LockFile&& other) noexcept;
  ~LockFile();

 private:
  explicit LockFile(int descriptor) : descriptor_(descriptor) {}
  int descriptor_ = -1;
};

}  // namespace dw::sqlite
