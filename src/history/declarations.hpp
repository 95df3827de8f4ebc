// Declared contracts as a value, for history and for whoever shows them: the one spelling of both.
#pragma once
#include <dw/contract.hpp>
#include <dw/result.hpp>

namespace dw::history {

// As short as it can be: what is left out has its default. {"signals":[{"name":"approve",
// "parameters":[{"name":"by","type":"string"}]}]}
Value declarations_value(const Declarations& declared);
Result<Declarations> declarations_from(const Value& value);

// For readers, with everything spelled out: {name, parameters: [{name, position, required,
// variadic, default_available, default, type, allows_null}]}; parameters is null where none were
// declared.
Value contract_value(const Contract& contract);

// ["approve", …]: all that are declared.
Value declared_names(const std::vector<Contract>& contracts);
// The readable form of those that declared their parameters.
Value declared_contracts(const std::vector<Contract>& contracts);

}  // namespace dw::history
