#include "cli/catalogue.hpp"

#include <algorithm>

namespace dw::cli {

const std::vector<Command>& catalogue() {
  static const std::vector<Command> all = [] {
    std::vector<Command> commands;
    for (auto* group :
         {workflow_commands, workflow_record_commands, diagnose_commands, server_commands,
          env_commands, namespace_commands, schedule_life_commands, schedule_fire_commands,
          schedule_guard_commands, schedule_record_commands, schedule_commands,
          schedule_lint_commands, calendar_commands, activity_commands, fleet_commands,
          worker_task_commands, system_commands, shell_commands}) {
      for (Command& command : group()) commands.push_back(std::move(command));
    }
    return commands;
  }();
  return all;
}

const Command* find_command(std::string_view name) {
  for (const Command& command : catalogue()) {
    if (command.name == name) return &command;
    if (std::ranges::find(command.aliases, name) != command.aliases.end()) return &command;
  }
  return nullptr;
}

std::vector<std::string> client_names() {
  std::vector<std::string> names;
  for (const Command& command : catalogue()) {
    names.emplace_back(command.name);
    for (const std::string_view alias : command.aliases) names.emplace_back(alias);
  }
  return names;
}

}  // namespace dw::cli
