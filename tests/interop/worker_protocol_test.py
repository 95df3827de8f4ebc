"""The worker protocol, spoken by hand: registrations, polls and workflow tasks as any language may rely on them.

Activities and queries are in worker_protocol_activities_test.py. A story that is expected to fail is told as the
protocol wants it; the comment above it says what the server does instead.
"""
import base64
import gzip
import http.client
import json
import os
import unittest
import zlib
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from unittest import mock
from urllib.parse import urlsplit

from wire import PATIENCE, QUEUE, VERSION, Headers, Json, WireTest, activity, blob, done, envelope, noted, timer, types


class Versions(WireTest):
    def test_every_answer_says_what_the_server_speaks_and_can(self) -> None:
        info = self.request("GET", "/cluster/info").body["worker_protocol"]
        self.assertEqual(info["version"], VERSION)
        for status, reason, answer in (
                (404, "not_found", self.worker("/nowhere", {})),
                (405, "method_not_allowed", self.worker("/register", method="GET")),
                (400, "malformed_json", self.worker("/register", "{")),
                (415, "unsupported_media_type", self.worker("/register", "{}", headers={"Content-Type": "text/x"})),
                (413, "payload_too_large", self.worker("/register", {"filler": "x" * 3_000_000})),
                (404, "worker_not_found", self.deregister("nobody")),
                (404, "worker_not_registered", self.worker("/heartbeat", {"worker_id": "nobody"}))):
            with self.subTest(reason):
                self.refused(answer, status, reason, server_capabilities=info["server_capabilities"])
        self.invalid(self.worker("/register", [1]), "body")
        self.invalid(self.worker("/register", []), "task_queue", "runtime")

    def test_a_path_that_cannot_be_read_is_answered_like_any_other(self) -> None:
        self.refused(self.worker("/%zz", {}), 404, "not_found")

    def test_older_minors_are_understood(self) -> None:
        for version in ("1.0", "1.1", "1.2", "1.8", VERSION):
            self.says(self.worker("/register", {"task_queue": QUEUE, "runtime": "x"}, version=version), 201)

    def test_any_other_version_is_refused(self) -> None:
        odd = ("1", "1.", ".1", "v1.1", "1.x", "1.1.0", "1,1", "+1.1", "1.-1", "0.9", "2.0", "1.20", "1.99999999999")
        for version, why in [(None, "missing"), *((version, "unsupported") for version in odd)]:
            with self.subTest(version):
                answer = self.worker("/register", {"task_queue": QUEUE, "runtime": "rust"}, version=version)
                body = self.refused(answer, 400, f"{why}_protocol_version", supported_version=VERSION,
                                    requested_version=version)
                self.assertTrue(body["remediation"])


