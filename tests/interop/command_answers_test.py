"""What whoever signals, updates, stops or describes a workflow is told."""
import signal
import unittest
from concurrent.futures import ThreadPoolExecutor

from wire import PATIENCE, Answer, Json, WireTest, done, envelope, timer

COMMON = {"workflow_id", "run_id", "workflow_type", "outcome", "command_id", "command_sequence", "command_status",
          "command_source", "target_scope", "requested_run_id", "resolved_run_id", "reason", "rejection_reason",
          "validation_errors"}
UPDATE = {"update_id", "update_name", "update_status", "workflow_sequence", "result", "result_envelope", "failure_id",
          "failure_message", "accepted_at", "applied_at", "rejected_at", "closed_at", "wait_for", "wait_timed_out",
          "wait_timeout_seconds"}


class CommandAnswers(WireTest):
    def command(self, what: str, path: str = "/workflows/wf", **body: object) -> Answer:
        answer = self.control("POST", f"{path}/{what}", body)
        self.assertLessEqual(COMMON, answer.body.keys(), answer)
        self.shows(answer.body["control_plane"], run_id=answer.body["run_id"], outcome=answer.body["outcome"],
                   reason=answer.body["reason"], rejection_reason=answer.body["rejection_reason"])
        return answer

    def parked(self) -> Json:
        task = self.started()
        self.completed(self.complete(task, timer(3600)), task)
        return task

    def test_every_answer_names_the_run_it_is_about(self) -> None:
        run = self.parked()["run_id"]
        about = {"run_id": run, "resolved_run_id": run, "workflow_type": "hand.made", "command_status": "accepted"}
        self.says(self.command("signal/go"), 202, **about, requested_run_id=None, target_scope="instance", reason=None,
                  rejection_reason=None, validation_errors=None, outcome="signal_received")
        self.says(self.command("signal/go", f"/workflows/wf/runs/{run}"), 202, **about, requested_run_id=run,
                  target_scope="run")
        self.says(self.command("repair"), 200, **about, outcome="repair_not_needed")
        self.says(self.command("cancel"), 200, **about, outcome="cancelled", reason=None)
        self.says(self.command("archive", reason="old"), 200, **about, outcome="archived", reason="old")
        self.says(self.command("terminate"), 409, run_id=run, resolved_run_id=run, command_status="rejected",
                  reason="run_not_active", rejection_reason="run_not_active")

    def test_an_update_tells_when_it_was_accepted_and_how_it_ended(self) -> None:
        self.parked()
        answer = self.says(self.command("update/raise", request_id="r1"), 202, outcome=None, update_status="accepted",
                           applied_at=None, closed_at=None, result=None, failure_id=None, workflow_sequence=None)
        self.assertLessEqual(UPDATE, answer.keys())
        self.assertTrue(answer["accepted_at"])
        task = self.poll()
        self.completed(self.complete(task, {"type": "fail_update", "update_id": task["workflow_update_id"],
                                            "message": "too much"}), task)
        ended = self.says(self.command("update/raise", request_id="r1", wait_for="completed"), 422,
                          outcome="update_failed", reason="update_failed", update_status="failed",
                          failure_message="too much", update_id=answer["update_id"], accepted_at=answer["accepted_at"],
                          applied_at=None)
        self.assertLessEqual(UPDATE, ended.keys())
        self.assertTrue(ended["failure_id"] and ended["closed_at"])

    def test_a_request_id_names_one_thing(self) -> None:
        self.parked()
        for kind in "signal", "update":
            self.says(self.command(f"{kind}/one", request_id="r1"), 202)
            self.says(self.command(f"{kind}/other", request_id="r1"), 409, reason="request_id_conflict",
                      rejection_reason="request_id_conflict", command_status="rejected")

    def test_an_update_that_is_waited_for_brings_its_result(self) -> None:
        self.parked()
        answer = self.says(self.command("update/raise"), 202)
        task = self.poll()
        self.completed(self.complete(task, {"type": "complete_update", "update_id": answer["update_id"]}), task)
        again = self.says(self.command("update/raise", request_id="r2"), 202)
        task = self.poll()
        self.completed(self.complete(task, {"type": "complete_update", "update_id": again["update_id"]}), task)
        ended = self.says(self.command("update/raise", request_id="r2", wait_for="completed"), 200,
                          outcome="update_completed", update_status="completed", failure_id=None, reason=None)
        self.assertEqual(ended["applied_at"], ended["closed_at"])

    def test_an_update_that_is_asked_for_again_was_accepted_when_it_was(self) -> None:
        run = self.parked()["run_id"]
        asked = self.says(self.command("update/raise", request_id="r1"), 202)
        [accepted] = [event for event in self.history(run) if event["event_type"] == "UpdateAccepted"]
        self.assertEqual(asked["accepted_at"], accepted["timestamp"])
        same = {"update_id": asked["update_id"], "accepted_at": asked["accepted_at"]}
        self.says(self.command("update/raise", request_id="r1"), 202, **same)
        self.says(self.command("update/raise", request_id="r1", wait_for="completed", wait_timeout_seconds=1), 202,
                  wait_timed_out=True, **same)
        with ThreadPoolExecutor() as callers:
            waiting = callers.submit(self.command, "update/raise", request_id="r1", wait_for="completed")
            self.until_waiting()
            task = self.poll()
            self.completed(self.complete(task, {"type": "complete_update", "update_id": asked["update_id"]}), task)
            ended = self.says(waiting.result(PATIENCE), 200, update_status="completed", **same)
        [completed] = [event for event in self.history(run) if event["event_type"] == "UpdateCompleted"]
        self.assertEqual(ended["closed_at"], completed["timestamp"])

    def test_what_is_too_large_names_the_limit_it_met(self) -> None:
        self.parked()
        limit = {"limit_kind": "payload_size", "configured_limit": 2 * 1024 * 1024}
        halves = [0.5] * 300_000  # nine bytes each, once they are encoded
        for what in ("signal/go", "update/raise"):
            answer = self.refused(self.command(what, input=halves), 422, "structural_limit_exceeded", **limit)
            self.assertGreater(answer["current_value"], limit["configured_limit"])

    def test_a_query_that_the_server_answers_itself_names_its_run(self) -> None:
        start = {"workflow_type": "sample.tally", "workflow_id": "tally", "input": [3]}
        run = self.says(self.control("POST", "/workflows", start), 201)["run_id"]
        for path in ("/workflows/tally", f"/workflows/tally/runs/{run}"):
            self.says(self.control("POST", f"{path}/query/total", {}), 200, run_id=run, result=0)


    def test_a_run_that_is_named_must_be_there_and_must_be_the_current_one(self) -> None:
        task = self.started()
        self.says(self.complete(task, {"type": "continue_as_new", "arguments": None}), 200)
        first, current = task["run_id"], self.poll()["run_id"]
        for what in ("signal/go", "update/raise", "cancel", "terminate"):
            self.says(self.command(what, f"/workflows/wf/runs/{first}"), 409, run_id=first, target_scope="run",
                      reason="historical_run_command_rejected", rejection_reason="selected_run_not_current")
        before = self.history(current)
        for what in ("signal/go", "query/state", "update/raise", "cancel", "terminate"):
            self.refused(self.control("POST", f"/workflows/wf/runs/nowhere/{what}", {}), 404, "run_not_found")
            self.refused(self.control("POST", f"/workflows/none/runs/{current}/{what}", {}), 404, "instance_not_found")
        self.assertEqual(self.history(current), before, "nothing of that is recorded")

    def test_what_cannot_be_read_is_told_by_its_code(self) -> None:
        self.parked()
        for blob, reason in (({"codec": "json", "blob": "[]"}, "unsupported_payload_codec"),
                             ({"codec": "avro", "blob": "?"}, "invalid_payload_framing"),
                             ({"codec": "avro", "blob": "wwEAAAAAAAAAAAwA"}, "unsupported_payload_schema")):
            self.refused(self.control("POST", "/workflows/wf/signal/go", {"input": blob}), 422, reason)
        self.invalid(self.control("POST", "/workflows/wf/signal/go", {"input": {"codec": "json", "blob": "[]"},
                                                                      "request_id": 7}), "input.codec", "request_id")


