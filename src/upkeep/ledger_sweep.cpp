#include "upkeep/ledger_sweep.hpp"

#include "schedule/record_codec.hpp"

namespace dw::upkeep {
namespace {

using store::LedgerRow;
using store::ScheduleRow;

class LedgerSweep {
 public:
  LedgerSweep(const Tools& tools, const LedgerSweepScope& scope)
      : tools_(tools), scope_(scope), names_(tools.random, tools.now), mark_(scope.from) {}

  Result<LedgerSweepReport> run() {
    const auto rows =
        DW_TRY(tools_.store.list_schedules({.after = mark_.after, .limit = scope_.limit}));
    for (const ScheduleRow& row : rows) {
      const bool done = DW_TRY(sweep(row));
      if (!done) {
        report_.next = mark_;
        return std::move(report_);
      }
      mark_ = {store::ScheduleCursor{row.created_at, row.schedule_id, row.ulid}, {}};
    }
    if (rows.size() == scope_.limit) report_.next = mark_;
    return std::move(report_);
  }

 private:
  // False: there are more lines than one sweep looks at.
  Result<bool> sweep(const ScheduleRow& row) {
    const auto left = scope_.limit - static_cast<std::size_t>(report_.seen);
    if (left == 0) return false;
    const auto found = schedule::read_schedule(row.record);
    if (!found) return true;  // what nobody understands stays as it is
    const auto start =
        mark_.before.value_or(store::LedgerCursor{scope_.before, Timestamp::min(), 0});
    const auto lines =
        DW_TRY(tools_.store.ledger({.ulid = row.ulid, .before = start, .limit = left}));
    report_.seen += std::ssize(lines);
    std::vector<store::LedgerKey> forgotten;
    for (const LedgerRow& line : lines) {
      if (DW_TRY(may_go(*found, line))) forgotten.push_back({row.ulid, line.nominal_at, line.nth});
    }
    forget(row, std::move(forgotten));
    if (lines.size() < left) return true;
    const LedgerRow& last = lines.back();
    mark_.before = store::LedgerCursor{last.judged_at, last.nominal_at, last.nth};
    return false;
  }

  Result<bool> may_go(const schedule::Schedule& of, const LedgerRow& line) {
    // Nobody ticks or backfills what is deleted.
    if (of.status == schedule::Status::deleted) return true;
    const Timestamp last = line.until.value_or(line.nominal_at);
    if (last >= scope_.before || is_ahead(of, last)) return false;
    if (line.instance_id.empty()) return true;
    const auto instance =
        DW_TRY(tools_.store.find_instance({line.ns, InstanceId{line.instance_id}}));
    if (!instance || !instance->current_run) return true;
    return !DW_TRY(tools_.store.find_run(*instance->current_run)).has_value();
  }

  void forget(const ScheduleRow& row, std::vector<store::LedgerKey> lines) {
    if (lines.empty()) return;
    const auto count = std::ssize(lines);
    store::Transition transition;
    transition.id = CommitId{names_.ulid()};
    transition.recorded_at = tools_.now;
    transition.reads.push_back({row.ulid, row.version});
    transition.forgotten = std::move(lines);
    if (std::holds_alternative<store::Won>(tools_.commit(std::move(transition)))) {
      report_.removed += count;
    }
  }

  const Tools& tools_;
  const LedgerSweepScope& scope_;
  Names names_;
  LedgerSweepMark mark_;
  LedgerSweepReport report_;
};

}  // namespace

Result<LedgerSweepReport> sweep_ledgers(const Tools& tools, const LedgerSweepScope& scope) {
  return LedgerSweep{tools, scope}.run();
}

}  // namespace dw::upkeep