class Workers(WireTest):
    def test_a_registration_is_confirmed_renewed_and_given_back(self) -> None:
        heard = {"status": "active", "heartbeat_interval_seconds": 30, "stale_after_seconds": 90}
        answer = self.worker("/register", {"task_queue": QUEUE, "runtime": "rust", "heartbeat_interval_seconds": 30})
        worker = self.says(answer, 201, registered=True, task_queue=QUEUE, runtime="rust", **heard)["worker_id"]
        self.assertTrue(worker, "who brings no name is given one")
        answer = self.worker("/heartbeat", {"worker_id": worker, "task_slots": {"workflow_available": 3}})
        self.says(answer, 200, worker_id=worker, acknowledged=True, **heard)
        self.says(self.deregister(worker), 200, outcome="deregistered", recovered_workflow_task_count=0)
        self.refused(self.deregister(worker), 404, "worker_not_found")
        self.refused(self.worker("/heartbeat", {"worker_id": worker}), 404, "worker_not_registered")

    def test_changed_code_is_not_taken_for_the_code_that_was_registered(self) -> None:
        self.register(workflow_definition_fingerprints={"hand.made": "one"})
        self.register(workflow_definition_fingerprints={"hand.made": "one"})
        answer = self.worker("/register", {"worker_id": "w1", "task_queue": QUEUE, "runtime": "rust",
                                           "workflow_definition_fingerprints": {"hand.made": "two"}})
        no = self.refused(answer, 409, "workflow_definition_changed", workflow_type="hand.made")
        self.assertTrue(no["remediation"])

    def test_only_who_is_registered_gets_work(self) -> None:
        self.register("w1", build_id="blue")
        for kind in ("workflow", "activity", "query"):
            with self.subTest(kind):
                self.refused(self.ask(kind, "nobody"), 412, "worker_not_registered")
                self.refused(self.ask(kind, task_queue="other"), 409, "task_queue_mismatch",
                             registered_task_queue=QUEUE, requested_task_queue="other")
                self.refused(self.ask(kind, build_id="green"), 409, "build_id_mismatch",
                             registered_build_id="blue", requested_build_id="green")
                self.invalid(self.ask(kind, None, task_queue=None), "worker_id", "task_queue")
                self.invalid(self.ask(kind, timeout=61, poll_request_id="x" * 256), "timeout_seconds",
                             "poll_request_id")
        self.invalid(self.ask(history_page_size=1001), "history_page_size")

    def test_who_does_not_wait_is_told_at_once_that_there_is_nothing(self) -> None:
        self.register(build_id="blue")
        began = datetime.now()
        for kind in ("workflow", "activity", "query"):
            self.nothing(kind, build_id="blue")
        self.assertLess(datetime.now() - began, timedelta(seconds=15), "nobody waited the usual 30 s")

    def test_there_is_no_other_namespace(self) -> None:
        task = self.started()
        there: Headers = {"X-Namespace": "elsewhere"}
        for path in ("/register", "/workflow-tasks/poll", "/activity-tasks/poll", "/query-tasks/poll", "/heartbeat",
                     f"/workflow-tasks/{task['task_id']}/complete"):
            with self.subTest(path):
                no = self.refused(self.worker(path, {"worker_id": "w1", "task_queue": QUEUE}, headers=there), 404,
                                  "namespace_not_found", namespace="elsewhere")
                self.assertTrue(no["remediation"])
        self.refused(self.control("GET", "/workflows/wf", headers=there), 404, "namespace_not_found")
        answer = self.worker("/heartbeat", {"worker_id": "w1"}, headers={"X-Namespace": "DEFAULT"})
        self.says(answer, 200, acknowledged=True)

    def test_work_goes_to_those_who_can_do_it(self) -> None:
        self.register("other-type", supported_workflow_types=["other"])
        self.register("activities", supported_activity_types=["greet"])
        self.register("plain", supported_workflow_types=["hand.made"])
        self.register("blue", build_id="blue")
        self.start("any")
        self.nothing(worker="other-type")
        self.nothing(worker="activities")
        task = self.poll(worker="plain")
        self.completed(self.complete(task, activity("greet")), task)
        self.nothing("activity", "plain")
        self.shows(self.poll("activity", "activities"), workflow_id="any")
        self.start("pinned", build_id="blue")
        self.nothing(worker="plain")
        self.shows(self.poll(worker="blue"), workflow_id="pinned", compatibility="blue")

    def test_who_leaves_gives_its_tasks_back(self) -> None:
        task = self.started()
        self.register("w2")
        self.nothing(worker="w2")
        self.says(self.deregister(), 200, worker_id="w1", outcome="deregistered", recovered_workflow_task_count=1)
        again = self.poll(worker="w2")
        self.shows(again, task_id=task["task_id"], workflow_task_attempt=2, lease_owner="w2")
        self.completed(self.complete(again, done()), again, "completed")


    def test_who_leaves_is_given_nothing_more(self) -> None:
        self.register()
        with ThreadPoolExecutor() as pollers:
            poll = pollers.submit(self.ask, timeout=60)
            self.until_waiting()
            self.says(self.deregister(), 200)
            self.says(poll.result(PATIENCE), 200, task=None, poll_status="timeout")
        self.start()
        self.register("w2")
        self.shows(self.poll(worker="w2"), workflow_task_attempt=1)

    def test_a_namesake_elsewhere_keeps_what_it_holds(self) -> None:
        self.says(self.control("POST", "/namespaces", {"name": "elsewhere"}), 201)
        elsewhere: Headers = {"X-Namespace": "elsewhere"}
        task = self.started()
        namesake = {"worker_id": "w1", "task_queue": QUEUE, "runtime": "rust"}
        self.says(self.worker("/register", namesake, headers=elsewhere), 201)
        self.says(self.worker("/registrations/w1", method="DELETE", headers=elsewhere), 200,
                  recovered_workflow_task_count=0)
        self.completed(self.complete(task, done()), task, "completed")

    def test_whom_an_administrator_removes_is_gone_for_good(self) -> None:
        task = self.started()
        self.says(self.control("DELETE", "/workers/w1"), 200, worker_id="w1", outcome="deregistered")
        self.register("w2")
        self.shows(self.poll(worker="w2"), task_id=task["task_id"], workflow_task_attempt=2)
        self.restart()
        self.refused(self.control("GET", "/workers/w1"), 404, "worker_not_found")
        self.says(self.control("GET", "/workers/w2"), 200, worker_id="w2")


