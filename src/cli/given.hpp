// What somebody gave to a command: arguments and options, checked against its description.
#pragma once
#include "cli/command.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dw::cli {

class Given {
 public:
  // The last value of an argument or option, or what stands for it; empty when there is neither.
  std::string text(std::string_view name) const;
  std::optional<std::int64_t> whole(std::string_view name) const;
  bool flag(std::string_view name) const { return was_said(name); }
  const std::vector<std::string>& all(std::string_view name) const;
  // Somebody wrote it, be it with an empty value.
  bool was_said(std::string_view name) const { return said_.contains(std::string{name}); }

  void say(std::string_view name, std::string value);
  void assume(std::string_view name, std::string_view value);

 private:
  std::map<std::string, std::vector<std::string>, std::less<>> said_;
  std::map<std::string, std::string, std::less<>> assumed_;
};

// `words` are those after the command's name. Refuses what the description does not have; help and
// version are looked for first, so that a wrong line can still be explained.
Outcome<Given> parse_given(const Command& command, const std::vector<std::string>& words);

// Yes and no in all their spellings.
std::optional<bool> parse_yes_no(std::string_view text);

}  // namespace dw::cli
