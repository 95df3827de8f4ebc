#include "schedule/tzif.hpp"

#include <fmt/format.h>

namespace dw::schedule {
namespace {

constexpr std::size_t header_size = 44;
constexpr std::size_t type_size = 6;

Error bad_tzif(std::string_view what) {
  return {ErrorCode::invalid_argument, fmt::format("no TZif file: {}", what)};
}

// Most significant byte first, two's complement.
template <typename Int>
Int big_endian(const char* bytes) {
  std::make_unsigned_t<Int> value = 0;
  for (std::size_t i = 0; i < sizeof(Int); ++i) {
    value =
        static_cast<std::make_unsigned_t<Int>>((value << 8) | static_cast<unsigned char>(bytes[i]));
  }
  return static_cast<Int>(value);
}

struct Header {
  char version;
  std::size_t utc_flags;
  std::size_t standard_flags;
  std::size_t leaps;
  std::size_t times;
  std::size_t types;
  std::size_t characters;

  // Counts are 32 bits each, so none of this overflows.
  std::size_t block_size(std::size_t time_size) const {
    return times * (time_size + 1) + types * type_size + characters + leaps * (time_size + 4) +
           standard_flags + utc_flags;
  }
};

Result<Header> read_header(std::string_view bytes) {
  if (bytes.size() < header_size) return bad_tzif("it ends within its header");
  if (bytes.substr(0, 4) != "TZif") return bad_tzif("it does not begin with TZif");
  const auto count = [&](std::size_t which) -> std::size_t {
    return big_endian<std::uint32_t>(bytes.data() + 20 + 4 * which);
  };
  return Header{bytes[4], count(0), count(1), count(2), count(3), count(4), count(5)};
}

template <typename Time>
Result<ZoneData> read_block(const Header& header, std::string_view block) {
  if (header.leaps != 0) return bad_tzif("it counts leap seconds, which system time does not have");
  if (header.types == 0) return bad_tzif("it has no offset at all");
  const char* times = block.data();
  const char* indices = times + header.times * sizeof(Time);
  const char* types = indices + header.times;
  const auto offset_of = [&](std::size_t type) {
    return chrono::seconds{big_endian<std::int32_t>(types + type * type_size)};
  };
  ZoneData data;
  data.first_offset = offset_of(0);
  data.transitions.reserve(header.times);
  for (std::size_t i = 0; i < header.times; ++i) {
    const auto type = static_cast<unsigned char>(indices[i]);
    if (type >= header.types) return bad_tzif("a change to an offset that is not there");
    const auto at = big_endian<Time>(times + i * sizeof(Time));
    data.transitions.push_back({chrono::sys_seconds{chrono::seconds{at}}, offset_of(type)});
  }
  return data;
}

Result<std::string> read_footer(std::string_view bytes) {
  if (bytes.empty() || bytes.front() != '\n') return bad_tzif("its last line is missing");
  const auto end = bytes.find('\n', 1);
  if (end == std::string_view::npos) return bad_tzif("its last line has no end");
  return std::string{bytes.substr(1, end - 1)};
}

}  // namespace

Result<ZoneData> read_tzif(std::string_view bytes) {
  auto header = DW_TRY(read_header(bytes));
  bytes.remove_prefix(header_size);
  const auto old_size = header.block_size(sizeof(std::int32_t));
  if (bytes.size() < old_size) return bad_tzif("it ends within its first block");
  if (header.version < '2') return read_block<std::int32_t>(header, bytes.substr(0, old_size));

  bytes.remove_prefix(old_size);
  header = DW_TRY(read_header(bytes));
  bytes.remove_prefix(header_size);
  const auto size = header.block_size(sizeof(std::int64_t));
  if (bytes.size() < size) return bad_tzif("it ends within its second block");
  auto data = DW_TRY(read_block<std::int64_t>(header, bytes.substr(0, size)));
  data.footer = DW_TRY(read_footer(bytes.substr(size)));
  return data;
}

}  // namespace dw::schedule
