// Run while building: packs the tz database of this machine into numbers for compiled_zones.cpp.
//   zone_packer DIRECTORY OUTPUT
#include "machine/zone_directory.hpp"
#include "schedule/zone_pack.hpp"

#include <cstdio>
#include <fstream>
#include <map>

int main(int count, char** arguments) {
  if (count != 3) return 2;
  const std::filesystem::path directory{arguments[1]};
  std::map<std::string, dw::schedule::ZoneData> zones;
  for (const auto& name : dw::machine::zones_in(directory)) {
    const auto zone = dw::schedule::parse_zone(name, dw::machine::zone_bytes(directory, name));
    if (!zone) {
      std::fprintf(stderr, "%s\n", zone.error().message.c_str());
      return 1;
    }
    zones.emplace(name, dw::schedule::since_1970(*zone));
  }
  if (zones.empty()) {
    std::fprintf(stderr, "no time zones in %s: install tzdata, or set DW_ZONEINFO_DIR\n",
                 arguments[1]);
    return 1;
  }
  const auto packed = dw::schedule::pack_zones(dw::machine::release_of(directory), zones);
  std::ofstream out{arguments[2]};
  for (std::size_t i = 0; i < packed.size(); ++i) {
    out << static_cast<unsigned>(static_cast<unsigned char>(packed[i]))
        << (i % 32 == 31 ? ",\n" : ",");
  }
  out.close();
  return out ? 0 : 1;
}
