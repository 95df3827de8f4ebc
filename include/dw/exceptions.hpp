// What dw throws, and what activity code may throw at dw.
#pragma once
#include <dw/error.hpp>

#include <stdexcept>
#include <string>
#include <utility>

namespace dw {

// The engine could not do what was asked; nothing changed. code() is stable, what() is for people.
class EngineError : public std::runtime_error {
 public:
  explicit EngineError(Error error)
      : std::runtime_error(std::string{to_string(error.code)} + ": " + error.message),
        code_(error.code) {}
  ErrorCode code() const { return code_; }

 private:
  ErrorCode code_;
};

// A mistake in how the program uses dw: two keys for one workflow, a step outside a workflow.
// Found at start-up where possible, and never recorded as a workflow's failure.
class UsageError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

// Thrown into workflow code when an activity has failed for good: its retries are used up, it must
// not be retried, or it was lost too often. Catch it to compensate.
class ActivityError : public std::exception {
 public:
  ActivityError(std::string activity_type, std::string exception_class, std::string exception_type,
                std::string message)
      : activity_type_(std::move(activity_type)),
        exception_class_(std::move(exception_class)),
        exception_type_(std::move(exception_type)),
        message_(std::move(message)),
        what_("activity '" + activity_type_ + "' failed: " + message_) {}

  const char* what() const noexcept override { return what_.c_str(); }
  const std::string& activity_type() const { return activity_type_; }
  const std::string& exception_class() const { return exception_class_; }  // "std::runtime_error"
  const std::string& exception_type() const { return exception_type_; }    // "timeout" for timeouts
  const std::string& message() const { return message_; }

 private:
  std::string activity_type_, exception_class_, exception_type_, message_, what_;
};

// Thrown by activity code to say: trying again will not help.
class NonRetryableError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Thrown by Handle::result() when the run ended without a result.
class WorkflowError : public std::runtime_error {
 public:
  WorkflowError(std::string instance_id, std::string closed_reason, std::string exception_class,
                std::string message)
      : std::runtime_error("workflow '" + instance_id + "' " + closed_reason +
                           (message.empty() ? "" : ": " + message)),
        closed_reason_(std::move(closed_reason)),
        exception_class_(std::move(exception_class)),
        message_(std::move(message)) {}
  const std::string& closed_reason() const { return closed_reason_; }  // failed, timed_out, …
  const std::string& exception_class() const { return exception_class_; }
  const std::string& message() const { return message_; }

 private:
  std::string closed_reason_, exception_class_, message_;
};

}  // namespace dw
