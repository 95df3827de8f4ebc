// An activity without a workflow around it. A run of a reserved type hosts it: that run has no
// code, answers to nobody and never gets a workflow task. It opens with the activity scheduled and
// closes with what becomes of it; everything in between (attempts, retries, deadlines, heartbeats,
// cancellation, repair) is what it is for any other activity.
#pragma once
#include "engine/decide.hpp"

namespace dw::engine {

// The type of such runs. Nobody may register it, start it as a workflow or have it as a child.
inline constexpr std::string_view standalone_type = "dw.standalone_activity";

inline bool is_standalone(const history::RunState& state) {
  return state.start.workflow_type == standalone_type;
}

// Makes a run that is about to open a host: `started` answers to nothing, and the activity is the
// first thing the decision schedules.
void schedule_hosted(const HostedActivity& activity, history::WorkflowStarted started,
                     StartDecision& start, const Context& context);

// After a decision on an activity: if that ended the one a run hosts, the run ends with it. Any
// other run, and an activity that goes on or is retried, is left alone.
void close_host(const Run& run, Decision& decision, const Context& context);

}  // namespace dw::engine
