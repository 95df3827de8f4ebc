#include "schedule/record_codec.hpp"

#include "core/json_writer.hpp"
#include "schedule/record_fields.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dw::schedule {
namespace {

// ---- writing

class RecordWriter {
 public:
  explicit RecordWriter(JsonWriter& out) : out_(out) {}

  template <typename T>
  void operator()(std::string_view name, const T& value) {
    out_.key(name);
    put(value);
  }
  template <typename T>
  void operator()(std::string_view name, const std::optional<T>& value) {
    if (value) (*this)(name, *value);
  }
  template <typename T>
  void operator()(std::string_view name, const T& value, const T& fallback) {
    if (!(value == fallback)) (*this)(name, value);
  }

 private:
  template <typename Tag>
  void put(const StrongId<Tag>& id) {
    out_.value(id.view());
  }
  void put(const std::string& text) { out_.value(std::string_view{text}); }
  void put(std::int64_t number) { out_.value(number); }
  void put(std::uint64_t number) { out_.value(number); }
  void put(Timestamp at) { out_.value(at); }
  void put(const Value& value) { out_.raw(dw::to_json(value)); }
  template <typename Enum>
  requires std::is_enum_v<Enum>
  void put(Enum one) { out_.value(to_string(one)); }
  void put(const ScheduleLabels& labels) {
    Value::Map map(labels.begin(), labels.end());
    put(Value{std::move(map)});
  }
  void put(const Action& action) {
    out_.begin_object();
    out_.field("kind",
               std::holds_alternative<SendPrompt>(action) ? "send_prompt" : "start_workflow");
    std::visit([this](const auto& one) { visit_fields(*this, one); }, action);
    out_.end_object();
  }
  template <typename T>
  void put(const std::vector<T>& items) {
    out_.begin_array();
    for (const auto& item : items) put(item);
    out_.end_array();
  }
  void put(const RecordPart auto& part) {
    out_.begin_object();
    visit_fields(*this, part);
    out_.end_object();
  }

  JsonWriter& out_;
};

// ---- reading

// What keeps a record from being read. The first problem is kept; the rest follows from it.
struct ReadProblem {
  std::optional<Error> first;

  void add(ErrorCode code, std::string message) {
    if (!first) first = Error{code, std::move(message)};
  }
};

class RecordReader {
 public:
  RecordReader(const Value& object, std::string path, ReadProblem& problem)
      : object_(object), path_(std::move(path)), problem_(problem) {
    if (object.if_map() == nullptr) problem_.add(ErrorCode::store_corrupt, at("") + "is no object");
  }

  // What has a fallback or is optional may be missing, the rest may not.
  template <typename T>
  void operator()(std::string_view name, T& value) {
    if (const auto* found = take(name)) return get(*found, name, value);
    problem_.add(ErrorCode::store_corrupt, at(name) + "is missing");
  }
  template <typename T>
  void operator()(std::string_view name, std::optional<T>& value) {
    const auto* found = take(name);
    value.reset();
    if (found != nullptr) get(*found, name, value.emplace());
  }
  template <typename T>
  void operator()(std::string_view name, T& value, const T& fallback) {
    value = fallback;
    if (const auto* found = take(name)) get(*found, name, value);
  }

  const Value* take(std::string_view name) {
    known_.push_back(name);
    return object_.find(name);
  }

  // After all fields were visited: what is left over was written by somebody who knows more.
  void refuse_the_rest() {
    const auto* map = object_.if_map();
    if (map == nullptr) return;
    for (const auto& [key, value] : *map) {
      if (std::ranges::find(known_, key) != known_.end()) continue;
      problem_.add(ErrorCode::store_too_new,
                   at(key) + "is not known to this build; a newer one wrote it");
    }
  }

 private:
  std::string at(std::string_view name) const {
    return fmt::format("schedule record: {}{}{} ", path_, path_.empty() || name.empty() ? "" : ".",
                       name);
  }
  void wrong(std::string_view name, std::string_view expected) {
    problem_.add(ErrorCode::store_corrupt, fmt::format("{}is not {}", at(name), expected));
  }
  std::string below(std::string_view name) const {
    return path_.empty() ? std::string{name} : fmt::format("{}.{}", path_, name);
  }

