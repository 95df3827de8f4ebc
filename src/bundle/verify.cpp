#include "bundle/verify.hpp"

#include "bundle/export.hpp"
#include "bundle/findings.hpp"
#include "bundle/payload_manifest.hpp"
#include "bundle/tree.hpp"
#include "views/row_value.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace dw::bundle {
namespace {

using views::RowValue;

struct Section {
  std::string_view name;
  Value::Kind kind;
  Severity severity;  // of its absence
};
// Without the first a bundle cannot be worked with; without the others it is only poorer.
constexpr Section sections[] = {
    {"workflow", Value::Kind::map, Severity::error},
    {"payloads", Value::Kind::map, Severity::error},
    {"history_events", Value::Kind::array, Severity::error},
    {"commands", Value::Kind::array, Severity::error},
    {"signals", Value::Kind::array, Severity::error},
    {"updates", Value::Kind::array, Severity::error},
    {"tasks", Value::Kind::array, Severity::error},
    {"activities", Value::Kind::array, Severity::error},
    {"timers", Value::Kind::array, Severity::error},
    {"failures", Value::Kind::array, Severity::error},
    {"links", Value::Kind::map, Severity::error},
    {"redaction", Value::Kind::map, Severity::error},
    {"codec_schemas", Value::Kind::map, Severity::error},
    {"payload_manifest", Value::Kind::map, Severity::error},
    {"summary", Value::Kind::map, Severity::warning},
    {"selected_run", Value::Kind::map, Severity::warning},
    {"waits", Value::Kind::array, Severity::warning},
    {"timeline", Value::Kind::array, Severity::warning},
    {"linked_intakes", Value::Kind::array, Severity::warning},
};

void check_envelope(const Value& bundle, Findings& findings) {
  const Value* schema = bundle.find("schema");
  if (!schema) {
    findings.error("bundle.schema_missing", "the bundle names no schema", "schema");
  } else if (*schema != Value{bundle_schema}) {
    findings.error("bundle.schema_unexpected",
                   fmt::format("schema {} is not {}", to_json(*schema), bundle_schema), "schema");
  }
  const Value* version = bundle.find("schema_version");
  if (!version) {
    findings.error("bundle.schema_version_missing", "the bundle names no schema version",
                   "schema_version");
  } else if (*version != Value{bundle_schema_version}) {
    findings.error(
        "bundle.schema_version_unsupported",
        fmt::format("schema version {} is not {}", to_json(*version), bundle_schema_version),
        "schema_version");
  }
  if (text_at(bundle, "exported_at").empty()) {
    findings.warning("bundle.exported_at_missing", "the bundle does not say when it was exported",
                     "exported_at");
  }
}

void check_sections(const Value& bundle, Findings& findings) {
  for (const Section& section : sections) {
    const std::string name{section.name};
    const Value* found = bundle.find(section.name);
    const auto report = [&](std::string rule, std::string message) {
      if (section.severity == Severity::error) {
        findings.error(std::move(rule), std::move(message), name);
      } else {
        findings.warning(std::move(rule), std::move(message), name);
      }
    };
    if (!found) {
      report("bundle.section_missing", fmt::format("section {} is missing", name));
    } else if (found->kind() != section.kind) {
      report("bundle.section_invalid",
             fmt::format("section {} is of kind {}, not {}", name, to_string(found->kind()),
                         to_string(section.kind)));
    }
  }
}

void check_workflow(const Value& bundle, Findings& findings) {
  const Value* workflow = bundle.find("workflow");
  if (!workflow || !workflow->if_map()) return;
  for (const std::string key : {"run_id", "instance_id", "workflow_type"}) {
    if (!text_at(*workflow, key).empty()) continue;
    findings.error("workflow." + key + "_missing", "workflow." + key + " is missing",
                   "workflow." + key);
  }
  const Value* last = workflow->find("last_history_sequence");
  const auto expected =
      fmt::format("{}:{}:{}", text_at(*workflow, "run_id"), last ? to_json(*last) : "",
                  text_at(*workflow, "last_progress_at"));
  if (text_at(bundle, "dedupe_key") != expected) {
    findings.error("bundle.dedupe_key_mismatch",
                   fmt::format("dedupe_key is \"{}\", the run says \"{}\"",
                               text_at(bundle, "dedupe_key"), expected),
                   "dedupe_key");
  }
}

void check_commands(const Value& bundle, Findings& findings) {
  const Value* commands = bundle.find("commands");
  if (!commands || !commands->if_array()) return;
  std::set<std::string> told;
  for (const auto& path : paths_of(bundle, "history_events.*.workflow_command_id")) {
    if (const auto* id = find_at(bundle, path)->if_string()) told.insert(*id);
  }
  for (std::size_t i = 0; i < commands->if_array()->size(); ++i) {
    const Value& command = (*commands->if_array())[i];
    const auto place = fmt::format("commands.{}", i);
    const auto id = text_at(command, "id");
    if (id.empty()) {
      findings.error("commands.id_missing", "a command has no id", place);
    } else if (!told.contains(id)) {
      const bool refused = text_at(command, "status") == "rejected";
      const auto message = fmt::format("no event speaks of command {}", id);
      // What was refused at the door has left no event, and needs none.
      refused ? findings.info("commands.history_event_missing", message, place)
              : findings.warning("commands.history_event_missing", message, place);
    }
  }
}

void check_manifest_entry(const Value& bundle, const Value& entry, Findings& findings) {
  const auto path = text_at(entry, "path");
  const auto is = [&](std::string_view key) {
    const Value* flag = entry.find(key);
    return flag && flag->if_boolean() && *flag->if_boolean();
  };
  const bool available = is("available");
  if (text_at(entry, "codec").empty()) {
    findings.error("payload_manifest.codec_missing", "a payload is listed without its codec", path);
  }
  const Value* found = find_at(bundle, path);
  const bool missing =
      !found || found->is_null() || text_at(entry, "diagnostic") == "payload_missing";
  if (available && !is("redacted") && missing) {
    findings.error("payload_manifest.payload_missing",
                   "a payload is listed as available and is not there", path);
  }
  if (!available || text_at(entry, "codec") != avro_codec) return;
  if (text_at(entry, "avro_framing").empty()) {
    findings.warning("payload_manifest.avro_framing_missing",
                     "an Avro payload is listed without its framing", path);
  }
  const auto fingerprint = text_at(entry, "writer_schema_fingerprint");
  const auto schema = text_at(entry, "writer_schema");
  if (!fingerprint.empty() && !schema.empty() && avro_schema(fingerprint) != schema) {
    findings.error("payload_manifest.writer_schema_fingerprint_mismatch",
                   fmt::format("{} is not the fingerprint of the schema listed", fingerprint),
                   path);
  }
}

void check_manifest(const Value& bundle, Findings& findings) {
  const Value* entries = find_at(bundle, "payload_manifest.entries");
  if (!entries || !entries->if_array()) return;
  std::set<std::string> listed;
  for (const Value& entry : *entries->if_array()) {
    listed.insert(text_at(entry, "path"));
    check_manifest_entry(bundle, entry, findings);
  }
  for (const auto& payload : find_payloads(bundle)) {
    if (listed.contains(payload.path)) continue;
    findings.warning("payload_manifest.entry_missing", "a payload is there and not listed",
                     payload.path);
  }
}

void check_redaction(const Value& bundle, Findings& findings) {
  const Value* applied = find_at(bundle, "redaction.applied");
  const Value* paths = find_at(bundle, "redaction.paths");
  const bool named = paths && paths->if_array() && !paths->if_array()->empty();
  if (applied && *applied == Value{true} && !named) {
    findings.info("redaction.empty_paths", "the bundle is redacted and does not say where",
                  "redaction.paths");
  }
}

Value identity(const Value& bundle) {
  const Value none;
  const Value* workflow = bundle.find("workflow");
  const Value* version = bundle.find("schema_version");
  const Value* events = bundle.find("history_events");
  const auto instance = text_at(workflow ? *workflow : none, "instance_id");
  const auto run = text_at(workflow ? *workflow : none, "run_id");
  const auto count = events && events->if_array() ? events->if_array()->size() : 0;
  RowValue row;
  row("schema", text_at(bundle, "schema"));
  row("schema_version", version && version->if_integer() ? *version : none);
  row("instance_id", instance)("run_id", run);
  row("workflow_instance_id", instance)("workflow_run_id", run);
  row("history_event_count", static_cast<std::int64_t>(count));
  return row.take();
}

std::string_view to_string(Severity severity) {
  switch (severity) {
    case Severity::info:
      return "info";
    case Severity::warning:
      return "warning";
    case Severity::error:
      return "error";
  }
  return {};
}

std::int64_t count(const Verification& verification, Severity severity) {
  return std::ranges::count(verification.findings, severity, &Finding::severity);
}

}  // namespace

