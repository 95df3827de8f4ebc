// Every client command there is.
#pragma once
#include "cli/command.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace dw::cli {

// In the order of the reference: by group, the most used first.
const std::vector<Command>& catalogue();
const Command* find_command(std::string_view name);  // by name or alias
std::vector<std::string> client_names();             // aliases included

// The groups, one file each.
std::vector<Command> workflow_commands();
std::vector<Command> workflow_record_commands();
std::vector<Command> diagnose_commands();
std::vector<Command> server_commands();
std::vector<Command> env_commands();
std::vector<Command> namespace_commands();
std::vector<Command> calendar_commands();
std::vector<Command> schedule_commands();
std::vector<Command> schedule_lint_commands();
std::vector<Command> schedule_life_commands();
std::vector<Command> schedule_fire_commands();
std::vector<Command> schedule_guard_commands();
std::vector<Command> schedule_record_commands();
std::vector<Command> activity_commands();
std::vector<Command> fleet_commands();
std::vector<Command> worker_task_commands();
std::vector<Command> system_commands();
std::vector<Command> shell_commands();

// What the odd ones do instead of one request and one answer.
Outcome<Exit> run_start(Task& task);
Outcome<Exit> run_describe(Task& task);
Outcome<Exit> run_watch(Task& task);
Outcome<Exit> run_list(Task& task);
Outcome<Exit> run_list_runs(Task& task);
Outcome<Exit> run_history(Task& task);
Outcome<Exit> run_history_export(Task& task);
Outcome<Exit> run_cancel(Task& task);
Outcome<Exit> run_doctor(Task& task);
Outcome<Exit> run_metrics(Task& task);
Outcome<Exit> run_completion(Task& task);
Outcome<Exit> run_explain(Task& task);

// What the odd ones refuse before anybody is asked.
std::optional<Failure> check_watched(const Task& task);
std::optional<Failure> check_cancel(const Task& task);

// The states, requests and references that workflow:update adds to what a server says.
Value describe_update(const Task& task, Value answer);
Value describe_failed_update(const Given& given, Value document);

}  // namespace dw::cli
