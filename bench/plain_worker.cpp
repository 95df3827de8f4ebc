// A worker that speaks the published protocol and nothing else: one task in a request, the whole
// history with every workflow task. It is here to load the server, so it reads answers the cheapest
// way there is.
#include "client/http_client.hpp"
#include "http.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <boost/json.hpp>

#include <array>
#include <stdexcept>

namespace dw::bench {
namespace {

namespace json = boost::json;
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
                   std::array<unsigned char, 32 * 1024> room;
                   json::monotonic_resource memory{room.data(), room.size()};
                   const auto body = json::parse(reply->body, &memory);
                   const json::object* task = body.at("task").if_object();
                   task ? report(kind, *task) : poll(kind);
                 });
  }

  void report(const char* kind, const json::object& task) {
    const auto text = [&](std::string_view key) {
      return std::string_view{task.at(key).as_string()};
    };
    std::string body;
    if (std::string_view{kind} == "activity") {
      body = fmt::format(
          R"({{"lease_owner":"plain","activity_attempt_id":"{}","result":{{"codec":"avro","blob":"{}"}}}})",
          text("activity_attempt_id"), result_);
    } else {
      body = fmt::format(R"({{"lease_owner":"plain","workflow_task_attempt":{},"commands":[{}]}})",
                         task.at("workflow_task_attempt").as_int64(), next_command(task));
    }
    client_.send(request(fmt::format("/api/worker/{}-tasks/{}/complete", kind, text("task_id")),
                         std::move(body)),
                 [this, kind](const Result<client::HttpReply>& reply) {
                   if (reply) poll(kind);
                 });
  }

  // What a replay of its history would ask for next.
  std::string next_command(const json::object& task) const {
    std::int64_t done = 0;
    for (const json::value& event : task.at("history_events").as_array()) {
      done += event.at("event_type").as_string() == "ActivityCompleted" ? 1 : 0;
    }
    const bool ten = task.at("workflow_type").as_string() == type_of(Workload::w10);
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
