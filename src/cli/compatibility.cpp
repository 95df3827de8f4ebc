#include "cli/compatibility.hpp"

#include "cli/lookup.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace dw::cli {
namespace {

constexpr std::string_view request_schema = "durable-workflow.v2.control-plane-request.contract";

struct Version {
  std::array<int, 3> parts{};
  std::string pre_release = {};
};

std::string_view take_until(std::string_view& rest, char separator) {
  const auto end = rest.find(separator);
  const auto part = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
  return part;
}

std::optional<Version> parse_version(std::string_view text) {
  if (text.starts_with('v')) text.remove_prefix(1);
  std::string_view numbers = take_until(text, '-');
  Version version;
  version.pre_release = take_until(text, '+');
  numbers = take_until(numbers, '+');
  if (numbers.empty()) return std::nullopt;
  for (std::size_t i = 0; !numbers.empty(); ++i) {
    const auto part = take_until(numbers, '.');
    if (i >= version.parts.size()) return std::nullopt;
    const auto [end, error] =
        std::from_chars(part.data(), part.data() + part.size(), version.parts[i]);
    if (error != std::errc{} || end != part.data() + part.size()) return std::nullopt;
  }
  return version;
}

// rc.9 comes before rc.10: numbers count as numbers.
int compare_pre_releases(std::string_view a, std::string_view b) {
  if (a.empty() || b.empty()) return a.empty() == b.empty() ? 0 : a.empty() ? 1 : -1;
  while (!a.empty() && !b.empty()) {
    const auto left = take_until(a, '.'), right = take_until(b, '.');
    int l = 0, r = 0;
    const bool both =
        std::from_chars(left.data(), left.data() + left.size(), l).ec == std::errc{} &&
        std::from_chars(right.data(), right.data() + right.size(), r).ec == std::errc{};
    const int order = both ? (l > r) - (l < r) : left.compare(right);
    if (order != 0) return order;
  }
  return a.empty() == b.empty() ? 0 : a.empty() ? -1 : 1;
}

int compare_versions(const Version& a, const Version& b) {
  if (a.parts != b.parts) return a.parts < b.parts ? -1 : 1;
  return compare_pre_releases(a.pre_release, b.pre_release);
}

bool satisfies(const Version& version, std::string_view comparison) {
  const auto digits = comparison.find_first_not_of("<>=!");
  if (digits == std::string_view::npos) return false;
  const auto sign = comparison.substr(0, digits);
  const auto bound = parse_version(comparison.substr(digits));
  if (!bound) return false;
  const int order = compare_versions(version, *bound);
  if (sign == ">=") return order >= 0;
  if (sign == ">") return order > 0;
  if (sign == "<=") return order <= 0;
  if (sign == "<") return order < 0;
  if (sign == "!=") return order != 0;
  return (sign.empty() || sign == "=" || sign == "==") && order == 0;
}

// A number or a text: servers write versions either way.
std::string word_at(const Value& value, std::string_view path) {
  const Value* found = look_up(value, path);
  if (!found || found->is_null()) return "missing";
  if (const auto* text = found->if_string()) return *text;
  return to_json(*found);
}

// Same major, and the server's minor no older than ours.
bool worker_protocols_fit(std::string_view server, std::string_view ours) {
  const auto theirs = parse_version(server), own = parse_version(ours);
  return theirs && own && theirs->parts[0] == own->parts[0] && theirs->parts[1] >= own->parts[1];
}

std::string mismatch(const Value& info, const Speaks& speaks) {
  if (!info.if_map()) return "it does not describe itself at /api/cluster/info";
  if (const auto version = word_at(info, "control_plane.version");
      version != speaks.control_plane) {
    return fmt::format("its control_plane.version is {}, dw speaks {}", version,
                       speaks.control_plane);
  }
  const auto schema = word_at(info, "control_plane.request_contract.schema");
  const auto version = word_at(info, "control_plane.request_contract.version");
  if (schema != request_schema || version != "1") {
    return fmt::format(
        "its control_plane.request_contract is {} version {}, dw speaks {} version 1", schema,
        version, request_schema);
  }
  const auto range = word_at(info, "client_compatibility.clients.cli.supported_versions");
  if (range != "missing" && !version_in_range(speaks.version, range)) {
    return fmt::format("it supports dw {}, this is dw {}", range, speaks.version);
  }
  if (!speaks.worker_commands) return {};
  if (const auto protocol = word_at(info, "worker_protocol.version");
      !worker_protocols_fit(protocol, speaks.worker_protocol)) {
    return fmt::format("its worker_protocol.version is {}, dw speaks {}", protocol,
                       speaks.worker_protocol);
  }
  return {};
}

}  // namespace

