// Time zones by name: from the tz database of the system, and where that has none, from the copy
// that was compiled in. Whoever asks from several threads is answered.
#pragma once
#include "schedule/zone.hpp"
#include "schedule/zone_pack.hpp"

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace dw::machine {

inline constexpr const char* system_zone_directory = "/usr/share/zoneinfo";

// What was there when this was built: 1970 and later.
const schedule::ZonePack& compiled_zones();

class ZoneFiles {
 public:
  explicit ZoneFiles(std::filesystem::path directory = system_zone_directory,
                     const schedule::ZonePack& compiled = compiled_zones());

  // Spelled exactly as in the database, links included; null when there is no such zone. A file
  // that is damaged counts as none, and the copy steps in. UTC is always there.
  std::shared_ptr<const schedule::Zone> find(std::string_view name);

  // Every name that find() knows, in order.
  std::vector<std::string> names() const;

  // "2025b", of the system's database or else of the copy; empty when neither tells.
  std::string release() const;
  // Whether the system has a database at all.
  bool from_system() const;

  // Looks again at the directory. Returns the zones that were asked for before and whose rules are
  // others now, or which are gone: what was computed with them is out of date. A zone whose rules
  // are the same stays the same object.
  std::vector<std::string> reload();
  // Whether a zone that was asked for has been written again since it was read: a look at each of
  // their files, none of which is opened.
  bool written_since() const;

 private:
  struct Known {
    std::shared_ptr<const schedule::Zone> zone;
    std::optional<std::filesystem::file_time_type> written;  // absent: it has no file
  };
  using Zones = std::map<std::string, Known, std::less<>>;

  void look();
  std::optional<std::filesystem::file_time_type> written(const std::string& name) const;
  std::shared_ptr<const schedule::Zone> load(const std::string& name) const;

  const std::filesystem::path directory_;
  const schedule::ZonePack& compiled_;
  mutable std::mutex mutex_;
  std::set<std::string, std::less<>> listed_;  // guarded by mutex_, as all below
  std::string release_;
  Zones known_;
};

}  // namespace dw::machine
