// What the end-to-end tests share: places to keep a store, processes to kill, and an auditor that
// reads a store and says what is wrong with it.
#pragma once
#include "store/store.hpp"

#include <dw/dw.hpp>

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace dw::e2e {

// Long enough for the slowest machine under a sanitizer; nobody waits for it unless something
// broke.
constexpr std::chrono::seconds patience{60};

class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  std::string file(std::string_view name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

// Something that happens at most once and can be waited for.
class Signal {
 public:
  void set();
  bool wait();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool happened_ = false;
};

// Another process running this program with other arguments; its standard output is ours to read.
class ChildProcess {
 public:
  explicit ChildProcess(const std::vector<std::string>& arguments);
  ~ChildProcess();  // kills it
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }
  // Whole lines it has written until `until`; stops early when it ends, or says `stop_at`.
  std::vector<std::string> read_lines(std::chrono::steady_clock::time_point until,
                                      std::string_view stop_at = {});
  void kill_hard();
  // The wait status; waits for the process to end.
  int wait();

 private:
  pid_t pid_ = -1;
  int output_ = -1;
  std::string partial_;
  std::optional<int> status_;
};

// The value of an environment variable that holds a number.
std::uint64_t number_from_environment(const char* name, std::uint64_t otherwise);

// DW_TEST_LONG asks for what does not fit into an everyday run.
bool long_test();

// Reads runs and keeps what it saw, so that the next look can tell whether anything recorded has
// changed since. A run is read again only when its version moved.
class Auditor {
 public:
  struct SeenRun {
    store::RunRow row;
    std::vector<CommitId> commits;
    std::optional<Payload> output;
    std::set<std::string> completed_activities;
    int attempts = 0;
  };

  // Problems found, none if all is well: gaps in sequences or steps, a step recorded twice, more
  // than one outcome of an activity or timer, a recorded commit that is gone or became another.
  std::vector<std::string> look_at(store::Store& store);

  const std::map<std::string, SeenRun>& runs() const { return runs_; }  // by instance id
  // Forgets versions, so that the next look reads everything again.
  void read_all_again() { fresh_.clear(); }

 private:
  std::vector<std::string> audit(const store::LoadedRun& run);

  std::map<std::string, SeenRun> runs_;
  std::set<std::string> fresh_;  // versions that were read
};

// "ok", or what SQLite found.
std::string integrity_check(const std::string& path, const std::string& vfs = {});

}  // namespace dw::e2e
