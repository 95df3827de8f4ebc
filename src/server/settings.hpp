// Everything that can be set about a server, in one table: how the setting is called in the file,
// in the environment and on the command line, what it may be, and what it is if nobody says. The
// command line goes before the environment, that before the file, that before the default.
// Pure: text in, values or a refusal out. docs/configuration.md is checked against the table.
#pragma once
#include <dw/result.hpp>

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dw::server {

enum class SettingKind { text, number, on_off, choice, secret };

struct Setting {
  std::string_view name;      // "log.level": a table and a key in the file
  std::string_view variable;  // "DW_LOG_LEVEL"; empty: not in the environment
  std::string_view flag;      // "--log-level"; empty: not on the command line
  SettingKind kind = SettingKind::text;
  std::string_view fallback;  // as text, like every value
  std::string_view values;    // "text|json", "1..64", or what a text stands for: "FILE"
  std::string_view help;
  bool in_file = true;
};
std::span<const Setting> settings();
const Setting* find_setting(std::string_view name);

// By name, as text. What a command line or a file gave.
using GivenSettings = std::map<std::string, std::string, std::less<>>;
// Variables by name, as the process was given them.
using Environment = std::map<std::string, std::string, std::less<>>;

// A file's values. `where` of a value is for messages: "dw.toml:7".
struct SettingsFile {
  struct Value {
    std::string text;
    std::string where;
  };
  std::map<std::string, Value, std::less<>> values;
};

class Settings {
 public:
  enum class Origin { fallback, file, environment, flag };

  // Asking for a name that is not in the table, or as the wrong kind, is a bug of ours.
  const std::string& text(std::string_view name) const;
  std::int64_t number(std::string_view name) const;
  bool on(std::string_view name) const;
  Origin origin(std::string_view name) const;
  bool given(std::string_view name) const { return origin(name) != Origin::fallback; }

 private:
  friend Result<Settings> resolve(const GivenSettings& flags, const Environment& environment,
                                  const SettingsFile& file);
  struct Entry {
    std::string text;
    Origin origin = Origin::fallback;
  };
  const Entry& entry(std::string_view name, std::optional<SettingKind> kind) const;
  std::map<std::string, Entry, std::less<>> entries_;
};

// Fails with invalid_argument, naming the flag, the variable or the line that cannot be. A variable
// that is set to nothing counts as not set; DW_V2_X may also be called WORKFLOW_V2_X.
Result<Settings> resolve(const GivenSettings& flags, const Environment& environment,
                         const SettingsFile& file);

// May this stand for that setting? Otherwise invalid_argument; a secret is not repeated.
Result<void> check_value(const Setting& setting, std::string_view text);

// The candidate that is spelled most like it, if any comes close.
std::optional<std::string_view> nearest(std::string_view word,
                                        std::span<const std::string_view> candidates);

// The table as the documentation shows it, one row for each setting.
std::string settings_in_markdown();

}  // namespace dw::server
