"""The exchange that dw's own workers use, spoken by hand: reports and tasks in one request, and a long poll for results."""
import json
import unittest
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from wire import PATIENCE, QUEUE, Answer, Json, WireTest, blob, envelope, types

ALL = {"workflow_tasks": 10, "activity_tasks": 10, "query_tasks": 10}
GREET = {"type": "schedule_activity", "step": 1, "activity_type": "greet", "arguments": envelope(["ada"]),
         "queue": QUEUE}


def finished(result: Any = None) -> Json:
    return {"type": "complete_workflow", "output": envelope(result)}


class ExchangeTest(WireTest):
    def exchange(self, worker: str = "n1", wait: int = 20_000, want: Json | None = None, **reports: Any) -> Answer:
        return self.worker("/exchange", {"worker_id": worker, "task_queue": QUEUE, "want": ALL if want is None else want,
                                         "wait_milliseconds": wait, **reports})

    def got(self, kind: str, **more: Any) -> Json:
        """The one task of that kind that an exchange brings."""
        tasks = self.says(self.exchange(**more), 200, poll_status="leased")["tasks"][kind]
        self.assertEqual(len(tasks), 1, tasks)
        return tasks[0]

    def said(self, task: Json, *commands: Json, **more: Any) -> Json:
        return {"task_id": task["task_id"], "workflow_task_attempt": task["workflow_task_attempt"],
                "now": task["now"], "commands": json.dumps(commands), **more}

    def native(self, worker: str = "n1", **more: Any) -> None:
        self.register(worker, runtime="cpp", **more)

    def shown(self, task: Json) -> list[str]:
        return [event["type"] for commit in task["history"] for event in json.loads(commit["events"])]

    def at_first_task(self, worker: str = "n1") -> Json:
        self.native(worker)
        self.run_id = self.start()
        return self.got("workflow", worker=worker)


