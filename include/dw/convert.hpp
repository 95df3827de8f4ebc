// C++ types to dw::Value and back. Arguments, results and signals pass through here, so what a type
// becomes is durable: a run recorded today is read by next year's code, and by other languages.
//
//   bool, integers, float, double   boolean, integer, real; a real target also takes an integer
//   std::string, dw::Bytes          string, bytes
//   vector, deque, list, set, …     array; std::array, std::pair and std::tuple: of exactly that
//   size maps with std::string keys      map; unordered ones in key order, so equal maps give equal
//   bytes std::optional                   null when empty std::monostate, void            null; a
//   void result takes any value and drops it std::chrono::duration           integer microseconds;
//   what is finer is dropped dw::Timestamp                   string, "2026-04-10T12:00:00.000000Z"
//   described enums                 the enumerator's name; a value without a name, its integer
//   other enums                     the underlying integer
//   described structs               map by member name, members of described bases first
//   dw::Value                       itself: this is how open JSON travels
//
// Describe your own structs and enums where they are defined:
//
//   struct Item { std::string sku; int count = 0; std::optional<std::string> note; };
//   BOOST_DESCRIBE_STRUCT(Item, (), (sku, count, note))
//
// Reading one back ignores keys it does not know and leaves an absent std::optional empty, so
// members may be added as optionals while runs are open. Any other absent member is an error.
// Should a key occur twice, the later entry counts, as in Value::find.
//
// Errors say where: "argument 2: .items[3].price: expected a number, found a string". The code is
// conversion_failed, or integer_overflow for a number outside the range of its target.
#pragma once
#include <dw/error.hpp>
#include <dw/result.hpp>
#include <dw/time.hpp>
#include <dw/value.hpp>

#include <boost/describe.hpp>
#include <boost/mp11/algorithm.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <ratio>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

