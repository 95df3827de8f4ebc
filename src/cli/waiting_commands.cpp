// Commands that look more than once: start and wait, describe and follow, watch.
#include "cli/catalogue.hpp"
#include "cli/lookup.hpp"
#include "cli/task.hpp"
#include "core/assert.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dw::cli {
namespace {

constexpr std::chrono::seconds between_looks{2};
constexpr std::chrono::milliseconds shortest_pause{100};
constexpr int looks_per_diagnostic = 15;  // thirty seconds
constexpr std::size_t diagnostic_items = 5;

Value first_few(const Value& answer, std::string_view path) {
  const auto& all = list_of(answer, path);
  return Value::Array(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(
                                                     std::min(all.size(), diagnostic_items)));
}

// Why it is taking so long, for whoever reads the log of a script. A server that does not know the
// route is no reason to stop waiting.
void tell_wait(Task& task, const Value& run) {
  const std::string id = text_of(run, "workflow_id");
  const auto debug =
      task.session.ask({.target = fmt::format("/workflows/{}/debug", escape_segment(id))});
  Value::Map line{{"event", "workflow_wait_diagnostic"}, {"workflow_id", id}};
  for (const char* key : {"run_id", "status", "status_bucket", "wait_kind", "wait_reason"}) {
    if (const Value* value = look_up(run, key)) line.emplace_back(key, *value);
  }
  if (debug) {
    line.emplace_back("diagnostic_status", text_of(*debug, "diagnostic_status"));
    for (const char* key : {"findings", "pending_workflow_tasks", "pending_activities",
                            "activity_task_queues", "recent_failures"}) {
      if (!list_of(*debug, key).empty()) line.emplace_back(key, first_few(*debug, key));
    }
  } else {
    line.emplace_back("diagnostic_error", debug.error().message);
  }
  task.output.tell(to_json(Value{std::move(line)}));
}

// Servers say what they can beyond the published contract; others ignore what they do not know.
bool server_can(Task& task, std::string_view what) {
  const auto info = task.session.cluster_info();
  return info && is_true(*info, fmt::format("capabilities.{}", what));
}

Outcome<std::optional<Value>> signal_arguments(const Task& task) {
  const std::string text = task.given.text("signal-input");
  if (text.empty()) return std::optional<Value>{};
  Value payload = DW_TRY(parse_payload(text, "json", "--signal-input"));
  if (payload.is_null()) return std::optional<Value>{};
  return std::optional<Value>{as_arguments(std::move(payload))};
}

// Start and signal in one request: both happen, or neither does.
Outcome<Value> start_with_signal(Task& task, Request request) {
  set_entry(*request.body, "signal_name", task.given.text("signal"));
  if (auto arguments = DW_TRY(signal_arguments(task))) {
    set_entry(*request.body, "signal_input", *std::move(arguments));
  }
  Value started = DW_TRY(answer_to(task, request));
  set_entry(started, "signal_name", task.given.text("signal"));
  return started;
}

// For servers that do not know the above: one after the other.
Outcome<Value> start_then_signal(Task& task, const Request& request) {
  Value started = DW_TRY(answer_to(task, request));
  Value::Map body;
  if (auto arguments = DW_TRY(signal_arguments(task))) {
    body.emplace_back("input", *std::move(arguments));
  }
  const std::string name = task.given.text("signal");
  const Value answer = DW_TRY(task.session.ask(
      {.method = "POST",
       .target = fmt::format("/workflows/{}/signal/{}",
                             escape_segment(text_of(started, "workflow_id")), escape_segment(name)),
       .body = Value{std::move(body)}}));
  set_entry(started, "signal_name", name);
  set_entry(started, "signal_outcome", text_of(answer, "outcome"));
  return started;
}

Outcome<Value> start(Task& task) {
  Request request = DW_TRY(request_of(task));
  if (task.given.text("signal").empty()) return answer_to(task, request);
  if (server_can(task, "signal_with_start")) return start_with_signal(task, std::move(request));
  return start_then_signal(task, request);
}

// Until the next look: a server that can tells of the end at once.
void wait_a_little(Task& task, const Value& run) {
  if (server_can(task, "result_long_poll")) {
    const auto told = task.session.ask(
        {.target = fmt::format("/workflows/{}/runs/{}/result?wait_seconds={}",
                               escape_segment(text_of(run, "workflow_id")),
                               escape_segment(text_of(run, "run_id")), between_looks.count())});
    if (told) return;
  }
  task.io.pause(between_looks);
}

Outcome<Value> wait_for_end(Task& task, const std::string& workflow_id) {
  const Request look{.target = fmt::format("/workflows/{}", escape_segment(workflow_id))};
  for (int looks = 0;; ++looks) {
    Value run = with_namespace(DW_TRY(task.session.ask(look)), task.command, task.ns());
    if (has_ended(run)) return run;
    const bool long_since = looks > 0 && looks % looks_per_diagnostic == 0;
    if (task.output.for_machines() && long_since) tell_wait(task, run);
    wait_a_little(task, run);
  }
}

void draw_end(Page& page, const Value& run) {
  page.gap();
  page.heading("Workflow ended");
  page.lines({{"Namespace", "namespace"},
              {"Status", "status", Format::status},
              {"Closed Reason", "closed_reason"},
              {"Closed", "closed_at"},
              {"Error", "error"},
              {"Output", "output", Format::json}},
             run);
}

// Prints what changed between two looks, and remembers it for the one document of json mode.
class Watching {
 public:
  Watching(Task& task, std::vector<std::string> fields) : task_(task), fields_(std::move(fields)) {}

