#!/usr/bin/env python3
"""The table of what tests prove must notice a tag without a row and a row without a test."""
import importlib.machinery
import importlib.util
import pathlib
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "traceability"


class Traceability(unittest.TestCase):
    def table(self, test, python=""):
        loader = importlib.machinery.SourceFileLoader("traceability", str(SCRIPT))
        script = importlib.util.module_from_spec(importlib.util.spec_from_loader("traceability", loader))
        loader.exec_module(script)
        with tempfile.TemporaryDirectory() as scratch:
            script.ROOT = pathlib.Path(scratch)
            for name, text in {"tests/traceability/rows.tsv": "# rows\nE-1\tstarts\t\nE-2\tstops\tthe console\n",
                               "tests/traceability/schedule_rows.tsv": "S-1\tfires\tschedules\nS-2\trests\tschedules\n",
                               "src/room/some_test.cpp": test, "tests/some_test.py": python}.items():
                path = script.ROOT / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            return script.table()

    def test_one_tag_may_prove_rows_of_both(self):
        text, problems = self.table("// proves: E-1, S-2\nTEST(Some, Story) {\n")
        self.assertEqual(problems, [])
        self.assertIn("| E-1 | starts | [Some.Story](../src/room/some_test.cpp) |", text)
        self.assertIn("| S-2 | rests | [Some.Story](../src/room/some_test.cpp) |", text)

    def test_a_test_in_python_counts_as_well(self):
        text, problems = self.table("", "class Some:\n    # proves: S-1\n    async def test_story(self):\n")
        self.assertEqual(problems, [])
        self.assertIn("| S-1 | fires | [Some.test_story](../tests/some_test.py) |", text)
        self.assertEqual(len(self.table("", "# proves: S-1\n")[1]), 1, "a tag without a test")
        self.assertEqual(self.table("", "text = '# proves: S-1'\n")[1], [], "a quoted tag is none")

    def test_what_nobody_proves_waits_for_its_part(self):
        text, _ = self.table("")
        self.assertIn("| S-1 | fires | waits for schedules |", text)
        self.assertIn("| E-2 | stops | waits for the console |", text)
        self.assertIn("| E-1 | starts | not proven yet |", text)

    def test_a_tag_without_a_row_or_a_test_is_a_problem(self):
        self.assertEqual(len(self.table("// proves: S-9\nTEST(Some, Story) {\n")[1]), 1)
        self.assertEqual(len(self.table("// proves: S-1\n")[1]), 1)


if __name__ == "__main__":
    unittest.main()