class Rounds(ExchangeTest):
    def test_what_a_report_leads_to_comes_with_its_answer(self) -> None:
        task = self.at_first_task()
        self.assertEqual(self.shown(task), ["StartAccepted", "WorkflowStarted"])

        answer = self.says(self.exchange(workflow_tasks=[self.said(task, GREET)]), 200, poll_status="leased")
        [verdict] = answer["workflow_tasks"]
        self.shows(verdict, task_id=task["task_id"], recorded=True)
        self.assertEqual(self.shown(verdict), ["ActivityScheduled", "ActivityStarted"])
        self.assertEqual(verdict["history"][0]["first"], 3)
        [work] = answer["tasks"]["activity"]
        self.shows(work, activity_type="greet", attempt_number=1, run_id=self.run_id, arguments=envelope(["ada"]))
        self.assertEqual(types(self.history(self.run_id))[2:], ["ActivityScheduled", "ActivityStarted"],
                         "born leased, without a poll in between")

        done = {"task_id": work["task_id"], "activity_attempt_id": work["activity_attempt_id"],
                "result": envelope("hello ada")}
        answer = self.says(self.exchange(activity_tasks=[done]), 200)
        self.assertEqual(answer["activity_tasks"], [{"task_id": work["task_id"], "recorded": True}])
        [task] = answer["tasks"]["workflow"]
        self.assertEqual(self.shown(task), ["ActivityCompleted"], "only what its suspended code has not seen")
        self.assertEqual(task["history"][0]["first"], 5)

        self.says(self.exchange(workflow_tasks=[self.said(task, finished("hello ada"))]), 200)
        self.shows(self.described(), status="completed", output="hello ada")

    def lent(self) -> Json:
        """The one activity that its code waits for, and how far that code was shown history."""
        answer = self.says(self.exchange(workflow_tasks=[self.said(self.at_first_task(), GREET)]), 200)
        [work], [verdict] = answer["tasks"]["activity"], answer["workflow_tasks"]
        self.told_at = verdict["history"][0]["at"]
        return work

    def ended(self, work: Json, *commands: Json, **more: Any) -> Json:
        """A report of that activity's end, and of what the code did with it."""
        return {"task_id": work["task_id"], "activity_attempt_id": work["activity_attempt_id"], "result": envelope(7),
                "ahead": {"seen": 4, "now": self.told_at, "commands": json.dumps(commands)} | more}

    def test_code_that_waits_for_one_activity_goes_on_without_asking(self) -> None:
        work = self.lent()
        another = GREET | {"step": 2}
        answer = self.says(self.exchange(activity_tasks=[self.ended(work, another)]), 200)
        [verdict] = answer["activity_tasks"]
        self.shows(verdict, recorded=True, went_on=True)
        self.assertEqual(self.shown(verdict), ["ActivityCompleted", "ActivityScheduled", "ActivityStarted"])
        self.assertEqual(answer["tasks"]["workflow"], [])
        [work] = answer["tasks"]["activity"]

        last = self.ended(work, finished("both"), seen=7)
        self.shows(self.says(self.exchange(activity_tasks=[last], want={}), 200)["activity_tasks"][0], went_on=True)
        self.shows(self.described(), status="completed", output="both")
        again = self.says(self.exchange(activity_tasks=[last], want={}), 200)["activity_tasks"][0]
        self.assertEqual((again["recorded"], "went_on" in again), (True, False), "its result is known; the rest is history")
        self.assertEqual(types(self.history(self.run_id)).count("WorkflowCompleted"), 1)

    def test_a_child_whose_code_is_another_workers_declares_what_that_registered(self) -> None:
        self.register("p1", supported_workflow_types=["billed"],
                      workflow_command_contracts={"billed": {"queries": [], "signals": ["approve"], "updates": []}})
        work = self.lent()
        child = {"type": "start_child", "step": 2, "definition": {"workflow_type": "billed"}, "arguments": envelope([])}
        answer = self.says(self.exchange(activity_tasks=[self.ended(work, child)], want={}), 200)
        self.shows(answer["activity_tasks"][0], went_on=True)
        started = self.poll(worker="p1")["history_events"][1]["payload"]
        self.assertEqual(started["declared_signals"], ["approve"])

    def test_an_answer_that_was_not_heard_comes_again_with_its_activity(self) -> None:
        report = self.said(self.at_first_task(), GREET)
        [work] = self.says(self.exchange(workflow_tasks=[report]), 200)["tasks"]["activity"]
        self.assertEqual(self.says(self.exchange(workflow_tasks=[report]), 200)["tasks"]["activity"], [work])
        self.restart()
        [again] = self.says(self.exchange(workflow_tasks=[report]), 200)["tasks"]["activity"]
        self.assertEqual(again["activity_attempt_id"], work["activity_attempt_id"], "also after SIGKILL")
        self.told_at = 1
        last = self.ended(again, finished("once"))
        self.says(self.exchange(activity_tasks=[last], want={}), 200)
        self.exchange(workflow_tasks=[self.said(self.got("workflow"), finished("once"))], want={})
        self.assertEqual(types(self.history(self.run_id)).count("ActivityStarted"), 1)

    def test_code_that_went_ahead_of_a_signal_runs_again(self) -> None:
        work = self.lent()
        self.says(self.control("POST", "/workflows/wf/signal/news", {"input": []}), 202)
        answer = self.says(self.exchange(activity_tasks=[self.ended(work, finished("too soon"))], wait=0), 200)
        [verdict] = answer["activity_tasks"]
        self.assertEqual((verdict["recorded"], "went_on" in verdict), (True, False))
        self.shows(self.described(), status="waiting")
        tasks = answer["tasks"]["workflow"] or [self.got("workflow")]
        self.assertEqual(self.shown(tasks[0])[:2], ["StartAccepted", "WorkflowStarted"], "from the first event")

    def not_believed(self, **wrong: Any) -> None:
        """The result counts, and the code runs again."""
        work = self.lent()
        report = self.ended(work, finished("no"), **wrong)
        [verdict] = self.says(self.exchange(activity_tasks=[report], want={}), 200)["activity_tasks"]
        self.assertEqual((verdict["recorded"], "went_on" in verdict), (True, False))
        self.says(self.exchange(workflow_tasks=[self.said(self.got("workflow"), finished("yes"))], want={}), 200)
        self.shows(self.described(), status="completed", output="yes")

    def test_code_that_went_into_the_future_runs_again(self) -> None:
        self.not_believed(now=4_000_000_000_000_000)

    def test_code_that_went_into_the_past_runs_again(self) -> None:
        self.not_believed(now=1)

    def test_code_that_saw_other_events_runs_again(self) -> None:
        self.not_believed(seen=3)

    def test_code_that_asked_for_nonsense_runs_again(self) -> None:
        self.not_believed(commands='[{"type": "fly"}]')

    def test_a_local_activity_goes_where_the_code_goes(self) -> None:
        task = self.at_first_task()
        answer = self.says(self.exchange(workflow_tasks=[self.said(task, GREET | {"local": True, "queue": ""})]), 200)
        [work] = answer["tasks"]["activity"]
        self.shows(work, activity_type="greet", attempt_number=1)
        done = {"task_id": work["task_id"], "activity_attempt_id": work["activity_attempt_id"], "result": envelope(1)}
        [task] = self.says(self.exchange(activity_tasks=[done]), 200)["tasks"]["workflow"]
        self.exchange(workflow_tasks=[self.said(task, finished(1))], want={})
        self.shows(self.described(), status="completed")

    def test_another_worker_is_shown_everything(self) -> None:
        task = self.at_first_task()
        self.exchange(workflow_tasks=[self.said(task, {"type": "start_timer", "step": 1, "delay_seconds": 0})],
                      want={})
        self.native("n2")
        task = self.got("workflow", worker="n2")
        self.assertEqual(self.shown(task), ["StartAccepted", "WorkflowStarted", "TimerScheduled", "TimerFired"])

    def test_who_lost_the_code_asks_for_the_whole_history(self) -> None:
        task = self.at_first_task()
        told = self.worker(f"/workflow-tasks/{task['task_id']}/history",
                           {"lease_owner": "n1", "workflow_task_attempt": task["workflow_task_attempt"], "native": True})
        self.assertEqual(self.says(told, 200)["history"], task["history"])

    def test_a_report_is_heard_once_however_often_it_comes(self) -> None:
        task = self.at_first_task()
        report = self.said(task, {"type": "start_timer", "step": 1, "delay_seconds": 3600})
        for _ in range(2):
            answer = self.says(self.exchange(workflow_tasks=[report], want={}), 200)
            self.assertEqual(answer["workflow_tasks"], [{"task_id": task["task_id"], "recorded": True}])
        self.restart()
        answer = self.says(self.exchange(workflow_tasks=[report], want={}), 200)
        self.assertEqual(answer["workflow_tasks"], [{"task_id": task["task_id"], "recorded": True}], "also after SIGKILL")
        self.assertEqual(types(self.history(self.run_id)).count("TimerScheduled"), 1)

    def test_a_late_copy_of_an_old_report_takes_nothing_away(self) -> None:
        def nap(step: int) -> Json:
            return {"type": "start_timer", "step": step, "delay_seconds": 0}
        old = self.said(self.at_first_task(), nap(1))
        self.exchange(workflow_tasks=[old], want={})
        self.exchange(workflow_tasks=[self.said(self.got("workflow"), nap(2))], want={})
        task = self.got("workflow")
        for report in (old, self.said(task, finished("once"))):
            [heard] = self.says(self.exchange(workflow_tasks=[report], want={}), 200)["workflow_tasks"]
            self.shows(heard, recorded=True)
        self.shows(self.described(), status="completed", output="once")

    def test_a_late_copy_of_an_activitys_end_takes_nothing_away(self) -> None:
        work = self.lent()
        old = {"task_id": work["task_id"], "activity_attempt_id": work["activity_attempt_id"], "result": envelope(7)}
        [task] = self.says(self.exchange(activity_tasks=[old]), 200)["tasks"]["workflow"]
        self.exchange(workflow_tasks=[self.said(task, {"type": "start_timer", "step": 2, "delay_seconds": 0})], want={})
        task = self.got("workflow")
        [heard] = self.says(self.exchange(activity_tasks=[old], want={}), 200)["activity_tasks"]
        self.shows(heard, recorded=True)
        [heard] = self.says(self.exchange(workflow_tasks=[self.said(task, finished(7))], want={}), 200)["workflow_tasks"]
        self.shows(heard, recorded=True)

    def test_who_drains_hears_at_once_what_it_was_given_and_is_given_nothing_more(self) -> None:
        self.native()
        with ThreadPoolExecutor() as pool:
            waiting = pool.submit(self.exchange, wait=60_000)
            self.until_waiting()
            self.says(self.exchange(want={}, wait=0, draining=True), 200)
            self.says(waiting.result(PATIENCE), 200, poll_status="timeout")
        self.says(self.control("GET", "/workers/n1"), 200, status="draining")
        self.start()
        self.says(self.exchange(), 409, reason="worker_draining")
        self.native()
        self.got("workflow")

    def test_a_waiting_exchange_takes_what_comes(self) -> None:
        self.native()
        with ThreadPoolExecutor() as pool:
            waiting = pool.submit(self.exchange)
            self.start()
            self.assertEqual(len(self.says(waiting.result(), 200, poll_status="leased")["tasks"]["workflow"]), 1)

    def test_with_nothing_to_do_it_is_told_so(self) -> None:
        self.native()
        tasks = self.says(self.exchange(wait=1), 200, poll_status="timeout")["tasks"]
        self.assertEqual(tasks, {"workflow": [], "activity": [], "query": []})

    def test_many_reports_share_one_request(self) -> None:
        self.native()
        for number in range(5):
            self.start(f"wf-{number}")
        tasks: list[Json] = []
        while len(tasks) < 5:
            tasks += self.says(self.exchange(), 200)["tasks"]["workflow"]
        answer = self.says(self.exchange(workflow_tasks=[self.said(task, finished(1)) for task in tasks]), 200)
        self.assertEqual([heard["recorded"] for heard in answer["workflow_tasks"]], [True] * 5)
        for number in range(5):
            self.shows(self.described(f"wf-{number}"), status="completed")

    def test_a_query_is_answered_with_the_others(self) -> None:
        self.native(supported_workflow_types=["hand.made"], capabilities=["query_tasks"])
        self.start()
        task = self.got("workflow")
        self.exchange(workflow_tasks=[self.said(task, {"type": "start_timer", "step": 1, "delay_seconds": 3600})])
        with ThreadPoolExecutor() as pool:
            asked = pool.submit(self.control, "POST", "/workflows/wf/query/balance", {"input": [1]})
            query = self.got("query")
            self.shows(query, query_name="balance", query_arguments=envelope([1]), workflow_type="hand.made")
            self.assertEqual(self.shown(query), ["StartAccepted", "WorkflowStarted", "TimerScheduled"])
            self.exchange(query_tasks=[{"query_task_id": query["query_task_id"], "result": envelope(42),
                                        "query_task_attempt": query["query_task_attempt"]}], want={})
            self.says(asked.result(), 200, result=42)


