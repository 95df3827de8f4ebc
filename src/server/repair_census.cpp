#include "server/repair_census.hpp"

#include "views/row_value.hpp"

#include <algorithm>
#include <tuple>

namespace dw::server {
namespace {

using engine::RepairCandidate;

std::int64_t how_many(const std::vector<RepairCandidate>& candidates) {
  return std::ssize(candidates);
}

std::optional<Timestamp> earliest(const std::vector<RepairCandidate>& candidates,
                                  Timestamp RepairCandidate::*when) {
  std::optional<Timestamp> first;
  for (const RepairCandidate& candidate : candidates) {
    first = std::min(first.value_or(candidate.*when), candidate.*when);
  }
  return first;
}

std::int64_t age_in_ms(const std::optional<Timestamp>& since, Timestamp now) {
  if (!since || *since >= now) return 0;
  return std::chrono::duration_cast<std::chrono::milliseconds>(now - *since).count();
}

}  // namespace

Value::Map policy_view(const engine::RepairPolicy& policy) {
  return {{"redispatch_after_seconds", policy.redispatch_after_seconds},
          {"loop_throttle_seconds", policy.loop_throttle_seconds},
          {"scan_limit", policy.scan_limit},
          {"scan_strategy", "scope_fair_round_robin"},
          {"failure_backoff_max_seconds", policy.failure_backoff_max_seconds},
          {"failure_backoff_strategy", "exponential_by_repair_count"}};
}

RepairCensus::Scope& RepairCensus::scope_of(const std::string& key, std::string_view connection,
                                            std::string_view queue, std::string_view compatibility,
                                            Timestamp since) {
  Scope& scope = scopes_[key];
  scope.connection = connection;
  scope.queue = queue;
  scope.compatibility = compatibility;
  scope.oldest = std::min(scope.oldest.value_or(since), since);
  return scope;
}

void RepairCensus::count(const engine::Task& row) {
  const bool lost = row.status == engine::TaskStatus::leased && row.lease_expires_at <= now_ &&
                    row.key.available_at <= now_;
  if (!lost) return;
  const Timestamp since = row.key.available_at;
  auto key = engine::repair_scope({}, row.queue, {});
  scope_of(key, {}, row.queue, {}, since).tasks += 1;
  tasks_.push_back({std::move(key), since, since, row.key.id.str()});
}

void RepairCensus::count_stuck(const views::Summary& run) {
  const Timestamp since = run.wait.started_at.value_or(run.started_at);
  auto key = engine::repair_scope(run.connection, run.queue, run.compatibility);
  scope_of(key, run.connection, run.queue, run.compatibility, since).runs += 1;
  runs_.push_back({std::move(key), since, run.started_at, run.id.str()});
}

Value RepairCensus::scopes() const {
  auto scopes = scopes_;
  for (const auto* candidates : {&tasks_, &runs_}) {
    for (const RepairCandidate& taken : select_fairly(*candidates, limit())) {
      scopes.at(taken.scope).selected += 1;
    }
  }
  const auto order = [](const auto* scope) {
    const auto& [key, found] = *scope;
    return std::tuple{-(found.tasks + found.runs), found.oldest, key};
  };
  std::vector<const std::pair<const std::string, Scope>*> sorted;
  for (const auto& scope : scopes) sorted.push_back(&scope);
  std::ranges::sort(sorted, {}, order);

  Value::Array listed;
  for (const auto* scope : sorted) {
    const auto& [key, found] = *scope;
    const std::int64_t total = found.tasks + found.runs;
    listed.emplace_back(Value::Map{{"scope_key", key},
                                   {"connection", views::cell(found.connection)},
                                   {"queue", views::cell(found.queue)},
                                   {"compatibility", views::cell(found.compatibility)},
                                   {"existing_task_candidates", found.tasks},
                                   {"missing_task_candidates", found.runs},
                                   {"total_candidates", total},
                                   {"selected_total_candidates", found.selected},
                                   {"scan_limited_by_global_policy", found.selected < total}});
  }
  return listed;
}

Value::Map RepairCensus::candidates() const {
  return {
      {"total_candidates", how_many(tasks_) + how_many(runs_)},
      {"existing_task_candidates", how_many(tasks_)},
      {"missing_task_candidates", how_many(runs_)},
      {"scan_pressure", tasks_.size() >= limit() || runs_.size() >= limit()},
      {"oldest_task_candidate_created_at", views::cell(earliest(tasks_, &RepairCandidate::since))},
      {"oldest_missing_run_started_at", views::cell(earliest(runs_, &RepairCandidate::started))},
      {"scopes", scopes()}};
}

Value::Map RepairCensus::metrics() const {
  const std::int64_t tasks = std::min(how_many(tasks_), policy_.scan_limit);
  const std::int64_t runs = std::min(how_many(runs_), policy_.scan_limit);
  Value::Map said = candidates();
  const Value::Map more{
      {"scan_limit", policy_.scan_limit},
      {"scan_strategy", "scope_fair_round_robin"},
      {"selected_existing_task_candidates", tasks},
      {"selected_missing_task_candidates", runs},
      {"selected_total_candidates", tasks + runs},
      {"existing_task_scan_limit_reached", tasks_.size() >= limit()},
      {"missing_task_scan_limit_reached", runs_.size() >= limit()},
      {"max_task_candidate_age_ms", age_in_ms(earliest(tasks_, &RepairCandidate::since), now_)},
      {"max_missing_run_age_ms", age_in_ms(earliest(runs_, &RepairCandidate::started), now_)}};
  said.insert(said.end(), more.begin(), more.end());
  return said;
}

}  // namespace dw::server
