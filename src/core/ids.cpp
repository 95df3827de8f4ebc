#include <dw/ids.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace dw {

namespace {

constexpr std::size_t max_instance_id_length = 191;
constexpr std::size_t max_namespace_length = 128;

// By hand rather than <cctype>: the rules are ASCII in every locale.
bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}
bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_name_punctuation(char c) {
  return c == '.' || c == '_' || c == '-';
}

bool is_instance_id_char(char c) {
  return is_lower(c) || is_upper(c) || is_digit(c) || is_name_punctuation(c) || c == ':';
}

bool is_namespace_char(char c) {
  return is_lower(c) || is_digit(c) || is_name_punctuation(c);
}

Error refused_id(std::string message) {
  return Error{ErrorCode::invalid_argument, std::move(message)};
}

}  // namespace

Result<InstanceId> parse_instance_id(std::string_view text) {
  if (text.empty()) return refused_id("an instance id must not be empty");
  if (text.size() > max_instance_id_length) {
    return refused_id(fmt::format("an instance id of {} bytes is too long: at most {} are allowed",
                                  text.size(), max_instance_id_length));
  }
  if (!std::ranges::all_of(text, is_instance_id_char)) {
    return refused_id(fmt::format(
        "instance id \"{}\" may only hold letters, digits and the characters . _ : -", text));
  }
  return InstanceId{std::string{text}};
}

Result<Namespace> parse_namespace(std::string_view text) {
  if (text.size() > max_namespace_length) {
    return refused_id(fmt::format("a namespace of {} bytes is too long: at most {} are allowed",
                                  text.size(), max_namespace_length));
  }
  std::string lowered{text};
  for (char& c : lowered) {
    if (is_upper(c)) c = static_cast<char>(c - 'A' + 'a');
  }
  if (!std::ranges::all_of(lowered, is_namespace_char)) {
    return refused_id(fmt::format(
        "namespace \"{}\" may only hold letters, digits and the characters . _ -", text));
  }
  return Namespace{std::move(lowered)};
}

}  // namespace dw
