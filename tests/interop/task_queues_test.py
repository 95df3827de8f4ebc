"""Task queues as operators see them, and builds that come and go, spoken by hand."""
import unittest
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from wire import QUEUE, Answer, Headers, Json, WireTest, activity, done, timer

DRAINING = {"task": None, "poll_status": "draining", "worker_status": "draining", "drain_intent": "draining"}


class QueueTest(WireTest):
    def queue(self, name: str = QUEUE) -> Json:
        return self.says(self.control("GET", f"/task-queues/{name}"), 200, name=name, namespace="default")

    def queues(self, headers: Headers | None = None) -> list[Json]:
        return self.says(self.control("GET", "/task-queues", headers=headers), 200)["task_queues"]

    def rollout(self, verb: str, build_id: Any, **expected: Any) -> Json:
        answer = self.control("POST", f"/task-queues/{QUEUE}/build-ids/{verb}", {"build_id": build_id})
        return self.says(answer, 200, namespace="default", task_queue=QUEUE, build_id=build_id, **expected)

    def cohorts(self) -> dict[str | None, Json]:
        body = self.says(self.control("GET", f"/task-queues/{QUEUE}/build-ids"), 200, namespace="default",
                         task_queue=QUEUE, stale_after_seconds=180)
        return {cohort["build_id"]: cohort for cohort in body["build_ids"]}

    def turned_away(self, answer: Answer) -> None:
        self.refused(answer, 409, "worker_draining", **DRAINING)


class Queues(QueueTest):
    def test_work_is_counted_from_the_start_to_the_end(self) -> None:
        def tasks(ready: int, leased: int) -> Json:
            return {"ready_count": ready, "leased_count": leased, "expired_lease_count": 0}

        self.register(max_concurrent_activity_tasks=1)
        self.start()
        seen = self.queue()
        self.shows(seen["stats"], approximate_backlog_count=1, workflow_tasks=tasks(1, 0), activity_tasks=tasks(0, 0),
                   pollers={"active_count": 1, "stale_count": 0})
        self.assertRegex(seen["stats"]["approximate_backlog_age"], r"^\d+s$")
        self.assertEqual(seen["current_leases"], [])

        task = self.poll()
        seen = self.queue()
        self.shows(seen["stats"], approximate_backlog_count=0, approximate_backlog_age=None,
                   workflow_tasks=tasks(0, 1))
        self.assertEqual(seen["current_leases"], [
            {"task_id": task["task_id"], "task_type": "workflow", "workflow_id": "wf", "lease_owner": "w1",
             "lease_expires_at": task["lease_expires_at"], "is_expired": False, "workflow_task_attempt": 1}])

        self.completed(self.complete(task, activity("greet")), task)
        self.shows(self.queue()["stats"], approximate_backlog_count=1, workflow_tasks=tasks(0, 0),
                   activity_tasks=tasks(1, 0))
        work = self.poll("activity")
        seen = self.queue()
        self.shows(seen["stats"], approximate_backlog_count=0, activity_tasks=tasks(0, 1))
        self.assertEqual(seen["current_leases"], [
            {"task_id": work["task_id"], "task_type": "activity", "workflow_id": "wf", "lease_owner": "w1",
             "lease_expires_at": work["lease_expires_at"], "is_expired": False, "workflow_task_attempt": None}])
        self.shows(seen["admission"]["workflow_tasks"], status="accepting", server_active_lease_count=0,
                   server_max_active_leases_per_queue=None, server_remaining_active_lease_capacity=None)
        self.shows(seen["admission"]["activity_tasks"], status="saturated", server_active_lease_count=1)
        self.assertEqual(seen["admission"]["query_tasks"], {
            "status": "accepting", "approximate_pending_count": 0, "max_pending_per_queue": 1024,
            "remaining_pending_capacity": 1024, "lock_required": False, "lock_supported": True,
            "budget_source": "server.query_tasks.max_pending_per_queue"})

        self.ended(self.tell(work, "complete"), work)
        task = self.poll()
        self.completed(self.complete(task, done()), task, "completed")
        self.shows(self.queue()["stats"], approximate_backlog_count=0, workflow_tasks=tasks(0, 0),
                   activity_tasks=tasks(0, 0))

    def test_pollers_are_shown_as_they_stand(self) -> None:
        self.register("w1", build_id="v1", runtime="python")
        self.register("w2")
        first, second = self.queue()["pollers"]
        self.shows(first, worker_id="w1", runtime="python", build_id="v1", status="active", is_stale=False)
        self.shows(second, worker_id="w2", runtime="rust", build_id=None, status="active", is_stale=False)
        self.near(first["last_heartbeat_at"], 0)

    def test_queues_are_listed_without_their_details(self) -> None:
        self.assertEqual(self.queues(), [])
        self.register("w1", task_queue="workers-only")
        self.start("wf", task_queue="tasks-only")
        listed = self.queues()
        self.assertEqual([queue["name"] for queue in listed], ["tasks-only", "workers-only"])
        for queue in listed:
            self.assertEqual(queue.keys(), {"name", "namespace", "stats", "admission"})
        self.shows(listed[0]["admission"]["workflow_tasks"], status="no_active_workers", ready_count=1)

    def test_a_queue_that_nobody_uses_is_empty(self) -> None:
        seen = self.queue("nobody's")
        self.shows(seen["stats"], approximate_backlog_count=0, pollers={"active_count": 0, "stale_count": 0})
        self.shows(seen, current_leases=[], pollers=[])

    def test_namespaces_do_not_see_each_others_queues(self) -> None:
        self.says(self.control("POST", "/namespaces", {"name": "apart"}), 201)
        there: Headers = {"X-Namespace": "apart"}
        self.register()
        self.start()
        self.rollout("drain", "v1")
        self.assertEqual(self.queues(there), [])
        answer = self.control("GET", f"/task-queues/{QUEUE}/build-ids", headers=there)
        self.says(answer, 200, namespace="apart", build_ids=[])


