#include "remote/worker_impl.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <future>
#include <unordered_set>

namespace dw::remote {
namespace {

using namespace std::chrono_literals;

constexpr auto tick_every = 1s;
constexpr auto patience_with_code = 1s;
constexpr auto answer_within = 30s;
constexpr auto first_registration_pause = 100ms;
constexpr auto last_registration_pause = 5'000ms;

std::size_t seats_for(int wanted) {
  if (wanted > 0) return static_cast<std::size_t>(wanted);
  // The line to the server and activities need room, too.
  return std::max<std::size_t>(1, std::thread::hardware_concurrency() / 2);
}

client::HttpClientOptions connections_for(const WorkerOptions& options) {
  client::HttpClientOptions connections;
  connections.url = options.server;
  connections.verify_tls = options.verify_tls;
  connections.ca_file = options.ca_file;
  return connections;
}

PumpLimits pump_limits(const WorkerOptions& options) {
  PumpLimits limits;
  limits.capacity.workflow = std::max(1, options.max_concurrent_workflow_tasks);
  limits.capacity.activity = std::max(1, options.max_concurrent_activities);
  return limits;
}

}  // namespace

WorkerImpl::WorkerImpl(const Registry& registry, const WorkerOptions& options)
    : registry_(registry),
      options_(options),
      registration_(registration_for(options, pump_limits(options).capacity)),
      headers_(worker_headers(options)),
      activities_(registry, options.max_concurrent_activities),
      pump_(pump_limits(options)),
      http_(connections_for(options)) {
  const auto count = seats_for(options.workflow_threads);
  const Seat::Ports ports{
      [this](Report one) { report(std::move(one)); },
      [this](WorkflowTask task) { ask_for_history(std::move(task)); },
      [this] { return clock_.now(); },
  };
  for (std::size_t i = 0; i < count; ++i) {
    seats_.push_back(std::make_unique<SeatRoom>(
        fmt::format("dw-workflow-{}", i), clock_, registry_, options.workflow_stack_bytes,
        std::max<std::size_t>(1, options.max_warm_workflows / count), ports));
  }
  for_seats_.resize(count);
  own().post([this] { begin_registration(); });
  own().post([this] { tick(); });
}

WorkerImpl::~WorkerImpl() {
  drain(options_.drain_timeout);
  {
    const std::lock_guard lock{beats_mutex_};
    beats_.cancel_all();
  }
  activities_.stop();
  for (auto& room : seats_) {
    room->executor.post([&seat = room->seat] { seat.forget_all(); });
    room->executor.stop();
  }
}

// ---- the line to the server

client::HttpRequest WorkerImpl::request(std::string method, std::string_view path,
                                        std::string body) const {
  client::HttpRequest request;
  request.method = std::move(method);
  request.target = fmt::format("/api/worker/{}", path);
  request.headers = headers_;
  request.body = std::move(body);
  request.timeout = answer_within;
  // Whatever is said here may be said twice.
  request.repeatable = true;
  return request;
}

void WorkerImpl::send(client::HttpRequest request, Heard heard) {
  http_.send(std::move(request),
             [this, heard = std::move(heard)](Result<client::HttpReply> reply) mutable {
               own().post([heard = std::move(heard), reply = std::move(reply)] { heard(reply); });
             });
}

void WorkerImpl::complain_once(std::string complaint) {
  if (complaint == complaint_) return;
  spdlog::warn("{} worker={}", complaint, worker_id());
  complaint_ = std::move(complaint);
}

// ---- registration

void WorkerImpl::begin_registration() {
  if (gone_) return;
  send(request("POST", "register", registration_body(registration_, registry_)),
       [this](const Result<client::HttpReply>& reply) { hear_registration(reply); });
}

void WorkerImpl::hear_registration(const Result<client::HttpReply>& reply) {
  std::string trouble;
  if (!reply) {
    trouble = reply.error().message;
  } else if (reply->status >= 300) {
    trouble = refusal_text(*reply);
  } else if (const auto registered = parse_registered(reply->body); !registered) {
    trouble = registered.error().message;
  } else if (!registered->exchanges) {
    trouble = "the server is too old for this worker; update it";
  } else {
    heartbeat_interval_ = options_.heartbeat_interval.value_or(registered->heartbeat_interval);
  }
  if (!trouble.empty()) {
    complain_once(
        fmt::format("cannot register at {} yet, and keeps trying: {}", options_.server, trouble));
    registration_pause_ = std::clamp<std::chrono::milliseconds>(
        registration_pause_ * 2, first_registration_pause, last_registration_pause);
    own().post_at(clock_.now() + registration_pause_, [this] { begin_registration(); });
    return;
  }
  registration_pause_ = {};
  complaint_.clear();
  spdlog::info("works for {} queue={} worker={}", options_.server, options_.task_queue,
               worker_id());
  pump_.registered();
  if (!std::exchange(heartbeats_begun_, true)) {
    own().post_at(clock_.now() + heartbeat_interval_, [this] { send_worker_heartbeats(); });
  }
  pump();
}

void WorkerImpl::send_worker_heartbeats() {
  if (gone_) return;
  if (pump_.is_registered()) {
    send(request("POST", "heartbeat", worker_heartbeat_body(worker_id(), pump_.free())),
         [this](const Result<client::HttpReply>& reply) {
           if (!reply || reply->status != 404 || !pump_.is_registered()) return;
           if (parse_refusal(reply->body).reason != "worker_not_registered") return;
           begin_registration();
         });
  }
  own().post_at(clock_.now() + heartbeat_interval_, [this] { send_worker_heartbeats(); });
}

// ---- exchanges

void WorkerImpl::report(Report report) {
  bool first = false;
  {
    const std::lock_guard lock{inbox_mutex_};
    first = inbox_.empty();
    inbox_.push_back(std::move(report));
  }
  // Those that come until its turn go along.
  if (first) own().post([this] { take_reports(); });
}

void WorkerImpl::take_reports() {
  std::vector<Report> reports;
  {
    const std::lock_guard lock{inbox_mutex_};
    reports.swap(inbox_);
  }
  for (Report& report : reports) pump_.report(std::move(report));
  begin_activities();
  pump();
}

void WorkerImpl::pump() {
  const Timestamp now = clock_.now();
  while (const Exchange* exchange = pump_.next(now)) send(*exchange);
  if (const auto until = pump_.paused_until(); until && until != wakes_at_) {
    wakes_at_ = until;
    own().post_at(*until, [this] { pump(); });
  }
  const std::lock_guard lock{idle_mutex_};
  idle_ = pump_.idle();
  if (idle_) became_idle_.notify_all();
}

void WorkerImpl::send(const Exchange& exchange) {
  auto asked = request("POST", "exchange", exchange_body(registration_.worker, exchange));
  asked.timeout += exchange.wait;
  send(std::move(asked), [this, id = exchange.id](const Result<client::HttpReply>& reply) {
    hear(id, reply);
    pump();
  });
}

void WorkerImpl::hear(std::uint64_t id, const Result<client::HttpReply>& reply) {
  // What comes after the goodbye is not ours any more.
  if (gone_) return pump_.lost(id, clock_.now());
  if (!reply) {
    complain_once(fmt::format("the line to the server is down, and is tried again: {}",
                              reply.error().message));
    return pump_.lost(id, clock_.now());
  }
  if (reply->status != 200) return hear_refusal(id, *reply);
  auto answer = parse_exchange_answer(reply->body);
  if (!answer) {
    complain_once(answer.error().message);
    return pump_.lost(id, clock_.now());
  }
  auto heard = pump_.answered(id, *std::move(answer), clock_.now());
  if (!heard) return complain_once(heard.error().message);
  if (!heard->trouble.empty()) {
    complain_once(fmt::format("the server cannot record what was done, and is told again: {}",
                              heard->trouble));
  } else if (!complaint_.empty() && !pump_.paused_until()) {
    complaint_.clear();
    spdlog::info("the server answers again worker={}", worker_id());
  }
  hand_out(std::move(heard->settled), std::move(heard->tasks));
}

void WorkerImpl::hear_refusal(std::uint64_t id, const client::HttpReply& reply) {
  const auto reason = parse_refusal(reply.body).reason;
  if (reply.status == 412) {
    // One of several exchanges is enough to notice.
    if (pump_.is_registered()) begin_registration();
    return pump_.not_registered(id);
  }
  if (reason == "worker_draining") return pump_.told_to_drain(id, clock_.now());
  complain_once(fmt::format("the server refuses an exchange: {}", refusal_text(reply)));
  const bool its_content = reply.status == 400 || reply.status == 413 || reply.status == 422;
  if (!its_content) return pump_.lost(id, clock_.now());
  if (const auto task = pump_.not_understood(id, clock_.now())) {
    spdlog::error("the server takes no report about a task; it is left to others task={} worker={}",
                  *task, worker_id());
  }
}

void WorkerImpl::hand_out(std::vector<Settled> settled, Tasks tasks) {
  std::unordered_set<RunId> going_on;
  for (Settled& one : settled) {
    if (!one.verdict.news.empty()) going_on.insert(one.run_id);
    if (!one.verdict.recorded) {
      spdlog::debug("a report was not taken: {} {} run={} worker={}", one.verdict.reason,
                    one.verdict.message, one.run_id.view(), worker_id());
    }
    for_seats_[seat_of(one.run_id)].settled.push_back(std::move(one));
  }
  for (WorkflowTask& task : tasks.workflow) {
    for_seats_[seat_of(task.run_id)].tasks.push_back(std::move(task));
  }
  for (QueryTask& task : tasks.query) {
    for_seats_[seat_of(task.run_id)].queries.push_back(std::move(task));
  }
  for (std::size_t i = 0; i < seats_.size(); ++i) {
    ForSeat& batch = for_seats_[i];
    if (batch.settled.empty() && batch.tasks.empty() && batch.queries.empty()) continue;
    seats_[i]->executor.post([&seat = seats_[i]->seat, batch = std::exchange(batch, {})]() mutable {
      for (Settled& one : batch.settled) seat.settle(std::move(one));
      for (WorkflowTask& task : batch.tasks) seat.take(std::move(task));
      for (QueryTask& task : batch.queries) seat.take(std::move(task));
    });
  }
  for (ActivityTask& task : tasks.activity) {
    task.code_goes_on = going_on.contains(task.run_id);
    activities_to_begin_.push_back(std::move(task));
  }
  begin_activities();
}

void WorkerImpl::ask_for_history(WorkflowTask task) {
  auto asked = request("POST", fmt::format("workflow-tasks/{}/history", task.task_id),
                       history_body(worker_id(), task));
  send(std::move(asked), [this, task = std::move(task)](const Result<client::HttpReply>& reply) {
    auto history = !reply ? Result<std::vector<HistoryPiece>>{reply.error()}
                   : reply->status == 200
                       ? parse_history(reply->body)
                       : Result<std::vector<HistoryPiece>>{
                             Error{ErrorCode::unavailable,
                                   fmt::format("the server did not give the history of run {}: {}",
                                               task.run_id.str(), refusal_text(*reply))}};
    auto& room = *seats_[seat_of(task.run_id)];
    room.executor.post([&seat = room.seat, task, history = std::move(history)]() mutable {
      seat.take_whole(std::move(task), std::move(history));
    });
  });
}

// ---- activities

void WorkerImpl::begin_activities() {
  while (!activities_to_begin_.empty() && activities_.try_reserve()) {
    begin(std::move(activities_to_begin_.front()));
    activities_to_begin_.pop_front();
  }
}

void WorkerImpl::begin(ActivityTask task) {
  const auto cancelled = std::make_shared<std::atomic<bool>>(false);
  {
    const std::lock_guard lock{beats_mutex_};
    beats_.begin(task, cancelled, clock_.now());
  }
  std::optional<RunId> going_on;
  if (task.code_goes_on) going_on = task.run_id;
  dispatch::ActivityWork work;
  work.ns = Namespace{options_.ns};
  work.instance_id = std::move(task.instance_id);
  work.run_id = std::move(task.run_id);
  work.activity_id = std::move(task.activity_id);
  work.attempt_id = std::move(task.attempt_id);
  work.attempt_number = task.attempt_number;
  work.type = std::move(task.activity_type);
  work.arguments = std::move(task.arguments);
  work.cancelled = cancelled;
  work.listener = this;
  activities_.run(std::move(work),
                  [this, going_on, id = std::move(task.task_id)](engine::ActivityOutcome outcome) {
                    finished(going_on, id, std::move(outcome));
                  });
}

void WorkerImpl::finished(const std::optional<RunId>& going_on, const std::string& task,
                          engine::ActivityOutcome outcome) {
  bool was_quiet = false;
  {
    const std::lock_guard lock{beats_mutex_};
    was_quiet = beats_.end(outcome.attempt_id);
  }
  ActivityReport done{task, std::move(outcome.attempt_id), std::move(outcome.outcome)};
  // Signs of life are events, too, and nobody here knows which of them are recorded.
  if (!going_on || !was_quiet) return report(std::move(done));
  auto& room = *seats_[seat_of(*going_on)];
  room.executor.post(
      [&seat = room.seat, run = *going_on, activity = std::move(outcome.activity_id),
       done = std::move(done)]() mutable { seat.finished(run, activity, std::move(done)); });
}

void WorkerImpl::activity_alive(const dispatch::ActivityWork& work, std::optional<Value> progress) {
  std::optional<Beat> beat;
  {
    const std::lock_guard lock{beats_mutex_};
    beat = beats_.alive(work.attempt_id, std::move(progress), clock_.now());
  }
  if (beat) send_beat(*beat);
}

void WorkerImpl::send_beat(const Beat& beat) {
  send(request("POST", fmt::format("activity-tasks/{}/heartbeat", beat.task_id),
               attempt_heartbeat_body(worker_id(), beat.attempt_id, beat.progress)),
       [this, attempt = beat.attempt_id](const Result<client::HttpReply>& reply) {
         hear_beat(attempt, reply);
       });
}

void WorkerImpl::hear_beat(const AttemptId& attempt, const Result<client::HttpReply>& reply) {
  std::optional<Beat> next;
  {
    const std::lock_guard lock{beats_mutex_};
    if (!reply || reply->status >= 500 || reply->status == 429) {
      beats_.not_heard(attempt);
    } else {
      // A server that knows no such attempt does not wait for it either.
      const bool gone = reply->status == 404 || reply->status == 409;
      next = beats_.heard(attempt, !gone && still_wanted(reply->body), clock_.now());
    }
  }
  if (next) send_beat(*next);
}

void WorkerImpl::tick() {
  std::vector<Beat> due;
  {
    const std::lock_guard lock{beats_mutex_};
    due = beats_.due(clock_.now());
  }
  for (const Beat& beat : due) send_beat(beat);
  for (const auto& room : seats_) {
    if (const auto stuck = room->host.stuck(patience_with_code)) {
      spdlog::warn(
          "workflow code has run for {} ms without a step and holds up its thread; move the "
          "work into an activity run={}",
          stuck->so_far.count(), stuck->run_id);
    }
  }
  own().post_at(clock_.now() + tick_every, [this] { tick(); });
}

// ---- the end

// Runs on its own thread, and is waited for.
void WorkerImpl::on_own_thread(const std::function<void()>& work) {
  std::promise<void> done;
  own().post([&] {
    work();
    done.set_value();
  });
  done.get_future().wait();
}

bool WorkerImpl::drain(std::optional<std::chrono::milliseconds> patience) {
  const std::lock_guard one_at_a_time{draining_mutex_};
  if (said_goodbye_) return true;
  on_own_thread([this] {
    pump_.drain();
    pump();
  });
  {
    std::unique_lock lock{idle_mutex_};
    const auto done = [this] { return idle_; };
    if (!patience) {
      became_idle_.wait(lock, done);
    } else if (!became_idle_.wait_for(lock, *patience, done)) {
      return false;
    }
  }
  on_own_thread([this] { gone_ = true; });
  auto goodbye = request("DELETE", fmt::format("registrations/{}", worker_id()), {});
  goodbye.timeout = 2s;
  if (const auto reply = http_.call(std::move(goodbye)); !reply) {
    spdlog::info("could not say goodbye to the server, which will notice: {} worker={}",
                 reply.error().message, worker_id());
  }
  return said_goodbye_ = true;
}

}  // namespace dw::remote
