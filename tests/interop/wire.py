"""Both planes of the HTTP API, spoken by hand: what is on the wire, and nothing in between."""
import base64
import http.client
import json
import unittest
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any
from urllib.parse import urlsplit

from serving import Server

Json = dict[str, Any]
Headers = dict[str, str | None]

VERSION = "1.19"
VERSION_HEADER = "X-Durable-Workflow-Protocol-Version"
QUEUE = "by-hand"
PATIENCE = 20  # seconds, for what is about to come
UNREADABLE = {"unsupported_payload_codec", "invalid_payload_framing", "unsupported_payload_schema"}


# ---- payloads and commands

def avro(value: Any) -> bytes:
    def long(number: int) -> bytes:
        number, out = (number << 1) ^ (number >> 63), bytearray()
        while number > 0x7F:
            out.append(number & 0x7F | 0x80)
            number >>= 7
        return bytes(out + bytes([number]))

    if value is None:
        return b"\x00"
    if isinstance(value, int):
        return b"\x04" + long(value)
    def text(value: str) -> bytes:
        return long(len(value.encode())) + value.encode()

    if isinstance(value, str):
        return b"\x0a" + text(value)
    if isinstance(value, dict):
        entries = b"".join(text(key) + avro(entry) for key, entry in value.items())
        return b"\x0e" + (long(len(value)) + entries if value else b"") + b"\x00"
    items = b"".join(map(avro, value))
    return b"\x0c" + (long(len(value)) + items if value else b"") + b"\x00"


def blob(value: Any) -> str:
    return base64.b64encode(bytes.fromhex("c301e2a33dff55802237") + avro(value)).decode()


def envelope(value: Any) -> Json:
    return {"codec": "avro", "blob": blob(value)}


def activity(name: str, *arguments: Any, **options: Any) -> Json:
    return {"type": "schedule_activity", "activity_type": name, "arguments": envelope(list(arguments)), **options}


def timer(seconds: int | str = 0) -> Json:
    return {"type": "start_timer", "delay_seconds": seconds}


def noted(value: Any) -> Json:
    return {"type": "record_side_effect", "result": blob(value)}


def done(result: Any = None) -> Json:
    return {"type": "complete_workflow", "result": envelope(result)}


def types(events: list[Json]) -> list[str]:
    return [event["event_type"] for event in events]


# ---- requests and answers

@dataclass(repr=False)
class Answer:
    status: int
    headers: http.client.HTTPMessage
    body: Json

    def __repr__(self) -> str:
        lengthy = ("server_capabilities", "control_plane")
        return f"{self.status} {json.dumps({key: self.body[key] for key in self.body if key not in lengthy})}"


