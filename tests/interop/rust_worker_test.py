"""The published Rust SDK, unmodified: its workers run the code, `dw` keeps the history."""
import json
import os
import queue
import signal
import subprocess
import threading
import time
import unittest
from typing import Any, Callable
from unittest import mock
from urllib.parse import urlsplit

from wire import Answer, Json, WireTest, types

RUST = os.environ["DW_RUST_PROGRAM"]
QUEUE = "rust"
PATIENCE = 60  # seconds, for what is about to come


class RustProgram:
    """A process made of the published crate (rust/src/main.rs), which is talked to line by line."""

    def __init__(self, role: str, url: str, name: str = "w1", **environment: str) -> None:
        self.name = name
        self.process = subprocess.Popen(
            [RUST, role, url, QUEUE, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=os.environ | environment)
        self.lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self) -> None:
        for line in self.process.stdout:
            self.lines.put(line.rstrip("\n"))
        self.lines.put(None)

    def says(self) -> str:
        line = self.lines.get(timeout=PATIENCE)
        if line is None:
            raise AssertionError(f"{self.name} has ended with {self.process.wait()}")
        return line

    def hears(self, line: str) -> None:
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def alive(self) -> bool:
        return self.process.poll() is None

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


class RustTest(WireTest):
    """What the stories ask of the server, by HTTP, and of the programs they start."""
    patience = PATIENCE

    def program(self, role: str, name: str = "w1", **environment: str) -> RustProgram:
        program = RustProgram(role, self.server.url, name, **environment)
        self.addCleanup(program.kill)
        return program

    def work(self, name: str = "w1", **environment: str) -> RustProgram:
        worker = self.program("worker", name, **environment)
        self.assertEqual(worker.says(), "at work")
        return worker

    def begin(self, workflow_type: str, workflow_id: str, *arguments: Any) -> str:
        body = {"workflow_type": workflow_type, "workflow_id": workflow_id, "task_queue": QUEUE, "input": arguments}
        return self.says(self.control("POST", "/workflows", body), 201, outcome="started_new")["run_id"]

    def send(self, workflow_id: str, name: str, *arguments: Any) -> Json:
        answer = self.control("POST", f"/workflows/{workflow_id}/signal/{name}", {"input": arguments})
        return self.says(answer, 202, outcome="signal_received")

    def query(self, workflow_id: str, name: str) -> Answer:
        return self.control("POST", f"/workflows/{workflow_id}/query/{name}", {})

    def update(self, workflow_id: str, name: str, *arguments: Any) -> Answer:
        body = {"input": arguments, "wait_for": "completed", "wait_timeout_seconds": self.patience}
        return self.control("POST", f"/workflows/{workflow_id}/update/{name}", body)

    def until(self, look: Callable[[], Any]) -> Any:
        deadline = time.monotonic() + self.patience
        while not (found := look()):  # each look is a round trip to the server
            self.assertLess(time.monotonic(), deadline, "it did not come")
        return found

    def finished(self, workflow_id: str, status: str = "completed") -> Json:
        def closed() -> Json | None:
            shown = self.described(workflow_id)
            return shown if shown["is_terminal"] and shown["closed_reason"] != "continued" else None
        shown = self.until(closed)
        self.assertEqual(shown["status"], status, shown)
        return shown

    def output(self, workflow_id: str) -> Any:
        return self.finished(workflow_id)["output"]

    def outcome(self, workflow_type: str, *arguments: Any) -> Any:
        self.begin(workflow_type, workflow_type, *arguments)
        return self.output(workflow_type)

    def recorded(self, workflow_id: str) -> list[str]:
        return types(self.history(self.described(workflow_id)["run_id"], workflow_id))

    def until_recorded(self, workflow_id: str, event_type: str, times: int = 1) -> None:
        self.until(lambda: self.recorded(workflow_id).count(event_type) >= times)


