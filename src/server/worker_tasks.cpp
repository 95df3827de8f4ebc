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
constexpr std::string_view storage_pressure = "storage_pressure";

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
  std::size_t length = 2;
  for (const std::string& item : items) length += item.size() + 1;
  std::string list;
  list.reserve(length);
  list += '[';
  for (const std::string& item : items) {
    if (list.size() > 1) list += ',';
    list += item;
  }
  list += ']';
  return list;
}

// Written on every poll, so they go straight into text.
constexpr std::size_t usual_task_length = 2048;

void write_word_or_null(JsonWriter& json, std::string_view text) {
  text.empty() ? json.raw("null") : json.value(text);
}

// What made the task, for whoever wants to know; code that waits for the signal needs it.
void write_cause(JsonWriter& json, const dispatch::ClaimedTask& task) {
  if (task.update) {
    json.field("workflow_update_id", task.update->id.view())
        .field("update_name", std::string_view{task.update->name})
        .field("resume_source_kind", "workflow_update")
        .field("resume_source_id", task.update->id.view());
  }
  if (const auto& by = task.about.resumed_by; by && !task.update && !task.signal) {
    json.field("resume_source_kind", std::string_view{by->kind})
        .field("resume_source_id",
               by->child_run_id.empty() ? std::string_view{by->id} : by->child_run_id.view())
        .field("workflow_event_type", std::string_view{by->event_type});
    if (by->kind == "activity_execution") {
      json.field("activity_execution_id", std::string_view{by->id});
    }
    if (!by->attempt_id.empty()) json.field("activity_attempt_id", by->attempt_id.view());
    if (by->kind == "timer") json.field("timer_id", std::string_view{by->id});
    if (!by->command_id.empty()) json.field("workflow_command_id", by->command_id.view());
    if (!by->condition_wait.empty()) {
      json.field("workflow_wait_kind", "condition")
          .field("open_wait_id", by->condition_wait.view())
          .field("condition_wait_id", by->condition_wait.view())
          .field("workflow_sequence", by->step);
    }
    if (!by->child_run_id.empty()) {
      json.field("child_call_id", std::string_view{by->id})
          .field("child_workflow_run_id", by->child_run_id.view());
    }
  }
  if (task.signal) {
    json.field("workflow_signal_id", task.signal->id.view())
        .field("signal_name", std::string_view{task.signal->name});
    write_envelope(json.key("signal_arguments"), task.signal->arguments);
    json.field("signal_wait_id", task.wait->id.view())
        .field("workflow_command_id", task.signal->command.id.view())
        .field("workflow_wait_kind", "signal")
        .field("open_wait_id", task.wait->id.view())
        .field("workflow_sequence", task.wait->step)
        .field("resume_source_kind", "workflow_signal")
        .field("resume_source_id", task.signal->id.view());
  }
}

void write_policy(JsonWriter& json, const history::RetryPolicy& policy) {
  json.begin_object().key("max_attempts");
  policy.max_attempts ? json.value(*policy.max_attempts) : json.raw("null");
  json.key("backoff_seconds").begin_array();
  for (const auto seconds : policy.backoff_seconds) json.value(seconds);
  json.end_array().key("non_retryable_error_types").begin_array();
  for (const auto& type : policy.non_retryable_error_types) json.value(std::string_view{type});
  json.end_array().end_object();
}

void write_deadlines(JsonWriter& json, const history::OpenActivity& activity) {
  const history::RetryPolicy& policy = activity.retry_policy;
  const auto write = [&](std::string_view name, Timestamp at,
                         const std::optional<history::Seconds>& timeout) {
    json.key(name);
    timeout ? json.value(history::later(at, *timeout)) : json.raw("null");
  };
  json.begin_object();
  write("schedule_to_start", activity.available_at, policy.schedule_to_start_timeout);
  write("start_to_close", activity.started_at, policy.start_to_close_timeout);
  write("schedule_to_close", activity.scheduled_at, policy.schedule_to_close_timeout);
  write("heartbeat", activity.last_heartbeat_at, policy.heartbeat_timeout);
  json.end_object();
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

// The fields that carry a history, as JSON.
decltype(Answer::written) history_fields(std::span<const std::string> events, Coding coding) {
  std::string list = json_list(events);
  if (coding == Coding::identity || events.size() < compression_threshold) {
    decltype(Answer::written) plain;  // an initializer list would copy the history
    plain.emplace_back("history_events", std::move(list));
    return plain;
  }
  return {{"history_events", "[]"},
          {"history_events_compressed", to_json(encode_base64(compressed_text(list, coding)))},
          {"history_events_encoding", to_json(to_string(coding))}};
}

Answer leased(std::string task) {
  Answer answer;
  answer.body.emplace_back("poll_status", "leased");
  answer.written.emplace_back("task", std::move(task));
  return answer;
}

}  // namespace