class Disagreements(ExchangeTest):
    def test_code_that_does_not_fit_history_is_blocked_and_not_failed(self) -> None:
        task = self.at_first_task()
        blocked = {"reason": "history_shape_mismatch", "step": 1, "expected": "timer", "recorded": ["ActivityScheduled"],
                   "message": "step 1 was an activity"}
        report = {"task_id": task["task_id"], "workflow_task_attempt": task["workflow_task_attempt"], "blocked": blocked}
        answer = self.says(self.exchange(workflow_tasks=[report], want={}), 200)
        self.assertTrue(answer["workflow_tasks"][0]["recorded"])
        self.shows(self.described(), status="pending", is_terminal=False)
        self.says(self.control("POST", "/workflows/wf/signal/hello", {}), 202)
        self.says(self.exchange(wait=1), 200, poll_status="timeout")
        self.says(self.control("POST", "/workflows/wf/repair", {}), 200, outcome="repair_dispatched")
        self.assertEqual(self.shown(self.got("workflow"))[:2], ["StartAccepted", "WorkflowStarted"])

    def test_commands_that_make_no_sense_change_nothing(self) -> None:
        task = self.at_first_task()
        for commands in ("nonsense", '[{"type":"fly"}]', '[{"type":"start_timer","step":"one"}]'):
            report = self.said(task) | {"commands": commands}
            [heard] = self.says(self.exchange(workflow_tasks=[report], want={}), 200)["workflow_tasks"]
            self.shows(heard, recorded=False, reason="invalid_commands")
        self.assertEqual(types(self.history(self.run_id)), ["StartAccepted", "WorkflowStarted"])

    def test_a_signal_that_comes_meanwhile_is_seen_with_the_next_task(self) -> None:
        task = self.at_first_task()
        self.says(self.control("POST", "/workflows/wf/signal/approve", {"input": ["ada"]}), 202)
        wait = {"type": "open_signal_wait", "step": 1, "name": "approve"}
        [task] = self.says(self.exchange(workflow_tasks=[self.said(task, wait)]), 200)["tasks"]["workflow"]
        self.assertEqual(self.shown(task), ["SignalReceived", "SignalWaitOpened"])
        signal = json.loads(task["history"][0]["events"])[0]["signal_id"]
        applied = self.said(task, {"type": "apply_signal", "step": 1, "signal_id": signal}, finished("ok"))
        self.exchange(workflow_tasks=[applied], want={})
        self.shows(self.described(), status="completed", output="ok")

    def test_a_run_that_ended_meanwhile_hears_nothing_more(self) -> None:
        task = self.at_first_task()
        self.close("cancel")
        [heard] = self.says(self.exchange(workflow_tasks=[self.said(task, finished())], want={}), 200)["workflow_tasks"]
        self.shows(heard, recorded=False, reason="run_closed")

    def test_bad_input(self) -> None:
        self.native()
        self.refused(self.exchange("nobody"), 412, "worker_not_registered")
        self.invalid(self.exchange(wait=60_001), "wait_milliseconds")
        self.invalid(self.exchange(want={"workflow_tasks": -1}), "want.workflow_tasks")
        self.invalid(self.exchange(workflow_tasks=[{"task_id": "x"}, 3]), "workflow_tasks.0.workflow_task_attempt",
                     "workflow_tasks.0.commands", "workflow_tasks.1")
        self.invalid(self.exchange(activity_tasks=[{"task_id": "x", "activity_attempt_id": "y", "result": {
            "codec": "avro", "blob": "?"}}]), "activity_tasks.0.result.blob")
        task = self.at_first_task()
        for payload in ({"codec": "avro", "blob": "AAAA"}, {"codec": "json", "blob": "[1]"}):
            unreadable = self.said(task, {"type": "record_side_effect", "step": 1, "result": payload})
            [heard] = self.says(self.exchange(workflow_tasks=[unreadable], want={}), 200)["workflow_tasks"]
            self.shows(heard, recorded=False, reason="invalid_commands")
        unknown = {"task_id": "01HZ.x", "activity_attempt_id": "y", "result": {"codec": "avro", "blob": blob(1)}}
        [heard] = self.says(self.exchange(activity_tasks=[unknown], want={}), 200)["activity_tasks"]
        self.shows(heard, recorded=False, reason="task_not_found")

    def test_published_clients_see_no_difference(self) -> None:
        """A run that a native worker began goes on with a worker that polls."""
        task = self.at_first_task()
        self.exchange(workflow_tasks=[self.said(task, {"type": "start_timer", "step": 1, "delay_seconds": 0})], want={})
        self.register("w1")
        task = self.poll()
        self.assertEqual(types(task["history_events"]),
                         ["StartAccepted", "WorkflowStarted", "TimerScheduled", "TimerFired"])