namespace dw {

// How one type travels. Specialise it for a type of your own that cannot be described:
//
//   template <>
//   struct dw::Converter<Celsius> {
//     static Value to_value(const Celsius& celsius) { return celsius.degrees; }
//     static Result<Celsius> from_value(const Value& value) {
//       return Celsius{DW_TRY(dw::from_value<double>(value))};
//     }
//   };
template <typename T>
struct Converter;

template <typename T>
concept ToValue = requires(const T& value) {
  { Converter<T>::to_value(value) } -> std::same_as<Value>;
};

template <typename T>
concept FromValue = requires(const Value& value) {
  { Converter<T>::from_value(value) } -> std::same_as<Result<T>>;
};

// Both ways. Of a described struct it asks only that it is described: a struct may contain itself
// by way of a vector, so its members are checked when it is converted.
template <typename T>
concept Convertible = std::is_void_v<T> ||(ToValue<T>&& FromValue<T>);

// Throws ConversionError for a number beyond 64 signed bits, which has no durable form. Non-finite
// floats pass, and are refused with non_finite_float when the value is encoded.
template <typename T>
Value to_value(const T& value);
template <typename T>
requires(!std::is_lvalue_reference_v<T>) Value to_value(T&& value);

// Given an rvalue, strings, bytes and nested values are moved out of it rather than copied.
template <typename T>
Result<T> from_value(const Value& value);
template <typename T>
Result<T> from_value(Value&& value);

// The arguments of a call: one array value.
template <typename... Args>
Value to_arguments(const Args&... args);

// `Tuple` is a std::tuple of the parameter types. Trailing std::optional parameters may be absent,
// so that a parameter can be added while runs are open; too many arguments are an error.
template <typename Tuple>
Result<Tuple> from_arguments(const Value& arguments);
template <typename Tuple>
Result<Tuple> from_arguments(Value&& arguments);

// The one way in which to_value fails; thrown, because a program that has such a number in hand can
// hardly go on. In a workflow or an activity it fails that one.
struct ConversionError : std::runtime_error {
  explicit ConversionError(Error why) : std::runtime_error(why.message), error(std::move(why)) {}
  Error error;
};

// For your own converters. `wanted` carries its article: mismatch("a colour", value).
Error mismatch(std::string_view wanted, const Value& found);

// Puts a step of the path, ".price" or "[3]", before an error from further inside.
Error within(std::string_view step, Error error);

namespace detail {

inline Error conversion_failed(std::string message) {
  return Error{ErrorCode::conversion_failed, std::move(message)};
}

inline std::string_view with_article(Value::Kind kind) {
  switch (kind) {
    case Value::Kind::null:
      return "null";
    case Value::Kind::boolean:
      return "a boolean";
    case Value::Kind::integer:
      return "an integer";
    case Value::Kind::real:
      return "a real number";
    case Value::Kind::bytes:
      return "bytes";
    case Value::Kind::string:
      return "a string";
    case Value::Kind::array:
      return "an array";
    case Value::Kind::map:
      return "a map";
  }
  return "an unknown kind";
}

// Messages end up in histories and logs, so text from a payload is quoted in part only.
inline std::string quoted(std::string_view text) {
  constexpr std::size_t longest = 40;
  std::string quote = "\"";
  if (text.size() <= longest) return quote.append(text).append("\"");
  auto end = longest;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;  // whole UTF-8
  return quote.append(text.substr(0, end)).append("…\"");
}

inline std::string index_step(std::size_t index) {
  return "[" + std::to_string(index) + "]";
}

inline Error wrong_size(std::size_t wanted, std::size_t found) {
  return conversion_failed("expected an array of " + std::to_string(wanted) + " elements, found " +
                           std::to_string(found));
}

inline Error out_of_range(std::string number, const std::string& least, const std::string& most) {
  return Error{ErrorCode::integer_overflow,
               std::move(number) + " is outside the range " + least + " to " + most};
}

[[noreturn]] inline void throw_too_large(const std::string& number) {
  throw ConversionError(out_of_range(number, "-9223372036854775808", "9223372036854775807"));
}

template <typename T, typename... Others>
concept OneOf = (std::same_as<T, Others> || ...);

// Characters are left out: whether 'a' should be 97 or "a" is for the author to say.
template <typename T>
concept Integer = std::integral<T> && !OneOf<T, bool, char, wchar_t, char8_t, char16_t, char32_t>;

template <typename T>
concept Real = OneOf<T, float, double>;

template <typename T>
concept DescribedEnum = std::is_enum_v<T> && boost::describe::has_describe_enumerators<T>::value;

template <typename T>
concept PlainEnum = std::is_enum_v<T> && !DescribedEnum<T> && !std::same_as<T, std::byte>;

template <typename T>
concept DescribedStruct = std::is_class_v<T> && boost::describe::has_describe_members<T>::value;

// By shape rather than by name, so that nobody pays for the includes of containers they do not use.
// Hash sets stay out: their order is an accident, and histories must not depend on one.
template <typename T>
concept Sequence = std::is_class_v<T> && std::default_initializable<T> && !DescribedStruct<T> &&
                   requires(T container, typename T::value_type element) {
  container.begin();
  container.size();
  container.insert(container.end(), std::move(element));
}
&&!requires {
  typename T::mapped_type;
}
&&!requires {
  typename T::hasher;
};

template <typename T>
concept StringMap = std::is_class_v<T> && std::default_initializable<T> && !DescribedStruct<T> &&
                    std::same_as<typename T::key_type, std::string> &&
                    requires(T map, std::string key, typename T::mapped_type element) {
  map.begin();
  map.size();
  map.insert_or_assign(std::move(key), std::move(element));
};

template <typename T>
inline constexpr bool is_optional = false;
template <typename T>
inline constexpr bool is_optional<std::optional<T>> = true;

// A Value in any reference form. Built-in converters take one, so that an rvalue can be emptied.
template <typename V>
concept AnyValue = std::same_as<std::remove_cvref_t<V>, Value>;

// Deduced as a forwarding reference's parameter, a plain non-const type means an rvalue to empty.
template <typename Outer>
inline constexpr bool may_move = !std::is_reference_v<Outer> && !std::is_const_v<Outer>;

// `part` with the value category of the `Outer` that holds it.
template <typename Outer, typename Part>
decltype(auto) part_of(Part& part) {
  if constexpr (may_move<Outer>) {
    return std::move(part);
  } else {
    return std::as_const(part);
  }
}

// The text or bytes inside a Value, moved out of an rvalue. Value shows them as const only; casting
// that away is sound here, since may_move says that the Value itself is not const.
template <typename Outer, typename Content>
Content take(const Content& content) {
  if constexpr (may_move<Outer>) {
    return std::move(const_cast<Content&>(content));
  } else {
    return content;
  }
}

template <std::integral T>
Result<T> narrow(std::int64_t number) {
  using Limits = std::numeric_limits<T>;
  bool fits = true;
  if constexpr (std::is_unsigned_v<T>) {
    fits = number >= 0 && static_cast<std::uint64_t>(number) <= std::uint64_t{Limits::max()};
  } else {
    fits = number >= Limits::min() && number <= Limits::max();
  }
  if (fits) return static_cast<T>(number);
  return out_of_range(std::to_string(number), std::to_string(Limits::min()),
                      std::to_string(Limits::max()));
}

template <std::integral T>
Value integer_value(T number) {
  if constexpr (std::is_unsigned_v<T> && sizeof(T) >= sizeof(std::int64_t)) {
    if (number > static_cast<T>(std::numeric_limits<std::int64_t>::max())) {
      throw_too_large(std::to_string(number));
    }
  }
  return Value(static_cast<std::int64_t>(number));
}

template <typename Enum>
Result<Enum> enum_from_integer(std::int64_t number) {
  return static_cast<Enum>(DW_TRY(narrow<std::underlying_type_t<Enum>>(number)));
}

// One step of from_value that remembers the first error: false means stop.
template <typename T, typename V, typename Slot, typename Where>
bool read_into(Slot& slot, V&& value, std::optional<Error>& error, const Where& where) {
  auto read = from_value<T>(std::forward<V>(value));
  if (!read) {
    error = where(std::move(read).error());
    return false;
  }
  slot = *std::move(read);
  return true;
}

// The elements of `array` as a Tuple. Elements beyond the array's end are optionals, and stay
// empty: callers check the size. `where` adds the position to an error.
template <typename Tuple, typename V, typename Array, typename Where>
Result<Tuple> read_tuple(Array& array, const Where& where) {
  return [&]<std::size_t... I>(std::index_sequence<I...>)->Result<Tuple> {
    // Slots, because an element's type need not have a default.
    [[maybe_unused]] std::tuple<std::optional<std::tuple_element_t<I, Tuple>>...> slots;
    std::optional<Error> error;
    [[maybe_unused]] const auto read = [&]<std::size_t Index>(auto& slot) {
      using Element = std::tuple_element_t<Index, Tuple>;
      if constexpr (is_optional<Element>) {
        slot.emplace();
        if (Index >= array.size()) return true;
      }
      return read_into<Element>(slot, part_of<V>(array[Index]), error,
                                [&](Error inner) { return where(Index, std::move(inner)); });
    };
    const bool all = (read.template operator()<I>(std::get<I>(slots)) && ...);
    if (!all) return *std::move(error);
    return Tuple(*std::get<I>(std::move(slots))...);
  }
  (std::make_index_sequence<std::tuple_size_v<Tuple>>{});
}

// How many arguments a call must bring: all but the trailing optionals.
template <typename Tuple>
constexpr std::size_t required_arguments() {
  return []<std::size_t... I>(std::index_sequence<I...>) {
    std::size_t required = 0;
    ((required = is_optional<std::tuple_element_t<I, Tuple>> ? required : I + 1), ...);
    return required;
  }
  (std::make_index_sequence<std::tuple_size_v<Tuple>>{});
}

inline Error wrong_arity(std::size_t required, std::size_t most, std::size_t found) {
  const auto position = found < required ? found + 1 : most + 1;
  auto text = "argument " + std::to_string(position);
  text += found < required ? " is missing" : " is one too many";
  text += ": expected " + std::to_string(required);
  if (required != most) text += " to " + std::to_string(most);
  return conversion_failed(text + (most == 1 ? " argument" : " arguments") + ", found " +
                           std::to_string(found));
}

template <typename Tuple, typename V>
Result<Tuple> read_arguments(V&& arguments) {
  constexpr auto most = std::tuple_size_v<Tuple>;
  constexpr auto required = required_arguments<Tuple>();
  auto* const array = arguments.if_array();
  if (array == nullptr) return mismatch("an array of arguments", arguments);
  if (array->size() < required || array->size() > most) {
    return wrong_arity(required, most, array->size());
  }
  return read_tuple<Tuple, V>(*array, [](std::size_t index, Error inner) {
    inner.message = "argument " + std::to_string(index + 1) + ": " + inner.message;
    return inner;
  });
}

template <typename Tuple, typename... Elements>
struct TupleConverter {
  template <typename U>
  requires(ToValue<Elements>&&...) static Value to_value(U&& tuple) {
    return std::apply(
        [](auto&... elements) {
          Value::Array array;
          array.reserve(sizeof...(elements));
          (array.push_back(dw::to_value(part_of<U>(elements))), ...);
          return Value(std::move(array));
        },
        tuple);
  }
  template <AnyValue V>
  requires(FromValue<Elements>&&...) static Result<Tuple> from_value(V&& value) {
    auto* const array = value.if_array();
    if (array == nullptr) return mismatch("an array", value);
    if (array->size() != std::tuple_size_v<Tuple>) {
      return wrong_size(std::tuple_size_v<Tuple>, array->size());
    }
    return read_tuple<Tuple, V>(*array, [](std::size_t index, Error inner) {
      return within(index_step(index), std::move(inner));
    });
  }
};

// Private members of a BOOST_DESCRIBE_CLASS included: dropping half of an object would be worse.
template <typename T>
using MembersOf = boost::describe::describe_members<T, boost::describe::mod_any_access |
                                                           boost::describe::mod_inherited>;

template <typename Map>
auto find_entry(Map& map, std::string_view name) {
  const auto entry = std::find_if(
      map.rbegin(), map.rend(), [name](const auto& candidate) { return candidate.first == name; });
  return entry == map.rend() ? nullptr : &entry->second;
}

}  // namespace detail

inline Error mismatch(std::string_view wanted, const Value& found) {
  auto text = "expected " + std::string(wanted) + ", found ";
  return detail::conversion_failed(text.append(detail::with_article(found.kind())));
}

inline Error within(std::string_view step, Error error) {
  // A message that opens with a path simply grows longer at the front.
  const bool deeper = error.message.starts_with('.') || error.message.starts_with('[');
  auto text = std::string(step);
  if (!deeper) text += ": ";
  error.message = text.append(error.message);
  return error;
}

template <>
struct Converter<Value> {
  static Value to_value(const Value& value) { return value; }
  static Value to_value(Value&& value) { return std::move(value); }
  static Result<Value> from_value(const Value& value) { return value; }
  static Result<Value> from_value(Value&& value) { return std::move(value); }
};

template <>
struct Converter<bool> {
  static Value to_value(bool value) { return Value(value); }
  static Result<bool> from_value(const Value& value) {
    if (const auto* boolean = value.if_boolean()) return *boolean;
    return mismatch("a boolean", value);
  }
};

template <detail::Integer T>
struct Converter<T> {
  static Value to_value(T value) { return detail::integer_value(value); }
  static Result<T> from_value(const Value& value) {
    if (const auto* integer = value.if_integer()) return detail::narrow<T>(*integer);
    return mismatch("an integer", value);
  }
};

template <detail::Real T>
struct Converter<T> {
  static Value to_value(T value) { return Value(static_cast<double>(value)); }
  static Result<T> from_value(const Value& value) {
    if (const auto* integer = value.if_integer()) return static_cast<T>(*integer);
    const auto* real = value.if_real();
    if (real == nullptr) return mismatch("a number", value);
    if (std::isfinite(*real) && std::abs(*real) > std::numeric_limits<T>::max()) {
      return detail::out_of_range(std::to_string(*real), "-3.4e38", "3.4e38");
    }
    return static_cast<T>(*real);
  }
};

template <>
struct Converter<std::string> {
  static Value to_value(const std::string& value) { return Value(value); }
  static Value to_value(std::string&& value) { return Value(std::move(value)); }
  template <detail::AnyValue V>
  static Result<std::string> from_value(V&& value) {
    if (const auto* text = value.if_string()) return detail::take<V>(*text);
    return mismatch("a string", value);
  }
};

// Views and literals go in but do not come out: nothing would own what they point to.
template <>
struct Converter<std::string_view> {
  static Value to_value(std::string_view value) { return Value(value); }
};

template <>
struct Converter<const char*> {
  static Value to_value(const char* value) { return value == nullptr ? Value() : Value(value); }
};

template <>
struct Converter<char*> : Converter<const char*> {};

template <std::size_t N>
struct Converter<char[N]> {
  static Value to_value(const char (&value)[N]) {
    const std::string_view text(value, N);
    return Value(text.substr(0, text.find('\0')));
  }
};

template <>
struct Converter<Bytes> {
  static Value to_value(const Bytes& value) { return Value(value); }
  static Value to_value(Bytes&& value) { return Value(std::move(value)); }
  template <detail::AnyValue V>
  static Result<Bytes> from_value(V&& value) {
    if (const auto* bytes = value.if_bytes()) return detail::take<V>(*bytes);
    return mismatch("bytes", value);
  }
};

template <>
struct Converter<std::monostate> {
  static Value to_value(std::monostate) { return Value(); }
  static Result<std::monostate> from_value(const Value& value) {
    if (value.is_null()) return std::monostate{};
    return mismatch("null", value);
  }
};

template <>
struct Converter<void> {
  // Whoever asks for void does not look: an activity may start to return something.
  static Result<void> from_value(const Value&) { return {}; }
};

// An optional in an optional has two ways of being empty and null only one, so it does not convert.
template <typename T>
requires(!detail::is_optional<T>) struct Converter<std::optional<T>> {
  template <typename U>
  requires ToValue<T>
  static Value to_value(U&& value) {
    if (!value) return Value();
    return dw::to_value<T>(detail::part_of<U>(*value));
  }
  template <detail::AnyValue V>
  requires FromValue<T>
  static Result<std::optional<T>> from_value(V&& value) {
    if (value.is_null()) return std::optional<T>();
    return std::optional<T>(DW_TRY(dw::from_value<T>(std::forward<V>(value))));
  }
};

template <detail::Sequence T>
struct Converter<T> {
  using Element = typename T::value_type;

