#include "upkeep/retention.hpp"

#include <algorithm>
#include <limits>
#include <map>

namespace dw::upkeep {
namespace {

using engine::Task;
using engine::TaskType;
using store::InstanceKey;
using store::RunRow;
using store::Transition;

class RetentionPass {
 public:
  RetentionPass(const Tools& tools, const RetentionScope& scope)
      : tools_(tools), scope_(scope), names_(tools.random, tools.now) {}

  Result<RetentionReport> run() {
    if (scope_.only_if_any && DW_TRY(expired_runs(tools_.store, scope_)).empty()) {
      return std::move(report_);
    }
    DW_TRY_VOID(gather_tasks());
    DW_TRY_VOID(remove_undeliverable());
    if (!scope_.run_ids.empty()) {
      DW_TRY_VOID(prune_named());
    } else {
      DW_TRY_VOID(prune_oldest());
    }
    return std::move(report_);
  }

 private:
  // A closed run has no open work, but others may have something to say to it. Whatever that is, it
  // is due since it was said.
  Result<void> gather_tasks() {
    std::optional<engine::TaskKey> after;
    for (;;) {
      auto tasks = DW_TRY(tools_.store.due_tasks(after, tools_.now, rows_at_once));
      const bool last = tasks.size() < rows_at_once;
      if (!last) after = tasks.back().key;
      for (Task& task : tasks) tasks_[task.run_id].push_back(std::move(task));
      if (last) return {};
    }
  }

  // What was said to a run that had gone by then: an abandoned child tells its parent of its end.
  Result<void> remove_undeliverable() {
    for (const auto& [run, tasks] : tasks_) {
      if (DW_TRY(tools_.store.find_run(run))) continue;
      if (!DW_TRY(tools_.store.load_history(run)).empty()) continue;
      Transition transition = begin();
      transition.reads.push_back({run, {}});
      for (const Task& task : tasks) transition.tasks.push_back(engine::remove(task.key));
      if (std::holds_alternative<store::Won>(tools_.commit(std::move(transition)))) {
        report_.undeliverable += std::ssize(tasks);
      }
    }
    return {};
  }

  Result<void> prune_named() {
    for (const RunId& id : scope_.run_ids) {
      if (enough()) break;
      const auto row = DW_TRY(tools_.store.find_run(id));
      if (!row) {
        note({id, "failed", "run_not_found"});
      } else if (!row->closed_at) {
        note({id, "skipped", "run_not_closed"});
      } else if (*row->closed_at >= scope_.before) {
        note({id, "skipped", "within_retention"});
      } else {
        look_at(*row);
      }
    }
    return {};
  }

  Result<void> prune_oldest() {
    store::ClosedFilter filter{.before = scope_.before, .ns = scope_.ns, .limit = rows_at_once};
    for (;;) {
      const auto rows = DW_TRY(tools_.store.closed_runs(filter));
      for (const RunRow& row : rows) {
        if (enough()) return {};
        look_at(row);
      }
      if (rows.size() < rows_at_once) return {};
      filter.after = rows.back().run_id;
    }
  }

  bool enough() const { return report_.pruned >= static_cast<std::int64_t>(scope_.limit); }

  void look_at(const RunRow& row) {
    auto kept = why_kept(row);
    if (!kept) {
      note({row.run_id, "failed", kept.error().message});
    } else if (!kept->empty()) {
      note({row.run_id, "skipped", *std::move(kept)});
    } else if (auto done = prune(row); !done) {
      note({row.run_id, "failed", done.error().message});
    }
  }

  // Who still needs it; empty: nobody.
  Result<std::string> why_kept(const RunRow& row) {
    const auto mail = tasks_.find(row.run_id);
    if (mail != tasks_.end() &&
        std::ranges::count(mail->second, TaskType::intent, &Task::type) > 0) {
      return std::string{"message_under_way"};
    }
    const auto told = DW_TRY(told_run(tools_.store, row.run_id));
    if (!told) return std::string{};  // a row without a history: nothing to lose
    const auto& state = told->run.state;
    if (state.open()) return std::string{"run_not_closed"};
    if (DW_TRY(parent_waits(row, state))) return std::string{"parent_has_not_heard"};
    const auto reached = [](const history::OpenChild& child) {
      return child.policy == history::ParentClosePolicy::abandon;
    };
    if (!std::ranges::all_of(state.children, reached)) return std::string{"children_not_reached"};
    if (state.continued() && DW_TRY(passes_words_on(row))) {
      return std::string{"children_were_taken_over"};
    }
    return std::string{DW_TRY(is_the_last_of_several(row)) ? "earlier_runs_remain" : ""};
  }

  // Its end would be told to the parent again from here, should the message be lost.
  Result<bool> parent_waits(const RunRow& row, const history::RunState& state) {
    const auto& lineage = state.start.lineage;
    if (!lineage || lineage->call_id.empty()) return false;
    const auto* parent = DW_TRY(end_of_line({row.ns, InstanceId{lineage->parent_instance_id}},
                                            RunId{lineage->parent_run_id}));
    if (!parent) return false;
    const auto entry =
        std::ranges::find(parent->children, ChildCallId{lineage->call_id}, &history::OpenChild::id);
    if (entry == parent->children.end()) return false;
    if (!state.followed_by.empty()) {
      // It waits for the child, and needs this run only as long as it knows of no later one.
      const auto* runs = DW_TRY(runs_of({row.ns, row.instance_id}));
      const auto known = std::ranges::find(*runs, entry->run_id, &RunRow::run_id);
      return known == runs->end() || known->run_number <= row.run_number;
    }
    return parent->open || entry->policy != history::ParentClosePolicy::abandon;
  }

