#include "schedule/zone_story.hpp"

#include "core/unwrap.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>

namespace dw::schedule {
namespace {

std::string bytes_of(const std::string& path) {
  std::ifstream file{path, std::ios::binary};
  if (!file) throw std::runtime_error{path + " is not there"};
  return {std::istreambuf_iterator<char>{file}, {}};
}

}  // namespace

std::string zone_file(std::string_view name) {
  return bytes_of(std::string{DW_ZONEINFO_DIR "/"}.append(name));
}

const Zone& zone_named(std::string_view name) {
  static std::map<std::string, Zone, std::less<>> known;
  auto found = known.find(name);
  if (found == known.end()) {
    auto zone = unwrap(parse_zone(std::string{name}, zone_file(name)));
    found = known.emplace(std::string{name}, std::move(zone)).first;
  }
  return found->second;
}

std::vector<std::string> zones_that_differ() {
  const std::filesystem::path root{DW_ZONEINFO_DIR};
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator{root}) {
    const std::string name = entry.path().lexically_relative(root).string();
    // The same again, with leap seconds or under another name.
    if (name.starts_with("right/") || name.starts_with("posix/")) continue;
    if (entry.is_regular_file() && zone_file(name).starts_with("TZif")) names.push_back(name);
  }
  std::ranges::sort(names);
  std::vector<std::string> different;
  for (const std::string& name : names) {
    const auto same = [&](const std::string& other) {
      return zone_named(other).same_rules(zone_named(name));
    };
    if (std::ranges::none_of(different, same)) different.push_back(name);
  }
  return different;
}

Timestamp instant(std::string_view text) {
  return unwrap(parse_timestamp(text));
}

std::chrono::sys_seconds second_of(std::string_view text) {
  return std::chrono::floor<std::chrono::seconds>(instant(text));
}

LocalTime wall_clock(std::string_view text) {
  const auto as_utc = std::string{text.substr(0, 10)} + "T" + std::string{text.substr(11)} + ":00Z";
  return LocalTime{second_of(as_utc).time_since_epoch()};
}

std::string written(Timestamp at) {
  return format_timestamp(at).substr(0, 19) + "Z";
}

Value schedule_vectors(const std::string& name) {
  return unwrap(parse_json(bytes_of(DW_SCHEDULE_VECTORS_DIR "/" + name)));
}

std::string text_in(const Value& object, std::string_view key) {
  const Value* value = object.find(key);
  const auto* text = value ? value->if_string() : nullptr;
  return text ? *text : "";
}

std::vector<std::string> texts_in(const Value& object, std::string_view key) {
  std::vector<std::string> texts;
  for (const Value& item : *object.find(key)->if_array()) texts.push_back(*item.if_string());
  return texts;
}

Cron cron_of(std::string_view expression) {
  auto parsed = parse_cron(expression);
  if (const auto* error = std::get_if<CronError>(&parsed)) {
    throw std::runtime_error{std::string{expression} + ": " + error->hint};
  }
  return std::get<Cron>(parsed);
}

}  // namespace dw::schedule
