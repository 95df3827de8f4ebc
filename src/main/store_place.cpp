#include "main/store_place.hpp"

#include <dw/exceptions.hpp>

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

namespace dw::app {
namespace {

namespace fs = std::filesystem;

fs::path directory_of(const StorePlace& place) {
  return place.data_dir.empty() ? "./dw-data" : place.data_dir;
}

}  // namespace

StorePlace with_environment(StorePlace place) {
  const auto complete = [](std::string& said, const char* variable) {
    const char* value = std::getenv(variable);
    if (said.empty() && value) said = value;
  };
  complete(place.store, "DW_STORE");
  complete(place.data_dir, "DW_DATA_DIR");
  return place;
}

Result<std::string> store_file(const std::string& written) {
  constexpr std::string_view ours = "sqlite:";
  if (written.starts_with(ours)) return written.substr(ours.size());
  const auto scheme = written.find("://");
  if (scheme == std::string::npos) return written;
  return Error{ErrorCode::invalid_argument,
               fmt::format("there is no store of kind '{}': name a file, as sqlite:FILE or FILE",
                           written.substr(0, scheme))};
}

Result<std::string> store_path(const StorePlace& place) {
  if (!place.store.empty()) return store_file(place.store);
  return (directory_of(place) / "dw.db").string();
}

Result<std::string> store_path_made(const StorePlace& place) {
  if (place.store.empty()) fs::create_directories(directory_of(place));
  return store_path(place);
}

void require_store(const std::string& path) {
  if (fs::exists(path)) return;
  throw EngineError{
      {ErrorCode::not_found,
       fmt::format(
           "cannot open the store '{}': there is none; name one with --store (DW_STORE), or "
           "its directory with --data-dir (DW_DATA_DIR)",
           path)}};
}

}  // namespace dw::app
