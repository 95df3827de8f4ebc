// What commands say about themselves. Everything here follows from their descriptions.
#pragma once
#include "cli/command.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace dw::cli {

// A command that the binary runs itself, as far as help and completion go.
struct LocalOption {
  std::string name;        // long, without dashes
  std::string value = {};  // what stands for it in help; empty: a flag
  std::string help = {};
};
struct LocalCommand {
  std::string name;
  std::string summary;
  std::vector<LocalOption> options;
};

// "dw workflow:signal <workflow-id> <signal-name> [options]"
std::string synopsis(const Command& command);
// Synopsis, options, route, examples, exit codes; and the options of the local command of that
// name, which a --store chooses.
std::string help_text(const Command& command, const std::vector<LocalCommand>& local = {});

// A script for that shell; empty when there is none for it.
std::string completion_script(std::string_view shell, const std::vector<LocalCommand>& local = {});

}  // namespace dw::cli
