#include "bundle/tree.hpp"

#include "core/base64.hpp"
#include "core/external_payload.hpp"

#include <algorithm>
#include <charconv>

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

}  // namespace

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
