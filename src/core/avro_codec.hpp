// The payload codec that the Python and Rust SDKs share: Avro single-object encoding of one
// recursive record, durable_workflow.protocol.Value. The subset is small enough to be our own.
//
//   C3 01 | fingerprint, 8 bytes | datum
//
// Writers emit one block per array or map and keep the order of entries, so equal values have
// equal bytes. Readers take several blocks, and blocks that state their size in bytes.
#pragma once
#include <dw/value.hpp>

#include <string>
#include <string_view>

namespace dw {

// Fails with non_finite_float for NaN and infinities, with invalid_argument for text that is not
// UTF-8 and for values nested too deeply.
Result<std::string> encode_avro(const Value& value);

// Fails with unsupported_payload_schema for another fingerprint, with invalid_payload_framing for
// anything else that is not exactly one value.
Result<Value> decode_avro(std::string_view bytes);

// Accepts what decode_avro accepts, and allocates nothing while doing so: every inbound payload
// passes here, since a bad one that got in would fail each later replay.
Result<void> check_avro(std::string_view bytes);

// What kind of value it is that check_avro accepted.
Value::Kind kind_of_avro(std::string_view accepted);

}  // namespace dw
