#include "main/server_commands.hpp"

#include "core/unwrap.hpp"
#include "examples/order_saga.hpp"
#include "main/ready.hpp"
#include "main/running.hpp"
#include "main/samples.hpp"
#include "main/server_config.hpp"
#include "main/server_log.hpp"
#include "server/file_limit.hpp"
#include "server/task_budgets.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <spdlog/spdlog.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>

namespace dw::app {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr int exit_misconfigured = 2;
constexpr auto sample_every = 5s;

// Blocks the signals that stop or reload a server before any thread starts, so that only wait()
// hears them.
class Signals {
 public:
  Signals() {
    sigemptyset(&set_);
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set_, number);
    pthread_sigmask(SIG_BLOCK, &set_, nullptr);
    // Whoever read the log and left takes nobody along.
    std::signal(SIGPIPE, SIG_IGN);
  }
  // The signal that came; 0 when none came for that long.
  int wait(std::chrono::seconds patience) {
    const timespec time{patience.count(), 0};
    const int number = sigtimedwait(&set_, nullptr, &time);
    return number < 0 ? 0 : number;
  }
  // From here on a stop does what it does to any process: who asks twice does not want to wait.
  void release_stops() {
    sigset_t stops;
    sigemptyset(&stops);
    for (const int number : {SIGINT, SIGTERM}) sigaddset(&stops, number);
    pthread_sigmask(SIG_UNBLOCK, &stops, nullptr);
  }

 private:
  sigset_t set_;
};

