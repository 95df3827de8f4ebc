#include "server/process_stats.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace dw::server {
namespace {

namespace fs = std::filesystem;

// Fields of /proc/self/stat, counted from the one after the program's name, which may hold blanks
// and brackets of its own.
constexpr int user_ticks_field = 11;
constexpr int system_ticks_field = 12;
constexpr int threads_field = 17;
constexpr int start_ticks_field = 19;
constexpr int virtual_bytes_field = 20;
constexpr int resident_pages_field = 21;
constexpr int fields_wanted = resident_pages_field + 1;

std::optional<std::string> after_program_name() {
  std::ifstream file{"/proc/self/stat"};
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  const auto bracket = line.rfind(')');
  if (bracket == std::string::npos) return std::nullopt;
  return line.substr(bracket + 1);
}

std::int64_t booted_at() {
  std::ifstream file{"/proc/stat"};
  for (std::string word; file >> word;) {
    std::int64_t seconds = 0;
    if (word == "btime" && file >> seconds) return seconds;
  }
  return 0;
}

std::int64_t count_open_files() {
  std::error_code failed;
  std::int64_t count = 0;
  for (fs::directory_iterator entry{"/proc/self/fd", failed}, end; !failed && entry != end;
       entry.increment(failed)) {
    ++count;
  }
  return count > 0 ? count - 1 : 0;  // one of them was reading the directory
}

}  // namespace

std::optional<ProcessStats> read_process_stats() {
  const auto text = after_program_name();
  if (!text) return std::nullopt;
  std::istringstream words{*text};
  std::string state;
  words >> state;
  std::int64_t fields[fields_wanted] = {};
  for (int i = 1; i < fields_wanted; ++i) words >> fields[i];
  if (!words) return std::nullopt;

  const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  ProcessStats stats;
  stats.cpu_seconds =
      static_cast<double>(fields[user_ticks_field] + fields[system_ticks_field]) / ticks;
  stats.started_at =
      static_cast<double>(booted_at()) + static_cast<double>(fields[start_ticks_field]) / ticks;
  stats.threads = fields[threads_field];
  stats.virtual_bytes = fields[virtual_bytes_field];
  stats.resident_bytes = fields[resident_pages_field] * sysconf(_SC_PAGESIZE);
  stats.open_files = count_open_files();
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    stats.max_files = static_cast<std::int64_t>(limit.rlim_cur);
  }
  return stats;
}

}  // namespace dw::server
