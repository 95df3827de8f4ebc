#include "machine/zone_files.hpp"

namespace dw::machine {
namespace {

// Written by zone_packer while building.
constexpr unsigned char packed_zones[] = {
#include "compiled_zones.inc"
};

}  // namespace

const schedule::ZonePack& compiled_zones() {
  static const schedule::ZonePack pack{
      {reinterpret_cast<const char*>(packed_zones), sizeof packed_zones}};
  return pack;
}

}  // namespace dw::machine
