// How a command ends when it does not succeed: a number for scripts, words for people, and what the
// server said, if it said anything.
#pragma once
#include <dw/error.hpp>
#include <dw/value.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace dw::cli {

// Scripts branch on these numbers; they are those of the published command line.
enum class Exit : int {
  success = 0,
  failure = 1,        // ran, did not succeed
  invalid = 2,        // usage, or a request that the server finds wrong
  network = 3,        // nobody there, connection lost, TLS refused
  auth = 4,           // 401, 403
  not_found = 5,      // 404
  server = 6,         // 5xx, or an answer that is none
  timeout = 7,        // no answer in time, 408
  compatibility = 8,  // client and server do not speak the same protocol
};

struct Failure {
  Exit exit = Exit::failure;
  std::string message = {};
  std::optional<int> status = {};  // the HTTP status, when there was an answer
  Value response = {};             // its body, null when it was no JSON
  Value compatibility = {};        // what did not fit, for Exit::compatibility
  std::string request_id = {};     // as the server's log has it, when there was an answer
  Value::Map subject = {};         // workflow_id, run_id, …: what was found out on the way
};

// A value or the Failure that prevented it. Has what DW_TRY needs.
template <typename T>
class [[nodiscard]] Outcome {
 public:
  Outcome(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Outcome(Failure failure) : state_(std::in_place_index<1>, std::move(failure)) {}

  explicit operator bool() const { return state_.index() == 0; }
  T& operator*() & { return std::get<0>(state_); }
  const T& operator*() const& { return std::get<0>(state_); }
  T&& operator*() && { return std::get<0>(std::move(state_)); }
  T* operator->() { return &std::get<0>(state_); }
  const T* operator->() const { return &std::get<0>(state_); }
  const Failure& error() const& { return std::get<1>(state_); }
  Failure&& error() && { return std::get<1>(std::move(state_)); }

 private:
  std::variant<T, Failure> state_;
};

Failure invalid_input(std::string message);
Exit exit_of_status(int status);
// An answer with a status of 300 or above.
Failure failure_of_reply(int status, std::string_view body);
// No answer at all.
Failure failure_of_error(const Error& error);

// Where an error belongs: the command, and what it was about.
struct FailureContext {
  std::string command;
  std::string ns = {};      // empty for commands that belong to no namespace
  std::string server = {};  // as given with --server, without a password; empty when it was not
  std::string env = {};     // as given with --env
  Value::Map subject = {};  // workflow_id, run_id, signal_name, request_id, …
};

// The one document that machine modes print.
Value failure_document(const Failure& failure, const FailureContext& context);
// The lines that people get; `hints` adds what to try next.
std::string failure_text(const Failure& failure, const FailureContext& context, bool hints);

}  // namespace dw::cli
