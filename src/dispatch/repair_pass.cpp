#include "dispatch/repair_pass.hpp"

#include "dispatch/cell.hpp"

#include <map>
#include <mutex>

namespace dw::dispatch {
namespace {

constexpr std::size_t page = 500;

using engine::RepairCandidate;

// Everything that is asked for comes back on some thread of the engine, in any order.
struct Pending {
  std::mutex mutex;
  RepairReport report;        // guarded by mutex
  std::size_t under_way = 1;  // guarded by mutex; one for whoever still hands out work
  Reply<RepairReport> reply;

  template <typename F>
  void settle(F note) {
    {
      const std::lock_guard lock{mutex};
      note(report);
      if (--under_way > 0) return;
    }
    reply(std::move(report));
  }
};

bool in_scope(const RepairScope& scope, const std::string& found) {
  // "connection:queue:marker"
  const auto first = found.find(':');
  const auto second = found.find(':', first + 1);
  return (!scope.connection || *scope.connection == found.substr(0, first)) &&
         (!scope.queue || *scope.queue == found.substr(first + 1, second - first - 1));
}

// The open runs to look at, page by page.
Result<std::vector<store::RunRow>> next_runs(const RepairParts& parts, const RepairScope& scope,
                                             std::optional<RunId>& before) {
  if (!scope.run_ids.empty()) {
    std::vector<store::RunRow> rows;
    for (const RunId& run : scope.run_ids) {
      auto row = DW_TRY(parts.store.find_run(run));
      if (row && (!scope.ns || *scope.ns == row->ns)) rows.push_back(*std::move(row));
    }
    before.reset();
    return rows;
  }
  store::RunFilter filter;
  filter.open = !scope.at_most;
  filter.before = before;
  filter.limit = scope.at_most.value_or(page);
  filter.ns = scope.ns;
  if (scope.instance) {
    filter.ns = scope.instance->ns;
    filter.instance_id = scope.instance->id;
  }
  auto rows = DW_TRY(parts.store.list_runs(filter));
  before = rows.size() == filter.limit ? std::optional{rows.back().run_id} : std::nullopt;
  return rows;
}

struct Stuck {
  RunAddress address;
  Inspected seen;
};

Result<std::map<std::string, Stuck>> find_stuck(const RepairParts& parts, const RepairScope& scope,
                                                RepairReport& report) {
  std::map<std::string, Stuck> stuck;
  std::optional<RunId> before = scope.before;
  do {
    for (const store::RunRow& row : DW_TRY(next_runs(parts, scope, before))) {
      if (row.closed_at) continue;
      ++report.scanned_runs;
      auto seen = inspect(parts.store, row.run_id, parts.local, parts.clock.now());
      if (!seen) {
        report.missing_failures.push_back({row.run_id.str(), seen.error().message});
        continue;
      }
      if (!*seen || !(*seen)->misses_a_task) continue;
      if (!in_scope(scope, (*seen)->scope)) continue;
      stuck.emplace(row.run_id.str(),
                    Stuck{{{row.ns, row.instance_id}, row.run_id}, **std::move(seen)});
    }
  } while (before && !scope.at_most);
  report.next_before = before;
  return stuck;
}

// Leases that ran out and that nobody has taken over.
Result<std::map<std::string, Task>> find_expired(const RepairParts& parts,
                                                 const RepairScope& scope) {
  std::map<std::string, Task> expired;
  if (scope.at_most) return expired;
  const Timestamp now = parts.clock.now();
  std::optional<TaskKey> after;
  for (;;) {
    const auto tasks = DW_TRY(parts.store.due_tasks(after, now, page));
    for (const Task& task : tasks) {
      const bool wanted =
          (scope.run_ids.empty() || std::ranges::count(scope.run_ids, task.run_id) > 0) &&
          (!scope.ns || *scope.ns == task.ns) &&
          (!scope.instance || *scope.instance == store::InstanceKey{task.ns, task.instance_id}) &&
          (!scope.queue || *scope.queue == task.queue);
      if (wanted && task.status == TaskStatus::leased && task.lease_expires_at <= now) {
        expired.emplace(task.key.id.str(), task);
      }
    }
    if (tasks.size() < page) return expired;
    after = tasks.back().key;
  }
}

}  // namespace

void repair_pass(const RepairParts& parts, const RepairScope& scope, Reply<RepairReport> reply) {
  RepairReport report;
  auto expired = find_expired(parts, scope);
  if (!expired) return reply(expired.error());
  auto stuck = find_stuck(parts, scope, report);
  if (!stuck) return reply(stuck.error());

  const auto limit = static_cast<std::size_t>(engine::clamped(parts.policy).scan_limit);
  std::vector<RepairCandidate> tasks;
  for (const auto& [id, task] : *expired) {
    tasks.push_back({engine::repair_scope({}, task.queue, {}), task.key.available_at,
                     task.key.available_at, id});
  }
  tasks = select_fairly(std::move(tasks), limit);
  std::vector<RepairCandidate> runs;
  for (const auto& [id, run] : *stuck) {
    runs.push_back({run.seen.scope, run.seen.waiting_since, run.seen.waiting_since, id});
  }
  runs = select_fairly(std::move(runs), limit);
  report.existing_candidates = static_cast<std::int64_t>(tasks.size());
  report.missing_candidates = static_cast<std::int64_t>(runs.size());
  for (const RepairCandidate& task : tasks) {
    parts.redeliver(std::move(expired->at(task.id)));
    ++report.repaired_existing;
  }

  auto pending = std::make_shared<Pending>();
  pending->report = std::move(report);
  pending->reply = std::move(reply);
  pending->under_way += runs.size();
  for (const RepairCandidate& run : runs) {
    Stuck& found = stuck->at(run.id);
    RecoverJob job;
    job.seen = std::move(found.seen);
    job.reply = [pending, id = run.id](const Result<bool>& done) {
      pending->settle([&](RepairReport& sum) {
        if (!done) {
          sum.missing_failures.push_back({id, done.error().message});
        } else if (*done) {
          ++sum.repaired_missing;
        }
      });
    };
    parts.recover(found.address, std::move(job));
  }
  pending->settle([](RepairReport&) {});
}

}  // namespace dw::dispatch
