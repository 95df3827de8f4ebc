"""The published Python SDK, unmodified, with servers that want to know who is there."""
import asyncio
import os
import pathlib
import tempfile
import unittest
from unittest import mock

from durable_workflow import Client, Worker, errors

from python_worker_test import QUEUE, Hello, greet
from serving import LoggedServer, certificate

ADMIN, OPERATOR, WORKER = "the-admins", "the-operators", "the-workers"
TOKENS = {"DW_ADMIN_TOKEN": ADMIN, "DW_OPERATOR_TOKEN": OPERATOR, "DW_WORKER_TOKEN": WORKER}


class CredentialsTest(unittest.IsolatedAsyncioTestCase):
    def serve(self, **settings: str) -> None:
        self.server = LoggedServer(TOKENS | settings)
        self.addCleanup(lambda: self.assertEqual(self.server.stop(), 0, "SIGTERM ends it cleanly"))

    async def client(self, **tokens: str) -> Client:
        return await self.enterAsyncContext(Client(self.server.url, **tokens))

    async def start(self, client: Client):
        return await client.start_workflow(workflow_type="py.hello", task_queue=QUEUE, workflow_id="hello", input=["ada"])

    def worker(self, client: Client) -> Worker:
        return Worker(client, task_queue=QUEUE, workflows=[Hello], activities=[greet], shutdown_timeout=5)

    async def work(self, client: Client) -> None:
        """Ends by itself only when the worker is not let in."""
        await asyncio.wait_for(self.worker(client).run(), 60)

    async def says_hello(self) -> None:
        client = await self.client(control_token=OPERATOR, worker_token=WORKER)
        worker = self.worker(client)
        running = asyncio.create_task(worker.run())
        handle = await self.start(client)
        self.assertEqual(await asyncio.wait_for(handle.result(), 60), {"text": "hello ada"})
        await worker.stop()
        await asyncio.wait_for(running, 30)


class Tokens(CredentialsTest):
    def setUp(self) -> None:
        self.serve()

    async def test_operators_start_what_workers_run(self) -> None:
        await self.says_hello()

    async def test_a_wrong_token_opens_nothing(self) -> None:
        for tokens in ({}, {"token": "a-guess"}, {"control_token": "a-guess", "worker_token": WORKER}):
            with self.subTest(tokens), self.assertRaises(errors.Unauthorized):
                await (await self.client(**tokens)).list_workflows()
        # What these need to know of the server first is not for strangers, either.
        for what, tokens in ((self.start, {"token": "a-guess"}),
                             (self.work, {"control_token": OPERATOR, "worker_token": "a-guess"})):
            with self.assertRaises((errors.RuntimeDiscoveryUnavailable, RuntimeError)) as refused:
                await what(await self.client(**tokens))
            self.assertIsInstance(refused.exception.__cause__, errors.Unauthorized)

    async def test_a_role_does_what_is_its_own_only(self) -> None:
        for token in (OPERATOR, ADMIN):
            with self.assertRaises(errors.ServerError) as refused:
                await self.work(await self.client(token=token))
            self.assertEqual((refused.exception.status, refused.exception.reason()), (403, "forbidden"))
        with self.assertRaises(errors.ServerError) as refused:
            await self.start(await self.client(token=WORKER))
        self.assertEqual((refused.exception.status, refused.exception.reason()), (403, "forbidden"))
        with self.assertRaises(errors.ServerError) as refused:
            await (await self.client(token=OPERATOR)).create_namespace("shop")
        self.assertEqual(refused.exception.status, 403)


class Encrypted(CredentialsTest):
    async def test_a_workflow_is_run_over_tls(self) -> None:
        directory = self.enterContext(tempfile.TemporaryDirectory(prefix="dw-interop-"))
        trusted, key = certificate(pathlib.Path(directory))
        self.serve(DW_TLS_CERT=trusted, DW_TLS_KEY=key)
        self.assertTrue(self.server.url.startswith("https://"))
        with self.assertRaisesRegex(Exception, "(?i)certificate"):
            await self.start(await self.client(token=OPERATOR))
        self.enterContext(mock.patch.dict(os.environ, SSL_CERT_FILE=trusted))
        await self.says_hello()


if __name__ == "__main__":
    unittest.main()
