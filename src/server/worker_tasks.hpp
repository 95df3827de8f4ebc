// How tasks look on the wire, and what workers are told about them.
#pragma once
#include "dispatch/requests.hpp"
#include "server/page_token.hpp"
#include "server/query_tasks.hpp"
#include "server/worker_commands.hpp"
#include "server/workers.hpp"

namespace dw::server {

// Which way of going about tasks comes with a runtime.
engine::WorkerHabit habit_of(std::string_view runtime);

// The id as workers know it also says how they go about the task, and which process gave it out, so
// that a report is understood even if nobody remembers who took it.
std::string wire_task_id(const dispatch::ClaimedTask& task);
std::string wire_task_id(const dispatch::HeldTask& task);
TaskId task_of(std::string_view wire_id);
std::string epoch_of(std::string_view wire_id);

// A run's history for native workers: the commits as they are stored, as JSON.
std::string native_history(const store::LoadedRun& run);

// A poll's answer. A page of the history if a size is given.
Answer task_answer(const dispatch::ClaimedTask& task, const Worker& worker, std::int64_t page_size);
Answer activity_answer(const dispatch::ClaimedActivity& work);

// One page of a run's history, of at most so many events.
Result<Answer> history_page(const store::LoadedRun& run, HistoryPage page, std::int64_t size);

// A query of a run whose code is elsewhere.
Result<QueryQuestion> question_about(const store::LoadedRun& run, const Call& call,
                                     const Payload& arguments);

// ---- reports

dispatch::TaskHolder read_holder(Fields& fields, std::string_view wire_id);
std::optional<Value> read_progress(Fields& fields);

Answer no_such_task(const Call& call, std::string_view wire_id);
Answer told_about_task(const Call& call, const dispatch::TaskAnswer& answer,
                       std::string_view outcome);
Answer told_about_lease(const Call& call, const dispatch::TaskAnswer& answer);
Answer told_about_attempt(const Call& call, const dispatch::AttemptAnswer& answer, bool failed);
Answer told_about_heartbeat(const Call& call, const dispatch::HeartbeatAnswer& answer,
                            Timestamp now);

}  // namespace dw::server
