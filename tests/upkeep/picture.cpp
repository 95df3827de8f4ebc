#include "picture.hpp"

#include "bundle/export.hpp"
#include "engine/expected_tasks.hpp"
#include "engine/unheard.hpp"
#include "upkeep/told.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <stdexcept>

namespace dw::upkeep::test {
namespace {

using engine::Task;
using engine::TaskStatus;
using engine::TaskType;

// A range of its own, alive while it is walked.
template <typename T>
T got(Result<T> result) {
  return *std::move(result);
}

std::vector<Task> all_tasks(store::Store& store) {
  return store.due_tasks({}, Timestamp::max(), 1'000'000).value();
}

std::vector<RunId> all_runs(store::Store& store) {
  return store.runs_with_history({}, 1'000'000).value();
}

std::string text_of(const store::RunRow& row) {
  return fmt::format(
      "{} {} #{} {} {} {} last {} commands {} bytes {} started {} closed {} workflow task {}",
      row.ns.view(), row.instance_id.view(), row.run_number, row.workflow_type,
      history::to_string(row.status), row.closed_reason, row.last_sequence,
      row.last_command_sequence, row.history_bytes, format_timestamp(row.started_at),
      row.closed_at ? format_timestamp(*row.closed_at) : "never",
      row.workflow_task ? "there" : "none");
}

std::string text_of(const Task& task) {
  return fmt::format("{} {} {} {} {} {} {} {} {} {}\n", format_timestamp(task.key.available_at),
                     task.key.id.view(), to_string(task.type), to_string(task.status),
                     task.ns.view(), task.instance_id.view(), task.run_id.view(), task.queue,
                     task.subject, task.note);
}

// What operators see of a run: summary, waits, timeline, timers, lineage, tasks, activities, …
std::string bundle_of(store::Store& store, const store::RunRow& row, std::vector<Task> tasks,
                      Timestamp now) {
  bundle::Inputs inputs;
  inputs.run_id = row.run_id;
  for (const auto& stored : got(store.load_history(row.run_id))) {
    inputs.commits.push_back(
        bundle::parse_commit(stored.id, stored.first_sequence, stored.recorded_at, stored.events)
            .value());
  }
  inputs.sight.now = now;
  for (Task& task : tasks) inputs.sight.deliveries.push_back({std::move(task)});
  const store::InstanceKey key{row.ns, row.instance_id};
  const auto instance = store.find_instance(key).value();
  if (instance && instance->current_run) inputs.sight.current_run = *instance->current_run;
  for (auto& refused : got(store.load_intake(key))) {
    if (refused.run_id == row.run_id) {
      inputs.refusals.push_back({refused.recorded_at, std::move(refused.record)});
    }
  }
  return bundle::export_bundle(inputs).value();
}

// The run as the other store must have it, should its code be asked once more.
void ask_once_more(store::Store& store, store::RunRow& row, std::vector<Task>& tasks) {
  if (row.closed_at || row.workflow_task) return;
  auto told = *told_run(store, row.run_id).value();
  const auto since = engine::unseen_since(told.events);
  if (!since) return;
  row.workflow_task = told.run.workflow_task = engine::workflow_task_key(told.run, *since);
  for (Task& task : engine::expected_tasks(told.run)) {
    if (task.key == *row.workflow_task) tasks.push_back(std::move(task));
  }
}

void add_run(store::Store& store, store::RunRow row, std::vector<Task> tasks, Timestamp now,
             Unseen unseen, Picture& picture) {
  if (unseen == Unseen::asked_once_more) ask_once_more(store, row, tasks);
  const std::string named = row.workflow_task ? row.workflow_task->id.str() : "nothing";
  std::erase_if(tasks, [](const Task& task) { return task.type == TaskType::intent; });
  for (Task& task : tasks) {
    if (task.key.id.view() == named) {
      task.key = {row.started_at, TaskId{row.run_id.str() + ".workflow"}};
    }
    if (task.status != TaskStatus::leased) continue;
    task.lease_owner = "somebody";
    task.lease_expires_at = now + std::chrono::hours{1};
  }
  std::ranges::sort(tasks, {}, &Task::key);
  std::string list;
  for (const Task& task : tasks) list += text_of(task);
  const std::string id = row.run_id.str();
  picture["run " + id] = text_of(row);
  picture["tasks of " + id] = list;
  // What came to an end long ago has no rows that could be lost, and would be most of the work.
  if (row.closed_at && *row.closed_at < now - std::chrono::seconds{10}) return;
  picture["bundle of " + id] = bundle_of(store, row, std::move(tasks), now);
}

}  // namespace

Picture picture_of(store::Store& store, Timestamp now, Unseen unseen) {
  Picture picture;
  std::map<RunId, std::vector<Task>> tasks;
  for (Task& task : all_tasks(store)) tasks[task.run_id].push_back(std::move(task));
  std::set<store::InstanceKey> instances;
  for (const auto& key : got(store.instances_with_intake({}, 1'000'000))) instances.insert(key);
  for (const RunId& run : all_runs(store)) {
    const auto row = store.find_run(run).value();
    if (!row) {
      picture["run " + run.str()] = "has no row";
      continue;
    }
    instances.insert({row->ns, row->instance_id});
    add_run(store, *row, std::move(tasks[run]), now, unseen, picture);
    tasks.erase(run);
  }
  for (const auto& [run, left] : tasks) {
    for (const Task& task : left) picture["tasks of nobody, " + run.str()] += text_of(task);
  }
  for (const auto& key : instances) {
    const auto row = store.find_instance(key).value();
    picture[fmt::format("instance {}/{}", key.ns.view(), key.id.view())] =
        !row               ? "has no row"
        : row->current_run ? fmt::format("{} stands at {} since commit {}", row->workflow_type,
                                         row->current_run->view(), row->version.view())
                           : row->workflow_type + " has no run";
  }
  return picture;
}

std::string difference(const Picture& expected, const Picture& actual) {
  for (const auto& [name, text] : expected) {
    const auto found = actual.find(name);
    if (found == actual.end()) return name + " is missing";
    if (found->second == text) continue;
    const auto [one, other] = std::ranges::mismatch(text, found->second);
    const auto at = static_cast<std::size_t>(one - text.begin());
    const auto from = at < 200 ? 0 : at - 200;
    return fmt::format("{}\nexpected …{}…\nactual   …{}…", name, text.substr(from, 500),
                       found->second.substr(from, 500));
  }
  for (const auto& [name, text] : actual) {
    if (!expected.contains(name)) return fmt::format("{} should not be there: {}", name, text);
  }
  return {};
}

std::vector<Task> intents_of(store::Store& store) {
  auto tasks = all_tasks(store);
  std::erase_if(tasks, [](const Task& task) { return task.type != TaskType::intent; });
  return tasks;
}

std::string difference(store::Store& before, store::Store& after, Timestamp now) {
  auto said = intents_of(before);
  for (const Task& again : intents_of(after)) {
    const auto same =
        std::ranges::find_if(said, [&](const Task& t) { return engine::say_the_same(t, again); });
    if (same == said.end()) return "nobody said this before: " + again.note;
    said.erase(same);
  }
  SeededRandom random{1};
  Names names{random, now};
  const engine::Settings settings;
  for (const Task& word : said) {
    const auto run = end_of_line(before, word.run_id);
    if (!run) continue;
    const auto heard = engine::decide_intent(*run, word, {now, names, settings});
    if (!heard.events.empty())
      return "it would have been heard, and is not told again: " + word.note;
  }
  return {};
}

std::optional<engine::Run> end_of_line(store::Store& store, const RunId& run) {
  std::optional<engine::Run> last;
  for (RunId next = run; !next.empty();) {
    auto told = told_run(store, next).value();
    if (!told) break;
    next = told->run.state.followed_by;
    last = std::move(told->run);
  }
  return last;
}

void copy_truth(store::Store& from, store::Store& to) {
  std::vector<store::Transition> batch;
  for (const RunId& run : all_runs(from)) {
    for (const auto& commit : got(from.load_history(run))) {
      store::Transition transition;
      transition.id = commit.id;
      transition.recorded_at = commit.recorded_at;
      transition.appends.push_back(
          {run, commit.first_sequence, commit.last_sequence, commit.events});
      batch.push_back(std::move(transition));
    }
  }
  store::Transition intake;
  intake.id = CommitId{"the intake"};
  for (const auto& key : got(from.instances_with_intake({}, 1'000'000))) {
    for (auto& row : got(from.load_intake(key))) intake.intake.push_back(std::move(row));
  }
  batch.push_back(std::move(intake));
  for (const auto& outcome : to.commit(batch)) {
    if (!std::holds_alternative<store::Won>(outcome)) throw std::runtime_error{"not copied"};
  }
}

}  // namespace dw::upkeep::test
