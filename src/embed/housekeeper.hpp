// The engine's upkeep: passes somebody asks for, and the one it makes by itself.
#pragma once
#include "core/clock.hpp"
#include "core/executor.hpp"
#include "core/random.hpp"
#include "upkeep/ledger_sweep.hpp"
#include "upkeep/rebuild.hpp"
#include "upkeep/retention.hpp"

#include <dw/upkeep.hpp>

namespace dw::detail {

struct HousekeeperParts {
  store::Store& store;
  const Clock& clock;
  Executor& writer;  // the thread that commits
  Executor& reader;
  Executor& time;
  std::chrono::days retention;         // of runs; 0: none goes by itself
  std::chrono::days ledger_retention;  // of what schedules' ledgers say; 0: likewise
};

class Housekeeper {
 public:
  explicit Housekeeper(const HousekeeperParts& parts);

  // Lets go of these every hour, from a minute after now on.
  using Scopes = std::function<std::vector<upkeep::RetentionScope>(Timestamp now)>;
  void prune_by_itself(Scopes scopes);

  // Any thread may call these; they wait for the thread that commits.
  Result<RetentionReport> retention_pass(const RetentionPass& pass);
  Result<upkeep::RetentionReport> let_go(const upkeep::RetentionScope& scope);
  Result<RebuildReport> rebuild(const RebuildProjections& options);
  // One step of it; the engine goes on by itself.
  Result<upkeep::LedgerSweepReport> sweep_ledgers(const upkeep::LedgerSweepScope& scope);

 private:
  struct Round;
  void pass_at(Timestamp at, Scopes scopes);
  void look_at_next(std::shared_ptr<Round> round);
  bool prune(const upkeep::RetentionScope& scope);
  void sweep_at(Timestamp at, upkeep::LedgerSweepMark from);
  void sweep(const upkeep::LedgerSweepMark& from);
  upkeep::Tools tools(Random& random);

  const HousekeeperParts parts_;
};

}  // namespace dw::detail