class Starts(WireTest):
    def test_whoever_takes_what_is_there_is_told_what_that_is(self) -> None:
        run = self.start("wf", business_key="order-1")
        self.says(self.control("POST", "/workflows", {"workflow_type": "hand.made", "workflow_id": "wf",
                                                      "task_queue": "elsewhere", "duplicate_policy": "use-existing"}),
                  200, outcome="returned_existing_active", run_id=run, task_queue="by-hand", business_key="order-1",
                  status="pending")

    def test_an_id_is_of_one_type_for_life(self) -> None:
        self.start("wf")
        for policy in ("fail", "use-existing"):
            self.refused(self.control("POST", "/workflows", {"workflow_type": "another", "workflow_id": "wf",
                                                             "duplicate_policy": policy}), 409,
                         "duplicate_not_allowed", outcome="rejected_duplicate", rejection_reason="workflow_type_mismatch")

    def test_an_envelope_holds_a_list(self) -> None:
        for sent in (None, "ada", {"name": "ada"}):
            body = {"workflow_type": "hand.made", "workflow_id": "wf", "input": envelope(sent)}
            self.invalid(self.control("POST", "/workflows", body), "input")
        self.refused(self.control("GET", "/workflows/wf"), 404, "instance_not_found")

    def test_words_of_other_servers_are_refused_one_by_one(self) -> None:
        words = ("workflow_execution_timeout", "workflow_run_timeout", "workflow_task_timeout", "retry_policy",
                 "idempotency_key", "request_id")
        body = {"workflow_type": "hand.made", "workflow_id": "wf"} | dict.fromkeys(words, "x")
        self.invalid(self.control("POST", "/workflows", body), *words)
        self.refused(self.control("GET", "/workflows/wf"), 404, "instance_not_found")


