#include "server/worker_plane.hpp"

#include "server/addressed.hpp"
#include "server/worker_tasks.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dw::server {
namespace {

constexpr std::size_t most_commands = 1'000;

Answer too_many_commands(const Call& call, std::int64_t attempt, std::size_t count) {
  return refusal(422, "structural_limit_exceeded",
                 fmt::format("task {} was completed with {} commands, the limit is {}",
                             call.match["task"], count, most_commands),
                 {{"task_id", call.match["task"]},
                  {"workflow_task_attempt", attempt},
                  {"outcome", "rejected"},
                  {"recorded", false},
                  {"limit_kind", "command_batch_size"},
                  {"current_value", static_cast<std::int64_t>(count)},
                  {"configured_limit", static_cast<std::int64_t>(most_commands)}});
}

std::shared_ptr<const Call> shared(Call call) {
  return std::make_shared<const Call>(std::move(call));
}

// Nobody holds the attempt any more, unless it is somebody else who holds the next.
bool over(const dispatch::AttemptAnswer& answer) {
  return answer.recorded ||
         (answer.reason != "stale_attempt" && answer.reason != "lease_owner_mismatch" &&
          answer.reason != "task_mismatch");
}

}  // namespace

WorkerPlane::WorkerPlane(WorkerPlaneParts parts)
    : parts_(std::move(parts)),
      held_(parts_.store, parts_.reader),
      memory_(parts_.clock),
      exchange_(ExchangeParts{parts_.dispatch, parts_.clock, parts_.matching, parts_.queries, held_,
                              parts_.workers}),
      ulids_(parts_.random) {}

void WorkerPlane::serve(Call call, Reply reply) {
  switch (call.operation()) {
    case Operation::register_worker:
      return register_worker(call, std::move(reply));
    case Operation::deregister_worker:
    case Operation::remove_worker:
      return deregister_worker(call, std::move(reply));
    case Operation::heartbeat_worker:
      return reply(parts_.workers.heartbeat(call));
    case Operation::exchange:
      return exchange(std::move(call), std::move(reply));
    case Operation::poll_workflow_task:
      return poll_workflow_work(shared(std::move(call)), std::move(reply));
    case Operation::poll_activity_task:
      return poll(shared(std::move(call)), {WorkKind::activity}, std::move(reply));
    case Operation::poll_query_task:
      return poll(shared(std::move(call)), {WorkKind::query}, std::move(reply));
    case Operation::poll_update_validation_task:
      return poll(shared(std::move(call)), {WorkKind::update_validation}, std::move(reply));
    case Operation::workflow_task_history:
      return task_history(shared(std::move(call)), std::move(reply));
    case Operation::complete_workflow_task:
      return complete_task(shared(std::move(call)), std::move(reply));
    case Operation::fail_workflow_task:
      return fail_task(shared(std::move(call)), std::move(reply));
    case Operation::heartbeat_workflow_task:
      return heartbeat_task(shared(std::move(call)), std::move(reply));
    case Operation::complete_activity_task:
      return finish_activity(shared(std::move(call)), false, std::move(reply));
    case Operation::fail_activity_task:
      return finish_activity(shared(std::move(call)), true, std::move(reply));
    case Operation::heartbeat_activity_task:
      return heartbeat_activity(shared(std::move(call)), std::move(reply));
    case Operation::complete_query_task:
      return settle(call, parts_.queries.complete(call), reply);
    case Operation::fail_query_task:
      return settle(call, parts_.queries.fail(call), reply);
    case Operation::approve_update_validation_task:
      return settle(call, parts_.validations.approve(call), reply);
    case Operation::reject_update_validation_task:
      return settle(call, parts_.validations.reject(call), reply);
    default:
      return reply(refusal(404, "not_found", "nobody here does that"));
  }
}

