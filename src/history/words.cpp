// The words for what events are made of, in JSON, tables, logs and the console.
#include "history/events.hpp"

#include <fmt/format.h>

namespace dw::history {

std::string_view to_string(Group::Kind kind) {
  static constexpr std::string_view words[] = {"activity", "child", "mixed", "timer"};
  const auto index = static_cast<std::size_t>(kind);
  return index < std::size(words) ? words[index] : std::string_view{};
}

std::string_view to_string(ParentClosePolicy policy) {
  static constexpr std::string_view words[] = {"abandon", "request_cancel", "terminate"};
  const auto index = static_cast<std::size_t>(policy);
  return index < std::size(words) ? words[index] : std::string_view{};
}

std::string_view to_string(NamedRequest::Kind kind) {
  static constexpr std::string_view words[] = {"signal", "update", "cancel", "terminate"};
  const auto index = static_cast<std::size_t>(kind);
  return index < std::size(words) ? words[index] : std::string_view{};
}

std::string group_id(const Group& group) {
  static constexpr std::string_view prefixes[] = {"parallel-activities", "parallel-children",
                                                  "parallel-calls", "parallel-timers"};
  return fmt::format("{}:{}:{}", prefixes[static_cast<std::size_t>(group.kind)], group.base,
                     group.size);
}

}  // namespace dw::history