class Results(ExchangeTest):
    def result(self, wait: int, run_id: str, workflow_id: str = "wf", **more: Any) -> Answer:
        return self.control("GET", f"/workflows/{workflow_id}/runs/{run_id}/result?wait_seconds={wait}", **more)

    def test_who_waits_is_told_at_the_end(self) -> None:
        task = self.at_first_task()
        self.says(self.result(0, self.run_id), 200, closed=False, run_id=self.run_id)
        with ThreadPoolExecutor() as pool:
            waiting = [pool.submit(self.result, 20, self.run_id) for _ in range(3)]
            self.exchange(workflow_tasks=[self.said(task, finished(7))], want={})
            for answer in waiting:
                self.says(answer.result(), 200, closed=True, status="completed", closed_reason="completed",
                          output_envelope=envelope(7), failure=None)
        self.says(self.result(0, self.run_id), 200, closed=True)
        self.restart()
        self.says(self.result(0, self.run_id), 200, closed=True, output_envelope=envelope(7))

    def test_a_failure_says_why(self) -> None:
        task = self.at_first_task()
        why = {"class": "shop::NoStock", "message": "none left"}
        answer = self.exchange(workflow_tasks=[self.said(task, {"type": "fail_workflow", "failure": why})], want={})
        self.says(answer, 200, workflow_tasks=[{"task_id": task["task_id"], "recorded": True}])
        told = self.says(self.result(20, self.run_id), 200, closed=True, status="failed", output_envelope=None)
        self.shows(told["failure"], exception_class="shop::NoStock", message="none left")

    def test_bad_input(self) -> None:
        run = self.start()
        for wait in ("61", "-1", "soon"):
            self.invalid(self.control("GET", f"/workflows/wf/runs/{run}/result?wait_seconds={wait}"), "wait_seconds")
        self.refused(self.result(0, "nobody"), 404, "run_not_found")
        self.refused(self.result(0, run, "another"), 404, "run_not_found")
        self.says(self.control("POST", "/namespaces", {"name": "billing"}), 201)
        self.refused(self.result(0, run, headers={"X-Namespace": "billing"}), 404, "run_not_found")
        self.refused(self.control("POST", f"/workflows/wf/runs/nobody/query/x", {}), 404, "run_not_found")


