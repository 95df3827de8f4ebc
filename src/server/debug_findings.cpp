#include "server/debug_findings.hpp"

#include "server/debug_demand.hpp"
#include "views/row_value.hpp"
#include "views/summary.hpp"
#include "views/task_rows.hpp"
#include "views/transport.hpp"
#include "views/waits.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace dw::server {
namespace {

using Severity = Finding::Severity;

constexpr std::size_t most_of_a_kind = 20;

std::string default_or(std::string_view queue) {
  return std::string{queue.empty() ? "default" : queue};
}

std::string in_words(const history::Failure& failure) {
  const auto& kind =
      failure.exception_type.empty() ? failure.exception_class : failure.exception_type;
  return kind.empty() ? failure.message : fmt::format("{}: {}", kind, failure.message);
}

class Diagnosis {
 public:
  explicit Diagnosis(const DebuggedRun& run)
      : run_(run), state_(run.account.state), now_(run.sight.now) {}

  std::vector<Finding> take() {
    tell_other_run();
    if (state_.open()) {
      tell_block();
      tell_lost_tasks();
      tell_workflow_task();
      for (const auto& activity : run_.account.activities) {
        if (activity.open()) tell_activity(activity);
      }
      for (const auto& wait : views::wait_rows(run_.account, run_.sight)) {
        if (wait.status == "open") tell_wait(wait);
      }
      tell_length();
    } else {
      tell_end();
    }
    std::ranges::stable_sort(found_, {}, &Finding::severity);
    return std::move(found_);
  }

 private:
  void add(Finding finding) {
    const auto alike = std::ranges::count(found_, finding.code, &Finding::code);
    if (static_cast<std::size_t>(alike) < most_of_a_kind) found_.push_back(std::move(finding));
  }
  void add(Severity severity, std::string_view code, std::string message, Value::Map about = {}) {
    add({severity, std::string{code}, std::move(message), std::move(about)});
  }

  std::string line(std::string_view command, std::string_view more) const {
    return shell_line(state_.start.ns, fmt::format("{} {}", command, more));
  }
  std::string workflow() const { return state_.start.instance_id.str(); }
  std::string repair_line() const { return line("workflow:repair", workflow()); }

  // ---- the run as a whole

  void tell_other_run() {
    if (views::is_current_run(run_.account, run_.sight)) return;
    const std::string& current = run_.sight.current_run.str();
    add(Severity::info, "historical_run",
        fmt::format("workflow '{}' has gone on to run {}; look there: {}", workflow(), current,
                    line("debug workflow", workflow())),
        {{"current_run_id", current}});
  }

  void tell_end() {
    std::string how = state_.closed_reason;
    if (state_.failure && state_.closed_reason != "completed") {
      how += fmt::format(" ({})", in_words(*state_.failure));
    }
    add(Severity::info, "run_closed",
        fmt::format("the run is closed since {}: {}", format_timestamp(state_.closed_at), how),
        {{"closed_reason", state_.closed_reason}});
  }

  void tell_length() {
    const auto summary = views::summarize(run_.account, run_.sight);
    if (summary.history_budget_pressure == "ok") return;
    add(summary.continue_as_new_recommended() ? Severity::warning : Severity::info,
        "history_budget",
        fmt::format("the history has {} events in {} bytes, which makes every replay slower ({}); "
                    "let the workflow continue as new",
                    summary.history_event_count, summary.history_size_bytes,
                    fmt::join(summary.history_budget_pressure_dimensions, ", ")));
  }

  void tell_block() {
    const views::Delivery* task = views::blocked_workflow_task(run_.sight);
    if (!task) return;
    const auto note = parse_json(task->task.note);
    const auto noted = [&](std::string_view key) {
      const Value* value = note ? note->find(key) : nullptr;
      return value ? *value : Value{};
    };
    const Value message = noted("message");
    const Value step = noted("replay_blocked_workflow_sequence");
    add(Severity::error, "workflow_replay_blocked",
        fmt::format("the workflow's code and its history do not fit{}: {}. Deploy code that fits "
                    "this history, then: {}",
                    step.if_integer() ? fmt::format(" at step {}", *step.if_integer()) : "",
                    message.if_string() ? *message.if_string() : "the worker did not say why",
                    repair_line()),
        {{"task_id", task->task.key.id.view()},
         {"replay_blocked_reason", noted("replay_blocked_reason")},
         {"workflow_sequence", step}});
  }

  void tell_lost_tasks() {
    for (const auto& row : views::task_rows(run_.account, run_.sight)) {
      if (!row.synthetic) continue;
      add(Severity::warning, "repair_needed",
          fmt::format("the task that {} is missing; the next repair pass puts it back, or at once: "
                      "{}",
                      row.summary, repair_line()),
          {{"task_id", row.id}, {"task_type", row.type}});
    }
  }

