#!/usr/bin/env python3
"""Whatever docs/schedules-time.md shows in a table is what the program answers."""
import datetime
import pathlib
import re
import unittest

import probing

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "schedules-time.md"


def unix(text):
    return int(datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp())


def tables():
    """(columns, rows) of every table, code marks removed."""
    for block in re.findall(r"(?:^\|.*\n)+", PAGE.read_text(), re.M):
        lines = [[cell.strip() for cell in line.strip("|").split(" |")] for line in block.strip().split("\n")]
        yield lines[0], lines[2:]


def codes(cell):
    return re.findall(r"`([^`]+)`", cell)


def questions(columns, row):
    """What to ask about a row, and what the page says."""
    if columns == ["expression", "in words"]:
        return [(f"words {expression}", row[1]) for expression in codes(row[0])]
    if columns == ["expression", "code"]:
        return [(f"words {codes(row[0])[0]}", f"error {codes(row[1])[0]}")]
    if columns == ["expression", "zone", "after", "next"]:
        return [(f"next {unix(row[2])} {row[1]} {codes(row[0])[0]}", str(unix(row[3])))]
    if columns == ["every", "offset", "after", "next"]:
        return [(" ".join(["interval", str(unix(row[2])), *codes(row[0]), *codes(row[1])]), str(unix(row[3])))]
    raise AssertionError(f"a table nobody checks: {columns}")


class Page(unittest.TestCase):
    def test_every_example_is_true(self):
        asked = [pair for columns, rows in tables() for row in rows for pair in questions(columns, row)]
        answers = probing.ask([question for question, _ in asked])
        for (question, says), answer in zip(asked, answers):
            with self.subTest(question):
                self.assertEqual(re.sub(r" (gap|fold)$", "", answer), says)
        self.assertGreater(len(asked), 35)


if __name__ == "__main__":
    unittest.main(verbosity=2)
