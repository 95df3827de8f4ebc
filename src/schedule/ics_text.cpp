#include "schedule/ics_text.hpp"

#include "schedule/calendar_text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dw::schedule {
namespace {

char ics_capital(char c) {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}

std::string in_capitals(std::string_view text) {
  std::string capitals{text};
  std::ranges::transform(capitals, capitals.begin(), ics_capital);
  return capitals;
}

bool is_ics_name(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    const char capital = ics_capital(c);
    return (capital >= 'A' && capital <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

// The first of `stops` that is not within quotes.
std::size_t find_unquoted(std::string_view text, std::string_view stops) {
  bool quoted = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '"') quoted = !quoted;
    if (!quoted && stops.find(text[at]) != std::string_view::npos) return at;
  }
  return std::string_view::npos;
}

std::string_view without_quotes(std::string_view text) {
  const bool quoted = text.size() >= 2 && text.front() == '"' && text.back() == '"';
  return quoted ? text.substr(1, text.size() - 2) : text;
}

// "130000", of a day that has no leap second.
std::optional<std::chrono::seconds> find_ics_time(std::string_view text) {
  if (text.size() != 6) return std::nullopt;
  const auto hour = find_digits(text.substr(0, 2));
  const auto minute = find_digits(text.substr(2, 2));
  const auto second = find_digits(text.substr(4, 2));
  if (!hour || !minute || !second || *hour > 23 || *minute > 59 || *second > 59) {
    return std::nullopt;
  }
  return std::chrono::seconds{(*hour * 60 + *minute) * 60 + *second};
}

// The number in front, which is then behind.
std::optional<int> take_number(std::string_view& text) {
  const auto end = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto number = find_digits(text.substr(0, end));
  text.remove_prefix(end);
  return number;
}

}  // namespace

const std::string* IcsProperty::find_parameter(std::string_view key) const {
  const auto found =
      std::ranges::find(parameters, key, &std::pair<std::string, std::string>::first);
  return found == parameters.end() ? nullptr : &found->second;
}

std::vector<IcsLine> unfolded_lines(std::string_view text) {
  constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  std::vector<IcsLine> lines;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const auto end = text.find('\n');
    auto line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    const bool folded = line.starts_with(' ') || line.starts_with('\t');
    if (folded && !lines.empty()) {
      lines.back().text += line.substr(1);
    } else if (!line.empty()) {
      lines.push_back({number, std::string{line}});
    }
  }
  return lines;
}

Result<IcsProperty> parse_ics_property(const IcsLine& line) {
  const auto wrong = [](std::string message) {
    return Error{ErrorCode::invalid_argument, std::move(message)};
  };
  std::string_view rest = line.text;
  const auto colon = find_unquoted(rest, ":");
  if (colon == std::string_view::npos) return wrong("is no property, which is NAME:value");
  IcsProperty property{line.number, {}, {}, std::string{rest.substr(colon + 1)}};
  rest = rest.substr(0, colon);
  for (bool first = true; first || !rest.empty(); first = false) {
    const auto end = std::min(find_unquoted(rest, ";"), rest.size());
    const auto part = rest.substr(0, end);
    const auto equals = part.find('=');
    const auto name = first ? part : part.substr(0, equals);
    if (!is_ics_name(name) || (!first && equals == std::string_view::npos)) {
      return wrong("is no property, which is NAME;PARAMETER=value:value");
    }
    if (first) {
      property.name = in_capitals(name);
    } else {
      property.parameters.emplace_back(in_capitals(name), without_quotes(part.substr(equals + 1)));
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return property;
}

std::string unescaped_ics_text(std::string_view value) {
  std::string text;
  for (std::size_t at = 0; at < value.size(); ++at) {
    if (value[at] != '\\' || at + 1 == value.size()) {
      text += value[at];
    } else {
      const char escaped = value[++at];
      text += escaped == 'n' || escaped == 'N' ? ' ' : escaped;  // a label is one line
    }
  }
  return text;
}

std::vector<std::string_view> ics_list(std::string_view value, char separator) {
  std::vector<std::string_view> parts;
  for (bool more = true; more;) {
    const auto end = value.find(separator);
    parts.push_back(value.substr(0, end));
    more = end != std::string_view::npos;
    if (more) value.remove_prefix(end + 1);
  }
  return parts;
}

std::optional<IcsMoment> find_ics_moment(std::string_view value) {
  if (value.size() < 8) return std::nullopt;
  const auto date = find_date(
      fmt::format("{}-{}-{}", value.substr(0, 4), value.substr(4, 2), value.substr(6, 2)));
  if (!date) return std::nullopt;
  value.remove_prefix(8);
  if (value.empty()) return IcsMoment{*date, true, false};
  const bool utc = value.ends_with('Z');
  if (utc) value.remove_suffix(1);
  const auto time = value.starts_with('T') ? find_ics_time(value.substr(1)) : std::nullopt;
  if (!time) return std::nullopt;
  return IcsMoment{*date + *time, false, utc};
}

std::optional<std::chrono::seconds> find_ics_duration(std::string_view value) {
  if (value.starts_with('+')) value.remove_prefix(1);
  if (!value.starts_with('P') || value.size() < 3) return std::nullopt;
  value.remove_prefix(1);
  // In the order in which they may stand; what was passed may not come back.
  struct Unit {
    char letter;
    std::chrono::seconds length;
    bool of_a_day;
  };
  constexpr Unit units[] = {{'W', std::chrono::days{7}, false},
                            {'D', std::chrono::days{1}, false},
                            {'H', std::chrono::hours{1}, true},
                            {'M', std::chrono::minutes{1}, true},
                            {'S', std::chrono::seconds{1}, true}};
  std::chrono::seconds total{0};
  bool of_a_day = false;
  for (const Unit* next = units; !value.empty();) {
    if (value.front() == 'T' && !of_a_day && value.size() > 1) {
      of_a_day = true;
      value.remove_prefix(1);
      continue;
    }
    const auto count = take_number(value);
    if (!count || value.empty()) return std::nullopt;
    next = std::find_if(next, std::end(units), [&](const Unit& unit) {
      return unit.letter == value.front() && unit.of_a_day == of_a_day;
    });
    if (next == std::end(units)) return std::nullopt;
    total += *count * next++->length;
    value.remove_prefix(1);
  }
  return total;
}

}  // namespace dw::schedule