  template <typename U>
  requires ToValue<Element>
  static Value to_value(U&& sequence) {
    Value::Array array;
    array.reserve(sequence.size());
    for (auto&& element : sequence) {
      array.push_back(dw::to_value<Element>(detail::part_of<U>(element)));
    }
    return Value(std::move(array));
  }
  template <detail::AnyValue V>
  requires FromValue<Element>
  static Result<T> from_value(V&& value) {
    auto* const array = value.if_array();
    if (array == nullptr) return mismatch("an array", value);
    T sequence;
    if constexpr (requires { sequence.reserve(array->size()); }) sequence.reserve(array->size());
    std::size_t index = 0;
    for (auto& element : *array) {
      auto read = dw::from_value<Element>(detail::part_of<V>(element));
      if (!read) return within(detail::index_step(index), std::move(read).error());
      sequence.insert(sequence.end(), *std::move(read));
      ++index;
    }
    return sequence;
  }
};

template <typename T, std::size_t N>
struct Converter<std::array<T, N>> {
  template <typename U>
  requires ToValue<T>
  static Value to_value(U&& values) {
    Value::Array array;
    array.reserve(N);
    for (auto& element : values) array.push_back(dw::to_value<T>(detail::part_of<U>(element)));
    return Value(std::move(array));
  }
  template <detail::AnyValue V>
  requires FromValue<T> && std::default_initializable<T>
  static Result<std::array<T, N>> from_value(V&& value) {
    auto* const array = value.if_array();
    if (array == nullptr) return mismatch("an array", value);
    if (array->size() != N) return detail::wrong_size(N, array->size());
    std::array<T, N> values{};
    for (std::size_t index = 0; index < N; ++index) {
      auto read = dw::from_value<T>(detail::part_of<V>((*array)[index]));
      if (!read) return within(detail::index_step(index), std::move(read).error());
      values[index] = *std::move(read);
    }
    return values;
  }
};

template <detail::StringMap T>
struct Converter<T> {
  using Element = typename T::mapped_type;

