#include "remote/exchange_codec.hpp"

#include "core/json_writer.hpp"
#include "core/payload_blob.hpp"
#include "history/codec.hpp"

#include <fmt/format.h>
#include <boost/json.hpp>

#include <array>

namespace dw::remote {
namespace {

namespace json = boost::json;

// ---- writing

void write_report(JsonWriter& out, const WorkflowReport& report) {
  out.begin_object()
      .field("task_id", report.task_id)
      .field("workflow_task_attempt", report.attempt);
  if (const auto* ran = std::get_if<RanCode>(&report.outcome)) {
    out.field("now", to_micros(ran->now)).field("commands", ran->commands);
    if (ran->spoiled) out.field("spoiled", true);
  } else if (const auto* blocked = std::get_if<engine::Blocked>(&report.outcome)) {
    out.key("blocked").begin_object();
    out.field("reason", blocked->reason)
        .field("step", blocked->step)
        .field("expected", blocked->expected);
    out.key("recorded").begin_array();
    for (const std::string& recorded : blocked->recorded) out.value(recorded);
    out.end_array().field("message", blocked->message).end_object();
  } else {
    const auto& message = std::get<CouldNotRun>(report.outcome).message;
    out.key("failure").begin_object().field("message", message).end_object();
  }
  out.end_object();
}

void write_report(JsonWriter& out, const ActivityReport& report) {
  out.begin_object()
      .field("task_id", report.task_id)
      .field("activity_attempt_id", report.attempt_id.view());
  if (const auto* result = std::get_if<Payload>(&report.outcome)) {
    out.field("result", *result);
  } else {
    const auto& failure = std::get<history::Failure>(report.outcome);
    out.key("failure")
        .begin_object()
        .field("exception_class", failure.exception_class)
        .field("exception_type", failure.exception_type)
        .field("message", failure.message)
        .field("non_retryable", failure.non_retryable)
        .field("properties", failure.properties)
        .end_object();
  }
  if (report.ahead) {
    out.key("ahead")
        .begin_object()
        .field("seen", report.ahead->seen)
        .field("now", to_micros(report.ahead->now))
        .field("commands", report.ahead->commands)
        .end_object();
  }
  out.end_object();
}

void write_report(JsonWriter& out, const QueryReport& report) {
  out.begin_object()
      .field("query_task_id", report.query_task_id)
      .field("query_task_attempt", report.attempt);
  if (const auto* result = std::get_if<Payload>(&report.outcome)) {
    out.field("result", *result);
  } else {
    const auto& refusal = std::get<QueryRefusal>(report.outcome);
    out.key("failure")
        .begin_object()
        .field("message", refusal.message)
        .field("reason", refusal.reason)
        .end_object();
  }
  out.end_object();
}

template <typename Kind>
void write_reports(JsonWriter& out, std::string_view key, const std::vector<Report>& reports) {
  bool any = false;
  for (const Report& report : reports) {
    const auto* one = std::get_if<Kind>(&report);
    if (!one) continue;
    if (!std::exchange(any, true)) out.key(key).begin_array();
    write_report(out, *one);
  }
  if (any) out.end_array();
}

std::size_t size_of_reports(const std::vector<Report>& reports) {
  std::size_t bytes = 512;
  for (const Report& report : reports) {
    bytes += 256;
    if (const auto* workflow = std::get_if<WorkflowReport>(&report)) {
      if (const auto* ran = std::get_if<RanCode>(&workflow->outcome)) {
        bytes += ran->commands.size() * 5 / 4;
      }
    } else if (const auto* activity = std::get_if<ActivityReport>(&report)) {
      if (activity->ahead) bytes += activity->ahead->commands.size() * 5 / 4;
    }
  }
  return bytes;
}

// ---- reading

// An answer as a tree that is thrown away at once. It is read in one pass into one piece of memory:
// a busy worker hears hundreds of tasks a second, and what it keeps of them is copied out anyway.
class AnswerTree {
 public:
  // Both in the same memory, or moving the answer in would copy it.
  AnswerTree() : root_(json::storage_ptr{&memory_}) {}

  Result<json::value*> parse(std::string_view body) {
    boost::system::error_code failed;
    root_ = json::parse(json::string_view{body.data(), body.size()}, failed, &memory_);
    if (!failed) return &root_;
    return Error{ErrorCode::invalid_argument, fmt::format("not JSON: {}", failed.message())};
  }

