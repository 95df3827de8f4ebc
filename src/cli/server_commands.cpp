// What a server says about itself.
#include "cli/catalogue.hpp"
#include "cli/lookup.hpp"
#include "cli/page.hpp"
#include "cli/task.hpp"

#include <fmt/format.h>

namespace dw::cli {
namespace {

void draw_health(Page& page, const Value& answer) {
  page.text(fmt::format("Server is {}", page.painted(words_of(answer, "status"))));
  page.line("Timestamp", words_of(answer, "timestamp"), 0);
  const Value* checks = look_up(answer, "checks");
  if (!checks || !checks->if_map()) return;
  std::vector<Page::Row> rows;
  for (const auto& [name, check] : *checks->if_map()) {
    const bool word = check.if_string() != nullptr;
    rows.push_back({printable(name), word ? in_words(check) : words_of(check, "status"),
                    word ? "-" : words_of(check, "action|remediation|message")});
  }
  page.table({"Check", "Status", "Action"}, rows, {1});
}

// Anything may answer 200 to anything; a server that is well says so.
Outcome<Exit> run_server_health(Task& task) {
  const Request request = DW_TRY(request_of(task));
  const Value answer = DW_TRY(answer_to(task, request));
  if (text_of(answer, "status").empty()) {
    return Failure{.exit = Exit::server,
                   .message =
                       "Server error: GET /api/health was answered without a status; it may "
                       "be another program that listens there",
                   .response = answer};
  }
  show_answer(task, answer);
  return Exit::success;
}

void draw_capabilities(Page& page, const Value& answer) {
  const Value* capabilities = look_up(answer, "capabilities");
  if (!capabilities || !capabilities->if_map()) return;
  page.gap();
  page.text("Capabilities:");
  for (const auto& [name, value] : *capabilities->if_map()) {
    page.line(printable(name), in_words(value));
  }
}

void draw_limits(Page& page, const Value& answer) {
  for (const char* section : {"limits", "structural_limits"}) {
    const Value* limits = look_up(answer, section);
    if (!limits || !limits->if_map()) continue;
    page.gap();
    page.text(section == std::string_view{"limits"} ? "Limits:" : "Structural limits:");
    for (const auto& [name, value] : *limits->if_map()) page.line(printable(name), in_words(value));
  }
}

// Which words the server takes, operation by operation.
void draw_request_contract(Page& page, const Value& answer) {
  const Value* operations = look_up(answer, "control_plane.request_contract.operations");
  if (!operations || !operations->if_map()) return;
  for (const auto& [operation, about] : *operations->if_map()) {
    const Value* fields = look_up(about, "fields");
    if (!fields || !fields->if_map()) continue;
    for (const auto& [field, rule] : *fields->if_map()) {
      if (!look_up(rule, "canonical_values")) continue;
      page.line(fmt::format("{}.{}", printable(operation), printable(field)),
                words_of(rule, "canonical_values"));
    }
  }
}

void draw_info(Page& page, const Value& answer) {
  page.heading("Server");
  page.lines({{"Server ID", "server_id"},
              {"Version", "version"},
              {"Default Namespace", "default_namespace"},
              {"Topology", "topology", Format::json},
              {"Coordination Health", "coordination_health.status", Format::status},
              {"Worker Fleet", "worker_fleet", Format::json}},
             answer);
  draw_capabilities(page, answer);
  draw_limits(page, answer);
  page.gap();
  page.text("Control Plane:");
  page.lines({{"Version", "control_plane.version"},
              {"Request Contract", "control_plane.request_contract.schema"},
              {"Response Contract", "control_plane.response_contract.schema"}},
             answer);
  draw_request_contract(page, answer);
  page.gap();
  page.text("Worker Protocol:");
  page.lines({{"Version", "worker_protocol.version"},
              {"Long Poll Timeout", "worker_protocol.server_capabilities.long_poll_timeout"},
              {"Query Tasks", "worker_protocol.server_capabilities.query_tasks"},
              {"Workflow Task Commands",
               "worker_protocol.server_capabilities.supported_workflow_task_commands"}},
             answer);
}

}  // namespace

std::vector<Command> server_commands() {
  return {
      {.name = "server:health",
       .summary = "Is the server well?",
       .method = "GET",
       .path = "/health",
       .scope = Scope::nothing,
       .view = {.draw = draw_health},
       .preflight = false,
       .examples = {"dw server:health", "dw server:health --server=https://dw.example.com --json"},
       .exits = "6 when it says that it is not, or says nothing of it.",
       .run = run_server_health},
      {.name = "server:info",
       .summary = "What the server can do, and which words it takes",
       .aliases = {"cluster:info"},
       .method = "GET",
       .path = "/cluster/info",
       .scope = Scope::nothing,
       .view = {.draw = draw_info},
       .preflight = false,
       .examples = {"dw server:info", "dw server:info --json | jq .capabilities"}}};
}

}  // namespace dw::cli
