#include "schedule/calendar_value.hpp"

#include "schedule/calendar_rule_value.hpp"
#include "schedule/calendar_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace dw::schedule {
namespace {

using std::chrono::local_days;

constexpr std::array<std::string_view, 11> definition_keys{
    "name",  "kind",   "timezone", "description",       "dates",           "partial_dates",
    "rules", "except", "labels",   "confirmed_through", "provisional_note"};
constexpr std::array<std::string_view, 5> record_keys{"id", "namespace", "is_seed", "created_at",
                                                      "updated_at"};

std::string shown_json(const Value& value) {
  constexpr std::size_t enough = 60;
  auto text = to_json(value);
  return text.size() <= enough ? text : "this";  // cut anywhere it might not be UTF-8
}

class CalendarReader {
 public:
  CalendarReader(const Value& definition, const ZoneExists& zone_exists)
      : definition_(definition), zone_exists_(zone_exists) {}

  Checked<Calendar> read() {
    if (definition_.if_map() == nullptr) {
      problems_.add("invalid_value", "", "a calendar is an object with kind, timezone and dates");
      return std::move(problems_).judge(Calendar{});
    }
    Calendar calendar;
    check_keys();
    read_kind(calendar);
    read_zone(calendar);
    calendar.name = text("name", longest_calendar_name);
    calendar.description = text("description", longest_calendar_text);
    calendar.provisional_note = text("provisional_note", longest_calendar_text);
    calendar.dates = dates("dates");
    calendar.except = dates("except");
    read_partial_dates(calendar);
    read_rules(calendar);
    read_labels(calendar);
    read_confirmed_through(calendar);
    check_there_is_something();
    return std::move(problems_).judge(std::move(calendar));
  }

 private:
  // A key that says null says nothing.
  const Value* given(std::string_view key) const {
    const auto* value = definition_.find(key);
    return value == nullptr || value->is_null() ? nullptr : value;
  }

  void check_keys() {
    for (const auto& [key, value] : *definition_.if_map()) {
      if (std::ranges::find(definition_keys, key) != definition_keys.end()) continue;
      if (std::ranges::find(record_keys, key) != record_keys.end()) continue;
      problems_.add(
          "invalid_value", key,
          fmt::format("a calendar has no such field: it has {}", fmt::join(definition_keys, ", ")));
    }
  }

  void read_kind(Calendar& calendar) {
    const auto* kind = given("kind");
    for (const auto known : {CalendarKind::skip_dates, CalendarKind::only_dates}) {
      if (kind != nullptr && *kind == Value{to_string(known)}) return void(calendar.kind = known);
    }
    problems_.add("invalid_kind", "kind",
                  "write skip_dates to forbid the days, only_dates to forbid all others");
  }

  void read_zone(Calendar& calendar) {
    const auto* zone = given("timezone");
    const auto* name = zone != nullptr ? zone->if_string() : nullptr;
    if (name == nullptr || !zone_exists_(*name)) {
      return problems_.add("invalid_timezone", "timezone",
                           zone == nullptr
                               ? "name the zone whose days are meant, such as Europe/Istanbul"
                               : fmt::format("{} is not an IANA zone: write it like "
                                             "Europe/Istanbul, or UTC",
                                             shown_json(*zone)));
    }
    calendar.timezone = *name;
  }

  std::string text(std::string_view key, std::size_t longest) {
    const auto* value = given(key);
    if (value == nullptr) return {};
    const auto* text = value->if_string();
    if (text != nullptr && text->size() <= longest) return *text;
    problems_.add("invalid_value", std::string{key},
                  fmt::format("must be text of at most {} bytes", longest));
    return {};
  }

  // The entries of a list, which may be no longer than it may be.
  const Value::Array& list(std::string_view key, std::string_view code, std::size_t most) {
    static const Value::Array none;
    const auto* value = given(key);
    if (value == nullptr) return none;
    const auto* items = value->if_array();
    if (items == nullptr) {
      problems_.add(std::string{code}, std::string{key}, "must be an array");
    } else if (items->size() > most) {
      problems_.add("too_large", std::string{key},
                    fmt::format("{} entries are too many: {} may be given", items->size(), most));
    } else {
      return *items;
    }
    return none;
  }