class WireTest(unittest.TestCase):
    """A server of its own for each test, and the requests that the stories are made of."""

    settings: dict[str, str] = {}  # variables that the server is given

    def setUp(self) -> None:
        self.server = Server(self.settings)
        self.addCleanup(lambda: self.assertEqual(self.server.stop(), 0, "SIGTERM ends it cleanly"))

    def restart(self) -> None:
        port = urlsplit(self.server.url).port
        self.server.kill()
        self.server.start(port)

    def request(self, method: str, path: str, body: Any = None, headers: Headers | None = None) -> Answer:
        connection = http.client.HTTPConnection(urlsplit(self.server.url).netloc, timeout=90)
        try:
            sent = {name: value for name, value in (headers or {}).items() if value is not None}
            text = body if body is None or isinstance(body, str) else json.dumps(body)
            if text is not None:
                sent.setdefault("Content-Type", "application/json")
            connection.request(method, "/api" + path, text, sent)
            response = connection.getresponse()
            return Answer(response.status, response.headers, json.loads(response.read()))
        finally:
            connection.close()

    def control(self, method: str, path: str, body: Any = None, headers: Headers | None = None) -> Answer:
        version: Headers = {"X-Durable-Workflow-Control-Plane-Version": "2"}
        return self.request(method, path, body, version | (headers or {}))

    def worker(self, path: str, body: Any = None, *, method: str = "POST", version: str | None = "1.1",
               headers: Headers | None = None) -> Answer:
        """Whatever the answer is, it names the version and what the server can."""
        answer = self.request(method, "/worker" + path, body, {VERSION_HEADER: version, **(headers or {})})
        self.assertEqual(answer.body.get("protocol_version"), VERSION, answer)
        self.assertEqual(answer.headers[VERSION_HEADER], VERSION, answer)
        self.assertIsInstance(answer.body.get("server_capabilities"), dict, answer)
        return answer

    # ---- what is said

    def shows(self, shown: Json, /, **expected: Any) -> None:
        """The keys that matter have these values; there may be more."""
        self.assertEqual({key: shown.get(key, "<absent>") for key in expected}, expected)

    def says(self, answer: Answer, status: int, /, **expected: Any) -> Json:
        told = {key: answer.body.get(key, "<absent>") for key in expected}
        self.assertEqual((answer.status, told), (status, expected), answer)
        return answer.body

    def refused(self, answer: Answer, status: int, reason: str, /, **expected: Any) -> Json:
        body = self.says(answer, status, reason=reason, **expected)
        self.assertTrue(body.get("message"), answer)
        if "protocol_version" in body:
            self.assertEqual(body.get("error"), body["message"], "both keys, the same text")
        return body

    def invalid(self, answer: Answer, *paths: str) -> None:
        """Payloads that cannot be read give the refusal its reason, when nothing else is wrong."""
        codes = {text.split(":")[0] for texts in answer.body.get("errors", {}).values() for text in texts}
        reason = codes.pop() if len(codes) == 1 and codes <= UNREADABLE else "validation_failed"
        body = self.refused(answer, 422, reason)
        self.assertEqual(sorted(body["errors"]), sorted(paths), answer)
        self.assertEqual(body["errors"], body["validation_errors"])
        self.assertTrue(all(texts and all(texts) for texts in body["errors"].values()), answer)

    def near(self, text: str, seconds: int) -> None:
        """An instant that many seconds from now, give or take a slow machine."""
        distance = datetime.fromisoformat(text) - datetime.now(timezone.utc) - timedelta(seconds=seconds)
        self.assertLess(abs(distance), timedelta(seconds=15), text)

    def until_waiting(self, count: int = 1) -> None:
        """Until the server holds so many requests that wait for something to happen."""
        def waiting() -> float:
            connection = http.client.HTTPConnection(urlsplit(self.server.url).netloc, timeout=90)
            connection.request("GET", "/metrics")
            lines = connection.getresponse().read().decode().splitlines()
            connection.close()
            return sum(float(line.split()[1]) for line in lines if line.startswith("dw_http_requests_waiting{"))
        while waiting() < count:
            pass

    # ---- workers

    def register(self, worker: str = "w1", **more: Any) -> None:
        body = {"worker_id": worker, "task_queue": QUEUE, "runtime": "rust", **more}
        self.says(self.worker("/register", body), 201, worker_id=worker, registered=True)

    def deregister(self, worker: str = "w1") -> Answer:
        return self.worker(f"/registrations/{worker}", method="DELETE")

    def ask(self, kind: str = "workflow", worker: str | None = "w1", timeout: int = PATIENCE, **more: Any) -> Answer:
        return self.worker(f"/{kind}-tasks/poll",
                           {"worker_id": worker, "task_queue": QUEUE, "timeout_seconds": timeout, **more})

    def poll(self, kind: str = "workflow", worker: str = "w1", **more: Any) -> Json:
        return self.says(self.ask(kind, worker, **more), 200, poll_status="leased")["task"]

    def nothing(self, kind: str = "workflow", worker: str = "w1", **more: Any) -> None:
        self.says(self.ask(kind, worker, 0, **more), 200, task=None, poll_status="timeout")

    # ---- workflow tasks

    def report(self, task: Json, verb: str, more: Json | None = None, **instead: Any) -> Answer:
        holder = {"lease_owner": task["lease_owner"], "workflow_task_attempt": task["workflow_task_attempt"]}
        return self.worker(f"/workflow-tasks/{task['task_id']}/{verb}", holder | (more or {}) | instead)

    def complete(self, task: Json, *commands: Json, **instead: Any) -> Answer:
        return self.report(task, "complete", {"commands": list(commands)}, **instead)

    def give_up(self, task: Json, message: str = "no idea", **failure: Any) -> Answer:
        return self.report(task, "fail", {"failure": {"message": message, **failure}})

    def completed(self, answer: Answer, task: Json, run_status: str = "waiting") -> Json:
        return self.says(answer, 200, task_id=task["task_id"], workflow_task_attempt=task["workflow_task_attempt"],
                         outcome="completed", recorded=True, run_id=task["run_id"], run_status=run_status,
                         created_task_ids=[], reason=None)

    # ---- activity tasks

    def tell(self, work: Json, verb: str, more: Json | None = None, **instead: Any) -> Answer:
        holder = {"lease_owner": work["lease_owner"], "activity_attempt_id": work["activity_attempt_id"]}
        return self.worker(f"/activity-tasks/{work['task_id']}/{verb}", holder | (more or {}) | instead)

    def ended(self, answer: Answer, work: Json, outcome: str = "completed") -> Json:
        return self.says(answer, 200, task_id=work["task_id"], activity_attempt_id=work["activity_attempt_id"],
                         outcome=outcome, recorded=True)

    def ignored(self, answer: Answer, reason: str, **expected: Any) -> None:
        self.refused(answer, 409, reason, outcome="ignored", recorded=False, **expected)

    # ---- workflows

    def start(self, workflow_id: str = "wf", *arguments: Any, **more: Any) -> str:
        body = {"workflow_type": "hand.made", "workflow_id": workflow_id, "task_queue": QUEUE,
                "input": list(arguments), **more}
        return self.says(self.control("POST", "/workflows", body), 201, outcome="started_new")["run_id"]

    def started(self, *arguments: Any, poll: Json | None = None, **worker: Any) -> Json:
        """A registered worker and its first task."""
        self.register(**worker)
        self.start("wf", *arguments)
        return self.poll(**(poll or {}))

    def asked(self, *commands: Json, **worker: Any) -> None:
        """A workflow whose first task asked for these."""
        task = self.started(**worker)
        self.completed(self.complete(task, *commands), task)

    def at_work(self, **options: Any) -> Json:
        """A worker's first activity task."""
        self.asked(activity("greet", "ada", **options))
        return self.poll("activity")

    def close(self, how: str, workflow_id: str = "wf") -> None:
        self.says(self.control("POST", f"/workflows/{workflow_id}/{how}", {"reason": "enough"}), 200)

    def described(self, workflow_id: str = "wf") -> Json:
        return self.says(self.control("GET", f"/workflows/{workflow_id}"), 200)

    def history(self, run_id: str, workflow_id: str = "wf") -> list[Json]:
        return self.says(self.control("GET", f"/workflows/{workflow_id}/runs/{run_id}/history"), 200)["events"]
