// How days and times of day are written in calendars: "2026-12-24" and "13:00".
#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace dw::schedule {

// Absent for anything but a day that exists, in exactly this form.
std::optional<std::chrono::local_days> find_date(std::string_view text);
std::string date_text(std::chrono::local_days date);

// "00:00" to "24:00"; the last is the end of a day.
std::optional<std::chrono::minutes> find_time_of_day(std::string_view text);
std::string time_of_day_text(std::chrono::minutes time);

// The number that a text of digits and nothing else stands for; absent when it is another text, or
// longer than nine digits.
std::optional<int> find_digits(std::string_view text);

}  // namespace dw::schedule
