// Cancels one workflow, or every one that a query finds.
#include "cli/catalogue.hpp"
#include "cli/lookup.hpp"
#include "cli/task.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dw::cli {
namespace {

constexpr std::int64_t largest_page = 200;

Outcome<std::vector<std::string>> matching_workflows(Task& task) {
  const auto limit = static_cast<std::size_t>(task.given.whole("limit").value_or(100));
  std::vector<std::string> found;
  std::string token;
  do {
    const auto left = static_cast<std::int64_t>(limit - found.size());
    std::vector<std::pair<std::string, std::string>> parameters{
        {"query", task.given.text("all-matching")}};
    if (const auto type = task.given.text("type"); !type.empty()) {
      parameters.emplace_back("workflow_type", type);
    }
    parameters.emplace_back("status", task.given.text("status"));
    parameters.emplace_back("page_size", fmt::to_string(std::min(left, largest_page)));
    if (!token.empty()) parameters.emplace_back("next_page_token", token);
    const Value page = DW_TRY(task.session.ask({.target = "/workflows" + query_text(parameters)}));
    for (const Value& workflow : list_of(page, "workflows")) {
      if (found.size() < limit) found.push_back(text_of(workflow, "workflow_id"));
    }
    token = text_of(page, "next_page_token");
  } while (!token.empty() && found.size() < limit);
  return found;
}

void show_batch(Task& task, const Value& summary) {
  if (task.output.for_machines()) return task.output.print(summary);
  if (whole_of(summary, "matched") == 0) {
    return task.output.show(fmt::format("No workflows matched in namespace {}.", task.ns()));
  }
  Page page = task.output.page();
  page.heading(
      fmt::format("Cancellation requested for {} workflow(s)", words_of(summary, "cancelled")));
  page.lines({{"Namespace", "namespace"}, {"Matched", "matched"}, {"Failed", "failed"}}, summary);
  for (const Value& id : list_of(summary, "workflow_ids")) page.text("  - " + in_words(id));
  for (const Value& failure : list_of(summary, "failures")) {
    page.line(words_of(failure, "workflow_id"), words_of(failure, "message"));
  }
  task.output.show(page);
}

Outcome<Exit> cancel_many(Task& task) {
  const auto ids = DW_TRY(matching_workflows(task));
  const std::string query = task.given.text("all-matching");
  if (!ids.empty() &&
      !confirmed(task, fmt::format("Cancel {} workflow(s) matching [{}]?", ids.size(), query))) {
    task.output.show("Batch cancellation aborted.");
    return Exit::success;
  }
  Value::Map body;
  if (const auto reason = task.given.text("reason"); !reason.empty()) {
    body.emplace_back("reason", reason);
  }
  Value::Array all, results, failures;
  for (const std::string& id : ids) {
    all.emplace_back(id);
    auto answer =
        task.session.ask({.method = "POST",
                          .target = fmt::format("/workflows/{}/cancel", escape_segment(id)),
                          .body = Value{body}});
    if (answer) {
      results.push_back(with_namespace(*std::move(answer), task.command, task.ns()));
    } else {
      failures.emplace_back(Value::Map{{"workflow_id", id},
                                       {"namespace", task.ns()},
                                       {"message", answer.error().message},
                                       {"exit_code", static_cast<int>(answer.error().exit)}});
    }
  }
  const auto count = [](const auto& list) { return static_cast<std::int64_t>(list.size()); };
  const std::string type = task.given.text("type");
  const bool fine = failures.empty();
  show_batch(task, Value::Map{{"namespace", task.ns()},
                              {"query", query},
                              {"workflow_type", type.empty() ? Value{} : Value{type}},
                              {"status", task.given.text("status")},
                              {"matched", count(ids)},
                              {"cancelled", count(results)},
                              {"failed", count(failures)},
                              {"workflow_ids", std::move(all)},
                              {"results", std::move(results)},
                              {"failures", std::move(failures)}});
  return fine ? Exit::success : Exit::failure;
}

}  // namespace

std::optional<Failure> check_cancel(const Task& task) {
  const bool many = task.given.was_said("all-matching");
  if (!many || !task.output.for_machines() || task.given.flag("yes")) return std::nullopt;
  return invalid_input("workflow:cancel: --all-matching needs --yes when the output is JSON");
}

Outcome<Exit> run_cancel(Task& task) {
  return task.given.was_said("all-matching") ? cancel_many(task) : run_described(task);
}

}  // namespace dw::cli
