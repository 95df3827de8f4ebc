"""What the published clients send to look after a server, replayed as fixtures_test.py does it: queues, system passes
and events from outside. A sample's numbers are those of the day it was taken; that they are there, and mean what our
own stories (task_queues_test.py, system_test.py, bridge_test.py) say, is what counts.
"""
import json
import pathlib
import sqlite3
import unittest
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit

import fixtures_test
from fixtures_test import FIXTURES, Replayed, Story
from wire import Json, activity

DAY = 24 * 3600 * 1_000_000  # in microseconds
COUNTS = {"approximate_backlog_count", "approximate_backlog_age", "ready_count", "leased_count", "expired_lease_count",
          "active_count", "stale_count", "approximate_pending_count", "remaining_pending_capacity"}
# What is used of a budget, what may be, and what is left.
BUDGETS = [tuple(f"server_{name}" for name in names) for names in (
    ("active_lease_count", "max_active_leases_per_queue", "remaining_active_lease_capacity"),
    ("namespace_active_lease_count", "max_active_leases_per_namespace", "remaining_namespace_active_lease_capacity"),
    ("dispatch_count_this_minute", "max_dispatches_per_minute", "remaining_dispatch_capacity"),
    ("namespace_dispatch_count_this_minute", "max_dispatches_per_minute_per_namespace",
     "remaining_namespace_dispatch_capacity"),
    ("budget_group_dispatch_count_this_minute", "max_dispatches_per_minute_per_budget_group",
     "remaining_budget_group_dispatch_capacity"))]
# The limits of the sample are those of the server here, and are compared. How much of them is used, and which of
# them leaves least, is the story's own.
USES = {name for used, _, left in BUDGETS for name in (used, left)} | {"server_budget_source"}

fixtures_test.IDENTITIES += ("execution_id", "task_id")
fixtures_test.MERELY_SHOWN |= {
    "task-queue-list": COUNTS | USES | {"status"},
    "task-queue-describe": COUNTS | USES | {"status", "is_stale", "lock_required", "workflow_task_attempt"},
    "task-queue-build-ids": {"stale_after_seconds", "rollout_status", "active_worker_count", "stale_worker_count"},
    "system-repair-status": {
        "redispatch_after_seconds", "loop_throttle_seconds", "scan_limit", "scan_strategy",
        "failure_backoff_max_seconds", "total_candidates", "existing_task_candidates", "missing_task_candidates",
        "scopes"},
    "system-repair-pass": {"selected_existing_task_candidates", "repaired_existing_tasks", "dispatched_tasks"},
    "system-activity-timeout-status": {"expired_count", "expired_execution_ids"},
    # Whose time is up has been seen to before anybody could ask.
    "system-activity-timeout-pass": {"enforced", "skipped", "failed", "outcome", "reason"},
    "system-retention-status": {"expired_run_count"},
    "system-retention-pass": {"history_events_deleted", "tasks_deleted", "reason"},
    "bridge-webhook": {"workflow_id", "run_id"},
}
fixtures_test.NOT_ASKED_FOR |= {
    "system-activity-timeout-pass": {"has_retry"},  # only of one that was enforced
    "system-retention-pass": {"external_payloads_deleted"},  # there are none
}


def limits_of_the_sample() -> Json:
    """As the server is told them, for the queue that the sample describes."""
    sample = FIXTURES["task-queue-describe"]["response_body"]
    said = sample["admission"]
    names = [limit for _, limit, _ in BUDGETS] + ["server_dispatch_budget_group"]
    limits = {kind: {name.removeprefix("server_"): said[kind][name] for name in names if name in said[kind]}
              for kind in ("workflow_tasks", "activity_tasks")}
    queries = {"query_tasks": {"max_pending_per_queue": said["query_tasks"]["max_pending_per_queue"]}}
    return {sample["name"]: limits | queries}


