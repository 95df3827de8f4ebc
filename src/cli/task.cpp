#include "cli/task.hpp"

#include "cli/lookup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <istream>
#include <ostream>

namespace dw::cli {
namespace {

constexpr std::int64_t least_query_seconds = 35;
constexpr std::int64_t grace_seconds = 10;
constexpr std::int64_t most_query_seconds = 300;
constexpr std::int64_t usual_long_poll = 30;

// As long as the server may take, and a little longer; what the caller asks for counts more.
std::optional<std::int64_t> seconds_for(const Task& task) {
  if (const auto asked = task.given.whole("timeout")) return asked;
  if (task.command.patience == Patience::usual) return std::nullopt;
  if (const auto held = task.given.whole("wait-timeout")) return *held + grace_seconds;
  const auto info = task.session.cluster_info();  // asked for already, by the check
  const Value known = info ? *info : Value{};
  const std::string_view field =
      task.command.patience == Patience::query
          ? "worker_protocol.server_capabilities.query_task_timeouts.control_plane_timeout_seconds"
          : "worker_protocol.server_capabilities.long_poll_timeout";
  const auto held = std::max(usual_long_poll, whole_of(known, field));
  if (task.command.patience == Patience::poll) return held + grace_seconds;
  return std::min(most_query_seconds, std::max(least_query_seconds, held + grace_seconds));
}

void add_namespace(Value& item, const std::string& ns) {
  if (!item.if_map() || !text_of(item, "namespace").empty()) return;
  auto& entries = *item.if_map();
  std::erase_if(entries, [](const auto& entry) { return entry.first == "namespace"; });
  entries.emplace(entries.begin(), "namespace", ns);
}

Value* entry_in(Value& map, std::string_view key) {
  for (auto& [name, value] : *map.if_map()) {
    if (name == key) return &value;
  }
  return nullptr;
}

void draw_list(Page& page, const Command& command, const Value& answer, const std::string& ns) {
  const View& view = command.view;
  const auto& items = list_of(answer, view.list);
  const bool scoped = command.scope == Scope::in_namespace;
  if (items.empty()) {
    page.text(scoped ? fmt::format("No {} found in namespace {}.", view.things, ns)
                     : fmt::format("No {} found.", view.things));
  } else {
    if (scoped) page.text(fmt::format("Namespace: {}", ns));
    page.table(view.columns, items);
  }
  if (const auto token = text_of(answer, "next_page_token"); !token.empty()) {
    page.text(fmt::format("Next page token: {}", printable(token)));
  }
}

}  // namespace

Value with_namespace(Value answer, const Command& command, const std::string& ns) {
  if (command.scope == Scope::nothing || !answer.if_map()) return answer;
  const bool resource = command.scope == Scope::resource;
  if (!resource || !text_of(answer, "name").empty()) {
    add_namespace(answer, resource ? text_of(answer, "name") : ns);
  }
  if (command.view.list.empty()) return answer;
  Value* list = entry_in(answer, command.view.list);
  if (!list || !list->if_array()) return answer;
  for (Value& item : *list->if_array()) {
    const std::string own = resource ? text_of(item, "name") : ns;
    if (!own.empty()) add_namespace(item, own);
  }
  return answer;
}

bool has_ended(const Value& run) {
  if (is_true(run, "is_terminal")) return true;
  const auto status = text_of(run, "status");
  return status == "completed" || status == "failed" || status == "cancelled" ||
         status == "canceled" || status == "terminated" || status == "timed_out";
}

bool has_completed(const Value& run) {
  const auto bucket = text_of(run, "status_bucket");
  return bucket.empty() ? text_of(run, "status") == "completed" : bucket == "completed";
}

bool confirmed(Task& task, const std::string& question) {
  if (task.given.flag("yes") || !task.may_ask) return true;
  task.io.err << question << " [y/N] " << std::flush;
  std::string reply;
  std::getline(task.io.in, reply);
  return parse_yes_no(reply == "y" || reply == "Y" ? "yes" : reply).value_or(false);
}

Outcome<Request> request_of(const Task& task) {
  Request request = DW_TRY(build_request(task.command, task.given, task.read));
  request.seconds = seconds_for(task);
  return request;
}

Outcome<Value> answer_to(Task& task, const Request& request) {
  Value answer = DW_TRY(task.session.ask(request));
  answer = with_namespace(std::move(answer), task.command, task.ns());
  return task.command.enrich ? task.command.enrich(task, std::move(answer)) : answer;
}

void draw(Page& page, const Command& command, const Value& answer, const std::string& ns) {
  const View& view = command.view;
  if (view.draw) return view.draw(page, answer);
  if (!view.heading.empty()) page.heading(view.heading);
  page.lines(view.lines, answer);
  if (!view.columns.empty()) draw_list(page, command, answer, ns);
}

void show_answer(Task& task, const Value& answer) {
  if (task.output.by_line() && !task.command.view.list.empty()) {
    for (const Value& item : list_of(answer, task.command.view.list)) task.output.print(item);
    return;
  }
  if (task.output.for_machines()) return task.output.print(answer);
  Page page = task.output.page();
  draw(page, task.command, answer, task.ns());
  task.output.show(page);
}

Outcome<Exit> run_described(Task& task) {
  const Request request = DW_TRY(request_of(task));
  if (task.command.asks_first &&
      !confirmed(task, fmt::format("{}: {}?", task.command.summary,
                                   task.given.text(task.command.arguments.front().name)))) {
    task.output.show("Nothing was done.");
    return Exit::success;
  }
  const Value answer = DW_TRY(answer_to(task, request));
  show_answer(task, answer);
  return task.command.verdict ? task.command.verdict(answer) : Exit::success;
}

}  // namespace dw::cli
