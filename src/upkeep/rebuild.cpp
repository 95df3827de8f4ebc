#include "upkeep/rebuild.hpp"

#include "engine/expected_tasks.hpp"
#include "engine/unheard.hpp"
#include "store/derived.hpp"
#include "upkeep/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace dw::upkeep {
namespace {

using engine::runs_code;
using engine::Task;
using engine::TaskType;
using store::InstanceKey;
using store::InstanceRow;
using store::RunRow;
using store::Transition;

// Heartbeats move the watch on an activity's deadlines: any row that watches them will do.
bool stands_for(const Task& row, const Task& expected) {
  if (row.key == expected.key) return true;
  return row.type == TaskType::timer && expected.subject.starts_with("timeout:") &&
         row.subject == expected.subject;
}

bool has_history_for(const RunRow& row, const RunRow& derived) {
  RunRow same = derived;
  same.version = row.version;  // a name for what was read, not something history says
  return row == same;
}

// The current run of an instance, as its runs tell it: of those that did not go on as another the
// latest.
struct Standing {
  RunId run_id;
  std::string workflow_type;
  CommitId opened_by;
  std::int64_t run_number = 0;
  Timestamp started_at;
  bool newer_than(const Standing& other) const {
    return std::tie(run_number, started_at, run_id) >
           std::tie(other.run_number, other.started_at, other.run_id);
  }
};

class RebuildPass {
 public:
  RebuildPass(const Tools& tools, const RebuildScope& scope)
      : tools_(tools),
        scope_(scope),
        names_(tools.random, tools.now),
        words_(tools.store, names_) {}

  Result<RebuildReport> run() {
    DW_TRY_VOID(gather_tasks());
    DW_TRY_VOID(rebuild_runs());
    for (const RunId& run : closed_relatives_) {
      if (auto said = speak_for(run); !said) fail(run.str(), said.error().message);
    }
    if (scope_.run_ids.empty()) DW_TRY_VOID(rebuild_instances());
    if (scope_.prune_stale) DW_TRY_VOID(prune_stale());
    return std::move(report_);
  }

 private:
  // ---- what is there

  Result<void> gather_tasks() {
    std::optional<engine::TaskKey> after;
    for (;;) {
      auto tasks = DW_TRY(tools_.store.due_tasks(after, Timestamp::max(), rows_at_once));
      const bool last = tasks.size() < rows_at_once;
      if (!last) after = tasks.back().key;
      for (Task& task : tasks) {
        if (task.type == TaskType::intent) intents_.push_back(task);
        tasks_[task.run_id].push_back(std::move(task));
      }
      if (last) return {};
    }
  }

  bool wanted(const history::WorkflowStarted& start) const {
    return (!scope_.ns || *scope_.ns == start.ns) &&
           (!scope_.instance_id || *scope_.instance_id == start.instance_id);
  }

  template <typename F>
  Result<void> for_each_history(const F& visit) {
    if (!scope_.run_ids.empty()) {
      for (const RunId& run : scope_.run_ids) DW_TRY_VOID(visit(run));
      return {};
    }
    std::optional<RunId> after;
    for (;;) {
      const auto runs = DW_TRY(tools_.store.runs_with_history(after, rows_at_once));
      for (const RunId& run : runs) DW_TRY_VOID(visit(run));
      if (runs.size() < rows_at_once) return {};
      after = runs.back();
    }
  }

  // ---- runs and their tasks

  Result<void> rebuild_runs() {
    return for_each_history([&](const RunId& run) -> Result<void> {
      auto told = told_run(tools_.store, run);
      if (!told) {
        fail(run.str(), told.error().message);
      } else if (*told) {
        words_.note(run, (*told)->run.state);
        if (wanted((*told)->run.state.start)) return rebuild_run(**std::move(told));
      } else {
        fail(run.str(), "there is no history of this run");
      }
      return {};
    });
  }

  Result<void> rebuild_run(ToldRun told) {
    engine::Run& run = told.run;
    const auto row = DW_TRY(tools_.store.find_run(run.id));
    if (row) run.answered = row->answered;  // what workers were told is in no event
    DW_TRY_VOID(count_refused_commands(run));
    remember(told);
    name_workflow_task(told, row);
    const auto expected = engine::expected_tasks(run);

    Transition transition = begin();
    transition.reads.push_back({run.id, row ? row->version : CommitId{}});
    const auto derived = store::row_of(run, told.history_bytes, {});
    if (!row || !has_history_for(*row, derived)) transition.runs.push_back(derived);
    const auto& there = tasks_[run.id];
    for (const Task& task : expected) {
      const auto same = [&](const Task& found) { return stands_for(found, task); };
      if (std::ranges::none_of(there, same)) transition.tasks.push_back(engine::put(task));
    }
    if (scope_.missing && row) return {};
    const bool as_it_should_be = transition.runs.empty() && transition.tasks.empty();
    if (scope_.needs_rebuild && as_it_should_be) return {};
    ++report_.runs_matched;
    if (!as_it_should_be) {
      const Tally runs{std::ssize(transition.runs), 0};
      const Tally tasks{std::ssize(transition.tasks), 0};
      write(run.id.str(), std::move(transition), [&] {
        report_.runs.rebuilt += runs.rebuilt;
        report_.tasks.rebuilt += tasks.rebuilt;
      });
    }
    const auto& lineage = run.state.start.lineage;
    if (!run.state.open() &&
        ((lineage && !lineage->call_id.empty()) || !run.state.children.empty())) {
      closed_relatives_.push_back(run.id);
    }
    return {};
  }

