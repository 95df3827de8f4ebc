// Bringing back what the task table has lost: every open delivery follows from history, so one that
// is missing can be made again.
#pragma once
#include "engine/decide.hpp"

namespace dw::engine {

// What somebody found who looked at a run and its rows.
struct Inspection {
  std::string liveness_state;  // in the words of the views
  std::string wait_kind;       // likewise; empty: it waits for nothing
  std::vector<Task> rows;      // of those that expected_tasks() names, the ones that are there
};

struct Recovery {
  Decision decision;
  std::optional<Task> first;  // the first task that is brought back or run again
};
// A missing task gets its row back, due when it always was; code that should have run, and has no
// row to say so, is woken. An activity that is being worked on is left alone: a second delivery
// would run it twice. Once its lease has run out, as far as history knows, its rows come back as
// they were, and whoever still works on it sees that it is delivered to nobody else. A blocked
// workflow task is run again only when somebody asks for it by name.
enum class WhatIsBlocked { stays, runs_again };
Recovery recover(const Run& run, const Inspection& found, WhatIsBlocked blocked, Timestamp now);

CommandDecision decide_repair(const Run& run, const Inspection& found, const RepairCommand& command,
                              const Context& context);

}  // namespace dw::engine
