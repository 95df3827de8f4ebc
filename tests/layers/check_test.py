#!/usr/bin/env python3
"""The stairs check must be able to fail."""
import pathlib
import tempfile
import unittest

import check


class Layers(unittest.TestCase):
    def tree(self, files):
        root = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())) if hasattr(
            self, "enterContext") else pathlib.Path(tempfile.mkdtemp())
        for name, text in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        (root / "include").mkdir(exist_ok=True)
        return root

    def test_downwards_is_fine(self):
        self.assertEqual(check.check(self.tree({"src/engine/a.cpp": '#include "history/fold.hpp"\n'})), [])

    def test_upwards_is_named_with_its_line(self):
        problems = check.check(self.tree({"src/engine/a.cpp": '\n#include "dispatch/shard.hpp"\n'}))
        self.assertEqual(len(problems), 1)
        self.assertIn("src/engine/a.cpp:2", problems[0])

    def test_a_neighbour_is_refused(self):
        self.assertTrue(check.check(self.tree({"src/runtime/a.hpp": '#include "dispatch/hosts.hpp"\n'})))

    def test_a_public_header_stays_public(self):
        self.assertTrue(check.check(self.tree({"include/dw/engine.hpp": '#include "core/clock.hpp"\n'})))

    def test_a_backend_header_stays_in_its_sources(self):
        self.assertTrue(check.check(self.tree({"src/store/sqlite/a.hpp": "#include <sqlite3.h>\n"})))

    def test_an_inner_header_may_be_heavy_and_stays_inside(self):
        inner = {"src/server/http_connection.hpp": "#include <boost/asio/io_context.hpp>\n",
                 "src/server/a.cpp": '#include "server/http_connection.hpp"\n'}
        self.assertEqual(check.check(self.tree(inner)), [])
        self.assertTrue(check.check(self.tree({"src/server/a.hpp": '#include "server/http_connection.hpp"\n'})))
        self.assertTrue(check.check(self.tree({"src/main/a.cpp": '#include "server/http_connection.hpp"\n'})))


if __name__ == "__main__":
    unittest.main()
