"""The published Python SDK, unmodified: its workers run the code, `dw` keeps the history."""
import asyncio
import contextlib
import logging
import pathlib
import sqlite3
import unittest

from durable_workflow import ActivityRetryPolicy, Client, Worker, activity, errors, testing, workflow

from serving import LostAnswers, Server

QUEUE = "python"


@activity.defn(name="py.greet")
async def greet(name: str) -> str:
    return f"hello {name}"


@activity.defn(name="py.square")
async def square(number: int) -> int:
    return number * number


@activity.defn(name="py.flaky")
async def flaky(until: int) -> int:
    attempt = activity.context().info.attempt_number
    if attempt < until:
        raise RuntimeError(f"attempt {attempt} is too early")
    return attempt


@activity.defn(name="py.refuse")
async def refuse(what: str) -> None:
    raise ValueError(f"no {what} today")


class Signals:
    """What activities and tests tell each other, in this process."""
    beating = None
    cancelled = None
    charging = None
    charged = None
    charges = 0
    gates = []
    moods = []


@activity.defn(name="py.mood")
async def mood() -> str:
    left = Signals.moods.pop(0)
    if left == "bad":
        raise RuntimeError("not today")
    return left


@activity.defn(name="py.charge")
async def charge() -> int:
    Signals.charges += 1
    Signals.charging.set()
    await Signals.charged.wait()
    return Signals.charges


@activity.defn(name="py.beat_until_cancelled")
async def beat_until_cancelled() -> None:
    context = activity.context()
    try:
        while True:
            await context.heartbeat({"alive": True})
            Signals.beating.set()
    except errors.ActivityCancelled:
        Signals.cancelled.set()
        raise


@workflow.defn(name="py.hello")
class Hello:
    def run(self, ctx, name):
        text = yield ctx.schedule_activity("py.greet", [name])
        return {"text": text}


@workflow.defn(name="py.retries")
class Retries:
    def run(self, ctx, until):
        policy = ActivityRetryPolicy(max_attempts=until, backoff_seconds=[0])
        return (yield ctx.schedule_activity("py.flaky", [until], retry_policy=policy))


@workflow.defn(name="py.survives")
class Survives:
    def run(self, ctx, what):
        try:
            yield ctx.schedule_activity("py.refuse", [what])
        except errors.ActivityFailed as failure:
            return f"gave up: {failure}"


@workflow.defn(name="py.fails")
class Fails:
    def run(self, ctx, what):
        yield ctx.schedule_activity("py.refuse", [what])


@workflow.defn(name="py.sleeper")
class Sleeper:
    def run(self, ctx, seconds):
        before = ctx.now()
        yield ctx.sleep(seconds)
        return (ctx.now() - before).total_seconds() >= 0


@workflow.defn(name="py.squares")
class Squares:
    def run(self, ctx, numbers):
        return (yield [ctx.schedule_activity("py.square", [number]) for number in numbers])


@workflow.defn(name="py.mixed")
class Mixed:
    def run(self, ctx):
        return (yield [ctx.schedule_activity("py.square", [3]), ctx.start_timer(1),
                       [ctx.start_child_workflow("py.hello", ["ada"]), ctx.schedule_activity("py.square", [4])]])


@workflow.defn(name="py.parent")
class Parent:
    def run(self, ctx, name):
        answer = yield ctx.start_child_workflow("py.hello", [name])
        return answer["text"].upper()


@activity.defn(name="py.gate")
async def gate(number: int) -> int:
    await Signals.gates[number].wait()
    return number


@workflow.defn(name="py.gated")
class Gated:
    def run(self, ctx, count):
        return (yield [ctx.schedule_activity("py.gate", [number]) for number in range(count)])


@workflow.defn(name="py.charges")
class Charges:
    def run(self, ctx):
        return (yield ctx.schedule_activity("py.charge", []))


@workflow.defn(name="py.moody")
class Moody:
    def run(self, ctx):
        return (yield ctx.schedule_activity("py.mood", []))


@workflow.defn(name="py.patient")
class Patient:
    def run(self, ctx):
        policy = workflow.ChildWorkflowRetryPolicy(max_attempts=3, backoff_seconds=[0])
        try:
            return (yield ctx.start_child_workflow("py.moody", [], retry_policy=policy))
        except errors.ChildWorkflowFailed as failure:
            return f"gave up: {failure}"


