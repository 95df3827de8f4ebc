// Where a reader is in what is read page by page, as texts that mean nothing to whoever holds them.
// They are not signed: they say where to go on, and grant nothing. (Lists of schedules sign
// theirs: see schedule_page_token.)
#pragma once
#include <dw/ids.hpp>
#include <dw/value.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dw::server {

// A worker's, in the history of its task: events after one, up to another that was the last when
// the task was taken.
struct HistoryPage {
  std::int64_t after = 0;
  std::int64_t until = 0;
};
std::string page_token(HistoryPage page);
std::optional<HistoryPage> parse_page_token(std::string_view token);

// An operator's, in the history of a run: events after this one.
std::string event_token(std::int64_t after);
std::optional<std::int64_t> parse_event_token(std::string_view token);

// What a list was asked for, in short.
std::string fingerprint_of(Value::Array filters);

// In a list of runs, newest first: those after this one. `filters` is the fingerprint of what the
// list was asked for; a token is good for these only.
std::string run_token(const RunId& last, std::string_view filters);
std::optional<RunId> parse_run_token(std::string_view token, std::string_view filters);

}  // namespace dw::server
