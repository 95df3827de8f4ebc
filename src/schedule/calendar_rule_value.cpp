#include "schedule/calendar_rule_value.hpp"

#include "schedule/calendar_text.hpp"
#include "schedule/calendar_value.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace dw::schedule {
namespace {

using std::chrono::local_days;

struct RuleType {
  std::string_view name;
  std::array<std::string_view, 3> fields;  // its own; all of them have the common ones
};
// In the order of CalendarRule::base.
constexpr std::array<RuleType, 6> rule_types{{{"fixed", {"month", "day", "observed"}},
                                              {"nth_weekday", {"month", "weekday", "n"}},
                                              {"weekly", {"weekdays"}},
                                              {"easter", {}},
                                              {"table", {"starts"}},
                                              {"range", {"from", "to"}}}};
constexpr std::array<std::string_view, 7> common_rule_fields{
    "type", "offset_days", "span_days", "from_year", "to_year", "partial", "label"};

constexpr std::array<std::pair<Observed, std::string_view>, 2> observed_words{
    {{Observed::nearest_weekday, "nearest_weekday"}, {Observed::next_weekday, "next_weekday"}}};

class RuleReader {
 public:
  RuleReader(const Value& value, const std::string& where, GuardProblems& problems)
      : value_(value), where_(where), problems_(problems) {}

  std::optional<CalendarRule> read() {
    const RuleType* type = find_type();
    if (type == nullptr) return std::nullopt;
    check_fields(*type);
    CalendarRule rule;
    read_base(rule, static_cast<std::size_t>(type - rule_types.data()));
    rule.offset_days = number("offset_days", -most_offset_days, most_offset_days, 0);
    rule.span_days = number("span_days", 1, most_span_days, 1);
    if (given("from_year")) rule.from_year = number("from_year", 1, 9999);
    if (given("to_year")) rule.to_year = number("to_year", 1, 9999);
    if (rule.from_year && rule.to_year && *rule.from_year > *rule.to_year) {
      wrong("to_year", "must not be before from_year");
    }
    if (const auto* partial = given("partial")) {
      const auto window = read_day_window(*partial, where_ + ".partial", {}, problems_);
      good_ = good_ && window.has_value();
      rule.partial = window;
    }
    read_label(rule);
    return good_ ? std::optional{std::move(rule)} : std::nullopt;
  }

 private:
  const Value* given(std::string_view key) const {
    const auto* value = value_.find(key);
    return value == nullptr || value->is_null() ? nullptr : value;
  }
  void wrong(std::string_view field, std::string message) {
    good_ = false;
    problems_.add("invalid_rule", field.empty() ? where_ : fmt::format("{}.{}", where_, field),
                  std::move(message));
  }

  const RuleType* find_type() {
    const auto* type = given("type");
    const auto* name = type != nullptr ? type->if_string() : nullptr;
    if (name != nullptr) {
      const auto* const found = std::ranges::find(rule_types, *name, &RuleType::name);
      if (found != rule_types.end()) return found;
    }
    std::vector<std::string_view> names;
    for (const auto& known : rule_types) names.push_back(known.name);
    wrong("type", fmt::format("must be one of {}", fmt::join(names, ", ")));
    return nullptr;
  }

  // A misspelt field would be a rule that means something else.
  void check_fields(const RuleType& type) {
    for (const auto& [key, value] : *value_.if_map()) {
      if (!key.empty() && std::ranges::find(type.fields, key) != type.fields.end()) continue;
      if (std::ranges::find(common_rule_fields, key) != common_rule_fields.end()) continue;
      wrong(key, fmt::format("a rule of the type {} has no such field", type.name));
    }
  }

  void read_base(CalendarRule& rule, std::size_t type) {
    switch (type) {
      case 0:
        return void(rule.base = fixed());
      case 1:
        return void(rule.base = nth_weekday());
      case 2:
        return void(rule.base = weekly());
      case 3:
        return void(rule.base = EasterSunday{});
      case 4:
        return void(rule.base = table());
      default:
        return void(rule.base = range());
    }
  }

