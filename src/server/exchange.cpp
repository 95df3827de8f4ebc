#include "server/exchange.hpp"

#include "core/json_writer.hpp"
#include "server/addressed.hpp"
#include "server/exchange_reports.hpp"
#include "server/worker_tasks.hpp"

#include <fmt/format.h>

#include <array>

namespace dw::server {
namespace {

constexpr std::int64_t most_wanted = 1'000;
constexpr std::int64_t longest_wait = 60'000;  // milliseconds
constexpr std::array all_kinds{WorkKind::workflow, WorkKind::activity, WorkKind::query};

void write_task(JsonWriter& json, const dispatch::ClaimedTask& task) {
  json.begin_object()
      .field("task_id", std::string_view{wire_task_id(task)})
      .field("workflow_task_attempt", task.attempt)
      .field("workflow_id", task.run.instance.id.view())
      .field("run_id", task.run.run_id.view())
      .field("workflow_type", std::string_view{task.workflow_type})
      .field("now", to_micros(task.now))
      .key("history")
      .raw(task.commits)
      .end_object();
}

void write_activity(JsonWriter& json, const dispatch::ClaimedActivity& work) {
  const history::OpenActivity& activity = work.activity;
  json.begin_object()
      .field("task_id", work.task.view())
      .field("activity_attempt_id", activity.attempt_id.view())
      .field("activity_execution_id", activity.id.view())
      .field("attempt_number", activity.attempts)
      .field("activity_type", std::string_view{activity.type})
      .field("workflow_id", work.run.instance.id.view())
      .field("run_id", work.run.run_id.view())
      .field("arguments", activity.arguments)
      .field("lease_expires_at", to_micros(activity.lease_expires_at))
      .field("heartbeat_timeout_seconds", activity.retry_policy.heartbeat_timeout)
      .end_object();
}

}  // namespace

// A request on its way to its answer.
struct Exchange::Round {
  Call call;
  Worker worker;
  Reply reply;
  Timestamp until = {};
  std::vector<TaskReport> tasks = {};
  std::vector<ActivityReport> activities = {};
  std::shared_ptr<dispatch::Taker> taker = std::make_shared<dispatch::Taker>();

  std::mutex mutex;  // guards the rest
  std::size_t pending = 0;
  std::array<std::int64_t, all_kinds.size()> wanted = {};
  std::array<std::int64_t, all_kinds.size()> reserved = {};  // for what comes with reports' answers
  std::vector<Heard> heard_tasks = {}, heard_activities = {}, heard_queries = {};
  std::vector<dispatch::ClaimedTask> next_tasks = {};
  std::vector<dispatch::ClaimedActivity> next_activities = {};
  std::vector<std::string> next_queries = {};
  bool waits = false;
  bool stopped = false;