bool version_in_range(std::string_view version, std::string_view range) {
  const auto own = parse_version(version);
  if (!own) return false;
  bool compared = false;
  while (!range.empty()) {
    std::string_view comparison = take_until(range, ',');
    while (comparison.starts_with(' ')) comparison.remove_prefix(1);
    while (comparison.ends_with(' ')) comparison.remove_suffix(1);
    if (comparison == "*") {
      compared = true;
      continue;
    }
    if (!satisfies(*own, comparison)) return false;
    compared = true;
  }
  return compared;
}

std::optional<Failure> check_compatibility(const Value& cluster_info, const Speaks& speaks) {
  const std::string detail = mismatch(cluster_info, speaks);
  if (detail.empty()) return std::nullopt;
  const Value* range = look_up(cluster_info, "client_compatibility.clients.cli.supported_versions");
  const std::string server = word_at(cluster_info, "version");
  return Failure{
      .exit = Exit::compatibility,
      .message = fmt::format("dw {} and this server do not fit: {}. Nothing was done.",
                             speaks.version, detail),
      .compatibility = Value::Map{
          {"cli_version", speaks.version},
          {"server_version", server == "missing" ? Value{} : Value{server}},
          {"compatibility_window", range ? *range : Value{}},
          {"next_step", "Use a dw that this server supports, or a server that supports this dw."},
          {"detail", detail}}};
}

std::vector<std::string> compatibility_warnings(const Value& cluster_info) {
  std::vector<std::string> warnings;
  if (look_up(cluster_info, "client_compatibility")) {
    const auto authority = word_at(cluster_info, "client_compatibility.authority");
    if (authority != "protocol_manifests") {
      warnings.push_back(fmt::format(
          "Compatibility warning: the server's client_compatibility.authority is {}, dw expects "
          "protocol_manifests.",
          authority));
    }
  }
  if (look_up(cluster_info, "auth_composition_contract")) {
    const auto schema = word_at(cluster_info, "auth_composition_contract.schema");
    const auto version = word_at(cluster_info, "auth_composition_contract.version");
    if (schema != "durable-workflow.v2.auth-composition.contract" || version != "1") {
      warnings.push_back(
          fmt::format("Compatibility warning: the server's auth_composition_contract is {} version "
                      "{}, which dw "
                      "does not know.",
                      schema, version));
    }
  }
  return warnings;
}

std::optional<Failure> check_word(const Value& cluster_info, std::string_view contract,
                                  std::string_view option, std::string_view word,
                                  const std::vector<std::string_view>& fallback) {
  const auto dot = contract.find('.');
  const std::string field = fmt::format("control_plane.request_contract.operations.{}.fields.{}",
                                        contract.substr(0, dot), contract.substr(dot + 1));
  std::vector<std::string> words{fallback.begin(), fallback.end()};
  if (const Value* published = look_up(cluster_info, field + ".canonical_values");
      published && published->if_array()) {
    words.clear();
    for (const Value& value : *published->if_array()) {
      if (const auto* text = value.if_string()) words.push_back(*text);
    }
  }
  if (std::ranges::find(words, word) != words.end()) return std::nullopt;
  if (const Value* aliases = look_up(cluster_info, field + ".rejected_aliases")) {
    const Value* canonical = aliases->find(word);
    if (canonical && canonical->if_string()) {
      return invalid_input(
          fmt::format("--{} does not take '{}'; say '{}'", option, word, *canonical->if_string()));
    }
  }
  return invalid_input(
      fmt::format("--{} must be one of {}, not '{}'", option, fmt::join(words, ", "), word));
}

}  // namespace dw::cli
