#include "cli/page.hpp"

#include "cli/lookup.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dw::cli {
namespace {

constexpr std::string_view green_words[] = {
    "active", "accepted", "accepting", "completed", "healthy", "ok", "ready", "serving", "success"};
constexpr std::string_view yellow_words[] = {"backoff", "degraded",  "draining", "expired",
                                             "full",    "paused",    "pending",  "running",
                                             "stale",   "throttled", "waiting",  "warning"};
constexpr std::string_view red_words[] = {"cancelled",         "error",     "failed",
                                          "no_active_workers", "timed_out", "terminated"};

}  // namespace

Colour colour_of_status(std::string_view status) {
  std::string word{status.substr(0, status.find_first_of(" (:"))};
  std::ranges::transform(word, word.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  });
  if (std::ranges::find(green_words, word) != std::end(green_words)) return Colour::green;
  if (std::ranges::find(yellow_words, word) != std::end(yellow_words)) return Colour::yellow;
  if (std::ranges::find(red_words, word) != std::end(red_words)) return Colour::red;
  return Colour::none;
}

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string label_of(std::string_view key) {
  std::string title{key};
  if (!title.empty() && title.front() >= 'a' && title.front() <= 'z') {
    title.front() = static_cast<char>(title.front() - 32);
  }
  for (char& c : title) {
    if (c == '_') c = ' ';
  }
  return printable(title);
}

std::string cell_of(const Column& column, const Value& item) {
  const Value* found = look_up(item, column.path);
  if (!found) return "-";
  if (column.format == Format::json) return printable(to_json(*found));
  return in_words(*found);
}

std::string Page::paint(std::string_view text, Colour colour) const {
  if (!colours_ || colour == Colour::none) return std::string{text};
  const int code = colour == Colour::green ? 32 : colour == Colour::yellow ? 33 : 31;
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

void Page::heading(std::string_view text) {
  text_ += paint(text, Colour::green) + "\n";
}

void Page::text(std::string_view line) {
  text_ += std::string{line} + "\n";
}

void Page::warning(std::string_view line) {
  text_ += paint(printable(line), Colour::yellow) + "\n";
}

void Page::line(std::string_view label, std::string_view value, int indent) {
  text_ += fmt::format("{:{}}{}: {}\n", "", indent, label, value);
}

void Page::facts(std::string_view label, const Value& value, int indent) {
  const auto* map = value.if_map();
  const auto* list = value.if_array();
  const bool of_maps = list && !list->empty() && list->front().if_map();
  if (!of_maps && (!map || map->empty())) {
    return line(label, map ? "-" : in_words(value), indent);
  }
  text_ += fmt::format("{:{}}{}:\n", "", indent, label);
  if (map) {
    for (const auto& [key, fact] : *map) facts(label_of(key), fact, indent + 2);
    return;
  }
  for (const Value& item : *list) {
    std::string told;
    for (const auto& [key, fact] : item.if_map() ? *item.if_map() : Value::Map{}) {
      told += fmt::format("{}{}: {}", told.empty() ? "" : ", ", label_of(key), in_words(fact));
    }
    text_ += fmt::format("{:{}}{}\n", "", indent + 2, told);
  }
}

void Page::status(std::string_view label, std::string_view value, int indent) {
  line(label, painted(value), indent);
}

std::string Page::painted(std::string_view status) const {
  return paint(status, colour_of_status(status));
}

void Page::gap() {
  text_ += '\n';
}

void Page::table(const Row& titles, const std::vector<Row>& rows,
                 const std::vector<std::size_t>& statuses) {
  std::vector<std::size_t> widths;
  for (const std::string& title : titles) widths.push_back(width_of(title));
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  const auto add = [&](const Row& row, bool painted) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool coloured = painted && std::ranges::find(statuses, i) != statuses.end();
      text_ += coloured ? paint(row[i], colour_of_status(row[i])) : row[i];
      if (i + 1 < row.size()) text_.append(widths[i] - width_of(row[i]) + 2, ' ');
    }
    text_ += '\n';
  };
  add(titles, false);
  for (const Row& row : rows) add(row, true);
}

void Page::table(const std::vector<Column>& columns, const Value::Array& items) {
  Row titles;
  std::vector<std::size_t> statuses;
  for (const Column& column : columns) {
    if (column.format == Format::status) statuses.push_back(titles.size());
    titles.emplace_back(column.title);
  }
  std::vector<Row> rows;
  for (const Value& item : items) {
    Row& row = rows.emplace_back();
    for (const Column& column : columns) row.push_back(cell_of(column, item));
  }
  table(titles, rows, statuses);
}

void Page::lines(const std::vector<Column>& lines, const Value& answer) {
  for (const Column& one : lines) {
    const Value* found = look_up(answer, one.path);
    if (!found) continue;
    if (one.format == Format::status) {
      status(one.title, cell_of(one, answer));
    } else if (one.format == Format::facts) {
      facts(one.title, *found);
    } else {
      line(one.title, cell_of(one, answer));
    }
  }
}

}  // namespace dw::cli
