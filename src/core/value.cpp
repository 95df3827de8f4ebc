#include <dw/value.hpp>

#include "core/base64.hpp"
#include "core/json_writer.hpp"
#include "core/value_limits.hpp"

#include <fmt/format.h>
#include <boost/json/basic_parser_impl.hpp>

#include <charconv>
#include <cmath>
#include <iterator>
#include <optional>
#include <span>

namespace dw {

namespace {

void append_json(std::string& out, const Value& value) {
  // A writer each: it begins without a comma, which is right after '[', ',' and ':' alike.
  JsonWriter writer{out};
  switch (value.kind()) {
    case Value::Kind::null:
      writer.raw("null");
      return;
    case Value::Kind::boolean:
      writer.value(*value.if_boolean());
      return;
    case Value::Kind::integer:
      writer.value(*value.if_integer());
      return;
    case Value::Kind::real:
      writer.value(*value.if_real());
      return;
    case Value::Kind::bytes:
      out += R"({"$type":"bytes","base64":")";
      append_base64(out, value.if_bytes()->data);
      out += "\"}";
      return;
    case Value::Kind::string:
      writer.value(*value.if_string());
      return;
    case Value::Kind::array: {
      out += '[';
      bool first = true;
      for (const auto& item : *value.if_array()) {
        if (!std::exchange(first, false)) out += ',';
        append_json(out, item);
      }
      out += ']';
      return;
    }
    case Value::Kind::map: {
      out += '{';
      bool first = true;
      for (const auto& [key, entry] : *value.if_map()) {
        if (!std::exchange(first, false)) out += ',';
        append_json_string(out, key);  // keys are user data here, so they are escaped too
        out += ':';
        append_json(out, entry);
      }
      out += '}';
      return;
    }
  }
}

// Named as Boost wants them: no limits of our own but the depth.
struct NoLimits {
  static constexpr std::size_t max_object_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_array_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_key_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_string_size = static_cast<std::size_t>(-1);
};

// Receives what Boost's parser recognises and builds the Value as it goes. Boost's own tree drops
// the text of numbers, which tells integers from doubles, and would be thrown away besides.
class ValueBuilder : public NoLimits {
 public:
  using error_code = boost::json::error_code;
  using string_view = boost::json::string_view;

  ValueBuilder() { read_.reserve(usual_count); }
  Value take() { return std::move(root_); }
  // Why the builder itself stopped the parser, if it did.
  const std::optional<Error>& refusal() const { return refusal_; }

  bool on_document_begin(error_code&) { return true; }
  bool on_document_end(error_code&) { return true; }

  bool on_array_begin(error_code& ec) {
    if (open_.size() == max_value_depth) return too_deep(ec);
    open_.push_back(Value::Kind::array);
    return true;
  }
  bool on_array_end(std::size_t count, error_code&) {
    Value::Array items;
    items.reserve(count);
    for (auto one = read_.end() - distance(count); one != read_.end(); ++one) {
      items.push_back(std::move(one->second));
    }
    return close(count, std::move(items));
  }

  // One level beyond the limit is let in until its end, because the bytes form is an object in
  // JSON but no level of the value.
  bool on_object_begin(error_code&) {
    open_.push_back(Value::Kind::map);
    return true;
  }
  bool on_object_end(std::size_t count, error_code& ec) {
    const std::span entries{read_.end() - distance(count), read_.end()};
    if (const auto* text = base64_of_bytes_form(entries)) {
      auto bytes = decode_base64(*text);
      if (!bytes) {
        return refuse(ec, ErrorCode::invalid_argument,
                      "the base64 of a {\"$type\":\"bytes\"} is not padded base64");
      }
      return close(count, Bytes{*std::move(bytes)});
    }
    if (open_.size() > max_value_depth) return too_deep(ec);
    return close(count, Value::Map(std::make_move_iterator(entries.begin()),
                                   std::make_move_iterator(entries.end())));
  }

