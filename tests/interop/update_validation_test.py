"""Updates with validators: the published Python SDK, unmodified, and the same tasks spoken by hand."""
import asyncio
import unittest
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from durable_workflow import Client, Worker, errors, workflow

from serving import Server
from wire import PATIENCE, QUEUE, Answer, Json, WireTest, envelope, types

TAB_QUEUE = "tabs"


@workflow.defn(name="py.tab")
class Tab:
    """A tab with room for so many items; it is paid when it is full."""

    def __init__(self) -> None:
        self.items: list[str] = []
        self.room = 0

    def run(self, ctx, room):
        self.room = room
        yield ctx.wait_condition(lambda: len(self.items) >= room, key="full", timeout=600)
        return self.items

    @workflow.update("add")
    def add(self, item: str) -> int:
        self.items.append(item)
        return len(self.items)

    @add.validator
    def check_add(self, item: str) -> None:
        if not item:
            raise ValueError("nothing is not an item")
        if item in self.items:
            raise errors.InvalidArgument("twice is once too often", {"item": [f"{item} is there already"]})

    @workflow.update("drop")
    def drop(self, item: str) -> int:
        self.items.remove(item)
        return len(self.items)


class PythonValidators(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        self.server = Server()
        self.client = Client(self.server.url)
        self.worker: Worker | None = None

    async def asyncTearDown(self) -> None:
        await self.stop_worker()
        await self.client.aclose()
        self.assertEqual(self.server.stop(), 0, "SIGTERM ends it cleanly")

    async def start_worker(self) -> None:
        self.worker_client = Client(self.server.url)
        self.worker = Worker(self.worker_client, task_queue=TAB_QUEUE, workflows=[Tab], activities=[],
                             shutdown_timeout=5)
        self.running = asyncio.create_task(self.worker.run())
        async def registered() -> None:
            while not (await self.client.list_workers(task_queue=TAB_QUEUE, status="active")).workers:
                self.assertFalse(self.running.done(), "a worker with validators may register")
        await asyncio.wait_for(registered(), 60)

    async def stop_worker(self) -> None:
        if self.worker is None:
            return
        await self.worker.stop()
        await asyncio.wait_for(self.running, 30)
        await self.worker_client.aclose()
        self.worker = None

    async def open_tab(self, room: int):
        return await self.client.start_workflow(
            workflow_type="py.tab", task_queue=TAB_QUEUE, workflow_id="tab", input=[room])

    async def add(self, item: str, **more: Any) -> Any:
        return (await self.client.update_workflow("tab", "add", args=[item], wait_for="completed",
                                                  wait_timeout_seconds=30, **more))["result"]

    async def recorded(self, handle) -> list[str]:
        events = (await self.client.get_history("tab", handle.run_id))["events"]
        return [kind for kind in types(events) if kind.startswith("Update")]

    async def test_what_the_validator_approves_is_done(self) -> None:
        await self.start_worker()
        handle = await self.open_tab(2)
        self.assertEqual(await self.add("tea"), 1)
        self.assertEqual(await self.add("cake"), 2)
        self.assertEqual(await asyncio.wait_for(handle.result(), 60), ["tea", "cake"])

    async def test_what_it_rejects_comes_back_as_its_own_words_and_leaves_no_trace(self) -> None:
        await self.start_worker()
        handle = await self.open_tab(2)
        with self.assertRaisesRegex(errors.UpdateRejected, "nothing is not an item"):
            await self.add("")
        self.assertEqual(await self.recorded(handle), [])

    async def test_of_two_updates_one_is_rejected_for_what_the_other_did(self) -> None:
        await self.start_worker()
        handle = await self.open_tab(3)
        self.assertEqual(await self.add("tea"), 1)
        with self.assertRaisesRegex(errors.UpdateRejected, "twice is once too often") as refused:
            await self.add("tea")
        self.assertEqual(refused.exception.validation_errors, {"item": ["tea is there already"]})
        self.assertEqual(await self.add("cake"), 2)
        self.assertEqual((await self.recorded(handle)).count("UpdateAccepted"), 2)

    async def test_an_update_without_a_validator_waits_for_nobody(self) -> None:
        await self.start_worker()
        await self.open_tab(2)
        await self.add("tea")
        await self.stop_worker()
        accepted = await self.client.update_workflow("tab", "drop", args=["tea"])
        self.assertEqual(accepted["update_status"], "accepted")

    async def test_without_a_worker_it_is_refused_until_there_is_one_again(self) -> None:
        await self.start_worker()
        handle = await self.open_tab(2)
        self.assertEqual(await self.add("tea"), 1)
        await self.stop_worker()
        for _ in ("while the server runs", "after it was killed"):
            with self.assertRaises(errors.UpdateValidationFailed) as refused:
                await self.add("cake", request_id="cake-1")
            self.assertEqual((refused.exception.reason, refused.exception.retryable),
                             ("update_validator_worker_unavailable", True))
            port = int(self.server.url.rsplit(":", 1)[1])
            self.server.kill()
            self.server.start(port)
        await self.start_worker()
        self.assertEqual(await self.add("cake", request_id="cake-1"), 2)
        self.assertEqual(await self.add("cake", request_id="cake-1"), 2, "the same request is done once")
        self.assertEqual(await asyncio.wait_for(handle.result(), 60), ["tea", "cake"])

    async def test_a_run_that_began_before_its_worker_is_validated_too(self) -> None:
        await self.open_tab(1)
        await self.start_worker()
        with self.assertRaisesRegex(errors.UpdateRejected, "nothing is not an item"):
            await self.add("")
        self.assertEqual(await self.add("tea"), 1)


# ---- spoken by hand

BOTH = ["workflow", "update_validation"]
CONTRACTS = {"hand.made": {"updates": ["rename", "touch"], "update_validators": ["rename"]}}


class ValidationTasks(WireTest):
    def setUp(self) -> None:
        super().setUp()
        self.callers = ThreadPoolExecutor()
        self.addCleanup(self.callers.shutdown)
        self.enlist()
        self.run_id = self.start("wf", "ada")

    def enlist(self, worker: str = "w1", **more: Any) -> None:
        self.register(worker, **{"supported_workflow_types": ["hand.made"], "workflow_command_contracts": CONTRACTS,
                                 "capabilities": ["update_validation_tasks"], **more})

    def rename(self, *arguments: Any, request_id: str | None = "r1", **more: Any) -> Answer:
        return self.control("POST", "/workflows/wf/update/rename",
                            {"input": list(arguments), "request_id": request_id, **more})

    def renaming(self, *arguments: Any, **more: Any) -> "Future[Answer]":
        return self.callers.submit(self.rename, *arguments, **more)

    def take(self, worker: str = "w1") -> Json:
        return self.poll("update-validation", worker)

    def judge(self, task: Json, verb: str = "approve", more: Json | None = None, **instead: Any) -> Answer:
        holder = {"lease_owner": task["lease_owner"], "update_validation_attempt": task["update_validation_attempt"]}
        path = f"/update-validation-tasks/{task['update_validation_task_id']}/{verb}"
        return self.worker(path, holder | (more or {}) | instead)

    def judged(self, answer: Answer, task: Json, outcome: str = "approved") -> None:
        self.says(answer, 200, update_validation_task_id=task["update_validation_task_id"],
                  update_validation_attempt=task["update_validation_attempt"], outcome=outcome)

    def accepted(self, answer: Answer) -> str:
        return self.says(answer, 202, outcome=None, update_status="accepted", workflow_id="wf",
                         update_name="rename")["update_id"]

    def updates(self) -> list[str]:
        return [kind for kind in types(self.history(self.run_id)) if kind.startswith("Update")]

    def test_the_server_says_how_it_is_done(self) -> None:
        info = self.request("GET", "/cluster/info").body["worker_protocol"]["server_capabilities"]
        self.shows(info, update_validation_tasks=True)
        self.shows(info["synchronous_update_validation"], supported=True, acceptance_boundary="validator_approved",
                   worker_capability="update_validation_tasks", workflow_contract_field="update_validators",
                   task_poll={"strategy": "multiplexed", "endpoint": "/worker/workflow-tasks/poll",
                              "request_field": "task_kinds", "task_kinds": BOTH,
                              "response_discriminator": "task.task_kind"})

    def test_a_task_says_what_a_validator_needs_and_nothing_is_recorded_before_its_word(self) -> None:
        caller = self.renaming("grace", 3)
        task = self.take()
        self.shows(task, task_kind="update_validation", update_validation_attempt=1, workflow_id="wf",
                   run_id=self.run_id, workflow_type="hand.made", update_name="rename", payload_codec="avro",
                   workflow_arguments=envelope(["ada"]), update_arguments=envelope(["grace", 3]), lease_owner="w1",
                   history_events=self.poll()["history_events"])
        self.near(task["lease_expires_at"], 10)
        self.assertEqual(self.updates(), [])
        self.judged(self.judge(task), task)
        self.accepted(caller.result(PATIENCE))
        self.assertEqual(self.updates(), ["UpdateAccepted"])

    def test_a_poll_gets_the_kinds_it_asks_for_and_what_somebody_waits_for_first(self) -> None:
        self.assertEqual(self.poll(task_kinds=BOTH)["task_kind"], "workflow")
        caller = self.renaming("grace")
        self.assertEqual(self.poll(task_kinds=BOTH)["task_kind"], "update_validation")
        self.nothing(task_kinds=BOTH)
        self.enlist("w2")
        self.start("another")
        self.says(self.deregister(), 200)
        task = self.poll(worker="w2", task_kinds=BOTH)
        self.shows(task, task_kind="update_validation", update_validation_attempt=2)
        self.judged(self.judge(task), task)
        self.accepted(caller.result(PATIENCE))
        self.assertEqual(self.poll(worker="w2", task_kinds=BOTH)["task_kind"], "workflow")

    def test_a_poll_that_does_not_ask_for_them_or_cannot_do_them_gets_none(self) -> None:
        caller = self.renaming("grace")
        task = self.take()
        self.enlist("w2", capabilities=[])
        self.enlist("w3", workflow_command_contracts={"hand.made": {"updates": ["rename"]}})
        self.deregister()
        self.nothing(worker="w2", task_kinds=["update_validation"])
        self.nothing(worker="w3", task_kinds=["update_validation"])
        self.assertEqual(self.poll(worker="w2")["task_kind"], "workflow")
        self.nothing(worker="w2")
        self.enlist("w4")
        again = self.take("w4")
        self.assertEqual(again["update_validation_task_id"], task["update_validation_task_id"])
        self.judged(self.judge(again), again)
        self.accepted(caller.result(PATIENCE))

    def test_kinds_that_nobody_knows_are_named(self) -> None:
        self.invalid(self.ask(timeout=0, task_kinds=["workflow", "tea"]), "task_kinds.1")
        self.invalid(self.ask(timeout=0, task_kinds=[]), "task_kinds")
        self.invalid(self.ask(timeout=0, task_kinds="workflow"), "task_kinds")

    def test_a_repeated_poll_gets_the_same_validation(self) -> None:
        caller = self.renaming("grace")
        task = self.poll(task_kinds=["update_validation"], poll_request_id="p1")
        self.assertEqual(self.poll(task_kinds=["update_validation"], poll_request_id="p1"), task)
        self.judge(task)
        self.accepted(caller.result(PATIENCE))

    def test_a_rejection_is_told_in_the_validators_words_and_nothing_is_recorded(self) -> None:
        caller = self.renaming("grace")
        task = self.take()
        failure = {"message": "not grace", "reason": "update_validator_rejected", "type": "ValueError",
                   "stack_trace": "line 1", "validation_errors": {"name": ["is taken"]}}
        self.judged(self.judge(task, "reject", {"failure": failure}), task, "rejected")
        self.refused(caller.result(PATIENCE), 422, "update_validator_rejected", message="not grace", retryable=False,
                     validation_errors={"name": ["is taken"]}, workflow_id="wf", run_id=self.run_id,
                     update_name="rename")
        self.assertEqual(self.updates(), [])

    def test_a_validator_that_could_not_run_is_no_rejection(self) -> None:
        caller = self.renaming("grace")
        task = self.take()
        failure = {"message": "no such code", "reason": "update_validation_worker_failed"}
        self.judged(self.judge(task, "reject", {"failure": failure}), task, "failed")
        self.refused(caller.result(PATIENCE), 409, "update_validation_worker_failed", message="no such code",
                     retryable=False)
        self.assertEqual(self.updates(), [])

    def test_only_the_holder_is_heard_and_only_once(self) -> None:
        caller = self.renaming("grace")
        task = self.take()
        self.invalid(self.judge(task, update_validation_attempt=0), "update_validation_attempt")
        self.invalid(self.judge(task, "reject", {"failure": {"message": "no", "reason": "because"}}), "failure.reason")
        stale, about = "stale_update_validation_completion", task["update_validation_task_id"]
        self.refused(self.judge(task, lease_owner="w2"), 409, stale, update_validation_task_id=about)
        self.refused(self.judge(task, update_validation_attempt=2), 409, stale)
        self.refused(self.judge(task | {"update_validation_task_id": "none"}), 404, "update_validation_task_not_found")
        self.judged(self.judge(task), task)
        self.refused(self.judge(task), 409, "duplicate_update_validation_completion")
        self.refused(self.judge(task, "reject", {"failure": {"message": "no"}}), 409,
                     "duplicate_update_validation_completion")
        self.refused(self.judge(task, lease_owner="w2"), 409, stale)
        self.accepted(caller.result(PATIENCE))
        self.assertEqual(self.updates(), ["UpdateAccepted"])

    def test_what_a_lost_worker_held_goes_to_another(self) -> None:
        caller = self.renaming("grace")
        lost = self.take()
        self.enlist("w2")
        self.says(self.deregister(), 200)
        self.refused(self.judge(lost), 409, "update_validator_worker_lost")
        task = self.take("w2")
        self.shows(task, update_validation_task_id=lost["update_validation_task_id"], update_validation_attempt=2)
        self.refused(self.judge(lost), 409, "stale_update_validation_completion")
        self.judged(self.judge(task), task)
        self.accepted(caller.result(PATIENCE))

    def test_a_request_is_validated_once_and_answered_as_often_as_it_is_sent(self) -> None:
        first = self.renaming("grace")
        task = self.take()
        second = self.renaming("grace")
        self.refused(self.rename("linus"), 409, "update_validation_idempotency_conflict", retryable=False)
        self.judged(self.judge(task), task)
        update = self.accepted(first.result(PATIENCE))
        self.assertEqual(self.accepted(second.result(PATIENCE)), update)
        self.assertEqual(self.accepted(self.rename("grace")), update, "from the record, without a validator")
        self.refused(self.rename("linus"), 409, "update_validation_idempotency_conflict", retryable=False)
        self.restart()
        self.assertEqual(self.accepted(self.rename("grace")), update)
        self.nothing("update-validation")
        self.assertEqual(self.updates(), ["UpdateAccepted"])

    def test_a_request_needs_an_id(self) -> None:
        self.refused(self.rename("grace", request_id=None), 409, "update_validation_request_id_required",
                     retryable=False)

    def test_the_caller_hears_who_is_missing(self) -> None:
        def is_refused(reason: str, retryable: bool = False) -> None:
            self.refused(self.rename("grace"), 409, reason, retryable=retryable, update_name="rename")
        self.says(self.deregister(), 200)
        is_refused("update_validator_worker_unavailable", True)
        self.enlist("activities-only", supported_workflow_types=[], supported_activity_types=["greet"])
        is_refused("update_validator_worker_unavailable", True)
        self.restart()
        is_refused("update_validator_worker_unavailable", True)
        self.enlist("w2", capabilities=["query_tasks"])
        is_refused("update_validation_capability_unsupported")
        self.deregister("w2")
        self.enlist("w3", workflow_command_contracts={})
        is_refused("update_validator_contract_missing")
        self.assertEqual(self.updates(), [])

    def test_a_build_without_the_validator_cannot_judge_the_runs_of_one_with_it(self) -> None:
        self.enlist("v1", build_id="v1")
        self.start("pinned", build_id="v1")
        self.deregister("v1")
        self.enlist("v2", build_id="v2")
        body = {"input": ["grace"], "request_id": "r1"}
        self.refused(self.control("POST", "/workflows/pinned/update/rename", body), 409,
                     "update_validator_worker_incompatible", retryable=False)

    def test_updates_without_validators_go_straight_on(self) -> None:
        self.says(self.control("POST", "/workflows/wf/update/touch", {}), 202, update_status="accepted")

    def test_what_is_refused_in_any_case_is_refused_as_ever(self) -> None:
        contract = {"name": "rename", "parameters": [{"name": "name", "position": 0, "type": "string",
                                                      "required": True}]}
        self.enlist("w2", workflow_command_contracts={"hand.made": CONTRACTS["hand.made"] |
                                                      {"update_contracts": [contract]}})
        self.start("typed")
        body = {"input": [3], "request_id": "r1"}
        self.refused(self.control("POST", "/workflows/typed/update/rename", body), 422, "invalid_update_arguments")
        self.close("cancel")
        self.refused(self.rename("grace"), 409, "run_not_active")
        self.refused(self.control("POST", "/workflows/nobody/update/rename", body), 404, "instance_not_found")

    def test_a_killed_server_forgets_the_task_and_the_caller_asks_again(self) -> None:
        caller = self.renaming("grace")
        task = self.take()
        self.restart()
        self.assertIsInstance(caller.exception(PATIENCE), Exception)
        self.refused(self.judge(task), 404, "update_validation_task_not_found")
        caller = self.renaming("grace")
        again = self.take()
        self.judged(self.judge(again), again)
        self.accepted(caller.result(PATIENCE))
        self.assertEqual(self.updates(), ["UpdateAccepted"])


if __name__ == "__main__":
    unittest.main()
