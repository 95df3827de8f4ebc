// What a workflow of the simulated world may do. The workflows are written against this, so that
// the engine can run them as durable code and the model can read them as plain code.
#pragma once
#include <dw/workflow.hpp>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dw::sim {

using Numbers = std::vector<std::int64_t>;  // what every workflow here takes

// What activities answer, and how workflows stir what they have seen into one word.
std::string digest(std::int64_t number, std::string_view text);

// The state of the one workflow that others may ask and change.
struct Account {
  std::int64_t balance = 0;
  std::string log;

  // Changes half of it before it refuses: nothing of that may be seen again.
  std::int64_t add(std::int64_t amount, const std::string& text);
  std::string look() const;
};

inline const Signal<std::string> word{"word", {"text"}};

// A call of a barrier, or a barrier within it.
struct Member {
  std::string_view type;
  std::int64_t number = 0;  // of an activity
  std::string text = {};    // likewise
  ActivityOptions options = {};
  std::optional<Numbers> child = {};  // of a child: what it takes
  ParentClose policy = ParentClose::abandon;
  int attempts = 1;  // of a child that may fail
  std::optional<std::chrono::seconds> run_timeout = {};
  std::vector<Member> members = {};  // of a barrier; it has no type

  bool barrier() const { return type.empty(); }
};

class Ops {
 public:
  virtual ~Ops() = default;
  virtual std::string call(std::string_view activity, const ActivityOptions& options,
                           std::int64_t number, const std::string& text) = 0;
  virtual std::string call_here(std::string_view activity, const LocalActivityOptions& options,
                                std::int64_t number, const std::string& text) = 0;
  virtual void sleep(std::chrono::seconds delay) = 0;
  virtual std::string roll() = 0;  // a side effect that never gives the same answer twice
  virtual std::string now() = 0;
  // A child, given as a member of a barrier that has no others.
  virtual std::string child(const Member& member) = 0;
  virtual std::vector<std::string> all(const std::vector<Member>& members) = 0;
  virtual std::string hear() = 0;
  virtual std::optional<std::string> hear(std::chrono::seconds timeout) = 0;
  virtual bool until(const std::function<bool()>& holds, const std::string& key,
                     std::optional<std::chrono::seconds> timeout) = 0;
  virtual int version(std::string_view change) = 0;
  virtual void remember(const std::string& text) = 0;  // in the memo
  // A signal to every child that was ever started; those that have ended do not hear it.
  virtual void whisper(const std::string& text) = 0;
  [[noreturn]] virtual void again(const Numbers& numbers) = 0;

  std::string call(std::string_view activity, std::int64_t number, const std::string& text) {
    return call(activity, {}, number, text);
  }

  Account account;
};

using Body = std::string (*)(Ops&, const Numbers&);
// Null when there is no such workflow.
Body find_body(std::string_view workflow_type);

// What plain code knows of the activities: the answer, or the message of the failure.
struct Expected {
  bool fails = false;
  std::string text;
};
Expected expected_of(std::string_view activity_type, std::int64_t number, const std::string& text);

}  // namespace dw::sim