@workflow.defn(name="py.approval")
class Approval:
    def __init__(self) -> None:
        self.votes: list[str] = []

    def run(self, ctx, wanted):
        enough = yield ctx.wait_condition(lambda: len(self.votes) >= wanted, key="votes", timeout=600)
        return {"enough": enough, "votes": self.votes}

    @workflow.signal("vote")
    def vote(self, by: str) -> None:
        self.votes.append(by)

    @workflow.query("votes")
    def count(self) -> int:
        return len(self.votes)

    @workflow.update("replace")
    def replace(self, names: list) -> int:
        if not names:
            raise ValueError("nobody is not a voter")
        self.votes = list(names)
        return len(self.votes)


@workflow.defn(name="py.impatient")
class Impatient:
    def run(self, ctx):
        return (yield ctx.wait_condition(lambda: False, key="never", timeout=1))


@workflow.defn(name="py.recorder")
class Recorder:
    def run(self, ctx):
        number = yield ctx.side_effect(lambda: 42)
        version = yield ctx.get_version("rewrite", 1, 3)
        yield ctx.upsert_search_attributes({"Stage": "late"})
        yield ctx.schedule_activity("py.square", [2])
        return [number, version]


@workflow.defn(name="py.countdown")
class Countdown:
    def run(self, ctx, left, seen):
        if left == 0:
            return seen
        yield ctx.schedule_activity("py.square", [left])
        return ctx.continue_as_new(left - 1, seen + [left])


@workflow.defn(name="py.heartbeats")
class Heartbeats:
    def run(self, ctx):
        yield ctx.schedule_activity("py.beat_until_cancelled", [], heartbeat_timeout=30)


class Heard(logging.Handler):
    """Whether that was logged."""

    def __init__(self, words: str) -> None:
        super().__init__()
        self.words, self.happened = words, asyncio.Event()

    def emit(self, record: logging.LogRecord) -> None:
        if self.words in record.getMessage():
            self.happened.set()


WORKFLOWS = [Hello, Retries, Survives, Fails, Sleeper, Squares, Mixed, Parent, Gated, Charges, Moody, Patient, Approval, Impatient, Recorder,
             Countdown, Heartbeats]
ACTIVITIES = [mood, charge, gate, greet, square, flaky, refuse, beat_until_cancelled]