void WorkerPlane::register_worker(const Call& call, Reply reply) {
  std::string fresh;
  {
    const std::lock_guard lock{mutex_};
    fresh = ulids_.next(parts_.clock.now());
  }
  Answer answer = parts_.workers.register_worker(call, std::move(fresh));
  if (answer.status >= 300) return reply(std::move(answer));
  // A worker registers once in its life: it must not have to know that we were started again.
  Value::Map registration = call.body;
  const std::string id = *Value{answer.body}.find("worker_id")->if_string();
  if (!call.field("worker_id")) registration.emplace_back("worker_id", id);
  std::vector<store::Document> documents = parts_.workers.take_forgotten();
  documents.push_back({std::string{registration_kind}, call.ns, id, to_json(Value{registration})});
  if (const auto worker = parts_.workers.find(call.ns, id)) {
    std::ranges::move(parts_.validators.note(*worker), std::back_inserter(documents));
  }
  keep(std::move(documents), call, std::move(answer), std::move(reply));
}

void WorkerPlane::keep(std::vector<store::Document> documents, const Call& call, Answer answer,
                       Reply reply) {
  parts_.writer.post([this, documents = std::move(documents), call, answer = std::move(answer),
                      reply = std::move(reply)] {
    for (const store::Document& document : documents) {
      if (auto kept = parts_.store.put_document(document); !kept) {
        return reply(not_recorded(kept.error(), call));
      }
    }
    reply(answer);
  });
}

// By itself, or by an administrator.
void WorkerPlane::deregister_worker(const Call& call, Reply reply) {
  const std::string worker{call.match["worker"]};
  memory_.forget_worker(call.ns, worker);
  Answer answer = parts_.workers.remove(call);
  if (answer.status != 200) return reply(std::move(answer));
  parts_.matching.recall(call.ns, worker);
  parts_.queries.release(call.ns, worker);
  parts_.validations.release(call.ns, worker);
  // At once: should it register again meanwhile, that is written after this and stays.
  const auto removed = std::make_shared<Result<void>>();
  parts_.writer.post([this, removed, ns = call.ns, worker] {
    *removed = parts_.store.put_document({std::string{registration_kind}, ns, worker, {}});
  });
  parts_.dispatch.release_worker(
      call.ns, worker,
      [this, removed, call, answer = std::move(answer),
       reply = std::move(reply)](Result<std::int64_t> released) {
        // Behind the removal, whose outcome is known by then.
        parts_.writer.post([removed, call, answer, reply, released]() mutable {
          if (!*removed) return reply(failed(removed->error(), call));
          if (!released) return reply(failed(released.error(), call));
          if (call.operation() == Operation::deregister_worker) {
            answer.body.emplace_back("recovered_workflow_task_count", *released);
          }
          reply(std::move(answer));
        });
      });
}

void WorkerPlane::exchange(Call call, Reply reply) {
  auto admitted = parts_.workers.recognise(call);
  if (auto* no = std::get_if<Answer>(&admitted)) return reply(std::move(*no));
  exchange_.serve(std::move(call), std::get<Worker>(std::move(admitted)), std::move(reply));
}

// ---- reports

void WorkerPlane::with_run(const SharedCall& call, Reply reply, At then) {
  held_.find(call->ns, task_of(call->match["task"]),
             [call, reply = std::move(reply),
              then = std::move(then)](Result<std::optional<dispatch::RunAddress>> run) {
               if (!run) return reply(not_recorded(run.error(), *call));
               if (!*run) return reply(no_such_task(*call, call->match["task"]));
               then(**std::move(run));
             });
}

// What was refused leaves the poll's answer to whoever holds the task.
void WorkerPlane::settle(const Call& call, Answer answer, const Reply& reply) {
  if (answer.status < 300) memory_.forget(std::string{call.match["task"]});
  reply(std::move(answer));
}

