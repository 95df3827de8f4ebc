#include "server/workers.hpp"

#include "engine/contract.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <tuple>

namespace dw::server {
namespace {

constexpr std::size_t longest_worker_field = 255;
constexpr std::int64_t most_tasks_at_once = 1'000'000;
// Every restart of a worker may bring a new id; without an end the old ones would pile up.
constexpr auto forgotten_after = std::chrono::hours{24};

bool is_stale(const Worker& worker, Timestamp now) {
  return now - worker.heard_at >=
         std::chrono::seconds{stale_after_seconds(worker.heartbeat_seconds)};
}

// ---- lists and objects in a request

// The strings of a list; what is none is wrong under its own index.
std::vector<std::string> names_in(Fields& fields, std::string_view name) {
  std::vector<std::string> names;
  const Value* list = fields.field(name);
  if (!list) return names;
  if (!list->if_array()) return fields.wrong(name, "must be a list of strings"), names;
  for (const Value& item : *list->if_array()) {
    const auto* text = item.if_string();
    if (!text || text->empty() || text->size() > longest_worker_field) {
      const auto index = &item - list->if_array()->data();
      fields.wrong(fmt::format("{}.{}", name, index), "must be a string of 1 to 255 bytes");
    } else {
      names.push_back(*text);
    }
  }
  return names;
}

// The entries of an object; null when it is something else. An empty list is how some clients write
// an empty object.
const Value::Map* entries_of(Fields& fields, std::string_view name, const Value& value) {
  static const Value::Map none;
  if (value == Value{Value::Array{}}) return &none;
  if (!value.if_map()) fields.wrong(name, "must be an object");
  return value.if_map();
}

// Reads an object within another; what is wrong with its fields is said under its path.
template <typename Read>
void read_within(Fields& fields, const std::string& name, const Value& value, Read read) {
  const auto* entries = entries_of(fields, name, value);
  if (!entries) return;
  Fields inner{*entries, fields.path_of(name)};
  read(inner);
  fields.also_wrong(inner.take_errors());
}

// Reads an object by its entries, whatever they are called; what is null counts as absent.
template <typename Read>
void read_entries(Fields& fields, std::string_view name, Read read) {
  const Value* value = fields.field(name);
  const auto* entries = value ? entries_of(fields, name, *value) : nullptr;
  if (!entries) return;
  for (const auto& [key, entry] : *entries) {
    if (!entry.is_null()) read(key, fmt::format("{}.{}", name, key), entry);
  }
}

template <typename Read>
void read_each(Fields& fields, std::string_view name, Read read) {
  const Value* list = fields.field(name);
  if (!list) return;
  if (!list->if_array()) return fields.wrong(name, "must be a list of objects");
  std::size_t index = 0;
  for (const Value& item : *list->if_array()) {
    read_within(fields, fmt::format("{}.{}", name, index++), item, read);
  }
}

// ---- what a workflow type declares

Parameter parameter_in(Fields& fields) {
  Parameter parameter;
  parameter.name = fields.required_text("name", longest_worker_field);
  // Null where the author's language knows no type.
  if (auto type = fields.text("type", longest_worker_field); !type.empty()) {
    parameter.type = std::move(type);
  }
  parameter.variadic = fields.flag("variadic");
  parameter.allows_null = fields.flag("allows_null");
  // One that may be left out, though it has no default, is passed as null.
  const bool optional = !fields.flag("required") && fields.field("required");
  if (fields.flag("default_available") || (optional && !parameter.variadic)) {
    const Value* value = fields.field("default");
    parameter.default_value = value ? *value : Value{};
  }
  return parameter;
}

std::optional<std::vector<Parameter>> parameters_in(Fields& fields) {
  if (!fields.field("parameters")) return std::nullopt;
  std::vector<std::pair<std::int64_t, Parameter>> placed;
  read_each(fields, "parameters", [&](Fields& parameter) {
    const auto index = static_cast<std::int64_t>(placed.size());
    const auto position = parameter.whole("position", 0, INT64_MAX);
    placed.emplace_back(position.value_or(index), parameter_in(parameter));
  });
  std::ranges::stable_sort(placed, {}, &std::pair<std::int64_t, Parameter>::first);
  std::vector<Parameter> parameters;
  for (auto& [position, parameter] : placed) parameters.push_back(std::move(parameter));
  return parameters;
}

// Everything that is named, with its parameters where those are declared too.
std::vector<Contract> contracts_in(Fields& fields, std::string_view names,
                                   std::string_view contracts) {
  std::vector<Contract> declared;
  std::map<std::string, std::size_t> known;
  const auto called = [&](const std::string& name) -> Contract& {
    const auto [place, is_new] = known.try_emplace(name, declared.size());
    return is_new ? declared.emplace_back(Contract{name, {}}) : declared[place->second];
  };
  for (const std::string& name : names_in(fields, names)) called(name);
  read_each(fields, contracts, [&](Fields& contract) {
    const auto name = contract.required_text("name", longest_worker_field);
    called(name).parameters = parameters_in(contract);
  });
  return declared;
}

void read_contracts(Fields& fields, Worker& worker) {
  const auto read = [&](const std::string& type, const std::string& path, const Value& entry) {
    read_within(fields, path, entry, [&](Fields& one) {
      Declarations declared{.queries = contracts_in(one, "queries", "query_contracts"),
                            .signals = contracts_in(one, "signals", "signal_contracts"),
                            .updates = contracts_in(one, "updates", "update_contracts")};
      // The Rust SDK always sends an empty list: its code waits for signals by name.
      if (worker.runtime == "rust" && declared.signals.empty()) {
        declared.signals.push_back({std::string{engine::any_signal}, {}});
      }
      worker.declarations[type] = std::move(declared);
      auto validators = names_in(one, "update_validators");
      if (!validators.empty()) worker.update_validators[type] = std::move(validators);
    });
  };
  read_entries(fields, "workflow_command_contracts", read);
}

// ---- what a worker tells of itself

void read_fingerprints(Fields& fields, Worker& worker) {
  const auto read = [&](const std::string& type, const std::string& path, const Value& entry) {
    if (!entry.if_string()) return fields.wrong(path, "must be a string");
    worker.fingerprints[type] = *entry.if_string();
  };
  read_entries(fields, "workflow_definition_fingerprints", read);
}

// In registrations and heartbeats alike; what is left out stays as it was.
void read_vitals(Fields& fields, Worker& worker) {
  if (const Value* given = fields.field("task_slots")) {
    read_within(fields, "task_slots", *given, [&](Fields& inner) {
      Value::Map slots;
      const auto read = [&](std::string_view kind, std::int64_t most) {
        const auto free = inner.whole(kind, INT64_MIN, INT64_MAX);
        // Nobody has more slots free than it has.
        if (free) slots.emplace_back(kind, std::clamp<std::int64_t>(*free, 0, most));
      };
      read("workflow_available", worker.max_workflow_tasks);
      read("activity_available", worker.max_activity_tasks);
      read("session_available", INT64_MAX);
      worker.task_slots = std::move(slots);
    });
  }
  if (auto metrics = fields.object("process_metrics")) worker.process_metrics = std::move(metrics);
  worker.heartbeat_seconds =
      fields.whole("heartbeat_interval_seconds", 1, 3600).value_or(worker.heartbeat_seconds);
}

Worker worker_in(const Call& call, Fields& fields) {
  Worker worker;
  worker.ns = call.ns;
  worker.worker_id = fields.text("worker_id", longest_worker_field);
  worker.queue = fields.required_text("task_queue", longest_worker_field);
  worker.runtime = fields.required_text("runtime", 64);
  worker.sdk_version = fields.text("sdk_version", 64);
  worker.build_id = fields.text("build_id", longest_worker_field);
  worker.workflow_types = names_in(fields, "supported_workflow_types");
  worker.activity_types = names_in(fields, "supported_activity_types");
  read_fingerprints(fields, worker);
  read_contracts(fields, worker);
  worker.capabilities = names_in(fields, "capabilities");
  worker.max_workflow_tasks = fields.whole("max_concurrent_workflow_tasks", 1, most_tasks_at_once)
                                  .value_or(worker.max_workflow_tasks);
  worker.max_activity_tasks = fields.whole("max_concurrent_activity_tasks", 1, most_tasks_at_once)
                                  .value_or(worker.max_activity_tasks);
  read_vitals(fields, worker);
  return worker;
}

// ---- what is said about a worker

Value::Array name_values(const std::vector<std::string>& names) {
  return {names.begin(), names.end()};
}

Value::Map worker_view(const Worker& worker, std::string_view status) {
  const auto or_null = [](const std::string& text) { return text.empty() ? Value{} : Value{text}; };
  const auto heard_at = format_timestamp(worker.heard_at);
  return {{"worker_id", worker.worker_id},
          {"namespace", worker.ns.str()},
          {"task_queue", worker.queue},
          {"runtime", worker.runtime},
          {"sdk_version", or_null(worker.sdk_version)},
          {"build_id", or_null(worker.build_id)},
          {"status", status},
          {"supported_workflow_types", name_values(worker.workflow_types)},
          {"supported_activity_types", name_values(worker.activity_types)},
          {"capabilities", name_values(worker.capabilities)},
          {"max_concurrent_workflow_tasks", worker.max_workflow_tasks},
          {"max_concurrent_activity_tasks", worker.max_activity_tasks},
          {"task_slots", worker.task_slots.value_or(Value::Map{})},
          {"process_metrics", worker.process_metrics.value_or(Value::Map{})},
          {"heartbeat_interval_seconds", worker.heartbeat_seconds},
          {"last_heartbeat_at", heard_at},
          {"registered_at", format_timestamp(worker.registered_at)},
          {"updated_at", heard_at}};
}

Answer absent_worker(int status, std::string_view reason, const Call& call, std::string_view id,
                     std::string_view advice) {
  return refusal(status, reason,
                 fmt::format("worker '{}' is not registered in namespace '{}'; {}", id,
                             call.ns.view(), advice),
                 {{"worker_id", id}});
}

Answer definition_changed(const Worker& worker, const std::string& type) {
  constexpr std::string_view remedy =
      "deregister the worker first, or register the changed code under another worker_id";
  return refusal(
      409, "workflow_definition_changed",
      fmt::format("worker '{}' is active with another definition of workflow type '{}'; {}",
                  worker.worker_id, type, remedy),
      {{"worker_id", worker.worker_id}, {"workflow_type", type}, {"remediation", remedy}});
}

Answer mismatch(std::string_view field, const std::string& id, const std::string& registered,
                const std::string& requested) {
  return refusal(
      409, fmt::format("{}_mismatch", field),
      fmt::format("worker '{}' is registered with {} '{}' and polls with '{}'; poll with "
                  "the former, or register it again",
                  id, field, registered, requested),
      {{"worker_id", id},
       {fmt::format("registered_{}", field), registered},
       {fmt::format("requested_{}", field), requested}});
}

// A type that the worker advertised before, in another form.
const std::string* changed_type(const Worker& before, const Worker& after) {
  for (const auto& [type, fingerprint] : after.fingerprints) {
    const auto known = before.fingerprints.find(type);
    if (known != before.fingerprints.end() && known->second != fingerprint) return &type;
  }
  return nullptr;
}

// Those of a namespace, on that queue or on any.
template <typename Visit>
void visit_workers(const std::map<std::pair<Namespace, std::string>, Worker>& workers,
                   const Namespace& ns, std::string_view queue, Visit visit) {
  for (auto at = workers.lower_bound({ns, {}}); at != workers.end(); ++at) {
    if (at->first.first != ns) return;
    if (queue.empty() || at->second.queue == queue) visit(at->second);
  }
}

std::string_view named_queue(std::string_view queue) {
  return queue.empty() ? "default" : queue;
}

}  // namespace

Poll poll_of(const Worker& worker, WorkKind kind) {
  Poll poll;
  poll.ns = worker.ns;
  poll.queue = worker.queue;
  poll.kind = kind;
  poll.worker_id = worker.worker_id;
  poll.build_id = worker.build_id;
  poll.any_type = worker.takes_all();
  const auto& types = kind == WorkKind::activity ? worker.activity_types : worker.workflow_types;
  poll.types = {types.begin(), types.end()};
  return poll;
}

std::int64_t stale_after_seconds(std::int64_t heartbeat_seconds) {
  return std::max<std::int64_t>(60, 3 * heartbeat_seconds);
}

Answer while_draining() {
  return refusal(409, "worker_draining",
                 "the worker's build is draining and gets nothing new; stop the worker when it is "
                 "done, or resume the build",
                 {{"task", Value{}},
                  {"poll_status", "draining"},
                  {"worker_status", "draining"},
                  {"drain_intent", "draining"}});
}

std::string_view Workers::status_of(const Worker& worker, Timestamp now) const {
  return is_stale(worker, now) ? "stale" : draining(worker) ? "draining" : "active";
}

// ---- the worker plane

void Workers::restore(std::span<const store::Document> registrations) {
  for (const store::Document& document : registrations) {
    auto body = parse_json(document.body);
    Call call;
    call.ns = document.ns;
    if (body && body->if_map()) call.body = std::move(*body->if_map());
    if (register_worker(call, document.id).status >= 300) {
      spdlog::warn("a registration cannot be read and is left out: worker={}", document.id);
    }
  }
}

std::vector<store::Document> Workers::take_forgotten() {
  const std::lock_guard lock{mutex_};
  return std::exchange(forgotten_, {});
}

void Workers::forget(const Namespace& ns) {
  const std::lock_guard lock{mutex_};
  std::erase_if(workers_, [&](const auto& known) { return known.first.first == ns; });
}

Answer Workers::register_worker(const Call& call, std::string fresh_id) {
  Fields fields{call};
  Worker worker = worker_in(call, fields);
  if (!fields.fine()) return fields.errors();
  if (worker.worker_id.empty()) worker.worker_id = std::move(fresh_id);
  const Timestamp now = clock_.now();
  worker.registered_at = worker.heard_at = now;
  const std::pair key{worker.ns, worker.worker_id};

  const std::lock_guard lock{mutex_};
  std::erase_if(workers_, [&](const auto& known) {
    const bool forgotten = now - known.second.heard_at >= forgotten_after;
    if (forgotten) {
      forgotten_.push_back(
          {std::string{registration_kind}, known.first.first, known.first.second, {}});
    }
    return forgotten;
  });
  const auto before = workers_.find(key);
  if (before != workers_.end() && !is_stale(before->second, now)) {
    const auto* type = changed_type(before->second, worker);
    if (type) return definition_changed(worker, *type);
  }
  Answer answer{201,
                {{"worker_id", worker.worker_id},
                 {"registered", true},
                 {"status", draining(worker) ? "draining" : "active"},
                 {"task_queue", worker.queue},
                 {"runtime", worker.runtime},
                 {"heartbeat_interval_seconds", worker.heartbeat_seconds},
                 {"stale_after_seconds", stale_after_seconds(worker.heartbeat_seconds)}}};
  workers_.insert_or_assign(key, std::move(worker));
  return answer;
}

Answer Workers::heartbeat(const Call& call) {
  Fields fields{call};
  const auto id = fields.required_text("worker_id", longest_worker_field);

  const std::lock_guard lock{mutex_};
  const auto found = workers_.find({call.ns, id});
  Worker worker = found == workers_.end() ? Worker{} : found->second;
  read_vitals(fields, worker);
  if (!fields.fine()) return fields.errors();
  if (found == workers_.end()) {
    return absent_worker(404, "worker_not_registered", call, id,
                         "register it with POST /api/worker/register, then go on");
  }
  worker.heard_at = clock_.now();
  found->second = worker;
  return {200,
          {{"worker_id", worker.worker_id},
           {"acknowledged", true},
           {"status", draining(worker) ? "draining" : "active"},
           {"heartbeat_interval_seconds", worker.heartbeat_seconds},
           {"stale_after_seconds", stale_after_seconds(worker.heartbeat_seconds)}}};
}

std::variant<Worker, Answer> Workers::admit(const Call& call) {
  auto who = recognise(call);
  const auto* worker = std::get_if<Worker>(&who);
  if (worker && draining(*worker)) return while_draining();
  return who;
}

std::variant<Worker, Answer> Workers::recognise(const Call& call) {
  Fields fields{call};
  const auto id = fields.required_text("worker_id", longest_worker_field);
  const auto queue = fields.required_text("task_queue", longest_worker_field);
  const auto build_id = fields.text("build_id", longest_worker_field);
  if (!fields.fine()) return fields.errors();

  const std::lock_guard lock{mutex_};
  const auto found = workers_.find({call.ns, id});
  if (found == workers_.end()) {
    return absent_worker(412, "worker_not_registered", call, id,
                         "register it with POST /api/worker/register, then poll again");
  }
  Worker& worker = found->second;
  if (queue != worker.queue) return mismatch("task_queue", id, worker.queue, queue);
  if (!build_id.empty() && !worker.build_id.empty() && build_id != worker.build_id) {
    return mismatch("build_id", id, worker.build_id, build_id);
  }
  worker.heard_at = clock_.now();
  return worker;
}

// ---- the control plane

Answer Workers::list(const Call& call) const {
  const auto queue = call.parameter("task_queue").value_or("");
  const auto status = call.parameter("status").value_or("");
  if (!status.empty() && status != "active" && status != "stale" && status != "draining") {
    return invalid({{"status", Value::Array{"must be one of active, stale, draining"}}});
  }
  const Timestamp now = clock_.now();
  Value::Array listed;
  const std::lock_guard lock{mutex_};
  visit_workers(workers_, call.ns, queue, [&](const Worker& worker) {
    const auto found = status_of(worker, now);
    if (status.empty() || status == found) listed.emplace_back(worker_view(worker, found));
  });
  return {200,
          {{"namespace", call.ns.str()},
           {"workers", std::move(listed)},
           {"stale_after_seconds", stale_after_seconds(Worker{}.heartbeat_seconds)}}};
}

Answer Workers::describe(const Call& call) const {
  const auto worker = find(call.ns, call.match["worker"]);
  if (worker) return {200, worker_view(*worker, status_of(*worker, clock_.now()))};
  return absent_worker(404, "worker_not_found", call, call.match["worker"],
                       "GET /api/workers lists those that are");
}

bool Workers::knows(const Worker& worker) const {
  const std::lock_guard lock{mutex_};
  return workers_.contains({worker.ns, worker.worker_id});
}

bool Workers::takes_work(const Worker& worker) const {
  const auto found = find(worker.ns, worker.worker_id);
  return found && !draining(*found);
}

void Workers::drain(const Worker& worker) {
  const std::lock_guard lock{mutex_};
  const auto found = workers_.find({worker.ns, worker.worker_id});
  if (found != workers_.end()) found->second.leaving = true;
}

Answer Workers::remove(const Call& call) {
  const std::string id{call.match["worker"]};
  const std::lock_guard lock{mutex_};
  if (workers_.erase({call.ns, id}) == 0) {
    return absent_worker(404, "worker_not_found", call, id, "there is nothing left to remove");
  }
  return {200, {{"worker_id", id}, {"outcome", "deregistered"}}};
}

// ---- for those who need a worker

std::optional<Worker> Workers::find(const Namespace& ns, std::string_view worker_id) const {
  const std::lock_guard lock{mutex_};
  const auto found = workers_.find({ns, std::string{worker_id}});
  if (found == workers_.end()) return std::nullopt;
  return found->second;
}

std::vector<SeenWorker> Workers::seen(const Namespace& ns, std::string_view queue) const {
  const Timestamp now = clock_.now();
  std::vector<SeenWorker> all;
  const std::lock_guard lock{mutex_};
  visit_workers(workers_, ns, queue, [&](const Worker& worker) {
    all.push_back({worker, std::string{status_of(worker, now)}});
  });
  return all;
}

Workers::Definition Workers::definition(const Namespace& ns, std::string_view queue,
                                        std::string_view workflow_type) const {
  const std::string type{workflow_type};
  const Timestamp now = clock_.now();
  const std::lock_guard lock{mutex_};
  // Where workers differ, the newest code speaks, and one that is alive before one that may not be.
  std::optional<std::tuple<bool, Timestamp>> best;
  Definition newest;
  visit_workers(workers_, ns, named_queue(queue), [&](const Worker& worker) {
    const auto found = worker.declarations.find(type);
    if (found == worker.declarations.end()) return;
    const std::tuple rank{!is_stale(worker, now), worker.registered_at};
    if (best && rank <= *best) return;
    best = rank;
    newest.declared = found->second;
    const auto fingerprint = worker.fingerprints.find(type);
    newest.fingerprint = fingerprint == worker.fingerprints.end() ? "" : fingerprint->second;
  });
  return newest;
}

Workers::Help Workers::help_with(const Namespace& ns, const Errand& errand) const {
  const auto contains = [](const std::vector<std::string>& names, std::string_view name) {
    return std::ranges::find(names, name) != names.end();
  };
  const Timestamp now = clock_.now();
  Help best = Help::none;
  const std::lock_guard lock{mutex_};
  visit_workers(workers_, ns, named_queue(errand.queue), [&](const Worker& worker) {
    const bool able = contains(worker.capabilities, errand.capability) &&
                      (worker.takes_all() || contains(worker.workflow_types, errand.workflow_type));
    if (!able || is_stale(worker, now) || draining(worker)) return;
    const bool fits = errand.compatibility.empty() || errand.compatibility == worker.build_id;
    best = std::max(best, fits ? Help::there : Help::other_builds_only);
  });
  return best;
}

}  // namespace dw::server
