// dw-sim: runs worlds, one seed after the other, and says how to see a broken one again.
#include "core/json_writer.hpp"
#include "sim/schedule_world.hpp"
#include "sim/world.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

using namespace dw::sim;

constexpr std::string_view usage =
    "usage: dw-sim --seeds N [--first-seed S] [--plant NAME] [--trace] [--json]\n"
    "       dw-sim --fires N [--first-seed S]\n"
    "\n"
    "Runs N simulated worlds, each from one seed: the real engine on a simulated clock over a\n"
    "store that fails on purpose. Exits with 1 if anything that must hold did not.\n"
    "\n"
    "  --seeds N        how many worlds to run (1000)\n"
    "  --fires N        worlds of schedules instead, until so many of their occurrences were\n"
    "                   started: three nodes that crash, clocks that jump, one outcome each\n"
    "  --first-seed S   the first seed (1)\n"
    "  --plant NAME     plant a bug and see it found:\n";

struct Arguments {
  std::uint64_t seeds = 1'000;
  std::uint64_t first_seed = 1;
  PlantName plant{Plant::none, {}, {}};
  std::int64_t fires = 0;
  bool trace = false;
  bool json = false;
};

[[noreturn]] void fail(const std::string& why) {
  fmt::print(stderr, "dw-sim: {}\n\n{}", why, usage);
  for (const PlantName& plant : plants())
    fmt::print(stderr, "      {:<20} {}\n", plant.name, plant.what);
  std::exit(2);
}

std::uint64_t number(std::string_view name, const char* text) {
  std::uint64_t value = 0;
  const auto* end = text + std::strlen(text);
  if (const auto [at, error] = std::from_chars(text, end, value);
      error != std::errc{} || at != end) {
    fail(fmt::format("{} wants a number, not '{}'", name, text));
  }
  return value;
}

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    const auto value = [&] {
      if (i + 1 == argc) fail(fmt::format("{} wants a value", name));
      return argv[++i];
    };
    if (name == "--seeds")
      arguments.seeds = number(name, value());
    else if (name == "--first-seed")
      arguments.first_seed = number(name, value());
    else if (name == "--fires")
      arguments.fires = static_cast<std::int64_t>(number(name, value()));
    else if (name == "--trace")
      arguments.trace = true;
    else if (name == "--json")
      arguments.json = true;
    else if (name == "--plant") {
      const std::string_view wanted = value();
      for (const PlantName& plant : plants()) {
        if (plant.name == wanted) arguments.plant = plant;
      }
      if (arguments.plant.plant == Plant::none) fail(fmt::format("there is no plant '{}'", wanted));
    } else {
      fail(fmt::format("unknown option '{}'", name));
    }
  }
  return arguments;
}

std::string reproduce(const Arguments& arguments, std::uint64_t seed) {
  return fmt::format("dw-sim --first-seed {} --seeds 1{}{} --trace", seed,
                     arguments.plant.plant == Plant::none ? "" : " --plant ", arguments.plant.name);
}

Arguments current_arguments;
std::uint64_t current_seed = 0;

// An assertion of the engine ends the process: say at least which seed it was. Nothing here is safe
// in a signal handler by the letter, but abort() is called by this very thread.
void say_which_seed(int) {
  if (const auto* trace = current_trace()) {
    fmt::print(stderr, "seed {}, step {}: the engine stopped itself\n", current_seed,
               trace->step());
    for (const auto& line : trace->tail()) fmt::print(stderr, "  {}\n", line);
  }
  fmt::print(stderr, "reproduce: {}\n", reproduce(current_arguments, current_seed));
}

constexpr std::int64_t fires_of_a_world = 2'000;

