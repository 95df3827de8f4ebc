#include "engine/visibility.hpp"

#include "core/trimmed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace dw::engine {
namespace {

constexpr std::size_t max_key_bytes = 64;
constexpr std::size_t max_text_bytes = 191;
constexpr std::size_t max_entries = 100;
constexpr std::size_t max_attributes_bytes = 64 * 1024;

Error refused(std::string_view field, std::string_view why) {
  return {ErrorCode::invalid_argument, fmt::format("{} {}", field, why)};
}

bool is_searchable_key(std::string_view key, std::size_t longest) {
  return !key.empty() && key.size() <= longest && std::ranges::all_of(key, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view{"_.:-"}.find(c) != std::string_view::npos;
  });
}

Result<void> sort_by_key(std::string_view field, Value::Map& map) {
  constexpr auto key = &Value::Map::value_type::first;
  std::ranges::sort(map, {}, key);
  const auto twice = std::ranges::adjacent_find(map, {}, key);
  if (twice == map.end()) return {};
  return refused(field, fmt::format("has the key '{}' twice", twice->first));
}

Result<void> check_count(std::string_view field, const Value::Map& entries) {
  if (entries.size() <= max_entries) return {};
  return refused(field, fmt::format("may have {} entries, not {}", max_entries, entries.size()));
}

Result<void> check_total(std::string_view field, const Value& whole, std::size_t most) {
  const auto bytes = to_json(whole).size();
  if (bytes <= most) return {};
  return refused(field, fmt::format("may have {} bytes, not {}", most, bytes));
}

// The entries of an object with keys that can be searched for, without those that are null.
Result<Value::Map> searchable_entries(std::string_view field, const Value& given,
                                      std::size_t longest_key) {
  const auto* entries = given.if_map();
  if (!entries) {
    return refused(field, fmt::format("must be an object, not {}", to_string(given.kind())));
  }
  if (auto few = check_count(field, *entries); !few) return few.error();
  Value::Map kept;
  for (const auto& [key, value] : *entries) {
    if (!is_searchable_key(key, longest_key)) {
      return refused(field, fmt::format("has the key '{}'; one has 1 to {} of the characters "
                                        "A-Z a-z 0-9 _ . : -",
                                        key, longest_key));
    }
    if (!value.is_null()) kept.emplace_back(key, value);
  }
  if (auto sorted = sort_by_key(field, kept); !sorted) return sorted.error();
  return kept;
}

Result<std::string> label_text(std::string_view key, const Value& value) {
  std::string text;
  if (const auto* given = value.if_string()) {
    text = trimmed(*given);
  } else if (value.if_boolean() || value.if_integer() || value.if_real()) {
    text = to_json(value);
  } else {
    return refused("labels", fmt::format("has {} under '{}'; a label is a string, a number or a "
                                         "boolean",
                                         to_string(value.kind()), key));
  }
  if (text.empty() || text.size() > max_text_bytes) {
    return refused("labels", fmt::format("has {} bytes under '{}'; a label has 1 to {}",
                                         text.size(), key, max_text_bytes));
  }
  return text;
}

Result<void> sort_memo_keys(Value& value) {
  if (auto* list = value.if_array()) {
    for (Value& item : *list) {
      if (auto sorted = sort_memo_keys(item); !sorted) return sorted;
    }
  }
  auto* entries = value.if_map();
  if (!entries) return {};
  for (auto& [key, item] : *entries) {
    if (key.empty() || key.size() > max_key_bytes) {
      return refused("memo", fmt::format("has a key of {} bytes ('{}…'); one has 1 to {}",
                                         key.size(), key.substr(0, max_key_bytes), max_key_bytes));
    }
    if (auto sorted = sort_memo_keys(item); !sorted) return sorted;
  }
  return sort_by_key("memo", *entries);
}

Result<void> check_attribute(const std::string& key, const Value& value) {
  const auto fits = [](const Value& item) {
    const auto* text = item.if_string();
    return text && text->size() <= max_attribute_bytes;
  };
  if (value.if_boolean() || value.if_integer() || value.if_real() || fits(value)) return {};
  const auto* list = value.if_array();
  if (list && std::ranges::all_of(*list, fits)) return {};
  return refused("search_attributes",
                 fmt::format("has no attribute under '{}': one is a boolean, a number, a string of "
                             "at most {} bytes or a list of such strings",
                             key, max_attribute_bytes));
}

}  // namespace

Result<std::string> business_key(std::string_view given) {
  const auto key = trimmed(given);
  if (key.size() <= max_text_bytes) return std::string{key};
  return refused("business_key",
                 fmt::format("may have {} bytes, not {}", max_text_bytes, key.size()));
}

Result<history::Labels> visibility_labels(const Value& given) {
  auto entries = searchable_entries("labels", given, max_key_bytes);
  if (!entries) return entries.error();
  history::Labels labels;
  for (const auto& [key, value] : *entries) {
    auto text = label_text(key, value);
    if (!text) return text.error();
    labels.emplace_back(key, *std::move(text));
  }
  return labels;
}

Result<std::optional<Value>> memo(const Value& given) {
  const auto* entries = given.if_map();
  if (!entries) {
    return refused("memo", fmt::format("must be an object, not {}", to_string(given.kind())));
  }
  if (entries->empty()) return std::optional<Value>{};
  if (auto few = check_count("memo", *entries); !few) return few.error();
  Value sorted = given;
  if (auto done = sort_memo_keys(sorted); !done) return done.error();
  if (auto small = check_total("memo", sorted, max_memo_bytes); !small) return small.error();
  return std::optional{std::move(sorted)};
}

Result<std::optional<Value>> search_attributes(const Value& given) {
  auto entries = searchable_entries("search_attributes", given, max_attribute_key_bytes);
  if (!entries) return entries.error();
  for (const auto& [key, value] : *entries) {
    if (auto fits = check_attribute(key, value); !fits) return fits.error();
  }
  if (entries->empty()) return std::optional<Value>{};
  Value whole{*std::move(entries)};
  if (auto small = check_total("search_attributes", whole, max_attributes_bytes); !small)
    return small.error();
  return std::optional{std::move(whole)};
}

}  // namespace dw::engine
