#!/usr/bin/env python3
"""Calendars as operators keep them, from the command line to a store that outlives the server, and
specs explained without one. DW_BINARY names the binary."""
import json
import pathlib
import unittest

import client_commands_test as client
from client_commands_test import AUTH, INVALID, NETWORK, NOT_FOUND, SUCCESS

SEEDS = ["us-federal-holidays-2026", "tr-public-holidays-2026", "weekends-only", "us-federal-holidays",
         "tr-public-holidays", "weekends", "weekdays"]
ICS = """BEGIN:VCALENDAR
VERSION:2.0
BEGIN:VEVENT
DTSTART;VALUE=DATE:20260320
DTEND;VALUE=DATE:20260323
SUMMARY:Bayram
END:VEVENT
END:VCALENDAR
"""


class Calendars(client.Commands):
    @classmethod
    def setUpClass(cls) -> None:
        cls.server = client.Server()
        cls.server_url = cls.server.url

    @classmethod
    def tearDownClass(cls) -> None:
        assert cls.server.stop() == 0, "SIGTERM ends it cleanly"

    def file(self, name: str, text: str) -> str:
        path = pathlib.Path(self.home.name, name)
        path.write_text(text)
        return str(path)

    def create(self, name: str, *more: str) -> str:
        made = self.told("calendar:create", "--name", name, "--kind=skip_dates", "--timezone=Europe/Istanbul", *more)
        self.assertEqual((made["name"], made["namespace"]), (name, "default"))
        return made["calendar_id"]

    def test_a_calendar_from_beginning_to_end(self) -> None:
        identity = self.create("closed", "--dates=2026-12-24,2026-12-31", "--except=2026-12-31")
        shown = self.told("schedule", "calendar", "show", "closed")
        self.assertEqual((shown["id"], shown["dates"], shown["attached_schedules"]),
                         (identity, ["2026-12-24", "2026-12-31"], []))
        self.assertIn("Dates: 2026-12-24, 2026-12-31", self.ends(SUCCESS, "calendar:show", identity).out)
        self.assertEqual(self.told("calendar:update", "closed", "--name=closing-days")["name"], "closing-days")
        self.assertEqual(self.told("calendar:show", identity)["dates"], ["2026-12-24", "2026-12-31"])
        taken = self.told("calendar:create", "--name=closing-days", "--kind=skip_dates", "--timezone=UTC",
                          "--dates=2026-01-01", code=INVALID)
        self.assertEqual((taken["status_code"], taken["reason"]), (409, "calendar_already_exists"))
        expanded = self.told("calendar:expand", "closing-days", "--year=2026")
        self.assertEqual((expanded["year"], expanded["dates"]), (2026, ["2026-12-24"]))
        self.told("calendar:delete", "closing-days", code=INVALID)
        gone = self.told("calendar:delete", "closing-days", "--yes")
        self.assertEqual((gone["calendar_id"], gone["outcome"]), (identity, "deleted"))
        self.assertEqual(self.told("calendar:show", identity, code=NOT_FOUND)["reason"], "calendar_not_found")

    def test_those_that_ship_are_read_cloned_and_left_alone(self) -> None:
        listed = self.told("calendars", "list", "--seeds-only")["calendars"]
        self.assertEqual([row["name"] for row in listed], SEEDS)
        self.assertEqual(len(self.told("calendar:show", "us-federal-holidays-2026")["dates"]), 11)
        for words in (["calendar:update", "weekends", "--name=mine"], ["calendar:delete", "weekends", "--yes"]):
            self.assertEqual(self.told(*words, code=AUTH)["reason"], "calendar_is_seed")
        cloned = self.told("calendar:clone", "weekends", "--name=our-weekends", "--timezone=Europe/Istanbul")
        self.assertEqual((cloned["is_seed"], cloned["timezone"], cloned["cloned_from"]),
                         (False, "Europe/Istanbul", "weekends"))
        self.told("calendar:update", "our-weekends", "--except=2026-08-15")
        year = self.ends(SUCCESS, "calendar:expand", "us-federal-holidays", "--year=2027").out
        self.assertIn("2027-11-25  Thursday  all day  Thanksgiving", year)
        self.told("calendar:delete", "our-weekends", "--yes")

    def test_lists_in_every_form(self) -> None:
        self.told("namespace:create", "lists")
        where = ["--namespace=lists"]
        empty = self.ends(SUCCESS, "calendar:list", "--mine-only", *where)
        self.assertEqual(empty.out, "No calendars found in namespace lists.\n")
        self.told("calendar:create", "--name=b", "--kind=only_dates", "--timezone=UTC", "--dates=2026-01-02", *where)
        self.told("calendar:create", "--name=a", "--kind=skip_dates", "--timezone=UTC", "--dates=2026-01-01", *where)
        rows = self.ends(SUCCESS, "calendar:list", "--output=jsonl", *where).lines
        self.assertEqual([row["name"] for row in rows], ["a", "b", *SEEDS])
        self.assertEqual({row["namespace"] for row in rows}, {"lists"})
        table = self.ends(SUCCESS, "calendar:list", "--mine-only", *where).out.splitlines()
        self.assertEqual(table[1].split(), ["Calendar", "ID", "Name", "Kind", "Dates", "Rules", "Timezone", "Seed"])
        self.assertEqual(table[2].split()[1:], ["a", "skip_dates", "1", "0", "UTC", "no"])
        self.assertEqual(self.told("namespace:delete", "lists")["deleted"]["calendars"], 2)

    def test_days_rules_and_files(self) -> None:
        self.create("by-file", "--dates-file", self.file("days.txt", "2026-06-12  # party\n2026-06-13\n"))
        self.assertEqual(self.told("calendar:show", "by-file")["dates"], ["2026-06-12", "2026-06-13"])
        self.create("by-rule", "--rules-file",
                    self.file("rules.json", '[{"type": "easter", "offset_days": -2, "label": "Good Friday"}]'))
        self.assertEqual(self.told("calendar:expand", "by-rule", "--year=2026")["labels"],
                         {"2026-04-03": "Good Friday"})
        imported = self.told("calendar:import", self.file("days.ics", ICS), "--name=imported",
                             "--timezone=Europe/Istanbul")
        self.assertEqual(imported["dates"], ["2026-03-20", "2026-03-21", "2026-03-22"])
        self.assertEqual(self.told("calendar:create", "--name=again", "--timezone=UTC", "--ics=-",
                                   text=ICS)["date_count"], 3)
        riddle = ICS.replace("SUMMARY", "RRULE:FREQ=DAILY\nSUMMARY")
        refused = self.told("calendar:import", "-", "--name=riddle", "--timezone=UTC", code=INVALID, text=riddle)
        self.assertEqual(refused["server_response"]["findings"][0]["line"], 6)

    def test_mistakes_are_told_with_their_place(self) -> None:
        wrong = self.told("calendar:create", "--name=x", "--kind=skip_dates", "--timezone=Mars/Olympus",
                          "--dates=2026-02-30", code=INVALID)
        self.assertEqual(list(wrong["server_response"]["errors"]), ["timezone", "dates[0]"])
        self.assertEqual([(problem["code"], problem["path"]) for problem in wrong["server_response"]["problems"]],
                         [("invalid_timezone", "timezone"), ("invalid_date", "dates[0]")])
        human = self.ends(INVALID, "calendar:create", "--name=x", "--kind=skip_dates", "--timezone=UTC",
                          "--dates=2026-02-30").err
        self.assertIn("Validation: dates[0]:", human)

    def test_what_was_kept_survives_a_kill(self) -> None:
        identity = self.create("lasting", "--dates=2026-12-24")
        port = int(self.server_url.rsplit(":", 1)[1])
        self.server.kill()
        self.server.start(port)
        self.assertEqual(self.told("calendar:show", "lasting")["id"], identity)

    def test_a_calendar_of_the_server_explains_a_spec(self) -> None:
        self.create("explained", "--dates=2026-12-24")
        fires = self.told("schedule:explain", "--cron=0 9 * * *", "--calendar=explained", "--count=2",
                          "--from=2026-12-23T12:00:00Z")["next_fires"]
        self.assertEqual([fire["calendar"] for fire in fires], ["skip", "allow"])


