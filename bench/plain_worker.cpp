// A worker that speaks the published protocol and nothing else: one task in a request, the whole
// history with every workflow task.
#include "client/http_client.hpp"
#include "http.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <stdexcept>

namespace dw::bench {
namespace {

using namespace std::chrono_literals;

constexpr int polls_of_a_kind = 64;
// The list ["bench"], and the text that every activity gives back.
std::string blob_of(const Value& value) {
  const Value shown = *parse_json([&] {
    std::string text;
    JsonWriter{text}.value(*encode(value));
    return text;
  }());
  return *shown.find("blob")->if_string();
}

class PlainWorker {
 public:
  explicit PlainWorker(const std::string& server) : client_({.url = server}) {
    const auto known = client_.call(
        request("/api/worker/register",
                R"({"worker_id":"plain","task_queue":"default","runtime":"external"})"));
    if (!known || known->status != 201) throw std::runtime_error{"cannot register a worker"};
    for (int i = 0; i < polls_of_a_kind; ++i) {
      poll("workflow");
      poll("activity");
    }
  }

 private:
  client::HttpRequest request(std::string target, std::string body) const {
    client::HttpRequest asked;
    asked.method = "POST";
    asked.target = std::move(target);
    asked.headers = {{"Content-Type", "application/json"},
                     {"X-Durable-Workflow-Protocol-Version", "1.2"}};
    asked.body = std::move(body);
    asked.timeout = 90s;
    return asked;
  }

  void poll(const char* kind) {
    client_.send(request(fmt::format("/api/worker/{}-tasks/poll", kind),
                         R"({"worker_id":"plain","task_queue":"default","timeout_seconds":30})"),
                 [this, kind](const Result<client::HttpReply>& reply) {
                   if (!reply) return;  // the end
                   const auto body = parse_json(reply->body);
                   const Value* task = body ? body->find("task") : nullptr;
                   if (!task || !task->if_map()) return poll(kind);
                   report(kind, *task);
                 });
  }

  void report(const char* kind, const Value& task) {
    const auto text = [&](std::string_view key) { return *task.find(key)->if_string(); };
    std::string body;
    if (std::string_view{kind} == "activity") {
      body = fmt::format(
          R"({{"lease_owner":"plain","activity_attempt_id":"{}","result":{{"codec":"avro","blob":"{}"}}}})",
          text("activity_attempt_id"), result_);
    } else {
      body = fmt::format(R"({{"lease_owner":"plain","workflow_task_attempt":{},"commands":[{}]}})",
                         *task.find("workflow_task_attempt")->if_integer(), next_command(task));
    }
    client_.send(request(fmt::format("/api/worker/{}-tasks/{}/complete", kind, text("task_id")),
                         std::move(body)),
                 [this, kind](const Result<client::HttpReply>& reply) {
                   if (reply) poll(kind);
                 });
  }

  // What a replay of its history would ask for next.
  std::string next_command(const Value& task) const {
    std::int64_t done = 0;
    for (const Value& event : *task.find("history_events")->if_array()) {
      done += *event.find("event_type") == Value{"ActivityCompleted"} ? 1 : 0;
    }
    const bool ten = *task.find("workflow_type") == Value{type_of(Workload::w10)};
    if (done == (ten ? 10 : 1)) {
      return fmt::format(
          R"({{"type":"complete_workflow","result":{{"codec":"avro","blob":"{}"}}}})", result_);
    }
    return fmt::format(
        R"({{"type":"schedule_activity","activity_type":"bench.greet","queue":"default","arguments":{{"codec":"avro","blob":"{}"}}}})",
        arguments_);
  }

  const std::string arguments_ = blob_of(Value::Array{"bench"});
  const std::string result_ = blob_of("Hello, bench!");
  client::HttpClient client_;
};

}  // namespace

void run_plain_worker(const std::string& server) {
  const PlainWorker worker{server};
  fmt::print("ready\n");
  std::fflush(stdout);
  char c = 0;
  while (read(STDIN_FILENO, &c, 1) == 1) {
  }
}

}  // namespace dw::bench
