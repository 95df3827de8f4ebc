// The stored form of events: one commit is one JSON array of facts, in the order they happened.
// Position, time and id come from the commit that carries them and are not repeated inside.
#pragma once
#include "history/events.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dw::history {

// Appends `[{"type":"TimerFired",…},…]` to `out`. Asserts the payload contract of every event:
// what is appended can be read back, on any machine, for as long as the run lives.
void append_events(std::string& out, std::span<const EventBody> events);
void append_events(std::string& out, std::span<const Event> events);

// Reads one commit's array. Fails with corrupt_history on an unknown type, a missing key, a key
// outside the contract or a value of the wrong kind: folding on would hide damage.
Result<std::vector<EventBody>> parse_events(std::string_view json);

// The keys an event of that type may hold in its stored form, in order. For docs and tests.
struct ContractKey {
  std::string name;
  bool required;
};
std::vector<ContractKey> stored_contract(std::string_view type);
std::vector<std::string_view> all_types();

}  // namespace dw::history