class Budgets(QueueTest):
    settings = {"DW_WORKFLOW_TASK_MAX_ACTIVE_LEASES_PER_QUEUE": "1", "DW_QUERY_TASK_MAX_PENDING_PER_QUEUE": "4"}

    def test_no_more_goes_out_than_the_server_was_told(self) -> None:
        self.register()
        self.start("one")
        self.start("two")
        task = self.poll()
        self.nothing()
        admission = self.queue()["admission"]
        self.shows(admission["workflow_tasks"], status="throttled", ready_count=1, server_active_lease_count=1,
                   server_max_active_leases_per_queue=1, server_remaining_active_lease_capacity=0,
                   server_max_dispatches_per_minute=None,
                   server_budget_source="server.admission.workflow_tasks.max_active_leases_per_queue")
        self.shows(admission["activity_tasks"], status="accepting", server_budget_source=None)
        self.shows(admission["query_tasks"], max_pending_per_queue=4)
        with ThreadPoolExecutor() as pollers:
            waiting = pollers.submit(self.poll)
            self.until_waiting()
            self.completed(self.complete(task, done()), task, "completed")
            self.assertEqual({task["workflow_id"], waiting.result()["workflow_id"]}, {"one", "two"})


class Rollouts(QueueTest):
    def test_a_build_that_drains_gets_nothing_new_until_it_is_resumed(self) -> None:
        self.register("old", build_id="v1")
        first = self.rollout("drain", "v1", drain_intent="draining", promoted_at=None, new_start_selected=False)
        self.near(first["drained_at"], 0)
        self.assertEqual(self.rollout("drain", "v1")["drained_at"], first["drained_at"], "a repeat changes nothing")
        for kind in ("workflow", "activity", "query"):
            self.turned_away(self.ask(kind, "old"))
        self.says(self.worker("/heartbeat", {"worker_id": "old"}), 200, status="draining")
        answer = self.worker("/register", {"worker_id": "late", "task_queue": QUEUE, "runtime": "rust",
                                           "build_id": "v1"})
        self.says(answer, 201, status="draining")
        listed = self.says(self.control("GET", "/workers?status=draining"), 200)["workers"]
        self.assertEqual([worker["worker_id"] for worker in listed], ["late", "old"])
        self.shows(self.cohorts()["v1"], rollout_status="draining", draining_worker_count=2, active_worker_count=0,
                   total_worker_count=2, drain_intent="draining", drained_at=first["drained_at"])

        self.start()
        self.turned_away(self.ask(worker="old"))
        self.rollout("resume", "v1", drain_intent="active", drained_at=None)
        self.shows(self.poll(worker="old"), workflow_id="wf")
        self.says(self.worker("/heartbeat", {"worker_id": "old"}), 200, status="active")

    def test_workers_that_drain_finish_what_they_hold(self) -> None:
        task = self.started(build_id="v1")
        self.rollout("drain", "v1")
        self.completed(self.complete(task, activity("greet")), task)
        self.turned_away(self.ask("activity"))
        self.register("new", build_id="v2")
        self.shows(self.poll("activity", "new"), workflow_id="wf")

    def test_a_query_that_no_worker_of_the_runs_build_could_answer_is_refused_at_once(self) -> None:
        asked = {"capabilities": ["query_tasks"]}
        self.register("old", build_id="v1", **asked)
        self.start("wf", build_id="v1")
        self.completed(self.complete(task := self.poll(worker="old"), timer(3600)), task)
        self.deregister("old")
        query = lambda: self.control("POST", "/workflows/wf/query/state", {})
        self.refused(query(), 409, "query_worker_unavailable")
        self.register("new", build_id="v2", **asked)
        self.refused(query(), 409, "query_worker_incompatible")
        self.register("old", build_id="v1", **asked)
        self.rollout("drain", "v1")
        self.refused(query(), 409, "query_worker_incompatible")

    def test_a_poll_that_waits_when_its_build_begins_to_drain_is_turned_away(self) -> None:
        self.register("old", build_id="v1")
        self.register("new", build_id="v2")
        with ThreadPoolExecutor() as pollers:
            waiting = pollers.submit(self.ask, worker="old")
            self.rollout("drain", "v1")
            self.start()
            self.shows(self.poll(worker="new"), workflow_id="wf")
            self.turned_away(waiting.result())

    def test_workers_that_named_no_build_are_a_cohort_of_their_own(self) -> None:
        self.register("plain")
        self.register("built", build_id="v1")
        self.rollout("drain", None, drain_intent="draining")
        self.turned_away(self.ask(worker="plain", timeout=0))
        self.nothing(worker="built")
        cohorts = self.cohorts()
        self.assertEqual(list(cohorts), ["v1", None], "those that take work come first")
        self.shows(cohorts[None], rollout_status="draining")
        self.shows(cohorts["v1"], rollout_status="active", drain_intent="active")

    def test_what_operators_said_outlives_a_crash(self) -> None:
        self.register("old", build_id="v1")
        drained = self.rollout("drain", "v1")
        promoted = self.rollout("promote", "v2")
        self.restart()
        self.turned_away(self.ask(worker="old"))
        self.shows(self.cohorts()["v1"], drained_at=drained["drained_at"])
        self.shows(self.cohorts()["v2"], promoted_at=promoted["promoted_at"], new_start_selected=True,
                   rollout_status="no_workers", total_worker_count=0)

    def test_new_workflows_begin_with_the_build_that_was_promoted(self) -> None:
        self.register("old", build_id="v1")
        self.register("new", build_id="v2")
        self.start("before")
        promoted = self.rollout("promote", "v2", drain_intent="active", drained_at=None, new_start_selected=True)
        self.near(promoted["promoted_at"], 0)
        self.start("after")
        self.start("chosen", build_id="v1")
        self.shows(self.described("before"), compatibility=None)
        self.shows(self.described("after"), compatibility="v2")
        self.shows(self.described("chosen"), compatibility="v1")
        self.assertEqual({self.poll(worker="old")["workflow_id"] for _ in range(2)}, {"before", "chosen"})
        self.nothing(worker="old")
        self.shows(self.poll(worker="new"), workflow_id="after", compatibility="v2")

    def test_a_build_on_its_way_out_is_not_what_new_workflows_begin_with(self) -> None:
        self.rollout("promote", "v1")
        self.rollout("promote", "v2")
        self.shows(self.cohorts()["v1"], new_start_selected=False)
        self.rollout("drain", "v2", new_start_selected=False)
        self.start()
        self.shows(self.described(), compatibility="v1")
        self.rollout("promote", "v2", drain_intent="active", drained_at=None, new_start_selected=True)
        self.rollout("promote", None, new_start_selected=True)
        self.start("free")
        self.shows(self.described("free"), compatibility=None)

    def test_cohorts_tell_who_runs_what(self) -> None:
        self.register("a", build_id="v1", runtime="python", sdk_version="2.0.4",
                      workflow_definition_fingerprints={"hand.made": "one"})
        self.register("b", build_id="v1", runtime="rust", workflow_definition_fingerprints={"hand.made": "two"})
        cohort = self.cohorts()["v1"]
        self.shows(cohort, rollout_status="active", active_worker_count=2, draining_worker_count=0,
                   stale_worker_count=0, total_worker_count=2, runtimes=["python", "rust"], sdk_versions=["2.0.4"],
                   workflow_definition_fingerprint_conflicts=[{"workflow_type": "hand.made", "fingerprint_count": 2}])
        self.near(cohort["first_seen_at"], 0)
        self.near(cohort["last_heartbeat_at"], 0)

    def test_which_build_is_meant_must_be_said(self) -> None:
        for verb in ("drain", "resume", "promote"):
            for body in ({}, {"build_id": ""}, {"build_id": 7}, {"build_id": "x" * 256}):
                with self.subTest(verb, body=body):
                    self.invalid(self.control("POST", f"/task-queues/{QUEUE}/build-ids/{verb}", body), "build_id")
        self.assertEqual(self.cohorts(), {})


if __name__ == "__main__":
    unittest.main()
