// One worker: the line to its server, the threads its code runs on, and what goes between them. The
// thread of the line is its own: there it decodes what comes, encodes what goes and keeps the
// books. Workflow code runs in seats, activities in a pool.
#pragma once
#include "client/http_client.hpp"
#include "core/clock.hpp"
#include "core/random.hpp"
#include "dispatch/thread_executor.hpp"
#include "remote/attempt_beats.hpp"
#include "remote/worker_life.hpp"
#include "remote/worker_pump.hpp"
#include "remote/worker_seat.hpp"
#include "worker/activity_pool.hpp"
#include "worker/fiber_host.hpp"

#include <dw/worker.hpp>

#include <condition_variable>
#include <mutex>

namespace dw::remote {

class WorkerImpl final : private dispatch::AttemptListener {
 public:
  // The registry is frozen and outlives this.
  WorkerImpl(const Registry& registry, const WorkerOptions& options);
  ~WorkerImpl() override;
  WorkerImpl(const WorkerImpl&) = delete;

  // True once everything is reported and the worker has said goodbye.
  bool drain(std::optional<std::chrono::milliseconds> patience);
  const std::string& worker_id() const { return registration_.worker.worker_id; }

 private:
  struct SeatRoom {
    SeatRoom(std::string name, const Clock& clock, const Registry& registry,
             std::size_t stack_bytes, std::size_t max_warm, Seat::Ports ports)
        : random(system_seed()),
          host(registry, random, stack_bytes),
          seat(host, max_warm, std::move(ports)),
          executor(std::move(name), clock) {}
    SeededRandom random;
    worker::FiberHost host;
    Seat seat;
    dispatch::ThreadExecutor executor;
  };
  // What an answer has for one seat: verdicts first, because tasks rest on them.
  struct ForSeat {
    std::vector<Settled> settled;
    std::vector<WorkflowTask> tasks;
    std::vector<QueryTask> queries;
  };
  using Heard = std::function<void(Result<client::HttpReply>)>;

  // ---- from any thread
  void report(Report report);
  // An activity has ended; `going_on` is the run whose code sits here and waits for nothing else.
  void finished(const std::optional<RunId>& going_on, const std::string& task,
                engine::ActivityOutcome outcome);
  void activity_alive(const dispatch::ActivityWork& work, std::optional<Value> progress) override;
  void send_beat(const Beat& beat);
  void ask_for_history(WorkflowTask task);
  std::size_t seat_of(const RunId& run) const { return std::hash<RunId>{}(run) % seats_.size(); }
  // `heard` is called on this worker's own thread.
  void send(client::HttpRequest request, Heard heard);
  client::HttpRequest request(std::string method, std::string_view path, std::string body) const;

  Executor& own() { return http_.executor(); }
  void on_own_thread(const std::function<void()>& work);

  // ---- on its own thread
  void begin_registration();
  void hear_registration(const Result<client::HttpReply>& reply);
  void complain_once(std::string complaint);
  void send_worker_heartbeats();
  void tick();
  void take_reports();
  void pump();
  void send(const Exchange& exchange);
  void hear(std::uint64_t id, const Result<client::HttpReply>& reply);
  void hear_refusal(std::uint64_t id, const client::HttpReply& reply);
  void hand_out(std::vector<Settled> settled, Tasks tasks);
  void begin_activities();
  void begin(ActivityTask task);
  void hear_beat(const AttemptId& attempt, const Result<client::HttpReply>& reply);

  const Registry& registry_;
  const WorkerOptions options_;
  Registration registration_;
  const client::HttpHeaders headers_;
  const SystemClock clock_;
  worker::ActivityPool activities_;
  std::vector<std::unique_ptr<SeatRoom>> seats_;

  // Of its own thread.
  Pump pump_;
  std::vector<ForSeat> for_seats_;
  std::deque<ActivityTask> activities_to_begin_;  // more than one, only if the server gave too many
  std::chrono::milliseconds registration_pause_{0};
  std::chrono::seconds heartbeat_interval_{60};
  bool heartbeats_begun_ = false;
  bool gone_ = false;      // it has said goodbye, or is about to
  std::string complaint_;  // the one that was logged last
  std::optional<Timestamp> wakes_at_;

  std::mutex inbox_mutex_;
  std::vector<Report> inbox_;  // guarded by inbox_mutex_
  std::mutex beats_mutex_;
  AttemptBeats beats_;  // guarded by beats_mutex_

  std::mutex idle_mutex_;
  std::condition_variable became_idle_;
  bool idle_ = true;  // guarded by idle_mutex_: nothing is held, as its own thread last saw it

  std::mutex draining_mutex_;
  bool said_goodbye_ = false;  // guarded by draining_mutex_

  // The last of all: until it is gone, its thread finds the others in place.
  client::HttpClient http_;
};

}  // namespace dw::remote
