#include <dw/error.hpp>

namespace dw {

std::string_view to_string(ErrorCode code) {
  // No default: the compiler points here when a code is added.
  switch (code) {
    case ErrorCode::invalid_argument:
      return "invalid_argument";
    case ErrorCode::not_found:
      return "not_found";
    case ErrorCode::conflict:
      return "conflict";
    case ErrorCode::unavailable:
      return "unavailable";
    case ErrorCode::overloaded:
      return "overloaded";
    case ErrorCode::store_locked:
      return "store_locked";
    case ErrorCode::store_corrupt:
      return "store_corrupt";
    case ErrorCode::store_too_new:
      return "store_too_new";
    case ErrorCode::store_full:
      return "store_full";
    case ErrorCode::corrupt_history:
      return "corrupt_history";
    case ErrorCode::invalid_payload_framing:
      return "invalid_payload_framing";
    case ErrorCode::unsupported_payload_schema:
      return "unsupported_payload_schema";
    case ErrorCode::unsupported_payload_codec:
      return "unsupported_payload_codec";
    case ErrorCode::conversion_failed:
      return "conversion_failed";
    case ErrorCode::integer_overflow:
      return "integer_overflow";
    case ErrorCode::non_finite_float:
      return "non_finite_float";
    case ErrorCode::unknown_query:
      return "unknown_query";
    case ErrorCode::code_unavailable:
      return "code_unavailable";
    case ErrorCode::query_failed:
      return "query_failed";
    case ErrorCode::replay_blocked:
      return "replay_blocked";
    case ErrorCode::timed_out:
      return "timed_out";
    case ErrorCode::shutting_down:
      return "shutting_down";
    case ErrorCode::internal:
      return "internal";
  }
  return "internal";
}

}  // namespace dw
