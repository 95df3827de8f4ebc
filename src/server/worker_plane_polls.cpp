// Workers that wait for work: what they may take, and what they are told of it.
#include "server/addressed.hpp"
#include "server/worker_plane.hpp"
#include "server/worker_tasks.hpp"

#include <fmt/format.h>

namespace dw::server {
namespace {

constexpr std::int64_t usual_patience = 30;

std::string_view word_of(WorkKind kind) {
  switch (kind) {
    case WorkKind::workflow:
      return "workflow";
    case WorkKind::activity:
      return "activity";
    case WorkKind::query:
      return "query";
    case WorkKind::update_validation:
      return "update_validation";
  }
  return "unknown";
}

// The kinds of work that a poll for workflow tasks asks for. Somebody waits for a validation, so
// that it comes first.
std::vector<WorkKind> kinds_in(Fields& fields) {
  if (!fields.field("task_kinds")) return {WorkKind::workflow};
  bool workflow = false, validation = false;
  const auto named = fields.texts("task_kinds");
  for (std::size_t i = 0; i < named.size(); ++i) {
    workflow |= named[i] == word_of(WorkKind::workflow);
    validation |= named[i] == word_of(WorkKind::update_validation);
    if (named[i] != word_of(WorkKind::workflow) &&
        named[i] != word_of(WorkKind::update_validation)) {
      fields.wrong(fmt::format("task_kinds.{}", i), "must be workflow or update_validation");
    }
  }
  if (fields.fine() && named.empty()) fields.wrong("task_kinds", "must name a kind of work");
  std::vector<WorkKind> kinds;
  if (validation) kinds.push_back(WorkKind::update_validation);
  if (workflow) kinds.push_back(WorkKind::workflow);
  return kinds;
}

// In the memory of polls: one that asks for more is another.
std::string words_of(const std::vector<WorkKind>& kinds) {
  std::string words;
  for (const WorkKind kind : kinds) words += fmt::format("{} ", word_of(kind));
  return words;
}

// Also when the server stops: at "stopped" a Rust worker stops, too, and would not be there after a
// restart.
Answer nothing_found() {
  return {200, {{"task", Value{}}, {"poll_status", "timeout"}}};
}

}  // namespace

// A poll on its way to its answer.
struct WorkerPlane::Polling {
  SharedCall call;
  Worker worker;
  std::vector<WorkKind> kinds;
  Timestamp until;
  HistoryWish history;
  std::string key;  // in the memory of polls
  Reply reply;
  dispatch::Offer offer = {};  // that is being claimed for it
};

void WorkerPlane::poll_workflow_work(const SharedCall& call, Reply reply) {
  Fields fields{*call};
  auto kinds = kinds_in(fields);
  if (!fields.fine()) return reply(fields.errors());
  poll(call, std::move(kinds), std::move(reply));
}

void WorkerPlane::poll(const SharedCall& call, std::vector<WorkKind> kinds, Reply reply) {
  Fields fields{*call};
  const auto patience = fields.whole("timeout_seconds", 0, 60).value_or(usual_patience);
  const auto request_id = fields.text("poll_request_id", 255);
  const auto wish = read_history_wish(fields);
  if (!fields.fine()) return reply(fields.errors());
  auto admitted = parts_.workers.admit(*call);
  if (auto* no = std::get_if<Answer>(&admitted)) return reply(std::move(*no));

  auto polling = std::make_shared<Polling>();
  polling->call = call;
  polling->worker = std::move(std::get<Worker>(admitted));
  polling->until = parts_.clock.now() + std::chrono::seconds{patience};
  polling->history = wish;
  const Worker& worker = polling->worker;
  polling->key =
      PollMemory::key(worker.ns, worker.queue, worker.worker_id, words_of(kinds), request_id);
  polling->kinds = std::move(kinds);
  if (!memory_.begin(polling->key, *call, reply)) return;
  polling->reply = std::move(reply);
  look_for_work(std::move(polling));
}

// An offer may be stale; then the search goes on.
void WorkerPlane::look_for_work(std::shared_ptr<Polling> polling) {
  const Timestamp until = polling->until;
  std::vector<Poll> wanted;
  std::optional<Poll> instead;
  for (const WorkKind kind : polling->kinds) {
    wanted.push_back(kind == WorkKind::update_validation ? validation_poll_of(polling->worker)
                                                         : poll_of(polling->worker, kind));
    if (kind == WorkKind::workflow) instead = poll_of(polling->worker, WorkKind::activity);
  }
  const auto take = [this, polling](Matching::Found found) {
    if (!found.offer) {
      return memory_.answer(polling->key, {}, {}, nothing_found(), polling->reply);
    }
    // Nobody would hear of it, or its worker left or began to drain meanwhile: it is for another.
    const bool drains = parts_.workers.draining(polling->worker);
    const bool gone = polling->call->hung_up() && !memory_.awaited(polling->key);
    if (drains || gone || !parts_.workers.knows(polling->worker)) {
      parts_.matching.give_back(found.kind, *std::move(found.offer));
      return memory_.answer(polling->key, {}, {}, drains ? while_draining() : nothing_found(),
                            polling->reply);
    }
    switch (found.kind) {
      case WorkKind::workflow:
        return claim_task(polling, *std::move(found.offer));
      case WorkKind::activity:
        return claim_activity(polling, *std::move(found.offer));
      case WorkKind::query:
        return claim_query(polling, *found.offer);
      case WorkKind::update_validation:
        return claim_validation(polling, *found.offer);
    }
  };
  parts_.matching.poll_any(std::move(wanted), until, take, std::move(instead));
}

// It was on its way to this worker, and is nobody's now.
void WorkerPlane::could_not_claim(const Polling& polling, WorkKind kind, const Error& error) {
  parts_.matching.not_leased(kind, polling.offer);
  if (will_pass(error)) parts_.matching.offer_again(kind, polling.offer);
  memory_.answer(polling.key, {}, {}, not_claimed(error, *polling.call), polling.reply);
}

void WorkerPlane::claim_task(std::shared_ptr<Polling> polling, dispatch::Offer offer) {
  polling->offer = std::move(offer);
  dispatch::ClaimTaskJob job;
  job.owner = polling->worker.worker_id;
  job.habit = habit_of(polling->worker.runtime);
  job.reply = [this, polling](Result<std::optional<dispatch::ClaimedTask>> claimed) {
    if (!claimed) return could_not_claim(*polling, WorkKind::workflow, claimed.error());
    if (!*claimed) {
      parts_.matching.not_leased(WorkKind::workflow, polling->offer);
      return look_for_work(polling);
    }
    const dispatch::ClaimedTask& task = **claimed;
    const std::string id = wire_task_id(task);
    held_.note(task.task, task.run);
    parts_.matching.leased(WorkKind::workflow, polling->offer, task.task, task.lease_expires_at);
    memory_.answer(polling->key, id, task.lease_expires_at,
                   task_answer(task, polling->worker, polling->history), polling->reply);
  };
  parts_.dispatch.claim_task(polling->offer.run, std::move(job));
}

void WorkerPlane::claim_activity(std::shared_ptr<Polling> polling, dispatch::Offer offer) {
  polling->offer = std::move(offer);
  dispatch::ClaimActivityJob job;
  job.activity_id = polling->offer.activity;
  job.owner = polling->worker.worker_id;
  job.reply = [this, polling](Result<std::optional<dispatch::ClaimedActivity>> claimed) {
    if (!claimed) return could_not_claim(*polling, WorkKind::activity, claimed.error());
    if (!*claimed) {
      parts_.matching.not_leased(WorkKind::activity, polling->offer);
      return look_for_work(polling);
    }
    const dispatch::ClaimedActivity& work = **claimed;
    held_.note(work.task, work.run);
    parts_.matching.leased(WorkKind::activity, polling->offer, work.task,
                           counts_until(work.activity));
    memory_.answer(polling->key, work.task.str(), work.activity.lease_expires_at,
                   activity_answer(work), polling->reply);
  };
  parts_.dispatch.claim_activity(polling->offer.run, std::move(job));
}

void WorkerPlane::claim_query(std::shared_ptr<Polling> polling, const dispatch::Offer& offer) {
  auto claimed = parts_.queries.claim(offer.task.id.str(), polling->worker.worker_id);
  if (!claimed) return look_for_work(std::move(polling));
  memory_.answer(polling->key, offer.task.id.str(), parts_.clock.now() + query_lease,
                 *std::move(claimed), polling->reply);
}

void WorkerPlane::claim_validation(std::shared_ptr<Polling> polling, const dispatch::Offer& offer) {
  auto claimed = parts_.validations.claim(offer.task.id.str(), polling->worker.worker_id);
  if (!claimed) return look_for_work(std::move(polling));
  memory_.answer(polling->key, offer.task.id.str(), parts_.clock.now() + validation_lease,
                 *std::move(claimed), polling->reply);
}

}  // namespace dw::server