Answer task_answer(const dispatch::ClaimedTask& task, const Worker& worker, HistoryWish wish) {
  const auto total = static_cast<std::int64_t>(task.history.size());
  const auto first = wish.page_size > 0 ? std::min(wish.page_size, total) : total;
  const auto budget =
      bundle::history_budget({task.last_sequence, task.history_bytes, task.fan_out});
  std::string text;
  text.reserve(usual_task_length);
  JsonWriter json{text};
  json.begin_object()
      .field("task_kind", "workflow")
      .field("task_id", std::string_view{wire_task_id(task)})
      .field("workflow_task_attempt", task.attempt)
      .field("workflow_id", task.run.instance.id.view())
      .field("run_id", task.run.run_id.view())
      .field("workflow_type", std::string_view{task.workflow_type})
      .field("payload_codec", avro_codec);
  write_envelope(json.key("arguments"), task.arguments);
  json.field("run_status", history::to_string(task.status))
      .field("task_queue", queue_name(task.queue));
  write_word_or_null(json.key("connection"), task.connection);
  write_word_or_null(json.key("compatibility"), task.compatibility);
  json.field("lease_owner", std::string_view{worker.worker_id})
      .field("lease_expires_at", task.lease_expires_at)
      .field("total_history_events", total)
      .field("last_history_sequence", task.last_sequence)
      .field("history_size_bytes", task.history_bytes)
      .field("history_fan_out", task.fan_out)
      .field("history_budget_pressure", std::string_view{budget.pressure})
      .field("continue_as_new_recommended", budget.continue_as_new_recommended());
  write_word_or_null(json.key("next_history_page_token"),
                     first < total ? page_token({first, task.last_sequence}) : "");
  write_cause(json, task);
  const auto page = std::span{task.history}.first(static_cast<std::size_t>(first));
  for (const auto& [name, written] : history_fields(page, wish.coding)) json.key(name).raw(written);
  json.end_object();
  return leased(std::move(text));
}

Answer activity_answer(const dispatch::ClaimedActivity& work) {
  const history::OpenActivity& activity = work.activity;
  std::string text;
  text.reserve(usual_task_length);
  JsonWriter json{text};
  json.begin_object()
      .field("task_id", work.task.view())
      .field("activity_type", std::string_view{activity.type})
      .field("activity_attempt_id", activity.attempt_id.view())
      .field("attempt_number", activity.attempts)
      .field("activity_execution_id", activity.id.view())
      .field("idempotency_key", activity.id.view())
      .field("workflow_id", work.run.instance.id.view())
      .field("run_id", work.run.run_id.view())
      .field("payload_codec", avro_codec);
  write_envelope(json.key("arguments"), activity.arguments);
  write_policy(json.key("retry_policy"), activity.retry_policy);
  json.field("task_queue", queue_name(activity.queue));
  write_word_or_null(json.key("connection"), activity.connection);
  json.field("lease_owner", std::string_view{activity.lease_owner})
      .field("lease_expires_at", activity.lease_expires_at);
  write_deadlines(json.key("deadlines"), activity);
  json.end_object();
  return leased(std::move(text));
}

Result<Answer> history_page(const store::LoadedRun& run, HistoryPage page, HistoryWish wish) {
  constexpr std::size_t usual_page = 500;
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
  return Answer{200,
                {{"total_history_events", page.until},
                 {"next_history_page_token",
                  last < page.until ? Value{page_token({last, page.until})} : Value{}}},
                history_fields(events, wish.coding)};
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

Answer not_recorded(const Error& error, const Call& call) {
  if (!will_pass(error)) return failed(error, call);
  return refusal(503, storage_pressure, error.message,
                 {{"retryable", true},
                  {"retry_after_seconds", 1},
                  {"storage_state", "draining"},
                  {"request_admitted", false}});
}

Answer not_claimed(const Error& error, const Call& call) {
  if (!will_pass(error)) return failed(error, call);
  const Value* id = call.field("poll_request_id");
  return refusal(503, storage_pressure, error.message,
                 {{"task", Value{}},
                  {"poll_status", storage_pressure},
                  {"poll_request_id", id ? *id : Value{}},
                  {"retryable", true},
                  {"retry_after_seconds", 1},
                  {"storage_state", "draining"},
                  {"claim_admitted", false},
                  {"retry_same_poll_request_id", true}});
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

bool nobody_holds(const dispatch::TaskAnswer& answer) {
  return !answer.held || answer.reason == "run_closed" || answer.reason == "run_timed_out";
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
