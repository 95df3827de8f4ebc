#include "schedule/zone_pack.hpp"

#include <algorithm>
#include <numeric>

namespace dw::schedule {
namespace {

// Whether the footer alone would bring about the last change, right after the one before it.
bool footer_tells_the_last(const ZoneData& data, const Zone& by_footer) {
  if (data.transitions.size() < 2) return false;
  const Transition& last = data.transitions.back();
  const Transition& before = data.transitions[data.transitions.size() - 2];
  const Period told = by_footer.period_at(last.at - chrono::seconds{1});
  return told.begin == before.at && told.end == last.at && told.offset == before.offset &&
         told.after == last.offset;
}

// ---- numbers of few bytes

void put(std::string& out, std::uint64_t number) {
  for (; number >= 0x80; number >>= 7) out += static_cast<char>(number | 0x80);
  out += static_cast<char>(number);
}

void put_signed(std::string& out, std::int64_t number) {
  put(out, static_cast<std::uint64_t>(number) << 1 ^ static_cast<std::uint64_t>(number >> 63));
}

void put_text(std::string& out, std::string_view text) {
  put(out, text.size());
  out += text;
}

// After the first miss every further read gives nothing.
class PackReader {
 public:
  explicit PackReader(std::string_view bytes) : bytes_(bytes) {}

  bool ok() const { return ok_; }
  std::string_view rest() const { return bytes_; }
  bool at_end() const { return bytes_.empty(); }

  std::uint64_t number() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64 && !bytes_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes_.front());
      bytes_.remove_prefix(1);
      value |= std::uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) return value;
    }
    ok_ = false;
    return 0;
  }
  std::int64_t signed_number() {
    const auto value = number();
    return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
  }
  // How many of something follow, each at least a byte long.
  std::size_t count() {
    const auto value = number();
    if (value > bytes_.size()) ok_ = false;
    return ok_ ? static_cast<std::size_t>(value) : 0;
  }
  std::string text() {
    const auto length = count();
    std::string value{bytes_.substr(0, length)};
    bytes_.remove_prefix(length);
    return value;
  }

 private:
  std::string_view bytes_;
  bool ok_ = true;
};

// ---- one zone

std::int64_t unit_of(const ZoneData& data) {
  std::int64_t unit = 0;
  for (const Transition& change : data.transitions) {
    unit = std::gcd(unit, change.at.time_since_epoch().count());
  }
  return std::max<std::int64_t>(unit, 1);
}

// Changes are told by their distance, in the zone's own unit of time, and by which of its few
// offsets comes next: two or three bytes each.
void put_zone(std::string& out, const ZoneData& data) {
  std::vector<std::int64_t> offsets;
  for (const Transition& change : data.transitions) offsets.push_back(change.offset.count());
  std::ranges::sort(offsets);
  offsets.erase(std::unique(offsets.begin(), offsets.end()), offsets.end());

  put_signed(out, data.first_offset.count());
  put_text(out, data.footer);
  put(out, offsets.size());
  for (const auto offset : offsets) put_signed(out, offset);
  const auto unit = unit_of(data);
  put(out, static_cast<std::uint64_t>(unit));
  put(out, data.transitions.size());
  std::int64_t last = 0;
  for (const Transition& change : data.transitions) {
    const auto at = change.at.time_since_epoch().count() / unit;
    const auto which = std::ranges::lower_bound(offsets, change.offset.count()) - offsets.begin();
    put(out,
        static_cast<std::uint64_t>(at - last) * offsets.size() + static_cast<std::uint64_t>(which));
    last = at;
  }
}

ZoneData take_zone(PackReader& in) {
  ZoneData data;
  data.first_offset = chrono::seconds{in.signed_number()};
  data.footer = in.text();
  std::vector<chrono::seconds> offsets(in.count());
  for (auto& offset : offsets) offset = chrono::seconds{in.signed_number()};
  const auto unit = static_cast<std::int64_t>(in.number());
  const auto count = in.count();
  std::int64_t at = 0;
  for (std::size_t i = 0; i < count && in.ok() && !offsets.empty(); ++i) {
    const auto told = in.number();
    at += static_cast<std::int64_t>(told / offsets.size());
    data.transitions.push_back(
        {chrono::sys_seconds{chrono::seconds{at * unit}}, offsets[told % offsets.size()]});
  }
  return data;
}

}  // namespace

ZoneData since_1970(const Zone& zone) {
  const chrono::sys_seconds epoch{};
  ZoneData data{zone.offset_at(epoch), {}, zone.data().footer};
  const auto by_footer = make_zone(zone.name(), {.footer = data.footer});
  const bool goes_on_changing = by_footer && by_footer->next_transition(epoch);
  const auto& listed = zone.data().transitions;
  for (const Transition& change : listed) {
    const auto last = data.transitions.empty() ? data.first_offset : data.transitions.back().offset;
    // The last one stays even when it changes nothing: the footer's changes have no say before it.
    const bool needed = change.offset != last || (goes_on_changing && &change == &listed.back());
    if (change.at > epoch && needed) data.transitions.push_back(change);
  }
  while (by_footer && footer_tells_the_last(data, *by_footer)) data.transitions.pop_back();
  return data;
}

std::string pack_zones(std::string_view release, const std::map<std::string, ZoneData>& zones) {
  std::map<std::string, std::size_t> places;  // of what a zone looks like when packed
  std::string bodies;
  std::string names;
  for (const auto& [name, data] : zones) {
    std::string body;
    put_zone(body, data);
    const auto [place, added] = places.emplace(std::move(body), places.size());
    if (added) bodies += place->first;
    put_text(names, name);
    put(names, place->second);
  }
  std::string packed;
  put_text(packed, release);
  put(packed, places.size());
  packed += bodies;
  put(packed, zones.size());
  packed += names;
  return packed;
}

ZonePack::ZonePack(std::string_view bytes) {
  PackReader in{bytes};
  release_ = in.text();
  zones_.resize(in.count());
  for (auto& zone : zones_) {
    zone = in.rest();
    take_zone(in);
  }
  const auto count = in.count();
  for (std::size_t i = 0; i < count; ++i) {
    auto name = in.text();
    const auto place = in.number();
    if (place < zones_.size()) names_.emplace(std::move(name), static_cast<std::size_t>(place));
  }
  if (!in.ok() || !in.at_end()) names_.clear();
}

std::vector<std::string> ZonePack::names() const {
  std::vector<std::string> names;
  for (const auto& [name, place] : names_) names.push_back(name);
  return names;
}

std::optional<ZoneData> ZonePack::find(std::string_view name) const {
  const auto found = names_.find(name);
  if (found == names_.end()) return std::nullopt;
  PackReader in{zones_[found->second]};
  return take_zone(in);
}

}  // namespace dw::schedule