class Polls(WireTest):
    def test_a_repeated_poll_gets_the_same_task_until_that_is_completed(self) -> None:
        self.asked(activity("greet"), timer())
        task, work = self.poll(poll_request_id="p1"), self.poll("activity", poll_request_id="p1")
        self.assertEqual(self.poll(poll_request_id="p1"), task)
        self.assertEqual(self.poll("activity", poll_request_id="p1"), work)
        self.nothing(poll_request_id="p2")
        self.completed(self.complete(task, noted(1)), task)
        self.ended(self.tell(work, "complete"), work)
        self.nothing("activity", poll_request_id="p1")
        self.assertNotEqual(self.poll(poll_request_id="p1")["task_id"], task["task_id"])

    def test_two_polls_that_are_one_wait_for_the_same_task(self) -> None:
        self.register()
        with ThreadPoolExecutor() as pollers:
            polls = [pollers.submit(self.poll, poll_request_id="p1") for _ in range(2)]
            self.start()
            self.assertEqual(polls[0].result(), polls[1].result())

    def test_a_report_that_is_refused_does_not_end_the_polls_answer(self) -> None:
        task = self.started(poll={"poll_request_id": "p1"})
        self.refused(self.complete(task, done(), lease_owner="w2"), 409, "lease_owner_mismatch")
        self.assertEqual(self.poll(poll_request_id="p1", timeout=0), task)

    def test_a_repeated_poll_gets_the_task_though_the_first_hung_up(self) -> None:
        self.register()
        address = urlsplit(self.server.url)
        body = json.dumps({"worker_id": "w1", "task_queue": QUEUE, "timeout_seconds": 30, "poll_request_id": "p1"})
        first = http.client.HTTPConnection(address.netloc)
        first.request("POST", "/api/worker/workflow-tasks/poll", body,
                      {"Content-Type": "application/json", "X-Durable-Workflow-Protocol-Version": VERSION})
        with ThreadPoolExecutor() as pollers:
            again = pollers.submit(self.poll, poll_request_id="p1")
            first.close()
            self.start()
            self.shows(again.result(), workflow_id="wf")

    def test_a_poll_repeated_after_its_task_was_given_back_asks_anew(self) -> None:
        self.started(poll={"poll_request_id": "p1"})
        self.deregister()
        self.register()
        self.shows(self.poll(poll_request_id="p1"), workflow_task_attempt=2)


