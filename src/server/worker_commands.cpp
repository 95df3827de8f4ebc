#include "server/worker_commands.hpp"

#include "core/utf8.hpp"
#include "server/retry_fields.hpp"
#include "server/upsert_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace dw::server {
namespace {

using engine::WorkflowCommand;

constexpr std::int64_t no_limit = INT64_MAX;
constexpr std::size_t any_length = std::string::npos;
constexpr std::size_t longest_type = 255;
constexpr std::size_t longest_signal = 256;
constexpr std::int64_t largest_group = 1000;

constexpr std::array<std::string_view, 5> group_fields{
    "parallel_group_id", "parallel_group_kind", "parallel_group_base_sequence",
    "parallel_group_size", "parallel_group_index"};

// Fields that a client must not believe to be heard elsewhere: a timeout that nobody watches, a
// failure that is retried all the same, a group that waits for a member it does not have.
struct FieldHome {
  std::string_view field;
  std::array<std::string_view, 3> commands;
};
constexpr FieldHome field_homes[] = {
    {"start_to_close_timeout", {"schedule_activity"}},
    {"schedule_to_start_timeout", {"schedule_activity"}},
    {"schedule_to_close_timeout", {"schedule_activity"}},
    {"heartbeat_timeout", {"schedule_activity"}},
    {"execution_timeout_seconds", {"start_child_workflow"}},
    {"run_timeout_seconds", {"start_child_workflow"}},
    {"timeout_seconds", {"open_condition_wait", "open_signal_wait"}},
    {"retry_policy", {"schedule_activity", "start_child_workflow"}},
    {"non_retryable", {"fail_workflow", "fail_update"}},
    {"parallel_group_id", {"schedule_activity", "start_timer", "start_child_workflow"}},
    {"parallel_group_path", {"schedule_activity", "start_timer", "start_child_workflow"}},
};

void refuse_strays(Fields& command, std::string_view type) {
  for (const FieldHome& home : field_homes) {
    if (!command.field(home.field) || std::ranges::count(home.commands, type) > 0) continue;
    command.wrong(home.field, fmt::format("has no meaning for {}", type));
  }
}

Payload payload_or(Fields& fields, std::string_view name, const Value& otherwise) {
  const Value* given = fields.field(name);
  return given ? fields.envelope(name, *given) : encoded(otherwise);
}

Payload sent_arguments(Fields& command) {
  Payload sent = payload_or(command, "arguments", Value::Array{});
  if (!holds_list(sent)) command.wrong("arguments", no_list_inside);
  return sent;
}

// ---- groups

history::Group wire_group(Fields& fields) {
  using Kind = history::Group::Kind;
  history::Group group;
  for (const auto name : group_fields) {
    if (!fields.field(name)) fields.wrong(name, "is required");
  }
  const auto kind = fields.word("parallel_group_kind", {"activity", "child", "timer", "mixed"});
  for (const auto known : {Kind::activity, Kind::child, Kind::timer, Kind::mixed}) {
    if (kind == history::to_string(known)) group.kind = known;
  }
  group.base = fields.whole("parallel_group_base_sequence", 1, INT32_MAX).value_or(1);
  group.size = fields.whole("parallel_group_size", 1, largest_group).value_or(largest_group);
  group.index = fields.whole("parallel_group_index", 0, group.size - 1).value_or(0);
  // Newer clients can ask for the first of several. Taken for a group like any other it would wait
  // for all of them, and nobody could say why.
  if (fields.field("parallel_group_mode")) {
    fields.wrong("parallel_group_mode", "is not supported: a group waits for all its members");
  }
  // The id is made of the rest, and will be made again whenever the group is shown.
  const std::string id = fields.text("parallel_group_id", any_length);
  if (const auto made = history::group_id(group); fields.fine() && id != made) {
    fields.wrong("parallel_group_id", fmt::format("must be {}", made));
  }
  return group;
}

history::GroupPath wire_path(Fields& command) {
  history::GroupPath groups;
  std::size_t position = 0;
  for (const Value& entry : command.list("parallel_group_path")) {
    const std::string name = fmt::format("parallel_group_path.{}", position++);
    if (const auto* object = entry.if_map()) {
      Fields fields{*object, command.path_of(name)};
      groups.push_back(wire_group(fields));
      command.also_wrong(fields.take_errors());
    } else {
      command.wrong(name, "must be an object");
    }
  }
  return groups;
}

history::GroupPath wire_groups(Fields& command) {
  constexpr std::string_view name = "parallel_group_path";
  history::GroupPath groups = wire_path(command);
  if (std::ranges::any_of(group_fields, [&](auto field) { return command.field(field); })) {
    const history::Group innermost = wire_group(command);
    if (groups.empty()) groups.push_back(innermost);
    if (command.fine() && groups.back() != innermost) {
      command.wrong(name, "must end with the group that the command itself names");
    }
  }
  // The engine moves all bases by the same number, once it knows which step this is.
  const auto elsewhere = [&](const history::Group& group) {
    return group.base + group.index != groups.front().base + groups.front().index;
  };
  if (command.fine() && std::ranges::any_of(groups, elsewhere)) {
    command.wrong(name, "must give the step the same sequence in every group");
  }
  return groups;
}

// ---- failures

std::optional<Payload> sent_details(Fields& fields) {
  const Value* details = fields.field("details");
  if (!details) return std::nullopt;
  if (is_envelope(*details)) return fields.envelope("details", *details);
  // As history shows them: the blob alone, its codec beside it.
  if (const auto* blob = details->if_string(); blob && fields.field("details_payload_codec")) {
    return fields.envelope(
        "details", Value::Map{{"codec", *fields.field("details_payload_codec")}, {"blob", *blob}});
  }
  return encoded(*details);
}

// History lists them one by one, with the class that declares each.
Payload shown_properties(Fields& exception, const Value& properties) {
  if (is_envelope(properties)) return exception.envelope("properties", properties);
  const auto* list = properties.if_array();
  Value::Map by_name;
  for (const Value& property : list ? *list : Value::Array{}) {
    const Value* name = property.find("name");
    const Value* value = property.find("value");
    if (!name || !name->if_string() || !value) return encoded(properties);
    by_name.emplace_back(*name->if_string(), *value);
  }
  return encoded(list ? Value{std::move(by_name)} : properties);
}

// What an exception says beyond the keys that every failure has. Details speak for themselves;
// otherwise it is whatever else the exception tells, by name.
std::optional<Payload> carried(Fields& fields, const Value::Map& exception) {
  constexpr std::array<std::string_view, 8> ordinary{
      "class",         "type",        "message", "code",
      "non_retryable", "stack_trace", "details", "details_payload_codec"};
  if (auto details = sent_details(fields)) return details;
  if (const Value* properties = fields.field("properties")) {
    return shown_properties(fields, *properties);
  }
  Value::Map rest;
  for (const auto& [key, value] : exception) {
    if (std::ranges::count(ordinary, key) == 0 && !value.is_null()) rest.emplace_back(key, value);
  }
  return rest.empty() ? std::nullopt : std::optional{encoded(std::move(rest))};
}

// Where it was thrown: for people, who rarely read beyond its beginning.
std::string sent_trace(Fields& fields) {
  constexpr std::size_t longest_trace = 16 * 1024;
  return std::string{utf8_beginning(fields.text("stack_trace", any_length), longest_trace)};
}

// There, but perhaps empty: not every exception has something to say.
std::string sent_message(Fields& fields) {
  if (!fields.field("message")) fields.wrong("message", "is required");
  return fields.text("message", any_length);
}

history::Failure sent_failure(Fields& command) {
  history::Failure failure;
  failure.category = "application";
  failure.message = sent_message(command);
  failure.exception_class = command.text("exception_class", any_length);
  failure.exception_type = command.text("exception_type", any_length);
  failure.non_retryable = command.flag("non_retryable");
  const auto exception = command.object("exception");
  if (!exception) return failure;
  Fields fields{*exception->if_map(), command.path_of("exception")};
  if (failure.exception_class.empty()) failure.exception_class = fields.text("class", any_length);
  if (failure.exception_type.empty()) failure.exception_type = fields.text("type", any_length);
  failure.properties = carried(fields, *exception->if_map());
  failure.code = fields.whole("code", INT64_MIN, no_limit).value_or(0);
  failure.stack_trace = sent_trace(fields);
  command.also_wrong(fields.take_errors());
  return failure;
}

// SDKs name more kinds with every release; to the workflow the others are failures like any.
std::string sent_category(Fields& fields) {
  const std::string kind = fields.text("kind", any_length);
  const bool timed_out = !fields.text("timeout_type", any_length).empty();
  const bool cancelled = fields.flag("cancelled");
  fields.flag("malformed_output");  // likewise
  if (kind == "cancellation" || cancelled) return "cancelled";
  return kind == "timeout" || timed_out ? "timeout" : "application";
}

// ---- the commands

WorkflowCommand wire_schedule_activity(Fields& command) {
  engine::ScheduleActivity activity;
  activity.activity_type = command.required_text("activity_type", longest_type);
  activity.arguments = sent_arguments(command);
  activity.connection = command.text("connection", longest_type);
  activity.queue = command.text("queue", longest_type);
  activity.retry_policy = read_retry_policy(command);
  read_activity_timeouts(command, "", activity.retry_policy);
  activity.group = wire_groups(command);
  return activity;
}

WorkflowCommand wire_start_timer(Fields& command) {
  return engine::StartTimer{0, command.required_whole("delay_seconds", 0, no_limit),
                            wire_groups(command)};
}

WorkflowCommand wire_start_child(Fields& command) {
  using Policy = history::ParentClosePolicy;
  engine::StartChild child;
  child.definition.workflow_type = command.required_text("workflow_type", longest_type);
  child.definition.queue = command.text("queue", longest_type);
  child.arguments = sent_arguments(command);
  const auto policy =
      command.word("parent_close_policy", {"abandon", "request_cancel", "terminate"});
  for (const auto known : {Policy::abandon, Policy::request_cancel, Policy::terminate}) {
    if (policy == history::to_string(known)) child.policy = known;
  }
  child.retry_policy = read_retry_policy(command);
  child.execution_timeout = command.whole("execution_timeout_seconds", 1, no_limit);
  child.run_timeout = command.whole("run_timeout_seconds", 1, no_limit);
  require_within(command, "run_timeout_seconds", child.run_timeout, "execution_timeout_seconds",
                 child.execution_timeout);
  child.group = wire_groups(command);
  return child;
}

WorkflowCommand wire_side_effect(Fields& command) {
  const Value* result = command.field("result");
  if (!result) return command.wrong("result", "is required"), engine::RecordSideEffect{};
  const auto* blob = result->if_string();  // alone, without an envelope
  const Value envelope = blob ? Value{Value::Map{{"codec", avro_codec}, {"blob", *blob}}} : *result;
  return engine::RecordSideEffect{0, command.envelope("result", envelope)};
}

WorkflowCommand wire_version(Fields& command) {
  engine::RecordVersion marker;
  marker.change_id = command.required_text("change_id", any_length);
  marker.version = command.required_whole("version", INT64_MIN, no_limit);
  marker.min_supported = command.required_whole("min_supported", INT64_MIN, no_limit);
  marker.max_supported = command.required_whole("max_supported", INT64_MIN, no_limit);
  const bool supported =
      marker.min_supported <= marker.version && marker.version <= marker.max_supported;
  if (command.fine() && !supported) {
    command.wrong("version", "must be from min_supported to max_supported");
  }
  return marker;
}

WorkflowCommand wire_search_attributes(Fields& command) {
  return read_search_attribute_upsert(command);
}

WorkflowCommand wire_memo(Fields& command) {
  return read_memo_upsert(command);
}

WorkflowCommand wire_condition(Fields& command) {
  engine::OpenCondition condition;
  condition.key = command.text("condition_key", any_length);
  condition.fingerprint = command.text("condition_definition_fingerprint", any_length);
  condition.timeout = command.whole("timeout_seconds", 0, no_limit);
  condition.occurrence = command.text("condition_wait_occurrence_id", any_length);
  return condition;
}

WorkflowCommand wire_signal_wait(Fields& command) {
  std::string name = command.required_text("signal_name", longest_signal);
  return engine::OpenSignalWait{0, std::move(name), command.whole("timeout_seconds", 0, no_limit)};
}

WorkflowCommand wire_complete_update(Fields& command) {
  UpdateId id{command.required_text("update_id", longest_type)};
  return engine::ApplyUpdate{std::move(id), 0, payload_or(command, "result", Value{})};
}

WorkflowCommand wire_fail_update(Fields& command) {
  UpdateId id{command.required_text("update_id", longest_type)};
  return engine::FailUpdate{.update_id = std::move(id), .failure = sent_failure(command)};
}

WorkflowCommand wire_complete_workflow(Fields& command) {
  return engine::CompleteWorkflow{payload_or(command, "result", Value{})};
}

WorkflowCommand wire_fail_workflow(Fields& command) {
  return engine::FailWorkflow{.failure = sent_failure(command)};
}

WorkflowCommand wire_continue(Fields& command) {
  engine::ContinueAsNew next;
  next.definition.workflow_type = command.text("workflow_type", longest_type);
  next.definition.queue = command.text("queue", longest_type);
  next.arguments = sent_arguments(command);
  return next;
}

struct CommandReader {
  std::string_view type;
  WorkflowCommand (*read)(Fields& command);
};
constexpr CommandReader command_readers[] = {
    {"schedule_activity", wire_schedule_activity},
    {"start_timer", wire_start_timer},
    {"start_child_workflow", wire_start_child},
    {"record_side_effect", wire_side_effect},
    {"record_version_marker", wire_version},
    {"upsert_search_attributes", wire_search_attributes},
    {"upsert_memo", wire_memo},
    {"open_condition_wait", wire_condition},
    {"open_signal_wait", wire_signal_wait},
    {"complete_update", wire_complete_update},
    {"fail_update", wire_fail_update},
    {"complete_workflow", wire_complete_workflow},
    {"fail_workflow", wire_fail_workflow},
    {"continue_as_new", wire_continue},
};

void read_command(const Value& given, std::size_t position, WireCommands& into) {
  std::string path = fmt::format("commands.{}", position);
  const auto* object = given.if_map();
  if (!object) {
    into.errors.emplace_back(std::move(path), Value::Array{"must be an object"});
    return;
  }
  Fields command{*object, std::move(path)};
  const std::string type = command.required_text("type", any_length);
  const auto* reader = std::ranges::find(command_readers, type, &CommandReader::type);
  if (reader != std::end(command_readers)) {
    refuse_strays(command, type);
    into.commands.push_back(reader->read(command));
  } else if (command.fine()) {
    command.wrong("type", fmt::format("'{}' is not a command", type));
  }
  std::ranges::move(command.take_errors(), std::back_inserter(into.errors));
}

}  // namespace

