#include "main/server_commands.hpp"

#include "core/unwrap.hpp"
#include "embed/engine_impl.hpp"
#include "examples/order_saga.hpp"
#include "main/ready.hpp"
#include "main/samples.hpp"
#include "main/server_config.hpp"
#include "main/server_log.hpp"
#include "server/calendars.hpp"
#include "server/control_plane.hpp"
#include "server/debug_desk.hpp"
#include "server/http_server.hpp"
#include "server/observed.hpp"
#include "server/schedules.hpp"
#include "server/standalone_activities.hpp"
#include "server/system_desk.hpp"
#include "server/worker_plane.hpp"
#include "views/backend.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

namespace dw::app {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr int exit_misconfigured = 2;
constexpr auto sample_every = 5s;

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "dw";
}

std::string environment_variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// Blocks the signals that stop or reload a server before any thread starts, so that only wait()
// hears them.
class Signals {
 public:
  Signals() {
    sigemptyset(&set_);
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set_, number);
    pthread_sigmask(SIG_BLOCK, &set_, nullptr);
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

std::string store_path(const StorePlace& place) {
  constexpr std::string_view scheme = "sqlite:";
  const std::string& store = place.store;
  if (!store.empty()) return store.starts_with(scheme) ? store.substr(scheme.size()) : store;
  fs::create_directories(place.data_dir);
  return (fs::path{place.data_dir} / "dw.db").string();
}

struct Serving {
  std::string store;
  server::Auth auth;
  server::HttpOptions http;
  std::string ns;
  bundle::SigningKey export_key;
  std::chrono::days schedule_log_retention{30};
  bool lenient_run_closed = false;
  bool compression = true;
  bool open_metrics = false;
  server::AccessLog access_log = {};
};

Serving serving(const server::Settings& settings) {
  Serving how;
  how.ns = settings.text("server.namespace");
  how.export_key = {settings.text("history_export.signing_key"),
                    settings.text("history_export.signing_key_id")};
  how.schedule_log_retention = std::chrono::days{settings.number("schedules.action_log_retention")};
  how.lenient_run_closed = settings.on("server.lenient_run_closed");
  how.compression = settings.on("server.compression");
  how.open_metrics = settings.on("metrics.open");
  return how;
}

// Everything that serves, built once, in the order in which the parts need each other.
class Running {
 public:
  Running(Registry registry, Serving how)
      : access_log_(std::move(how.access_log)),
        aside_("dw-aside", clock_),
        polls_("dw-polls", clock_),
        patient_("dw-storage", clock_),
        matching_(polls_, clock_),
        workers_(clock_,
                 [this](const Namespace& ns, std::string_view queue, std::string_view build_id) {
                   return rollouts_.draining(ns, queue, build_id);
                 }),
        queries_(matching_, polls_, clock_, query_random_),
        validations_(matching_, workers_, polls_, clock_, validation_random_),
        engine_(std::make_shared<detail::EngineImpl>(
            frozen(std::move(registry)),
            EngineOptions{.store = how.store,
                          .ns = how.ns,
                          .schedule_log_retention = how.schedule_log_retention},
            nullptr, &matching_)),
        namespaces_({engine_->store(), engine_->writer(), engine_->clock(), how.ns,
                     [this](const Namespace& ns) { return attributes_.forget(ns); },
                     [this](const Namespace& ns) { return calendars_.forget(ns); }}),
        calendars_({engine_->store(), engine_->writer(), engine_->reader(), engine_->clock(),
                    calendar_random_, engine_->zones(),
                    [this](const Namespace& ns, const schedule::CalendarRecord& calendar) {
                      return schedules_.using_calendar(ns, calendar);
                    },
                    [this](const server::Call& call, const schedule::CalendarRecord& calendar,
                           const std::vector<std::string>& schedules, auto done) {
                      schedules_.take_off(call, calendar, schedules, std::move(done));
                    }}),
        rollouts_({engine_->store(), engine_->writer(), engine_->clock()}),
        storage_({namespaces_, patient_, storage_random_, fs::absolute(how.store).parent_path(),
                  environment_variable}),
        task_queues_({engine_->store(), engine_->reader(), engine_->clock(), workers_, queries_,
                      rollouts_, held_tasks()}),
        system_(system_parts(how.store)),
        results_(engine_->dispatch(), engine_->store(), engine_->reader(), polls_, clock_),
        attributes_({engine_->store(), engine_->writer()}),
        activities_({engine_->store(), engine_->reader(), engine_->clock(), activity_random_,
                     attributes_,
                     [this](engine::StartCommand command, auto started) {
                       engine_->dispatch().start(std::move(command), std::move(started));
                     }}),
        debug_({engine_->store(), engine_->reader(), engine_->clock(), engine_->registry(),
                workers_, queries_, held_tasks()}),
        schedules_({engine_->schedules(), engine_->schedule_reader(), engine_->schedule_sources(),
                    engine_->store(), engine_->reader(), engine_->writer(), engine_->clock(),
                    schedule_random_, attributes_}),
        admission_(
            {engine_->store(), engine_->reader(), engine_->clock(), validators_, validations_}),
        control_plane_({engine_->dispatch(),
                        engine_->store(),
                        engine_->reader(),
                        engine_->clock(),
                        control_random_,
                        engine_->registry(),
                        namespaces_,
                        workers_,
                        queries_,
                        results_,
                        attributes_,
                        rollouts_,
                        storage_,
                        admission_,
                        activities_,
                        task_queues_,
                        system_,
                        debug_,
                        schedules_,
                        calendars_,
                        worker_plane_,
                        std::move(how.export_key)}),
        worker_plane_({engine_->dispatch(), engine_->store(), engine_->reader(), engine_->writer(),
                       engine_->clock(), worker_random_, matching_, workers_, queries_, validators_,
                       validations_, how.lenient_run_closed}),
        desk_({std::move(how.auth), about(how),
               [this](std::string_view name) { return namespaces_.exists(name); },
               how.http.max_body_bytes},
              control_plane_, worker_plane_),
        observed_(observation(how)),
        http_(how.http, observed_) {
    namespaces_.restore(unwrap(engine_->store().documents(server::namespace_kind)));
    attributes_.restore(unwrap(engine_->store().documents(server::search_attribute_kind)));
    calendars_.restore(unwrap(engine_->store().documents(server::calendar_kind)));
    rollouts_.restore(unwrap(engine_->store().documents(server::rollout_kind)));
    validators_.restore(unwrap(engine_->store().documents(server::update_validators_kind)));
    workers_.restore(unwrap(engine_->store().documents(server::registration_kind)));
    engine_->look_after_schedules(
        [this](engine::StartCommand& command) { control_plane_.describe_start(command); });
    port_ = unwrap(http_.start());
  }
  ~Running() { stop({}); }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  unsigned short port() const { return port_; }
  detail::EngineImpl& engine() { return *engine_; }
  server::HttpServer& http() { return http_; }
  void replace_auth(server::Auth auth) { desk_.credentials().replace(std::move(auth)); }