  template <typename Tag>
  void get(const Value& from, std::string_view name, StrongId<Tag>& id) {
    std::string text;
    get(from, name, text);
    id = StrongId<Tag>{std::move(text)};
  }
  void get(const Value& from, std::string_view name, std::string& text) {
    if (const auto* found = from.if_string()) return void(text = *found);
    wrong(name, "a text");
  }
  void get(const Value& from, std::string_view name, std::int64_t& number) {
    if (const auto* found = from.if_integer()) return void(number = *found);
    wrong(name, "a whole number");
  }
  void get(const Value& from, std::string_view name, std::uint64_t& number) {
    const auto* found = from.if_integer();
    if (found != nullptr && *found >= 0) return void(number = static_cast<std::uint64_t>(*found));
    wrong(name, "a whole number that is not negative");
  }
  void get(const Value& from, std::string_view name, Timestamp& at_time) {
    const auto* text = from.if_string();
    const auto parsed = text != nullptr ? parse_timestamp(*text) : Error{};
    if (parsed) return void(at_time = *parsed);
    wrong(name, "an instant");
  }
  void get(const Value& from, std::string_view, Value& value) { value = from; }

  template <typename Enum>
  requires std::is_enum_v<Enum>
  void get(const Value& from, std::string_view name, Enum& one) {
    const auto* text = from.if_string();
    const auto found = text != nullptr ? enumerator<Enum>(*text) : std::nullopt;
    if (found) return void(one = *found);
    problem_.add(ErrorCode::store_too_new, at(name) + "is a word this build does not know");
  }
  template <typename Enum>
  static std::optional<Enum> enumerator(std::string_view name) {
    if constexpr (std::same_as<Enum, Overlap>) return find_overlap(name);
    if constexpr (std::same_as<Enum, MissedFires::Mode>) return find_missed_mode(name);
    if constexpr (std::same_as<Enum, Budget::Unit>) return find_budget_unit(name);
    if constexpr (std::same_as<Enum, Status>) {
      for (const auto status : {Status::active, Status::paused, Status::deleted}) {
        if (to_string(status) == name) return status;
      }
      return std::nullopt;
    }
  }

  void get(const Value& from, std::string_view name, ScheduleLabels& labels) {
    const auto* map = from.if_map();
    if (map == nullptr) return wrong(name, "an object");
    labels.clear();
    for (const auto& [key, value] : *map) get(value, key, labels.emplace_back(key, "").second);
  }
  void get(const Value& from, std::string_view name, Action& action) {
    const auto* kind = from.find("kind");
    const auto* word = kind != nullptr ? kind->if_string() : nullptr;
    if (word == nullptr || (*word != "start_workflow" && *word != "send_prompt")) {
      problem_.add(ErrorCode::store_too_new, at(name) + "is of a kind this build does not know");
      return;
    }
    RecordReader reader{from, below(name), problem_};
    reader.take("kind");
    if (*word == "send_prompt") {
      visit_fields(reader, action.emplace<SendPrompt>());
    } else {
      visit_fields(reader, action.emplace<StartWorkflow>());
    }
    reader.refuse_the_rest();
  }
  template <typename T>
  void get(const Value& from, std::string_view name, std::vector<T>& items) {
    const auto* array = from.if_array();
    if (array == nullptr) return wrong(name, "an array");
    items.clear();
    items.reserve(array->size());
    for (const auto& item : *array) get(item, name, items.emplace_back());
  }
  void get(const Value& from, std::string_view name, RecordPart auto& part) {
    RecordReader reader{from, below(name), problem_};
    visit_fields(reader, part);
    reader.refuse_the_rest();
  }

  const Value& object_;
  std::string path_;
  ReadProblem& problem_;
  std::vector<std::string_view> known_;
};

}  // namespace

std::string to_json(const Schedule& schedule) {
  std::string text;
  text.reserve(1024);
  JsonWriter out{text};
  out.begin_object().field("format", record_format);
  RecordWriter writer{out};
  visit_fields(writer, schedule);
  out.end_object();
  return text;
}

Result<Schedule> read_schedule(std::string_view json) {
  auto parsed = parse_json(json);
  if (!parsed) {
    return Error{ErrorCode::store_corrupt, "schedule record: " + parsed.error().message};
  }
  ReadProblem problem;
  RecordReader reader{*parsed, "", problem};
  std::int64_t format = 0;
  reader("format", format);
  if (!problem.first && format > record_format) {
    return Error{ErrorCode::store_too_new,
                 fmt::format("schedule record: format {} is newer than the {} this build reads",
                             format, record_format)};
  }
  Schedule schedule;
  visit_fields(reader, schedule);
  reader.refuse_the_rest();
  if (problem.first) return *std::move(problem.first);
  return schedule;
}

}  // namespace dw::schedule
