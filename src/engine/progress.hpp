// What a running activity may say about how far it got.
#pragma once
#include <dw/result.hpp>
#include <dw/value.hpp>

namespace dw::engine {

// One object: message (1 to 280 characters), current and total (finite, not negative), unit (1 to
// 64, only beside one of them), details (up to 20 scalars by name). Trimmed, whole numbers as such,
// details sorted. Fails with invalid_argument and says which key is wrong.
Result<Value> normalize_progress(const Value& progress);

}  // namespace dw::engine
