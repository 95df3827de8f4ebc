"""Why a run does not go on: what an operator is told, spoken by hand over HTTP."""
import json
import os
import subprocess
import unittest
from typing import Any

from wire import PATIENCE, QUEUE, Json, WireTest, activity, done, timer

DW = os.environ["DW_BINARY"]


class DebugTest(WireTest):
    def debug(self, workflow_id: str = "wf", run_id: str | None = None) -> Json:
        path = f"/workflows/{workflow_id}" + (f"/runs/{run_id}" if run_id else "") + "/debug"
        body = self.says(self.control("GET", path), 200, workflow_id=workflow_id)
        self.shows(body["control_plane"], operation="debug_workflow", workflow_id=workflow_id, run_id=body["run_id"],
                   diagnostic_status=body["diagnostic_status"])
        self.assertEqual(body["control_plane"]["contract"]["success_fields"], ["run_id", "diagnostic_status"])
        for finding in body["findings"]:
            self.assertIn(finding["severity"], ("error", "warning", "info"))
            self.assertTrue(finding["message"], finding)
        return body

    def codes(self, body: Json) -> list[str]:
        return [f"{finding['severity']} {finding['code']}" for finding in body["findings"]]

    def finds(self, status: str, *codes: str) -> Json:
        body = self.debug()
        self.assertEqual((body["diagnostic_status"], self.codes(body)), (status, list(codes)), body["findings"])
        return body

    def rollout(self, verb: str, build_id: Any) -> None:
        self.says(self.control("POST", f"/task-queues/{QUEUE}/build-ids/{verb}", {"build_id": build_id}), 200)


class NobodyTakesIt(DebugTest):
    def test_no_worker_polls_the_queue(self) -> None:
        run_id = self.start()
        body = self.finds("blocked", "error no_active_pollers")
        self.assertIn(f"task queue '{QUEUE}'", body["findings"][0]["message"])
        self.shows(body, run_id=run_id, namespace="default", pending_activities=[], recent_failures=[])
        self.shows(body["execution"], status="pending", workflow_type="hand.made", task_queue=QUEUE)
        [task] = body["pending_workflow_tasks"]
        self.shows(task, status="ready", queue=QUEUE, lease_owner=None, lease_expired=False)
        self.shows(body["task_queue"]["stats"], approximate_backlog_count=1,
                   pollers={"active_count": 0, "stale_count": 0})
        self.assertEqual(self.debug("wf", run_id)["findings"], self.debug()["findings"])

    def test_no_worker_knows_the_type(self) -> None:
        self.register(supported_workflow_types=["other.made"])
        self.start()
        body = self.finds("blocked", "error pending_workflow_type_unsupported")
        self.assertIn("'hand.made'", body["findings"][0]["message"])
        self.assertIn("w1", body["findings"][0]["message"])

    def test_the_runs_build_has_no_worker(self) -> None:
        self.register(build_id="v2")
        self.start(build_id="v1")
        body = self.finds("blocked", "error no_compatible_worker")
        self.assertIn("build 'v1'", body["findings"][0]["message"])
        self.shows(body["compatibility"], compatibility="v1", compatibility_supported_in_fleet=False)
        self.shows(body["execution"], liveness_state="workflow_task_waiting_for_compatible_worker")
        self.register("w2", build_id="v1")
        self.finds("pending_work")

    def test_a_queue_that_drains_says_how_to_go_on(self) -> None:
        self.register(build_id="v1")
        self.rollout("drain", "v1")
        self.start()
        body = self.finds("blocked", "error task_queue_draining")
        self.assertIn(f"`dw task-queue:resume {QUEUE} --build-id=v1`", body["findings"][0]["message"])
        self.rollout("resume", "v1")
        self.finds("pending_work")

    def test_an_activity_waits_on_a_queue_of_its_own(self) -> None:
        self.asked(activity("greet", queue="elsewhere"))
        body = self.finds("blocked", "error pending_activity_queue_without_active_pollers")
        self.shows(body["findings"][0], activity_type="greet", task_queue="elsewhere")
        [queue] = body["activity_task_queues"]
        self.shows(queue, name="elsewhere")
        self.register("w2", task_queue="elsewhere", supported_activity_types=["part"])
        self.finds("blocked", "error pending_activity_type_unsupported")
        self.register("w3", task_queue="elsewhere", supported_activity_types=["greet"])
        self.finds("pending_work")

    def test_workers_that_are_full_are_a_backlog(self) -> None:
        self.register(max_concurrent_workflow_tasks=1)
        self.start("first")
        self.poll()
        self.start()
        body = self.finds("needs_attention", "warning task_queue_backlog")
        self.shows(body["findings"][0], ready_count=1, leased_count=1, slot_count=1)