class Explaining(client.Commands):
    """No server is anywhere."""

    server_url = "http://127.0.0.1:1"

    def explained(self, *words: str, code: int = SUCCESS) -> dict:
        return self.told("schedule:explain", "--local", *words, code=code)

    def test_a_spec_across_the_change_of_clocks(self) -> None:
        answer = self.explained("--cron", "30 2 * * *", "--timezone", "America/New_York",
                                "--from", "2026-03-07T00:00:00Z", "--count", "3")
        self.assertEqual((answer["valid"], answer["words"], answer["errors"]),
                         (True, "at 02:30 every day (America/New_York)", []))
        self.assertEqual([(fire["utc"], fire["local"], fire["offset"], fire["zone_abbrev"], fire["dst"])
                          for fire in answer["next_fires"]],
                         [("2026-03-07T07:30:00Z", "2026-03-07T02:30:00", "-05:00", "EST", None),
                          ("2026-03-08T07:00:00Z", "2026-03-08T03:00:00", "-04:00", "EDT", "gap"),
                          ("2026-03-09T06:30:00Z", "2026-03-09T02:30:00", "-04:00", "EDT", None)])
        self.assertEqual([warning["code"] for warning in answer["warnings"]], ["dst_gap"])
        self.assertEqual(answer["interval_seconds_min"], 84600)

    def test_several_entries_are_one_list_of_times(self) -> None:
        answer = self.explained("--cron=@hourly", "--interval=PT40M", "--offset=PT10M", "--from=2026-01-01", "--count=4")
        self.assertEqual([fire["utc"][11:16] for fire in answer["next_fires"]], ["00:10", "00:50", "01:00", "01:30"])
        self.assertEqual(answer["canonical"], {"cron_expressions": ["0 * * * *"],
                                               "intervals": [{"every": "PT40M", "offset": "PT10M"}], "timezone": "UTC"})

    def test_people_get_a_table(self) -> None:
        ran = self.ends(SUCCESS, "schedule", "explain", "--local", "--cron=0 9 1 * 1", "--from=2026-01-30",
                        "--count=2", "--calendar=weekends")
        self.assertEqual(ran.out, (
            "at 09:00 on the 1st of every month and on Monday (UTC)\n"
            "UTC                   Local                Offset  Zone  Calendar  Daylight Saving\n"
            "2026-02-01T09:00:00Z  2026-02-01T09:00:00  +00:00  UTC   allow     -\n"
            "2026-02-02T09:00:00Z  2026-02-02T09:00:00  +00:00  UTC   skip      -\n"
            "Warning: cron_expressions.0: it names days of the month and days of the week: one of them is enough to "
            "fire (dom_dow_or)\n"))
        lines = self.ends(SUCCESS, "schedule:explain", "--local", "--interval=P1D", "--from=2026-01-01", "--count=1",
                          "--output=jsonl").out
        self.assertEqual(json.loads(lines)["utc"], "2026-01-02T00:00:00Z")

    def test_an_invalid_spec_is_pointed_at_and_ends_with_2(self) -> None:
        answer = self.explained("--cron=*/5 25 * * *", "--interval=1h", "--timezone=Mars/Olympus", code=INVALID)
        self.assertEqual((answer["valid"], answer["words"], answer["next_fires"]), (False, None, []))
        self.assertEqual([(error["path"], error["code"], error["position"]) for error in answer["errors"]],
                         [("cron_expressions.0", "invalid_cron_expression", 4),
                          ("intervals.0.every", "invalid_duration", 0), ("timezone", "invalid_timezone", 0)])
        human = self.ends(INVALID, "schedule:explain", "--local", "--cron=*/5 25 * * *")
        self.assertEqual(human.out, "")
        self.assertIn("cron_expressions.0, hour:", human.err)
        self.assertIn("    */5 25 * * *\n        ^\n", human.err)
        self.assertEqual(self.explained(code=INVALID)["errors"][0]["code"], "spec_empty")

    def test_only_a_calendar_of_a_server_needs_one(self) -> None:
        self.told("schedule:explain", "--cron=@daily", "--calendar=weekends")
        self.ends(INVALID, "schedule:explain", "--local", "--cron=@daily", "--calendar=ours")
        self.ends(NETWORK, "schedule:explain", "--cron=@daily", "--calendar=ours")


if __name__ == "__main__":
    unittest.main(verbosity=2)
