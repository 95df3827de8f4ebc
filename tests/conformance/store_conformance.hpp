// What every store is tested with: the backends there are, and short names for the transitions that
// the tests tell their stories in.
#pragma once
#include "store/store.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace dw::conformance {

struct Backend {
  std::string name;
  bool persists;  // a store opened again in the same directory has what was committed
  std::function<std::unique_ptr<store::Store>(const std::filesystem::path& directory)> open;
};

std::vector<Backend> all_backends();
std::ostream& operator<<(std::ostream& out, const Backend& backend);

// A directory of its own, gone with the test.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// ---- transitions

Timestamp at(std::int64_t seconds);

// Run "r1" of instance "i-r1" in namespace "default", as it stands after its first commit.
store::RunRow run_row(std::string_view run);
store::InstanceRow instance_row(const store::RunRow& run);
store::Task task(std::string_view run, std::string_view suffix, Timestamp available_at);
store::StreamRead read_run(std::string_view run, std::string_view seen);

// Opens the run and its instance, neither of which may exist.
store::Transition start(std::string_view commit, const store::RunRow& run);
// Appends one event to a run last seen at commit `seen`.
store::Transition step(std::string_view commit, const store::RunRow& run, std::string_view seen,
                       std::int64_t sequence);
// Touches nothing but tasks.
store::Transition tasks_only(std::string_view commit, std::vector<store::TaskChange> changes);

inline auto won() {
  return ::testing::VariantWith<store::Won>(::testing::_);
}
inline auto lost(store::StreamKey stream, std::string_view found) {
  return ::testing::VariantWith<store::Lost>(
      store::Lost{std::move(stream), CommitId{std::string{found}}});
}

// One test on one backend, in a directory of its own.
class OnEachBackend : public ::testing::TestWithParam<Backend> {
 protected:
  void SetUp() override { store_ = GetParam().open(directory_.path()); }

  store::Store& store() { return *store_; }
  void reopen() {
    store_.reset();
    store_ = GetParam().open(directory_.path());
  }

  std::vector<store::CommitOutcome> commit(std::vector<store::Transition> batch) {
    return store_->commit(batch);
  }
  void must_win(store::Transition transition) {
    ASSERT_THAT(commit({std::move(transition)}), ::testing::ElementsAre(won()));
  }

 private:
  TemporaryDirectory directory_;
  std::unique_ptr<store::Store> store_;
};

}  // namespace dw::conformance
