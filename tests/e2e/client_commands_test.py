#!/usr/bin/env python3
"""The client commands of dw, as scripts use them: the real binary against a real server, and against
servers that answer with errors, with nothing, or with nonsense. DW_BINARY names the binary."""
import contextlib
import json
import os
import pathlib
import re
import socket
import sqlite3
import stat
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.parse
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "interop"))
from serving import DW, Server  # noqa: E402

SUCCESS, FAILURE, INVALID, NETWORK, AUTH, NOT_FOUND, SERVER, TIMEOUT, COMPATIBILITY = range(9)
READ = ["workflow:list"]
WRITE = ["workflow:cancel", "order-42"]


class Ran:
    def __init__(self, done: subprocess.CompletedProcess) -> None:
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]

    def __repr__(self) -> str:
        return f"exit code {self.code}\n{self.out}\n{self.err}"


class Commands(unittest.TestCase):
    """Runs dw with a home of its own, so that nobody's configuration gets in between."""

    server_url = ""

    def setUp(self) -> None:
        self.home = tempfile.TemporaryDirectory(prefix="dw-client-")
        self.addCleanup(self.home.cleanup)

    def dw(self, *words: str, text: str = "", **variables: str) -> Ran:
        environment = {"PATH": os.environ.get("PATH", ""), "HOME": self.home.name}
        if self.server_url:
            environment["DURABLE_WORKFLOW_SERVER_URL"] = self.server_url
        return Ran(subprocess.run([DW, *words], input=text, capture_output=True, text=True,
                                  env=environment | variables, timeout=120))

    def ends(self, code: int, *words: str, **more: str) -> Ran:
        ran = self.dw(*words, **more)
        self.assertEqual(ran.code, code, f"dw {' '.join(words)}: {ran}")
        return ran

    def told(self, *words: str, code: int = SUCCESS, **more: str) -> Any:
        """The one document that a command prints for machines, and nothing beside it."""
        ran = self.ends(code, *words, "--json", **more)
        self.assertEqual(ran.err, "", words)
        self.assertEqual(ran.out.count("\n"), 1, "one compact document")
        return ran.json


