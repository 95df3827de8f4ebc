#include "engine/command_codec.hpp"

#include "core/avro_codec.hpp"
#include "core/json_writer.hpp"
#include "core/payload_blob.hpp"
#include "engine/command_fields.hpp"
#include "history/declarations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>

namespace dw::engine {
namespace {

// The same bounds that other workers' commands have.
constexpr std::size_t longest_command_name = 256;
constexpr std::int64_t largest_step = INT32_MAX;

// ---- writing

class CommandWriter {
 public:
  explicit CommandWriter(JsonWriter& out) : out_(out) {}

  template <typename T>
  void operator()(std::string_view key, const T& value) {
    if constexpr (requires { value.has_value(); }) {
      if (value.has_value()) write(key, *value);
    } else {
      write(key, value);
    }
  }
  template <typename T>
  void operator()(std::string_view key, const T& value, const T& fallback) {
    if (!(value == fallback)) write(key, value);
  }
  template <typename T>
  void operator()(std::string_view key, const std::optional<T>& value,
                  const std::optional<T>& fallback, const T& absent) {
    if (value != fallback) write(key, value.value_or(absent));
  }
  void name(std::string_view key, const std::string& text) { write(key, text); }
  void any_number(std::string_view key, std::int64_t number) { write(key, number); }
  void instance(std::string_view key, const std::string& id) { (*this)(key, id, std::string{}); }

 private:
  template <typename T>
  void write(std::string_view key, const T& value) {
    out_.key(key);
    put(value);
  }
  template <typename Tag>
  void put(const StrongId<Tag>& id) {
    out_.value(id.view());
  }
  void put(const std::string& text) { out_.value(std::string_view{text}); }
  void put(std::int64_t number) { out_.value(number); }
  void put(bool flag) { out_.value(flag); }
  void put(const Payload& payload) { out_.value(payload); }
  void put(const Value& value) { out_.raw(to_json(value)); }
  void put(history::Group::Kind kind) { out_.value(history::to_string(kind)); }
  void put(history::ParentClosePolicy policy) { out_.value(history::to_string(policy)); }
  void put(const Declarations& declared) { put(history::declarations_value(declared)); }
  template <typename T>
  void put(const std::vector<T>& items) {
    out_.begin_array();
    for (const auto& item : items) put(item);
    out_.end_array();
  }
  void put(const CommandPart auto& part) {
    out_.begin_object();
    command_fields(*this, part);
    out_.end_object();
  }

  JsonWriter& out_;
};

// ---- reading

// Reads one object, and remembers the first thing that is wrong with it. Keys are taken as they are
// read, so that what is left over is what nobody here knows.
class CommandReader {
 public:
  explicit CommandReader(Value::Map& object) : object_(object) {}

  template <typename T>
  void operator()(std::string_view key, Shared<T>& value) {
    Value* found = take(key);
    if (!found) return;
    T part;
    get(key, *found, part);
    value = std::move(part);
  }
  template <typename T>
  void operator()(std::string_view key, T& value) {
    Value* found = take(key);
    if constexpr (requires { value.has_value(); }) {
      if (found) get(key, *found, value.emplace());
    } else if (found) {
      get(key, *found, value);
    } else {
      wrong(key, "is missing");
    }
  }
  template <typename T>
  void operator()(std::string_view key, T& value, const std::type_identity_t<T>& fallback) {
    if (Value* found = take(key)) {
      get(key, *found, value);
    } else {
      value = fallback;
    }
  }
  template <typename T>
  void operator()(std::string_view key, std::optional<T>& value, const std::optional<T>& fallback,
                  const T& absent) {
    Value* found = take(key);
    if (!found) return void(value = fallback);
    T number{};
    get(key, *found, number);
    value = number == absent ? std::nullopt : std::optional<T>{number};
  }
  void name(std::string_view key, std::string& text) {
    (*this)(key, text);
    if (text.empty()) wrong(key, "must not be empty");
    if (text.size() > longest_command_name) {
      wrong(key, fmt::format("must have at most {} characters", longest_command_name));
    }
  }
  void any_number(std::string_view key, std::int64_t& number) {
    Value* found = take(key);
    const auto* given = found ? found->if_integer() : nullptr;
    if (!given) return wrong(key, found ? "must be a whole number" : "is missing");
    number = *given;
  }
  void instance(std::string_view key, std::string& id) {
    (*this)(key, id, std::string{});
    if (id.empty()) return;
    if (const auto parsed = parse_instance_id(id); !parsed) wrong(key, parsed.error().message);
  }

  // The first complaint, "'step' is missing"; empty when all is well.
  std::string finish() {
    const auto left = std::ranges::find_if(object_, [](const auto& e) { return !e.first.empty(); });
    if (left != object_.end()) {
      wrong(left->first, "is not a key that belongs here, or it is there twice");
    } else if (taken_ != object_.size()) {
      wrong("", "is not a key");
    }
    return std::move(complaint_);
  }

 private:
  Value* take(std::string_view key) {
    for (auto& [name, value] : object_) {
      if (name != key) continue;
      name.clear();
      ++taken_;
      return &value;
    }
    return nullptr;
  }
  void wrong(std::string_view key, std::string_view what) {
    if (complaint_.empty()) complaint_ = fmt::format("'{}' {}", key, what);
  }

