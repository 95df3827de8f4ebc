"""What administrators ask of the engine as a whole, spoken by hand."""
import pathlib
import sqlite3
import unittest
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit

from wire import Headers, Json, WireTest, activity, done, timer, types

DAY = 24 * 3600 * 1_000_000  # in microseconds


class SystemTest(WireTest):
    def system(self, path: str, **expected: Any) -> Json:
        return self.says(self.control("GET", f"/system/{path}"), 200, **expected)

    def passed(self, path: str, body: Json | None = None, **expected: Any) -> Json:
        return self.says(self.control("POST", f"/system/{path}/pass", body or {}), 200, **expected)

    def finished(self, workflow_id: str = "wf") -> str:
        """A workflow that has completed; its run."""
        run = self.start(workflow_id)
        task = self.poll()
        self.completed(self.complete(task, done()), task, "completed")
        return run

    def while_down(self, sql: str) -> None:
        """What a damaged disk, or time, does to a store."""
        port = urlsplit(self.server.url).port
        self.server.kill()
        with closing(sqlite3.connect(pathlib.Path(self.server.directory.name) / "dw.db")) as store, store:
            store.execute(sql)
        self.server.start(port)


class Repair(SystemTest):
    def test_where_nothing_is_wrong_nothing_is_repaired(self) -> None:
        self.asked(timer(3600))
        body = self.system("repair", policy={
            "redispatch_after_seconds": 3, "loop_throttle_seconds": 5, "scan_limit": 25,
            "scan_strategy": "scope_fair_round_robin", "failure_backoff_max_seconds": 60,
            "failure_backoff_strategy": "exponential_by_repair_count"})
        self.assertEqual(body["candidates"], {
            "total_candidates": 0, "existing_task_candidates": 0, "missing_task_candidates": 0,
            "scan_pressure": False, "oldest_task_candidate_created_at": None, "oldest_missing_run_started_at": None,
            "scopes": []})
        self.assertEqual(self.passed("repair").keys(), {
            "throttled", "selected_existing_task_candidates", "selected_missing_task_candidates",
            "repaired_existing_tasks", "repaired_missing_tasks", "dispatched_tasks",
            "selected_command_contract_candidates", "backfilled_command_contracts",
            "command_contract_backfill_unavailable", "command_contract_failures", "existing_task_failures",
            "missing_run_failures"})

    def test_a_task_that_was_lost_comes_back(self) -> None:
        self.asked(timer(1))
        self.while_down("DELETE FROM tasks")
        # The engine looks for such runs by itself, too: whoever comes first, the timer fires.
        body = self.passed("repair", {"instance_id": "wf"}, existing_task_failures=[], missing_run_failures=[])
        self.assertLessEqual(body["repaired_missing_tasks"], 1)
        self.assertIn("TimerFired", types(self.poll()["history_events"]))

    def test_a_pass_may_be_told_which_runs_and_to_wait_its_turn(self) -> None:
        run = self.start()
        self.passed("repair", {"run_ids": [run, "nobody's"]}, throttled=False)
        self.passed("repair", {"respect_throttle": True}, throttled=True, dispatched_tasks=0)

    def test_what_cannot_be_meant_is_refused(self) -> None:
        self.invalid(self.control("POST", "/system/repair/pass", {"run_ids": ["r"] * 101}), "run_ids")
        self.invalid(self.control("POST", "/system/repair/pass", {"run_ids": [1], "instance_id": "a b"}),
                     "run_ids.0", "instance_id")
        self.invalid(self.control("POST", "/system/retention/pass", {"limit": 0}), "limit")
        self.invalid(self.control("POST", "/system/activity-timeouts/pass", {"execution_ids": "a"}), "execution_ids")


class ActivityTimeouts(SystemTest):
    def test_nothing_is_late(self) -> None:
        self.at_work(start_to_close_timeout=3600)
        self.assertEqual(self.system("activity-timeouts"), {
            "expired_count": 0, "expired_execution_ids": [], "scan_limit": 100, "scan_pressure": False})
        self.assertEqual(self.passed("activity-timeouts"), {
            "processed": 0, "enforced": 0, "skipped": 0, "failed": 0, "results": []})

    def test_who_is_named_and_not_late_is_left_alone(self) -> None:
        work = self.at_work(start_to_close_timeout=3600)
        self.passed("activity-timeouts", {"execution_ids": [work["activity_execution_id"]]}, processed=1, skipped=1,
                    results=[{"execution_id": work["activity_execution_id"], "outcome": "skipped",
                              "reason": "no_deadline_expired"}])
        self.ended(self.tell(work, "complete"), work)

    def test_a_deadline_is_enforced_once_by_whoever_comes_first(self) -> None:
        self.at_work(start_to_close_timeout=1)
        body = self.passed("activity-timeouts", failed=0)
        self.assertEqual(body["processed"], body["enforced"] + body["skipped"])
        events = types(self.poll()["history_events"])
        self.assertEqual(events.count("ActivityTimedOut"), 1, events)
        self.system("activity-timeouts", expired_count=0)


