// Takes user data out of a bundle before it leaves the house. The engine knows where payloads and
// diagnostics are; what becomes of each is the redactor's to say.
#pragma once
#include <dw/ids.hpp>
#include <dw/value.hpp>

#include <functional>
#include <set>
#include <span>

namespace dw::bundle {

// A place that holds user data, and whose.
struct Slot {
  std::string path;           // "activities.0.arguments"
  std::string_view category;  // workflow_payload, history_event, command_payload, …
  InstanceId instance_id;
  RunId run_id;
  std::string workflow_type;
};

// Gives what stands in the slot from now on; the value itself to let it pass. May throw: then
// nothing is exported.
using Redactor = std::function<Value(const Value&, const Slot&)>;

struct Redaction {
  std::vector<std::string> paths;  // shown to the redactor, in the order of the bundle
  std::set<std::string> changed;   // those it did not let pass

  // Whether that place, or one it lies in, was changed.
  bool covers(std::string_view path) const;
};

// `whose` names the run. An event whose payload is changed loses its facts too, because they say
// the same. Fails with invalid_argument when the redactor throws.
Result<Redaction> redact(Value& bundle, const Redactor& redactor, Slot whose);

}  // namespace dw::bundle