WireCommands read_commands(const Value* commands) {
  const auto* list = commands ? commands->if_array() : nullptr;
  if (!list) return {{}, {{"commands", Value::Array{"must be a list of commands"}}}};
  if (list->empty()) return {{}, {{"commands", Value::Array{"must have at least one command"}}}};
  WireCommands all;
  for (std::size_t i = 0; i < list->size(); ++i) read_command((*list)[i], i, all);
  // All of them or none: the others may rest on the one that could not be read.
  if (!all.errors.empty()) all.commands.clear();
  return all;
}

WireFailure read_failure(const Value* failure) {
  const auto* object = failure ? failure->if_map() : nullptr;
  if (!object) return {{}, {{"failure", Value::Array{"must be an object"}}}};
  Fields fields{*object, "failure"};
  WireFailure read;
  read.failure.message = sent_message(fields);
  read.failure.exception_class = fields.text("class", any_length);
  read.failure.exception_type = fields.text("type", any_length);
  const bool hopeless = fields.field("retryable") && !fields.flag("retryable");
  read.failure.non_retryable = fields.flag("non_retryable") || hopeless;
  read.failure.properties = sent_details(fields);
  read.failure.category = sent_category(fields);
  // Who was told to stop has stopped for good.
  if (read.failure.category == "cancelled") read.failure.non_retryable = true;
  read.failure.code = fields.whole("code", INT64_MIN, no_limit).value_or(0);
  read.failure.stack_trace = sent_trace(fields);
  read.errors = fields.take_errors();
  return read;
}

WirePayload read_result(const Value* result, std::string_view field) {
  WirePayload read;
  read.payload = result && is_envelope(*result) ? read_envelope(*result, field, read.errors)
                                                : encoded(result ? *result : Value{});
  return read;
}

}  // namespace dw::server
