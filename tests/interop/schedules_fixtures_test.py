"""What the published clients send about schedules, replayed as fixtures_test.py does it. Samples show ids and counters
of the day they were taken, and words of servers before ours; what a client reads is there, and means what our own
stories (schedules_test.py, python_schedules_test.py) say.
"""
import unittest
from typing import Any

import fixtures_test
from fixtures_test import FIXTURES, Replayed, Story
from wire import Json

NUMBERS = {"fires_count", "failures_count", "skipped_trigger_count", "remaining_actions"}

fixtures_test.MERELY_SHOWN |= {
    "schedule-create": {"created_at"},
    "schedule-describe": NUMBERS | {"latest_workflow_instance_id", "last_skip_reason"},
    "schedule-list": NUMBERS | {"next_page_token"},
    "schedule-trigger": {"workflow_id", "run_id"},
    # Our words are those of the specification, and a backfill buffers nothing.
    "schedule-backfill": {"outcome", "results"},
    "schedule-history": {"id", "sequence", "workflow_instance_id", "workflow_run_id", "has_more", "next_cursor",
                         "reason"},
}
fixtures_test.NOT_ASKED_FOR |= {
    # The sample's payloads are made up: these are no keys of any event.
    "schedule-history": {"overlap_policy", "fields"},
}


class ScheduleFixtures(Replayed):
    # ---- states

    def a_schedule(self, name: str, workflow_type: str, queue: str, **more: Any) -> None:
        body: Json = {"schedule_id": name, "spec": {"cron_expressions": ["0 6 * * *"], "timezone": "UTC"},
                      "action": {"workflow_type": workflow_type, "task_queue": queue}, **more}
        self.says(self.control("POST", "/schedules", body), 201, outcome="created")

    def a_rollup(self) -> None:
        sample = FIXTURES["schedule-describe"]["response_body"]
        self.control("POST", "/search-attributes", {"name": "CustomerTier", "type": "keyword"})
        self.a_schedule("daily-order-rollup", "orders.rollup", "orders-critical",
                        **{key: sample[key] for key in ("spec", "action", "memo", "search_attributes", "jitter_seconds",
                                                        "max_runs", "overlap_policy")})

    def a_paused_rollup(self) -> None:
        self.a_rollup()
        self.says(self.control("POST", "/schedules/daily-order-rollup/pause"), 200)

    def a_check(self) -> None:
        self.a_schedule("daily-inventory-check", "inventory.check", "inventory-standard",
                        spec={"intervals": [{"every": "PT30M"}]})

    def a_check_with_a_past(self) -> None:
        """Five events, and then those of the sample."""
        self.a_check()
        for _ in range(2):
            for what in ("pause", "resume"):
                self.says(self.control("POST", f"/schedules/daily-inventory-check/{what}"), 200)
        for outcome in ("triggered", "skipped"):
            self.says(self.control("POST", "/schedules/daily-inventory-check/trigger"), 200, outcome=outcome)
        self.says(self.control("PUT", "/schedules/daily-inventory-check", {"overlap_policy": "allow_all"}), 200)

    def a_refresh(self) -> None:
        self.a_schedule("inventory-refresh", "inventory.refresh", "inventory-standard",
                        spec={"intervals": [{"every": "PT30M"}], "timezone": "UTC"}, overlap_policy="buffer_one",
                        paused=True)

    def two_schedules(self) -> None:
        self.a_refresh()
        self.a_rollup()

    # ---- what is left behind

    def stored_as_asked(self, fixture: Json) -> None:
        asked, answer = fixture["request"]["body"], self.control("GET", "/schedules/daily-inventory-check")
        self.shows(answer.body, note=asked["note"], overlap_policy=asked["overlap_policy"],
                   jitter_seconds=asked["jitter_seconds"], max_runs=asked["max_runs"])
        self.shows(answer.body["action"], **asked["action"])

    def gone(self, fixture: Json) -> None:
        self.refused(self.control("GET", "/schedules/inventory-refresh"), 404, "schedule_not_found")

    def status_is(self, status: str) -> None:
        self.says(self.control("GET", "/schedules/daily-order-rollup"), 200, status=status)

    def paused(self, fixture: Json) -> None:
        self.status_is("paused")

    def active(self, fixture: Json) -> None:
        self.status_is("active")

    def started(self, how: str) -> list[Json]:
        """Without what the schedule may start by itself meanwhile."""
        workflows = self.says(self.control("GET", "/workflows"), 200)["workflows"]
        return [item for item in workflows if f":{how}:" in item["workflow_id"]]

    def started_once(self, fixture: Json) -> None:
        [item] = self.started("manual")
        self.shows(item, workflow_type="inventory.check", task_queue="inventory-standard")

    def started_six_times(self, fixture: Json) -> None:
        self.assertEqual(len(self.started("backfill")), fixture["semantic_body"]["fires_attempted"])
        body = self.says(self.control("POST", fixture["request"]["path"], fixture["request"]["body"]), 200,
                         outcome="backfill_started", fires_attempted=6)
        self.assertEqual([(row["fire_time"][11:16], row["outcome"], row["reason"]) for row in body["results"]],
                         [(f"0{minute // 60}:{minute % 60:02}", "skipped", "schedule_slot_exists")
                          for minute in range(0, 180, 30)], "what was started once is not started again")


STORIES = {
    "schedule-create": Story(after=ScheduleFixtures.stored_as_asked),
    "schedule-update": Story(ScheduleFixtures.a_check, ScheduleFixtures.stored_as_asked),
    "schedule-describe": Story(ScheduleFixtures.a_rollup),
    "schedule-list": Story(ScheduleFixtures.two_schedules),
    "schedule-delete": Story(ScheduleFixtures.a_refresh, ScheduleFixtures.gone),
    "schedule-pause": Story(ScheduleFixtures.a_rollup, ScheduleFixtures.paused),
    "schedule-resume": Story(ScheduleFixtures.a_paused_rollup, ScheduleFixtures.active),
    "schedule-trigger": Story(ScheduleFixtures.a_check, ScheduleFixtures.started_once),
    "schedule-backfill": Story(ScheduleFixtures.a_check, ScheduleFixtures.started_six_times),
    "schedule-history": Story(ScheduleFixtures.a_check_with_a_past),
}
fixtures_test.STORIES |= STORIES


def telling(name: str) -> Any:
    return lambda self: self.tell_story(name)


for stem in STORIES:
    setattr(ScheduleFixtures, f"test_{stem.replace('-', '_')}", telling(stem))


if __name__ == "__main__":
    unittest.main(verbosity=2)
