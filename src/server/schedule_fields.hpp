// What bodies about schedules have in common.
#pragma once
#include "schedule/change.hpp"
#include "server/fields.hpp"

namespace dw::server {

// Absent when it is not there, or names no policy.
std::optional<schedule::Overlap> overlap_in(Fields& fields);

// Arguments for the workflow: a list, an object, or an envelope, of which what is in it is taken. A
// schedule shows its arguments, lets them take turns and may start for years, so it keeps them
// itself: what is stored elsewhere is refused.
std::optional<Value> input_in(Fields& fields, std::string_view name);

// The body of a create or an update, as above where it has arguments.
struct ReadWish {
  schedule::ScheduleChange change;
  std::vector<schedule::ChangeProblem> problems = {};
  std::vector<schedule::ChangeWarning> warnings = {};
};
ReadWish read_wish(const Call& call);

// Of a query: absent when the text is none.
std::optional<std::int64_t> whole_number_in(std::string_view text);

// "2026-04-20T00:00:00Z"; required.
std::optional<Timestamp> instant_in(Fields& fields, std::string_view name);

}  // namespace dw::server