  void see(const Value& now) {
    ++looks_;
    Value::Map changes;
    for (const std::string& field : fields_) {
      const Value* before = look_up(last_, field);
      const Value* after = look_up(now, field);
      const Value was = before ? *before : Value{}, is = after ? *after : Value{};
      if (looks_ == 1 || was == is) continue;
      changes.emplace_back(field, Value::Map{{"before", was}, {"after", is}});
    }
    last_ = now;
    if (!changes.empty()) report(std::move(changes));
  }

  int looks() const { return looks_; }
  const Value::Array& changes() const { return reported_; }

 private:
  void report(Value::Map changes) {
    task_.output.show(fmt::format("Change #{}", looks_));
    for (const auto& [field, change] : changes) {
      task_.output.show(fmt::format("  {}: {} -> {}", field, words_of(change, "before"),
                                    words_of(change, "after")));
    }
    const Value line = Value::Map{{"event", "changed"},
                                  {"resource", task_.given.text("resource")},
                                  {"id", task_.given.text("id")},
                                  {"namespace", task_.ns()},
                                  {"poll", looks_},
                                  {"changes", std::move(changes)}};
    if (task_.output.by_line()) {
      task_.output.print(line);
    } else {
      reported_.push_back(line);
    }
  }

  Task& task_;
  const std::vector<std::string> fields_;
  Value last_;
  Value::Array reported_;
  int looks_ = 0;
};

struct Watched {
  std::string_view resource;
  std::string_view path;
  std::vector<std::string> fields;
  bool ends;  // a workflow does; queues and schedules go on
};

const std::vector<Watched>& watchable() {
  static const std::vector<Watched> all{
      {"workflow",
       "/workflows/{id}[/runs/{run-id}]",
       {"status", "status_bucket", "is_terminal", "closed_at", "closed_reason", "wait_kind",
        "wait_reason", "last_progress_at", "output"},
       true},
      {"schedule",
       "/schedules/{id}",
       {"status", "next_fire_at", "last_fired_at", "fires_count", "failures_count",
        "latest_workflow_instance_id"},
       false},
      {"queue",
       "/task-queues/{id}",
       {"stats.approximate_backlog_count", "stats.workflow_tasks.ready_count",
        "stats.workflow_tasks.leased_count", "stats.activity_tasks.ready_count",
        "stats.activity_tasks.leased_count", "stats.pollers.active_count",
        "stats.pollers.stale_count"},
       false}};
  return all;
}

const Watched* find_watched(std::string_view resource) {
  const auto found = std::ranges::find(watchable(), resource, &Watched::resource);
  return found == watchable().end() ? nullptr : &*found;
}

}  // namespace