class Runs(WireTest):
    def test_they_come_in_pages_the_newest_first(self) -> None:
        self.register()
        self.start()
        runs = []
        for command in ({"type": "continue_as_new"}, {"type": "continue_as_new"}, done()):
            task = self.poll()
            runs.append(task["run_id"])
            self.says(self.complete(task, command), 200)

        def page(query: str) -> tuple[list[str], str | None]:
            body = self.says(self.control("GET", "/workflows/wf/runs" + query), 200)
            self.assertEqual(body["run_count"], 3, "all of them, whatever the page")
            return [run["run_id"] for run in body["runs"]], body["next_page_token"]

        self.assertEqual(page(""), (runs, None))
        newest, token = page("?page_size=2")
        self.assertEqual(newest, runs[1:], "oldest first within a page")
        self.assertEqual(page(f"?page_size=2&next_page_token={token}"), (runs[:1], None))
        self.invalid(self.control("GET", "/workflows/wf/runs?page_size=0"), "page_size")
        self.start("another")
        wrong = self.control("GET", f"/workflows/another/runs?next_page_token={token}")
        self.refused(wrong, 400, "invalid_page_token")


class Namespaces(WireTest):
    def test_the_default_one_is_the_same_after_a_restart(self) -> None:
        before = self.says(self.control("GET", "/namespaces/default"), 200)
        self.restart()
        self.says(self.control("GET", "/namespaces/default"), 200, created_at=before["created_at"])

    def test_one_is_made_once_and_leaves_when_it_is_empty(self) -> None:
        self.says(self.control("POST", "/namespaces", {"name": "shop"}), 201)
        self.refused(self.control("POST", "/namespaces", {"name": "shop"}), 409, "namespace_already_exists")
        there = {"X-Namespace": "shop"}
        self.says(self.control("POST", "/workflows", {"workflow_type": "hand.made"}, there), 201)
        self.refused(self.control("DELETE", "/namespaces/shop"), 409, "namespace_not_empty")
        self.refused(self.control("DELETE", "/namespaces/default"), 409, "default_namespace")

    def test_one_takes_its_workers_along(self) -> None:
        there = {"X-Namespace": "shop"}
        for registered in (1, 0):
            self.says(self.control("POST", "/namespaces", {"name": "shop"}), 201)
            if registered:
                worker = {"worker_id": "w1", "task_queue": "orders", "runtime": "python"}
                self.says(self.worker("/register", worker, headers=there), 201)
                self.says(self.control("POST", "/task-queues/orders/build-ids/drain", {"build_id": None}, there), 200)
            self.assertEqual(len(self.control("GET", "/workers", headers=there).body["workers"]), registered)
            queues = self.control("GET", "/task-queues/orders/build-ids", headers=there)
            self.assertEqual(len(self.says(queues, 200)["build_ids"]), registered)
            gone = self.says(self.control("DELETE", "/namespaces/shop"), 200)["deleted"]
            self.assertEqual(gone["workflow_worker_registrations"], registered)
            self.restart()


class Imports(WireTest):
    def test_histories_of_other_engines_are_not_taken(self) -> None:
        self.refused(self.control("POST", "/workflows/import/waterline-v1", {}), 501, "not_implemented")


