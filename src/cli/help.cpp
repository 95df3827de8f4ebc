#include "cli/help.hpp"

#include "cli/catalogue.hpp"
#include "cli/client_commands.hpp"
#include "cli/page.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace dw::cli {
namespace {

constexpr std::string_view usual_exits =
    "Exit codes: 0 done, 1 did not succeed, 2 wrong usage or refused request, 3 server "
    "unreachable,\n"
    "  4 not allowed, 5 not found, 6 server error, 7 too slow, 8 incompatible server.\n";

std::string option_name(const Option& option) {
  std::string text = option.letter != 0 ? fmt::format("  -{}, ", option.letter) : "      ";
  text += fmt::format("--{}", option.name);
  if (option.kind == Kind::flag) return text;
  if (!option.choices.empty()) return text + fmt::format("={}", fmt::join(option.choices, "|"));
  switch (option.kind) {
    case Kind::whole:
      return text + "=N";
    case Kind::json:
    case Kind::object:
      return text + "=JSON";
    case Kind::pairs:
      return text + "=KEY=VALUE";
    default:
      return text + "=TEXT";
  }
}

std::string option_help(const Option& option) {
  std::string text{option.help};
  if (option.required) text += " (required)";
  if (!option.fallback.empty()) text += fmt::format(" ({})", option.fallback);
  return text;
}

std::string options_text(std::string_view title, const std::vector<const Option*>& options) {
  if (options.empty()) return {};
  std::size_t width = 0;
  for (const Option* option : options) width = std::max(width, option_name(*option).size());
  std::string text = fmt::format("\n{}:\n", title);
  for (const Option* option : options) {
    const std::string name = option_name(*option);
    // A long name has a line of its own, or everything else moves to the right for its sake.
    if (name.size() > 44) {
      text += fmt::format("{}\n{:<46}{}\n", name, "", option_help(*option));
    } else {
      text +=
          fmt::format("{:<{}}  {}\n", name, std::min<std::size_t>(width, 44), option_help(*option));
    }
  }
  return text;
}

bool is_global(const Option* option) {
  for (const Option& global : global_options()) {
    if (&global == option) return true;
  }
  return false;
}

std::string local_options_text(const std::vector<LocalCommand>& local, std::string_view name) {
  std::string text;
  for (const LocalCommand& command : local) {
    if (command.name != name) continue;
    text += "\nOptions with --store or --data-dir, on a file of this machine:\n";
    for (const LocalOption& option : command.options) {
      const auto said =
          option.value.empty() ? option.name : fmt::format("{}={}", option.name, option.value);
      text += fmt::format("      --{:<24}  {}\n", said, option.help);
    }
  }
  return text;
}

}  // namespace

std::string synopsis(const Command& command) {
  std::string text = fmt::format("dw {}", command.name);
  for (const Argument& argument : command.arguments) {
    text += argument.required ? fmt::format(" <{}>", argument.name)
                              : fmt::format(" [{}]", argument.name);
  }
  return text + " [options]";
}

std::string help_text(const Command& command, const std::vector<LocalCommand>& local) {
  std::string text = fmt::format("{}\n\nUsage: {}\n", command.summary, synopsis(command));
  if (!command.aliases.empty()) {
    text += fmt::format("Also: {}\n", fmt::join(command.aliases, ", "));
  }
  if (!command.asks.empty()) {
    text += fmt::format("Asks: {}\n", command.asks);
  } else if (!command.method.empty()) {
    text += fmt::format("Asks: {} /api{}\n", command.method, command.path);
  }
  if (!command.arguments.empty()) {
    text += "\nArguments:\n";
    for (const Argument& argument : command.arguments) {
      text += fmt::format("  {:<16}  {}\n", argument.name, argument.help);
    }
  }
  std::vector<const Option*> own, shared;
  for (const Option* option : options_of(command)) {
    (is_global(option) ? shared : own).push_back(option);
  }
  text += options_text("Options", own);
  if (command.input == InputAs::arguments) {
    text += "\nJSON is a list of arguments; one that is an object stands in a list: [{…}].\n";
  }
  text += options_text("Options of every command", shared);
  text += local_options_text(local, command.name);
  text += "\nExamples:\n";
  for (const std::string_view example : command.examples) text += fmt::format("  {}\n", example);
  text += fmt::format("\n{}", usual_exits);
  if (!command.exits.empty()) text += fmt::format("  {}\n", command.exits);
  return text;
}

std::string command_overview() {
  std::string text;
  std::string_view group;
  for (const Command& command : catalogue()) {
    const auto colon = command.name.find(':');
    const auto its =
        colon == std::string_view::npos ? std::string_view{} : command.name.substr(0, colon);
    if (its != group) text += '\n';
    group = its;
    text += fmt::format("  {:<32}{}\n", command.name, command.summary);
  }
  return text;
}

}  // namespace dw::cli
