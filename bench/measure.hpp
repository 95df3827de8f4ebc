// What a benchmark needs to say what it saw: percentiles, CPU time by thread, memory, and the
// settings it ran under. A number without them is an anecdote.
#pragma once
#include "core/json_writer.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dw::bench {

using Steady = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

inline double seconds_since(Steady::time_point then) {
  return Seconds{Steady::now() - then}.count();
}

// Whole thousandths, so that JSON stays readable.
double rounded(double number);

// The value that `percent` of them do not exceed; 0 when there are none. Reorders `values`.
double percentile(std::vector<double>& values, double percent);

struct Spread {
  double low = 0, median = 0, high = 0;
};
Spread spread_of(std::vector<double> values);

// CPU seconds of the whole process so far, user and system.
double process_cpu_seconds();

// Of the threads that another process has now.
double process_cpu_seconds(int process);

struct Memory {
  std::int64_t now_kib = 0;
  std::int64_t peak_kib = 0;
};
Memory resident_memory(int process = 0);  // 0: this one

// Threads of one name, added up.
struct ThreadUse {
  std::string name;
  int threads = 0;
  double cpu_seconds = 0;
  std::int64_t waits = 0;        // gave up the core to wait for something
  std::int64_t preemptions = 0;  // lost the core to somebody else
};
// Of the threads alive now; take two and subtract.
std::vector<ThreadUse> thread_use(int process = 0);  // 0: this one
std::vector<ThreadUse> subtract(std::vector<ThreadUse> after, const std::vector<ThreadUse>& before);

// What the disk under `path` is called, and whether syncing it means anything.
std::string filesystem_of(const std::string& path);

// The keys of `settings` that every benchmark shares: cores, compiler, build, versions.
void write_environment(JsonWriter& json);
std::string environment_line();

// A store file: the caller's own, which is kept, or one in a temporary directory, which is removed.
class StoreFile {
 public:
  // `given` is a file, a directory to make a temporary one in, ":memory:", or empty for $TMPDIR.
  StoreFile(const std::string& given, std::string_view name);
  ~StoreFile();
  StoreFile(const StoreFile&) = delete;
  StoreFile& operator=(const StoreFile&) = delete;

  const std::string& path() const { return path_; }
  // Throws std::invalid_argument rather than measure on, or write over, what is there already.
  void require_new() const;
  std::int64_t bytes() const;  // of the database file, its log not counted
  // "ext4", or "memory".
  std::string kind() const;

 private:
  std::string path_;
  std::string temporary_;  // the directory to remove, if any
};

// Talks to people: on stderr, and not at all once quiet. stdout belongs to the last line.
void set_quiet(bool quiet);
void say(std::string_view line);

}  // namespace dw::bench
