// A run that does not go on, as history tells it, and what an operator is told about it.
#include "server/debug_findings.hpp"

#include "server/debug_desk.hpp"
#include "views/looking.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace dw::server {
namespace {

using namespace story;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

SeenWorker seen_worker(std::string id, std::string status = "active", std::string build = {}) {
  SeenWorker seen{{}, std::move(status)};
  seen.worker.worker_id = std::move(id);
  seen.worker.queue = "default";
  seen.worker.build_id = std::move(build);
  seen.worker.heard_at = at("09:00");
  return seen;
}
SeenWorker knowing(SeenWorker seen, std::vector<std::string> workflows,
                   std::vector<std::string> activities = {}) {
  seen.worker.workflow_types = std::move(workflows);
  seen.worker.activity_types = std::move(activities);
  return seen;
}

// A story, with whoever is there to work on it.
class Debugged {
 public:
  explicit Debugged(const Looking& run) : run_{run.account(), run.sight()} {
    run_.queues.push_back({"default", run_.account.state.start.ns});
  }
  Debugged& with(SeenWorker worker) {
    run_.queues.front().workers.push_back(std::move(worker));
    return *this;
  }
  Debugged& where(const std::function<void(DebuggedRun&)>& change) {
    change(run_);
    return *this;
  }
  Debugged& held_by(std::string owner, std::string_view until, std::int64_t attempt = 1) {
    dispatch::HeldTask held;
    held.task = run_.sight.deliveries.front().task.key.id;
    held.owner = std::move(owner);
    held.attempt = attempt;
    held.expires_at = at(until);
    run_.held.push_back(held);
    lay_over(run_.sight, run_.held);
    return *this;
  }

  // "error no_active_pollers", …
  std::vector<std::string> codes() const {
    std::vector<std::string> codes;
    for (const Finding& finding : findings_of(run_)) {
      const Value row = to_value(finding);
      codes.push_back(fmt::format("{} {}", text_at(row, "severity"), text_at(row, "code")));
    }
    return codes;
  }
  std::string status() const { return std::string{diagnostic_status(run_, findings_of(run_))}; }
  // The only finding of that code, as JSON.
  Value finding(std::string_view code) const {
    std::vector<Value> found;
    for (const Finding& each : findings_of(run_)) {
      if (each.code == code) found.push_back(to_value(each));
    }
    EXPECT_EQ(found.size(), 1u) << code;
    return found.empty() ? Value{Value::Map{}} : found.front();
  }
  std::string message(std::string_view code) const { return text_at(finding(code), "message"); }

