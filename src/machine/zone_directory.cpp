#include "machine/zone_directory.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>

namespace dw::machine {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t largest_zone_file = 1 << 20;

std::string first_bytes(const fs::path& path, std::size_t most) {
  std::ifstream file{path, std::ios::binary};
  std::string bytes(most, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(most));
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  return bytes;
}

// Zones begin with a capital. What does not (posixrules, localtime, right/) is about the machine,
// or counts leap seconds.
bool may_be_a_zone(const std::string& name) {
  const bool plain = std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' ||
           c == '_' || c == '-' || c == '+';
  });
  return plain && !name.empty() && name.front() >= 'A' && name.front() <= 'Z';
}

std::string first_line(const fs::path& path) {
  std::ifstream file{path};
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace

std::vector<std::string> zones_in(const fs::path& directory) {
  std::vector<std::string> names;
  std::error_code error;
  fs::recursive_directory_iterator entries{directory, error};
  for (; !error && entries != fs::recursive_directory_iterator{}; entries.increment(error)) {
    const auto name = entries->path().lexically_relative(directory).generic_string();
    if (!may_be_a_zone(name)) {
      entries.disable_recursion_pending();
      continue;
    }
    std::error_code unreadable;
    if (!entries->is_regular_file(unreadable)) continue;
    if (first_bytes(entries->path(), 4) == "TZif") names.push_back(name);
  }
  std::ranges::sort(names);
  return names;
}

std::string zone_bytes(const fs::path& directory, const std::string& name) {
  return first_bytes(directory / name, largest_zone_file);
}

std::string release_of(const fs::path& directory) {
  constexpr std::string_view mark = "# version ";
  const auto line = first_line(directory / "tzdata.zi");
  if (line.starts_with(mark)) return line.substr(mark.size());
  for (const char* file : {"+VERSION", "version"}) {
    if (auto release = first_line(directory / file); !release.empty()) return release;
  }
  return "";
}

}  // namespace dw::machine
