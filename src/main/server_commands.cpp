#include "main/server_commands.hpp"

#include "core/unwrap.hpp"
#include "embed/engine_impl.hpp"
#include "examples/order_saga.hpp"
#include "main/samples.hpp"
#include "server/control_plane.hpp"
#include "server/http_server.hpp"
#include "server/worker_plane.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace dw::app {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr int exit_misconfigured = 2;
constexpr auto sample_every = 5s;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

[[noreturn]] void misconfigured(std::string message) {
  throw EngineError{{ErrorCode::invalid_argument, std::move(message)}};
}

struct Address {
  std::string host;
  std::uint16_t port = 0;
};

Address parse_address(const std::string& text) {
  const auto colon = text.rfind(':');
  char* end = nullptr;
  const long port =
      colon == std::string::npos ? -1 : std::strtol(text.c_str() + colon + 1, &end, 10);
  if (colon == std::string::npos || end == text.c_str() + colon + 1 || *end != '\0' || port < 0 ||
      port > 65535) {
    misconfigured(fmt::format("'{}' is no address; write host:port, such as 127.0.0.1:8080", text));
  }
  std::string host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return {std::move(host), static_cast<std::uint16_t>(port)};
}

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

server::Auth auth_from_environment() {
  server::Auth auth;
  if (const auto name = environment("DW_AUTH_DRIVER"); !name.empty()) {
    auth.driver = unwrap(server::parse_driver(name));
  }
  const bool signs = auth.driver == server::Auth::Driver::signature;
  auth.worker_secret = environment(signs ? "DW_WORKER_SIGNATURE_KEY" : "DW_WORKER_TOKEN");
  auth.operator_secret = environment(signs ? "DW_OPERATOR_SIGNATURE_KEY" : "DW_OPERATOR_TOKEN");
  auth.admin_secret = environment(signs ? "DW_ADMIN_SIGNATURE_KEY" : "DW_ADMIN_TOKEN");
  if (environment("DW_AUTH_BACKWARD_COMPATIBLE") != "false") {
    auth.legacy_secret = environment(signs ? "DW_SIGNATURE_KEY" : "DW_AUTH_TOKEN");
  }
  return auth;
}

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "dw";
}

struct Configured {
  server::Auth auth;
  server::HttpOptions http;
};

