"""The published Python SDK, unmodified, with large payloads in a storage of its own: `dw` keeps references to them."""
import asyncio
import pathlib
import tempfile
import unittest

from durable_workflow import Client, Worker, activity, workflow
from durable_workflow.external_storage import external_storage_driver_from_policy

from serving import Server

QUEUE, THRESHOLD = "python", 1000
LARGE = "a large letter " * 500


@activity.defn(name="py.double")
async def double(text: str) -> str:
    return text + text


@workflow.defn(name="py.letter")
class Letter:
    def __init__(self) -> None:
        self.more: list[str] = []

    def run(self, ctx, text):
        noted = yield ctx.side_effect(lambda: text)
        doubled = yield ctx.schedule_activity("py.double", [noted])
        yield ctx.wait_condition(lambda: self.more, key="more", timeout=600)
        return {"doubled": doubled, "more": self.more[0]}

    @workflow.signal("more")
    def add(self, text: str) -> None:
        self.more.append(text)


class PayloadsElsewhere(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        self.server = Server()
        self.addCleanup(lambda: self.assertEqual(self.server.stop(), 0, "SIGTERM ends it cleanly"))
        made = tempfile.TemporaryDirectory(prefix="dw-payloads-")
        self.addCleanup(made.cleanup)
        self.place = pathlib.Path(made.name).resolve()
        async with Client(self.server.url) as administrator:
            await administrator.set_namespace_external_storage(
                "default", driver="local", threshold_bytes=THRESHOLD, config={"uri": self.place.as_uri()})
            # As an application finds out where to put them.
            self.policy = (await administrator.describe_namespace("default")).external_payload_storage
        self.client = await self.enterAsyncContext(self.connect())

    def connect(self) -> Client:
        return Client(self.server.url, external_storage=external_storage_driver_from_policy(self.policy),
                      external_storage_threshold_bytes=self.policy.threshold_bytes)

    def stored(self) -> list[str]:
        return [path.relative_to(self.place).as_posix() for path in self.place.rglob("*") if path.is_file()]

    async def letter(self, text: str):
        worker = Worker(self.client, task_queue=QUEUE, workflows=[Letter], activities=[double], shutdown_timeout=5)
        working = asyncio.create_task(worker.run())
        handle = await self.client.start_workflow(workflow_type="py.letter", task_queue=QUEUE, workflow_id="letter",
                                                  input=[text])
        await handle.signal("more", [text])
        result = await handle.result(timeout=60)
        await worker.stop()
        await asyncio.wait_for(working, 30)
        return result

    async def test_what_is_large_goes_there_and_comes_back(self) -> None:
        self.assertEqual(await self.letter(LARGE), {"doubled": LARGE + LARGE, "more": LARGE})
        self.assertGreaterEqual(len(self.stored()), 3, "arguments, what the activity gave, and the result")
        async with self.connect() as somebody_else:
            described = await somebody_else.describe_workflow("letter")
        self.assertEqual((described.status, described.output), ("completed", {"doubled": LARGE + LARGE, "more": LARGE}))

    async def test_what_is_small_stays_in_history(self) -> None:
        self.assertEqual(await self.letter("x"), {"doubled": "xx", "more": "x"})
        self.assertEqual(self.stored(), [])

    async def test_the_server_tries_the_place_that_the_sdk_uses(self) -> None:
        tried = await self.client.test_external_storage(small_payload_bytes=16, large_payload_bytes=64)
        self.assertEqual((tried.status, tried.driver, tried.large_payload.bytes), ("passed", "local", 64))
        ours = tried.large_payload.reference_uri
        theirs = self.client.external_storage.put(b"abc", sha256=tried.large_payload.sha256, codec="avro")
        self.assertEqual(ours, theirs, "what has the same digest is in the same place")


if __name__ == "__main__":
    unittest.main(verbosity=2)
