#include "server/worker_tasks.hpp"

#include "bundle/history_budget.hpp"
#include "core/base64.hpp"
#include "core/json_writer.hpp"
#include "history/render.hpp"
#include "store/derived.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dw::server {
namespace {

constexpr char mark = '~';

Value word_or_null(std::string_view text) {
  return text.empty() ? Value{} : Value{text};
}

Value time_or_null(const std::optional<Timestamp>& at) {
  return at ? Value{format_timestamp(*at)} : Value{};
}

std::string queue_name(const std::string& queue) {
  return queue.empty() ? "default" : queue;
}

std::string json_list(std::span<const std::string> items) {
  std::string list = "[";
  for (const std::string& item : items) {
    if (list.size() > 1) list += ',';
    list += item;
  }
  return list + ']';
}

// What made the task, for whoever wants to know; code that waits for the signal needs it.
void add_cause(const dispatch::ClaimedTask& task, Value::Map& body) {
  const auto add = [&](std::string_view key, Value value) {
    body.emplace_back(std::string{key}, std::move(value));
  };
  if (task.update) {
    add("workflow_update_id", task.update->id.view());
    add("update_name", task.update->name);
    add("resume_source_kind", "workflow_update");
    add("resume_source_id", task.update->id.view());
  }
  if (const auto& by = task.about.resumed_by; by && !task.update && !task.signal) {
    add("resume_source_kind", by->kind);
    add("resume_source_id", by->child_run_id.empty() ? by->id : by->child_run_id.str());
    add("workflow_event_type", by->event_type);
    if (by->kind == "activity_execution") add("activity_execution_id", by->id);
    if (!by->attempt_id.empty()) add("activity_attempt_id", by->attempt_id.view());
    if (by->kind == "timer") add("timer_id", by->id);
    if (!by->child_run_id.empty()) {
      add("child_call_id", by->id);
      add("child_workflow_run_id", by->child_run_id.view());
    }
  }
  if (task.signal) {
    add("workflow_signal_id", task.signal->id.view());
    add("signal_name", task.signal->name);
    add("signal_arguments", envelope_of(task.signal->arguments));
    add("signal_wait_id", task.wait->id.view());
    add("workflow_wait_kind", "signal");
    add("workflow_sequence", task.wait->step);
    add("resume_source_kind", "workflow_signal");
    add("resume_source_id", task.signal->id.view());
  }
}

Value policy_of(const history::RetryPolicy& policy) {
  Value::Array backoff(policy.backoff_seconds.begin(), policy.backoff_seconds.end());
  Value::Array types(policy.non_retryable_error_types.begin(),
                     policy.non_retryable_error_types.end());
  return Value::Map{{"max_attempts", policy.max_attempts ? Value{*policy.max_attempts} : Value{}},
                    {"backoff_seconds", std::move(backoff)},
                    {"non_retryable_error_types", std::move(types)}};
}

Value deadlines_of(const history::OpenActivity& activity) {
  const history::RetryPolicy& policy = activity.retry_policy;
  const auto after = [](Timestamp at, const std::optional<history::Seconds>& timeout) {
    return timeout ? Value{format_timestamp(history::later(at, *timeout))} : Value{};
  };
  return Value::Map{
      {"schedule_to_start", after(activity.available_at, policy.schedule_to_start_timeout)},
      {"start_to_close", after(activity.started_at, policy.start_to_close_timeout)},
      {"schedule_to_close", after(activity.scheduled_at, policy.schedule_to_close_timeout)},
      {"heartbeat", after(activity.last_heartbeat_at, policy.heartbeat_timeout)}};
}

std::string_view behind_mark(std::string_view wire_id) {
  const auto marked = wire_id.find(mark);
  return marked == std::string_view::npos ? "" : wire_id.substr(marked + 1);
}

// How a task's id says which way its worker goes about it.
char letter_of(engine::WorkerHabit habit) {
  switch (habit) {
    case engine::WorkerHabit::waits:
      return 'w';
    case engine::WorkerHabit::repeats_itself:
      return 'r';
    case engine::WorkerHabit::native:
      return 'n';
  }
  return 'w';
}

std::string_view why(std::string_view reason) {
  if (reason == "run_closed") return "the run has ended";
  if (reason == "run_timed_out") return "the run has timed out";
  if (reason == "task_not_leased") return "nobody holds the task; poll for another";
  if (reason == "lease_expired") return "the lease ran out; the task is offered to others";
  if (reason == "lease_owner_mismatch") return "another worker holds it";
  if (reason == "workflow_task_attempt_mismatch") return "it was taken again since";
  if (reason == "task_mismatch") return "the attempt belongs to another task";
  if (reason == "attempt_not_found") return "there was never such an attempt";
  return reason;
}

}  // namespace

