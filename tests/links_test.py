#!/usr/bin/python3
"""The pages name files that are there.

    links_test.py [ROOT]      every relative link in the Markdown of ROOT (default: this tree), each dead one as file:line
"""

import pathlib
import re
import sys

LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")  # a colon: somewhere else in the world
SKIPPED = {"build", "node_modules", ".git"}


def dead_links(page):
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), start=1):
        for target in LINK.findall(line):
            if not (page.parent / target).exists():
                yield f"{page}:{number}: {target} is not there"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
    pages = [page for page in root.rglob("*.md") if not SKIPPED & set(page.relative_to(root).parts)]
    if not pages:
        print(f"{root}: no pages there")
        return 2
    dead = [link for page in pages for link in dead_links(page)]
    print("\n".join(dead) if dead else f"{len(pages)} pages, no dead link")
    return 1 if dead else 0


if __name__ == "__main__":
    sys.exit(main())
