#include "main/running.hpp"

#include "core/unwrap.hpp"
#include "views/backend.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace dw::app {
namespace {

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "dw";
}

std::string environment_variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

Registry frozen(Registry registry) {
  registry.freeze();
  return registry;
}

server::About about(const Serving& how) {
  return {host_name(), DW_VERSION, how.ns, static_cast<std::int64_t>(how.http.max_body_bytes),
          how.compression};
}

}  // namespace

Running::Running(Registry registry, Serving how)
    : access_log_(std::move(how.access_log)),
      aside_("dw-aside", clock_),
      polls_("dw-polls", clock_),
      patient_("dw-storage", clock_),
      views_("dw-views", clock_),
      probes_("dw-probes", clock_),
      matching_(polls_, clock_, std::move(how.budgets)),
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
                        .updates_queue_behind_signals = how.updates_queue_behind_signals,
                        .stay_awake = how.http.stay_awake,
                        .schedule_log_retention = how.schedule_log_retention},
          nullptr, &matching_)),
      table_search_({engine_->store(), views_, engine_->clock(),
                     [this](engine::Task task, std::function<void()> done) {
                       engine_->dispatch().deliver(std::move(task), std::move(done));
                     }}),
      namespaces_({engine_->store(),
                   engine_->writer(),
                   engine_->clock(),
                   how.ns,
                   [this](const Namespace& ns) { return attributes_.forget(ns); },
                   [this](const Namespace& ns) { return calendars_.forget(ns); },
                   [this](const Namespace& ns) { return schedules_.forget_some(ns); },
                   {{server::registration_kind, "workflow_worker_registrations",
                     [this](const Namespace& ns) { workers_.forget(ns); }},
                    {server::rollout_kind, "rollouts",
                     [this](const Namespace& ns) { rollouts_.forget(ns); }},
                    {server::update_validators_kind, "update_validators",
                     [this](const Namespace& ns) { validators_.forget(ns); }}}}),
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
      storage_({namespaces_, patient_, storage_random_,
                std::filesystem::absolute(how.store).parent_path(), environment_variable}),
      task_queues_({engine_->store(), views_, engine_->clock(), workers_, queries_, rollouts_,
                    held_tasks(),
                    [this](const server::LaneName& lane) { return matching_.standing(lane); },
                    [this](const Namespace& ns, std::string_view queue) {
                      return matching_.most_pending_queries(ns, queue);
                    }}),
      system_(system_parts(how.store)),
      results_(engine_->dispatch(), engine_->store(), engine_->reader(), polls_, clock_),
      histories_(engine_->store(), views_, polls_, clock_),
      attributes_({engine_->store(), engine_->writer()}),
      activities_({engine_->store(), views_, engine_->clock(), activity_random_, attributes_,
                   [this](engine::StartCommand command, auto started) {
                     engine_->dispatch().start(std::move(command), std::move(started));
                   }}),
      debug_({engine_->store(), views_, engine_->clock(), engine_->registry(), workers_, queries_,
              held_tasks(),
              [this](const server::LaneName& lane) { return matching_.standing(lane); }}),
      schedules_({engine_->schedules(), engine_->schedule_reader(), engine_->schedule_sources(),
                  engine_->store(), engine_->reader(), engine_->writer(), engine_->clock(),
                  schedule_random_, attributes_}),
      admission_(
          {engine_->store(), engine_->reader(), engine_->clock(), validators_, validations_}),
      control_plane_({engine_->dispatch(),
                      engine_->store(),
                      views_,
                      probes_,
                      engine_->clock(),
                      control_random_,
                      engine_->registry(),
                      namespaces_,
                      workers_,
                      queries_,
                      results_,
                      histories_,
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
                      std::move(how.export_key),
                      how.updates_queue_behind_signals}),
      worker_plane_({engine_->dispatch(), engine_->store(), engine_->reader(), engine_->writer(),
                     engine_->clock(), worker_random_, matching_, workers_, queries_, validators_,
                     validations_, how.lenient_run_closed}),
      desk_({std::move(how.auth), about(how),
             [this](std::string_view name) { return namespaces_.exists(name); },
             how.http.max_body_bytes, how.http.address, &namespaces_.guests()},
            control_plane_, worker_plane_),
      observed_(observation(how)),
      http_(how.http, observed_) {
  namespaces_.restore(unwrap(engine_->store().documents(server::namespace_kind)));
  attributes_.restore(unwrap(engine_->store().documents(server::search_attribute_kind)));
  calendars_.restore(unwrap(engine_->store().documents(server::calendar_kind)));
  rollouts_.restore(unwrap(engine_->store().documents(server::rollout_kind)));
  validators_.restore(unwrap(engine_->store().documents(server::update_validators_kind)));
  workers_.restore(unwrap(engine_->store().documents(server::registration_kind)));
  if (how.retention) {
    engine_->housekeeper().prune_by_itself([this](Timestamp now) {
      std::vector<upkeep::RetentionScope> scopes;
      for (Namespace& ns : namespaces_.names()) {
        const Timestamp before = now - namespaces_.retention(ns.view());
        scopes.push_back({.before = before, .ns = std::move(ns), .only_if_any = true});
      }
      return scopes;
    });
  }
  matching_.look_with([this](server::LaneName lane, std::optional<engine::TaskKey> from,
                             std::size_t most, server::Matching::Looked done) {
    table_search_.look(std::move(lane), std::move(from), most, std::move(done));
  });
  engine_->look_after_schedules(
      [this](engine::StartCommand& command) { control_plane_.describe_start(command); });
  try {
    port_ = unwrap(http_.start());
  } catch (...) {
    stop({});  // threads are at work by now, with what goes next
    throw;
  }
}

void Running::stop(std::chrono::seconds patience) {
  matching_.stop();
  queries_.stop();
  validations_.stop();
  results_.stop();
  engine_->dispatch().stop_waiting();
  histories_.stop();
  http_.stop(patience);
  patient_.stop();
  views_.stop();
  probes_.stop();
  engine_->stop();
  polls_.stop();
  aside_.stop();
}

server::HeldTasksOf Running::held_tasks() {
  return [this](auto reply) { engine_->dispatch().held_tasks(std::move(reply)); };
}

server::SystemDeskParts Running::system_parts(std::string store) {
  return {.store = engine_->store(),
          .reader = views_,
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

server::ObservedParts Running::observation(const Serving& how) {
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
  parts.listens_as = how.http.address;
  return parts;
}

server::Readings Running::readings() {
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

}  // namespace dw::app
