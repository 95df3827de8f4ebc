#include "http.hpp"

#include "child.hpp"
#include "client/http_client.hpp"

#include <dw/worker.hpp>

#include <fmt/format.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <atomic>
#include <filesystem>
#include <future>
#include <stdexcept>

namespace dw::bench {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

// A server on a store of its own.
class ServerProcess {
 public:
  explicit ServerProcess(const HttpBenchOptions& options)
      : store_(options.store, "http"),
        child_({options.dw.empty() ? (fs::path{this_program()}.parent_path() / "dw").string()
                                   : options.dw,
                "server:start", "--listen", "127.0.0.1:0", "--store", store_.path()}) {
    const std::string line = child_.read_line();
    const auto begin = line.find("http://");
    if (begin == std::string::npos) {
      throw std::runtime_error{"the server did not say where it is: " + line};
    }
    const auto port = line.find(':', begin + 7);
    const auto end = line.find_first_not_of("0123456789", port + 1);
    url_ = line.substr(begin, end == std::string::npos ? end : end - begin);
  }

  const std::string& url() const { return url_; }
  int process() const { return child_.process(); }
  std::string store_kind() const { return store_.kind(); }

 private:
  StoreFile store_;
  Child child_;
  std::string url_;
};

// CPU seconds of the three processes.
struct Split {
  double server = 0, worker = 0, client = 0;
};
Split split_now(int server, int worker) {
  return {process_cpu_seconds(server), process_cpu_seconds(worker), process_cpu_seconds()};
}

}  // namespace

void add_http_options(CLI::App& command, HttpBenchOptions& options) {
  command.add_flag("--plain", options.plain,
                   "The worker polls and reports task by task, as published clients do");
  command.add_option("--store", options.store, "A directory for a temporary store");
  command.add_option("--dw", options.dw, "The dw binary; default: beside this one");
}