int play_schedules(const Arguments& arguments) {
  ScheduleWorldReport total;
  std::uint64_t worlds = 0;
  std::uint64_t failed = 0;
  const auto began = std::chrono::steady_clock::now();
  for (; total.fires < arguments.fires; ++worlds) {
    const auto seed = current_seed = arguments.first_seed + worlds;
    const auto asked = std::min(fires_of_a_world, arguments.fires - total.fires);
    const auto report = run_schedule_world({.seed = seed, .fires = asked});
    total.fires += report.fires;
    total.skipped += report.skipped;
    total.dropped += report.dropped;
    total.drained += report.drained;
    total.crashes += report.crashes;
    total.clock_jumps += report.clock_jumps;
    total.hash = (total.hash ^ report.hash) * 0x100000001b3;
    if (report.broken.empty()) continue;
    ++failed;
    for (const auto& broken : report.broken) fmt::print("seed {}: {}\n", seed, broken);
    fmt::print("reproduce: dw-sim --fires {} --first-seed {}\n", asked, seed);
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  fmt::print(
      "{} passed, {} failed: {} fires ({} drained), {} skipped, {} dropped, {} crashes, {} clock "
      "jumps in {:.1f} s, hash {:016x}\n",
      worlds - failed, failed, total.fires, total.drained, total.skipped, total.dropped,
      total.crashes, total.clock_jumps, took.count(), total.hash);
  return failed == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments = current_arguments = parse(argc, argv);
  if (arguments.fires > 0) {
    spdlog::set_level(spdlog::level::off);
    return play_schedules(arguments);
  }
  std::signal(SIGABRT, say_which_seed);
  spdlog::set_level(arguments.trace ? spdlog::level::debug : spdlog::level::off);
  const bool progress = isatty(STDERR_FILENO) != 0 && !arguments.trace && !arguments.json;

  std::vector<Report> failures;
  Report total;
  std::uint64_t pairs = 0;  // worlds of two nodes
  const auto began = std::chrono::steady_clock::now();
  auto shown = began;
  for (std::uint64_t i = 0; i < arguments.seeds; ++i) {
    WorldOptions options;
    options.seed = current_seed = arguments.first_seed + i;
    options.plant = arguments.plant.plant;
    if (arguments.trace) options.show = [](const std::string& line) { fmt::print("{}\n", line); };
    auto report = run_world(options);
    total.steps += report.steps;
    total.crashes += report.crashes;
    pairs += report.nodes == 2;
    total.commits += report.commits;
    total.runs += report.runs;
    total.signals += report.signals;
    total.updates += report.updates;
    total.children += report.children;
    total.continued += report.continued;
    total.run_again += report.run_again;
    if (report.broken) {
      if (!arguments.json) {
        fmt::print("{}seed {}, step {}\nbroken: {}\n", progress ? "\r\033[K" : "", report.seed,
                   report.steps, *report.broken);
        if (!arguments.trace) {
          for (const auto& line : report.trace) fmt::print("  {}\n", line);
        }
        fmt::print("reproduce: {}\n", reproduce(arguments, report.seed));
        std::fflush(stdout);  // Whoever runs a million seeds may stop it at the first.
      }
      failures.push_back(std::move(report));
    }
    const auto now = std::chrono::steady_clock::now();
    if (progress && now - shown > std::chrono::milliseconds{200}) {
      shown = now;
      fmt::print(stderr, "\r\033[K{} of {} seeds, {} failed", i + 1, arguments.seeds,
                 failures.size());
    }
  }
  if (progress) fmt::print(stderr, "\r\033[K");

  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  const auto passed = arguments.seeds - failures.size();
  if (arguments.json) {
    std::string out;
    dw::JsonWriter json{out};
    json.begin_object()
        .field("seeds", arguments.seeds)
        .field("first_seed", arguments.first_seed)
        .field("passed", passed)
        .field("failed", failures.size())
        .field("of_two_nodes", pairs)
        .field("runs", total.runs)
        .field("signals", total.signals)
        .field("updates", total.updates)
        .field("children", total.children)
        .field("continued", total.continued)
        .field("run_again", total.run_again)
        .field("steps", total.steps)
        .field("crashes", total.crashes)
        .field("commits", total.commits)
        .field("seconds", took.count())
        .key("failures")
        .begin_array();
    for (const Report& report : failures) {
      json.begin_object()
          .field("seed", report.seed)
          .field("step", report.steps)
          .field("broken", std::string_view{*report.broken})
          .field("reproduce", std::string_view{reproduce(arguments, report.seed)})
          .end_object();
    }
    json.end_array().end_object();
    fmt::print("{}\n", out);
  } else {
    fmt::print(
        "{} passed, {} failed, {} of two nodes: {} runs ({} children, {} run again, {} continued), "
        "{} signals, {} updates, {} steps, {} crashes, {} commits in {:.1f} s\n",
        passed, failures.size(), pairs, total.runs, total.children, total.run_again,
        total.continued, total.signals, total.updates, total.steps, total.crashes, total.commits,
        took.count());
  }
  return failures.empty() ? 0 : 1;
}
