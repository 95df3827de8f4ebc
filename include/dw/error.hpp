// What went wrong in the world, as a value: a stable code for programs, a sentence for people.
// The sentence says what was attempted, on which id, and what to try.
#pragma once
#include <string>
#include <string_view>
#include <utility>

namespace dw {

enum class ErrorCode {
  invalid_argument,            // the caller's input cannot be accepted; nothing changed
  not_found,                   // no such instance, run or type in this namespace
  conflict,                    // the instance id is taken, by another type or an open run
  unavailable,                 // the store did not answer; trying again later may work
  overloaded,                  // refused before anything was decided; slow down and retry
  store_locked,                // another process owns the store
  store_corrupt,               // the file is not a dw store, or it is damaged
  store_too_new,               // written by a newer dw than this one
  store_full,                  // the disk or quota is full; nothing was half-written
  corrupt_history,             // recorded events that no decision could have produced
  invalid_payload_framing,     // bytes that are not a payload of their codec
  unsupported_payload_schema,  // an Avro payload of another schema
  unsupported_payload_codec,   // a codec this build does not know
  conversion_failed,           // a payload that does not fit the C++ type asked for
  integer_overflow,            // a number outside the range of the target
  non_finite_float,            // NaN and infinities have no durable form
  unknown_query,               // the workflow declares no query of that name
  code_unavailable,            // nobody here has the workflow's code
  query_failed,                // the workflow's own query threw
  replay_blocked,              // code and history do not fit; the message says where
  timed_out,                   // waiting ended before the thing waited for happened
  shutting_down,               // the engine is stopping; the work itself is durable
  internal,                    // a bug of ours, caught before it could do harm
};

// The stable, machine-readable spelling: "store_locked".
std::string_view to_string(ErrorCode code);

struct Error {
  ErrorCode code = ErrorCode::internal;
  std::string message;

  friend bool operator==(const Error&, const Error&) = default;
};

}  // namespace dw