  template <typename U>
  requires ToValue<Element>
  static Value to_value(U&& map) {
    Value::Map entries;
    entries.reserve(map.size());
    for (auto& [key, element] : map) {
      entries.emplace_back(key, dw::to_value<Element>(detail::part_of<U>(element)));
    }
    // Hash order is an accident of the library; key order makes equal maps equal bytes.
    if constexpr (requires { typename T::hasher; }) {
      std::ranges::sort(entries, {}, &Value::Map::value_type::first);
    }
    return Value(std::move(entries));
  }
  template <detail::AnyValue V>
  requires FromValue<Element>
  static Result<T> from_value(V&& value) {
    auto* const entries = value.if_map();
    if (entries == nullptr) return mismatch("a map", value);
    T map;
    for (auto& [key, element] : *entries) {
      auto read = dw::from_value<Element>(detail::part_of<V>(element));
      if (!read) return within("[" + detail::quoted(key) + "]", std::move(read).error());
      map.insert_or_assign(std::string(detail::part_of<V>(key)), *std::move(read));
    }
    return map;
  }
};

template <typename First, typename Second>
struct Converter<std::pair<First, Second>>
    : detail::TupleConverter<std::pair<First, Second>, First, Second> {};

template <typename... Elements>
struct Converter<std::tuple<Elements...>>
    : detail::TupleConverter<std::tuple<Elements...>, Elements...> {};

template <typename Rep, typename Period>
requires(detail::Integer<Rep> ||
         std::floating_point<Rep>) struct Converter<std::chrono::duration<Rep, Period>> {
  using Span = std::chrono::duration<Rep, Period>;

  static Value to_value(Span value) {
    if constexpr (std::floating_point<Rep>) {
      const auto micros =
          std::round(static_cast<long double>(value.count()) * PerCount::num / PerCount::den);
      if (!(std::abs(micros) < 0x1p63L)) detail::throw_too_large(std::to_string(micros));
      return Value(static_cast<std::int64_t>(micros));
    } else {
      const auto micros = micros_of(value.count());
      if (micros < std::numeric_limits<std::int64_t>::min() ||
          micros > std::numeric_limits<std::int64_t>::max()) {
        detail::throw_too_large(std::to_string(value.count()) + " × " +
                                std::to_string(PerCount::num) + " microseconds");
      }
      return Value(static_cast<std::int64_t>(micros));
    }
  }

  static Result<Span> from_value(const Value& value) {
    const auto* micros = value.if_integer();
    if (micros == nullptr) return mismatch("a duration in integer microseconds", value);
    if constexpr (std::floating_point<Rep>) {
      return Span(
          static_cast<Rep>(static_cast<long double>(*micros) * PerCount::den / PerCount::num));
    } else {
      // The nearest count. It must stand for exactly these microseconds: half a second is not
      // quietly none.
      const Wide scaled = Wide{*micros} * PerCount::den;
      const Wide half = PerCount::num / 2;
      const Wide count = (scaled + (scaled < 0 ? -half : half)) / PerCount::num;
      if (count < Wide{std::numeric_limits<Rep>::min()} ||
          count > Wide{std::numeric_limits<Rep>::max()}) {
        return Error{ErrorCode::integer_overflow,
                     std::to_string(*micros) + " microseconds do not fit the duration's type"};
      }
      if (micros_of(count) != *micros) {
        return detail::conversion_failed("expected a whole multiple of " +
                                         std::to_string(PerCount::num) + " microseconds, found " +
                                         std::to_string(*micros));
      }
      return Span(static_cast<Rep>(count));
    }
  }

 private:
  __extension__ typedef __int128 Wide;
  using PerCount = std::ratio_divide<Period, std::micro>;  // microseconds in one count

  static constexpr Wide micros_of(Wide count) { return count * PerCount::num / PerCount::den; }
};

template <>
struct Converter<Timestamp> {
  static Value to_value(Timestamp value) { return Value(format_timestamp(value)); }
  static Result<Timestamp> from_value(const Value& value) {
    const auto* text = value.if_string();
    if (text == nullptr) return mismatch("a timestamp", value);
    if (auto at = parse_timestamp(*text)) return at;
    return detail::conversion_failed(
        "expected a timestamp such as \"2026-04-10T12:00:00.000000Z\", found " +
        detail::quoted(*text));
  }
};

template <detail::PlainEnum T>
struct Converter<T> {
  static Value to_value(T value) {
    return detail::integer_value(static_cast<std::underlying_type_t<T>>(value));
  }
  static Result<T> from_value(const Value& value) {
    if (const auto* integer = value.if_integer()) return detail::enum_from_integer<T>(*integer);
    return mismatch("an integer", value);
  }
};

template <detail::DescribedEnum T>
struct Converter<T> {
  static Value to_value(T value) {
    if (const auto* name = boost::describe::enum_to_string(value, nullptr)) return Value(name);
    return detail::integer_value(static_cast<std::underlying_type_t<T>>(value));
  }
  static Result<T> from_value(const Value& value) {
    if (const auto* integer = value.if_integer()) return detail::enum_from_integer<T>(*integer);
    const auto* text = value.if_string();
    if (text == nullptr) return mismatch("an enumerator's name", value);
    std::optional<T> found;
    std::string names;
    boost::mp11::mp_for_each<boost::describe::describe_enumerators<T>>([&](auto enumerator) {
      if (found) return;
      if (*text == enumerator.name) found = enumerator.value;
      names.append(names.empty() ? "" : ", ").append(enumerator.name);
    });
    if (found) return *found;
    return detail::conversion_failed("expected one of " + names + ", found " +
                                     detail::quoted(*text));
  }
};

template <detail::DescribedStruct T>
struct Converter<T> {
  template <typename U>
  static Value to_value(U&& object) {
    Value::Map entries;
    entries.reserve(boost::mp11::mp_size<detail::MembersOf<T>>::value);
    boost::mp11::mp_for_each<detail::MembersOf<T>>([&](auto member) {
      auto& content = object.*decltype(member)::pointer;
      entries.emplace_back(member.name, dw::to_value(detail::part_of<U>(content)));
    });
    return Value(std::move(entries));
  }

