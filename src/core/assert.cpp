#include "core/assert.hpp"

#include <cstdio>
#include <cstdlib>

namespace dw::detail {

// No allocation, no logging library: whatever is broken may be one of those.
void assertion_failed(const char* expression, const char* file, int line,
                      std::string_view message) {
  std::fprintf(stderr, "%s:%d: assertion failed: %s: %.*s\n", file, line, expression,
               static_cast<int>(message.size()), message.data());
  std::abort();
}

}  // namespace dw::detail
