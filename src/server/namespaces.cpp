#include "server/namespaces.hpp"

#include "server/addressed.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <future>

namespace dw::server {
namespace {

constexpr std::size_t longest_description = 1000;

std::string named_in(const Call& call) {
  auto parsed = parse_namespace(call.match["namespace"]);
  return parsed ? parsed->str() : std::string{call.match["namespace"]};
}

Timestamp time_in(const Value& body, std::string_view field) {
  const Value* text = body.find(field);
  const auto at = text && text->if_string() ? parse_timestamp(*text->if_string())
                                            : Result<Timestamp>{Timestamp{}};
  return at ? *at : Timestamp{};
}

}  // namespace

std::int64_t retention_days_in(const store::Document& document) {
  const auto body = parse_json(document.body);
  const Value* days = body ? body->find("retention_days") : nullptr;
  return days && days->if_integer() ? *days->if_integer() : usual_retention_days;
}

Namespaces::Namespaces(NamespacesParts parts) : parts_(std::move(parts)) {
  const Timestamp now = parts_.clock.now();
  entries_.emplace(parts_.default_name, Entry{.created_at = now, .updated_at = now});
}

void Namespaces::restore(std::span<const store::Document> documents) {
  read(documents);
  const bool kept = std::ranges::count(documents, parts_.default_name, &store::Document::id) > 0;
  if (kept) return;
  // Durable before anybody is told of it.
  std::promise<Result<void>> writing;
  parts_.writer.post([&] {
    writing.set_value(parts_.store.put_document({std::string{namespace_kind},
                                                 {},
                                                 parts_.default_name,
                                                 written(*find_entry(parts_.default_name))}));
  });
  const auto done = writing.get_future().get();
  if (done) return;
  spdlog::warn(
      "the default namespace could not be written down, and is made anew at the next start: {} "
      "namespace={}",
      done.error().message, parts_.default_name);
}

void Namespaces::read(std::span<const store::Document> documents) {
  const std::lock_guard lock{mutex_};
  for (const store::Document& document : documents) {
    const auto body = parse_json(document.body);
    if (!body || !body->if_map()) {
      spdlog::warn("a namespace's document cannot be read; it has the usual settings: namespace={}",
                   document.id);
    }
    Entry entry;
    const Value* description = body ? body->find("description") : nullptr;
    if (description && description->if_string()) entry.description = *description->if_string();
    entry.retention_days = retention_days_in(document);
    if (const Value* storage = body ? body->find("external_payload_storage") : nullptr) {
      entry.storage = find_storage_policy(*storage);
      if (!entry.storage) {
        spdlog::warn(
            "a namespace's external payload storage cannot be read; it has none: "
            "namespace={}",
            document.id);
      }
    }
    if (body) entry.created_at = time_in(*body, "created_at");
    if (body) entry.updated_at = time_in(*body, "updated_at");
    entries_.insert_or_assign(document.id, std::move(entry));
  }
}

bool Namespaces::exists(std::string_view name) const {
  const std::lock_guard lock{mutex_};
  return entries_.contains(name);
}

std::vector<Namespace> Namespaces::names() const {
  const std::lock_guard lock{mutex_};
  std::vector<Namespace> names;
  for (const auto& [name, entry] : entries_) names.emplace_back(name);
  return names;
}

std::chrono::days Namespaces::retention(std::string_view name) const {
  const std::lock_guard lock{mutex_};
  const auto found = entries_.find(name);
  const Entry& entry = found == entries_.end() ? Entry{} : found->second;
  return std::chrono::days{entry.retention_days};
}

std::optional<StoragePolicy> Namespaces::storage(std::string_view name) const {
  const auto entry = find_entry(name);
  return entry ? entry->storage : std::nullopt;
}

std::optional<Namespaces::Entry> Namespaces::find_entry(std::string_view name) const {
  const std::lock_guard lock{mutex_};
  const auto found = entries_.find(name);
  return found == entries_.end() ? std::nullopt : std::optional{found->second};
}

Value::Map Namespaces::shown(const std::string& name, const Entry& entry) {
  Value::Map shown{{"name", name},
                   {"description", entry.description.empty() ? Value{} : Value{entry.description}},
                   {"retention_days", entry.retention_days},
                   {"status", "active"},
                   {"created_at", format_timestamp(entry.created_at)},
                   {"updated_at", format_timestamp(entry.updated_at)}};
  if (entry.storage) {
    shown.emplace_back("external_payload_storage", storage_policy_value(*entry.storage));
  }
  return shown;
}

std::string Namespaces::written(const Entry& entry) {
  Value::Map body{{"description", entry.description},
                  {"retention_days", entry.retention_days},
                  {"created_at", format_timestamp(entry.created_at)},
                  {"updated_at", format_timestamp(entry.updated_at)}};
  if (entry.storage) {
    body.emplace_back("external_payload_storage", storage_policy_value(*entry.storage));
  }
  return to_json(body);
}

Answer Namespaces::unknown(std::string_view name) const {
  return refusal(404, "namespace_not_found", fmt::format("there is no namespace '{}'", name),
                 {{"namespace", name},
                  {"remediation", "GET /api/namespaces lists those that are; POST makes one"}});
}

Answer Namespaces::list() const {
  const std::lock_guard lock{mutex_};
  Value::Array all;
  for (const auto& [name, entry] : entries_) all.emplace_back(shown(name, entry));
  return {200, {{"namespaces", std::move(all)}}};
}

Answer Namespaces::describe(const Call& call) const {
  const std::string name = named_in(call);
  const std::lock_guard lock{mutex_};
  const auto found = entries_.find(name);
  return found == entries_.end() ? unknown(name) : Answer{200, shown(name, found->second)};
}

// ---- changes

void Namespaces::change(const Call& call, Reply reply,
                        std::function<Answer(const Call& call)> apply) {
  parts_.writer.post(
      [call, reply = std::move(reply), apply = std::move(apply)] { reply(apply(call)); });
}

Answer Namespaces::put(const std::string& name, const Entry& entry, int status) {
  const auto kept =
      parts_.store.put_document({std::string{namespace_kind}, {}, name, written(entry)});
  if (!kept) return failed(kept.error(), {});
  const std::lock_guard lock{mutex_};
  entries_.insert_or_assign(name, entry);
  return {status, shown(name, entry)};
}

void Namespaces::create(const Call& call, Reply reply) {
  Fields fields{call};
  const auto asked = fields.required_text("name", 128);
  Entry entry;
  entry.description = fields.text("description", longest_description);
  entry.retention_days = fields.whole("retention_days", 1, 365).value_or(entry.retention_days);
  const auto name = parse_namespace(asked);
  if (!name) fields.wrong("name", name.error().message);
  if (!fields.fine()) return reply(fields.errors());
  entry.created_at = entry.updated_at = parts_.clock.now();
  change(call, std::move(reply), [this, name = name->str(), entry](const Call&) {
    if (exists(name)) {
      return refusal(409, "namespace_already_exists",
                     fmt::format("namespace '{}' exists; PUT changes it", name),
                     {{"namespace", name}});
    }
    return put(name, entry, 201);
  });
}

void Namespaces::update(const Call& call, Reply reply) {
  Fields fields{call};
  const auto description = fields.text("description", longest_description);
  const auto days = fields.whole("retention_days", 1, 365);
  if (!fields.fine()) return reply(fields.errors());
  change(call, std::move(reply), [this, description, days](const Call& asked) {
    const std::string name = named_in(asked);
    auto entry = find_entry(name);
    if (!entry) return unknown(name);
    if (asked.field("description")) entry->description = description;
    if (days) entry->retention_days = *days;
    entry->updated_at = parts_.clock.now();
    return put(name, *entry, 200);
  });
}

void Namespaces::set_storage(const Call& call, Reply reply) {
  Fields fields{call};
  auto policy = read_storage_policy(fields);
  if (!fields.fine()) return reply(fields.errors());
  change(call, std::move(reply), [this, policy = std::move(policy)](const Call& asked) {
    const std::string name = named_in(asked);
    auto entry = find_entry(name);
    if (!entry) return unknown(name);
    entry->storage = policy;
    entry->updated_at = parts_.clock.now();
    const Answer kept = put(name, *entry, 200);
    if (kept.status != 200) return kept;
    return Answer{200,
                  {{"name", name},
                   {"external_payload_storage", storage_policy_value(policy)},
                   {"updated_at", format_timestamp(entry->updated_at)}}};
  });
}

Result<std::int64_t> Namespaces::take_along(const Belongings& belongings,
                                            const Namespace& ns) const {
  auto documents = DW_TRY(parts_.store.documents(belongings.kind));
  std::int64_t count = 0;
  for (store::Document& document : documents) {
    if (document.ns != ns) continue;
    document.body.clear();
    DW_TRY_VOID(parts_.store.put_document(document));
    ++count;
  }
  belongings.forget(ns);
  return count;
}

void Namespaces::remove(const Call& call, Reply reply) {
  parts_.writer.post([this, name = named_in(call), reply = std::move(reply)] {
    if (auto no = stays(name)) return reply(*std::move(no));
    // Whoever is making something there is done first, and then we look again.
    const bool first = guests_.close(name, [this, name, reply] { let_go(name, 0, reply); });
    if (!first) {
      reply(refusal(503, "unavailable",
                    fmt::format("namespace '{}' is being removed by somebody else", name),
                    {{"namespace", name}}));
    }
  });
}

std::optional<Answer> Namespaces::stays(const std::string& name) const {
  if (!exists(name)) return unknown(name);
  if (name == parts_.default_name) {
    return refusal(409, "default_namespace",
                   fmt::format("namespace '{}' is the default and stays", name),
                   {{"namespace", name}});
  }
  const auto runs = parts_.store.list_runs({.ns = Namespace{name}, .limit = 1});
  if (!runs) return failed(runs.error(), {});
  if (!runs->empty()) {
    return refusal(409, "namespace_not_empty",
                   fmt::format("namespace '{}' has workflows, which would be lost; prune them "
                               "first",
                               name),
                   {{"namespace", name}});
  }
  const auto schedules = parts_.store.list_schedules(
      {.ns = Namespace{name},
       .statuses = {std::string{store::schedule_active}, std::string{store::schedule_paused}},
       .limit = 1});
  if (!schedules) return failed(schedules.error(), {});
  if (schedules->empty()) return {};
  return refusal(409, "namespace_not_empty",
                 fmt::format("namespace '{}' has schedules, which would go on firing into it; "
                             "delete them first",
                             name),
                 {{"namespace", name}});
}

Result<std::int64_t> Namespaces::forget_some_schedules(const Namespace& ns) const {
  return parts_.forget_some_schedules ? parts_.forget_some_schedules(ns) : 0;
}

// Schedules that were deleted may be many: whoever else commits gets in between.
void Namespaces::let_go(const std::string& name, std::int64_t schedules, Reply reply) {
  parts_.writer.post([this, name, schedules, reply = std::move(reply)] {
    std::optional<Answer> answer = stays(name);
    if (!answer) {
      const auto gone = forget_some_schedules(Namespace{name});
      if (gone && *gone > 0) return let_go(name, schedules + *gone, reply);
      answer = gone ? take_all_along(name, schedules) : failed(gone.error(), {});
    }
    guests_.open(name);
    reply(*std::move(answer));
  });
}

Answer Namespaces::take_all_along(const std::string& name, std::int64_t schedules) {
  Value::Map deleted{{"workflow_runs", 0}, {"workflow_schedules", schedules}};
  for (const auto& [counted_as, forget] :
       {std::pair{"search_attribute_definitions", &parts_.forget_search_attributes},
        std::pair{"calendars", &parts_.forget_calendars}}) {
    const auto count = *forget ? (*forget)(Namespace{name}) : Result<std::int64_t>{0};
    if (!count) return failed(count.error(), {});
    deleted.emplace_back(counted_as, *count);
  }
  for (const Belongings& belongings : parts_.belongings) {
    const auto count = take_along(belongings, Namespace{name});
    if (!count) return failed(count.error(), {});
    deleted.emplace_back(belongings.counted_as, *count);
  }
  const auto gone = parts_.store.put_document({std::string{namespace_kind}, {}, name, {}});
  if (!gone) return failed(gone.error(), {});
  const std::lock_guard lock{mutex_};
  entries_.erase(name);
  return {200, {{"name", name}, {"status", "deleted"}, {"deleted", std::move(deleted)}}};
}

}  // namespace dw::server
