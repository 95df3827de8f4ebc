#include "history/codec.hpp"

#include "core/assert.hpp"
#include "core/json_writer.hpp"
#include "core/payload_blob.hpp"
#include "core/value_limits.hpp"
#include "history/declarations.hpp"
#include "history/event_fields.hpp"

#include <fmt/format.h>
#include <boost/json.hpp>

#include <array>
#include <type_traits>

namespace dw::history {
namespace {

namespace json = boost::json;

// ---- writing

class FieldWriter {
 public:
  explicit FieldWriter(JsonWriter& out) : out_(out) {}

  template <typename T>
  void operator()(std::string_view name, const T& value) {
    if constexpr (requires { value.has_value(); }) {
      if (value.has_value()) write(name, *value);
    } else {
      write(name, value);
    }
  }
  template <typename T>
  void operator()(std::string_view name, const T& value, const T& fallback) {
    if (!(value == fallback)) write(name, value);
  }
  template <typename T>
  void operator()(std::string_view name, const std::optional<T>& value,
                  const std::optional<T>& fallback, const T& absent) {
    if (value != fallback) write(name, value.value_or(absent));
  }

 private:
  template <typename T>
  void write(std::string_view name, const T& value) {
    out_.key(name);
    put(value);
  }
  template <typename Tag>
  void put(const StrongId<Tag>& id) {
    // An id is a name: an empty one would make the event unreadable later.
    DW_ASSERT(!id.empty(), "an event must name what it is about");
    out_.value(id.view());
  }
  void put(const std::string& text) { out_.value(std::string_view{text}); }
  void put(std::int64_t number) { out_.value(number); }
  void put(bool flag) { out_.value(flag); }
  void put(Timestamp at) { out_.value(at); }
  void put(const Payload& payload) {
    DW_ASSERT(!payload.codec.empty(), "a payload must name its codec");
    out_.value(payload);
  }
  void put(const Value& value) { out_.raw(to_json(value)); }
  void put(Group::Kind kind) { out_.value(to_string(kind)); }
  void put(ParentClosePolicy policy) { out_.value(to_string(policy)); }
  void put(NamedRequest::Kind kind) { out_.value(to_string(kind)); }
  void put(const Declarations& declared) { out_.raw(to_json(declarations_value(declared))); }
  void put(const Labels& labels) {
    // Keys are user data here, so they are escaped like values.
    std::string text;
    for (const auto& [key, value] : labels) {
      text += text.empty() ? '{' : ',';
      append_json_string(text, key);
      text += ':';
      append_json_string(text, value);
    }
    out_.raw(text.empty() ? std::string_view{"{}"} : std::string_view{text += '}'});
  }
  template <typename T>
  void put(const std::vector<T>& items) {
    out_.begin_array();
    for (const auto& item : items) put(item);
    out_.end_array();
  }
  void put(const Part auto& part) {
    out_.begin_object();
    visit_fields(*this, part);
    out_.end_object();
  }

  JsonWriter& out_;
};

// ---- reading

struct Unreadable {
  std::string what;
};

// The text an event was parsed from. Boost's tree has lost the difference between what a double
// says and what it rounds to, so user values are read from the text itself.
struct Source {
  std::string_view text;
  std::size_t event = 0;  // which element of the array

