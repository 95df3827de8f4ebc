"""Activities without a workflow: the published Python SDK asks for them and runs them, `dw` keeps them."""
import asyncio
import json
import os
import subprocess
import unittest
from typing import Any

from durable_workflow import Client, Worker, activity, errors, history_bundle_verify

from serving import DW
from wire import Json, WireTest

PYTHON = "python"
HOST = "dw.standalone_activity"


@activity.defn(name="alone.greet")
async def greet(name: str) -> str:
    return f"hello {name}"


@activity.defn(name="alone.flaky")
async def flaky(until: int) -> int:
    attempt = activity.context().info.attempt_number
    if attempt < until:
        raise RuntimeError(f"attempt {attempt} is too early")
    return attempt


class Signals:
    """What activities and tests tell each other, in this process."""
    at_work: asyncio.Event
    go_on: asyncio.Event
    cancelled: asyncio.Event


@activity.defn(name="alone.silent")
async def silent(answer: str) -> str:
    Signals.at_work.set()
    await Signals.go_on.wait()
    return answer


@activity.defn(name="alone.beating")
async def beating() -> None:
    try:
        while True:
            await activity.context().heartbeat({"alive": True})
            Signals.at_work.set()
    except errors.ActivityCancelled:
        Signals.cancelled.set()
        raise


