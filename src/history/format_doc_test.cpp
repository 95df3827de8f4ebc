// A durable format that its document does not describe is a bug in one of the two.
#include "history/codec.hpp"
#include "history/one_of_each.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace dw::story {
namespace {

using ::testing::HasSubstr;

std::string document(const std::string& name) {
  std::ifstream file{std::string{DW_FORMATS_DIR} + "/" + name};
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// From "### `Type`" to the next heading.
std::string section(const std::string& text, const std::string& heading) {
  const auto begin = text.find("### `" + heading + "`\n");
  if (begin == std::string::npos) return {};
  return text.substr(begin, text.find("\n#", begin + 1) - begin);
}

TEST(FormatDocument, DescribesEveryKeyOfEveryEvent) {
  const auto text = document("history.md");
  ASSERT_FALSE(text.empty());
  for (const auto type : history::all_types()) {
    const auto part = section(text, std::string{type});
    ASSERT_FALSE(part.empty()) << "docs/formats/history.md lacks a section on " << type;
    for (const auto& key : history::stored_contract(type)) {
      const auto row = "| `" + key.name + "` | " + (key.required ? "required" : "");
      EXPECT_THAT(part, HasSubstr(row)) << type;
      if (!key.required) {
        EXPECT_EQ(part.find("| `" + key.name + "` | required"), std::string::npos)
            << type << " may leave out " << key.name;
      }
    }
  }
}

TEST(FormatDocument, DescribesTheParts) {
  const auto text = document("history.md");
  for (const auto& [part, keys] : std::vector<std::pair<std::string, std::vector<std::string>>>{
           {"command", {"id", "sequence", "source"}},
           {"exception", {"class", "type", "message", "non_retryable"}},
           {"retry_policy",
            {"max_attempts", "backoff_seconds", "start_to_close_timeout",
             "schedule_to_start_timeout", "schedule_to_close_timeout", "heartbeat_timeout",
             "non_retryable_error_types"}}}) {
    const auto description = section(text, part);
    ASSERT_FALSE(description.empty()) << part;
    for (const auto& key : keys) EXPECT_THAT(description, HasSubstr("| `" + key + "` |")) << part;
  }
}

}  // namespace
}  // namespace dw::story
