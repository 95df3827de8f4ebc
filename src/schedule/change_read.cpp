#include "schedule/change.hpp"

#include "core/whole_number.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dw::schedule {
namespace {

class BodyReader {
 public:
  explicit BodyReader(const Value& body) : body_(body) {}

  ReadChange read() &&;

 private:
  const Value* given(std::string_view key) {
    known_.push_back(key);
    const auto* value = body_.find(key);
    return value != nullptr && !value->is_null() ? value : nullptr;
  }
  void wrong(std::string path, const Value& value, std::string_view expected) {
    read_.problems.push_back({std::move(path), "invalid_value",
                              fmt::format("is of type {}", dw::to_string(value.kind())),
                              fmt::format("must be {}", expected)});
  }

  void take(std::string_view key, std::optional<std::string>& into) {
    if (const auto* value = given(key)) take_text(std::string{key}, *value, into);
  }
  void take(std::string_view key, std::optional<std::int64_t>& into) {
    const auto* value = given(key);
    if (value == nullptr) return;
    into = whole_number(*value);
    if (!into) wrong(std::string{key}, *value, "a whole number");
  }
  void take(std::string_view key, bool& into) {
    const auto* value = given(key);
    if (value == nullptr) return;
    if (const auto* flag = value->if_boolean()) return void(into = *flag);
    wrong(std::string{key}, *value, "true or false");
  }
  void take(std::string_view key, std::optional<Timestamp>& into) {
    const auto* value = given(key);
    if (value == nullptr) return;
    const auto* text = value->if_string();
    const auto parsed = text != nullptr ? parse_timestamp(*text) : Error{};
    if (parsed) return void(into = *parsed);
    wrong(std::string{key}, *value, "an instant such as 2026-04-10T12:00:00Z");
  }
  void take(std::string_view key, std::optional<Value>& into) {
    if (const auto* value = given(key)) into = *value;
  }
  void take(std::string_view key, std::optional<std::vector<std::string>>& into) {
    if (const auto* value = given(key)) into = take_texts(std::string{key}, *value);
  }

  void take_text(std::string path, const Value& value, std::optional<std::string>& into) {
    if (const auto* text = value.if_string()) return void(into = *text);
    wrong(std::move(path), value, "a text");
  }
  std::vector<std::string> take_texts(const std::string& path, const Value& value);
  void take_spec();
  IntervalText take_interval(const std::string& path, const Value& value);
  void name_the_unknown();

  const Value& body_;
  ReadChange read_;
  std::vector<std::string_view> known_;
};

std::vector<std::string> BodyReader::take_texts(const std::string& path, const Value& value) {
  std::vector<std::string> texts;
  const auto* items = value.if_array();
  if (items == nullptr) {
    wrong(path, value, "an array of texts");
    return texts;
  }
  for (std::size_t i = 0; i < items->size(); ++i) {
    std::optional<std::string> text;
    take_text(fmt::format("{}.{}", path, i), (*items)[i], text);
    if (text) texts.push_back(*std::move(text));
  }
  return texts;
}

IntervalText BodyReader::take_interval(const std::string& path, const Value& value) {
  IntervalText interval;
  if (value.if_map() == nullptr) {
    wrong(path, value, R"(an object such as {"every": "PT1H"})");
    return interval;
  }
  for (const auto& [key, part] : *value.if_map()) {
    if (part.is_null()) continue;
    if (key == "every") take_text(path + ".every", part, interval.every);
    if (key == "offset") take_text(path + ".offset", part, interval.offset);
  }
  return interval;
}

void BodyReader::take_spec() {
  const auto* value = given("spec");
  if (value == nullptr) return;
  if (value->if_map() == nullptr) return wrong("spec", *value, "an object");
  SpecText spec;
  for (const auto& [key, part] : *value->if_map()) {
    const auto path = "spec." + key;
    if (part.is_null()) continue;
    if (key == "cron_expressions") {
      spec.cron_expressions = take_texts(path, part);
    } else if (key == "timezone") {
      std::optional<std::string> zone;
      take_text(path, part, zone);
      spec.timezone = zone.value_or(spec.timezone);
    } else if (key == "intervals") {
      const auto* items = part.if_array();
      if (items == nullptr) {
        wrong(path, part, "an array of intervals");
        continue;
      }
      for (std::size_t i = 0; i < items->size(); ++i) {
        spec.intervals.push_back(take_interval(fmt::format("{}.{}", path, i), (*items)[i]));
      }
    } else {
      read_.warnings.push_back({path, "unknown_field", "means nothing here and is not kept"});
    }
  }
  read_.change.spec = std::move(spec);
}

// A misspelled key changes nothing, which is worth knowing.
void BodyReader::name_the_unknown() {
  for (const auto& [key, value] : *body_.if_map()) {
    if (std::ranges::find(known_, key) != known_.end() || value.is_null()) continue;
    read_.warnings.push_back({key, "unknown_field", "means nothing here and is not kept"});
  }
}

ReadChange BodyReader::read() && {
  if (body_.if_map() == nullptr) {
    wrong("", body_, "an object");
    return std::move(read_);
  }
  auto& change = read_.change;
  take("schedule_id", change.schedule_id);
  take("name", change.name);
  take("source", change.source);
  take("note", change.note);
  take_spec();
  take("cron_expression", change.cron_expression);
  take("timezone", change.timezone);
  take("jitter_seconds", change.jitter_seconds);
  take("start_at", change.start_at);
  take("end_at", change.end_at);
  take("calendar_ids", change.calendar_ids);
  take("condition", change.condition);
  take("rotation", change.rotation);
  take("overlap_policy", change.overlap_policy);
  take("missed_fire_policy", change.missed_fire_policy);
  take("max_runs", change.max_runs);
  take("budget", change.budget);
  take("pause_after_failures", change.pause_after_failures);
  take("action", change.action);
  take("labels", change.labels);
  take("memo", change.memo);
  take("search_attributes", change.search_attributes);
  take("connection", change.connection);
  take("queue", change.queue);
  take("paused", change.paused);
  std::optional<std::vector<std::string>> clear;
  take("clear_fields", clear);
  if (clear) change.clear_fields = *std::move(clear);
  name_the_unknown();
  return std::move(read_);
}

}  // namespace

ReadChange read_change(const Value& body) {
  return BodyReader{body}.read();
}

Value to_value(const ChangeProblem& problem) {
  Value::Map map{{"path", problem.path},
                 {"code", problem.code},
                 {"message", problem.message},
                 {"hint", problem.hint}};
  if (!problem.problem.empty()) map.emplace_back("problem", problem.problem);
  if (!problem.field.empty()) map.emplace_back("field", problem.field);
  if (problem.position) {
    map.emplace_back("position", static_cast<std::int64_t>(*problem.position));
  }
  return map;
}

Value to_value(const ChangeWarning& warning) {
  return Value::Map{{"path", warning.path}, {"code", warning.code}, {"message", warning.message}};
}

}  // namespace dw::schedule