class AgainstAServer(Commands):
    @classmethod
    def setUpClass(cls) -> None:
        cls.server = Server()
        cls.server_url = cls.server.url

    @classmethod
    def tearDownClass(cls) -> None:
        assert cls.server.stop() == 0, "SIGTERM ends it cleanly"

    def until(self, condition: Callable[[], bool]) -> None:
        """Asks again and again; nobody waits that long unless something broke."""
        deadline = time.monotonic() + 60
        while not condition():
            self.assertLess(time.monotonic(), deadline, "it did not come to that")

    def start(self, workflow_id: str, goal: int = 3, *more: str) -> str:
        started = self.told("workflow:start", "-t", "sample.tally", "-w", workflow_id, "-i", f"[{goal}]", *more)
        return started["run_id"]

    # ---- workflows

    def test_a_workflow_from_start_to_export(self) -> None:
        run = self.start("story", 5)
        self.assertEqual(self.told("workflow:query", "story", "total")["result"], 0)
        sent = self.told("workflow:signal", "story", "add", "-i", "2")
        self.assertEqual((sent["outcome"], sent["namespace"]), ("signal_received", "default"))
        self.until(lambda: self.told("workflow:query", "story", "total")["result"] == 2)
        updated = self.told("workflow:update", "story", "lower", "-i", "[4]", "--wait=completed")
        self.assertEqual((updated["state"], updated["result"]), ("completed", 4))
        self.assertEqual(updated["request"]["input"], [4])
        self.assertEqual(self.told("workflow:describe", "story")["run_id"], run)
        self.told("workflow", "signal", "story", "add", "--input-file", "-", text="2\n")
        ended = self.told("watch", "workflow", "story", "--interval=1", "--max-polls=60")
        self.assertEqual((ended["event"], ended["state"]["output"]), ("ended", 4))

        events = self.told("workflow:history", "story", run, "--page-size", "3")["events"]
        self.assertEqual([event["sequence"] for event in events], list(range(1, len(events) + 1)))
        self.assertEqual(events[-1]["event_type"], "WorkflowCompleted")
        streamed = self.ends(SUCCESS, "workflow:history", "story", run, "-f", "--output=jsonl").lines
        self.assertEqual([event["sequence"] for event in streamed], [event["sequence"] for event in events])
        self.assertEqual(self.told("workflow:list-runs", "story")["run_count"], 1)
        self.assertEqual(self.told("workflow:show-run", "story", run)["status"], "completed")

        bundle = pathlib.Path(self.home.name, "story.json")
        ran = self.ends(SUCCESS, "workflow:history-export", "story", run, "-o", str(bundle))
        self.assertEqual(ran.out, "")
        self.assertIn("Exported run", ran.err)
        self.assertIn("ok", self.ends(SUCCESS, "replay:verify", str(bundle)).out)
        printed = self.ends(SUCCESS, "workflow:history-export", "story", run).out
        self.assertEqual(json.loads(printed)["workflow"]["run_id"], run)
        self.assertEqual(self.told("workflow:archive", "story")["outcome"], "archived")

    def test_waiting_for_the_end(self) -> None:
        # Standard error may tell why it takes so long.
        ended = self.ends(SUCCESS, "workflow:start", "-t", "sample.tally", "-w", "quick", "-i", "0", "--wait", "--json")
        self.assertEqual((ended.json["status"], ended.json["output"]), ("completed", 0))
        ran = self.ends(SUCCESS, "workflow:start", "-t", "sample.tally", "-w", "signalled", "-i", "2",
                        "--signal", "add", "--signal-input", "2", "--wait")
        self.assertIn("Workflow started", ran.out)
        self.assertIn("Output: 2", ran.out)

    def test_a_workflow_that_ends_otherwise_is_a_failure(self) -> None:
        self.start("ends-otherwise")
        self.told("workflow:terminate", "ends-otherwise", "--reason", "enough")
        self.ends(FAILURE, "watch", "workflow", "ends-otherwise")
        self.assertIn("enough", self.told("workflow:describe", "ends-otherwise", "-f")["reason"])

    def test_watching_has_an_end(self) -> None:
        self.start("patience")
        self.ends(TIMEOUT, "watch", "workflow", "patience", "--interval=0", "--max-polls=3")

    def test_duplicates(self) -> None:
        run = self.start("twice")
        refused = self.told("workflow:start", "-t", "sample.tally", "-w", "twice", "-i", "3", code=INVALID)
        self.assertEqual((refused["status_code"], refused["reason"]), (409, "duplicate_not_allowed"))
        self.assertEqual(self.start("twice", 3, "--duplicate-policy=use-existing"), run)
        aliased = self.told("workflow:start", "-t", "x", "--duplicate-policy=use_existing", code=INVALID)
        self.assertIn("use-existing", aliased["error"])

    def test_lists_in_every_form(self) -> None:
        namespace = "lists"
        self.told("namespace:create", namespace)
        empty = self.ends(SUCCESS, "workflow:list", "--namespace", namespace)
        self.assertEqual(empty.out, f"No workflows found in namespace {namespace}.\n")
        for number in range(5):
            self.start(f"listed-{number}", 3, "--namespace", namespace)
        listed = self.told("workflows", "list", "--limit=2", "--namespace", namespace)
        self.assertEqual(len(listed["workflows"]), 2)
        self.assertEqual({item["namespace"] for item in listed["workflows"]}, {namespace})
        following = self.told("workflow:list", "--limit=2", "--namespace", namespace,
                              f"--next-page-token={listed['next_page_token']}")
        self.assertEqual(len(following["workflows"]), 2)
        everything = self.ends(SUCCESS, "workflow:list", "--limit=2", "--all", "--output=jsonl",
                               "--namespace", namespace).lines
        self.assertEqual(sorted(item["workflow_id"] for item in everything), [f"listed-{n}" for n in range(5)])
        table = self.ends(SUCCESS, "--namespace", namespace, "workflow", "list").out
        self.assertTrue(table.startswith(f"Namespace: {namespace}\nWorkflow ID"), table)
        self.assertNotIn("\x1b", table, "no colours in pipes")

    def test_cancelling(self) -> None:
        self.start("one-of-them")
        cancelled = self.told("workflow:cancel", "one-of-them", "--reason", "enough")
        self.assertEqual(cancelled["outcome"], "cancelled")
        self.assertEqual(self.told("workflow:cancel", "one-of-them", code=INVALID)["status_code"], 409)
        self.told("workflow:cancel", "--all-matching", "x", code=INVALID)

    # ---- the store of the server, beside it

    def test_a_run_in_a_store_is_found_without_its_namespace(self) -> None:
        store = ["--store", str(pathlib.Path(self.server.directory.name, "dw.db"))]
        self.told("namespace:create", "second-shop")
        run = self.start("only-once")
        self.start("in-two-places")
        second = self.start("in-two-places", 3, "--namespace=second-shop")
        self.assertEqual(self.ends(SUCCESS, "run:history", "only-once", "--json", *store).json["run_id"], run)
        exported = self.ends(SUCCESS, "history-export", "only-once", *store).json
        self.assertEqual(exported["workflow"]["run_id"], run)
        listed = self.ends(SUCCESS, "run:list", *store).out
        self.assertRegex(listed, rf"{second} +second-shop +in-two-places ")
        for command in (["run:history", "--json"], ["history-export"]):
            unclear = self.ends(INVALID, *command, "in-two-places", *store)
            self.assertIn("'default', 'second-shop'", unclear.err)
            self.assertIn(second, self.ends(SUCCESS, *command, "in-two-places", "--namespace=second-shop", *store).out)
            self.ends(NOT_FOUND, *command, "only-once", "--namespace=second-shop", *store)
            self.ends(NOT_FOUND, *command, "nobody", *store)

    # ---- everything else that the server has

    def test_namespaces(self) -> None:
        made = self.told("namespace:create", "billing", "-d", "Bills", "-r", "90")
        self.assertEqual((made["namespace"], made["retention_days"]), ("billing", 90))
        self.assertEqual(self.told("namespace:update", "billing", "-r", "120")["retention_days"], 120)
        self.assertEqual(self.told("namespace:describe", "billing")["description"], "Bills")
        self.assertIn("billing", [item["name"] for item in self.told("namespace:list")["namespaces"]])
        self.assertEqual(self.told("namespace:create", "billing", code=INVALID)["status_code"], 409)
        self.told("namespace:delete", "billing")
        self.told("namespace:describe", "billing", code=NOT_FOUND)
        self.told("workflow:list", "--namespace=billing", code=NOT_FOUND)

    def test_a_worker_by_hand(self) -> None:
        queue = ["--task-queue=by-hand"]
        registered = self.told("worker:register", "probe", *queue, "--workflow-type=hand.made")
        self.assertTrue(registered["registered"])
        self.assertIn("probe", [worker["worker_id"] for worker in self.told("worker:list", *queue)["workers"]])
        self.assertIn("No workflow task available.",
                      self.ends(SUCCESS, "workflow-task:poll", "probe", "--timeout=2", *queue).out)
        self.told("workflow:start", "-t", "hand.made", "-w", "by-hand", *queue)
        task = self.told("workflow-task:poll", "probe", *queue)["task"]
        self.assertEqual(task["workflow_id"], "by-hand")
        done = self.told("workflow-task:complete", task["task_id"], str(task["workflow_task_attempt"]),
                         "--lease-owner=probe", "--command", json.dumps({"type": "start_timer", "delay_seconds": 3600}))
        self.assertEqual(done["outcome"], "completed")
        self.told("workflow:start", "-t", "hand.made", "-w", "paid", *queue)
        task = self.told("workflow-task:poll", "probe", *queue)["task"]
        self.told("workflow-task:complete", task["task_id"], str(task["workflow_task_attempt"]), "--lease-owner=probe",
                  "--complete-result", '{"paid":true}')
        self.assertEqual(self.told("workflow:describe", "paid")["output"], {"paid": True})
        self.assertEqual(self.told("worker:describe", "probe")["task_queue"], "by-hand")
        self.assertEqual(self.told("worker:deregister", "probe")["outcome"], "deregistered")
        self.told("worker:describe", "probe", code=NOT_FOUND)

    def test_a_query_answered_by_hand(self) -> None:
        queue = ["--task-queue=asked"]
        self.told("worker:register", "oracle", *queue, "--workflow-type=hand.asked", "--capability=query_tasks")
        self.told("workflow:start", "-t", "hand.asked", "-w", "asked", *queue)
        asking = subprocess.Popen([DW, "workflow:query", "asked", "open", "--json", "--server", self.server_url],
                                  stdout=subprocess.PIPE, env={"HOME": self.home.name})
        task = self.told("query-task:poll", "oracle", *queue)["task"]
        self.told("query-task:complete", task["query_task_id"], str(task["query_task_attempt"]),
                  "--lease-owner=oracle", "--result", '{"open":3}')
        answer, _ = asking.communicate(timeout=60)
        self.assertEqual(json.loads(answer)["result"], {"open": 3})

    def test_the_server_itself(self) -> None:
        self.assertEqual(self.told("server:health")["status"], "serving")
        self.assertEqual(self.told("cluster:info")["control_plane"]["version"], "2")
        report = self.told("doctor", "--token=very-secret")
        self.assertTrue(report["server"]["reachable"])
        self.assertNotIn("very-secret", json.dumps(report))
        self.assertRegex(report["dw"]["commit"], r"^([0-9a-f]{12}[0-9a-f]*(-dirty)?|unknown)$")
        self.assertRegex(report["dw"]["build_date"], r"^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ|unknown)$")
        self.assertIn("Reachable: yes", self.ends(SUCCESS, "doctor").out)
        self.assertIn("Server is serving", self.ends(SUCCESS, "server", "health").out)

    def test_mistakes(self) -> None:
        missing = self.told("workflow:describe", "nobody", code=NOT_FOUND)
        self.assertEqual((missing["reason"], missing["workflow_id"]), ("instance_not_found", "nobody"))
        human = self.ends(NOT_FOUND, "workflow:describe", "nobody")
        self.assertEqual(human.out, "")
        self.assertIn("Next steps:", human.err)
        wrong = self.told("workflow:start", "-t", "", code=INVALID)
        self.assertEqual(wrong["recommendations"][0]["id"], "input.invalid")
        self.assertIn("workflow:list", self.ends(INVALID, "workflow:lits").err)
        self.ends(INVALID, "workflow:list", "--output=xml")
        self.ends(INVALID, "workflow:list", "--env=nowhere")
        self.ends(COMPATIBILITY, *READ, DURABLE_WORKFLOW_CONTROL_PLANE_VERSION="3")
        self.ends(COMPATIBILITY, "worker:register", "x", DURABLE_WORKFLOW_WORKER_PROTOCOL_VERSION="9.0")


    def test_what_our_server_does_not_do_is_told(self) -> None:
        file = pathlib.Path(self.home.name, "run.json")
        file.write_text("{}")
        for words in (["workflow:import", str(file)], ["workflow:migrate-v1", str(file), "--source-id=old"]):
            told = self.told(*words, code=SERVER)
            self.assertEqual((told["status_code"], told["reason"]), (501, "not_implemented"), words)
            self.assertTrue(told["request_id"], words)

    def test_metrics_are_what_prometheus_reads(self) -> None:
        self.assertIn("dw_build_info{", self.ends(SUCCESS, "system:metrics").out)