  // The value of that key of the event. `text` is well-formed and holds it: the tree said so.
  std::string_view find(std::string_view key) const;
};

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  void skip_blanks() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }
  bool take(char c) {
    skip_blanks();
    if (text_[at_] != c) return false;
    ++at_;
    return true;
  }
  // One whole value, strings, arrays and objects included.
  std::string_view take_value() {
    skip_blanks();
    const auto begin = at_;
    int depth = 0;
    do {
      const char c = text_[at_++];
      if (c == '"') {
        while (text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
        ++at_;
      } else if (c == '[' || c == '{') {
        ++depth;
      } else if (c == ']' || c == '}') {
        --depth;
      } else if (depth == 0) {
        at_ = text_.find_first_of(",]} \t\r\n", at_);
      }
    } while (depth > 0);
    return text_.substr(begin, at_ - begin);
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

std::string_view Source::find(std::string_view key) const {
  Scanner scan{text};
  scan.take('[');
  for (std::size_t i = 0; i < event; ++i) {
    scan.take_value();
    scan.take(',');
  }
  std::string_view found;
  for (scan.take('{'); !scan.take('}'); scan.take(',')) {
    const auto name = scan.take_value();
    scan.take(':');
    const auto value = scan.take_value();
    if (name.substr(1, name.size() - 2) == key) found = value;
  }
  return found;
}

class FieldReader {
 public:
  explicit FieldReader(const json::object& object, const Source& source, std::size_t known = 0)
      : object_(object), source_(source), seen_(known) {}

  template <typename T>
  void operator()(std::string_view name, Shared<T>& value) {
    const json::value* found = object_.if_contains(name);
    seen_ += found != nullptr;
    if (!found) return;
    T part;
    get(name, *found, part);
    value = std::move(part);
  }
  template <typename T>
  void operator()(std::string_view name, T& value) {
    const json::value* found = object_.if_contains(name);
    if constexpr (requires { value.has_value(); }) {
      if (found) get(name, *found, value.emplace());
    } else {
      if (!found) throw Unreadable{fmt::format("key '{}' is missing", name)};
      get(name, *found, value);
    }
    seen_ += found != nullptr;
  }
  template <typename T>
  void operator()(std::string_view name, T& value, const std::type_identity_t<T>& fallback) {
    const json::value* found = object_.if_contains(name);
    seen_ += found != nullptr;
    if (!found) {
      value = fallback;
    } else {
      get(name, *found, value);
    }
  }
  template <typename T>
  void operator()(std::string_view name, std::optional<T>& value, const std::optional<T>& fallback,
                  const T& absent) {
    const json::value* found = object_.if_contains(name);
    seen_ += found != nullptr;
    if (!found) {
      value = fallback;
      return;
    }
    T number{};
    get(name, *found, number);
    value = number == absent ? std::nullopt : std::optional<T>{number};
  }

  void finish() const {
    if (seen_ != object_.size()) throw Unreadable{"it holds keys outside its contract"};
  }

 private:
  [[noreturn]] static void wrong_kind(std::string_view name) {
    throw Unreadable{fmt::format("key '{}' has a value of the wrong kind", name)};
  }
  static std::string_view text(std::string_view name, const json::value& v) {
    if (const auto* string = v.if_string()) return {string->data(), string->size()};
    wrong_kind(name);
  }
  template <typename Tag>
  void get(std::string_view name, const json::value& v, StrongId<Tag>& id) {
    id = StrongId<Tag>{std::string{text(name, v)}};
    if (id.empty()) wrong_kind(name);
  }
  void get(std::string_view name, const json::value& v, std::string& out) { out = text(name, v); }
  void get(std::string_view name, const json::value& v, std::int64_t& out) {
    const auto* number = v.if_int64();
    if (!number) wrong_kind(name);
    out = *number;
  }
  void get(std::string_view name, const json::value& v, bool& out) {
    const auto* flag = v.if_bool();
    if (!flag) wrong_kind(name);
    out = *flag;
  }
  void get(std::string_view name, const json::value& v, Timestamp& out) {
    auto at = parse_timestamp(text(name, v));
    if (!at) wrong_kind(name);
    out = *at;
  }
  void get(std::string_view name, const json::value& v, Payload& out) {
    const auto* object = v.if_object();
    const auto* codec = object ? object->if_contains("codec") : nullptr;
    const auto* blob = object ? object->if_contains("blob") : nullptr;
    if (!codec || !blob || object->size() != 2) wrong_kind(name);
    auto payload = payload_from_blob(text(name, *codec), text(name, *blob));
    if (!payload) wrong_kind(name);
    out = *std::move(payload);
  }
  void get(std::string_view name, const json::value&, Value& out) {
    auto value = parse_json(source_.find(name));
    if (!value) wrong_kind(name);
    out = *std::move(value);
  }
  void get(std::string_view name, const json::value& v, Declarations& out) {
    Value value;
    get(name, v, value);
    auto declared = declarations_from(value);
    if (!declared) throw Unreadable{fmt::format("key '{}': {}", name, declared.error().message)};
    out = *std::move(declared);
  }
  template <typename Enum>
  requires std::is_enum_v<Enum>
  void get(std::string_view name, const json::value& v, Enum& out) {
    const auto word = text(name, v);
    for (int i = 0;; ++i) {
      const auto named = to_string(static_cast<Enum>(i));
      if (named.empty()) wrong_kind(name);
      if (named == word) return void(out = static_cast<Enum>(i));
    }
  }
  void get(std::string_view name, const json::value& v, Labels& out) {
    const auto* object = v.if_object();
    if (!object) wrong_kind(name);
    for (const auto& entry : *object) {
      out.emplace_back(std::string{entry.key()}, std::string{text(name, entry.value())});
    }
  }
  template <typename T>
  void get(std::string_view name, const json::value& v, std::vector<T>& out) {
    const auto* array = v.if_array();
    if (!array) wrong_kind(name);
    out.clear();
    out.reserve(array->size());
    for (const auto& item : *array) get(name, item, out.emplace_back());
  }
  void get(std::string_view name, const json::value& v, Part auto& out) {
    const auto* object = v.if_object();
    if (!object) wrong_kind(name);
    FieldReader part{*object, source_};
    visit_fields(part, out);
    part.finish();
  }

  const json::object& object_;
  const Source& source_;
  std::size_t seen_;
};

class KeyLister {
 public:
  template <typename T>
  void operator()(std::string_view name, T& value) {
    keys.push_back({std::string{name}, !requires { value.has_value();
  }});
}  // namespace
template <typename T, typename... Fallbacks>
void operator()(std::string_view name, T&, const Fallbacks&...) {
  keys.push_back({std::string{name}, false});
}
std::vector<ContractKey> keys;
};  // namespace dw::history

// ---- names

template <typename E>
struct Name;
#define DW_EVENT_NAME(event)                          \
  template <>                                         \
  struct Name<event> {                                \
    static constexpr std::string_view value = #event; \
  };
DW_EVENT_NAME(StartAccepted)
DW_EVENT_NAME(StartRejected)
DW_EVENT_NAME(WorkflowStarted)
DW_EVENT_NAME(ActivityScheduled)
DW_EVENT_NAME(ActivityStarted)
DW_EVENT_NAME(ActivityRetryScheduled)
DW_EVENT_NAME(ActivityCompleted)
DW_EVENT_NAME(ActivityFailed)
DW_EVENT_NAME(ActivityTimedOut)
DW_EVENT_NAME(ActivityCancelled)
DW_EVENT_NAME(TimerScheduled)
DW_EVENT_NAME(TimerFired)
DW_EVENT_NAME(TimerCancelled)
DW_EVENT_NAME(SideEffectRecorded)
DW_EVENT_NAME(FailureHandled)
DW_EVENT_NAME(RepairRequested)
DW_EVENT_NAME(CancelRequested)
DW_EVENT_NAME(TerminateRequested)
DW_EVENT_NAME(WorkflowCancelled)
DW_EVENT_NAME(WorkflowTerminated)
DW_EVENT_NAME(WorkflowTimedOut)
DW_EVENT_NAME(WorkflowCompleted)
DW_EVENT_NAME(WorkflowFailed)
DW_EVENT_NAME(ActivityHeartbeatRecorded)
DW_EVENT_NAME(SignalReceived)
DW_EVENT_NAME(SignalWaitOpened)
DW_EVENT_NAME(SignalApplied)
DW_EVENT_NAME(UpdateAccepted)
DW_EVENT_NAME(UpdateRejected)
DW_EVENT_NAME(UpdateApplied)
DW_EVENT_NAME(UpdateCompleted)
DW_EVENT_NAME(ConditionWaitOpened)
DW_EVENT_NAME(ConditionWaitSatisfied)
DW_EVENT_NAME(ConditionWaitTimedOut)
DW_EVENT_NAME(VersionMarkerRecorded)
DW_EVENT_NAME(SearchAttributesUpserted)
DW_EVENT_NAME(MemoUpserted)
DW_EVENT_NAME(ScheduleTriggered)
DW_EVENT_NAME(ChildWorkflowScheduled)
DW_EVENT_NAME(ChildRunStarted)
DW_EVENT_NAME(ChildRunCompleted)
DW_EVENT_NAME(ChildRunFailed)
DW_EVENT_NAME(ChildRunCancelled)
DW_EVENT_NAME(ChildRunTerminated)
DW_EVENT_NAME(ParentClosePolicyApplied)
DW_EVENT_NAME(ParentClosePolicyFailed)
DW_EVENT_NAME(WorkflowContinuedAsNew)
DW_EVENT_NAME(ArchiveRequested)
DW_EVENT_NAME(WorkflowArchived)
#undef DW_EVENT_NAME

template <std::size_t... I>
constexpr auto name_table(std::index_sequence<I...>) {
  return std::array{Name<std::variant_alternative_t<I, AnyEvent>>::value...};
}
constexpr auto event_names = name_table(std::make_index_sequence<std::variant_size_v<AnyEvent>>{});

// Puts a default-made event of that type into `body`; false when we know no such type.
template <std::size_t I = 0>
bool emplace(std::string_view type, EventBody& body) {
  if constexpr (I == event_names.size()) {
    return false;
  } else {
    if (event_names[I] != type) return emplace<I + 1>(type, body);
    body.emplace<I>();
    return true;
  }
}

EventBody read_event(const json::value& item, const Source& source) {
  const auto* object = item.if_object();
  const auto* type = object ? object->if_contains("type") : nullptr;
  const auto* name = type ? type->if_string() : nullptr;
  if (!name) throw Unreadable{"an event has no type"};
  EventBody body;
  if (!emplace({name->data(), name->size()}, body)) {
    throw Unreadable{fmt::format("event type '{}' is unknown to this version",
                                 std::string_view{name->data(), name->size()})};
  }
  FieldReader reader{*object, source, 1};
  try {
    std::visit([&](auto& event) { visit_fields(reader, event); }, body);
    reader.finish();
  } catch (Unreadable& e) {
    throw Unreadable{fmt::format("{}: {}", type_name(body), e.what)};
  }
  return body;
}

}  // namespace

std::string_view type_name(const EventBody& body) {
  return event_names[body.index()];
}

std::vector<std::string_view> all_types() {
  return {event_names.begin(), event_names.end()};
}

namespace {

template <typename T, typename Body>
void append_all(std::string& out, std::span<const T> events, Body body_of) {
  JsonWriter writer{out};
  FieldWriter fields{writer};
  writer.begin_array();
  for (const T& item : events) {
    const EventBody& body = std::invoke(body_of, item);
    writer.begin_object().field("type", type_name(body));
    std::visit([&](const auto& event) { visit_fields(fields, event); }, body);
    writer.end_object();
  }
  writer.end_array();
}

}  // namespace

void append_events(std::string& out, std::span<const EventBody> events) {
  append_all(out, events, std::identity{});
}

void append_events(std::string& out, std::span<const Event> events) {
  append_all(out, events, &Event::body);
}

Result<std::vector<EventBody>> parse_events(std::string_view text) {
  // Most rows fit into the buffer; what does not goes on to the heap.
  std::array<unsigned char, 16384> buffer;
  json::monotonic_resource memory{buffer.data(), buffer.size()};
  json::parse_options options;
  options.max_depth = max_value_depth + 4;  // a value as deep as any, within an event
  boost::system::error_code failed;
  const auto root =
      json::parse(json::string_view{text.data(), text.size()}, failed, &memory, options);
  if (failed || !root.is_array()) {
    return Error{ErrorCode::corrupt_history, "a history row is not a JSON array of events"};
  }
  std::vector<EventBody> events;
  events.reserve(root.get_array().size());
  try {
    Source source{text};
    for (const auto& item : root.get_array()) {
      events.push_back(read_event(item, source));
      ++source.event;
    }
  } catch (const Unreadable& e) {
    return Error{ErrorCode::corrupt_history,
                 fmt::format("cannot read a recorded event: {}", e.what)};
  }
  return events;
}

std::vector<ContractKey> stored_contract(std::string_view type) {
  EventBody body;
  KeyLister lister;
  if (emplace(type, body)) std::visit([&](auto& event) { visit_fields(lister, event); }, body);
  return std::move(lister.keys);
}

}  // namespace dw::history
