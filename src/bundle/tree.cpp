#include "bundle/tree.hpp"

#include "core/base64.hpp"
#include "core/external_payload.hpp"

#include <algorithm>
#include <charconv>
#include <set>

namespace dw::bundle {
namespace {

struct Cut {
  std::string_view first;
  std::string_view rest;
};
Cut cut(std::string_view path) {
  const auto dot = path.find('.');
  if (dot == std::string_view::npos) return {path, {}};
  return {path.substr(0, dot), path.substr(dot + 1)};
}

std::optional<std::size_t> position(std::string_view text) {
  std::size_t index = 0;
  const auto* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, index);
  if (read.ec != std::errc{} || read.ptr != end) return std::nullopt;
  return index;
}

void expand(const Value& at, std::string_view pattern, const std::string& so_far,
            std::vector<std::string>& found) {
  if (at.is_null()) return;
  if (pattern.empty()) {
    found.push_back(so_far);
    return;
  }
  const auto [first, rest] = cut(pattern);
  const auto below = [&, rest = rest](const Value& next, std::string_view name) {
    expand(next, rest, so_far.empty() ? std::string{name} : so_far + "." + std::string{name},
           found);
  };
  if (first != "*") {
    if (const Value* next = at.find(first)) below(*next, first);
    return;
  }
  const auto* items = at.if_array();
  for (std::size_t i = 0; items && i < items->size(); ++i) below((*items)[i], std::to_string(i));
}

// The entries of an object by key, those of one key in their order.
template <typename Map>
auto by_key(Map& map) {
  std::vector<decltype(map.data())> entries;
  entries.reserve(map.size());
  for (auto& entry : map) entries.push_back(&entry);
  std::ranges::stable_sort(entries, {},
                           [](const auto* entry) -> const std::string& { return entry->first; });
  return entries;
}
bool same_key(const Value::Map::value_type* left, const Value::Map::value_type* right) {
  return left->first == right->first;
}

}  // namespace

std::optional<std::string> find_twin(const Value& root) {
  const auto below = [](const Value& next, std::string_view name) {
    auto found = find_twin(next);
    if (found) found->insert(0, std::string{name} + ".");
    return found;
  };
  if (const auto* items = root.if_array()) {
    for (std::size_t i = 0; i < items->size(); ++i) {
      if (auto found = below((*items)[i], std::to_string(i))) return found;
    }
  }
  const auto* map = root.if_map();
  if (!map) return std::nullopt;
  const auto entries = by_key(*map);
  const auto twin = std::ranges::adjacent_find(entries, same_key);
  if (twin != entries.end()) return (*twin)->first;
  for (const auto& [key, value] : *map) {
    if (auto found = below(value, key)) return found;
  }
  return std::nullopt;
}

void keep_later_of_twins(Value& root) {
  if (auto* items = root.if_array()) std::ranges::for_each(*items, keep_later_of_twins);
  auto* map = root.if_map();
  if (!map) return;
  std::set<const void*> earlier;
  const auto entries = by_key(*map);
  for (std::size_t i = 1; i < entries.size(); ++i) {
    if (same_key(entries[i - 1], entries[i])) earlier.insert(entries[i - 1]);
  }
  if (!earlier.empty()) {
    Value::Map kept;
    for (auto& entry : *map) {
      if (!earlier.contains(&entry)) kept.push_back(std::move(entry));
    }
    *map = std::move(kept);
  }
  for (auto& entry : *map) keep_later_of_twins(entry.second);
}

std::string text_at(const Value& value, std::string_view key) {
  const Value* found = value.find(key);
  return found && found->if_string() ? *found->if_string() : std::string{};
}

std::optional<Payload> envelope(const Value& value) {
  const auto* map = value.if_map();
  if (const Value* reference = value.find("external_storage"); reference && map->size() == 2) {
    auto elsewhere = external_payload(*reference);
    return elsewhere ? std::optional{*std::move(elsewhere)} : std::nullopt;
  }
  const Value* blob = value.find("blob");
  std::string codec = text_at(value, "codec");
  if (!map || map->size() != 2 || !blob || !blob->if_string() || codec.empty()) return std::nullopt;
  if (codec == json_codec) return Payload{std::move(codec), *blob->if_string()};
  auto bytes = decode_base64(*blob->if_string());
  if (!bytes) return std::nullopt;
  return Payload{std::move(codec), *std::move(bytes)};
}

const Value* find_at(const Value& root, std::string_view path) {
  const Value* at = &root;
  while (at && !path.empty()) {
    const auto [first, rest] = cut(path);
    if (const auto* items = at->if_array()) {
      const auto index = position(first);
      at = index && *index < items->size() ? &(*items)[*index] : nullptr;
    } else {
      at = at->find(first);
    }
    path = rest;
  }
  return at;
}

Value* find_at(Value& root, std::string_view path) {
  // The tree itself may be changed, so may what is found in it.
  return const_cast<Value*>(find_at(static_cast<const Value&>(root), path));
}

std::vector<std::string> paths_of(const Value& root, std::string_view pattern) {
  std::vector<std::string> found;
  expand(root, pattern, {}, found);
  return found;
}

std::string beside(std::string_view pattern, std::string_view path) {
  const auto star = pattern.find('*');
  if (star == std::string_view::npos) return std::string{pattern};
  const auto index = cut(cut(path).rest).first;
  return std::string{pattern.substr(0, star)}.append(index).append(pattern.substr(star + 1));
}

}  // namespace dw::bundle
