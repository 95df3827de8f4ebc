// Rows on their way out: named cells, null where a row has nothing to say, so that every row of a
// kind has the same keys in the same order.
#pragma once
#include "history/events.hpp"

#include <dw/ids.hpp>
#include <dw/time.hpp>
#include <dw/value.hpp>

#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dw::views {

inline Value cell(bool flag) {
  return flag;
}
inline Value cell(std::int64_t number) {
  return number;
}
inline Value cell(std::string_view text) {
  return text.empty() ? Value{} : Value{text};
}
inline Value cell(const std::string& text) {
  return cell(std::string_view{text});
}
inline Value cell(const char* text) {
  return cell(std::string_view{text});
}
inline Value cell(Timestamp at) {
  return format_timestamp(at);
}
inline Value cell(const Value& value) {
  return value;
}
template <typename Tag>
Value cell(const StrongId<Tag>& id) {
  return cell(id.view());
}
inline Value cell(const std::vector<std::string>& list) {
  Value::Array array;
  for (const auto& text : list) array.emplace_back(text);
  return array;
}
template <typename T>
Value cell(const std::optional<T>& value) {
  return value ? cell(*value) : Value{};
}

class RowValue {
 public:
  template <typename T>
  RowValue& operator()(std::string_view key, const T& value) {
    map_.emplace_back(std::string{key}, cell(value));
    return *this;
  }
  Value take() { return std::move(map_); }

 private:
  Value::Map map_;
};

// The innermost barrier flat, then all of them, outermost first.
void add_group(RowValue& row, const history::GroupPath& path);

// The policy as it was when the activity was scheduled.
Value to_value(const history::RetryPolicy& policy);

}  // namespace dw::views