class Operations(Replayed):
    settings = {"DW_TASK_QUEUE_ADMISSION_OVERRIDES": json.dumps(limits_of_the_sample())}

    # ---- queues

    def workers_of_two_queues(self) -> None:
        self.a_worker("orders-critical", worker_id="w-critical")
        self.a_worker("orders-standard", worker_id="w-standard")

    def a_lease_and_three_pollers(self) -> None:
        for poller in FIXTURES["task-queue-describe"]["response_body"]["pollers"]:
            self.a_worker("orders-critical", worker_id=poller["worker_id"], runtime=poller["runtime"],
                          build_id=poller["build_id"], supported_workflow_types=[], supported_activity_types=[])
        body = {"workflow_id": "wf-polyglot-231", "workflow_type": "orders.fulfillment"}
        self.says(self.control("POST", "/workflows", body | {"task_queue": "orders-critical"}), 201)
        poll = {"worker_id": "worker-alpha", "task_queue": "orders-critical", "build_id": "build-2026-04-22"}
        task = self.says(self.worker("/workflow-tasks/poll", poll), 200, poll_status="leased")["task"]
        self.names["task-polyglot-231-001"] = task["task_id"]

    def budgets_add_up(self, fixture: Json) -> None:
        admission = self.says(self.control("GET", "/task-queues/orders-critical"), 200)["admission"]
        for kind, out in (("workflow_tasks", 1), ("activity_tasks", 0)):
            shown = admission[kind]
            self.shows(shown, server_active_lease_count=out, server_namespace_active_lease_count=out,
                       server_budget_source=f"server.admission.{kind}.max_active_leases_per_queue")
            for used, limit, left in BUDGETS:
                if kind == "workflow_tasks" or "group" not in limit:
                    self.assertEqual(shown[used] + shown[left], shown[limit], limit)

    def three_cohorts(self) -> None:
        for number, cohort in enumerate(FIXTURES["task-queue-build-ids"]["response_body"]["build_ids"]):
            for worker in range(cohort["total_worker_count"]):
                self.a_worker("orders-critical", worker_id=f"w-{number}-{worker}", build_id=cohort["build_id"],
                              runtime=cohort["runtimes"][0], sdk_version=cohort["sdk_versions"][0])
        drained = {"build_id": "build-2026.04.21-z9"}
        self.says(self.control("POST", "/task-queues/orders-critical/build-ids/drain", drained), 200)

    # ---- the engine as a whole

    def an_order_called(self, workflow_id: str) -> Json:
        body = {"workflow_id": workflow_id, "workflow_type": "orders.fulfillment", "task_queue": self.queue}
        self.says(self.control("POST", "/workflows", body), 201)
        return self.take()

    def two_orders(self) -> None:
        self.a_worker()
        self.names |= {f"wf-run-{number}": self.an_order_called(f"chk-{number}")["run_id"] for number in (1, 2)}

    def two_activities(self) -> None:
        self.a_worker(supported_activity_types=["inventory.sync"])
        for number in (1, 2):
            task = self.an_order_called(f"order-{number}")
            self.says(self.complete(task, activity("inventory.sync", start_to_close_timeout=3600)), 200)
            self.names[f"act-exec-{number}"] = self.take("activity")["activity_execution_id"]

    def long_ago(self, *run_ids: str) -> None:
        """What time does to a store."""
        port = urlsplit(self.server.url).port
        self.server.kill()
        with closing(sqlite3.connect(pathlib.Path(self.server.directory.name) / "dw.db")) as store, store:
            for run_id in run_ids:
                store.execute(f"UPDATE runs SET closed_at = closed_at - {40 * DAY} WHERE run_id = '{run_id}'")
        self.server.start(port)

    def two_old_orders(self) -> None:
        self.two_orders()
        for number in (1, 2):
            self.close("terminate", f"chk-{number}")
        self.long_ago(*(self.names[f"wf-run-{number}"] for number in (1, 2)))

    def an_old_order_and_an_open_one(self) -> None:
        self.two_orders()
        self.close("terminate", "chk-1")
        self.long_ago(self.names["wf-run-1"])

    def both_are_listed(self, fixture: Json) -> None:
        body = self.says(self.control("GET", "/system/retention"), 200, expired_run_count=2)
        self.assertEqual(sorted(body["expired_run_ids"]), sorted(self.names[name] for name in ("wf-run-1", "wf-run-2")))

    # ---- events from outside

    def started_as_asked(self, fixture: Json) -> None:
        [item] = self.says(self.control("GET", "/workflows"), 200)["workflows"]
        self.shows(item, workflow_type="orders.fulfillment", task_queue="external-workflows", business_key="order-231")


STORIES = {
    "task-queue-list": Story(Operations.workers_of_two_queues),
    "task-queue-describe": Story(Operations.a_lease_and_three_pollers, Operations.budgets_add_up),
    "task-queue-build-ids": Story(Operations.three_cohorts),
    "system-repair-status": Story(),
    "system-repair-pass": Story(Operations.two_orders),
    "system-activity-timeout-status": Story(),
    "system-activity-timeout-pass": Story(Operations.two_activities),
    "system-retention-status": Story(Operations.two_old_orders, Operations.both_are_listed),
    "system-retention-pass": Story(Operations.an_old_order_and_an_open_one),
    "bridge-webhook": Story(after=Operations.started_as_asked),
}
fixtures_test.STORIES |= STORIES


def telling(name: str) -> Any:
    return lambda self: self.tell_story(name)


for stem in STORIES:
    setattr(Operations, f"test_{stem.replace('-', '_')}", telling(stem))


if __name__ == "__main__":
    unittest.main(verbosity=2)