  // Refused commands took numbers, too; they are in the intake.
  Result<void> count_refused_commands(engine::Run& run) {
    const auto& start = run.state.start;
    for (const auto& refused : DW_TRY(tools_.store.load_intake({start.ns, start.instance_id}))) {
      if (refused.run_id != run.id) continue;
      const auto record = parse_json(refused.record);
      const Value* number = record ? record->find("command_sequence") : nullptr;
      if (const auto* sequence = number ? number->if_integer() : nullptr) {
        run.state.last_command_sequence = std::max(run.state.last_command_sequence, *sequence);
      }
    }
    return {};
  }

  // The row remembers what the task is called. Without it the code is asked once more, if there is
  // anything it may not have seen.
  void name_workflow_task(ToldRun& told, const std::optional<RunRow>& row) {
    engine::Run& run = told.run;
    if (!run.state.open()) return;
    if (row && row->workflow_task) {
      run.workflow_task = row->workflow_task;
      return;
    }
    const auto& there = tasks_[run.id];
    const auto named = std::ranges::find_if(there, runs_code);
    if (named != there.end()) {
      run.workflow_task = named->key;
      return;
    }
    const auto since = engine::unseen_since(told.events);
    if (engine::wants_workflow_task(run.state) || (!row && since)) {
      run.workflow_task =
          engine::workflow_task_key(run, since.value_or(run.state.last_recorded_at));
    }
  }

  void remember(const ToldRun& told) {
    const auto& state = told.run.state;
    Standing standing{told.run.id, state.start.workflow_type, told.opened_by,
                      state.start.run_number, state.started_at};
    const InstanceKey key{state.start.ns, state.start.instance_id};
    if (!state.followed_by.empty()) return;
    const auto [known, first] = standings_.try_emplace(key, standing);
    if (!first && standing.newer_than(known->second)) known->second = std::move(standing);
  }

  // ---- what runs still have to say to each other

  Result<void> speak_for(const RunId& run) {
    for (Task& word : DW_TRY(words_.of(run))) DW_TRY_VOID(say(run, std::move(word)));
    return {};
  }

  Result<void> say(const RunId& from, Task word) {
    const auto same = [&](const Task& intent) { return engine::say_the_same(intent, word); };
    if (std::ranges::any_of(intents_, same)) return {};
    Transition transition = begin();
    for (const RunId& run : {from, word.run_id}) {
      const auto row = DW_TRY(tools_.store.find_run(run));
      transition.reads.push_back({run, row ? row->version : CommitId{}});
    }
    transition.tasks.push_back(engine::put(std::move(word)));
    write(from.str(), std::move(transition), [&] { ++report_.tasks.rebuilt; });
    return {};
  }

  // ---- instances

  Result<void> rebuild_instances() {
    for (const auto& [key, standing] : standings_) {
      const auto row = DW_TRY(tools_.store.find_instance(key));
      // Whoever continues the run goes by the commit that opened it.
      const InstanceRow derived{key, standing.workflow_type, standing.run_id, standing.opened_by};
      if (row && *row == derived) continue;
      DW_TRY_VOID(put_instance(derived, row, standing.opened_by));
    }
    return rebuild_reservations();
  }

  // Reserved and not started, or started and pruned since.
  Result<void> rebuild_reservations() {
    std::optional<InstanceKey> after;
    for (;;) {
      const auto keys = DW_TRY(tools_.store.instances_with_intake(after, rows_at_once));
      for (const InstanceKey& key : keys) {
        if (standings_.contains(key) || (scope_.ns && *scope_.ns != key.ns) ||
            (scope_.instance_id && *scope_.instance_id != key.id)) {
          continue;
        }
        if (DW_TRY(tools_.store.find_instance(key))) continue;
        DW_TRY_VOID(reserve_again(key));
      }
      if (keys.size() < rows_at_once) return {};
      after = keys.back();
    }
  }

