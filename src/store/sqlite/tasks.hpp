// The table `tasks`: open work in the order it is due.
#pragma once
#include "store/sqlite/connection.hpp"
#include "store/store.hpp"

namespace dw::sqlite {

class TaskWriter {
 public:
  static Result<TaskWriter> prepare(Connection& connection);

  Outcome put(const store::Task& task);
  Outcome remove(const store::TaskKey& key);
  // Whether the table looks as if `change` had been made.
  Outcome find_effect(const store::TaskChange& change, bool& found);

 private:
  Statement put_;
  Statement remove_;
  Statement find_;
};

class TaskReader {
 public:
  static Result<TaskReader> prepare(Connection& connection);

  Result<std::vector<store::Task>> due(const std::optional<store::TaskKey>& after, Timestamp until,
                                       std::size_t limit);
  Result<std::vector<store::Task>> find(std::span<const store::TaskKey> keys);

 private:
  explicit TaskReader(Connection& connection) : connection_(&connection) {}

  Connection* connection_;
  Statement due_;
  Statement find_;
};

}  // namespace dw::sqlite
