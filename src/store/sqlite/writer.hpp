// The one connection that writes, and every statement it uses.
#pragma once
#include "store/sqlite/documents.hpp"
#include "store/sqlite/instances.hpp"
#include "store/sqlite/ledger.hpp"
#include "store/sqlite/runs.hpp"
#include "store/sqlite/schedules.hpp"
#include "store/sqlite/sqlite_store.hpp"
#include "store/sqlite/tasks.hpp"
#include "store/sqlite/workers.hpp"
#include "store/winners.hpp"

#include <memory>
#include <span>
#include <string>

namespace dw::sqlite {

struct Writer {
  // Creates the file or migrates it first.
  static Result<std::unique_ptr<Writer>> open(const Location& location,
                                              const SqliteOptions& options);

  // Within a transaction, which its caller begins and ends.
  Outcome read_versions(std::span<store::StreamVersion> versions);
  Outcome write(const store::Transition& winner);
  Outcome put_worker(const std::string& worker_id, std::span<const store::WorkerHeartbeat> rows,
                     Timestamp now);

  // Whether a batch that was judged like this is in the file.
  Result<bool> is_durable(std::span<const store::Transition> batch,
                          std::span<const store::CommitOutcome> judged);

  Connection connection;
  Statement begin;
  Statement commit;
  Statement rollback;
  RunWriter runs;
  InstanceWriter instances;
  TaskWriter tasks;
  WorkerWriter workers;
  DocumentWriter documents;
  ScheduleWriter schedules;
  LedgerWriter ledger;

 private:
  Outcome read_version(store::StreamVersion& stream);
  Outcome write_run(const store::Transition& winner, const store::RunRow& run);
  Outcome write_schedules(const store::Transition& winner);
  Outcome write_schedule(const store::ScheduleRow& row, const CommitId& version);
  Outcome purge(const store::PurgedSchedule& purged);
  Outcome find_trace(const store::Transition& winner, std::optional<bool>& found);
  Outcome find_schedule_trace(const store::Transition& winner, std::optional<bool>& found);
};

}  // namespace dw::sqlite
