// What must not be shown to Beast 1.81, by neither end of a connection.
#pragma once
#include <string_view>

namespace dw::client {

// After an empty body's "0\r\n" it asserts that two more bytes come at once: whoever sends them one
// by one would end the process. (Mended in boostorg/beast, pull request 2861.) `chunk` is what has
// come where the next chunk was expected, and some of which was shown before.
inline bool is_half_an_end(std::string_view chunk) {
  return chunk.size() == 4 && chunk.starts_with("0\r\n");
}

}  // namespace dw::client