engine::WorkerHabit habit_of(std::string_view runtime) {
  return runtime == "python" ? engine::WorkerHabit::repeats_itself : engine::WorkerHabit::waits;
}

std::string wire_task_id(const dispatch::ClaimedTask& task) {
  return fmt::format("{}{}{}{}", task.task.view(), mark, letter_of(task.about.habit), task.epoch);
}

std::string wire_task_id(const dispatch::HeldTask& task) {
  return fmt::format("{}{}{}{}", task.task.view(), mark, letter_of(task.habit), task.epoch);
}

TaskId task_of(std::string_view wire_id) {
  return TaskId{std::string{wire_id.substr(0, wire_id.find(mark))}};
}

std::string epoch_of(std::string_view wire_id) {
  const auto rest = behind_mark(wire_id);
  return std::string{rest.substr(std::min<std::size_t>(1, rest.size()))};
}

std::string native_history(const store::LoadedRun& run) {
  std::string all;
  JsonWriter out{all};
  out.begin_array();
  for (const store::StoredCommit& commit : run.commits) {
    out.begin_object()
        .field("first", commit.first_sequence)
        .field("at", to_micros(commit.recorded_at))
        .field("events", std::string_view{commit.events})
        .end_object();
  }
  out.end_array();
  return all;
}

// ---- polls' answers

HistoryWish read_history_wish(Fields& fields) {
  HistoryWish wish;
  wish.page_size = fields.whole("history_page_size", 1, 1000).value_or(0);
  if (!fields.field("accept_history_encoding")) return wish;
  const auto coding = fields.word("accept_history_encoding", {"gzip", "deflate"});
  for (const Coding known : {Coding::gzip, Coding::deflate}) {
    if (coding == to_string(known)) wish.coding = known;
  }
  return wish;
}

namespace {

// Shorter ones are not worth the trouble.
constexpr std::size_t compression_threshold = 50;

void add_history(std::span<const std::string> events, Coding coding, Answer& answer) {
  std::string list = json_list(events);
  if (coding == Coding::identity || events.size() < compression_threshold) {
    answer.written.emplace_back("history_events", std::move(list));
    return;
  }
  answer.body.emplace_back("history_events", Value::Array{});
  answer.body.emplace_back("history_events_compressed",
                           encode_base64(compressed_text(list, coding)));
  answer.body.emplace_back("history_events_encoding", to_string(coding));
}

}  // namespace

Answer task_answer(const dispatch::ClaimedTask& task, const Worker& worker, HistoryWish wish) {
  const auto total = static_cast<std::int64_t>(task.history.size());
  const auto first = wish.page_size > 0 ? std::min(wish.page_size, total) : total;
  const history::WorkflowStarted& start = task.start;
  const auto budget =
      bundle::history_budget({task.last_sequence, task.history_bytes, task.fan_out});
  Answer inner;
  inner.body = {{"task_kind", "workflow"},
                {"task_id", wire_task_id(task)},
                {"workflow_task_attempt", task.attempt},
                {"workflow_id", task.run.instance.id.view()},
                {"run_id", task.run.run_id.view()},
                {"workflow_type", start.workflow_type},
                {"payload_codec", avro_codec},
                {"arguments", envelope_of(start.arguments)},
                {"run_status", history::to_string(task.status)},
                {"task_queue", queue_name(start.queue)},
                {"connection", word_or_null(start.connection)},
                {"compatibility", word_or_null(start.compatibility)},
                {"lease_owner", worker.worker_id},
                {"lease_expires_at", format_timestamp(task.lease_expires_at)},
                {"total_history_events", total},
                {"last_history_sequence", task.last_sequence},
                {"history_size_bytes", task.history_bytes},
                {"history_fan_out", task.fan_out},
                {"history_budget_pressure", budget.pressure},
                {"continue_as_new_recommended", budget.continue_as_new_recommended()},
                {"next_history_page_token",
                 first < total ? Value{page_token({first, task.last_sequence})} : Value{}}};
  add_cause(task, inner.body);
  add_history(std::span{task.history}.first(static_cast<std::size_t>(first)), wish.coding, inner);
  return {200, {{"poll_status", "leased"}}, {{"task", body_text(std::move(inner))}}};
}

