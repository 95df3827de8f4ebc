"""The published Python worker as scripts use it: `run_until` works for one workflow and comes back with its end."""
import unittest

from durable_workflow import Client, Worker, activity, workflow
from durable_workflow.interceptors import PassthroughWorkerInterceptor

from serving import LoggedServer

QUEUE = "script"
# Less than two polls that find nothing take: each activity but the first would have to wait for one.
DEADLINE = 60

BETWEEN = {"POST /api/worker/heartbeat 200", "POST /api/worker/query-tasks/poll 200"}
LOOK = "GET /api/workflows/{workflow} 200"
POLL, ACTIVITY_POLL = "POST /api/worker/workflow-tasks/poll 200", "POST /api/worker/activity-tasks/poll 200"
COMPLETE = "POST /api/worker/workflow-tasks/{task}/complete 200"
ACTIVITY_COMPLETE = "POST /api/worker/activity-tasks/{task}/complete 200"


@activity.defn(name="script.greet")
async def greet(name: str) -> str:
    return f"hello {name}"


@activity.defn(name="script.square")
async def square(number: int) -> int:
    return number * number


@workflow.defn(name="script.hello")
class Hello:
    def __init__(self) -> None:
        self.greeted = "nobody yet"

    def run(self, ctx, name):
        text = yield ctx.schedule_activity("script.greet", [name])
        self.greeted = name
        return {"text": text}

    @workflow.query("greeted")
    def who(self) -> str:
        return self.greeted


@workflow.defn(name="script.squares")
class Squares:
    def run(self, ctx, numbers):
        return (yield [ctx.schedule_activity("script.square", [number]) for number in numbers])


class Notes(PassthroughWorkerInterceptor):
    """What the worker was given to do, and what it answered."""

    def __init__(self) -> None:
        self.tasks: list[tuple[list[str], list[str]]] = []
        self.activities: list[str] = []
        self.during_activity = None

    async def execute_workflow_task(self, context, next):
        commands = await next(context)
        events = [event["event_type"] for event in context.task["history_events"]]
        self.tasks.append((events, [command["type"] for command in commands or []]))
        return commands

    async def execute_activity(self, context, next):
        self.activities.append(context.activity_type)
        if self.during_activity:
            await self.during_activity()
        return await next(context)


class RunUntil(unittest.IsolatedAsyncioTestCase):
    maxDiff = None

    async def asyncSetUp(self) -> None:
        self.server = LoggedServer()
        self.addCleanup(lambda: self.assertEqual(self.server.stop(), 0, "SIGTERM ends it cleanly"))
        self.client = await self.enterAsyncContext(Client(self.server.url))
        self.notes = Notes()
        self.worker = Worker(self.client, task_queue=QUEUE, workflows=[Hello, Squares], activities=[greet, square],
                             shutdown_timeout=5, interceptors=[self.notes])

    async def start(self, workflow_type: str, workflow_id: str, *arguments):
        return await self.client.start_workflow(
            workflow_type=workflow_type, task_queue=QUEUE, workflow_id=workflow_id, input=list(arguments))

    async def run_until(self, workflow_id: str):
        return await self.worker.run_until(workflow_id=workflow_id, timeout=DEADLINE)

    def answered(self) -> list[str]:
        """By the server, which is at its end then, to whoever waited for it."""
        self.server.end()
        return [line for line in self.server.answered() if line not in BETWEEN]

    async def test_one_activity_call_by_call(self) -> None:
        self.assertEqual((await self.client.health())["status"], "serving")
        handle = await self.start("script.hello", "hello", "ada")
        ended = await self.run_until("hello")
        self.assertEqual((ended.run_id, ended.status, ended.output), (handle.run_id, "completed", {"text": "hello ada"}))
        self.assertEqual(await handle.result(timeout=DEADLINE), {"text": "hello ada"})

        (first, asked), (second, said) = self.notes.tasks
        self.assertEqual((first, asked), (["StartAccepted", "WorkflowStarted"], ["schedule_activity"]))
        self.assertEqual(self.notes.activities, ["script.greet"])
        self.assertEqual((second[:2], second[-1], said), (first, "ActivityCompleted", ["complete_workflow"]))
        self.assertEqual(self.answered(), [
            "GET /api/health 200",
            "GET /api/cluster/info 200",  # once for each client: where do payloads go?
            "POST /api/workflows 201",
            "GET /api/cluster/info 200",
            "POST /api/worker/register 201",
            LOOK, POLL, COMPLETE,
            LOOK, ACTIVITY_POLL, ACTIVITY_COMPLETE,
            LOOK, POLL, COMPLETE,
            LOOK,
            "DELETE /api/worker/registrations/{worker} 200",
            LOOK, "GET /api/workflows/{workflow}/runs/{run}/history 200"])

    async def test_meanwhile_others_see_it_wait_and_ask_it(self) -> None:
        seen = []

        async def ask() -> None:
            async with Client(self.server.url) as other:
                seen.append((await other.describe_workflow("hello")).status)
                seen.append((await other.query_workflow("hello", "greeted"))["result"])

        self.notes.during_activity = ask
        handle = await self.start("script.hello", "hello", "ada")
        self.assertEqual((await handle.describe()).status, "pending")
        await self.run_until("hello")
        self.assertEqual(seen, ["waiting", "nobody yet"])
        self.assertEqual(await handle.result(timeout=DEADLINE), {"text": "hello ada"})

    # A worker that asks for one kind of task at a time is not left to wait for the other one.
    async def test_parallel_activities_are_done_one_after_the_other(self) -> None:
        handle = await self.start("script.squares", "squares", [2, 3, 4])
        ended = await self.run_until("squares")
        self.assertEqual((ended.status, ended.output), ("completed", [4, 9, 16]))
        self.assertEqual(await handle.result(timeout=DEADLINE), [4, 9, 16])
        self.assertEqual(self.notes.tasks[0][1], ["schedule_activity"] * 3)
        self.assertEqual(self.notes.activities, ["script.square"] * 3)
        self.assertEqual(self.notes.tasks[-1][1], ["complete_workflow"])
        self.assertEqual(self.answered().count(ACTIVITY_COMPLETE), 3)


if __name__ == "__main__":
    unittest.main()
