// Runs one activity: arguments in, result or failure out. Whatever the code throws becomes a
// failure with a name; nothing escapes.
#pragma once
#include "dispatch/hosts.hpp"

#include <dw/registry.hpp>

namespace dw::worker {

engine::ActivityOutcome run_activity(const Registry& registry, const dispatch::ActivityWork& work);

}  // namespace dw::worker
