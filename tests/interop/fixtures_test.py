"""What the published CLI and Python SDK send, and what they read, replayed from their own fixtures.

Each file of tests/vectors/control_plane is one operation: a request, the bodies that both clients send for it, and a
sample of an answer that both understand. A story here brings the server into the state that the sample speaks of;
then each client's request is sent, and the answer must have every field of the sample. Names that the sample and the
story share (a run's id, a task's id) must be the same in both, instants must be instants, and everything else must be
equal, save for what a fixture's entry in MERELY_SHOWN says is only an illustration.
"""
import base64
import json
import pathlib
import unittest
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from wire import PATIENCE, Answer, Headers, Json, WireTest, activity, avro, noted, timer

VECTORS = pathlib.Path(__file__).parent.parent / "vectors" / "control_plane"
FIXTURES = {path.stem: json.loads(path.read_text()) for path in sorted(VECTORS.glob("*.json"))}
CLIENTS = ("cli", "sdk_python")
WORKER, QUEUE = "polyglot-worker-231", "external-workflows"

# Sample values that the state of a server cannot or need not have, by the end of their path.
MERELY_SHOWN: dict[str, set[str]] = {
    # Our words for it, which the specification has too; the sample's "active" is none of them.
    "workflow-describe": {"status", "status_bucket"},
    "workflow-list": {"status", "next_page_token"},
    "workflow-list-runs": {"status", "status_bucket"},
    "workflow-show-run": {"status", "status_bucket", "wait_reason"},
    # Ids and attempts of tasks are the server's, and a run that waits for its activity is waiting.
    "workflow-task-poll": {"task_id", "workflow_task_attempt"},
    "workflow-task-complete": {"run_status"},
    "workflow-task-fail": {"run_status"},
    "workflow-task-history": {"total_history_events", "next_history_page_token"},
    "workflow-history": {"sequence"},
    "workflow-history-export": {"sequence"},
    "query-task-poll": {"query_task_id"},
    # Ids of commands are made by the server, and a healthy run needs no repair.
    "workflow-archive": {"command_id"},
    "workflow-repair": {"command_id", "outcome"},
    "namespace-list": {"description"},
    # A namespace that holds workflows or schedules stays, and this one holds nothing.
    "namespace-delete": {"workflow_runs", "workflow_schedules", "search_attribute_definitions",
                         "workflow_worker_registrations"},
}

# Fields of a sample that the specification does not ask for: no client reads them.
NOT_ASKED_FOR: dict[str, set[str]] = {
    "query-task-poll": {"input"},  # query_arguments
    # Events have a `sequence`, and tell the queue as `queue`.
    "workflow-task-poll": {"event_id"},
    "workflow-task-history": {"event_id", "activity_id"},
    "workflow-history": {"task_queue"},
    "workflow-history-export": {"task_queue", "metadata"},
}

# What tells the items of a list apart.
IDENTITIES = ("run_id", "name", "worker_id", "build_id", "schedule_id", "workflow_id")


def avro_bytes(value: Any) -> bytes:
    """As wire.avro, for whatever JSON there is."""
    if isinstance(value, bool):
        return b"\x02" + bytes([value])
    if isinstance(value, dict):
        items = b"".join(avro_bytes(key)[1:] + avro_bytes(item) for key, item in value.items())
        return b"\x0e" + (avro(len(value))[1:] + items if value else b"") + b"\x00"
    if isinstance(value, list):
        items = b"".join(map(avro_bytes, value))
        return b"\x0c" + (avro(len(value))[1:] + items if value else b"") + b"\x00"
    return avro(value)


def is_instant(text: Any) -> bool:
    try:
        datetime.fromisoformat(text)
        return len(text) > 10
    except (TypeError, ValueError):
        return False


