// One engine in one process: its store, its threads, and what callers ask of them.
#pragma once
#include "core/clock.hpp"
#include "core/random.hpp"
#include "core/ulid.hpp"
#include "dispatch/calendar_shelf.hpp"
#include "dispatch/dispatch.hpp"
#include "dispatch/schedule_standing.hpp"
#include "dispatch/thread_executor.hpp"
#include "embed/housekeeper.hpp"
#include "embed/spoken.hpp"
#include "handles/waiter.hpp"
#include "machine/zone_files.hpp"
#include "schedule/change.hpp"
#include "schedule/preview.hpp"
#include "worker/activity_pool.hpp"
#include "worker/fiber_host.hpp"

#include <mutex>
#include <shared_mutex>

namespace dw::detail {

class EngineImpl final : public Backend, public std::enable_shared_from_this<EngineImpl> {
 public:
  // Builds every long-lived object once, in the order in which they need each other. Without a
  // store it opens the one the options name. What it cannot do itself it offers `elsewhere`.
  EngineImpl(Registry registry, EngineOptions options, std::unique_ptr<store::Store> store,
             dispatch::OfferListener* elsewhere = nullptr);
  ~EngineImpl() override { stop(); }
  EngineImpl(const EngineImpl&) = delete;

  // Activities finish, their outcomes are decided and written, then everything else winds down.
  void stop();

  const Registry& registry() const override { return registry_; }
  // For what stands beside the engine in the same process, until it stops.
  dispatch::Dispatch& dispatch() { return *dispatch_; }
  store::Store& store() { return *store_; }
  Executor& reader() { return reader_; }
  Executor& writer() { return writer_; }
  const Clock& clock() const { return clock_; }
  Housekeeper& housekeeper() { return *housekeeper_; }
  // Schedules, for callers that wait.
  dispatch::ScheduleReply ask_schedule(dispatch::ScheduleAsk ask);
  std::string new_schedule_id() { return new_id(); }
  store::ScheduleName schedule_name(std::string id, const std::optional<std::string>& ns) const;
  schedule::ChangeFacts change_facts(const Namespace& ns, const schedule::Facts& facts);
  std::optional<schedule::Schedule> read_schedule(std::string_view id,
                                                  const std::optional<std::string>& ns = {});
  std::vector<schedule::Schedule> list_schedules(std::size_t limit);
  std::vector<store::ScheduleEventRow> schedule_events(std::string_view id, std::int64_t after,
                                                       std::size_t limit);
  schedule::Preview preview_schedule(std::string_view id, std::int64_t next);
  std::shared_ptr<const schedule::Spec> spec_of(const schedule::Schedule& schedule);
  dispatch::ScheduleDesk& schedules() { return *schedules_; }
  dispatch::ScheduleStanding schedule_standing();
  // From here on what is due fires. `describe` adds to a start what is known about code elsewhere.
  using DescribeStart = std::function<void(engine::StartCommand& command)>;
  void look_after_schedules(DescribeStart describe);
  dispatch::ScheduleReader& schedule_reader() { return *schedule_reader_; }
  const dispatch::ScheduleSources& schedule_sources() const { return schedule_sources_; }
  machine::ZoneFiles& zones() { return zones_; }
  // Reads the zones again, and plans by the rules that have changed.
  void reload_zones(Reply<std::size_t> reply);

  engine::StartCommand start_command(std::string type, const StartOptions& options,
                                     Payload arguments);
  void start(engine::StartCommand command, DuplicateStart on_duplicate,
             Reply<WorkflowHandle> reply);
  void start(std::string type, const StartOptions& options, Payload arguments,
             Reply<WorkflowHandle> reply) override;
  WorkflowHandle start_with(SignalCall signal, std::string type, const StartOptions& options,
                            Payload arguments) override;
  std::string reserve(std::string_view type, const StartOptions& options);
  WorkflowHandle attach(std::string_view id, const std::optional<std::string>& ns) override;

  RunInfo info(const RunRef& run) override;
  std::vector<RunInfo> runs(std::size_t limit) override;
  store::StoreCounters counters();
  RepairPassReport repair_pass(const RepairPass& options);
  RetentionReport retention_pass(const RetentionPass& pass);
  RebuildReport rebuild_projections(const RebuildProjections& options);

  CommandReply close(const RunRef& run, CloseKind kind, std::string reason) override;
  CommandReply archive(const RunRef& run, std::string reason) override;
  CommandReply repair(const RunRef& run) override;
  void signal(const RunRef& run, SignalCall signal, Reply<CommandReply> reply) override;
  Payload query(const RunRef& run, std::string_view name, Payload arguments) override;
  UpdateInfo update(const RunRef& run, const UpdateOptions& options, std::string_view name,
                    Payload arguments) override;
  UpdateInfo update_info(const RunRef& run, std::string_view update_id) override;
  // Costs nothing while it waits, so the caller's patience does not matter.
  void watch(const RunRef& run, std::optional<std::chrono::milliseconds> patience,
             Reply<Closed> reply) override;

 private:
  struct ShardRoom {
    ShardRoom(std::string name, const Clock& clock, const Registry& registry,
              const EngineOptions& options)
        : random(system_seed()),
          host(registry, random, options.workflow_stack_bytes),
          executor(std::move(name), clock, dispatch::Manners::prompt, options.stay_awake) {}
    SeededRandom random;
    worker::FiberHost host;
    dispatch::ThreadExecutor executor;
  };

  void watch_next(RunRef run, Reply<Closed> reply);
  void watch_workflow_threads();
  void watch_zones();
  void keep_schedules(bool elsewhere);
  std::optional<std::int64_t> credits_used_today(const Namespace& ns,
                                                 std::string_view schedule_id) const;
  Namespace namespace_of(const std::optional<std::string>& named) const;
  std::string new_id();

  static Error stopped_error();
  template <typename Read>
  auto reading(const Read& read) -> decltype(read(std::declval<store::Store&>())) {
    const std::shared_lock lock{store_gate_};
    if (!store_) return stopped_error();
    return read(*store_);
  }

  const Registry registry_;
  const EngineOptions options_;
  const Namespace namespace_;
  const engine::Compatibility compatibility_;
  const SystemClock clock_;
  std::shared_mutex store_gate_;
  std::unique_ptr<store::Store> store_;  // readers hold store_gate_; gone once stopped
  std::mutex ids_;
  std::mutex repair_mutex_;                    // one sweep at a time
  std::optional<Timestamp> last_repair_pass_;  // guarded by repair_mutex_
  SeededRandom random_;                        // guarded by ids_
  UlidSource ulids_;                           // guarded by ids_
  worker::ActivityPool activities_;
  dispatch::ThreadExecutor writer_, reader_, time_, schedules_executor_;
  SeededRandom schedules_random_;
  std::vector<std::unique_ptr<ShardRoom>> shards_;
  std::unique_ptr<dispatch::Dispatch> dispatch_;
  machine::ZoneFiles zones_;
  std::unique_ptr<dispatch::CalendarShelf> calendars_;
  dispatch::ScheduleSources schedule_sources_;
  DescribeStart describe_start_;  // set before anything fires
  std::unique_ptr<dispatch::ScheduleDesk> schedules_;
  std::unique_ptr<dispatch::ScheduleReader> schedule_reader_;
  std::unique_ptr<Housekeeper> housekeeper_;
  bool stopped_ = false;
};

}  // namespace dw::detail
