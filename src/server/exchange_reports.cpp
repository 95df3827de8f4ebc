#include "server/exchange_reports.hpp"

#include "core/json_writer.hpp"
#include "engine/command_codec.hpp"
#include "server/addressed.hpp"
#include "server/worker_tasks.hpp"

#include <fmt/format.h>

namespace dw::server {
namespace {

constexpr std::size_t most_reports = 1'000;
constexpr std::size_t most_native_commands = 5'000;  // a barrier may have a thousand leaves

// Fails where they make no sense; what is no text at all is noted in the fields.
Result<std::vector<engine::WorkflowCommand>> read_commands(Fields& fields) {
  const Value* commands = fields.field("commands");
  const auto* text = commands ? commands->if_string() : nullptr;
  if (!text) {
    fields.wrong("commands", commands ? "must be a text of JSON" : "is required");
    return std::vector<engine::WorkflowCommand>{};
  }
  auto read = engine::parse_commands(*text);
  if (read && read->size() > most_native_commands) {
    return Error{ErrorCode::invalid_argument, "a task has at most 5,000 commands"};
  }
  return read;
}

TaskReport read_task_report(Fields& fields, const std::string& worker) {
  TaskReport report;
  report.wire_id = fields.required_text("task_id", 255);
  report.holder.task = task_of(report.wire_id);
  report.holder.attempt = fields.required_whole("workflow_task_attempt", 1, INT32_MAX);
  report.holder.owner = worker;
  report.holder.habit = engine::WorkerHabit::native;
  report.holder.epoch = epoch_of(report.wire_id);
  if (const auto micros = fields.whole("now", 0, INT64_MAX)) report.now = from_micros(*micros);
  report.spoiled = fields.flag("spoiled");
  report.failed = fields.field("failure") != nullptr;
  if (const auto blocked = fields.object("blocked")) {
    Fields inner{*blocked->if_map(), fields.path_of("blocked")};
    report.blocked = engine::Blocked{.reason = inner.required_text("reason", 255),
                                     .step = inner.whole("step", 0, INT64_MAX).value_or(0),
                                     .expected = inner.text("expected", 4096),
                                     .recorded = inner.texts("recorded"),
                                     .message = inner.text("message", 64 * 1024)};
    fields.also_wrong(inner.take_errors());
  }
  if (!fields.field("commands")) {
    if (!report.failed && !report.blocked) fields.wrong("commands", "is required");
    return report;
  }
  auto commands = read_commands(fields);
  if (commands) {
    report.commands = *std::move(commands);
  } else {
    report.unreadable = commands.error();
  }
  return report;
}

history::Failure read_native_failure(Fields& fields) {
  history::Failure failure;
  failure.exception_class = fields.text("exception_class", SIZE_MAX);
  failure.exception_type = fields.text("exception_type", SIZE_MAX);
  failure.message = fields.text("message", SIZE_MAX);
  failure.non_retryable = fields.flag("non_retryable");
  if (const Value* properties = fields.field("properties")) {
    failure.properties = fields.envelope("properties", *properties);
  }
  return failure;
}

// Commands that make no sense are left out: the code will run again, and be asked for them then.
std::optional<dispatch::WentAhead> read_ahead(Fields& fields) {
  dispatch::WentAhead ahead;
  ahead.seen = fields.required_whole("seen", 1, INT64_MAX);
  ahead.now = from_micros(fields.required_whole("now", 0, INT64_MAX));
  auto commands = read_commands(fields);
  if (!commands) return std::nullopt;
  ahead.commands = *std::move(commands);
  return ahead;
}

ActivityReport read_activity_report(Fields& fields) {
  ActivityReport report;
  report.id = fields.required_text("task_id", 255);
  report.outcome.attempt_id = AttemptId{fields.required_text("activity_attempt_id", 255)};
  if (const auto failure = fields.object("failure")) {
    Fields inner{*failure->if_map(), fields.path_of("failure")};
    report.outcome.outcome = read_native_failure(inner);
    fields.also_wrong(inner.take_errors());
  } else if (const Value* result = fields.field("result")) {
    report.outcome.outcome = fields.envelope("result", *result);
  } else {
    fields.wrong("result", "is required");
  }
  if (const auto ahead = fields.object("ahead")) {
    Fields inner{*ahead->if_map(), fields.path_of("ahead")};
    report.ahead = read_ahead(inner);
    fields.also_wrong(inner.take_errors());
  }
  return report;
}

// Reads each object of a list.
template <typename Read>
auto read_all(Fields& fields, std::string_view name, Read read) {
  std::vector<decltype(read(fields))> all;
  const auto& list = fields.list(name);
  if (list.size() > most_reports) {
    fields.wrong(name, "must have at most 1,000 reports");
    return all;
  }
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string item = fmt::format("{}.{}", name, i);
    if (const auto* object = list[i].if_map()) {
      Fields inner{*object, fields.path_of(item)};
      all.push_back(read(inner));
      fields.also_wrong(inner.take_errors());
    } else {
      fields.wrong(item, "must be an object");
    }
  }
  return all;
}

}  // namespace

std::vector<TaskReport> read_task_reports(Fields& fields, const std::string& worker) {
  return read_all(fields, "workflow_tasks",
                  [&](Fields& one) { return read_task_report(one, worker); });
}

std::vector<ActivityReport> read_activity_reports(Fields& fields) {
  return read_all(fields, "activity_tasks", read_activity_report);
}

Heard not_heard(std::string id, const Error& error) {
  Heard heard;
  heard.id = std::move(id);
  heard.reason = to_string(error.code);
  heard.message = error.message;
  heard.retryable = will_pass(error);
  return heard;
}

std::string heard_list(const std::vector<Heard>& all, std::string_view id_field) {
  std::string out;
  JsonWriter json{out};
  json.begin_array();
  for (const Heard& heard : all) {
    json.begin_object()
        .field(id_field, std::string_view{heard.id})
        .field("recorded", heard.recorded);
    if (!heard.recorded) {
      json.field("reason", std::string_view{heard.reason})
          .field("message", std::string_view{heard.message});
    }
    if (heard.retryable) json.field("retryable", true);
    if (heard.went_on) json.field("went_on", true);
    if (heard.news) {
      json.key("history").begin_array();
      json.begin_object()
          .field("first", heard.news->first)
          .field("at", to_micros(heard.news->at))
          .field("events", std::string_view{heard.news->events})
          .end_object();
      json.end_array();
    }
    json.end_object();
  }
  json.end_array();
  return out;
}

}  // namespace dw::server