Answer activity_answer(const dispatch::ClaimedActivity& work) {
  const history::OpenActivity& activity = work.activity;
  Value::Map task{{"task_id", work.task.view()},
                  {"activity_type", activity.type},
                  {"activity_attempt_id", activity.attempt_id.view()},
                  {"attempt_number", activity.attempts},
                  {"activity_execution_id", activity.id.view()},
                  {"idempotency_key", activity.id.view()},
                  {"workflow_id", work.run.instance.id.view()},
                  {"run_id", work.run.run_id.view()},
                  {"payload_codec", avro_codec},
                  {"arguments", envelope_of(activity.arguments)},
                  {"retry_policy", policy_of(activity.retry_policy)},
                  {"task_queue", queue_name(activity.queue)},
                  {"connection", word_or_null(activity.connection)},
                  {"lease_owner", activity.lease_owner},
                  {"lease_expires_at", format_timestamp(activity.lease_expires_at)},
                  {"deadlines", deadlines_of(activity)}};
  return {200, {{"task", std::move(task)}, {"poll_status", "leased"}}};
}

Result<Answer> history_page(const store::LoadedRun& run, HistoryPage page, HistoryWish wish) {
  constexpr std::size_t usual_page = 1000;
  const auto most = wish.page_size > 0 ? static_cast<std::size_t>(wish.page_size) : usual_page;
  history::Renderer renderer{run.row.run_id, history::Reader::worker};
  std::vector<std::string> events;
  for (const store::StoredCommit& commit : run.commits) {
    const auto facts = DW_TRY(store::events_of({&commit, 1}));
    auto texts = DW_TRY(renderer.render(commit.id, facts));
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const bool wanted = facts[i].sequence > page.after && facts[i].sequence <= page.until;
      if (wanted && events.size() < most) events.push_back(std::move(texts[i]));
    }
  }
  const auto last = page.after + static_cast<std::int64_t>(events.size());
  Answer answer{200,
                {{"total_history_events", page.until},
                 {"next_history_page_token",
                  last < page.until ? Value{page_token({last, page.until})} : Value{}}}};
  add_history(events, wish.coding, answer);
  return answer;
}

Result<QueryQuestion> question_about(const store::LoadedRun& run, const Call& call,
                                     const Payload& arguments) {
  const auto all = DW_TRY(store::events_of(run.commits));
  const history::WorkflowStarted* start = nullptr;
  for (const history::Event& event : all) {
    if (!start) start = std::get_if<history::WorkflowStarted>(&event.body);
  }
  if (!start) return Error{ErrorCode::corrupt_history, "the run's history does not begin"};
  history::Renderer renderer{run.row.run_id, history::Reader::worker};
  std::vector<std::string> events;
  for (const store::StoredCommit& commit : run.commits) {
    const auto facts = DW_TRY(store::events_of({&commit, 1}));
    std::ranges::move(DW_TRY(renderer.render(commit.id, facts)), std::back_inserter(events));
  }
  const auto* queries = start->declared ? &start->declared->queries : nullptr;
  Payload bound = arguments;
  if (queries) {
    const auto contract = std::ranges::find(*queries, call.match["name"], &Contract::name);
    if (contract != queries->end()) bound = engine::check_arguments(*contract, arguments).arguments;
  }
  QueryQuestion question;
  question.ns = call.ns;
  question.queue = queue_name(start->queue);
  question.workflow_type = start->workflow_type;
  question.compatibility = start->compatibility;
  question.task = {{"workflow_id", run.row.instance_id.view()},
                   {"run_id", run.row.run_id.view()},
                   {"workflow_type", start->workflow_type},
                   {"query_name", call.match["name"]},
                   {"payload_codec", avro_codec},
                   {"workflow_arguments", envelope_of(start->arguments)},
                   {"query_arguments", envelope_of(bound)},
                   {"run_status", history::to_string(run.row.status)},
                   {"last_history_sequence", run.row.last_sequence},
                   {"task_queue", question.queue}};
  question.history = json_list(events);
  question.commits = native_history(run);
  return question;
}

