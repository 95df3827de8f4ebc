// The bytes of a zone file, which lie on somebody's disk. Whatever they are, they are a zone or
// refused; a zone knows every instant, and its periods fit together.
#include "core/utf8.hpp"
#include "fuzz.hpp"
#include "schedule/zone_pack.hpp"

using dw::fuzz::must_hold;
using namespace dw::schedule;
using std::chrono::seconds;
using std::chrono::sys_seconds;

namespace {

void expect_whole(const Zone& zone, sys_seconds at) {
  const Period period = zone.period_at(at);
  must_hold(period.begin <= at && at < period.end, "an instant is in its period");
  if (period.end != forever) {
    const Period later = zone.period_at(period.end);
    must_hold(later.begin == period.end, "one period follows another");
    must_hold(later.offset == period.after && later.before == period.offset, "they agree");
  }
  const auto mapping = zone.instants_of(zone.local_at(at));
  must_hold(mapping.first <= mapping.second, "the first pass comes first");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = dw::fuzz::text_of(data, size);
  const ZonePack pack{bytes};
  for (const auto& name : pack.names()) (void)pack.find(name);
  const auto zone = parse_zone("Test/Zone", bytes);
  if (!zone) {
    must_hold(zone.error().code == dw::ErrorCode::invalid_argument, "the bytes are at fault");
    must_hold(dw::is_utf8(zone.error().message), "the text can be sent as JSON");
    return 0;
  }
  constexpr std::int64_t instants[] = {-5'000'000'000, 0, 1'800'000'000, 4'102'444'800,
                                       250'000'000'000};
  for (const std::int64_t at : instants) {
    expect_whole(*zone, sys_seconds{seconds{at}});
  }
  const auto packed = make_zone("Test/Zone", since_1970(*zone));
  must_hold(packed.has_value(), "what is packed is still a zone");
  must_hold(packed->offset_at(sys_seconds{seconds{1}}) == zone->offset_at(sys_seconds{seconds{1}}),
            "and tells the same");
  return 0;
}
