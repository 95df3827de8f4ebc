// What this process costs the machine, as Linux tells it.
#pragma once
#include <cstdint>
#include <optional>

namespace dw::server {

struct ProcessStats {
  double cpu_seconds = 0;
  double started_at = 0;  // seconds since 1970
  std::int64_t resident_bytes = 0;
  std::int64_t virtual_bytes = 0;
  std::int64_t threads = 0;
  std::int64_t open_files = 0;
  std::int64_t max_files = 0;
};

// Absent where /proc is not to be had.
std::optional<ProcessStats> read_process_stats();

}  // namespace dw::server
