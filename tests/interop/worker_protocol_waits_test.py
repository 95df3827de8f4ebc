"""What reaches a run from outside, and the runs that follow it, as workers see them by hand."""
import os
import unittest
from typing import Any
from unittest import mock

from wire import QUEUE, Answer, Json, WireTest, envelope, timer


def opened(name: str) -> Json:
    return {"type": "open_signal_wait", "signal_name": name}


class Updates(WireTest):
    def signal(self, name: str = "hello") -> None:
        self.says(self.control("POST", f"/workflows/wf/signal/{name}", {"input": []}), 202)

    def update(self, **more: Any) -> Answer:
        return self.control("POST", "/workflows/wf/update/rename", {"input": ["bob"], "wait_for": "accepted", **more})

    def test_a_signal_that_woke_nobody_is_not_in_their_way(self) -> None:
        self.asked(timer(3600))
        self.signal()
        self.nothing()
        self.assertTrue(self.described()["actions"]["can_update"])
        told = self.says(self.update(), 202, update_status="accepted")
        self.shows(self.poll(), workflow_update_id=told["update_id"])

    def test_a_signal_on_its_way_to_the_code_is(self) -> None:
        self.asked(opened("hello"))
        self.signal()
        self.refused(self.update(), 409, "update_rejected", rejection_reason="earlier_signal_pending",
                     outcome="rejected_pending_signal")
        self.assertFalse(self.described()["actions"]["can_update"])
        task = self.poll()
        self.completed(self.complete(task, timer(3600)), task)
        self.says(self.update(), 202, update_status="accepted")

    def test_they_queue_behind_it_where_that_is_the_setting(self) -> None:
        with mock.patch.dict(os.environ, DW_UPDATES_BEHIND_PENDING_SIGNAL="queue"):
            self.restart()
        self.asked(opened("hello"))
        self.signal()
        told = self.says(self.update(), 202, update_status="accepted")
        task = self.poll()
        self.shows(task, signal_name="hello", workflow_update_id="<absent>")
        self.completed(self.complete(task, timer(3600)), task)
        self.shows(self.poll(), workflow_update_id=told["update_id"])


class RunsThatFollow(WireTest):
    """The runs that a worker's commands open."""

    def contracts(self, *signals: str) -> Json:
        return {"workflow_command_contracts": {"hand.made": {"queries": [], "signals": list(signals), "updates": []}}}

    def declared(self, task: Json) -> Any:
        started = next(event for event in task["history_events"] if event["event_type"] == "WorkflowStarted")
        return started["payload"].get("declared_signals")

    def test_a_run_goes_on_on_the_queue_it_names(self) -> None:
        task = self.started()
        self.register("w2", task_queue="other")
        self.completed(self.complete(task, {"type": "continue_as_new", "arguments": envelope([2]), "queue": "other"}),
                       task, "completed")
        self.nothing()
        self.shows(self.poll(worker="w2", task_queue="other"), workflow_id="wf", task_queue="other",
                   arguments=envelope([2]))

    def test_it_stays_where_it_was_if_it_names_none(self) -> None:
        task = self.started()
        self.completed(self.complete(task, {"type": "continue_as_new"}), task, "completed")
        self.shows(self.poll(), workflow_id="wf", task_queue=QUEUE)

    def test_they_declare_what_is_registered_when_they_begin(self) -> None:
        first = self.started(**self.contracts("approve"))
        self.assertEqual(self.declared(first), ["approve"])
        self.register("w2", **self.contracts("approve", "reject"))
        child = {"type": "start_child_workflow", "workflow_type": "hand.made"}
        self.completed(self.complete(first, child, {"type": "continue_as_new"}), first, "completed")
        for task in (self.poll(), self.poll()):
            self.assertEqual(self.declared(task), ["approve", "reject"], task["workflow_id"])


if __name__ == "__main__":
    unittest.main()
