"""Two namespaces that are both there: who asks in one sees and moves nothing of the other."""
import unittest
from typing import Any

from wire import QUEUE, Answer, Headers, Json, WireTest, activity, done, timer

THERE: Headers = {"X-Namespace": "shop"}
# Where a list is asked for, and what its answer calls it.
LISTS = [("/workflows", "workflows"), ("/activities", "activities"), ("/workers", "workers"),
         ("/task-queues", "task_queues"), ("/schedules", "schedules"), ("/search-attributes", "custom_attributes")]
FAILURE: Json = {"failure": {"message": "no"}}


class Isolation(WireTest):
    """A run of `default` whose worker holds a workflow task, another whose worker holds an activity task, and whatever
    else a namespace can have."""

    def setUp(self) -> None:
        super().setUp()
        self.says(self.control("POST", "/namespaces", {"name": "shop"}), 201)
        self.says(self.control("POST", "/search-attributes", {"name": "Customer", "type": "keyword"}), 201)
        self.says(self.control("POST", "/schedules", {
            "schedule_id": "nightly", "spec": {"cron_expressions": ["0 3 * * *"]}, "paused": True,
            "action": {"workflow_type": "hand.made", "task_queue": QUEUE}}), 201)
        self.says(self.control("POST", "/activities", {
            "activity_id": "alone", "activity_type": "greet", "task_queue": "nobody's"}), 201)
        self.register(capabilities=["query_tasks"])
        self.start("acting")
        task = self.poll()
        self.completed(self.complete(task, activity("greet")), task)
        self.work = self.poll("activity")
        self.run_id = self.start("wf")
        self.task = self.poll(history_page_size=1)

    def there(self, method: str, path: str, body: Any = None) -> Answer:
        return self.control(method, path, body, THERE)

    # proves: E-180
    def test_every_list_is_of_one_namespace(self) -> None:
        for path, name in LISTS:
            with self.subTest(path):
                self.assertTrue(self.says(self.control("GET", path), 200)[name])
                self.assertFalse(self.says(self.there("GET", path), 200)[name])

    # proves: E-180
    def test_what_is_asked_of_a_foreign_run_finds_none_and_changes_nothing(self) -> None:
        before = self.history(self.run_id)
        run = f"/workflows/wf/runs/{self.run_id}"
        asked = [("GET", "/workflows/wf" + tail) for tail in ("", "/runs", "/debug")]
        asked += [("GET", run + tail) for tail in ("", "/debug", "/history", "/history/export", "/result")]
        for place in ("/workflows/wf", run):
            asked += [("POST", place + tail) for tail in (
                "/signal/paid", "/query/total", "/update/raise", "/cancel", "/terminate")]
        asked += [("POST", "/workflows/wf" + tail) for tail in ("/repair", "/archive")]
        for method, path in asked:
            with self.subTest(f"{method} {path}"):
                answer = self.there(method, path, None if method == "GET" else {})
                self.assertIn(answer.body["reason"], ("instance_not_found", "run_not_found"), answer)
                self.assertEqual(answer.status, 404, answer)
        self.assertEqual(self.history(self.run_id), before)
        self.completed(self.complete(self.task, done()), self.task, "completed")

    # proves: E-180
    def test_what_else_is_named_is_not_found_either(self) -> None:
        for path, what in (("/activities/alone", "activity"), ("/workers/w1", "worker"),
                           ("/schedules/nightly", "schedule"), ("/schedules/nightly/history", "schedule")):
            with self.subTest(path):
                self.says(self.control("GET", path), 200)
                self.refused(self.there("GET", path), 404, f"{what}_not_found")
        for method, path, what in (
                ("DELETE", "/workers/w1", "worker"), ("POST", "/schedules/nightly/trigger", "schedule"),
                ("POST", "/schedules/nightly/resume", "schedule"), ("DELETE", "/schedules/nightly", "schedule"),
                ("DELETE", "/search-attributes/Customer", "attribute")):
            with self.subTest(f"{method} {path}"):
                self.refused(self.there(method, path), 404, f"{what}_not_found")
        self.shows(self.says(self.there("GET", f"/task-queues/{QUEUE}"), 200), pollers=[], current_leases=[])
        self.test_every_list_is_of_one_namespace()

    def test_a_namespace_leaves_nothing_of_its_schedules_to_the_next_of_its_name(self) -> None:
        nightly = {"schedule_id": "nightly", "spec": {"cron_expressions": ["0 3 * * *"]}, "note": "private",
                   "action": {"workflow_type": "hand.made", "task_queue": QUEUE}}
        self.says(self.there("POST", "/schedules", nightly), 201)
        self.refused(self.control("DELETE", "/namespaces/shop"), 409, "namespace_not_empty")
        self.says(self.there("DELETE", "/schedules/nightly"), 200)
        left = self.says(self.control("DELETE", "/namespaces/shop"), 200)
        self.assertEqual(left["deleted"]["workflow_schedules"], 1)
        self.says(self.control("POST", "/namespaces", {"name": "shop"}), 201)
        self.refused(self.there("GET", "/schedules/nightly/history"), 404, "schedule_not_found")

    # proves: E-180
    def test_a_namesake_of_the_worker_cannot_report_what_that_holds(self) -> None:
        worker = {"worker_id": "w1", "task_queue": QUEUE, "runtime": "rust"}
        self.says(self.worker("/register", worker, headers=THERE), 201)
        before = {name: self.history(held["run_id"], name) for name, held in (("wf", self.task), ("acting", self.work))}
        holds: Json = {"lease_owner": "w1"}
        as_holder = holds | {"workflow_task_attempt": self.task["workflow_task_attempt"]}
        as_attempt = holds | {"activity_attempt_id": self.work["activity_attempt_id"]}
        for kind, held, holder, result in (("workflow", self.task, as_holder, {"commands": [timer(60)]}),
                                           ("activity", self.work, as_attempt, {"result": 1})):
            for verb, more in (("heartbeat", {}), ("fail", FAILURE), ("complete", result)):
                with self.subTest(f"{kind} {verb}"):
                    path = f"/{kind}-tasks/{held['task_id']}/{verb}"
                    self.refused(self.worker(path, holder | more, headers=THERE), 404, "task_not_found")
        page = {"next_history_page_token": self.task["next_history_page_token"]}
        self.refused(self.worker(f"/workflow-tasks/{self.task['task_id']}/history", as_holder | page, headers=THERE),
                     404, "task_not_found")
        for kind in ("workflow", "activity"):
            poll = {"worker_id": "w1", "task_queue": QUEUE, "timeout_seconds": 0}
            self.says(self.worker(f"/{kind}-tasks/poll", poll, headers=THERE), 200, task=None)
        self.assertEqual({name: self.history(held["run_id"], name)
                          for name, held in (("wf", self.task), ("acting", self.work))}, before)
        self.completed(self.complete(self.task, done()), self.task, "completed")
        self.ended(self.tell(self.work, "complete"), self.work)


if __name__ == "__main__":
    unittest.main(verbosity=2)