  // ---- its code

  void tell_workflow_task() {
    const views::Delivery* delivery = views::open_workflow_task(run_.sight);
    if (!delivery) return;
    const engine::Task& task = delivery->task;
    Value::Map about{{"task_id", task.key.id.view()},
                     {"task_queue", default_or(task.queue)},
                     {"workflow_type", state_.start.workflow_type}};
    if (delivery->leased()) return tell_lease(*delivery, "the workflow task", std::move(about));
    if (task.key.available_at <= now_) tell_demand_for_code(task.queue, std::move(about));
  }

  // Code runs where its type is registered and, if the run is marked with a build, nowhere else.
  void tell_demand_for_code(std::string_view queue, Value::Map about) {
    if (run_.code_is_here) return;
    const history::WorkflowStarted& start = state_.start;
    tell_demand({WorkKind::workflow, start.ns, start.workflow_type, default_or(queue),
                 start.compatibility, std::move(about)});
  }

  void tell_lease(const views::Delivery& delivery, std::string_view what, Value::Map about) {
    const engine::Task& task = delivery.task;
    about.emplace_back("lease_owner", task.lease_owner);
    about.emplace_back("lease_expires_at", format_timestamp(task.lease_expires_at));
    if (views::lease_expired(delivery, now_)) {
      return add(Severity::warning, "lease_expired",
                 fmt::format("worker '{}' had {} until {} and was not heard of since; another "
                             "worker gets it as soon as one asks. Is that worker still alive? {}",
                             task.lease_owner, what, format_timestamp(task.lease_expires_at),
                             line("worker:describe", task.lease_owner)),
                 std::move(about));
    }
    const auto held = std::ranges::find(run_.held, delivery.task.key.id, &dispatch::HeldTask::task);
    if (held == run_.held.end() || held->attempt < 2) return;
    about.emplace_back("workflow_task_attempt", held->attempt);
    add(Severity::warning, "workflow_task_retried",
        fmt::format("worker '{}' makes attempt {} of the workflow task: those before failed or got "
                    "lost. The log of the worker says why",
                    task.lease_owner, held->attempt),
        std::move(about));
  }

  // ---- its activities

  void tell_activity(const views::ActivityAccount& activity) {
    const auto& scheduled = activity.scheduled;
    const auto* row = views::find_delivery(run_.sight, run_.account.task_id(activity.task));
    Value::Map about{{"activity_execution_id", scheduled.activity_id.view()},
                     {"activity_type", scheduled.activity_type},
                     {"task_queue", default_or(scheduled.queue)}};
    if (activity.retry) tell_retry(activity, about);
    if (activity.running()) {
      if (row && views::lease_expired(*row, now_)) {
        return tell_lease(*row, fmt::format("activity '{}'", scheduled.activity_type),
                          std::move(about));
      }
      return tell_attempt(activity, std::move(about));
    }
    if (!row || activity.available_at > now_) return;
    // A local one is done by whoever runs the code.
    if (scheduled.local) return tell_demand_for_code(row->task.queue, std::move(about));
    if (run_.types_here.contains(scheduled.activity_type)) return;
    if (!asked_for_.insert({default_or(scheduled.queue), scheduled.activity_type}).second) return;
    tell_demand({WorkKind::activity,
                 state_.start.ns,
                 scheduled.activity_type,
                 default_or(scheduled.queue),
                 {},
                 std::move(about)});
  }

  void tell_attempt(const views::ActivityAccount& activity, Value::Map about) {
    const auto& attempt = activity.attempts.back();
    const auto heard = attempt.last_heartbeat_at;
    about.emplace_back("lease_owner", attempt.lease_owner);
    add(Severity::info, "activity_running",
        fmt::format("worker '{}' runs attempt {} of activity '{}' since {}{}", attempt.lease_owner,
                    attempt.number, activity.scheduled.activity_type,
                    format_timestamp(attempt.started_at),
                    heard ? ", its last heartbeat was at " + format_timestamp(*heard) : ""),
        std::move(about));
  }

  void tell_retry(const views::ActivityAccount& activity, Value::Map about) {
    const auto& retry = *activity.retry;
    const auto most = activity.scheduled.retry_policy.max_attempts;
    const auto made = static_cast<std::int64_t>(activity.attempts.size());
    const std::string of = most ? fmt::format(" of {}", *most) : ", and so on for ever";
    const std::string next = activity.running() ? fmt::format("attempt {}{} is running", made, of)
                             : activity.available_at <= now_
                                 ? fmt::format("attempt {}{} waits for a worker", made + 1, of)
                                 : fmt::format("attempt {}{} begins at {}", made + 1, of,
                                               format_timestamp(activity.available_at));
    const std::string why = retry.timeout_kind.empty()
                                ? in_words(retry.failure)
                                : fmt::format("its time ran out ({})", retry.timeout_kind);
    about.emplace_back("attempt_count", made);
    about.emplace_back("next_attempt_at", activity.running()
                                              ? Value{}
                                              : Value{format_timestamp(activity.available_at)});
    about.emplace_back("last_failure", retry.failure.message);
    add(Severity::warning, "activity_retrying",
        fmt::format("activity '{}' is being retried: {}; {}", activity.scheduled.activity_type, why,
                    next),
        std::move(about));
  }