class Descriptions(WireTest):
    def test_a_run_that_timed_out_says_which_deadline_it_missed(self) -> None:
        self.register()
        for name, timeout in (("run_timeout", "run_timeout_seconds"), ("execution_timeout", "execution_timeout_seconds")):
            self.start(name, **{timeout: 1})
            while not self.described(name)["is_terminal"]:
                self.ask(timeout=1)
            self.shows(self.described(name), reason=name, closed_reason="timed_out")

    def test_a_run_that_failed_shows_what_was_thrown(self) -> None:
        task = self.started()
        self.completed(self.complete(task, {"type": "fail_workflow", "message": "no stock", "exception_type": "OutOfStock",
                                            "exception_class": "shop.OutOfStock"}), task, "failed")
        described = self.described()
        for shown in (described["exception"], described["failure"]["exception"], described["failures"][0]["exception"]):
            self.shows(shown, type="OutOfStock", message="no stock")

    def test_what_ended_a_run_is_told_apart_from_an_update_that_it_left_behind(self) -> None:
        task = self.started()
        self.says(self.control("POST", "/workflows/wf/update/raise", {}), 202)
        self.completed(self.complete(task, {"type": "fail_workflow", "message": "no stock",
                                            "exception_type": "OutOfStock"}), task, "failed")
        described = self.described()
        self.assertEqual(2, len(described["failures"]))
        for shown in (described["failure"], described["failures"][-1]):
            self.shows(shown, exception_type="OutOfStock", message="no stock", failure_category="application")
        self.shows(described["exception"], type="OutOfStock", message="no stock")

    def test_what_was_asked_of_a_run_is_told_without_payloads(self) -> None:
        self.asked(timer(3600))
        update = self.says(self.control("POST", "/workflows/wf/update/raise", {"input": [5]}), 202)["update_id"]
        task = self.poll()
        self.completed(self.complete(task, {"type": "complete_update", "update_id": update}), task)
        self.says(self.control("POST", "/workflows/wf/signal/go", {}), 202)
        described = self.described()
        self.assertEqual([command["type"] for command in described["commands"]], ["start", "update", "signal"])
        [told] = described["updates"]
        self.shows(told, id=update, name="raise", status="completed", arguments_available=True)
        self.assertNotIn("arguments", told)

    def test_one_that_ended_well_has_nothing_to_explain(self) -> None:
        task = self.started()
        self.completed(self.complete(task, done()), task, "completed")
        self.assertFalse({"reason", "exception", "failure", "failures"} & self.described().keys())


class Stopping(WireTest):
    """Who waits for a result or an update is told how it stands, not cut off."""

    def test_nobody_is_left_waiting(self) -> None:
        run = self.started()["run_id"]
        with ThreadPoolExecutor() as callers:
            result = callers.submit(self.control, "GET", f"/workflows/wf/runs/{run}/result?wait_seconds=60")
            update = callers.submit(self.control, "POST", "/workflows/wf/update/raise",
                                    {"wait_for": "completed", "wait_timeout_seconds": 60})
            self.until_waiting(2)
            self.server.process.send_signal(signal.SIGTERM)
            self.says(result.result(), 200, closed=False)
            self.says(update.result(), 202, update_status="accepted", wait_timed_out=True)
        self.assertEqual(self.server.process.wait(60), 0)
        self.restart()

    def test_who_waits_for_a_workers_word_is_told_to_come_again(self) -> None:
        contracts = {"hand.made": {"queries": ["total"], "updates": ["rename"], "update_validators": ["rename"]}}
        self.register(supported_workflow_types=["hand.made"], workflow_command_contracts=contracts,
                      capabilities=["query_tasks", "update_validation_tasks"])
        self.start()
        with ThreadPoolExecutor() as callers:
            query = callers.submit(self.control, "POST", "/workflows/wf/query/total", {})
            update = callers.submit(self.control, "POST", "/workflows/wf/update/rename", {"request_id": "r1"})
            self.until_waiting(2)
            self.server.process.send_signal(signal.SIGTERM)
            self.refused(query.result(), 503, "query_task_queue_unavailable")
            self.refused(update.result(), 503, "unavailable", retryable=True)
        self.assertEqual(self.server.process.wait(60), 0)
        self.restart()


if __name__ == "__main__":
    unittest.main()
