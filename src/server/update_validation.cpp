#include "server/update_validation.hpp"

#include "server/worker_commands.hpp"

#include <fmt/format.h>

namespace dw::server {
namespace {

// For as long a worker that did not get our answer may ask again and learn what became of it.
constexpr auto settled_for = std::chrono::seconds{60};

constexpr std::string_view rejected_by_validator = "update_validator_rejected";
constexpr std::string_view failed_at_worker = "update_validation_worker_failed";

std::string_view advice_about(std::string_view reason) {
  if (reason == "update_validation_task_not_found") return "nobody waits for its verdict any more";
  if (reason == "update_validation_task_not_leased") return "no worker has taken it";
  if (reason == "stale_update_validation_completion") return "it was given to a worker again since";
  if (reason == "update_validator_worker_lost") return "the worker is not registered any more";
  if (reason == "update_validation_lease_expired") return "the lease ran out; poll for another";
  return "there is a verdict already";
}

bool asks_the_same(const ValidationQuestion& one, const ValidationQuestion& other) {
  return one.target.update_name == other.target.update_name &&
         same_arguments(one.arguments, other.arguments);
}

ValidationRefusal too_many_wait(const ValidationTarget& target) {
  return {.reason = "update_validator_worker_unavailable",
          .message = fmt::format("{} updates wait for the validators of queue '{}'; try again in a "
                                 "moment",
                                 most_validations_per_queue, target.queue),
          .retryable = true};
}

ValidationRefusal nobody_judges(const ValidationTarget& target) {
  return {.status = 503,
          .reason = "unavailable",
          .message = fmt::format("the server is stopping and takes update '{}' to no validator; "
                                 "nothing was recorded, send it again in a moment",
                                 target.update_name),
          .retryable = true};
}

}  // namespace

bool same_arguments(const Payload& one, const Payload& other) {
  if (one == other) return true;
  const auto left = decode(one), right = decode(other);
  return left && right && *left == *right;
}

ValidationRefusal other_arguments(const ValidationTarget& target, std::string_view request_id) {
  return {.reason = "update_validation_idempotency_conflict",
          .message = fmt::format("request '{}' was sent before and asked for something else than "
                                 "update '{}' with these arguments; give this one another "
                                 "request_id",
                                 request_id, target.update_name)};
}

UpdateValidations::UpdateValidations(Matching& matching, const Workers& workers, Executor& time,
                                     const Clock& clock, Random& random)
    : matching_(matching), workers_(workers), time_(time), clock_(clock), ulids_(random) {}

UpdateValidations::RequestKey UpdateValidations::request_of(const ValidationQuestion& question) {
  return {question.target.ns, question.workflow_id, question.request_id};
}

// ---- callers

void UpdateValidations::ask(ValidationQuestion question, Heard heard) {
  std::optional<dispatch::Offer> offer;
  Verdict no;
  bool approved = false;
  {
    const std::lock_guard lock{mutex_};
    const auto same = by_request_.find(request_of(question));
    Task* task = same == by_request_.end() ? nullptr : &tasks_.at(same->second);
    const ValidationQuestion* before = task ? &task->question : find_approved(question);
    if (stopped_) {
      no = nobody_judges(question.target);
    } else if (before && !asks_the_same(*before, question)) {
      no = other_arguments(question.target, question.request_id);
    } else if (task) {
      task->waiting.push_back(heard);
    } else if (before) {
      approved = true;
    } else if (is_full(question.target)) {
      no = too_many_wait(question.target);
    } else {
      offer = create(std::move(question), heard);
    }
  }
  if (no || approved) return heard(no);
  if (!offer) return;
  time_.post_at(clock_.now() + validation_patience,
                [this, id = offer->task.id.str()] { give_up(id); });
  matching_.offer(WorkKind::update_validation, *std::move(offer));
}

bool UpdateValidations::is_full(const ValidationTarget& target) const {
  const auto waiting = pending_.find({target.ns, target.queue});
  return waiting != pending_.end() && waiting->second >= most_validations_per_queue;
}

const ValidationQuestion* UpdateValidations::find_approved(
    const ValidationQuestion& question) const {
  const auto found = approved_.find(request_of(question));
  if (found == approved_.end()) return nullptr;
  const ValidationQuestion& before = found->second.question;
  const bool same_place =
      before.run_id == question.run_id && before.last_sequence == question.last_sequence;
  return same_place ? &before : nullptr;
}

dispatch::Offer UpdateValidations::create(ValidationQuestion question, Heard heard) {
  const ValidationTarget& target = question.target;
  const Timestamp now = clock_.now();
  const std::string id = ulids_.next(now);
  dispatch::Offer offer;
  offer.run.instance.ns = target.ns;
  offer.type = validator_key(target.workflow_type, target.update_name);
  offer.queue = target.queue;
  offer.compatibility = target.compatibility;
  offer.task = {now, TaskId{id}};
  ++pending_[{target.ns, target.queue}];
  by_request_.emplace(request_of(question), id);
  tasks_.emplace(id, Task{std::move(question), {std::move(heard)}, offer});
  return offer;
}

void UpdateValidations::remember(const std::string& id, const ValidationQuestion& question) {
  ValidationQuestion asked = question;
  asked.task.clear();
  asked.history.clear();
  approved_.insert_or_assign(request_of(question), Approved{id, std::move(asked)});
}

std::optional<UpdateValidations::Task> UpdateValidations::take(const std::string& id) {
  auto node = tasks_.extract(id);
  if (node.empty()) return std::nullopt;
  Task& task = node.mapped();
  by_request_.erase(request_of(task.question));
  const auto count = pending_.find({task.question.target.ns, task.question.target.queue});
  if (--count->second == 0) pending_.erase(count);
  settled_.emplace(id, Settled{task.question.target.ns, task.attempt, task.owner});
  return std::move(task);
}

// It has been taken out; tells everybody who waits.
void UpdateValidations::settle(const std::string& id, const Task& task, const Verdict& verdict) {
  time_.post_at(clock_.now() + settled_for, [this, id, request = request_of(task.question)] {
    const std::lock_guard lock{mutex_};
    settled_.erase(id);
    const auto approved = approved_.find(request);
    if (approved != approved_.end() && approved->second.id == id) approved_.erase(approved);
  });
  // It may be on offer again since its lease ran out.
  matching_.withdraw(WorkKind::update_validation, task.offer);
  for (const Heard& heard : task.waiting) heard(verdict);
}

void UpdateValidations::give_up(const std::string& id) {
  std::optional<Task> task;
  {
    const std::lock_guard lock{mutex_};
    task = take(id);
  }
  if (!task) return;
  const ValidationTarget& target = task->question.target;
  ValidationRefusal refusal{.status = 504, .retryable = true};
  if (task->attempt == 0) {
    refusal.reason = "update_validation_task_not_claimed";
    refusal.message = fmt::format(
        "no worker of queue '{}' took update '{}' to its validator "
        "within {} s; nothing was recorded",
        target.queue, target.update_name, validation_patience.count());
  } else if (is_gone(target.ns, task->owner)) {
    refusal.status = 409;
    refusal.reason = "update_validator_worker_lost";
    refusal.message = fmt::format(
        "worker '{}' took update '{}' to its validator and is gone; "
        "nothing was recorded",
        task->owner, target.update_name);
  } else {
    refusal.reason = "update_validation_execution_timeout";
    refusal.message = fmt::format(
        "worker '{}' took update '{}' to its validator and did not "
        "answer within {} s; nothing was recorded",
        task->owner, target.update_name, validation_patience.count());
  }
  settle(id, *task, refusal);
}

void UpdateValidations::stop() {
  std::vector<std::pair<std::string, Task>> left;
  {
    const std::lock_guard lock{mutex_};
    stopped_ = true;
    while (!tasks_.empty()) {
      const std::string id = tasks_.begin()->first;
      left.emplace_back(id, *take(id));
    }
  }
  for (const auto& [id, task] : left) settle(id, task, nobody_judges(task.question.target));
}

// ---- workers

bool UpdateValidations::is_gone(const Namespace& ns, const std::string& worker) const {
  const auto found = workers_.find(ns, worker);
  return !found || clock_.now() - found->heard_at >=
                       std::chrono::seconds{stale_after_seconds(found->heartbeat_seconds)};
}

void UpdateValidations::offer_again(const std::string& id, std::int64_t attempt) {
  std::optional<dispatch::Offer> offer;
  {
    const std::lock_guard lock{mutex_};
    const auto task = tasks_.find(id);
    if (task != tasks_.end() && task->second.attempt == attempt) offer = task->second.offer;
  }
  if (offer) matching_.offer(WorkKind::update_validation, *std::move(offer));
}

void UpdateValidations::release(const Namespace& ns, const std::string& worker) {
  std::vector<std::pair<std::string, std::int64_t>> released;
  {
    const std::lock_guard lock{mutex_};
    for (auto& [id, task] : tasks_) {
      if (task.question.target.ns != ns || task.owner != worker) continue;
      task.lease_expires_at = clock_.now();
      released.emplace_back(id, task.attempt);
    }
  }
  for (const auto& [id, attempt] : released) offer_again(id, attempt);
}

std::optional<Answer> UpdateValidations::claim(const std::string& id, const std::string& worker) {
  const std::lock_guard lock{mutex_};
  const auto found = tasks_.find(id);
  if (found == tasks_.end()) return std::nullopt;
  Task& task = found->second;
  task.attempt += 1;
  task.owner = worker;
  task.lease_expires_at = clock_.now() + validation_lease;
  time_.post_at(task.lease_expires_at,
                [this, id, attempt = task.attempt] { offer_again(id, attempt); });
  Answer inner{200, task.question.task};
  inner.body.emplace_back("update_validation_task_id", id);
  inner.body.emplace_back("update_validation_attempt", task.attempt);
  inner.body.emplace_back("lease_owner", worker);
  inner.body.emplace_back("lease_expires_at", format_timestamp(task.lease_expires_at));
  inner.written.emplace_back("history_events", task.question.history);
  return Answer{200, {{"poll_status", "leased"}}, {{"task", body_text(std::move(inner))}}};
}

std::string_view UpdateValidations::fence(const Namespace& ns, const Report& report) const {
  if (const auto over = settled_.find(report.id); over != settled_.end()) {
    const Settled& settled = over->second;
    if (settled.ns != ns) return "update_validation_task_not_found";
    if (settled.attempt == 0) return "update_validation_task_not_leased";
    if (settled.owner != report.owner || settled.attempt != report.attempt) {
      return "stale_update_validation_completion";
    }
    return is_gone(ns, report.owner) ? "update_validator_worker_lost"
                                     : "duplicate_update_validation_completion";
  }
  const auto found = tasks_.find(report.id);
  if (found == tasks_.end() || found->second.question.target.ns != ns) {
    return "update_validation_task_not_found";
  }
  const Task& task = found->second;
  if (task.attempt == 0) return "update_validation_task_not_leased";
  if (task.owner != report.owner || task.attempt != report.attempt) {
    return "stale_update_validation_completion";
  }
  if (is_gone(ns, report.owner)) return "update_validator_worker_lost";
  if (task.lease_expires_at <= clock_.now()) return "update_validation_lease_expired";
  return {};
}

Answer UpdateValidations::judge(const Call& call, Verdict verdict, std::string_view outcome) {
  Fields fields{call};
  const Report report{std::string{call.match["task"]}, fields.required_text("lease_owner", 255),
                      fields.required_whole("update_validation_attempt", 1, INT32_MAX)};
  if (!fields.fine()) return fields.errors();
  Value::Map about{{"update_validation_task_id", report.id},
                   {"update_validation_attempt", report.attempt}};
  std::string_view fenced;
  std::optional<Task> task;
  {
    const std::lock_guard lock{mutex_};
    fenced = fence(call.ns, report);
    if (fenced.empty()) task = take(report.id);
    if (task && !verdict) remember(report.id, task->question);
  }
  if (!task) {
    about.emplace_back("outcome", "ignored");
    return refusal(fenced == "update_validation_task_not_found" ? 404 : 409, fenced,
                   fmt::format("update-validation task {}: {}", report.id, advice_about(fenced)),
                   std::move(about));
  }
  settle(report.id, *task, verdict);
  about.emplace_back("outcome", outcome);
  about.emplace_back("reason", verdict ? Value{verdict->reason} : Value{});
  return {200, std::move(about)};
}

Answer UpdateValidations::approve(const Call& call) {
  return judge(call, std::nullopt, "approved");
}

Answer UpdateValidations::reject(const Call& call) {
  const Value* failure = call.field("failure");
  auto read = read_failure(failure);
  if (!read.errors.empty()) return invalid(std::move(read.errors));
  Fields fields{*failure->if_map(), "failure"};
  const auto reason = fields.word("reason", {rejected_by_validator, failed_at_worker});
  if (!fields.fine()) return fields.errors();
  const bool rejected = reason == rejected_by_validator;
  ValidationRefusal why{
      .status = rejected ? 422 : 409, .reason = reason, .message = std::move(read.failure.message)};
  if (!read.failure.exception_type.empty()) {
    why.more.emplace_back("failure_type", read.failure.exception_type);
  }
  if (const Value* errors = failure->find("validation_errors"); errors && errors->if_map()) {
    why.more.emplace_back("validation_errors", *errors);
  }
  return judge(call, std::move(why), rejected ? "rejected" : "failed");
}

}  // namespace dw::server