class WorkflowTasks(WireTest):
    # proves: E-86
    def test_a_workflow_by_hand(self) -> None:
        task = self.started("ada", 3)
        self.shows(task, history_fan_out=0, history_budget_pressure="ok", continue_as_new_recommended=False, connection=None)
        self.shows(task, task_kind="workflow", workflow_task_attempt=1, workflow_id="wf", workflow_type="hand.made",
                   payload_codec="avro", arguments=envelope(["ada", 3]), task_queue=QUEUE, lease_owner="w1",
                   total_history_events=2, last_history_sequence=2, next_history_page_token=None)
        self.near(task["lease_expires_at"], 60)
        self.assertEqual(types(task["history_events"]), ["StartAccepted", "WorkflowStarted"])
        self.completed(self.complete(task, noted(7), activity("greet", "ada"), timer("3600")), task)

        work = self.poll("activity")
        self.shows(work, activity_type="greet", attempt_number=1, workflow_id="wf", run_id=task["run_id"],
                   payload_codec="avro", arguments=envelope(["ada"]), task_queue=QUEUE, lease_owner="w1",
                   idempotency_key=work["activity_execution_id"])
        self.near(work["lease_expires_at"], 300)
        self.ended(self.tell(work, "complete", {"result": envelope("hello ada")}), work)

        task = self.poll()
        events = task["history_events"]
        self.assertEqual([event["sequence"] for event in events], list(range(1, 8)))
        self.assertEqual([(event["event_type"], event["payload"].get("sequence")) for event in events], [
            ("StartAccepted", None), ("WorkflowStarted", None), ("SideEffectRecorded", 1), ("ActivityScheduled", 2),
            ("TimerScheduled", 3), ("ActivityStarted", 2), ("ActivityCompleted", 2)])
        self.shows(events[6]["payload"], activity_type="greet", result=blob("hello ada"), payload_codec="avro")
        self.completed(self.complete(task, noted(8), done("bye")), task, "completed")
        closing = self.history(task["run_id"])[7:]
        self.assertEqual(types(closing), ["SideEffectRecorded", "TimerCancelled", "WorkflowCompleted"])
        self.assertEqual(closing[0]["payload"]["sequence"], 4, "steps are dense")
        self.shows(self.described(), status="completed", output="bye")

    def test_every_event_has_the_same_shape(self) -> None:
        self.asked(timer())
        shape = {"id", "sequence", "event_type", "payload", "workflow_task_id", "workflow_command_id", "recorded_at"}
        for event in self.poll()["history_events"]:
            self.assertEqual(shape - event.keys(), set(), event["event_type"])

    def test_commands_that_cannot_be_read_change_nothing(self) -> None:
        task = self.started()
        marker = {"type": "record_version_marker", "change_id": "c", "version": 4, "min_supported": 1}
        for path, command in (
                ("type", {"type": "dance"}),
                ("type", {}),
                ("activity_type", {"type": "schedule_activity"}),
                ("delay_seconds", timer(-1)),
                ("retry_policy", timer() | {"retry_policy": {"max_attempts": 2}}),
                ("retry_policy.max_attempts", activity("greet", retry_policy={"max_attempts": 0})),
                ("heartbeat_timeout", activity("greet", heartbeat_timeout=9, start_to_close_timeout=5)),
                ("version", marker | {"max_supported": 3}),
                ("message", {"type": "fail_workflow"}),
                ("arguments", activity("greet") | {"arguments": envelope(None)}),
                ("arguments", {"type": "continue_as_new", "arguments": envelope("ada")}),
                ("result.codec", done() | {"result": {"codec": "json", "blob": "1"}}),
                ("result.blob", done() | {"result": {"codec": "avro", "blob": "AAAA"}})):
            with self.subTest(path=path, command=command):
                self.invalid(self.complete(task, command), f"commands.0.{path}")
                self.invalid(self.complete(task, activity("greet"), command), f"commands.1.{path}")
        self.invalid(self.complete(task), "commands")
        self.invalid(self.report(task, "complete"), "commands")
        self.assertEqual(len(self.history(task["run_id"])), 2)
        self.completed(self.complete(task, done()), task, "completed")

    def test_commands_that_do_not_go_together_change_nothing(self) -> None:
        task = self.started()
        late = {"parallel_group_id": "parallel-timers:1:6", "parallel_group_kind": "timer",
                "parallel_group_base_sequence": 1, "parallel_group_size": 6, "parallel_group_index": 5}
        for commands in ([done(1), done(2)], [done(), activity("greet")], [timer(60) | late],
                         [{"type": "fail_workflow", "message": "no"}, {"type": "continue_as_new"}]):
            self.refused(self.complete(task, *commands), 409, "invalid_commands", recorded=False,
                         task_id=task["task_id"], workflow_task_attempt=1)
        self.assertEqual(len(self.history(task["run_id"])), 2)
        self.completed(self.complete(task, done()), task, "completed")

    def test_more_commands_than_anyone_needs_are_refused(self) -> None:
        self.refused(self.complete(self.started(), *[noted(0)] * 1001), 422, "structural_limit_exceeded",
                     outcome="rejected", limit_kind="command_batch_size", current_value=1001, configured_limit=1000,
                     workflow_task_attempt=1)

    def test_a_task_says_when_its_history_has_become_long(self) -> None:
        """By the leaves of its widest barrier, which is the soonest said."""
        place = {"parallel_group_id": "parallel-activities:1:200", "parallel_group_kind": "activity",
                 "parallel_group_base_sequence": 1, "parallel_group_size": 200, "parallel_group_index": 0}
        self.asked(activity("one", **place, parallel_group_path=[place]))
        self.tell(self.poll("activity"), "complete")
        self.shows(self.poll(), history_fan_out=200, history_budget_pressure="continue_as_new_recommended",
                   continue_as_new_recommended=True)

    def test_history_comes_in_pages(self) -> None:
        self.asked(*[noted(n) for n in range(8)], timer())
        task = self.poll(history_page_size=5)
        token, pages = task["next_history_page_token"], [task["history_events"]]
        while token is not None:
            answer = self.report(task, "history", {"next_history_page_token": token, "history_page_size": 5})
            page = self.says(answer, 200, task_id=task["task_id"], workflow_task_attempt=1, total_history_events=12)
            self.assertNotEqual(page["next_history_page_token"], token)
            token = page["next_history_page_token"]
            pages.append(page["history_events"])
        self.assertEqual((task["total_history_events"], [len(page) for page in pages]), (12, [5, 5, 2]))
        self.deregister()
        self.register()
        self.assertEqual(self.poll()["history_events"], sum(pages, []), "the pages are the whole")
        for odd in ("nonsense", "AAAA", "LTE="):
            self.refused(self.report(task, "history", {"next_history_page_token": odd}), 400, "invalid_page_token")
        self.invalid(self.report(task, "history"), "next_history_page_token")

    def test_a_long_history_comes_compressed_to_who_asks_for_it(self) -> None:
        self.asked(*[noted(n) for n in range(60)], timer())
        codings = {"gzip": gzip.decompress, "deflate": lambda packed: zlib.decompress(packed, -zlib.MAX_WBITS)}
        for coding, unpack in codings.items():
            task = self.poll(accept_history_encoding=coding)
            self.assertEqual((task["history_events"], task["history_events_encoding"]), ([], coding))
            events = json.loads(unpack(base64.b64decode(task["history_events_compressed"])))
            self.deregister()
            self.register()
        self.assertEqual(self.poll()["history_events"], events, "nobody else gets it so")
        self.invalid(self.ask(accept_history_encoding="zip"), "accept_history_encoding")

    def test_a_short_history_comes_as_it_is(self) -> None:
        self.asked(timer())
        self.assertTrue(self.poll(accept_history_encoding="gzip")["history_events"])


