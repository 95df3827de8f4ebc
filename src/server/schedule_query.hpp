// What a list of schedules may be asked for: equalities, all of which must hold.
//
//   Status = "active" AND WorkflowType = "orders.rollup" AND Priority = 3
//
// Schedules have ScheduleId, Status, WorkflowType, TaskQueue and Note, and the search attributes
// that are registered. Of a list of keywords `=` asks for a member. Pure.
#pragma once
#include "schedule/record.hpp"
#include "views/visibility_query.hpp"

namespace dw::server {

inline constexpr std::size_t longest_schedule_query = 2048;  // bytes

struct ScheduleQuery {
  struct Equality {
    std::string field;
    views::AttributeType type = views::AttributeType::keyword;
    views::Operand value;
    friend bool operator==(const Equality&, const Equality&) = default;
  };

  std::vector<Equality> all = {};
  friend bool operator==(const ScheduleQuery&, const ScheduleQuery&) = default;
};

// What kept a query from being understood.
struct QueryRefusal {
  std::string_view reason;  // "unsupported_schedule_visibility_predicate"
  std::string message;      // where, and what could stand there
};

struct ReadScheduleQuery {
  ScheduleQuery query = {};
  std::optional<QueryRefusal> refusal = {};
};
ReadScheduleQuery read_schedule_query(std::string_view text, const views::AttributeTypes& custom);

bool matches(const ScheduleQuery& query, const schedule::Schedule& schedule);

// The same text for queries that ask the same, however they were written.
std::string normalized(const ScheduleQuery& query);

}  // namespace dw::server
