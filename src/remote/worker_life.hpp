// What a worker and its server say about the worker itself and its running activities: the ordinary
// routes of the worker protocol, as JSON.
#pragma once
#include "client/http_client.hpp"
#include "remote/exchange_codec.hpp"

#include <dw/worker.hpp>

namespace dw::remote {

// Sent with everything: who may, about which namespace, in which version of the protocol.
client::HttpHeaders worker_headers(const WorkerOptions& options);

// ---- registration

struct Registration {
  WorkerName worker;
  std::int64_t max_workflow_tasks = 0;
  std::int64_t max_activity_tasks = 0;
  std::optional<std::chrono::seconds> heartbeat_interval = {};
};
Registration registration_for(const WorkerOptions& options, const Counts& capacity);
// With every type of the registry, what it answers to and the fingerprint of its code.
std::string registration_body(const Registration& registration, const Registry& registry);

struct Registered {
  std::chrono::seconds heartbeat_interval{60};
  bool exchanges = false;  // the server knows what an exchange is
};
Result<Registered> parse_registered(std::string_view body);

std::string worker_heartbeat_body(std::string_view worker_id, const Counts& free);

// ---- one activity's signs of life

std::string attempt_heartbeat_body(std::string_view worker_id, const AttemptId& attempt,
                                   const std::optional<Value>& progress);
// Does somebody still wait for the outcome?
bool still_wanted(std::string_view heartbeat_reply);

// ---- refusals

// What an answer that is none of the expected says about itself: "worker_not_registered", and the
// sentence for people.
struct Refusal {
  std::string reason;
  std::string message;
};
Refusal parse_refusal(std::string_view body);
// All of it, for a log line.
std::string refusal_text(const client::HttpReply& reply);

}  // namespace dw::remote