// Blocked signals are heard although whoever started us asked to ignore them.
bool is_ignored(int signal) {
  struct sigaction action {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

Serving serving(const server::Settings& settings) {
  Serving how;
  // Written in capitals or not, it is the one that requests mean.
  how.ns = unwrap(parse_namespace(settings.text("server.namespace"))).str();
  how.retention = settings.on("retention.enabled");
  how.budgets = unwrap(server::parse_budgets(settings));
  how.export_key = {settings.text("history_export.signing_key"),
                    settings.text("history_export.signing_key_id")};
  how.schedule_log_retention = std::chrono::days{settings.number("schedules.action_log_retention")};
  how.lenient_run_closed = settings.on("server.lenient_run_closed");
  how.updates_queue_behind_signals = settings.text("updates.behind_pending_signal") == "queue";
  how.compression = settings.on("server.compression");
  how.open_metrics = settings.on("metrics.open");
  return how;
}

// Every connection is a file. Fewer are served than asked for rather than a store that cannot open
// its own.
void fit_connections(server::HttpOptions& http) {
  const std::size_t files = server::raise_file_limit();
  const std::size_t fitting = server::connections_within(files, http.max_connections);
  if (fitting == http.max_connections) return;
  spdlog::warn("{}", server::too_few_files(files, http.max_connections));
  http.max_connections = fitting;
}

// Empty when what was configured cannot be: an address that is not this machine's, for one. Throws
// EngineError when the world is in the way, as a port that is taken.
std::unique_ptr<Running> start_serving(Registry registry, Serving how) {
  try {
    return std::make_unique<Running>(std::move(registry), std::move(how));
  } catch (const EngineError& error) {
    if (error.code() != ErrorCode::invalid_argument) throw;
    fmt::print(stderr, "dw: {}\n", error.what());
    return nullptr;
  }
}

// A directory of its own that goes with it, however the command ends.
class ScratchDirectory {
 public:
  ScratchDirectory() : path_((fs::temp_directory_path() / "dw-dev-XXXXXX").string()) {
    if (mkdtemp(path_.data()) == nullptr) {
      throw EngineError{{ErrorCode::unavailable,
                         fmt::format("cannot create a temporary directory like {}", path_)}};
    }
  }
  ~ScratchDirectory() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// What can change while a server runs: secrets, the log's level, the certificate, which file the
// access log is, and time zones.
void reload(const server::GivenSettings& flags, const ServerConfig& begun_with, Running& running,
            AccessOutput& access) {
  auto fresh = reload_server_config(flags, begun_with, running.auth());
  if (!fresh) return spdlog::warn("settings stay as they were: {}", fresh.error().message);
  for (const auto& warning : fresh->warnings) spdlog::warn("{}", warning);
  for (const auto& name : changed_for_next_start(begun_with, *fresh)) {
    spdlog::warn("{} has changed; it counts when the server starts again", name);
  }
  configure_logging(fresh->settings.text("log.level"), begun_with.log_format);
  running.replace_auth(std::move(fresh->auth));
  if (auto opened = access.reopen(); !opened) {
    spdlog::warn("the access log stays where it was: {}", opened.error().message);
  }
  if (begun_with.http.tls) {
    if (auto loaded = running.http().reload_certificate(); !loaded) {
      spdlog::warn("the certificate stays as it was: {}", loaded.error().message);
    }
  }
  running.engine().reload_zones([](const Result<std::size_t>& changed) {
    if (!changed) return spdlog::warn("schedules stay as planned: {}", changed.error().message);
    if (*changed > 0) spdlog::info("schedules that were planned again: {}", *changed);
  });
  spdlog::info("settings were read again");
}

void place_sample_order(Running& running, std::int64_t number) {
  const shop::Order order{"ada", "12 Analytical Street", {{"engine", 1}}, 129'900};
  StartOptions options;
  options.id = fmt::format("sample-order-{}", number);
  options.on_duplicate = DuplicateStart::attach;
  auto arguments = unwrap(encode(Value::Array{to_value(order)}));
  running.engine().start(
      running.engine().start_command("shop.place_order", options, std::move(arguments)),
      options.on_duplicate, [](const Result<WorkflowHandle>& started) {
        if (!started) spdlog::warn("no sample order: {}", started.error().message);
      });
}

// An order by itself, every half minute; a server that was started before has it already.
void place_sample_schedule(Running& running) {
  const shop::Order order{"grace", "1 Compiler Court", {{"moth", 1}}, 4'500};
  const ScheduleOptions options{.id = "sample-orders",
                                .every = {{"PT30S"}},
                                .overlap = OverlapPolicy::skip,
                                .note = "places an order every half minute"};
  try {
    Schedules{running.engine().shared_from_this()}.create("shop.place_order", options,
                                                          {to_value(order)});
  } catch (const EngineError& error) {
    if (error.code() != ErrorCode::conflict) spdlog::warn("no sample schedule: {}", error.what());
  }
}

void print_what_to_try(const std::string& url, std::string_view ns, bool samples, bool ephemeral) {
  fmt::print(
      "dw {} serves {}/api, without auth, for this machine only. In another terminal, try:\n\n",
      DW_VERSION, url);
  // Clients mean this one unless they are told.
  const auto where = ns == "default" ? std::string{} : fmt::format(" --namespace {}", ns);
  const auto suggest = [&](std::string_view command) {
    fmt::print("  {} {} --server {}{}\n", program_invocation_name, command, url, where);
  };
  suggest("workflow:list");
  suggest(samples ? "workflow:describe sample-order-1" : "server:health");
  suggest(samples ? "schedule:describe sample-orders" : "schedule:list");
  fmt::print("\nCtrl-C stops it; {}.\n",
             ephemeral ? "its store goes with it" : "started again it goes on where it was");
}

}  // namespace

int run_server(const server::GivenSettings& flags) {
  Signals signals;
  auto loaded = load_server_config(flags);
  if (!loaded) {
    fmt::print(stderr, "dw: {}\n", loaded.error().message);
    return exit_misconfigured;
  }
  const ServerConfig& config = *loaded;
  const server::Settings& settings = config.settings;
  configure_logging(settings.text("log.level"), config.log_format);
  for (const auto& warning : config.warnings) spdlog::warn("{}", warning);

  const auto began = std::chrono::steady_clock::now();
  AccessOutput access{settings.text("log.access_file")};
  const auto store =
      store_path_made({settings.text("store.data_dir"), settings.text("store.location")});
  if (!store) {
    fmt::print(stderr, "dw: {}\n", store.error().message);
    return exit_misconfigured;
  }
  Serving how = serving(settings);
  how.store = *store;
  how.auth = config.auth;
  how.http = config.http;
  fit_connections(how.http);
  how.access_log = {config.access, config.log_format,
                    [&access](std::string_view line) { access.write(line); }};
  const auto running = start_serving(Registry{}, std::move(how));
  if (!running) return exit_misconfigured;
  // Not before it serves: a start that fails leaves the file to the server that keeps it from
  // serving.
  const PidFile pid_file{settings.text("server.pid_file")};

  ReadyNotice notice;
  notice.version = DW_VERSION;
  notice.url = fmt::format("http{}://{}:{}", config.http.tls ? "s" : "", config.http.address,
                           running->port());
  notice.recovery = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now() - began);
  announce_ready(ready_line(notice, config.log_format),
                 static_cast<int>(settings.number("server.ready_fd")));
  for (;;) {
    const int number = signals.wait(1h);
    if (number == SIGHUP) reload(flags, config, *running, access);
    if (number == SIGINT || number == SIGTERM) break;
  }
  signals.release_stops();
  running->stop(std::chrono::seconds{settings.number("server.shutdown_timeout")});
  return 0;
}

int run_dev_server(const DevServerOptions& options) {
  const bool outlives_terminal = is_ignored(SIGHUP);  // as nohup asks for
  Signals signals;
  const auto settings = load_dev_settings();
  if (!settings) {
    fmt::print(stderr, "dw: {}\n", settings.error().message);
    return exit_misconfigured;
  }
  configure_logging(settings->text("log.level"), server::LogFormat::text);
  std::optional<ScratchDirectory> scratch;
  if (options.ephemeral) scratch.emplace();
  shop::service_delay = 800ms;
  Registry registry;
  register_samples(registry);
  Serving how = serving(*settings);
  how.store = unwrap(
      store_path_made(scratch ? StorePlace{scratch->path(), {}} : with_environment(options.place)));
  how.auth.driver = server::Auth::Driver::none;
  const std::string ns = how.ns;
  how.http.port = static_cast<unsigned short>(options.port);
  how.http.max_connections =
      server::connections_within(server::raise_file_limit(), how.http.max_connections);
  Running running{std::move(registry), std::move(how)};
  const auto url = fmt::format("http://127.0.0.1:{}", running.port());
  print_what_to_try(url, ns, options.seed_demo, options.ephemeral);
  std::fflush(stdout);
  if (options.seed_demo) place_sample_schedule(running);
  for (std::int64_t number = 1;;) {
    if (options.seed_demo) place_sample_order(running, number++);
    const int heard = signals.wait(options.seed_demo ? sample_every : 3600s);
    // Nobody sees it any more once its terminal is closed.
    if (heard == SIGHUP && outlives_terminal) continue;
    if (heard != 0) break;
  }
  signals.release_stops();
  running.stop(5s);
  return 0;
}

}  // namespace dw::app
