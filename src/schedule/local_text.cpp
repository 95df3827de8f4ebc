#include "schedule/local_text.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

namespace dw::schedule {

std::string offset_text(chrono::seconds offset) {
  const bool west = offset < chrono::seconds{0};
  const auto minutes = chrono::floor<chrono::minutes>(west ? -offset : offset).count();
  return fmt::format("{}{:02}:{:02}", west ? '-' : '+', minutes / 60, minutes % 60);
}

std::string local_text(LocalTime local, chrono::seconds offset) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}{}", chrono::sys_seconds{local.time_since_epoch()},
                     offset_text(offset));
}

Value dst_value(Dst dst) {
  if (dst == Dst::none) return {};
  return dst == Dst::gap ? "gap" : "fold";
}

}  // namespace dw::schedule
