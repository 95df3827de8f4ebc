// Commands that turn pages: lists, histories, and the document that an export is.
#include "cli/catalogue.hpp"
#include "cli/lookup.hpp"
#include "cli/task.hpp"
#include "core/utf8.hpp"

#include <fmt/format.h>

#include <fstream>

namespace dw::cli {
namespace {

constexpr std::chrono::seconds between_pages_without_news{2};
constexpr std::size_t widest_details = 160;
// Far below what one answer may have, also with events of a hundred kilobytes.
constexpr int events_per_page = 500;

std::string with_parameter(std::string target, std::string_view name, std::string_view value) {
  target += target.find('?') == std::string::npos ? '?' : '&';
  return target + fmt::format("{}={}", name, escape_segment(value));
}

bool ends_the_run(const Value& event) {
  const auto type = text_of(event, "event_type");
  return type == "WorkflowCompleted" || type == "WorkflowFailed" || type == "WorkflowCancelled" ||
         type == "WorkflowTerminated" || type == "WorkflowTimedOut" ||
         type == "WorkflowContinuedAsNew";
}

// A row that is printed before its table is complete.
std::string event_line(const Value& event) {
  std::string details = words_of(event, "payload");
  if (details.size() > widest_details) {
    details = std::string{utf8_beginning(details, widest_details)} + "…";
  }
  return fmt::format("{:>5}  {}  {:<28}  {}", words_of(event, "sequence"),
                     words_of(event, "timestamp"), words_of(event, "event_type"), details);
}

// Reads a history to its end, be it one that is still being written.
class HistoryReader {
 public:
  explicit HistoryReader(Task& task) : task_(task), follow_(task.given.flag("follow")) {}

  // The last page, with the events of all of them.
  Outcome<Value> read() {
    Request first = DW_TRY(request_of(task_));
    // What is printed as it comes need not come at once; what is one document does.
    const bool as_it_comes = task_.output.by_line() || follow_;
    if (as_it_comes && !task_.given.was_said("page-size")) {
      first.target = with_parameter(first.target, "page_size", fmt::to_string(events_per_page));
    }
    std::string token;
    for (;;) {
      Request request = first;
      request.target = with_parameter(request.target, "wait_new_event", follow_ ? "1" : "0");
      if (!token.empty()) request.target = with_parameter(request.target, "next_page_token", token);
      Value page = DW_TRY(answer_to(task_, request));
      const bool news = take(list_of(page, "events"));
      const std::string next = text_of(page, "next_page_token");
      if (!next.empty()) {
        token = next;
      } else if (!follow_ || ended_) {
        return finish(std::move(page));
      } else if (!news) {
        // Either the server waited for us and nothing came, or it does not wait.
        task_.io.pause(between_pages_without_news);
      }
    }
  }

 private:
  // What was seen before is skipped: without a token the server begins anew.
  bool take(const Value::Array& events) {
    bool news = false;
    for (const Value& event : events) {
      const auto sequence = whole_of(event, "sequence");
      if (sequence != 0 && sequence <= last_) continue;
      last_ = sequence;
      news = true;
      ended_ = ended_ || ends_the_run(event);
      if (task_.output.by_line()) {
        task_.output.print(event);
      } else if (follow_ && !task_.output.for_machines()) {
        task_.output.show(event_line(event));
      } else {
        events_.push_back(event);
      }
    }
    return news;
  }

  Value finish(Value page) {
    set_entry(page, "events", std::move(events_));
    std::erase_if(*page.if_map(),
                  [](const auto& entry) { return entry.first == "next_page_token"; });
    return page;
  }

  Task& task_;
  const bool follow_;
  bool ended_ = false;
  std::int64_t last_ = 0;
  Value::Array events_;
};

}  // namespace

Outcome<Exit> run_list(Task& task) {
  Request request = DW_TRY(request_of(task));
  const std::string first = request.target;
  const std::string_view list = task.command.view.list;
  Value all;
  for (;;) {
    Value page = DW_TRY(answer_to(task, request));
    const std::string token = text_of(page, "next_page_token");
    const bool all_pages = task.given.flag("all") || task.given.flag("overdue");
    const bool last = !all_pages || token.empty();
    if (task.output.by_line()) {
      show_answer(task, page);
    } else if (all.is_null()) {
      all = std::move(page);
    } else {
      Value::Array items = list_of(all, list);
      for (const Value& item : list_of(page, list)) items.push_back(item);
      set_entry(page, list, std::move(items));
      all = std::move(page);
    }
    if (last) break;
    request.target = with_parameter(first, "next_page_token", token);
  }
  if (!task.output.by_line()) {
    for (const char* count : {"workflow_count", "schedule_count"}) {
      if (!look_up(all, count)) continue;
      set_entry(all, count, static_cast<std::int64_t>(list_of(all, list).size()));
    }
    show_answer(task, all);
  }
  return Exit::success;
}

// The server tells of the newest first, each page in the order they began.
Outcome<Exit> run_list_runs(Task& task) {
  Request request = DW_TRY(request_of(task));
  const std::string first = request.target;
  Value all = DW_TRY(answer_to(task, request));
  Value::Array runs = list_of(all, "runs");
  for (std::string token = text_of(all, "next_page_token"); !token.empty();) {
    request.target = with_parameter(first, "next_page_token", token);
    const Value page = DW_TRY(answer_to(task, request));
    const Value::Array earlier = list_of(page, "runs");
    runs.insert(runs.begin(), earlier.begin(), earlier.end());
    token = text_of(page, "next_page_token");
  }
  set_entry(all, "runs", std::move(runs));
  set_entry(all, "next_page_token", Value{});
  show_answer(task, all);
  return Exit::success;
}

Outcome<Exit> run_history(Task& task) {
  const Value answer = DW_TRY(HistoryReader{task}.read());
  const bool printed =
      task.output.by_line() || (task.given.flag("follow") && !task.output.for_machines());
  if (!printed) show_answer(task, answer);
  return Exit::success;
}

Outcome<Exit> run_history_export(Task& task) {
  const Request request = DW_TRY(request_of(task));
  const std::string bundle = DW_TRY(task.session.ask_text(request));
  const std::string path = task.given.text("output-file");
  if (path.empty()) {
    task.output.print_raw(bundle);
    return Exit::success;
  }
  std::ofstream file{path, std::ios::binary | std::ios::trunc};
  file << bundle << '\n' << std::flush;
  if (!file) {
    return Failure{.exit = Exit::failure,
                   .message = fmt::format("cannot write '{}'; the run was not exported", path)};
  }
  task.output.note(fmt::format("Exported run {} of workflow {} to {}.", task.given.text("run-id"),
                               task.given.text("workflow-id"), path));
  return Exit::success;
}

}  // namespace dw::cli
