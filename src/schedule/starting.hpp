// What an occurrence that passed its guards starts. Inside of decide.
#pragma once
#include "schedule/decide.hpp"
#include "schedule/guards.hpp"

namespace dw::schedule {

// Somebody triggered it, now or before it had to wait.
bool by_hand(const Attempt& attempt);

// "schedule:daily:1775779200000": from the nominal time, so that no roll of the dice changes it.
std::string instance_id_of(const Attempt& attempt);

Start start_of(const Attempt& attempt, Value::Array arguments);

}  // namespace dw::schedule
