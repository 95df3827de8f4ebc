#include "server/rollouts.hpp"

#include "server/addressed.hpp"
#include "views/row_value.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>

namespace dw::server {
namespace {

constexpr std::size_t longest_rollout_name = 255;

std::string queue_in_path(const Call& call) {
  return std::string{call.match["queue"]};
}

// Null stands for the workers that named no build; a name that is there and empty is a mistake.
std::string build_id_in(const Call& call, Fields& fields) {
  const bool there =
      std::ranges::any_of(call.body, [](const auto& field) { return field.first == "build_id"; });
  const Value* given = fields.field("build_id");
  if (!there) {
    fields.wrong("build_id", "is required; null means the workers that named none");
  } else if (given && given->if_string() && given->if_string()->empty()) {
    fields.wrong("build_id", "must not be empty; null means the workers that named none");
  }
  return fields.text("build_id", longest_rollout_name);
}

std::optional<Timestamp> instant_in(const Value& body, std::string_view field) {
  const Value* text = body.find(field);
  if (!text || !text->if_string()) return std::nullopt;
  const auto at = parse_timestamp(*text->if_string());
  return at ? std::optional{*at} : std::nullopt;
}

// The workers of one build on one queue, counted.
struct Crew {
  std::int64_t active = 0;
  std::int64_t draining = 0;
  std::int64_t stale = 0;
  std::set<std::string> runtimes = {};
  std::set<std::string> sdk_versions = {};
  std::map<std::string, std::set<std::string>> fingerprints = {};  // by workflow type
  std::optional<Timestamp> last_heard = {};
  std::optional<Timestamp> first_seen = {};

  std::int64_t total() const { return active + draining + stale; }

  void add(const SeenWorker& seen) {
    const Worker& worker = seen.worker;
    (seen.status == "stale" ? stale : seen.status == "draining" ? draining : active) += 1;
    runtimes.insert(worker.runtime);
    if (!worker.sdk_version.empty()) sdk_versions.insert(worker.sdk_version);
    for (const auto& [type, print] : worker.fingerprints) fingerprints[type].insert(print);
    last_heard = std::max(last_heard.value_or(worker.heard_at), worker.heard_at);
    first_seen = std::min(first_seen.value_or(worker.registered_at), worker.registered_at);
  }

