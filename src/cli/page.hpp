// What people read: headings, labelled lines and tables, with colours where a terminal shows them.
#pragma once
#include "cli/command.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace dw::cli {

enum class Colour { none, green, yellow, red };

// Of the word that a status begins with: "throttled (3 left)" is yellow.
Colour colour_of_status(std::string_view status);

class Page {
 public:
  using Row = std::vector<std::string>;

  explicit Page(bool colours) : colours_(colours) {}

  void heading(std::string_view text);
  void text(std::string_view line);
  void warning(std::string_view line);  // yellow
  void line(std::string_view label, std::string_view value, int indent = 2);
  // A line for each entry of a map below its label, and likewise in the maps that it holds.
  void facts(std::string_view label, const Value& value, int indent = 2);
  void status(std::string_view label, std::string_view value, int indent = 2);
  // A status in its colour, for a line that has other words, too.
  std::string painted(std::string_view status) const;
  void gap();
  // Cells of the columns named in `statuses` are coloured by what they say.
  void table(const Row& titles, const std::vector<Row>& rows,
             const std::vector<std::size_t>& statuses = {});

  // One row for each of the items, by the columns of a description.
  void table(const std::vector<Column>& columns, const Value::Array& items);
  // The lines of a description; what is not there is left out.
  void lines(const std::vector<Column>& lines, const Value& answer);

  const std::string& str() const { return text_; }

 private:
  std::string paint(std::string_view text, Colour colour) const;

  const bool colours_;
  std::string text_;
};

// One value of an answer, as its column wants it.
std::string cell_of(const Column& column, const Value& item);

// "max_age_ms" as people read it: "Max age ms".
std::string label_of(std::string_view key);

// How many columns a terminal needs for it: a character each.
std::size_t width_of(std::string_view text);

}  // namespace dw::cli
