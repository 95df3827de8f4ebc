#include "server/search_attributes.hpp"

#include "server/addressed.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>

namespace dw::server {
namespace {

constexpr std::size_t longest_attribute_name = 128;
constexpr std::size_t longest_type_name = 32;

bool is_attribute_name(std::string_view name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  return !name.empty() && letter(name.front()) && std::ranges::all_of(name, [&](char c) {
    return letter(c) || (c >= '0' && c <= '9') || c == '_';
  });
}

bool is_system_attribute(std::string_view name) {
  return views::system_attributes().contains(name);
}

Value::Map names_and_types(const views::AttributeTypes& types) {
  Value::Map map;
  for (const auto& [name, type] : types) map.emplace_back(name, views::to_string(type));
  return map;
}

// A refusal with a reason of its own that says under the field, too, what is wrong with it.
Answer refused_name(std::string_view reason, const std::string& text, Value::Map more = {}) {
  const Value errors{Value::Map{{"name", Value::Array{text}}}};
  more.emplace_back("errors", errors);
  more.emplace_back("validation_errors", errors);
  return refusal(422, reason, text, std::move(more));
}

std::optional<views::AttributeType> type_written_in(const store::Document& document) {
  const auto body = parse_json(document.body);
  const Value* type = body ? body->find("type") : nullptr;
  return type && type->if_string() ? views::find_attribute_type(*type->if_string()) : std::nullopt;
}

}  // namespace

void SearchAttributes::restore(std::span<const store::Document> documents) {
  const std::lock_guard lock{mutex_};
  for (const store::Document& document : documents) {
    if (const auto type = type_written_in(document)) {
      types_[document.ns].insert_or_assign(document.id, *type);
    } else {
      spdlog::warn(
          "a search attribute's document cannot be read and is left out: namespace={} "
          "attribute={}",
          document.ns.view(), document.id);
    }
  }
}

views::AttributeTypes SearchAttributes::types(const Namespace& ns) const {
  const std::lock_guard lock{mutex_};
  const auto found = types_.find(ns);
  return found == types_.end() ? views::AttributeTypes{} : found->second;
}

Answer SearchAttributes::list(const Call& call) const {
  return {200,
          {{"system_attributes", names_and_types(views::system_attributes())},
           {"custom_attributes", names_and_types(types(call.ns))}}};
}

void SearchAttributes::create(const Call& call, Reply reply) {
  Fields fields{call};
  const auto name = fields.required_text("name", longest_attribute_name);
  const auto asked = fields.required_text("type", longest_type_name);
  const auto type = views::find_attribute_type(asked);
  if (!name.empty() && !is_attribute_name(name)) {
    fields.wrong("name", "must be a letter, followed by letters, digits and underscores");
  }
  if (!asked.empty() && !type) {
    fields.wrong("type", "must be one of keyword, text, int, double, bool, datetime, keyword_list");
  }
  if (!fields.fine()) return reply(fields.errors());
  if (is_system_attribute(name) || views::is_query_word(name)) {
    return reply(
        refused_name("name_reserved",
                     fmt::format("'{}' is {}; choose another name", name,
                                 is_system_attribute(name) ? "an attribute that every run has"
                                                           : "a word of the query language"),
                     {{"name", name}}));
  }
  parts_.writer.post([this, ns = call.ns, name, type = *type, reply = std::move(reply)] {
    reply(put(ns, name, type));
  });
}

Answer SearchAttributes::put(const Namespace& ns, const std::string& name,
                             views::AttributeType type) {
  const auto known = types(ns);
  if (const auto found = known.find(name); found != known.end()) {
    return refusal(409, "attribute_already_exists",
                   fmt::format("namespace '{}' has a search attribute '{}' of the type {}; delete "
                               "it first to give it another",
                               ns.view(), name, views::to_string(found->second)),
                   {{"name", name}, {"type", views::to_string(found->second)}});
  }
  if (known.size() >= most_search_attributes) {
    return refused_name("search_attribute_limit_reached",
                        fmt::format("namespace '{}' has {} search attributes and may have no more; "
                                    "delete one that nobody needs",
                                    ns.view(), known.size()),
                        {{"limit", static_cast<std::int64_t>(most_search_attributes)}});
  }
  const auto body = to_json(Value::Map{{"type", views::to_string(type)}});
  const auto kept = parts_.store.put_document({std::string{search_attribute_kind}, ns, name, body});
  if (!kept) return failed(kept.error(), {});
  const std::lock_guard lock{mutex_};
  types_[ns].emplace(name, type);
  return {201, {{"name", name}, {"type", views::to_string(type)}, {"outcome", "created"}}};
}

void SearchAttributes::remove(const Call& call, Reply reply) {
  const std::string name{call.match["name"]};
  if (is_system_attribute(name)) {
    return reply(refusal(409, "system_attribute",
                         fmt::format("every run has '{}', which stays", name), {{"name", name}}));
  }
  parts_.writer.post(
      [this, ns = call.ns, name, reply = std::move(reply)] { reply(erase(ns, name)); });
}

Answer SearchAttributes::erase(const Namespace& ns, const std::string& name) {
  if (!types(ns).contains(name)) {
    return refusal(404, "attribute_not_found",
                   fmt::format("namespace '{}' has no search attribute '{}'; GET "
                               "/api/search-attributes lists those it has",
                               ns.view(), name),
                   {{"name", name}});
  }
  if (const auto gone = drop(ns, name); !gone) return failed(gone.error(), {});
  return {200, {{"name", name}, {"outcome", "deleted"}}};
}

Result<void> SearchAttributes::drop(const Namespace& ns, const std::string& name) {
  DW_TRY_VOID(parts_.store.put_document({std::string{search_attribute_kind}, ns, name, {}}));
  const std::lock_guard lock{mutex_};
  types_[ns].erase(name);
  return {};
}

Result<std::int64_t> SearchAttributes::forget(const Namespace& ns) {
  const auto all = types(ns);
  for (const auto& [name, type] : all) DW_TRY_VOID(drop(ns, name));
  const std::lock_guard lock{mutex_};
  types_.erase(ns);
  return static_cast<std::int64_t>(all.size());
}

}  // namespace dw::server
