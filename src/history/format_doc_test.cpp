// A durable format that its document does not describe is a bug in one of the two.
#include "history/codec.hpp"
#include "history/event_fields.hpp"
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

// The keys of a part, and whether one may be missing.
struct PartKeys {
  std::string part;
  std::vector<history::ContractKey> keys;

  template <typename T>
  void operator()(std::string_view name, T& value) {
    constexpr bool optional = requires {
      value.has_value();
    };
    keys.push_back({std::string{name}, !optional});
  }
  template <typename T, typename... Fallbacks>
  void operator()(std::string_view name, T&, const Fallbacks&...) {
    keys.push_back({std::string{name}, false});
  }
};
template <history::Part Part>
PartKeys keys_of(std::string name) {
  PartKeys keys{std::move(name), {}};
  Part part;
  history::visit_fields(keys, part);
  return keys;
}

TEST(FormatDocument, DescribesTheParts) {
  const auto text = document("history.md");
  for (const auto& [part, keys] : std::vector<PartKeys>{
           keys_of<history::Command>("command"), keys_of<history::CommandContext>("context"),
           keys_of<history::Failure>("exception"), keys_of<history::RetryPolicy>("retry_policy"),
           keys_of<history::Lineage>("lineage"),
           keys_of<history::InheritedChild>("inherited_children"),
           keys_of<history::NamedRequest>("answered_requests"),
           keys_of<history::Group>("parallel_group_path"),
           PartKeys{"declared",
                    {{"queries", false},
                     {"signals", false},
                     {"updates", false},
                     {"name", true},
                     {"type", false},
                     {"default", false},
                     {"variadic", false},
                     {"allows_null", false}}}}) {
    const auto description = section(text, part);
    ASSERT_FALSE(description.empty()) << part;
    for (const auto& key : keys) {
      EXPECT_THAT(description, HasSubstr("| `" + key.name + "` | ")) << part;
      const bool required =
          description.find("| `" + key.name + "` | required") != std::string::npos;
      EXPECT_EQ(required, key.required) << part << " " << key.name;
    }
  }
}

}  // namespace
}  // namespace dw::story