void add_polls_options(CLI::App& command, HttpBenchOptions& options) {
  command.add_option("--count", options.polls, "How many polls wait at once")
      ->check(CLI::Range(1, 20'000))
      ->capture_default_str();
  command.add_option("--store", options.store, "A directory for a temporary store");
  command.add_option("--dw", options.dw, "The dw binary; default: beside this one");
}

void add_http_worker_options(CLI::App& command, HttpBenchOptions& options) {
  command.add_option("--server", options.server, "Where to go")->required();
  command.add_flag("--plain", options.plain, "Without the exchange");
}

std::string run_http(const LoadOptions& load, const HttpBenchOptions& options) {
  const ServerProcess server{options};
  std::vector<std::string> command{this_program(), "http-worker", "--server", server.url()};
  if (options.plain) command.emplace_back("--plain");
  Child worker{std::move(command)};
  worker.read_line();
  say(environment_line());
  say(
      fmt::format("{} x {} for {} s after {} s of warm-up, over HTTP, {}, store on {}, "
                  "synchronous = FULL",
                  to_string(load.workload), load.concurrency, load.seconds, load.warmup_seconds,
                  options.plain ? "task by task as published clients do" : "by exchanges",
                  server.store_kind()));
  Client client{bench_registry(), {.server = server.url()}};
  const Split before = split_now(server.process(), worker.process());
  const auto threads = thread_use(server.process());
  LoadResult result = run_load(client, load);
  const Split after = split_now(server.process(), worker.process());
  const auto each = [&](double from, double to) {
    return 1e6 * (to - from) / static_cast<double>(result.started);
  };
  const double server_us = each(before.server, after.server);
  const double worker_us = each(before.worker, after.worker);
  const double client_us = each(before.client, after.client);
  const double measured = result.per_second();
  const double steps = measured * steps_of(load.workload);
  say(fmt::format("  {:.0f} workflows/s, {:.0f} steps/s; p50 {:.2f} ms, p99 {:.2f} ms", measured,
                  steps, result.p50_ms, result.p99_ms));
  say(fmt::format("  CPU us/workflow: server {:.1f}, worker {:.1f}, client {:.1f}", server_us,
                  worker_us, client_us));
  say("  the server's threads, from start to end:");
  result.threads = subtract(thread_use(server.process()), threads);
  result.workflows = result.started;
  say_threads(result);

  std::string line;
  JsonWriter json{line};
  json.begin_object()
      .field("workflows_per_second", rounded(measured))
      .field("steps_per_second", rounded(steps))
      .field("p50_ms", rounded(result.p50_ms))
      .field("p99_ms", rounded(result.p99_ms))
      .field("server_cpu_us_per_workflow", rounded(server_us))
      .field("worker_cpu_us_per_workflow", rounded(worker_us))
      .field("client_cpu_us_per_workflow", rounded(client_us))
      .field("server_memory_kib", resident_memory(server.process()).now_kib)
      .key("settings")
      .begin_object()
      .field("workload", to_string(load.workload))
      .field("concurrency", load.concurrency)
      .field("seconds", load.seconds)
      .field("warmup_seconds", load.warmup_seconds)
      .field("protocol", options.plain ? "plain" : "exchange")
      .field("store", std::string_view{server.store_kind()})
      .field("synchronous", "FULL")
      .field("payload_bytes", payload_bytes());
  write_environment(json);
  json.end_object().end_object();
  return line;
}

std::string run_polls(const HttpBenchOptions& options) {
  const ServerProcess server{options};
  client::HttpClient client{
      {.url = server.url(), .max_connections = static_cast<std::size_t>(options.polls)}};
  const client::HttpHeaders headers{{"Content-Type", "application/json"},
                                    {"X-Durable-Workflow-Protocol-Version", "1.19"}};
  const auto post = [&](std::string target, std::string body) {
    client::HttpRequest request;
    request.method = "POST";
    request.target = std::move(target);
    request.headers = headers;
    request.body = std::move(body);
    request.timeout = 90s;
    return request;
  };
  const auto known = client.call(
      post("/api/worker/register", R"({"worker_id":"idle","task_queue":"bench","runtime":"cpp"})"));
  if (!known || known->status != 201) throw std::runtime_error{"cannot register a worker"};
  const auto before = resident_memory(server.process());
  std::atomic<int> ended = 0;
  for (int i = 0; i < options.polls; ++i) {
    client.send(post("/api/worker/workflow-tasks/poll",
                     R"({"worker_id":"idle","task_queue":"bench","timeout_seconds":60})"),
                [&](const Result<client::HttpReply>&) { ++ended; });
  }
  // An ordinary request goes through behind them, on a connection of its own: all have been read.
  client::HttpClient other{{.url = server.url()}};
  for (int settled = 0; settled < 20; ++settled) {
    (void)other.call({.target = "/api/health"});
    std::this_thread::sleep_for(250ms);
  }
  const auto after = resident_memory(server.process());
  const auto threads = thread_use(server.process());
  std::this_thread::sleep_for(5s);
  const double idle_cpu = [&] {
    double seconds = 0;
    for (const ThreadUse& use : subtract(thread_use(server.process()), threads)) {
      seconds += use.cpu_seconds;
    }
    return seconds / 5;
  }();
  const double grown = static_cast<double>(after.now_kib - before.now_kib) / 1024;
  say(fmt::format(
      "{} polls wait ({} ended early): the server grew by {:.1f} MiB, to {:.1f} MiB; it "
      "uses {:.2f} % of a core",
      options.polls, ended.load(), grown, static_cast<double>(after.now_kib) / 1024,
      100 * idle_cpu));
  std::string line;
  JsonWriter json{line};
  json.begin_object()
      .field("polls", options.polls)
      .field("ended_early", ended.load())
      .field("grown_mib", rounded(grown))
      .field("memory_mib", rounded(static_cast<double>(after.now_kib) / 1024))
      .field("idle_core", rounded(idle_cpu))
      .key("settings")
      .begin_object()
      .field("store", std::string_view{server.store_kind()});
  write_environment(json);
  json.end_object().end_object();
  return line;
}

void run_http_worker(const HttpBenchOptions& options) {
  if (options.plain) return run_plain_worker(options.server);
  Worker worker{bench_registry(), {.server = options.server}};
  fmt::print("ready\n");
  std::fflush(stdout);
  char c = 0;
  while (read(STDIN_FILENO, &c, 1) == 1) {
  }
}

}  // namespace dw::bench
