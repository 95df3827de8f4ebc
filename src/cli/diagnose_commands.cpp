// What is wrong? Asked of the connection, of a workflow, or of time.
#include "cli/catalogue.hpp"
#include "cli/lookup.hpp"
#include "cli/task.hpp"
#include "client/url.hpp"

#include <fmt/format.h>

namespace dw::cli {
namespace {

std::string upper(std::string text) {
  for (char& c : text) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 32);
  }
  return text;
}

void draw_rows(Page& page, std::string_view title, const Value::Array& rows,
               const std::vector<Column>& columns) {
  page.gap();
  if (rows.empty()) return page.text(fmt::format("{}: none", title));
  page.text(fmt::format("{}:", title));
  page.table(columns, rows);
}

void draw_debug(Page& page, const Value& answer) {
  page.heading("Workflow Debug");
  page.lines({{"Workflow ID", "workflow_id"},
              {"Run ID", "run_id"},
              {"Namespace", "namespace"},
              {"Status", "execution.status", Format::status},
              {"Diagnosis", "diagnostic_status", Format::status},
              {"Type", "execution.workflow_type"},
              {"Task Queue", "execution.task_queue"},
              {"Wait Kind", "execution.wait_kind"},
              {"Wait Reason", "execution.wait_reason"},
              {"Last Event", "execution.last_event", Format::facts},
              {"Next Scheduled", "execution.next_scheduled_event", Format::facts},
              {"Build", "compatibility.compatibility"}},
             answer);
  for (const Value& finding : list_of(answer, "findings")) {
    page.text(fmt::format("  [{}] {}: {}", upper(words_of(finding, "severity")),
                          words_of(finding, "code"), words_of(finding, "message")));
  }
  page.gap();
  page.text("Task Queue:");
  page.lines({{"Backlog", "task_queue.stats.approximate_backlog_count"},
              {"Backlog Age", "task_queue.stats.approximate_backlog_age"},
              {"Active Pollers", "task_queue.stats.pollers.active_count"},
              {"Stale Pollers", "task_queue.stats.pollers.stale_count"}},
             answer);
  draw_rows(page, "Pending workflow tasks", list_of(answer, "pending_workflow_tasks"),
            {{"Task ID", "task_id"},
             {"Status", "status", Format::status},
             {"Lease Owner", "lease_owner"},
             {"Lease Expires", "lease_expires_at"},
             {"Expired", "lease_expired"}});
  draw_rows(page, "Pending activities", list_of(answer, "pending_activities"),
            {{"Activity ID", "activity_execution_id"},
             {"Type", "activity_type"},
             {"Status", "status", Format::status},
             {"Attempts", "attempt_count"},
             {"Next Attempt", "next_attempt_at"},
             {"Last Failure", "last_failure.message"},
             {"Lease Owner", "current_attempt.lease_owner"},
             {"Lease Expires", "current_attempt.lease_expires_at"}});
  draw_rows(page, "Recent failures", list_of(answer, "recent_failures"),
            {{"Exception", "exception_class"}, {"Message", "message"}, {"Created", "created_at"}});
}

Outcome<Value::Map> workflows_only(const Given& given, Value::Map body) {
  if (given.text("target") != "workflow") {
    return invalid_input(
        fmt::format("debug: only a workflow can be debugged, not a '{}'", given.text("target")));
  }
  return body;
}

Value doctor_recommendation(std::string_view id, std::string_view severity,
                            std::string_view message, const std::string& command) {
  Value::Map advice{{"id", id}, {"severity", severity}, {"message", message}};
  if (!command.empty()) advice.emplace_back("command", command);
  return advice;
}

// The command, asked where the doctor was sent.
std::string there_too(std::string_view command, const Connection& connection) {
  if (connection.server_source == "flag") {
    return fmt::format("{} --server={}", command, client::without_user_info(connection.server));
  }
  if (connection.profile_source == "flag") {
    return fmt::format("{} --env={}", command, connection.profile);
  }
  return std::string{command};
}