class ARustWorker(RustTest):
    def setUp(self) -> None:
        super().setUp()
        self.worker_process = self.work()

    # ---- activities

    def test_runs_an_activity_and_the_result_comes_back(self) -> None:
        self.assertEqual(self.outcome("rust.hello", "ada"), {"text": "hello ada"})

    def test_tries_an_activity_until_it_succeeds(self) -> None:
        self.assertEqual(self.outcome("rust.retries", 3), 3)
        self.assertEqual(self.recorded("rust.retries").count("ActivityRetryScheduled"), 2)

    def test_handles_an_activity_that_failed(self) -> None:
        self.assertIn("no tea today", self.outcome("rust.survives", "tea")["gave_up"])

    def test_fails_a_workflow_whose_failure_nobody_handles(self) -> None:
        self.begin("rust.calls", "fails", "rust.refuse", QUEUE, ["milk"])
        self.assertIn("no milk today", self.finished("fails", "failed")["error"])

    def test_gets_parallel_results_in_the_order_it_asked_for_them(self) -> None:
        self.assertEqual(self.outcome("rust.squares", [1, 2, 3, 4, 5]), [1, 4, 9, 16, 25])
        self.assertEqual(self.recorded("rust.squares")[2:7], ["ActivityScheduled"] * 5)

    def test_mixes_activities_timers_and_children_in_groups(self) -> None:
        self.assertEqual(self.outcome("rust.mixed", QUEUE), [9, "Timer", [{"text": "hello ada"}, 16]])

    def test_stops_an_activity_whose_workflow_was_cancelled_and_goes_on(self) -> None:
        self.begin("rust.calls", "beats", "rust.beat", QUEUE, [])
        self.until_recorded("beats", "ActivityHeartbeatRecorded")
        self.close("cancel", "beats")
        self.assertEqual(self.worker_process.says(), "told to stop")
        self.finished("beats", "cancelled")
        self.assertEqual(self.outcome("rust.hello", "ada"), {"text": "hello ada"})

    # ---- time, children, runs

    def test_waits_for_a_timer(self) -> None:
        self.assertEqual(self.outcome("rust.sleeper", 1), "awake")
        self.assertIn("TimerFired", self.recorded("rust.sleeper"))

    def test_hears_what_became_of_a_child(self) -> None:
        self.begin("rust.relay", "well", "rust.hello", QUEUE, ["ada"])
        self.begin("rust.relay", "badly", "rust.calls", QUEUE, ["rust.refuse", QUEUE, ["milk"]])
        self.assertEqual(self.output("well"), {"answer": {"text": "hello ada"}})
        self.assertIn("no milk today", self.output("badly")["trouble"])

    def test_continues_as_new(self) -> None:
        self.assertEqual(self.outcome("rust.countdown", 3, []), [3, 2, 1])
        self.assertEqual(self.described("rust.countdown")["run_count"], 4)

    # ---- signals

    def test_waits_for_signals_one_after_the_other(self) -> None:
        self.begin("rust.letters", "letters", 3)
        self.until_recorded("letters", "SignalWaitOpened")
        for word in ("one", "two", "three"):
            self.send("letters", "letter", word, {"size": len(word)})
        self.assertEqual(self.output("letters"), [["one", {"size": 3}], ["two", {"size": 3}], ["three", {"size": 5}]])

    def park(self) -> None:
        """Two waits that are no group: the task that shows the end of one is answered with "nothing to do"."""
        run = self.begin("rust.both", "both", "ada")
        self.until_recorded("both", "ActivityCompleted")
        export = f"/workflows/both/runs/{run}/history/export"
        self.until(lambda: self.says(self.control("GET", export), 200)["tasks"] == [])

    def test_parks_when_there_is_nothing_new_to_ask_for(self) -> None:
        self.park()
        self.shows(self.described("both"), status="waiting", wait_kind="signal")
        self.assertTrue(self.worker_process.alive())

    def test_goes_on_after_it_has_parked(self) -> None:
        self.park()
        self.send("both", "noise")  # nobody waits for it
        self.send("both", "go", "now")
        self.assertEqual(self.output("both"), ["hello ada", ["now"]])

    def test_waits_until_signals_satisfy_a_condition(self) -> None:
        self.begin("rust.votes", "votes", 2)
        self.send("votes", "vote", "ada")
        self.until_recorded("votes", "ConditionWaitOpened")
        self.send("votes", "vote", "grace")
        self.assertEqual(self.output("votes"), {"enough": True, "votes": [["ada"], ["grace"]]})

    def test_gives_up_on_a_condition_in_time(self) -> None:
        self.assertTrue(self.outcome("rust.impatient"))

    # ---- queries and updates

    def test_answers_queries_from_history_and_from_its_own_state(self) -> None:
        self.begin("rust.letters", "asked", 3)
        self.send("asked", "letter", "one")
        self.send("asked", "letter", "two")
        self.says(self.query("asked", "received"), 200, result=2)
        self.until(lambda: self.says(self.query("asked", "read"), 200)["result"] == 2)
        self.refused(self.query("asked", "nonsense"), 404, "rejected_unknown_query")

    def test_answers_updates(self) -> None:
        self.begin("rust.desk", "desk")
        self.says(self.update("desk", "double", 21), 200, outcome="update_completed", result=42)
        refused = self.refused(self.update("desk", "double", "much"), 422, "update_failed")
        self.assertIn('cannot double "much"', refused["failure_message"])

    def test_looks_at_a_condition_again_after_an_update(self) -> None:
        self.begin("rust.quorum", "quorum", 2)
        self.says(self.update("quorum", "join", "ada"), 200, outcome="update_completed")
        self.until_recorded("quorum", "ConditionWaitOpened", 2)
        self.says(self.update("quorum", "join", "grace"), 200, outcome="update_completed")
        self.assertEqual(self.output("quorum"), [["ada"], ["grace"]])

    # ---- what is written down

    def test_writes_a_memo(self) -> None:
        self.assertEqual(self.outcome("rust.memo", "ada"), "hello ada")
        self.assertEqual(self.described("rust.memo")["memo"], {"stage": "late"})

    def test_takes_its_name_off_the_list_when_it_stops(self) -> None:
        self.shows(self.says(self.control("GET", "/workers/w1"), 200), runtime="rust", task_queue=QUEUE)
        self.assertEqual(self.worker_process.stop(), 0)
        self.refused(self.control("GET", "/workers/w1"), 404, "worker_not_found")