  std::vector<local_days> dates(std::string_view key) {
    std::vector<local_days> found;
    const auto& items = list(key, "invalid_date", most_calendar_dates);
    for (std::size_t place = 0; place < items.size(); ++place) {
      const auto* text = items[place].if_string();
      if (const auto date = text != nullptr ? find_date(*text) : std::nullopt) {
        found.push_back(*date);
      } else {
        problems_.add(
            "invalid_date", fmt::format("{}[{}]", key, place),
            fmt::format("{} is not a day: write it as \"2026-12-24\"", shown_json(items[place])));
      }
    }
    return found;
  }

  void read_partial_dates(Calendar& calendar) {
    const auto& items = list("partial_dates", "invalid_partial", most_calendar_dates);
    for (std::size_t place = 0; place < items.size(); ++place) {
      const auto where = fmt::format("partial_dates[{}]", place);
      const auto* date = items[place].find("date");
      const auto* text = date != nullptr ? date->if_string() : nullptr;
      const auto day = text != nullptr ? find_date(*text) : std::nullopt;
      if (!day) {
        problems_.add("invalid_partial", where + ".date",
                      "a partial date needs its day, such as \"2026-12-24\"");
      }
      const auto window = read_day_window(items[place], where, {"date"}, problems_);
      if (day && window) calendar.partial_dates.push_back({*day, *window});
    }
  }

  void read_rules(Calendar& calendar) {
    const auto& items = list("rules", "invalid_rule", most_calendar_rules);
    for (std::size_t place = 0; place < items.size(); ++place) {
      auto rule = read_calendar_rule(items[place], fmt::format("rules[{}]", place), problems_);
      if (rule) calendar.rules.push_back(*std::move(rule));
    }
  }

  void read_labels(Calendar& calendar) {
    const auto* value = given("labels");
    if (value == nullptr) return;
    const auto* entries = value->if_map();
    if (entries == nullptr || entries->size() > 2 * most_calendar_dates) {
      return problems_.add("invalid_value", "labels", "must be an object of days and their names");
    }
    for (const auto& [key, entry] : *entries) {
      const auto date = find_date(key);
      const auto* label = entry.if_string();
      if (!date) {
        problems_.add("invalid_date", fmt::format("labels.{}", key),
                      "is not a day: write it as \"2026-12-24\"");
      } else if (label == nullptr || label->size() > longest_calendar_label) {
        problems_.add("invalid_value", fmt::format("labels.{}", key),
                      fmt::format("must be text of at most {} bytes", longest_calendar_label));
      } else {
        calendar.labels[*date] = *label;
      }
    }
  }

  void read_confirmed_through(Calendar& calendar) {
    const auto* value = given("confirmed_through");
    if (value == nullptr) return;
    const auto* year = value->if_integer();
    if (year != nullptr && *year >= 1 && *year <= 9999) {
      calendar.confirmed_through = static_cast<int>(*year);
    } else {
      problems_.add("invalid_value", "confirmed_through", "must be a year, such as 2026");
    }
  }

  void check_there_is_something() {
    if (given("dates") || given("partial_dates") || given("rules")) return;
    problems_.add("calendar_empty", "",
                  "give dates, partial_dates or rules; an empty list is enough");
  }

  const Value& definition_;
  const ZoneExists& zone_exists_;
  GuardProblems problems_;
};

// ---- writing

Value written_dates(const std::vector<local_days>& dates) {
  Value::Array items;
  for (const auto date : dates) items.emplace_back(date_text(date));
  return items;
}

Value written_partial_dates(const std::vector<PartialDate>& dates) {
  Value::Array items;
  for (const auto& [date, window] : dates) {
    items.emplace_back(Value::Map{{"date", date_text(date)},
                                  {"from", time_of_day_text(window.from)},
                                  {"until", time_of_day_text(window.until)}});
  }
  return items;
}

Value written_labels(const std::map<local_days, std::string>& labels) {
  Value::Map entries;
  for (const auto& [date, label] : labels) entries.emplace_back(date_text(date), label);
  return entries;
}

std::optional<Timestamp> find_stored_time(const Value& stored, std::string_view key) {
  const auto* value = stored.find(key);
  const auto* text = value != nullptr ? value->if_string() : nullptr;
  if (text == nullptr) return std::nullopt;
  const auto at = parse_timestamp(*text);
  return at ? std::optional{*at} : std::nullopt;
}

}  // namespace

