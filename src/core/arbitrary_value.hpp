// For tests: values of every kind, nested a few levels, with text from all of Unicode.
#pragma once
#include <dw/value.hpp>

#include <rapidcheck.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <string>

namespace dw {

inline void append_utf8(std::string& out, char32_t c) {
  const auto put = [&](char32_t byte) {
    out += static_cast<char>(static_cast<unsigned char>(byte));
  };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xc0 | c >> 6), put(0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    put(0xe0 | c >> 12), put(0x80 | (c >> 6 & 0x3f)), put(0x80 | (c & 0x3f));
  } else {
    put(0xf0 | c >> 18), put(0x80 | (c >> 12 & 0x3f));
    put(0x80 | (c >> 6 & 0x3f)), put(0x80 | (c & 0x3f));
  }
}

// Mostly short plain text, sometimes quotes, control characters and the far planes.
inline rc::Gen<std::string> arbitrary_text() {
  const auto character = rc::gen::oneOf(rc::gen::inRange<std::uint32_t>(0, 0x80),
                                        rc::gen::inRange<std::uint32_t>(0x20, 0x7f),
                                        rc::gen::inRange<std::uint32_t>(0x80, 0xd800),
                                        rc::gen::inRange<std::uint32_t>(0xe000, 0x110000));
  return rc::gen::map(rc::gen::container<std::vector<std::uint32_t>>(character),
                      [](const std::vector<std::uint32_t>& characters) {
                        std::string text;
                        for (const auto c : characters) append_utf8(text, c);
                        return text;
                      });
}

// Every finite bit pattern, so that subnormals and negative zero come up.
inline rc::Gen<double> arbitrary_finite_double() {
  return rc::gen::suchThat(
      rc::gen::oneOf(rc::gen::arbitrary<double>(),
                     rc::gen::map(rc::gen::inRange<std::uint64_t>(0, UINT64_MAX),
                                  [](std::uint64_t bits) { return std::bit_cast<double>(bits); }),
                     rc::gen::element(0.0, -0.0, 7.0, 1e22, 5e-324)),
      [](double number) { return std::isfinite(number); });
}

inline rc::Gen<std::int64_t> arbitrary_int64() {
  return rc::gen::oneOf(rc::gen::arbitrary<std::int64_t>(),
                        rc::gen::element(INT64_MIN, INT64_MAX, std::int64_t{0}));
}

inline rc::Gen<Value> arbitrary_value(int levels = 3) {
  return rc::gen::exec([levels]() -> Value {
    switch (*rc::gen::inRange(0, levels > 0 ? 8 : 6)) {
      case 0:
        return nullptr;
      case 1:
        return *rc::gen::arbitrary<bool>();
      case 2:
        return *arbitrary_int64();
      case 3:
        return *arbitrary_finite_double();
      case 4:
        return Bytes{*rc::gen::arbitrary<std::string>()};
      case 5:
        return *arbitrary_text();
      case 6: {
        Value::Array items;
        for (auto left = *rc::gen::inRange(0, 5); left > 0; --left) {
          items.push_back(*arbitrary_value(levels - 1));
        }
        return items;
      }
      default: {
        Value::Map entries;
        for (auto left = *rc::gen::inRange(0, 5); left > 0; --left) {
          auto key = *arbitrary_text();
          entries.emplace_back(std::move(key), *arbitrary_value(levels - 1));
        }
        return entries;
      }
    }
  });
}

}  // namespace dw

// Lets a failing property print the value it failed for.
namespace rc {
template <>
struct Arbitrary<dw::Value> {
  static Gen<dw::Value> arbitrary() { return dw::arbitrary_value(); }
};
}  // namespace rc

namespace dw {
inline void showValue(const Value& value, std::ostream& os) {
  os << to_json(value);
}
}  // namespace dw
