"""The worker protocol, spoken by hand: activities and queries. Its other half is worker_protocol_test.py."""
import unittest
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from wire import PATIENCE, QUEUE, Answer, Json, WireTest, activity, blob, envelope, timer, types

VERBS: list[tuple[str, Json]] = [("complete", {}), ("fail", {"failure": {"message": "no"}}), ("heartbeat", {})]


def key_paths(value: Any, where: str = "") -> set[str]:
    """Of an object and all within it."""
    if not isinstance(value, dict):
        return {where}
    return {path for key in value for path in key_paths(value[key], f"{where}.{key}")}


class Activities(WireTest):
    def test_a_result_may_be_plain_or_missing_and_counts_once(self) -> None:
        self.asked(*[activity(name) for name in ("plain", "none", "late")])
        work = {task["activity_type"]: task for task in (self.poll("activity") for _ in range(3))}
        told = self.ended(self.tell(work["plain"], "complete", {"result": ["hi", 1]}), work["plain"])
        self.assertIsNone(told["reason"])
        self.assertEqual(self.tell(work["plain"], "complete", {"result": ["hi", 1]}).body, told)
        self.ended(self.tell(work["none"], "complete"), work["none"])
        self.invalid(self.tell(work["late"], "complete", {"result": {"codec": "json", "blob": "1"}}), "result.codec")
        self.restart()
        again = self.tell(work["plain"], "complete", {"result": ["hi", 1]})
        self.assertEqual((again.status, again.body), (200, told))
        self.ended(self.tell(work["late"], "complete", {"result": envelope("late")}), work["late"])
        results = {event["payload"]["activity_type"]: event["payload"]["result"]
                   for event in self.history(work["late"]["run_id"]) if event["event_type"] == "ActivityCompleted"}
        self.assertEqual(results, {"plain": blob(["hi", 1]), "none": blob(None), "late": blob("late")})

    # proves: E-86
    def test_a_failure_is_tried_again_as_often_as_allowed(self) -> None:
        first = self.at_work(retry_policy={"max_attempts": 2, "backoff_seconds": [0]})
        self.ended(self.tell(first, "fail", {"failure": {"message": "not yet"}}), first, "failed")
        second = self.poll("activity")
        self.shows(second, attempt_number=2, idempotency_key=first["idempotency_key"])
        for key in ("task_id", "activity_attempt_id"):
            self.assertNotEqual(second[key], first[key])
        self.ended(self.tell(first, "fail", {"failure": {"message": "not yet"}}), first, "failed")
        self.ignored(self.tell(first, "complete"), "stale_attempt")
        self.ended(self.tell(second, "fail", {"failure": {"message": "never"}}), second, "failed")
        events = self.poll()["history_events"]
        self.assertEqual(types(events)[2:], ["ActivityScheduled", "ActivityStarted", "ActivityRetryScheduled",
                                             "ActivityStarted", "ActivityFailed"])
        self.shows(events[-1]["payload"], sequence=1, activity_type="greet", message="never")

    def failed(self) -> Json:
        """What the workflow is shown of a failure that says all it can."""
        work = self.at_work(retry_policy={"max_attempts": 5})
        self.ended(self.tell(work, "fail", {"failure": {
            "message": "broken", "type": "Broken", "class": "app.Broken", "code": 7, "stack_trace": "line 1",
            "non_retryable": True, "details": envelope(["why"])}}), work, "failed")
        event = self.poll()["history_events"][-1]
        self.assertEqual(event["event_type"], "ActivityFailed", "it is not tried again")
        return event["payload"]

    def test_a_failure_is_shown_to_the_workflow(self) -> None:
        payload = self.failed()
        self.shows(payload, message="broken", exception_type="Broken", exception_class="app.Broken",
                   non_retryable=True)
        self.shows(payload["exception"], message="broken", type="Broken", **{"class": "app.Broken"})

    def test_all_that_a_failure_says_is_shown_to_the_workflow(self) -> None:
        payload = self.failed()
        self.shows(payload | payload["exception"], code=7, failure_category="application", details=blob(["why"]),
                   details_payload_codec="avro", stack_trace="line 1", non_retryable=True)

    def test_a_failure_is_of_the_category_that_the_worker_says(self) -> None:
        work = self.at_work(retry_policy={"max_attempts": 5})
        self.invalid(self.tell(work, "fail", {"failure": {"message": "no", "kind": 7}}), "failure.kind")
        self.ended(self.tell(work, "fail", {"failure": {"message": "told to", "cancelled": True}}), work, "failed")
        event = self.poll()["history_events"][-1]
        self.assertEqual(event["event_type"], "ActivityFailed", "it is not tried again")
        self.shows(event["payload"], failure_category="cancelled", exception_class="<absent>")
        self.shows(event["payload"]["exception"], non_retryable=True, **{"class": "<absent>"})
        self.shows(self.history(work["run_id"])[-1]["payload"], failure_category="cancelled")

    def test_a_failure_of_a_kind_that_only_newer_workers_know_is_a_failure(self) -> None:
        work = self.at_work()
        self.ended(self.tell(work, "fail", {"failure": {"message": "no", "kind": "brand_new"}}), work, "failed")
        event = self.poll()["history_events"][-1]
        self.assertEqual(event["event_type"], "ActivityFailed")
        self.shows(event["payload"], failure_category="application")

    def test_a_heartbeat_is_refused_by_the_fields_that_are_wrong(self) -> None:
        work = self.at_work()
        wrong = {"details": 5, "message": 5, "unit": [], "current": "x", "total": True}
        self.invalid(self.tell(work, "heartbeat", wrong), *wrong)

    def test_a_lease_ends_within_the_years_that_have_a_name(self) -> None:
        work = self.at_work(start_to_close_timeout=10**13)
        self.assertEqual(work["lease_expires_at"], "9999-12-31T23:59:59.999999Z")

    # proves: E-86
    def test_a_heartbeat_is_heard(self) -> None:
        work = self.at_work()
        for details in ({"done": 3}, envelope([3])):
            body = self.says(self.tell(work, "heartbeat", {"details": details, "current": 1, "total": 3}), 200,
                             task_id=work["task_id"], activity_attempt_id=work["activity_attempt_id"],
                             heartbeat_recorded=True, cancel_requested=False, can_continue=True, reason=None,
                             lease_owner="w1")
            self.assertGreater(body["lease_expires_at"], work["lease_expires_at"])
            self.near(body["last_heartbeat_at"], 0)

    def test_a_heartbeat_does_not_shorten_the_lease(self) -> None:
        work = self.at_work(start_to_close_timeout=900)
        self.near(work["deadlines"]["start_to_close"], 900)
        self.near(work["lease_expires_at"], 900)
        self.near(self.says(self.tell(work, "heartbeat"), 200, heartbeat_recorded=True)["lease_expires_at"], 900)

    def test_only_who_holds_the_attempt_speaks_for_it(self) -> None:
        work = self.at_work()
        for verb, more in VERBS:
            with self.subTest(verb):
                self.refused(self.tell(work | {"task_id": "nonsense"}, verb, more), 404, "task_not_found")
                self.refused(self.tell(work, verb, more, lease_owner="w2"), 409, "lease_owner_mismatch")
                self.invalid(self.tell(work, verb, more, lease_owner=None, activity_attempt_id=None),
                             "lease_owner", "activity_attempt_id")
                if verb != "heartbeat":
                    answer = self.tell(work, verb, more, activity_attempt_id="nonsense")
                    self.refused(answer, 404, "attempt_not_found")
        self.ended(self.tell(work, "complete"), work)

    def test_a_heartbeat_of_an_attempt_that_never_was_is_refused(self) -> None:
        answer = self.tell(self.at_work(), "heartbeat", activity_attempt_id="nonsense")
        self.refused(answer, 404, "attempt_not_found")

    def test_an_attempt_belongs_to_its_task(self) -> None:
        self.asked(activity("one"), activity("two"))
        one, two = self.poll("activity"), self.poll("activity")
        crossed = one | {"activity_attempt_id": two["activity_attempt_id"]}
        for verb, more in VERBS:
            with self.subTest(verb):
                self.refused(self.tell(crossed, verb, more), 409, "task_mismatch")
        self.refused(self.tell(one | {"task_id": one["run_id"] + ".NONSENSE"}, "complete"), 404, "task_not_found")

    def test_an_attempt_that_is_over_is_told_so(self) -> None:
        work = self.at_work()
        self.ended(self.tell(work, "complete"), work)
        over = ("attempt_closed", "stale_attempt", "stale_task", "activity_not_running", "task_not_leased")
        body = self.says(self.tell(work, "heartbeat"), 200, heartbeat_recorded=False, cancel_requested=False,
                         can_continue=False)
        self.assertIn(body["reason"], over)
        answer = self.tell(work, "fail", {"failure": {"message": "changed my mind"}})
        self.assertIn(answer.body["reason"], over)
        self.ignored(answer, answer.body["reason"])

    def test_an_activity_of_a_stopped_run_is_told_to_stop(self) -> None:
        self.register()
        for how, reason, closed in (("cancel", "run_cancelled", "cancelled"),
                                    ("terminate", "run_terminated", "terminated")):
            self.start(how)
            task = self.poll()
            self.completed(self.complete(task, activity("greet")), task)
            work = self.poll("activity")
            self.close(how, how)
            body = self.says(self.tell(work, "heartbeat"), 200, task_id=work["task_id"], heartbeat_recorded=False,
                             activity_attempt_id=work["activity_attempt_id"], cancel_requested=True,
                             can_continue=False, reason=reason, run_closed_reason=closed)
            self.assertTrue(body["run_closed_at"])
            for verb, more in VERBS[:2]:
                self.ignored(self.tell(work, verb, more), reason, cancel_requested=True, can_continue=False)

    def test_an_activity_without_options_is_shown_without_a_policy(self) -> None:
        policy = {"max_attempts": 3, "backoff_seconds": [1, 2], "non_retryable_error_types": ["Fatal"]}
        times = {"start_to_close_timeout": 9, "schedule_to_start_timeout": 8, "schedule_to_close_timeout": 10,
                 "heartbeat_timeout": 7}
        self.asked(activity("bare"), activity("full", retry_policy=policy, **times), timer())
        bare, full = (event["payload"]["activity"] for event in self.poll()["history_events"][2:4])
        self.assertEqual(full["retry_policy"], {"snapshot_version": 1, **policy, **times})
        self.assertNotIn("retry_policy", bare)

    # proves: E-88
    def test_it_looks_the_same_whoever_ran_it(self) -> None:
        self.asked(activity("shop.charge_card", "ada", 500, queue="default"))  # the server's own code
        task = self.poll()
        self.completed(self.complete(task, activity("greet", "ada", 500)), task)
        work = self.poll("activity")
        self.ended(self.tell(work, "complete", {"result": "paid"}), work)
        native, by_hand = (
            [event for event in self.history(task["run_id"]) if event["payload"].get("activity_type") == name]
            for name in ("shop.charge_card", "greet"))
        self.assertEqual(types(native), ["ActivityScheduled", "ActivityStarted", "ActivityCompleted"])
        self.assertEqual([(event["event_type"], key_paths(event["payload"])) for event in native],
                         [(event["event_type"], key_paths(event["payload"])) for event in by_hand])

        before = self.history(task["run_id"])
        for events in native, by_hand:
            attempt = events[-1]["payload"]["activity_attempt"]
            late = {"task_id": attempt["task_id"], "activity_attempt_id": attempt["id"], "lease_owner": attempt["lease_owner"]}
            self.ended(self.tell(late, "complete", {"result": "other"}), late)  # told again how it ended
            self.ignored(self.tell(late, "fail", {"failure": {"message": "no"}}), "stale_attempt")
            self.says(self.tell(late, "heartbeat"), 200, heartbeat_recorded=False, can_continue=False)
        self.assertEqual(self.history(task["run_id"]), before)

    def test_python_asks_again_for_what_is_pending_and_gets_it_once(self) -> None:
        self.asked(activity("one"), activity("two"), runtime="python")
        first = self.poll("activity")
        self.ended(self.tell(first, "complete"), first)
        task = self.poll()
        self.refused(self.complete(task, activity("three")), 409, "invalid_commands", recorded=False)
        pending = "two" if first["activity_type"] == "one" else "one"
        self.completed(self.complete(task, activity(pending)), task)
        self.assertEqual(types(self.history(task["run_id"])).count("ActivityScheduled"), 2)

    def test_others_mean_another_when_they_ask_again(self) -> None:
        self.asked(activity("same"), activity("same"))
        self.tell(self.poll("activity"), "complete")
        task = self.poll()
        self.completed(self.complete(task, activity("same")), task)
        last = self.history(task["run_id"])[-1]
        self.assertEqual((last["event_type"], last["payload"]["sequence"]), ("ActivityScheduled", 3))