  bool on_key_part(string_view part, std::size_t, error_code&) { return collect(part); }
  bool on_key(string_view last, std::size_t, error_code&) {
    read_.emplace_back(collected(last), Value{});
    return true;
  }
  bool on_string_part(string_view part, std::size_t, error_code&) { return collect(part); }
  bool on_string(string_view last, std::size_t, error_code&) { return add(collected(last)); }

  bool on_number_part(string_view part, error_code&) { return collect(part); }
  bool on_int64(std::int64_t number, string_view, error_code&) {
    text_.clear();
    return add(number);
  }
  bool on_uint64(std::uint64_t, string_view last, error_code& ec) {
    collect(last);
    return number_too_large(ec);
  }
  bool on_double(double approximate, string_view last, error_code& ec) {
    collect(last);
    // Whole numbers too long for 64 bits arrive as doubles; rounding them would be silent damage.
    if (text_.find_first_of(".eE") == std::string::npos) return number_too_large(ec);
    // Boost's conversion may be off by a unit in the last place; this one is exact.
    double number = 0;
    const auto read = std::from_chars(text_.data(), text_.data() + text_.size(), number);
    if (read.ec != std::errc{}) {
      // Too close to zero is zero; too far from it has no form.
      if (!(std::abs(approximate) < 1)) {
        return refuse(ec, ErrorCode::non_finite_float,
                      fmt::format("the number {} is too large for a double", text_));
      }
      number = std::copysign(0.0, text_.front() == '-' ? -1.0 : 1.0);
    }
    text_.clear();
    return add(number);
  }
  bool on_bool(bool flag, error_code&) { return add(flag); }
  bool on_null(error_code&) { return add(nullptr); }
  bool on_comment_part(string_view, error_code&) { return true; }
  bool on_comment(string_view, error_code&) { return true; }

 private:
  static constexpr std::size_t usual_count = 16;
  static std::ptrdiff_t distance(std::size_t count) { return static_cast<std::ptrdiff_t>(count); }

  // Strings and numbers may come in pieces; the callback that ends one takes what was collected.
  bool collect(string_view part) { return text_.append(part.data(), part.size()), true; }
  std::string collected(string_view last) {
    if (text_.empty()) return {last.data(), last.size()};  // it came in one
    collect(last);
    return std::exchange(text_, {});
  }

  bool add(Value value) {
    if (open_.empty()) {
      root_ = std::move(value);
    } else if (open_.back() == Value::Kind::array) {
      read_.emplace_back(std::string{}, std::move(value));
    } else {
      read_.back().second = std::move(value);  // its key has come
    }
    return true;
  }

  // The last `count` of what was read have become `container`.
  bool close(std::size_t count, Value container) {
    read_.erase(read_.end() - distance(count), read_.end());
    open_.pop_back();
    return add(std::move(container));
  }

  static const std::string* base64_of_bytes_form(std::span<const Value::Map::value_type> map) {
    if (map.size() != 2) return nullptr;
    const auto type = map[0].first == "$type" ? 0u : 1u;
    const auto& [type_key, type_value] = map[type];
    const auto& [text_key, text_value] = map[1 - type];
    if (type_key != "$type" || text_key != "base64") return nullptr;
    const auto* name = type_value.if_string();
    return name != nullptr && *name == "bytes" ? text_value.if_string() : nullptr;
  }

  bool refuse(error_code& ec, ErrorCode code, std::string message) {
    refusal_ = Error{code, std::move(message)};
    ec = boost::json::error::exception;  // any code stops the parser; ours is the one reported
    return false;
  }
  bool number_too_large(error_code& ec) {
    return refuse(ec, ErrorCode::integer_overflow,
                  fmt::format("the whole number {} does not fit into 64 bits: write it with a "
                              "fraction or as a string",
                              text_));
  }
  bool too_deep(error_code& ec) {
    return refuse(
        ec, ErrorCode::invalid_argument,
        fmt::format("JSON may nest arrays and objects {} deep here, no deeper", max_value_depth));
  }

