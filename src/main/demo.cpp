#include "main/demo.hpp"

#include "core/json_writer.hpp"
#include "examples/order_saga.hpp"
#include "main/progress.hpp"
#include "main/run_view.hpp"
#include "store/sqlite/sqlite_store.hpp"

#include <dw/dw.hpp>

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>

namespace dw::app {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using SteadyClock = std::chrono::steady_clock;

constexpr auto order_id = "order-42";
constexpr auto poll_every = 10ms;
constexpr auto crash_demo_deadline = 20s;

shop::Order demo_order() {
  return {"ada", "12 Analytical Street", {{"engine", 1}, {"card deck", 40}}, 129'900};
}

// The store a demo works on. A temporary one goes away with this object unless it is to be kept.
class DemoStore {
 public:
  explicit DemoStore(const DemoOptions& options) : path_(options.store), keep_(options.keep) {
    if (!path_.empty()) return;
    std::string pattern = (fs::temp_directory_path() / "dw-demo-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) {
      throw std::runtime_error(
          fmt::format("cannot create the directory '{}': {}", pattern, std::strerror(errno)));
    }
    directory_ = pattern;
    path_ = pattern + "/demo.db";
  }
  ~DemoStore() {
    std::error_code ignored;
    if (!directory_.empty() && !keep_) fs::remove_all(directory_, ignored);
  }
  DemoStore(const DemoStore&) = delete;
  DemoStore& operator=(const DemoStore&) = delete;

  const std::string& path() const { return path_; }
  bool stays() const { return directory_.empty() || keep_; }

 private:
  std::string path_;
  std::string directory_;
  bool keep_;
};

// A second, read-only pair of eyes on the store, beside whoever owns it.
class Watcher {
 public:
  explicit Watcher(std::string path) : path_(std::move(path)) {}

  // Nothing while the owner is still busy creating the store, or has not started the order.
  std::optional<RunView> look() {
    if (!store_) {
      auto opened = sqlite::open_sqlite_read_only(path_);
      if (!opened) return std::nullopt;
      store_ = *std::move(opened);
    }
    auto view = find_view(*store_, {}, order_id);
    return view ? *std::move(view) : std::nullopt;
  }

 private:
  const std::string path_;
  std::unique_ptr<store::Store> store_;
};

std::unique_ptr<Engine> open_engine(const std::string& path) {
  shop::service_delay = 600ms;
  Registry registry;
  shop::register_order_saga(registry);
  return std::make_unique<Engine>(std::move(registry), EngineOptions{.store = path});
}

Handle<shop::OrderOutcome> start_order(Engine& engine) {
  return engine.start(shop::place_order,
                      StartOptions{.id = order_id, .on_duplicate = DuplicateStart::attach},
                      demo_order());
}

void print_where_to_look(const DemoStore& store) {
  if (!store.stays()) {
    fmt::print("\nThe store was a temporary one. Keep it with `dw demo --keep` to look inside.\n");
    return;
  }
  fmt::print(
      "\nThe store is {0}. Look inside:\n"
      "    dw run:history --store {0} {1}\n"
      "    sqlite3 {0} 'SELECT sequence, type, recorded_at FROM history_events'\n",
      store.path(), order_id);
}

void write_run(JsonWriter& json, const DemoStore& store, const RunView& run) {
  if (store.stays()) json.field("store", std::string_view{store.path()});
  json.field("instance_id", run.row.instance_id.view())
      .field("run_id", run.row.run_id.view())
      .field("status", history::to_string(run.row.status))
      .field("history_events", run.row.last_sequence)
      .key("steps")
      .begin_array();
  for (const StepView& step : run.steps) {
    json.begin_object()
        .field("step", step.number)
        .field("what", std::string_view{step.what})
        .field("state", to_string(step.state))
        .field("attempts", step.attempts)
        .field("outcomes", step.outcomes)
        .field("opened_at", step.opened_at)
        .field("closed_at", step.closed_at)
        .end_object();
  }
  json.end_array();
}

// ---- the crash demo

// This program once more, as the owner of the store. Killed when we are, one way or another.
class Child {
 public:
  explicit Child(const std::string& store) {
    const pid_t parent = getpid();
    pid_ = fork();
    if (pid_ < 0) throw std::runtime_error(fmt::format("cannot fork: {}", std::strerror(errno)));
    if (pid_ > 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    execl("/proc/self/exe", "dw", "demo:child", "--store", store.c_str(), nullptr);
    _exit(127);
  }
  ~Child() { kill_hard(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }

  // The wait status once it has ended.
  std::optional<int> ended() {
    if (!status_) {
      int status = 0;
      if (waitpid(pid_, &status, WNOHANG) == pid_) status_ = status;
    }
    return status_;
  }

  void kill_hard() {
    if (ended()) return;
    ::kill(pid_, SIGKILL);
    int status = 0;
    waitpid(pid_, &status, 0);
    status_ = status;
  }

 private:
  pid_t pid_ = -1;
  std::optional<int> status_;
};

// The step that is under way while at least one before it is done: the moment to pull the plug.
// Late enough in the order that there is something to lose.
const StepView* interruptible_step(const RunView& run) {
  for (const StepView& step : run.steps) {
    const bool late = step.number >= 4;
    if (late && step.state == StepView::State::running) return &step;
  }
  return nullptr;
}

struct Check {
  std::string what;
  bool ok;
};

std::vector<Check> check_after_crash(const RunView& before, const RunView& after) {
  const bool kept = after.events.size() >= before.events.size() &&
                    std::equal(before.events.begin(), before.events.end(), after.events.begin());
  bool once = true;
  for (std::size_t i = 0; i < after.steps.size(); ++i) {
    const StepView& step = after.steps[i];
    once = once && step.number == static_cast<std::int64_t>(i) + 1 && step.outcomes == 1;
  }
  return {
      {"the order completed", after.row.status == history::RunStatus::completed},
      {fmt::format("all {} events from before the kill are there, unchanged", before.events.size()),
       kept},
      {fmt::format("each of the {} steps was recorded exactly once", after.steps.size()), once}};
}

class CrashDemo {
 public:
  CrashDemo(const DemoStore& store, bool json)
      : store_(store),
        tells_(!json),
        watcher_(store.path()),
        progress_(json ? Progress::Style::silent : Progress::style_of_stdout()) {}

  int run() {
    if (watcher_.look()) {
      fmt::print(stderr, "dw demo crash: '{}' already has an order in it; name a new file\n",
                 store_.path());
      return 1;
    }
    Child first{store_.path()};
    tell("Process {} takes an order and works on it:\n", first.pid());
    const auto before =
        wait_until(first, [](const RunView& run) { return interruptible_step(run); });
    first.kill_hard();
    // What was durable at the moment it died, which may be a little more than what we saw last.
    const auto left = watcher_.look();
    if (!before || !left || !interruptible_step(*left)) {
      return give_up("the order was over before it could be interrupted");
    }
    const StepView interrupted = *interruptible_step(*left);
    progress_.settle();
    tell("\nkill -9 {}, with step {} ({}) half done. Durable at that moment: {} events.\n\n",
         first.pid(), interrupted.number, interrupted.what, left->events.size());

    Child second{store_.path()};
    tell("Process {} opens the same file and carries on:\n", second.pid());
    const auto after =
        wait_until(second, [](const RunView& run) { return history::is_terminal(run.row.status); });
    if (!after) return give_up("the second process did not finish the order");
    progress_.settle();

    const auto checks = check_after_crash(*left, *after);
    const bool ok = std::ranges::all_of(checks, &Check::ok);
    if (tells_) {
      tell_checks(checks, interrupted, *after);
      print_where_to_look(store_);
    } else {
      print_json(checks, ok, first.pid(), interrupted, *left, *after);
    }
    return ok ? 0 : 1;
  }

 private:
  template <typename... Args>
  void tell(fmt::format_string<Args...> text, Args&&... args) {
    if (!tells_) return;
    fmt::print(text, std::forward<Args>(args)...);
    std::fflush(stdout);
  }

  // Follows the order until `reached`; nothing when the child ended, or time did, before that.
  template <typename Reached>
  std::optional<RunView> wait_until(Child& child, Reached reached) {
    while (SteadyClock::now() < deadline_) {
      const bool ended = child.ended().has_value();
      if (auto view = watcher_.look()) {
        progress_.show(*view);
        if (reached(*view)) return view;
      }
      if (ended) return std::nullopt;
      std::this_thread::sleep_for(poll_every);
    }
    return std::nullopt;
  }

  int give_up(std::string_view why) {
    fmt::print(stderr, "dw demo crash: {}\n", why);
    return 1;
  }

  void tell_checks(const std::vector<Check>& checks, const StepView& interrupted,
                   const RunView& after) {
    fmt::print("\nThe store says:\n");
    for (const Check& check : checks) fmt::print("    {} {}\n", check.ok ? "✓" : "✗", check.what);
    const StepView& redone = after.steps[static_cast<std::size_t>(interrupted.number - 1)];
    fmt::print(
        "    {} took {} attempts under one idempotency key; the steps before it were not run "
        "again\n",
        redone.what, redone.attempts);
  }

  void print_json(const std::vector<Check>& checks, bool ok, pid_t killed,
                  const StepView& interrupted, const RunView& left, const RunView& after) {
    std::string text;
    JsonWriter json{text};
    json.begin_object()
        .field("ok", ok)
        .field("killed_pid", killed)
        .field("interrupted_step", interrupted.number)
        .field("durable_events_at_kill", left.events.size())
        .key("checks")
        .begin_array();
    for (const Check& check : checks) {
      json.begin_object()
          .field("check", std::string_view{check.what})
          .field("ok", check.ok)
          .end_object();
    }
    json.end_array();
    write_run(json, store_, after);
    json.end_object();
    fmt::print("{}\n", text);
  }

  const DemoStore& store_;
  const bool tells_;
  Watcher watcher_;
  Progress progress_;
  const SteadyClock::time_point deadline_ = SteadyClock::now() + crash_demo_deadline;
};

}  // namespace

int run_demo(const DemoOptions& options) {
  const DemoStore store{options};
  Watcher watcher{store.path()};
  Progress progress{options.json ? Progress::Style::silent : Progress::style_of_stdout()};
  const auto engine = open_engine(store.path());
  const auto order = start_order(*engine);
  if (!options.json) fmt::print("{} is on its way; each ✓ is on disk:\n", order.id());
  do {
    if (const auto view = watcher.look()) progress.show(*view);
  } while (!order.wait_for(poll_every));

  const auto outcome = order.result();
  const auto view = watcher.look();
  if (!view) throw std::runtime_error("the order is done, but its store cannot be read");
  progress.show(*view);
  const bool ok = outcome.status == shop::OrderStatus::shipped;
  if (options.json) {
    std::string text;
    JsonWriter json{text};
    json.begin_object().field("ok", ok).field("tracking_code",
                                              std::string_view{outcome.tracking_code});
    write_run(json, store, *view);
    json.end_object();
    fmt::print("{}\n", text);
  } else {
    fmt::print("\nShipped as {}. Now pull the plug in the middle: dw demo crash\n",
               outcome.tracking_code);
    print_where_to_look(store);
  }
  return ok ? 0 : 1;
}

int run_crash_demo(const DemoOptions& options) {
  const DemoStore store{options};
  return CrashDemo{store, options.json}.run();
}

int run_demo_child(const std::string& store) {
  const auto engine = open_engine(store);
  const auto outcome = start_order(*engine).result();
  return outcome.status == shop::OrderStatus::shipped ? 0 : 1;
}

}  // namespace dw::app