class Retention(SystemTest):
    def test_a_namespace_says_how_long_its_runs_are_kept(self) -> None:
        body = self.system("retention", namespace="default", retention_days=30, expired_run_count=0,
                           expired_run_ids=[], scan_limit=100, scan_pressure=False)
        self.near(body["cutoff"], -30 * 24 * 3600)
        self.says(self.control("PUT", "/namespaces/default", {"retention_days": 2}), 200)
        self.near(self.system("retention", retention_days=2)["cutoff"], -2 * 24 * 3600)

    def test_runs_that_ended_long_ago_go_and_others_stay(self) -> None:
        self.register()
        old, young = self.finished("old"), self.finished("young")
        opened = self.start("open")
        self.while_down(f"UPDATE runs SET closed_at = closed_at - {40 * DAY} WHERE run_id = '{old}'")
        self.system("retention", expired_run_count=1, expired_run_ids=[old])
        body = self.passed("retention", {"run_ids": [young, opened, "nobody's"]}, pruned=0, skipped=2, failed=1)
        self.assertEqual(body["results"], [
            {"run_id": young, "outcome": "skipped", "reason": "within_retention"},
            {"run_id": opened, "outcome": "skipped", "reason": "run_not_closed"},
            {"run_id": "nobody's", "outcome": "error", "reason": "run_not_found"}])
        body = self.passed("retention", {"limit": 10}, processed=1, pruned=1, skipped=0, failed=0)
        self.shows(body["results"][0], run_id=old, outcome="pruned", deleted=True, tasks_deleted=0)
        self.assertGreater(body["results"][0]["history_events_deleted"], 0)
        self.refused(self.control("GET", f"/workflows/old/runs/{old}"), 404, "instance_not_found")
        self.described("young")
        self.system("retention", expired_run_count=0)

    def test_namespaces_keep_their_runs_apart(self) -> None:
        self.register()
        run = self.finished()
        self.says(self.control("POST", "/namespaces", {"name": "apart"}), 201)
        there: Headers = {"X-Namespace": "apart"}
        answer = self.control("POST", "/system/retention/pass", {"run_ids": [run]}, headers=there)
        self.says(answer, 200, failed=1,
                  results=[{"run_id": run, "outcome": "error", "reason": "run_not_found"}])


class Metrics(SystemTest):
    def test_operators_see_the_state_of_a_namespace_in_numbers(self) -> None:
        self.asked(activity("greet"))
        self.start("waiting")
        self.poll("activity")
        body = self.system("operator-metrics", namespace="default")
        metrics = body["operator_metrics"]
        self.near(metrics["generated_at"], 0)
        self.shows(metrics["runs"], total=2, current=2, running=2, completed=0, repair_needed=0, claim_failed=0,
                   compatibility_blocked=0)
        self.shows(metrics["tasks"], ready_due=1, leased=1, delayed=0, lease_expired=0, unhealthy=0)
        self.shows(metrics["activities"], open=1, running=1, pending=0, retrying=0, timeout_overdue=0)
        self.shows(metrics["backlog"], runnable_tasks=1, leased_tasks=1, unhealthy_tasks=0)
        self.shows(metrics["repair"], total_candidates=0, scan_limit=25)
        self.shows(metrics["workers"], active_workers=1, active_worker_scopes=1)
        self.shows(metrics["backend"], supported=True)
        self.shows(metrics["repair_policy"], redispatch_after_seconds=3)
        self.shows(metrics["matching_role"], task_dispatch_mode="poll")

    def test_a_build_that_nobody_has_is_seen_to_be_missing(self) -> None:
        self.start("wf", build_id="v9")
        self.shows(self.system("operator-metrics")["operator_metrics"]["runs"], compatibility_blocked=1)
        checks = {check["name"]: check["status"] for check in self.system("health", status="warning")["checks"]}
        self.assertEqual(checks["worker_compatibility"], "warning", checks)
        self.register(build_id="v9")
        self.system("health", status="ok")

    def test_a_server_without_trouble_is_healthy(self) -> None:
        body = self.system("health", namespace="default", status="ok", healthy=True)
        self.assertEqual([check["name"] for check in body["checks"]], [
            "engine_source", "task_transport", "activity_path", "durable_resume_paths", "worker_compatibility",
            "backend_capabilities"])

    def test_what_is_cheap_to_count_is_counted(self) -> None:
        self.register()
        self.start()
        metrics = self.system("metrics", namespace="default")["metrics"]
        self.assertGreater(metrics["store"]["commits"], 0)
        self.assertEqual(metrics["workers"], {"active": 1, "draining": 0, "stale": 0})


if __name__ == "__main__":
    unittest.main()
