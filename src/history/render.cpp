#include "history/render.hpp"

#include "core/base64.hpp"
#include "core/external_payload.hpp"
#include "core/ulid.hpp"
#include "history/codec.hpp"
#include "history/declarations.hpp"
#include "history/event_renderer.hpp"
#include "history/run_state.hpp"

#include <fmt/format.h>

namespace dw::history {

namespace {

// A child taken over from the run before is no step of this one, and replaying code would take what
// becomes of it for one: under this name no worker looks at it.
constexpr std::string_view inherited_mark = "Inherited";

}  // namespace

std::string Renderer::type_for_reader(const EventBody& body) const {
  std::string name{type_name(body)};
  if (reader_ == Reader::anybody) return name;
  const auto of_child = [&](const auto& e) {
    if constexpr (requires { e.call_id; }) {
      const auto child = children_.find(e.call_id);
      return child != children_.end() && child->second.scheduled.step == 0;
    }
    return false;
  };
  if (std::visit(of_child, static_cast<const AnyEvent&>(body))) name.insert(0, inherited_mark);
  return name;
}

Result<std::vector<std::string>> Renderer::render(const CommitId& commit,
                                                  std::span<const Event> events) {
  for (const Event& event : events) {
    if (const auto* start = std::get_if<WorkflowStarted>(&event.body)) {
      start_ = *start;
      start_.arguments = {};
      started_at_ = event.recorded_at;
    }
  }
  constexpr std::size_t usual_length = 1024;  // of an event
  std::vector<std::string> rendered;
  rendered.reserve(events.size());
  for (const Event& event : events) {
    std::string& text = rendered.emplace_back();
    text.reserve(usual_length);
    JsonWriter out{text};
    EventRenderer renderer{*this, event, out};
    out.begin_object()
        .field("id", std::string_view{ulid_offset(commit.view(),
                                                  static_cast<std::uint32_t>(rendered.size() - 1))})
        .field("run_id", run_id_.view())
        .field("sequence", event.sequence)
        .field(reader_ == Reader::worker ? "event_type" : "type",
               std::string_view{type_for_reader(event.body)})
        .key("payload")
        .begin_object();
    DW_TRY_VOID(std::visit(renderer, event.body));
    out.end_object().field("recorded_at", event.recorded_at);
    if (const auto& id = renderer.command_id(); !id.empty()) {
      out.field("workflow_command_id", id.view());
    } else if (reader_ == Reader::worker) {
      out.key("workflow_command_id").raw("null");
    }
    // Nobody needs to know, but workers are promised the key.
    if (reader_ == Reader::worker) out.key("workflow_task_id").raw("null");
    out.end_object();
  }
  return rendered;
}

// ---- what all share

Error EventRenderer::no(std::string_view why) const {
  return {ErrorCode::corrupt_history,
          fmt::format("cannot show event {} ({}) of run {}: {}", event_.sequence,
                      type_name(event_.body), r_.run_id_.str(), why)};
}

void EventRenderer::text(std::string_view name, std::string_view value) {
  if (!value.empty()) out_.field(name, value);
}
void EventRenderer::value(std::string_view name, const Value& value) {
  out_.key(name).raw(to_json(value));
}
void EventRenderer::payload(std::string_view name, const Payload& payload) {
  bare_payload(name, payload);
  out_.field("payload_codec", view(payload.codec));
}
void EventRenderer::bare_payload(std::string_view name, const Payload& payload) {
  // There is no text that could stand for what lies elsewhere: readers take the envelope, too.
  if (find_external_reference(payload)) return enveloped(name, payload);
  out_.key(name);
  if (payload.codec == json_codec) {
    out_.value(view(payload.bytes));
  } else {
    out_.value(view(encode_base64(payload.bytes)));
  }
}

void EventRenderer::enveloped(std::string_view name, const Payload& payload) {
  const auto reference = find_external_reference(payload);
  if (!reference) {
    out_.field(name, payload);
    return;
  }
  out_.key(name).begin_object().field("codec", view(payload.codec));
  value("external_storage", *reference);
  out_.end_object();
}

void EventRenderer::run_keys() {
  out_.field("workflow_instance_id", r_.start_.instance_id.view())
      .field("workflow_run_id", r_.run_id_.view());
}
void EventRenderer::commanded(const Command& by) {
  command_id_ = by.id;
  out_.field("workflow_command_id", by.id.view());
  run_keys();
}
void EventRenderer::command(std::string_view type, const Command& by, const Verdict& verdict) {
  out_.key("command")
      .begin_object()
      .field("id", by.id.view())
      .field("sequence", by.sequence)
      .field("type", type)
      .field("target_scope", by.on_run ? "run" : "instance");
  if (by.on_run) out_.field("requested_run_id", r_.run_id_.view());
  out_.field("resolved_run_id", r_.run_id_.view());
  text("target_name", verdict.target_name);
  out_.field("source", view(by.source));
  if (by.context) command_context(*by.context);
  out_.field("status", verdict.status);
  text("outcome", verdict.outcome);
  text("rejection_reason", verdict.rejection_reason);
  out_.field(verdict.status == "accepted" ? "accepted_at" : "rejected_at", event_.recorded_at)
      .end_object();
}
void EventRenderer::command_context(const CommandContext& context) {
  out_.key("context").begin_object();
  if (!context.parent_run_id.empty()) {
    out_.key("workflow")
        .begin_object()
        .field("parent_instance_id", view(context.parent_instance_id))
        .field("parent_run_id", view(context.parent_run_id))
        .field("sequence", context.parent_step);
    text("child_call_id", context.child_call_id);
    out_.end_object();
  }
  if (!context.intake_mode.empty()) {
    out_.key("intake")
        .begin_object()
        .field("mode", view(context.intake_mode))
        .field("group_id", view(context.intake_group))
        .end_object();
  }
  out_.end_object();
}

void EventRenderer::failure_keys(const FailureId& id, std::string_view category) {
  out_.field("failure_id", id.view()).field("failure_category", category);
}
void EventRenderer::exception(const Failure& failure, bool with_code) {
  text("exception_type", failure.exception_type);
  exception_class("exception_class", failure);
  out_.field("message", view(failure.message));
  if (with_code) out_.field("code", failure.code);
  out_.key("exception");
  exception_payload(failure);
}
// Which structural limit it was; for other failures nothing.
void EventRenderer::broken_limit(const Failure& failure) {
  if (failure.limit_configured == 0) return;
  out_.field("structural_limit_kind", view(failure.exception_type))
      .field("structural_limit_value", failure.limit_value)
      .field("structural_limit_configured", failure.limit_configured);
}
// Workers in languages without classes leave it out, and are not shown an empty one.
void EventRenderer::exception_class(std::string_view name, const Failure& failure) {
  if (r_.reader_ == Reader::worker) return text(name, failure.exception_class);
  out_.field(name, view(failure.exception_class));
}
void EventRenderer::exception_payload(const Failure& failure) {
  out_.begin_object();
  exception_class("class", failure);
  text("type", failure.exception_type);
  out_.field("message", view(failure.message)).field("code", failure.code);
  text("stack_trace", failure.stack_trace);
  // It is by this key that readers tell what a worker elsewhere reported.
  if (!failure.category.empty()) out_.field("non_retryable", failure.non_retryable);
  if (failure.properties && r_.reader_ == Reader::worker) {
    bare_payload("details", *failure.properties);
    out_.field("details_payload_codec", view(failure.properties->codec));
  } else if (failure.properties) {
    properties(failure.exception_class, *failure.properties);
  }
  out_.end_object();
}
void EventRenderer::properties(const std::string& declaring_class, const Payload& properties) {
  const auto decoded = decode(properties);
  const auto* entries = decoded ? decoded->if_map() : nullptr;
  if (!entries) {
    enveloped("properties", properties);
    return;
  }
  Value::Array list;
  for (const auto& [name, property] : *entries) {
    list.emplace_back(
        Value::Map{{"declaring_class", declaring_class}, {"name", name}, {"value", property}});
  }
  value("properties", list);
}

// The innermost barrier flat, then all of them, outermost first.
void EventRenderer::group_keys(const GroupPath& path) {
  if (path.empty()) return;
  one_group(path.back());
  out_.key("parallel_group_path").begin_array();
  for (const Group& group : path) {
    out_.begin_object();
    one_group(group);
    out_.end_object();
  }
  out_.end_array();
}
void EventRenderer::one_group(const Group& group) {
  out_.field("parallel_group_id", view(group_id(group)))
      .field("parallel_group_kind", to_string(group.kind))
      .field("parallel_group_base_sequence", group.base)
      .field("parallel_group_size", group.size)
      .field("parallel_group_index", group.index);
}

// ---- start

Result<void> EventRenderer::operator()(const StartAccepted& e) {
  if (r_.start_command_.empty()) r_.start_command_ = e.command.id;
  commanded(e.command);
  started_keys();
  out_.field("outcome", view(e.outcome));
  command("start", e.command, {.outcome = e.outcome});
  return {};
}

Result<void> EventRenderer::operator()(const StartRejected& e) {
  commanded(e.command);
  started_keys();
  out_.field("outcome", "rejected_duplicate").field("rejection_reason", view(e.rejection_reason));
  command("start", e.command,
          {.status = "rejected",
           .outcome = "rejected_duplicate",
           .rejection_reason = e.rejection_reason});
  return {};
}

Result<void> EventRenderer::operator()(const WorkflowStarted& e) {
  command_id_ = r_.start_command_;
  text("workflow_command_id", command_id_.view());
  run_keys();
  started_keys();
  text("namespace", e.ns.view());
  text("workflow_definition_fingerprint", e.fingerprint);
  if (e.declared) declared_keys(*e.declared);
  if (e.lineage) lineage_keys(*e.lineage);
  out_.field("run_number", e.run_number)
      .field("execution_timeout_seconds", e.execution_timeout)
      .field("run_timeout_seconds", e.run_timeout);
  deadlines();
  text("connection", e.connection);
  text("queue", e.queue);
  text("compatibility", e.compatibility);
  precedence_keys(e.precedence);
  payload("arguments", e.arguments);
  out_.field("timestamp", event_.recorded_at);
  return {};
}

void EventRenderer::started_keys() {
  const WorkflowStarted& start = r_.start_;
  text("workflow_class", start.workflow_class);
  out_.field("workflow_type", view(start.workflow_type));
  text("business_key", start.business_key);
  if (!start.labels.empty()) {
    Value::Map labels;
    for (const auto& [key, label] : start.labels) labels.emplace_back(key, label);
    value("visibility_labels", labels);
  }
  if (start.memo) value("memo", *start.memo);
  if (start.search_attributes) value("search_attributes", *start.search_attributes);
}

void EventRenderer::precedence_keys(const Precedence& precedence) {
  const Precedence usual;
  if (precedence.priority != usual.priority) out_.field("priority", precedence.priority);
  text("fairness_key", precedence.fairness_key);
  if (precedence.fairness_weight != usual.fairness_weight) {
    out_.field("fairness_weight", precedence.fairness_weight);
  }
}

// All or none: whoever finds one of these keys finds them all.
void EventRenderer::declared_keys(const Declarations& declared) {
  const auto list = [&](std::string_view names, std::string_view contracts,
                        const std::vector<Contract>& all) {
    value(names, declared_names(all));
    value(contracts, declared_contracts(all));
  };
  list("declared_queries", "declared_query_contracts", declared.queries);
  list("declared_signals", "declared_signal_contracts", declared.signals);
  list("declared_updates", "declared_update_contracts", declared.updates);
  const WorkflowStarted& start = r_.start_;
  out_.field("declared_entry_method", "handle")
      .field("declared_entry_mode", "canonical")
      .field("declared_entry_declaring_class",
             view(start.workflow_class.empty() ? start.workflow_type : start.workflow_class));
}

void EventRenderer::lineage_keys(const Lineage& lineage) {
  if (!lineage.parent_run_id.empty()) {
    out_.field("parent_workflow_instance_id", view(lineage.parent_instance_id))
        .field("parent_workflow_run_id", view(lineage.parent_run_id))
        .field("parent_sequence", lineage.parent_step);
  }
  text("child_call_id", lineage.call_id);
  text("continued_from_run_id", lineage.continued_from_run_id);
  child_retry_keys(lineage.retry_policy, lineage.retry_attempt, lineage.retry_of_run_id);
  // The link that led here: from the run before, else from the parent.
  text("workflow_link_id",
       lineage.continued_from_run_id.empty() ? view(lineage.call_id) : r_.run_id_.view());
  for (const InheritedChild& child : lineage.inherited_children) {
    Child inherited;
    inherited.scheduled.call_id = child.call_id;
    inherited.scheduled.instance_id = child.instance_id;
    inherited.scheduled.policy = child.policy;
    inherited.run_id = child.run_id;
    r_.children_.insert_or_assign(child.call_id, std::move(inherited));
  }
  if (lineage.inherited_children.empty()) return;
  out_.key("inherited_children").begin_array();
  for (const InheritedChild& child : lineage.inherited_children) {
    out_.begin_object()
        .field("child_call_id", child.call_id.view())
        .field("child_workflow_instance_id", child.instance_id.view())
        .field("child_workflow_run_id", child.run_id.view())
        .field("parent_close_policy", to_string(child.policy))
        .end_object();
  }
  out_.end_array();
}

void EventRenderer::deadlines() {
  out_.field("execution_deadline_at", execution_deadline(r_.start_, r_.started_at_))
      .field("run_deadline_at", run_deadline(r_.start_, r_.started_at_));
}

// ---- steps that are answered at once

Result<void> EventRenderer::operator()(const SideEffectRecorded& e) {
  // No codec beside it in the contract, so the value names its own.
  out_.field("sequence", e.step);
  enveloped("result", e.result);
  return {};
}

Result<void> EventRenderer::operator()(const VersionMarkerRecorded& e) {
  out_.field("sequence", e.step)
      .field("change_id", view(e.change_id))
      .field("version", e.version)
      .field("min_supported", e.min_supported)
      .field("max_supported", e.max_supported);
  return {};
}

Result<void> EventRenderer::operator()(const SearchAttributesUpserted& e) {
  auto& current = r_.start_.search_attributes;
  current = merged(current, e.attributes);
  out_.field("sequence", e.step);
  value("attributes", e.attributes);
  value("merged", current.value_or(Value::Map{}));
  return {};
}

Result<void> EventRenderer::operator()(const MemoUpserted& e) {
  auto& current = r_.start_.memo;
  current = merged(current, e.entries);
  out_.field("sequence", e.step);
  if (r_.reader_ == Reader::worker) {
    // Workers sent an envelope, and compare it with the one they would send now.
    out_.field("entries", DW_TRY(encode(e.entries)));
    out_.field("merged", DW_TRY(encode(current.value_or(Value::Map{}))));
  } else {
    value("entries", e.entries);
    value("merged", current.value_or(Value::Map{}));
  }
  return {};
}

Result<void> EventRenderer::operator()(const ScheduleTriggered& e) {
  out_.field("schedule_id", e.schedule_id);
  out_.field("schedule_ulid", e.schedule_ulid);
  if (!e.cron_expression.empty()) out_.field("cron_expression", e.cron_expression);
  if (!e.timezone.empty()) out_.field("timezone", e.timezone);
  if (!e.overlap_policy.empty()) out_.field("overlap_policy", e.overlap_policy);
  out_.field("trigger_number", e.trigger_number);
  if (e.occurrence_time) out_.field("occurrence_time", *e.occurrence_time);
  return {};
}

Result<void> EventRenderer::operator()(const FailureHandled& e) {
  const auto* raised = DW_TRY(find(r_.raised_, e.failure_id, "the failure was never raised"));
  failure_keys(e.failure_id, raised->category);
  out_.field("sequence", e.step)
      .field("source_kind", raised->source_kind)
      .field("source_id", view(raised->source_id))
      .field("propagation_kind", raised->propagation_kind)
      .field("exception_class", view(raised->failure.exception_class));
  text("exception_type", raised->failure.exception_type);
  out_.field("message", view(raised->failure.message)).field("handled", true);
  r_.raised_.erase(e.failure_id);
  return {};
}

// ---- commands on a run, and its end

Result<void> EventRenderer::operator()(const RepairRequested& e) {
  commanded(e.command);
  out_.field("command_type", "repair").field("outcome", view(e.outcome));
  const std::pair<std::string_view, const std::string*> found[] = {
      {"liveness_state", &e.liveness_state},
      {"wait_kind", &e.wait_kind},
      {"task_id", &e.task_id},
      {"task_type", &e.task_type}};
  for (const auto& [key, text] : found) {
    if (!text->empty()) out_.field(key, view(*text));
  }
  command("repair", e.command, {.outcome = e.outcome});
  return {};
}
Result<void> EventRenderer::operator()(const CancelRequested& e) {
  closes("cancel", "cancelled", e.command, e.reason);
  return {};
}
Result<void> EventRenderer::operator()(const TerminateRequested& e) {
  closes("terminate", "terminated", e.command, e.reason);
  return {};
}
void EventRenderer::closes(std::string_view type, std::string_view outcome, const Command& by,
                           const std::string& reason) {
  r_.closing_command_ = by.id;
  commanded(by);
  out_.field("command_type", type);
  text("reason", reason);
  command(type, by, {.outcome = outcome});
}

Result<void> EventRenderer::operator()(const WorkflowCancelled& e) {
  closed("cancelled", e.failure_id, failure_of(e), e.reason);
  return {};
}
Result<void> EventRenderer::operator()(const WorkflowTerminated& e) {
  closed("terminated", e.failure_id, failure_of(e), e.reason);
  return {};
}
void EventRenderer::closed(std::string_view as, const FailureId& id, const Failure& failure,
                           const std::string& reason) {
  command_id_ = r_.closing_command_;
  text("workflow_command_id", command_id_.view());
  run_keys();
  failure_keys(id, as);
  out_.field("closed_reason", as)
      .field("exception_class", view(failure.exception_class))
      .field("message", view(failure.message));
  text("reason", reason);
}

Result<void> EventRenderer::operator()(const WorkflowTimedOut& e) {
  const Failure failure = failure_of(e);
  failure_keys(e.failure_id, "timeout");
  out_.field("timeout_kind", view(e.timeout_kind))
      .field("message", view(failure.message))
      .field("exception_class", view(failure.exception_class));
  deadlines();
  text("retried_to_run_id", e.retried_as.view());
  return {};
}
Result<void> EventRenderer::operator()(const WorkflowCompleted& e) {
  payload("output", e.output);
  return {};
}
Result<void> EventRenderer::operator()(const WorkflowFailed& e) {
  failure_keys(e.failure_id, e.category);
  out_.field("source_kind", "workflow_run")
      .field("source_id", r_.run_id_.view())
      .field("non_retryable", e.failure.non_retryable);
  exception(e.failure, /*with_code=*/false);
  broken_limit(e.failure);
  text("retried_to_run_id", e.retried_as.view());
  return {};
}
Result<void> EventRenderer::operator()(const WorkflowContinuedAsNew& e) {
  // A run is continued to once at most, so its id names the link too.
  out_.field("sequence", e.step)
      .field("continued_to_run_id", e.run_id.view())
      .field("continued_to_run_number", e.run_number)
      .field("workflow_link_id", e.run_id.view())
      .field("closed_reason", "continued");
  return {};
}

Result<void> EventRenderer::operator()(const ArchiveRequested& e) {
  commanded(e.command);
  out_.field("command_type", "archive").field("outcome", view(e.outcome));
  text("reason", e.reason);
  command("archive", e.command, {.outcome = e.outcome});
  return {};
}
Result<void> EventRenderer::operator()(const WorkflowArchived& e) {
  command_id_ = e.command_id;
  out_.field("workflow_command_id", e.command_id.view());
  run_keys();
  out_.field("archive_command_id", e.command_id.view());
  text("reason", e.reason);
  return {};
}

}  // namespace dw::history
