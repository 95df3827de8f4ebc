// dw-bench: what we claim about speed, measured. Prints its settings and, as the last line of
// stdout, one JSON object; everything for people goes to stderr.
#include "due.hpp"
#include "http.hpp"
#include "limit.hpp"
#include "load.hpp"
#include "one_run.hpp"
#include "parked.hpp"
#include "store/sqlite/sqlite_store.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <exception>
#include <filesystem>
#include <stdexcept>

namespace dw::bench {
namespace {

struct Options {
  std::string workload = "w1";
  LoadOptions load;
  std::string store;
  int workflow_threads = 0;
  bool own_rows = false;
  int rounds = 5;
};

void print_last_line(const std::string& json) {
  fmt::print("{}\n", json);
}

std::string_view synchronous(const StoreFile& store) {
  return store.kind() == "memory" ? "none" : "FULL";
}

void write_settings(JsonWriter& json, const Options& options, const StoreFile& store) {
  json.key("settings")
      .begin_object()
      .field("workload", to_string(options.load.workload))
      .field("concurrency", options.load.concurrency)
      .field("seconds", options.load.seconds)
      .field("warmup_seconds", options.load.warmup_seconds)
      .field("workflow_threads", options.workflow_threads)
      .field("store", std::string_view{store.kind()})
      .field("synchronous", synchronous(store))
      .field("payload_bytes", payload_bytes());
  write_environment(json);
  json.end_object();
}

LoadResult run_embedded_once(const Options& options, const StoreFile& store) {
  Engine engine{bench_registry(),
                {.store = store.path(), .workflow_threads = options.workflow_threads}};
  return run_load(engine, options.load);
}

void run_embedded(const Options& options) {
  const StoreFile store{options.store, "embedded"};
  say(environment_line());
  say(fmt::format("{} x {} for {} s after {} s of warm-up, store on {}, synchronous = {}",
                  to_string(options.load.workload), options.load.concurrency, options.load.seconds,
                  options.load.warmup_seconds, store.kind(), synchronous(store)));
  const std::int64_t file_bytes = store.bytes();
  const auto result = run_embedded_once(options, store);
  // The engine is closed by now, so the log has been copied into the file.
  const double file_growth =
      static_cast<double>(store.bytes() - file_bytes) / static_cast<double>(result.started);

  const double steps = result.per_second() * steps_of(options.load.workload);
  const auto per_workflow = [&](std::int64_t total) {
    return rounded(result.per_workflow(static_cast<double>(total)));
  };
  const double cpu_us = 1e6 * result.per_workflow(result.cpu_seconds);
  say(fmt::format(
      "  {:.0f} workflows/s, {:.0f} steps/s; p50 {:.2f} ms, p99 {:.2f} ms, max {:.1f} ms",
      result.per_second(), steps, result.p50_ms, result.p99_ms, result.max_ms));
  say(
      fmt::format("  {} commits of {:.1f} transitions, {} fsyncs; per workflow {:.1f} rows, {:.0f} "
                  "history bytes, {:.0f} bytes of file, {:.1f} us of CPU; {} starts refused",
                  result.store.commits,
                  static_cast<double>(result.store.transitions) /
                      static_cast<double>(std::max<std::int64_t>(1, result.store.commits)),
                  result.store.fsyncs, per_workflow(result.store.rows),
                  per_workflow(result.store.history_bytes), file_growth, cpu_us, result.refused));
  say_threads(result);

  std::string line;
  JsonWriter json{line};
  json.begin_object()
      .field("workflows_per_second", rounded(result.per_second()))
      .field("steps_per_second", rounded(steps))
      .field("p50_ms", rounded(result.p50_ms))
      .field("p99_ms", rounded(result.p99_ms))
      .field("max_ms", rounded(result.max_ms))
      .field("workflows", result.workflows)
      .field("refused", result.refused)
      .field("commits", result.store.commits)
      .field("transitions", result.store.transitions)
      .field("fsyncs", result.store.fsyncs)
      .field("rows_per_workflow", per_workflow(result.store.rows))
      .field("bytes_per_workflow", per_workflow(result.store.history_bytes))
      .field("file_bytes_per_workflow", rounded(file_growth))
      .field("cpu_us_per_workflow", rounded(cpu_us));
  write_settings(json, options, store);
  json.end_object();
  print_last_line(line);
}

LimitResult run_limit_once(bool own_rows, const std::string& where, double seconds) {
  const StoreFile store{where, own_rows ? "own-rows" : "limit"};
  store.require_new();
  return own_rows ? run_own_rows(store.path(), seconds) : run_limit(store.path(), seconds);
}

void run_limit_command(const Options& options) {
  const StoreFile store{options.store, "limit"};
  store.require_new();
  say(environment_line());
  say(fmt::format(
      "{}, {} transitions in a transaction, for {} s, store on {}, synchronous = FULL",
      options.own_rows ? "our own rows through our own store" : "fixed rows, raw SQLite",
      limit_group, options.load.seconds, store.kind()));
  const auto result = options.own_rows ? run_own_rows(store.path(), options.load.seconds)
                                       : run_limit(store.path(), options.load.seconds);
  say(fmt::format(
      "  {:.0f} w1/s; commit p50 {:.2f} ms, p99 {:.2f} ms; {:.1f} rows and {:.1f} us of "
      "CPU per w1",
      result.per_second(), result.p50_ms, result.p99_ms, result.rows_per_workflow,
      result.cpu_us_per_workflow()));
  std::string line;
  JsonWriter json{line};
  json.begin_object()
      .field("workflows_per_second", rounded(result.per_second()))
      .field("commit_p50_ms", rounded(result.p50_ms))
      .field("commit_p99_ms", rounded(result.p99_ms))
      .field("commits", result.commits)
      .field("rows_per_workflow", rounded(result.rows_per_workflow))
      .field("cpu_us_per_workflow", rounded(result.cpu_us_per_workflow()))
      .key("settings")
      .begin_object()
      .field("shape", options.own_rows ? "own_rows" : "fixed")
      .field("group", limit_group)
      .field("seconds", options.load.seconds)
      .field("store", std::string_view{store.kind()})
      .field("synchronous", "FULL");
  write_environment(json);
  json.end_object().end_object();
  print_last_line(line);
}

void write_spread(JsonWriter& json, std::string_view name, const Spread& spread) {
  json.key(name)
      .begin_object()
      .field("low", rounded(spread.low))
      .field("median", rounded(spread.median))
      .field("high", rounded(spread.high))
      .end_object();
}

// What one side of the comparison did, round by round.
struct Side {
  std::vector<double> per_second, cpu_us;
  void add(double speed, double cpu) {
    per_second.push_back(speed);
    cpu_us.push_back(cpu);
  }
};

void run_compare(const Options& options) {
  if (!options.store.empty() && !std::filesystem::is_directory(options.store)) {
    throw std::invalid_argument{"compare makes many stores: --store must be a directory"};
  }
  say(environment_line());
  say(fmt::format("{} rounds of {} s each: limit, our own rows, {} x {}", options.rounds,
                  options.load.seconds, to_string(options.load.workload),
                  options.load.concurrency));
  say(fmt::format("  {:>5} | {:>10} {:>9} {:>9} {:>9} {:>7} | {:>8} {:>9} {:>9}", "round",
                  "limit/s", "own/s", "dw/s", "of limit", "of own", "limit us", "own us", "dw us"));
  Side limit, own_rows, embedded;
  std::vector<double> of_limit, of_own;
  for (int round = 1; round <= options.rounds; ++round) {
    const auto raw = run_limit_once(false, options.store, options.load.seconds);
    limit.add(raw.per_second(), raw.cpu_us_per_workflow());
    const auto own = run_limit_once(true, options.store, options.load.seconds);
    own_rows.add(own.per_second(), own.cpu_us_per_workflow());
    const StoreFile store{options.store, "embedded"};
    const auto load = run_embedded_once(options, store);
    embedded.add(load.per_second(), 1e6 * load.per_workflow(load.cpu_seconds));
    of_limit.push_back(load.per_second() / raw.per_second());
    of_own.push_back(load.per_second() / own.per_second());
    say(fmt::format(
        "  {:>5} | {:>10.0f} {:>9.0f} {:>9.0f} {:>8.1f}% {:>6.1f}% | {:>8.1f} {:>9.1f} "
        "{:>9.1f}",
        round, raw.per_second(), own.per_second(), load.per_second(), 100 * of_limit.back(),
        100 * of_own.back(), limit.cpu_us.back(), own_rows.cpu_us.back(), embedded.cpu_us.back()));
  }
  const auto ratio = spread_of(of_limit);
  say(fmt::format("  embedded reaches {:.1f} % of the limit (median; {:.1f} to {:.1f} %)",
                  100 * ratio.median, 100 * ratio.low, 100 * ratio.high));
  std::string line;
  JsonWriter json{line};
  json.begin_object();
  write_spread(json, "embedded_of_limit", ratio);
  write_spread(json, "embedded_of_own_rows", spread_of(of_own));
  write_spread(json, "limit_per_second", spread_of(limit.per_second));
  write_spread(json, "own_rows_per_second", spread_of(own_rows.per_second));
  write_spread(json, "embedded_per_second", spread_of(embedded.per_second));
  write_spread(json, "limit_cpu_us", spread_of(limit.cpu_us));
  write_spread(json, "own_rows_cpu_us", spread_of(own_rows.cpu_us));
  write_spread(json, "embedded_cpu_us", spread_of(embedded.cpu_us));
  json.field("rounds", options.rounds);
  write_settings(json, options, StoreFile{options.store, "embedded"});
  json.end_object();
  print_last_line(line);
}

int run(int argc, char** argv) {
  CLI::App app{"Measures dw. The last line of stdout is one JSON object."};
  app.require_subcommand(1);
  Options options;
  ParkedOptions parked;
  RestartOptions restart;
  bool json = false;

  const auto add_common = [&](CLI::App* command) {
    command->add_flag("--json", json, "Print the JSON object and nothing else");
  };
  const auto add_store = [&](CLI::App* command) {
    command->add_option("--store", options.store,
                        "A file, which is kept, or a directory for a temporary one; default: "
                        "$TMPDIR or /var/tmp");
  };
  const auto add_load = [&](CLI::App* command) {
    command->add_option("--workload", options.workload, "w1, w10, wsleep or wsig")
        ->capture_default_str();
    command->add_option("--concurrency", options.load.concurrency, "Workflows under way at a time")
        ->check(CLI::Range(1, 1'000'000))
        ->capture_default_str();
    command->add_option("--seconds", options.load.seconds, "Measured time")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    command->add_option("--warmup", options.load.warmup_seconds, "Time before that")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
    command->add_option("--workflow-threads", options.workflow_threads, "0: the engine's choice")
        ->check(CLI::Range(0, 256))
        ->capture_default_str();
  };

  CLI::App* embedded = app.add_subcommand("embedded", "The engine in this process, on SQLite");
  add_load(embedded);
  add_store(embedded);
  add_common(embedded);
  CLI::App* http = app.add_subcommand(
      "http", "The server, a worker and this client, in three processes on loopback");
  HttpBenchOptions http_options;
  add_load(http);
  add_http_options(*http, http_options);
  add_common(http);
  CLI::App* polls = app.add_subcommand("polls", "What long polls that wait cost the server");
  add_polls_options(*polls, http_options);
  add_common(polls);
  CLI::App* http_worker = app.add_subcommand("http-worker", "");
  http_worker->group("");  // for http itself, in another process
  add_http_worker_options(*http_worker, http_options);
  CLI::App* limit = app.add_subcommand("limit", "SQLite without an engine, for w1");
  limit->add_option("--seconds", options.load.seconds, "Measured time")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  limit->add_flag("--own-rows", options.own_rows, "The rows that our store writes");
  add_store(limit);
  add_common(limit);
  CLI::App* compare = app.add_subcommand("compare", "Limit and embedded by turns");
  add_load(compare);
  compare->add_option("--rounds", options.rounds, "How often")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  add_store(compare);
  add_common(compare);
  CLI::App* park = app.add_subcommand("parked", "Memory and restart with many sleeping workflows");
  add_parked_options(*park, parked);
  add_common(park);
  CLI::App* hot = app.add_subcommand("signals", "One run that takes all the signals there are");
  HotRunOptions hot_run;
  add_hot_run_options(*hot, hot_run);
  add_common(hot);
  CLI::App* cold = app.add_subcommand("replay", "A long history, resumed cold and warm");
  ReplayOptions replay;
  add_replay_options(*cold, replay);
  add_common(cold);
  CLI::App* schedules = app.add_subcommand("due", "Schedules, many of them due at one second");
  DueOptions due;
  add_due_options(*schedules, due);
  add_common(schedules);
  CLI::App* again = app.add_subcommand("parked-restart", "");
  again->group("");  // for parked itself, in a fresh process
  add_restart_options(*again, restart);

  CLI11_PARSE(app, argc, argv);
  set_quiet(json);
  options.load.workload = parse_workload(options.workload);
  if (embedded->parsed()) {
    run_embedded(options);
  } else if (http->parsed()) {
    print_last_line(run_http(options.load, http_options));
  } else if (polls->parsed()) {
    print_last_line(run_polls(http_options));
  } else if (http_worker->parsed()) {
    run_http_worker(http_options);
  } else if (limit->parsed()) {
    run_limit_command(options);
  } else if (compare->parsed()) {
    if (options.load.workload != Workload::w1) {
      throw std::invalid_argument{"compare has a limit for w1 only"};
    }
    run_compare(options);
  } else if (park->parsed()) {
    print_last_line(run_parked(parked));
  } else if (hot->parsed()) {
    print_last_line(run_hot_run(hot_run));
  } else if (cold->parsed()) {
    print_last_line(run_replay(replay));
  } else if (schedules->parsed()) {
    print_last_line(run_due(due));
  } else {
    print_last_line(run_restart(restart));
  }
  return 0;
}

}  // namespace
}  // namespace dw::bench

int main(int argc, char** argv) {
  dw::sqlite::leave_memory_uncounted();
  try {
    return dw::bench::run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "dw-bench: {}\n", error.what());
    return 1;
  }
}