class Profiles(Commands):
    def test_a_profile_is_private_and_redacted(self) -> None:
        self.told("env:set", "dev", "--server=http://localhost:1", "--token=very-secret", "--make-default")
        config = pathlib.Path(self.home.name, ".config/dw/config.json")
        self.assertEqual(stat.S_IMODE(config.stat().st_mode), 0o600)
        self.assertEqual(stat.S_IMODE(config.parent.stat().st_mode), 0o700)
        for words in (["env:list"], ["env:show"], ["env:list", "--json"], ["env:show", "dev", "--json"]):
            self.assertNotIn("very-secret", self.ends(SUCCESS, *words).out)
        self.assertIn("very-secret", self.ends(SUCCESS, "env:show", "--show-token").out)
        probe = self.ends(NETWORK, "doctor", "--json", "-v")
        self.assertEqual(probe.json["connection"]["server"], "http://localhost:1")
        self.assertNotIn("very-secret", probe.out + probe.err)

    def test_a_profile_that_is_gone_is_no_fallback(self) -> None:
        self.ends(INVALID, *READ, DW_ENV="gone")


class Faults(BaseHTTPRequestHandler):
    """Answers as its server is told; /cluster/info is fine unless that is the fault."""

    protocol_version = "HTTP/1.1"
    INFO = {"version": "2.0.0", "control_plane": {"version": "2", "request_contract": {
        "schema": "durable-workflow.v2.control-plane-request.contract", "version": 1, "operations": {}}},
        "worker_protocol": {"version": "1.19"}}

    def answer(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        self.rfile.read(length)
        if self.path == "/api/cluster/info" and not self.server.everywhere:
            return self.say(200, json.dumps(self.INFO))
        self.server.fault(self)

    def say(self, status: int, text: str, claimed: int | None = None) -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body) if claimed is None else claimed))
        self.end_headers()
        self.wfile.write(body)
        if claimed is not None:
            self.close_connection = True

    do_GET = do_POST = do_PUT = do_DELETE = answer

    def log_message(self, *_: Any) -> None:
        pass