  void get(std::string_view key, Value& v, std::string& out) {
    if (!v.if_string()) return wrong(key, "must be a string");
    out = *v.if_string();
  }
  template <typename Tag>
  void get(std::string_view key, Value& v, StrongId<Tag>& out) {
    std::string id;
    get(key, v, id);
    if (id.empty()) wrong(key, "must not be empty");
    if (id.size() > longest_command_name) wrong(key, "is too long for an id");
    out = StrongId<Tag>{std::move(id)};
  }
  void get(std::string_view key, Value& v, std::int64_t& out) {
    const auto* number = v.if_integer();
    if (!number || *number < 0) return wrong(key, "must be a whole number, zero or more");
    out = *number;
  }
  void get(std::string_view key, Value& v, bool& out) {
    if (!v.if_boolean()) return wrong(key, "must be true or false");
    out = *v.if_boolean();
  }
  void get(std::string_view key, Value& v, Payload& out) {
    const auto* codec = v.find("codec");
    const auto* blob = v.find("blob");
    if (!codec || !blob || !codec->if_string() || !blob->if_string() || v.if_map()->size() != 2 ||
        codec->if_string()->empty()) {
      return wrong(key, "must be a payload: {\"codec\":…,\"blob\":…}");
    }
    // What gets in, workers of any language must be able to read in every replay.
    if (*codec->if_string() != avro_codec) return wrong(key, "must be a payload of codec avro");
    auto payload = payload_from_blob(avro_codec, *blob->if_string());
    if (!payload) return wrong(key, fmt::format("is no payload: {}", payload.error().message));
    if (const auto sound = check_avro(payload->bytes); !sound) {
      return wrong(key, fmt::format("is no payload: {}", sound.error().message));
    }
    out = *std::move(payload);
  }
  void get(std::string_view key, Value& v, Value& out) {
    if (!v.if_map()) return wrong(key, "must be an object");
    out = std::move(v);
  }
  void get(std::string_view key, Value& v, Declarations& out) {
    auto declared = history::declarations_from(v);
    if (!declared) return wrong(key, fmt::format("is no snapshot: {}", declared.error().message));
    out = *std::move(declared);
  }
  template <typename Enum>
  requires std::is_enum_v<Enum>
  void get(std::string_view key, Value& v, Enum& out) {
    std::string word;
    get(key, v, word);
    for (int i = 0;; ++i) {
      const auto known = history::to_string(static_cast<Enum>(i));
      if (known.empty()) return wrong(key, "is not one of the words it may be");
      if (known == word) return void(out = static_cast<Enum>(i));
    }
  }
  template <typename T>
  void get(std::string_view key, Value& v, std::vector<T>& out) {
    auto* items = v.if_array();
    if (!items) return wrong(key, "must be a list");
    out.clear();
    out.reserve(items->size());
    for (Value& item : *items) get(key, item, out.emplace_back());
  }
  void get(std::string_view key, Value& v, CommandPart auto& out) {
    auto* object = v.if_map();
    if (!object) return wrong(key, "must be an object");
    CommandReader part{*object};
    command_fields(part, out);
    if constexpr (history::Is<decltype(out), history::Group&>) part.check_group(out);
    if (const auto complaint = part.finish(); !complaint.empty()) {
      wrong(key, fmt::format("is wrong: {}", complaint));
    }
  }
  void check_group(const history::Group& group) {
    if (group.base > largest_step) wrong("base", "is no step");
    if (group.size < 1 || group.size > largest_step) wrong("size", "must be at least 1");
    if (group.index >= group.size) wrong("index", "must be less than the size");
  }

  Value::Map& object_;
  std::size_t taken_ = 0;
  std::string complaint_;
};

Error unreadable_command(std::size_t index, std::string_view what) {
  return {ErrorCode::invalid_argument, fmt::format("command {}: {}", index, what)};
}

// Tries the alternatives one after the other until one has that name.
template <std::size_t I = 0>
Result<WorkflowCommand> read_command(std::string_view type, Value::Map& object, std::size_t index) {
  if constexpr (I == std::variant_size_v<AnyWorkflowCommand>) {
    return unreadable_command(index, fmt::format("'type' {} is not a command", type));
  } else {
    using Command = std::variant_alternative_t<I, AnyWorkflowCommand>;
    static_assert(!command_name<Command>.empty());
    if (type != command_name<Command>) return read_command<I + 1>(type, object, index);
    std::string ignored;
    Command command;
    CommandReader reader{object};
    reader("type", ignored);
    command_fields(reader, command);
    if (const auto complaint = reader.finish(); !complaint.empty()) {
      return unreadable_command(index, fmt::format("{} {}", command_name<Command>, complaint));
    }
    return WorkflowCommand{std::move(command)};
  }
}

}  // namespace

void append_commands(std::string& out, std::span<const WorkflowCommand> commands) {
  JsonWriter json{out};
  CommandWriter writer{json};
  json.begin_array();
  for (const WorkflowCommand& any : commands) {
    json.begin_object();
    std::visit(
        [&]<typename Command>(const Command& command) {
          json.field("type", command_name<Command>);
          command_fields(writer, command);
        },
        any);
    json.end_object();
  }
  json.end_array();
}

Result<std::vector<WorkflowCommand>> parse_commands(std::string_view json) {
  auto value = DW_TRY(parse_json(json));
  auto* list = value.if_array();
  if (!list) return Error{ErrorCode::invalid_argument, "commands must be a list"};
  std::vector<WorkflowCommand> commands;
  commands.reserve(list->size());
  for (std::size_t i = 0; i < list->size(); ++i) {
    auto* object = (*list)[i].if_map();
    const auto* type = object ? (*list)[i].find("type") : nullptr;
    if (!type || !type->if_string()) {
      return unreadable_command(i, "must be an object whose 'type' is a string");
    }
    commands.push_back(DW_TRY(read_command(std::string{*type->if_string()}, *object, i)));
  }
  return commands;
}

}  // namespace dw::engine
