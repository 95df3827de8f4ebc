#include "server/query_tasks.hpp"

#include "server/addressed.hpp"
#include "server/worker_commands.hpp"

#include <fmt/format.h>

namespace dw::server {
namespace {

constexpr auto query_patience = std::chrono::seconds{30};

Answer settled(const Call& call, std::string_view outcome) {
  const Value* attempt = call.field("query_task_attempt");
  return {200,
          {{"query_task_id", call.match["task"]},
           {"query_task_attempt", attempt ? *attempt : Value{}},
           {"outcome", outcome}}};
}

QueryTasks::Outcome nobody_asks() {
  return {.status = 503,
          .reason = "query_task_queue_unavailable",
          .message = "the server is stopping and asks no worker any more; try again in a moment"};
}

int status_of_failure(std::string_view reason) {
  if (reason == "rejected_unknown_query") return 404;
  if (reason == "invalid_query_arguments") return 422;
  return 409;
}

}  // namespace

QueryTasks::QueryTasks(Matching& matching, Executor& time, const Clock& clock, Random& random)
    : matching_(matching), time_(time), clock_(clock), ulids_(random) {}

void QueryTasks::ask(QueryQuestion question, Asked asked) {
  const Timestamp now = clock_.now();
  dispatch::Offer offer;
  offer.run.instance.ns = question.ns;
  offer.type = question.workflow_type;
  offer.queue = question.queue;
  offer.compatibility = question.compatibility;
  std::string id;
  bool stopped = false;
  {
    const std::lock_guard lock{mutex_};
    stopped = stopped_;
    std::size_t* pending = stopped ? nullptr : &pending_[queue_of(question)];
    if (pending && *pending < most_queries_per_queue) {
      ++*pending;
      id = ulids_.next(now);
      offer.task = {now, TaskId{id}};
      tasks_.emplace(id, Task{std::move(question), asked, offer});
    }
  }
  if (stopped) return asked(nobody_asks());
  if (id.empty()) {
    return asked({.status = 429,
                  .reason = "query_task_queue_full",
                  .message = fmt::format("{} queries wait for the workers of queue '{}'; try again "
                                         "in a moment",
                                         most_queries_per_queue, question.queue)});
  }
  time_.post_at(now + query_patience, [this, id] { give_up(id); });
  matching_.offer(WorkKind::query, std::move(offer));
}

std::pair<Namespace, std::string> QueryTasks::queue_of(const QueryQuestion& question) {
  return {question.ns, question.queue.empty() ? "default" : question.queue};
}

std::size_t QueryTasks::pending(const Namespace& ns, std::string_view queue) const {
  const std::lock_guard lock{mutex_};
  const auto found = pending_.find({ns, std::string{queue}});
  return found == pending_.end() ? 0 : found->second;
}

std::optional<QueryTasks::Task> QueryTasks::take(const std::string& id) {
  auto node = tasks_.extract(id);
  if (node.empty()) return std::nullopt;
  const auto count = pending_.find(queue_of(node.mapped().question));
  if (--count->second == 0) pending_.erase(count);
  return std::move(node.mapped());
}

// Nobody answered in time.
void QueryTasks::give_up(const std::string& id) {
  std::optional<Task> task;
  {
    const std::lock_guard lock{mutex_};
    task = take(id);
  }
  if (!task) return;
  matching_.withdraw(WorkKind::query, task->offer);
  const bool claimed = !task->owner.empty();
  task->asked({.status = 504,
               .reason = claimed ? "query_worker_execution_timeout" : "query_task_not_claimed",
               .message = claimed
                              ? fmt::format("worker '{}' took the query and did not answer within "
                                            "{} s",
                                            task->owner, query_patience.count())
                              : fmt::format("no worker of queue '{}' took the query within {} s",
                                            task->question.queue, query_patience.count())});
}

void QueryTasks::stop() {
  std::unordered_map<std::string, Task> left;
  {
    const std::lock_guard lock{mutex_};
    stopped_ = true;
    left.swap(tasks_);
    pending_.clear();
  }
  for (const auto& [id, task] : left) task.asked(nobody_asks());
}

void QueryTasks::offer_again(const std::string& id, std::int64_t attempt) {
  std::optional<dispatch::Offer> offer;
  {
    const std::lock_guard lock{mutex_};
    const auto task = tasks_.find(id);
    if (task != tasks_.end() && task->second.attempt == attempt) offer = task->second.offer;
  }
  if (offer) matching_.offer(WorkKind::query, *std::move(offer));
}

QueryTasks::Task* QueryTasks::lease(const std::string& id, const std::string& worker) {
  const auto found = tasks_.find(id);
  if (found == tasks_.end()) return nullptr;
  Task& task = found->second;
  task.attempt += 1;
  task.owner = worker;
  task.lease_expires_at = clock_.now() + query_lease;
  time_.post_at(task.lease_expires_at,
                [this, id, attempt = task.attempt] { offer_again(id, attempt); });
  return &task;
}

std::optional<Answer> QueryTasks::claim(const std::string& id, const std::string& worker) {
  const std::lock_guard lock{mutex_};
  const Task* task = lease(id, worker);
  if (!task) return std::nullopt;
  Answer inner{200, task->question.task};
  inner.body.emplace_back("query_task_id", id);
  inner.body.emplace_back("query_task_attempt", task->attempt);
  inner.body.emplace_back("lease_owner", worker);
  inner.body.emplace_back("lease_expires_at", format_timestamp(task->lease_expires_at));
  inner.written.emplace_back("history_events", task->question.history);
  return Answer{200, {{"poll_status", "leased"}}, {{"task", body_text(std::move(inner))}}};
}

std::optional<std::string> QueryTasks::claim_native(const std::string& id,
                                                    const std::string& worker) {
  const std::lock_guard lock{mutex_};
  const Task* task = lease(id, worker);
  if (!task) return std::nullopt;
  Answer inner{200, task->question.task};
  inner.body.emplace_back("query_task_id", id);
  inner.body.emplace_back("query_task_attempt", task->attempt);
  inner.written.emplace_back("history", task->question.commits);
  return body_text(std::move(inner));
}

std::variant<QueryTasks::Asked, Answer> QueryTasks::settle(const Call& call) {
  Fields fields{call};
  const auto owner = fields.required_text("lease_owner", 255);
  const auto attempt = fields.required_whole("query_task_attempt", 1, INT32_MAX);
  if (!fields.fine()) return fields.errors();
  const std::string id{call.match["task"]};
  const auto no = [&](int status, std::string_view reason, std::string_view text) -> Answer {
    return refusal(status, reason, fmt::format("query task {}: {}", id, text),
                   {{"query_task_id", id}, {"query_task_attempt", attempt}});
  };
  const std::lock_guard lock{mutex_};
  const auto found = tasks_.find(id);
  if (found == tasks_.end() || found->second.question.ns != call.ns) {
    return no(404, "query_task_not_found", "nobody waits for its answer any more");
  }
  const Task& task = found->second;
  if (task.attempt == 0) return no(409, "query_task_not_leased", "no worker has taken it");
  if (task.owner != owner) return no(409, "lease_owner_mismatch", "another worker holds it");
  if (task.attempt != attempt) return no(409, "query_task_attempt_mismatch", "it was taken again");
  return std::move(take(id)->asked);
}

Answer QueryTasks::complete(const Call& call) {
  const Value* envelope = call.field("result_envelope");
  auto read = read_result(envelope ? envelope : call.field("result"),
                          envelope ? "result_envelope" : "result");
  if (!read.errors.empty()) return invalid(std::move(read.errors));
  auto held = settle(call);
  if (auto* no = std::get_if<Answer>(&held)) return std::move(*no);
  std::get<Asked>(held)({.result = std::move(read.payload)});
  return settled(call, "completed");
}

Answer QueryTasks::fail(const Call& call) {
  const Value* failure = call.field("failure");
  auto read = read_failure(failure);
  if (!read.errors.empty()) return invalid(std::move(read.errors));
  auto held = settle(call);
  if (auto* no = std::get_if<Answer>(&held)) return std::move(*no);
  Outcome outcome;
  outcome.message = std::move(read.failure.message);
  const Value* reason = failure->find("reason");
  outcome.reason = reason && reason->if_string() ? *reason->if_string() : "query_rejected";
  outcome.status = status_of_failure(outcome.reason);
  if (const Value* errors = failure->find("validation_errors"); errors && errors->if_map()) {
    outcome.more = errors_of_arguments(*errors);
  }
  std::get<Asked>(held)(std::move(outcome));
  return settled(call, "failed");
}

}  // namespace dw::server
