// A run's timers, those that bound waits included, one row each.
#pragma once
#include "views/account.hpp"
#include "views/sight.hpp"

namespace dw::views {

inline constexpr std::int64_t timer_schema_version = 1;

struct TimerRow {
  TimerId id;
  std::int64_t step = 0;
  std::string status;         // pending, fired, cancelled, unsupported
  std::string source_status;  // what the authority reports
  std::optional<std::int64_t> delay_seconds;
  std::optional<Timestamp> fire_at;
  std::optional<Timestamp> fired_at;
  std::optional<Timestamp> cancelled_at;
  std::optional<Timestamp> created_at;
  std::string timer_kind;  // empty, condition_timeout, signal_timeout
  std::string condition_wait_id;
  std::string condition_key;
  std::string condition_fingerprint;
  std::string signal_wait_id;
  std::string signal_name;
  Authority authority;
  std::vector<std::string> event_types;
};

// By step, then due time.
std::vector<TimerRow> timer_rows(const Account& account, const ForeignRows& foreign = {});

Value to_value(const TimerRow& row);

}  // namespace dw::views
