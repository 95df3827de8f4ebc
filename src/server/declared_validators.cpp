#include "server/declared_validators.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>

namespace dw::server {
namespace {

// Every deployment may bring a new build; runs that are pinned to an older one than these have
// long ended, or are looked after by workers that are alive.
constexpr std::size_t most_builds = 16;

bool is_among(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

std::string queue_said(std::string_view queue) {
  return std::string{queue.empty() ? "default" : queue};
}

std::vector<std::string> validators_of(const Worker& worker, const std::string& type) {
  const auto found = worker.update_validators.find(type);
  return found == worker.update_validators.end() ? std::vector<std::string>{} : found->second;
}

bool may_run(const Worker& worker, const ValidationTarget& target) {
  return target.compatibility.empty() || target.compatibility == worker.build_id;
}

bool has_type(const Worker& worker, const std::string& type) {
  return worker.takes_all() || is_among(worker.workflow_types, type);
}

std::vector<std::string> texts_in(const Value& list) {
  std::vector<std::string> texts;
  if (!list.if_array()) return texts;
  for (const Value& item : *list.if_array()) {
    if (const auto* text = item.if_string()) texts.push_back(*text);
  }
  return texts;
}

std::string text_under(const Value& object, std::string_view key) {
  const Value* found = object.find(key);
  return found && found->if_string() ? *found->if_string() : std::string{};
}

}  // namespace

std::string validator_key(std::string_view workflow_type, std::string_view update_name) {
  return fmt::format("{}\n{}", workflow_type, update_name);
}

Poll validation_poll_of(const Worker& worker) {
  Poll poll = poll_of(worker, WorkKind::update_validation);
  poll.any_type = false;
  poll.types.clear();
  if (!is_among(worker.capabilities, update_validation_capability)) return poll;
  for (const auto& [type, names] : worker.update_validators) {
    if (!has_type(worker, type)) continue;
    for (const std::string& name : names) poll.types.insert(validator_key(type, name));
  }
  return poll;
}

store::Document DeclaredValidators::document_of(const Key& key, const Builds& builds) {
  const auto& [ns, queue, type] = key;
  Value::Array listed;
  for (const Build& build : builds) {
    listed.emplace_back(Value::Map{
        {"build_id", build.build_id},
        {"update_validators", Value::Array{build.validators.begin(), build.validators.end()}}});
  }
  return {std::string{update_validators_kind}, ns, validator_key(queue, type),
          to_json(Value::Map{
              {"task_queue", queue}, {"workflow_type", type}, {"builds", std::move(listed)}})};
}

void DeclaredValidators::remember(const Key& key, Builds builds) {
  for (const Build& build : builds) {
    for (const std::string& name : build.validators) names_.emplace(std::get<Namespace>(key), name);
  }
  builds_.insert_or_assign(key, std::move(builds));
}

void DeclaredValidators::restore(std::span<const store::Document> documents) {
  const std::lock_guard lock{mutex_};
  for (const store::Document& document : documents) {
    const auto body = parse_json(document.body);
    const Value* listed = body ? body->find("builds") : nullptr;
    if (!listed || !listed->if_array() || listed->if_array()->empty()) {
      spdlog::warn("validators of a workflow type cannot be read and are left out: {}",
                   document.id);
      continue;
    }
    Builds builds;
    for (const Value& build : *listed->if_array()) {
      const Value* names = build.find("update_validators");
      builds.push_back({text_under(build, "build_id"), texts_in(names ? *names : Value{})});
    }
    remember({document.ns, text_under(*body, "task_queue"), text_under(*body, "workflow_type")},
             std::move(builds));
  }
}

void DeclaredValidators::forget(const Namespace& ns) {
  const std::lock_guard lock{mutex_};
  std::erase_if(builds_, [&](const auto& known) { return std::get<Namespace>(known.first) == ns; });
  std::erase_if(names_, [&](const auto& name) { return name.first == ns; });
}

std::vector<store::Document> DeclaredValidators::note(const Worker& worker) {
  std::vector<store::Document> changed;
  const std::lock_guard lock{mutex_};
  for (const auto& [type, declared] : worker.declarations) {
    const Key key{worker.ns, queue_said(worker.queue), type};
    const auto known = builds_.find(key);
    Build said{worker.build_id, validators_of(worker, type)};
    // Most types have none, and of those nothing need be kept.
    if (known == builds_.end() && said.validators.empty()) continue;
    Builds builds = known == builds_.end() ? Builds{} : known->second;
    std::erase_if(builds, [&](const Build& build) { return build.build_id == said.build_id; });
    builds.push_back(std::move(said));
    if (builds.size() > most_builds) builds.erase(builds.begin());
    if (known != builds_.end() && builds == known->second) continue;
    changed.push_back(document_of(key, builds));
    remember(key, std::move(builds));
  }
  return changed;
}

bool DeclaredValidators::anywhere(const Namespace& ns, const std::string& update_name) const {
  const std::lock_guard lock{mutex_};
  return names_.contains({ns, update_name});
}

bool DeclaredValidators::recorded(const ValidationTarget& target) const {
  const std::lock_guard lock{mutex_};
  const auto known = builds_.find(Key{target.ns, queue_said(target.queue), target.workflow_type});
  if (known == builds_.end()) return false;
  const Builds& builds = known->second;
  const auto build = target.compatibility.empty()
                         ? std::prev(builds.end())
                         : std::ranges::find(builds, target.compatibility, &Build::build_id);
  return build != builds.end() && is_among(build->validators, target.update_name);
}

bool DeclaredValidators::required(const ValidationTarget& target) const {
  bool somebody_knows = false;
  for (const SeenWorker& seen : workers_.seen(target.ns, queue_said(target.queue))) {
    const Worker& worker = seen.worker;
    if (seen.status == "stale" || !may_run(worker, target)) continue;
    if (!worker.declarations.contains(target.workflow_type)) continue;
    if (is_among(validators_of(worker, target.workflow_type), target.update_name)) return true;
    somebody_knows = true;
  }
  return !somebody_knows && recorded(target);
}

std::optional<ValidationRefusal> DeclaredValidators::refusal_of(
    const ValidationTarget& target) const {
  const std::string queue = queue_said(target.queue);
  bool alive = false, capable = false, described = false;
  for (const SeenWorker& seen : workers_.seen(target.ns, queue)) {
    const Worker& worker = seen.worker;
    if (seen.status != "active" || !has_type(worker, target.workflow_type)) continue;
    alive = true;
    if (!is_among(worker.capabilities, update_validation_capability)) continue;
    capable = true;
    if (!worker.declarations.contains(target.workflow_type)) continue;
    described = true;
    const auto names = validators_of(worker, target.workflow_type);
    if (may_run(worker, target) && is_among(names, target.update_name)) return std::nullopt;
  }
  const auto because = [&](std::string_view reason, std::string_view text, bool retryable) {
    return ValidationRefusal{
        .reason = std::string{reason},
        .message = fmt::format("update '{}' of workflow type '{}' has a validator, and {} queue "
                               "'{}' {}",
                               target.update_name, target.workflow_type,
                               alive ? "no worker of" : "no live worker of", queue, text),
        .retryable = retryable};
  };
  if (!alive) {
    return because("update_validator_worker_unavailable",
                   "has that type; start one, then send the update again", true);
  }
  if (!capable) {
    return because("update_validation_capability_unsupported",
                   "registered with the capability update_validation_tasks", false);
  }
  if (!described) {
    return because("update_validator_contract_missing",
                   "says in its registration whether it has that validator", false);
  }
  return because("update_validator_worker_incompatible",
                 "has that validator in the build that runs this workflow", false);
}

}  // namespace dw::server