Value advice_on_failure(const Connection& connection, const Failure& failure) {
  const std::string its_profile = fmt::format("dw env:show {}", connection.profile);
  if (failure.exit == Exit::network) {
    return doctor_recommendation(
        "server.unreachable", "error",
        "Check the server URL, DNS, port and TLS settings of the selected environment.",
        connection.server_source == "profile"   ? its_profile
        : connection.server_source == "default" ? "dw server:dev"
                                                : "");
  }
  if (failure.exit == Exit::timeout) {
    return doctor_recommendation("server.timeout", "error",
                                 "Check the server's load and whether it can be reached.", "");
  }
  if (failure.status == 401 && connection.token.empty()) {
    return doctor_recommendation("auth.failed", "error", "The server asks for a token: set one.",
                                 "dw env:set <name> --token-env=DURABLE_WORKFLOW_AUTH_TOKEN");
  }
  if (failure.exit == Exit::auth) {
    return doctor_recommendation("auth.failed", "error",
                                 "Check where the token comes from, and its role.",
                                 connection.token_source.starts_with("profile") ? its_profile : "");
  }
  return doctor_recommendation("server.error", "error",
                               "Look at what the server said, and at its log.",
                               there_too("dw server:health", connection));
}

struct Findings {
  const Failure* failure = nullptr;
  std::vector<std::string> misfits = {};
  bool no_namespace = false;
};

Value::Array doctor_recommendations(const Connection& connection, const Findings& findings) {
  Value::Array advice;
  if (findings.failure) advice.push_back(advice_on_failure(connection, *findings.failure));
  if (!findings.misfits.empty()) {
    advice.push_back(doctor_recommendation("compatibility.unsupported", "warning",
                                           "Use a dw and a server that fit each other.",
                                           there_too("dw server:info", connection)));
  }
  if (findings.no_namespace) {
    advice.push_back(doctor_recommendation("resource.not_found", "warning",
                                           "Name a namespace that there is, or make this one.",
                                           there_too("dw namespace:list", connection)));
  }
  if (!connection.tls_verify) {
    advice.push_back(doctor_recommendation("tls.unverified", "warning",
                                           "Certificates are not checked; anybody may answer.",
                                           "dw doctor --tls-verify=true"));
  }
  return advice;
}

Value or_nothing(const std::string& text) {
  return text.empty() ? Value{} : Value{text};
}

Value connection_value(const Connection& connection) {
  return Value::Map{
      {"server", client::without_user_info(connection.server)},
      {"namespace", connection.ns},
      {"profile", Value::Map{{"name", or_nothing(connection.profile)},
                             {"source", or_nothing(connection.profile_source)},
                             {"config_path", or_nothing(connection.config_path)}}},
      {"token", Value::Map{{"present", !connection.token.empty()},
                           {"source", connection.token_source},
                           {"env", or_nothing(connection.token_variable)}}},
      {"tls", Value::Map{{"verify", connection.tls_verify}, {"source", connection.tls_source}}},
      {"effective_config", effective_config(connection)}};
}

Value part(const Value& info, std::string_view path) {
  const Value* found = look_up(info, path);
  return found ? *found : Value{};
}

Value server_value(const Outcome<Value>& info) {
  if (!info) {  // whoever refuses us is there
    return Value::Map{{"reachable", info.error().status.has_value()},
                      {"error", info.error().message}};
  }
  return Value::Map{
      {"reachable", true},
      {"version", part(*info, "version")},
      {"server_id", part(*info, "server_id")},
      {"default_namespace", part(*info, "default_namespace")},
      {"control_plane",
       Value::Map{
           {"version", part(*info, "control_plane.version")},
           {"request_contract",
            Value::Map{{"schema", part(*info, "control_plane.request_contract.schema")},
                       {"version", part(*info, "control_plane.request_contract.version")}}}}},
      {"worker_protocol",
       Value::Map{{"version", part(*info, "worker_protocol.version")},
                  {"server_capabilities", part(*info, "worker_protocol.server_capabilities")}}},
      {"client_compatibility", part(*info, "client_compatibility")},
      {"cluster_info", *info}};
}

// Whoever may not look, or cannot, does not know.
bool lacks_namespace(Task& task) {
  const auto found = task.session.ask({.target = "/namespaces/" + escape_segment(task.ns())});
  return !found && text_of(found.error().response, "reason") == "namespace_not_found";
}