  Value root_;
  std::vector<Value::Kind> open_;  // the arrays and objects around what is read next
  // What they hold so far, one behind the other: each is made once it is known how long it is.
  // Items of arrays have no key.
  Value::Map read_;
  std::string text_;
  std::optional<Error> refusal_;
};

// Lets everything by that is JSON, and keeps nothing.
struct Onlooker : NoLimits {
  using error_code = boost::json::error_code;
  using string_view = boost::json::string_view;

  static std::optional<Error> refusal() { return std::nullopt; }
  bool on_document_begin(error_code&) { return true; }
  bool on_document_end(error_code&) { return true; }
  bool on_array_begin(error_code&) { return true; }
  bool on_array_end(std::size_t, error_code&) { return true; }
  bool on_object_begin(error_code&) { return true; }
  bool on_object_end(std::size_t, error_code&) { return true; }
  bool on_key_part(string_view, std::size_t, error_code&) { return true; }
  bool on_key(string_view, std::size_t, error_code&) { return true; }
  bool on_string_part(string_view, std::size_t, error_code&) { return true; }
  bool on_string(string_view, std::size_t, error_code&) { return true; }
  bool on_number_part(string_view, error_code&) { return true; }
  bool on_int64(std::int64_t, string_view, error_code&) { return true; }
  bool on_uint64(std::uint64_t, string_view, error_code&) { return true; }
  bool on_double(double, string_view, error_code&) { return true; }
  bool on_bool(bool, error_code&) { return true; }
  bool on_null(error_code&) { return true; }
  bool on_comment_part(string_view, error_code&) { return true; }
  bool on_comment(string_view, error_code&) { return true; }
};

boost::json::parse_options json_options() {
  boost::json::parse_options options;
  options.max_depth = max_value_depth + 1;
  return options;
}

// All of the text, and nothing behind it.
template <typename Handler>
Result<void> feed(boost::json::basic_parser<Handler>& parser, std::string_view text) {
  boost::json::error_code ec;
  const auto used = parser.write_some(false, text.data(), text.size(), ec);
  if (const auto& refusal = parser.handler().refusal()) return *refusal;
  if (!ec && used < text.size()) ec = boost::json::error::extra_data;
  if (ec) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("not JSON: {} at byte {}", ec.message(), used)};
  }
  return {};
}

}  // namespace

const Value* Value::find(std::string_view key) const {
  const auto* entries = if_map();
  if (entries == nullptr) return nullptr;
  // From the back: should a name occur twice, other languages' maps keep the later entry.
  for (auto entry = entries->rbegin(); entry != entries->rend(); ++entry) {
    if (entry->first == key) return &entry->second;
  }
  return nullptr;
}

std::string_view to_string(Value::Kind kind) {
  switch (kind) {
    case Value::Kind::null:
      return "null";
    case Value::Kind::boolean:
      return "boolean";
    case Value::Kind::integer:
      return "integer";
    case Value::Kind::real:
      return "real";
    case Value::Kind::bytes:
      return "bytes";
    case Value::Kind::string:
      return "string";
    case Value::Kind::array:
      return "array";
    case Value::Kind::map:
      return "map";
  }
  return "unknown";
}

JsonWriter& JsonWriter::any(const Value& value) {
  separate();
  append_json(out_, value);
  fresh_ = false;
  return *this;
}

std::string to_json(const Value& value) {
  std::string out;
  append_json(out, value);
  return out;
}

Result<Value> parse_json(std::string_view text) {
  boost::json::basic_parser<ValueBuilder> parser{json_options()};
  DW_TRY_VOID(feed(parser, text));
  return parser.handler().take();
}

Result<void> check_json(std::string_view text) {
  boost::json::basic_parser<Onlooker> parser{json_options()};
  return feed(parser, text);
}

}  // namespace dw