class AgainstFaults(Commands):
    """Every exit code, for a command that reads and one that writes."""

    def serving(self, fault: Any, everywhere: bool = False) -> None:
        server = ThreadingHTTPServer(("127.0.0.1", 0), Faults)
        server.daemon_threads = True
        server.fault, server.everywhere = fault, everywhere
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.server_url = f"http://127.0.0.1:{server.server_port}"

    def both_end(self, code: int, *more: str) -> None:
        for words in (READ, WRITE):
            document = self.told(*words, *more, code=code)
            if code != SUCCESS:
                self.assertEqual((document["exit_code"], document["command"]), (code, words[0]))
                self.assertTrue(document["recommendations"])

    def test_every_status(self) -> None:
        for status, code in {200: SUCCESS, 400: INVALID, 401: AUTH, 403: AUTH, 404: NOT_FOUND, 408: TIMEOUT,
                             409: INVALID, 422: INVALID, 429: INVALID, 500: SERVER, 503: SERVER, 504: SERVER}.items():
            with self.subTest(status=status):
                self.serving(lambda request, status=status: request.say(
                    status, json.dumps({"message": "as told", "reason": "told", "workflows": []})))
                self.both_end(code)

    def test_statuses_of_the_first_question(self) -> None:
        for status, code in {401: AUTH, 404: NOT_FOUND, 500: SERVER}.items():
            with self.subTest(status=status):
                self.serving(lambda request, status=status: request.say(status, "{}"), everywhere=True)
                self.both_end(code)

    def test_nobody_there(self) -> None:
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            self.server_url = f"http://127.0.0.1:{unused.getsockname()[1]}"
            self.both_end(NETWORK)
        self.server_url = "http://no-such-host.invalid:80"
        self.both_end(NETWORK)

    def test_an_answer_that_breaks_off(self) -> None:
        self.serving(lambda request: request.say(200, '{"workflows": [', claimed=1000))
        self.both_end(NETWORK)

    def test_no_answer_in_time(self) -> None:
        over = threading.Event()
        self.addCleanup(over.set)
        self.serving(lambda request: over.wait(60))
        self.both_end(TIMEOUT, "--timeout=1")

    def test_tls_where_there_is_none(self) -> None:
        self.serving(lambda request: request.say(200, "{}"))
        self.server_url = self.server_url.replace("http://", "https://")
        self.both_end(NETWORK)

    def test_another_protocol(self) -> None:
        other = json.dumps({"version": "9", "control_plane": {"version": "3"}})
        self.serving(lambda request: request.say(200, other), everywhere=True)
        self.both_end(COMPATIBILITY)
        self.serving(lambda request: request.say(200, "<html>not ours</html>"), everywhere=True)
        self.both_end(COMPATIBILITY)

    def test_an_answer_that_is_no_json(self) -> None:
        self.serving(lambda request: request.say(200, "<html>"))
        self.both_end(SERVER)

    def test_an_address_that_is_none(self) -> None:
        self.server_url = "nonsense"
        self.both_end(INVALID)

    def test_what_a_server_says_does_not_reach_the_terminal(self) -> None:
        item = {"workflow_id": "a\x1b[2J", "status": "running"}
        self.serving(lambda request: request.say(200, json.dumps({"workflows": [item]})))
        self.assertNotIn("\x1b", self.ends(SUCCESS, *READ).out)
        self.serving(lambda request: request.say(422, json.dumps({"message": "no\x1b[2J", "reason": "\x1b"})))
        self.assertNotIn("\x1b", self.ends(INVALID, *READ).err)

    def test_a_long_history_comes_in_pages(self) -> None:
        # All of it at once would be more than one answer may have.
        total, sizes = 100_000, set()

        def page(request: Faults) -> None:
            asked = urllib.parse.parse_qs(urllib.parse.urlsplit(request.path).query)
            after, size = int(asked.get("next_page_token", ["0"])[0]), int(asked.get("page_size", [str(total)])[0])
            sizes.add(size)
            last = min(after + size, total)
            events = [{"sequence": number, "event_type": "SideEffectRecorded", "payload": {"blob": "x" * 700}}
                      for number in range(after + 1, last + 1)]
            request.say(200, json.dumps({"events": events, "next_page_token": str(last) if last < total else None}))

        self.serving(page)
        ran = self.ends(SUCCESS, "workflow:history", "w", "r", "--output=jsonl")
        self.assertEqual(ran.out.count("\n"), total)
        self.assertLessEqual(max(sizes), 1000)