class PythonWorker(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        self.server = Server()
        self.client = Client(self.server.url)
        Signals.beating, Signals.cancelled = asyncio.Event(), asyncio.Event()
        self.start_worker()

    async def asyncTearDown(self) -> None:
        await self.stop_worker()
        await self.client.aclose()
        self.assertEqual(self.server.stop(), 0, "SIGTERM ends it cleanly")

    def start_worker(self, url: str | None = None) -> None:
        self.worker_client = Client(url or self.server.url)
        self.worker = Worker(self.worker_client, task_queue=QUEUE, workflows=WORKFLOWS, activities=ACTIVITIES,
                             shutdown_timeout=5)
        self.running = asyncio.create_task(self.worker.run())

    async def stop_worker(self) -> None:
        await self.worker.stop()
        await asyncio.wait_for(self.running, 30)
        await self.worker_client.aclose()

    async def start(self, workflow_type: str, workflow_id: str, *arguments):
        return await self.client.start_workflow(
            workflow_type=workflow_type, task_queue=QUEUE, workflow_id=workflow_id, input=list(arguments))

    async def result(self, handle):
        return await asyncio.wait_for(handle.result(), 60)

    async def until(self, condition) -> None:
        async def look() -> None:
            while not await condition():  # each look is a round trip to the server
                pass
        await asyncio.wait_for(look(), 60)

    async def recorded(self, handle) -> list[str]:
        history = await self.client.get_history(handle.workflow_id, handle.run_id)
        return [event["event_type"] for event in history["events"]]

    async def until_recorded(self, handle, event_type: str) -> None:
        async def there() -> bool:
            return event_type in await self.recorded(handle)
        await self.until(there)

    async def run_of(self, workflow_type: str, *arguments):
        return await self.result(await self.start(workflow_type, workflow_type.replace(".", "-"), *arguments))

    async def test_an_activity_is_run_and_its_result_comes_back(self) -> None:
        self.assertEqual(await self.run_of("py.hello", "ada"), {"text": "hello ada"})

    async def test_an_activity_is_tried_until_it_succeeds(self) -> None:
        self.assertEqual(await self.run_of("py.retries", 3), 3)

    async def test_a_failed_activity_is_an_exception_that_can_be_caught(self) -> None:
        self.assertIn("no tea today", await self.run_of("py.survives", "tea"))

    async def test_a_failure_nobody_catches_ends_the_workflow(self) -> None:
        handle = await self.start("py.fails", "fails", "milk")
        with self.assertRaisesRegex(errors.WorkflowFailed, "no milk today"):
            await self.result(handle)

    async def test_timers_fire(self) -> None:
        self.assertTrue(await self.run_of("py.sleeper", 1))

    async def test_parallel_results_come_in_the_order_they_were_asked_for(self) -> None:
        self.assertEqual(await self.run_of("py.squares", [1, 2, 3, 4, 5]), [1, 4, 9, 16, 25])

    async def test_groups_mix_activities_timers_and_children(self) -> None:
        outcome = await self.run_of("py.mixed")
        self.assertEqual([outcome[0], outcome[2]], [9, [{"text": "hello ada"}, 16]])

    async def test_a_child_workflow_answers_its_parent(self) -> None:
        self.assertEqual(await self.run_of("py.parent", "ada"), "HELLO ADA")

    async def test_a_child_that_fails_is_run_again_as_often_as_its_call_allows(self) -> None:
        Signals.moods = ["bad", "bad", "good"]
        self.assertEqual(await self.run_of("py.patient"), "good")
        Signals.moods = ["bad"] * 3
        self.assertIn("not today", await self.result(await self.start("py.patient", "in-vain")))
        self.assertEqual(Signals.moods, [], "it was run three times and no more")

    async def test_signals_satisfy_a_condition_and_queries_see_them(self) -> None:
        handle = await self.start("py.approval", "approval", 2)
        await handle.signal("vote", ["ada"])
        async def one_vote():
            return (await self.client.query_workflow("approval", "votes"))["result"] == 1
        await self.until(one_vote)
        await handle.signal("vote", ["grace"])
        self.assertEqual(await self.result(handle), {"enough": True, "votes": ["ada", "grace"]})

    async def test_history_tells_how_a_condition_came_to_hold(self) -> None:
        handle = await self.start("py.approval", "told", 1)
        await self.until_recorded(handle, "ConditionWaitOpened")
        await handle.signal("vote", ["ada"])
        await self.result(handle)
        waits = [event for event in await self.recorded(handle) if event.startswith(("Condition", "Signal"))]
        self.assertEqual(waits, ["ConditionWaitOpened", "SignalReceived", "ConditionWaitSatisfied", "SignalApplied"])

    async def test_results_come_in_the_order_of_the_calls_not_of_the_ends(self) -> None:
        Signals.gates = [asyncio.Event() for _ in range(4)]
        handle = await self.start("py.gated", "gated", 4)
        for number in reversed(range(4)):
            Signals.gates[number].set()

            async def ended(wanted=4 - number) -> bool:
                return (await self.recorded(handle)).count("ActivityCompleted") == wanted
            await self.until(ended)
        self.assertEqual(await self.result(handle), [0, 1, 2, 3])

    async def test_a_hundred_signals_at_once_are_all_heard(self) -> None:
        handle = await self.start("py.approval", "crowd", 100)
        await asyncio.gather(*(handle.signal("vote", [str(n)]) for n in range(100)))
        outcome = await self.result(handle)
        self.assertEqual(sorted(map(int, outcome["votes"])), list(range(100)))

    async def test_an_update_changes_state_and_answers(self) -> None:
        handle = await self.start("py.approval", "updated", 3)
        done = await handle.update("replace", [["a", "b"]], wait_for="completed", wait_timeout_seconds=30)
        self.assertEqual(done["result"], 2)
        with self.assertRaises(Exception) as refused:
            await handle.update("replace", [[]], wait_for="completed", wait_timeout_seconds=30)
        self.assertIn("nobody is not a voter", str(refused.exception))
        await handle.update("replace", [["a", "b", "c"]], wait_for="completed", wait_timeout_seconds=30)
        self.assertEqual((await self.result(handle))["votes"], ["a", "b", "c"])

    async def test_a_condition_times_out(self) -> None:
        self.assertFalse(await self.run_of("py.impatient"))

    async def test_side_effects_versions_and_search_attributes_are_recorded(self) -> None:
        self.assertEqual(await self.run_of("py.recorder"), [42, 3])
        described = await self.client.describe_workflow("py-recorder")
        self.assertEqual(described.search_attributes["Stage"], "late")

    async def test_a_workflow_continues_as_new(self) -> None:
        handle = await self.start("py.countdown", "countdown", 3, [])
        async def closed():
            described = await self.client.describe_workflow("countdown")
            return described.status == "completed"
        await self.until(closed)
        described = await self.client.describe_workflow("countdown")
        self.assertEqual(described.output, [3, 2, 1])
        self.assertEqual(len((await self.client.list_workflow_runs("countdown")).runs), 4)

    async def test_an_activity_hears_that_its_workflow_was_cancelled(self) -> None:
        handle = await self.start("py.heartbeats", "beats")
        await asyncio.wait_for(Signals.beating.wait(), 30)
        await handle.cancel(reason="enough")
        await asyncio.wait_for(Signals.cancelled.wait(), 30)
        with self.assertRaises(errors.WorkflowCancelled):
            await self.result(handle)

    # proves: E-110
    async def test_an_exported_run_replays_in_the_sdk(self) -> None:
        handle = await self.start("py.recorder", "exported")
        await self.result(handle)
        bundle = await self.client.export_history("exported", handle.run_id)
        self.assertEqual(bundle["schema"], "durable-workflow.v2.history-export")
        outcome = testing.replay_history(Recorder, bundle["history_events"], [])
        self.assertEqual(outcome.commands[-1].result, [42, 3])

    async def test_a_worker_that_was_stopped_is_taken_over_by_the_next(self) -> None:
        handle = await self.start("py.approval", "handed-over", 2)
        await handle.signal("vote", ["ada"])
        async def one_vote():
            return (await self.client.query_workflow("handed-over", "votes"))["result"] == 1
        await self.until(one_vote)
        await self.stop_worker()
        self.start_worker()
        await handle.signal("vote", ["grace"])
        self.assertEqual((await self.result(handle))["votes"], ["ada", "grace"])

    async def test_a_result_that_the_store_cannot_take_is_kept_until_it_can(self) -> None:
        Signals.charging, Signals.charged = asyncio.Event(), asyncio.Event()
        handle = await self.start("py.charges", "charge")
        await asyncio.wait_for(Signals.charging.wait(), 60)
        store = pathlib.Path(self.server.directory.name) / "dw.db"
        with contextlib.closing(sqlite3.connect(store, isolation_level=None)) as somebody_else:
            somebody_else.execute("BEGIN IMMEDIATE")
            refused = Heard("storage admission paused")
            log = logging.getLogger("durable_workflow.worker")
            log.addHandler(refused)
            self.addCleanup(log.removeHandler, refused)
            Signals.charged.set()
            await asyncio.wait_for(refused.happened.wait(), 60)
            somebody_else.execute("ROLLBACK")
        self.assertEqual(await self.result(handle), 1)
        self.assertEqual(Signals.charges, 1)

    async def test_a_server_that_dies_before_it_answers_answers_the_repeat(self) -> None:
        await self.stop_worker()
        reports = [rf"/api/worker/{kind}-tasks/[^/]+/complete" for kind in ("activity", "workflow")]
        between = LostAnswers(self.server, reports)
        self.addCleanup(between.close)
        self.start_worker(between.url)
        handle = await self.start("py.hello", "hello", "ada")
        self.assertTrue(await asyncio.to_thread(between.all_lost.wait, 60), f"still to be reported: {between.lost}")
        self.assertEqual(await self.result(handle), {"text": "hello ada"})
        self.assertEqual(await self.recorded(handle), ["StartAccepted", "WorkflowStarted", "ActivityScheduled", "ActivityStarted",
                                                       "ActivityCompleted", "WorkflowCompleted"])
        self.assertEqual(await self.run_of("py.hello", "bob"), {"text": "hello bob"})

    async def test_a_killed_server_goes_on_where_it_was(self) -> None:
        await self.run_of("py.hello", "ada")  # a worker that cannot even register gives up
        handles = [await self.start("py.sleeper", f"sleeper-{n}", 2) for n in range(5)]
        waiting = await self.start("py.approval", "waiting", 1)
        for handle in handles:  # each is in the middle of it
            await self.until_recorded(handle, "TimerScheduled")
        port = int(self.server.url.rsplit(":", 1)[1])
        self.server.kill()
        self.server.start(port)
        await waiting.signal("vote", ["ada"])
        self.assertEqual((await self.result(waiting))["votes"], ["ada"])
        for handle in handles:
            self.assertTrue(await self.result(handle))


if __name__ == "__main__":
    unittest.main()
