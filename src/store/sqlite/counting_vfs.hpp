// Counts what a disk is asked to do where it is asked: at the file. Passes everything else through
// untouched, so it costs nothing on reads and writes.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

namespace dw::sqlite {

class CountingVfs {
 public:
  // Registers a VFS over `base`; an empty base is the operating system's. Check ok() before use.
  explicit CountingVfs(const std::string& base);
  // Every connection must be closed by now.
  ~CountingVfs();
  CountingVfs(const CountingVfs&) = delete;
  CountingVfs& operator=(const CountingVfs&) = delete;

  bool ok() const;  // whether `base` exists
  const std::string& name() const;
  std::int64_t syncs() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dw::sqlite
