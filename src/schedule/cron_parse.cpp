#include "schedule/cron.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

namespace dw::schedule {
namespace {

constexpr std::string_view month_names[] = {"JAN", "FEB", "MAR", "APR", "MAY", "JUN",
                                            "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"};
constexpr std::string_view weekday_names[] = {"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"};

struct FieldKind {
  CronField field;
  unsigned least;
  unsigned most;
  unsigned wildcard_most;  // what * covers: Sunday once
  unsigned size;           // the longest step
  std::span<const std::string_view> names = {};
  unsigned first_name = 0;
  std::string_view values;  // for people
};

constexpr FieldKind field_kinds[] = {
    {CronField::minute, 0, 59, 59, 60, {}, 0, "0 to 59"},
    {CronField::hour, 0, 23, 23, 24, {}, 0, "0 to 23"},
    {CronField::day_of_month, 1, 31, 31, 31, {}, 0, "1 to 31"},
    {CronField::month, 1, 12, 12, 12, month_names, 1, "1 to 12 or JAN to DEC"},
    {CronField::day_of_week, 0, 7, 6, 7, weekday_names, 0,
     "0 to 7, Sunday being both, or SUN to SAT"},
};

struct Macro {
  std::string_view name;
  std::string_view expression;
};
constexpr Macro macros[] = {
    {"@yearly", "0 0 1 1 *"}, {"@annually", "0 0 1 1 *"}, {"@monthly", "0 0 1 * *"},
    {"@weekly", "0 0 * * 0"}, {"@daily", "0 0 * * *"},    {"@midnight", "0 0 * * *"},
    {"@hourly", "0 * * * *"},
};

bool is_cron_blank(char c) {
  return c == ' ' || c == '\t';
}
bool is_cron_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_cron_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
char upper(char c) {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}

bool same_letters(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (upper(a[i]) != upper(b[i])) return false;
  }
  return true;
}

// A piece of the expression that knows where it stands.
struct Piece {
  std::string_view text;
  std::size_t position;

  Piece part(std::size_t from, std::size_t length = std::string_view::npos) const {
    return {text.substr(from, length), position + from};
  }
};

std::optional<unsigned> find_number(std::string_view text) {
  if (text.empty() || text.size() > 4) return std::nullopt;
  unsigned value = 0;
  for (const char c : text) {
    if (!is_cron_digit(c)) return std::nullopt;
    value = value * 10 + static_cast<unsigned>(c - '0');
  }
  return value;
}

// Reads one field after the other, and stops at the first thing that is wrong.
class CronReader {
 public:
  std::optional<CronError> error;

  // The bits of a field; 0 once something is wrong.
  std::uint64_t read_field(const FieldKind& kind, Piece field) {
    kind_ = &kind;
    for (std::size_t i = 0; i < field.text.size(); ++i) {
      const char c = field.text[i];
      if (!is_cron_digit(c) && !is_cron_letter(c) && c != '*' && c != ',' && c != '/' && c != '-') {
        return wrong(CronProblem::invalid_character, field.part(i),
                     "a field is made of numbers, names, * , / and - alone");
      }
    }
    const bool alone = field.text.find(',') == std::string_view::npos;
    std::uint64_t bits = 0;
    for (std::size_t begin = 0; begin <= field.text.size() && !error;) {
      const auto comma = std::min(field.text.find(',', begin), field.text.size());
      bits |= read_item(field.part(begin, comma - begin), alone);
      begin = comma + 1;
    }
    return error ? 0 : bits;
  }

