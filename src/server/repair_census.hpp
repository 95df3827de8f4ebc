// What a repair pass would see to, counted: tasks whose lease ran out, and runs that miss a task.
// Pure.
#pragma once
#include "engine/repair_policy.hpp"
#include "engine/tasks.hpp"
#include "views/summary.hpp"

#include <map>

namespace dw::server {

// {redispatch_after_seconds, …}: how passes go about it.
Value::Map policy_view(const engine::RepairPolicy& policy);

class RepairCensus {
 public:
  RepairCensus(engine::RepairPolicy policy, Timestamp now)
      : policy_(engine::clamped(policy)), now_(now) {}

  // A row of the task table; most are none of its business.
  void count(const engine::Task& row);
  // A run that misses a task.
  void count_stuck(const views::Summary& run);

  // {total_candidates, …, scopes}
  Value::Map candidates() const;
  // The same, with what the next pass would take on.
  Value::Map metrics() const;
  bool any() const { return !tasks_.empty() || !runs_.empty(); }

 private:
  struct Scope {
    std::string connection = {};
    std::string queue = {};
    std::string compatibility = {};
    std::int64_t tasks = 0;
    std::int64_t runs = 0;
    std::int64_t selected = 0;
    std::optional<Timestamp> oldest = {};
  };
  Scope& scope_of(const std::string& key, std::string_view connection, std::string_view queue,
                  std::string_view compatibility, Timestamp since);
  std::size_t limit() const { return static_cast<std::size_t>(policy_.scan_limit); }
  Value scopes() const;

  const engine::RepairPolicy policy_;
  const Timestamp now_;
  std::vector<engine::RepairCandidate> tasks_;
  std::vector<engine::RepairCandidate> runs_;
  std::map<std::string, Scope> scopes_;
};

}  // namespace dw::server
