// For tests of the whole engine: a store of their own, and ways to wait without sleeping.
#pragma once
#include <dw/workflow.hpp>

#include <gtest/gtest.h>

#include <stdlib.h>

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <stdexcept>
#include <string>

namespace dw {

using namespace std::chrono_literals;

// Long enough for the slowest machine under a sanitizer; nobody waits for it unless something
// broke.
inline constexpr auto patience = 60s;

class TempStore {
 public:
  TempStore() {
    std::string pattern = (std::filesystem::temp_directory_path() / "dw-engine-XXXXXX").string();
    EXPECT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
  }
  ~TempStore() {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }
  std::string path() const { return (directory_ / "test.db").string(); }

 private:
  std::filesystem::path directory_;
};

// Something that happens at most once and can be waited for.
class Flag {
 public:
  void set() {
    const std::lock_guard lock{mutex_};
    happened_ = true;
    changed_.notify_all();
  }
  bool wait() {
    std::unique_lock lock{mutex_};
    return changed_.wait_for(lock, patience, [&] { return happened_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool happened_ = false;
};

class Countdown {
 public:
  explicit Countdown(int count) : count_(count) {}
  void arrive() {
    const std::lock_guard lock{mutex_};
    if (--count_ <= 0) changed_.notify_all();
  }
  bool wait() {
    std::unique_lock lock{mutex_};
    return changed_.wait_for(lock, patience, [&] { return count_ <= 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int count_;
};

// A workflow that is told things and asked for things.
struct Account {
  int balance = 0;
  int handle(int goal) {
    await([&] { return balance >= goal; });
    return balance;
  }
  int deposit(int amount) {
    if (amount <= 0) throw std::invalid_argument{"a deposit is positive"};
    return balance += amount;
  }
  int current() const { return balance; }
};

}  // namespace dw