  void stop(std::chrono::seconds patience) {
    matching_.stop();
    http_.stop(patience);
    patient_.stop();
    engine_->stop();
    polls_.stop();
    aside_.stop();
  }

 private:
  static Registry frozen(Registry registry) {
    registry.freeze();
    return registry;
  }
  server::HeldTasksOf held_tasks() {
    return [this](auto reply) { engine_->dispatch().held_tasks(std::move(reply)); };
  }
  server::SystemDeskParts system_parts(std::string store) {
    return {.store = engine_->store(),
            .reader = engine_->reader(),
            .clock = engine_->clock(),
            .workers = workers_,
            .held_tasks = held_tasks(),
            .repair_pass =
                [this](dispatch::RepairScope scope, dispatch::Reply<dispatch::RepairReport> reply) {
                  engine_->dispatch().repair_pass(std::move(scope), std::move(reply));
                },
            .deliver =
                [this](engine::Task task, std::function<void()> done) {
                  engine_->dispatch().deliver(std::move(task), std::move(done));
                },
            .prune =
                [this](const upkeep::RetentionScope& scope) {
                  return engine_->housekeeper().let_go(scope);
                },
            .retention = [this](std::string_view ns) { return namespaces_.retention(ns); },
            .schedules = [this] { return engine_->schedules().tally().counts(); },
            .backend =
                [this, store = std::move(store)] {
                  views::BackendConfig config;
                  config.database = {store, "sqlite", {}};
                  config.queue = {"poll", "poll", {}};
                  config.cache = {store + ".lock", "lock_file"};
                  config.codec = avro_codec;
                  config.polls = true;
                  return views::to_value(views::backend_snapshot(std::move(config), clock_.now()));
                }};
  }
  static server::About about(const Serving& how) {
    return {host_name(), DW_VERSION, how.ns, static_cast<std::int64_t>(how.http.max_body_bytes)};
  }
  server::ObservedParts observation(const Serving& how) {
    server::ObservedParts parts{desk_,
                                metrics_,
                                access_log_,
                                desk_.credentials(),
                                aside_,
                                clock_,
                                [this] { return readings(); }};
    parts.default_namespace = how.ns;
    parts.compression = how.compression;
    parts.open_metrics = how.open_metrics;
    return parts;
  }
  server::Readings readings() {
    server::Readings readings;
    readings.open_connections = http_.open_connections();
    readings.queued_commits = engine_->dispatch().queued_commits();
    readings.runs_started = engine_->dispatch().tally().started();
    readings.runs_closed = engine_->dispatch().tally().closed();
    readings.schedules = engine_->schedules().tally().counts();
    try {
      readings.store = engine_->counters();
      readings.schedule_standing = engine_->schedule_standing();
    } catch (const EngineError&) {
      // The engine is stopping and has let go of its store.
    }
    return readings;
  }