class WorkersThatComeAndGo(RustTest):
    def test_signals_that_came_before_the_worker_are_all_read(self) -> None:
        self.begin("rust.letters", "early", 2)
        self.send("early", "letter", "one")
        self.send("early", "letter", "two")
        self.work()
        self.assertEqual(self.output("early"), [["one"], ["two"]])

    def test_another_process_with_newer_code_replays_what_was_recorded(self) -> None:
        first = self.work("first")
        self.begin("rust.recorder", "old")
        self.until_recorded("old", "SignalWaitOpened")
        first.kill()
        second = self.work("second", NEWEST="2")
        self.begin("rust.recorder", "new")
        for workflow in ("old", "new"):
            self.send(workflow, "go")
        pid = second.process.pid
        self.assertEqual(self.output("old"), {"author": first.process.pid, "finished_by": pid, "version": 1})
        self.assertEqual(self.output("new"), {"author": pid, "finished_by": pid, "version": 2})
        self.assertEqual(self.described("old")["search_attributes"], {"Stage": "late"})

    def test_a_worker_lives_on_when_the_server_is_killed(self) -> None:
        worker = self.work()
        self.begin("rust.sleeper", "sleeper", 2)
        self.begin("rust.calls", "asking", "rust.ask", QUEUE, ["leave"])
        self.until_recorded("sleeper", "TimerScheduled")
        self.assertEqual(worker.says(), "asked for leave")
        self.restart()
        worker.hears("granted")
        self.assertEqual(self.output("asking"), "granted")
        self.assertEqual(self.output("sleeper"), "awake")
        self.assertEqual(self.outcome("rust.hello", "ada"), {"text": "hello ada"})
        self.assertTrue(worker.alive())

    def test_a_worker_lives_on_when_the_server_is_stopped_and_started(self) -> None:
        worker = self.work()
        self.assertEqual(self.outcome("rust.sleeper", 0), "awake")
        self.server.process.send_signal(signal.SIGTERM)
        self.assertEqual(self.server.process.wait(PATIENCE), 0)
        self.server.process.stdout.close()
        self.server.start(urlsplit(self.server.url).port)
        self.assertEqual(self.outcome("rust.hello", "ada"), {"text": "hello ada"})
        self.assertTrue(worker.alive())

    def test_a_wait_for_a_signal_outlives_the_server(self) -> None:
        worker = self.work()
        self.begin("rust.letters", "letters", 2)
        self.send("letters", "letter", "before")
        self.until_recorded("letters", "SignalWaitOpened", 2)
        self.restart()
        self.send("letters", "letter", "after")
        self.assertEqual(self.output("letters"), [["before"], ["after"]])
        self.assertTrue(worker.alive())

    def test_a_report_is_taken_once_however_often_the_server_is_killed(self) -> None:
        hand = self.program("by-hand")
        self.assertEqual(hand.says(), "at work")
        self.begin("rust.by_hand", "twice")
        for report in ("the first task", "the activity", "the last task"):
            with self.subTest(report):
                first = json.loads(hand.says())
                self.shows(first, outcome="completed", recorded=True)
                self.restart()
                hand.hears("again")
                self.shows(json.loads(hand.says()), **{key: first[key] for key in ("task_id", "outcome", "recorded")})
                hand.hears("on")
        self.assertEqual(self.output("twice"), "done")
        self.assertEqual(self.recorded("twice").count("ActivityCompleted"), 1)

    def test_a_lenient_server_does_not_end_a_worker_whose_run_has_ended(self) -> None:
        self.server.kill()
        with mock.patch.dict(os.environ, DW_LENIENT_RUN_CLOSED="1"):
            self.server.start()
        worker = self.work()
        self.begin("rust.thinker", "thinker")
        self.assertEqual(worker.says(), "thinking")
        self.close("cancel", "thinker")
        worker.hears("too late")
        self.assertEqual(self.outcome("rust.hello", "ada"), {"text": "hello ada"})
        self.finished("thinker", "cancelled")


class ARustClient(RustTest):
    def told(self) -> Json:
        self.work()
        return json.loads(self.program("client", "c1").says())

    def test_starts_signals_queries_updates_and_cancels(self) -> None:
        told = self.told()
        self.shows(told, protocol="1.19", hello={"text": "hello ada"}, again=409,
                   letters={"received": 1, "all": [["one"], ["two"]]})
        self.assertEqual(told["desk"]["doubled"], [42, 42])
        self.assertEqual(told["cancelled"][0], "cancelled", told)
        self.assertEqual(told["cancelled"][1][0], "cancelled", told)
        self.assertEqual(told["failed"][0], "failed", told)
        self.assertIn("no tea today", told["failed"][1])

    def test_an_update_that_is_repeated_is_run_once(self) -> None:
        self.assertEqual(self.told()["desk"]["all"], [[21]])


if __name__ == "__main__":
    unittest.main()