 private:
  DebuggedRun run_;
};

Looking begun() {
  return looking_at({workflow_started("invoice")});
}
Looking begun_by_build(std::string build) {
  auto start = workflow_started("invoice");
  start.compatibility = std::move(build);
  return looking_at({start});
}
Looking with_activity() {
  return looking_at({workflow_started("invoice"), activity_scheduled("a1", "charge", tries(5))});
}
Looking retried() {
  return looking_at(
      {workflow_started("invoice"), activity_scheduled("a1", "charge", tries(5)),
       activity_started("a1", "x1"),
       activity_retry_scheduled("a1", "x1", 40, failure("declined", "BankError"), "again")});
}

// ---- nobody takes it

TEST(DebugFindings, NoWorkerPollsTheQueue) {
  const Debugged run{begun()};
  EXPECT_THAT(run.codes(), ElementsAre("error no_active_pollers"));
  EXPECT_EQ(run.status(), "blocked");
  EXPECT_EQ(run.message("no_active_pollers"),
            "workflow type 'invoice' waits on task queue 'default', and no worker polls it. Start "
            "one that knows this type");
  EXPECT_EQ(text_at(run.finding("no_active_pollers"), "task_queue"), "default");
}

TEST(DebugFindings, AWorkerThatWentAwayIsNamed) {
  Debugged run{begun().at_time("09:04")};
  run.with(seen_worker("w-7", "stale"));
  EXPECT_THAT(run.message("no_active_pollers"),
              HasSubstr("The last one heard of was 'w-7', 240 s ago."));
}

TEST(DebugFindings, AllWorkersAreDraining) {
  Debugged run{begun()};
  run.with(seen_worker("w-1", "draining", "v1"));
  EXPECT_THAT(run.codes(), ElementsAre("error task_queue_draining"));
  EXPECT_THAT(run.message("task_queue_draining"),
              AllOf(HasSubstr("workers of build 'v1' are draining"),
                    HasSubstr("`dw task-queue:resume default --build-id=v1`")));
  Debugged unversioned{begun()};
  unversioned.with(seen_worker("w-1", "draining"));
  EXPECT_THAT(unversioned.message("task_queue_draining"), HasSubstr("--unversioned`"));
}

TEST(DebugFindings, NoWorkerIsOfTheRunsBuild) {
  Debugged run{begun_by_build("v1")};
  run.with(seen_worker("w-1", "active", "v2")).with(seen_worker("w-2"));
  EXPECT_THAT(run.codes(), ElementsAre("error no_compatible_worker"));
  EXPECT_THAT(run.message("no_compatible_worker"),
              AllOf(HasSubstr("build 'v1'"), HasSubstr("of build 'v2', without a build")));
  EXPECT_EQ(text_at(run.finding("no_compatible_worker"), "compatibility"), "v1");
}

TEST(DebugFindings, TheRunsBuildIsOnItsWayOut) {
  Debugged run{begun_by_build("v1")};
  run.with(seen_worker("old", "draining", "v1")).with(seen_worker("new", "active", "v2"));
  EXPECT_THAT(run.codes(), ElementsAre("error task_queue_draining"));
}

TEST(DebugFindings, NoWorkerKnowsTheType) {
  Debugged run{begun()};
  run.with(knowing(seen_worker("w-1"), {"Invoice"}));
  EXPECT_THAT(run.codes(), ElementsAre("error pending_workflow_type_unsupported"));
  EXPECT_THAT(run.message("pending_workflow_type_unsupported"),
              AllOf(HasSubstr("none of its 1 workers (w-1)"), HasSubstr("letter by letter")));
}

TEST(DebugFindings, AnActivityHasAQueueAndATypeOfItsOwn) {
  EXPECT_THAT(Debugged{with_activity()}.codes(),
              ElementsAre("error pending_activity_queue_without_active_pollers"));
  Debugged other_types{with_activity()};
  other_types.with(knowing(seen_worker("w-1"), {"invoice"}, {"ship"}));
  EXPECT_THAT(other_types.codes(), ElementsAre("error pending_activity_type_unsupported"));
  Debugged fine{with_activity()};
  fine.with(knowing(seen_worker("w-1", "active", "v9"), {"invoice"}, {"charge"}));
  EXPECT_THAT(fine.codes(), IsEmpty());
  EXPECT_EQ(fine.status(), "pending_work");
}

TEST(DebugFindings, ManyOfOneTypeAreToldOnce) {
  const auto run =
      looking_at({workflow_started("invoice"), activity_scheduled("a1", "charge"),
                  activity_scheduled("a2", "charge"), activity_scheduled("a3", "ship")});
  EXPECT_THAT(Debugged{run}.codes(),
              ElementsAre("error pending_activity_queue_without_active_pollers",
                          "error pending_activity_queue_without_active_pollers"));
}

TEST(DebugFindings, CodeInThisProcessAsksNoWorker) {
  Debugged run{begun()};
  run.where([](DebuggedRun& seen) { seen.code_is_here = true; });
  EXPECT_THAT(run.codes(), IsEmpty());
  Debugged activity{with_activity()};
  activity.where([](DebuggedRun& seen) { seen.types_here = {"charge"}; });
  EXPECT_THAT(activity.codes(), IsEmpty());
}

// ---- somebody takes it, and it takes its time

TEST(DebugFindings, WorkersThatAreFullAreABacklog) {
  Debugged run{begun().at_time("09:00:45")};
  SeenWorker worker = seen_worker("w-1");
  worker.worker.max_workflow_tasks = 2;
  run.with(worker).where([](DebuggedRun& seen) {
    seen.queues.front().tally.workflow_tasks = {.ready = 7, .leased = 2};
    seen.queues.front().tally.waiting_since = at("09:00");
  });
  EXPECT_THAT(run.codes(), ElementsAre("warning task_queue_backlog"));
  EXPECT_THAT(run.message("task_queue_backlog"),
              AllOf(HasSubstr("7 tasks are ready, the oldest for 45 s"),
                    HasSubstr("hold 2 in 2 slots"), HasSubstr("Start more workers")));
  EXPECT_EQ(run.status(), "needs_attention");
}

TEST(DebugFindings, AQueueThatMayHaveNoMoreSaysWhichLimitItMet) {
  Debugged run{begun()};
  run.with(seen_worker("w-1")).where([](DebuggedRun& seen) {
    seen.queues.front().tally.workflow_tasks = {.ready = 7, .leased = 2};
    seen.queues.front().workflow_budgets.queue_leases = {.used = 2, .limit = 2};
  });
  EXPECT_THAT(run.codes(), ElementsAre("warning task_queue_throttled"));
  EXPECT_THAT(run.message("task_queue_throttled"),
              HasSubstr("server.admission.workflow_tasks.max_active_leases_per_queue is used up"));
}

TEST(DebugFindings, AQueueThatMovesIsNoTrouble) {
  Debugged run{begun()};
  run.with(seen_worker("w-1")).where([](DebuggedRun& seen) {
    seen.queues.front().tally.workflow_tasks = {.ready = 7, .leased = 2};
  });
  EXPECT_THAT(run.codes(), ElementsAre("info task_queue_backlog"));
  EXPECT_EQ(run.status(), "pending_work");
}

TEST(DebugFindings, AWorkerThatHasTheTaskIsAtIt) {
  Debugged run{begun()};
  run.held_by("w-1", "09:01");
  EXPECT_THAT(run.codes(), IsEmpty());
  EXPECT_EQ(run.status(), "pending_work");
}

TEST(DebugFindings, ATaskThatIsTriedAgainAndAgainIsNot) {
  Debugged run{begun()};
  run.held_by("w-1", "09:01", 4);
  EXPECT_THAT(run.codes(), ElementsAre("warning workflow_task_retried"));
  EXPECT_THAT(run.message("workflow_task_retried"), HasSubstr("makes attempt 4"));
}

TEST(DebugFindings, ALeaseThatRanOutIsNamedWithItsOwner) {
  Debugged task{begun().at_time("09:02")};
  task.held_by("w-1", "09:01");
  EXPECT_THAT(task.codes(), ElementsAre("warning lease_expired"));
  EXPECT_THAT(task.message("lease_expired"),
              AllOf(HasSubstr("worker 'w-1' had the workflow task until 2026-04-10T09:01"),
                    HasSubstr("`dw worker:describe w-1`")));

  const auto run = looking_at({workflow_started("invoice"), activity_scheduled("a1"),
                               activity_started("a1", "x1", 1, at("09:05"))})
                       .at_time("09:10")
                       .seen([](views::Sight& sight) {
                         for (auto& row : sight.deliveries) row = leased(row, "09:05");
                       });
  EXPECT_THAT(Debugged{run}.message("lease_expired"), HasSubstr("had activity 'charge' until"));
}

// ---- activities

TEST(DebugFindings, ARetryTellsTheLastFailureAndTheNextAttempt) {
  const Debugged run{retried()};
  EXPECT_THAT(run.codes(), ElementsAre("warning activity_retrying"));
  EXPECT_EQ(run.message("activity_retrying"),
            "activity 'charge' is being retried: BankError: declined; attempt 2 of 5 begins at "
            "2026-04-10T09:00:40.000000Z");
  const Value told = run.finding("activity_retrying");
  EXPECT_EQ(text_at(told, "next_attempt_at"), "2026-04-10T09:00:40.000000Z");
  EXPECT_EQ(text_at(told, "last_failure"), "declined");
  EXPECT_EQ(run.status(), "needs_attention");
}

TEST(DebugFindings, ARetryThatIsDueWaitsForAWorkerLikeAnyOther) {
  const Debugged run{retried().at_time("09:01")};
  EXPECT_THAT(run.codes(), ElementsAre("error pending_activity_queue_without_active_pollers",
                                       "warning activity_retrying"));
  EXPECT_THAT(run.message("activity_retrying"), HasSubstr("attempt 2 of 5 waits for a worker"));
}

TEST(DebugFindings, ATimeoutIsARetryTooAndForEverIsALongTime) {
  const auto run =
      looking_at({workflow_started("invoice"), activity_scheduled("a1", "charge", for_ever()),
                  activity_started("a1", "x1"),
                  retry_after_timeout("a1", "x1", 40, "start_to_close", "again")});
  EXPECT_THAT(Debugged{run}.message("activity_retrying"),
              AllOf(HasSubstr("its time ran out (start_to_close)"), HasSubstr("for ever")));
}

TEST(DebugFindings, AnActivityThatRunsIsWhatTheRunWaitsFor) {
  const auto run = looking_at({workflow_started("invoice"), activity_scheduled("a1"),
                               activity_started("a1", "x1", 1, at("09:05"), "w-3")});
  EXPECT_THAT(Debugged{run}.codes(), ElementsAre("info activity_running"));
  EXPECT_THAT(Debugged{run}.message("activity_running"),
              HasSubstr("worker 'w-3' runs attempt 1 of activity 'charge'"));
  EXPECT_EQ(Debugged{run}.status(), "pending_work");
}

// ---- what comes from elsewhere

TEST(DebugFindings, ASignalThatIsWaitedForCanBeSent) {
  const Debugged run{looking_at({workflow_started("invoice"), signal_wait_opened("w1", "paid")})};
  EXPECT_THAT(run.codes(), ElementsAre("info waiting_for_signal"));
  EXPECT_THAT(run.message("waiting_for_signal"), HasSubstr(" paid`"));
  EXPECT_EQ(run.status(), "waiting");
}

TEST(DebugFindings, AConditionATimerAndAChildAreToldAsTheyAre) {
  EXPECT_THAT(
      Debugged{looking_at({workflow_started("invoice"), condition_wait_opened("c1", "enough")})}
          .message("waiting_for_condition"),
      HasSubstr("condition 'enough'"));
  EXPECT_THAT(
      Debugged{looking_at({workflow_started("invoice"), timer_scheduled("t1", 90s)})}.message(
          "waiting_for_timer"),
      HasSubstr("sleeps until 2026-04-10T09:01:30.000000Z (90 s from now)"));
  const Debugged parent{looking_at(
      {workflow_started("invoice"), child_scheduled("k1"), child_run_started("k1", "run2")})};
  EXPECT_THAT(parent.message("waiting_for_child"), HasSubstr("`dw debug workflow payment-k1`"));
  EXPECT_EQ(text_at(parent.finding("waiting_for_child"), "child_run_id"), "run2");
}

TEST(DebugFindings, ATimerThatDidNotFireIsNoWait) {
  const Debugged run{
      looking_at({workflow_started("invoice"), timer_scheduled("t1", 90s)}).at_time("09:10")};
  EXPECT_THAT(run.codes(), ElementsAre("warning timer_overdue"));
}

TEST(DebugFindings, AnUpdateWaitsForTheCode) {
  const Debugged run{looking_at({workflow_started("invoice"), signal_wait_opened("w1", "paid"),
                                 update_accepted("u1", "approve", command("c1", 1))})};
  EXPECT_THAT(run.message("update_pending"), HasSubstr("update 'approve' was accepted at 2026"));
}

// ---- what only an operator can mend

TEST(DebugFindings, AReplayThatIsBlockedSaysWhyAndWhatToDo) {
  auto blocked = workflow_task_row();
  blocked.task.status = engine::TaskStatus::blocked;
  blocked.task.note =
      R"({"replay_blocked":true,"replay_blocked_reason":"history_shape_mismatch",)"
      R"("replay_blocked_workflow_sequence":3,"message":"the code asks for a timer"})";
  const Debugged run{begun().without_tasks().with(blocked)};
  EXPECT_THAT(run.codes(), ElementsAre("error workflow_replay_blocked"));
  EXPECT_THAT(run.message("workflow_replay_blocked"),
              AllOf(HasSubstr("do not fit at step 3: the code asks for a timer"),
                    HasSubstr("`dw workflow:repair ")));
  EXPECT_EQ(text_at(run.finding("workflow_replay_blocked"), "replay_blocked_reason"),
            "history_shape_mismatch");
}

TEST(DebugFindings, ATaskThatIsGoneIsPutBackByRepair) {
  const Debugged run{with_activity().without_tasks()};
  EXPECT_THAT(run.codes(), ElementsAre("warning repair_needed"));
  EXPECT_THAT(run.message("repair_needed"),
              AllOf(HasSubstr("the task that runs activity charge is missing"),
                    HasSubstr("`dw workflow:repair ")));
}

TEST(DebugFindings, LinesForTheShellNameANamespaceThatIsNotTheDefault) {
  auto start = workflow_started("invoice");
  start.ns = Namespace{"orders"};
  const Debugged run{looking_at({start, signal_wait_opened("w1", "paid")})};
  EXPECT_THAT(run.message("waiting_for_signal"), HasSubstr(" paid --namespace=orders`"));
}

TEST(DebugFindings, AHistoryThatGrowsTooLongIsSaidInTime) {
  const auto run = looking_at({workflow_started("invoice"), signal_wait_opened("w1", "paid")})
                       .seen([](views::Sight& sight) {
                         sight.budget.events = {1, 2};
                       });
  EXPECT_THAT(Debugged{run}.codes(),
              ElementsAre("warning history_budget", "info waiting_for_signal"));
}

// ---- over

TEST(DebugFindings, ARunThatEndedSaysHow) {
  const Debugged failed{looking_at(
      {workflow_started("invoice"), workflow_failed("f1", failure("declined", "BankError"))})};
  EXPECT_THAT(failed.codes(), ElementsAre("info run_closed"));
  EXPECT_THAT(failed.message("run_closed"), HasSubstr("failed (BankError: declined)"));
  EXPECT_EQ(failed.status(), "closed");
  const Debugged completed{looking_at({workflow_started("invoice"), workflow_completed()})};
  EXPECT_THAT(completed.message("run_closed"), Not(HasSubstr("(")));
}

TEST(DebugFindings, ARunOfThePastPointsToTheCurrentOne) {
  const Debugged run{
      looking_at({workflow_started("invoice"), workflow_completed()}).seen([](auto& sight) {
        sight.current_run = RunId{"run9"};
      })};
  EXPECT_THAT(run.codes(), ElementsAre("info historical_run", "info run_closed"));
  EXPECT_THAT(run.message("historical_run"), HasSubstr("run9"));
}

TEST(DebugFindings, MoreOfAKindThanAnybodyReadsAreLeftOut) {
  std::vector<Told> list{workflow_started("invoice")};
  for (int i = 0; i < 50; ++i) list.emplace_back(timer_scheduled(fmt::format("t{}", i), 60s));
  EXPECT_EQ(Debugged{looking_at(list)}.codes().size(), 20u);
}

}  // namespace
}  // namespace dw::server
