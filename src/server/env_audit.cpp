#include "server/env_audit.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dw::server {
namespace {

// Read by other commands, and by clients on this machine.
constexpr std::string_view read_by_others[] = {"DW_CONFIG_HOME", "DW_ENV",
                                               "DW_V2_TASK_DISPATCH_MODE"};

// Known, so that who runs our tests is not warned; nobody else has a use for them, so they are not
// what somebody meant to write.
constexpr std::string_view read_by_our_tests[] = {
    "DW_BINARY",       "DW_CHROMIUM", "DW_CI",    "DW_E2E_OPTIONAL", "DW_KILLS",
    "DW_RUST_PROGRAM", "DW_SEED",     "DW_SEEDS", "DW_TEST_LONG",    "DW_TEST_MODE",
};

// Of the contract, and read by nobody yet.
constexpr std::string_view promised[] = {
    "DW_V2_COMPATIBILITY_HEARTBEAT_TTL",
    "DW_V2_COMPATIBILITY_NAMESPACE",
    "DW_V2_CONTINUE_AS_NEW_*",
    "DW_V2_CURRENT_COMPATIBILITY",
    "DW_V2_FLEET_VALIDATION_MODE",
    "DW_V2_HISTORY_*_WARNING_THRESHOLD",
    "DW_V2_LIMIT_*",
    "DW_V2_NAMESPACE",
    "DW_V2_PIN_TO_RECORDED_FINGERPRINT",
    "DW_V2_SUPPORTED_COMPATIBILITIES",
    "DW_V2_TASK_REPAIR_*",
    "DW_V2_UPDATE_WAIT_*",
    "DW_V2_WORKFLOW_TASK_LEASE_SECONDS",
    "DW_WEBHOOKS_*",
    "DW_WORKER_STALE_AFTER_SECONDS",
    "WATERLINE_ACCESS_MODE",
    "WATERLINE_ALLOW_UNAUTHENTICATED",
    "WATERLINE_NAMESPACE",
    "WATERLINE_PATH",
    "WATERLINE_SAVED_VIEWS_SCOPE",
};

constexpr std::string_view our_prefix = "DW_V2_";
constexpr std::string_view older_prefix = "WORKFLOW_V2_";

bool fits_name(std::string_view pattern, std::string_view name) {
  const auto star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == name;
  const auto before = pattern.substr(0, star), after = pattern.substr(star + 1);
  return name.size() > before.size() + after.size() && name.starts_with(before) &&
         name.ends_with(after);
}

bool is_one_of(std::span<const std::string_view> patterns, std::string_view name) {
  return std::ranges::any_of(patterns, [&](auto pattern) { return fits_name(pattern, name); });
}

std::vector<std::string_view> names_read() {
  std::vector<std::string_view> names{std::begin(read_by_others), std::end(read_by_others)};
  for (const Setting& setting : settings()) {
    if (!setting.variable.empty()) names.push_back(setting.variable);
  }
  return names;
}

bool is_audited(std::string_view name) {
  return name.starts_with("DW_") || name.starts_with("WATERLINE_") ||
         name.starts_with(older_prefix);
}

// The prefix, which they share, tells nothing of which one was meant.
std::string variable_nearest_to(std::string_view name, std::span<const std::string_view> known) {
  const auto prefix = name.substr(0, name.find('_') + 1);
  std::vector<std::string_view> candidates;
  for (const auto variable : known) {
    if (variable.starts_with(prefix)) candidates.push_back(variable.substr(prefix.size()));
  }
  const auto close = nearest(name.substr(prefix.size()), candidates);
  return close ? fmt::format("{}{}", prefix, *close) : std::string{};
}

}  // namespace

std::string_view to_string(EnvFinding::Kind kind) {
  return kind == EnvFinding::Kind::unknown ? "unknown" : "without_effect";
}

std::vector<EnvFinding> audit_environment(const Environment& environment) {
  const auto known = names_read();
  std::vector<EnvFinding> findings;
  for (const auto& [variable, value] : environment) {
    if (!is_audited(variable)) continue;
    std::string name = variable;
    if (name.starts_with(older_prefix)) name.replace(0, older_prefix.size(), our_prefix);
    if (is_one_of(known, name) || is_one_of(read_by_our_tests, name)) continue;
    if (is_one_of(promised, name)) {
      findings.push_back({variable, EnvFinding::Kind::without_effect});
    } else {
      findings.push_back({variable, EnvFinding::Kind::unknown, variable_nearest_to(name, known)});
    }
  }
  return findings;
}

std::string describe(const EnvFinding& finding) {
  if (finding.kind == EnvFinding::Kind::without_effect) {
    return fmt::format("{} has no effect in this version", finding.variable);
  }
  if (finding.nearest.empty()) {
    return fmt::format("{} is not known; docs/configuration.md lists what there is",
                       finding.variable);
  }
  return fmt::format("{} is not known; did you mean {}?", finding.variable, finding.nearest);
}

}  // namespace dw::server
