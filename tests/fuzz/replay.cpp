// Runs a target over the files it is given, and over all that lie in the directories it is given.
// Every finding of the fuzzers is kept as such a file, so this is what keeps them found, with any
// compiler.
#include "fuzz.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

std::vector<std::filesystem::path> files_of(const std::filesystem::path& path) {
  if (!std::filesystem::is_directory(path)) return {path};
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator{path}) files.push_back(entry.path());
  return files;
}

}  // namespace

int main(int count, char** arguments) {
  std::size_t replayed = 0;
  for (int i = 1; i < count; ++i) {
    for (const auto& file : files_of(arguments[i])) {
      std::ifstream stream{file, std::ios::binary};
      if (!stream) {
        std::fprintf(stderr, "%s cannot be read\n", file.c_str());
        return 1;
      }
      const std::string bytes{std::istreambuf_iterator<char>{stream}, {}};
      std::printf("%s\n", file.c_str());
      std::fflush(stdout);  // the last line names the file that broke it
      LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
      ++replayed;
    }
  }
  std::printf("%zu inputs replayed\n", replayed);
  return replayed == 0 ? 1 : 0;
}