  std::string_view status(bool meant_to_drain) const {
    if (active > 0) return meant_to_drain || draining > 0 ? "active_with_draining" : "active";
    if (draining > 0 || meant_to_drain) return "draining";
    return stale > 0 ? "stale_only" : "no_workers";
  }
};

int rank_of(std::string_view status) {
  constexpr std::string_view order[] = {"active", "active_with_draining", "draining", "stale_only",
                                        "no_workers"};
  return static_cast<int>(std::ranges::find(order, status) - std::begin(order));
}

// Two builds under one name: what a run replays with depends on who takes it.
Value conflicts_in(const Crew& crew) {
  Value::Array conflicts;
  for (const auto& [type, prints] : crew.fingerprints) {
    if (prints.size() < 2) continue;
    conflicts.emplace_back(Value::Map{{"workflow_type", type},
                                      {"fingerprint_count", static_cast<int>(prints.size())}});
  }
  return conflicts;
}

Value listed_names(const std::set<std::string>& names) {
  return Value::Array{names.begin(), names.end()};
}

}  // namespace

// ---- what is known

void Rollouts::restore(std::span<const store::Document> documents) {
  const std::lock_guard lock{mutex_};
  for (const store::Document& document : documents) {
    const auto body = parse_json(document.body);
    const Value* list = body ? body->find("build_ids") : nullptr;
    if (!list || !list->if_array()) {
      spdlog::warn("the rollout of a queue cannot be read; none of its builds drains: queue={}",
                   document.id);
      continue;
    }
    Cohorts& cohorts = queues_[{document.ns, document.id}];
    for (const Value& item : *list->if_array()) {
      const Value* name = item.find("build_id");
      cohorts[name && name->if_string() ? *name->if_string() : std::string{}] = {
          instant_in(item, "drained_at"), instant_in(item, "promoted_at")};
    }
    if (cohorts.empty()) queues_.erase({document.ns, document.id});
  }
}

void Rollouts::forget(const Namespace& ns) {
  const std::lock_guard lock{mutex_};
  std::erase_if(queues_, [&](const auto& known) { return known.first.first == ns; });
}

bool Rollouts::draining(const Namespace& ns, std::string_view queue,
                        std::string_view build_id) const {
  const std::lock_guard lock{mutex_};
  if (queues_.empty()) return false;
  const auto cohorts = queues_.find({ns, std::string{queue}});
  if (cohorts == queues_.end()) return false;
  const auto cohort = cohorts->second.find(build_id);
  return cohort != cohorts->second.end() && cohort->second.drained_at.has_value();
}

const std::string* Rollouts::selected(const Cohorts& cohorts) {
  const std::pair<const std::string, Cohort>* last = nullptr;
  for (const auto& cohort : cohorts) {
    if (!cohort.second.promoted_at || cohort.second.drained_at) continue;
    if (!last || *cohort.second.promoted_at > *last->second.promoted_at) last = &cohort;
  }
  return last ? &last->first : nullptr;
}

std::optional<std::string> Rollouts::promoted(const Namespace& ns, std::string_view queue) const {
  const Cohorts cohorts = cohorts_of(ns, queue);
  const std::string* build_id = selected(cohorts);
  return build_id && !build_id->empty() ? std::optional{*build_id} : std::nullopt;
}

std::vector<std::string> Rollouts::queues(const Namespace& ns) const {
  const std::lock_guard lock{mutex_};
  std::vector<std::string> names;
  for (auto at = queues_.lower_bound({ns, {}}); at != queues_.end() && at->first.first == ns;
       ++at) {
    names.push_back(at->first.second);
  }
  return names;
}

Rollouts::Cohorts Rollouts::cohorts_of(const Namespace& ns, std::string_view queue) const {
  const std::lock_guard lock{mutex_};
  const auto found = queues_.find({ns, std::string{queue}});
  return found == queues_.end() ? Cohorts{} : found->second;
}

// ---- what is said of it

Value::Map Rollouts::rollout(const Cohorts& cohorts, const std::string& build_id) {
  const auto found = cohorts.find(build_id);
  const Cohort cohort = found == cohorts.end() ? Cohort{} : found->second;
  const std::string* chosen = selected(cohorts);
  return {{"drain_intent", cohort.drained_at ? "draining" : "active"},
          {"drained_at", views::cell(cohort.drained_at)},
          {"promoted_at", views::cell(cohort.promoted_at)},
          {"new_start_selected", chosen && *chosen == build_id}};
}

Answer Rollouts::build_ids(const Call& call, std::span<const SeenWorker> workers) const {
  const std::string queue = queue_in_path(call);
  const Cohorts cohorts = cohorts_of(call.ns, queue);
  std::map<std::string, Crew> crews;
  for (const auto& [build_id, cohort] : cohorts) crews.try_emplace(build_id);
  for (const SeenWorker& seen : workers) crews[seen.worker.build_id].add(seen);

  struct Row {
    std::tuple<int, bool, Duration> order;  // what takes work first, then what was heard last
    Value::Map shown;
  };
  std::vector<Row> rows;
  for (const auto& [build_id, crew] : crews) {
    const auto known = cohorts.find(build_id);
    const bool meant_to_drain = known != cohorts.end() && known->second.drained_at;
    const std::string_view status = crew.status(meant_to_drain);
    std::int64_t prints = 0;
    for (const auto& [type, of_type] : crew.fingerprints) prints += std::ssize(of_type);
    Value::Map shown{{"build_id", views::cell(build_id)},
                     {"rollout_status", status},
                     {"active_worker_count", crew.active},
                     {"draining_worker_count", crew.draining},
                     {"stale_worker_count", crew.stale},
                     {"total_worker_count", crew.total()},
                     {"runtimes", listed_names(crew.runtimes)},
                     {"sdk_versions", listed_names(crew.sdk_versions)},
                     {"last_heartbeat_at", views::cell(crew.last_heard)},
                     {"first_seen_at", views::cell(crew.first_seen)},
                     {"workflow_definition_fingerprint_count", prints},
                     {"workflow_definition_fingerprint_conflicts", conflicts_in(crew)}};
    std::ranges::move(rollout(cohorts, build_id), std::back_inserter(shown));
    const Duration heard = crew.last_heard ? -crew.last_heard->time_since_epoch() : Duration::max();
    rows.push_back({{rank_of(status), build_id.empty(), heard}, std::move(shown)});
  }
  std::ranges::stable_sort(rows, {}, &Row::order);
  Value::Array listed;
  for (Row& row : rows) listed.emplace_back(std::move(row.shown));
  return {200,
          {{"namespace", call.ns.view()},
           {"task_queue", queue},
           {"stale_after_seconds", stale_after_seconds(Worker{}.heartbeat_seconds)},
           {"build_ids", std::move(listed)}}};
}

// ---- changes

void Rollouts::change(const Call& call, Reply reply, Change apply) {
  Fields fields{call};
  std::string build_id = build_id_in(call, fields);
  if (call.match["queue"].size() > longest_rollout_name) {
    fields.wrong("task_queue", "must be at most 255 bytes");
  }
  if (!fields.fine()) return reply(fields.errors());
  parts_.writer.post([this, call, reply = std::move(reply), apply = std::move(apply),
                      build_id = std::move(build_id)] {
    Cohorts cohorts = cohorts_of(call.ns, call.match["queue"]);
    apply(cohorts, build_id, parts_.clock.now());
    std::erase_if(cohorts, [](const auto& entry) {
      return !entry.second.drained_at && !entry.second.promoted_at;
    });
    reply(put(call, std::move(cohorts), build_id));
  });
}

std::string Rollouts::written(const Cohorts& cohorts) {
  if (cohorts.empty()) return {};
  Value::Array list;
  for (const auto& [build_id, cohort] : cohorts) {
    list.emplace_back(Value::Map{{"build_id", views::cell(build_id)},
                                 {"drained_at", views::cell(cohort.drained_at)},
                                 {"promoted_at", views::cell(cohort.promoted_at)}});
  }
  return to_json(Value::Map{{"build_ids", std::move(list)}});
}

Answer Rollouts::put(const Call& call, Cohorts cohorts, const std::string& build_id) {
  const std::string queue = queue_in_path(call);
  const auto kept =
      parts_.store.put_document({std::string{rollout_kind}, call.ns, queue, written(cohorts)});
  if (!kept) return failed(kept.error(), call);
  Answer answer{
      200,
      {{"namespace", call.ns.view()}, {"task_queue", queue}, {"build_id", views::cell(build_id)}}};
  std::ranges::move(rollout(cohorts, build_id), std::back_inserter(answer.body));
  const std::lock_guard lock{mutex_};
  if (cohorts.empty()) {
    queues_.erase({call.ns, queue});
  } else {
    queues_.insert_or_assign({call.ns, queue}, std::move(cohorts));
  }
  return answer;
}

void Rollouts::drain(const Call& call, Reply reply) {
  change(call, std::move(reply), [](Cohorts& cohorts, const std::string& build_id, Timestamp now) {
    auto& drained_at = cohorts[build_id].drained_at;
    if (!drained_at) drained_at = now;  // asked twice, it drains since the first time
  });
}

void Rollouts::resume(const Call& call, Reply reply) {
  change(call, std::move(reply), [](Cohorts& cohorts, const std::string& build_id, Timestamp) {
    cohorts[build_id].drained_at.reset();
  });
}

void Rollouts::promote(const Call& call, Reply reply) {
  change(call, std::move(reply), [](Cohorts& cohorts, const std::string& build_id, Timestamp now) {
    const std::string* chosen = selected(cohorts);
    if (chosen && *chosen == build_id) return;
    // Of two in one instant the second counts.
    for (const auto& [other, cohort] : cohorts) {
      if (cohort.promoted_at) now = std::max(now, *cohort.promoted_at + Duration{1});
    }
    cohorts[build_id] = {.drained_at = {}, .promoted_at = now};
  });
}

}  // namespace dw::server