 private:
  std::array<unsigned char, 64 * 1024> buffer_;  // larger answers go on to the heap
  json::monotonic_resource memory_{buffer_.data(), buffer_.size()};
  json::value root_;
};

// One object of an answer. Remembers the first thing that is not as it should be; what it gives
// then is empty.
class AnswerReader {
 public:
  AnswerReader(const json::value& object, std::string& complaint)
      : object_(object.if_object()), complaint_(complaint) {}

  std::string text(std::string_view key) {
    const auto* found = find(key);
    const auto* text = found ? found->if_string() : nullptr;
    if (!text) return wrong(key, "a string"), std::string{};
    return {text->data(), text->size()};
  }
  std::string text_or_none(std::string_view key) {
    const auto* found = find(key);
    const auto* text = found ? found->if_string() : nullptr;
    return text ? std::string{text->data(), text->size()} : std::string{};
  }
  std::int64_t number(std::string_view key) {
    const auto* found = find(key);
    if (!found || !found->if_int64()) return wrong(key, "a whole number"), 0;
    return *found->if_int64();
  }
  bool flag(std::string_view key) {
    const auto* found = find(key);
    if (!found || !found->if_bool()) return wrong(key, "true or false"), false;
    return *found->if_bool();
  }
  bool flag_or_no(std::string_view key) {
    const auto* found = find(key);
    return found && found->if_bool() && *found->if_bool();
  }
  Payload payload(std::string_view key) {
    const auto* found = find(key);
    if (!found) return wrong(key, "a payload"), Payload{};
    AnswerReader inner{*found, complaint_};
    auto payload = payload_from_blob(inner.text("codec"), inner.text("blob"));
    if (!payload) return wrong(key, "a payload"), Payload{};
    return *std::move(payload);
  }
  const json::value* find(std::string_view key) {
    return object_ ? object_->if_contains({key.data(), key.size()}) : nullptr;
  }
  // Calls `read` with a reader for each object of a list; no such list is an empty one.
  template <typename Read>
  void each(std::string_view key, Read read) {
    const auto* found = find(key);
    if (!found || found->is_null()) return;
    const auto* items = found->if_array();
    if (!items) return wrong(key, "a list");
    for (const json::value& item : *items) {
      AnswerReader inner{item, complaint_};
      read(inner);
    }
  }

 private:
  void wrong(std::string_view key, std::string_view wanted) {
    if (complaint_.empty()) complaint_ = fmt::format("'{}' is not {}", key, wanted);
  }

