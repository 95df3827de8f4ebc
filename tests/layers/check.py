#!/usr/bin/env python3
"""Includes go down the stairs: a room knows lower floors, not its neighbours, never what is above.

Usage: check.py SOURCE_DIR. Prints every line that breaks the rule and exits 1 if there is one.
"""
import pathlib
import re
import sys

FLOORS = {
    "core": 0,
    "history": 1, "schedule": 1,
    "engine": 2, "machine": 2,
    "views": 3,
    "bundle": 4,
    "store": 5,
    "dispatch": 6, "client": 6, "runtime": 6, "sqlite": 6, "postgres": 6, "upkeep": 6,
    "server": 7, "cli": 7, "worker": 7, "handles": 7,
    "embed": 8, "remote": 8,
    "sim": 9, "testing": 9,
    "main": 10,
}

# Public headers belong to the room that implements them.
PUBLIC = {
    "error": "core", "result": "core", "time": "core", "ids": "core", "short_text": "core", "value": "core",
    "payload": "core", "convert": "core", "contract": "core",
    "exceptions": "core", "workflow": "runtime", "registry": "runtime",
    "activity": "worker", "engine": "embed", "dw": "embed", "handle": "handles",
    "testing": "testing", "schedules": "embed", "upkeep": "embed", "client": "remote", "worker": "remote",
}

# Shared by sources of one room, included by no header: these may be heavy.
INNER = {"server/http_connection.hpp", "client/http_pool.hpp"}

HEAVY = re.compile(r'#include [<"](sqlite3\.h|libpq-fe\.h|boost/beast|boost/json|boost/asio)')
INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"([^"]+)"|<dw/([a-z_/]+)\.hpp>)')


def room_of(path: str) -> str:
    """The room of a path below src/: store/sqlite/x.hpp is in sqlite."""
    parts = path.split("/")
    if parts[0] == "store" and len(parts) > 2:
        return parts[1]
    return parts[0]


def check(root: pathlib.Path) -> list[str]:
    problems = []
    sources = [p for d in ("src", "include") for p in (root / d).rglob("*") if p.suffix in (".hpp", ".cpp")]
    for path in sorted(sources):
        relative = path.relative_to(root).as_posix()
        public = relative.startswith("include/dw/")
        if public:
            name = path.stem
            if name not in PUBLIC:
                problems.append(f"{relative}: public header without a room; add it to tests/layers")
                continue
            room = PUBLIC[name]
        else:
            room = room_of(relative.removeprefix("src/"))
        if room not in FLOORS:
            problems.append(f"{relative}: '{room}' is not a room of the house")
            continue
        test = path.stem.endswith("_test")
        for number, line in enumerate(path.read_text().splitlines(), 1):
            where = f"{relative}:{number}"
            inner = relative.removeprefix("src/") in INNER
            if path.suffix == ".hpp" and HEAVY.search(line) and not test and not inner:
                problems.append(f"{where}: heavy or backend header in a header: {line.strip()}")
            found = INCLUDE.match(line)
            if not found:
                continue
            if found.group(2):
                target = PUBLIC.get(found.group(2))
                if target is None:
                    problems.append(f"{where}: unknown public header {line.strip()}")
                    continue
            else:
                if public:
                    problems.append(f"{where}: a public header includes a private one: {line.strip()}")
                    continue
                target = room_of(found.group(1))
                if found.group(1) in INNER and (path.suffix == ".hpp" or target != room):
                    problems.append(f"{where}: for the sources of {target} only: {line.strip()}")
                if target not in FLOORS:
                    continue  # beside the file, or not ours
            if target != room and FLOORS[target] >= FLOORS[room]:
                problems.append(f"{where}: {room} (floor {FLOORS[room]}) includes {target} "
                                f"(floor {FLOORS[target]}): {line.strip()}")
    return problems


if __name__ == "__main__":
    found = check(pathlib.Path(sys.argv[1]))
    print("\n".join(found) if found else "every include goes down the stairs")
    sys.exit(1 if found else 0)