class OnAStore(Commands):
    def store_of_runs_that_ended_long_ago(self, namespaces: dict[str, int], **runs: str) -> str:
        """`namespaces` keep their runs for so many days, and each of `runs` is of one of them."""
        server = Server()
        self.server_url = server.url
        self.addCleanup(server.directory.cleanup)
        for name, days in namespaces.items():
            self.told("namespace:create", name, f"--retention={days}")
        for workflow, namespace in runs.items():
            self.told("workflow:start", "-t", "sample.tally", "-w", workflow, "-i", "[3]", f"--namespace={namespace}")
            self.told("workflow:terminate", workflow, f"--namespace={namespace}")
        server.end()
        store = f"{server.directory.name}/dw.db"
        with contextlib.closing(sqlite3.connect(store)) as database, database:
            database.execute("UPDATE runs SET closed_at = closed_at - ?", (60 * 24 * 3600 * 1_000_000,))
        return store

    def test_a_namespace_with_many_runs_leaves_room_for_the_others(self) -> None:
        store = self.store_of_runs_that_ended_long_ago({"archive": 30, "billing": 30, "zoo": 30},
                                                       a1="archive", a2="archive", a3="archive", z1="zoo")
        self.assertEqual(self.told("history:prune", "--store", store, "--limit=3")["pruned"], 3)
        left = self.told("system:retention-status", "--store", store)["namespaces"]
        self.assertEqual({one["namespace"]: one["expired_run_count"] for one in left if one["expired_run_count"]}, {"archive": 1})

    def test_what_was_said_to_runs_that_went_goes_though_no_other_run_does(self) -> None:
        store = self.store_of_runs_that_ended_long_ago({"billing": 90}, b="billing")
        with contextlib.closing(sqlite3.connect(store)) as database, database:
            database.execute("INSERT INTO tasks VALUES (1, 'gone.x', 'workflow', 'ready', 'default', 'gone', 'gone', '', '', '', 0, '')")
        pruned = self.told("history:prune", "--store", store)
        self.assertEqual((pruned["pruned"], pruned["undeliverable_tasks_deleted"]), (0, 1))

    def test_each_namespace_keeps_its_runs_as_long_as_it_says(self) -> None:
        store = self.store_of_runs_that_ended_long_ago({"billing": 90}, d="default", b="billing")

        status = self.told("system:retention-status", "--store", store)
        self.assertEqual((status["retention_days"], status["expired_run_count"]), (None, 1))
        self.assertEqual([(one["namespace"], one["retention_days"], one["expired_run_count"])
                          for one in status["namespaces"]], [("billing", 90, 0), ("default", 30, 1)])
        self.assertEqual(self.told("system:retention-status", "--store", store, "--retention-days=59")["expired_run_count"], 2)
        self.assertEqual(self.told("history:prune", "--store", store)["pruned"], 1)
        self.assertEqual(self.told("history:prune", "--store", store, "--namespace=default")["processed"], 0)
        self.assertEqual(self.told("history:prune", "--store", store, "--namespace=billing", "--retention-days=59")["pruned"], 1)