 private:
  std::uint64_t read_item(Piece item, bool alone) {
    const auto slash = item.text.find('/');
    const Piece range = item.part(0, slash);
    if (range.text.empty()) {
      return wrong(CronProblem::empty_item, item, "a value, a range or * is missing here");
    }
    unsigned step = 1;
    const bool stepped = slash != std::string_view::npos;
    if (stepped) step = read_step(item.part(slash + 1));
    if (error) return 0;

    if (range.text == "*") {
      if (!stepped && !alone) {
        return wrong(CronProblem::wildcard_in_list, range,
                     "* already covers everything: leave out the rest, or the *");
      }
      return bits(kind_->least, kind_->wildcard_most, step);
    }
    const auto dash = range.text.find('-');
    if (dash != std::string_view::npos) return read_range(range, dash, step);
    const auto value = read_value(range, false);
    if (error || out_of_range(range, value)) return 0;
    return bits(value, stepped ? kind_->most : value, step);
  }

  unsigned read_step(Piece step) {
    const auto number = find_number(step.text);
    if (!number) {
      wrong(CronProblem::invalid_step, step, "behind / stands one number, of four digits at most");
      return 1;
    }
    if (*number < 1 || *number > kind_->size) {
      wrong(CronProblem::step_out_of_range, step,
            fmt::format("a step of this field is 1 to {}", kind_->size));
    }
    return *number;
  }

  std::uint64_t read_range(Piece range, std::size_t dash, unsigned step) {
    const Piece low = range.part(0, dash);
    const Piece high = range.part(dash + 1);
    if (low.text.empty() || high.text.empty() || high.text.find('-') != std::string_view::npos) {
      return wrong(CronProblem::invalid_range, range,
                   "a range has one value on each side of one dash");
    }
    const auto first = read_value(low, false);
    if (error) return 0;
    const auto last = read_value(high, true);
    if (error) return 0;
    if (first > last) {
      return wrong(CronProblem::reversed_range, range,
                   "a range goes upwards: write two of them, as in 22-23,0-6");
    }
    if (out_of_range(low, first) || out_of_range(high, last)) return 0;
    return bits(first, last, step);
  }

  unsigned read_value(Piece value, bool upper_end) {
    if (const auto number = find_number(value.text)) return *number;
    if (std::ranges::all_of(value.text, is_cron_letter)) return read_name(value, upper_end);
    wrong(CronProblem::invalid_value, value, fmt::format("this field takes {}", kind_->values));
    return 0;
  }

  unsigned read_name(Piece name, bool upper_end) {
    for (std::size_t i = 0; i < kind_->names.size(); ++i) {
      if (!same_letters(name.text, kind_->names[i])) continue;
      const auto value = kind_->first_name + static_cast<unsigned>(i);
      // FRI-SUN ends with the Sunday at the end of the week.
      return upper_end && value == 0 ? 7 : value;
    }
    wrong(CronProblem::unknown_name, name, fmt::format("this field takes {}", kind_->values));
    return 0;
  }

  bool out_of_range(Piece value, unsigned number) {
    if (number >= kind_->least && number <= kind_->most) return false;
    wrong(CronProblem::value_out_of_range, value,
          fmt::format("this field takes {}", kind_->values));
    return true;
  }

  static std::uint64_t bits(unsigned first, unsigned last, unsigned step) {
    std::uint64_t set = 0;
    for (unsigned value = first; value <= last; value += step) set |= std::uint64_t{1} << value;
    return set;
  }

  std::uint64_t wrong(CronProblem problem, Piece where, std::string hint) {
    error = CronError{problem, kind_->field, where.position, std::move(hint)};
    return 0;
  }