class Replayed(WireTest):
    """One server; each client of a fixture in a namespace of its own."""

    def setUp(self) -> None:
        super().setUp()
        self.namespace = "default"
        self.names: dict[str, str] = {}  # the sample's → ours
        self.attempt: int | None = None  # at the workflow task under way
        self.callers = ThreadPoolExecutor(2)
        self.addCleanup(self.callers.shutdown)

    def request(self, method: str, path: str, body: Any = None, headers: Headers | None = None) -> Answer:
        return super().request(method, path, body, {"X-Namespace": self.namespace} | (headers or {}))

    # ---- states

    def nothing_special(self) -> None:
        pass

    def billing(self) -> None:
        self.control("DELETE", "/namespaces/billing")
        self.says(self.control("POST", "/namespaces", FIXTURES["namespace-create"]["request"]["body"]), 201)

    def no_billing(self) -> None:
        self.control("DELETE", "/namespaces/billing")

    def a_worker(self, queue: str = QUEUE, **more: Any) -> None:
        body = FIXTURES["worker-register"]["request"]["body"] | {"task_queue": queue} | more
        self.says(self.worker("/register", body), 201)
        self.queue = queue

    def two_workers(self) -> None:
        self.a_worker(worker_id="batch-worker-231", runtime="worker-runtime", sdk_version="polyglot-sdk/2.0.0",
                      build_id="build-232")
        self.a_worker()

    def take(self, kind: str = "workflow", **more: Any) -> Json:
        body = {"worker_id": WORKER, "task_queue": self.queue, "timeout_seconds": PATIENCE, **more}
        return self.says(self.worker(f"/{kind}-tasks/poll", body), 200, poll_status="leased")["task"]

    def a_workflow(self, **more: Any) -> None:
        body = FIXTURES["workflow-start"]["cli"]["expected_body"] | {"business_key": "order-42"} | more
        self.names["run-polyglot-231"] = self.says(self.control("POST", "/workflows", body), 201)["run_id"]

    def a_worked_on_workflow(self, worker: Json | None = None, **more: Any) -> Json:
        anything: Json = {"supported_workflow_types": [], "supported_activity_types": [], "build_id": None}
        self.a_worker("orders", **(anything | (worker or {})))
        self.a_workflow(**more)
        return self.take()

    def a_waiting_workflow(self) -> None:
        task = self.a_worked_on_workflow()
        self.says(self.complete(task, {"type": "open_signal_wait", "signal_name": "approval.received"}), 200)

    def an_activity_asked_for(self) -> None:
        task = self.a_worked_on_workflow()
        self.says(self.complete(task, activity("reserve_inventory")), 200)

    def an_activity_done(self) -> None:
        self.an_activity_asked_for()
        self.says(self.tell(self.take("activity"), "complete", {"result": 7}), 200)

    def a_closed_workflow(self) -> None:
        self.a_workflow()
        self.close("terminate", "wf-polyglot-231")

    def two_workflows(self) -> None:
        self.control("POST", "/search-attributes", {"name": "CustomerId", "type": "keyword"})
        for number, key in ((2, "order-43"), (1, "order-42")):
            name = f"wf-polyglot-list-{number}"
            self.a_workflow(workflow_id=name, business_key=key, search_attributes={"CustomerId": "42"})
            self.names[f"run-polyglot-list-{number}"] = self.described(name)["run_id"]

    def two_runs(self, **more: Any) -> None:
        task = self.a_worked_on_workflow({"build_id": more.get("build_id")}, **more)
        self.names["run-polyglot-231-001"] = task["run_id"]
        self.says(self.complete(task, {"type": "continue_as_new", "arguments": self.own_input()}), 200)
        self.second = self.take()
        self.names["run-polyglot-231-002"] = self.second["run_id"]

    def two_runs_and_a_timer(self) -> None:
        self.two_runs(execution_timeout_seconds=86400, run_timeout_seconds=3600, build_id="build-2026-04-22")
        self.says(self.complete(self.second, timer(600)), 200)

    def two_attributes(self) -> None:
        for name, kind in (("OrderStatus", "keyword"), ("Priority", "int")):
            self.control("POST", "/search-attributes", {"name": name, "type": kind})

    def a_critical_worker(self) -> None:
        self.a_worker("orders-critical", build_id="build-2026.04.21-z9")

    def a_workflow_that_answers(self) -> None:
        task = self.a_worked_on_workflow(worker={"capabilities": ["query_tasks"]})
        self.says(self.complete(task, {"type": "open_signal_wait", "signal_name": "approve"}), 200)
        self.work = self.callers.submit(self.answer_query)

    def answer_query(self) -> Answer:
        task = self.take("query")
        asked = FIXTURES["workflow-query"]["semantic_body"]
        self.shows(task, query_name=asked["query_name"], query_arguments=self.enveloped(asked["input"]))
        holder = {"lease_owner": WORKER, "query_task_attempt": task["query_task_attempt"]}
        return self.worker(f"/query-tasks/{task['query_task_id']}/complete", holder | {"result": "ready"})

    def a_workflow_that_changes(self) -> None:
        declared = {"queries": [], "signals": [], "updates": ["quota.adjust"]}
        task = self.a_worked_on_workflow({"workflow_command_contracts": {"orders.process": declared}})
        self.says(self.complete(task, {"type": "open_signal_wait", "signal_name": "approve"}), 200)
        self.work = self.callers.submit(self.carry_out_update)

    def carry_out_update(self) -> Answer:
        task = self.take()
        self.shows(task, update_name=FIXTURES["workflow-update"]["semantic_body"]["update_name"])
        result = {"type": "complete_update", "update_id": task["workflow_update_id"], "result": self.enveloped(50)}
        return self.complete(task, result)

    def own_input(self) -> Json:
        return self.enveloped(FIXTURES["workflow-start"]["sdk_python"]["payload_envelope"]["decoded"])

    # ---- states, as workers see them

    def an_order(self, **more: Any) -> None:
        self.a_worker(**more)
        body = {"workflow_id": "order-231", "workflow_type": "orders.fulfillment", "task_queue": QUEUE}
        self.names["run-231"] = self.says(self.control("POST", "/workflows", body), 201)["run_id"]

    def an_order_taken(self, **more: Any) -> None:
        self.an_order()
        self.task = self.take(**more)
        self.attempt = self.task["workflow_task_attempt"]
        self.names["workflow-task-231"] = self.task["task_id"]

    def a_long_order_taken(self) -> None:
        self.an_order(supported_activity_types=["inventory.sync-page"])
        self.says(self.complete(self.take(), noted(1), activity("inventory.sync-page"), timer(600)), 200)
        self.says(self.tell(self.take("activity"), "complete", {"result": 7}), 200)
        self.task = self.take(history_page_size=1)
        self.attempt = self.task["workflow_task_attempt"]
        self.names |= {"workflow-task-231": self.task["task_id"],
                       "history-page-2": self.task["next_history_page_token"]}

    def an_activity_taken(self) -> None:
        self.an_order_taken()
        self.says(self.complete(self.task, activity("inventory.sync")), 200)
        work = self.take("activity")
        self.names |= {"activity-task-231": work["task_id"], "activity-attempt-231": work["activity_attempt_id"]}

    def an_order_asked(self) -> None:
        self.an_order(capabilities=["query_tasks"])
        task = self.take()
        self.says(self.complete(task, {"type": "open_signal_wait", "signal_name": "approve"}), 200)
        body = {"input": [{"include_line_items": True}]}
        self.asking = self.callers.submit(self.control, "POST", "/workflows/order-231/query/current_status", body)

    def an_order_asked_and_taken(self) -> None:
        self.an_order_asked()
        self.names["query-task-231"] = self.take("query")["query_task_id"]

    # ---- requests

    def enveloped(self, value: Any) -> Json:
        frame = bytes.fromhex("c301e2a33dff55802237")
        return {"codec": "avro", "blob": base64.b64encode(frame + avro_bytes(value)).decode()}

    def renamed(self, value: Any) -> Any:
        """With the names of this server's objects instead of the sample's."""
        if isinstance(value, dict):
            named = {key: self.renamed(item) for key, item in value.items()}
            return named | ({"workflow_task_attempt": self.attempt} if "workflow_task_attempt" in named else {})
        if isinstance(value, list):
            return [self.renamed(item) for item in value]
        return self.names.get(value, value) if isinstance(value, str) else value

    def body_of(self, fixture: Json, client: str) -> Any:
        said = fixture[client]
        body = said.get("request_body", said.get("expected_body", fixture["request"].get("body")))
        if "payload_envelope" in said and body is not None:
            body = json.loads(json.dumps(body))
            *parents, last = said["payload_envelope"]["field"].split(".")
            inner = body
            for parent in parents:
                inner = inner[parent]
            inner[last] = self.enveloped(said["payload_envelope"]["decoded"])
        return self.renamed(body)

    def target_of(self, fixture: Json) -> str:
        path = "/".join(self.names.get(part, part) for part in fixture["request"]["path"].split("/"))
        query = fixture["cli"].get("expected_query", fixture["request"].get("query"))
        words = {key: str(value).lower() if isinstance(value, bool) else value for key, value in (query or {}).items()}
        return path + (f"?{urlencode(words)}" if words else "")

    def replay(self, fixture: Json, client: str) -> Answer:
        method, target = fixture["request"]["method"], self.target_of(fixture)
        body = self.body_of(fixture, client)
        if target.startswith("/worker/"):
            if target.endswith("/poll"):
                body |= {"timeout_seconds": PATIENCE}
            return self.worker(target.removeprefix("/worker"), body, method=method)
        return self.control(method, target, body)

    # ---- answers

    def same(self, name: str, sample: Any, given: Any, where: str = "") -> None:
        shown = MERELY_SHOWN.get(name, set())
        if where.rsplit(".", 1)[-1] in shown:
            return
        if isinstance(sample, dict):
            self.assertIsInstance(given, dict, where)
            sample = sample | ({"workflow_task_attempt": self.attempt} if "workflow_task_attempt" in sample else {})
            for key in sample.keys() - NOT_ASKED_FOR.get(name, set()):
                self.assertIn(key, given, f"{where}: a client reads this")
                self.same(name, sample[key], given[key], f"{where}.{key}")
        elif where.endswith("events"):
            self.same_events(name, sample, given, where)
        elif isinstance(sample, list) and sample and isinstance(sample[0], dict):
            self.same_items(name, sample, given, where)
        elif is_instant(sample):
            self.assertTrue(given is None or is_instant(given), f"{where}: {given}")
        else:
            self.assertEqual(given, self.renamed(sample), where)

    def same_items(self, name: str, sample: list[Json], given: list[Json], where: str) -> None:
        """Each is there, perhaps among others."""
        for item in sample:
            key = next((key for key in IDENTITIES if key in item), None)
            if key is None:
                self.assertIn(item, given, where)
                continue
            found = next((other for other in given if other.get(key) == self.renamed(item[key])), None)
            self.assertIsNotNone(found, f"{where}: {item[key]} among {[other.get(key) for other in given]}")
            self.same(name, item, found, f"{where}[{item[key]}]")

    def same_events(self, name: str, sample: list[Json], given: list[Json], where: str) -> None:
        """A sample tells some of a history: what it tells is there, in that order."""
        rest = iter(given)
        for event in sample:
            kind = "event_type" if "event_type" in event else "type"
            found = next((other for other in rest if other.get(kind) == event[kind]), None)
            self.assertIsNotNone(found, f"{where}: {event[kind]} among {[other.get(kind) for other in given]}")
            self.same(name, event, found, f"{where}[{event[kind]}]")

    # ---- what is left behind

    def stored_as_asked(self, fixture: Json) -> None:
        asked = dict(fixture["semantic_body"])
        asked.pop("duplicate_policy")
        self.shows(self.described(asked["workflow_id"]), **asked)

    def signal_heard(self, fixture: Json) -> None:
        told = fixture["semantic_body"]
        self.shows(self.take(), signal_name=told["signal_name"], signal_arguments=self.enveloped(told["input"]))

    def answered(self, fixture: Json) -> None:
        self.says(self.work.result(PATIENCE), 200)

    def asker_answered(self, fixture: Json) -> None:
        self.says(self.asking.result(PATIENCE), 200, result=fixture["request"]["body"]["result"])

    def asker_refused(self, fixture: Json) -> None:
        failure = fixture["request"]["body"]["failure"]
        self.refused(self.asking.result(PATIENCE), 404, failure["reason"], message=failure["message"])

    def closed_with_reason(self, fixture: Json) -> None:
        self.shows(self.described("wf-polyglot-231"), is_terminal=True, reason=fixture["semantic_body"]["reason"])

    # ---- the telling

    def tell_story(self, name: str) -> None:
        fixture, story = FIXTURES[name], STORIES[name]
        for client in CLIENTS:
            self.namespace = "orders-prod" if client == "cli" else "orders-prod-2"
            self.names = {"orders-prod": self.namespace}
            everywhere: Headers = {"X-Namespace": None}
            self.says(self.control("POST", "/namespaces", {"name": self.namespace}, everywhere), 201)
            with self.subTest(client=client):
                story.before(self)
                answer = self.replay(fixture, client)
                self.assertLess(answer.status, 300, answer)
                self.same(name, fixture.get("response_body") or {}, answer.body)
                if story.after:
                    story.after(self, fixture)