  const SystemClock clock_;
  SeededRandom control_random_{system_seed()};
  SeededRandom worker_random_{system_seed()};
  SeededRandom query_random_{system_seed()};
  SeededRandom storage_random_{system_seed()};
  SeededRandom validation_random_{system_seed()};
  SeededRandom activity_random_{system_seed()};
  SeededRandom schedule_random_{system_seed()};
  SeededRandom calendar_random_{system_seed()};
  // These hear of every answer, the last of which an engine gives while it stops.
  server::Metrics metrics_{DW_VERSION};
  const server::AccessLog access_log_;
  dispatch::ThreadExecutor aside_;
  dispatch::ThreadExecutor polls_;
  dispatch::ThreadExecutor patient_;  // for disks and networks that are not the store's
  server::Matching matching_;
  server::Workers workers_;
  server::QueryTasks queries_;
  server::DeclaredValidators validators_{workers_};
  server::UpdateValidations validations_;
  std::shared_ptr<detail::EngineImpl> engine_;
  server::Namespaces namespaces_;
  server::Calendars calendars_;
  server::Rollouts rollouts_;
  server::PayloadStorage storage_;
  server::TaskQueues task_queues_;
  server::SystemDesk system_;
  server::ResultWaits results_;
  server::SearchAttributes attributes_;
  server::StandaloneActivities activities_;
  server::DebugDesk debug_;
  server::Schedules schedules_;
  server::UpdateAdmission admission_;
  server::ControlPlane control_plane_;
  server::WorkerPlane worker_plane_;
  server::FrontDesk desk_;
  server::Observed observed_;
  server::HttpServer http_;
  unsigned short port_ = 0;
};

// What can change while a server runs: secrets, the log's level, the certificate, which file the
// access log is, and time zones.
void reload(const server::GivenSettings& flags, const ServerConfig& begun_with, Running& running,
            AccessOutput& access) {
  auto fresh = load_server_config(flags);
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
  const PidFile pid_file{settings.text("server.pid_file")};
  AccessOutput access{settings.text("log.access_file")};
  Serving how = serving(settings);
  how.store = store_path({settings.text("store.data_dir"), settings.text("store.location")});
  how.auth = config.auth;
  how.http = config.http;
  how.access_log = {config.access, config.log_format,
                    [&access](std::string_view line) { access.write(line); }};
  Running running{Registry{}, std::move(how)};

  ReadyNotice notice;
  notice.version = DW_VERSION;
  notice.url = fmt::format("http{}://{}:{}", config.http.tls ? "s" : "", config.http.address,
                           running.port());
  notice.recovery = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now() - began);
  announce_ready(ready_line(notice, config.log_format),
                 static_cast<int>(settings.number("server.ready_fd")));
  for (;;) {
    const int number = signals.wait(1h);
    if (number == SIGHUP) reload(flags, config, running, access);
    if (number == SIGINT || number == SIGTERM) break;
  }
  signals.release_stops();
  running.stop(std::chrono::seconds{settings.number("server.shutdown_timeout")});
  return 0;
}

int run_dev_server(const DevServerOptions& options) {
  Signals signals;
  const auto settings = load_dev_settings();
  if (!settings) {
    fmt::print(stderr, "dw: {}\n", settings.error().message);
    return exit_misconfigured;
  }
  configure_logging(settings->text("log.level"), server::LogFormat::text);
  std::string scratch;
  if (options.ephemeral) {
    scratch = (fs::temp_directory_path() / "dw-dev-XXXXXX").string();
    if (mkdtemp(scratch.data()) == nullptr) {
      fmt::print(stderr, "dw: cannot create a temporary directory like {}\n", scratch);
      return exit_misconfigured;
    }
  }
  shop::service_delay = 800ms;
  Registry registry;
  register_samples(registry);
  {
    Serving how = serving(*settings);
    how.store = store_path(scratch.empty() ? options.place : StorePlace{scratch, {}});
    how.auth.driver = server::Auth::Driver::none;
    how.http.port = static_cast<unsigned short>(options.port);
    Running running{std::move(registry), std::move(how)};
    const auto url = fmt::format("http://127.0.0.1:{}", running.port());
    fmt::print(
        "dw {version} serves {url}/api, without auth, for this machine only. In another terminal, "
        "try:\n\n"
        "  {dw} workflow:list --server {url}\n"
        "  {dw} workflow:describe sample-order-1 --server {url}\n"
        "  curl -s {url}/api/health\n\n"
        "Ctrl-C stops it; started again it goes on where it was.\n",
        fmt::arg("version", DW_VERSION), fmt::arg("dw", program_invocation_name),
        fmt::arg("url", url));
    std::fflush(stdout);
    if (options.seed_demo) place_sample_schedule(running);
    for (std::int64_t number = 1;;) {
      if (options.seed_demo) place_sample_order(running, number++);
      const int heard = signals.wait(options.seed_demo ? sample_every : 3600s);
      if (heard == SIGINT || heard == SIGTERM) break;
    }
    signals.release_stops();
    running.stop(5s);
  }
  std::error_code ignored;
  if (!scratch.empty()) fs::remove_all(scratch, ignored);
  return 0;
}

}  // namespace dw::app
