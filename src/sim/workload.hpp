// The workflows of the simulated world, each written once and read twice: as durable code that the
// engine runs, and as plain code that tells what must come out of it whatever went wrong.
#pragma once
#include "core/random.hpp"
#include "history/events.hpp"
#include "sim/ops.hpp"

#include <dw/registry.hpp>

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dw::sim {

// How often an activity was asked to do its work, by its idempotency key. It stands for the world
// outside: a crash of the engine does not reset it.
using Invocations = std::map<std::string, int, std::less<>>;

// `complete` leaves nothing out. Otherwise some types are missing, as in a deploy gone wrong.
Registry build_registry(Invocations& invocations, bool complete);

// What one client wants.
struct Order {
  std::string workflow_type;
  Numbers numbers;
  std::optional<std::int64_t> run_timeout;        // seconds
  std::optional<std::int64_t> execution_timeout;  // seconds
  bool hears = false;                             // somebody should talk to it until it ends
  bool takes_updates = false;                     // likewise, and ask it things
};
Order draw_order(Random& random);

// May failures be injected? Only where the workflow retries for ever, so that its answer stays the
// same.
bool retried_for_ever(std::string_view activity_type);
// What attempts of this activity are to do, as its arguments ask.
struct Duty {
  std::int64_t to_lose = 0;  // that many are lost
  std::int64_t to_drag = 0;  // that many take far too long
  bool beats = false;        // and give signs of life meanwhile
};
Duty duty_of(std::string_view activity_type, const Payload& arguments);

// How other runs began, for who speaks of them.
using FindStart = std::function<const history::WorkflowStarted*(const RunId&)>;

// Compares a closed run with what plain code answers, given what only history can know: side
// effects, the times, which activities were lost too often, what others said. Says what differs, if
// anything does.
std::optional<std::string> compare_with_model(std::span<const history::Event> events,
                                              const FindStart& find_start);
// What a query would have answered at the end of these events.
std::string look_at_model(std::span<const history::Event> events, const FindStart& find_start);

}  // namespace dw::sim