class Leases(WireTest):
    VERBS: list[tuple[str, Json]] = [("complete", {"commands": [done()]}), ("fail", {"failure": {"message": "no"}}),
                                     ("heartbeat", {})]

    def test_only_who_holds_the_task_speaks_for_it(self) -> None:
        self.started()
        self.deregister()
        self.register()
        task = self.poll()
        for verb, more in self.VERBS:
            with self.subTest(verb):
                self.refused(self.report(task, verb, more, workflow_task_attempt=1), 409,
                             "workflow_task_attempt_mismatch", task_id=task["task_id"], workflow_task_attempt=1,
                             current_attempt=2)
                self.refused(self.report(task, verb, more, lease_owner="w2"), 409, "lease_owner_mismatch",
                             task_id=task["task_id"], workflow_task_attempt=2, lease_owner="w1")
                self.refused(self.report(task | {"task_id": "nonsense"}, verb, more), 404, "task_not_found",
                             task_id="nonsense")
                self.invalid(self.report(task, verb, more, lease_owner=None, workflow_task_attempt=0),
                             "lease_owner", "workflow_task_attempt")
        held = self.says(self.report(task, "heartbeat"), 200, task_id=task["task_id"], workflow_task_attempt=2,
                         lease_owner="w1", renewed=True, task_status="leased", reason=None)
        self.assertGreater(held["lease_expires_at"], task["lease_expires_at"])
        self.completed(self.complete(task, done()), task, "completed")

    def test_a_task_that_never_was_is_not_found(self) -> None:
        task = self.started()
        self.refused(self.complete(task | {"task_id": "nonsense"}, done()), 404, "task_not_found",
                     task_id="nonsense", workflow_task_attempt=1)

    def test_history_is_for_who_holds_the_task(self) -> None:
        task = self.started(poll={"history_page_size": 1})
        token = {"next_history_page_token": task["next_history_page_token"]}
        self.refused(self.report(task, "history", token, lease_owner="w2"), 409, "lease_owner_mismatch")
        self.refused(self.report(task, "history", token, workflow_task_attempt=2), 409,
                     "workflow_task_attempt_mismatch", current_attempt=1)

    def test_a_repeated_completion_is_told_what_it_was_told(self) -> None:
        first = self.started()
        told = self.completed(self.complete(first, timer()), first)
        self.assertEqual(self.complete(first, timer()).body, told)
        last = self.poll()
        self.assertEqual(self.complete(first, timer()).body, told, "though the next task is out")
        told = self.completed(self.complete(last, done("once")), last, "completed")
        self.assertEqual(self.complete(last, done("once")).body, told)
        self.restart()
        again = self.complete(last, done("once"))
        self.assertEqual((again.status, again.body), (200, told))
        self.assertEqual(types(self.history(last["run_id"])).count("WorkflowCompleted"), 1)
        self.refused(self.complete(last, done(), lease_owner="w2"), 409, "run_closed", recorded=False)

    def test_a_completion_repeated_after_the_next_is_told_what_it_was_told(self) -> None:
        first = self.started()
        told = self.completed(self.complete(first, timer()), first)
        second = self.poll()
        self.completed(self.complete(second, timer()), second)
        last = self.poll()
        self.completed(self.complete(last, done()), last, "completed")
        self.restart()
        self.assertEqual(self.completed(self.complete(first, timer()), first), told)
        self.refused(self.complete(first, timer(), lease_owner="w2"), 409, "run_closed", recorded=False)

    def test_only_the_same_word_is_answered_the_same(self) -> None:
        """Nothing is acknowledged that was not recorded."""
        task = self.started()
        self.says(self.give_up(task), 200, outcome="failed", recorded=True)
        self.says(self.give_up(task), 200, outcome="failed", recorded=True)
        self.refused(self.complete(task, done()), 409, "task_not_leased", recorded=False, task_status="ready")
        self.refused(self.report(task, "heartbeat"), 409, "task_not_leased")
        self.assertEqual(types(self.history(task["run_id"])), ["StartAccepted", "WorkflowStarted"])

    def test_what_was_completed_can_neither_fail_nor_be_held(self) -> None:
        task = self.started()
        self.completed(self.complete(task, timer(3600)), task)
        for again in (self.give_up(task), self.give_up(task, type="WorkflowTaskWaitingForHistory"),
                      self.report(task, "heartbeat")):
            self.refused(again, 409, "task_not_leased")
        self.start("closed")
        last = self.poll()
        self.completed(self.complete(last, done()), last, "completed")
        for again in (self.give_up(last), self.report(last, "heartbeat")):
            self.refused(again, 409, "run_closed")

    def test_an_activitys_task_is_no_workflow_task(self) -> None:
        work = self.at_work()
        for verb, more in self.VERBS:
            with self.subTest(verb=verb):
                answer = self.worker(f"/workflow-tasks/{work['task_id']}/{verb}",
                                     {"lease_owner": "w1", "workflow_task_attempt": 1, **more})
                self.refused(answer, 404, "task_not_found")

    def test_a_completion_survives_the_server_it_was_claimed_from(self) -> None:
        task = self.started()
        self.restart()
        self.completed(self.complete(task, done("still here")), task, "completed")
        self.shows(self.described(), output="still here")

    def test_an_attempt_from_before_a_restart_does_not_pass_for_one_from_after_it(self) -> None:
        before = self.started()
        self.restart()
        after = self.poll()
        self.assertEqual(after["run_id"], before["run_id"])
        self.refused(self.complete(before, done("old news")), 409, "workflow_task_attempt_mismatch", recorded=False)
        self.completed(self.complete(after, done("news")), after, "completed")
        self.shows(self.described(), output="news")

    def test_attempts_count_from_one_in_every_life_of_the_server(self) -> None:
        before = self.started()
        self.deregister()
        self.restart()
        self.register()
        after = self.poll()
        self.shows(after, workflow_task_attempt=1, run_id=before["run_id"])
        self.assertNotEqual(after["task_id"], before["task_id"], "the id tells whose attempt is meant")

    def test_a_task_of_a_run_that_was_stopped_is_refused(self) -> None:
        self.register()
        for how, status in (("cancel", "cancelled"), ("terminate", "terminated")):
            self.start(how)
            task = self.poll()
            self.close(how, how)
            for verb, more in self.VERBS:
                with self.subTest(verb=verb, status=status):
                    body = self.refused(self.report(task, verb, more), 409, "run_closed", task_id=task["task_id"],
                                        workflow_task_attempt=1, can_continue=False, run_status=status,
                                        run_closed_reason=status, cancel_requested=how == "cancel")
                    self.assertTrue(body["stop_reason"] and body["run_closed_at"] and body["task_status"])
                    self.assertEqual((body["lease_owner"], bool(body["lease_expires_at"])), ("w1", True), "its own lease")

    def test_whoever_stops_at_a_refusal_can_be_spared_it(self) -> None:
        with mock.patch.dict(os.environ, DW_LENIENT_RUN_CLOSED="1"):
            self.restart()
        task = self.started()
        self.close("cancel", task["workflow_id"])
        answer = self.complete(task, done())
        self.assertEqual((answer.status, answer.body["recorded"], answer.body["reason"]), (200, False, "run_closed"))

    def test_a_task_of_a_run_that_timed_out_is_refused_in_its_own_words(self) -> None:
        self.register()
        with ThreadPoolExecutor() as workers:  # who waits has the task before its second is over
            polling = workers.submit(self.poll)
            self.until_waiting()
            self.start(run_timeout_seconds=1)
            task = polling.result(PATIENCE)
        while not self.described()["is_terminal"]:
            self.ask(timeout=1)
        self.refused(self.complete(task, done()), 409, "run_timed_out", recorded=False, run_status="failed",
                     run_id=task["run_id"], task_id=task["task_id"], workflow_task_attempt=1)

    def test_a_failed_task_is_tried_again_and_leaves_no_trace(self) -> None:
        task = self.started()
        before = self.history(task["run_id"])
        self.says(self.give_up(task, type="Oops", stack_trace="here"), 200, task_id=task["task_id"],
                  workflow_task_attempt=1, outcome="failed", recorded=True, reason=None)
        self.nothing()
        self.shows(self.described(), is_terminal=False)
        self.assertEqual(self.history(task["run_id"]), before)
        self.shows(self.poll(), workflow_task_attempt=2, history_events=task["history_events"])

    def test_a_repeated_failure_is_told_what_it_was_told(self) -> None:
        task = self.started()
        told, again = self.says(self.give_up(task), 200, outcome="failed"), self.give_up(task)
        self.assertEqual((again.status, again.body), (200, told))

    def test_a_worker_with_nothing_to_do_parks_its_task(self) -> None:
        self.asked(activity("one"), activity("two"))
        self.tell(self.poll("activity"), "complete")
        task = self.poll()
        before = self.history(task["run_id"])
        for _ in range(2):
            answer = self.give_up(task, "Workflow task waiting for scheduled history.",
                                  type="WorkflowTaskWaitingForHistory")
            self.says(answer, 200, task_id=task["task_id"], workflow_task_attempt=1, outcome="waiting_for_history",
                      recorded=True)
        self.nothing()
        self.shows(self.described(), status="waiting")
        self.assertEqual(self.history(task["run_id"]), before)
        self.tell(self.poll("activity"), "complete")
        self.assertEqual(types(self.poll()["history_events"])[-1], "ActivityCompleted")


