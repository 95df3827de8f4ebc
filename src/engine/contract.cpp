#include "engine/contract.hpp"

#include "core/sha256.hpp"
#include "core/trimmed.hpp"
#include "history/declarations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace dw::engine {

namespace {

using Kind = Value::Kind;

// ---- types

struct Alternative {
  std::string_view name;
  bool nullable = false;
};

std::vector<Alternative> alternatives(std::string_view type) {
  std::vector<Alternative> all;
  while (true) {
    const auto bar = type.find('|');
    Alternative next{.name = trimmed(type.substr(0, bar))};
    if (next.name.starts_with('?')) {
      next.name = trimmed(next.name.substr(1));
      next.nullable = true;
    }
    next.nullable = next.nullable || next.name == "null" || next.name == "mixed";
    all.push_back(next);
    if (bar == std::string_view::npos) return all;
    type.remove_prefix(bar + 1);
  }
}

// A question mark belongs in front: "int?" would otherwise pass for an object of that name.
bool well_formed_type(std::string_view type) {
  return std::ranges::all_of(alternatives(type), [](const Alternative& alternative) {
    return !alternative.name.empty() && alternative.name.find('?') == std::string_view::npos;
  });
}

bool nullable(std::string_view type) {
  return std::ranges::any_of(alternatives(type), &Alternative::nullable);
}

// `value` is not null: that is a question of its own.
bool accepts(std::string_view name, const Value& value) {
  const auto kind = value.kind();
  if (name == "mixed") return true;
  if (name == "int") return kind == Kind::integer;
  if (name == "float") return kind == Kind::real || kind == Kind::integer;
  if (name == "string") return kind == Kind::string || kind == Kind::bytes;
  if (name == "bool") return kind == Kind::boolean;
  if (name == "true") return value == Value{true};
  if (name == "false") return value == Value{false};
  if (name == "array") return kind == Kind::array || kind == Kind::map;
  if (name == "scalar") return kind != Kind::array && kind != Kind::map;
  if (name == "null" || name.empty()) return false;
  return kind == Kind::map;  // object, or the name of one
}

bool fits(const Parameter& parameter, const Value& value) {
  // What is filled in for a caller may also be sent by one, though its type would say otherwise:
  // "int limit = null" is common where languages do not check defaults. It also lets bound
  // arguments be bound again.
  if (value == parameter.default_value) return true;
  if (value.is_null()) return parameter.allows_null || nullable(parameter.type);
  return std::ranges::any_of(alternatives(parameter.type), [&](const Alternative& alternative) {
    return accepts(alternative.name, value);
  });
}

// ---- messages, in the words that contracts are written in

std::string_view kind_of(const Value& value) {
  switch (value.kind()) {
    case Kind::null:
      return "null";
    case Kind::boolean:
      return *value.if_boolean() ? "true" : "false";
    case Kind::integer:
      return "int";
    case Kind::real:
      return "float";
    case Kind::bytes:
      return "bytes";
    case Kind::string:
      return "string";
    case Kind::array:
      return "array";
    case Kind::map:
      return "object";
  }
  return "unknown";
}

std::string expected(const Parameter& parameter) {
  const bool or_null = parameter.allows_null && !nullable(parameter.type);
  return fmt::format("expected {}{}", parameter.type, or_null ? " or null" : "");
}

// ---- binding

class Binding {
 public:
  // One complaint for each parameter is enough to act on, and keeps what a refusal records small.
  void take(const Parameter& parameter, const Value& value) {
    if (!fits(parameter, value)) {
      return refuse(parameter.name, fmt::format("{}, got {}", expected(parameter), kind_of(value)));
    }
    bound_.arguments.push_back(value);
  }

  void take_all(const Parameter& parameter, const Value* values, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      if (!fits(parameter, values[i])) {
        return refuse(parameter.name,
                      fmt::format("{} for value {} of {}, got {}", expected(parameter), i + 1,
                                  count, kind_of(values[i])));
      }
      bound_.arguments.push_back(values[i]);
    }
  }

  void take_nothing(const Parameter& parameter) {
    if (parameter.required()) {
      return refuse(parameter.name, fmt::format("required: {}, got nothing", expected(parameter)));
    }
    if (!parameter.variadic) bound_.arguments.push_back(*parameter.default_value);
  }

  void refuse(std::string_view field, std::string message) {
    auto& errors = bound_.errors;
    // Only a parameter that is itself called "arguments" ever shares its field.
    if (!errors.empty() && field == "arguments") {
      const auto same = std::ranges::find(errors, field, &ValidationErrors::value_type::first);
      if (same != errors.end()) return same->second.push_back(std::move(message));
    }
    errors.emplace_back(field, std::vector{std::move(message)});
  }

  BoundArguments finish() && {
    if (!bound_.ok()) bound_.arguments.clear();
    return std::move(bound_);
  }

 private:
  BoundArguments bound_;
};

BoundArguments refuse_all(std::string message) {
  Binding binding;
  binding.refuse("arguments", std::move(message));
  return std::move(binding).finish();
}

