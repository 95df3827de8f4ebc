"""The published Python client as scripts and notebooks use it: blocking, without an event loop of their own."""
import unittest

from durable_workflow import errors, sync

from serving import Server

ORDER = {"customer": "ada", "address": "12 Analytical Street",
         "items": [{"sku": "engine", "count": 1}], "total_cents": 129900}


class BlockingClient(unittest.TestCase):
    def setUp(self) -> None:
        self.server = Server()
        self.addCleanup(lambda: self.assertEqual(self.server.stop(), 0, "SIGTERM ends it cleanly"))
        self.client = self.enterContext(sync.Client(self.server.url))

    def start(self, workflow_type: str, workflow_id: str, *arguments, **more) -> sync.SyncWorkflowHandle:
        return self.client.start_workflow(workflow_type=workflow_type, task_queue="default", workflow_id=workflow_id,
                                          input=list(arguments), **more)

    def test_a_workflow_is_started_and_its_result_comes_back(self) -> None:
        self.assertEqual(self.client.health()["status"], "serving")
        handle = self.start("shop.place_order", "order-1", ORDER)
        self.assertEqual((handle.workflow_id, handle.workflow_type), ("order-1", "shop.place_order"))
        outcome = handle.result(timeout=60)
        self.assertEqual(outcome["status"], "shipped")
        self.assertEqual(self.client.get_result(handle, timeout=60), outcome)
        described = handle.describe()
        self.assertEqual((described.workflow_id, described.run_id, described.workflow_type, described.status,
                          described.input, described.output),
                         ("order-1", handle.run_id, "shop.place_order", "completed", [ORDER], outcome))
        self.assertEqual(self.client.describe_workflow("order-1"), described)

    def test_signals_queries_and_updates_reach_it(self) -> None:
        handle = self.start("sample.tally", "tally-1", 100)
        handle.signal("add", [30])
        self.assertEqual(handle.query("total")["result"], 30)
        self.assertEqual(handle.update("lower", [40], wait_for="completed")["result"], 40)
        self.assertEqual(handle.describe().status, "waiting")
        handle.signal("add", [12])
        self.assertEqual(handle.result(timeout=60), 42)
        self.assertEqual(handle.query("total")["result"], 42, "a closed run still answers")
        recorded = [event["event_type"] for event in handle.get_history()["events"]]
        self.assertEqual(recorded[-1], "WorkflowCompleted")
        self.assertEqual((recorded.count("SignalReceived"), recorded.count("UpdateCompleted")), (2, 1))

    def test_whoever_has_no_handle_names_the_workflow(self) -> None:
        first = self.start("sample.tally", "tally-1", 10)
        again = self.start("sample.tally", "tally-1", 10, duplicate_policy="use-existing")
        self.assertEqual(again.run_id, first.run_id)
        self.client.signal_workflow("tally-1", "add", args=[3])
        self.assertEqual(self.client.query_workflow("tally-1", "total")["result"], 3)
        self.assertEqual(self.client.update_workflow("tally-1", "lower", args=[4], wait_for="completed")["result"], 4)
        self.client.signal_workflow("tally-1", "add", args=[1])
        self.assertEqual(again.result(timeout=60), 4)
        runs = self.client.list_workflow_runs("tally-1").runs
        self.assertEqual([(run.run_id, run.status) for run in runs], [(again.run_id, "completed")])

    def test_it_can_be_cancelled_and_terminated(self) -> None:
        cancelled = self.start("sample.tally", "cancelled", 3)
        cancelled.cancel(reason="enough")
        self.assertEqual(cancelled.describe().status, "cancelled")
        with self.assertRaises(errors.WorkflowCancelled):
            cancelled.result(timeout=60)
        self.start("sample.tally", "cancelled-by-name", 3)
        self.client.cancel_workflow("cancelled-by-name", reason="enough")
        self.assertEqual(self.client.describe_workflow("cancelled-by-name").status, "cancelled")
        terminated = self.start("sample.tally", "terminated", 3)
        terminated.terminate(reason="at once")
        self.assertEqual(terminated.describe().status, "terminated")
        with self.assertRaises(errors.WorkflowTerminated):
            terminated.result(timeout=60)

    def test_lists_are_read_page_by_page(self) -> None:
        for number in range(5):
            self.start("sample.tally", f"tally-{number}", 3)
        self.client.cancel_workflow("tally-4")
        seen, token = [], None
        while len(seen) < 4:
            page = self.client.list_workflows(workflow_type="sample.tally", status="running", page_size=2,
                                              next_page_token=token)
            self.assertEqual(len(page.executions), 2)
            seen += [execution.workflow_id for execution in page.executions]
            token = page.next_page_token
        self.assertEqual((sorted(seen), token), ([f"tally-{number}" for number in range(4)], None))
        found = self.client.list_workflows(query='WorkflowId = "tally-4"')
        self.assertEqual([(one.workflow_id, one.status) for one in found.executions], [("tally-4", "cancelled")])

    def test_what_does_not_fit_is_refused_with_its_own_exception(self) -> None:
        handle = self.start("sample.tally", "tally-1", 3)
        with self.assertRaises(errors.WorkflowAlreadyStarted):
            self.start("sample.tally", "tally-1", 3)
        with self.assertRaises(errors.SignalFailed):
            handle.signal("shout", [1])
        with self.assertRaises(errors.QueryFailed):
            handle.query("colour")
        with self.assertRaises(errors.ServerError) as refused:
            handle.update("raise", [1], wait_for="completed")
        self.assertEqual((refused.exception.status, refused.exception.reason()), (404, "unknown_update"))
        with self.assertRaises(errors.WorkflowNotFound):
            self.client.describe_workflow("nobody")
        with self.assertRaises(errors.WorkflowNotFound):
            self.client.cancel_workflow("nobody")
        with self.assertRaises(TimeoutError):
            handle.result(poll_interval=0, timeout=0)
        self.assertEqual(handle.describe().status, "waiting", "and none of it did any harm")


if __name__ == "__main__":
    unittest.main()
