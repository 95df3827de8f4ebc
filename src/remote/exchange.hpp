// What a worker and its server tell each other: reports one way, verdicts and tasks the other.
#pragma once
#include "engine/commands.hpp"
#include "history/events.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace dw::remote {

// ---- what is given to the worker

// Events that became durable together, still in their stored form.
struct HistoryPiece {
  std::int64_t first = 0;  // sequence of its first event
  Timestamp at;
  std::string events;
};

struct WorkflowTask {
  std::string task_id;
  std::int64_t attempt = 0;
  RunId run_id;
  Timestamp now;  // what the code is to take for now
  std::vector<HistoryPiece> history;
};

struct ActivityTask {
  std::string task_id;
  ActivityId activity_id;
  AttemptId attempt_id;
  std::int64_t attempt_number = 1;
  std::string activity_type;
  InstanceId instance_id;
  RunId run_id;
  Payload arguments;
  Timestamp lease_expires_at;
  std::optional<std::chrono::seconds> heartbeat_timeout = {};
  // The code that waits for it sits here, and waits for nothing else.
  bool code_goes_on = false;
};

struct QueryTask {
  std::string query_task_id;
  std::int64_t attempt = 0;
  RunId run_id;
  std::string name;
  Payload arguments;
  std::vector<HistoryPiece> history;  // all of it
};

struct Tasks {
  std::vector<WorkflowTask> workflow;
  std::vector<ActivityTask> activity;
  std::vector<QueryTask> query;
};

// ---- what comes of it

struct RanCode {
  Timestamp now;         // as the task said
  std::string commands;  // as engine/command_codec spells them
  bool spoiled = false;
};
struct CouldNotRun {
  std::string message;
};
struct WorkflowReport {
  std::string task_id;
  std::int64_t attempt = 0;
  RunId run_id;
  std::uint64_t serial = 0;  // of the reports of one seat
  std::variant<RanCode, engine::Blocked, CouldNotRun> outcome;
};

// The code that waited for an activity went on with its result before anybody recorded that.
struct WentAhead {
  RunId run_id;
  std::uint64_t serial = 0;  // like WorkflowReport's
  std::int64_t seen = 0;     // the last event of the server's that the code knew
  Timestamp now;             // what it took for now
  std::string commands;
};
struct ActivityReport {
  std::string task_id;
  AttemptId attempt_id;
  std::variant<Payload, history::Failure> outcome;
  std::optional<WentAhead> ahead = {};
};

struct QueryRefusal {
  std::string reason;  // rejected_unknown_query, invalid_query_arguments, query_rejected
  std::string message;
};
struct QueryReport {
  std::string query_task_id;
  std::int64_t attempt = 0;
  std::variant<Payload, QueryRefusal> outcome;
};

using Report = std::variant<WorkflowReport, ActivityReport, QueryReport>;

// How a report was taken.
struct Verdict {
  bool recorded = false;
  std::string reason = {};  // why not
  std::string message = {};
  bool went_on = false;  // an activity's: what the code did with the result is recorded as well
  // What came of it and the code has not seen. There is some where the code waits for nothing but
  // one activity, which came along: once that is done, the code may go on at once.
  std::vector<HistoryPiece> news = {};
  bool again = false;  // not recorded, and nothing is wrong with it: the server could not just then
};

// ---- one request and its answer

// So many of each kind.
struct Counts {
  std::int64_t workflow = 0;
  std::int64_t activity = 0;
  std::int64_t query = 0;
  friend bool operator==(const Counts&, const Counts&) = default;
};

struct Exchange {
  std::uint64_t id = 0;
  std::vector<Report> reports;
  Counts want;
  std::chrono::milliseconds wait{0};  // for the first task, if there is nothing to report
  bool draining = false;              // the worker wants nothing more, and waits for nothing

  bool parked() const { return wait.count() > 0; }
};

struct ExchangeAnswer {
  // One for each report of that kind, in their order.
  std::vector<Verdict> workflow, activity, query;
  Tasks tasks;
};

}  // namespace dw::remote