BoundArguments bind_list(const std::vector<Parameter>& parameters, const Value::Array& values) {
  Binding binding;
  std::size_t used = 0;
  for (const Parameter& parameter : parameters) {
    if (parameter.variadic) {
      binding.take_all(parameter, values.data() + used, values.size() - used);
      used = values.size();
    } else if (used < values.size()) {
      binding.take(parameter, values[used++]);
    } else {
      binding.take_nothing(parameter);
    }
  }
  if (used < values.size()) {
    binding.refuse("arguments", fmt::format("too many arguments: expected at most {}, got {}", used,
                                            values.size()));
  }
  return std::move(binding).finish();
}

BoundArguments bind_map(const std::vector<Parameter>& parameters, const Value& arguments) {
  Binding binding;
  std::set<std::string_view> known;
  for (const Parameter& parameter : parameters) {
    known.insert(parameter.name);
    const Value* value = arguments.find(parameter.name);
    if (value == nullptr) {
      binding.take_nothing(parameter);
    } else if (!parameter.variadic) {
      binding.take(parameter, *value);
    } else if (const auto* list = value->if_array()) {
      binding.take_all(parameter, list->data(), list->size());
    } else {
      binding.take(parameter, *value);
    }
  }
  for (const auto& [name, value] : *arguments.if_map()) {
    if (!known.insert(name).second) continue;  // a parameter, or complained about already
    binding.refuse(
        name, fmt::format("unknown argument: expected none of this name, got {}", kind_of(value)));
  }
  return std::move(binding).finish();
}

// Keys in order at every depth, so that equal meaning gives equal bytes.
Value canonical(Value value) {
  if (auto* items = value.if_array()) {
    for (Value& item : *items) item = canonical(std::move(item));
  } else if (auto* entries = value.if_map()) {
    for (auto& entry : *entries) entry.second = canonical(std::move(entry.second));
    std::ranges::stable_sort(*entries, {}, &Value::Map::value_type::first);
  }
  return value;
}

Value sorted_contract_values(std::vector<Contract> contracts) {
  std::ranges::stable_sort(contracts, {}, &Contract::name);
  Value::Array all;
  for (const Contract& contract : contracts) all.push_back(history::contract_value(contract));
  return all;
}

std::string fingerprint(std::string_view text) {
  return "sha256:" + sha256_hex(text);
}

}  // namespace

BoundArguments bind_arguments(const Contract& contract, const Value& arguments) {
  static const Value::Array nothing;
  const auto* list = arguments.is_null() ? &nothing : arguments.if_array();
  if (list == nullptr && arguments.if_map() == nullptr) {
    return refuse_all(
        fmt::format("expected a list or a map of arguments, got {}", kind_of(arguments)));
  }
  if (!contract.parameters) {
    if (list != nullptr) return {.arguments = *list, .errors = {}};
    return refuse_all("named arguments need a durable contract: expected a list, got a map");
  }
  return list != nullptr ? bind_list(*contract.parameters, *list)
                         : bind_map(*contract.parameters, arguments);
}

bool well_formed(const Parameter& parameter) {
  return !parameter.name.empty() && well_formed_type(parameter.type);
}

Result<void> check(const Contract& contract) {
  const auto refuse = [&](std::string_view what) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("contract \"{}\": {}", contract.name, what)};
  };
  if (contract.name.empty()) return refuse("expected a name, got none");
  if (!contract.parameters) return {};

  std::set<std::string_view> names;
  const Parameter* optional = nullptr;
  const Parameter* variadic = nullptr;
  for (const Parameter& parameter : *contract.parameters) {
    if (parameter.name.empty()) {
      return refuse(fmt::format("parameter {} has no name", names.size() + 1));
    }
    if (!well_formed(parameter)) {
      return refuse(
          fmt::format("parameter \"{}\" has type \"{}\": expected names like int, with ? "
                      "in front or | between",
                      parameter.name, parameter.type));
    }
    if (!names.insert(parameter.name).second) {
      return refuse(fmt::format("two parameters are called \"{}\"", parameter.name));
    }
    if (variadic != nullptr) {
      return refuse(
          fmt::format("parameter \"{}\" follows the variadic \"{}\", which leaves it "
                      "nothing: put the variadic last",
                      parameter.name, variadic->name));
    }
    if (parameter.required() && optional != nullptr) {
      return refuse(
          fmt::format("required parameter \"{}\" follows the optional \"{}\", which then "
                      "cannot be left out: put required ones first",
                      parameter.name, optional->name));
    }
    if (parameter.variadic) {
      variadic = &parameter;
    } else if (!parameter.required()) {
      optional = &parameter;
    }
  }
  return {};
}

Value target_value(const Contract& contract) {
  auto target = history::contract_value(
      {contract.name, contract.parameters.value_or(std::vector<Parameter>{})});
  target.if_map()->emplace_back("has_contract", contract.parameters.has_value());
  return target;
}

std::string definition_fingerprint(std::string_view type, std::string_view revision,
                                   const Declarations& declarations) {
  // Every workflow is entered the same way today; the key is there for the day that one is not.
  const Value definition =
      Value::Map{{"entry", "handle"},    {"queries", sorted_contract_values(declarations.queries)},
                 {"revision", revision}, {"signals", sorted_contract_values(declarations.signals)},
                 {"type", type},         {"updates", sorted_contract_values(declarations.updates)}};
  return fingerprint(to_json(canonical(definition)));
}

std::string condition_fingerprint(std::string_view definition) {
  return fingerprint(definition);
}

}  // namespace dw::engine
