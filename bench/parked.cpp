#include "parked.hpp"

#include "load.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <array>
#include <filesystem>
#include <stdexcept>
#include <system_error>

extern char** environ;

namespace dw::bench {
namespace {

constexpr int fill_window = 2000;

double mib(std::int64_t kib) {
  return static_cast<double>(kib) / 1024;
}

std::int64_t steady_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Steady::now().time_since_epoch())
      .count();
}

// Runs this program anew and gives what it wrote to stdout.
std::string run_self(std::vector<std::string> arguments) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw std::system_error{errno, std::generic_category(), "pipe"};
  }
  posix_spawn_file_actions_t actions{};
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  arguments.insert(arguments.begin(), "dw-bench");
  std::vector<char*> words;
  for (std::string& argument : arguments) words.push_back(argument.data());
  words.push_back(nullptr);
  pid_t child = 0;
  const int failed =
      posix_spawn(&child, "/proc/self/exe", &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string output;
  std::array<char, 4096> buffer{};
  for (;;) {
    const ssize_t count = failed != 0 ? 0 : read(ends[0], buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    output.append(buffer.data(), static_cast<std::size_t>(count));
  }
  close(ends[0]);
  if (failed != 0) throw std::system_error{failed, std::generic_category(), "posix_spawn"};
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    throw std::runtime_error{"the fresh process failed"};
  }
  return output;
}

struct Restart {
  double opened_ms = 0;
  double first_ms = 0;
  double opened_rss_kib = 0;
  double rss_kib = 0;
  double peak_kib = 0;
  double per_second = 0;
};

Restart restart(const std::string& store, const ParkedOptions& options) {
  const auto output = run_self(
      {"parked-restart", "--store", store, "--born-at-ns", std::to_string(steady_ns()), "--seconds",
       std::to_string(options.seconds), "--concurrency", std::to_string(options.concurrency)});
  const auto answer = parse_json(output);
  if (!answer) throw std::runtime_error{"the fresh process said: " + output};
  const auto number = [&](std::string_view key) {
    const Value* value = answer->find(key);
    const double* real = value ? value->if_real() : nullptr;
    if (!real) throw std::runtime_error{fmt::format("the fresh process gave no {}", key)};
    return *real;
  };
  return {number("opened_ms"), number("first_workflow_ms"), number("opened_rss_kib"),
          number("rss_kib"),   number("peak_rss_kib"),      number("workflows_per_second")};
}

void say_restart(std::string_view what, const Restart& restart) {
  say(
      fmt::format("  {:<7} open after {:.1f} ms, first w1 closed after {:.1f} ms; RSS {:.1f} MiB "
                  "then, {:.1f} MiB after load (peak {:.1f}); {:.0f} w1/s",
                  what, restart.opened_ms, restart.first_ms, restart.opened_rss_kib / 1024,
                  restart.rss_kib / 1024, restart.peak_kib / 1024, restart.per_second));
}

}  // namespace

void add_parked_options(CLI::App& command, ParkedOptions& options) {
  command.add_option("--count", options.count, "Workflows to park")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000'000}))
      ->capture_default_str();
  command.add_option("--store", options.store, "A file that does not exist yet, or a directory");
  command.add_option("--seconds", options.seconds, "Of w1 in each fresh process")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command.add_option("--concurrency", options.concurrency, "Of w1 there")->capture_default_str();
  command.add_option("--rounds", options.rounds, "Fresh processes on either store")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
}

