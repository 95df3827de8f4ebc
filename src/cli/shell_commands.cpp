// Completion for shells: names, options and the words that options take.
#include "cli/catalogue.hpp"
#include "cli/help.hpp"
#include "cli/task.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace dw::cli {
namespace {

// A command as shells see it: what may follow its name.
struct Completed {
  struct Word {
    std::string name;  // an option's, without dashes
    std::vector<std::string_view> choices = {};
    char letter = 0;
    bool takes_value = true;
  };
  std::string name;
  std::string summary;
  std::vector<Word> words;
};

std::vector<Completed> completed_commands(const std::vector<LocalCommand>& local) {
  std::vector<Completed> all;
  for (const Command& command : catalogue()) {
    Completed& one =
        all.emplace_back(Completed{std::string{command.name}, std::string{command.summary}, {}});
    for (const Option* option : options_of(command)) {
      one.words.push_back(
          {std::string{option->name}, option->choices, option->letter, option->kind != Kind::flag});
    }
  }
  for (const LocalCommand& command : local) {
    if (find_command(command.name)) continue;  // one of the same name asks a server
    Completed& one = all.emplace_back(Completed{command.name, command.summary, {}});
    for (const LocalOption& option : command.options) {
      one.words.push_back({.name = option.name, .takes_value = false});
    }
  }
  for (Completed& one : all) std::erase(one.summary, '\'');
  return all;
}

std::string words_for(const Completed& command) {
  std::vector<std::string> words;
  for (const auto& word : command.words) {
    if (word.choices.empty()) words.push_back(fmt::format("--{}", word.name));
    for (const std::string_view choice : word.choices) {
      words.push_back(fmt::format("--{}={}", word.name, choice));
    }
  }
  return fmt::format("{}", fmt::join(words, " "));
}

// Bash and zsh share the table; zsh reads it through its own emulation.
std::string bash_script(const std::vector<Completed>& commands) {
  std::string cases;
  std::vector<std::string> names = client_names();
  for (const Completed& command : commands) {
    cases += fmt::format("    {}) words='{}' ;;\n", command.name, words_for(command));
    if (!find_command(command.name)) names.push_back(command.name);
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
      fmt::join(names, " "), cases);
}

std::string zsh_script(const std::vector<Completed>& commands) {
  std::string names, cases;
  for (const Completed& command : commands) {
    std::string name;
    for (const char c : command.name) {
      if (c == ':') name += '\\';
      name += c;
    }
    names += fmt::format("    '{}:{}'\n", name, command.summary);
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

std::string fish_script(const std::vector<Completed>& commands) {
  std::string text =
      "# dw completion for fish: dw completion fish > ~/.config/fish/completions/dw.fish\n"
      "complete -c dw -f\n";
  for (const Completed& command : commands) {
    text += fmt::format("complete -c dw -n __fish_use_subcommand -a '{}' -d '{}'\n", command.name,
                        command.summary);
    for (const auto& word : command.words) {
      text += fmt::format(
          "complete -c dw -n '__fish_seen_subcommand_from {}' -l {}{}{}{}\n", command.name,
          word.name, word.letter != 0 ? fmt::format(" -s {}", word.letter) : "",
          word.takes_value ? " -r" : "",
          word.choices.empty() ? "" : fmt::format(" -a '{}'", fmt::join(word.choices, " ")));
    }
  }
  return text;
}

}  // namespace

std::string completion_script(std::string_view shell, const std::vector<LocalCommand>& local) {
  const auto commands = completed_commands(local);
  if (shell == "bash") return bash_script(commands);
  if (shell == "zsh") return zsh_script(commands);
  if (shell == "fish") return fish_script(commands);
  return {};
}

Outcome<Exit> run_completion(Task& task) {
  const std::string script = completion_script(task.given.text("shell"), task.io.local);
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
