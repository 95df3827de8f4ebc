#include "server/settings.hpp"

#include "core/assert.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace dw::server {
namespace {

std::optional<std::int64_t> parsed_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string lowered(std::string_view text) {
  std::string low{text};
  std::ranges::transform(low, low.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return low;
}

std::optional<bool> yes_or_no(std::string_view text) {
  const std::string word = lowered(text);
  if (word == "true" || word == "1" || word == "yes" || word == "on") return true;
  if (word == "false" || word == "0" || word == "no" || word == "off") return false;
  return std::nullopt;
}

// "1..64"
std::pair<std::int64_t, std::int64_t> bounds_of(const Setting& setting) {
  const auto dots = setting.values.find("..");
  DW_ASSERT(dots != std::string_view::npos, "a number's bounds are in the table");
  return {*parsed_number(setting.values.substr(0, dots)),
          *parsed_number(setting.values.substr(dots + 2))};
}

// "text|json"
std::vector<std::string_view> choices_of(const Setting& setting) {
  std::vector<std::string_view> choices;
  for (std::string_view rest = setting.values; !rest.empty();) {
    const auto bar = rest.find('|');
    choices.push_back(rest.substr(0, bar));
    rest = bar == std::string_view::npos ? std::string_view{} : rest.substr(bar + 1);
  }
  return choices;
}

Error unfit(std::string message) {
  return {ErrorCode::invalid_argument, std::move(message)};
}

struct FoundSetting {
  std::string text;
  std::string where;  // a flag, a variable, a line of the file
  Settings::Origin origin;
};

std::optional<FoundSetting> in_environment(const Setting& setting, const Environment& environment) {
  constexpr std::string_view prefix = "DW_V2_";
  std::vector<std::string> names{std::string{setting.variable}};
  if (setting.variable.starts_with(prefix)) {
    names.push_back("WORKFLOW_V2_" + std::string{setting.variable.substr(prefix.size())});
  }
  for (const auto& name : names) {
    const auto found = environment.find(name);
    if (found == environment.end() || found->second.empty()) continue;
    return FoundSetting{found->second, name, Settings::Origin::environment};
  }
  return std::nullopt;
}

std::optional<FoundSetting> look_for(const Setting& setting, const GivenSettings& flags,
                                     const Environment& environment, const SettingsFile& file) {
  if (const auto flag = flags.find(setting.name); flag != flags.end()) {
    return FoundSetting{flag->second, std::string{setting.flag}, Settings::Origin::flag};
  }
  if (auto variable = in_environment(setting, environment)) return variable;
  if (const auto line = file.values.find(setting.name); line != file.values.end()) {
    return FoundSetting{line->second.text, fmt::format("{}: {}", line->second.where, setting.name),
                        Settings::Origin::file};
  }
  return std::nullopt;
}

// How many letters must be put in, taken out or changed to make one of the other.
std::size_t edits_between(std::string_view left, std::string_view right) {
  std::vector<std::size_t> row(right.size() + 1);
  for (std::size_t j = 0; j <= right.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= left.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= right.size(); ++j) {
      const std::size_t changed = diagonal + (left[i - 1] == right[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({changed, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

Result<void> check_value(const Setting& setting, std::string_view text) {
  switch (setting.kind) {
    case SettingKind::text:
    case SettingKind::secret:
      return {};
    case SettingKind::on_off:
      if (yes_or_no(text)) return {};
      return unfit(fmt::format("'{}' is neither true nor false", text));
    case SettingKind::number: {
      const auto [least, most] = bounds_of(setting);
      const auto number = parsed_number(text);
      if (number && *number >= least && *number <= most) return {};
      return unfit(fmt::format("'{}' is not a number from {} to {}", text, least, most));
    }
    case SettingKind::choice: {
      const auto choices = choices_of(setting);
      if (std::ranges::find(choices, text) != choices.end()) return {};
      return unfit(fmt::format("'{}' is none of {}", text, fmt::join(choices, ", ")));
    }
  }
  return {};
}

Result<Settings> resolve(const GivenSettings& flags, const Environment& environment,
                         const SettingsFile& file) {
  Settings settled;
  for (const Setting& setting : settings()) {
    auto& entry = settled.entries_[std::string{setting.name}];
    const auto found = look_for(setting, flags, environment, file);
    if (!found) {
      entry.text = setting.fallback;
      continue;
    }
    if (const auto fits = check_value(setting, found->text); !fits) {
      return unfit(fmt::format("{}: {}", found->where, fits.error().message));
    }
    entry = {found->text, found->origin};
  }
  return settled;
}

const Settings::Entry& Settings::entry(std::string_view name,
                                       std::optional<SettingKind> kind) const {
  const Setting* setting = find_setting(name);
  const auto found = entries_.find(name);
  DW_ASSERT(setting && found != entries_.end(), "settings are asked for by names of the table");
  DW_ASSERT(!kind || setting->kind == *kind, "a setting is read as what it is");
  return found->second;
}

const std::string& Settings::text(std::string_view name) const {
  return entry(name, std::nullopt).text;
}

std::int64_t Settings::number(std::string_view name) const {
  return parsed_number(entry(name, SettingKind::number).text).value_or(0);
}

bool Settings::on(std::string_view name) const {
  return yes_or_no(entry(name, SettingKind::on_off).text).value_or(false);
}

Settings::Origin Settings::origin(std::string_view name) const {
  return entry(name, std::nullopt).origin;
}

std::optional<std::string_view> nearest(std::string_view word,
                                        std::span<const std::string_view> candidates) {
  std::optional<std::string_view> best;
  std::size_t fewest = word.size() / 3 + 1;  // beyond it a resemblance is an accident
  for (const auto candidate : candidates) {
    const auto edits = edits_between(word, candidate);
    if (edits > fewest || (best && edits == fewest)) continue;
    best = candidate;
    fewest = edits;
  }
  return best;
}

}  // namespace dw::server
