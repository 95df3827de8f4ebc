// Runs one activity: arguments in, result or failure out. Whatever the code throws becomes a
// failure with a name; nothing escapes.
#pragma once
#include "dispatch/hosts.hpp"

#include <dw/registry.hpp>

namespace dw::worker {

engine::ActivityOutcome run_activity(const Registry& registry, const dispatch::ActivityWork& work);

// The same with other code in place of the registered one: a stub.
engine::ActivityOutcome run_activity(const Registry& registry, const dispatch::ActivityWork& work,
                                     const dw::detail::Invoke& code);

}  // namespace dw::worker