class SomebodyIsAtIt(DebugTest):
    def test_who_has_the_task_is_named(self) -> None:
        task = self.started()
        body = self.finds("pending_work")
        self.shows(body["execution"], status="running")
        [shown] = body["pending_workflow_tasks"]
        self.shows(shown, task_id=task["task_id"], status="leased", lease_owner="w1",
                   lease_expires_at=task["lease_expires_at"], workflow_task_attempt=1)

    def test_a_task_that_is_tried_again_is_seen(self) -> None:
        task = self.started()
        self.says(self.give_up(task), 200)
        self.poll()
        body = self.finds("needs_attention", "warning workflow_task_retried")
        self.shows(body["findings"][0], workflow_task_attempt=2, lease_owner="w1")

    def test_an_activity_that_runs_is_what_is_waited_for(self) -> None:
        work = self.at_work()
        body = self.finds("pending_work", "info activity_running")
        [shown] = body["pending_activities"]
        self.shows(shown, activity_type="greet", status="running", attempt_count=1, next_attempt_at=None)
        self.shows(shown["current_attempt"], lease_owner="w1", activity_attempt_id=work["activity_attempt_id"],
                   lease_expires_at=work["lease_expires_at"])

    def test_a_retry_tells_the_last_failure_and_when_it_is_tried_again(self) -> None:
        work = self.at_work(retry_policy={"max_attempts": 3, "backoff_seconds": [600]})
        failure = {"message": "no line", "type": "PhoneError"}
        self.ended(self.tell(work, "fail", {"failure": failure}), work, "failed")
        body = self.finds("needs_attention", "warning activity_retrying")
        [shown] = body["pending_activities"]
        self.shows(shown, status="pending", attempt_count=1, max_attempts=3, current_attempt=None)
        self.shows(shown["last_failure"], message="no line")
        self.near(shown["next_attempt_at"], 600)
        self.assertIn("no line", body["findings"][0]["message"])
        self.assertIn(f"attempt 2 of 3 begins at {shown['next_attempt_at']}", body["findings"][0]["message"])

    def test_it_is_the_same_after_a_restart(self) -> None:
        work = self.at_work(retry_policy={"max_attempts": 3, "backoff_seconds": [600]})
        self.ended(self.tell(work, "fail", {"failure": {"message": "no line"}}), work, "failed")
        before = self.debug()
        self.restart()
        after = self.debug()
        self.assertEqual((after["findings"], after["pending_activities"]),
                         (before["findings"], before["pending_activities"]))


class OnlyAnOperatorCanMendIt(DebugTest):
    def test_code_that_does_not_fit_its_history_says_where_and_what_to_do(self) -> None:
        self.register("n1", runtime="cpp")
        self.start()
        want = {"worker_id": "n1", "task_queue": QUEUE, "wait_milliseconds": PATIENCE * 1000}
        answer = self.worker("/exchange", want | {"want": {"workflow_tasks": 1}})
        [task] = self.says(answer, 200, poll_status="leased")["tasks"]["workflow"]
        blocked = {"reason": "history_shape_mismatch", "step": 1, "expected": "timer",
                   "recorded": ["ActivityScheduled"], "message": "step 1 was an activity"}
        report = {"task_id": task["task_id"], "workflow_task_attempt": task["workflow_task_attempt"],
                  "blocked": blocked}
        self.says(self.worker("/exchange", want | {"want": {}, "workflow_tasks": [report]}), 200)

        body = self.finds("blocked", "error workflow_replay_blocked")
        self.shows(body["findings"][0], replay_blocked_reason="history_shape_mismatch", workflow_sequence=1)
        self.assertIn("do not fit at step 1: step 1 was an activity", body["findings"][0]["message"])
        self.assertIn("`dw workflow:repair wf`", body["findings"][0]["message"])
        [shown] = body["pending_workflow_tasks"]
        self.shows(shown, status="failed", replay_blocked=True, last_error="step 1 was an activity")
        self.restart()
        self.finds("blocked", "error workflow_replay_blocked")
        self.says(self.control("POST", "/workflows/wf/repair", {}), 200, outcome="repair_dispatched")
        self.finds("pending_work")


