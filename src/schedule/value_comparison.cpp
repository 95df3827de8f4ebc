#include "schedule/value_comparison.hpp"

#include <dw/time.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace dw::schedule {
namespace {

using Order = std::strong_ordering;

// ---- numbers

// No conversion of the integer: a double holds only 53 bits of it.
std::optional<Order> order_of_numbers(std::int64_t whole, double real) {
  constexpr double two_to_63 = 9223372036854775808.0;
  if (std::isnan(real)) return std::nullopt;
  if (real >= two_to_63) return Order::less;
  if (real < -two_to_63) return Order::greater;
  const double floor = std::floor(real);
  const auto order = whole <=> static_cast<std::int64_t>(floor);
  return order == Order::equal && real > floor ? Order::less : order;
}

std::optional<Order> order_of_numbers(double left, double right) {
  if (left < right) return Order::less;
  if (left > right) return Order::greater;
  return left == right ? std::optional{Order::equal} : std::nullopt;
}

bool is_number(const Value& value) {
  return value.if_integer() != nullptr || value.if_real() != nullptr;
}

std::optional<Order> order_of_numbers(const Value& left, const Value& right) {
  const auto* left_whole = left.if_integer();
  const auto* right_whole = right.if_integer();
  if (left_whole && right_whole) return *left_whole <=> *right_whole;
  if (left_whole) return order_of_numbers(*left_whole, *right.if_real());
  if (!right_whole) return order_of_numbers(*left.if_real(), *right.if_real());
  const auto reverse = order_of_numbers(*right_whole, *left.if_real());
  return reverse ? std::optional{0 <=> *reverse} : std::nullopt;
}

// ---- moments

// The fraction stays text, because people write more digits than a clock has.
struct Moment {
  Timestamp second;
  std::string_view fraction;  // without zeros at its end
  friend auto operator<=>(const Moment&, const Moment&) = default;
};

std::optional<Moment> find_moment(const Value& value) {
  constexpr std::size_t day_length = 10;
  constexpr std::size_t second_length = 19;
  const auto* text = value.if_string();
  if (text == nullptr || text->size() < day_length || (*text)[4] != '-') return std::nullopt;
  std::string_view rest = *text;
  std::string whole;
  Moment moment{};
  if (rest.size() == day_length) {
    whole = *text + "T00:00:00Z";
  } else if (rest.size() > second_length) {
    whole = rest.substr(0, second_length);
    rest.remove_prefix(second_length);
    if (rest.front() == '.') {
      const auto end = std::min(rest.find_first_not_of("0123456789", 1), rest.size());
      if (end == 1) return std::nullopt;
      moment.fraction = rest.substr(1, end - 1);
      moment.fraction = moment.fraction.substr(0, moment.fraction.find_last_not_of('0') + 1);
      rest.remove_prefix(end);
      if (rest.starts_with('.')) return std::nullopt;
    }
    whole += rest;
    // RFC 3339 lets these two be small letters.
    if (whole[day_length] == 't') whole[day_length] = 'T';
    if (whole.back() == 'z') whole.back() = 'Z';
  }
  const auto at = parse_timestamp(whole);
  if (!at) return std::nullopt;
  moment.second = *at;
  return moment;
}

// ---- objects

using Entry = Value::Map::value_type;

// By key, each once.
std::vector<const Entry*> sorted_entries(const Value::Map& map) {
  std::vector<const Entry*> entries;
  for (auto entry = map.rbegin(); entry != map.rend(); ++entry) entries.push_back(&*entry);
  const auto key = [](const Entry* entry) -> const std::string& { return entry->first; };
  std::ranges::stable_sort(entries, {}, key);
  const auto alike = [](const Entry* a, const Entry* b) { return a->first == b->first; };
  entries.erase(std::unique(entries.begin(), entries.end(), alike), entries.end());
  return entries;
}

bool equal_maps(const Value::Map& left, const Value::Map& right) {
  return std::ranges::equal(
      sorted_entries(left), sorted_entries(right), [](const Entry* one, const Entry* other) {
        return one->first == other->first && deep_equal(one->second, other->second);
      });
}

}  // namespace

bool deep_equal(const Value& left, const Value& right) {
  if (is_number(left) && is_number(right)) {
    return order_of_numbers(left, right) == std::optional{Order::equal};
  }
  if (left.kind() != right.kind()) return false;
  if (const auto* items = left.if_array()) {
    return std::ranges::equal(*items, *right.if_array(), deep_equal);
  }
  if (const auto* entries = left.if_map()) return equal_maps(*entries, *right.if_map());
  return left == right;
}

std::optional<std::strong_ordering> order_of(const Value& left, const Value& right) {
  if (is_number(left) && is_number(right)) return order_of_numbers(left, right);
  const auto one = find_moment(left);
  const auto other = find_moment(right);
  if (!one || !other) return std::nullopt;
  return *one <=> *other;
}

bool has_an_order(const Value& value) {
  if (const auto* real = value.if_real()) return !std::isnan(*real);
  return is_number(value) || find_moment(value).has_value();
}

}  // namespace dw::schedule