  int number(std::string_view key, int least, int most, std::optional<int> otherwise = {}) {
    const auto* value = given(key);
    if (value == nullptr && otherwise) return *otherwise;
    const auto* found = value != nullptr ? value->if_integer() : nullptr;
    if (found != nullptr && *found >= least && *found <= most) return static_cast<int>(*found);
    wrong(key, fmt::format("must be a whole number from {} to {}", least, most));
    return least;
  }
  std::chrono::month month() {
    return std::chrono::month{static_cast<unsigned>(number("month", 1, 12))};
  }

  FixedDate fixed() {
    FixedDate date{month(), std::chrono::day{static_cast<unsigned>(number("day", 1, 31))}};
    const std::chrono::year leap_year{2024};
    if (!(leap_year / date.month / date.day).ok()) wrong("day", "the month has no such day");
    const auto* observed = given("observed");
    if (observed == nullptr) return date;
    for (const auto& [meaning, word] : observed_words) {
      if (*observed == Value{word}) return date.observed = meaning, date;
    }
    wrong("observed", "must be nearest_weekday or next_weekday");
    return date;
  }

  NthWeekday nth_weekday() {
    const auto in = month();
    const auto weekday = std::chrono::weekday{static_cast<unsigned>(number("weekday", 1, 7))};
    const int n = number("n", -5, 5);
    if (n == 0) wrong("n", "1 is the first of the month, -1 the last; 0 is none");
    return {in, weekday, n};
  }

  EveryWeek weekly() {
    EveryWeek week;
    const auto* value = given("weekdays");
    const auto* items = value != nullptr ? value->if_array() : nullptr;
    for (const auto& item : items != nullptr ? *items : Value::Array{}) {
      const auto* day = item.if_integer();
      if (day == nullptr || *day < 1 || *day > 7) {
        wrong("weekdays", "days are numbered from 1, Monday, to 7, Sunday");
        return week;
      }
      week.weekdays.set(static_cast<std::size_t>(*day));
    }
    if (week.weekdays.none()) wrong("weekdays", "must list at least one day, such as [6, 7]");
    return week;
  }

  // Each row has to say where it belongs twice, which finds many a slip.
  YearTable table() {
    YearTable table;
    const auto* value = given("starts");
    const auto* rows = value != nullptr ? value->if_map() : nullptr;
    std::size_t count = 0;
    for (const auto& [key, row] : rows != nullptr ? *rows : Value::Map{}) {
      const auto year = key.size() == 4 ? find_digits(key) : std::nullopt;
      const auto* dates = row.if_array();
      if (!year || dates == nullptr) {
        wrong("starts", "must be an object of years and their days: {\"2026\": [\"2026-03-20\"]}");
        return table;
      }
      auto& starts = table.starts[*year];
      for (const auto& item : *dates) starts.push_back(date_of_year(item, *year));
      count += dates->size();
    }
    if (table.starts.empty()) wrong("starts", "must have a year: {\"2026\": [\"2026-03-20\"]}");
    if (count > most_calendar_dates) {
      wrong("starts", fmt::format("may hold {} days", most_calendar_dates));
    }
    return table;
  }
  local_days date_of_year(const Value& value, int year) {
    const auto* text = value.if_string();
    const auto date = text != nullptr ? find_date(*text) : std::nullopt;
    if (date && std::chrono::year_month_day{*date}.year() == std::chrono::year{year}) return *date;
    wrong("starts", fmt::format("{} is not a day of {}", to_json(value), year));
    return {};
  }

  DateRange range() {
    const DateRange days{date("from"), date("to")};
    if (good_ && days.to < days.from) wrong("to", "must not be before from");
    return days;
  }
  local_days date(std::string_view key) {
    const auto* value = given(key);
    const auto* text = value != nullptr ? value->if_string() : nullptr;
    if (const auto found = text != nullptr ? find_date(*text) : std::nullopt) return *found;
    wrong(key, "must be a day, such as \"2026-12-24\"");
    return {};
  }

  void read_label(CalendarRule& rule) {
    const auto* value = given("label");
    if (value == nullptr) return;
    const auto* label = value->if_string();
    if (label == nullptr || label->size() > longest_calendar_label) {
      return wrong("label",
                   fmt::format("must be text of at most {} bytes", longest_calendar_label));
    }
    rule.label = *label;
  }

