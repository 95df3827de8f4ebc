// What must hold, whatever went wrong. The checker reads the disk, never the engine's memory: what
// the engine believes is not evidence.
#pragma once
#include "core/clock.hpp"
#include "dispatch/hosts.hpp"
#include "dispatch/requests.hpp"
#include "sim/trace.hpp"
#include "store/store.hpp"

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

namespace dw::sim {

class Checker {
 public:
  Checker(store::Store& disk, Trace& trace, std::int64_t max_lost_attempts)
      : disk_(disk), trace_(trace), max_lost_attempts_(max_lost_attempts) {}

  // The first thing found broken; a world stops there.
  const std::optional<std::string>& broken() const { return broken_; }
  void break_off(std::string what);

  // ---- what became durable

  // Called after every commit on the disk, with what the disk answered.
  void committed(std::span<const store::Transition> batch,
                 std::span<const store::CommitOutcome> outcomes, std::string_view by);
  // The disk has lost this row. Whatever stood on it must come back, or no longer be needed.
  void lost(const engine::Task& task);
  // Reads everything anew and compares it with what was seen before: after a crash, and at the end.
  void verify_everything();

  // ---- what was promised

  void started(const store::InstanceKey& instance, const dispatch::StartReply& reply);
  void reserved(const store::InstanceKey& instance, const std::string& workflow_type);
  void command_answered(const store::InstanceKey& instance, const engine::CommandOutcome& outcome);
  void signal_answered(const store::InstanceKey& instance, const engine::CommandOutcome& outcome,
                       const std::string& text);
  void update_answered(const store::InstanceKey& instance, const dispatch::UpdateReply& reply,
                       const std::string& text);
  void told_closed(const RunId& run, const dispatch::ClosedRun& closed);

  // Whoever said this was told that nothing came of it.
  void unsaid(const std::string& text) {
    expect(text.empty() || !said_.contains(text), "'{}' was refused and is durable", text);
  }

  // ---- what workers do

  void launched(const dispatch::ActivityWork& work);
  // An attempt is about to report.
  void produced(const engine::ActivityOutcome& outcome);

  // ---- what clients asked for, so that a close can be told from an accident

  void may_be_closed(const InstanceId& instance) { closable_.insert(instance); }

  // ---- refusals: was there a moment since the question at which nothing of the instance ran?

  struct Presence {
    bool active = false;
    std::size_t ends = 0;  // runs of it that nothing followed
  };
  Presence presence(const store::InstanceKey& instance) const;
  void called_inactive(const store::InstanceKey& instance, const Presence& asked_at);

  // ---- queries: where the instance stands, and whether that is an answer to be had since

  using Standing = std::map<RunId, std::size_t>;  // commits of each of its runs
  Standing standing(const store::InstanceKey& instance) const;
  void query_answered(const store::InstanceKey& instance, const Standing& asked_at,
                      const Payload& answer);

  // Called when a run's workflow task is left blocked.
  std::function<void(const store::InstanceKey&)> on_blocked;

  // ---- for whoever needs to know where the disk stands

  struct Run {
    store::RunRow row;
    history::RunState state;
    std::vector<store::StoredCommit> commits;
    std::vector<history::Event> events;
    std::map<engine::TaskKey, engine::Task> tasks;
    std::set<engine::TaskKey> lost_tasks;
    std::set<CommandId> commands;
    struct Activity {
      std::string type;
      Payload arguments;
      AttemptId holder;  // the last attempt that was started
      std::int64_t starts = 0;
      std::int64_t failures = 0;
      bool ended = false;
    };
    std::map<ActivityId, Activity> activities;
    std::set<TimerId> ended_timers;
    std::set<WaitId> ended_waits;
    std::set<ChildCallId> ended_children;
    std::set<FailureId> of_barriers;   // failures that need not be thrown into anybody
    std::vector<std::string> carried;  // signals and updates it left to the next run, when it did
    std::size_t spoken = 0;            // to other runs, in the commit that closed it
    std::int64_t steps = 0;
  };
  struct Counters {
    std::uint64_t signals = 0, updates = 0, children = 0, continued = 0, run_again = 0;
  };
  const Counters& counters() const { return counters_; }
  // The instance's current run, null when it has none.
  const Run* current(const store::InstanceKey& instance) const;
  const Run* find(const RunId& run) const;
  const std::map<RunId, Run>& runs() const { return runs_; }
  std::size_t open_runs() const { return open_; }
  std::string describe_open() const;

 private:
  template <typename... Args>
  void expect(bool holds, fmt::format_string<Args...> format, Args&&... args) {
    if (!holds) break_off(fmt::format(format, std::forward<Args>(args)...));
  }
  void read_on(const RunId& id);
  void note(Run& run, const history::Event& event);
  void note_timeout(const Run& run, const ActivityId& id, std::string_view kind, Timestamp at);
  void note_child_end(Run& run, const history::Event& event, const ChildCallId& call,
                      const RunId& child, std::string_view reason);
  void check_fresh(const Run& run);
  void check_tasks(const Run& run);
  void check_lease(const Run& run, const engine::TaskChange& change, Timestamp at);
  void check_row(const Run& run);
  void check_closed(const Run& run);
  bool in_intake(const store::InstanceKey& instance, const CommandId& command);

  store::Store& disk_;
  Trace& trace_;
  const std::int64_t max_lost_attempts_;
  std::optional<std::string> broken_;
  std::map<RunId, Run> runs_;
  std::map<store::InstanceKey, std::vector<RunId>> instances_;  // in order
  std::vector<RunId> fresh_, ended_;                            // of the commit being read
  std::size_t open_ = 0;
  std::size_t commits_ = 0;
  std::set<InstanceId> closable_;

  struct Answered {
    store::InstanceKey instance;
    RunId run;  // empty: answered from the intake
    CommandId command;
  };
  std::vector<Answered> answered_;
  struct Said {
    std::set<SignalId> signals;  // that carried this text: one, or somebody was heard twice
    std::set<UpdateId> updates;
  };
  std::map<std::string, Said> said_;
  std::set<SignalId> applied_signals_;
  std::set<UpdateId> applied_updates_;
  std::map<UpdateId, std::optional<Payload>> completed_updates_;
  std::set<std::string> acknowledged_;  // texts
  Counters counters_;
  std::map<store::InstanceKey, std::string> reservations_;
  std::map<RunId, dispatch::ClosedRun> closed_;
  std::unordered_map<AttemptId, std::variant<Payload, history::Failure>> produced_;
  std::unordered_map<AttemptId, int> launched_;
};

// The line a person recognises: the instance, not the run's ULID.
std::string_view name_of(const Checker::Run& run);

}  // namespace dw::sim
