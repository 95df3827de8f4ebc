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

std::string_view advice_about_query(std::string_view reason) {
  if (reason == "query_task_not_found") return "nobody waits for its answer any more";
  if (reason == "query_task_timed_out") return "its caller has given up";
  if (reason == "query_task_not_leased") return "no worker has taken it";
  if (reason == "lease_owner_mismatch") return "another worker holds it";
  if (reason == "query_task_attempt_mismatch") return "it was taken again";
  return "the lease ran out; it is offered to others";
}

bool abandoned(const QueryQuestion& question) {
  return question.asker && question.asker->expired();
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
  const std::int64_t most = matching_.most_pending_queries(question.ns, question.queue);
  const auto queue = queue_of(question);
  if (static_cast<std::int64_t>(pending(queue.first, queue.second)) >= most) drop_abandoned(queue);
  std::string id;
  bool stopped = false;
  {
    const std::lock_guard lock{mutex_};
    stopped = stopped_;
    std::size_t* pending = stopped ? nullptr : &pending_[queue];
    if (pending && static_cast<std::int64_t>(*pending) < most) {
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
                                         most, question.queue)});
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
    if (task) given_up_.emplace(id, task->question.ns);
    if (given_up_.size() > most_given_up) given_up_.erase(given_up_.begin());
  }
  if (!task) return;
  time_.post_at(clock_.now() + given_up_for, [this, id] {
    const std::lock_guard lock{mutex_};
    given_up_.erase(id);
  });
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

void QueryTasks::drop_abandoned(const std::pair<Namespace, std::string>& queue) {
  std::vector<Task> dropped;
  {
    const std::lock_guard lock{mutex_};
    std::vector<std::string> ids;
    for (const auto& [id, task] : tasks_) {
      if (abandoned(task.question) && queue_of(task.question) == queue) ids.push_back(id);
    }
    for (const std::string& id : ids) dropped.push_back(*take(id));
  }
  for (const Task& task : dropped) matching_.withdraw(WorkKind::query, task.offer);
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

void QueryTasks::release(const Namespace& ns, const std::string& worker) {
  std::vector<std::pair<std::string, std::int64_t>> released;
  {
    const std::lock_guard lock{mutex_};
    for (auto& [id, task] : tasks_) {
      if (task.question.ns != ns || task.owner != worker) continue;
      task.lease_expires_at = clock_.now();
      released.emplace_back(id, task.attempt);
    }
  }
  for (const auto& [id, attempt] : released) offer_again(id, attempt);
}

QueryTasks::Task* QueryTasks::lease(const std::string& id, const std::string& worker) {
  const auto found = tasks_.find(id);
  if (found == tasks_.end()) return nullptr;
  Task& task = found->second;
  if (abandoned(task.question)) {
    take(id);
    return nullptr;
  }
  task.attempt += 1;
  task.owner = worker;
  const Timestamp now = clock_.now();
  task.lease_expires_at = now + query_lease;
  time_.post_at(now + query_second_chance,
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

// The order is a contract: the first guard to refuse names the reason that workers see.
std::string_view QueryTasks::fence(const Namespace& ns, const Report& report) const {
  if (const auto over = given_up_.find(report.id); over != given_up_.end() && over->second == ns) {
    return "query_task_timed_out";
  }
  const auto found = tasks_.find(report.id);
  if (found == tasks_.end() || found->second.question.ns != ns) return "query_task_not_found";
  const Task& task = found->second;
  if (task.attempt == 0) return "query_task_not_leased";
  if (task.owner != report.owner) return "lease_owner_mismatch";
  if (task.attempt != report.attempt) return "query_task_attempt_mismatch";
  if (task.lease_expires_at <= clock_.now()) return "lease_expired";
  return {};
}

std::variant<QueryTasks::Asked, Answer> QueryTasks::settle(const Call& call) {
  Fields fields{call};
  const Report report{std::string{call.match["task"]}, fields.required_text("lease_owner", 255),
                      fields.required_whole("query_task_attempt", 1, INT32_MAX)};
  if (!fields.fine()) return fields.errors();
  std::string_view fenced;
  std::optional<Task> task;
  {
    const std::lock_guard lock{mutex_};
    fenced = fence(call.ns, report);
    if (fenced.empty()) task = take(report.id);
  }
  if (task) {
    matching_.withdraw(WorkKind::query, task->offer);  // it may have been offered once more
    return std::move(task->asked);
  }
  return refusal(fenced == "query_task_not_found" ? 404 : 409, fenced,
                 fmt::format("query task {}: {}", report.id, advice_about_query(fenced)),
                 {{"query_task_id", report.id},
                  {"query_task_attempt", report.attempt},
                  {"outcome", "rejected"}});
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
  outcome.reason = reason && reason->if_string() && !reason->if_string()->empty()
                       ? *reason->if_string()
                       : "query_rejected";
  outcome.status = status_of_failure(outcome.reason);
  if (const Value* errors = failure->find("validation_errors"); errors && errors->if_map()) {
    outcome.more = errors_of_arguments(*errors);
  }
  std::get<Asked>(held)(std::move(outcome));
  return settled(call, "failed");
}

}  // namespace dw::server