void WorkerPlane::task_history(const SharedCall& call, Reply reply) {
  Fields fields{*call};
  const auto holder = read_holder(fields, call->match["task"]);
  const bool native = fields.flag("native");
  const auto token = native ? std::string{} : fields.required_text("next_history_page_token", 255);
  const auto wish = read_history_wish(fields);
  if (!fields.fine()) return reply(fields.errors());
  const auto page = native ? HistoryPage{} : parse_page_token(token);
  if (!page) {
    return reply(
        refusal(400, "invalid_page_token",
                "the page token is not one that this server gave out; poll again",
                {{"task_id", call->match["task"]}, {"workflow_task_attempt", holder.attempt}}));
  }
  const auto read = [this, call, native, page = *page, wish, reply](const RunId& run) {
    const auto loaded = parts_.store.load_run(run);
    if (!loaded) return reply(failed(loaded.error(), *call));
    if (!*loaded) {
      return reply(refusal(404, "history_not_available",
                           fmt::format("the run of task {} is gone", call->match["task"])));
    }
    if (native) return reply({200, {}, {{"history", native_history(**loaded)}}});
    auto answer = history_page(**loaded, page, wish);
    if (!answer) return reply(failed(answer.error(), *call));
    answer->body.emplace_back("task_id", call->match["task"]);
    answer->body.emplace_back("workflow_task_attempt", *call->field("workflow_task_attempt"));
    reply(*std::move(answer));
  };
  // Only for whoever holds the task, who shows thereby that it is alive.
  with_run(call, reply, [this, call, holder, read, reply](dispatch::RunAddress run) {
    const RunId id = run.run_id;
    parts_.dispatch.hold_task(
        std::move(run),
        {holder, [this, call, read, id, reply, holder](Result<dispatch::TaskAnswer> answer) {
           if (!answer) return reply(failed(answer.error(), *call));
           if (!answer->recorded) {
             return reply(told_about_lease(*call, *answer));
           }
           parts_.matching.renewed(holder.task);
           parts_.reader.post([read, id] { read(id); });
         }});
  });
}

Answer WorkerPlane::told(const Call& call, const dispatch::TaskAnswer& answer,
                         std::string_view outcome) const {
  Answer said = told_about_task(call, answer, outcome);
  if (!parts_.lenient_run_closed || answer.recorded || answer.reason != "run_closed") return said;
  return {200,
          {{"task_id", call.match["task"]},
           {"workflow_task_attempt", *call.field("workflow_task_attempt")},
           {"outcome", outcome},
           {"recorded", false},
           {"run_id", answer.run_id.view()},
           {"run_status", history::to_string(answer.status)},
           {"reason", answer.reason}}};
}

void WorkerPlane::complete_task(const SharedCall& call, Reply reply) {
  Fields fields{*call};
  dispatch::CompleteTaskJob job;
  job.holder = read_holder(fields, call->match["task"]);
  auto read = read_commands(call->field("commands"));
  fields.also_wrong(std::move(read.errors));
  if (!fields.fine()) return reply(fields.errors());
  if (read.commands.size() > most_commands) {
    return reply(too_many_commands(*call, job.holder.attempt, read.commands.size()));
  }
  job.commands = std::move(read.commands);
  job.describe = as_registered(parts_.workers);
  with_run(call, reply,
           [this, call, job = std::move(job), reply](dispatch::RunAddress run) mutable {
             job.reply = [this, call, reply = std::move(reply),
                          task = job.holder.task](Result<dispatch::TaskAnswer> answer) {
               if (!answer) return reply(not_recorded(answer.error(), *call));
               if (nobody_holds(*answer)) {
                 held_.forget(task);
                 memory_.forget(std::string{call->match["task"]});
                 parts_.matching.ended(task);
               }
               reply(told(*call, *answer, "completed"));
             };
             parts_.dispatch.complete_task(std::move(run), std::move(job));
           });
}

