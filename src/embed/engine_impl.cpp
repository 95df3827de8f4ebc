#include "embed/engine_impl.hpp"

#include "embed/fleet.hpp"
#include "store/derived.hpp"
#include "store/memory_store.hpp"
#include "store/sqlite/sqlite_store.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

namespace dw::detail {
namespace {

std::unique_ptr<store::Store> open_store(const std::string& path) {
  if (path == ":memory:") return std::make_unique<store::MemoryStore>();
  return unwrap(sqlite::open_sqlite({.path = path}));
}

std::size_t workflow_threads(int wanted) {
  if (wanted > 0) return static_cast<std::size_t>(wanted);
  // One thread writes and activities need room, too: half the cores decide.
  return std::max<std::size_t>(1, std::thread::hardware_concurrency() / 2);
}

engine::Settings settings_of(const EngineOptions& options) {
  engine::Settings settings;
  settings.updates_queue_behind_signals = options.updates_queue_behind_signals;
  return settings;
}

void drain(dispatch::ThreadExecutor& executor) {
  std::promise<void> reached;
  executor.post([&reached] { reached.set_value(); });
  reached.get_future().wait();
}

RepairPassReport to_report(const dispatch::RepairReport& found) {
  RepairPassReport report;
  report.scanned_runs = found.scanned_runs;
  report.existing_task_candidates = found.existing_candidates;
  report.missing_task_candidates = found.missing_candidates;
  report.repaired_existing_tasks = found.repaired_existing;
  report.repaired_missing_tasks = found.repaired_missing;
  for (const auto& [id, message] : found.existing_failures) {
    report.existing_task_failures.push_back({id, message});
  }
  for (const auto& [id, message] : found.missing_failures) {
    report.missing_run_failures.push_back({id, message});
  }
  return report;
}

}  // namespace

EngineImpl::EngineImpl(Registry registry, EngineOptions options,
                       std::unique_ptr<store::Store> store, dispatch::OfferListener* elsewhere)
    : registry_(std::move(registry)),
      options_(std::move(options)),
      namespace_(unwrap(parse_namespace(options_.ns))),
      compatibility_(local_work(options_).compatibility),
      store_(store ? std::move(store) : open_store(options_.store)),
      random_(system_seed()),
      ulids_(random_),
      activities_(registry_, options_.max_concurrent_activities),
      writer_("dw-writer", clock_, dispatch::Manners::yielding),
      reader_("dw-reader", clock_),
      time_("dw-time", clock_),
      schedules_executor_("dw-schedules", clock_),
      schedules_random_(system_seed()),
      zones_(options_.zone_directory.empty() ? machine::system_zone_directory
                                             : options_.zone_directory) {
  std::vector<dispatch::ShardSeat> seats;
  for (std::size_t i = 0; i < workflow_threads(options_.workflow_threads); ++i) {
    auto& room = *shards_.emplace_back(
        std::make_unique<ShardRoom>(fmt::format("dw-workflow-{}", i), clock_, registry_, options_));
    seats.push_back({room.executor, room.host, room.random});
  }
  dispatch_ = std::make_unique<dispatch::Dispatch>(
      dispatch::DispatchParts{*store_,
                              clock_,
                              writer_,
                              reader_,
                              time_,
                              activities_,
                              std::move(seats),
                              settings_of(options_),
                              {},
                              local_work(options_),
                              pulse_of(options_, registry_),
                              {options_.max_warm_workflows, options_.max_warm_bytes},
                              options_.max_queued_commits,
                              owner_name(),
                              {},
                              [this] { schedules_->wake(); },
                              elsewhere});
  keep_schedules(elsewhere != nullptr);
  dispatch_->begin();
  // Whoever else is to say what a start is has yet to be built.
  if (!elsewhere) look_after_schedules({});
  housekeeper_ = std::make_unique<Housekeeper>(HousekeeperParts{*store_, clock_, writer_, reader_,
                                                                time_, options_.retention,
                                                                options_.schedule_log_retention});
  watch_workflow_threads();
  watch_zones();
}

void EngineImpl::stop() {
  if (std::exchange(stopped_, true)) return;
  schedules_->stop();
  activities_.stop();
  dispatch_->stop();
  time_.stop();
  reader_.stop();
  // What the shards decided before they stopped goes to the writer, its answers come back.
  for (auto& room : shards_) drain(room->executor);
  drain(schedules_executor_);
  drain(writer_);
  for (auto& room : shards_) room->executor.stop();
  schedules_executor_.stop();
  writer_.stop();
  dispatch_->abandon();
  schedules_->abandon();
  // Handles may live on, and must not keep the store from whoever opens it next.
  const std::unique_lock lock{store_gate_};
  store_.reset();
}

Error EngineImpl::stopped_error() {
  return {ErrorCode::shutting_down,
          "the engine has stopped; what was started is durable and goes on when an engine opens "
          "the store again"};
}

// A workflow that computes instead of stepping starves its neighbours; say which one it is.
void EngineImpl::watch_workflow_threads() {
  constexpr auto patience = std::chrono::seconds{1};
  for (const auto& room : shards_) {
    if (const auto stuck = room->host.stuck(patience)) {
      spdlog::warn(
          "workflow code has run for {} ms without a step and holds up its thread; move the "
          "work into an activity run={}",
          stuck->so_far.count(), stuck->run_id);
    }
  }
  time_.post_at(clock_.now() + patience, [this] { watch_workflow_threads(); });
}

Namespace EngineImpl::namespace_of(const std::optional<std::string>& named) const {
  return named ? unwrap(parse_namespace(*named)) : namespace_;
}

std::string EngineImpl::new_id() {
  const std::lock_guard lock{ids_};
  return ulids_.next(clock_.now());
}

// ---- starts

engine::StartCommand EngineImpl::start_command(std::string type, const StartOptions& options,
                                               Payload arguments) {
  auto command = detail::start_command(
      registry_, namespace_, [this] { return new_id(); }, std::move(type), options,
      std::move(arguments));
  command.compatibility = compatibility_.current;
  if (options_.fleet_validation == FleetValidation::fail && !command.compatibility.empty()) {
    const Timestamp now = clock_.now();
    auto workers = unwrap(reading([&](auto& store) { return store.live_workers(now); }));
    command.compatibility_blocked = refused_by_fleet(std::move(workers), options_, command, now);
  }
  return command;
}

void EngineImpl::start(std::string type, const StartOptions& options, Payload arguments,
                       Reply<WorkflowHandle> reply) {
  start(start_command(std::move(type), options, std::move(arguments)), options.on_duplicate,
        std::move(reply));
}

void EngineImpl::start(engine::StartCommand command, DuplicateStart on_duplicate,
                       Reply<WorkflowHandle> done) {
  const std::string ns = command.ns.str();
  const bool attach = on_duplicate == DuplicateStart::attach;
  if (attach) {
    // Looking first keeps the history of a closed run as it is.
    const auto row = unwrap(reading([&](auto& store) {
      return store.find_instance({command.ns, command.instance_id});
    }));
    if (row && row->current_run && row->workflow_type == command.workflow_type) {
      return done(WorkflowHandle{
          shared_from_this(), {ns, row->key.id.str(), row->current_run->str()}, false});
    }
  }
  dispatch_->start(
      std::move(command), [self = shared_from_this(), ns, attach,
                           done = std::move(done)](Result<dispatch::StartReply> reply) {
        if (!reply) return done(std::move(reply).error());
        const engine::CommandOutcome& outcome = reply->outcome;
        // To attach and find it started meanwhile is to have lost a race, not to be refused.
        const bool found = attach && outcome.rejection_reason == "instance_already_started";
        if (auto refused = start_refused(*reply); refused && !found) {
          return done(*std::move(refused));
        }
        done(WorkflowHandle{self,
                            {ns, reply->instance_id.str(), reply->run_id.str()},
                            outcome.outcome == "started_new"});
      });
}

WorkflowHandle EngineImpl::start_with(SignalCall signal, std::string type,
                                      const StartOptions& options, Payload arguments) {
  auto command = start_command(std::move(type), options, std::move(arguments));
  command.duplicate_start_policy = engine::DuplicateStartPolicy::return_existing_active;
  const std::string ns = command.ns.str(), id = command.instance_id.str(), name = signal.name;
  Waiter<dispatch::SignalWithStartReply> waiter;
  dispatch_->signal_with_start(std::move(command), to_command(std::move(signal)), waiter.reply());
  const auto reply = waiter.get();
  throw_if_refused(reply, id, name);
  return {shared_from_this(), {ns, id, reply.run_id.str()}, reply.start.outcome == "started_new"};
}

std::string EngineImpl::reserve(std::string_view type, const StartOptions& options) {
  registered(registry_, type);
  const auto ns = namespace_of(options.ns);
  const auto id = instance_id(options, [this] { return new_id(); });
  Waiter<InstanceId> waiter;
  dispatch_->reserve({ns, id}, std::string{type}, waiter.reply());
  return waiter.get().str();
}

WorkflowHandle EngineImpl::attach(std::string_view id, const std::optional<std::string>& ns) {
  const store::InstanceKey key{namespace_of(ns), unwrap(parse_instance_id(id))};
  const auto row = unwrap(reading([&](auto& store) { return store.find_instance(key); }));
  if (!row || !row->current_run) throw EngineError{no_such_instance(key, row.has_value())};
  return {shared_from_this(), {key.ns.str(), key.id.str(), row->current_run->str()}, false};
}

// ---- what is there

RunInfo EngineImpl::info(const RunRef& run) {
  const auto row = unwrap(reading([&](auto& store) { return store.find_run(RunId{run.run_id}); }));
  if (row) return to_info(*row);
  throw EngineError{{ErrorCode::not_found, fmt::format("run {} does not exist", run.run_id)}};
}

std::vector<RunInfo> EngineImpl::runs(std::size_t limit) {
  std::vector<RunInfo> list;
  const auto rows = unwrap(reading([&](auto& store) { return store.list_runs({.limit = limit}); }));
  for (const auto& row : rows) list.push_back(to_info(row));
  return list;
}

store::StoreCounters EngineImpl::counters() {
  return unwrap(reading([](store::Store& store) { return Result{store.counters()}; }));
}

RepairPassReport EngineImpl::repair_pass(const RepairPass& options) {
  const Timestamp now = clock_.now();
  const auto throttle = std::chrono::seconds{engine::RepairPolicy{}.loop_throttle_seconds};
  const std::lock_guard lock{repair_mutex_};
  if (options.respect_throttle && last_repair_pass_ && now - *last_repair_pass_ < throttle) {
    RepairPassReport report;
    report.throttled = true;
    return report;
  }
  last_repair_pass_ = now;
  dispatch::RepairScope scope;
  for (const auto& run : options.run_ids) scope.run_ids.emplace_back(run);
  if (!options.instance_id.empty()) {
    scope.instance = {namespace_of(options.ns), unwrap(parse_instance_id(options.instance_id))};
  }
  scope.connection = options.connection;
  scope.queue = options.queue;
  Waiter<dispatch::RepairReport> waiter;
  dispatch_->repair_pass(std::move(scope), waiter.reply());
  return to_report(waiter.get());
}

RetentionReport EngineImpl::retention_pass(const RetentionPass& pass) {
  return unwrap(reading([&](auto&) { return housekeeper_->retention_pass(pass); }));
}

RebuildReport EngineImpl::rebuild_projections(const RebuildProjections& options) {
  return unwrap(reading([&](auto&) { return housekeeper_->rebuild(options); }));
}

// ---- commands

CommandReply EngineImpl::close(const RunRef& run, CloseKind kind, std::string reason) {
  using Kind = engine::CloseCommand::Kind;
  Waiter<engine::CommandOutcome> waiter;
  dispatch_->close(to_key(run),
                   {kind == CloseKind::cancel ? Kind::cancel : Kind::terminate, std::move(reason),
                    std::nullopt, "native"},
                   waiter.reply());
  return to_reply(waiter.get());
}

CommandReply EngineImpl::archive(const RunRef& run, std::string reason) {
  Waiter<engine::CommandOutcome> waiter;
  dispatch_->archive({to_key(run), RunId{run.run_id}}, {std::move(reason), "native"},
                     waiter.reply());
  return to_reply(waiter.get());
}

CommandReply EngineImpl::repair(const RunRef& run) {
  Waiter<engine::CommandOutcome> waiter;
  dispatch_->repair(to_key(run), {}, waiter.reply());
  return to_reply(waiter.get());
}

void EngineImpl::signal(const RunRef& run, SignalCall signal, Reply<CommandReply> reply) {
  dispatch_->signal(to_key(run), to_command(std::move(signal)),
                    [reply = std::move(reply)](Result<engine::CommandOutcome> outcome) {
                      if (!outcome) return reply(std::move(outcome).error());
                      reply(to_reply(*std::move(outcome)));
                    });
}

Payload EngineImpl::query(const RunRef& run, std::string_view name, Payload arguments) {
  Waiter<dispatch::QueryReply> waiter;
  dispatch_->query(to_key(run), std::nullopt, std::string{name}, std::move(arguments),
                   waiter.reply());
  return to_result(name, run.instance_id, waiter.get());
}

UpdateInfo EngineImpl::update(const RunRef& run, const UpdateOptions& options,
                              std::string_view name, Payload arguments) {
  const auto patience = update_patience(options, options_.update_timeout, name, run.instance_id);
  Waiter<dispatch::UpdateReply> waiter;
  dispatch_->update(to_key(run), update_command(name, std::move(arguments)),
                    options.wait_for == UpdateStage::completed, waiter.reply(), patience);
  return to_info(name, waiter.get());
}

// An update that was carried along is told by the last run that has it.
UpdateInfo EngineImpl::update_info(const RunRef& run, std::string_view update_id) {
  const auto instance =
      unwrap(reading([&](auto& store) { return store.find_instance(to_key(run)); }));
  std::string next = instance && instance->current_run ? instance->current_run->str() : "";
  while (!next.empty()) {
    const auto loaded = unwrap(reading([&](auto& store) { return store.load_run(RunId{next}); }));
    if (!loaded) break;
    const auto events = unwrap(store::events_of(loaded->commits));
    if (auto found = find_update(events, update_id)) return *std::move(found);
    next.clear();
    for (const history::Event& event : events) {
      const auto* start = std::get_if<history::WorkflowStarted>(&event.body);
      if (start && start->lineage) next = start->lineage->continued_from_run_id;
    }
  }
  throw EngineError{{ErrorCode::not_found, fmt::format("instance '{}' knows no update '{}'",
                                                       run.instance_id, update_id)}};
}

void EngineImpl::watch(const RunRef& run, std::optional<std::chrono::milliseconds>,
                       Reply<Closed> reply) {
  dispatch_->watch({to_key(run), RunId{run.run_id}},
                   [self = shared_from_this(), run,
                    reply = std::move(reply)](Result<dispatch::ClosedRun> closed) mutable {
                     if (!closed) return reply(std::move(closed).error());
                     if (!closed->followed) return reply(to_closed(*std::move(closed)));
                     self->watch_next(std::move(run), std::move(reply));
                   });
}

void EngineImpl::watch_next(RunRef run, Reply<Closed> reply) {
  reader_.post(
      [self = shared_from_this(), run = std::move(run), reply = std::move(reply)]() mutable {
        auto row = self->reading([&](auto& store) { return store.find_instance(to_key(run)); });
        if (!row) return reply(row.error());
        run.run_id = (*row)->current_run->str();
        self->watch(run, std::nullopt, std::move(reply));
      });
}

}  // namespace dw::detail
