#!/usr/bin/env python3
"""Every zone and every change of its offset from 2000 to 2050, against Python's own zoneinfo.

Changes are looked for on both sides, so that neither knows one the other does not: Python's by
looking at every tenth day and closing in on what lies between.
"""
import datetime
import unittest
import zoneinfo

import probing

UTC = datetime.timezone.utc
FROM = int(datetime.datetime(2000, 1, 1, tzinfo=UTC).timestamp())
TO = int(datetime.datetime(2051, 1, 1, tzinfo=UTC).timestamp())
STRIDE = 10 * 86400
# Of the machine, not of the database.
NO_ZONES = {"localtime", "posixrules"}


def offset(zone, at):
    return int(datetime.datetime.fromtimestamp(at, zone).utcoffset().total_seconds())


def closed_in(zone, low, high):
    """The first second of the new offset, between two that differ."""
    before = offset(zone, low)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if offset(zone, middle) == before else (low, middle)
    return high


def changes(zone):
    found, last = set(), offset(zone, FROM)
    for at in range(FROM, TO, STRIDE):
        now = offset(zone, at + STRIDE)
        if now != last:
            found.add(closed_in(zone, at, at + STRIDE))
        last = now
    return found


class Zoneinfo(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.names = sorted(zoneinfo.available_timezones() - NO_ZONES)

    def test_both_know_the_same_names(self):
        self.assertEqual(sorted(probing.ask(["names"])[0].split()), self.names)

    def test_every_offset_before_at_and_after_every_change(self):
        listed = probing.ask([f"transitions {name} {FROM} {TO}" for name in self.names])
        asked, expected = [], []
        for name, ours in zip(self.names, listed):
            zone = zoneinfo.ZoneInfo(name)
            at_changes = changes(zone) | {int(change.split(":")[0]) for change in ours.split()}
            for at in sorted(at_changes | {FROM, TO}):
                for instant in (at - 1, at, at + 1, at + 3600):
                    asked.append(f"offset {name} {instant}")
                    expected.append(str(offset(zone, instant)))
        answers = probing.ask(asked)
        wrong = [f"{question}: {ours}, zoneinfo says {theirs}"
                 for question, ours, theirs in zip(asked, answers, expected) if ours != theirs]
        print(f"{len(self.names)} zones, {len(asked)} offsets compared")
        self.assertEqual(wrong[:20], [])
        self.assertGreater(len(asked), 50_000)


if __name__ == "__main__":
    unittest.main(verbosity=2)