class Queries(WireTest):
    def setUp(self) -> None:
        super().setUp()
        self.callers = ThreadPoolExecutor()
        self.addCleanup(self.callers.shutdown)
        self.register(capabilities=["query_tasks"])
        self.run_id = self.start("wf", "ada")

    def query(self, name: str, *arguments: Any) -> "Future[Answer]":
        return self.callers.submit(self.control, "POST", f"/workflows/wf/query/{name}", {"input": list(arguments)})

    def reply(self, task: Json, verb: str, more: Json, **instead: Any) -> Answer:
        holder = {"lease_owner": "w1", "query_task_attempt": task["query_task_attempt"]}
        return self.worker(f"/query-tasks/{task['query_task_id']}/{verb}", holder | more | instead)

    def test_a_worker_answers_and_the_caller_hears_it(self) -> None:
        caller = self.query("total", 1, 2)
        task = self.poll("query")
        self.shows(task, query_task_attempt=1, workflow_id="wf", run_id=self.run_id, workflow_type="hand.made",
                   query_name="total", payload_codec="avro", workflow_arguments=envelope(["ada"]),
                   query_arguments=envelope([1, 2]), last_history_sequence=2, task_queue=QUEUE, lease_owner="w1",
                   history_events=self.poll()["history_events"])
        self.refused(self.reply(task, "complete", {"result": 3}, lease_owner="w2"), 409, "lease_owner_mismatch")
        self.refused(self.reply(task, "complete", {"result": 3}, query_task_attempt=2), 409,
                     "query_task_attempt_mismatch")
        self.says(self.reply(task, "complete", {"result": 3, "result_envelope": envelope(3)}), 200,
                  query_task_id=task["query_task_id"], query_task_attempt=1, outcome="completed")
        self.says(caller.result(PATIENCE), 200, workflow_id="wf", query_name="total", result=3,
                  result_envelope=envelope(3))
        self.refused(self.reply(task, "complete", {"result": 3}), 404, "query_task_not_found")

    def test_a_plain_answer_will_do(self) -> None:
        caller = self.query("total")
        self.reply(self.poll("query"), "complete", {"result": "plain"})
        self.says(caller.result(PATIENCE), 200, result="plain", result_envelope=envelope("plain"))

    def test_the_caller_hears_which_run_answered(self) -> None:
        caller = self.query("total")
        self.reply(self.poll("query"), "complete", {"result": 1})
        self.says(caller.result(PATIENCE), 200, run_id=self.run_id)

    def test_a_worker_may_refuse(self) -> None:
        for said, status, reason in (("rejected_unknown_query", 404, "rejected_unknown_query"),
                                     ("invalid_query_arguments", 422, "invalid_query_arguments"),
                                     ("query_worker_incompatible", 409, "query_worker_incompatible"),
                                     (None, 409, "query_rejected")):
            with self.subTest(said):
                caller = self.query("colour")
                task = self.poll("query")
                answer = self.reply(task, "fail", {"failure": {"message": "no colour here", "reason": said}})
                self.says(answer, 200, query_task_id=task["query_task_id"], query_task_attempt=1, outcome="failed")
                self.refused(caller.result(PATIENCE), status, reason, message="no colour here", query_name="colour")

    def test_without_a_worker_that_answers_queries_the_caller_need_not_wait(self) -> None:
        self.register(capabilities=[])
        self.refused(self.query("total").result(PATIENCE), 409, "query_worker_unavailable")

    def test_a_worker_that_leaves_leaves_its_query_to_another(self) -> None:
        self.register("w2", capabilities=["query_tasks"])
        caller = self.query("total")
        left = self.poll("query")
        self.says(self.deregister(), 200)
        task = self.poll("query", worker="w2")
        self.shows(task, query_task_id=left["query_task_id"], query_task_attempt=2)
        self.says(self.reply(task, "complete", {"result": 1}, lease_owner="w2"), 200)
        self.says(caller.result(PATIENCE), 200, result=1)

    def test_a_repeated_poll_gets_the_same_query(self) -> None:
        caller = self.query("total")
        task = self.poll("query", poll_request_id="p1")
        again = self.ask("query", timeout=0, poll_request_id="p1")
        self.reply(task, "complete", {"result": 1})
        caller.result(PATIENCE)
        self.assertEqual(again.body["task"], task)

    def test_a_report_that_is_refused_does_not_end_the_polls_answer(self) -> None:
        caller = self.query("total")
        task = self.poll("query", poll_request_id="p1")
        self.refused(self.reply(task, "complete", {"result": 1}, lease_owner="w2"), 409, "lease_owner_mismatch")
        self.assertEqual(self.poll("query", timeout=0, poll_request_id="p1"), task)
        self.reply(task, "complete", {"result": 1})
        self.says(caller.result(PATIENCE), 200, result=1)

    def test_a_namesake_elsewhere_cannot_answer(self) -> None:
        self.says(self.control("POST", "/namespaces", {"name": "elsewhere"}), 201)
        caller = self.query("total")
        task = self.poll("query")
        answer = self.worker(f"/query-tasks/{task['query_task_id']}/complete",
                             {"lease_owner": "w1", "query_task_attempt": 1, "result": 2},
                             headers={"X-Namespace": "elsewhere"})
        self.refused(answer, 404, "query_task_not_found")
        self.reply(task, "complete", {"result": 1})
        self.says(caller.result(PATIENCE), 200, result=1)


if __name__ == "__main__":
    unittest.main()