  const FieldKind* kind_ = nullptr;
};

CronError whole(CronProblem problem, std::size_t position, std::string hint) {
  return {problem, std::nullopt, position, std::move(hint)};
}

bool some_day_exists(const Cron& cron) {
  constexpr unsigned longest[] = {0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  for (unsigned month = 1; month <= 12; ++month) {
    const auto days = (std::uint32_t{2} << longest[month]) - 1;
    if ((cron.months >> month & 1) != 0 && (cron.days & days) != 0) return true;
  }
  return false;
}

bool begins_with_star(std::string_view field) {
  return field == "*" || (field.starts_with("*/") && field.find(',') == std::string_view::npos);
}

ParsedCron read_fields(const std::array<Piece, 5>& fields) {
  CronReader reader;
  std::array<std::uint64_t, 5> bits{};
  for (std::size_t i = 0; i < fields.size(); ++i) {
    bits[i] = reader.read_field(field_kinds[i], fields[i]);
    if (reader.error) return *std::move(reader.error);
  }
  Cron cron;
  cron.minutes = bits[0];
  cron.hours = static_cast<std::uint32_t>(bits[1]);
  cron.days = static_cast<std::uint32_t>(bits[2]);
  cron.months = static_cast<std::uint16_t>(bits[3]);
  cron.weekdays = static_cast<std::uint8_t>((bits[4] | bits[4] >> 7) & 0x7f);
  cron.hour_wild = begins_with_star(fields[1].text) || cron.hours == 0xff'ffff;
  cron.days_restricted = fields[2].text != "*";
  cron.weekdays_restricted = fields[4].text != "*";
  if (cron.days_restricted && !cron.weekdays_restricted && !some_day_exists(cron)) {
    return whole(CronProblem::never_fires, fields[2].position,
                 "no month listed here ever has such a day");
  }
  return cron;
}

ParsedCron read_macro(Piece macro) {
  for (const Macro& known : macros) {
    if (same_letters(macro.text, known.name)) return parse_cron(known.expression);
  }
  return whole(CronProblem::unknown_macro, macro.position,
               "there are @yearly, @annually, @monthly, @weekly, @daily, @midnight and @hourly");
}

ParsedCron split_fields(Piece trimmed) {
  std::array<Piece, 5> fields{};
  std::size_t count = 0;
  std::size_t extra = 0;
  for (std::size_t i = 0; i < trimmed.text.size();) {
    std::size_t end = i;
    while (end < trimmed.text.size() && !is_cron_blank(trimmed.text[end])) ++end;
    if (count < fields.size()) fields[count] = trimmed.part(i, end - i);
    if (count == fields.size()) extra = trimmed.position + i;
    ++count;
    while (end < trimmed.text.size() && is_cron_blank(trimmed.text[end])) ++end;
    i = end;
  }
  if (count == fields.size()) return read_fields(fields);
  return whole(CronProblem::field_count,
               count > fields.size() ? extra : trimmed.position + trimmed.text.size(),
               fmt::format("there are {} fields, and it takes five: minute, hour, day of month, "
                           "month, day of week; the time zone is given apart from them",
                           count));
}

}  // namespace

std::string_view to_string(CronField field) {
  constexpr std::string_view names[] = {"minute", "hour", "day_of_month", "month", "day_of_week"};
  return names[static_cast<std::size_t>(field)];
}

std::string_view to_string(CronProblem problem) {
  constexpr std::string_view names[] = {"too_long",      "invalid_character",  "empty",
                                        "unknown_macro", "field_count",        "empty_item",
                                        "invalid_step",  "step_out_of_range",  "wildcard_in_list",
                                        "invalid_range", "reversed_range",     "unknown_name",
                                        "invalid_value", "value_out_of_range", "never_fires"};
  return names[static_cast<std::size_t>(problem)];
}

ParsedCron parse_cron(std::string_view text) {
  if (text.size() > longest_cron) {
    return whole(CronProblem::too_long, longest_cron,
                 fmt::format("an expression has {} bytes at most", longest_cron));
  }
  for (std::size_t i = 0; i < text.size(); ++i) {
    if ((text[i] < ' ' || text[i] > '~') && text[i] != '\t') {
      return whole(CronProblem::invalid_character, i, "an expression is plain ASCII on one line");
    }
  }
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) {
    return whole(CronProblem::empty, 0, "five fields belong here, as in 30 2 * * 1-5");
  }
  const auto last = text.find_last_not_of(" \t");
  const Piece trimmed{text.substr(first, last + 1 - first), first};
  return trimmed.text.front() == '@' ? read_macro(trimmed) : split_fields(trimmed);
}

}  // namespace dw::schedule
