#!/usr/bin/env python3
"""The commands about schedules, as scripts use them: the real binary against a real server. DW_BINARY
names the binary."""
import datetime
import json
import pathlib
import re
import shlex
import sys
import unittest
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from client_commands_test import FAILURE, INVALID, NOT_FOUND, SUCCESS, Commands  # noqa: E402
from serving import Server  # noqa: E402

YEARLY = ["--cron", "0 0 1 1 *"]  # far enough away that nothing fires by itself


def daily_window(days: int) -> list[str]:
    end = datetime.date(2026, 4, 20)
    return ["--start-time", f"{end - datetime.timedelta(days=days)}", "--end-time", f"{end}"]


class Schedules(Commands):
    @classmethod
    def setUpClass(cls) -> None:
        cls.server = Server()
        cls.server_url = cls.server.url

    @classmethod
    def tearDownClass(cls) -> None:
        assert cls.server.stop() == 0, "SIGTERM ends it cleanly"

    def make(self, name: str, *more: str) -> Any:
        when = [] if any(word.startswith(("--cron", "--interval", "-c")) for word in more) else YEARLY
        return self.told("schedule:create", f"--schedule-id={name}", "-t", "sample.tally", "-i", "[1]", *when, *more)

    # ---- what docs/cli.md shows

    def test_the_lines_of_the_reference_do_what_they_show(self) -> None:
        page = (pathlib.Path(__file__).resolve().parents[2] / "docs" / "cli.md").read_text()
        about = page[page.index("## Schedules"):page.index("## Activities")]
        lines = [line for block in re.findall(r"```sh\n(.*?)```", about, re.S) for line in block.splitlines()]
        self.assertGreater(len(lines), 7)
        for line in lines:
            dw, *words = shlex.split(line)
            self.assertEqual(dw, "dw", line)
            self.ends(SUCCESS, *words)
        for line, shown in re.findall(r"```console\n\$ dw (.*?)\n(.*?)```", about, re.S):
            ran = self.ends(SUCCESS, *shlex.split(line))
            self.assertEqual(ran.out + ran.err, shown)

    # ---- its life

    def test_from_creation_to_deletion(self) -> None:
        made = self.make("story", "--timezone=Europe/Istanbul", "--note=first", "--label=team=shop")
        self.assertEqual((made["schedule_id"], made["outcome"], made["namespace"]), ("story", "created", "default"))
        self.assertEqual(self.told("schedule:create", "--schedule-id=story", "-t", "sample.tally", *YEARLY,
                                   code=INVALID)["reason"], "schedule_already_exists")
        described = self.told("schedule", "inspect", "story")
        self.assertEqual((described["status"], described["note"]), ("active", "first"))
        self.assertEqual(len(described["next_fires"]), len({tick["tick_at"] for tick in described["next_fires"]}))
        self.assertIn("Europe/Istanbul", described["words"])
        self.assertIn("When: ", self.ends(SUCCESS, "schedule:describe", "story").out)

        self.told("schedule:update", "story", "-c", "30 2 * * *", "--max-runs=9")
        described = self.told("schedule:describe", "story")
        self.assertEqual(described["spec"]["timezone"], "Europe/Istanbul", "new times keep the zone")
        self.assertEqual((described["remaining_actions"], len(described["next_fires"])), (9, 5))
        self.told("schedule:update", "story", "--clear=max_runs", "--timezone=UTC")
        described = self.told("schedule:describe", "story")
        self.assertEqual((described["max_runs"], described["spec"]["timezone"]), (None, "UTC"))
        self.told("schedule:update", "story", code=INVALID)

        self.assertEqual(self.told("schedule:pause", "story", "--note=audit")["outcome"], "paused")
        paused = self.told("schedule:list", "--status=paused")["schedules"]
        self.assertIn("story", [item["schedule_id"] for item in paused])
        self.assertEqual(self.told("schedule:trigger", "story")["reason"], "status_not_triggerable")
        self.assertEqual(self.told("schedules", "resume", "story")["outcome"], "resumed")
        self.assertEqual(self.told("schedule:resume", "story", code=INVALID)["reason"], "schedule_not_paused")
        self.assertIn("Schedule deleted: story", self.ends(SUCCESS, "schedule:delete", "story").out)
        self.assertEqual(self.told("schedule:describe", "story", code=NOT_FOUND)["schedule_id"], "story")
        events = [event["event_type"] for event in self.told("schedule:history", "story", "--all")["events"]]
        self.assertEqual((events[0], events[-1]), ("ScheduleCreated", "ScheduleDeleted"))

    def test_mistakes_say_where(self) -> None:
        wrong = self.told("schedule:create", "-t", "sample.tally", "-c", "61 * * * *", code=INVALID)
        self.assertEqual((wrong["status_code"], wrong["reason"]), (422, "validation_failed"))
        self.assertIn("spec.cron_expressions.0", json.dumps(wrong["validation_errors"]))
        human = self.ends(INVALID, "schedule:create", "-t", "sample.tally", "-c", "61 * * * *")
        self.assertIn("(invalid_cron_expression, position 0)", human.err)
        human = self.ends(INVALID, "schedule:create", "-t", "sample.tally", "-c", "* * * * *", "--timezone=Mars/Base")
        self.assertIn("Validation: ", human.err)
        self.ends(INVALID, "schedule:create", "-t", "sample.tally")
        self.ends(INVALID, "schedule:create", *YEARLY)
        self.ends(INVALID, "schedule:list", "--type=")
        self.ends(INVALID, "schedule:list", "--limit=201")
        self.assertEqual(self.told("schedule:list", "--query=Nonsense", code=INVALID)["status_code"], 422)
        for verb in ("pause", "resume", "trigger", "preview", "history", "actions", "runs"):
            self.assertEqual(self.told(f"schedule:{verb}", "nobody", code=NOT_FOUND)["reason"], "schedule_not_found")

    def test_a_dry_run_makes_nothing(self) -> None:
        words = ["schedule:create", "--schedule-id=dry", "-t", "sample.tally", "-c", "30 2 * * 1-5", "--dry-run"]
        self.assertIn("at 02:30 on weekdays", self.ends(SUCCESS, *words).out)
        planned = self.told(*words)
        self.assertEqual((planned["outcome"], len(planned["next_fires"])), ("dry_run", 5))
        self.told("schedule:describe", "dry", code=NOT_FOUND)

    # ---- lists

    def test_lists_have_pages(self) -> None:
        self.told("namespace:create", "listing")
        here = ["--namespace=listing"]
        self.assertEqual(self.ends(SUCCESS, "schedule:list", *here).out, "No schedules found in namespace listing.\n")
        for n in range(5):
            self.make(f"s{n}", *here)
        page = self.told("schedule:list", "--limit=2", *here)
        self.assertEqual((page["schedule_count"], page["namespace"]), (2, "listing"))
        following = self.told("schedule:list", "--limit=2", "--next-page-token", page["next_page_token"], *here)
        self.assertNotEqual(page["schedules"][0]["schedule_id"], following["schedules"][0]["schedule_id"])
        everything = self.ends(SUCCESS, "schedule:list", "--limit=2", "--all", "--output=jsonl", *here).lines
        self.assertEqual(sorted(item["schedule_id"] for item in everything), [f"s{n}" for n in range(5)])
        self.assertEqual(self.told("schedule:list", "--limit=2", "--all", *here)["schedule_count"], 5)
        self.assertEqual(self.told("schedule:list", "--overdue", *here)["schedules"], [])
        found = self.told("schedule:list", "--query", 'ScheduleId = "s3"', *here)["schedules"]
        self.assertEqual([item["schedule_id"] for item in found], ["s3"])
        table = self.ends(SUCCESS, "--namespace=listing", "schedules", "list").out
        self.assertTrue(table.startswith("Namespace: listing\nSchedule ID"), table)
        health = self.told("schedule:health", *here)
        self.assertEqual({item["health"] for item in health["schedules"]}, {"NEVER_RAN"})
        self.assertEqual(len(self.ends(SUCCESS, "schedule:health", "--output=jsonl", *here).lines), 5)

    # ---- firing

    def test_triggering(self) -> None:
        self.make("fired", "--overlap-policy=buffer_one")
        first = self.told("schedule:trigger", "fired", "-i", "[100]")
        self.assertEqual(first["outcome"], "triggered")
        self.assertEqual(self.told("workflow:query", first["workflow_id"], "total")["result"], 0)
        self.assertEqual(self.told("schedule:trigger", "fired")["buffer_depth"], 1)
        self.assertEqual(self.told("schedule:trigger", "fired")["outcome"], "buffer_full")
        self.assertIn("Schedule triggered: fired", self.ends(
            SUCCESS, "schedule", "trigger", "fired", "--overlap-policy=allow_all", "-i", "[100]").out)
        runs = self.told("schedule:runs", "fired")["runs"]
        self.assertIn(first["run_id"], [run["run_id"] for run in runs])
        actions = self.ends(SUCCESS, "schedule:actions", "fired", "--limit=1", "--all", "--output=jsonl").lines
        self.assertIn("schedule_buffered", [action["action_type"] for action in actions])
        dispatched = self.told("schedule:actions", "fired", "--type=dispatch_schedule")["actions"]
        self.assertEqual({action["action_type"] for action in dispatched}, {"dispatch_schedule"})
        self.assertIn("Run ID", self.ends(SUCCESS, "schedule:runs", "fired").out)

    def test_backfilling_once(self) -> None:
        self.make("late", "--cron=0 6 * * *", "--overlap-policy=allow_all", "--paused")
        self.told("schedule:resume", "late")
        window = daily_window(3)
        planned = self.told("schedule:backfill", "late", *window, "--dry-run")
        self.assertEqual([row["outcome"] for row in planned["results"]], ["would_start"] * 3)
        self.assertIn("Would dispatch 3 run(s).", self.ends(SUCCESS, "schedule:backfill", "late", *window, "--dry-run").out)
        done = self.told("schedule:backfill", "late", *window)
        self.assertEqual((done["outcome"], done["fires_attempted"]), ("backfill_started", 3))
        again = self.ends(SUCCESS, "schedule:backfill", "late", *window).out
        self.assertIn("Dispatched 0 run(s) (skipped 3 already-backfilled).", again)
        self.assertEqual(self.told("schedule:backfill", "late", "--start-time=2026-04-20", "--end-time=2026-04-19",
                                   code=INVALID)["reason"], "invalid_time_range")
        self.ends(INVALID, "schedule:backfill", "late", "--since=whenever")
        events = self.ends(SUCCESS, "schedule:history", "late", "--limit=2", "--all", "--output=jsonl").lines
        self.assertEqual([event["sequence"] for event in events], list(range(1, len(events) + 1)))
        page = self.ends(SUCCESS, "schedule:history", "late", "--limit=2").out
        self.assertIn("More events available. Re-run with --after-sequence=2 (or --all)", page)

    # ---- guards

    def test_conditions(self) -> None:
        self.make("guarded")
        calm = json.dumps({"/last_24h_stats/failed": {"lt": 3}})
        self.assertIn("has no condition", self.ends(SUCCESS, "schedule", "condition", "show", "guarded").out)
        tried = ["schedule", "condition", "set", "guarded", "--filter", calm, "--test-context"]
        self.told(*tried, '{"last_24h_stats":{"failed":1}}')
        refused = self.told(*tried, '{"last_24h_stats":{"failed":7}}', code=FAILURE)
        self.assertEqual(refused["failed_pointer"], "/last_24h_stats/failed")
        self.assertIsNone(self.told("schedule:condition", "show", "guarded")["filter"], "a test saves nothing")
        self.told("schedule:condition:set", "guarded", "--file=-", text=calm)
        self.assertEqual(self.told("schedule:condition:show", "guarded")["filter"], json.loads(calm))
        self.told("schedules", "condition", "clear", "guarded")
        self.assertIsNone(self.told("schedule:condition:show", "guarded")["filter"])
        self.ends(INVALID, "schedule:condition:set", "guarded", "--filter", '{"/a":{"like":1}}')

    def test_calendars(self) -> None:
        self.make("closed", "--cron=0 6 * * *")
        calendar = self.told("calendar:create", "--name=closing", "--kind=skip_dates", "--timezone=UTC",
                             "--dates=2030-01-02")["calendar_id"]
        attached = self.told("schedule", "calendar", "attach", "closed", calendar)
        self.assertEqual(attached["calendar_ids"], [calendar])
        days = self.told("schedule:preview", "closed", "--from=2030-01-01T07:00:00Z", "--next=2")["ticks"]
        self.assertEqual([tick["decision"] for tick in days], ["skip", "dispatch"])
        self.told("schedule:calendar", "attach", "closed", "--calendar=no-such-one", code=NOT_FOUND)
        self.assertEqual(self.told("calendar:show", "closing")["attached_schedules"], ["closed"])
        refused = self.told("calendar:delete", "closing", "--yes", code=INVALID)
        self.assertEqual((refused["status_code"], refused["reason"]), (409, "calendar_in_use"))
        self.assertEqual(refused["server_response"]["attached_schedules"], ["closed"])
        detached = self.told("schedules", "calendar", "detach", "closed", "--calendar", calendar)
        self.assertEqual(detached["calendar_ids"], [])
        self.told("schedule:calendar", "attach", "closed", "closing")
        self.assertEqual(self.told("calendar:delete", "closing", "--force", "--yes")["outcome"], "deleted")
        self.assertEqual(self.told("schedule:describe", "closed")["calendar_ids"], [])

    def test_rotations_and_previews(self) -> None:
        self.make("turns", "--cron=0 6 * * *")
        self.told("schedule", "rotation", "set", "turns", "--inputs", "[[1],[2]]")
        ticks = self.told("schedule:preview", "turns", "--next=3")["ticks"]
        self.assertEqual([tick["inputs"] for tick in ticks], [[1], [2], [1]])
        lines = self.ends(SUCCESS, "schedule:preview", "turns", "--next=4", "--from=2026-12-01", "--output=jsonl").lines
        self.assertEqual(lines[0]["tick_at"][:10], "2026-12-01")
        self.assertEqual(len(lines), 4)
        self.assertIn("Next Index: 0", self.ends(SUCCESS, "schedule", "rotation", "show", "turns").out)
        self.told("schedule:trigger", "turns")
        self.assertEqual(self.told("schedule:rotation:show", "turns")["rotation"]["next_index"], 1)
        self.told("schedule:rotation:clear", "turns")
        self.assertIn("has no rotation", self.ends(SUCCESS, "schedule:rotation:show", "turns").out)
        self.ends(INVALID, "schedule:rotation:set", "turns", "--inputs=[]")
        self.told("schedule:pause", "turns")
        paused = self.told("schedule:preview", "turns", "--next=2")["ticks"]
        self.assertEqual({tick["reason"] for tick in paused}, {"status_not_triggerable"})

    def test_what_might_surprise(self) -> None:
        self.make("odd", "--cron=*/10 * * * *")
        self.assertEqual(self.told("schedule:lint", "odd")["findings"], [])
        found = self.told("schedule:lint", "odd", "--run-length=PT11M")
        self.assertEqual([finding["code"] for finding in found["findings"]], ["will_overlap"])
        self.told("schedule:calendar", "attach", "odd", "weekends-only")
        played = self.told("schedule:preview", "odd", "--simulate", "--run-length=PT11M", "--next=3")
        self.assertEqual((played["run_seconds"], len(played["rows"])), (660, 3))
        self.told("schedule:delete", "odd")
        spec = ["schedule:lint", "--local", "--cron=0 9 * * 1", "--calendar=weekends"]
        self.assertEqual(self.told(*spec, code=FAILURE)["error_count"], 1)
        self.ends(INVALID, "schedule:lint", "--local", "--cron=0 25 * * *")

    # ---- all of them

    def test_purging(self) -> None:
        self.make("brief")
        self.told("schedule:delete", "brief")
        ulid = self.told("schedule:history", "brief")["schedule_ulid"]
        self.assertEqual(self.told("schedule:purge", "--deleted-before=2026-01-01", "--yes")["purged"], 0)
        self.told("schedule:purge", "--deleted-before=2126-01-01", code=INVALID)
        purged = self.told("schedule:purge", "--deleted-before=2126-01-01", "--yes")["schedules"]
        self.assertIn(ulid, [item["schedule_ulid"] for item in purged])
        self.told("schedule:history", "brief", code=NOT_FOUND)

    def test_looking_at_what_is_due(self) -> None:
        self.assertIsInstance(self.told("schedule:tick"), list)
        self.assertIn("Done: ", self.ends(SUCCESS, "schedule:evaluate", "--limit=5").out)

    def test_zz_holding_everything_back(self) -> None:
        self.make("held")
        self.assertTrue(self.told("schedule:freeze", "--reason=moving", "--kill-switch")["queue_frozen"])
        self.assertEqual(self.told("schedule:trigger", "held", code=INVALID)["reason"], "dispatch_disabled")
        self.assertFalse(self.told("schedule:unfreeze")["queue_frozen"])
        self.assertEqual(self.told("schedule:trigger", "held")["outcome"], "triggered")
        self.ends(INVALID, "schedule:freeze")


if __name__ == "__main__":
    unittest.main()
