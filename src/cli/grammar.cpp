#include "cli/grammar.hpp"

#include "cli/command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <optional>

namespace dw::cli {
namespace {

bool is_known(const std::vector<std::string>& known, std::string_view name) {
  return std::ranges::find(known, name) != known.end();
}

// Does this word want the next one as its value? Only options that every command has may stand
// before the command, so only those need to be told apart.
bool wants_a_value(std::string_view word) {
  if (word.find('=') != std::string_view::npos) return false;
  for (const Option& option : global_options()) {
    if (option.kind == Kind::flag) continue;
    if (word == fmt::format("--{}", option.name)) return true;
    if (option.letter != 0 && word.size() == 2 && word[1] == option.letter) return true;
  }
  return false;
}

// Moves options from the front of `words` to `passed`; the first other word stays.
void pass_options(const std::vector<std::string>& words, std::size_t& at,
                  std::vector<std::string>& passed) {
  while (at < words.size() && words[at].size() > 1 && words[at].front() == '-' &&
         words[at] != "--") {
    const bool pair = wants_a_value(words[at]);
    passed.push_back(words[at++]);
    if (pair && at < words.size()) passed.push_back(words[at++]);
  }
}

// "activities" is many of "activity"; a word that is no plural is itself.
std::string one_of_many(std::string_view group) {
  if (group.ends_with("ies")) return std::string{group.substr(0, group.size() - 3)} + "y";
  if (group.ends_with("s")) return std::string{group.substr(0, group.size() - 1)};
  return std::string{group};
}

bool is_group(const std::vector<std::string>& known, const std::string& group) {
  return std::ranges::any_of(
      known, [&](const std::string& name) { return name.starts_with(group + ":"); });
}

std::optional<std::string> group_of(const std::vector<std::string>& known,
                                    const std::string& word) {
  if (is_group(known, word)) return word;
  if (auto one = one_of_many(word); is_group(known, one)) return one;
  return std::nullopt;
}

std::optional<std::string> completed_prefix(const std::vector<std::string>& known,
                                            const std::string& word) {
  std::optional<std::string> found;
  for (const std::string& name : known) {
    if (!name.starts_with(word)) continue;
    if (found) return std::nullopt;
    found = name;
  }
  return found;
}

// Edits from one word to the other, a swap of neighbours being one of them.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + change});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = std::exchange(last, row);
  }
  return last[b.size()];
}

// A word that stands in a name is nearer to it than one that merely has the same length.
std::size_t edits_between(std::string_view word, std::string_view name) {
  return name.find(word) != std::string_view::npos ? 1 : distance(word, name);
}

Failure unknown_command(const std::string& word, const std::vector<std::string>& known) {
  if (word == "update" || word == "self-update" || word == "upgrade") {
    return invalid_input(fmt::format(
        "'{}' is not a command: dw does not replace itself, install a newer release over "
        "it. To send an update to a workflow: dw workflow:update",
        word));
  }
  return invalid_input(fmt::format("'{}' is not a command. Did you mean {}?", word,
                                   fmt::join(nearest(word, known), ", ")));
}

Failure group_alone(const std::string& group, const std::vector<std::string>& known) {
  std::vector<std::string> verbs;
  for (const std::string& name : known) {
    if (name.starts_with(group + ":")) verbs.push_back(name);
  }
  return invalid_input(
      fmt::format("'{}' is a group of commands: {}", group, fmt::join(verbs, ", ")));
}

}  // namespace

std::vector<std::string> nearest(std::string_view word, const std::vector<std::string>& names,
                                 std::size_t count) {
  std::vector<std::pair<std::size_t, std::string>> ranked;
  for (const std::string& name : names) {
    ranked.emplace_back(edits_between(word, name), name);
  }
  std::ranges::stable_sort(ranked, {}, &std::pair<std::size_t, std::string>::first);
  std::vector<std::string> best;
  for (auto& [edits, name] : ranked) {
    if (best.size() < count && !is_known(best, name)) best.push_back(std::move(name));
  }
  return best;
}

std::optional<std::string> near_miss(std::string_view word, const std::vector<std::string>& names) {
  auto best = nearest(word, names, 1);
  const std::size_t most = std::max<std::size_t>(1, word.size() / 3);  // else it is an accident
  if (best.empty() || edits_between(word, best.front()) > most) return std::nullopt;
  return std::move(best.front());
}

Outcome<Spoken> read_words(const std::vector<std::string>& words,
                           const std::vector<std::string>& known, bool interactive) {
  Spoken spoken;
  std::size_t at = 0;
  pass_options(words, at, spoken.rest);
  if (at < words.size() && words[at] == "--") ++at;
  if (at == words.size()) return spoken;

  const std::string word = words[at++];
  const auto take = [&](std::string name) {
    spoken.name = std::move(name);
    spoken.rest.insert(spoken.rest.end(), words.begin() + static_cast<std::ptrdiff_t>(at),
                       words.end());
    return spoken;
  };
  if (is_known(known, word)) return take(word);
  std::optional<std::string> group = group_of(known, word);
  if (const auto colon = word.find(':'); colon != std::string::npos) {
    const std::string single = one_of_many(word.substr(0, colon)) + word.substr(colon);
    if (is_known(known, single)) return take(single);
    if (is_group(known, single)) group = single;
  }
  // A group may hold groups: schedule calendar list.
  while (group) {
    pass_options(words, at, spoken.rest);
    if (at == words.size()) return group_alone(*group, known);
    *group += ":" + words[at];
    if (is_known(known, *group)) {
      ++at;
      return take(*group);
    }
    if (!is_group(known, *group)) return unknown_command(*group, known);
    ++at;
  }
  if (interactive) {
    if (auto name = completed_prefix(known, word)) return take(*std::move(name));
  }
  return unknown_command(word, known);
}

}  // namespace dw::cli
