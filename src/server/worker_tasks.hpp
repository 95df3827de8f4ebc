// How tasks look on the wire, and what workers are told about them.
#pragma once
#include "dispatch/requests.hpp"
#include "server/compression.hpp"
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

// How a worker wants to be told a history.
struct HistoryWish {
  std::int64_t page_size = 0;        // 0: all at once
  Coding coding = Coding::identity;  // of a long one, for workers that can read it
};
// `history_page_size` and `accept_history_encoding`.
HistoryWish read_history_wish(Fields& fields);

// A poll's answer.
Answer task_answer(const dispatch::ClaimedTask& task, const Worker& worker, HistoryWish wish);
Answer activity_answer(const dispatch::ClaimedActivity& work);

// One page of a run's history.
Result<Answer> history_page(const store::LoadedRun& run, HistoryPage page, HistoryWish wish);

// A query of a run whose code is elsewhere.
Result<QueryQuestion> question_about(const store::LoadedRun& run, const Call& call,
                                     const Payload& arguments);

// For runs that a worker's commands open: what the workers of their queue declare.
dispatch::Describe as_registered(const Workers& workers);

// ---- reports

dispatch::TaskHolder read_holder(Fields& fields, std::string_view wire_id);
std::optional<Value> read_progress(Fields& fields);

Answer no_such_task(const Call& call, std::string_view wire_id);
// What a worker said and the server could not record, or will not get to. Published workers say it
// again, for as long as it takes, when they are told in these words that nothing came of it; any
// other refusal they take for good after a moment, and the work is done again by somebody else.
Answer not_recorded(const Error& error, const Call& call);
// Likewise a poll whose task could not be leased.
Answer not_claimed(const Error& error, const Call& call);
Answer told_about_task(const Call& call, const dispatch::TaskAnswer& answer,
                       std::string_view outcome);
// After what was said of it: a report that is repeated is recorded, and another may have the task.
bool nobody_holds(const dispatch::TaskAnswer& answer);
Answer told_about_lease(const Call& call, const dispatch::TaskAnswer& answer);
Answer told_about_attempt(const Call& call, const dispatch::AttemptAnswer& answer, bool failed);
Answer told_about_heartbeat(const Call& call, const dispatch::HeartbeatAnswer& answer,
                            Timestamp now);

}  // namespace dw::server