Outcome<Exit> run_start(Task& task) {
  const Value started = DW_TRY(start(task));
  const bool wait = task.given.flag("wait");
  if (!wait || !task.output.for_machines()) show_answer(task, started);
  if (!wait) return Exit::success;

  task.output.note("Waiting for the workflow to end …");
  const auto waited = wait_for_end(task, text_of(started, "workflow_id"));
  if (!waited) {
    // It was started, whatever became of the waiting: whoever asks again must know which it is.
    Failure lost = waited.error();
    for (const char* key : {"workflow_id", "run_id"}) {
      lost.subject.emplace_back(key, text_of(started, key));
    }
    return lost;
  }
  const Value& run = *waited;
  if (task.output.for_machines()) {
    task.output.print(run);
  } else {
    Page page = task.output.page();
    draw_end(page, run);
    task.output.show(page);
  }
  return has_completed(run) ? Exit::success : Exit::failure;
}

Outcome<Exit> run_describe(Task& task) {
  const Request look = DW_TRY(request_of(task));
  Value run = DW_TRY(answer_to(task, look));
  if (task.given.flag("follow")) {
    task.output.show(fmt::format("Following (status: {}) …", words_of(run, "status")));
    while (!has_ended(run)) {
      wait_a_little(task, run);
      const std::string before = words_of(run, "status");
      run = DW_TRY(answer_to(task, look));
      const std::string after = words_of(run, "status");
      if (before != after) task.output.show(fmt::format("Status: {} -> {}", before, after));
    }
  }
  show_answer(task, run);
  return Exit::success;
}

std::optional<Failure> check_watched(const Task& task) {
  const std::string resource = task.given.text("resource");
  if (find_watched(resource)) return std::nullopt;
  return invalid_input(
      fmt::format("watch: '{}' cannot be watched; workflow, schedule and queue can", resource));
}

Outcome<Exit> run_watch(Task& task) {
  const std::string resource = task.given.text("resource"), id = task.given.text("id");
  const Watched* watched = find_watched(resource);
  DW_ASSERT(watched, "what cannot be watched is refused before");
  const Request look{.target = fill_path(watched->path, task.given)};
  // However eager somebody is, the server has others to answer.
  const auto interval = std::max<std::chrono::milliseconds>(
      std::chrono::seconds{task.given.whole("interval").value_or(2)}, shortest_pause);
  const auto most = task.given.whole("max-polls");
  Watching watching{task, watched->fields};
  Value now;
  for (;;) {
    now = with_namespace(DW_TRY(task.session.ask(look)), task.command, task.ns());
    watching.see(now);
    if (watching.looks() == 1) {
      task.output.show(
          fmt::format("Watching {} {} (status: {})", resource, id, words_of(now, "status")));
    }
    const bool ended = watched->ends && has_ended(now);
    if (ended || (most && watching.looks() >= *most)) break;
    task.io.pause(interval);
  }
  const bool ended = watched->ends && has_ended(now);
  if (task.output.for_machines()) {
    Value::Map end{{"event", ended ? "ended" : "polls_used_up"},
                   {"resource", resource},
                   {"id", id},
                   {"namespace", task.ns()},
                   {"polls", watching.looks()},
                   {"state", now}};
    if (!task.output.by_line()) end.emplace_back("changes", watching.changes());
    task.output.print(Value{std::move(end)});
  }
  if (!ended) {
    task.output.note(fmt::format("Stopped after {} polls.", watching.looks()));
    return Exit::timeout;
  }
  task.output.show(fmt::format("Ended: {}", words_of(now, "status")));
  return has_completed(now) ? Exit::success : Exit::failure;
}

}  // namespace dw::cli