  // A child that was taken over tells the run that called it, which passes the word on.
  Result<bool> passes_words_on(const RunRow& row) {
    const auto* last = DW_TRY(end_of_line({row.ns, row.instance_id}, row.run_id));
    const auto taken_over = [](const history::OpenChild& child) { return child.step == 0; };
    return last && std::ranges::any_of(last->children, taken_over);
  }

  // The instance points at its last run: that one goes last.
  Result<bool> is_the_last_of_several(const RunRow& row) {
    const auto* runs = DW_TRY(runs_of({row.ns, row.instance_id}));
    if (runs->size() < 2) return false;
    const auto instance = DW_TRY(tools_.store.find_instance({row.ns, row.instance_id}));
    return instance && instance->current_run == row.run_id;
  }

  // ---- runs of an instance, looked up once

  // In the order they came.
  Result<std::vector<RunRow>*> runs_of(const InstanceKey& key) {
    const auto known = runs_.find(key);
    if (known != runs_.end()) return &known->second;
    constexpr auto all = std::numeric_limits<std::size_t>::max();
    auto rows = DW_TRY(tools_.store.list_runs({.ns = key.ns, .instance_id = key.id, .limit = all}));
    std::ranges::sort(rows, {}, &RunRow::run_number);
    return &(runs_[key] = std::move(rows));
  }

  // Whom a run waits for, or has yet to reach.
  struct Standing {
    bool open = false;
    std::vector<history::OpenChild> children;
  };

  // Where the run stands that this one went on as, or itself; null: it is gone.
  Result<const Standing*> end_of_line(const InstanceKey& key, const RunId& run) {
    const auto* runs = DW_TRY(runs_of(key));
    auto last = std::ranges::find(*runs, run, &RunRow::run_id);
    while (last != runs->end() && last->closed_reason == "continued") ++last;
    if (last == runs->end()) return static_cast<const Standing*>(nullptr);
    const auto known = standings_.find(last->run_id);
    if (known != standings_.end()) return &known->second;
    Standing standing;
    if (auto told = DW_TRY(told_run(tools_.store, last->run_id))) {
      standing = {told->run.state.open(), std::move(told->run.state.children)};
    }
    return &(standings_[last->run_id] = std::move(standing));
  }

  Result<void> prune(const RunRow& row) {
    const InstanceKey key{row.ns, row.instance_id};
    Transition transition = begin();
    transition.reads.push_back({row.run_id, row.version});
    transition.prunes.push_back({row.run_id, key});
    if (const auto tasks = tasks_.find(row.run_id); tasks != tasks_.end()) {
      for (const Task& task : tasks->second) {
        transition.tasks.push_back(engine::remove(task.key));
      }
    }
    auto instance = DW_TRY(tools_.store.find_instance(key));
    if (instance && instance->current_run == row.run_id) {
      transition.reads.push_back({key, instance->version});
      instance->current_run.reset();
      transition.instances.push_back(*std::move(instance));
    }
    const auto tasks = std::ssize(transition.tasks);
    const auto outcome = tools_.commit(std::move(transition));
    if (const auto* failed = std::get_if<store::Failed>(&outcome)) return failed->error;
    if (std::holds_alternative<store::Lost>(outcome)) {
      note({row.run_id, "skipped", "changed_meanwhile"});
    } else {
      std::erase_if(*DW_TRY(runs_of(key)), [&](const RunRow& r) { return r.run_id == row.run_id; });
      note({row.run_id, "pruned", {}, row.last_sequence, tasks});
    }
    return {};
  }

  Transition begin() {
    Transition transition;
    transition.id = CommitId{names_.ulid()};
    transition.recorded_at = tools_.now;
    return transition;
  }

  void note(PrunedResult result) {
    if (result.outcome == "pruned") ++report_.pruned;
    if (result.outcome == "skipped") ++report_.skipped;
    if (result.outcome == "failed") ++report_.failed;
    report_.results.push_back(std::move(result));
  }

  const Tools& tools_;
  const RetentionScope& scope_;
  Names names_;
  RetentionReport report_;
  std::map<RunId, std::vector<Task>> tasks_;  // those that are due
  std::map<InstanceKey, std::vector<RunRow>> runs_;
  std::map<RunId, Standing> standings_;
};

}  // namespace

Result<RetentionReport> retention_pass(const Tools& tools, const RetentionScope& scope) {
  return RetentionPass{tools, scope}.run();
}

Result<std::vector<RunId>> expired_runs(store::Store& store, const RetentionScope& scope) {
  std::vector<RunId> ids;
  for (const RunRow& row :
       DW_TRY(store.closed_runs({.before = scope.before, .ns = scope.ns, .limit = scope.limit}))) {
    ids.push_back(row.run_id);
  }
  return ids;
}

}  // namespace dw::upkeep