class RequestsMadeTwice(WireTest):
    """A client that did not hear the answer asks again, with the same request_id."""

    def ask_twice(self, path: str, body: Json) -> tuple[Json, Json]:
        first = self.control("POST", path, body | {"request_id": "r1"}).body
        self.restart()
        return first, self.control("POST", path, body | {"request_id": "r1"}).body

    def test_a_signal_is_received_once(self) -> None:
        run = self.start()
        first, second = self.ask_twice("/workflows/wf/signal/approve", {"input": ["ada"]})
        self.assertEqual((first["command_id"], first["outcome"]), (second["command_id"], second["outcome"]))
        self.assertEqual(types(self.history(run)).count("SignalReceived"), 1)

    def test_an_update_runs_once_and_its_result_is_told_again(self) -> None:
        task = self.started()
        self.completed(self.complete(task, timer(3600)), task)
        body = {"input": [5], "wait_for": "completed", "request_id": "r1"}
        with ThreadPoolExecutor() as pool:
            waiting = pool.submit(self.control, "POST", "/workflows/wf/update/raise", body)
            task = self.poll()
            self.completed(self.complete(task, {"type": "complete_update", "update_id": task["workflow_update_id"],
                                                "result": envelope(6)}), task)
            first = self.says(waiting.result(), 200, outcome="update_completed", result=6)
        self.restart()
        self.says(self.control("POST", "/workflows/wf/update/raise", body), 200, outcome="update_completed", result=6,
                  update_id=first["update_id"])
        self.nothing()

    def test_the_answer_is_the_same_after_the_workflow_has_continued_as_new(self) -> None:
        self.asked({"type": "open_signal_wait", "signal_name": "approve"})
        told = self.says(self.control("POST", "/workflows/wf/signal/approve", {"request_id": "r1"}), 202)
        task = self.poll()
        self.completed(self.complete(task, {"type": "open_signal_wait", "signal_name": "go on"}), task)
        body = {"input": [5], "wait_for": "completed", "request_id": "r1"}
        with ThreadPoolExecutor() as pool:
            waiting = pool.submit(self.control, "POST", "/workflows/wf/update/raise", body)
            task = self.poll()
            self.completed(self.complete(task, {"type": "complete_update", "update_id": task["workflow_update_id"],
                                                "result": envelope(6)}), task)
            first = self.says(waiting.result(), 200, outcome="update_completed", result=6, run_id=task["run_id"])
        self.says(self.control("POST", "/workflows/wf/signal/go%20on", {}), 202)
        task = self.poll()
        self.completed(self.complete(task, {"type": "continue_as_new"}), task, "completed")
        task = self.poll()
        self.assertNotEqual(task["run_id"], first["run_id"])
        self.completed(self.complete(task, timer(3600)), task)
        for _ in range(2):
            self.says(self.control("POST", "/workflows/wf/signal/approve", {"request_id": "r1"}), 202, repeated=True,
                      outcome="signal_received", command_id=told["command_id"], run_id=told["run_id"])
            again = self.says(self.control("POST", "/workflows/wf/update/raise", body), 200, repeated=True, result=6,
                              update_id=first["update_id"], run_id=first["run_id"])
            same = ("command_id", "command_sequence", "workflow_sequence", "accepted_at", "applied_at")
            self.shows(again, **{key: first[key] for key in same})
            self.restart()
        self.nothing()
        self.assertEqual(types(self.history(task["run_id"])), ["StartAccepted", "WorkflowStarted", "TimerScheduled"])

    def test_who_cancelled_is_told_so_again(self) -> None:
        run = self.start()
        first, second = self.ask_twice("/workflows/wf/cancel", {"reason": "enough"})
        self.assertEqual((first["command_id"], first["outcome"]), (second["command_id"], "cancelled"))
        self.assertEqual(types(self.history(run)).count("CancelRequested"), 1)
        self.refused(self.control("POST", "/workflows/wf/cancel", {"request_id": "r2"}), 409, "run_not_active")


if __name__ == "__main__":
    unittest.main()