Configured configure(const ServerOptions& options) {
  const Address address = parse_address(options.listen);
  Configured configured{auth_from_environment(), {}};
  server::Auth& auth = configured.auth;
  const bool open = auth.driver == server::Auth::Driver::none || !auth.has_secret();
  if (open && !is_loopback(address.host)) {
    misconfigured(fmt::format(
        "refusing to listen on {} without credentials: anybody could start and stop workflows; set "
        "DW_AUTH_TOKEN (or DW_ADMIN_TOKEN, DW_OPERATOR_TOKEN, DW_WORKER_TOKEN), or listen on "
        "127.0.0.1",
        options.listen));
  }
  if (!auth.has_secret()) auth.driver = server::Auth::Driver::none;
  configured.http.address = address.host;
  configured.http.port = address.port;
  configured.http.threads = options.threads;
  if (!options.tls_certificate.empty()) {
    configured.http.tls = server::Tls{options.tls_certificate, options.tls_key};
  }
  return configured;
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

// Everything that serves, built once, in the order in which the parts need each other.
class Running {
 public:
  Running(Registry registry, std::string store, server::Auth auth, server::HttpOptions http)
      : polls_("dw-polls", clock_),
        matching_(polls_, clock_),
        workers_(clock_),
        queries_(matching_, polls_, clock_, query_random_),
        engine_(std::make_shared<detail::EngineImpl>(
            frozen(std::move(registry)), EngineOptions{.store = std::move(store), .ns = "default"},
            nullptr, &matching_)),
        namespaces_({engine_->store(), engine_->writer(), engine_->clock()}),
        control_plane_({engine_->dispatch(),
                        engine_->store(),
                        engine_->reader(),
                        engine_->clock(),
                        control_random_,
                        engine_->registry(),
                        namespaces_,
                        workers_,
                        queries_,
                        {environment("DW_V2_HISTORY_EXPORT_SIGNING_KEY"),
                         environment("DW_V2_HISTORY_EXPORT_SIGNING_KEY_ID")}}),
        worker_plane_({engine_->dispatch(), engine_->store(), engine_->reader(), engine_->writer(),
                       engine_->clock(), worker_random_, matching_, workers_, queries_,
                       environment("DW_LENIENT_RUN_CLOSED") == "1"}),
        desk_({std::move(auth), about(http),
               [this](std::string_view name) { return namespaces_.exists(name); },
               http.max_body_bytes},
              control_plane_, worker_plane_),
        http_(http, desk_) {
    namespaces_.restore(unwrap(engine_->store().documents(server::namespace_kind)));
    workers_.restore(unwrap(engine_->store().documents(server::registration_kind)));
    port_ = unwrap(http_.start());
  }

  unsigned short port() const { return port_; }
  detail::EngineImpl& engine() { return *engine_; }
  server::HttpServer& http() { return http_; }

  void stop(std::chrono::seconds patience) {
    matching_.stop();
    http_.stop(patience);
    engine_->stop();
    polls_.stop();
  }

 private:
  static Registry frozen(Registry registry) {
    registry.freeze();
    return registry;
  }
  static server::About about(const server::HttpOptions& http) {
    return {host_name(), DW_VERSION, "default", static_cast<std::int64_t>(http.max_body_bytes)};
  }

  const SystemClock clock_;
  SeededRandom control_random_{system_seed()};
  SeededRandom worker_random_{system_seed()};
  SeededRandom query_random_{system_seed()};
  dispatch::ThreadExecutor polls_;
  server::Matching matching_;
  server::Workers workers_;
  server::QueryTasks queries_;
  std::shared_ptr<detail::EngineImpl> engine_;
  server::Namespaces namespaces_;
  server::ControlPlane control_plane_;
  server::WorkerPlane worker_plane_;
  server::FrontDesk desk_;
  server::HttpServer http_;
  unsigned short port_ = 0;
};

void reload(Running& running) {
  if (auto loaded = running.http().reload_certificate(); !loaded) {
    spdlog::warn("the certificate stays as it was: {}", loaded.error().message);
  }
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

}  // namespace

int run_server(const ServerOptions& options) {
  Signals signals;
  Configured configured;
  try {
    configured = configure(options);
  } catch (const EngineError& error) {
    fmt::print(stderr, "dw: {}\n", error.what());
    return exit_misconfigured;
  }
  Running running{Registry{}, store_path(options.place), std::move(configured.auth),
                  configured.http};
  fmt::print("dw {} serves http{}://{}:{}\n", DW_VERSION, configured.http.tls ? "s" : "",
             configured.http.address, running.port());
  std::fflush(stdout);
  for (;;) {
    const int number = signals.wait(1h);
    if (number == SIGHUP) reload(running);
    if (number == SIGINT || number == SIGTERM) break;
  }
  running.stop(std::chrono::seconds{options.shutdown_seconds});
  return 0;
}

int run_dev_server(const DevServerOptions& options) {
  Signals signals;
  std::string scratch;
  if (options.ephemeral) {
    scratch = (fs::temp_directory_path() / "dw-dev-XXXXXX").string();
    if (mkdtemp(scratch.data()) == nullptr) misconfigured("cannot create a temporary directory");
  }
  shop::service_delay = 800ms;
  Registry registry;
  register_samples(registry);
  {
    server::HttpOptions http;
    http.port = static_cast<unsigned short>(options.port);
    Running running{std::move(registry),
                    store_path(scratch.empty() ? options.place : StorePlace{scratch, {}}),
                    {.driver = server::Auth::Driver::none},
                    http};
    const auto url = fmt::format("http://127.0.0.1:{}", running.port());
    fmt::print(
        "dw {} serves {}/api, without auth, for this machine only. Try:\n\n"
        "  curl -s {}/api/health\n"
        "  curl -s {}/api/workflows -H 'X-Durable-Workflow-Control-Plane-Version: 2'\n"
        "  curl -s {}/api/workflows/sample-order-1 -H 'X-Durable-Workflow-Control-Plane-Version: "
        "2'\n\n"
        "Ctrl-C stops it; started again it goes on where it was.\n",
        DW_VERSION, url, url, url, url);
    std::fflush(stdout);
    for (std::int64_t number = 1;;) {
      if (options.seed_demo) place_sample_order(running, number++);
      const int heard = signals.wait(options.seed_demo ? sample_every : 3600s);
      if (heard == SIGINT || heard == SIGTERM) break;
    }
    running.stop(5s);
  }
  std::error_code ignored;
  if (!scratch.empty()) fs::remove_all(scratch, ignored);
  return 0;
}

}  // namespace dw::app
