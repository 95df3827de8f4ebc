// Where a page of schedules ended, as a text that only this server can write.
#pragma once
#include <dw/ids.hpp>
#include <dw/time.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace dw::server {

inline constexpr std::size_t longest_page_token = 8192;

struct SchedulePlace {
  Timestamp created_at;
  std::string schedule_id;
  friend bool operator==(const SchedulePlace&, const SchedulePlace&) = default;
};

struct SchedulePage {
  Namespace ns;
  std::string filters;  // their fingerprint
  SchedulePlace after;
  friend bool operator==(const SchedulePage&, const SchedulePage&) = default;
};

// Letters, digits, - and _ only.
std::string schedule_page_token(const SchedulePage& page, std::string_view key);
// Absent for anything that was not written with that key.
std::optional<SchedulePage> read_schedule_page_token(std::string_view token, std::string_view key);

}  // namespace dw::server
