// What a schedule starts, as a command to the engine.
#pragma once
#include "engine/commands.hpp"
#include "schedule/decide.hpp"

#include <dw/registry.hpp>

namespace dw::detail {

// With what is declared about its type, if its code is here. Without, and with nobody `elsewhere`
// who might have it, there is nothing to start.
Result<engine::StartCommand> scheduled_start(const Registry& registry, bool elsewhere,
                                             const Namespace& ns, const schedule::Start& start);

}  // namespace dw::detail
