"""One workflow, three languages: activities in Python and Rust workers, and in the server's own C++."""
import asyncio
import unittest

from durable_workflow import Client, Worker, activity, workflow

from rust_worker_test import QUEUE as RUST_QUEUE
from rust_worker_test import RustProgram
from serving import Server

PYTHON_QUEUE = "python"

# What every language has words for.
EVERYTHING = {"text": "Grüße, 世界 ✓", "whole": -(2**53), "part": 0.1, "yes": True, "none": None,
              "list": [1, [], {}, "two"], "nested": {"a": {"b": [{"c": None}]}}}


@activity.defn(name="py.shout")
async def shout(text: str) -> str:
    return text.upper()


@activity.defn(name="py.echo")
async def echo(value):
    return value


@workflow.defn(name="py.errand")
class Errand:
    """One after the other, each with what the one before gave."""

    def run(self, ctx, name):
        greeting = yield ctx.schedule_activity("rust.greet", [name], queue=RUST_QUEUE)
        loud = yield ctx.schedule_activity("py.shout", [greeting])
        paid = yield ctx.schedule_activity("shop.charge_card", [loud, 100])
        return [greeting, loud, paid.split("-")[0]]


@workflow.defn(name="py.crowd")
class Crowd:
    """All at once."""

    def run(self, ctx, value):
        return (yield [ctx.schedule_activity("rust.echo", [value], queue=RUST_QUEUE),
                       ctx.schedule_activity("py.echo", [value]),
                       ctx.schedule_activity("shop.charge_card", ["ada", 100]),
                       ctx.schedule_activity("rust.square", [12], queue=RUST_QUEUE)])


@workflow.defn(name="py.delegate")
class Delegate:
    def run(self, ctx, workflow_type, queue, arguments):
        return (yield ctx.start_child_workflow(workflow_type, arguments, task_queue=queue))


class Polyglot(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        self.server = Server()
        self.addCleanup(lambda: self.assertEqual(self.server.stop(), 0, "SIGTERM ends it cleanly"))
        self.client = Client(self.server.url)
        self.addAsyncCleanup(self.client.aclose)
        self.rust = RustProgram("worker", self.server.url)
        self.addCleanup(self.rust.kill)
        await asyncio.to_thread(self.rust.says)
        self.worker = Worker(self.client, task_queue=PYTHON_QUEUE, workflows=[Errand, Crowd, Delegate],
                             activities=[shout, echo], shutdown_timeout=5)
        self.running = asyncio.create_task(self.worker.run())

    async def asyncTearDown(self) -> None:
        await self.worker.stop()
        await asyncio.wait_for(self.running, 30)

    async def outcome(self, workflow_type: str, queue: str, *arguments):
        handle = await self.client.start_workflow(
            workflow_type=workflow_type, task_queue=queue, workflow_id=workflow_type, input=list(arguments))
        return await asyncio.wait_for(handle.result(), 60)

    async def test_a_python_workflow_calls_rust_python_and_the_server(self) -> None:
        self.assertEqual(await self.outcome("py.errand", PYTHON_QUEUE, "ada"),
                         ["hello ada", "HELLO ADA", "payment"])

    async def test_all_of_them_work_for_it_at_once(self) -> None:
        rust, python, paid, square = await self.outcome("py.crowd", PYTHON_QUEUE, EVERYTHING)
        self.assertEqual((rust, python, square), (EVERYTHING, EVERYTHING, 144))
        self.assertTrue(paid.startswith("payment-"), paid)

    async def test_a_rust_workflow_calls_python_and_the_server(self) -> None:
        echoed = await self.outcome("rust.calls", RUST_QUEUE, "py.echo", PYTHON_QUEUE, [EVERYTHING])
        self.assertEqual(echoed, EVERYTHING)
        order = {"customer": "ada", "address": "12 St James's Square", "items": [{"sku": "card", "count": 3}],
                 "total_cents": 100}
        shipped = await self.outcome("rust.relay", RUST_QUEUE, "shop.place_order", RUST_QUEUE, [order])
        self.assertEqual(shipped["answer"]["status"], "shipped")

    async def test_a_child_may_speak_another_language(self) -> None:
        self.assertEqual(await self.outcome("py.delegate", PYTHON_QUEUE, "rust.relay", RUST_QUEUE,
                                            ["py.errand", PYTHON_QUEUE, ["ada"]]),
                         {"answer": ["hello ada", "HELLO ADA", "payment"]})


if __name__ == "__main__":
    unittest.main()
