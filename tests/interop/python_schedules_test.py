"""The published Python SDK, unmodified, and its schedules: made, found, changed, fired, and looked back at."""
import asyncio
import unittest

from durable_workflow import Client, Worker, activity, errors, workflow
from durable_workflow.client import ScheduleAction, ScheduleSpec

from serving import Server

QUEUE = "python"
RARELY = ScheduleSpec(cron_expressions=["0 0 29 2 *"])  # nothing happens by itself
PATIENCE = 60


noted: asyncio.Queue[str] = asyncio.Queue()  # by activities, for the test that waits for them


@activity.defn(name="py.write_down")
async def write_down(text: str) -> str:
    noted.put_nowait(text)
    return text


@workflow.defn(name="py.note")
class Note:
    def run(self, ctx, text):
        return {"noted": (yield ctx.schedule_activity("py.write_down", [text]))}


def note(text: str = "by schedule", queue: str | None = QUEUE) -> ScheduleAction:
    return ScheduleAction(workflow_type="py.note", task_queue=queue, input=[text])


class PythonSchedules(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        self.server = Server()
        self.addCleanup(lambda: self.assertEqual(self.server.stop(), 0, "SIGTERM ends it cleanly"))
        async with Client(self.server.url) as administrator:
            await administrator.create_namespace("plans")
        self.client = await self.enterAsyncContext(Client(self.server.url, namespace="plans"))

    async def make(self, name: str, **more):
        return await self.client.create_schedule(schedule_id=name, spec=RARELY, action=note(), **more)

    async def names(self, **filters) -> list[str]:
        return [item.schedule_id for item in (await self.client.list_schedules(**filters)).schedules]

    async def events(self, name: str, **paging) -> list[str]:
        return [event.event_type async for event in self.client.iter_schedule_history(name, **paging)]

    # ---- its life

    async def test_one_is_made_and_described(self) -> None:
        handle = await self.make("nightly", overlap_policy="buffer_one", jitter_seconds=5, max_runs=9, note="for ada",
                                 memo={"team": "orders"}, search_attributes={"Tier": "gold"})
        shown = await handle.describe()
        self.assertEqual((shown.schedule_id, shown.status, shown.overlap_policy), ("nightly", "active", "buffer_one"))
        self.assertEqual((shown.jitter_seconds, shown.max_runs, shown.remaining_actions), (5, 9, 9))
        self.assertEqual((shown.memo, shown.search_attributes, shown.note),
                         ({"team": "orders"}, {"Tier": "gold"}, "for ada"))
        self.assertEqual(shown.action["input"], ["by schedule"], "what the SDK packed into an envelope")
        self.assertEqual((shown.fires_count, shown.failures_count, shown.last_fired_at), (0, 0, None))
        self.assertTrue(shown.next_fire_at)

    async def test_an_id_may_be_left_to_the_server_and_is_taken_once(self) -> None:
        first = await self.client.create_schedule(spec=RARELY, action=note())
        self.assertEqual((await first.describe()).schedule_id, first.schedule_id)
        with self.assertRaises(errors.ScheduleAlreadyExists):
            await self.make(first.schedule_id)

    async def test_it_is_paused_changed_resumed_and_deleted(self) -> None:
        handle = await self.make("nightly")
        await handle.pause(note="moving house")
        shown = await handle.describe()
        self.assertEqual((shown.status, shown.next_fire_at, shown.note), ("paused", None, "moving house"))
        await handle.update(spec=ScheduleSpec(intervals=[{"every": "PT12H"}]), overlap_policy="allow_all")
        await handle.resume()
        shown = await handle.describe()
        self.assertEqual((shown.status, shown.overlap_policy), ("active", "allow_all"))
        self.assertEqual(shown.spec["intervals"], [{"every": "PT12H"}])
        with self.assertRaises(errors.ServerError) as refused:
            await handle.resume()
        self.assertEqual(refused.exception.status, 409)
        await handle.delete()
        with self.assertRaises(errors.ScheduleNotFound):
            await handle.describe()
        self.assertEqual(await self.events("nightly"), ["ScheduleCreated", "SchedulePaused", "ScheduleUpdated",
                                                        "ScheduleResumed", "ScheduleDeleted"])

    async def test_what_it_cannot_be_is_refused_by_field(self) -> None:
        with self.assertRaises(errors.InvalidArgument) as refused:
            await self.client.create_schedule(
                spec=ScheduleSpec(cron_expressions=["0 25 * * *"], timezone="Mars/Olympus"), action=note(),
                overlap_policy="maybe")
        self.assertEqual(set(refused.exception.errors),
                         {"spec.cron_expressions.0", "spec.timezone", "overlap_policy"})

    async def test_namespaces_are_apart(self) -> None:
        await self.make("nightly")
        async with Client(self.server.url) as elsewhere:
            with self.assertRaises(errors.ScheduleNotFound):
                await elsewhere.describe_schedule("nightly")

    # ---- lists

    async def test_lists_have_filters_and_pages(self) -> None:
        await self.client.create_search_attribute("Tier", "keyword")
        for number in range(5):
            await self.make(f"s{number}", paused=number == 3, note=f"number {number}",
                            search_attributes={"Tier": "gold" if number % 2 else "tin"})
        self.assertEqual(await self.names(), ["s4", "s3", "s2", "s1", "s0"])
        self.assertEqual(await self.names(status="paused"), ["s3"])
        self.assertEqual(await self.names(workflow_type="py.other"), [])
        self.assertEqual(await self.names(query='Tier = "gold" AND Status = "active"'), ["s1"])
        self.assertEqual(await self.names(query='Note = "number 2"'), ["s2"])
        seen, token = [], None
        for _ in range(3):
            page = await self.client.list_schedules(page_size=2, next_page_token=token)
            seen, token = seen + [item.schedule_id for item in page.schedules], page.next_page_token
        self.assertEqual((seen, token), (["s4", "s3", "s2", "s1", "s0"], None))

    async def test_a_list_that_cannot_be_made_says_why(self) -> None:
        for name in ("a", "b"):
            await self.make(name)
        token = (await self.client.list_schedules(page_size=1)).next_page_token
        for filters, status, field in (({"query": "Status > 1"}, 422, "query"), ({"status": "gone"}, 422, "status"),
                                       ({"next_page_token": "made-up"}, 400, "next_page_token"),
                                       ({"next_page_token": token, "status": "active"}, 409, "next_page_token")):
            with self.subTest(filters), self.assertRaises(errors.ScheduleListError) as refused:
                await self.client.list_schedules(**filters)
            self.assertEqual((refused.exception.status, refused.exception.field), (status, field))
            self.assertIn(field, refused.exception.errors)
        self.assertEqual(refused.exception.last_safe_cursor["schedule_id"], "b")

    # ---- what it starts

    async def test_a_trigger_and_a_backfill_start_workflows(self) -> None:
        handle = await self.client.create_schedule(
            schedule_id="nightly", spec=ScheduleSpec(cron_expressions=["0 3 * 1 *"]), action=note("for a test"))
        done = await handle.trigger()
        self.assertEqual(done.outcome, "triggered")
        self.assertEqual((await self.client.describe_workflow(done.workflow_id)).workflow_type, "py.note")
        again = await handle.trigger()
        self.assertEqual((again.outcome, again.reason), ("skipped", "overlap_policy_skip"))
        waiting = await handle.trigger(overlap_policy="buffer_one")
        self.assertEqual((waiting.outcome, waiting.buffer_depth), ("buffered", 1))
        filled = await handle.backfill(start_time="2026-01-10T00:00:00Z", end_time="2026-01-13T00:00:00Z",
                                       overlap_policy="allow_all")
        self.assertEqual((filled.outcome, filled.fires_attempted), ("backfill_started", 3))
        self.assertEqual([row["outcome"] for row in filled.results], ["started"] * 3)
        with self.assertRaises(errors.InvalidArgument):
            await handle.backfill(start_time="2026-01-10T00:00:00Z", end_time="2026-01-09T00:00:00Z")
        self.assertEqual((await handle.describe()).fires_count, 4)

    # proves: S-94, S-200
    async def test_history_is_read_to_its_end(self) -> None:
        handle = await self.make("nightly")
        for _ in range(4):
            await handle.pause()
            await handle.resume()
        page = await handle.history(limit=4)
        self.assertEqual((len(page.events), page.has_more, page.next_cursor), (4, True, 4))
        self.assertEqual(page.events[0].payload["command_context"]["source"], "control_plane")
        self.assertEqual(page, await self.client.get_schedule_history("nightly", limit=4))
        rest = await handle.history(limit=9, after_sequence=page.next_cursor)
        self.assertEqual(([event.sequence for event in rest.events], rest.has_more), ([5, 6, 7, 8, 9], False))
        whole = [event.sequence async for event in handle.iter_history(limit=4)]
        self.assertEqual(whole, list(range(1, 10)))
        self.assertEqual([event.sequence async for event in handle.iter_history(limit=2, after_sequence=6)], [7, 8, 9])
        self.assertEqual(await self.events("nightly", limit=2, after_sequence=8), ["ScheduleResumed"])
        with self.assertRaises(errors.ScheduleNotFound):
            await self.client.get_schedule_history("nobody")

    async def test_its_time_comes_and_a_python_workflow_runs(self) -> None:
        worker = Worker(self.client, task_queue=QUEUE, workflows=[Note], activities=[write_down], shutdown_timeout=5)
        working = asyncio.create_task(worker.run())
        handle = await self.client.create_schedule(
            schedule_id="each-second", spec=ScheduleSpec(intervals=[{"every": "PT1S"}]), action=note("tick"),
            overlap_policy="allow_all", max_runs=3)
        for _ in range(3):
            self.assertEqual(await asyncio.wait_for(noted.get(), PATIENCE), "tick")
        ended = [event async for event in handle.iter_history()]  # the third start was the end of it
        fired = [event for event in ended if event.event_type == "ScheduleTriggered"]
        self.assertEqual(len(fired), 3)
        self.assertEqual(ended[-1].payload["reason"], "max_runs_exhausted")
        for event in fired:
            run = self.client.get_workflow_handle(event.workflow_instance_id)
            self.assertEqual(await asyncio.wait_for(run.result(), PATIENCE), {"noted": "tick"})
        await worker.stop()
        await asyncio.wait_for(working, 30)


if __name__ == "__main__":
    unittest.main()
