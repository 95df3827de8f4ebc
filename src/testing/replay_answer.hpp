// What this build makes of a recorded history, as whoever decides about a deploy reads it.
#pragma once
#include <dw/testing.hpp>

namespace dw::testing {

// {status: ok | drifted | skipped, reason, divergence}. A history that cannot be replayed here
// (its type is not registered, its payloads are redacted) is skipped, and the reason says why.
Value replay_answer(const Registry& registry, std::string_view text);

}  // namespace dw::testing
