// From the words of a command line to the command that is meant: group:verb, group verb, groups
// verb, and options before any of them.
#pragma once
#include "cli/failure.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dw::cli {

struct Spoken {
  std::string name;               // one of the known names; empty when there are only options
  std::vector<std::string> rest;  // everything else, options before the name first
};

// `known` are all names and aliases of this binary. Unique beginnings of names are taken from
// people only: a script that relies on one would break when a command is added.
Outcome<Spoken> read_words(const std::vector<std::string>& words,
                           const std::vector<std::string>& known, bool interactive);

// The name that somebody meant, perhaps; absent when none is spelled much like it.
std::optional<std::string> near_miss(std::string_view word, const std::vector<std::string>& names);
// The `count` names that look most like it, best first.
std::vector<std::string> nearest(std::string_view word, const std::vector<std::string>& names,
                                 std::size_t count = 3);

}  // namespace dw::cli
