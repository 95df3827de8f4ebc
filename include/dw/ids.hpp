// Names of things, each a type of its own, so that a run id never stands where an instance id
// was meant. Instance (the public id) and run (one execution of it) are two words everywhere.
#pragma once
#include <dw/result.hpp>
#include <dw/short_text.hpp>

#include <compare>
#include <functional>
#include <string>
#include <string_view>

namespace dw {

template <typename Tag>
class StrongId {
 public:
  StrongId() = default;
  explicit StrongId(std::string_view text) : text_(text) {}

  std::string str() const { return std::string{text_.view()}; }
  std::string_view view() const { return text_.view(); }
  bool empty() const { return text_.empty(); }

  friend auto operator<=>(const StrongId&, const StrongId&) = default;
  friend bool operator==(const StrongId&, const StrongId&) = default;

 private:
  ShortText text_;
};

using InstanceId = StrongId<struct InstanceTag>;  // chosen by the caller, or a ULID
using RunId = StrongId<struct RunTag>;            // ULID: one execution of an instance
using CommitId = StrongId<struct CommitTag>;      // ULID: a run's version is its last commit
using CommandId = StrongId<struct CommandTag>;    // ULID: a request somebody made of us
using ActivityId = StrongId<struct ActivityTag>;  // ULID: an execution; its idempotency key
using AttemptId = StrongId<struct AttemptTag>;    // ULID: one try of an activity; the fence
using TimerId = StrongId<struct TimerTag>;        // ULID
using SignalId = StrongId<struct SignalTag>;      // ULID: one signal, from receipt to application
using UpdateId = StrongId<struct UpdateTag>;      // ULID: one update, from acceptance to its end
using WaitId = StrongId<struct WaitTag>;          // a condition or signal wait
using ChildCallId = StrongId<struct ChildTag>;    // ULID: one child call, whatever runs it takes
using FailureId = StrongId<struct FailureTag>;    // ULID
using TaskId = StrongId<struct TaskTag>;          // "{run_id}.{suffix}", never reused
using Namespace = StrongId<struct NamespaceTag>;  // lower case; empty means unset

// ULID: one schedule, from its creation on. Its id may be given to another once it is deleted.
using ScheduleUlid = StrongId<struct ScheduleTag>;

// Non-empty, URL-safe, at most 191 bytes: ^[A-Za-z0-9._:-]{1,191}$
Result<InstanceId> parse_instance_id(std::string_view text);

// Lower-cased first, then ^[a-z0-9._-]{0,128}$; empty stays unset.
Result<Namespace> parse_namespace(std::string_view text);

}  // namespace dw

template <typename Tag>
struct std::hash<dw::StrongId<Tag>> {
  std::size_t operator()(const dw::StrongId<Tag>& id) const noexcept {
    return std::hash<std::string_view>{}(id.view());
  }
};
