// Payloads that are kept outside of history. SDKs put large ones into a storage of their own and
// take them out again; what the engine carries in their place is a reference, as it carries any
// payload: bytes that it does not look into.
#pragma once
#include <dw/payload.hpp>

#include <optional>
#include <string_view>

namespace dw {

inline constexpr std::string_view external_reference_schema =
    "durable-workflow.v2.external-payload-reference.v1";

// The payload that stands for what lies there. Fails with invalid_argument when this is no
// reference of that schema to an Avro payload: a key is missing, wrong or unheard of.
Result<Payload> external_payload(const Value& reference);

// What external_payload() was given; absent when the payload itself is here. Avro begins with its
// magic, never with a brace, so that one cannot be taken for the other.
std::optional<Value> find_external_reference(const Payload& payload);

}  // namespace dw
