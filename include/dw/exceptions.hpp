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

// Says that the exception in hand is an activity's, failed for good: its retries are used up, it
// must not be retried, it took too long. What is thrown is also of the type the activity threw, if
// that is a standard exception or one the registry knows: catch either.
//
//   try { dw::activity(charge, order); }
//   catch (const CardDeclined& declined) { … }      // registered with registry.exception<…>()
//   catch (const dw::ActivityError& error) { … }    // whatever it was
class ActivityError {
 public:
  ActivityError(std::string activity_type, std::string exception_class, std::string exception_type,
                std::string message)
      : activity_type_(std::move(activity_type)),
        exception_class_(std::move(exception_class)),
        exception_type_(std::move(exception_type)),
        message_(std::move(message)),
        what_("activity '" + activity_type_ + "' failed: " + message_) {}
  virtual ~ActivityError() = default;

  const char* what() const noexcept { return what_.c_str(); }
  const std::string& activity_type() const { return activity_type_; }
  const std::string& exception_class() const { return exception_class_; }  // "std::runtime_error"
  const std::string& exception_type() const { return exception_type_; }    // "timeout" for timeouts
  const std::string& message() const { return message_; }

 private:
  std::string activity_type_, exception_class_, exception_type_, message_, what_;
};

// Likewise of a child workflow. One that was cancelled or terminated is no std::exception: a broad
// handler must not take an order to stop for an error.
class ChildError {
 public:
  ChildError(std::string workflow_type, std::string closed_reason, std::string exception_class,
             std::string exception_type, std::string message)
      : workflow_type_(std::move(workflow_type)),
        closed_reason_(std::move(closed_reason)),
        exception_class_(std::move(exception_class)),
        exception_type_(std::move(exception_type)),
        message_(std::move(message)),
        what_("child workflow '" + workflow_type_ + "' " + closed_reason_ + ": " + message_) {}
  virtual ~ChildError() = default;

  const char* what() const noexcept { return what_.c_str(); }
  const std::string& workflow_type() const { return workflow_type_; }
  const std::string& closed_reason() const { return closed_reason_; }  // failed, cancelled, …
  const std::string& exception_class() const { return exception_class_; }
  const std::string& exception_type() const { return exception_type_; }
  const std::string& message() const { return message_; }

 private:
  std::string workflow_type_, closed_reason_, exception_class_, exception_type_, message_, what_;
};

// A failure recorded by a worker in another language, of a type nobody registered here.
class RestoredWorkflowError {
 public:
  RestoredWorkflowError(std::string type, std::string message)
      : type_(std::move(type)), message_(std::move(message)) {}
  const std::string& type() const { return type_; }
  const std::string& message() const { return message_; }

 private:
  std::string type_, message_;
};

// Thrown when this code cannot follow the variant of itself that a run began with.
class VersionNotSupported : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
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

// Thrown by Handle::update() when the update was refused or its body failed.
class UpdateError : public std::runtime_error {
 public:
  UpdateError(const std::string& update, std::string reason, const std::string& message)
      : std::runtime_error("update '" + update + "' " + message), reason_(std::move(reason)) {}
  // unknown_update, invalid_update_arguments, run_not_active, …; update_failed when its body threw
  const std::string& reason() const { return reason_; }

 private:
  std::string reason_;
};

}  // namespace dw
