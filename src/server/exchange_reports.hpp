// What a native worker reports in an exchange, and how it is told what came of it.
#pragma once
#include "dispatch/requests.hpp"
#include "server/fields.hpp"

namespace dw::server {

struct TaskReport {
  dispatch::TaskHolder holder;
  std::string wire_id;
  std::optional<Timestamp> now;
  std::vector<engine::WorkflowCommand> commands = {};
  std::optional<Error> unreadable = {};  // commands that make no sense
  std::optional<engine::Blocked> blocked = {};
  bool spoiled = false;
  bool failed = false;
};

struct ActivityReport {
  std::string id;
  engine::ActivityOutcome outcome;
  std::optional<dispatch::WentAhead> ahead = {};
};

// What is wrong with them is noted in the fields.
std::vector<TaskReport> read_task_reports(Fields& fields, const std::string& worker);
std::vector<ActivityReport> read_activity_reports(Fields& fields);

// What came of one report.
struct Heard {
  std::string id;
  bool recorded = false;
  std::string reason = {};
  std::string message = {};
  bool went_on = false;  // an activity's: what the code did with it is recorded as well
  std::optional<dispatch::StoredEvents> news = {};  // that the code has not seen
  bool retryable = false;  // it was not recorded, and nothing is wrong with it
};
// One that nobody could deal with.
Heard not_heard(std::string id, const Error& error);
std::string heard_list(const std::vector<Heard>& all, std::string_view id_field);

}  // namespace dw::server
