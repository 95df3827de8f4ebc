#include "due.hpp"

#include "measure.hpp"

#include <dw/dw.hpp>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <atomic>
#include <thread>
#include <vector>

namespace dw::bench {
namespace {

using namespace std::chrono_literals;

constexpr int creators = 64;
constexpr auto room_to_breathe = 5s;

std::atomic<int> begun{0};

int noted() {
  begun.fetch_add(1, std::memory_order_relaxed);
  return 0;
}

ScheduleOptions far_away(int number) {
  return {.id = fmt::format("far-{}", number), .cron = {"0 0 1 1 *"}};
}

// All at the same second of the hour.
ScheduleOptions at_second(int number, Timestamp at) {
  const auto of_hour = std::chrono::floor<std::chrono::seconds>(at).time_since_epoch() % 3600s;
  return {.id = fmt::format("due-{}", number),
          .every = {{"PT1H", fmt::format("PT{}S", of_hour.count())}}};
}

template <typename Make>
void create_all(Engine& engine, int count, Make make) {
  std::atomic<int> next{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < creators; ++i) {
    threads.emplace_back([&] {
      auto schedules = engine.schedules();
      for (int number = next++; number < count; number = next++) {
        schedules.create(noted, make(number));
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

Timestamp now() {
  return std::chrono::floor<Duration>(std::chrono::system_clock::now());
}

}  // namespace

void add_due_options(CLI::App& command, DueOptions& options) {
  command.add_option("--schedules", options.schedules, "Active schedules")->capture_default_str();
  command.add_option("--due", options.due, "Of them, due at the same second")
      ->capture_default_str();
  command.add_option("--store", options.store, "A directory for a temporary store");
}

std::string run_due(const DueOptions& options) {
  const StoreFile file{options.store, "due"};
  file.require_new();
  say(environment_line());
  say(fmt::format("{} schedules, {} of them due at one second, store on {}", options.schedules,
                  options.due, file.kind()));
  Registry registry;
  registry.workflow("bench.noted", noted);
  Engine engine{std::move(registry), {.store = file.path()}};

  const auto filling = Steady::now();
  create_all(engine, options.schedules - options.due, far_away);
  // Created first and due later, however long that takes.
  const auto created = options.schedules - options.due;
  const double fill_seconds = seconds_since(filling);
  const auto per_second = std::max(500.0, created / std::max(fill_seconds, 0.001));
  const auto needed = std::chrono::seconds{static_cast<int>(options.due / per_second) + 5};
  const auto at = std::chrono::ceil<std::chrono::seconds>(now() + needed + room_to_breathe);
  create_all(engine, options.due, [&](int number) { return at_second(number, at); });
  const bool in_time = now() < at;

  const auto quiet_before = engine.stats();
  while (now() < at) std::this_thread::sleep_until(at);
  const auto before = engine.stats();
  const auto cpu = process_cpu_seconds();
  const auto began = Steady::now();
  while (begun.load() < options.due) std::this_thread::sleep_for(1ms);
  const double all_started = seconds_since(began);
  const auto after = engine.stats();

  std::string out;
  JsonWriter json{out};
  json.begin_object()
      .field("schedules", options.schedules)
      .field("due", options.due)
      .field("created_in_time", in_time)
      .field("all_started_seconds", rounded(all_started))
      .field("fires_per_second", rounded(options.due / all_started))
      .field("commits", after.commits - before.commits)
      .field("rows_per_fire", rounded(static_cast<double>(after.rows - before.rows) / options.due))
      .field("commits_while_nothing_was_due", before.commits - quiet_before.commits)
      .field("created_per_second", rounded(created / std::max(fill_seconds, 0.001)))
      .field("cpu_us_per_fire", rounded((process_cpu_seconds() - cpu) * 1e6 / options.due));
  json.key("settings").begin_object().field("store", std::string_view{file.kind()});
  write_environment(json);
  json.end_object().end_object();
  return out;
}

}  // namespace dw::bench