// ---- reports

dispatch::Describe as_registered(const Workers& workers) {
  return [&workers](const Namespace& ns, std::string_view queue, std::string_view type,
                    engine::Definition& definition) {
    auto known = workers.definition(ns, queue, type);
    definition.fingerprint = std::move(known.fingerprint);
    definition.declared = std::move(known.declared);
  };
}

dispatch::TaskHolder read_holder(Fields& fields, std::string_view wire_id) {
  dispatch::TaskHolder holder;
  holder.task = task_of(wire_id);
  holder.owner = fields.required_text("lease_owner", 255);
  holder.attempt = fields.required_whole("workflow_task_attempt", 1, INT32_MAX);
  const auto rest = behind_mark(wire_id);
  for (const auto habit : {engine::WorkerHabit::repeats_itself, engine::WorkerHabit::native}) {
    if (rest.starts_with(letter_of(habit))) holder.habit = habit;
  }
  holder.epoch = epoch_of(wire_id);
  return holder;
}

std::optional<Value> read_progress(Fields& fields) {
  Value::Map progress;
  if (const Value* details = fields.field("details"); details && is_envelope(*details)) {
    progress.emplace_back("details", projection_of(fields.envelope("details", *details)));
  } else if (const auto plain = fields.object("details")) {
    progress.emplace_back("details", *plain);
  }
  const auto is_number = [](const Value& value) { return value.if_integer() || value.if_real(); };
  for (const std::string_view name : {"message", "current", "total", "unit"}) {
    const Value* value = fields.field(name);
    if (!value) continue;
    const bool counts = name == "current" || name == "total";
    if (counts ? !is_number(*value) : !value->if_string()) {
      fields.wrong(name, counts ? "must be a number" : "must be a string");
    }
    progress.emplace_back(std::string{name}, *value);
  }
  return progress.empty() ? std::nullopt : std::optional{Value{std::move(progress)}};
}

Answer no_such_task(const Call& call, std::string_view wire_id) {
  Answer no = refusal(404, "task_not_found", fmt::format("there is no task {}", wire_id),
                      {{"task_id", wire_id}, {"recorded", false}});
  const Value* attempt = call.field("workflow_task_attempt");
  if (attempt) no.body.emplace_back("workflow_task_attempt", *attempt);
  return no;
}