  template <detail::AnyValue V>
  static Result<T> from_value(V&& value) {
    static_assert(std::default_initializable<T>,
                  "dw reads a described struct member by member into a default-constructed one: "
                  "give it a default constructor or specialise dw::Converter");
    auto* const entries = value.if_map();
    if (entries == nullptr) return mismatch("a map", value);
    T object{};
    std::optional<Error> error;
    boost::mp11::mp_for_each<detail::MembersOf<T>>([&](auto member) {
      if (error) return;
      auto& slot = object.*decltype(member)::pointer;
      using Member = std::remove_reference_t<decltype(slot)>;
      if (auto* const entry = detail::find_entry(*entries, member.name)) {
        detail::read_into<Member>(slot, detail::part_of<V>(*entry), error, [&](Error inner) {
          return within(std::string(".") + member.name, std::move(inner));
        });
      } else if constexpr (detail::is_optional<Member>) {
        slot.reset();
      } else {
        error = detail::conversion_failed(std::string(".") + member.name + ": missing");
      }
    });
    if (error) return *std::move(error);
    return object;
  }
};

// The functions below check first and convert only if the check holds, so that an author who forgot
// a description reads one sentence rather than a page of template errors.
#define DW_CONVERT_ADVICE                                                              \
  "describe the struct with BOOST_DESCRIBE_STRUCT or specialise dw::Converter for it " \
  "(dw/convert.hpp lists the types that convert by themselves)"

template <typename T>
Value to_value(const T& value) {
  static_assert(ToValue<T>, "dw cannot turn this type into a dw::Value: " DW_CONVERT_ADVICE);
  if constexpr (ToValue<T>) return Converter<T>::to_value(value);
}

template <typename T>
requires(!std::is_lvalue_reference_v<T>) Value to_value(T&& value) {
  using Plain = std::remove_cv_t<T>;
  static_assert(ToValue<Plain>, "dw cannot turn this type into a dw::Value: " DW_CONVERT_ADVICE);
  if constexpr (ToValue<Plain>) return Converter<Plain>::to_value(std::forward<T>(value));
}

template <typename T>
Result<T> from_value(const Value& value) {
  static_assert(FromValue<T>, "dw cannot make this type from a dw::Value: " DW_CONVERT_ADVICE);
  if constexpr (FromValue<T>) return Converter<T>::from_value(value);
}

template <typename T>
Result<T> from_value(Value&& value) {
  static_assert(FromValue<T>, "dw cannot make this type from a dw::Value: " DW_CONVERT_ADVICE);
  if constexpr (FromValue<T>) return Converter<T>::from_value(std::move(value));
}

#undef DW_CONVERT_ADVICE

template <typename... Args>
Value to_arguments(const Args&... args) {
  Value::Array array;
  array.reserve(sizeof...(args));
  (array.push_back(to_value(args)), ...);
  return Value(std::move(array));
}

template <typename Tuple>
Result<Tuple> from_arguments(const Value& arguments) {
  return detail::read_arguments<Tuple>(arguments);
}

template <typename Tuple>
Result<Tuple> from_arguments(Value&& arguments) {
  return detail::read_arguments<Tuple>(std::move(arguments));
}

}  // namespace dw
