// Events from outside, handed over by integrations: each starts, signals or updates one workflow by
// way of the control plane, and is durable before it is acknowledged. The same event again (now,
// later, after a restart) changes nothing and is told so: what it asks for bears a name made of its
// adapter and idempotency key, and the engine does nothing twice under one name.
#pragma once
#include "server/front_desk.hpp"

namespace dw::server {

inline constexpr std::string_view bridge_outcome_schema =
    "durable-workflow.v2.bridge-adapter-outcome.contract";

// 202 accepted, 200 duplicate, 422 rejected. What went wrong on our side is told as `control` told
// it: nobody has judged the event then, and its sender should try again.
void bridge_webhook(const Call& call, Service& control, Reply reply);

// The names. A workflow that an event starts, if it does not say how to call it:
std::string bridged_workflow_id(std::string_view adapter, std::string_view idempotency_key);
// And the request to signal or update one, where `name` is the signal's or update's: one event may
// be told to a workflow in several ways, each of them once.
std::string bridged_request_id(std::string_view adapter, std::string_view idempotency_key,
                               std::string_view name);

}  // namespace dw::server
