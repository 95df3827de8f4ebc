#include <dw/result.hpp>

#include <cstdio>
#include <cstdlib>

namespace dw::detail {

void bad_result_access(const Error& error) {
  const auto code = to_string(error.code);
  std::fprintf(stderr, "the value of a failed Result was read: %.*s: %s\n",
               static_cast<int>(code.size()), code.data(), error.message.c_str());
  std::abort();
}

void bad_error_access() {
  std::fputs("the error of a successful Result was read\n", stderr);
  std::abort();
}

}  // namespace dw::detail
