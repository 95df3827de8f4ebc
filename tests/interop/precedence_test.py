"""Whose tasks come first where several workflows wait for one worker: priorities, then fairness keys in turn."""
import unittest
from typing import Any

from wire import Json, WireTest, activity


class Precedence(WireTest):
    def handed_out(self, kind: str = "workflow") -> list[Json]:
        tasks = []
        while task := self.says(self.ask(kind, timeout=0), 200)["task"]:
            tasks.append(task)
        return tasks

    def names(self, kind: str = "workflow") -> list[str]:
        return [task["workflow_id"] for task in self.handed_out(kind)]

    def test_the_most_urgent_goes_first(self) -> None:
        self.register()
        for name, options in (("usual", {}), ("last", {"priority": 9}), ("first", {"priority": 0})):
            self.start(name, **options)
        tasks = self.handed_out()
        self.assertEqual([task["workflow_id"] for task in tasks], ["first", "usual", "last"])
        for task in reversed(tasks):
            self.completed(self.complete(task, activity("greet")), task)
        self.assertEqual(self.names("activity"), ["first", "usual", "last"], "so are their activities")

    def test_tenants_take_turns_however_much_one_of_them_has_queued(self) -> None:
        self.register()
        for number in range(4):
            self.start(f"busy-{number}", fairness_key="busy")
        for number in range(2):
            self.start(f"calm-{number}", fairness_key="calm")
        self.assertEqual(self.names(), ["busy-0", "calm-0", "busy-1", "calm-1", "busy-2", "busy-3"])

    def test_one_that_weighs_more_has_more_turns(self) -> None:
        self.register()
        for number in range(6):
            self.start(f"heavy-{number}", fairness_key="heavy", fairness_weight=2)
            self.start(f"light-{number}", fairness_key="light")
        turns = "".join(name[0] for name in self.names())
        self.assertEqual(turns[:9].count("h"), 6, turns)

    def test_what_a_run_was_started_with_is_shown_and_goes_on_with_it(self) -> None:
        asked: dict[str, Any] = {"priority": 2, "fairness_key": "tenant:7", "fairness_weight": 3}
        self.register()
        self.start("wf", **asked)
        self.shows(self.described(), **asked)
        task = self.poll()
        self.shows(task["history_events"][1]["payload"], **asked)
        self.completed(self.complete(task, {"type": "continue_as_new"}), task, "completed")
        self.shows(self.described(), run_number=2, **asked)
        self.start("plain")
        self.shows(self.described("plain"), priority=5, fairness_key=None, fairness_weight=1)

    def test_what_nobody_could_keep_to_is_refused(self) -> None:
        for field, value in (("priority", 10), ("priority", -1), ("fairness_weight", 0), ("fairness_weight", 1001),
                             ("fairness_key", "x" * 65), ("fairness_key", "a tenant"), ("fairness_key", 7)):
            with self.subTest(field, value=value):
                answer = self.control("POST", "/workflows", {"workflow_type": "hand.made", field: value})
                self.invalid(answer, field)


if __name__ == "__main__":
    unittest.main()