  // ---- whoever could do it

  void tell_demand(const Demand& demand) {
    static const QueueSeen unknown{};
    const auto known = std::ranges::find(run_.queues, demand.queue, &QueueSeen::name);
    auto unmet = unmet_demand(demand, known == run_.queues.end() ? unknown : *known, now_);
    if (unmet) add(*std::move(unmet));
  }

  // ---- what comes from elsewhere

  void tell_wait(const views::WaitRow& wait) {
    const std::string opened = format_timestamp(wait.opened_at.value_or(state_.started_at));
    const std::string since = " since " + opened;
    const std::string until =
        wait.deadline_at ? ", until " + format_timestamp(*wait.deadline_at) : std::string{};
    if (wait.kind == "signal" && !wait.signal_wait_id.empty() && wait.id == wait.signal_wait_id) {
      add(Severity::info, "waiting_for_signal",
          fmt::format("waits for signal '{}'{}{}; send it: {}", wait.target_name, since, until,
                      line("workflow:signal", fmt::format("{} {}", workflow(), wait.target_name))),
          {{"wait_id", wait.id}, {"signal_name", wait.target_name}});
    } else if (wait.kind == "condition") {
      const std::string key =
          wait.condition_key.empty() ? "" : fmt::format(" '{}'", wait.condition_key);
      add(Severity::info, "waiting_for_condition",
          fmt::format("waits for a condition{} of its own{}{}; it is looked at again when a signal "
                      "or an update comes",
                      key, since, until),
          {{"wait_id", wait.id}, {"condition_key", views::cell(wait.condition_key)}});
    } else if (wait.kind == "timer") {
      tell_timer(wait);
    } else if (wait.kind == "child") {
      add(Severity::info, "waiting_for_child",
          fmt::format("waits for child workflow '{}' of type '{}'{}; look there: {}",
                      wait.target_name, wait.target_type, since,
                      line("debug workflow", wait.target_name)),
          {{"child_workflow_id", wait.target_name},
           {"child_run_id", views::cell(wait.child_run_id)}});
    } else if (wait.kind == "update") {
      add(Severity::info, "update_pending",
          fmt::format("update '{}' was accepted at {} and is applied by the next workflow task",
                      wait.target_name, opened),
          {{"update_id", wait.update_id}, {"update_name", wait.target_name}});
    }
  }

  void tell_timer(const views::WaitRow& wait) {
    const Timestamp due = wait.deadline_at.value_or(now_);
    Value::Map about{{"timer_id", wait.timer_id}, {"fire_at", format_timestamp(due)}};
    if (due > now_) {
      return add(Severity::info, "waiting_for_timer",
                 fmt::format("sleeps until {} ({} from now)", format_timestamp(due),
                             whole_seconds(due - now_)),
                 std::move(about));
    }
    add(Severity::warning, "timer_overdue",
        fmt::format("a timer was due at {} and has not fired; if that stays so: {}",
                    format_timestamp(due), repair_line()),
        std::move(about));
  }

  const DebuggedRun& run_;
  const history::RunState& state_;
  const Timestamp now_;
  std::set<std::pair<std::string, std::string>> asked_for_;  // queue and type of activities
  std::vector<Finding> found_;
};

std::string_view severity_word(Severity severity) {
  switch (severity) {
    case Severity::error:
      return "error";
    case Severity::warning:
      return "warning";
    case Severity::info:
      return "info";
  }
  return "info";
}

}  // namespace

std::vector<Finding> findings_of(const DebuggedRun& run) {
  return Diagnosis{run}.take();
}

Value to_value(const Finding& finding) {
  Value::Map row{{"severity", severity_word(finding.severity)},
                 {"code", finding.code},
                 {"message", finding.message}};
  row.insert(row.end(), finding.about.begin(), finding.about.end());
  return row;
}

std::string_view diagnostic_status(const DebuggedRun& run, std::span<const Finding> findings) {
  if (!run.account.state.open()) return "closed";
  const auto any = [&](Severity severity) {
    return std::ranges::any_of(findings, [&](auto& f) { return f.severity == severity; });
  };
  if (any(Severity::error)) return "blocked";
  if (any(Severity::warning)) return "needs_attention";
  const bool work = views::open_workflow_task(run.sight) || !run.account.state.activities.empty();
  return work ? "pending_work" : "waiting";
}

}  // namespace dw::server