Verification verify_bundle(std::string_view text, const VerifyOptions& options) {
  const auto parsed = parse_json(text);
  Verification verification;
  Findings findings;
  if (parsed && parsed->if_map()) {
    if (const auto twin = find_twin(*parsed)) {
      findings.error("bundle.duplicate_key",
                     fmt::format("{} is said twice, and readers disagree on which counts", *twin),
                     *twin);
    }
    check_envelope(*parsed, findings);
    check_sections(*parsed, findings);
    check_workflow(*parsed, findings);
    check_history(*parsed, findings);
    check_commands(*parsed, findings);
    check_manifest(*parsed, findings);
    check_redaction(*parsed, findings);
    verification.integrity = check_integrity(*parsed, options, findings);
    verification.bundle = identity(*parsed);
  } else {
    findings.error("bundle.unparseable", parsed
                                             ? "a history bundle is a JSON object"
                                             : "the text is no bundle: " + parsed.error().message);
    Findings unheard;  // what is no bundle lacks everything; once is enough to say so
    verification.integrity = check_integrity({}, options, unheard);
    verification.bundle = identity({});
  }
  verification.findings = findings.take();
  return verification;
}

std::string_view Verification::status() const {
  if (count(*this, Severity::error) > 0) return "failed";
  return count(*this, Severity::warning) > 0 ? "warning" : "ok";
}

