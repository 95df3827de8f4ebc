// A whole tz database in a few dozen kilobytes: what is compiled into the binary, for machines that
// have none. It tells of 1970 and later; links and zones that have agreed ever since are kept once.
#pragma once
#include "schedule/zone.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dw::schedule {

// What a zone has done since 1970, without the changes that its footer tells as well.
ZoneData since_1970(const Zone& zone);

std::string pack_zones(std::string_view release, const std::map<std::string, ZoneData>& zones);

// Reads what pack_zones wrote, which it borrows. Bytes of any other kind hold no zones.
class ZonePack {
 public:
  explicit ZonePack(std::string_view bytes);

  const std::string& release() const { return release_; }
  std::vector<std::string> names() const;
  std::optional<ZoneData> find(std::string_view name) const;

 private:
  std::string release_;
  std::vector<std::string_view> zones_;  // where each begins
  std::map<std::string, std::size_t, std::less<>> names_;
};

}  // namespace dw::schedule