Answer told_about_task(const Call& call, const dispatch::TaskAnswer& answer,
                       std::string_view outcome) {
  const Value attempt = *call.field("workflow_task_attempt");
  if (answer.recorded) {
    return {200,
            {{"task_id", call.match["task"]},
             {"workflow_task_attempt", attempt},
             {"outcome", outcome},
             {"recorded", true},
             {"run_id", answer.run_id.view()},
             {"run_status", history::to_string(answer.status)},
             {"created_task_ids", Value::Array{}},
             {"reason", Value{}}}};
  }
  if (answer.reason == "task_not_found") return no_such_task(call, call.match["task"]);
  const bool closed = answer.closed_at.has_value();
  Answer no = refusal(
      409, answer.reason,
      fmt::format("task {}: {}", call.match["task"],
                  answer.message.empty() ? why(answer.reason) : std::string_view{answer.message}),
      {{"task_id", call.match["task"]},
       {"workflow_task_attempt", attempt},
       {"outcome", "ignored"},
       {"recorded", false},
       {"run_id", answer.run_id.view()},
       {"run_status", history::to_string(answer.status)},
       {"task_status", closed        ? "cancelled"
                       : answer.held ? "leased"
                                     : "ready"},
       {"lease_owner", word_or_null(answer.lease_owner)},
       {"lease_expires_at", time_or_null(answer.lease_expires_at)},
       {"current_attempt", answer.attempt}});
  if (closed) {
    no.body.emplace_back("stop_reason", answer.reason);
    no.body.emplace_back("cancel_requested", answer.closed_reason == "cancelled");
    no.body.emplace_back("can_continue", false);
    no.body.emplace_back("run_closed_reason", answer.closed_reason);
    no.body.emplace_back("run_closed_at", time_or_null(answer.closed_at));
  }
  return no;
}

Answer told_about_lease(const Call& call, const dispatch::TaskAnswer& answer) {
  if (!answer.recorded) return told_about_task(call, answer, "renewed");
  return {200,
          {{"task_id", call.match["task"]},
           {"workflow_task_attempt", *call.field("workflow_task_attempt")},
           {"lease_owner", answer.lease_owner},
           {"renewed", true},
           {"lease_expires_at", time_or_null(answer.lease_expires_at)},
           {"run_status", history::to_string(answer.status)},
           {"task_status", "leased"},
           {"reason", Value{}}}};
}

Answer told_about_attempt(const Call& call, const dispatch::AttemptAnswer& answer, bool failed) {
  Value::Map body{{"task_id", call.match["task"]},
                  {"activity_attempt_id", *call.field("activity_attempt_id")},
                  {"recorded", answer.recorded}};
  if (answer.recorded) {
    body.emplace_back("outcome", failed ? "failed" : "completed");
    body.emplace_back("reason", answer.retried ? Value{"retry_scheduled"} : Value{});
    return {200, std::move(body)};
  }
  if (answer.reason == "task_not_found") return no_such_task(call, call.match["task"]);
  const bool stopped = answer.reason == "run_cancelled" || answer.reason == "run_terminated";
  body.emplace_back("outcome", "ignored");
  body.emplace_back("cancel_requested", stopped);
  body.emplace_back("can_continue", false);
  return refusal(answer.reason == "attempt_not_found" ? 404 : 409, answer.reason,
                 fmt::format("attempt {} was not recorded: {}",
                             *call.field("activity_attempt_id")->if_string(), why(answer.reason)),
                 std::move(body));
}

Answer told_about_heartbeat(const Call& call, const dispatch::HeartbeatAnswer& answer,
                            Timestamp now) {
  if (answer.reason == "task_not_found") return no_such_task(call, call.match["task"]);
  if (answer.reason == "lease_owner_mismatch" || answer.reason == "task_mismatch" ||
      answer.reason == "attempt_not_found") {
    return refusal(answer.reason == "attempt_not_found" ? 404 : 409, answer.reason,
                   fmt::format("task {}: {}", call.match["task"], why(answer.reason)),
                   {{"task_id", call.match["task"]}});
  }
  Value::Map body{{"task_id", call.match["task"]},
                  {"activity_attempt_id", *call.field("activity_attempt_id")},
                  {"heartbeat_recorded", answer.recorded},
                  {"cancel_requested", answer.cancel_requested},
                  {"can_continue", answer.recorded && !answer.cancel_requested},
                  {"reason", word_or_null(answer.reason)},
                  {"lease_owner", word_or_null(answer.lease_owner)},
                  {"lease_expires_at", time_or_null(answer.lease_expires_at)},
                  {"last_heartbeat_at", answer.recorded ? Value{format_timestamp(now)} : Value{}}};
  if (answer.run_closed_at) {
    body.emplace_back("run_closed_reason", answer.run_closed_reason);
    body.emplace_back("run_closed_at", time_or_null(answer.run_closed_at));
  }
  return {200, std::move(body)};
}

}  // namespace dw::server
