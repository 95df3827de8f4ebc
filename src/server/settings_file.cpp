#include "server/settings_file.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

namespace dw::server {
namespace {

Error bad_file(std::string message) {
  return {ErrorCode::invalid_argument, std::move(message)};
}

std::string suggestion_for(std::string_view key) {
  std::vector<std::string_view> names;
  for (const Setting& setting : settings()) {
    if (setting.in_file) names.push_back(setting.name);
  }
  const auto close = nearest(key, names);
  if (!close) return "docs/configuration.md lists what there is";
  return fmt::format("did you mean {}?", *close);
}

std::string wanted_type(const Setting& setting) {
  switch (setting.kind) {
    case SettingKind::number:
      return "a whole number";
    case SettingKind::on_off:
      return "true or false";
    default:
      return "a text in quotes";
  }
}

// The value as text, if it has the type that the setting wants.
std::optional<std::string> text_of(const toml::node& node, const Setting& setting) {
  if (setting.kind == SettingKind::number) {
    const auto* number = node.as_integer();
    return number ? std::optional{std::to_string(number->get())} : std::nullopt;
  }
  if (setting.kind == SettingKind::on_off) {
    const auto* flag = node.as_boolean();
    return flag ? std::optional<std::string>{flag->get() ? "true" : "false"} : std::nullopt;
  }
  const auto* text = node.as_string();
  return text ? std::optional{text->get()} : std::nullopt;
}

class FileReader {
 public:
  explicit FileReader(std::string_view name) : name_(name) {}

  Result<void> read(const toml::table& section, const std::string& prefix) {
    for (const auto& [key, node] : section) {
      const std::string name = prefix + std::string{key.str()};
      if (const auto* inner = node.as_table()) {
        DW_TRY_VOID(read(*inner, name + "."));
      } else {
        DW_TRY_VOID(take(name, node));
      }
    }
    return {};
  }
  SettingsFile result() { return std::move(file_); }

 private:
  Result<void> take(const std::string& name, const toml::node& node) {
    const auto where = fmt::format("{}:{}", name_, node.source().begin.line);
    const Setting* setting = find_setting(name);
    if (setting && setting->kind == SettingKind::secret) {
      return bad_file(fmt::format(
          "{}: {} is a secret, and this file is not the place for one; set {} in the environment, "
          "or put it into a file of its own and name that as auth.…_token_file",
          where, name, setting->variable));
    }
    if (setting && !setting->in_file) {
      return bad_file(
          fmt::format("{}: {} cannot be set in a file; set {}", where, name, setting->variable));
    }
    if (!setting) {
      return bad_file(
          fmt::format("{}: there is no setting {}; {}", where, name, suggestion_for(name)));
    }
    auto text = text_of(node, *setting);
    if (!text) {
      return bad_file(fmt::format("{}: {} must be {}", where, name, wanted_type(*setting)));
    }
    file_.values[name] = {*std::move(text), where};
    return {};
  }

  const std::string_view name_;
  SettingsFile file_;
};

}  // namespace

Result<SettingsFile> parse_settings_file(std::string_view toml_text, std::string_view name) {
  try {
    const toml::table root = toml::parse(toml_text);
    FileReader reader{name};
    DW_TRY_VOID(reader.read(root, ""));
    return reader.result();
  } catch (const toml::parse_error& error) {
    return bad_file(fmt::format("{}:{}: this is not TOML: {}", name, error.source().begin.line,
                                error.description()));
  }
}

}  // namespace dw::server
