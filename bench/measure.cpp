#include "measure.hpp"

#include <fmt/format.h>
#include <linux/magic.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>
#include <system_error>
#include <thread>

namespace dw::bench {
namespace {

namespace fs = std::filesystem;

bool quiet_ = false;

#if defined(__clang__)
constexpr std::string_view compiler = "clang " __clang_version__;
#else
constexpr std::string_view compiler = "g++ " __VERSION__;
#endif

// The number after "VmRSS:" and the like.
std::int64_t status_value(const fs::path& file, std::string_view key) {
  std::ifstream in{file};
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(key)) return std::strtoll(line.c_str() + key.size(), nullptr, 10);
  }
  return 0;
}

fs::path process_directory(int process) {
  return fs::path{"/proc"} / (process == 0 ? "self" : std::to_string(process));
}

std::string first_line(const fs::path& file) {
  std::ifstream in{file};
  std::string line;
  std::getline(in, line);
  return line;
}

double to_seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

}  // namespace

double rounded(double number) {
  return std::round(number * 1000) / 1000;
}

double percentile(std::vector<double>& values, double percent) {
  if (values.empty()) return 0;
  const auto rank = std::ceil(percent / 100 * static_cast<double>(values.size()));
  const auto index = static_cast<std::size_t>(std::max(rank, 1.0)) - 1;
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(index));
  return values[index];
}

Spread spread_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  const double median =
      values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
  return {values.front(), median, values.back()};
}

double process_cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return to_seconds(usage.ru_utime) + to_seconds(usage.ru_stime);
}

double process_cpu_seconds(int process) {
  double seconds = 0;
  for (const ThreadUse& use : thread_use(process)) seconds += use.cpu_seconds;
  return seconds;
}

Memory resident_memory(int process) {
  const fs::path status = process_directory(process) / "status";
  return {status_value(status, "VmRSS:"), status_value(status, "VmHWM:")};
}

std::vector<ThreadUse> thread_use(int process) {
  std::map<std::string, ThreadUse> by_name;
  std::error_code gone;  // threads may end while we look
  for (const auto& task : fs::directory_iterator{process_directory(process) / "task", gone}) {
    ThreadUse& use = by_name[first_line(task.path() / "comm")];
    use.threads += 1;
    // Nanoseconds on a core, and two numbers that we do not need.
    const auto on_core = first_line(task.path() / "schedstat");
    use.cpu_seconds += std::strtod(on_core.c_str(), nullptr) / 1e9;
    use.waits += status_value(task.path() / "status", "voluntary_ctxt_switches:");
    use.preemptions += status_value(task.path() / "status", "nonvoluntary_ctxt_switches:");
  }
  std::vector<ThreadUse> uses;
  for (auto& [name, use] : by_name) {
    use.name = name;
    uses.push_back(std::move(use));
  }
  return uses;
}

std::vector<ThreadUse> subtract(std::vector<ThreadUse> after,
                                const std::vector<ThreadUse>& before) {
  for (ThreadUse& use : after) {
    const auto same = std::ranges::find(before, use.name, &ThreadUse::name);
    if (same == before.end()) continue;
    use.cpu_seconds -= same->cpu_seconds;
    use.waits -= same->waits;
    use.preemptions -= same->preemptions;
  }
  std::ranges::sort(after, std::greater{}, &ThreadUse::cpu_seconds);
  return after;
}

std::string filesystem_of(const std::string& path) {
  struct statfs info {};
  if (statfs(path.c_str(), &info) != 0) return "unknown";
  switch (static_cast<unsigned long>(info.f_type)) {
    case EXT4_SUPER_MAGIC:
      return "ext4";
    case XFS_SUPER_MAGIC:
      return "xfs";
    case BTRFS_SUPER_MAGIC:
      return "btrfs";
    case OVERLAYFS_SUPER_MAGIC:
      return "overlay";
    case TMPFS_MAGIC:
      return "tmpfs";
    default:
      return fmt::format("{:#x}", static_cast<unsigned long>(info.f_type));
  }
}

void write_environment(JsonWriter& json) {
  utsname system{};
  uname(&system);
  json.field("cores", static_cast<std::int64_t>(std::thread::hardware_concurrency()))
      .field("compiler", compiler)
      .field("build_type", DW_BENCH_BUILD_TYPE)
      .field("allocator", DW_BENCH_ALLOCATOR)
      .field("version", DW_BENCH_VERSION)
      .field("sqlite", sqlite3_libversion())
      .field("kernel", static_cast<const char*>(system.release));
}

std::string environment_line() {
  utsname system{};
  uname(&system);
  return fmt::format("dw {}, {} build, {}, SQLite {}, {} cores, Linux {}", DW_BENCH_VERSION,
                     DW_BENCH_BUILD_TYPE, compiler, sqlite3_libversion(),
                     std::thread::hardware_concurrency(), static_cast<const char*>(system.release));
}

StoreFile::StoreFile(const std::string& given, std::string_view name) : path_(given) {
  if (given == ":memory:") return;
  if (given.empty() || fs::is_directory(given)) {
    // Not /tmp, which is often memory: syncing that costs nothing and would flatter us.
    const char* chosen = std::getenv("TMPDIR");
    const std::string parent = !given.empty() ? given : chosen ? chosen : "/var/tmp";
    std::string directory = fmt::format("{}/dw-bench.XXXXXX", parent);
    if (mkdtemp(directory.data()) == nullptr) {
      throw std::system_error{errno, std::generic_category(),
                              "cannot make a directory for the store; name one with --store"};
    }
    temporary_ = directory;
    path_ = fmt::format("{}/{}.db", temporary_, name);
  }
  if (kind() == "tmpfs") say("note: the store is on tmpfs, where syncing costs nothing");
}

StoreFile::~StoreFile() {
  std::error_code ignored;
  if (!temporary_.empty()) fs::remove_all(temporary_, ignored);
}

void StoreFile::require_new() const {
  if (path_ == ":memory:" || fs::exists(path_)) {
    throw std::invalid_argument{
        fmt::format("'{}' will not do: name a directory, or a file that does not exist", path_)};
  }
}

std::int64_t StoreFile::bytes() const {
  std::error_code missing;
  const auto size = fs::file_size(path_, missing);
  return missing ? 0 : static_cast<std::int64_t>(size);
}

std::string StoreFile::kind() const {
  if (path_ == ":memory:") return "memory";
  const auto parent = fs::path{path_}.parent_path();
  return filesystem_of(parent.empty() ? "." : parent.string());
}

void set_quiet(bool quiet) {
  quiet_ = quiet;
}

void say(std::string_view line) {
  if (!quiet_) fmt::print(stderr, "{}\n", line);
}

}  // namespace dw::bench
