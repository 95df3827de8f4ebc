"""The published Python client, unmodified, against `dw server:dev` and its sample workflows."""
import asyncio
import unittest

from durable_workflow import Client
from durable_workflow import errors

from serving import Server

ORDER = {"customer": "ada", "address": "12 Analytical Street",
         "items": [{"sku": "engine", "count": 1}], "total_cents": 129900}


class PythonClient(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        self.server = Server()
        self.client = Client(self.server.url)

    async def asyncTearDown(self) -> None:
        await self.client.aclose()
        self.assertEqual(self.server.stop(), 0, "SIGTERM ends it cleanly")

    async def start(self, workflow_type: str, workflow_id: str, arguments: list):
        return await self.client.start_workflow(
            workflow_type=workflow_type, task_queue="default", workflow_id=workflow_id, input=arguments)

    async def result(self, handle):
        return await asyncio.wait_for(handle.result(), 60)

    async def test_a_workflow_is_started_and_its_result_comes_back(self) -> None:
        self.assertEqual((await self.client.health())["status"], "serving")
        handle = await self.start("shop.place_order", "order-1", [ORDER])
        outcome = await self.result(handle)
        self.assertEqual(outcome["status"], "shipped")
        described = await self.client.describe_workflow("order-1")
        self.assertEqual(described.status, "completed")

    async def test_a_second_start_is_refused_or_given_the_first(self) -> None:
        first = await self.start("sample.tally", "tally-1", [3])
        with self.assertRaises(errors.WorkflowAlreadyStarted):
            await self.start("sample.tally", "tally-1", [3])
        again = await self.client.start_workflow(
            workflow_type="sample.tally", task_queue="default", workflow_id="tally-1", input=[3],
            duplicate_policy="use-existing")
        self.assertEqual(again.run_id, first.run_id)

    async def test_signals_queries_and_updates_reach_it(self) -> None:
        handle = await self.start("sample.tally", "tally-1", [100])
        await handle.signal("add", [30])
        self.assertEqual((await handle.query("total"))["result"], 30)
        self.assertEqual((await handle.update("lower", [40], wait_for="completed"))["result"], 40)
        await handle.signal("add", [12])
        self.assertEqual(await self.result(handle), 42)
        self.assertEqual((await handle.query("total"))["result"], 42, "a closed run still answers")

    async def test_what_does_not_fit_is_refused_with_its_own_exception(self) -> None:
        handle = await self.start("sample.tally", "tally-1", [3])
        with self.assertRaises(errors.SignalFailed):
            await handle.signal("shout", [1])
        with self.assertRaises(errors.SignalFailed):
            await handle.signal("add", ["many"])
        with self.assertRaises(errors.QueryFailed):
            await handle.query("colour")
        with self.assertRaises(errors.WorkflowNotFound):
            await self.client.describe_workflow("nobody")
        with self.assertRaises(errors.InvalidArgument):
            await self.start("sample.tally", "tally-2", ["three"])
        with self.assertRaises(errors.NamespaceNotFound):
            async with Client(self.server.url, namespace="elsewhere") as other:
                await other.describe_workflow("tally-1")

    async def test_namespaces_are_apart_and_outlive_a_crash(self) -> None:
        made = await self.client.create_namespace("Shop", description="orders", retention_days=7)
        self.assertEqual((made.name, made.retention_days), ("shop", 7))
        with self.assertRaises(errors.ServerError):
            await self.client.create_namespace("shop")
        await self.client.update_namespace("shop", retention_days=9)
        port = int(self.server.url.rsplit(":", 1)[1])
        self.server.kill()
        self.server.start(port)
        self.assertEqual((await self.client.describe_namespace("shop")).retention_days, 9)
        await self.start("sample.tally", "tally-1", [3])
        async with Client(self.server.url, namespace="shop") as shop:
            with self.assertRaises(errors.WorkflowNotFound):
                await shop.describe_workflow("tally-1")
            await shop.start_workflow(workflow_type="sample.tally", task_queue="default", workflow_id="tally-1",
                                      input=[3])
            self.assertEqual((await shop.describe_workflow("tally-1")).status, "waiting")
        with self.assertRaises(errors.ServerError):
            await self.client.delete_namespace("shop")
        with self.assertRaises(errors.ServerError):
            await self.client.delete_namespace("default")
        await self.client.create_namespace("empty")
        await self.client.delete_namespace("empty")
        names = [namespace.name for namespace in (await self.client.list_namespaces()).namespaces]
        self.assertEqual(names, ["default", "shop"])

    async def test_it_can_be_cancelled_and_terminated(self) -> None:
        for how, status in (("cancel", "cancelled"), ("terminate", "terminated")):
            handle = await self.start("sample.tally", f"to-{how}", [3])
            await getattr(handle, how)(reason="enough")
            described = await self.client.describe_workflow(f"to-{how}")
            self.assertEqual(described.status, status)

    async def test_lists_show_what_there_is(self) -> None:
        for number in range(3):
            await self.start("sample.tally", f"tally-{number}", [3])
        listed = await self.client.list_workflows(workflow_type="sample.tally")
        ids = sorted(item.workflow_id for item in listed.executions)
        self.assertEqual(ids, ["tally-0", "tally-1", "tally-2"])

    async def test_a_killed_server_goes_on_where_it_was(self) -> None:
        handle = await self.start("sample.tally", "tally-1", [5])
        await handle.signal("add", [2])
        port = int(self.server.url.rsplit(":", 1)[1])
        self.server.kill()
        self.server.start(port)
        self.assertEqual((await handle.query("total"))["result"], 2)
        await handle.signal("add", [3])
        self.assertEqual(await self.result(handle), 5)


if __name__ == "__main__":
    unittest.main()