std::string run_parked(const ParkedOptions& options) {
  const StoreFile store{options.store, "parked"};
  store.require_new();
  say(environment_line());
  say(fmt::format(
      "{} workflows, each parked on a timer of 30 days; default cache sizes; store on {}",
      options.count, store.kind()));

  const auto from = Steady::now();
  const Memory before = resident_memory();
  Memory filled;
  {
    Engine engine{bench_registry(), {.store = store.path()}};
    fill(engine, Workload::parked, options.count, fill_window, [&](std::int64_t started) {
      say(fmt::format("  {:>9} parked after {:.0f} s, RSS {:.1f} MiB", started, seconds_since(from),
                      mib(resident_memory().now_kib)));
    });
    filled = resident_memory();
  }
  const double fill_seconds = seconds_since(from);
  const std::int64_t file_bytes = store.bytes();
  say(fmt::format("  parked {:.0f}/s; RSS {:.1f} MiB (peak {:.1f}), {:.1f} before; file {:.1f} MiB",
                  static_cast<double>(options.count) / fill_seconds, mib(filled.now_kib),
                  mib(filled.peak_kib), mib(before.now_kib),
                  static_cast<double>(file_bytes) / 1048576));

  std::vector<double> first_ms, empty_first_ms, rss, opened_rss, peak, full, empty, shares;
  for (int round = 0; round < options.rounds; ++round) {
    // Beside the other one: both on the same disk.
    const StoreFile fresh{std::filesystem::absolute(store.path()).parent_path(), "empty"};
    const auto on_empty = restart(fresh.path(), options);
    const auto on_full = restart(store.path(), options);
    say_restart("empty", on_empty);
    say_restart("parked", on_full);
    first_ms.push_back(on_full.first_ms);
    empty_first_ms.push_back(on_empty.first_ms);
    opened_rss.push_back(on_full.opened_rss_kib);
    rss.push_back(on_full.rss_kib);
    peak.push_back(on_full.peak_kib);
    full.push_back(on_full.per_second);
    empty.push_back(on_empty.per_second);
    shares.push_back(on_full.per_second / on_empty.per_second);
  }
  const auto share = spread_of(shares);
  say(fmt::format("  w1 runs at {:.1f} % of an empty store's speed (median; {:.1f} to {:.1f} %)",
                  100 * share.median, 100 * share.low, 100 * share.high));

  std::string line;
  JsonWriter json{line};
  json.begin_object()
      .field("parked", options.count)
      .field("parked_per_second", rounded(static_cast<double>(options.count) / fill_seconds))
      .field("rss_kib", filled.now_kib)
      .field("peak_rss_kib", filled.peak_kib)
      .field("file_bytes", file_bytes)
      .field("restart_first_workflow_ms", rounded(spread_of(first_ms).median))
      .field("restart_first_workflow_ms_empty", rounded(spread_of(empty_first_ms).median))
      .field("restart_rss_kib", rounded(spread_of(opened_rss).median))
      .field("restart_rss_after_load_kib", rounded(spread_of(rss).median))
      .field("restart_peak_rss_kib", rounded(spread_of(peak).median))
      .field("w1_per_second", rounded(spread_of(full).median))
      .field("w1_per_second_empty", rounded(spread_of(empty).median))
      .field("w1_share_of_empty", rounded(share.median))
      .field("w1_share_of_empty_low", rounded(share.low))
      .field("w1_share_of_empty_high", rounded(share.high))
      .key("settings")
      .begin_object()
      .field("count", options.count)
      .field("seconds", options.seconds)
      .field("concurrency", options.concurrency)
      .field("rounds", options.rounds)
      .field("store", std::string_view{store.kind()})
      .field("synchronous", "FULL");
  write_environment(json);
  json.end_object().end_object();
  return line;
}

void add_restart_options(CLI::App& command, RestartOptions& options) {
  command.add_option("--store", options.store)->required();
  command.add_option("--born-at-ns", options.born_at_ns)->required();
  command.add_option("--seconds", options.seconds);
  command.add_option("--concurrency", options.concurrency);
}

std::string run_restart(const RestartOptions& options) {
  const auto age_ms = [&] { return static_cast<double>(steady_ns() - options.born_at_ns) / 1e6; };
  Engine engine{bench_registry(), {.store = options.store}};
  const double opened_ms = age_ms();
  run_one(engine, Workload::w1);
  const double first_ms = age_ms();
  const Memory opened = resident_memory();
  const auto load = run_load(engine, {.workload = Workload::w1,
                                      .concurrency = options.concurrency,
                                      .warmup_seconds = 0.5,
                                      .seconds = options.seconds});
  const Memory loaded = resident_memory();
  std::string line;
  JsonWriter{line}
      .begin_object()
      .field("opened_ms", rounded(opened_ms))
      .field("first_workflow_ms", rounded(first_ms))
      .field("opened_rss_kib", static_cast<double>(opened.now_kib))
      .field("rss_kib", static_cast<double>(loaded.now_kib))
      .field("peak_rss_kib", static_cast<double>(loaded.peak_kib))
      .field("workflows_per_second", rounded(load.per_second()))
      .end_object();
  return line;
}

}  // namespace dw::bench