class WithoutAServer(Commands):
    def test_help_and_completion_need_none(self) -> None:
        for words in (["help", "workflow:start"], ["workflow:start", "--help"], ["workflow", "start", "-h"]):
            self.assertIn("POST /api/workflows", self.ends(SUCCESS, *words).out)
        self.assertIn("--data-dir", self.ends(SUCCESS, "help", "server:dev").out, "local commands explain themselves")
        for command in ("system:retention-pass", "system:retention-status"):
            self.assertRegex(self.ends(SUCCESS, "help", command).out, r"--store=STORE(.|\n)*--retention-days=N")
        for shell in ("bash", "zsh", "fish"):
            self.assertIn("workflow:start", self.ends(SUCCESS, "completion", shell).out)
        self.ends(INVALID, "completion", "cmd")

    def test_what_is_not_expected_is_told_as_it_was_typed(self) -> None:
        self.assertIn("not expected: --roles api\n", self.ends(INVALID, "server:start", "--roles", "api").err)

    def test_the_reference_names_the_commands_there_are(self) -> None:
        page = (pathlib.Path(__file__).resolve().parents[2] / "docs" / "cli.md").read_text()
        script = self.ends(SUCCESS, "completion", "fish").out
        commands = set(re.findall(r"__fish_use_subcommand -a '([^']+)'", script))
        self.assertGreater(len(commands), 60)
        documented = {name for row in page.splitlines() if row.startswith("| `")
                      for name in re.findall(r"`([a-z][a-z-]*(?::[a-z0-9-]+)*)(?= [<\[]|`)", row.split(" | ")[0])}
        self.assertEqual(commands - documented - {"debug", "watch", "completion"}, set())
        self.assertEqual(documented - commands - {"cluster:info", "table", "json", "jsonl"}, set())

    def test_bash_completes(self) -> None:
        script = self.ends(SUCCESS, "completion", "bash").out
        for line, wanted in {"dw workflow:sig": "signal", "dw workflow:list --lim": "--limit",
                             "dw workflow:start --duplicate-policy=use": "use-existing"}.items():
            asked = f'{script}\nCOMP_LINE={json.dumps(line)}; COMP_POINT=${{#COMP_LINE}}; _dw; printf "%s\\n" "${{COMPREPLY[@]}}"'
            done = subprocess.run(["bash", "-c", asked], capture_output=True, text=True, timeout=30)
            self.assertEqual(done.stdout.split(), [wanted], line + done.stderr)


if __name__ == "__main__":
    unittest.main()