class Stale(ExchangeTest):
    def test_work_that_is_gone_takes_no_room_from_work_that_is_not(self) -> None:
        self.native()
        for number in range(5):
            self.start(f"gone-{number}")
        for number in range(5):
            self.close("terminate", f"gone-{number}")
        with ThreadPoolExecutor() as callers:
            asked = callers.submit(self.got, "workflow", want={"workflow_tasks": 5}, wait=50_000)
            self.until_waiting()
            self.start("here")
            self.shows(asked.result(), workflow_id="here")

    def test_what_is_no_report_is_refused(self) -> None:
        self.native()
        self.invalid(self.exchange(query_tasks=[1, None]), "query_tasks.0", "query_tasks.1")


class SignalWithStart(ExchangeTest):
    def started_with(self, workflow_id: str, **more: Any) -> Answer:
        return self.control("POST", "/workflows", {"workflow_type": "hand.made", "workflow_id": workflow_id,
                                                   "task_queue": QUEUE, "signal_name": "approve",
                                                   "signal_input": ["ada"], **more})

    def test_the_signal_is_there_before_the_first_step(self) -> None:
        self.says(self.started_with("wf"), 201, outcome="started_new", signal_outcome="signal_received")
        self.says(self.started_with("wf"), 200, outcome="returned_existing_active", signal_outcome="signal_received")
        self.native()
        self.assertEqual(self.shown(self.got("workflow")), ["StartAccepted", "WorkflowStarted", "SignalReceived",
                                                            "StartAccepted", "SignalReceived"])

    def test_bad_arguments_start_nothing(self) -> None:
        for field, more in (("signal_input", {"signal_input": 7}), ("signal_input", {"signal_input": envelope(None)}),
                            ("signal_name", {"signal_name": "a\0b"}), ("signal_name", {"signal_name": None})):
            self.invalid(self.started_with("wf", **more), field)
        self.refused(self.control("GET", "/workflows/wf"), 404, "instance_not_found")


if __name__ == "__main__":
    unittest.main()