  Result<void> reserve_again(const InstanceKey& key) {
    for (const auto& entry : DW_TRY(tools_.store.load_intake(key))) {
      const auto record = parse_json(entry.record);
      const Value* type = record ? record->find("type") : nullptr;
      const Value* workflow = record ? record->find("workflow_type") : nullptr;
      const auto* said = type ? type->if_string() : nullptr;
      const auto* workflow_type = workflow ? workflow->if_string() : nullptr;
      if (!said || *said != "InstanceReserved" || !workflow_type) continue;
      return put_instance({key, *workflow_type, std::nullopt, {}}, std::nullopt,
                          CommitId{names_.ulid()});
    }
    return {};
  }

  Result<void> put_instance(InstanceRow derived, const std::optional<InstanceRow>& found,
                            CommitId version) {
    Transition transition = begin();
    transition.id = std::move(version);
    transition.reads.push_back({derived.key, found ? found->version : CommitId{}});
    const std::string id = derived.key.id.str();
    transition.instances.push_back(std::move(derived));
    write(id, std::move(transition), [&] { ++report_.instances.rebuilt; });
    return {};
  }

  // ---- rows that no history asks for

  Result<void> prune_stale() {
    std::set<RunId> gone;  // runs without a history
    std::optional<RunId> before;
    for (;;) {
      const auto rows = DW_TRY(tools_.store.list_runs({.before = before, .limit = rows_at_once}));
      for (const RunRow& row : rows) {
        if (!in_scope(row.run_id, row.instance_id)) continue;
        if (!DW_TRY(tools_.store.load_history(row.run_id)).empty()) continue;
        gone.insert(row.run_id);
        prune_row(row);
      }
      if (rows.size() < rows_at_once) break;
      before = rows.back().run_id;
    }
    for (const auto& [run, tasks] : tasks_) {
      if (tasks.empty() || gone.contains(run) || !in_scope(run, tasks.front().instance_id))
        continue;
      DW_TRY_VOID(prune_tasks(run, tasks));
    }
    return {};
  }

  bool in_scope(const RunId& run, const InstanceId& instance) const {
    return (scope_.run_ids.empty() || std::ranges::count(scope_.run_ids, run) > 0) &&
           (!scope_.instance_id || *scope_.instance_id == instance);
  }

  void prune_row(const RunRow& row) {
    Transition transition = begin();
    transition.reads.push_back({row.run_id, row.version});
    transition.prunes.push_back({row.run_id, {row.ns, row.instance_id}});
    for (const Task& task : tasks_[row.run_id]) {
      transition.tasks.push_back(engine::remove(task.key));
    }
    const auto tasks = std::ssize(transition.tasks);
    write(row.run_id.str(), std::move(transition), [&] {
      ++report_.runs.pruned;
      report_.tasks.pruned += tasks;
    });
  }

  Result<void> prune_tasks(const RunId& id, std::span<const Task> tasks) {
    auto told = told_run(tools_.store, id);
    if (!told) return {};  // among the failures already
    const auto row = DW_TRY(tools_.store.find_run(id));
    std::vector<Task> expected;
    if (*told) {
      name_workflow_task(**told, row);
      expected = engine::expected_tasks((*told)->run);
    }
    Transition transition = begin();
    transition.reads.push_back({id, row ? row->version : CommitId{}});
    for (const Task& task : tasks) {
      const auto same = [&](const Task& wanted) { return stands_for(task, wanted); };
      const bool heard = *told && task.type == TaskType::intent;
      if (heard || std::ranges::any_of(expected, same)) continue;
      transition.tasks.push_back(engine::remove(task.key));
    }
    if (transition.tasks.empty()) return {};
    const auto removed = std::ssize(transition.tasks);
    write(id.str(), std::move(transition), [&] { report_.tasks.pruned += removed; });
    return {};
  }

  // ---- writing

  Transition begin() {
    Transition transition;
    transition.id = CommitId{names_.ulid()};
    transition.recorded_at = tools_.now;
    return transition;
  }

  template <typename F>
  void write(const std::string& id, Transition transition, const F& count) {
    if (scope_.dry_run) return count();
    const auto outcome = tools_.commit(std::move(transition));
    if (std::holds_alternative<store::Won>(outcome)) return count();
    const auto* failed = std::get_if<store::Failed>(&outcome);
    fail(id, failed ? failed->error.message : "it was changed meanwhile; try again");
  }

  void fail(std::string id, std::string message) {
    report_.failures.push_back({std::move(id), std::move(message)});
  }

  const Tools& tools_;
  const RebuildScope& scope_;
  Names names_;
  Words words_;
  RebuildReport report_;
  std::map<RunId, std::vector<Task>> tasks_;
  std::vector<Task> intents_;
  std::map<InstanceKey, Standing> standings_;
  std::vector<RunId> closed_relatives_;
};

}  // namespace

Result<RebuildReport> rebuild(const Tools& tools, const RebuildScope& scope) {
  return RebuildPass{tools, scope}.run();
}

}  // namespace dw::upkeep