  const json::object* object_;  // null: it is none
  std::string& complaint_;
};

std::vector<HistoryPiece> history_in(AnswerReader& task) {
  std::vector<HistoryPiece> pieces;
  task.each("history", [&](AnswerReader& piece) {
    pieces.push_back(
        {piece.number("first"), from_micros(piece.number("at")), piece.text("events")});
  });
  return pieces;
}

WorkflowTask workflow_task_in(AnswerReader& task) {
  WorkflowTask read;
  read.task_id = task.text("task_id");
  read.attempt = task.number("workflow_task_attempt");
  read.run_id = RunId{task.text("run_id")};
  read.now = from_micros(task.number("now"));
  read.history = history_in(task);
  return read;
}

ActivityTask activity_task_in(AnswerReader& task) {
  ActivityTask read;
  read.task_id = task.text("task_id");
  read.activity_id = ActivityId{task.text("activity_execution_id")};
  read.attempt_id = AttemptId{task.text("activity_attempt_id")};
  read.attempt_number = task.number("attempt_number");
  read.activity_type = task.text("activity_type");
  read.instance_id = InstanceId{task.text("workflow_id")};
  read.run_id = RunId{task.text("run_id")};
  read.arguments = task.payload("arguments");
  read.lease_expires_at = from_micros(task.number("lease_expires_at"));
  if (const auto* timeout = task.find("heartbeat_timeout_seconds");
      timeout && timeout->if_int64()) {
    read.heartbeat_timeout = std::chrono::seconds{*timeout->if_int64()};
  }
  return read;
}

QueryTask query_task_in(AnswerReader& task) {
  QueryTask read;
  read.query_task_id = task.text("query_task_id");
  read.attempt = task.number("query_task_attempt");
  read.run_id = RunId{task.text("run_id")};
  read.name = task.text("query_name");
  read.arguments = task.payload("query_arguments");
  read.history = history_in(task);
  return read;
}

std::vector<Verdict> verdicts_in(AnswerReader& answer, std::string_view key) {
  std::vector<Verdict> verdicts;
  answer.each(key, [&](AnswerReader& one) {
    verdicts.push_back({one.flag("recorded"), one.text_or_none("reason"),
                        one.text_or_none("message"), one.flag_or_no("went_on"), history_in(one),
                        one.flag_or_no("retryable")});
  });
  return verdicts;
}

Error unreadable_answer(std::string_view to, std::string_view complaint) {
  return {ErrorCode::invalid_argument,
          fmt::format("the server's answer to {} cannot be read: {}", to, complaint)};
}

Error broken_history(std::int64_t sequence) {
  return {ErrorCode::corrupt_history,
          fmt::format("the history that the server sent has no event {}", sequence)};
}

}  // namespace

std::string exchange_body(const WorkerName& worker, const Exchange& exchange) {
  std::string body;
  body.reserve(size_of_reports(exchange.reports));
  JsonWriter out{body};
  out.begin_object().field("worker_id", worker.worker_id).field("task_queue", worker.task_queue);
  if (!worker.build_id.empty()) out.field("build_id", worker.build_id);
  write_reports<WorkflowReport>(out, "workflow_tasks", exchange.reports);
  write_reports<ActivityReport>(out, "activity_tasks", exchange.reports);
  write_reports<QueryReport>(out, "query_tasks", exchange.reports);
  if (exchange.want != Counts{}) {
    out.key("want")
        .begin_object()
        .field("workflow_tasks", exchange.want.workflow)
        .field("activity_tasks", exchange.want.activity)
        .field("query_tasks", exchange.want.query)
        .end_object();
  }
  if (exchange.draining) out.field("draining", true);
  out.field("wait_milliseconds", exchange.wait.count()).end_object();
  return body;
}

Result<ExchangeAnswer> parse_exchange_answer(std::string_view body) {
  AnswerTree tree;
  const auto* root = DW_TRY(tree.parse(body));
  std::string complaint;
  AnswerReader reader{*root, complaint};
  ExchangeAnswer answer;
  answer.workflow = verdicts_in(reader, "workflow_tasks");
  answer.activity = verdicts_in(reader, "activity_tasks");
  answer.query = verdicts_in(reader, "query_tasks");
  if (const auto* given = reader.find("tasks"); given && given->is_object()) {
    AnswerReader tasks{*given, complaint};
    const auto collect = [&](std::string_view key, auto& into, auto read) {
      tasks.each(key, [&](AnswerReader& task) { into.push_back(read(task)); });
    };
    collect("workflow", answer.tasks.workflow, workflow_task_in);
    collect("activity", answer.tasks.activity, activity_task_in);
    collect("query", answer.tasks.query, query_task_in);
  }
  if (!complaint.empty()) return unreadable_answer("an exchange", complaint);
  return answer;
}

// ---- history

std::string history_body(std::string_view worker_id, const WorkflowTask& task) {
  std::string body;
  JsonWriter{body}
      .begin_object()
      .field("lease_owner", worker_id)
      .field("workflow_task_attempt", task.attempt)
      .field("native", true)
      .end_object();
  return body;
}

Result<std::vector<HistoryPiece>> parse_history(std::string_view body) {
  AnswerTree tree;
  const auto* root = DW_TRY(tree.parse(body));
  std::string complaint;
  AnswerReader reader{*root, complaint};
  auto history = history_in(reader);
  if (!complaint.empty()) return unreadable_answer("a question for history", complaint);
  return history;
}

Result<std::vector<history::Event>> events_after(std::int64_t seen,
                                                 std::span<const HistoryPiece> history) {
  std::vector<history::Event> events;
  for (std::size_t i = 0; i < history.size(); ++i) {
    // Where the next piece begins says how long this one is: what was seen is not read again.
    if (i + 1 < history.size() && history[i + 1].first <= seen + 1) continue;
    auto bodies = DW_TRY(history::parse_events(history[i].events));
    std::int64_t sequence = history[i].first;
    for (history::EventBody& body : bodies) {
      if (sequence > seen + 1) return broken_history(seen + 1);
      if (sequence == seen + 1) {
        events.push_back({sequence, history[i].at, std::move(body)});
        seen = sequence;
      }
      ++sequence;
    }
  }
  return events;
}

}  // namespace dw::remote
