// What every codec agrees on, so that a value one of them wrote is never one another refuses.
#pragma once

namespace dw {

// Arrays and maps within one another. Codecs recurse, and a payload must not exhaust the stack.
inline constexpr unsigned max_value_depth = 512;

}  // namespace dw
