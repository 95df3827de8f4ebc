// Which sources this program was built of, as far as git knew: "unknown" twice where it did not.
#pragma once
#include <string_view>

namespace dw::app {

// "7961e950579a", and "-dirty" behind it when files had been changed since.
std::string_view built_of_commit();
// When that commit was made, "2026-11-18T22:02:35Z": the same sources give the same program.
std::string_view committed_at();

}  // namespace dw::app
