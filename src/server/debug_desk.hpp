// What keeps a run from going on, for whoever asks: its findings, and what they were drawn from.
#pragma once
#include "server/debug_findings.hpp"

#include <dw/registry.hpp>

namespace dw::server {

struct DebugDeskParts {
  store::Store& store;
  Executor& reader;
  const Clock& clock;
  const Registry& registry;  // code in this process
  Workers& workers;
  QueryTasks& queries;
  HeldTasksOf held_tasks;  // dispatch's
  std::function<BudgetStanding(const LaneName& lane)> budgets = {};
};

class DebugDesk final : public Service {
 public:
  explicit DebugDesk(DebugDeskParts parts) : parts_(std::move(parts)) {}

  void serve(Call call, Reply reply) override;

 private:
  void look(const Call& call, const std::vector<dispatch::HeldTask>& held, Reply reply);
  Result<DebuggedRun> look_closer(const store::LoadedRun& loaded, RunId current,
                                  std::span<const dispatch::HeldTask> held) const;
  void add_queues(DebuggedRun& run, const QueueCensus& census) const;

  const DebugDeskParts parts_;
};

// ---- pure

// No row of a workflow task says who has it: what dispatch knows of that goes into the sight.
void lay_over(views::Sight& sight, std::span<const dispatch::HeldTask> held);
// {workflow_id, run_id, diagnostic_status, findings, execution, …}
Value::Map debug_view(const DebuggedRun& run);

}  // namespace dw::server
