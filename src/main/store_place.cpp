#include "main/store_place.hpp"

#include <fmt/format.h>

#include <filesystem>

namespace dw::app {

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
  std::filesystem::create_directories(place.data_dir);
  return (std::filesystem::path{place.data_dir} / "dw.db").string();
}

}  // namespace dw::app