  std::array<Poll, all_kinds.size()> polls = {};
  const Poll& poll(WorkKind kind) const { return polls[static_cast<std::size_t>(kind)]; }
  std::int64_t& wants(WorkKind kind) { return wanted[static_cast<std::size_t>(kind)]; }
  std::int64_t& reserve(WorkKind kind) { return reserved[static_cast<std::size_t>(kind)]; }
  bool found_work() const {
    return !next_tasks.empty() || !next_activities.empty() || !next_queries.empty();
  }
};

void Exchange::serve(Call call, Worker worker, Reply reply) {
  auto round = std::make_shared<Round>();
  round->call = std::move(call);
  round->worker = std::move(worker);
  round->reply = std::move(reply);
  Fields fields{round->call};
  round->tasks = read_task_reports(fields, round->worker.worker_id);
  round->activities = read_activity_reports(fields);
  const auto& queries = fields.list("query_tasks");
  for (std::size_t i = 0; i < queries.size(); ++i) {
    const bool object = queries[i].if_map() != nullptr;
    if (!object) fields.wrong(fmt::format("query_tasks.{}", i), "must be an object");
  }
  round->heard_queries.resize(queries.size());
  const auto patience = fields.whole("wait_milliseconds", 0, longest_wait).value_or(0);
  const bool drains = fields.flag("draining");
  if (const auto want = fields.object("want")) {
    Fields inner{*want->if_map(), "want"};
    round->wants(WorkKind::workflow) = inner.whole("workflow_tasks", 0, most_wanted).value_or(0);
    round->wants(WorkKind::activity) = inner.whole("activity_tasks", 0, most_wanted).value_or(0);
    round->wants(WorkKind::query) = inner.whole("query_tasks", 0, most_wanted).value_or(0);
    fields.also_wrong(inner.take_errors());
  }
  if (!fields.fine()) return round->reply(fields.errors());

  round->heard_tasks.resize(round->tasks.size());
  round->heard_activities.resize(round->activities.size());
  const bool reports =
      !round->tasks.empty() || !round->activities.empty() || !round->heard_queries.empty();
  // A worker on its way out is heard about what it holds, and given nothing new. If it says so
  // itself, what it still waits for is answered now: it may leave as soon as it knows of everything
  // that was given to it.
  if (drains) {
    parts_.workers.drain(round->worker);
    parts_.matching.recall(round->worker.ns, round->worker.worker_id);
    round->wanted = {};
  } else if (parts_.workers.draining(round->worker)) {
    if (!reports) return round->reply(while_draining());
    round->wanted = {};
  }
  round->waits = !reports && patience > 0;
  round->until = parts_.clock.now() + std::chrono::milliseconds{patience};
  for (const WorkKind kind : all_kinds) {
    round->polls[static_cast<std::size_t>(kind)] = poll_of(round->worker, kind);
  }
  dispatch::Taker& taker = *round->taker;
  taker.owner = round->worker.worker_id;
  taker.queue = round->worker.queue;
  taker.activity_types = {round->worker.activity_types.begin(), round->worker.activity_types.end()};
  taker.any_type = round->worker.takes_all();
  if (reports) {
    for (const WorkKind kind : {WorkKind::workflow, WorkKind::activity}) {
      round->reserve(kind) = parts_.matching.reserve(round->poll(kind), round->wants(kind));
    }
  }
  taker.activities = round->reserve(WorkKind::activity);
  taker.tasks = round->reserve(WorkKind::workflow);
  report(round);
}

// ---- reports

void Exchange::report(const RoundPtr& round) {
  round->pending = round->tasks.size() + round->activities.size() + round->heard_queries.size();
  if (round->pending == 0) return gather(round);
  for (std::size_t i = 0; i < round->tasks.size(); ++i) report_task(round, i);
  for (std::size_t i = 0; i < round->activities.size(); ++i) report_activity(round, i);
  for (std::size_t i = 0; i < round->heard_queries.size(); ++i) report_query(round, i);
}

// One of those that were pending is done; the last one lets the round go on.
void Exchange::settled(const RoundPtr& round) {
  {
    const std::lock_guard lock{round->mutex};
    if (--round->pending > 0) return;
  }
  gather(round);
}

// What a report led to comes with the answer.
void Exchange::take_on(Round& round, Heard& heard, dispatch::FollowUp then) {
  heard.news = std::move(then.news);
  for (auto& lent : then.activities) {
    parts_.held.note(lent.task, lent.run);
    parts_.matching.leased(round.poll(WorkKind::activity), lent.task, counts_until(lent.activity));
    --round.reserve(WorkKind::activity);
    --round.wants(WorkKind::activity);
    round.next_activities.push_back(std::move(lent));
  }
  if (then.next) {
    parts_.held.note(then.next->task, then.next->run);
    parts_.matching.leased(round.poll(WorkKind::workflow), then.next->task,
                           then.next->lease_expires_at);
    --round.reserve(WorkKind::workflow);
    --round.wants(WorkKind::workflow);
    round.next_tasks.push_back(*std::move(then.next));
  }
}

void Exchange::is_over(const TaskId& task) {
  parts_.held.forget(task);
  parts_.matching.ended(task);
}

void Exchange::report_task(const RoundPtr& round, std::size_t index) {
  const auto hear = [this, round, index](Result<dispatch::TaskAnswer> answer) {
    bool over = false;
    {
      const std::lock_guard lock{round->mutex};
      Heard& heard = round->heard_tasks[index];
      if (!answer) {
        heard = not_heard(round->tasks[index].wire_id, answer.error());
      } else {
        heard.id = round->tasks[index].wire_id;
        heard.recorded = answer->recorded;
        heard.reason = answer->reason;
        heard.message = answer->message;
        over = nobody_holds(*answer);
        take_on(*round, heard, std::move(answer->then));
      }
    }
    if (over) is_over(round->tasks[index].holder.task);
    settled(round);
  };
  const TaskReport& report = round->tasks[index];
  if (report.unreadable) {
    dispatch::TaskAnswer no;
    no.reason = "invalid_commands";
    no.message = report.unreadable->message;
    no.held = true;
    return hear(std::move(no));
  }
  parts_.held.find(round->call.ns, report.holder.task,
                   [this, round, index, hear](Result<std::optional<dispatch::RunAddress>> run) {
                     if (!run) return hear(run.error());
                     if (!*run) return hear(dispatch::TaskAnswer{.reason = "task_not_found"});
                     TaskReport& said = round->tasks[index];
                     if (said.failed)
                       return parts_.dispatch.fail_task(**std::move(run), {said.holder, hear});
                     dispatch::CompleteTaskJob job;
                     job.holder = said.holder;
                     job.commands = std::move(said.commands);
                     job.describe = as_registered(parts_.workers);
                     job.reply = hear;
                     job.code_time = said.now;
                     job.blocked = std::move(said.blocked);
                     job.spoiled = said.spoiled;
                     job.taker = round->taker;
                     parts_.dispatch.complete_task(**std::move(run), std::move(job));
                   });
}

void Exchange::report_activity(const RoundPtr& round, std::size_t index) {
  const auto hear = [this, round, index](Result<dispatch::AttemptAnswer> answer) {
    bool over = false;
    {
      const std::lock_guard lock{round->mutex};
      Heard& heard = round->heard_activities[index];
      if (!answer) {
        heard = not_heard(round->activities[index].id, answer.error());
      } else {
        heard.id = round->activities[index].id;
        heard.recorded = answer->recorded;
        heard.reason = answer->reason;
        heard.went_on = answer->went_on;
        over = answer->recorded;
        take_on(*round, heard, std::move(answer->then));
      }
    }
    if (over) is_over(TaskId{round->activities[index].id});
    settled(round);
  };
  const TaskId task{round->activities[index].id};
  parts_.held.find(
      round->call.ns, task,
      [this, round, index, task, hear](Result<std::optional<dispatch::RunAddress>> run) {
        if (!run) return hear(run.error());
        if (!*run) return hear(dispatch::AttemptAnswer{false, "task_not_found"});
        dispatch::FinishActivityJob job;
        job.outcome = std::move(round->activities[index].outcome);
        job.task = task;
        job.owner = round->worker.worker_id;
        job.answer = hear;
        job.taker = round->taker;
        job.ahead = std::move(round->activities[index].ahead);
        if (job.ahead) job.ahead->describe = as_registered(parts_.workers);
        parts_.dispatch.finish_activity(**std::move(run), std::move(job));
      });
}

// As if it had come by itself.
void Exchange::report_query(const RoundPtr& round, std::size_t index) {
  Call call;
  call.ns = round->call.ns;
  const Value& said = (*round->call.field("query_tasks")->if_array())[index];
  call.body = *said.if_map();
  call.body.emplace_back("lease_owner", round->worker.worker_id);
  const Value* id = said.find("query_task_id");
  std::string name = id && id->if_string() ? *id->if_string() : "";
  call.match.captured = {{"task", name}};
  Answer told = call.field("failure") ? parts_.queries.fail(call) : parts_.queries.complete(call);
  {
    const std::lock_guard lock{round->mutex};
    const Value* reason = Value{told.body}.find("reason");
    round->heard_queries[index] = {std::move(name), told.status == 200,
                                   reason && reason->if_string() ? *reason->if_string() : "", ""};
  }
  settled(round);
}

// ---- what there is to do

void Exchange::gather(const RoundPtr& round) {
  for (const WorkKind kind : {WorkKind::workflow, WorkKind::activity}) {
    parts_.matching.hand_back(round->poll(kind), std::exchange(round->reserve(kind), 0));
  }
  std::vector<std::pair<WorkKind, dispatch::Offer>> offers;
  {
    const std::lock_guard lock{round->mutex};
    for (const WorkKind kind : all_kinds) {
      while (round->wants(kind) > 0) {
        auto offer = parts_.matching.take(round->poll(kind));
        if (!offer) break;
        --round->wants(kind);
        offers.emplace_back(kind, *std::move(offer));
      }
    }
    round->pending = offers.size();
    if (offers.empty() && (round->found_work() || !round->waits)) {
      round->waits = false;
    }
  }
  if (offers.empty()) return round->waits ? wait(round) : answer(round);
  for (auto& [kind, offer] : offers) claim(round, kind, std::move(offer));
}

void Exchange::wait(const RoundPtr& round) {
  std::vector<Poll> polls;
  for (const WorkKind kind : all_kinds) {
    if (round->wants(kind) > 0) polls.push_back(round->poll(kind));
  }
  if (polls.empty()) return answer(round);
  parts_.matching.poll_any(std::move(polls), round->until, [this, round](Matching::Found found) {
    // Nobody would hear of it, or its worker left or began to drain meanwhile: it is for another.
    const bool gone = round->call.hung_up() || !parts_.workers.takes_work(round->worker);
    if (found.offer && gone) parts_.matching.give_back(found.kind, *std::move(found.offer));
    if (gone || !found.offer) {
      round->waits = false;
      round->stopped = found.stopped;
      return answer(round);
    }
    round->pending = 1;
    --round->wants(found.kind);
    claim(round, found.kind, *std::move(found.offer));
  });
  // Whoever calls back what a worker waits for has first noted why; this may have come in between.
  if (!parts_.workers.takes_work(round->worker)) {
    parts_.matching.recall(round->worker.ns, round->worker.worker_id);
  }
}

void Exchange::claim(const RoundPtr& round, WorkKind kind, dispatch::Offer offer) {
  if (kind == WorkKind::query) {
    auto claimed = parts_.queries.claim_native(offer.task.id.str(), round->worker.worker_id);
    {
      const std::lock_guard lock{round->mutex};
      if (claimed) {
        round->next_queries.push_back(*std::move(claimed));
      } else {
        ++round->wants(kind);
      }
    }
    return settled(round);
  }
  dispatch::RunAddress run = offer.run;
  if (kind == WorkKind::workflow) {
    dispatch::ClaimTaskJob job;
    job.owner = round->worker.worker_id;
    job.habit = engine::WorkerHabit::native;
    job.reply = [this, round,
                 offer = std::move(offer)](Result<std::optional<dispatch::ClaimedTask>> claimed) {
      if (!claimed || !*claimed) return could_not_claim(round, WorkKind::workflow, offer, claimed);
      parts_.held.note((*claimed)->task, (*claimed)->run);
      parts_.matching.leased(WorkKind::workflow, offer, (*claimed)->task,
                             (*claimed)->lease_expires_at);
      {
        const std::lock_guard lock{round->mutex};
        round->next_tasks.push_back(**std::move(claimed));
      }
      settled(round);
    };
    return parts_.dispatch.claim_task(std::move(run), std::move(job));
  }
  dispatch::ClaimActivityJob job;
  job.activity_id = offer.activity;
  job.owner = round->worker.worker_id;
  job.reply = [this, round,
               offer = std::move(offer)](Result<std::optional<dispatch::ClaimedActivity>> claimed) {
    if (!claimed || !*claimed) return could_not_claim(round, WorkKind::activity, offer, claimed);
    parts_.held.note((*claimed)->task, (*claimed)->run);
    parts_.matching.leased(WorkKind::activity, offer, (*claimed)->task,
                           counts_until((*claimed)->activity));
    {
      const std::lock_guard lock{round->mutex};
      round->next_activities.push_back(**std::move(claimed));
    }
    settled(round);
  };
  parts_.dispatch.claim_activity(std::move(run), std::move(job));
}

// Somebody else has it, or it was on its way to this worker and is nobody's now.
template <typename Claimed>
void Exchange::could_not_claim(const RoundPtr& round, WorkKind kind, const dispatch::Offer& offer,
                               const Claimed& claimed) {
  parts_.matching.not_leased(kind, offer);
  if (!claimed && will_pass(claimed.error())) parts_.matching.offer_again(kind, offer);
  if (claimed) {  // there is room left for another; where claims fail, the answer says so first
    const std::lock_guard lock{round->mutex};
    ++round->wants(kind);
  }
  settled(round);
}

void Exchange::answer(const RoundPtr& round) {
  Answer said{200,
              {{"poll_status", round->found_work() ? "leased"
                               : round->stopped    ? "stopped"
                                                   : "timeout"}}};
  const auto write = [&](std::string_view name, const std::vector<Heard>& heard,
                         std::string_view id_field) {
    if (!heard.empty()) said.written.emplace_back(name, heard_list(heard, id_field));
  };
  write("workflow_tasks", round->heard_tasks, "task_id");
  write("activity_tasks", round->heard_activities, "task_id");
  write("query_tasks", round->heard_queries, "query_task_id");
  std::string tasks;
  JsonWriter json{tasks};
  json.begin_object().key("workflow").begin_array();
  for (const auto& task : round->next_tasks) write_task(json, task);
  json.end_array().key("activity").begin_array();
  for (const auto& work : round->next_activities) write_activity(json, work);
  json.end_array().key("query").begin_array();
  for (const std::string& query : round->next_queries) json.raw(query);
  json.end_array().end_object();
  said.written.emplace_back("tasks", std::move(tasks));
  round->reply(std::move(said));
}

}  // namespace dw::server
