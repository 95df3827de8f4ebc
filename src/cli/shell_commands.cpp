// Completion for shells: names, options and the words that options take.
#include "cli/catalogue.hpp"
#include "cli/help.hpp"
#include "cli/task.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace dw::cli {
namespace {

std::string words_for(const Command& command) {
  std::vector<std::string> words;
  for (const Option* option : options_of(command)) {
    if (option->choices.empty()) {
      words.push_back(fmt::format("--{}", option->name));
    } else {
      for (const std::string_view choice : option->choices) {
        words.push_back(fmt::format("--{}={}", option->name, choice));
      }
    }
  }
  return fmt::format("{}", fmt::join(words, " "));
}

// Bash and zsh share the table; zsh reads it through its own emulation.
std::string bash_script() {
  std::string cases;
  for (const Command& command : catalogue()) {
    cases += fmt::format("    {}) words='{}' ;;\n", command.name, words_for(command));
  }
  return fmt::format(
      "# dw completion for bash: eval \"$(dw completion bash)\"\n"
      "_dw() {{\n"
      "  local current=\"${{COMP_WORDS[COMP_CWORD]}}\" line=\"${{COMP_LINE:0:COMP_POINT}}\" words\n"
      "  local -a said\n"
      "  read -ra said <<<\"$line\"\n"
      "  [[ $line == *' ' ]] && current='' && said+=('')\n"
      "  (( ${{#said[@]}} > 1 )) && current=\"${{said[-1]}}\"\n"
      "  if (( ${{#said[@]}} <= 2 )); then\n"
      "    words='{} help'\n"
      "  else\n"
      "    case \"${{said[1]}}\" in\n{}"
      "    *) words='' ;;\n"
      "    esac\n"
      "  fi\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
      "  # Bash breaks words at ':' and '=', and puts only what follows the last of them in "
      "place.\n"
      "  local before=\"${{current%\"${{current##*[:=]}}\"}}\"\n"
      "  COMPREPLY=(\"${{COMPREPLY[@]#\"$before\"}}\")\n"
      "}}\n"
      "complete -F _dw dw\n",
      fmt::join(client_names(), " "), cases);
}

std::string zsh_script() {
  std::string names, cases;
  for (const Command& command : catalogue()) {
    std::string name;
    for (const char c : command.name) {
      if (c == ':') name += '\\';
      name += c;
    }
    std::string summary{command.summary};
    std::erase(summary, '\'');
    names += fmt::format("    '{}:{}'\n", name, summary);
    cases += fmt::format("    {}) compadd -- {} ;;\n", command.name, words_for(command));
  }
  return fmt::format(
      "#compdef dw\n"
      "# dw completion for zsh: dw completion zsh > \"${{fpath[1]}}/_dw\"\n"
      "_dw() {{\n"
      "  local -a names\n"
      "  names=(\n{}  )\n"
      "  if (( CURRENT == 2 )); then\n"
      "    _describe 'command' names\n"
      "    return\n"
      "  fi\n"
      "  case \"${{words[2]}}\" in\n{}"
      "  esac\n"
      "}}\n"
      "compdef _dw dw\n",
      names, cases);
}

std::string fish_script() {
  std::string text =
      "# dw completion for fish: dw completion fish > ~/.config/fish/completions/dw.fish\n"
      "complete -c dw -f\n";
  for (const Command& command : catalogue()) {
    std::string summary{command.summary};
    std::erase(summary, '\'');
    text += fmt::format("complete -c dw -n __fish_use_subcommand -a '{}' -d '{}'\n", command.name,
                        summary);
    for (const Option* option : options_of(command)) {
      text += fmt::format(
          "complete -c dw -n '__fish_seen_subcommand_from {}' -l {}{}{}\n", command.name,
          option->name, option->letter != 0 ? fmt::format(" -s {}", option->letter) : "",
          option->kind == Kind::flag ? ""
          : option->choices.empty()  ? " -r"
                                     : fmt::format(" -r -a '{}'", fmt::join(option->choices, " ")));
    }
  }
  return text;
}

}  // namespace

std::string completion_script(std::string_view shell) {
  if (shell == "bash") return bash_script();
  if (shell == "zsh") return zsh_script();
  if (shell == "fish") return fish_script();
  return {};
}

Outcome<Exit> run_completion(Task& task) {
  const std::string script = completion_script(task.given.text("shell"));
  if (script.empty()) {
    return invalid_input(fmt::format("completion: there is none for '{}', only for bash, zsh, fish",
                                     task.given.text("shell")));
  }
  task.output.print_raw(script);
  return Exit::success;
}

std::vector<Command> shell_commands() {
  return {{.name = "completion",
           .summary = "Print a script that completes commands and options in a shell",
           .arguments = {{.name = "shell", .help = "bash, zsh or fish"}},
           .scope = Scope::nothing,
           .examples = {"eval \"$(dw completion bash)\"",
                        "dw completion fish > ~/.config/fish/completions/dw.fish"},
           .run = run_completion}};
}

}  // namespace dw::cli
