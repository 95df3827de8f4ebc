#include "history/declarations.hpp"

#include <fmt/format.h>

namespace dw::history {
namespace {

Value parameter_value(const Parameter& parameter) {
  Value::Map map{{"name", parameter.name}};
  if (parameter.type != Parameter{}.type) map.emplace_back("type", parameter.type);
  if (parameter.default_value) map.emplace_back("default", *parameter.default_value);
  if (parameter.variadic) map.emplace_back("variadic", true);
  if (parameter.allows_null) map.emplace_back("allows_null", true);
  return map;
}

Value contracts_value(const std::vector<Contract>& contracts) {
  Value::Array list;
  for (const Contract& contract : contracts) {
    Value::Map map{{"name", contract.name}};
    if (contract.parameters) {
      Value::Array parameters;
      for (const Parameter& parameter : *contract.parameters) {
        parameters.push_back(parameter_value(parameter));
      }
      map.emplace_back("parameters", std::move(parameters));
    }
    list.emplace_back(std::move(map));
  }
  return list;
}

Error unreadable(std::string_view what) {
  return {ErrorCode::corrupt_history, fmt::format("a declared contract {}", what)};
}

Result<Parameter> parameter_from(const Value& value) {
  const auto* map = value.if_map();
  if (!map) return unreadable("has a parameter that is no object");
  Parameter parameter;
  for (const auto& [key, entry] : *map) {
    if (key == "default") {
      parameter.default_value = entry;
    } else if (const auto* text = entry.if_string(); text && (key == "name" || key == "type")) {
      (key == "name" ? parameter.name : parameter.type) = *text;
    } else if (const auto* flag = entry.if_boolean();
               flag && (key == "variadic" || key == "allows_null")) {
      (key == "variadic" ? parameter.variadic : parameter.allows_null) = *flag;
    } else {
      return unreadable(fmt::format("has a parameter with an unknown or ill-typed '{}'", key));
    }
  }
  if (parameter.name.empty()) return unreadable("has a parameter without a name");
  return parameter;
}

Result<std::vector<Contract>> contracts_from(const Value& value) {
  const auto* list = value.if_array();
  if (!list) return unreadable("list is no array");
  std::vector<Contract> contracts;
  for (const Value& item : *list) {
    const auto* name = item.find("name");
    if (!name || !name->if_string()) return unreadable("has no name");
    const auto* parameters = item.find("parameters");
    if (item.if_map()->size() != (parameters ? 2u : 1u)) return unreadable("holds unknown keys");
    Contract contract{*name->if_string(), {}};
    if (parameters) {
      if (!parameters->if_array()) return unreadable("has parameters that are no array");
      contract.parameters.emplace();
      for (const Value& parameter : *parameters->if_array()) {
        contract.parameters->push_back(DW_TRY(parameter_from(parameter)));
      }
    }
    contracts.push_back(std::move(contract));
  }
  return contracts;
}

}  // namespace

Value declarations_value(const Declarations& declared) {
  Value::Map map;
  if (!declared.queries.empty()) map.emplace_back("queries", contracts_value(declared.queries));
  if (!declared.signals.empty()) map.emplace_back("signals", contracts_value(declared.signals));
  if (!declared.updates.empty()) map.emplace_back("updates", contracts_value(declared.updates));
  return map;
}

Result<Declarations> declarations_from(const Value& value) {
  const auto* map = value.if_map();
  if (!map) return unreadable("snapshot is no object");
  Declarations declared;
  for (const auto& [key, list] : *map) {
    auto contracts = DW_TRY(contracts_from(list));
    if (key == "queries") {
      declared.queries = std::move(contracts);
    } else if (key == "signals") {
      declared.signals = std::move(contracts);
    } else if (key == "updates") {
      declared.updates = std::move(contracts);
    } else {
      return unreadable(fmt::format("snapshot holds an unknown '{}'", key));
    }
  }
  return declared;
}

Value contract_value(const Contract& contract) {
  Value parameters;
  if (contract.parameters) {
    Value::Array list;
    for (const Parameter& parameter : *contract.parameters) {
      list.emplace_back(Value::Map{{"name", parameter.name},
                                   {"position", static_cast<std::int64_t>(list.size())},
                                   {"required", parameter.required()},
                                   {"variadic", parameter.variadic},
                                   {"default_available", parameter.default_value.has_value()},
                                   {"default", parameter.default_value.value_or(Value{})},
                                   {"type", parameter.type},
                                   {"allows_null", parameter.allows_null}});
    }
    parameters = std::move(list);
  }
  return Value::Map{{"name", contract.name}, {"parameters", std::move(parameters)}};
}

Value declared_names(const std::vector<Contract>& contracts) {
  Value::Array names;
  for (const Contract& contract : contracts) names.emplace_back(contract.name);
  return names;
}

Value declared_contracts(const std::vector<Contract>& contracts) {
  Value::Array list;
  for (const Contract& contract : contracts) {
    if (contract.parameters) list.push_back(contract_value(contract));
  }
  return list;
}

}  // namespace dw::history
