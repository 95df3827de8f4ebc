#include "cli/command.hpp"

namespace dw::cli {

const std::vector<Option>& global_options() {
  static const std::vector<Option> options{
      {.name = "server", .help = "Base URL of the server", .letter = 's'},
      {.name = "namespace", .help = "One namespace"},
      {.name = "token", .help = "Bearer token; better kept in an environment variable"},
      {.name = "tls-verify",
       .help = "Check the server's certificate",
       .choices = {"true", "false", "yes", "no", "on", "off", "1", "0"}},
      {.name = "env", .help = "Use this profile of the configuration file"},
      {.name = "output",
       .help = "How to print: for people, one document, one object per line",
       .choices = {"table", "json", "jsonl"}},
      {.name = "json", .help = "The same as --output=json", .kind = Kind::flag},
      {.name = "timeout",
       .help = "Seconds that a request may take",
       .kind = Kind::whole,
       .most = 3600},
      {.name = "no-color", .help = "No colours, even on a terminal", .kind = Kind::flag},
      {.name = "quiet",
       .help = "Print errors and machine-readable answers only",
       .kind = Kind::flag,
       .letter = 'q'},
      {.name = "verbose",
       .help = "Tell each request on standard error",
       .kind = Kind::flag,
       .letter = 'v'},
      {.name = "no-interaction", .help = "Ask nothing", .kind = Kind::flag, .letter = 'n'},
      {.name = "help", .help = "Explain the command", .kind = Kind::flag, .letter = 'h'},
      {.name = "version", .help = "Print the version", .kind = Kind::flag, .letter = 'V'},
  };
  return options;
}

const std::vector<Option>& input_options() {
  static const std::vector<Option> options{
      {.name = "input", .help = "The payload itself", .letter = 'i'},
      {.name = "input-file", .help = "The payload is in this file; - is standard input"},
      {.name = "input-encoding",
       .help = "How the payload is written",
       .fallback = "json",
       .choices = {"json", "raw", "base64"}},
  };
  return options;
}

const Option& yes_option() {
  static const Option option{
      .name = "yes", .help = "Do not ask first", .kind = Kind::flag, .letter = 'y'};
  return option;
}

std::vector<const Option*> options_of(const Command& command) {
  std::vector<const Option*> all;
  for (const Option& option : command.options) all.push_back(&option);
  if (command.input != InputAs::nothing) {
    for (const Option& option : input_options()) all.push_back(&option);
  }
  if (command.asks_first) all.push_back(&yes_option());
  for (const Option& option : global_options()) all.push_back(&option);
  return all;
}

const Option* find_option(const Command& command, std::string_view name) {
  for (const Option* option : options_of(command)) {
    if (option->name == name) return option;
  }
  return nullptr;
}

const Option* find_option(const Command& command, char letter) {
  for (const Option* option : options_of(command)) {
    if (option->letter == letter) return option;
  }
  return nullptr;
}

}  // namespace dw::cli
