// A tz database as it lies on a disk: a directory of TZif files, named as the zones are.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace dw::machine {

// Every zone and link, in order, spelled as in the database; none when there is no such directory.
// Only what is listed here is ever opened, so no name that somebody sends becomes a path.
std::vector<std::string> zones_in(const std::filesystem::path& directory);

// Empty when it cannot be read.
std::string zone_bytes(const std::filesystem::path& directory, const std::string& name);

// "2025b"; empty when the database does not tell.
std::string release_of(const std::filesystem::path& directory);

}  // namespace dw::machine