void WorkerPlane::fail_task(const SharedCall& call, Reply reply) {
  Fields fields{*call};
  const auto holder = read_holder(fields, call->match["task"]);
  auto read = read_failure(call->field("failure"));
  fields.also_wrong(std::move(read.errors));
  if (!fields.fine()) return reply(fields.errors());
  // "There is nothing to do": the task is done, and the run waits for what it waits for.
  const bool parks = read.failure.exception_type == "WorkflowTaskWaitingForHistory";
  with_run(call, reply, [this, call, holder, parks, reply](dispatch::RunAddress run) {
    auto then = [this, call, parks, reply,
                 task = holder.task](Result<dispatch::TaskAnswer> answer) {
      if (!answer) return reply(not_recorded(answer.error(), *call));
      if (nobody_holds(*answer)) {
        memory_.forget(std::string{call->match["task"]});
        parts_.matching.ended(task);
      }
      reply(told(*call, *answer, parks ? "waiting_for_history" : "failed"));
    };
    if (parks) {
      parts_.dispatch.complete_task(std::move(run), {holder, {}, std::move(then)});
    } else {
      parts_.dispatch.fail_task(std::move(run), {holder, std::move(then)});
    }
  });
}

void WorkerPlane::heartbeat_task(const SharedCall& call, Reply reply) {
  Fields fields{*call};
  const auto holder = read_holder(fields, call->match["task"]);
  if (!fields.fine()) return reply(fields.errors());
  with_run(call, reply, [this, call, holder, reply](dispatch::RunAddress run) {
    parts_.dispatch.hold_task(
        std::move(run),
        {holder, [this, call, reply, task = holder.task](Result<dispatch::TaskAnswer> answer) {
           if (!answer) return reply(not_recorded(answer.error(), *call));
           if (answer->recorded) parts_.matching.renewed(task);
           reply(told_about_lease(*call, *answer));
         }});
  });
}

void WorkerPlane::finish_activity(const SharedCall& call, bool failed_attempt, Reply reply) {
  Fields fields{*call};
  dispatch::FinishActivityJob job;
  job.outcome.attempt_id = AttemptId{fields.required_text("activity_attempt_id", 255)};
  job.owner = fields.required_text("lease_owner", 255);
  job.task = task_of(call->match["task"]);
  if (failed_attempt) {
    auto read = read_failure(call->field("failure"));
    fields.also_wrong(std::move(read.errors));
    job.outcome.outcome = std::move(read.failure);
  } else {
    auto read = read_result(call->field("result"), "result");
    fields.also_wrong(std::move(read.errors));
    job.outcome.outcome = std::move(read.payload);
  }
  if (!fields.fine()) return reply(fields.errors());
  with_run(
      call, reply,
      [this, call, failed_attempt, job = std::move(job), reply](dispatch::RunAddress run) mutable {
        job.answer = [this, call, failed_attempt, reply](Result<dispatch::AttemptAnswer> answer) {
          if (!answer) return reply(not_recorded(answer.error(), *call));
          if (answer->recorded) {
            held_.forget(task_of(call->match["task"]));
            memory_.forget(std::string{call->match["task"]});
          }
          if (over(*answer)) parts_.matching.ended(task_of(call->match["task"]));
          reply(told_about_attempt(*call, *answer, failed_attempt));
        };
        parts_.dispatch.finish_activity(std::move(run), std::move(job));
      });
}

void WorkerPlane::heartbeat_activity(const SharedCall& call, Reply reply) {
  Fields fields{*call};
  dispatch::HeartbeatJob job;
  job.attempt_id = AttemptId{fields.required_text("activity_attempt_id", 255)};
  job.owner = fields.required_text("lease_owner", 255);
  job.task = task_of(call->match["task"]);
  job.progress = read_progress(fields);
  if (!fields.fine()) return reply(fields.errors());
  with_run(call, reply,
           [this, call, job = std::move(job), reply](dispatch::RunAddress run) mutable {
             job.answer = [this, call, reply](Result<dispatch::HeartbeatAnswer> answer) {
               if (!answer) return reply(not_recorded(answer.error(), *call));
               if (answer->recorded) parts_.matching.renewed(task_of(call->match["task"]));
               reply(told_about_heartbeat(*call, *answer, parts_.clock.now()));
             };
             parts_.dispatch.heartbeat(std::move(run), std::move(job));
           });
}

}  // namespace dw::server
