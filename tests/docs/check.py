#!/usr/bin/env python3
"""What the docs quote is what the tests build and run, and what they link to is there.

A code block that follows `<!-- path … -->` must stand in that file to the letter; every relative
link in a Markdown file must lead somewhere. Usage: check.py SOURCE_DIR.
"""
import pathlib
import re
import sys

QUOTE = re.compile(r"<!-- (\S+).*?-->\n```\w*\n(.*?)```", re.S)
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


def check(root: pathlib.Path) -> list[str]:
    problems = []
    pages = [root / "README.md", root / "CONTRIBUTING.md", *root.glob("docs/**/*.md"), *root.glob("bench/*.md")]
    for page in pages:
        text = page.read_text()
        where = page.relative_to(root)
        for source, block in QUOTE.findall(text):
            if not (root / source).is_file():
                problems.append(f"{where}: quotes {source}, which is not there")
            elif block not in (root / source).read_text():
                problems.append(f"{where}: its quote of {source} is out of date")
        for target in LINK.findall(text):
            if "://" not in target and not (page.parent / target).exists():
                problems.append(f"{where}: links to {target}, which is not there")
    return problems


if __name__ == "__main__":
    found = check(pathlib.Path(sys.argv[1]))
    print("\n".join(found) if found else "the docs quote and link what is there")
    sys.exit(1 if found else 0)
