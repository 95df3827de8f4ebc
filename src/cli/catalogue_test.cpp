// What is true of every command, whoever adds the next one.
#include "cli/catalogue.hpp"

#include "cli/client_commands.hpp"
#include "cli/given.hpp"
#include "cli/grammar.hpp"
#include "cli/help.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace dw::cli {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

// The words of the first command of a shell line, without quotes.
std::vector<std::string> shell_words(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  char quote = 0;
  const auto finish = [&] {
    if (!word.empty()) words.push_back(std::exchange(word, {}));
  };
  for (const char c : line) {
    if (quote != 0) {
      if (c == quote)
        quote = 0;
      else
        word += c;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '|' || c == '<' || c == '>' || c == ')') {
      break;
    } else if (c == ' ') {
      finish();
    } else {
      word += c;
    }
  }
  finish();
  return words;
}

TEST(Catalogue, NamesAreUnique) {
  const auto names = client_names();
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
}

TEST(Catalogue, OptionsOfACommandAreUniqueByNameAndLetter) {
  for (const Command& command : catalogue()) {
    std::set<std::string_view> names;
    std::set<char> letters;
    for (const Option* option : options_of(command)) {
      EXPECT_TRUE(names.insert(option->name).second) << command.name << " --" << option->name;
      if (option->letter != 0) {
        EXPECT_TRUE(letters.insert(option->letter).second)
            << command.name << " -" << option->letter;
      }
    }
  }
}

TEST(Catalogue, EveryPlaceInAPathIsGivenByTheCommand) {
  for (const Command& command : catalogue()) {
    const std::string path{command.path};
    for (std::size_t at = 0; (at = path.find('{', at)) != std::string::npos; ++at) {
      const auto name = path.substr(at + 1, path.find('}', at) - at - 1);
      const bool argument = std::ranges::any_of(
          command.arguments, [&](const Argument& one) { return one.name == name; });
      EXPECT_TRUE(argument || find_option(command, name)) << command.name << " " << name;
    }
  }
}

TEST(Catalogue, EveryCommandExplainsItselfWithTwoExamplesThatParse) {
  for (const Command& command : catalogue()) {
    EXPECT_FALSE(command.summary.empty()) << command.name;
    EXPECT_EQ(command.examples.size(), 2u) << command.name;
    EXPECT_TRUE(!command.method.empty() || command.run) << command.name;
    for (const std::string_view example : command.examples) {
      const auto start = example.find("dw ");
      if (example.starts_with("eval")) continue;
      ASSERT_NE(start, std::string_view::npos) << example;
      auto words = shell_words(example.substr(start + 3));
      const auto spoken = read_words(words, client_names(), false);
      ASSERT_TRUE(spoken) << example << ": " << spoken.error().message;
      EXPECT_EQ(find_command(spoken->name), &command) << example;
      if (example.find("--store") != std::string_view::npos) continue;
      const auto given = parse_given(command, spoken->rest);
      EXPECT_TRUE(given) << example << ": " << given.error().message;
    }
  }
}

TEST(Catalogue, HelpNamesEveryOption) {
  for (const Command& command : catalogue()) {
    const std::string help = help_text(command);
    for (const Option* option : options_of(command)) {
      EXPECT_THAT(help, HasSubstr("--" + std::string{option->name})) << command.name;
    }
  }
}

TEST(Catalogue, HelpTellsHowAnArgumentThatIsAnObjectIsGiven) {
  EXPECT_THAT(help_text(*find_command("workflow:start")), HasSubstr("a list of arguments"));
  EXPECT_THAT(help_text(*find_command("activity:complete")), Not(HasSubstr("list of arguments")));
}

TEST(Catalogue, HelpNamesEveryRouteThatMetricsComeFrom) {
  EXPECT_THAT(help_text(*find_command("system:metrics")),
              HasSubstr("Asks: GET /metrics; with --json GET /api/system/metrics\n"));
}

TEST(Catalogue, HelpTellsWhatAStoreOfThisMachineTakes) {
  const std::vector<LocalCommand> local{
      {"system:retention-pass", "", {{"retention-days", "N", "Keep runs for so long"}}}};
  EXPECT_THAT(help_text(*find_command("system:retention-pass"), local),
              ContainsRegex("--store.*\n +--retention-days=N +Keep runs for so long\n"));
  EXPECT_THAT(help_text(*find_command("system:retention-status"), local),
              Not(HasSubstr("retention-days")));
}

TEST(Catalogue, CompletionKnowsEveryCommandInEveryShell) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const std::string script = completion_script(shell);
    EXPECT_THAT(script, HasSubstr("workflow:start")) << shell;
    EXPECT_THAT(script, HasSubstr("duplicate-policy")) << shell;
    for (const Command& command : catalogue()) {
      EXPECT_THAT(script, HasSubstr(std::string{command.name})) << shell;
    }
  }
  EXPECT_EQ(completion_script("cmd"), "");
}

TEST(Catalogue, CompletionKnowsWhatTheBinaryRunsItself) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const std::string script = completion_script(
        shell, {{"server:start", "Serve the HTTP API", {{.name = "listen"}}},
                {"system:retention-pass", "That's there twice", {{.name = "retention-days"}}}});
    EXPECT_THAT(script, HasSubstr("server:start")) << shell;
    EXPECT_THAT(script, HasSubstr("listen")) << shell;
    EXPECT_THAT(script, Not(HasSubstr("retention-days"))) << shell;
  }
}

TEST(Catalogue, TheOverviewHasEveryCommand) {
  for (const Command& command : catalogue()) {
    EXPECT_THAT(command_overview(), HasSubstr(std::string{command.name}));
  }
}

}  // namespace
}  // namespace dw::cli