class StandaloneActivity(WireTest, unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        Signals.at_work, Signals.go_on, Signals.cancelled = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self.client = Client(self.server.url)
        self.worker_client = Client(self.server.url)
        self.python = Worker(self.worker_client, task_queue=PYTHON, activities=[greet, flaky, silent, beating],
                             shutdown_timeout=5)
        self.running = asyncio.create_task(self.python.run())

    async def asyncTearDown(self) -> None:
        Signals.go_on.set()
        await self.python.stop()
        await asyncio.wait_for(self.running, 30)
        await self.worker_client.aclose()
        await self.client.aclose()

    async def begin(self, kind: str, activity_id: str, *arguments: Any, queue: str = PYTHON, **more: Any):
        return await self.client.start_activity(activity_type=f"alone.{kind}", task_queue=queue,
                                                activity_id=activity_id, input=list(arguments), **more)

    async def end_of(self, handle) -> Any:
        return await asyncio.wait_for(handle.result(poll_interval=0.05, timeout=60), 60)

    async def is_at_work(self) -> None:
        await asyncio.wait_for(Signals.at_work.wait(), 30)

    def seen(self, activity_id: str, **expected: Any) -> Json:
        return self.says(self.control("GET", f"/activities/{activity_id}"), 200, activity_id=activity_id, **expected)

    def exported(self, activity_id: str) -> Json:
        run = self.seen(activity_id)["workflow_run_id"]
        return self.says(self.control("GET", f"/workflows/{activity_id}/runs/{run}/history/export"), 200)

    def events(self, activity_id: str) -> list[str]:
        return [event["type"] for event in self.exported(activity_id)["history_events"]]

    # ---- what becomes of one

    async def test_its_result_comes_back(self) -> None:
        handle = await self.begin("greet", "greeting", "ada", activity_class="Greeter", business_key="g-1")
        self.assertEqual(handle.workflow_type, HOST)
        self.assertEqual(await self.end_of(handle), "hello ada")
        described = await handle.describe()
        self.assertEqual(
            (described.workflow_run_id, described.activity_execution_id, described.activity_type),
            (handle.workflow_run_id, handle.activity_execution_id, "alone.greet"))
        self.assertEqual(
            (described.activity_class, described.business_key, described.task_queue, described.namespace),
            ("Greeter", "g-1", PYTHON, "default"))
        self.assertEqual(
            (described.status, described.activity_status, described.closed_reason, described.attempt_count),
            ("completed", "completed", "completed", 1))
        self.assertEqual(self.events("greeting"), ["StartAccepted", "WorkflowStarted", "ActivityScheduled",
                                                   "ActivityStarted", "ActivityCompleted", "WorkflowCompleted"])
        self.assertEqual((await self.client.describe_workflow("greeting")).output, "hello ada")

    async def test_it_is_tried_until_it_succeeds(self) -> None:
        handle = await self.begin("flaky", "flaky", 3, retry_policy={"max_attempts": 3, "backoff_seconds": [0]})
        self.assertEqual(await self.end_of(handle), 3)
        attempts = self.seen("flaky", attempt_count=3)["attempts"]
        self.assertEqual([(one["attempt_number"], one["status"]) for one in attempts],
                         [(1, "failed"), (2, "failed"), (3, "completed")])

    async def test_it_fails_when_its_tries_are_used_up(self) -> None:
        handle = await self.begin("flaky", "hopeless", 9, retry_policy={"max_attempts": 2, "backoff_seconds": [0]})
        with self.assertRaises(errors.WorkflowFailed):
            await self.end_of(handle)
        told = self.seen("hopeless", status="failed", activity_status="failed", closed_reason="failed",
                         attempt_count=2, result=None)
        self.shows(told["failure"], message="attempt 2 is too early", failure_category="activity")
        self.assertEqual(self.events("hopeless")[-4:],
                         ["ActivityRetryScheduled", "ActivityStarted", "ActivityFailed", "WorkflowFailed"])

    async def test_an_attempt_that_falls_silent_times_out(self) -> None:
        handle = await self.begin("silent", "quiet", "late", heartbeat_timeout_seconds=1)
        await self.is_at_work()
        with self.assertRaises(errors.WorkflowFailed):
            await self.end_of(handle)
        told = self.seen("quiet", status="failed", activity_status="failed")
        self.assertIn("heartbeat", told["failure"]["message"])
        self.assertEqual(told["failure"]["failure_category"], "timeout")
        self.assertEqual(self.events("quiet")[-2:], ["ActivityTimedOut", "WorkflowFailed"])

    async def test_one_that_nobody_takes_in_time_is_given_up(self) -> None:
        handle = await self.begin("greet", "unwanted", "ada", queue="nobody's", schedule_to_start_timeout_seconds=1)
        with self.assertRaises(errors.WorkflowFailed):
            await self.end_of(handle)
        self.seen("unwanted", attempt_count=0, current_attempt_id=None)

    async def test_it_hears_that_it_was_cancelled(self) -> None:
        handle = await self.begin("beating", "beats", heartbeat_timeout_seconds=30)
        await self.is_at_work()
        self.assertEqual((await handle.describe()).activity_status, "running")
        await handle.cancel(reason="enough")
        await asyncio.wait_for(Signals.cancelled.wait(), 30)
        with self.assertRaises(errors.WorkflowCancelled):
            await self.end_of(handle)
        self.seen("beats", status="cancelled", activity_status="cancelled", closed_reason="cancelled")

    async def test_a_killed_server_forgets_none_of_them(self) -> None:
        at_work = await self.begin("silent", "at-work", "here I am")
        await self.is_at_work()
        waiting = await self.begin("greet", "waiting", "grace", queue="later")
        self.restart()
        self.assertEqual((await at_work.describe()).status, "running")
        Signals.go_on.set()
        self.assertEqual(await self.end_of(at_work), "here I am")
        self.seen("at-work", attempt_count=1)

        later = Worker(self.worker_client, task_queue="later", activities=[greet], shutdown_timeout=5)
        running = asyncio.create_task(later.run())
        try:
            self.assertEqual(await self.end_of(waiting), "hello grace")
        finally:
            await later.stop()
            await asyncio.wait_for(running, 30)

    async def test_there_is_never_a_workflow_task(self) -> None:
        self.register("w1")
        await self.begin("greet", "by-hand", "ada", queue="by-hand")
        self.nothing("workflow")
        work = self.poll("activity")
        self.shows(work, activity_type="alone.greet", workflow_id="by-hand")
        self.nothing("workflow")
        self.ended(self.tell(work, "complete", {"result": "done"}), work)
        self.nothing("workflow")
        self.ended(self.tell(work, "complete", {"result": "done"}), work)  # whoever did not hear asks again
        self.assertEqual((await self.client.describe_activity("by-hand")).result, "done")

    # ---- lists

    async def test_they_are_listed_by_status_and_page_by_page(self) -> None:
        for number in range(5):
            await self.begin("greet", f"open-{number}", "ada", queue="nobody's")
        await self.end_of(await self.begin("greet", "done", "ada"))
        with self.assertRaises(errors.WorkflowFailed):
            await self.end_of(await self.begin("flaky", "broken", 2))
        await self.client.start_workflow(workflow_type="order", task_queue="nobody's", workflow_id="order", input=[])

        async def ids(**asked: Any) -> list[str]:
            return [one.activity_id for one in (await self.client.list_activities(**asked)).activities]
        opened = [f"open-{number}" for number in (4, 3, 2, 1, 0)]
        self.assertEqual(await ids(), ["broken", "done", *opened])
        self.assertEqual(await ids(status="running"), opened)
        self.assertEqual(await ids(status="completed"), ["done"])
        self.assertEqual(await ids(status="failed"), ["broken"])

        pages, token = [], None
        while not pages or token:
            page = await self.client.list_activities(status="running", page_size=2, next_page_token=token)
            pages.append([one.activity_id for one in page.activities])
            self.assertEqual(page.activity_count, len(page.activities))
            token = page.next_page_token
        self.assertEqual(pages, [opened[:2], opened[2:4], opened[4:]])

        self.invalid(self.control("GET", "/activities?status=open"), "status")
        self.invalid(self.control("GET", "/activities?page_size=0"), "page_size")
        self.refused(self.control("GET", "/activities?next_page_token=mine"), 400, "invalid_page_token")

    # ---- what is refused

    async def test_an_id_is_taken_for_life(self) -> None:
        await self.end_of(await self.begin("greet", "once", "ada"))
        with self.assertRaises(errors.WorkflowAlreadyStarted):
            await self.begin("greet", "once", "ada")
        await self.client.start_workflow(workflow_type="order", task_queue="nobody's", workflow_id="order", input=[])
        with self.assertRaises(errors.WorkflowAlreadyStarted):
            await self.begin("greet", "order", "ada")
        with self.assertRaises(errors.WorkflowAlreadyStarted):
            await self.client.start_workflow(workflow_type="order", task_queue="nobody's", workflow_id="once", input=[])

    async def test_all_mistakes_are_told_at_once(self) -> None:
        self.invalid(self.control("POST", "/activities", {"activity_id": "a b", "heartbeat_timeout_seconds": 0,
                                                          "retry_policy": {"max_attempts": "many"}}),
                     "activity_type", "task_queue", "activity_id", "heartbeat_timeout_seconds",
                     "retry_policy.max_attempts")

    async def test_its_type_is_no_workflows_type(self) -> None:
        self.invalid(self.control("POST", "/workflows", {"workflow_type": HOST}), "workflow_type")
        self.refused(self.control("GET", "/activities/nobody's"), 404, "activity_not_found")
        await self.client.start_workflow(workflow_type="order", task_queue="nobody's", workflow_id="order", input=[])
        self.refused(self.control("GET", "/activities/order"), 404, "activity_not_found")

    async def test_it_answers_to_no_signal_query_or_update(self) -> None:
        await self.begin("greet", "deaf", "ada", queue="nobody's")
        self.refused(self.control("POST", "/workflows/deaf/signal/stop", {}), 404, "unknown_signal")
        self.refused(self.control("POST", "/workflows/deaf/query/how", {}), 404, "rejected_unknown_query")
        self.refused(self.control("POST", "/workflows/deaf/update/rename", {}), 404, "unknown_update")
        self.seen("deaf", status="running", activity_status="pending")

    # ---- other ways to look at one

    async def test_an_exported_one_is_sound(self) -> None:
        await self.end_of(await self.begin("greet", "kept", "ada"))
        bundle = self.exported("kept")
        report = history_bundle_verify.verify_bundle(bundle)
        self.assertEqual(report["status"], "ok", report)
        path = os.path.join(self.server.directory.name, "kept.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(bundle, file)
        verdict = self.dw("replay:verify", path, "--json")
        self.assertEqual((verdict["verdict"], verdict["replay_diff"]["status"]), ("ok", "skipped"))

    async def test_the_command_line_shows_them(self) -> None:
        await self.end_of(await self.begin("greet", "shown", "ada"))
        listed = self.dw("activity:list", "--status=completed", "--json")
        self.assertEqual([one["activity_id"] for one in listed["activities"]], ["shown"])
        self.shows(self.dw("activity:describe", "shown", "--json"), activity_id="shown", status="completed")

    async def test_repair_finds_nothing_amiss(self) -> None:
        await self.begin("greet", "healthy", "ada", queue="nobody's")
        self.says(self.control("POST", "/workflows/healthy/repair", {}), 200, outcome="repair_not_needed")

    def dw(self, *arguments: str) -> Json:
        environment = os.environ | {"DURABLE_WORKFLOW_SERVER_URL": self.server.url}
        done = subprocess.run([DW, *arguments], env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)


if __name__ == "__main__":
    unittest.main()
