// What workers elsewhere were told about the tasks they completed, kept with the run: whoever did
// not hear the answer asks again, and is told the same. Only the last ones: nobody asks again for
// long.
#pragma once
#include "history/run_state.hpp"

namespace dw::engine {

inline constexpr std::size_t most_receipts = 16;

// `receipts` and one more: as what the run stood when that completion was answered.
std::string with_receipt(std::string_view receipts, std::string_view completion,
                         history::RunStatus told);

// Absent when it was never answered, or too long ago.
std::optional<history::RunStatus> find_receipt(std::string_view receipts,
                                               std::string_view completion);

}  // namespace dw::engine
