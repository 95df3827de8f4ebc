#include "machine/zone_files.hpp"

#include "machine/zone_directory.hpp"

#include <algorithm>
#include <utility>

namespace dw::machine {

ZoneFiles::ZoneFiles(std::filesystem::path directory, const schedule::ZonePack& compiled)
    : directory_(std::move(directory)), compiled_(compiled) {
  look();
}

void ZoneFiles::look() {
  listed_.clear();
  for (auto& name : zones_in(directory_)) listed_.insert(std::move(name));
  release_ = release_of(directory_);
}

std::shared_ptr<const schedule::Zone> ZoneFiles::load(const std::string& name) const {
  if (listed_.contains(name)) {
    if (auto zone = schedule::parse_zone(name, zone_bytes(directory_, name))) {
      return std::make_shared<schedule::Zone>(*std::move(zone));
    }
  }
  if (auto data = compiled_.find(name)) {
    if (auto zone = schedule::make_zone(name, *std::move(data))) {
      return std::make_shared<schedule::Zone>(*std::move(zone));
    }
  }
  if (name == "UTC") return std::make_shared<schedule::Zone>(schedule::Zone::utc());
  return nullptr;
}

std::shared_ptr<const schedule::Zone> ZoneFiles::find(std::string_view name) {
  const std::lock_guard lock{mutex_};
  if (const auto known = known_.find(name); known != known_.end()) {
    return known->second.zone;
  }
  std::string exact{name};
  const auto written_before = written(exact);
  auto zone = load(exact);
  // What is not there is not remembered: strangers may ask for any number of names.
  if (zone) known_.emplace(std::move(exact), Known{zone, written_before});
  return zone;
}

std::vector<std::string> ZoneFiles::names() const {
  const std::lock_guard lock{mutex_};
  std::set<std::string> all{listed_.begin(), listed_.end()};
  for (auto& name : compiled_.names()) all.insert(std::move(name));
  all.insert("UTC");
  return {all.begin(), all.end()};
}

std::string ZoneFiles::release() const {
  const std::lock_guard lock{mutex_};
  return listed_.empty() ? compiled_.release() : release_;
}

bool ZoneFiles::from_system() const {
  const std::lock_guard lock{mutex_};
  return !listed_.empty();
}

std::vector<std::string> ZoneFiles::reload() {
  const std::lock_guard lock{mutex_};
  look();
  const Zones before = std::exchange(known_, {});
  std::vector<std::string> changed;
  for (const auto& [name, known] : before) {
    const auto written_now = written(name);
    auto now = load(name);
    const bool same = now != nullptr && now->same_rules(*known.zone);
    if (!same) changed.push_back(name);
    if (now != nullptr) known_.emplace(name, Known{same ? known.zone : now, written_now});
  }
  return changed;
}

std::optional<std::filesystem::file_time_type> ZoneFiles::written(const std::string& name) const {
  if (!listed_.contains(name)) return std::nullopt;
  std::error_code absent;
  const auto at = std::filesystem::last_write_time(directory_ / name, absent);
  return absent ? std::nullopt : std::optional{at};
}

bool ZoneFiles::written_since() const {
  const std::lock_guard lock{mutex_};
  return std::ranges::any_of(
      known_, [this](const auto& entry) { return written(entry.first) != entry.second.written; });
}

}  // namespace dw::machine
