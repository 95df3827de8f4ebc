// Between SQLite and the disk. A commit comes to the log as two writes for each page, a short head
// and the page; here they are gathered, and go out as one just before the sync that makes them
// durable: a system call costs as much as the bytes do. Syncs are counted where the disk is asked
// for them. All files but the log are passed through untouched.
//
// For connections with `synchronous = FULL`. Only they sync before they let others know of a
// commit, and until then nobody reads it but they themselves, by the handle that has it.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

namespace dw::sqlite {

class GatheringVfs {
 public:
  // Registers a VFS over `base`; an empty base is the operating system's. Check ok() before use.
  explicit GatheringVfs(const std::string& base);
  // Every connection must be closed by now.
  ~GatheringVfs();
  GatheringVfs(const GatheringVfs&) = delete;
  GatheringVfs& operator=(const GatheringVfs&) = delete;

  bool ok() const;  // whether `base` exists
  const std::string& name() const;
  std::int64_t syncs() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dw::sqlite
