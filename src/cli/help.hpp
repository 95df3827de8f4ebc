// What commands say about themselves. Everything here follows from their descriptions.
#pragma once
#include "cli/command.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace dw::cli {

// "dw workflow:signal <workflow-id> <signal-name> [options]"
std::string synopsis(const Command& command);
// Synopsis, options, route, examples, exit codes.
std::string help_text(const Command& command);

// A command that the binary runs itself, as far as completion goes.
struct LocalCommand {
  std::string name;
  std::string summary;
  std::vector<std::string> options;  // long names, without dashes
};

// A script for that shell; empty when there is none for it.
std::string completion_script(std::string_view shell, const std::vector<LocalCommand>& local = {});

}  // namespace dw::cli
