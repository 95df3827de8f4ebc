#include "cli/given.hpp"

#include "cli/grammar.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

namespace dw::cli {
namespace {

std::optional<std::int64_t> number_in(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool all = error == std::errc{} && end == text.data() + text.size() && !text.empty();
  return all ? std::optional{number} : std::nullopt;
}

std::string range_of(std::int64_t least, std::int64_t most) {
  return most == INT64_MAX ? fmt::format("a whole number from {}", least)
                           : fmt::format("a whole number from {} to {}", least, most);
}

// One word of a command line after the other.
class Reader {
 public:
  Reader(const Command& command, const std::vector<std::string>& words)
      : command_(command), words_(words) {}

  Outcome<Given> read() {
    while (at_ < words_.size()) {
      const std::string& word = words_[at_++];
      std::optional<Failure> wrong;
      if (!options_ended_ && word == "--") {
        options_ended_ = true;
      } else if (!options_ended_ && word.starts_with("--")) {
        wrong = long_option(word.substr(2));
      } else if (!options_ended_ && word.size() > 1 && word.front() == '-') {
        wrong = short_options(word.substr(1));
      } else {
        wrong = argument(word);
      }
      if (wrong) return *std::move(wrong);
    }
    if (given_.flag("help") || given_.flag("version")) return std::move(given_);
    if (auto wrong = complete()) return *std::move(wrong);
    return std::move(given_);
  }

 private:
  Failure refuse(std::string_view what) const {
    return invalid_input(fmt::format("{}: {}; `dw help {}` shows what it takes", command_.name,
                                     what, command_.name));
  }

  std::optional<Failure> long_option(const std::string& text) {
    const auto equals = text.find('=');
    const std::string name = text.substr(0, equals);
    const Option* option = find_option(command_, name);
    if (!option) return unknown_option(name);
    if (equals == std::string::npos) return value_of(*option, std::nullopt);
    if (option->kind == Kind::flag) return refuse(fmt::format("--{} takes no value", name));
    return value_of(*option, text.substr(equals + 1));
  }

  // -qv is -q -v; -tshop is -t shop.
  std::optional<Failure> short_options(const std::string& letters) {
    for (std::size_t i = 0; i < letters.size(); ++i) {
      const Option* option = find_option(command_, letters[i]);
      if (!option) return refuse(fmt::format("there is no option -{}", letters[i]));
      if (option->kind == Kind::flag) {
        given_.say(option->name, "");
        continue;
      }
      std::string rest = letters.substr(i + 1);
      if (rest.starts_with('=')) rest.erase(0, 1);
      return value_of(*option, rest.empty() ? std::nullopt : std::optional{std::move(rest)});
    }
    return std::nullopt;
  }

  std::optional<Failure> value_of(const Option& option, std::optional<std::string> value) {
    if (option.kind == Kind::flag) return given_.say(option.name, ""), std::nullopt;
    if (!value) {
      if (at_ == words_.size()) return refuse(fmt::format("--{} needs a value", option.name));
      value = words_[at_++];
    }
    if (auto wrong = check(option, *value)) return wrong;
    given_.say(option.name, *std::move(value));
    return std::nullopt;
  }

  std::optional<Failure> check(const Option& option, const std::string& value) const {
    if (value.empty()) return std::nullopt;  // as if it had not been given
    if (option.kind == Kind::whole) {
      const auto number = number_in(value);
      if (!number || *number < option.least || *number > option.most) {
        return refuse(fmt::format("--{} must be {}, not '{}'", option.name,
                                  range_of(option.least, option.most), value));
      }
    }
    if (option.kind == Kind::pairs && value.find('=') == std::string::npos) {
      return refuse(fmt::format("--{} must be key=value, not '{}'", option.name, value));
    }
    // What the server publishes is checked with the server.
    if (option.choices.empty() || !option.contract.empty()) return std::nullopt;
    if (std::ranges::find(option.choices, value) != option.choices.end()) return std::nullopt;
    return refuse(fmt::format("--{} must be one of {}, not '{}'", option.name,
                              fmt::join(option.choices, ", "), value));
  }

  Failure unknown_option(const std::string& name) const {
    std::vector<std::string> names;
    for (const Option* option : options_of(command_)) names.emplace_back(option->name);
    const auto meant = near_miss(name, names);
    if (!meant) return refuse(fmt::format("there is no option --{}", name));
    return refuse(fmt::format("there is no option --{}, did you mean --{}?", name, *meant));
  }

  std::optional<Failure> argument(const std::string& word) {
    if (arguments_ == command_.arguments.size()) {
      return refuse(fmt::format("'{}' is one argument too many", word));
    }
    const Argument& next = command_.arguments[arguments_++];
    if (word.empty()) return refuse(fmt::format("<{}> must not be empty", next.name));
    if (next.kind == Kind::whole && number_in(word).value_or(0) < 1) {
      return refuse(
          fmt::format("<{}> must be {}, not '{}'", next.name, range_of(1, INT64_MAX), word));
    }
    given_.say(next.name, word);
    return std::nullopt;
  }

  std::optional<Failure> complete() {
    for (const Argument& wanted : command_.arguments) {
      if (wanted.required && !given_.was_said(wanted.name)) {
        return refuse(fmt::format("<{}> is missing", wanted.name));
      }
    }
    for (const Option* option : options_of(command_)) {
      if (option->required && given_.text(option->name).empty()) {
        return refuse(fmt::format("--{} is missing", option->name));
      }
      if (!option->fallback.empty()) given_.assume(option->name, option->fallback);
    }
    return std::nullopt;
  }

  const Command& command_;
  const std::vector<std::string>& words_;
  Given given_;
  std::size_t at_ = 0;
  std::size_t arguments_ = 0;
  bool options_ended_ = false;
};

}  // namespace

std::string Given::text(std::string_view name) const {
  if (const auto said = said_.find(name); said != said_.end()) {
    if (!said->second.back().empty()) return said->second.back();
  }
  const auto assumed = assumed_.find(name);
  return assumed == assumed_.end() ? std::string{} : assumed->second;
}

std::optional<std::int64_t> Given::whole(std::string_view name) const {
  return number_in(text(name));
}

const std::vector<std::string>& Given::all(std::string_view name) const {
  static const std::vector<std::string> none;
  const auto said = said_.find(name);
  return said == said_.end() ? none : said->second;
}

void Given::say(std::string_view name, std::string value) {
  said_[std::string{name}].push_back(std::move(value));
}

void Given::assume(std::string_view name, std::string_view value) {
  assumed_[std::string{name}] = value;
}

Outcome<Given> parse_given(const Command& command, const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (word == "--") break;
    if (word != "--help" && word != "-h") continue;
    Given given;
    given.say("help", "");
    return given;
  }
  return Reader{command, words}.read();
}

std::optional<bool> parse_yes_no(std::string_view text) {
  std::string lower{text};
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  });
  if (lower == "true" || lower == "yes" || lower == "on" || lower == "1") return true;
  if (lower == "false" || lower == "no" || lower == "off" || lower == "0") return false;
  return std::nullopt;
}

}  // namespace dw::cli