bool Verification::has(std::string_view rule) const {
  return std::ranges::find(findings, rule, &Finding::rule) != findings.end();
}

Value to_value(const Verification& verification) {
  Value::Array findings;
  Value::Map by_rule;
  for (const Finding& finding : verification.findings) {
    RowValue row;
    row("rule", finding.rule)("severity", to_string(finding.severity));
    row("message", finding.message)("path", finding.path);
    findings.push_back(row.take());
    const auto known =
        std::ranges::find(by_rule, finding.rule, [](const auto& entry) { return entry.first; });
    if (known == by_rule.end()) {
      by_rule.emplace_back(finding.rule, 1);
    } else {
      known->second = *known->second.if_integer() + 1;
    }
  }
  RowValue summary, report;
  summary("findings", static_cast<std::int64_t>(verification.findings.size()));
  summary("errors", count(verification, Severity::error));
  summary("warnings", count(verification, Severity::warning));
  summary("info", count(verification, Severity::info));
  summary("findings_by_rule", Value{std::move(by_rule)});
  report("schema", verification_schema)("schema_version", std::int64_t{1});
  report("status", verification.status())("bundle", verification.bundle);
  report("integrity", verification.integrity)("findings", Value{std::move(findings)});
  report("summary", summary.take());
  return report.take();
}

}  // namespace dw::bundle
