#include "views/definition.hpp"

#include "engine/contract.hpp"

#include <algorithm>

namespace dw::views {
namespace {

// Complete: every query and update can be checked without the code.
bool is_complete(const Shared<Declarations>& declared) {
  if (!declared) return false;
  const auto has_parameters = [](const Contract& contract) {
    return contract.parameters.has_value();
  };
  return std::ranges::all_of(declared->queries, has_parameters) &&
         std::ranges::all_of(declared->updates, has_parameters);
}

Value::Array targets(const std::vector<Contract>& contracts) {
  Value::Array list;
  for (const Contract& contract : contracts) list.push_back(engine::target_value(contract));
  return list;
}

}  // namespace

DeclaredTargets declared_targets(const history::WorkflowStarted& start) {
  if (!is_complete(start.declared)) return {"unavailable", {}, {}, {}};
  const Declarations& declared = *start.declared;
  return {"durable_history", targets(declared.queries), targets(declared.signals),
          targets(declared.updates)};
}

Determinism determinism(const history::WorkflowStarted& start,
                        std::optional<std::string_view> current) {
  if (!current || start.fingerprint.empty()) return {"unavailable", "unavailable", {}};
  if (*current == start.fingerprint) return {"clean", "live_definition", {}};
  return {"warning", "definition_drift", {"workflow_definition_drift"}};
}

}  // namespace dw::views
