// The table `worker_heartbeats`: who is alive, and whose runs it takes.
#pragma once
#include "store/sqlite/connection.hpp"
#include "store/store.hpp"

namespace dw::sqlite {

class WorkerWriter {
 public:
  static Result<WorkerWriter> prepare(Connection& connection);

  // The worker's rows, and those that have expired by `now`.
  Outcome remove(std::string_view worker_id, Timestamp now);
  Outcome put(const store::WorkerHeartbeat& row);

 private:
  Statement remove_;
  Statement put_;
};

class WorkerReader {
 public:
  static Result<WorkerReader> prepare(Connection& connection);

  Result<std::vector<store::WorkerHeartbeat>> live(Timestamp now);

 private:
  explicit WorkerReader(Connection& connection) : connection_(&connection) {}

  Connection* connection_;
  Statement live_;
};

}  // namespace dw::sqlite