  const Value& value_;
  const std::string& where_;
  GuardProblems& problems_;
  bool good_ = true;
};

// ---- writing

int as_int(std::chrono::month month) {
  return static_cast<int>(static_cast<unsigned>(month));
}

void add_base(Value::Map& out, const FixedDate& base) {
  out.emplace_back("month", as_int(base.month));
  out.emplace_back("day", static_cast<int>(static_cast<unsigned>(base.day)));
  for (const auto& [meaning, word] : observed_words) {
    if (base.observed == meaning) out.emplace_back("observed", word);
  }
}
void add_base(Value::Map& out, const NthWeekday& base) {
  out.emplace_back("month", as_int(base.month));
  out.emplace_back("weekday", static_cast<int>(base.weekday.iso_encoding()));
  out.emplace_back("n", base.n);
}
void add_base(Value::Map& out, const EveryWeek& base) {
  Value::Array days;
  for (int day = 1; day <= 7; ++day) {
    if (base.weekdays[static_cast<std::size_t>(day)]) days.emplace_back(day);
  }
  out.emplace_back("weekdays", std::move(days));
}
void add_base(Value::Map&, const EasterSunday&) {}
void add_base(Value::Map& out, const YearTable& base) {
  Value::Map rows;
  for (const auto& [year, dates] : base.starts) {
    Value::Array row;
    for (const auto date : dates) row.emplace_back(date_text(date));
    rows.emplace_back(fmt::format("{:04}", year), std::move(row));
  }
  out.emplace_back("starts", std::move(rows));
}
void add_base(Value::Map& out, const DateRange& base) {
  out.emplace_back("from", date_text(base.from));
  out.emplace_back("to", date_text(base.to));
}

}  // namespace

std::optional<CalendarRule> read_calendar_rule(const Value& value, const std::string& where,
                                               GuardProblems& problems) {
  return RuleReader{value, where, problems}.read();
}

std::optional<DayWindow> read_day_window(const Value& value, const std::string& where,
                                         std::initializer_list<std::string_view> other_keys,
                                         GuardProblems& problems) {
  const auto wrong = [&](std::string_view field, std::string message) {
    problems.add("invalid_partial", where + std::string{field}, std::move(message));
    return std::nullopt;
  };
  const auto* entries = value.if_map();
  if (entries == nullptr) return wrong("", R"(must be an object such as {"from": "13:00"})");
  for (const auto& [key, entry] : *entries) {
    if (key == "from" || key == "until") continue;
    if (std::ranges::find(other_keys, key) != other_keys.end()) continue;
    return wrong("." + key, "part of a day has no such field");
  }
  DayWindow window;
  const auto read = [&](std::string_view key, std::chrono::minutes& into) {
    const auto* entry = value.find(key);
    if (entry == nullptr || entry->is_null()) return true;
    const auto* text = entry->if_string();
    const auto time = text != nullptr ? find_time_of_day(*text) : std::nullopt;
    if (time) into = *time;
    return time.has_value();
  };
  if (!read("from", window.from)) return wrong(".from", "must be a time of day, such as \"13:00\"");
  if (!read("until", window.until)) {
    return wrong(".until", "must be a time of day, such as \"13:00\"; \"24:00\" is its end");
  }
  if (window.from >= window.until) return wrong(".until", "must be later than from");
  return window;
}

Value to_value(const CalendarRule& rule) {
  Value::Map out{{"type", rule_types[rule.base.index()].name}};
  std::visit([&](const auto& base) { add_base(out, base); }, rule.base);
  if (!rule.label.empty()) out.emplace_back("label", rule.label);
  if (rule.offset_days != 0) out.emplace_back("offset_days", rule.offset_days);
  if (rule.span_days != 1) out.emplace_back("span_days", rule.span_days);
  if (rule.from_year) out.emplace_back("from_year", *rule.from_year);
  if (rule.to_year) out.emplace_back("to_year", *rule.to_year);
  if (rule.partial) {
    out.emplace_back("partial", Value::Map{{"from", time_of_day_text(rule.partial->from)},
                                           {"until", time_of_day_text(rule.partial->until)}});
  }
  return out;
}

}  // namespace dw::schedule
