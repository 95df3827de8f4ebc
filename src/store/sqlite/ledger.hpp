// The table `schedule_ledger`: how each occurrence of a schedule was judged.
#pragma once
#include "store/sqlite/connection.hpp"
#include "store/store.hpp"

namespace dw::sqlite {

class LedgerWriter {
 public:
  static Result<LedgerWriter> prepare(Connection& connection);

  // Replaces what has the same key.
  Outcome put(const store::LedgerRow& line);
  // Whether the table looks as if `line` had been put.
  Outcome find_effect(const store::LedgerRow& line, bool& found);
  Outcome remove(const ScheduleUlid& ulid);
  Outcome forget(const store::LedgerKey& line);
  Outcome find_forgotten(const store::LedgerKey& line, bool& gone);

 private:
  Statement put_;
  Statement find_;
  Statement remove_;
  Statement forget_;
};

class LedgerReader {
 public:
  static Result<LedgerReader> prepare(Connection& connection);

  Result<std::vector<store::LedgerRow>> list(const store::LedgerFilter& filter);
  Result<std::optional<store::LedgerRow>> find(const ScheduleUlid& ulid, Timestamp nominal_at,
                                               std::int64_t nth);
  Result<std::vector<store::LedgerRow>> between(const ScheduleUlid& ulid, Timestamp from,
                                                Timestamp to, std::size_t limit);
  Result<std::vector<store::LedgerRow>> open(const ScheduleUlid& ulid, std::size_t limit);

 private:
  explicit LedgerReader(Connection& connection) : connection_(&connection) {}

  Connection* connection_;
  Statement list_;
  Statement find_;
  Statement between_;
  Statement open_;
};

}  // namespace dw::sqlite
