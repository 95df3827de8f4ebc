// What every answer has in common: JSON, version headers, the envelope of its plane, and the form
// of a refusal.
#pragma once
#include "server/http.hpp"
#include "server/routes.hpp"

#include <dw/value.hpp>

namespace dw::server {

inline constexpr std::string_view control_plane_version = "2";
inline constexpr std::string_view control_plane_header = "X-Durable-Workflow-Control-Plane-Version";
inline constexpr std::string_view worker_protocol_version = "1.19";
inline constexpr std::string_view worker_protocol_header = "X-Durable-Workflow-Protocol-Version";

// Status and body of an answer, before it gets its envelope.
struct Answer {
  int status = 200;
  Value::Map body = {};
  // Fields whose values are JSON already, such as histories: written as they are, after the others.
  std::vector<std::pair<std::string, std::string>> written = {};
  std::string document = {};  // a body that is JSON already, instead of all of these
  // Fields as in `written`, of values that outlive every answer.
  std::vector<std::pair<std::string_view, std::string_view>> constants = {};
};

// As JSON, with the fields that are JSON already.
std::string body_text(Answer answer);

// {message, reason, …}. What is wrong, on which id, and what to do next.
Answer refusal(int status, std::string_view reason, std::string message, Value::Map more = {});
// 422 with one list of texts per field.
Answer invalid(Value::Map errors);

// 500, and a line in the log that says why.
Answer broke_down(std::string_view request_id, const std::exception& failure);

// What an operation on a workflow is about, for its envelope.
struct Subject {
  Operation operation = Operation::list;
  std::string workflow_id = {};
  std::string run_id = {};
  std::string name = {};  // of the signal, query or update
};

// What every answer below /workflows carries, its `control_plane` object: published clients refuse
// one without.
void with_envelope(Answer& answer, const Subject& subject);

// What every answer to a worker carries: the version spoken here, what this server can do, and the
// text of a refusal under both names that its readers know.
void with_worker_envelope(Answer& answer, bool compression);

// "signal", "list_runs", …: the operation as the envelope names it.
std::string_view name_of(Operation operation);

// What clients may read about these envelopes before they ask for anything.
Value response_contract();

}  // namespace dw::server
