#include "bundle/export.hpp"

#include "bundle/canonical.hpp"
#include "bundle/history_budget.hpp"
#include "bundle/payload_manifest.hpp"
#include "bundle/tree.hpp"
#include "history/codec.hpp"
#include "history/render.hpp"
#include "views/activities.hpp"
#include "views/failures.hpp"
#include "views/row_value.hpp"
#include "views/summary.hpp"
#include "views/task_rows.hpp"
#include "views/timeline.hpp"
#include "views/timers.hpp"
#include "views/waits.hpp"

#include <algorithm>
#include <iterator>

namespace dw::bundle {
namespace {

using views::Account;
using views::RowValue;

template <typename Row>
Value values_of(const std::vector<Row>& rows) {
  Value::Array values;
  values.reserve(rows.size());
  for (const Row& row : rows) values.push_back(to_value(row));
  return values;
}

Result<Value> facts_of(const history::EventBody& body) {
  std::string text;
  history::append_events(text, {&body, 1});
  Value list = DW_TRY(parse_json(text));
  return std::move(list.if_array()->front());
}

// Rendered for readers, and beside it the facts as they are stored: from these, and from nothing
// else in a bundle, a run can be replayed.
Result<Value> event_value(const CommitId& commit, const history::Event& event,
                          const std::string& rendered) {
  const Value shown = DW_TRY(parse_json(rendered));
  RowValue row;
  row("id", text_at(shown, "id"))("commit_id", commit)("sequence", event.sequence);
  row("type", history::type_name(event.body))("workflow_task_id", Value{});
  row("workflow_command_id", text_at(shown, "workflow_command_id"));
  row("recorded_at", event.recorded_at)("payload", *shown.find("payload"));
  row("facts", DW_TRY(facts_of(event.body)));
  return row.take();
}

class Exporter {
 public:
  Exporter(const Inputs& inputs, const Options& options)
      : in_(inputs), options_(options), sight_(inputs.sight) {}

  Result<Value> take() {
    events_ = events_of(in_.commits);
    account_ = DW_TRY(views::account_of(in_.run_id, events_));
    sight_.history_bytes = history_size(in_.commits).size_bytes;
    summary_ = views::summarize(account_, sight_);
    Value bundle = DW_TRY(contents());
    keep_later_of_twins(bundle);
    const auto payloads = find_payloads(bundle);
    const auto redaction = DW_TRY(redacted(bundle));
    auto& map = *bundle.if_map();
    map.emplace_back("redaction", redaction_value(redaction));
    map.emplace_back("codec_schemas", codec_schemas(payloads));
    map.emplace_back("payload_manifest", payload_manifest(payloads, redaction));
    map.emplace_back("integrity", integrity_of(bundle, options_.key));
    return bundle;
  }

 private:
  Result<Value> contents() {
    const auto& state = account_.state;
    const auto tasks = views::task_rows(account_, sight_);
    auto lives = DW_TRY(lifecycles_of(account_, events_, in_.refusals, tasks));
    DW_TRY_VOID(render());
    RowValue row;
    row("schema", bundle_schema)("schema_version", bundle_schema_version);
    row("exported_at", sight_.now);
    row("dedupe_key", in_.run_id.str() + ":" + std::to_string(state.last_sequence) + ":" +
                          format_timestamp(state.last_recorded_at));
    row("history_complete", summary_.is_terminal);
    row("workflow", workflow())("payloads", payloads())("summary", to_value(summary_));
    row("selected_run", selected_run())("history_events", Value{std::move(history_events_)});
    row("waits", values_of(views::wait_rows(account_, sight_)))("timeline", timeline_);
    row("linked_intakes_scope", "selected_run");
    row("linked_intakes", Value{std::move(lives.linked_intakes)});
    row("commands", Value{std::move(lives.commands)});
    row("signals", Value{std::move(lives.signals)})("updates", Value{std::move(lives.updates)});
    row("tasks", values_of(tasks))("activities", activities());
    row("timers", values_of(views::timer_rows(account_, sight_.foreign)));
    row("failures", failures())("links", links());
    return row.take();
  }

  Result<void> render() {
    history::Renderer renderer{in_.run_id};
    std::vector<std::string> all;
    for (const Commit& commit : in_.commits) {
      auto rendered = DW_TRY(renderer.render(commit.id, commit.events));
      for (std::size_t i = 0; i < rendered.size(); ++i) {
        history_events_.push_back(DW_TRY(event_value(commit.id, commit.events[i], rendered[i])));
        all.push_back(std::move(rendered[i]));
      }
    }
    timeline_ = values_of(DW_TRY(views::timeline_rows(all)));
    return {};
  }

