// We are wrong. On in every build: a crash is cheap because history is durable, guessing is not.
#pragma once
#include <string_view>

namespace dw::detail {
[[noreturn]] void assertion_failed(const char* expression, const char* file, int line,
                                   std::string_view message);
}

#define DW_ASSERT(condition, message) \
  (static_cast<bool>(condition)       \
       ? void(0)                      \
       : ::dw::detail::assertion_failed(#condition, __FILE__, __LINE__, message))
