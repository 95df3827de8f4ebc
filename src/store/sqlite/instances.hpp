// The tables `instances` and `intake`: which run an id stands for, and what was asked of it without
// becoming an event.
#pragma once
#include "store/sqlite/connection.hpp"
#include "store/store.hpp"

namespace dw::sqlite {

class InstanceWriter {
 public:
  static Result<InstanceWriter> prepare(Connection& connection);

  // Leaves `version` empty when there is no such instance.
  Outcome find_version(const store::InstanceKey& key, CommitId& version);
  Outcome put(const store::InstanceRow& row, const CommitId& version);
  Outcome append(const store::IntakeRow& row);
  Outcome find_intake(const store::IntakeRow& row, bool& found);
  // What the intake holds of that run and of no other.
  Outcome prune_intake(const store::PrunedRun& run);

 private:
  Statement find_version_;
  Statement put_;
  Statement append_;
  Statement find_intake_;
  Statement remove_intake_;
};

class InstanceReader {
 public:
  static Result<InstanceReader> prepare(Connection& connection);

  Result<std::optional<store::InstanceRow>> find(const store::InstanceKey& key);
  // Oldest first.
  Result<std::vector<store::IntakeRow>> load_intake(const store::InstanceKey& key);
  Result<std::vector<store::InstanceKey>> with_intake(
      const std::optional<store::InstanceKey>& after, std::size_t limit);

 private:
  explicit InstanceReader(Connection& connection) : connection_(&connection) {}

  Connection* connection_;
  Statement find_;
  Statement intake_;
  Statement next_intake_;
};

}  // namespace dw::sqlite