class ItWaits(DebugTest):
    def test_for_a_signal_that_can_be_sent(self) -> None:
        self.asked({"type": "open_signal_wait", "signal_name": "paid"})
        body = self.finds("waiting", "info waiting_for_signal")
        self.assertIn("`dw workflow:signal wf paid`", body["findings"][0]["message"])

    def test_for_a_condition(self) -> None:
        self.asked({"type": "open_condition_wait", "condition_key": "enough"})
        self.finds("waiting", "info waiting_for_condition")

    def test_for_a_timer(self) -> None:
        self.asked(timer(600))
        body = self.finds("waiting", "info waiting_for_timer")
        self.near(body["findings"][0]["fire_at"], 600)

    def test_for_a_child_which_can_be_asked_next(self) -> None:
        self.asked({"type": "start_child_workflow", "workflow_type": "hand.child"})
        body = self.finds("waiting", "info waiting_for_child")
        child = body["findings"][0]["child_workflow_id"]
        self.assertIn(f"`dw debug workflow {child}`", body["findings"][0]["message"])
        self.shows(self.debug(child), workflow_id=child)


class ItIsOver(DebugTest):
    def test_how_it_ended_is_said(self) -> None:
        task = self.started()
        failure = {"type": "fail_workflow", "message": "no stock", "exception_class": "OutOfStock"}
        self.completed(self.complete(task, failure), task, "failed")
        body = self.finds("closed", "info run_closed")
        self.assertIn("no stock", body["findings"][0]["message"])
        self.assertEqual(body["recent_failures"][0]["message"], "no stock")
        self.shows(body, pending_workflow_tasks=[], pending_activities=[])

    def test_a_run_of_the_past_points_to_the_current_one(self) -> None:
        task = self.started()
        self.says(self.complete(task, {"type": "continue_as_new"}), 200)
        second = self.poll()
        body = self.debug("wf", task["run_id"])
        self.assertEqual(self.codes(body), ["info historical_run", "info run_closed"])
        self.shows(body["findings"][0], current_run_id=second["run_id"])
        self.completed(self.complete(second, done()), second, "completed")

    def test_what_is_not_there_is_not_found(self) -> None:
        self.refused(self.control("GET", "/workflows/none/debug"), 404, "instance_not_found", workflow_id="none")
        self.start()
        self.refused(self.control("GET", "/workflows/wf/runs/none/debug"), 404, "run_not_found")


class OnTheCommandLine(DebugTest):
    def dw(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([DW, *words, "--server", self.server.url], capture_output=True, text=True, timeout=60,
                              stdin=subprocess.DEVNULL)

    def test_findings_are_lines_for_people_and_one_document_for_machines(self) -> None:
        run_id = self.start()
        told = self.dw("debug", "workflow", "wf")
        self.assertEqual(told.returncode, 0, told.stderr)
        self.assertIn("[ERROR] no_active_pollers: workflow type 'hand.made' waits on task queue", told.stdout)
        document = json.loads(self.dw("debug", "workflow", "wf", "--run-id", run_id, "--json").stdout)
        self.shows(document, workflow_id="wf", run_id=run_id, diagnostic_status="blocked", namespace="default")
        self.assertEqual(self.dw("debug", "workflow", "none").returncode, 5)
        self.assertEqual(self.dw("debug", "schedule", "wf").returncode, 2)

    def test_an_event_is_handed_over_once_and_a_repeat_is_no_failure(self) -> None:
        words = ("bridge:webhook", "stripe", "--action=start_workflow", "--idempotency-key=evt-1",
                 "--target", json.dumps({"workflow_type": "hand.made", "task_queue": QUEUE}), "--json")
        first, second = self.dw(*words), self.dw(*words)
        self.assertEqual((first.returncode, second.returncode), (0, 0), first.stdout + second.stdout)
        self.shows(json.loads(first.stdout), accepted=True, outcome="accepted", action="start_workflow")
        self.shows(json.loads(second.stdout), accepted=False, outcome="duplicate", reason="duplicate_start",
                   workflow_id=json.loads(first.stdout)["workflow_id"])
        target = json.dumps({"workflow_id": "none", "signal_name": "paid"})
        refused = self.dw("bridge:webhook", "stripe", "--action=signal_workflow", "--idempotency-key=evt-2",
                          "--target", target, "--json")
        self.assertEqual(refused.returncode, 2, refused.stdout)
        self.shows(json.loads(refused.stdout), reason="unknown_target", exit_code=2)


if __name__ == "__main__":
    unittest.main(verbosity=2)