@dataclass
class Story:
    before: Callable[[Replayed], Any] = Replayed.nothing_special
    after: Callable[[Replayed, Json], None] | None = None


STORIES = {
    "namespace-create": Story(Replayed.no_billing),
    "namespace-delete": Story(Replayed.billing),
    "namespace-describe": Story(Replayed.billing),
    "namespace-list": Story(Replayed.billing),
    "namespace-set-storage-driver": Story(Replayed.billing),
    "namespace-update": Story(Replayed.billing),
    "worker-register": Story(),
    "worker-describe": Story(Replayed.a_worker),
    "worker-deregister": Story(Replayed.a_worker),
    "worker-list": Story(Replayed.two_workers),
    "search-attribute-create": Story(),
    "search-attribute-delete": Story(Replayed.two_attributes),
    "search-attribute-list": Story(Replayed.two_attributes),
    "task-queue-build-id-drain": Story(Replayed.a_critical_worker),
    "task-queue-build-id-promote": Story(Replayed.a_critical_worker),
    "task-queue-build-id-resume": Story(Replayed.a_critical_worker),
    "workflow-start": Story(after=Replayed.stored_as_asked),
    "workflow-describe": Story(Replayed.a_waiting_workflow),
    "workflow-list": Story(Replayed.two_workflows),
    "workflow-list-runs": Story(Replayed.two_runs),
    "workflow-show-run": Story(Replayed.two_runs_and_a_timer),
    "workflow-history": Story(Replayed.an_activity_asked_for),
    "workflow-history-export": Story(Replayed.an_activity_done),
    "workflow-signal": Story(Replayed.a_waiting_workflow, Replayed.signal_heard),
    "workflow-query": Story(Replayed.a_workflow_that_answers, Replayed.answered),
    "workflow-update": Story(Replayed.a_workflow_that_changes, Replayed.answered),
    "workflow-cancel": Story(Replayed.a_workflow, Replayed.closed_with_reason),
    "workflow-terminate": Story(Replayed.a_workflow, Replayed.closed_with_reason),
    "workflow-archive": Story(Replayed.a_closed_workflow),
    "workflow-repair": Story(Replayed.a_workflow),
    "workflow-task-poll": Story(Replayed.an_order),
    "workflow-task-history": Story(Replayed.a_long_order_taken),
    "workflow-task-complete": Story(Replayed.an_order_taken),
    "workflow-task-fail": Story(Replayed.an_order_taken),
    "activity-complete": Story(Replayed.an_activity_taken),
    "activity-fail": Story(Replayed.an_activity_taken),
    "query-task-poll": Story(Replayed.an_order_asked),
    "query-task-complete": Story(Replayed.an_order_asked_and_taken, Replayed.asker_answered),
    "query-task-fail": Story(Replayed.an_order_asked_and_taken, Replayed.asker_refused),
}


class Fixtures(Replayed):
    """One test for each file, but those that operations_fixtures_test.py, schedules_fixtures_test.py and storage_test.py
    tell."""


ELSEWHERE = ("bridge-webhook", "schedule-", "storage-test", "system-", "task-queue-list", "task-queue-describe",
             "task-queue-build-ids")

for stem in FIXTURES:
    if stem.startswith(ELSEWHERE):
        continue
    setattr(Fixtures, f"test_{stem.replace('-', '_')}", lambda self, stem=stem: self.tell_story(stem))


if __name__ == "__main__":
    unittest.main(verbosity=2)
