// What upkeep works with, and runs as their histories tell them, whatever became of their rows.
#pragma once
#include "core/ulid.hpp"
#include "engine/decide.hpp"
#include "store/store.hpp"

#include <functional>

namespace dw::upkeep {

// Upkeep writes like everybody else: a decision on what was read, refused if that has changed. Who
// owns the store says how a decision gets to the thread that commits.
using Commit = std::function<store::CommitOutcome(store::Transition transition)>;

struct Tools {
  store::Store& store;
  Commit commit;
  Timestamp now;
  Random& random;
};

// Stores are read in pages of this many rows.
inline constexpr std::size_t rows_at_once = 500;

struct Failure {
  std::string id;  // of the run, or the instance
  std::string message;
};

// Names for what is written again.
class Names final : public engine::Ids {
 public:
  Names(Random& random, Timestamp now) : ulids_(random), now_(now) {}
  std::string ulid() override { return ulids_.next(now_); }
  std::string task_suffix() override { return ulid().substr(16); }

 private:
  UlidSource ulids_;
  Timestamp now_;
};

struct ToldRun {
  engine::Run run;  // its workflow task is not known: history does not name it
  std::vector<history::Event> events;
  CommitId opened_by;
  std::int64_t history_bytes = 0;
};
// Absent: there is no history of that name.
Result<std::optional<ToldRun>> told_run(store::Store& store, const RunId& run);

}  // namespace dw::upkeep
