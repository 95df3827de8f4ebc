#include "main/doctor.hpp"

#include "core/clock.hpp"
#include "machine/zone_files.hpp"
#include "main/server_config.hpp"
#include "server/file_limit.hpp"
#include "store/sqlite/sqlite_store.hpp"
#include "views/backend.hpp"

#include <fmt/format.h>

#include <filesystem>

namespace dw::app {
namespace {

// Why an engine could not open the file; empty when it could. Nothing is created to find out.
std::string problem_with(const std::string& store, bool in_data_dir) {
  namespace fs = std::filesystem;
  std::error_code failed;
  if (!fs::exists(store, failed)) {
    const auto directory = fs::absolute(store, failed).parent_path();
    // A data directory is made when a server starts.
    if (in_data_dir || fs::is_directory(directory, failed)) return {};
    return fmt::format("There is no directory '{}' to create the store in.", directory.string());
  }
  const auto opened = sqlite::open_sqlite_read_only(store);
  if (opened) return {};
  // One of an older form is brought up to date when an engine opens it.
  const bool fatal = opened.error().code == ErrorCode::store_corrupt ||
                     opened.error().code == ErrorCode::store_too_new ||
                     opened.error().code == ErrorCode::not_found;
  return fatal ? opened.error().message : std::string{};
}

views::BackendConfig config_of(const DoctorOptions& options, const std::string& store,
                               bool in_data_dir) {
  views::BackendConfig config;
  config.polls = options.task_dispatch_mode == "poll";
  if (store == ":memory:") {
    config.database = {store, "memory", {}};
    config.cache = {"process", "memory"};
  } else {
    config.database = {store, "sqlite", problem_with(store, in_data_dir)};
    config.cache = {store + ".lock", "lock_file"};
  }
  const std::string transport = config.polls ? "poll" : "inproc";
  config.queue = {transport, transport, {}};
  config.codec = avro_codec;
  return config;
}

// Connections are files, and a server raises its limit as far as it may.
struct Files {
  std::size_t allowed = 0;
  std::size_t wanted = 0;  // connections
};

Files files_of_a_server() {
  const auto settings = load_dev_settings();
  const std::size_t usual = server::HttpOptions{}.max_connections;
  return {server::highest_file_limit(),
          settings ? static_cast<std::size_t>(settings->number("server.max_connections")) : usual};
}

std::size_t connections(const Files& files) {
  return server::connections_within(files.allowed, files.wanted);
}

Value files_value(const Files& files) {
  return Value::Map{{"file_limit", static_cast<std::int64_t>(files.allowed)},
                    {"max_connections", static_cast<std::int64_t>(files.wanted)},
                    {"connections", static_cast<std::int64_t>(connections(files))}};
}

void print(const views::BackendSnapshot& snapshot, const Files& files) {
  const auto& config = snapshot.config;
  fmt::print("An engine {} work with this ({}).\n", snapshot.supported() ? "can" : "cannot",
             to_string(snapshot.severity()));
  const auto line = [](std::string_view what, std::string_view driver, std::string_view name) {
    fmt::print("  {:<10} {:<10} {}\n", what, driver, name);
  };
  line("store", config.database.driver, config.database.connection);
  line("transport", config.queue.driver, config.polls ? "workers look for tasks" : "this process");
  line("lock", config.cache.driver, config.cache.store);
  line("codec", config.codec, "payloads");
  const machine::ZoneFiles zones;
  line("time zones", zones.from_system() ? "system" : "compiled",
       zones.release().empty() ? "of an unknown release" : zones.release());
  line("files", fmt::to_string(files.allowed), fmt::format("{} connections", connections(files)));
  for (const auto& issue : snapshot.issues) {
    fmt::print("{}: {}: {} ({})\n", to_string(issue.severity), issue.component, issue.message,
               issue.code);
  }
}

}  // namespace

int run_doctor(const DoctorOptions& options) {
  const StorePlace place = with_environment(options.place);
  const auto store = store_path(place);
  if (!store) {
    fmt::print(stderr, "dw: {}\n", store.error().message);
    return 2;
  }
  auto snapshot =
      views::backend_snapshot(config_of(options, *store, place.store.empty()), SystemClock{}.now());
  const Files files = files_of_a_server();
  if (connections(files) < files.wanted) {
    snapshot.issues.push_back({"process", views::Severity::warning, "file_limit_low",
                               server::too_few_files(files.allowed, files.wanted)});
  }
  if (options.json) {
    Value document = to_value(snapshot);
    document.if_map()->emplace_back("process", files_value(files));
    fmt::print("{}\n", to_json(document));
  } else {
    print(snapshot, files);
  }
  return options.strict && !snapshot.supported() ? 1 : 0;
}

}  // namespace dw::app
