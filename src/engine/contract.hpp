// Arguments against the contract they are meant for. Whether a query, signal or update may go ahead
// is decided from the contract recorded when the run started, so the answer needs no workflow code
// and stays the same when that code is changed, or gone.
//
//   int float string bool array object scalar null mixed true false
//   ?T          T or null
//   A|B         either
//   any other   a named object type: takes any map
//
// A float also takes an int, a string takes bytes, an array takes a list or a map, because the
// languages that say "array" mean both. A scalar is an int, float, string or bool.
#pragma once
#include <dw/contract.hpp>
#include <dw/result.hpp>
#include <dw/value.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dw::engine {

// Declared as a signal it stands for every name that is not declared: code that waits for signals
// by name, elsewhere, cannot say beforehand which.
inline constexpr std::string_view any_signal = "*";

// What is wrong with each field: parameters as declared, then unknown names as they came. What
// concerns no single parameter stands under "arguments".
using ValidationErrors = std::vector<std::pair<std::string, std::vector<std::string>>>;

struct BoundArguments {
  Value::Array arguments;  // in declaration order, defaults filled in; empty unless ok
  ValidationErrors errors;

  bool ok() const { return errors.empty(); }
};

// A list binds by position, a map by name, null is the empty list. A variadic takes the rest of a
// list; by name it takes a list of values or a single one. Whatever comes in, there is an answer,
// and what was bound once binds to itself again.
BoundArguments bind_arguments(const Contract& contract, const Value& arguments);

// It has a name, and a type with no empty alternative.
bool well_formed(const Parameter& parameter);

// For registration: fails with invalid_argument when no caller could make sense of the contract.
Result<void> check(const Contract& contract);

// {name, parameters: […], has_contract}, spelled out as history::contract_value does; parameters is
// a list in any case.
Value target_value(const Contract& contract);

// "sha256:…" over type, revision and declarations. The order in which queries, signals and updates
// were declared does not matter; the order of parameters does, since callers bind by position.
std::string definition_fingerprint(std::string_view type, std::string_view revision,
                                   const Declarations& declarations);

// "sha256:…" over the text that defines a condition.
std::string condition_fingerprint(std::string_view definition);

}  // namespace dw::engine
