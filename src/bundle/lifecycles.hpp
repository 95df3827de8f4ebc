// What was asked of a run and what became of it: commands, and the longer lives of signals and
// updates. From its events; what was refused without an event is told by the intake.
#pragma once
#include "history/events.hpp"
#include "views/account.hpp"
#include "views/task_rows.hpp"

namespace dw::bundle {

// A command that left no event, as the intake keeps it: the JSON of a CommandRecorded.
struct Refusal {
  Timestamp recorded_at;
  std::string record;
};

struct Lifecycles {
  Value::Array commands;        // by command sequence
  Value::Array signals;         // likewise
  Value::Array updates;         // likewise
  Value::Array linked_intakes;  // commands that one request made together
};

// `tasks` tell which of them is on its way to the code. Fails with invalid_argument when a refusal
// is not what the intake writes.
Result<Lifecycles> lifecycles_of(const views::Account& account,
                                 std::span<const history::Event> events,
                                 std::span<const Refusal> refusals,
                                 std::span<const views::TaskRow> tasks);

// What a glance at a run shows: the newest commands and updates that its events tell, in the order
// of their command sequence, without payloads and without the tasks that bring them to the code.
struct Glance {
  Value::Array commands;
  Value::Array updates;
};
Glance glance_at(const views::Account& account, std::span<const history::Event> events,
                 std::size_t most);

// A payload as exports show it: the text itself for JSON, base64 for everything else, and for one
// in external storage the envelope that says where.
Value payload_text(const Payload& payload);

}  // namespace dw::bundle