  Value workflow() const {
    const auto& state = account_.state;
    const RunId& current = summary_.is_current_run ? in_.run_id : sight_.current_run;
    Value::Map labels;
    for (const auto& [key, label] : summary_.labels) labels.emplace_back(key, label);
    RowValue row;
    row("instance_id", summary_.instance_id)("run_id", in_.run_id);
    row("run_number", summary_.run_number)("namespace", summary_.ns);
    row("is_current_run", summary_.is_current_run)("current_run_id", current);
    row("current_run_source", current_run_source())("workflow_type", summary_.workflow_type);
    row("workflow_class", summary_.workflow_class)("business_key", summary_.business_key);
    row("visibility_labels", Value{std::move(labels)})("memo", state.memo);
    row("search_attributes", state.search_attributes)("status", summary_.status);
    row("status_bucket", summary_.status_bucket)("closed_reason", summary_.closed_reason);
    row("archived_at", summary_.archived_at)("archive_command_id", summary_.archive_command_id);
    row("archive_reason", summary_.archive_reason)("compatibility", summary_.compatibility);
    row("connection", summary_.connection)("queue", summary_.queue);
    row("payload_codec", state.start.arguments.codec);
    row("last_history_sequence", state.last_sequence)("started_at", summary_.started_at);
    row("closed_at", summary_.closed_at)("last_progress_at", state.last_recorded_at);
    row("declared_contract_source", summary_.declared_contract_source);
    return row.take();
  }
  // What this run knows by itself: it is current, and it is one that continues another, or not.
  std::string current_run_source() const {
    if (!in_.current_run_source.empty() || !summary_.is_current_run) return in_.current_run_source;
    const auto& lineage = account_.state.start.lineage;
    const bool continues = lineage && !lineage->continued_from_run_id.empty();
    return continues ? "continue_as_new_lineage" : "run_order_fallback";
  }

  Value payloads() const {
    const auto& state = account_.state;
    const Payload& arguments = state.start.arguments;
    RowValue in, out, row;
    in("available", true)("data", payload_text(arguments));
    out("available", state.output.has_value());
    out("codec", state.output ? state.output->codec : arguments.codec);
    out("data", state.output ? payload_text(*state.output) : Value{});
    row("codec", arguments.codec)("arguments", in.take())("output", out.take());
    return row.take();
  }

  Value selected_run() const {
    RowValue row;
    row("waits_projection_source", in_.sources.waits);
    row("timeline_projection_source", in_.sources.timeline);
    row("timers_projection_source", in_.sources.timers);
    row("timers_projection_rebuild_reasons", in_.sources.timers_rebuild_reasons);
    row("lineage_projection_source", in_.sources.lineage);
    return row.take();
  }

  // The rows operators see, with payloads as text and the names of their codecs.
  Value activities() const {
    Value::Array values;
    for (const auto& activity : views::activity_rows(account_, sight_.foreign)) {
      Value value = to_value(activity);
      const auto* known = activity.account;
      auto& map = *value.if_map();
      const auto replace = [&](std::string_view key, std::string codec_key,
                               const Payload* payload) {
        if (Value* cell = find_at(value, key)) *cell = payload ? payload_text(*payload) : Value{};
        map.emplace_back(std::move(codec_key), payload ? Value{payload->codec} : Value{});
      };
      replace("arguments", "payload_codec", known ? &known->scheduled.arguments : nullptr);
      replace("result", "result_payload_codec", known && known->result ? &*known->result : nullptr);
      values.push_back(std::move(value));
    }
    return values;
  }

  // The rows operators see. Where an exception was thrown is not recorded; the keys are there for
  // readers of other engines.
  Value failures() const {
    Value::Array values;
    for (const auto& failure : views::failure_rows(account_, sight_.foreign)) {
      Value value = to_value(failure);
      const auto resolution =
          in_.resolve ? in_.resolve(failure.failure.failure) : FailureResolution{};
      RowValue row;
      row("exception_resolved_class", resolution.resolved_class);
      row("exception_resolution_source", resolution.source);
      row("exception_resolution_error", resolution.error);
      row("exception_replay_blocked", resolution.replay_blocked);
      row("file", "")("line", Value{});
      Value more = row.take();
      std::ranges::move(*more.if_map(), std::back_inserter(*value.if_map()));
      values.push_back(std::move(value));
    }
    return values;
  }

  Value links() const {
    const Value lineage = to_value(views::lineage_of(account_, sight_.foreign, in_.relatives));
    RowValue row;
    row("projection_source", in_.sources.lineage)("parents", *lineage.find("parents"));
    row("children", *lineage.find("continued_workflows"));
    return row.take();
  }

  Result<Redaction> redacted(Value& bundle) const {
    if (!options_.redactor) return Redaction{};
    return redact(bundle, options_.redactor,
                  {{}, {}, summary_.instance_id, in_.run_id, summary_.workflow_type});
  }
  Value redaction_value(const Redaction& redaction) const {
    const bool applied = static_cast<bool>(options_.redactor);
    RowValue row;
    row("applied", applied)("policy", applied ? options_.policy : std::string{});
    row("paths", redaction.paths);
    return row.take();
  }

  const Inputs& in_;
  const Options& options_;
  views::Sight sight_;
  std::vector<history::Event> events_;
  Account account_;
  views::Summary summary_;
  Value::Array history_events_;
  Value timeline_;
};

}  // namespace

Result<std::string> export_bundle(const Inputs& inputs, const Options& options) {
  const Value bundle = DW_TRY(Exporter(inputs, options).take());
  return options.pretty ? pretty_json(bundle) : to_json(bundle);
}

}  // namespace dw::bundle