Checked<Calendar> check_calendar(const Value& definition, const ZoneExists& zone_exists) {
  return CalendarReader{definition, zone_exists}.read();
}

Value to_value(const Calendar& calendar) {
  Value::Map entries{{"name", calendar.name},
                     {"kind", to_string(calendar.kind)},
                     {"timezone", calendar.timezone},
                     {"description", calendar.description}};
  if (calendar.confirmed_through) {
    entries.emplace_back("confirmed_through", *calendar.confirmed_through);
  }
  if (!calendar.provisional_note.empty()) {
    entries.emplace_back("provisional_note", calendar.provisional_note);
  }
  Value::Array rules;
  for (const auto& rule : calendar.rules) rules.push_back(to_value(rule));
  // Lists are there even when they are empty: a calendar without any is a mistake.
  entries.emplace_back("dates", written_dates(calendar.dates));
  entries.emplace_back("partial_dates", written_partial_dates(calendar.partial_dates));
  entries.emplace_back("rules", std::move(rules));
  entries.emplace_back("except", written_dates(calendar.except));
  if (!calendar.labels.empty()) entries.emplace_back("labels", written_labels(calendar.labels));
  return entries;
}

Value to_value(const CalendarRecord& record) {
  Value::Map entries{
      {"id", record.id},
      {"namespace", record.namespace_name ? Value{*record.namespace_name} : Value{}}};
  auto definition = to_value(record.calendar);
  for (auto& entry : *definition.if_map()) entries.push_back(std::move(entry));
  entries.emplace_back("is_seed", record.is_seed);
  entries.emplace_back("created_at", format_timestamp(record.created_at));
  entries.emplace_back("updated_at", format_timestamp(record.updated_at));
  return entries;
}

Checked<CalendarRecord> read_calendar_record(const Value& stored, const ZoneExists& zone_exists) {
  auto calendar = check_calendar(stored, zone_exists);
  if (!calendar) return {std::nullopt, std::move(calendar.problems)};
  GuardProblems problems;
  CalendarRecord record{.id = {}, .calendar = *std::move(calendar)};
  const auto* id = stored.find("id");
  const auto* space = stored.find("namespace");
  const auto* seed = stored.find("is_seed");
  const auto created_at = find_stored_time(stored, "created_at");
  const auto updated_at = find_stored_time(stored, "updated_at");
  if (id != nullptr && id->if_string() != nullptr) {
    record.id = *id->if_string();
  } else {
    problems.add("invalid_value", "id", "a stored calendar has an id");
  }
  if (space != nullptr && space->if_string() != nullptr)
    record.namespace_name = *space->if_string();
  if (seed != nullptr && seed->if_boolean() != nullptr) record.is_seed = *seed->if_boolean();
  if (!created_at || !updated_at) {
    problems.add("invalid_value", created_at ? "updated_at" : "created_at", "must be a timestamp");
  }
  record.created_at = created_at.value_or(Timestamp{});
  record.updated_at = updated_at.value_or(Timestamp{});
  return std::move(problems).judge(std::move(record));
}

Value to_value(const YearExpansion& expansion) {
  Value::Array exhausted;
  for (const auto& table : expansion.exhausted_tables) exhausted.emplace_back(table);
  return Value::Map{{"year", expansion.year},
                    {"dates", written_dates(expansion.dates)},
                    {"partial_dates", written_partial_dates(expansion.partial_dates)},
                    {"labels", written_labels(expansion.labels)},
                    {"exhausted_tables", std::move(exhausted)},
                    {"provisional", expansion.provisional}};
}

}  // namespace dw::schedule