void draw_doctor(Page& page, const Value& report) {
  page.heading("dw doctor");
  page.lines({{"CLI Version", "dw.version"}, {"Commit", "dw.commit"}, {"Built", "dw.build_date"}},
             report);
  page.gap();
  page.text("Connection:");
  const auto from = [&](std::string_view value, std::string_view setting) {
    return fmt::format("{} ({})", value,
                       words_of(report, fmt::format("connection.{}.source", setting)));
  };
  page.line("Server", from(words_of(report, "connection.server"), "effective_config.server"));
  page.line("Namespace",
            from(words_of(report, "connection.namespace"), "effective_config.namespace"));
  const bool profile = !text_of(report, "connection.profile.name").empty();
  page.line("Profile",
            profile ? from(words_of(report, "connection.profile.name"), "profile") : "none");
  const bool token = is_true(report, "connection.token.present");
  const bool nowhere = text_of(report, "connection.token.source") == "none";
  page.line("Token", nowhere ? "none" : from(token ? "present" : "not set", "token"));
  page.line("TLS Verify", from(words_of(report, "connection.tls.verify"), "tls"));
  page.gap();
  page.text("Server:");
  page.lines({{"Reachable", "server.reachable"},
              {"Error", "server.error"},
              {"Server ID", "server.server_id"},
              {"Version", "server.version"},
              {"Default Namespace", "server.default_namespace"},
              {"Control Plane", "server.control_plane.version"},
              {"Worker Protocol", "server.worker_protocol.version"}},
             report);
  for (const Value& warning : list_of(report, "warnings")) page.warning(in_words(warning));
  const auto& advice = list_of(report, "recommendations");
  if (advice.empty()) return;
  page.gap();
  page.text("Next steps:");
  for (const Value& one : advice) {
    page.text(fmt::format("  - {}", words_of(one, "message")));
    if (look_up(one, "command")) page.text(fmt::format("    Try: {}", words_of(one, "command")));
  }
}

}  // namespace

Outcome<Exit> run_doctor(Task& task) {
  const Connection& connection = task.session.connection();
  const auto info = task.session.cluster_info();
  Findings findings;
  if (!info) findings.failure = &info.error();
  if (info) {
    findings.misfits = compatibility_warnings(*info);
    const Speaks speaks{.version = task.io.build.version,
                        .control_plane = connection.control_plane_version,
                        .worker_protocol = connection.worker_protocol_version,
                        .worker_commands = true};
    if (const auto misfit = check_compatibility(*info, speaks)) {
      findings.misfits.push_back(misfit->message);
    }
    findings.no_namespace = lacks_namespace(task);
  }
  Value::Array warnings(findings.misfits.begin(), findings.misfits.end());
  if (findings.no_namespace) {
    warnings.emplace_back(fmt::format("The server has no namespace '{}'.", connection.ns));
  }
  const Value report =
      Value::Map{{"dw", Value::Map{{"version", task.io.build.version},
                                   {"commit", task.io.build.commit},
                                   {"build_date", task.io.build.built_at}}},
                 {"connection", connection_value(connection)},
                 {"server", server_value(info)},
                 {"warnings", std::move(warnings)},
                 {"recommendations", doctor_recommendations(connection, findings)}};
  show_answer(task, report);
  return info ? Exit::success : info.error().exit;
}

std::vector<Command> diagnose_commands() {
  return {
      {.name = "doctor",
       .summary = "Where does dw connect to, and does it work?",
       .method = "GET",
       .path = "/cluster/info",
       .scope = Scope::nothing,
       .view = {.draw = draw_doctor},
       .preflight = false,
       .examples = {"dw doctor", "dw doctor --env=prod --json"},
       .exits = "0, or the code of what failed: 3 nobody there, 4 refused, 6 error, 7 too slow.",
       .run = run_doctor},
      {.name = "debug",
       .summary = "What keeps a workflow from going on?",
       .arguments = {{.name = "target", .help = "The word workflow"},
                     {.name = "workflow-id", .help = "The workflow"}},
       .options = {{.name = "run-id", .help = "This run, not the current one", .letter = 'r'}},
       .method = "GET",
       .path = "/workflows/{workflow-id}[/runs/{run-id}]/debug",
       .view = {.draw = draw_debug},
       .examples = {"dw debug workflow order-42", "dw debug workflow order-42 --json"},
       .shape = workflows_only},
      {.name = "watch",
       .summary = "Print what changes: of a workflow until it ends, of a queue, of a schedule",
       .arguments = {{.name = "resource", .help = "workflow, queue or schedule"},
                     {.name = "id", .help = "Which one"}},
       .options = {{.name = "run-id", .help = "This run, not the current one"},
                   {.name = "interval",
                    .help = "Seconds between two looks",
                    .kind = Kind::whole,
                    .letter = 'i',
                    .fallback = "2",
                    .least = 0,
                    .most = 86400},
                   {.name = "max-polls", .help = "Look so often at most", .kind = Kind::whole}},
       .method = "GET",
       .path = "/workflows/{id}[/runs/{run-id}]",
       .examples = {"dw watch workflow order-42",
                    "dw watch workflow order-42 --interval=5 --max-polls=60 --output=jsonl"},
       .exits = "0 it completed, 1 it ended in any other way, 7 --max-polls were not enough.",
       .check = check_watched,
       .run = run_watch}};
}

}  // namespace dw::cli
